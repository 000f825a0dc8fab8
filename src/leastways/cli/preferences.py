"""What a person wants, from the words of a command line: the label that is a yes, and preferences."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from leastways._messages import nearest, plain
from leastways.costs import Preferences
from leastways.errors import DataError, PreferenceError
from leastways.io import category_of, number_of, read_json
from leastways.models import OnnxModel
from leastways.schema import Feature, Schema


def target_label(text: str, model: object, train: pd.DataFrame, target: str | None) -> Any:
    """Return the label that a text means: '1' is 1 where labels are numbers, 'yes' is 'yes'.

    The model's own classes decide, else the labels of the training table, else how the text looks. An ONNX model whose
    classes are not known has column numbers.
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
    """Build and check what all these people are to have in common, or return None where nothing was said."""
    if not editable and not locked and not scores and alpha is None and not ranges:
        return None
    for option, names in (("--editable", editable), ("--lock", locked)):
        for text in names:
            _check_one(option, text, schema)
    said = Preferences(
        editable=list(editable) or None,
        scores=_each_once("--score", [_score(text, schema) for text in scores]) or None,
        alpha=alpha,
        ranges=_each_once("--range", [_range(text, schema) for text in ranges]),
        locked=tuple(locked),
    )
    said.check(schema)
    return said


def _check_one(option: str, text: str, schema: Schema) -> None:
    """Raise where several features stand in one word: their names may hold commas, so nothing is split."""
    parts = [part.strip() for part in text.split(",")]
    if text not in schema.by_name and len(parts) > 1 and all(part in schema.by_name for part in parts):
        repeated = " ".join(f"{option} {shlex.quote(part)}" for part in parts)
        raise PreferenceError(f"{option} {text!r}: name one feature each time, and repeat the option: {repeated}.")


def _each_once(option: str, said: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return what was said of each feature; of two ranges or shares nobody knows which is meant."""
    for name, times in Counter(name for name, _ in said).items():
        if times > 1:
            raise PreferenceError(f"{option} names {name!r} {times} times; say it once.")
    return dict(said)


def _score(text: str, schema: Schema) -> tuple[str, float]:
    name, said = _split(text, schema, "--score")
    value = number_of(said)
    if value is None:
        raise PreferenceError(f"--score {text!r}: {said!r} is not a number.")
    return name, float(value)


def _range(text: str, schema: Schema) -> tuple[str, Any]:
    """Read `hours=20:50` (an end may be left out) for a number, `job=office,service` for a category."""
    name, said = _split(text, schema, "--range")
    feature = schema.by_name.get(name)
    if feature is None or feature.numeric:
        return name, _ends(text, said)
    return name, _categories(said, feature)


def _ends(text: str, said: str) -> tuple[Any, Any]:
    low, colon, high = said.partition(":")
    ends = tuple(number_of(end) if end.strip() else None for end in (low, high))
    unread = [end for end, value in zip((low, high), ends, strict=True) if end.strip() and value is None]
    if not colon or unread:
        raise PreferenceError(f"--range {text!r}: write two numbers, such as 20:50, or one of them: 20: or :50.")
    return ends[0], ends[1]


def _categories(said: str, feature: Feature) -> list[Any]:
    """Read values between commas. A value may itself hold commas: the longest text that is a value counts as one."""
    parts, values = said.split(","), []
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
    name, equals, said = text.partition("=")
    if not equals:
        raise PreferenceError(f"{option} {text!r}: write FEATURE=VALUE, such as {_example(text, schema, option)}.")
    return name, said


def _example(text: str, schema: Schema, option: str) -> str:
    """Return how it could be said of the feature that seems to be meant, or else of a number."""
    meant = [f for f in schema.features if text.startswith(f.name)]
    numbers = [f for f in schema.features if f.numeric]
    feature = max(meant, key=lambda f: len(f.name)) if meant else (numbers or list(schema.features))[0]
    if option == "--score":
        return f"{feature.name}=0.7"
    first, last = feature.values[0], feature.values[-1]
    if feature.numeric:
        return f"{feature.name}={first}:{last}"
    return f"{feature.name}={first}" + (f",{last}" if last != first else "")


def read_profiles(path: Path, labels: pd.Index[Any]) -> dict[Any, Preferences]:
    """Read what each person wants from JSON: ``{label: {"scores": {feature: share}, ..}}``, labels as text."""
    data = read_json(path, "profiles")
    if not isinstance(data, dict) or not all(isinstance(said, dict) for said in data.values()):
        raise DataError(f"{str(path)!r} must hold an object with an object of preferences for each person's label.")
    known = [field.name for field in fields(Preferences)]
    for label, said in data.items():
        for name in said:
            if name not in known:
                raise PreferenceError(
                    f"{str(path)!r}, person {label!r}: unknown {name!r}; allowed: {', '.join(known)}."
                    + nearest(name, known)
                )
    return {label: Preferences(**data[str(plain(label))]) for label in labels if str(plain(label)) in data}
