"""How kernels are compiled: cached on disk, releasing the GIL, with arithmetic as written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import config
from numba.core.options import DefaultOptions

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# No liberties with arithmetic: one kernel is compiled into several others, and where products may be fused or sums
# re-ordered, each copy may round differently. Plans would then depend on which copy ran, so on what was cached before.
_EXACT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def compiled(function: Kernel) -> Kernel:
    """Compile a kernel on its first call and keep the machine code on disk."""
    return _made(function)


def lean(function: Kernel) -> Kernel:
    """Compile a kernel that allocates nothing and hands back no array of its own making.

    Such a kernel need not count references to the arrays it works on. Counting is an atomic operation per array and
    call, and in small kernels on records of many arrays it costs more than the arithmetic. The option is numba's own
    but not documented; without it everything works the same, slower.
    """
    return _made(function, **_UNCOUNTED)


def wrapping(function: Kernel) -> Kernel:
    """Compile a lean kernel whose unsigned sums and products wrap around; interpreted, they do so without a warning."""
    return np.errstate(over="ignore")(function) if getattr(config, "DISABLE_JIT", 0) else lean(function)


_UNCOUNTED: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


def _made(function: Kernel, **options: Any) -> Kernel:
    kernel = numba.njit(**_EXACT, **options)(function)
    cache = getattr(kernel, "_cache", None)  # none where compiling is switched off
    if cache is not None:
        _drop_stale_machine_code(Path(cache.cache_path))
    return cast(Kernel, kernel)


@lru_cache
def _drop_stale_machine_code(folder: Path) -> None:
    """Delete the machine code of our kernels in this folder if any of their sources, or numba, changed since then.

    numba looks only at a function's own file. A kernel that calls one in another file would keep running that one's
    old code: wrong results after an update, with nothing to show for it. And while one process writes over the code of
    another release of numba, a second one may read what is still the old.
    """
    here = Path(__file__)
    units = {unit.relative_to(here.parent).as_posix(): unit.stat() for unit in here.parent.rglob("*kernels.py")}
    units[here.name] = here.stat()
    sources = sorted((name, unit.st_mtime_ns, unit.st_size) for name, unit in units.items())
    made_of = repr((numba.__version__, sources))
    stamp = folder / "kernel-sources.txt"
    with suppress(OSError):  # a folder that cannot be written to keeps what is in it
        folder.mkdir(parents=True, exist_ok=True)
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != made_of:
            for old in (*folder.glob("*.nbi"), *folder.glob("*.nbc")):
                old.unlink(missing_ok=True)
            stamp.write_text(made_of, encoding="utf-8")
