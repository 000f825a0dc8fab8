"""Machine code on disk is of the sources as they are, wherever numba keeps it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leastways

CODE = """
import numpy as np
from leastways._compiled import compiled
from leastways.outer_kernels import outer
print(outer(1.0))
"""
INNER = """
from leastways._compiled import compiled


@compiled
def inner(x: float) -> float:
    return x + {by}
"""
OUTER = """
from leastways._compiled import compiled
from leastways.inner_kernels import inner


@compiled
def outer(x: float) -> float:
    return inner(x)
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """Make a package of two kernels, one of which calls the other."""
    folder = tmp_path / "leastways"
    folder.mkdir()
    shutil.copy(Path(leastways.__file__).parent / "_compiled.py", folder)
    (folder / "outer_kernels.py").write_text(OUTER, encoding="utf-8")
    (folder / "inner_kernels.py").write_text(INNER.format(by=1.0), encoding="utf-8")
    (folder / "__init__.py").touch()
    return folder


def answer(kernels: Path, before: str = "", **settings: str) -> float:
    """Call the outer kernel in a process of its own."""
    root = kernels.parent
    environment = os.environ | {"PYTHONPATH": str(root)} | settings
    run = [sys.executable, "-c", before + CODE]
    return float(subprocess.run(run, env=environment, capture_output=True, text=True, check=True, cwd=root).stdout)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_change_of_a_kernel_in_another_file_recompiles(elsewhere: bool, kernels: Path, tmp_path: Path) -> None:
    """numba itself looks only at the file of the function that is called."""
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if elsewhere else {}
    for by in (1.0, 20.0):
        (kernels / "inner_kernels.py").write_text(INNER.format(by=by), encoding="utf-8")
        assert answer(kernels, **settings) == 1 + by
    assert list((tmp_path / "cache" if elsewhere else kernels).rglob("outer_kernels.*.nbi"))


def test_another_release_of_numba_recompiles(kernels: Path, tmp_path: Path) -> None:
    """numba itself leaves the other release's code in place and writes over it, while others may read it."""
    cache = tmp_path / "cache"
    assert answer(kernels, NUMBA_CACHE_DIR=str(cache)) == 2.0
    old = next(cache.rglob("outer_kernels.*.nbi")).with_name("outer_kernels.old.nbc")
    old.touch()
    assert answer(kernels, NUMBA_CACHE_DIR=str(cache)) == 2.0
    assert old.exists()
    assert answer(kernels, "import numba; numba.__version__ += '.1'", NUMBA_CACHE_DIR=str(cache)) == 2.0
    assert not old.exists()
    assert list(cache.rglob("outer_kernels.*.nbi"))
