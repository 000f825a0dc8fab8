"""Copying and filling in plain loops: numba compiles these in milliseconds, slice assignments in seconds."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from leastways.kernels.compiled import lean


@lean
def copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy a vector over another of the same length or more."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@lean
def fill(target: NDArray[Any], value: float) -> None:
    """Set every element of a vector."""
    for i in range(target.shape[0]):
        target[i] = value
