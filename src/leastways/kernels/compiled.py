"""How kernels are compiled: cached on disk, releasing the GIL, with infinities kept as they are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.options import DefaultOptions

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Sums may be re-ordered so that they use vector registers. `nnan` and `ninf` stay off: infinity is meaningful here.
_REORDER = {"reassoc", "contract", "nsz", "arcp"}


def compiled(function: Kernel) -> Kernel:
    """Compile a kernel on its first call and keep the machine code on disk."""
    return cast(Kernel, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)(function))


def lean(function: Kernel) -> Kernel:
    """Compile a kernel that allocates nothing and hands back no array of its own making.

    Such a kernel need not count references to the arrays it works on. Counting is an atomic operation per array and
    call, and in small kernels on records of many arrays it costs more than the arithmetic. The option is numba's own
    but not documented; without it everything works the same, slower.
    """
    if not hasattr(DefaultOptions, "_nrt"):
        return compiled(function)
    return cast(Kernel, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER, _nrt=False)(function))


def _drop_stale_machine_code(folder: Path) -> None:
    """Delete the machine code cached beside the sources if any of them changed since it was made.

    numba looks only at a function's own file. A kernel that calls one in another file would keep running that one's
    old code: wrong results after an update, with nothing to show for it.
    """
    sources = sorted((p.name, p.stat().st_mtime_ns, p.stat().st_size) for p in folder.glob("*.py"))
    stamp = folder / "__pycache__" / "kernel-sources.txt"
    with suppress(OSError):  # an installation that cannot be written to is never edited in place either
        stamp.parent.mkdir(exist_ok=True)
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != repr(sources):
            for old in (*stamp.parent.glob("*.nbi"), *stamp.parent.glob("*.nbc")):
                old.unlink(missing_ok=True)
            stamp.write_text(repr(sources), encoding="utf-8")


_drop_stale_machine_code(Path(__file__).parent)
