"""How kernels are compiled: cached on disk, releasing the GIL, with infinities kept as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Sums may be re-ordered so that they use vector registers. `nnan` and `ninf` stay off: infinity is meaningful here.
_REORDER = {"reassoc", "contract", "nsz", "arcp"}


def compiled(function: Kernel) -> Kernel:
    """Compile a kernel on its first call and keep the machine code on disk."""
    return cast(Kernel, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)(function))
