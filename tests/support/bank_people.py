"""A small bank: a table, its schema, models that decide on it, and plain-Python readings of what is promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit

from leastways.errors import SchemaError
from leastways.recourse import Recourse
from leastways.schema import AtMost, Feature, Forbidden, IfThen, Linked, Schema

SCHOOLS = ["none", "mid", "high"]


def table(n: int = 240, seed: int = 3) -> pd.DataFrame:
    """Draw customers: numbers, an ordinal, a category, a protected attribute."""
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": draw.integers(18, 60, n),
            "income": draw.gamma(3.0, 800.0, n).round(2),
            "school": draw.choice(SCHOOLS, n),
            "job": draw.choice(["clerk", "cook", "nurse"], n),
            "sex": draw.choice(["f", "m"], n),
        }
    )


TRAIN = table()
SCHEMA = Schema.infer(TRAIN).update(
    age={"direction": "up", "valid_range": [0, 120]},
    income={"valid_range": [0, None]},
    school={"order": SCHOOLS, "direction": "up"},
    sex={"direction": "fixed"},
)


def chance(frame: pd.DataFrame) -> NDArray[np.float64]:
    """The bank's model."""
    x = frame["age"].astype(float) / 40 + frame["income"].astype(float) / 3000 + 0.6 * (frame["job"] == "nurse")
    x = x + frame["school"].map({"none": 0.0, "mid": 0.3, "high": 0.6}).astype(float) - 2.6
    return np.asarray(1 / (1 + np.exp(-4 * x)), dtype=np.float64)


def refused(n: int = 6, label: str = "c{}") -> pd.DataFrame:
    """The first few customers that the bank refuses."""
    people = TRAIN[chance(TRAIN) < 0.3].head(n)
    return people.set_axis([label.format(i) for i in range(len(people))], axis=0)


def recourse(model: Any = chance, schema: Schema = SCHEMA, **settings: Any) -> Recourse:
    """A fitted `Recourse` that is quick to ask."""
    quick = {"n_options": 3, "budget": 60, "n_costs": 40} | settings
    return Recourse(model, schema, **quick).fit(TRAIN)


def levels(feature: Feature, value: Any) -> float:
    """A value as a number: itself, or its place among the categories; NaN where it is missing."""
    if pd.isna(value):
        return float("nan")
    return float(value) if feature.numeric else float(feature.values.index(value))


def step(feature: Feature, before: Any, after: Any) -> float:
    """How far a feature moved; NaN if it was missing before or after, but not both."""
    both = pd.isna(before) and pd.isna(after)
    return 0.0 if both else levels(feature, after) - levels(feature, before)


def _holds(schema: Schema, state: dict[str, Any], part: Any) -> bool:
    for name, condition in part.items():
        value = state[name]
        if pd.isna(value):
            return False
        if isinstance(condition, tuple):
            low, high = condition
            if (low is not None and value < low) or (high is not None and value > high):
                return False
        elif value not in condition:
            return False
    return True


def broken(schema: Schema, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Say, in plain Python on raw values, which promises an option breaks."""
    out = []
    moved = {f.name: step(f, before[f.name], after[f.name]) for f in schema.features}
    for feature in schema.features:
        by = moved[feature.name]
        if np.isnan(by):
            out.append(f"{feature.name} came from {before[feature.name]} to {after[feature.name]}")
        wrong = {"fixed": by != 0, "up": by < 0, "down": by > 0, "any": False}[feature.direction]
        if wrong:
            out.append(f"{feature.name} moved {by} though {feature.direction}")
        if by != 0 and after[feature.name] in feature.excluded:
            out.append(f"{feature.name} came to {after[feature.name]}, which is excluded")
    for rule in schema.rules:
        if isinstance(rule, AtMost):
            fine = sum(by != 0 for by in moved.values()) <= rule.changes
        elif isinstance(rule, Forbidden):
            fine = not _holds(schema, after, rule.together)
        elif isinstance(rule, IfThen):
            fine = not _holds(schema, after, rule.when) or _holds(schema, after, rule.then)
        else:
            assert isinstance(rule, Linked)
            times = moved[rule.feature] / rule.by
            fine = times <= 0 or moved[rule.requires] / rule.at_least >= times - 1e-6
        if not fine:
            out.append(f"{rule} is broken")
    return out


@st.composite
def worlds(draw: st.DrawFn) -> tuple[pd.DataFrame, Schema, Any]:
    """Draw a table, with gaps or without, a schema with directions and rules, and a model that decides on it.

    Some of the people stand beyond the ends of grids where these were cut.
    """
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, draw(st.sampled_from([2, 6, 40])), 30),
            "b": rng.integers(0, 5000, 30),
            "c": rng.normal(0, 1, 30),
            "d": rng.choice(["x", "y", "z"], 30),
            "e": pd.Categorical(rng.choice(["low", "mid", "top"], 30), ["low", "mid", "top"], ordered=True),
            "f": rng.random(30) < 0.5,
        }
    )
    if draw(st.booleans()):
        frame[["c", "d", "e"]] = frame[["c", "d", "e"]].mask(rng.random((30, 3)) < 0.2)
    ways = ["any", "up", "down", "fixed"]
    directions = {n: {"direction": draw(st.sampled_from(ways if n in "abce" else ["any", "fixed"]))} for n in "abcdef"}
    schema = Schema.infer(frame).update(directions)
    if draw(st.booleans()):
        grids = {name: {"grid": schema.by_name[name].values[1:-1]} for name in "abc"}
        schema = schema.update({name: said for name, said in grids.items() if said["grid"]})
    if draw(st.booleans()):
        excluded = {name: {"excluded": schema.by_name[name].values[1::2]} for name in "bde"}
        schema = schema.update(excluded)
    rules: list[Any] = [
        AtMost(draw(st.integers(1, 4))),
        Forbidden({"d": ["x"], "f": True}),
        Forbidden({"b": (2500, None), "c": (None, 0.0)}),
        IfThen({"e": ["top"]}, {"d": ["y", "z"], "a": (1, None)}),
        Linked("e", requires="a", at_least=draw(st.sampled_from([1, 2, -1]))),
        Linked("b", requires="c", at_least=0.5, by=draw(st.sampled_from([1000, -1000]))),
    ]
    for rule in draw(st.lists(st.sampled_from(rules), max_size=4, unique_by=id)):
        try:
            schema = schema.update(rules=[*schema.rules, rule])
        except SchemaError:  # contradicts the directions drawn
            continue
    weights, cut = rng.normal(0, 1, 6), rng.normal(0.4, 0.4)

    def model(rows: pd.DataFrame) -> NDArray[np.float64]:
        x = [
            np.array([levels(f, v) for v in rows[f.name]]) / (max(f.range, 1.0) if f.numeric else 2.0)
            for f in schema.features
        ]
        known = np.nan_to_num(np.stack(x, axis=1), nan=0.3)
        return np.asarray(expit(4 * (known @ weights - cut)), dtype=np.float64)  # which no large number overflows

    return frame, schema, model
