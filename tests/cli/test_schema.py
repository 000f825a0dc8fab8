"""`leastways schema infer`."""

from __future__ import annotations

from pathlib import Path

import pytest

from leastways.schema import Schema
from tests.cli.bank import document, run


@pytest.mark.parametrize("name", ["train.csv", "train.parquet"])
def test_writes_and_shows(bank: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "schema.yaml"
    result = run("schema", "infer", bank / name, "--target", "approved", "-o", out)
    assert result.exit_code == 0
    schema = Schema.from_yaml(out)
    assert schema.names == ("age", "hours-week", "job title")
    assert [f.kind for f in schema.features] == ["integer", "real", "category"]
    assert schema.target == "approved"
    for word in ("job title", "'clerk', 'cook', 'nurse'", "either way", "integer"):
        assert word in result.stdout


def test_as_json(bank: Path, tmp_path: Path) -> None:
    result = run("schema", "infer", bank / "train.csv", "-t", "approved", "-o", tmp_path / "s.yml", "--json")
    said = document(result)
    assert result.stderr == ""
    assert said["target"] == "approved"
    assert [f["name"] for f in said["features"]] == ["age", "hours-week", "job title"]
    assert said["features"][0]["min"] >= 18
    assert said["features"][2]["values"] == ["clerk", "cook", "nurse"]


def test_does_not_replace_unasked(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "schema.yaml"
    out.write_text("edited by hand")
    arguments = ["schema", "infer", bank / "train.csv", "--target", "approved", "-o", out]
    assert run(*arguments).exit_code == 2
    assert out.read_text() == "edited by hand"
    assert run(*arguments, "--force").exit_code == 0
    assert Schema.from_yaml(out).names


@pytest.mark.parametrize(
    ("data", "target", "out", "message"),
    [
        ("train.csv", "aproved", "s.yaml", "Did you mean 'approved'"),
        ("trian.csv", "approved", "s.yaml", "Did you mean 'train.csv'"),
        ("bank_rule.py", "approved", "s.yaml", "must be a .csv or .parquet"),
        ("train.csv", "approved", "s.json", "must end in .yaml, .yml"),
    ],
)
def test_bad_input(bank: Path, tmp_path: Path, data: str, target: str, out: str, message: str) -> None:
    result = run("schema", "infer", bank / data, "--target", target, "-o", tmp_path / out)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_from_file_to_schema_and_back(tmp_path: Path) -> None:
    """What `infer` saw in a file is what `recommend` will read from it: NA stays a category, 007 a code."""
    from leastways.cli.reading import read_table

    file, out = tmp_path / "t.csv", tmp_path / "s.yaml"
    file.write_text("plan,code,n,yes\nNA,007,1,0\nb,010,,1\nb,007,NA,1\n")
    assert run("schema", "infer", file, "--target", "yes", "-o", out).exit_code == 0
    schema = Schema.from_yaml(out)
    assert schema.by_name["plan"].values == ("NA", "b")
    assert schema.by_name["code"].values == ("007", "010")
    frame = read_table(file, schema)
    assert frame["plan"].tolist() == ["NA", "b", "b"]
    assert frame["code"].tolist() == ["007", "010", "007"]
    assert frame["n"].isna().tolist() == [False, True, True]
    schema.validate(frame[:1])
