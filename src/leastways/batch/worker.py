"""Solve chunks of people, in whatever process or thread a worker runs.

A worker is prepared once, with the fitted `Recourse` as a pickle, and then solves one chunk after another.
"""

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

from leastways.batch.parts import POSITION, ChunkResult, grid_rows, joined, options_table, people_table
from leastways.batch.sources import arrow
from leastways.costs import Preferences
from leastways.errors import DataError, LeastwaysError
from leastways.plans import RecoursePlans
from leastways.recourse import Recourse

UnitPreferences = Preferences | Mapping[Any, Preferences] | None
_ALONE = "this person"  # label of a person who is solved alone, as it occurs in reasons


class NotPreparedError(LeastwaysError, RuntimeError):
    """A worker is new and has no `Recourse` to search with."""


@dataclass(frozen=True)
class Chunk:
    """People to solve, in units: each unit is one call of `recommend`, so results do not depend on the chunk's size."""

    units: tuple[pd.DataFrame, ...]
    preferences: Preferences | None = None  # the same for all
    preferences_by_row: Mapping[int, Preferences] = field(default_factory=dict)  # by label of the units' rows
    singly: bool = False  # solve each person alone, because the model failed on all of them together

    def preferences_of(self, unit: pd.DataFrame) -> UnitPreferences:
        """Return the preferences of the people in a unit, as `recommend` takes them."""
        if self.preferences is not None or not self.preferences_by_row:
            return self.preferences
        return {row: self.preferences_by_row[row] for row in unit.index if row in self.preferences_by_row} or None


def solve(recourse: Recourse, chunk: Chunk) -> ChunkResult:
    """Find options for a chunk of people; rows of the result are in the order of the chunk."""
    began = time.perf_counter()
    search = _TimedSearch(recourse)
    found = [_solve_unit(search, unit, chunk) for unit in chunk.units]
    people, options = joined([unit.tables for unit in found])
    answered, failed = sum(unit.answered for unit in found), sum(unit.failed for unit in found)
    return ChunkResult(people, options, answered, failed, time.perf_counter() - began, search.seconds)


class _Found(NamedTuple):
    """The result tables of some people, with the numbers of those on whom the model succeeded and failed."""

    tables: tuple[Any, Any]
    answered: int
    failed: int


class _TimedSearch:
    """Calls `recommend` and adds up the time spent in it."""

    def __init__(self, recourse: Recourse) -> None:
        self.recourse = recourse
        self.seconds = 0.0

    def recommend(self, people: pd.DataFrame, preferences: UnitPreferences) -> RecoursePlans:
        began = time.perf_counter()
        try:
            return self.recourse.recommend(people, preferences)
        finally:
            self.seconds += time.perf_counter() - began


def _solve_unit(search: _TimedSearch, unit: pd.DataFrame, chunk: Chunk) -> _Found:
    """Solve a unit in one call, and people on whom the model failed once more, alone."""
    if chunk.singly:
        return _solve_singly(search, unit, chunk)
    try:
        plans = search.recommend(unit, chunk.preferences_of(unit))
    except DataError:  # a column is wrong for all of them: each gets the reason that they would have among others
        return _solve_singly(search, unit, chunk)
    failed = unit.index.get_indexer(pd.Index(plans.failed_rows["person"].unique()))
    alone = {int(place): _solve_one(search, unit, int(place), chunk) for place in failed}
    tables = _replaced((people_table(plans), options_table(plans)), {place: one.tables for place, one in alone.items()})
    usable = int((plans.summary["status"].drop(unit.index[failed]) != "invalid_input").sum())
    answered, still_failed = (sum(getattr(one, name) for one in alone.values()) for name in ("answered", "failed"))
    return _Found(tables, usable + answered, still_failed)


def _solve_singly(search: _TimedSearch, unit: pd.DataFrame, chunk: Chunk) -> _Found:
    """Solve the people of a unit one after the other."""
    found = [_solve_one(search, unit, place, chunk) for place in range(len(unit))]
    tables = joined([one.tables for one in found])
    return _Found(tables, sum(one.answered for one in found), sum(one.failed for one in found))


def _solve_one(search: _TimedSearch, unit: pd.DataFrame, place: int, chunk: Chunk) -> _Found:
    """Solve one person alone, so that the text of a failure does not depend on the others in the chunk."""
    known = chunk.preferences_of(unit.iloc[[place]])
    own = known if isinstance(known, Preferences | None) else {_ALONE: next(iter(known.values()))}
    plans = search.recommend(unit.iloc[[place]].set_axis([_ALONE], axis=0), own)
    failed = len(plans.failed_rows) > 0
    answered = not failed and plans.summary["status"].iloc[0] != "invalid_input"
    return _Found((people_table(plans), options_table(plans)), int(answered), int(failed))


def _replaced(tables: tuple[Any, Any], alone: Mapping[int, tuple[Any, Any]]) -> tuple[Any, Any]:
    """Replace the rows of some people, by position, with what was found for each of them alone."""
    if not alone:
        return tables
    people, options = tables
    pieces, begin = [], 0
    for place, own in sorted(alone.items()):
        pieces += [_sliced(people, options, begin, place), own]
        begin = place + 1
    return joined([*pieces, _sliced(people, options, begin, len(people))])


def _sliced(people: Any, options: Any, begin: int, end: int) -> tuple[Any, Any]:
    """Return the people from `begin` to `end` and their options, with positions counted from `begin`."""
    places = options[POSITION].to_numpy()
    first, last = places.searchsorted([begin, end])
    own = options.slice(first, last - first)
    moved = own.set_column(0, POSITION, arrow().array(places[first:last] - begin))
    return people.slice(begin, end - begin), moved


# -- the state of a worker process ------------------------------------------------------------------------------------

_RUNS = 4  # runs that a process can be prepared for at the same time
_WARM_PEOPLE, _WARM_ROWS = 4, 20
_PREPARED: dict[str, Recourse] = {}
_WARM: set[str] = set()
_OWN = threading.local()  # a copy of each recourse per thread: it keeps what it finds out about the model


def prepare(key: str, blob: bytes) -> None:
    """Prepare this process for a run: load the pickled recourse under the run's key."""
    if key not in _PREPARED:
        for old in list(_PREPARED)[: -_RUNS + 1]:
            _PREPARED.pop(old, None)
        _PREPARED[key] = pickle.loads(blob)


def work(key: str, chunk: Chunk, blob: bytes | None = None) -> ChunkResult:
    """Solve a chunk in a process that was prepared before, or is now, with `blob`."""
    if blob is not None:
        prepare(key, blob)
    if key not in _PREPARED:
        raise NotPreparedError("this worker is new and has no recourse to search with.")
    own: dict[str, Recourse] = _OWN.__dict__
    if key not in own:
        for old in [old for old in own if old not in _PREPARED]:
            del own[old]
        own[key] = copy.copy(_PREPARED[key])
    return solve(own[key], chunk)


def warm_up(key: str) -> None:
    """Search for a few people made from the schema's grids, so that compiled code is loaded before the first chunk."""
    if key in _WARM or key not in _PREPARED:
        return
    _WARM.add(key)
    few = copy.copy(_PREPARED[key])
    few.budget, few.n_costs = min(few.budget, max(few.n_options, _WARM_ROWS)), min(few.n_costs, _WARM_ROWS)
    with suppress(LeastwaysError):  # a model that fails on these rows may work on real people
        few.recommend(grid_rows(few.schema, _WARM_PEOPLE))


def start_process(key: str, blob: bytes) -> None:
    """Start as a worker process: ignore Ctrl-C, which the driver handles, end with the driver, and get ready."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="leastways-parent", daemon=True).start()
    prepare(key, blob)
    warm_up(key)


def _end_with_parent() -> None:
    """Wait until the driver has ended, for whatever reason, and end this process."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
