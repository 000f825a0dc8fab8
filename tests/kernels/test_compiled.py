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
from leastways.kernels.compiled import compiled
from leastways.kernels.outer import outer
print(outer(1.0))
"""
INNER = """
from leastways.kernels.compiled import compiled


@compiled
def inner(x: float) -> float:
    return x + {by}
"""
OUTER = """
from leastways.kernels.compiled import compiled
from leastways.kernels.inner import inner


@compiled
def outer(x: float) -> float:
    return inner(x)
"""


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_kernel_in_another_file_is_changed(elsewhere: bool, tmp_path: Path) -> None:
    """numba itself looks only at the file of the function that is called."""
    kernels = tmp_path / "leastways" / "kernels"
    kernels.mkdir(parents=True)
    shutil.copy(Path(leastways.__file__).parent / "kernels" / "compiled.py", kernels)
    (kernels / "outer.py").write_text(OUTER, encoding="utf-8")
    for package in (kernels, kernels.parent):
        (package / "__init__.py").touch()
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    if elsewhere:
        environment |= {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for by in (1.0, 20.0):
        (kernels / "inner.py").write_text(INNER.format(by=by), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert float(done.stdout) == 1 + by
    assert list((tmp_path / "cache" if elsewhere else kernels).rglob("outer.*.nbi"))
