"""What both benchmarks share: the paper's people, its figures, and how a run is made and judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

import leastways as lw
from experiments import published
from leastways.datasets import Dataset

# The paper's names of methods. Its main table, and its seconds a person on Adult at B 5000, N 10, M 100, by ours.
_NAMES = {
    "dice": "DICE",
    "face-eps": "Face-Eps",
    "face-knn": "Face-Knn",
    "ar": "Act. Recourse",
    "random": "Random",
    "cols": "COLS",
    "pcols": "P-COLS",
}
PAPER = {
    data: {ours: published.figures("main", data, theirs) for ours, theirs in _NAMES.items()}
    for data in ("adult_binary", "compas_binary")
}
_SECONDS = published.table("timing").set_index("method")["seconds"].to_dict()
PAPER_SECONDS = {ours: float(_SECONDS[theirs]) for ours, theirs in _NAMES.items() if theirs in _SECONDS}
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
