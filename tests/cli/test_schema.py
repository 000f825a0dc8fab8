"""`leastways schema infer`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from leastways.schema import AtMost, Schema
from tests.support.command_line import document, run


@pytest.mark.parametrize("name", ["train.csv", "train.parquet"])
def test_infer_writes_and_shows_a_schema(bank: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "schema.yaml"
    result = run("schema", "infer", bank / name, "--target", "approved", "-o", out)
    assert result.exit_code == 0
    schema = Schema.from_yaml(out)
    assert schema.names == ("age", "hours-week", "job title")
    assert [f.kind for f in schema.features] == ["integer", "real", "category"]
    assert schema.target == "approved"
    for word in ("job title", "'clerk', 'cook', 'nurse'", "either way", "integer"):
        assert word in result.stdout


def test_infer_prints_the_schema_as_json(bank: Path, tmp_path: Path) -> None:
    result = run("schema", "infer", bank / "train.csv", "-t", "approved", "-o", tmp_path / "s.yml", "--json")
    said = document(result)
    assert result.stderr == ""
    assert said["target"] == "approved"
    assert [f["name"] for f in said["features"]] == ["age", "hours-week", "job title"]
    assert said["features"][0]["min"] >= 18
    assert said["features"][2]["values"] == ["clerk", "cook", "nurse"]


def test_a_schema_is_replaced_only_with_force(bank: Path, tmp_path: Path) -> None:
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
def test_bad_input_is_named(bank: Path, tmp_path: Path, data: str, target: str, out: str, message: str) -> None:
    result = run("schema", "infer", bank / data, "--target", target, "-o", tmp_path / out)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_infer_and_read_table_agree_on_values(tmp_path: Path) -> None:
    """What `infer` saw in a file is what `recommend` will read from it: NA stays a category, 007 a code."""
    from leastways.io import read_table

    file, out = tmp_path / "t.csv", tmp_path / "s.yaml"
    file.write_text("plan,code,n,yes\nNA,007,1,0\nb,010,,1\nb,007,NA,1\n")
    assert run("schema", "infer", file, "--target", "yes", "-o", out).exit_code == 0
    schema = Schema.from_yaml(out)
    assert schema.by_name["plan"].values == ("NA", "b")
    assert schema.by_name["code"].values == ("007", "010")
    frame = read_table(file, schema.by_name)
    assert frame["plan"].tolist() == ["NA", "b", "b"]
    assert frame["code"].tolist() == ["007", "010", "007"]
    assert frame["n"].isna().tolist() == [False, True, True]
    schema.validate(frame[:1])


@pytest.fixture
def customers(bank: Path, tmp_path: Path) -> Path:
    """The training table as it comes out of a bank: with a customer number and the day of the application."""
    train = pd.read_csv(bank / "train.csv")
    days = [str(day) for day in pd.date_range("2020-01-01", periods=len(train)).date]
    names = [f"c-{n}" for n in range(len(train))]
    wide = pd.concat([train] * 2).assign(customer=[*names, *(n + "b" for n in names)], day=days * 2)
    wide.to_csv(tmp_path / "customers.csv", index=False)
    return tmp_path / "customers.csv"


def test_unusable_columns_are_all_named_and_can_be_dropped(customers: Path, tmp_path: Path) -> None:
    arguments = ["schema", "infer", customers, "-t", "approved", "-o", tmp_path / "s.yaml"]
    result = run(*arguments)
    assert result.exit_code == 2
    assert "column 'customer' has 400 different values" in result.stderr
    assert "Drop it (--drop), or group it" in result.stderr
    assert "column 'day' holds dates; turn it into a number (days, years) or drop it (--drop)." in result.stderr
    for more in (["--drop", "customer", "--drop", "day"], ["--index", "customer", "--drop", "day"]):
        assert run(*arguments, *more, "--force").exit_code == 0
        assert Schema.from_yaml(tmp_path / "s.yaml").names == ("age", "hours-week", "job title")


def test_the_index_may_be_dropped_too(customers: Path, tmp_path: Path) -> None:
    pd.read_csv(customers).drop(columns="day").set_index("customer").to_parquet(tmp_path / "t.parquet")
    arguments = ["schema", "infer", tmp_path / "t.parquet", "-t", "approved", "-o", tmp_path / "s.yaml"]
    assert run(*arguments, "--drop", "customer").exit_code == 0
    assert "customer" not in Schema.from_yaml(tmp_path / "s.yaml").names


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("custommer", "customers.csv' has no column 'custommer' to drop. Did you mean 'customer'?"),
        ("approved", "--drop 'approved' is the target"),
    ],
)
def test_columns_that_cannot_be_dropped_are_named(customers: Path, tmp_path: Path, name: str, message: str) -> None:
    result = run("schema", "infer", customers, "-t", "approved", "-o", tmp_path / "s.yaml", "--drop", name)
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", "")


def test_the_printed_rule_is_valid(bank: Path, tmp_path: Path) -> None:
    """The rule printed at the end can be pasted into a schema."""
    out = tmp_path / "schema.yaml"
    said = run("schema", "infer", bank / "train.csv", "-t", "approved", "-o", out).stdout
    line = said[said.index("`rules") + 1 : said.rindex("`")]
    out.write_text(out.read_text().replace("rules: []", line))
    assert Schema.from_yaml(out).rules == (AtMost(3),)


def test_suspicious_columns_are_noted(tmp_path: Path) -> None:
    file, out = tmp_path / "t.csv", tmp_path / "s.yaml"
    file.write_text('city,use,yes\nParis,35%,0\nPARIS,"1.200,50",1\n')
    result = run("schema", "infer", file, "-t", "yes", "-o", out)
    assert result.exit_code == 0
    assert "Note: column 'city' holds texts that differ only by case or blanks" in result.stderr
    assert "Note: column 'use' looks like numbers written as text, such as '1.200,50'" in result.stderr
    assert "Note" not in result.stdout
    said = document(run("schema", "infer", file, "-t", "yes", "-o", out, "--force", "--json"))["warnings"]
    assert [text.partition(" ")[0] for text in said] == ["column", "column"]


def test_many_numbers_written_as_text_are_refused(tmp_path: Path) -> None:
    pd.DataFrame({"pay": [f"€{n},500" for n in range(1, 250)], "yes": 1}).to_csv(tmp_path / "t.csv", index=False)
    result = run("schema", "infer", tmp_path / "t.csv", "-t", "yes", "-o", tmp_path / "s.yaml")
    assert result.exit_code == 2
    assert "it looks like numbers written as text, such as '€100,500'" in result.stderr
