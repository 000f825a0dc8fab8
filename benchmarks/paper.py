"""What both benchmarks share: the paper's people, its figures, and how a run is made and judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

import leastways as lw
from leastways.datasets import Dataset


class Published(NamedTuple):
    """A row of the paper's main table; all but PAC in percent."""

    FS: float
    PAC: float
    Cov: float
    Div: float
    Prox: float
    Spars: float
    Val: float


# The paper's main table, and its seconds a person on Adult at B 5000, N 10, M 100.
PAPER = {
    "adult_binary": {
        "dice": Published(2.47, 1.37, 8.32, 3.90, 65.80, 47.20, 97.90),
        "face-eps": Published(15.23, 0.76, 22.60, 4.75, 92.22, 74.98, 100.0),
        "face-knn": Published(25.30, 0.74, 35.00, 8.62, 89.07, 71.85, 100.0),
        "ar": Published(49.93, 0.55, 56.85, 18.38, 74.68, 73.57, 78.67),
        "random": Published(6.27, 1.40, 31.83, 48.30, 55.83, 39.85, 95.55),
        "cols": Published(72.57, 0.38, 76.07, 25.77, 80.22, 76.48, 97.15),
        "pcols": Published(75.82, 0.40, 79.20, 25.57, 81.67, 78.00, 94.78),
    },
    "compas_binary": {
        "dice": Published(0.40, 0.54, 0.40, 11.30, 65.00, 32.00, 98.90),
        "face-eps": Published(12.20, 0.29, 12.20, 2.50, 94.20, 60.60, 100.0),
        "face-knn": Published(12.20, 0.29, 12.20, 2.60, 94.10, 60.60, 100.0),
        "ar": Published(65.80, 0.40, 66.60, 11.87, 80.53, 74.07, 44.23),
        "random": Published(29.95, 0.77, 39.20, 42.22, 55.90, 31.25, 71.88),
        "cols": Published(82.23, 0.24, 82.23, 29.32, 77.82, 70.05, 95.48),
        "pcols": Published(83.73, 0.24, 83.73, 29.38, 78.48, 71.30, 92.78),
    },
}
PAPER_SECONDS = {"cols": 20.0, "random": 7.5, "dice": 7.5, "ar": 11.0, "face-knn": 7.0, "face-eps": 6.0}
# Seconds a person of the released code's COLS at B 5000, M 1000, run on a two-core machine: the search, its samples.
RELEASED_SEARCH = {"adult_binary": 9.3, "compas_binary": 7.6}
RELEASED_SAMPLING = 1.3
LOADERS: dict[str, Callable[[], Dataset]] = {
    "adult_binary": lw.datasets.load_adult_binary,
    "compas_binary": lw.datasets.load_compas_binary,
}
METHODS: dict[str, Any] = {
    "cols-paper": lw.COLS(gain="paper", proposals="paper"),
    "cols": lw.COLS(),
    "pcols-paper": lw.PCOLS(gain="paper", proposals="paper"),
    "pcols": lw.PCOLS(),
    "ls": lw.LocalSearch(),
    "guided": lw.Guided(),
    "random-paper": lw.RandomSearch(proposals="paper"),
    "random": lw.RandomSearch(),
}


class Timed(NamedTuple):
    """Plans, and the seconds `recommend` took for them: on the clock, and of the processor."""

    plans: Any
    seconds: float
    cpu_seconds: float


def timed(rec: lw.Recourse, people: pd.DataFrame) -> Timed:
    """Recommend, with a clock beside it."""
    wall, cpu = time.perf_counter(), time.process_time()
    plans = rec.recommend(people)
    return Timed(plans, time.perf_counter() - wall, time.process_time() - cpu)


def first(data: Dataset, people: int | None) -> pd.DataFrame:
    """Return the first so many people of a set; None: all of them."""
    return data.people if people is None else data.people.head(people)


def judged(plans: Any, truth: Any) -> dict[str, float]:
    """Return the paper's measures of some plans under hidden cost functions."""
    return {str(k): float(v) for k, v in lw.evaluate(plans, truth).iloc[0].items()}


def recourse(data: Dataset, method: str, seed: int, fit: Mapping[str, Any] | None = None, **settings: Any) -> Any:
    """Return a fitted `Recourse` on a set's own model; `settings` and `fit` go through as they are."""
    rec = lw.Recourse(data.model, data.schema(), METHODS[method], random_state=seed, **settings)
    return rec.fit(data.frame, **(fit or {}))
