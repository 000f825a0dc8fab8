"""Find options for all people of a file or a folder and write them to a run folder.

The pipeline: `survey` the input, open the run folder, let a driver solve part after part with an executor, write each
part as soon as it is solved, and finish the manifest.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from leastways._progress import PeopleCounter, Progress
from leastways._validation import check_count, check_number
from leastways.batch.deduplication import DuplicateGroups, GroupResults
from leastways.batch.driver import Driver, DriverSettings
from leastways.batch.executors import ChunkExecutor, executor_for
from leastways.batch.manifest import LOG, RUN, RunFolder, config_of
from leastways.batch.parts import (
    ChunkResult,
    Part,
    assembled,
    check_labels,
    check_names,
    parts_of,
    sums_of,
    totals_of,
)
from leastways.batch.sources import PASSED_OVER, People, Source, arrow, survey
from leastways.costs import Preferences, check_preferences_by_label
from leastways.errors import DataError, LeastwaysError, SettingError
from leastways.io import check_folder
from leastways.recourse import Recourse
from leastways.report import Totals
from leastways.schema import Schema

_UNIT = 500  # people that are searched for in one call, about
_UNITS = 32  # that a small input is cut into at least, so that several workers have something to do


@dataclass(frozen=True)
class BatchResult:
    """The result of a run over many people.

    Attributes
    ----------
    folder
        Where the plans are: `people` and `options`, a Parquet file a part, and `manifest.json`.
    totals
        The figures over all people.
    solved
        Searches made; fewer than people if each duplicate group was solved once.
    cut_short
        People whose search ended early, with options or without, because the model failed on the way.
    seconds
        Duration of this call; 0 if there was nothing left to do.
    people_per_second
        In this call.
    """

    folder: Path
    totals: Totals
    solved: int
    cut_short: int
    seconds: float
    people_per_second: float


def recommend_files(
    recourse: Recourse,
    people: str | Path,
    out: str | Path,
    *,
    preferences: Preferences | Mapping[Any, Preferences] | None = None,
    index: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    resume: bool = False,
    dedup: bool = False,
    time_limit: float | None = None,
    people_per_part: int = 10_000,
    give_up_after: int = 1_000,
    log: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    model_file: str | None = None,
) -> BatchResult:
    """Find options for all people of a file or a folder, however many, and write them to a run folder.

    Results do not depend on the number of workers, on which worker solves what, or on whether the run was interrupted
    and resumed: the files are the same, byte for byte.

    Parameters
    ----------
    recourse
        Fitted, and without a `time_limit`: plans would depend on the machine's speed, and a run could not be resumed.
    people
        A .parquet or .csv file, or a folder of files of one of these formats.
    out
        A new or empty folder; with `resume`, the folder of the run to continue.
    preferences
        One `Preferences` for all people, or a mapping from a person's label to theirs.
    index
        The column with people's labels. If left out: the index that pandas wrote, or row numbers.
    workers
        How many chunks are worked on at the same time; as many as there are cores if left out.
    executor
        Any `concurrent.futures.Executor`. Without it: processes, or threads where the model cannot be pickled.
    cluster
        The address of a Dask scheduler, such as "tcp://scheduler:8786", to work with its workers.
    resume
        Continue a run that was interrupted. In a finished run, parts whose checksums no longer agree are made again,
        and everything else is left as it is.
    dedup
        Solve people with equal values and preferences only once. This takes a few hundred bytes of memory for each
        such duplicate group, and reads the input twice more.
    time_limit
        Seconds that a chunk of people may take before its worker counts as hanging. None: 5 minutes, or 30 times what
        it should take by the speed so far, whichever is longer; until a first chunk is done, there is only a warning
        after 5 minutes.
    people_per_part
        People per output file. If the run is killed, at most a few such parts are lost.
    give_up_after
        The run stops, and can be resumed, after the model failed on this many people in a row.
    log
        Where to write the log, as lines of JSON; "log.jsonl" in the folder if left out.
    progress
        A function that is called with a `Progress`.
    model_file
        A fingerprint of the model's file, if it has one. A run is resumed only if it is the same, and so are the
        model's answers to some rows.

    Returns
    -------
    BatchResult
        The run folder and the figures over all people; `read_plans` reads the plans.

    Examples
    --------
    >>> result = lw.batch.recommend_files(recourse, "applicants.parquet", "plans", workers=4)  # doctest: +SKIP
    >>> plans = lw.batch.read_plans(result.folder, people=[3004])  # doctest: +SKIP
    """
    arrow()
    _check(recourse, workers, executor, cluster, time_limit, people_per_part, give_up_after)
    check_folder(Path(out), RUN)
    if isinstance(preferences, Preferences):
        preferences.check(recourse.schema)
    elif preferences is not None:
        check_preferences_by_label(preferences)
    source = survey(Path(people), recourse.schema, index)
    _check_apart(Path(people), Path(out), source, log)
    if isinstance(preferences, Mapping):
        check_labels(source, preferences)
    config = config_of(recourse, preferences, model_file, people_per_part, dedup)
    manifest = {"config": config, "input": source.manifest(), "schema": recourse.schema.to_yaml()}
    settings = _RunSettings(
        recourse.schema, recourse.people_together(), preferences, people_per_part, dedup, time_limit, give_up_after
    )
    with RunFolder.opened(Path(out), manifest, resume) as folder:
        seconds, before = 0.0, folder.people
        if not folder.finished:
            began = time.perf_counter()
            with Log(Path(log) if log is not None else folder.path / LOG) as lines:
                start = partial(executor_for, recourse, workers, executor, cluster)
                _Run(settings, source, folder, lines, start, progress).complete()
            seconds = time.perf_counter() - began
        folder.remove_duplicates()
    sums = folder.manifest["totals"]
    speed = (source.rows - before) / seconds if seconds else float("nan")
    return BatchResult(folder.path, totals_of(sums), sums["solved"], sums["cut_short"], seconds, speed)


@dataclass(frozen=True)
class _RunSettings:
    """What a run does with the people of its source."""

    schema: Schema
    chunk_size: int  # people that the search takes together
    preferences: Preferences | Mapping[Any, Preferences] | None
    people_per_part: int
    dedup: bool
    time_limit: float | None
    give_up_after: int

    @property
    def shared_preferences(self) -> Preferences | None:
        """The preferences that hold for all people, if there are any."""
        return self.preferences if isinstance(self.preferences, Preferences) else None

    @property
    def preferences_by_label(self) -> Mapping[Any, Preferences] | None:
        """The preferences of single people, if there are any."""
        return None if isinstance(self.preferences, Preferences) else self.preferences


@dataclass
class _Run:
    """A run in progress: solves the parts that its folder lacks."""

    settings: _RunSettings
    source: Source
    folder: RunFolder
    log: Log
    start_executor: Callable[[], ChunkExecutor]
    progress: Callable[[Progress], None] | None
    working: float = 0.0  # seconds of all workers
    searching: float = 0.0  # of them within the search

    def complete(self) -> None:
        """Solve and write all people who are not done yet, finish the manifest, and log how the run ended."""
        began = time.perf_counter()
        try:
            if self.settings.dedup:
                self._solve_groups()
            else:
                self._solve(self.source, self.folder)
        except (KeyboardInterrupt, LeastwaysError) as error:
            with suppress(DataError):  # the log may be what cannot be written
                event = "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
                self._log_end(event, began, error=str(error))
            raise
        self.folder.finish()
        self._log_end("finished", began)

    def _solve(self, people: People, folder: RunFolder) -> None:
        """Search for all people who are not in the folder yet, and write each part as soon as it is solved."""
        before, unusable = folder.people, folder.people_with_status("invalid_input")
        counter = PeopleCounter(people.rows, before, self.progress)
        executor = self.start_executor()
        facts = {"people": people.rows, "done_before": before, "executor": executor.name, "pid": os.getpid()}
        dashboard = getattr(executor, "dashboard", None)
        self.log.write("begun", **facts, **({} if dashboard is None else {"dashboard": dashboard}))
        settings = DriverSettings(
            schema=self.settings.schema,
            unit=unit_of(self.settings.chunk_size, people.rows),
            preferences=self.settings.shared_preferences,
            time_limit=self.settings.time_limit,
            give_up_after=self.settings.give_up_after,
            total=people.rows - before,
            answered_before=before - unusable,
        )

        def count(result: ChunkResult) -> None:
            self.working += result.seconds
            self.searching += result.search_seconds
            counter.add(len(result.people), int((result.people["n_options"].to_numpy() > 0).sum()))

        driver = Driver(executor, settings, partial(self._write, folder), count, self.log.write)
        driver.run(self._parts(people, folder))

    def _solve_groups(self) -> None:
        """Solve one person of each duplicate group, in a folder inside, and copy the results to all people."""
        groups = DuplicateGroups(self.source, self.settings.preferences_by_label)
        self.log.write("duplicate_groups", people=self.source.rows, groups=groups.rows)
        with self.folder.opened_duplicates(groups.rows) as inside:
            if not inside.finished:
                self._solve(groups, inside)
                inside.finish()
            results = GroupResults(inside, self.settings.people_per_part)
            for part in self._parts(self.source, self.folder):
                own = np.zeros(0, np.int64)
                if len(part.frame):
                    own = results.copy_into(part, groups.groups_of(part))
                self._write(self.folder, part, groups.new_in(part, own))

    def _parts(self, people: People, folder: RunFolder) -> Iterator[Part]:
        done = list(folder.done)
        return parts_of(people, self.settings.people_per_part, done, self.settings.preferences_by_label)

    def _write(self, folder: RunFolder, part: Part, searched: NDArray[np.bool_] | None = None) -> None:
        """Write a solved part and free its memory; `searched` marks the rows of its frame that count as searches."""
        tables = assembled(part, self.settings.schema)
        queries = part.queries()
        part.results.clear()
        searched = np.ones(len(queries), np.bool_) if searched is None else searched
        sums = sums_of(tables["people"], int(searched.sum()), int(queries[searched].sum()))
        done = folder.write(part.number, part.first, tables, sums)
        self.log.write("part", number=part.number, people=done.people, options=done.files["options"]["rows"])

    def _log_end(self, event: str, began: float, **facts: Any) -> None:
        """Log how the run ended, how far it is, and how much time workers took."""
        spent = {"working": self.working, "searching": self.searching, "seconds": time.perf_counter() - began}
        facts |= {"done": self.folder.people, "people": self.source.rows}
        self.log.write(event, **facts, **{name: round(value, 3) for name, value in spent.items()})


def unit_of(chunk_size: int, total: int) -> int:
    """Return how many people are searched for in one call: whole chunks of the search, whatever the workers."""
    return chunk_size * max(1, min(-(-_UNIT // chunk_size), total // (_UNITS * chunk_size)))


def _check(
    recourse: Recourse,
    workers: int | None,
    executor: Executor | None,
    cluster: str | None,
    time_limit: float | None,
    people_per_part: int,
    give_up_after: int,
) -> None:
    recourse.check()
    check_names(recourse.schema)
    if recourse.time_limit is not None:
        raise SettingError(
            "Recourse(time_limit=...) makes plans depend on the speed of a machine, so that a run could not be "
            "resumed; leave it out. The time_limit here is for workers that hang."
        )
    if workers is not None:
        check_count("workers", workers)
    if executor is not None and cluster is not None:
        raise SettingError("give an executor or a cluster, not both.")
    if time_limit is not None:
        check_number("time_limit", time_limit, 1e-3, 1e9)
    check_count("people_per_part", people_per_part)
    check_count("give_up_after", give_up_after)


def _check_apart(people: Path, out: Path, source: Source, log: str | Path | None) -> None:
    """Raise if results or log would be written where the people are read."""
    for what, path in (("results", out), ("log", log)):
        if path is not None and _would_be_read(people, Path(path)):
            raise DataError(
                f"the {what} cannot be written to {str(path)!r}, inside the folder {str(people)!r} that the people are "
                "read from: the run could not be resumed."
            )
    for path in source.paths:
        if log is not None and path.resolve() == Path(log).resolve():
            raise DataError(f"the log cannot be written to {str(path)!r}, which holds the people.")
        if path.resolve().is_relative_to(out.resolve()):
            raise DataError(f"the people are read from {str(path)!r}, inside the folder {str(out)!r} to write to.")


def _would_be_read(people: Path, path: Path) -> bool:
    """Return whether a file or folder would be read as people when the run is resumed."""
    if not people.is_dir() or not path.resolve().is_relative_to(people.resolve()):
        return False
    first = path.resolve().relative_to(people.resolve()).parts[:1]
    return not first or not first[0].startswith(PASSED_OVER)


class Log:
    """A log of events as lines of JSON; a run that is resumed appends to it."""

    def __init__(self, path: Path) -> None:
        try:
            self._stream: TextIO = path.open("a", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise SettingError(f"cannot write the log {str(path)!r}: {error}") from error

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # what could not be written has raised before
            self._stream.close()

    def write(self, event: str, **facts: Any) -> None:
        """Write an event with the time and its facts."""
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **facts}
        try:
            self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._stream.flush()
        except OSError as error:
            raise DataError(
                f"cannot write the log {self._stream.name!r}: {error}. The parts that are done are kept; mend this and "
                "continue the run with --resume (resume=True)."
            ) from error
