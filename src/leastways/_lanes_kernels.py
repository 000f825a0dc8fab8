"""Sums in 8 fixed lanes: the same result on every processor, and interpreted, at the speed of vector registers.

Lane k adds up the terms k, k + 8, k + 16, ...; then the lanes are added in one fixed tree, and what is left of the
length is added one by one. Interpreted, a value of 8 lanes is an array [8]; compiled, it is a vector of LLVM's, without
liberties in its arithmetic, which LLVM places in registers of whatever width the processor has.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, models, register_model, type_callable
from numpy.typing import NDArray

Lanes = NDArray[np.float64]  # [8]
WIDTH = 8


def zeros() -> Lanes:
    """Return 0 in each lane."""
    return np.zeros(WIDTH)


def load(values: NDArray[np.float64], first: int) -> Lanes:
    """Return the 8 values from `first` on."""
    return values[first : first + WIDTH]


def positive(lanes: Lanes) -> Lanes:
    """Return each lane, or 0 where it is below."""
    return np.where(lanes < 0.0, 0.0, lanes)


def where_below(tested: Lanes, bound: float, lanes: Lanes) -> Lanes:
    """Return the lanes where those tested are below the bound, else 0."""
    return np.where(tested < bound, lanes, 0.0)


def total(lanes: Lanes) -> float:
    """Add the lanes in one fixed tree."""
    a, b, c, d = lanes[0] + lanes[4], lanes[1] + lanes[5], lanes[2] + lanes[6], lanes[3] + lanes[7]
    return float((a + c) + (b + d))


class _LanesType(types.Type):
    """The numba type of a value of 8 lanes."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_LANES: Any = _LanesType()
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_ZEROS = ir.Constant(_VECTOR, [0.0] * WIDTH)


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


def _compiles(function: Callable[..., Any], *arguments: Any, result: Any = _LANES) -> Callable[[Any], Any]:
    """Register how a function on these types is compiled: the decorated one makes LLVM's code."""

    def fits(*given: Any) -> Any:
        same = (
            g == a if isinstance(a, types.Type) else isinstance(g, a) for g, a in zip(given, arguments, strict=True)
        )
        return result if all(same) else None

    by_number = (lambda: fits(), lambda a: fits(a), lambda a, b: fits(a, b), lambda a, b, c: fits(a, b, c))
    type_callable(function)(lambda context: by_number[len(arguments)])  # numba counts a function's parameters
    registered: Callable[[Any], Any] = lower_builtin(function, *arguments)  # type: ignore[no-untyped-call]
    return registered


@_compiles(zeros)
def _zeros(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    return _ZEROS


@_compiles(load, types.Array, types.Integer)
def _load(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    array, first = arguments
    kind = signature.args[0]
    view = context.make_array(kind)(context, builder, array)
    if kind.layout == "C":
        start = builder.gep(view.data, [first])
        return builder.load(builder.bitcast(start, _VECTOR.as_pointer()), align=8)
    out = _ZEROS
    data, stride = builder.ptrtoint(view.data, first.type), builder.extract_value(view.strides, 0)
    for k in range(WIDTH):
        place = builder.add(data, builder.mul(builder.add(first, first.type(k)), stride))
        value = builder.load(builder.inttoptr(place, view.data.type))
        out = builder.insert_element(out, value, ir.IntType(32)(k))
    return out


@_compiles(operator.add, _LANES, _LANES)
def _add(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    return builder.fadd(*arguments)


@_compiles(operator.sub, _LANES, _LANES)
def _subtract(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    return builder.fsub(*arguments)


@_compiles(operator.mul, _LANES, _LANES)
def _multiply(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    return builder.fmul(*arguments)


@_compiles(positive, _LANES)
def _positive(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", arguments[0], _ZEROS), _ZEROS, arguments[0])


@_compiles(where_below, _LANES, types.float64, _LANES)
def _where_below(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    tested, bound, lanes = arguments
    bounds = _ZEROS
    for k in range(WIDTH):
        bounds = builder.insert_element(bounds, bound, ir.IntType(32)(k))
    return builder.select(builder.fcmp_ordered("<", tested, bounds), lanes, _ZEROS)


@_compiles(total, _LANES, result=types.float64)
def _total(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    lane = [builder.extract_element(arguments[0], ir.IntType(32)(k)) for k in range(WIDTH)]
    a, b, c, d = (builder.fadd(lane[k], lane[k + 4]) for k in range(4))
    return builder.fadd(builder.fadd(a, c), builder.fadd(b, d))
