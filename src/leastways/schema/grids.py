"""Grids of values: the numbers between two ends, and what a grid becomes when a feature's settings change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from leastways._messages import listed, plain
from leastways.errors import SchemaError

if TYPE_CHECKING:
    from leastways.schema.feature import Feature
from leastways._validation import is_number

MAX_INTEGERS = 1000  # a longer run of integers gets a quantile grid, as a real number would
MAX_POINTS = 20_000  # a longer grid would fill the memory with costs of values nobody can tell apart
_LISTS = ("order", "values", "grid")
_ENDS = ("min", "max", "step")


def new_values(feature: Feature, kind: str, settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """Work out the grid after `order`, `values`, `grid`, `min`, `max` or `step` were given."""
    lists = [k for k in _LISTS if k in settings]
    ends = [k for k in _ENDS if k in settings]
    if len(lists) > 1 or (lists and ends):
        raise SchemaError(f"feature {feature.name!r}: give only one of {', '.join(lists + ends)}.")
    numeric = kind in ("integer", "real")
    wrong = [k for k in (*lists, *ends) if k in (*_ENDS, "grid") and not numeric]
    if wrong:
        raise SchemaError(f"feature {feature.name!r} is {kind}: {', '.join(wrong)} only fits numbers.")
    if lists:
        values = as_values(settings[lists[0]], f"feature {feature.name!r}: {lists[0]}")
        missing = [v for v in feature.values if v not in set(values)] if not feature.numeric else []
        if missing:
            known = "the data hold" if set(missing) - set(feature.never) else "the column knows"
            raise SchemaError(
                f"feature {feature.name!r}: {lists[0]} leaves out {listed(missing)}, which {known}. "
                f"List every value: {listed(feature.values, 12)}."
            )
        return tuple(sorted(values)) if lists[0] == "grid" and all(map(is_number, values)) else values
    if not ends:
        return feature.values
    low, high = settings.get("min", feature.values[0]), settings.get("max", feature.values[-1])
    first = low if "min" in settings else _multiple_above(low, settings.get("step"))
    if first == low or not first < high:
        return number_grid(feature.name, kind, low, high, settings.get("step"), feature.values)
    return (low, *number_grid(feature.name, kind, first, high, settings.get("step")))


def _multiple_above(low: Any, step: Any) -> Any:
    """Return the first multiple of `step` at or above `low`: a grid by 0.01 has 0.01 and 0.02, not 0.014 and 0.024."""
    if not is_number(low) or not is_number(step) or step <= 0 or not np.isfinite(low / step):
        return low  # `number_grid` says what is wrong
    first = _clean(int(np.ceil(low / step - 1e-6)) * plain(step))
    return first if first > low else low


def _clean(number: Any) -> Any:
    """Take the noise of floating point off: 3 * 0.1 is 0.3."""
    return number if isinstance(number, int) else float(f"{number:.12g}")


def as_values(values: object, where: str) -> tuple[Any, ...]:
    """Return a list of values as plain, hashable Python values."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise SchemaError(f"{where} must be a list of values, not {values!r}.")
    out = tuple(plain(v) for v in values)
    odd = [v for v in out if not isinstance(v, str | int | float)]  # a bool is an int
    if odd:
        raise SchemaError(f"{where} holds {listed(odd)}; a value is a text, a number, or true or false.")
    return out


def number_grid(name: str, kind: str, low: Any, high: Any, step: Any, keep: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Return the numbers from `low` to `high` by `step`; `high` is always the last, on a step or not.

    Without a step a quantile grid keeps the points it had between the two ends; other integers take every integer.
    """
    low, high, step = plain(low), plain(high), plain(step)
    if not is_number(low) or not is_number(high) or not low <= high:
        raise SchemaError(f"feature {name!r}: min {low!r} and max {high!r} must be numbers, min first.")
    if kind == "integer" and (low != int(low) or high != int(high)):
        raise SchemaError(f"feature {name!r} is integer: min {low!r} and max {high!r} must be whole numbers.")
    if step is not None and (not is_number(step) or step <= 0 or (kind == "integer" and step != int(step))):
        what = "a whole number" if kind == "integer" else "a number"
        raise SchemaError(f"feature {name!r}: step must be {what} above 0, not {step!r}.")
    gaps = bool(keep) and keep[-1] - keep[0] + 1 != len(keep)
    if step is None and (kind == "real" or (gaps and high - low >= MAX_INTEGERS)):
        return tuple(sorted({low, high, *(v for v in keep if low <= v <= high)}))
    step = 1 if step is None else step
    count = (high - low) / step
    if count >= MAX_POINTS:
        raise SchemaError(
            f"feature {name!r}: {low!r} to {high!r} by {step!r} makes more than {MAX_POINTS:,} points; "
            "give a larger step, or list the points under grid."
        )
    if kind == "integer":
        points: list[float] = list(range(int(low), int(high) + 1, int(step)))
    else:
        points = [float(low), *(_clean(float(low + k * step)) for k in range(1, int(np.floor(count + 1e-9)) + 1))]
    last = int(high) if kind == "integer" else float(high)
    if len(points) > 1 and last - points[-1] <= 1e-9 * step:
        points[-1] = last  # not a rounding beside it: it is a limit
    elif last > points[-1]:
        points.append(last)
    return tuple(points)
