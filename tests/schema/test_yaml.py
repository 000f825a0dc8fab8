"""Schemas round-trip through YAML, and mistakes in a file are named with their place."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from pandas.testing import assert_frame_equal

from leastways.errors import SchemaError
from leastways.schema import AtMost, Forbidden, IfThen, Linked, Schema
from tests.support.schema_strategies import ODD_TEXTS_MAY_BE_ALIKE, frames, schemas

pytestmark = ODD_TEXTS_MAY_BE_ALIKE

TEXT = """\
version: 1
target: approved
features:
  age: {kind: integer, direction: up, min: 18, max: 60, dtype: int64}
  debt: {kind: real, min: 0, max: 1, step: 0.25, dtype: float64, unit: k€}
  job: {kind: category, values: [cook, nurse, "no"], dtype: str}
rules:
- {if: {job: cook}, then: {age: {min: 20}}}
- {forbid: {job: [cook, nurse], debt: {max: 0.5}}}
- {linked: {feature: age, by: 1, requires: debt, at_least: 0.5}}
- {at_most: 2}
"""


@given(schemas())
def test_any_schema_round_trips(schema: Schema) -> None:
    back = Schema.from_yaml(schema.to_yaml())
    assert back == schema
    assert back.to_yaml() == schema.to_yaml()
    assert [[type(v) for v in f.values] for f in back.features] == [
        [type(v) for v in f.values] for f in schema.features
    ]


@given(frames())
def test_a_schema_read_back_decodes_to_the_same_table(frame: pd.DataFrame) -> None:
    schema = Schema.from_yaml(Schema.infer(frame).to_yaml())
    assert_frame_equal(schema.decode(schema.encode(frame)), frame)


def test_a_file_written_by_hand_is_read(tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(TEXT, encoding="utf-8")
    schema = Schema.from_yaml(path)
    assert schema == Schema.from_yaml(TEXT) == Schema.from_yaml(str(path))
    assert schema.by_name["debt"].values == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert schema.by_name["job"].values == ("cook", "nurse", "no")
    assert schema.rules == (
        IfThen({"job": ["cook"]}, {"age": (20, None)}),
        Forbidden({"job": ["cook", "nurse"], "debt": (None, 0.5)}),
        Linked("age", requires="debt", at_least=0.5),
        AtMost(2),
    )
    assert schema.to_yaml(path) == path.read_text(encoding="utf-8")
    assert "# direction    any | up | down | fixed" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("features:", "feautres:", ["unknown key 'feautres'", "Did you mean 'features'?"]),
        ("direction: up", "directon: up", ["feature 'age'", "unknown key 'directon'", "Did you mean 'direction'?"]),
        ("direction: up", "direction: upp", ["feature 'age'", "'upp'", "Did you mean 'up'?"]),
        ("kind: integer", "kind: intger", ["feature 'age'", "'intger'", "Did you mean 'integer'?"]),
        ("kind: integer, ", "", ["feature 'age': 'kind' is missing"]),
        ("dtype: int64", "dtype: int46", ["feature 'age'", "no dtype 'int46'"]),
        ("version: 1", "version: 2", ["version 2 is not supported; this release reads 1"]),
        ("version: 1\n", "", ["version None is not supported"]),
        ('"no"', "no", ["feature 'job'", "YAML reads False here", "quotes"]),
        ("unit: k€", "unit: 5", ["feature 'debt': 'unit' must be a text, not 5"]),
        ("min: 18, max: 60", "min: 18", ["feature 'age': give 'grid', or 'min' and 'max'"]),
        ("min: 18, max: 60", "min: 18, max: 60, grid: [18, 60]", ["feature 'age': give only one of grid, min, max"]),
        (
            "min: 18, max: 60",
            "grid: [18, 60], step: 2",
            ["give only one of grid, step. To have steps, delete grid and write min, max and step."],
        ),
        ("min: 18, max: 60", "grid: 18", ["feature 'age': 'grid' must be a list, not 18"]),
        ("values: [cook", "min: 1, max: 2, unit: [cook", ["feature 'job'", "'unit' must be a text"]),
        ('category, values: [cook, nurse, "no"]', "category, min: 1, max: 2", ["feature 'job'", "under 'values'"]),
        ("  job:", "  age:", ["the key 'age' occurs twice", "line 6, column 3"]),
        ("target:", "version: 1\ntarget:", ["the key 'version' occurs twice", "line 2, column 1"]),
        ("- {if", "- {iff", ["rule 1: unknown key 'iff'", "Did you mean 'if'?"]),
        (", then: {age: {min: 20}}", "", ["rule 1: write either 'if' with 'then'", "'job': 'cook'"]),
        ("then: {age:", "then: {aeg:", ["rule 1: there is no feature 'aeg'", "Did you mean 'age'?"]),
        ("{min: 20}", "{mn: 20}", ["rule 1: the range of 'age'", "{'mn': 20}", "Did you mean 'min'?"]),
        ("{job: cook}", "{job: cock}", ["rule 1: 'cock' is not a value of 'job'", "Did you mean 'cook'?"]),
        ("requires: debt", "require: debt", ["rule 3: unknown key 'require'", "Did you mean 'requires'?"]),
        ("requires: debt, ", "", ["rule 3: a linked move needs 'requires'"]),
        ("at_most: 2", "at_most: two", ["rule 4: at_most must be a whole number of 1 or more, not 'two'"]),
        ("rules:\n", "rules: 3\nx:\n", ["unknown key 'x'"]),
    ],
)
def test_mistakes_in_a_file_are_named_with_their_position(old: str, new: str, messages: list[str]) -> None:
    assert old in TEXT
    with pytest.raises(SchemaError) as caught:
        Schema.from_yaml(TEXT.replace(old, new, 1))
    assert all(message in str(caught.value) for message in messages), str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [\n", "not valid YAML"),
        ("- 1\n- 2\n", "expected the keys version, target, features, rules"),
        ("version: 1\nfeatures: 3\n", "'features' must map"),
        ("version: 1\nfeatures: {}\n", "'features' must map"),
        ("version: 1\nfeatures: {a: 3}\n", "feature 'a': expected settings such as"),
        (TEXT.split("rules")[0] + "rules: 3\n", "'rules' must be a list"),
        (TEXT.split("rules")[0] + "rules: {at_most: 3}\n", "'rules' must be a list"),
    ],
)
def test_texts_that_are_no_schema_are_refused(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_yaml(text)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"no schema file '.*nowhere.yaml'"):
        Schema.from_yaml(tmp_path / "nowhere.yaml")
    (tmp_path / "latin.yaml").write_bytes("label: é\n".encode("latin-1"))
    with pytest.raises(SchemaError, match="not UTF-8"):
        Schema.from_yaml(tmp_path / "latin.yaml")
