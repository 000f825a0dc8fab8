"""What users write, and the contract suites they run it through, needs only the documented surface."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import leastways
from tests.docs.pages import PAGES, blocks_of

ROOT = Path(leastways.__file__).parents[2]
INTERNAL = {"samples", "tables", "kernels"}  # of a `Problem`, and compiled code: layouts that may change
SUITES = sorted((ROOT / "src/leastways/testing").glob("*.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def faults(code: str, own: str = "", doors: bool = True) -> Iterator[str]:
    """Name what a piece of code uses that is not documented.

    `own` is the room it belongs to. Without `doors` it may import from public files behind the doors of rooms too.
    """
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (f"import {name}" for name in names if name.startswith("leastways."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "leastways":
            _, *rooms = str(node.module).split(".")
            if rooms[:1] == [own]:
                continue
            if (doors and len(rooms) > 1) or any(room.startswith("_") or room.endswith("kernels") for room in rooms):
                yield f"from {node.module}"
                continue
            door = importlib.import_module(str(node.module))
            known = set(getattr(door, "__all__", dir(door)))
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in known)
        elif isinstance(node, ast.Attribute):
            hidden = node.attr.startswith("_") and not node.attr.startswith("__")
            if node.attr in INTERNAL or (hidden and not (isinstance(node.value, ast.Name) and node.value.id == "self")):
                yield f"line {node.lineno}: .{node.attr}"


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.name)
def test_contract_suites_use_the_documented_surface_alone(path: Path) -> None:
    assert not list(faults(path.read_text(encoding="utf-8"), own="testing"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_use_the_documented_surface_alone(path: Path) -> None:
    assert not list(faults(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_use_the_documented_surface_alone(path: Path) -> None:
    blocks = [block.text for block in blocks_of(path.read_text(encoding="utf-8")) if block.language == "python"]
    doors = path.name != "pages.md"  # which shows how to replace texts of the service's pages
    assert not [fault for block in blocks for fault in faults(block, doors=doors)]


@pytest.mark.parametrize(
    "code",
    [
        "import leastways.search",
        "from leastways.feasibility.kernels import meets_rules",
        "from leastways._random import stream",
        "from leastways.search import SetRun",
        "problem.samples.tables.start",
        "problem._check_codes",
    ],
)
def test_undocumented_names_are_found(code: str) -> None:
    assert list(faults(code))
