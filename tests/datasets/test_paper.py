from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import percentileofscore

from leastways.datasets import Dataset, load_adult_binary, load_compas_binary
from leastways.errors import DataError
from tests.support.public_data_files import write_binary

Loader = Callable[[Path], Dataset]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("load", "rows", "train", "validation", "people", "features"),
    [
        (load_adult_binary, 23374, 20088, 2338, 749, 12),
        (load_compas_binary, 2288, 1415, 229, 491, 7),
    ],
)
def test_counts_are_the_papers(
    real_data_dir: Path, load: Loader, rows: int, train: int, validation: int, people: int, features: int
) -> None:
    data = load(real_data_dir)
    assert data.validation is not None
    assert (len(data.frame), len(data.train), len(data.validation)) == (rows, train, validation)
    assert len(data.people) == people
    assert len(data.features) == features
    assert data.frame[data.target].mean() == 0.5
    assert data.people.index.tolist() == list(range(people))
    assert not {"row", "data_idx", data.target} & set(data.people.columns)
    assert data.frame.index.is_unique
    pd.testing.assert_frame_equal(data.train, data.frame.loc[data.train.index])


@pytest.mark.real_data
@pytest.mark.parametrize("load", [load_adult_binary, load_compas_binary])
@pytest.mark.parametrize("rows", ["test_before_filter", "test_users"])
def test_network_gives_the_stored_probabilities(real_data_dir: Path, load: Loader, rows: str) -> None:
    data = load(real_data_dir)
    folder = real_data_dir / data.name
    frame = pd.read_csv(folder / f"{rows}.csv", dtype={"capital-gain": "str", "capital-loss": "str"})
    stored = pd.read_csv(folder / f"{rows}_p1.csv")["p_class1"]
    assert data.model is not None
    assert np.abs(data.model(frame) - stored).max() < 2e-7
    assert (data.model(frame) < 0.5).sum() == len(data.people)


@pytest.mark.real_data
@pytest.mark.parametrize("load", [load_adult_binary, load_compas_binary])
def test_network_refuses_the_people_and_survives_pickling(real_data_dir: Path, load: Loader) -> None:
    data = load(real_data_dir)
    assert data.model is not None
    probabilities = data.model(data.people)
    assert (probabilities < 0.5).all()
    assert np.array_equal(pickle.loads(pickle.dumps(data.model))(data.people), probabilities)


@pytest.mark.real_data
def test_adult_columns_and_directions(real_data_dir: Path) -> None:
    data = load_adult_binary(real_data_dir)
    assert data.settings["capital-gain"] == {
        "direction": "any",
        "label": "capital gain",
        "order": ["0", "1", "2"],
    }
    assert set(data.frame["capital-loss"]) == {"0", "1", "2"}
    schema = data.schema()
    directions = {feature.name: feature.direction for feature in schema.features}
    assert {name for name, direction in directions.items() if direction == "fixed"} == {
        "race",
        "sex",
        "native-country",
    }
    assert {name for name, direction in directions.items() if direction == "up"} == {"age", "education-num"}
    kinds = {name: schema.by_name[name].kind for name in ("age", "capital-gain", "workclass")}
    assert kinds == {"age": "integer", "capital-gain": "ordinal", "workclass": "category"}


@pytest.mark.real_data
@pytest.mark.parametrize("load", [load_adult_binary, load_compas_binary])
def test_frame_and_schema_are_what_the_paper_took_percentiles_of(real_data_dir: Path, load: Loader) -> None:
    data = load(real_data_dir)
    declared = json.loads((real_data_dir / data.name / "schema.json").read_text())
    schema = data.schema()
    assert list(schema.names) == declared["feature_order"]
    for feature in declared["features"]:
        values = schema.by_name[feature["name"]].values
        column = data.frame[feature["name"]]
        if feature["kind"] == "numeric_integer":
            assert list(values) == [value for value, _ in feature["percentiles"]]
            for value, percentile in feature["percentiles"][:: max(1, len(values) // 5)]:
                assert percentileofscore(column, value, kind="rank") / 100 == pytest.approx(percentile)
        elif feature["type"] == "ordered":
            shares = column.value_counts(normalize=True)[list(values)].cumsum()
            assert shares.tolist() == pytest.approx([percentile for _, percentile in feature["percentiles"]])


@pytest.mark.real_data
@pytest.mark.parametrize("load", [load_adult_binary, load_compas_binary])
def test_people_fit_the_schema(real_data_dir: Path, load: Loader) -> None:
    data = load(real_data_dir)
    schema = data.schema()
    schema.validate(data.people)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(data.people)), data.people)


@pytest.mark.parametrize(("load", "name"), [(load_adult_binary, "adult_binary"), (load_compas_binary, "compas_binary")])
def test_any_folder_in_this_layout_is_read(tmp_path: Path, load: Loader, name: str) -> None:
    data = load(write_binary(tmp_path, name))
    assert data.features == ["age", "sex", "race", "capital-gain"]
    assert (len(data.frame), len(data.train), len(data.people)) == (40, 30, 5)
    assert data.people.index.tolist() == [35, 36, 37, 38, 39]
    assert data.frame["capital-gain"].isin(["0", "1", "2"]).all()
    assert {name: s["direction"] for name, s in data.settings.items()} == {
        "age": "up",
        "sex": "fixed",
        "race": "fixed",
        "capital-gain": "down",
    }
    schema = data.schema()
    assert schema.by_name["capital-gain"].kind == "ordinal"
    pd.testing.assert_frame_equal(schema.decode(schema.encode(data.people)), data.people)
    assert data.model is not None
    assert data.model(data.people).shape == (5,)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = write_binary(tmp_path, "adult_binary") / "adult_binary" / "val.csv"
    pd.read_csv(path).drop(columns="race").to_csv(path, index=False)
    with pytest.raises(DataError, match=r"val.csv' lacks the columns race"):
        load_adult_binary(tmp_path)


@pytest.mark.parametrize("load", [load_adult_binary, load_compas_binary])
def test_a_missing_folder_is_named_with_a_remedy(no_data: Path, load: Loader) -> None:
    with pytest.raises(FileNotFoundError, match=r"model.npz.*data_dir=, or set LEASTWAYS_DATA"):
        load(no_data / "nowhere")


def test_binary_sets_have_no_download(no_data: Path) -> None:
    with pytest.raises(DataError, match=r"'adult_binary' has no public download in the form used here.*all.csv"):
        load_adult_binary(download=True)
