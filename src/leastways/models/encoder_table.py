"""Encoder tables: each value of each feature is encoded once, and rows are put together by copying.

Scaling, one-hot columns and the like treat each column by itself, so a search that evaluates thousands of rows of a
small grid need not run them thousands of times. Whether an encoder is like that is tried out, and the result is
compared with the model itself, bit for bit, before it is used.

`EncoderTable` is the table, `FastModel` a model checked against it, `FastPeople` the same for some people's grids, and
`FastPath` keeps what was found out about a model, or why there is no table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._random import keys_of_rows, stream
from leastways.models.base import FloatArray, Model, Split, lend, split_of
from leastways.models.kernels import gather
from leastways.schema import Encoded, Schema, grid_points, slots_used

_MOST_CELLS = 2**24  # rows times columns that are encoded to find out: 128 MB of doubles
NOT_FINITE = "the encoder returns values that are missing or too large"
_LARGEST = float(np.finfo(np.float32).max)  # above, trees and networks in single precision refuse a number


class NotColumnWise(Exception):  # noqa: N818 - no error: the plain path is taken instead
    """Raised when a model cannot be tabulated; `rows` counts the rows evaluated until then."""

    def __init__(self, reason: str, rows: int = 0) -> None:
        super().__init__(reason)
        self.rows = rows


@dataclass(frozen=True)
class Shape:
    """The form of an encoder's output: all but its numbers."""

    dtype: np.dtype[Any]
    tail: tuple[int, ...]  # of one row
    order: Literal["C", "F"]
    sparse: Any  # the class of a sparse output, None for a dense one

    @classmethod
    def of(cls, encoded: Any) -> Shape:
        """Read the shape and dtype of an output; raise `NotColumnWise` unless it is a plain array of numbers."""
        sparse = type(encoded) if hasattr(encoded, "toarray") else None
        array = encoded if sparse is None else encoded.dtype.type(0)
        if sparse is None and not isinstance(encoded, np.ndarray):
            raise NotColumnWise(f"the encoder returns {type(encoded).__name__}, not an array")
        if array.dtype.kind not in "biuf" or array.dtype.itemsize not in (1, 2, 4, 8):
            raise NotColumnWise(f"the encoder returns {array.dtype}, not plain numbers")
        if len(encoded.shape) < 2 or 0 in encoded.shape:
            raise NotColumnWise(f"the encoder returns shape {encoded.shape}")
        in_columns = sparse is None and encoded.flags.f_contiguous and not encoded.flags.c_contiguous
        return cls(array.dtype, tuple(encoded.shape[1:]), "F" if in_columns else "C", sparse)

    def rows(self, encoded: Any) -> NDArray[Any]:
        """Return another output of the same encoder as [rows, columns]; raise if its form differs."""
        other = Shape.of(encoded)
        if (other.dtype, other.tail, other.sparse) != (self.dtype, self.tail, self.sparse):
            raise NotColumnWise("the form of the encoder's output depends on the rows")
        return as_rows(encoded)

    def checked(self, encoded: Any) -> NDArray[Any]:
        """Return the same, and raise for numbers that are missing, infinite or too large."""
        array = self.rows(encoded)
        check_finite(array)
        return array


def as_rows(encoded: Any) -> NDArray[Any]:
    """Return an encoder's output as [rows, columns]."""
    array = np.asarray(encoded.toarray() if hasattr(encoded, "toarray") else encoded)
    return array.reshape(len(array), -1)


def finite(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where numbers are neither missing nor infinite nor too large; a model may refuse the others.

    With these checked here, checks for them can be left out of every call.
    """
    return np.asarray(np.abs(array) <= _LARGEST if array.dtype == np.float64 else np.isfinite(array))


def check_finite(array: NDArray[Any]) -> None:
    """Raise `NotColumnWise` for numbers that are missing, infinite or too large."""
    if not finite(array).all():
        raise NotColumnWise(NOT_FINITE)


@dataclass(frozen=True)
class EncoderTable:
    """For each feature, the columns of the encoder's output that depend on it, and their numbers at each grid value.

    F features, C columns that depend on one, D columns in all.
    """

    schema: Schema
    shape: Shape
    sizes: NDArray[np.int64]  # [F] grid values of each feature
    first: NDArray[np.int64]  # [F + 1] where each feature's columns begin in `columns`
    columns: NDArray[np.int64]  # [C] feature by feature
    start: NDArray[np.int64]  # [F] where each feature's numbers begin in `cells`
    cells: NDArray[Any]  # the numbers, as bits
    constant: NDArray[Any]  # [D] a row, as bits: the columns that depend on no feature

    @classmethod
    def build(cls, encode: Callable[[pd.DataFrame], Any], schema: Schema) -> EncoderTable:
        """Build the table: vary each feature alone, from one row, and see which columns of the output change.

        A missing value may have columns of its own that no grid value changes. Its encoding is not kept: people with
        a missing value are encoded themselves. An encoder may refuse values that it never saw when it was fitted.
        Where such a value is excluded, the table holds another value's numbers in its place.
        """
        try:
            return cls._tabulate(encode, schema, None)
        except Exception:
            refused = _refused(encode, schema)
            if not any(values.any() for values in refused):
                raise
            return cls._tabulate(encode, schema, refused)

    @classmethod
    def _tabulate(
        cls, encode: Callable[[pd.DataFrame], Any], schema: Schema, refused: Sequence[NDArray[np.bool_]] | None
    ) -> EncoderTable:
        sizes = np.array([len(f.values) for f in schema.features])
        base = (sizes // 2).astype(np.int32)
        tried = sizes + [f.missing for f in schema.features]
        feature = np.repeat(np.arange(len(sizes)), tried)
        varied = np.concatenate([np.arange(n) for n in tried])
        codes = np.tile(base, (len(feature) + 1, 1))
        codes[np.arange(len(feature)), feature] = varied
        encoded = encode(schema.decode(codes if refused is None else _without(codes, refused)))
        shape = Shape.of(encoded)
        if len(codes) * np.prod(shape.tail, dtype=float) > _MOST_CELLS:
            raise NotColumnWise(f"the encoder returns rows of shape {shape.tail}, too wide to tabulate")
        values = as_rows(encoded)
        if len(values) != len(codes):
            raise NotColumnWise(f"the encoder returns {len(values)} rows for {len(codes)}")
        check_finite(values[np.append(varied < sizes[feature], True)])
        values = bits(values)
        moved = values[:-1] != values[-1]  # the last row is the base
        blocks = np.split(np.arange(len(feature)), np.cumsum(tried)[:-1])
        reacts = np.stack([moved[block].any(axis=0) for block in blocks])  # [F, D]
        if (reacts.sum(axis=0) > 1).any():
            raise NotColumnWise("the encoder lets a column of its output depend on several features")
        mine = [np.flatnonzero(row) for row in reacts]
        grids = zip(blocks, sizes, mine, strict=True)
        parts = [values[block[:size]][:, own].ravel() for block, size, own in grids]
        return cls(
            schema=schema,
            shape=shape,
            sizes=sizes.astype(np.int64),
            first=np.concatenate([[0], np.cumsum([len(own) for own in mine])]).astype(np.int64),
            columns=np.concatenate(mine).astype(np.int64),
            start=np.concatenate([[0], np.cumsum([len(part) for part in parts])[:-1]]).astype(np.int64),
            cells=np.concatenate(parts),
            constant=values[-1].copy(),
        )

    def gather(
        self,
        codes: NDArray[np.int32],
        who: NDArray[np.int64],
        inserted_at: NDArray[np.int32],
        own: NDArray[Any],
        order: Literal["C", "F"],
    ) -> NDArray[Any]:
        """Return the encoding of rows, [R, D].

        Row i, of `codes` [R, F], is in the grid of person `who[i]`, whose own values stand at the slots
        `inserted_at` [P, F] and are encoded in `own` [P, D].
        """
        R, D = len(codes), len(self.constant)
        out = np.empty(R * D, self.constant.dtype)
        known = gather(
            np.ascontiguousarray(codes, np.int32),
            np.ascontiguousarray(who, np.int64),
            np.ascontiguousarray(inserted_at, np.int32),
            bits(own),
            self.sizes,
            self.first,
            self.columns,
            self.start,
            self.cells,
            self.constant,
            D if order == "C" else 1,
            1 if order == "C" else R,
            out,
        )
        if not known:
            raise NotColumnWise("a code is in no grid")
        values = out.view(self.shape.dtype)
        return values.reshape(R, D) if order == "C" else values.reshape(D, R).T

    def of_feature(self, f: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the columns of a feature, and their numbers at each value of its grid, [values, columns]."""
        own, size = self.columns[self.first[f] : self.first[f + 1]], int(self.sizes[f])
        cells = self.cells[self.start[f] : self.start[f] + size * len(own)]
        return own, cells.view(self.shape.dtype).reshape(size, len(own)).astype(np.float64)

    def gather_grid(self, codes: NDArray[np.int32], order: Literal["C", "F"]) -> NDArray[Any]:
        """Return rows of grid values encoded, [R, D]."""
        nowhere = np.full((1, len(self.sizes)), -1, np.int32)
        no_person = self.constant[None, :].view(self.shape.dtype)
        return self.gather(codes, np.zeros(len(codes), np.int64), nowhere, no_person, order)

    def given(self, array: NDArray[Any]) -> Any:
        """Return encoded rows in the form of the encoder's output: sparse, or with more dimensions."""
        if self.shape.sparse is not None:
            return self.shape.sparse(array)
        return array if len(self.shape.tail) == 1 else array.reshape(len(array), *self.shape.tail)


def _refused(encode: Callable[[pd.DataFrame], Any], schema: Schema) -> list[NDArray[np.bool_]]:
    """Return which excluded values of each feature the encoder refuses."""
    usual = with_offered_values(schema, np.array([[len(f.values) // 2 for f in schema.features]], np.int32))
    refused = []
    for f, feature in enumerate(schema.features):
        refused.append(np.zeros(len(feature.values), np.bool_))
        for code in np.flatnonzero(~feature.offered):
            row = usual.copy()
            row[0, f] = code
            try:
                refused[f][code] = not finite(as_rows(encode(schema.decode(row)))).all()
            except Exception:
                refused[f][code] = True
    return refused


def with_offered_values(schema: Schema, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return codes of the grids, [R, F], with an offered value in place of each excluded one."""
    return _without(codes, [~feature.offered for feature in schema.features])


def _without(codes: NDArray[np.int32], left_out: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
    """Return codes of the grids, [R, F], with another value in place of each that is left out."""
    codes = codes.copy()
    for f, values in enumerate(left_out):
        kept = np.flatnonzero(~values)
        if 0 < len(kept) < len(values):
            instead = kept[np.minimum(np.searchsorted(kept, np.arange(len(values))), len(kept) - 1)]
            on_grid = codes[:, f] < len(instead)  # the others are missing values
            codes[on_grid, f] = instead[codes[on_grid, f]]
    return codes


def bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as integers of the same bits, which are equal only if every bit is."""
    return np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}")


def same_bits(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether two arrays are equal bit for bit, in dtype and shape too."""
    return one.dtype == other.dtype and one.shape == other.shape and bool(np.array_equal(bits(one), bits(other)))


# Rows a call when a decision is checked. Its last bits may depend on how many share a call: products of matrices take
# rows by 4 or 8 at a time, and those left over in another way.
_CALLS = (1, 2, 3, 5, 7, 31, 207)
_FEW_ROWS = 16  # rows that tell whether the encoder is still the one that was tabulated
_ROWS_EACH = 4  # rows in the grid of each person on which the encoder is checked, beside the person as they are
_CELLS = 1 << 22  # numbers encoded at a time
_DIFFERENT = "the encoder treats some people's values differently from the grid's"


@dataclass(frozen=True)
class FastModel:
    """A model with an encoder table, checked once for a model and a schema."""

    schema: Schema
    split: Split
    table: EncoderTable
    decision: int  # the first of the split's decisions that agrees with the model
    order: Literal["C", "F"]  # the memory order in which it does
    setup_rows: int  # rows the model evaluated to find out

    @classmethod
    def build(cls, model: Model, split: Split, schema: Schema) -> FastModel:
        """Tabulate the encoder and check it against the model; raise `NotColumnWise` where it cannot be used."""
        table = checked_table(split, schema)
        return cls(schema, split, table, *_agreeing(split, table, _reference_answers(model, split, table, schema)))

    def is_stale(self) -> bool:
        """Return whether the encoder's output has changed since the table was built."""
        codes = _some_rows(self.schema, _FEW_ROWS)
        try:
            return not _holds(self.table, self.split, codes, self.schema.decode(codes))
        except Exception:  # it did not raise when the table was built, so it is another encoder now
            return True

    def for_people(self, people: Encoded) -> FastPeople:
        """Encode people's present states, and check the table in the grid of each.

        A person's own value that is not on the grid is encoded here, with the person's row. The check also finds an
        encoder that was changed in place since the table was built. It uses each person's own rows alone, so that the
        result does not depend on who else is in the batch.
        """
        size = max(1, _CELLS // ((1 + _ROWS_EACH) * len(self.table.constant)))
        blocks = [self._check_people(people.take(slice(at, at + size))) for at in range(0, max(len(people), 1), size)]
        own, held, reasons = zip(*blocks, strict=True)
        return FastPeople(
            table=self.table,
            encode=self.split.encode,
            decide=self.split.decisions[self.decision],
            order=self.order,
            inserted_at=people.inserted_at,
            own=np.concatenate(own),
            held=np.concatenate(held),
            reason=next(filter(None, reasons), ""),
        )

    def _check_people(self, people: Encoded) -> tuple[NDArray[Any], NDArray[np.bool_], str]:
        """Return the encoded present states, [P, D]; for whom the table is valid, [P]; and a reason if not for all."""
        P, F = people.shape
        codes = _rows_of_each(self.schema, people).reshape(-1, F)
        who = np.repeat(np.arange(P), 1 + _ROWS_EACH)
        frame = self.schema.decode(codes, people, who)
        encoded, trouble = _encoded(self.table, self.split.encode, frame, 1 + _ROWS_EACH)
        own = np.ascontiguousarray(encoded[:: 1 + _ROWS_EACH])
        mine = self.table.gather(codes, who, people.inserted_at, own, "C")
        different = (bits(mine) != bits(encoded)).reshape(P, -1).any(axis=1)
        not_finite = ~finite(encoded).reshape(P, -1).all(axis=1)
        held = ~different & ~not_finite
        held[list(trouble)] = False
        reasons = list(trouble.values())
        reasons += [NOT_FINITE] if not_finite.any() else []
        reasons += [_DIFFERENT] if different.any() else []
        return own, held, reasons[0] if reasons else ""


@dataclass(frozen=True)
class FastPeople:
    """The model in the grids of some people, from codes to P(target), where the table is valid."""

    table: EncoderTable
    encode: Callable[[pd.DataFrame], Any]  # the encoder itself
    decide: Callable[[Any], FloatArray]
    order: Literal["C", "F"]
    inserted_at: NDArray[np.int32]
    own: NDArray[Any]  # [P, D] as they are, encoded
    held: NDArray[np.bool_]  # [P] for whom the table holds
    reason: str  # why it does not hold for the others

    def probability(self, codes: NDArray[np.int32], who: NDArray[np.int64]) -> FloatArray:
        """Return P(target) of rows `codes` [R, F], row `i` in the grid of person `who[i]`."""
        return self.decide(self.table.given(self.gather(codes, who)))

    def differs(self, codes: NDArray[np.int32], who: NDArray[np.int64], frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Return for which rows encoder and table differ; `frame` holds the decoded rows."""
        mine = self.table.gather(codes, who, self.inserted_at, self.own, "C")
        encoded, trouble = _encoded(self.table, self.encode, frame, 1)
        differs = (bits(mine) != bits(encoded)).any(axis=1)
        differs[list(trouble)] = True  # the encoder did not fail when the table was built
        return np.asarray(differs)

    def take(self, rows: NDArray[np.intp]) -> FastPeople:
        """Return some of the people."""
        return replace(self, inserted_at=self.inserted_at[rows], own=self.own[rows], held=self.held[rows])

    def gather(self, codes: NDArray[np.int32], who: NDArray[np.int64]) -> NDArray[Any]:
        """Return the rows encoded, [R, D]."""
        return self.table.gather(codes, who, self.inserted_at, self.own, self.order)


def checked_table(split: Split, schema: Schema) -> EncoderTable:
    """Tabulate an encoder and check the table on rows of grid values; the model itself is not evaluated.

    Raises `NotColumnWise`, with the reason, where the encoder cannot be tabulated.
    """
    try:
        table = EncoderTable.build(split.encode, schema)
        codes = _some_rows(schema, sum(_CALLS))
        if not _holds(table, split, codes, schema.decode(codes)):
            raise NotColumnWise("the encoder does not treat each column by itself")
    except NotColumnWise:
        raise
    except Exception as error:  # the plain path meets it too if it matters, and reports it in its own words
        raise NotColumnWise(f"the encoder raised {type(error).__name__}: {error}") from error
    return table


def _encoded(
    table: EncoderTable, encode: Callable[[pd.DataFrame], Any], frame: pd.DataFrame, together: int
) -> tuple[NDArray[Any], dict[int, str]]:
    """Encode rows, [R, D]; also return for which of them the encoder fails, and why.

    So many rows stay `together`, for they are one person's. Where the encoder fails, each half of the rows is tried
    again: often one row is at fault, and the others must not depend on it.
    """
    out = np.zeros((len(frame), len(table.constant)), table.shape.dtype)
    trouble: dict[int, str] = {}
    parts = [(0, len(frame) // together)]
    while parts:
        first, last = parts.pop()
        rows = slice(first * together, last * together)
        try:
            out[rows] = table.shape.rows(encode(lend(frame.iloc[rows].reset_index(drop=True))))
        except Exception as error:
            if last - first > 1:
                half = (first + last) // 2
                parts += [(half, last), (first, half)]
            else:
                known = isinstance(error, NotColumnWise)
                trouble[first] = str(error) if known else f"{type(error).__name__} from the encoder: {error}"
    return out, trouble


def _holds(table: EncoderTable, split: Split, codes: NDArray[np.int32], frame: pd.DataFrame) -> bool:
    """Return whether table and encoder agree, bit for bit, on rows of grid values."""
    encoded = table.shape.checked(split.encode(lend(frame)))
    return same_bits(table.gather_grid(codes, "C"), encoded)


@dataclass(frozen=True)
class _Reference:
    """The model's answers to the rows on which decisions are compared with it."""

    encoded: NDArray[Any]  # [R, D]
    answers: list[FloatArray]  # call by call
    rows: int  # evaluated, with those that turned out to be of no use


def _reference_answers(model: Model, split: Split, table: EncoderTable, schema: Schema) -> _Reference:
    """Evaluate the model on rows on which decisions are then compared with it.

    Most rows have real numbers between the points of their grids, as people's own do. Grids are of round numbers,
    whose sums are seldom rounded: on them alone, a decision that adds in another order may pass for the model's own.
    Where the encoder, or anything in the model, takes only grid values, the rows have those.
    """

    def encoded_between(rows: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[Any]]:
        between = _between_points(schema, rows)
        return between, table.shape.checked(split.encode(lend(between)))

    codes = _some_rows(schema, sum(_CALLS))
    grid = schema.decode(codes)
    rows_evaluated = len(grid)
    if (found := _without_complaint(encoded_between, grid)) is not None:
        between, encoded = found
        if (answers := _without_complaint(partial(_answers, model), between)) is not None:
            return _Reference(encoded, answers, rows_evaluated)
        rows_evaluated += len(between)
    try:
        return _Reference(table.gather_grid(codes, "C"), _answers(model, grid), rows_evaluated)
    except Exception as error:
        raise NotColumnWise(f"the model raised {type(error).__name__}: {error}", rows_evaluated) from error


def _answers(model: Model, frame: pd.DataFrame) -> list[FloatArray]:
    """Evaluate the model on the rows of each call."""
    return [np.asarray(model.probability(lend(frame.iloc[rows].reset_index(drop=True)))) for rows in _calls()]


def _calls() -> list[slice]:
    ends = np.cumsum(_CALLS).tolist()
    return [slice(end - size, end) for end, size in zip(ends, _CALLS, strict=True)]


def _between_points(schema: Schema, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, three of four with real numbers drawn uniformly between the ends of their grids."""
    rng = np.random.default_rng(20240301)
    moved = np.arange(len(frame)) % 4 < 3
    columns = {}
    for feature in schema.features:
        if feature.kind == "real" and not feature.whole:
            columns[feature.name] = frame[feature.name].copy()
            share = rng.random(int(moved.sum()))
            drawn = feature.array[0] * (1 - share) + feature.array[-1] * share  # their difference may be too large
            columns[feature.name][moved] = feature.to_column(drawn)
    return frame.assign(**columns)


def _agreeing(split: Split, table: EncoderTable, reference: _Reference) -> tuple[int, Literal["C", "F"], int]:
    """Return the first decision that gives the model's own probabilities, its memory order, and the rows evaluated.

    Decisions are listed the fastest first, so each is tried in both memory orders before the next.
    """
    rows_evaluated = reference.rows
    orders: tuple[Literal["C", "F"], ...] = ("C", "F") if table.shape.order == "C" else ("F", "C")
    for number, order in product(range(len(split.decisions)), orders):
        for rows, answer in zip(_calls(), reference.answers, strict=True):
            rows_evaluated += len(answer)
            given = table.given(np.array(reference.encoded[rows], order=order))
            if not _same_answer(split.decisions[number], given, answer):
                break
        else:
            return number, order, rows_evaluated
    raise NotColumnWise("the last step, given an array, answers differently from the whole model", rows_evaluated)


def _without_complaint(function: Callable[[Any], Any], argument: Any) -> Any:
    """Call a function that is not ours; return None if it raises or warns."""
    # Recorded, not raised: filters belong to the process, and another thread may leave ours in force for good.
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            answer = function(argument)
        except Exception:
            return None
    return None if warned else answer


def _same_answer(decide: Callable[[Any], FloatArray], array: Any, wanted: FloatArray) -> bool:
    """Compare a decision with the answers wanted, bit for bit; one that raises or warns is not the same."""
    answer = _without_complaint(decide, array)
    return answer is not None and same_bits(np.asarray(answer), wanted)


def _some_rows(schema: Schema, rows: int) -> NDArray[np.int32]:
    """Draw codes of the grids, [rows, F], with a fixed seed."""
    rng = np.random.default_rng(20240229)
    F = len(schema.features)
    slots = np.array([len(f.values) for f in schema.features], np.int32)
    return with_offered_values(schema, _spread(rng.random((rows, F)), rng.random((rows, F)), slots))


def _rows_of_each(schema: Schema, people: Encoded) -> NDArray[np.int32]:
    """Return each present state and rows drawn in the person's grid, [P, 1 + rows, F], about half the values unchanged.

    The draws depend on the person's state alone.
    """
    F = len(schema.features)
    keys = keys_of_rows(people.content(), 0)
    counters = np.arange(3 * _ROWS_EACH * F, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    drawn = (stream(keys[:, None] + counters, "encoder check") >> np.uint64(11)).astype(np.float64) * 2.0**-53
    value, end, kept = drawn.reshape(len(people), 3, _ROWS_EACH, F).swapaxes(0, 1)
    anywhere = _spread(value, end, slots_used(schema.features, people)[:, None, :])
    now = people.codes[:, None, :]
    stays = kept < 0.5
    for f, feature in enumerate(schema.features):
        if feature.excluded:  # only people who have an excluded value are evaluated there
            places = grid_points(anywhere[:, :, f].astype(np.intp), people.inserted_at[:, f, None], len(feature.values))
            stays[:, :, f] |= ~feature.offered[places]
    return np.concatenate([now, np.where(stays, now, anywhere)], axis=1)


def _spread(value: FloatArray, end: FloatArray, slots: NDArray[np.int32]) -> NDArray[np.int32]:
    """Turn uniform numbers, [..., rows, F], into codes below `slots`.

    Every other row has many values at the ends of their grids, where encoders that combine several columns are found
    soonest.
    """
    odd = (np.arange(value.shape[-2]) % 2 == 1)[:, None]
    anywhere = (value * slots).astype(np.int32)
    anywhere = np.where(odd & (end < 1 / 3), 0, anywhere)
    return np.where(odd & (end > 2 / 3), slots - 1, anywhere).astype(np.int32)


@dataclass(frozen=True)
class FastPath:
    """A model with its encoder table, or the reason why it has none; kept while the model stays the same."""

    schema: Schema
    split: Split | None
    model: FastModel | None
    reason: str
    setup_rows: int  # rows the model evaluated to find out

    @classmethod
    def find(cls, model: Model, schema: Schema, kept: FastPath | None = None) -> FastPath:
        """Build the table, or return the `kept` one if it is of the same model and schema."""
        split = split_of(model)
        if split is None:
            return cls(schema, None, None, "the model does not part into an encoder and a decision", 0)
        if kept is not None and kept._is_about(split, schema):
            # The halves are the present ones: what was kept may have been bound to another target.
            return replace(kept, split=split, model=None if kept.model is None else replace(kept.model, split=split))
        try:
            fast = FastModel.build(model, split, schema)
        except NotColumnWise as reason:
            return cls(schema, split, None, str(reason), reason.rows)
        return cls(schema, split, fast, "", fast.setup_rows)

    def people(self, people: Encoded) -> FastPeople | None:
        """Return the model in the grids of some people, or None where there is no table."""
        return None if self.model is None else self.model.for_people(people)

    def _is_about(self, split: Split, schema: Schema) -> bool:
        """Return whether the table is of this model, neither replaced nor fitted again since."""
        old, new = (() if self.split is None else self.split.parts), split.parts
        same = len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))
        return same and bool(new) and self.schema is schema
