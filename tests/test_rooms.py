"""The house: rooms import only from rooms above them, nothing imports in a circle, and importing is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import leastways

ROOT = Path(leastways.__file__).parent
# In the order data walks through them; a room imports only from rooms before it.
ROOMS = (
    "errors",
    "_messages",
    "_lazy",
    "_extras",
    "_validation",
    "_random",
    "_fingerprint",
    "_progress",
    "_compiled",
    "_lanes_kernels",
    "_random_kernels",
    "io",
    "schema",
    "models",
    "feasibility",
    "costs",
    "search",
    "baselines",
    "plans",
    "recourse",
    "evaluation",
    "audit",
    "datasets",
    "report",
    "study",
    "batch",
    "server",
    "testing",
    "cli",
    "__main__",
)


# Imports of a room further down, inside a function, and why; each is named here.
LATE = {
    ("schema/schema.py", "feasibility"): "a schema whose rules contradict each other is refused when it is made",
}


def imports_of(path: Path) -> set[str]:
    """Return the rooms a file imports from, late imports included."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "leastways":
                names = [f"leastways.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {n.split(".")[1] for n in names if n.startswith("leastways.")}
    return rooms


def files() -> list[Path]:
    return sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_rooms_import_only_from_rooms_above(path: Path) -> None:
    own = room_of(path)
    assert own in ROOMS, f"{own} is not a known room: add it to the list where it belongs"
    # public names that a room takes from the package itself live in some room: only the last ones may be so lazy
    below = {r for r in imports_of(path) if r not in ROOMS or ROOMS.index(r) > ROOMS.index(own)}
    if own in ("cli", "report", "study", "server"):
        below = {r for r in below if r in ROOMS}
    below -= {room for file, room in LATE if file == path.relative_to(ROOT).as_posix()}
    assert not below, f"{path.name} ({own}) imports from {sorted(below)}, which lie below it"


def test_rooms_are_imported_by_statements() -> None:
    """What is imported by a name in a text, no test of the rooms sees, and no type checker."""
    for path in files():
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        names = [arg.value for call in calls for arg in call.args if isinstance(arg, ast.Constant)]
        called = [ast.unparse(call.func).rpartition(".")[2] for call in calls]
        if {"import_module", "find_spec"} & set(called):
            assert not [name for name in names if str(name).startswith("leastways.")], path


def test_pandas_stops_at_the_edges() -> None:
    inner = [p for p in files() if room_of(p) in ("feasibility", "search", "_random", "_random_kernels")]
    assert inner
    for path in inner:
        assert "pandas" not in path.read_text(encoding="utf-8").replace("No pandas", ""), path


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_loads_nothing_heavy() -> None:
    heavy = ("numba", "sklearn", "pandas", "torch", "matplotlib", "onnxruntime", "typer")
    result = run(f"import sys, leastways; print([m for m in {heavy} if m in sys.modules])")
    assert result.stdout.strip() == "[]", result.stdout + result.stderr


def test_making_a_schema_loads_no_kernel() -> None:
    made = "leastways.Schema([leastways.Feature('a', 'integer', (0, 1), dtype='int64')], rules=[leastways.AtMost(1)])"
    result = run(f"import sys, leastways; {made}; print('numba' in sys.modules)")
    assert result.stdout.strip() == "False", result.stdout + result.stderr


def test_every_public_name_exists() -> None:
    for name in leastways.__all__:
        assert getattr(leastways, name) is not None
    assert set(dir(leastways)) == set(leastways.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        leastways.nothing  # noqa: B018


EXTRAS = (
    "torch",
    "highspy",
    "onnxruntime",
    "xgboost",
    "lightgbm",
    "skops",
    "pyarrow",
    "distributed",
    "dask",
    "matplotlib",
    "skl2onnx",
    "onnx",
    "statsmodels",
    "dice_ml",
    "fastapi",
    "uvicorn",
    "sqlalchemy",
    "alembic",
    "psycopg",
)


def test_core_runs_with_none_of_the_extras() -> None:
    """As in an environment where they are not installed: every import of one fails."""
    code = (Path(__file__).parent / "install" / "bare.py").read_text(encoding="utf-8")
    block = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {EXTRAS}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    result = run(block + code)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "core works" in result.stdout
