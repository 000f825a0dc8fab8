"""Bad input to `leastways recommend`: a message that helps, exit code 2, and nothing written or lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.command_line import recommend

NO_FILES: dict[str, str] = {}


@pytest.mark.parametrize(
    ("files", "more", "message"),
    [
        ({"data": "trian.csv"}, [], "Did you mean 'train.csv'"),
        ({"people": "nobody.parquet"}, [], "there is no file"),
        ({"people": "bank_rule.py"}, [], "must be a .csv or .parquet file"),
        ({"schema": "nothing.yaml"}, [], "there is no schema file"),
        ({"model": "model.h5"}, [], ".onnx or .skops"),
        ({"model": "modle.onnx"}, [], "Did you mean 'model.onnx'"),
        ({"model": "bank_rule:aprove"}, [], "Did you mean 'approve'"),
        (NO_FILES, ["--method", "colls"], "Did you mean 'cols'"),
        (NO_FILES, ["--distribution", "linaer"], "linear"),
        (NO_FILES, ["--distribution", "perc"], "--distribution must be one of mix, linear, percentile, not 'perc'"),
        (NO_FILES, ["--uncovered-cost", "-1"], "--uncovered-cost must be a number"),
        (NO_FILES, ["--n-costs", "0"], "--n-costs must be a whole number"),
        (NO_FILES, ["--costs", "0"], "--n-costs must be a whole number"),
        (NO_FILES, ["--editable", "age,jbo title"], "'age,jbo title'"),
        (NO_FILES, ["--editable", "hours-weak"], "Did you mean 'hours-week'"),
        (NO_FILES, ["--lock", "age,job title"], "repeat the option: --lock age --lock 'job title'."),
        (NO_FILES, ["--score", "hours-week=0.5", "--score", "age=0.4"], "sum to 0.9"),
        (NO_FILES, ["--score", "hours-week"], "write FEATURE=VALUE"),
        (NO_FILES, ["--score", "hours-week:0.5"], "'hours-week:0.5': write FEATURE=VALUE, such as hours-week=0.7."),
        (NO_FILES, ["--range", "hours-week:20:50"], "such as hours-week="),
        (NO_FILES, ["--range", "job title:cook"], "such as job title=clerk,nurse."),
        (NO_FILES, ["--editable", "age,job title"], "repeat the option: --editable age --editable 'job title'."),
        (NO_FILES, ["--score", "hours-week=much"], "'much' is not a number"),
        (NO_FILES, ["--score", "houres=1"], "houres"),
        (NO_FILES, ["--range", "hours-week=20-50"], "such as 20:50"),
        (NO_FILES, ["--range", "hours-week=50:20"], "from 50 down to 20"),
        (NO_FILES, ["--range", "job title=cook,nures"], "Did you mean 'nurse'"),
        (NO_FILES, ["--range", "age=18:20", "--range", "age=60:65"], "--range names 'age' 2 times; name it once"),
        (NO_FILES, ["--score", "age=0.5", "--score", "age=0.5"], "--score names 'age' 2 times"),
        ({"model": "bank"}, [], "file with --trust"),
        (NO_FILES, ["--alpha", "1.5"], "alpha must be a number from 0 to 1"),
        (NO_FILES, ["--budget", "0"], "budget must be a whole number"),
        (NO_FILES, ["--budget", "2"], "smaller than --options"),
        (NO_FILES, ["--threshold", "1.2"], "threshold"),
        (NO_FILES, ["--threshold", "0"], "threshold must be a number above 0 and at most 1, not 0.0"),
        ({"model": "bank_rule:words"}, ["--target", "Yes"], "Did you mean 'yes'"),
        (NO_FILES, ["--seed", "-1"], "--seed must be an integer of 0 or more"),
        (NO_FILES, ["--index", "idd"], "Did you mean 'id'"),
        (NO_FILES, ["--options", "many"], "'many'"),
        (NO_FILES, ["--budget", "lots"], "'lots'"),
        (NO_FILES, ["--objective", "satisfied"], "Did you mean 'satisfaction'"),
        (NO_FILES, ["--satisfied-below", "-1"], "--satisfied-below must be a number"),
        (NO_FILES, ["--satisfied-below", "nan"], "--satisfied-below must be a number"),
        (NO_FILES, ["--time-limit", "-5"], "--time-limit must be a number"),
        (NO_FILES, ["--time-limit", "soon"], "'soon'"),
        (NO_FILES, ["--distill", "-1"], "distill must be a whole number of 0 or more"),
        (NO_FILES, ["--distill", "10"], "too few queries to learn a model from"),
        (NO_FILES, ["--distill", "200", "--method", "cols"], "distill is for --method guided"),
    ],
)
def test_bad_options_are_named_with_a_remedy(
    bank: Path, tmp_path: Path, files: dict[str, str], more: list[str], message: str
) -> None:
    result = recommend(bank, tmp_path / "plans.json", *more, **files)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert not list(tmp_path.iterdir())


def test_a_typo_in_the_schema_is_named(bank: Path, tmp_path: Path) -> None:
    text = (bank / "schema.yaml").read_text().replace("direction: up", "directoin: up")
    (tmp_path / "typo.yaml").write_text(text)
    result = recommend(bank, tmp_path / "plans.json", schema=str(tmp_path / "typo.yaml"))
    assert result.exit_code == 2
    assert "unknown key 'directoin'" in result.stderr
    assert "Did you mean 'direction'" in result.stderr


def test_errors_are_also_json(bank: Path, tmp_path: Path) -> None:
    result = recommend(bank, tmp_path / "plans.json", "--json", "--method", "colls")
    error = json.loads(result.stdout)["error"]
    assert (error["kind"], error["exit_code"], result.exit_code) == ("SettingError", 2, 2)
    assert "Did you mean 'cols'" in error["message"]


def test_text_in_a_numeric_training_column_is_named(bank: Path, tmp_path: Path) -> None:
    lines = (bank / "train.csv").read_text().splitlines()
    lines[3] = "old," + lines[3].split(",", 1)[1]
    (tmp_path / "train.csv").write_text("\n".join(lines))
    result = recommend(bank, tmp_path / "plans.json", data=str(tmp_path / "train.csv"))
    assert result.exit_code == 2
    assert "row 2, column 'age': 'old' is not a number" in result.stderr


def test_unknown_columns_of_people_are_named(bank: Path, tmp_path: Path) -> None:
    rows = (bank / "people.csv").read_text()
    (tmp_path / "crowd.csv").write_text(rows)
    result = recommend(bank, tmp_path / "plans.json", people=str(tmp_path / "crowd.csv"))
    assert result.exit_code == 2
    assert "crowd.csv': unknown columns: 'id'" in result.stderr
    assert "If a column labels people, name it: --index." in result.stderr


def test_a_missing_training_column_is_named(bank: Path, tmp_path: Path) -> None:
    """The file is named: there are two."""
    text = (bank / "train.csv").read_text().replace("hours-week", "hours-weeks", 1)
    (tmp_path / "other.csv").write_text(text)
    result = recommend(bank, tmp_path / "plans.json", data=str(tmp_path / "other.csv"))
    assert result.exit_code == 2
    assert (
        "other.csv': missing columns: 'hours-week'. Did you mean 'hours-weeks'? The schema has: 'age'" in result.stderr
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [("plans.xlsx", "must end in .json, .csv, .parquet"), ("nowhere/plans.json", "there is no folder")],
)
def test_unwritable_outputs_are_refused_before_any_work(bank: Path, tmp_path: Path, name: str, message: str) -> None:
    result = recommend(bank, tmp_path / name, data="not-even-looked-at.csv")
    assert result.exit_code == 2
    assert message in result.stderr


def test_files_are_replaced_only_with_force(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.csv"
    out.write_text("precious")
    result = recommend(bank, out)
    assert result.exit_code == 2
    assert "--force replaces it" in result.stderr
    assert out.read_text() == "precious"
    assert recommend(bank, out, "--force").exit_code == 0
    assert out.read_text().startswith("person,status")


def test_an_input_is_never_replaced(bank: Path, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_bytes((bank / "people.csv").read_bytes())
    result = recommend(bank, people, "--force", "--index", "id", people=str(people))
    assert result.exit_code == 2
    assert "one of the files read" in result.stderr
    assert people.read_bytes() == (bank / "people.csv").read_bytes()


def test_a_missing_parquet_extra_is_named_before_any_work(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = recommend(bank, tmp_path / "plans.parquet", data="not-even-looked-at.csv")
    assert result.exit_code == 2
    assert "pip install 'leastways[parquet]'" in result.stderr
    result = recommend(bank, tmp_path / "plans.json", people="people.parquet")
    assert result.exit_code == 2
    assert "pip install 'leastways[parquet]'" in result.stderr


def test_a_pickle_needs_trust(bank: Path, tmp_path: Path) -> None:
    (tmp_path / "model.pkl").write_bytes(b"anything")
    result = recommend(bank, tmp_path / "plans.json", model=str(tmp_path / "model.pkl"))
    assert result.exit_code == 2
    assert "runs any code" in result.stderr
    assert "give --trust" in result.stderr
    result = recommend(bank, tmp_path / "plans.json", "--trust", model=str(tmp_path / "model.pkl"))
    assert "Cannot read a model" in result.stderr
