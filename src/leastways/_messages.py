"""Wording that all rooms share: lists in sentences, and the nearest known name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from leastways._values import plain


def nearest(name: object, known: Iterable[object]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, or an empty string.

    Names that differ by case or blanks alone come first: 'male' is nearer to 'Female' than to 'Male' by its letters.
    """
    by_text, text = {str(k): plain(k) for k in known}, str(name)
    alike = [k for k in by_text if k != text and k.strip().casefold() == text.strip().casefold()]
    match = [text] if text in by_text else alike or get_close_matches(text, by_text, n=1)
    return f" Did you mean {by_text[match[0]]!r}?" if match else ""


def listed(values: Sequence[Any], limit: int = 8) -> str:
    """Show values for a message, cut after `limit`."""
    shown = ", ".join(repr(plain(v)) for v in list(values)[:limit])
    return shown + (f", ... ({len(values)} in all)" if len(values) > limit else "")
