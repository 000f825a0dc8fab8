"""The stored files: which there are, how they are written, and how they are compared, byte for byte."""

from __future__ import annotations

import difflib
import json
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba

from tests.golden.cases import CASES
from tests.golden.texts import TEXTS

FOLDER = Path(__file__).parent
SETS: dict[str, tuple[str, dict[str, Callable[[], Any]]]] = {
    "decisions": (".json", {name: case.record for name, case in CASES.items()}),
    "texts": (".txt", dict(TEXTS)),
}
INTERPRETED = bool(getattr(numba.config, "DISABLE_JIT", 0))
Name = tuple[str, str]  # a set and a case


def how() -> str:
    """Say whether kernels are compiled."""
    return "interpreted" if INTERPRETED else "compiled"


def names() -> list[Name]:
    """List all cases that are run here; interpreted, those that are meant for it."""
    if INTERPRETED:
        return [("decisions", name) for name, case in CASES.items() if case.interpreted]
    return [(group, name) for group, (_, cases) in SETS.items() for name in cases]


def wanted(given: Sequence[str]) -> list[Name]:
    """Return the cases of the sets and names given, or all."""
    unknown = [one for one in given if one not in SETS and one not in {name for _, name in names()}]
    if unknown:
        raise SystemExit(f"no set or case {', '.join(map(repr, unknown))}")
    return [(group, name) for group, name in names() if not given or group in given or name in given]


def file_of(name: Name) -> Path:
    """Return the file of a case."""
    group, case = name
    ending = SETS[group][0]
    return FOLDER / group / (re.sub(r"[^a-z0-9]+", "-", case).strip("-") + ending)


def text_of(name: Name) -> str:
    """Run a case and return what its file holds."""
    group, case = name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        content = SETS[group][1][case]()
    return content if isinstance(content, str) else as_json({"case": case} | content)


def as_json(value: Any) -> str:
    """Write a record, short lists and mappings on a line of their own."""
    return _indented(value, "") + "\n"


def _indented(value: Any, margin: str) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + len(margin) <= 118 or not isinstance(value, dict | list):
        return flat
    inner = margin + " "
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(key)}: {_indented(part, inner)}" for key, part in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{margin}}}"
    return "[\n" + ",\n".join(inner + _indented(part, inner) for part in value) + f"\n{margin}]"


def write(name: Name) -> None:
    """Run a case and write its file."""
    file_of(name).parent.mkdir(exist_ok=True)
    file_of(name).write_bytes(text_of(name).encode())


def difference(name: Name) -> str:
    """Run a case; return how its file differs, or nothing."""
    path = file_of(name)
    if not path.exists():
        return f"{path}: missing; python -m tests.golden make"
    made, stored = text_of(name).encode(), path.read_bytes()
    if made == stored:
        return ""
    lines = (stored.decode(errors="replace").splitlines(), made.decode().splitlines())
    shown = list(difflib.unified_diff(*lines, f"{path} (stored)", f"{name[1]} ({how()})", lineterm="", n=1))
    return "\n".join(shown[:40]) or f"{path}: the bytes differ, the lines do not"


def left_over() -> list[Path]:
    """List files that no case has."""
    known = {file_of((group, name)) for group, (_, cases) in SETS.items() for name in cases}
    return sorted(path for group in SETS for path in (FOLDER / group).glob("*") if path not in known)
