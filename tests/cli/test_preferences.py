"""Labels and preferences from the words of a command line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways.cli.preferences import parse_preferences, target_label
from leastways.errors import PreferenceError
from leastways.models import OnnxModel
from leastways.schema import Schema

TRAIN = pd.DataFrame({"hours": [20, 60, 40], "a=b": [1, 2, 3], "job": ["x", "y", "x"], "ok": 1})
SCHEMA = Schema.infer(TRAIN, target="ok")


@pytest.mark.parametrize(
    ("text", "classes", "label"),
    [
        ("1", np.array([0, 1]), 1),
        ("1", np.array(["0", "1"]), "1"),
        ("1", np.array([0.0, 1.0]), 1.0),
        ("1", np.array([False, True]), True),
        ("true", np.array([False, True]), True),
        ("yes", np.array(["no", "yes"]), "yes"),
        ("Yes", np.array(["no", "yes"]), "Yes"),
        ("7", np.array(["no", "yes"]), "7"),
        ("7", np.array([0, 1]), 7),
        ("x", np.array([0, 1]), "x"),
    ],
)
def test_target_label_is_a_class_of_the_model(text: str, classes: Any, label: object) -> None:
    for model in (SimpleNamespace(classes_=classes), SimpleNamespace(models=[SimpleNamespace(classes=classes)])):
        found = target_label(text, model, TRAIN, "ok")
        assert found == label
        assert type(found) is type(label)


def test_without_classes_the_training_table_or_the_text_decides() -> None:
    labelled = TRAIN.assign(ok=["1", "0", "1"])
    assert target_label("1", len, labelled, "ok") == "1"
    assert target_label("1", len, TRAIN, "ok") == 1
    for text, label in [("1", 1), ("1.5", 1.5), ("true", True), ("yes", "yes")]:
        assert target_label(text, len, TRAIN.drop(columns="ok"), None) == label


def test_labels_of_an_onnx_model_without_classes_are_column_numbers() -> None:
    model = OnnxModel(b"no graph")
    words = TRAIN.assign(ok=["refused", "approved", "refused"])
    assert target_label("0", model, words, "ok") == 0
    assert target_label("approved", model, words, "ok") == "approved"
    assert target_label("0", OnnxModel(b"no graph", classes=["refused", "approved"]), words, "ok") == "0"


def test_no_options_give_no_preferences() -> None:
    assert parse_preferences(SCHEMA, (), (), (), None, ()) is None


def test_all_options_are_parsed() -> None:
    said = parse_preferences(
        SCHEMA,
        ["hours", "a=b", "job"],
        (),
        ["hours=0.5", "a=b=0.25", "job=0.25"],
        0.3,
        ["hours=20:50", "a=b=:2", "job=x,y"],
    )
    assert said is not None
    assert said.editable == ["hours", "a=b", "job"]
    assert said.scores == {"hours": 0.5, "a=b": 0.25, "job": 0.25}
    assert said.alpha == 0.3
    assert said.ranges == {"hours": (20, 50), "a=b": (None, 2), "job": ["x", "y"]}


def test_locked_features_are_parsed() -> None:
    said = parse_preferences(SCHEMA, (), ["a=b", "job"], (), None, ())
    assert said is not None
    assert (said.editable, said.locked) == (None, ("a=b", "job"))


def test_ranges_are_parsed() -> None:
    said = parse_preferences(SCHEMA, (), (), (), None, ["hours=20:", "job=y"])
    assert said is not None
    assert said.ranges == {"hours": (20, None), "job": ["y"]}
    with pytest.raises(PreferenceError, match="two numbers"):
        parse_preferences(SCHEMA, (), (), (), None, ["hours=20"])
    with pytest.raises(PreferenceError, match="two numbers"):
        parse_preferences(SCHEMA, (), (), (), None, ["hours=20:many"])
    with pytest.raises(PreferenceError, match="Did you mean 'hours'"):
        parse_preferences(SCHEMA, (), (), (), None, ["hour=20:30"])


def test_category_may_contain_a_comma() -> None:
    table = Schema.infer(pd.DataFrame({"car": ["none", "used, old", "used, old, broken", "new"]}))
    for text, values in [
        ("used, old", ["used, old"]),
        ("none,used, old,new", ["none", "used, old", "new"]),
        ("used, old, broken, used, old", ["used, old, broken", "used, old"]),
        ("new, none", ["new", "none"]),
    ]:
        said = parse_preferences(table, (), (), (), None, [f"car={text}"])
        assert said is not None
        assert said.ranges == {"car": values}
    with pytest.raises(PreferenceError, match="'used' is not a value of 'car'"):
        parse_preferences(table, (), (), (), None, ["car=used,new"])


def test_an_example_is_of_a_number_where_nothing_else_is_meant() -> None:
    table = Schema.infer(TRAIN[["job", "hours"]])
    with pytest.raises(PreferenceError, match=r"'20:50': write FEATURE=VALUE, such as hours=20:60\."):
        parse_preferences(table, (), (), (), None, ["20:50"])
    with pytest.raises(PreferenceError, match=r"such as job=x,y\."):
        parse_preferences(Schema.infer(TRAIN[["job"]]), (), (), (), None, ["20:50"])


def test_feature_name_may_contain_a_comma() -> None:
    table = Schema.infer(pd.DataFrame({"a,b": [1, 2], "a": [1, 2], "b": [1, 2]}))
    said = parse_preferences(table, ["a,b"], (), (), None, ())
    assert said is not None
    assert said.editable == ["a,b"]
