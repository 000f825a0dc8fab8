"""What a rule or a person may say of a feature's values: a value, a list of values, or a range."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest, plain
from leastways._validation import is_real
from leastways.errors import SchemaError
from leastways.schema.feature import Feature

Condition = Any  # a value | a list or set of values | (low, high) or {"min": low, "max": high} for numbers


def check_condition(feature: Feature, condition: Condition, where: str) -> None:
    """Raise where a condition names a value the feature cannot have."""
    bounds = range_of(condition, f"{where}: the range of {feature.name!r}")
    if bounds is not None:
        _check_range(feature, bounds, where)
        return
    values = values_of(condition)
    if not values:
        raise SchemaError(f"{where}: no value given for {feature.name!r}.")
    for value in values:
        known = _in_number_range(feature, value) if feature.numeric else value in feature.values
        if not known:
            raise SchemaError(
                f"{where}: {plain(value)!r} is not a value of {feature.name!r}; allowed: {feature.allowed_text()}"
                f"{feature.limits_text()}." + ("" if feature.numeric else nearest(value, feature.values))
            )


def _check_range(feature: Feature, bounds: tuple[Any, Any], where: str) -> None:
    if not feature.numeric:
        raise SchemaError(
            f"{where}: {feature.name!r} is not a number, so list the values instead of a range: "
            f"{listed(feature.values, 12)}."
        )
    for bound in bounds:
        if bound is not None and (not is_real(bound) or bound != bound):
            raise SchemaError(f"{where}: the range of {feature.name!r} must be two numbers, not {bounds!r}.")
    low, high = bounds
    if low is None and high is None:
        raise SchemaError(f"{where}: the range of {feature.name!r} has neither end; give at least one.")
    if low is not None and high is not None and low > high:
        raise SchemaError(f"{where}: the range of {feature.name!r} runs from {low!r} down to {high!r}.")


def _in_number_range(feature: Feature, value: Any) -> bool:
    if not is_real(value):
        return False
    least, most = feature.limits  # people may stand beyond the ends of the grid; without limits it may be a slip
    low, high = (feature.values[0] if least is None else least), (feature.values[-1] if most is None else most)
    return bool(low <= value <= high)


def range_of(condition: Condition, where: str = "a range") -> tuple[Any, Any] | None:
    """Return (low, high) where the condition is a range: a pair in a tuple, or a mapping with min and max."""
    if isinstance(condition, Mapping):
        extra = [k for k in condition if k not in ("min", "max")]
        if extra or not condition:
            hint = nearest(extra[0], ("min", "max")) if extra else ""
            raise SchemaError(f"{where} is written {{min: .., max: ..}}; got {dict(condition)!r}.{hint}")
        return plain(condition.get("min")), plain(condition.get("max"))
    if isinstance(condition, tuple):
        if len(condition) != 2:
            raise SchemaError(f"{where} is (low, high); got {condition!r}. Use a list for a choice of values.")
        return plain(condition[0]), plain(condition[1])
    return None


def values_of(condition: Condition) -> list[Any]:
    """Return the values that a condition lists; a set in an order of its own, so that a schema reads the same."""
    if isinstance(condition, Set):
        return sorted((plain(v) for v in condition), key=lambda v: (str(type(v)), v))
    if isinstance(condition, list | np.ndarray):
        return [plain(v) for v in condition]
    return [plain(condition)]


def normal(condition: Condition) -> Condition:
    """Return the one form of a checked condition: a pair for a range, else a list."""
    bounds = range_of(condition)
    return values_of(condition) if bounds is None else bounds


def condition_mask(feature: Feature, condition: Condition, levels: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the slots that meet the condition: levels [P, slots] in, booleans [P, slots] out."""
    bounds = range_of(condition)
    if bounds is not None:
        low, high = bounds
        mask = np.ones(levels.shape, dtype=np.bool_)
        if low is not None:
            mask &= levels >= feature.as_held(low)
        if high is not None:
            mask &= levels <= feature.as_held(high)
        return mask
    values = values_of(condition)
    if feature.numeric:
        return np.isin(levels, feature.as_held(values))
    positions = feature.index.get_indexer(pd.Index(values, dtype=object)).astype(np.float64)
    return np.isin(levels, positions[positions >= 0])
