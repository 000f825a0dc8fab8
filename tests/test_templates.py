"""Pages come from templates: no HTML, CSS or script in Python strings, and what is not `Markup` is escaped."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

import leastways
from leastways._templates import render, static_text

ROOT = Path(leastways.__file__).parent
MODULES = sorted(
    path for room in ("schema", "plans", "audit", "report", "study") for path in (ROOT / room).rglob("*.py")
)
MARKUP = re.compile(
    r"</?[a-z][a-z0-9]*(\s[^<>]*)?/?>"  # an element
    r"|(?<![rf])[.#@]?[a-z-]+\s*\{\s*[a-z-]+\s*:[^}]*;"  # a rule of a style sheet
    r"|\bfunction\s*\w*\(|=>|\b(const|let|var) \w+ ="  # a script
)


def strings_of(source: str) -> list[str]:
    """Return the strings of a module that are not docstrings; what an f-string puts in counts as `x`."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(v.value) if isinstance(v, ast.Constant) else "x" for v in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            found.append(node.value)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_markup_in_python_strings(path: Path) -> None:
    assert [text for text in strings_of(path.read_text(encoding="utf-8")) if MARKUP.search(text)] == []


@pytest.mark.parametrize(
    "source",
    [
        "x = '<b>bold</b>'",
        "x = f'<td class=\"{kind}\">{value}</td>'",
        "x = '''\n.card { color: red; }'''",
        "x = 'const a = 1'",
    ],
)
def test_markup_in_python_strings_is_seen(source: str) -> None:
    assert any(MARKUP.search(text) for text in strings_of(source))


def test_values_are_escaped_and_missing_ones_are_errors() -> None:
    shown: dict[str, Any] = {"view": "0 0 1 1", "name": "x", "alt": '<script> & "', "body": "</svg>", "styles": True}
    assert "&lt;script&gt; &amp; &#34;</title></svg>" in render("drawing.svg", "report", **shown)
    with pytest.raises(UndefinedError, match="'alt' is undefined"):
        render("drawing.svg", "report", **{name: value for name, value in shown.items() if name != "alt"})


def test_a_room_may_use_the_files_of_another() -> None:
    assert static_text("form.css", "study", "report") != static_text("report.css", "study", "report")
    assert static_text("report.css", "study", "report") == static_text("report.css", "report")
