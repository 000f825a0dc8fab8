"""Find options for all people of a file or a folder and write them to a run folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
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
from sklearn.utils.validation import check_is_fitted

from leastways._extras import require
from leastways._validation import check_count, check_number
from leastways.batch.deduplication import DuplicateGroups, GroupResults
from leastways.batch.driver import Driver, Settings
from leastways.batch.executors import ChunkExecutor, GivenExecutor, Processes, Threads, pickled
from leastways.batch.manifest import DUPLICATES, LOG, RUN, RunFolder, config_of
from leastways.batch.parts import (
    Part,
    Solved,
    added,
    assembled,
    check_labels,
    check_names,
    parts_of,
    sums_of,
    totals_of,
)
from leastways.batch.sources import PASSED_OVER, People, Source, arrow, survey
from leastways.costs import Preferences
from leastways.errors import DataError, LeastwaysError, SettingError
from leastways.io import check_folder
from leastways.recourse import Recourse
from leastways.recourse.applicants import check_mapping
from leastways.recourse.settings import check_settings, chunk_size
from leastways.report import Totals

_UNIT = 500  # people that are searched for in one call, about
_UNITS = 32  # that a small population is cut into at least, so that several workers have something to do


@dataclass(frozen=True)
class BatchResult:
    """What came of a run.

    Attributes
    ----------
    folder
        Where the plans are: `people` and `options`, a Parquet file a part, and `manifest.json`.
    totals
        The figures over all people.
    solved
        Searches made; fewer than people if equal people were solved once.
    cut_short
        People whose search ended early, with options or without: the model failed on the way, or time was over.
    seconds
        Duration of this try; 0 if there was nothing left to do.
    people_per_second
        In this try.
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
    """Find options for all people of a file or a folder, however many, and write them to a folder.

    Results do not depend on how many workers there are, on who solves what, or on whether the run was interrupted and
    resumed: the files are the same to the byte.

    Parameters
    ----------
    recourse
        Fitted, and without a `time_limit`: a run with plans that depend on the machine's speed could not be resumed.
    people
        A .parquet or .csv file, or a folder of files of one of these kinds.
    out
        A new or empty folder; with `resume`, the folder of the run to continue.
    preferences
        What people told us: one `Preferences` for all, or a mapping from a person's label to theirs.
    index
        The column with people's labels. If left out: the index that pandas wrote, or row numbers.
    workers
        How many chunks are worked on at the same time; as many as there are cores if left out.
    executor
        Any `concurrent.futures.Executor`. Without it: processes, or threads where the model cannot be pickled.
    cluster
        The address of a Dask scheduler, such as "tcp://scheduler:8786", to work with its workers.
    resume
        Continue a run that was cut short. In a finished run, parts whose checksums no longer agree are made again, and
        everything else is left as it is.
    dedup
        Solve people who have the same values, and said the same, only once. Takes a few hundred bytes of memory for
        each kind of people, and reads the input twice more.
    time_limit
        Seconds that a chunk of people may take before its worker counts as hanging. None: 5 minutes, or 30 times what
        it should take by the speed so far, whichever is longer; until a first chunk is done, there is only a warning
        after 5 minutes.
    people_per_part
        People per output file. If the run is killed, at most a few such parts are lost.
    give_up_after
        The run stops, and can be resumed, after the model failed on this many people in a row.
    log
        Where to log what happens, as lines of JSON; "log.jsonl" in the folder if left out.
    progress
        A function that is called with a `Progress`.
    model_file
        A fingerprint of the model's file, if it has one. A run is resumed only if it is the same, and so are the
        model's answers to some rows.
    """
    arrow()
    _check(recourse, workers, executor, cluster, time_limit, people_per_part, give_up_after)
    check_folder(Path(out), RUN)
    if isinstance(preferences, Preferences):
        preferences.check(recourse.schema)
    elif preferences is not None:
        check_mapping(preferences)
    source = survey(Path(people), recourse.schema, index)
    _check_apart(Path(people), Path(out), source, log)
    if isinstance(preferences, Mapping):
        check_labels(source, preferences)
    config = config_of(recourse, preferences, model_file, people_per_part, dedup)
    manifest = {"config": config, "input": source.manifest(), "schema": recourse.schema.to_yaml()}
    with RunFolder.opened(Path(out), manifest, resume) as folder:
        if folder.finished:
            _drop_kinds(folder)
            return _result(folder, 0.0, 0)
        before = sum(part.people for part in folder.done.values())
        began = time.perf_counter()
        with Log(Path(log) if log is not None else folder.path / LOG) as lines:
            run = _Run(recourse, folder, lines, preferences, people_per_part, progress, time_limit, give_up_after)
            hire = partial(_crew, recourse, workers, executor, cluster)
            try:
                run.solve_kinds(source, manifest, hire) if dedup else run.solve(source, folder, hire)
            except (KeyboardInterrupt, LeastwaysError) as error:
                with suppress(DataError):  # the log may be what cannot be written
                    event = "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
                    run.note_end(event, source, began, error=str(error))
                raise
            folder.finish(added(folder.done[number].totals for number in sorted(folder.done)))
            run.note_end("finished", source, began)
        _drop_kinds(folder)
        return _result(folder, time.perf_counter() - began, source.rows - before)


@dataclass
class _Run:
    """A run under way."""

    recourse: Recourse
    folder: RunFolder
    log: Log
    preferences: Preferences | Mapping[Any, Preferences] | None
    people_per_part: int
    progress: Callable[[Progress], None] | None
    time_limit: float | None
    give_up_after: int
    working: float = 0.0  # seconds of all workers
    searching: float = 0.0  # of them within the search

    def solve(self, people: People, folder: RunFolder, hire: Callable[[], ChunkExecutor]) -> None:
        """Search for all people who are not done yet, and write each part as it is solved."""
        before = sum(part.people for part in folder.done.values())
        unusable = sum(part.totals["statuses"].get("invalid_input", 0) for part in folder.done.values())
        self._watch = Watch(people.rows, before, self.progress)
        crew = hire()
        self.log.write("begun", people=people.rows, done_before=before, crew=crew.name, **_links(crew), pid=os.getpid())
        settings = Settings(
            schema=self.recourse.schema,
            unit=unit_of(self.recourse, people.rows),
            told=self.preferences if isinstance(self.preferences, Preferences) else None,
            time_limit=self.time_limit,
            give_up_after=self.give_up_after,
            total=people.rows - before,
            good_before=before - unusable,
        )
        driver = Driver(crew, settings, partial(self._keep, folder), self._advanced, self.log.write)
        driver.run(self._parts(people, folder))

    def solve_kinds(self, source: Source, manifest: Mapping[str, Any], hire: Callable[[], ChunkExecutor]) -> None:
        """Search for one of each kind, in a folder inside, and give everybody what was found for theirs."""
        each = None if isinstance(self.preferences, Preferences) else self.preferences
        kinds = DuplicateGroups(source, each)
        self.log.write("kinds", people=source.rows, kinds=kinds.rows)
        account = {**manifest, "input": {**manifest["input"], "rows": kinds.rows}}
        with RunFolder.opened(self.folder.path / DUPLICATES, account, resume=True) as inside:
            if not inside.finished:
                self.solve(kinds, inside, hire)
                inside.finish(added(inside.done[number].totals for number in sorted(inside.done)))
            answers = GroupResults(inside, self.people_per_part)
            for part in self._parts(source, self.folder):
                given = np.zeros(0, np.int64)
                if len(part.frame):
                    given = answers.give(part, kinds.numbers_of(part))
                self._keep(self.folder, part, kinds.new_in(part, given))

    def _parts(self, people: People, folder: RunFolder) -> Iterator[Part]:
        return parts_of(people, self.people_per_part, list(folder.done), self.preferences)

    def _keep(self, folder: RunFolder, part: Part, new: NDArray[np.bool_] | None = None) -> None:
        """Write a part that is solved, and let go of it; `new` says which of its kinds were searched for here first."""
        tables = assembled(part, self.recourse.schema)
        queries = part.queries()
        part.solved.clear()
        new = np.ones(len(queries), np.bool_) if new is None else new
        sums = sums_of(tables["people"], int(new.sum()), int(queries[new].sum()))
        done = folder.keep(part.number, part.first, tables, sums)
        self.log.write("part", number=part.number, people=done.people, options=done.files["options"]["rows"])

    def _advanced(self, solved: Solved) -> None:
        self.working += solved.seconds
        self.searching += solved.searching
        self._watch.add(len(solved.people), int((solved.people["n_options"].to_numpy() > 0).sum()))

    def note_end(self, event: str, source: Source, began: float, **facts: Any) -> None:
        """Write how it ended, how far it is, and where the time went."""
        spent = {"working": self.working, "searching": self.searching, "seconds": time.perf_counter() - began}
        facts |= {"done": sum(part.people for part in self.folder.done.values()), "people": source.rows}
        self.log.write(event, **facts, **{name: round(value, 3) for name, value in spent.items()})


def _drop_kinds(folder: RunFolder) -> None:
    """Remove what was found for kinds, once everybody has theirs."""
    if (folder.path / DUPLICATES).is_dir():
        shutil.rmtree(folder.path / DUPLICATES)


def _check(
    recourse: Recourse,
    workers: int | None,
    executor: Executor | None,
    cluster: str | None,
    time_limit: float | None,
    people_per_part: int,
    give_up_after: int,
) -> None:
    check_is_fitted(recourse, "cost_model_")
    check_settings(recourse)
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
    """Raise where results would be written among the people, or the log into them."""
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
    """Whether a file or folder would be taken for people at the next look."""
    if not people.is_dir() or not path.resolve().is_relative_to(people.resolve()):
        return False
    first = path.resolve().relative_to(people.resolve()).parts[:1]
    return not first or not first[0].startswith(PASSED_OVER)


def unit_of(recourse: Recourse, total: int) -> int:
    """Return how many people are searched for in one call: whole chunks of the search, whatever the workers."""
    size = chunk_size(recourse)
    return size * max(1, min(-(-_UNIT // size), total // (_UNITS * size)))


def _crew(recourse: Recourse, workers: int | None, executor: Executor | None, cluster: str | None) -> ChunkExecutor:
    blob = pickled(recourse)
    key = hashlib.sha256(blob or b"").hexdigest()
    if cluster is not None:
        require("distributed", "cluster", "A Dask cluster")
        from leastways.batch.cluster import DaskCluster

        return DaskCluster(cluster, key, _sendable(blob))
    if executor is not None:
        from concurrent.futures import ThreadPoolExecutor

        if isinstance(executor, ThreadPoolExecutor) and blob is None:
            return Threads(workers or executor._max_workers, recourse)
        return GivenExecutor(executor, workers, key, _sendable(blob))
    n = workers or _cores()
    return Threads(n, recourse) if blob is None else Processes(n, key, blob)


def _sendable(blob: bytes | None) -> bytes:
    if blob is None:
        raise SettingError("the model cannot be pickled, so it cannot be sent to other processes; work in threads.")
    return blob


def _cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _links(crew: ChunkExecutor) -> dict[str, str]:
    dashboard = getattr(crew, "dashboard", None)
    return {} if dashboard is None else {"dashboard": dashboard}


def _result(folder: RunFolder, seconds: float, people: int) -> BatchResult:
    sums = folder.manifest["totals"]
    speed = people / seconds if seconds else np.nan
    return BatchResult(folder.path, totals_of(sums), sums["solved"], sums["cut_short"], seconds, float(speed))


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    done
        People who are solved, those of an earlier try included.
    total
        All people.
    found
        The share of those done, in this try, who have an option.
    people_per_second
        Since this try began.
    seconds_left
        At this speed; NaN before there is one.
    """

    done: int
    total: int
    found: float
    people_per_second: float
    seconds_left: float


class Watch:
    """Counts people as they are solved, and tells whoever watches."""

    def __init__(self, total: int, done: int, show: Callable[[Progress], None] | None) -> None:
        self._total, self._done, self._before = total, done, done
        self._found = 0
        self._show = show
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since this try began."""
        return time.perf_counter() - self._began

    def add(self, people: int, found: int) -> None:
        """Count some people."""
        self._done += people
        self._found += found
        if self._show is not None:
            self._show(self.progress())

    def progress(self) -> Progress:
        """Return how far it is."""
        new = self._done - self._before
        speed = new / self.seconds if new else float("nan")
        share = self._found / new if new else float("nan")
        return Progress(self._done, self._total, share, speed, (self._total - self._done) / speed)


class Log:
    """A file of JSON lines; a run that is taken up again writes on in it."""

    def __init__(self, path: Path) -> None:
        try:
            self._stream: TextIO = path.open("a", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise SettingError(f"cannot write the log {str(path)!r}: {error}") from error

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # what could not be written was told when it was tried
            self._stream.close()

    def write(self, event: str, **facts: Any) -> None:
        """Write what happened, and when."""
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **facts}
        try:
            self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._stream.flush()
        except OSError as error:
            raise DataError(
                f"cannot write the log {self._stream.name!r}: {error}. The parts that are done are kept; mend this and "
                "continue the run with --resume (resume=True)."
            ) from error
