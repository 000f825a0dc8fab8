"""A user's JSON: nesting without end, or a key that stands twice, is a fault of the file as any other is.

Python's reader answers the first with a RecursionError, which nobody expects of a file, and of the second silently
takes the last value.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from leastways.errors import DataError

TOO_DEEP = "it is nested too deeply"


def json_of(text: str | bytes) -> Any:
    """Return what a JSON text says; ValueError says what is wrong with it."""
    try:
        return json.loads(text, object_pairs_hook=_each_key_once)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def read_json(path: Path, what: str = "") -> Any:
    """Return what a JSON file says; the error names the file, and `what` was looked for in it."""
    try:
        return json_of(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {what + ' from ' if what else ''}{str(path)!r}: {error}") from error


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"the key {Counter(key for key, _ in pairs).most_common(1)[0][0]!r} stands twice")
    return found
