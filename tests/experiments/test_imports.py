"""The experiments use what anybody may use: public names of the package, and nothing behind them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import experiments

FILES = sorted(Path(next(iter(experiments.__path__))).rglob("*.py"))


def taken(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of everything that a file takes from the package, late imports included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "leastways":
            yield from ((str(node.module), alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "leastways")


def is_public(module: str, name: str) -> bool:
    """Whether a name is one that its package lists; `import leastways` itself has none."""
    if module.count(".") > 1 or not hasattr(import_module(module), "__all__"):
        return False
    return not name or name in import_module(module).__all__


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_public_names_are_imported(path: Path) -> None:
    assert [found for found in taken(path) if not is_public(*found)] == []


def test_private_imports_are_found() -> None:
    assert not is_public("leastways.costs.kernels", "top_of")
    assert not is_public("leastways.costs", "kernels")
    assert not is_public("leastways.search", "base")
    assert is_public("leastways.search", "Questions")
    assert any(taken(path) for path in FILES)
