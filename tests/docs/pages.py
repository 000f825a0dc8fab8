"""Reading and running the pages of the documentation.

Code blocks of a page run in order, in one namespace and one empty folder, as a reader would type them:

- `python` blocks run. A `text` block right after one is what it prints.
- `console` blocks hold commands after `$ ` and what they print; those of leastways run for real.
- `bash` blocks hold commands that are only parsed: their files are the reader's own.

A block after `<!-- file: name -->` is a file that the reader saves under that name.
A line of three dots in an output stands for any lines. A block after `<!-- no-run: why -->` does not run.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner

import leastways.recourse  # noqa: F401  (all methods of our own are known before a page is read)
from leastways.cli import app
from leastways.feasibility import constraints
from leastways.schema import rules
from leastways.search import registry

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
# `make demo` is `leastways demo` behind a line that shows it; the rest of make's targets are not for a test to run.
_SAME_AS = {"make demo": ".venv/bin/leastways demo"}
_FENCE = re.compile(r"^```(\w*)\s*$")
_FILE = re.compile(r"<!-- file: (.+?) -->")
_NO_RUN = re.compile(r"<!-- no-run: (.+?) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its lines, where it begins, why not to run it, what to save it as."""

    language: str
    lines: tuple[str, ...]
    first: int
    no_run: str = ""
    file: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def last(self) -> int:
        """The place of the closing fence."""
        return self.first + len(self.lines)


@dataclass(frozen=True)
class Output:
    """What the page shows at these lines, and what really came out."""

    first: int
    shown: tuple[str, ...]
    real: tuple[str, ...]

    def agrees(self) -> bool:
        return _matches(list(self.shown), list(self.real))

    def renewed(self) -> tuple[str, ...]:
        """The real output, trimmed as the shown one is."""
        if "..." not in self.shown:
            return self.real
        cut = self.shown.index("...")
        tail = len(self.shown) - cut - 1
        return (*self.real[:cut], "...", *self.real[len(self.real) - tail :])


def blocks_of(text: str) -> list[Block]:
    """Find the fenced blocks of a page."""
    found: list[Block] = []
    lines = text.splitlines()
    place = 0
    while place < len(lines):
        fence = _FENCE.match(lines[place])
        if fence is None:
            place += 1
            continue
        end = next(i for i in range(place + 1, len(lines)) if lines[i] == "```")
        before = next((line for line in reversed(lines[:place]) if line.strip()), "")
        why, file = _NO_RUN.search(before), _FILE.search(before)
        content = tuple(lines[place + 1 : end])
        found.append(Block(fence[1], content, place + 1, why[1] if why else "", file[1] if file else ""))
        place = end + 1
    return found


def commands_of(block: Block) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Yield each command of a console or bash block, with where its output begins and the output as shown."""
    place = 0
    while place < len(block.lines):
        line = block.lines[place]
        if block.language == "console" and not line.startswith("$ "):
            place += 1
            continue
        words = line.removeprefix("$ ")
        while words.endswith("\\"):
            place += 1
            words = words[:-1] + block.lines[place].strip()
        place += 1
        begin = place
        while block.language == "console" and place < len(block.lines) and not block.lines[place].startswith("$ "):
            place += 1
        yield words, block.first + begin, block.lines[begin:place]


@dataclass
class Reader:
    """Somebody who types in a page from top to bottom."""

    page: Path
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    exit_code: int = 0

    def read(self) -> list[Output]:
        """Run the page's blocks in the present folder; returns every output that the page shows."""
        outputs = []
        blocks = blocks_of(self.page.read_text(encoding="utf-8"))
        for block, after in zip(blocks, [*blocks, None][1:], strict=True):
            if block.no_run:
                continue
            if block.file:
                Path(block.file).write_text(block.text + "\n", encoding="utf-8")
            if block.language == "python":
                printed = self._python(block)
                if after is not None and after.language == "text" and after.first - block.last <= 3:
                    outputs.append(Output(after.first, after.lines, printed))
            elif block.language == "console":
                outputs.extend(self._console(block))
        return outputs

    def _python(self, block: Block) -> tuple[str, ...]:
        code = compile("\n" * block.first + block.text, str(self.page), "exec", dont_inherit=True)
        out = StringIO()
        with redirect_stdout(out):
            exec(code, self.namespace)
        return _tidy(out.getvalue())

    def _console(self, block: Block) -> Iterator[Output]:
        for command, begin, shown in commands_of(block):
            words = shlex.split(_SAME_AS.get(command, command))
            if command == "echo $?":
                printed: tuple[str, ...] = (str(self.exit_code),)
            elif Path(words[0]).name == "leastways":
                printed = self._leastways(words)
            else:
                continue
            if shown:
                yield Output(begin, shown, printed)

    def _leastways(self, words: list[str]) -> tuple[str, ...]:
        with patch.object(sys, "argv", words):  # a message may repeat how the program was called
            result = CliRunner().invoke(app, words[1:])
        self.exit_code = result.exit_code
        if result.exit_code == 1 and result.exception is not None:
            raise result.exception
        return _tidy(result.output)


def read_page(page: Path, folder: Path) -> list[Output]:
    """Read a page in a folder of its own, and leave the process as it was."""
    here, path, modules = Path.cwd(), list(sys.path), set(sys.modules)
    registries: list[dict[Any, Any]] = [registry._REGISTRY, rules._TYPES, constraints._COMPILERS]
    known = [dict(entries) for entries in registries]
    os.chdir(folder)
    try:
        with redirect_stderr(StringIO()):
            return Reader(page).read()
    finally:
        os.chdir(here)
        sys.path[:] = path
        for entries, before in zip(registries, known, strict=True):  # a page may register a searcher or a rule type
            entries.clear()
            entries.update(before)
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", None)).startswith(str(folder)):
                del sys.modules[name]


def renew(page: Path, outputs: list[Output]) -> None:
    """Write what really came out into the page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for output in sorted(outputs, key=lambda o: -o.first):
        lines[output.first : output.first + len(output.shown)] = output.renewed()
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _tidy(text: str) -> tuple[str, ...]:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return tuple(lines)


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def _matches(shown: list[str], real: list[str]) -> bool:
    if not shown:
        return not real
    if shown[0] == "...":
        return any(_matches(shown[1:], real[skip:]) for skip in range(len(real) + 1))
    return bool(real) and _alike(shown[0], real[0]) and _matches(shown[1:], real[1:])


def _alike(shown: str, real: str) -> bool:
    """Whether two lines say the same: words as they are, numbers to one unit in the last place."""
    words, numbers = _NUMBER.split(shown), _NUMBER.findall(shown)
    real_words, real_numbers = _NUMBER.split(real), _NUMBER.findall(real)
    if [_plain(w) for w in words] != [_plain(w) for w in real_words]:
        return False
    return all(abs(_value(a) - _value(b)) <= 1.01 * _unit(a) for a, b in zip(numbers, real_numbers, strict=True))


def _plain(text: str) -> str:
    return re.sub(r"[\s─━]+", " ", text)


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _unit(number: str) -> float:
    mantissa, _, power = number.replace(",", "").partition("e")
    return 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
