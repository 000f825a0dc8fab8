"""What a rule or a person may say of a feature's values: a value, a list of values, or a range."""

from __future__ import annotations

from collections.abc import Mapping, Set
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.errors import SchemaError, listed, nearest, plain
from leastways.schema.feature import Feature

Condition = Any  # a value | a list or set of values | (low, high) or {"min": low, "max": high} for numbers


def check_condition(feature: Feature, condition: Condition, where: str) -> None:
    """Raise where a condition names a value the feature cannot have."""
    bounds = range_of(condition)
    if bounds is not None:
        _check_range(feature, bounds, where)
        return
    values = values_of(condition)
    if not values:
        raise SchemaError(f"{where}: no value given for {feature.name!r}.")
    for value in values:
        known = _in_number_range(feature, value) if feature.numeric else value in set(feature.values)
        if not known:
            raise SchemaError(
                f"{where}: {plain(value)!r} is not a value of {feature.name!r}; allowed: {feature.allowed_text()}."
                + ("" if feature.numeric else nearest(value, feature.values))
            )


def _check_range(feature: Feature, bounds: tuple[Any, Any], where: str) -> None:
    if not feature.numeric:
        raise SchemaError(
            f"{where}: {feature.name!r} is not a number, so list the values instead of a range: "
            f"{listed(feature.values, 12)}."
        )
    for bound in bounds:
        if bound is not None and (isinstance(bound, bool | str) or not isinstance(bound, Real)):
            raise SchemaError(f"{where}: the range of {feature.name!r} must be two numbers, not {bounds!r}.")
    low, high = bounds
    if low is not None and high is not None and low > high:
        raise SchemaError(f"{where}: the range of {feature.name!r} runs from {low!r} down to {high!r}.")


def _in_number_range(feature: Feature, value: Any) -> bool:
    if isinstance(value, bool | str) or not isinstance(value, Real):
        return False
    return bool(feature.values[0] <= value <= feature.values[-1])


def range_of(condition: Condition) -> tuple[Any, Any] | None:
    """Return (low, high) where the condition is a range: a pair in a tuple, or a mapping with min and max."""
    if isinstance(condition, Mapping):
        extra = set(condition) - {"min", "max"}
        if extra or not condition:
            raise SchemaError(f"a range is written {{min: .., max: ..}}; got {dict(condition)!r}.")
        return condition.get("min"), condition.get("max")
    if isinstance(condition, tuple):
        if len(condition) != 2:
            raise SchemaError(f"a range is (low, high); got {condition!r}. Use a list for a choice of values.")
        return condition
    return None


def values_of(condition: Condition) -> list[Any]:
    """Return the values that a condition lists."""
    if isinstance(condition, list | Set | np.ndarray):
        return list(condition)
    return [condition]


def condition_mask(feature: Feature, condition: Condition, levels: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the slots that meet the condition: levels [P, slots] in, booleans [P, slots] out."""
    bounds = range_of(condition)
    if bounds is not None:
        low, high = bounds
        mask = np.ones(levels.shape, dtype=np.bool_)
        if low is not None:
            mask &= levels >= float(low)
        if high is not None:
            mask &= levels <= float(high)
        return mask
    values = values_of(condition)
    if feature.numeric:
        return np.isin(levels, np.asarray(values, dtype=np.float64))
    positions = feature.index.get_indexer(pd.Index(values, dtype=object)).astype(np.float64)
    return np.isin(levels, positions[positions >= 0])
