"""Every page of the documentation runs, links and shows what is true."""

from __future__ import annotations

import re
import runpy
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer

from leastways.cli import app
from tests.docs.pages import PAGES, ROOT, blocks_of, commands_of, read_page

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
NEEDS = {
    "models.md": ("torch", "onnxruntime", "xgboost", "lightgbm", "skops", "skl2onnx"),
    "command-line.md": ("skops",),
    "many-people.md": ("skops", "pyarrow"),
    "audit-fairness.md": ("matplotlib",),
    "pages.md": ("fastapi", "sqlalchemy", "alembic", "jinja2"),
    "serve.md": ("sqlalchemy", "fastapi", "skops"),
    "run-a-preference-study.md": ("statsmodels", "matplotlib"),
}
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


def page_text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_code_prints_the_output_on_the_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [name for name in NEEDS.get(page.name, ()) if find_spec(name) is None]
    if missing:
        pytest.skip(f"{page.name} needs {', '.join(missing)}")
    monkeypatch.delenv("COLUMNS", raising=False)
    outputs = read_page(page, tmp_path)
    for output in outputs:
        assert output.agrees(), (
            f"{page.name}, line {output.first + 1}: `python -m tests.docs.renew {page.relative_to(ROOT)}` renews it.\n"
            + "\n".join(output.real)
        )


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_have_existing_targets(page: Path) -> None:
    for target in LINK.findall(_without_code(page_text(page))):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        goal = (page.parent / name).resolve() if name else page
        assert goal.exists(), f"{page.name}: {target}"
        assert goal.is_relative_to(ROOT), f"{page.name}: {target} leaves the repository"
        if anchor:
            assert anchor in _anchors(page_text(goal)), f"{page.name}: no heading for {target}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_parse(page: Path) -> None:
    for block in blocks_of(page_text(page)):
        if block.language in ("bash", "console"):
            for command, _, _ in commands_of(block):
                words = shlex.split(command, comments=True)
                if words and words[0] == "leastways":
                    _parse(words[1:])


def _parse(words: list[str]) -> None:
    """Parse a command line down to its last sub-command, without running it."""
    command: Any = typer.main.get_command(app)
    name = "leastways"
    while hasattr(command, "commands"):
        assert words, f"{name}: no command"
        if words[0].startswith("-"):
            command.make_context(name, list(words), resilient_parsing=True)
            return
        assert words[0] in command.commands, f"there is no command {name} {words[0]}"
        name, command, words = f"{name} {words[0]}", command.commands[words[0]], words[1:]
    command.make_context(name, list(words), resilient_parsing="--help" in words)


def test_every_page_is_linked_from_the_index() -> None:
    docs = ROOT / "docs"
    index = page_text(docs / "README.md")
    linked = {(docs / target.partition("#")[0]).resolve() for target in LINK.findall(index)}
    assert set(docs.rglob("*.md")) - {docs / "README.md"} <= linked


def test_almost_every_block_runs() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page_text(page)) if block.language == "python"]
    assert len(blocks) > 50
    assert sum(bool(block.no_run) for block in blocks) <= 2


def test_pages_mention_the_project_alone() -> None:
    for page in PAGES:
        assert not re.search(r"/work/|/tmp/dev|\bshared/|localhost", page_text(page)), page.name


@pytest.mark.parametrize("name", ["api.md", "cli.md", "service-yaml.md", "http.md"])
def test_reference_is_up_to_date(name: str) -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))["PAGES"][name]()
    shown = page_text(ROOT / "docs" / "reference" / name)
    assert shown == made, f"docs/reference/{name} is out of date: run python docs/make_reference.py"


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))


def _anchors(text: str) -> set[str]:
    """The anchors that Git hosts make of headings."""
    heads = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
