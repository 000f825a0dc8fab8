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
    "_values",
    "_messages",
    "_lazy",
    "_extras",
    "_validation",
    "_random",
    "_fingerprint",
    "_progress",
    "_templates",
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


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name, `__init__` under its room's."""
    names = {p: [ROOT.name, *p.relative_to(ROOT).with_suffix("").parts] for p in [ROOT / "__init__.py", *files()]}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): p for p, parts in names.items()}


def imported_modules(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules that a file imports, late imports included; of a name from a door, the door."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {m if (m := f"{node.module}.{a.name}") in known else node.module for a in node.names}
    return {name for name in found if name in known and known[name] != path}


def eager_imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules that are imported when a file is: not those inside functions or for type checkers."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {m if (m := f"{node.module}.{a.name}") in known else node.module for a in node.names}
    return {name for name in found if name in known and known[name] != path}


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_rooms_import_each_other_by_their_doors(path: Path) -> None:
    behind = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("leastways."):
            room, *rest = node.module.split(".")[1:]
            if rest and room != room_of(path):
                behind.append(f"line {node.lineno}: {node.module}")
    assert not behind, f"{path.relative_to(ROOT)} imports past a door: {behind}"


def test_no_module_imports_itself_in_a_circle() -> None:
    known = modules()
    needs = {name: eager_imports(path, known) - {"leastways"} for name, path in known.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for other in sorted(needs[name]):
                if not name.startswith(f"{other}."):  # a door is loaded before what is behind it
                    visit(other, (*trail, name))
            done.add(name)

    for name in sorted(needs):
        visit(name, ())


def test_few_modules_serve_one_other_alone() -> None:
    """A module with one importer that is no door often belongs into that importer."""
    known = modules()
    users: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for other in imported_modules(path, known):
            users[other].add(name)
    doors = {name for name, path in known.items() if path.name == "__init__.py"}
    lonely = {n for n, by in users.items() if n not in doors and len(by) == 1 and not by & doors}
    assert len(known) <= 190, f"{len(known)} modules: is each a subject of its own?"
    assert len(lonely) <= 45, sorted(lonely)


def test_constructing_a_recourse_loads_only_what_it_needs() -> None:
    """Of rooms that it does not need, at most the door."""
    late = ("baselines", "audit", "datasets", "evaluation", "report", "study", "batch", "server", "testing", "cli")
    heavy = ("matplotlib", "jinja2", "highspy", "dask", "distributed", "sqlalchemy", "fastapi", "torch", "typer")
    code = (
        "import sys, leastways as lw\n"
        "schema = lw.Schema([lw.Feature('a', 'integer', (0, 1), dtype='int64')])\n"
        "lw.Recourse(lambda frame: frame['a'], schema)\n"
        "behind = {m.split('.')[1] for m in sys.modules if m.startswith('leastways.') and m.count('.') > 1}\n"
        f"print(sorted(behind & set({late})), [m for m in {heavy} if m in sys.modules])"
    )
    result = run(code)
    assert result.stdout.strip() == "[] []", result.stdout + result.stderr


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


@pytest.mark.slow
def test_core_runs_with_none_of_the_extras() -> None:
    """As in an environment without the extras: every import of one fails."""
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
