"""Sums in 8 fixed lanes: compiled, interpreted and in plain Python they agree to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways._random_kernels import keyed
from leastways.search import kernels as gains
from leastways.search.guided import knapsack_kernels as knapsack
from leastways.search.guided import surrogate_kernels as shared
from leastways.search.guided import surrogate_kernels as surrogate
from tests.support import reference_kernels as reference

Vector = NDArray[np.float64]
PRICE = 0.25


def terms_of_gain(a: Vector, b: Vector, c: Vector) -> list[float]:
    return [w * max(lowest - x, 0.0) for x, lowest, w in zip(a, b, c, strict=True)]


def terms_of_product(a: Vector, b: Vector, c: Vector) -> list[float]:
    return [x * y for x, y in zip(a, b, strict=True)]


def terms_of_hidden(a: Vector, b: Vector, c: Vector) -> list[float]:
    return [x * max(y, 0.0) for x, y in zip(a, b, strict=True)]


def terms_of_lift(a: Vector, b: Vector, c: Vector) -> list[float]:
    return [rise if slope < PRICE else 0.0 for slope, rise in zip(a, b, strict=True)]


# The kernel, its arguments from three vectors, and the terms of its sum.
SUMS: dict[str, tuple[Any, Callable[[Vector, Vector, Vector], tuple[Any, ...]], Any]] = {
    "add_gain": (gains.add_gain, lambda a, b, c: (a, b, c), terms_of_gain),
    "mean_lowest": (gains.mean_lowest, lambda a, b, c: (a, b), terms_of_product),
    "hidden units": (shared._read, lambda a, b, c: (a, b), terms_of_hidden),
    "scalar product": (surrogate._dot, lambda a, b, c: (a, b, len(a)), terms_of_product),
    "effect": (knapsack._effect_at, lambda a, b, c: (PRICE, a, b), terms_of_lift),
}


def interpreted(kernel: Any) -> Any:
    return getattr(kernel, "py_func", kernel)


@st.composite
def vectors(draw: st.DrawFn) -> tuple[Vector, Vector, Vector]:
    """Three vectors of one length, from none to several blocks of lanes with a remainder, of very unequal numbers."""
    n = draw(st.one_of(st.integers(0, 40), st.integers(990, 1010)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    a, b, c = (rng.normal(size=n) * 10.0 ** rng.integers(-6, 6, n) for _ in range(3))
    return a, b, c


@pytest.mark.parametrize("name", SUMS)
@given(case=vectors())
def test_sum_is_the_same_compiled_interpreted_and_in_its_twin(name: str, case: tuple[Vector, Vector, Vector]) -> None:
    kernel, arguments, terms = SUMS[name]
    given_to_it = arguments(*case)
    expected = reference.lane_sum([float(term) for term in terms(*case)])
    assert float(kernel(*given_to_it)).hex() == float(interpreted(kernel)(*given_to_it)).hex() == expected.hex()


@pytest.mark.parametrize("name", SUMS)
def test_sum_of_a_view_with_steps_equals_that_of_its_copy(name: str) -> None:
    kernel, arguments, _ = SUMS[name]
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(45, 3))
    views = arguments(columns[:, 0], columns[:, 1], columns[:, 2])
    copies = arguments(*(columns[:, k].copy() for k in range(3)))
    assert kernel(*views) == kernel(*copies) == interpreted(kernel)(*views)


@given(st.integers(0, 2**64 - 1), st.integers(-(2**62), 2**62))
def test_keyed_state_of_any_counter_is_the_same_interpreted(key: int, counter: int) -> None:
    """Also of negative ones, which wrap around."""
    with np.errstate(over="ignore"):
        states = {int(f(np.uint64(key), counter)) % 2**64 for f in (keyed, interpreted(keyed))}
    assert states == {reference.Stream(key, counter % 2**64).state}
