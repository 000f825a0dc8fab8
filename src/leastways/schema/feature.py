"""One feature: its kind, its grid of values, the direction it may move in, and how to name it to a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.errors import SchemaError, listed, nearest, plain

Kind = Literal["integer", "real", "ordinal", "category"]
Direction = Literal["any", "up", "down", "fixed"]
KINDS: tuple[Kind, ...] = ("integer", "real", "ordinal", "category")
DIRECTIONS: tuple[Direction, ...] = ("any", "up", "down", "fixed")
SETTINGS = ("kind", "direction", "order", "values", "grid", "min", "max", "step", "label", "unit")


@dataclass(frozen=True)
class Feature:
    """A column of the table as leastways sees it.

    `values` is the grid, in order. A numeric grid that skips values (a quantile grid, a step) is *open*: a person's
    own value between two grid points gets a place of its own and is never rounded away.
    """

    name: str
    kind: Kind
    values: tuple[Any, ...]
    direction: Direction = "any"
    dtype: str = "object"
    label: str = ""
    unit: str = ""
    categories: tuple[Any, ...] = ()
    categories_ordered: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SchemaError(
                f"feature {self.name!r}: kind {self.kind!r} is not one of {', '.join(KINDS)}."
                + nearest(self.kind, KINDS)
            )
        if self.direction not in DIRECTIONS:
            raise SchemaError(
                f"feature {self.name!r}: direction {self.direction!r} is not one of {', '.join(DIRECTIONS)}."
                + nearest(self.direction, DIRECTIONS)
            )
        if self.kind == "category" and self.direction in ("up", "down"):
            raise SchemaError(
                f"feature {self.name!r} has no order, so direction {self.direction!r} means nothing. "
                f"Give it one: update({{{self.name!r}: {{'order': [...]}}}})."
            )
        if not self.values:
            raise SchemaError(f"feature {self.name!r} has no values.")
        if len(set(self.values)) != len(self.values):
            raise SchemaError(f"feature {self.name!r} lists a value twice: {listed(self.values)}.")
        if self.numeric:
            self._check_numbers()

    def _check_numbers(self) -> None:
        bad = [v for v in self.values if isinstance(v, bool | str) or not isinstance(v, Real)]
        if bad or not all(np.isfinite(float(v)) for v in self.values):
            raise SchemaError(f"feature {self.name!r} is {self.kind}, but its grid holds {listed(bad or self.values)}.")
        if any(b <= a for a, b in zip(self.values, self.values[1:], strict=False)):
            raise SchemaError(f"feature {self.name!r}: the grid must rise from value to value: {listed(self.values)}.")
        if self.kind == "integer" and any(float(v) != int(v) for v in self.values):
            raise SchemaError(f"feature {self.name!r} is integer, but its grid holds {listed(self.values)}.")

    @property
    def numeric(self) -> bool:
        """Whether values are numbers (else categories, ordered or not)."""
        return self.kind in ("integer", "real")

    @property
    def ordered(self) -> bool:
        """Whether up and down mean something."""
        return self.kind != "category"

    @cached_property
    def open(self) -> bool:
        """Whether a person's own value may lie between two grid points."""
        if not self.numeric:
            return False
        return self.kind == "real" or len(self.values) != int(self.values[-1]) - int(self.values[0]) + 1

    @property
    def n_slots(self) -> int:
        """Places in a cost table: the grid, and one more for a person's own value where the grid is open."""
        return len(self.values) + int(self.open)

    @property
    def wording(self) -> str:
        """The feature's name for a reader."""
        return self.label or self.name.replace("_", " ")

    @cached_property
    def array(self) -> NDArray[Any]:
        """The grid as an array: floats for numbers, objects for categories."""
        if self.numeric:
            return np.asarray(self.values, dtype=np.float64)
        out = np.empty(len(self.values), dtype=object)
        out[:] = self.values
        return out

    @cached_property
    def index(self) -> pd.Index[Any]:
        """The categories for look-ups."""
        index: pd.Index[Any] = pd.Index(self.array, dtype=object)
        return index

    @property
    def range(self) -> float:
        """Largest minus smallest grid value (numbers only), as distances use it."""
        return float(self.values[-1]) - float(self.values[0])

    def allowed_text(self) -> str:
        """Say which values are allowed."""
        if self.numeric:
            what = "a whole number" if self.kind == "integer" else "a number"
            return f"{what} from {plain(self.values[0])} to {plain(self.values[-1])}"
        return f"one of {listed(self.values, 12)}"

    def updated(self, settings: Mapping[str, Any]) -> Feature:
        """Return this feature with some settings changed, checking every key and value."""
        if not isinstance(settings, Mapping):
            raise SchemaError(
                f"feature {self.name!r}: expected a mapping such as {{'direction': 'up'}}, not {settings!r}."
            )
        for key in settings:
            if key not in SETTINGS:
                raise SchemaError(
                    f"feature {self.name!r}: unknown setting {key!r}; allowed: {', '.join(SETTINGS)}."
                    + nearest(key, SETTINGS)
                )
        new = replace(
            self,
            kind="ordinal" if "order" in settings else settings.get("kind", self.kind),
            values=_new_values(self, settings),
            label=str(settings.get("label", self.label)),
            unit=str(settings.get("unit", self.unit)),
        )
        return replace(new, direction=settings.get("direction", self.direction))


def _new_values(feature: Feature, settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """Work out the grid after `order`, `values`, `grid`, `min`, `max` or `step` were given."""
    given = [k for k in ("order", "values", "grid") if k in settings]
    numeric = [k for k in ("min", "max", "step") if k in settings]
    if len(given) > 1 or (given and numeric):
        raise SchemaError(f"feature {feature.name!r}: give only one of {', '.join(given + numeric)}.")
    if given:
        values = tuple(plain(v) for v in settings[given[0]])
        missing = [v for v in feature.values if v not in set(values)] if not feature.numeric else []
        if missing:
            raise SchemaError(
                f"feature {feature.name!r}: {given[0]} leaves out {listed(missing)}, which the data hold. "
                f"List every value: {listed(feature.values, 12)}."
            )
        return tuple(sorted(values)) if given[0] == "grid" else values
    if not numeric:
        return feature.values
    if not feature.numeric:
        raise SchemaError(f"feature {feature.name!r} is {feature.kind}: {', '.join(numeric)} only fits numbers.")
    return number_grid(
        feature.name,
        feature.kind,
        settings.get("min", feature.values[0]),
        settings.get("max", feature.values[-1]),
        settings.get("step"),
        feature.values,
    )


def number_grid(name: str, kind: str, low: Any, high: Any, step: Any, keep: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Return the numbers from `low` to `high` by `step`.

    Without a step integers take every integer, and reals keep the points they had between the two ends.
    """
    if any(isinstance(x, bool | str) or not isinstance(x, Real) for x in (low, high)) or not low <= high:
        raise SchemaError(f"feature {name!r}: min {low!r} and max {high!r} must be numbers, min first.")
    if step is not None and (isinstance(step, bool | str) or not isinstance(step, Real) or step <= 0):
        raise SchemaError(f"feature {name!r}: step must be a number above 0, not {step!r}.")
    if step is None and kind == "real":
        return tuple(sorted({float(low), float(high), *(v for v in keep if low <= v <= high)}))
    step = 1 if step is None else step
    count = int(np.floor((float(high) - float(low)) / float(step) + 1e-9)) + 1
    points = [float(low) + k * float(step) for k in range(count)]
    if kind == "integer":
        return tuple(dict.fromkeys(round(p) for p in points))
    return tuple(round(p, 10) for p in points)
