"""Parse what people want from the texts of a command line: the wanted label, and preferences.

Only the syntax is checked here; whether preferences fit the schema is checked by `Preferences.check`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from leastways._messages import nearest
from leastways._values import plain
from leastways.costs import Preferences
from leastways.errors import DataError, PreferenceError
from leastways.io import category_of, number_of, read_json
from leastways.models import OnnxModel
from leastways.schema import Feature, Schema


def target_label(text: str, model: object, train: pd.DataFrame, target: str | None) -> Any:
    """Return the label that a text names: '1' is 1 where labels are numbers, 'yes' is 'yes'.

    The model's own classes decide, else the labels of the training table, else the form of the text. The labels of an
    ONNX model whose classes are not known are column numbers.
    """
    known = _known_labels(model, train, target)
    for label in known:
        if str(label) == text:
            return label
    meant = _literal(text)
    for label in known:
        if not isinstance(label, str) and label == meant:
            return label
    if isinstance(model, OnnxModel) and model.classes is None and not isinstance(meant, str):
        return meant  # a column's number: the words of the training table may not be the model's
    return text if known and all(isinstance(label, str) for label in known) else meant


def _known_labels(model: object, train: pd.DataFrame, target: str | None) -> list[Any]:
    for member in (model, *getattr(model, "models", ())):  # AllOf keeps its members in `models`
        for name in ("classes_", "classes"):
            classes = getattr(member, name, None)
            if classes is not None:
                labels = [plain(label) for label in classes]
                return [label for label in labels if isinstance(label, str | int | float)]
    if target is None or target not in train.columns:
        return []
    return [plain(label) for label in train[target].dropna().unique()]


def _literal(text: str) -> Any:
    value = number_of(text)
    if value is not None:
        return value
    return {"true": True, "false": False}.get(text.lower(), text)


def parse_preferences(
    schema: Schema,
    editable: Sequence[str],
    locked: Sequence[str],
    scores: Sequence[str],
    alpha: float | None,
    ranges: Sequence[str],
) -> Preferences | None:
    """Return the checked preferences of all these people, None where no option gives any."""
    if not editable and not locked and not scores and alpha is None and not ranges:
        return None
    for option, names in (("--editable", editable), ("--lock", locked)):
        for text in names:
            _check_single(option, text, schema)
    preferences = Preferences(
        editable=list(editable) or None,
        scores=_unique("--score", [_score(text, schema) for text in scores]) or None,
        alpha=alpha,
        ranges=_unique("--range", [_range(text, schema) for text in ranges]),
        locked=tuple(locked),
    )
    preferences.check(schema)
    return preferences


def _check_single(option: str, text: str, schema: Schema) -> None:
    """Raise where one text names several features. It is not split, as names may hold commas."""
    parts = [part.strip() for part in text.split(",")]
    if text not in schema.by_name and len(parts) > 1 and all(part in schema.by_name for part in parts):
        repeated = " ".join(f"{option} {shlex.quote(part)}" for part in parts)
        raise PreferenceError(f"{option} {text!r}: name one feature each time, and repeat the option: {repeated}.")


def _unique(option: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs of feature and value as a dictionary; raise where a feature is named twice."""
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1:
            raise PreferenceError(f"{option} names {name!r} {times} times; name it once.")
    return dict(pairs)


def _score(text: str, schema: Schema) -> tuple[str, float]:
    name, value_text = _split(text, schema, "--score")
    value = number_of(value_text)
    if value is None:
        raise PreferenceError(f"--score {text!r}: {value_text!r} is not a number.")
    return name, float(value)


def _range(text: str, schema: Schema) -> tuple[str, Any]:
    """Parse `hours=20:50` (an end may be left out) for a number, `job=office,service` for a category."""
    name, value_text = _split(text, schema, "--range")
    feature = schema.by_name.get(name)
    if feature is None or feature.numeric:
        return name, _ends(text, value_text)
    return name, _categories(value_text, feature)


def _ends(text: str, interval: str) -> tuple[Any, Any]:
    low, colon, high = interval.partition(":")
    ends = tuple(number_of(end) if end.strip() else None for end in (low, high))
    unread = [end for end, value in zip((low, high), ends, strict=True) if end.strip() and value is None]
    if not colon or unread:
        raise PreferenceError(f"--range {text!r}: write two numbers, such as 20:50, or one of them: 20: or :50.")
    return ends[0], ends[1]


def _categories(text: str, feature: Feature) -> list[Any]:
    """Parse values between commas. A value may itself hold commas: the longest text that is a value is taken."""
    parts, values = text.split(","), []
    while parts:
        for n in range(len(parts), 0, -1):
            value = _category(",".join(parts[:n]), feature)
            if n == 1 or value in feature.values:
                break
        values.append(value)
        del parts[:n]
    return values


def _category(text: str, feature: Feature) -> Any:
    value = category_of(text, feature)
    return text if value is None else value


def _split(text: str, schema: Schema, option: str) -> tuple[str, str]:
    """Split FEATURE=VALUE; a feature's name may itself hold an equals sign."""
    for name in sorted(schema.names, key=len, reverse=True):
        if text.startswith(f"{name}="):
            return name, text[len(name) + 1 :]
    name, equals, value_text = text.partition("=")
    if not equals:
        raise PreferenceError(f"{option} {text!r}: write FEATURE=VALUE, such as {_example(text, schema, option)}.")
    return name, value_text


def _example(text: str, schema: Schema, option: str) -> str:
    """Return a correct example: of the feature that the text begins with, else of a number."""
    named = [f for f in schema.features if text.startswith(f.name)]
    numbers = [f for f in schema.features if f.numeric]
    feature = max(named, key=lambda f: len(f.name)) if named else (numbers or list(schema.features))[0]
    if option == "--score":
        return f"{feature.name}=0.7"
    first, last = feature.values[0], feature.values[-1]
    if feature.numeric:
        return f"{feature.name}={first}:{last}"
    return f"{feature.name}={first}" + (f",{last}" if last != first else "")


def read_profiles(path: Path, labels: pd.Index[Any]) -> dict[Any, Preferences]:
    """Read each person's preferences from JSON: ``{label: {"scores": {feature: share}, ..}}``, labels as text."""
    data = read_json(path, "profiles")
    if not isinstance(data, dict) or not all(isinstance(entry, dict) for entry in data.values()):
        raise DataError(f"{str(path)!r} must hold an object with an object of preferences for each person's label.")
    known = [field.name for field in fields(Preferences)]
    for label, entry in data.items():
        for name in entry:
            if name not in known:
                raise PreferenceError(
                    f"{str(path)!r}, person {label!r}: unknown {name!r}; allowed: {', '.join(known)}."
                    + nearest(name, known)
                )
    return {label: Preferences(**data[str(plain(label))]) for label in labels if str(plain(label)) in data}
