"""What runs in a worker, wherever that is: it is told once how to search, and then solves chunk after chunk."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from leastways.batch.parts import PLACE, Solved, grid_rows, joined, options_table, people_table
from leastways.batch.sources import arrow
from leastways.costs import Preferences
from leastways.errors import DataError, LeastwaysError
from leastways.plans import RecoursePlans
from leastways.recourse import Recourse

Told = Preferences | Mapping[Any, Preferences] | None
_ALONE = "this person"  # how a reason names the row of somebody who was asked about alone


class NotPreparedError(LeastwaysError, RuntimeError):
    """A worker has not been told how to search: it is new."""


@dataclass(frozen=True)
class Chunk:
    """Some people to solve. Each unit is one call, so that how many units go together changes no answer."""

    units: tuple[pd.DataFrame, ...]
    told: Preferences | None = None
    told_each: Mapping[int, Preferences] = field(default_factory=dict)  # by label of the units' rows
    singly: bool = False  # the model failed on all of them together: find out on whom it really does

    def told_to(self, unit: pd.DataFrame) -> Told:
        """Return what is known of the wishes of these people."""
        if self.told is not None or not self.told_each:
            return self.told
        return {label: self.told_each[label] for label in unit.index if label in self.told_each} or None


def solve(recourse: Recourse, chunk: Chunk) -> Solved:
    """Find options for a chunk; what comes back is in the order of its rows."""
    began = time.perf_counter()
    clock = _Clock(recourse)
    found = [_solve_unit(clock, unit, chunk) for unit in chunk.units]
    whole = joined([part.tables for part in found])
    counts = sum(part.good for part in found), sum(part.failed for part in found)
    return Solved(*whole, *counts, time.perf_counter() - began, clock.seconds)


class _Found(NamedTuple):
    """The tables of some people, and how the model fared on them."""

    tables: tuple[Any, Any]
    good: int
    failed: int


class _Clock:
    """Searches, and knows how long that took."""

    def __init__(self, recourse: Recourse) -> None:
        self.recourse = recourse
        self.seconds = 0.0

    def recommend(self, people: pd.DataFrame, told: Told) -> RecoursePlans:
        began = time.perf_counter()
        try:
            return self.recourse.recommend(people, told)
        finally:
            self.seconds += time.perf_counter() - began


def _solve_unit(clock: _Clock, unit: pd.DataFrame, chunk: Chunk) -> _Found:
    if chunk.singly:
        return _one_by_one(clock, unit, chunk)
    try:
        plans = clock.recommend(unit, chunk.told_to(unit))
    except DataError:  # a column is wrong for all of them: each gets the reason that it would have among others
        return _one_by_one(clock, unit, chunk)
    failed = unit.index.get_indexer(pd.Index(plans.failed_rows["person"].unique()))
    alone = {int(place): _alone(clock, unit, int(place), chunk) for place in failed}
    tables = _with((people_table(plans), options_table(plans)), {place: one.tables for place, one in alone.items()})
    usable = int((plans.summary["status"].drop(unit.index[failed]) != "invalid_input").sum())
    good, bad = (sum(getattr(one, name) for one in alone.values()) for name in ("good", "failed"))
    return _Found(tables, usable + good, bad)


def _one_by_one(clock: _Clock, unit: pd.DataFrame, chunk: Chunk) -> _Found:
    found = [_alone(clock, unit, place, chunk) for place in range(len(unit))]
    tables = joined([one.tables for one in found])
    return _Found(tables, sum(one.good for one in found), sum(one.failed for one in found))


def _alone(clock: _Clock, unit: pd.DataFrame, place: int, chunk: Chunk) -> _Found:
    """Solve one person apart from the others: the text of a failure must not depend on who else was asked about."""
    told = chunk.told_to(unit.iloc[[place]])
    said = told if isinstance(told, Preferences | None) else {_ALONE: next(iter(told.values()))}
    plans = clock.recommend(unit.iloc[[place]].set_axis([_ALONE], axis=0), said)
    failed = len(plans.failed_rows) > 0
    good = not failed and plans.summary["status"].iloc[0] != "invalid_input"
    return _Found((people_table(plans), options_table(plans)), int(good), int(failed))


def _with(tables: tuple[Any, Any], own: Mapping[int, tuple[Any, Any]]) -> tuple[Any, Any]:
    """Put what was found for some people alone in the place of what was found for them among others."""
    if not own:
        return tables
    people, options = tables
    pieces, begin = [], 0
    for place, alone in sorted(own.items()):
        pieces += [_rows(people, options, begin, place), alone]
        begin = place + 1
    return joined([*pieces, _rows(people, options, begin, len(people))])


def _rows(people: Any, options: Any, begin: int, end: int) -> tuple[Any, Any]:
    """Return some of the people, and their options, places counted from the first of them."""
    places = options[PLACE].to_numpy()
    first, last = places.searchsorted([begin, end])
    mine = options.slice(first, last - first)
    moved = mine.set_column(0, PLACE, arrow().array(places[first:last] - begin))
    return people.slice(begin, end - begin), moved


# -- a process that has been told how to search -----------------------------------------------------------------------

_RUNS = 4  # that a process can be working for at the same time
_WARM_PEOPLE, _WARM_ROWS = 4, 20
_TOLD: dict[str, Recourse] = {}
_WARM: set[str] = set()
_OWN = threading.local()  # each thread's copies: what is found out about a model on the way is kept in them


def tell(key: str, blob: bytes) -> None:
    """Tell this process how to search."""
    if key not in _TOLD:
        for old in list(_TOLD)[: -_RUNS + 1]:
            _TOLD.pop(old, None)
        _TOLD[key] = pickle.loads(blob)


def work(key: str, chunk: Chunk, blob: bytes | None = None) -> Solved:
    """Solve a chunk in a process that was told before, or is told by `blob` now."""
    if blob is not None:
        tell(key, blob)
    if key not in _TOLD:
        raise NotPreparedError("this worker is new and has not been told how to search.")
    own: dict[str, Recourse] = _OWN.__dict__
    if key not in own:
        for old in [old for old in own if old not in _TOLD]:
            del own[old]
        own[key] = copy.copy(_TOLD[key])
    return solve(own[key], chunk)


def warm_up(key: str) -> None:
    """Search for a few people made of the schema's grids, so that no chunk has to wait for compiled code to load."""
    if key in _WARM or key not in _TOLD:
        return
    _WARM.add(key)
    few = copy.copy(_TOLD[key])
    few.budget, few.n_costs = min(few.budget, max(few.n_options, _WARM_ROWS)), min(few.n_costs, _WARM_ROWS)
    with suppress(LeastwaysError):  # a model that fails on all of them may not on real people
        few.recommend(grid_rows(few.schema, _WARM_PEOPLE))


def begin(key: str, blob: bytes) -> None:
    """Become a worker process of our own: it leaves Ctrl-C to the driver, and does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, name="leastways-parent", daemon=True).start()
    tell(key, blob)
    warm_up(key)


def _leave_with_parent() -> None:
    """Wait until the driver is gone, however it went, and go too: nobody would take the result."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
