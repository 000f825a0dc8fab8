"""Values and changes in words a person can read, with the schema's labels and units."""

from __future__ import annotations

from typing import Any

from leastways.errors import plain
from leastways.schema import Feature


def value_text(feature: Feature, value: Any) -> str:
    """Write a value with its unit: ``2,350 EUR``, ``yes``."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    elif float(value) == int(value):
        text = f"{int(value):,}" if abs(value) >= 10_000 or feature.unit else f"{int(value)}"
    else:
        text = f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.2f}"
    return f"{text} {feature.unit}" if feature.unit else text


def change_text(feature: Feature, before: Any, after: Any) -> str:
    """Say a change as a person would: raise, lower or change something from one value to another."""
    verb = "change"
    if feature.numeric:
        verb = "raise" if after > before else "lower"
    return f"{verb} {feature.wording} from {value_text(feature, before)} to {value_text(feature, after)}"
