"""Which columns of an encoder's output belong to which feature, and the table of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.models.kernels import gather
from leastways.schema import Schema

_MOST_CELLS = 2**24  # rows times columns that are encoded to find out: 128 MB of doubles
UNTAME = "the encoder returns values that are missing or too large"
_LARGEST = float(np.finfo(np.float32).max)  # above, trees and networks in single precision refuse a number


class NotColumnWise(Exception):  # noqa: N818 - no error: the plain path is taken instead
    """Why a model cannot be tabulated; `asked` counts the rows it was asked about to find that out."""

    def __init__(self, reason: str, asked: int = 0) -> None:
        super().__init__(reason)
        self.asked = asked


@dataclass(frozen=True)
class Shape:
    """How an encoder's output looks: all of it that is not in the numbers."""

    dtype: np.dtype[Any]
    tail: tuple[int, ...]  # of one row
    order: Literal["C", "F"]
    sparse: Any  # the class of a sparse output, None for a dense one

    @classmethod
    def of(cls, encoded: Any) -> Shape:
        """Look at an output, refusing what is no plain array of numbers."""
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
        """Return another output of the same encoder as [rows, columns], refusing one that looks different."""
        other = Shape.of(encoded)
        if (other.dtype, other.tail, other.sparse) != (self.dtype, self.tail, self.sparse):
            raise NotColumnWise("the form of the encoder's output depends on the rows")
        return as_rows(encoded)

    def checked(self, encoded: Any) -> NDArray[Any]:
        """Return the same, refusing numbers that a model may refuse or treat apart."""
        array = self.rows(encoded)
        refuse_untame(array)
        return array


def as_rows(encoded: Any) -> NDArray[Any]:
    """Return an encoder's output as [rows, columns]."""
    array = np.asarray(encoded.toarray() if hasattr(encoded, "toarray") else encoded)
    return array.reshape(len(array), -1)


def tame(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Say where no number is missing, infinite or too large.

    With others out of the way, checks for them can be left out of every call.
    """
    return np.asarray(np.abs(array) <= _LARGEST if array.dtype == np.float64 else np.isfinite(array))


def refuse_untame(array: NDArray[Any]) -> None:
    """Raise for numbers that a model may refuse or treat apart."""
    if not tame(array).all():
        raise NotColumnWise(UNTAME)


@dataclass(frozen=True)
class Columns:
    """The table: for each feature the columns that are its own, and what they hold at each value of its grid."""

    schema: Schema
    shape: Shape
    sizes: NDArray[np.int64]  # [F]
    first: NDArray[np.int64]  # [F + 1]
    columns: NDArray[np.int64]  # [C]
    start: NDArray[np.int64]  # [F]
    cells: NDArray[Any]  # as bits, like the next
    constant: NDArray[Any]  # [D]

    @classmethod
    def find(cls, encode: Callable[[pd.DataFrame], Any], schema: Schema) -> Columns:
        """Vary each feature alone, from one row, and see which columns of the output change.

        A missing value may have columns of its own that no value of the grid moves. What it is encoded as is not kept:
        people who lack a value are encoded themselves. An encoder may refuse values that it never saw when it was
        fitted. Where nobody is led to such a value, the table holds another one's numbers in its place.
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
    ) -> Columns:
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
        refuse_untame(values[np.append(varied < sizes[feature], True)])
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
        """Return rows encoded, [R, D]; `own` [P, D] holds the people as they are, encoded."""
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
        """Return which columns are a feature's own, and what they hold at each value of its grid, [values, own]."""
        own, size = self.columns[self.first[f] : self.first[f + 1]], int(self.sizes[f])
        cells = self.cells[self.start[f] : self.start[f] + size * len(own)]
        return own, cells.view(self.shape.dtype).reshape(size, len(own)).astype(np.float64)

    def gather_grid(self, codes: NDArray[np.int32], order: Literal["C", "F"]) -> NDArray[Any]:
        """Return rows of grid values encoded, [R, D]."""
        nowhere = np.full((1, len(self.sizes)), -1, np.int32)
        nobody = self.constant[None, :].view(self.shape.dtype)
        return self.gather(codes, np.zeros(len(codes), np.int64), nowhere, nobody, order)

    def given(self, array: NDArray[Any]) -> Any:
        """Return encoded rows in the form the encoder gives them."""
        if self.shape.sparse is not None:
            return self.shape.sparse(array)
        return array if len(self.shape.tail) == 1 else array.reshape(len(array), *self.shape.tail)


def _refused(encode: Callable[[pd.DataFrame], Any], schema: Schema) -> list[NDArray[np.bool_]]:
    """Say of each feature's values which the encoder refuses, of those that nobody is led to."""
    usual = to_offered(schema, np.array([[len(f.values) // 2 for f in schema.features]], np.int32))
    refused = []
    for f, feature in enumerate(schema.features):
        refused.append(np.zeros(len(feature.values), np.bool_))
        for code in np.flatnonzero(~feature.offered):
            row = usual.copy()
            row[0, f] = code
            try:
                refused[f][code] = not tame(as_rows(encode(schema.decode(row)))).all()
            except Exception:
                refused[f][code] = True
    return refused


def to_offered(schema: Schema, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return codes of the grids, [R, F], with one that is offered in place of each value that nobody is led to."""
    return _without(codes, [~feature.offered for feature in schema.features])


def _without(codes: NDArray[np.int32], left_out: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
    """Return codes of the grids, [R, F], with another in place of each that is left out."""
    codes = codes.copy()
    for f, values in enumerate(left_out):
        kept = np.flatnonzero(~values)
        if 0 < len(kept) < len(values):
            instead = kept[np.minimum(np.searchsorted(kept, np.arange(len(values))), len(kept) - 1)]
            on_grid = codes[:, f] < len(instead)  # the others are missing values
            codes[on_grid, f] = instead[codes[on_grid, f]]
    return codes


def bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as the integers their bits spell: equal only if nothing at all differs."""
    return np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}")


def same_bits(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two arrays hold the same bits in the same type and shape."""
    return one.dtype == other.dtype and one.shape == other.shape and bool(np.array_equal(bits(one), bits(other)))
