"""Checks of single settings: numbers, counts, choices, seeds, thresholds."""

from __future__ import annotations

from numbers import Real
from typing import TypeGuard

import numpy as np

from leastways._messages import listed, nearest
from leastways.errors import SettingError

_MOST = 10**12  # more than any search takes, and its sum over a million people is still a 64-bit integer


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Raise unless `value` is a number within the bounds."""
    if not is_real(value) or not low <= float(value) <= high:
        raise SettingError(f"{name} must be a number from {low} to {high}, not {value!r}.")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise unless a setting is one of the allowed words."""
    if value not in allowed:
        raise SettingError(f"{name} must be one of {listed(allowed)}, not {value!r}." + nearest(value, allowed))


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise unless a setting is a whole number of at least `least`, and of a size that can be counted with."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or int(value) < least:
        raise SettingError(f"{name} must be a whole number of {least} or more, not {value!r}.")
    if value > _MOST:
        raise SettingError(f"{name} must be at most {_MOST:,}, not {value!r}.")


def check_threshold(threshold: object) -> None:
    """Refuse a threshold that is no probability, or 0, at which every state would be accepted."""
    if not is_real(threshold) or not 0.0 < float(threshold) <= 1.0:
        raise SettingError(f"threshold must be a number above 0 and at most 1, not {threshold!r}.")


def check_seed(seed: object) -> int:
    """Accept a non-negative integer seed; anything else could not be reproduced."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or int(seed) < 0:
        raise SettingError(f"random_state must be an integer of 0 or more, not {seed!r}.")
    return int(seed)


def is_real(value: object) -> TypeGuard[Real]:
    """Whether this is a number, of whatever size; truth values and text are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether this is a finite number that a float can hold."""
    try:
        return is_real(value) and bool(np.isfinite(float(value)))
    except OverflowError:
        return False
