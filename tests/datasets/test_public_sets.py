"""Adult, recidivism and German credit: on the real files, and on made-up ones in the same layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leastways.datasets import Dataset, load_adult, load_german, load_recidivism
from leastways.datasets.adult import EDUCATION
from leastways.datasets.german import RULES
from leastways.errors import DataError, SettingError
from tests.support.public_data_files import write_adult, write_german, write_recidivism


def assert_split(data: Dataset) -> None:
    """Balanced, disjoint, complete; a tenth for validation; a thousand people, all of the undesired class."""
    assert data.validation is not None
    parts = [data.train.index, data.validation.index, data.people.index]
    assert sorted(i for part in parts for i in part) == sorted(data.frame.index)
    assert data.frame.index.is_unique
    assert data.frame[data.target].mean() == 0.5
    assert len(data.validation) == int(np.ceil(0.1 * len(data.frame)))
    assert len(data.people) == 1000
    assert (data.frame.loc[data.people.index, data.target] == 0).all()
    assert data.target not in data.people.columns


def assert_fits_schema(data: Dataset) -> None:
    schema = data.schema()
    assert {feature.name for feature in schema.features} == set(data.settings)
    schema.validate(data.people)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(data.people)), data.people)


# ---- Adult


def test_adult_values_are_grouped(tmp_path: Path) -> None:
    data = load_adult(write_adult(tmp_path))
    frame = data.frame
    assert_split(data)
    assert set(frame["education"]) == {"Dropout", "High School grad", "Associates", "Bachelors", "Masters"}
    assert set(frame["marital-status"]) == {"Separated", "Married", "Never-Married", "Widowed"}
    assert set(frame["occupation"]) == {"Sales", "Other", "Blue-Collar", "?"}
    assert set(frame["native-country"]) == {"United-States", "Latin-America", "?"}
    assert set(frame["capital-gain"]) == {"none", "low", "high"}
    assert 0.4 < (frame["capital-loss"] == "low").mean() < 0.6  # the median, 7, is still low
    assert frame.dtypes["income"] == np.int64


def test_adult_levels_of_capital_and_unknown_rows(tmp_path: Path) -> None:
    data = load_adult(write_adult(tmp_path, workclass="Private", occupation="Sales"), unknown="drop")
    assert not (data.frame == "?").any(axis=None)
    raw = pd.read_csv(tmp_path / "adult" / "adult.data", header=None, skipinitialspace=True)
    levels = pd.DataFrame({"amount": raw.loc[data.frame.index, 10], "level": data.frame["capital-gain"]})
    assert dict(levels.groupby("amount")["level"].agg(set)) == {
        0: {"none"},
        100: {"low"},
        300: {"low"},
        900: {"high"},
    }


def test_adult_sample_depends_on_the_seed(tmp_path: Path) -> None:
    folder = write_adult(tmp_path)
    first, again, other = (load_adult(folder, random_state=seed).people for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    assert list(first.index) != list(other.index)


def test_adult_refuses_invalid_files_and_settings(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="unknown must be 'keep' or 'drop', not 'guess'"):
        load_adult(tmp_path, unknown="guess")  # type: ignore[arg-type]
    for name, replaced, message in (
        ("a", {"country": "Atlantis"}, "column 'native-country' holds 'Atlantis'"),
        ("b", {"income": "lots"}, "income holds 'lots'"),
        ("c", {"income": [">50K"] * 3900 + ["<=50K"] * 100}, "more than 1000 are needed"),
    ):
        (tmp_path / name).mkdir()
        with pytest.raises(DataError, match=message):
            load_adult(write_adult(tmp_path / name, **replaced))


@pytest.mark.real_data
def test_adult_real(real_data_dir: Path) -> None:
    data = load_adult(real_data_dir)
    assert_split(data)
    assert_fits_schema(data)
    assert len(data.frame) == 15682  # twice the 7,841 above 50,000
    assert data.validation is not None
    assert len(data.validation) == 1569  # as in the paper
    assert len(data.train) == 13113  # the paper: 13,172, since its 1,000 people are 941 different ones
    assert data.schema().by_name["education"].values == EDUCATION
    assert len(load_adult(real_data_dir, unknown="drop").frame) == 2 * 7508


# ---- recidivism


def test_recidivism_words(tmp_path: Path) -> None:
    data = load_recidivism(write_recidivism(tmp_path))
    assert_split(data)
    raw = pd.read_csv(tmp_path / "recidivism" / "Data_1980.csv").loc[data.frame.index]
    words = dict(zip(raw["PRIORS"], data.frame["priors"], strict=True))
    assert words == {-9: "unknown", 0: "none", 1: "1 to 5", 5: "1 to 5", 6: "more than 5", 40: "more than 5"}
    words = dict(zip(raw["RULE"], data.frame["prison_violations"], strict=True))
    assert words == {0: "none", 1: "1 to 5", 5: "1 to 5", 6: "more than 5"}
    assert (data.frame["age"] == raw["AGE"] // 12).all()
    assert (data.frame["no_rearrest"] == 1 - raw["RECID"]).all()
    assert ((data.frame["race"] == "White") == (raw["WHITE"] == 1)).all()
    assert ((data.frame["gender"] == "Male") == (raw["MALE"] == 1)).all()


def test_recidivism_refuses_an_invalid_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="column 'MARRIED' holds 2; expected 0 or 1"):
        load_recidivism(write_recidivism(tmp_path, MARRIED=2))
    (tmp_path / "recidivism" / "Data_1980.csv").write_text("WHITE,ALCHY\n0,1\n")
    with pytest.raises(DataError, match="lacks the columns JUNKY, SUPER"):
        load_recidivism(tmp_path)


@pytest.mark.real_data
def test_recidivism_real(real_data_dir: Path) -> None:
    data = load_recidivism(real_data_dir)
    assert_split(data)
    assert_fits_schema(data)
    assert len(data.frame) == 7044
    assert len(data.features) == 15
    assert data.validation is not None
    assert len(data.validation) == 705  # as in the paper
    kinds = {feature.name: feature.kind for feature in data.schema().features}
    assert [name for name, kind in kinds.items() if kind == "integer"] == [
        "years_school",
        "age",
        "months_served",
    ]


# ---- German credit


def test_german_split(tmp_path: Path) -> None:
    folder = write_german(tmp_path)
    data = load_german(folder)
    assert (len(data.train), len(data.people)) == (140, 60)
    assert sorted([*data.train.index, *data.people.index]) == list(range(200))
    assert "OtherLoansAtStore" not in data.features
    assert list(load_german(folder, random_state=1).people.index) != list(data.people.index)
    (folder / "german" / "german.csv").write_text("GoodCustomer,Gender\n1,Male\n")
    with pytest.raises(DataError, match="lacks the columns"):
        load_german(folder)


@pytest.mark.real_data
def test_german_real(real_data_dir: Path) -> None:
    data = load_german(real_data_dir)
    assert_fits_schema(data)
    assert len(data.frame) == 1000
    assert len(data.features) == 28
    assert (data.frame["GoodCustomer"] == 1).sum() == 700
    assert data.settings["Gender"]["direction"] == "fixed"
    assert (data.frame["MissedPayments"] == 1).sum() == 912  # the share without a delay: the name is inverted


@pytest.mark.real_data
def test_german_rules_hold_in_the_data(real_data_dir: Path) -> None:
    frame = load_german(real_data_dir).frame
    for rule in RULES:
        if "forbid" in rule:
            broken = _meets(frame, rule["forbid"])
        else:
            broken = _meets(frame, rule["if"]) & ~_meets(frame, rule["then"])
        assert not broken.any(), rule


def _meets(frame: pd.DataFrame, conditions: dict[str, int]) -> pd.Series[bool]:
    return (frame[list(conditions)] == pd.Series(conditions)).all(axis=1)
