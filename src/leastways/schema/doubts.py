"""Columns that can be features, but hardly as they stand: what the person who made the table should hear of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from leastways._messages import listed
from leastways.schema.feature import Feature

_SHOWN = 4  # groups of texts that are alike
_MONEY = r"(?:[$¢£¤¥₩₪₫€₱₴₹₺₽₿]|EUR|USD|GBP|CHF|JPY|CNY|INR)"
_DIGITS = r"(?:[1-9]\d{0,2}(?:[.,'’ \u00a0\u202f]\d{3})+|0|[1-9]\d*)"  # a code such as 007 is no number
_NUMBER = re.compile(rf"[-+−]?\s*{_MONEY}?\s*[-+−]?\s*(?:{_DIGITS}(?:[.,]\d+)?|[.,]\d+)\s*(?:{_MONEY}|[%‰])?")
_PLAIN = re.compile(r"[-+]?\d+")
_UNKNOWN = frozenset(("", "-", "–", "?", "n/a", "na", "nan", "none", "null", "unknown", "missing"))


def doubts(features: Iterable[Feature]) -> list[str]:
    """Return a sentence or two on each column whose texts mean something else than categories of their own."""
    said = []
    for feature in features:
        texts = [v for v in feature.values if isinstance(v, str) and v not in feature.never]
        if feature.kind != "category" or len(texts) < 2:
            continue
        # whoever made pandas categories of numbers meant names
        if not feature.categories and any(not _PLAIN.fullmatch(text.strip()) for text in _numbers(feature.values)):
            said.append(f"column {feature.name!r} {numbers_as_text(texts)}")
        if alike := _alike(texts):
            said.append(_told_alike(feature.name, alike))
    return said


def look_like_numbers(values: Sequence[Any]) -> bool:
    """Whether these are texts, and all but the words for an unknown value are numbers as people write them."""
    return bool(_numbers(values))


def numbers_as_text(values: Sequence[Any]) -> str:
    """Say of such a column what becomes of it, and how to mend that."""
    example = max(_numbers(values), key=lambda text: (not _PLAIN.fullmatch(text.strip()), len(text)))
    return (
        f"looks like numbers written as text, such as {example!r}; as categories they have no order. Convert it: write "
        "digits with a decimal point and no other signs, and leave unknown values empty (in pandas: .str.replace, then "
        "pd.to_numeric)."
    )


def _numbers(values: Sequence[Any]) -> list[str]:
    """Return the texts that are numbers, or nothing where some of the values are neither numbers nor unknown."""
    if not all(isinstance(value, str) for value in values):
        return []
    known = [value for value in values if value.strip().casefold() not in _UNKNOWN]
    return known if len(known) > 1 and all(_NUMBER.fullmatch(value.strip()) for value in known) else []


def _alike(texts: Sequence[str]) -> list[list[str]]:
    """Return the groups of texts that differ only by case or blanks."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return [group for group in groups.values() if len(group) > 1]


def _told_alike(name: str, groups: Sequence[Sequence[str]]) -> str:
    more = f"; and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""
    shown = "; ".join(listed(group) for group in groups[:_SHOWN])
    return (
        f"column {name!r} holds texts that differ only by case or blanks, which makes them separate categories: {shown}"
        f"{more}. An option could lead from one to the other. Write each in one way before the model is trained, or "
        "list the spare ones under `never`."
    )
