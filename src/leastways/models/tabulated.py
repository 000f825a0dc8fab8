"""Column-wise encoders, tabulated: each value of each feature is encoded once, and rows are put together by copying.

Scaling, one-hot columns and the like treat each column by itself, so a search that asks about thousands of rows of a
small grid need not run them thousands of times. Whether an encoder is like that is found out by trying it, and what was
found is compared with the model itself, bit for bit, before it is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.models.base import FloatArray, Model, Split
from leastways.models.columns import Columns, NotColumnWise, bits, same_bits
from leastways.models.frames import lend
from leastways.schema import Encoded, Schema
from leastways.schema.codec import slots_used

_CALLS = (1, 2, 21, 232)  # rows a call when a decision is checked: its last bits may depend on how many share a call
_ROWS = 256  # rows on which an encoder is checked, once, and again in the grids of each chunk of people
_FEW_ROWS = 16  # the same for a single person


@dataclass(frozen=True)
class Tabulated:
    """A model whose encoder is a table: made and checked once for a model and a schema."""

    schema: Schema
    split: Split
    columns: Columns
    decision: int  # which of the split's decisions agrees with the model
    order: Literal["C", "F"]  # the memory order in which it does
    setup_rows: int  # rows the model was asked about to find out

    @classmethod
    def build(cls, model: Model, split: Split, schema: Schema) -> Tabulated:
        """Tabulate the encoder and check it against the model; `NotColumnWise` says why it cannot be used."""
        columns = encoder_table(split, schema)
        codes, _ = _some_rows(schema, _nobody(schema), sum(_CALLS))
        return cls(schema, split, columns, *_agreeing(model, split, columns, codes, schema.decode(codes)))

    def is_stale(self) -> bool:
        """Whether the encoder no longer gives what it gave when the table was made."""
        codes, _ = _some_rows(self.schema, _nobody(self.schema), _FEW_ROWS)
        try:
            return not _holds(self.columns, self.split, codes, self.schema.decode(codes))
        except Exception:  # it did not raise when the table was made, so it is another encoder now
            return True

    def of(self, people: Encoded) -> TabulatedPeople:
        """Encode people as they are, and check the table in their grids.

        A person's own value that is not on the grid is encoded here, with the row it stands in. The check also finds an
        encoder that was changed in place since the table was made.
        """
        n = len(people)
        codes, who = _some_rows(self.schema, people, _FEW_ROWS if n == 1 else _ROWS, keep=0.5)
        codes, who = np.concatenate([people.codes, codes]), np.concatenate([np.arange(n), who])
        try:
            encoded = self.columns.shape.checked(self.split.encode(self.schema.decode(codes, people, who)))
            mine = self.columns.gather(codes, who, people.inserted_at, encoded[:n], "C")
        except NotColumnWise:
            raise
        except Exception as error:
            raise NotColumnWise(f"{type(error).__name__} from the encoder: {error}") from error
        if not same_bits(mine, encoded):
            raise NotColumnWise("the encoder treats these people's values differently from the grid's")
        own = np.ascontiguousarray(encoded[:n])
        decide = self.split.decisions[self.decision]
        return TabulatedPeople(self.columns, self.split.encode, decide, self.order, people.inserted_at, own)


@dataclass(frozen=True)
class TabulatedPeople:
    """The model in the grids of some people: codes in, P(target) out."""

    columns: Columns
    encode: Callable[[pd.DataFrame], Any]  # the encoder itself
    decide: Callable[[Any], FloatArray]
    order: Literal["C", "F"]
    inserted_at: NDArray[np.int32]
    own: NDArray[Any]  # [P, D] as they are, encoded

    def probability(self, codes: NDArray[np.int32], who: NDArray[np.int64]) -> FloatArray:
        """Return P(target) of rows `codes`, row `i` in the grid of person `who[i]`."""
        return self.decide(self.columns.given(self.gather(codes, who)))

    def differs(self, codes: NDArray[np.int32], who: NDArray[np.int64], frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Say of which rows the encoder makes something else than the table; `frame` holds the rows themselves."""
        mine = self.columns.gather(codes, who, self.inserted_at, self.own, "C")
        try:
            encoded = self.columns.shape.checked(self.encode(lend(frame)))
        except Exception:  # it did not raise when the table was made, so none of these rows can be relied on
            return np.ones(len(codes), np.bool_)
        return np.asarray((bits(mine) != bits(encoded)).any(axis=1))

    def take(self, rows: NDArray[np.intp]) -> TabulatedPeople:
        """Return some of the people."""
        return replace(self, inserted_at=self.inserted_at[rows], own=self.own[rows])

    def gather(self, codes: NDArray[np.int32], who: NDArray[np.int64]) -> NDArray[Any]:
        """Return the rows encoded, [R, D]."""
        return self.columns.gather(codes, who, self.inserted_at, self.own, self.order)


def encoder_table(split: Split, schema: Schema) -> Columns:
    """Tabulate an encoder and check the table on rows of grid values; the model itself is not asked.

    `NotColumnWise` says why it cannot be used.
    """
    try:
        columns = Columns.find(split.encode, schema)
        codes, _ = _some_rows(schema, _nobody(schema), sum(_CALLS))
        if not _holds(columns, split, codes, schema.decode(codes)):
            raise NotColumnWise("the encoder does not treat each column by itself")
    except NotColumnWise:
        raise
    except Exception as error:  # the plain path meets it too if it matters, and reports it in its own words
        raise NotColumnWise(f"the encoder raised {type(error).__name__}: {error}") from error
    return columns


def _holds(columns: Columns, split: Split, codes: NDArray[np.int32], frame: pd.DataFrame) -> bool:
    """Whether the table gives, on rows of grid values, what the encoder gives."""
    encoded = columns.shape.checked(split.encode(lend(frame)))
    return same_bits(columns.gather_grid(codes, "C"), encoded)


def _agreeing(
    model: Model, split: Split, columns: Columns, codes: NDArray[np.int32], frame: pd.DataFrame
) -> tuple[int, Literal["C", "F"], int]:
    """Find the first decision that gives the model's own probabilities; also return the rows asked about."""
    ends = np.cumsum(_CALLS)
    calls = [slice(end - size, end) for end, size in zip(ends, _CALLS, strict=True)]
    asked = int(ends[-1])
    try:
        wanted = [np.asarray(model.probability(lend(frame.iloc[rows].reset_index(drop=True)))) for rows in calls]
    except Exception as error:
        raise NotColumnWise(f"the model raised {type(error).__name__}: {error}", asked) from error
    orders: tuple[Literal["C", "F"], ...] = ("C", "F") if columns.shape.order == "C" else ("F", "C")
    for order, number in product(orders, range(len(split.decisions))):
        for rows, answer in zip(calls, wanted, strict=True):
            asked += len(answer)
            given = columns.given(columns.gather_grid(codes[rows], order))
            if not _same_answer(split.decisions[number], given, answer):
                break
        else:
            return number, order, asked
    raise NotColumnWise("the last step, given an array, answers differently from the whole model", asked)


def _same_answer(decide: Callable[[Any], FloatArray], array: Any, answer: FloatArray) -> bool:
    """Compare bit for bit; a decision that raises or warns, as it would at every call, is not the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return same_bits(np.asarray(decide(array)), answer)
        except Exception:
            return False


def _nobody(schema: Schema) -> Encoded:
    """Return a person at the first value of every grid, who has no values of their own."""
    F = len(schema.features)
    zero = np.zeros((1, F), np.int32)
    return Encoded(zero, zero - 1, np.full((1, F), np.nan), pd.RangeIndex(1))


def _some_rows(
    schema: Schema, people: Encoded, rows: int, keep: float = 0.0
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Draw codes in the grids of people, each feature as it is with probability `keep`; the same ones every time.

    Every other row has many values at the ends of their grids: there, encoders that look at several columns at once
    (old and rich and without debts) would be found out soonest.
    """
    rng = np.random.default_rng(20240229)
    who = np.arange(rows, dtype=np.int64) % len(people) if len(people) <= rows else rng.integers(0, len(people), rows)
    F = len(schema.features)
    slots = slots_used(schema.features, people)[who]
    anywhere = (rng.random((rows, F)) * slots).astype(np.int32)
    where = rng.integers(0, 3, (rows, F)) * (np.arange(rows) % 2)[:, None]
    anywhere = np.select([where == 1, where == 2], [np.zeros_like(anywhere), slots.astype(np.int32) - 1], anywhere)
    return np.where(rng.random((rows, F)) < keep, people.codes[who], anywhere).astype(np.int32), who
