"""What a part shows: tables of text, and the few numbers behind them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

VERDICT = "verdict"
MET, MISSED, OPEN = "met", "NOT MET", "-"


@dataclass(frozen=True)
class Table:
    """A titled table. A column named `verdict` holds met, NOT MET or - (nothing was promised)."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def verdict(ok: bool | None) -> str:
    """Return the word for it."""
    return OPEN if ok is None else MET if ok else MISSED


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the half width of its 95 % interval over seeds (Student's t); NaN for one value."""
    if len(values) < 2:
        return (values[0] if values else math.nan), math.nan
    from scipy.stats import t  # late: only a finished table needs it

    return fmean(values), float(t.ppf(0.975, len(values) - 1)) * stdev(values) / math.sqrt(len(values))


def mean_and_half(values: Sequence[float], digits: int = 2) -> str:
    """Show a mean with its interval where there is one."""
    mean, half = interval(values)
    return f"{mean:.{digits}f}" + ("" if math.isnan(half) else f" ± {half:.{digits}f}")


def each(values: Sequence[float], digits: int = 1) -> str:
    """Show the seeds one by one."""
    return " ".join(f"{v:.{digits}f}" for v in values)


def exponent(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the slope of log y over log x in the upper half of the (logarithmic) range: 1 is linear growth.

    Small sizes show what every call costs; how a method grows shows at the large ones.
    """
    x, y = np.log(np.asarray(xs, float)), np.log(np.asarray(ys, float))
    upper = x >= (x.min() + x.max()) / 2 - 1e-9
    if upper.sum() < 2:
        upper = np.argsort(x) >= len(x) - 2
    return float(np.polyfit(x[upper], y[upper], 1)[0]) if upper.sum() >= 2 else math.nan
