"""One feature: its kind, its grid of values, the direction it may move in, and how to name it to a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from leastways._messages import listed, nearest
from leastways._validation import is_number
from leastways._values import plain
from leastways.errors import SchemaError

Kind = Literal["integer", "real", "ordinal", "category"]
Direction = Literal["any", "up", "down", "fixed"]
KINDS: tuple[Kind, ...] = ("integer", "real", "ordinal", "category")
DIRECTIONS: tuple[Direction, ...] = ("any", "up", "down", "fixed")
EXACT = 2.0**53  # numbers are worked with as floats, which hold every integer below
SETTINGS = (
    *("kind", "direction", "order", "values", "grid", "min", "max", "step"),
    *("label", "unit", "missing", "excluded", "valid_range"),
)


@dataclass(frozen=True)
class Feature:
    """One column of the table: its kind, its grid of values, and how a person may move in it.

    A person's own number between two grid points or beyond the ends gets a slot of its own and is never rounded.

    Parameters
    ----------
    name
        The column's name in the table.
    kind
        "integer", "real", "ordinal" (categories in order) or "category".
    values
        The grid, in order: the values that options may have.
    direction
        How the value may change: "any", "up", "down" or "fixed".
    dtype
        The column's type in the table. Options come back in it.
    label, unit
        The name that a reader sees, and what is printed behind its numbers.
    categories, categories_ordered, categories_dtype
        For the dtype "category": all its categories, whether pandas orders them, and their own dtype.
    missing
        Whether people may have no value here. A missing value stays missing in every option.
    excluded
        Values of the grid that people may have but that no option proposes, such as "unknown".
    valid_range
        The smallest and the largest number that a person can have, None for an open end. A number outside it is a
        mistake in the table.

    Examples
    --------
    >>> from leastways import Feature
    >>> Feature("hours", "integer", (20, 30, 40), "any", "int64", unit="h").allowed_text()
    'a whole number from 20 to 40'
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
    categories_dtype: str = ""
    missing: bool = False
    excluded: tuple[Any, ...] = ()
    valid_range: tuple[Any, Any] = (None, None)

    def __post_init__(self) -> None:
        for what, word, known in (("kind", self.kind, KINDS), ("direction", self.direction, DIRECTIONS)):
            if word not in known:
                raise SchemaError(
                    f"feature {self.name!r}: {what} {word!r} is not one of {', '.join(known)}." + nearest(word, known)
                )
        if self.kind == "category" and self.direction in ("up", "down"):
            raise SchemaError(
                f"feature {self.name!r} has no order, so direction {self.direction!r} means nothing. "
                f"Give it one: update({{{self.name!r}: {{'order': [...]}}}})."
            )
        object.__setattr__(self, "values", as_values(self.values, f"feature {self.name!r}: its values"))
        if not self.values:
            raise SchemaError(f"feature {self.name!r} has no values.")
        if len(set(self.values)) != len(self.values):
            raise SchemaError(f"feature {self.name!r} lists a value twice: {listed(self.values)}.")
        if self.dtype == "category" and not self.categories:
            object.__setattr__(self, "categories", self.values)
        if not isinstance(self.missing, bool):
            raise SchemaError(f"feature {self.name!r}: missing must be true or false, not {self.missing!r}.")
        object.__setattr__(self, "excluded", as_values(self.excluded, f"feature {self.name!r}: excluded"))
        strange = [v for v in self.excluded if v not in self.values]
        if strange:
            raise SchemaError(
                f"feature {self.name!r}: excluded names {listed(strange)}, which is no value of it; it has "
                f"{listed(self.values, 12)}." + nearest(strange[0], self.values)
            )
        if self.numeric:
            self._check_numbers()
        self._check_valid_range()
        self._check_dtype()

    def _check_numbers(self) -> None:
        bad = [v for v in self.values if not is_number(v)]
        if bad:
            raise SchemaError(f"feature {self.name!r} is {self.kind}, but its grid holds {listed(bad)}.")
        if any(b <= a for a, b in zip(self.values, self.values[1:], strict=False)):
            raise SchemaError(f"feature {self.name!r}: the grid must rise from value to value: {listed(self.values)}.")
        if self.kind == "integer" and any(v != int(v) for v in self.values):
            raise SchemaError(f"feature {self.name!r} is integer, but its grid holds {listed(self.values)}.")

    def _check_valid_range(self) -> None:
        where = f"feature {self.name!r}: valid_range"
        given: object = self.valid_range
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
            raise SchemaError(f"{where} must be [least, largest], null where there is none, not {given!r}.")
        low, high = ends = tuple(plain(end) for end in given)
        if ends != (None, None) and not self.numeric:
            raise SchemaError(f"{where} only fits numbers, and this is {self.kind}.")
        if not all(end is None or is_number(end) for end in ends):
            raise SchemaError(f"{where} must be numbers, null where there is none, not {list(ends)!r}.")
        if low is not None and high is not None and low > high:
            raise SchemaError(f"{where} runs from {low!r} down to {high!r}.")
        if (low is not None and low > self.values[0]) or (high is not None and high < self.values[-1]):
            raise SchemaError(
                f"{where} {list(ends)!r} leaves out a part of the grid, which goes from {self.values[0]!r} to "
                f"{self.values[-1]!r}. Give a wider valid_range, or min and max within it."
            )
        object.__setattr__(self, "valid_range", ends)

    def _check_dtype(self) -> None:
        """Raise unless the column can hold every value of the grid, so that decoding never changes one."""
        where = f"feature {self.name!r}: its column is {self.dtype}"
        try:
            dtype = self.column_dtype
        except TypeError as error:
            raise SchemaError(f"feature {self.name!r}: there is no dtype {self.dtype!r}.") from error
        except NotImplementedError as error:  # pandas cannot make an Arrow decimal from its name
            raise SchemaError(f"{where}. Turn the column into numbers: .astype(float).") from error
        is_text_or_bool = not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
        if self.numeric and self.dtype != "object" and is_text_or_bool:
            raise SchemaError(f"{where}, so it cannot be {self.kind}. Turn the column into numbers first.")
        lost = self._lost()
        if lost:
            known = f" of {listed(self.categories, 12)}" if self.dtype == "category" else ""
            raise SchemaError(f"{where}{known}, which cannot hold {listed(lost)}.")
        if self.numeric and (np.diff(self.array) <= 0).any():
            raise SchemaError(f"{where}, too coarse for a grid as fine as {listed(self.values)}.")
        if self.missing and isinstance(dtype, np.dtype) and dtype.kind in "iub":
            raise SchemaError(f"{where}, which cannot hold a missing value; make it float64 or {self.dtype.title()}.")

    def _lost(self) -> list[Any]:
        """Return the values that the column cannot hold, rounding of short floats aside."""
        if self.numeric and not self.whole:
            return [v for v, held in zip(self.values, self.array, strict=True) if not np.isfinite(held)]
        try:
            kept = self.held.tolist()
        except (TypeError, ValueError, OverflowError):
            return [v for v in self.values if not self._keeps(v)]
        return [v for v, held in zip(self.values, kept, strict=True) if held is pd.NA or held != v]

    def _keeps(self, value: Any) -> bool:
        one = np.empty(1, dtype=object)
        one[0] = value
        try:
            return bool(self.to_column(one).tolist()[0] == value)
        except (TypeError, ValueError, OverflowError):
            return False

    @cached_property
    def numeric(self) -> bool:
        """Whether values are numbers (else categories, ordered or not)."""
        return self.kind in ("integer", "real")

    @cached_property
    def ordered(self) -> bool:
        """Whether values have an order, so that up and down mean something."""
        return self.kind != "category"

    def may_move(self, by: float) -> bool:
        """Whether the direction permits a move by this signed amount."""
        return {"up": by > 0, "down": by < 0, "fixed": False, "any": True}[self.direction]

    @cached_property
    def whole(self) -> bool:
        """Whether only whole numbers are possible, by kind or because the column holds no others."""
        return self.kind == "integer" or (self.numeric and pd.api.types.is_integer_dtype(self.column_dtype))

    @property
    def open(self) -> bool:
        """Whether a person's own value may lie outside the grid: a number between its points, or a missing value."""
        return self.numeric or self.missing

    @cached_property
    def gapless(self) -> bool:
        """Whether the grid holds every possible number between its ends."""
        return self.whole and len(self.values) == int(self.values[-1]) - int(self.values[0]) + 1

    @property
    def n_slots(self) -> int:
        """Number of slots in a cost table: one for each grid point, and one for an own value outside the grid."""
        return len(self.values) + int(self.open)

    @property
    def wording(self) -> str:
        """The feature's name for a reader."""
        return self.label or self.name.replace("_", " ")

    @cached_property
    def column_dtype(self) -> Any:
        """The column's dtype as a numpy or pandas object."""
        if self.dtype != "category":
            dtype = pd.api.types.pandas_dtype(self.dtype)
            return np.dtype(object) if isinstance(dtype, np.dtype) and dtype.kind == "U" else dtype
        inner: pd.Index[Any] = pd.Index(list(self.categories), dtype=self.categories_dtype or None)
        return pd.CategoricalDtype(inner, self.categories_ordered)

    @cached_property
    def number_dtype(self) -> np.dtype[Any] | None:
        """The numpy number type that holds the column's values; None if they are not numbers."""
        inner = getattr(self.column_dtype, "numpy_dtype", self.column_dtype)
        return inner if isinstance(inner, np.dtype) and inner.kind in "iuf" else None

    @cached_property
    def short_float(self) -> np.dtype[Any] | None:
        """`number_dtype` where it is a float with fewer digits than Python's; else None."""
        inner = self.number_dtype
        return inner if inner is not None and inner.kind == "f" and inner.itemsize < 8 else None

    @cached_property
    def array(self) -> NDArray[Any]:
        """The grid as an array: floats for numbers, objects for categories."""
        if self.numeric:
            return self.as_held(self.values)
        out = np.empty(len(self.values), dtype=object)
        out[:] = self.values
        return out

    def as_held(self, numbers: ArrayLike) -> NDArray[np.float64]:
        """Return numbers as the column can hold them: 0.1 in a float32 column is 0.10000000149."""
        x = np.asarray(numbers, dtype=np.float64)
        if self.short_float is None:
            return x
        with np.errstate(over="ignore"):
            return x.astype(self.short_float).astype(np.float64)

    @cached_property
    def held(self) -> Any:
        """The grid as the column holds it: an array of the column's dtype, from which decoding takes."""
        return self.to_column(self.array)

    def to_column(self, values: NDArray[Any]) -> Any:
        """Turn values, or numbers as floats, into an array of the column's dtype."""
        plain_values = [int(v) for v in values] if self.whole else values.tolist()
        dtype = self.column_dtype
        if isinstance(dtype, np.dtype) and dtype.kind == "O" and not self.numeric:
            return pd.Index(plain_values, dtype=object)  # pandas would take an array of text for its own text dtype
        if isinstance(dtype, np.dtype):
            return np.array(plain_values, dtype=dtype)
        if isinstance(dtype, pd.CategoricalDtype):
            codes = dtype.categories.get_indexer(pd.Index(plain_values, dtype=object))
            return pd.Categorical.from_codes(codes, dtype=dtype)
        return pd.array(plain_values, dtype=dtype)

    def column_of(self, values: Sequence[Any]) -> Any:
        """Turn values, None where one is missing, into an array of the column's dtype."""
        gone = np.array([value is None for value in values], dtype=np.bool_)
        known = np.empty(len(values), dtype=object)
        known[:] = [self.array[0] if value is None else value for value in values]
        column = self.to_column(known)
        return self.with_gaps(column, gone) if gone.any() else column

    def with_gaps(self, column: Any, gone: NDArray[np.bool_]) -> Any:
        """Mark values of an array of the column's dtype as missing, in place if it is writable."""
        nothing = getattr(self.column_dtype, "na_value", np.nan)
        if isinstance(column, pd.Index):
            return column.putmask(gone, nothing)
        column[gone] = nothing
        return column

    @cached_property
    def index(self) -> pd.Index[Any]:
        """The categories for look-ups."""
        index: pd.Index[Any] = pd.Index(self.array, dtype=object)
        return index

    @cached_property
    def offered(self) -> NDArray[np.bool_]:
        """Mask of the grid points that options may have: all but the excluded values."""
        return np.array([value not in self.excluded for value in self.values])

    @property
    def range(self) -> float:
        """Largest minus smallest grid value of a number, which scales distances."""
        return float(self.values[-1]) - float(self.values[0])

    @cached_property
    def possible(self) -> tuple[float, float]:
        """The smallest and the largest number that a person may have: valid, and exact in the column and as a float.

        Every number of the grid lies between them.
        """
        low, high = self.as_held([1 - EXACT, EXACT - 1]).tolist()
        inner = self.number_dtype
        if inner is not None:
            held = np.finfo(inner) if inner.kind == "f" else np.iinfo(inner)
            low, high = max(low, float(held.min)), min(high, float(held.max))
        least, largest = self.valid_range
        low = low if least is None else max(low, float(self.as_held(least)))
        high = high if largest is None else min(high, float(self.as_held(largest)))
        return min(low, float(self.array[0])), max(high, float(self.array[-1]))

    def allowed_text(self) -> str:
        """Describe the grid's values, and whether a value may be missing."""
        end = ", or missing" if self.missing else ""
        if self.numeric:
            low, high = self._ends()
            return f"{self._number_text()} from {low} to {high}{end}"
        return f"one of {listed(self.values, 12)}{end}"

    def possible_text(self) -> str:
        """Describe the values that people may have, which for numbers may lie beyond the ends of the grid."""
        if not self.numeric:
            return self.allowed_text()
        low, high = self._ends()
        usual = f" (usually {low} to {high})"
        return self._number_text() + (self._valid_range_words() or usual) + (", or missing" if self.missing else "")

    def valid_range_text(self) -> str:
        """Describe the valid range, to follow `allowed_text`; empty if there is none."""
        words = self._valid_range_words()
        return f"; valid{words}" if words else ""

    def excluded_text(self) -> str:
        """List the excluded values, to follow `allowed_text`; empty if there are none."""
        return f"; excluded: {listed(self.excluded, 6)}" if self.excluded else ""

    def _ends(self) -> tuple[Any, Any]:
        """Return the ends of the grid of a number, without digits that the column does not hold."""
        low, high = plain(self.values[0]), plain(self.values[-1])
        short = None if self.whole else self.short_float
        return (low, high) if short is None else (float(str(short.type(low))), float(str(short.type(high))))

    def _valid_range_words(self) -> str:
        low, high = self.valid_range
        least = "" if low is None else f" from {low} on" if high is None else f" from {low}"
        return least + ("" if high is None else f" up to {high}" if low is None else f" to {high}")

    def _number_text(self) -> str:
        return "a whole number" if self.whole else "a number"

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
        kind = settings.get("kind", "ordinal" if "order" in settings else self.kind)
        if "order" in settings and kind != "ordinal":
            raise SchemaError(f"feature {self.name!r}: a listed order makes it ordinal, not {kind!r}.")
        return replace(
            self,
            kind=kind,
            values=new_values(self, kind, settings),
            direction=settings.get("direction", self.direction),
            label=str(settings.get("label", self.label)),
            unit=str(settings.get("unit", self.unit)),
            missing=settings.get("missing", self.missing),
            excluded=settings.get("excluded", self.excluded),
            valid_range=settings.get("valid_range", self.valid_range),
        )


MAX_INTEGERS = 1000  # a longer run of integers gets a quantile grid, as a real number would
MAX_POINTS = 20_000  # a longer grid would fill the memory with costs of values that hardly differ
_LISTS = ("order", "values", "grid")
_ENDS = ("min", "max", "step")


def new_values(feature: Feature, kind: str, settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the grid after `order`, `values`, `grid`, `min`, `max` or `step` were given."""
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
            known = "the data hold" if set(missing) - set(feature.excluded) else "the column knows"
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
    """Round off floating-point noise: 3 * 0.1 is 0.3."""
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
        points[-1] = last  # exactly, not a rounded neighbour of it
    elif last > points[-1]:
        points.append(last)
    return tuple(points)
