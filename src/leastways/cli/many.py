"""`leastways recommend --out FOLDER`: people by the million, in parts that are written as they are done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from leastways._fingerprint import file_print
from leastways.cli.exits import INTERRUPTED, SOME_FAILED
from leastways.cli.plans import SAMPLE, of_a_sample, read_sample
from leastways.cli.screen import notes, people_bar, print_json, progress_bar, say, screen, stdout_aside
from leastways.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

    from leastways.batch import BatchResult
    from leastways.costs import Preferences
    from leastways.recourse import Recourse
    from leastways.schema import Schema


@dataclass(frozen=True)
class Many:
    """What was said of a run of many people."""

    out: Path
    people: Path
    index: str | None
    workers: int | None
    cluster: str | None
    resume: bool
    dedup: bool
    people_per_part: int | None
    log: Path | None
    time_limit: float | None
    audit_by: tuple[str, ...]

    @property
    def wanted(self) -> bool:
        """Whether the results go to a folder: a name without an ending."""
        return self.out.suffix == ""

    def check(self, report: Path | None, force: bool, certify: bool) -> None:
        """Raise where options were given that belong to the other kind of result."""
        if self.wanted:
            asked = {"--report": report is not None, "--force": force, "--certify": certify}
            wrong = [name for name, given in asked.items() if given]
            if wrong:
                raise SettingError(
                    f"{wrong[0]} does not go with --out {str(self.out)!r}, which is a folder: a run of many people is "
                    f"never overwritten, and is too large for one page. Give --out {self._instead(certify)}."
                )
            return
        asked = {
            "--workers": self.workers is not None,
            "--cluster": self.cluster is not None,
            "--resume": self.resume,
            "--dedup": self.dedup,
            "--people-per-part": self.people_per_part is not None,
            "--log": self.log is not None,
            "--audit-by": bool(self.audit_by),
        }
        wrong = [name for name, given in asked.items() if given]
        if wrong:
            raise SettingError(
                f"{wrong[0]} is for a folder of results; --out {str(self.out)!r} is a file. A name without an ending "
                "is a folder."
            )

    @staticmethod
    def _instead(certify: bool) -> str:
        """Say which files would do; what is proven has no room in a table."""
        return "a .json file, or any file with --report" if certify else "a .json, .csv or .parquet file"

    def check_groups(self, train: pd.DataFrame, schema: Schema) -> None:
        """Raise now, and not after hours, where people cannot be grouped so."""
        if self.audit_by:
            from leastways.audit.groups import groupings_of

            groupings_of(train[[feature.name for feature in schema.features]], schema, self.audit_by)

    def run(self, recourse: Recourse, said: Preferences | None, model: str, as_json: bool) -> None:
        """Work through the people and show what came of it."""
        from leastways.batch import recommend_files
        from leastways.recourse.settings import settings_of

        size: dict[str, Any] = {} if self.people_per_part is None else {"people_per_part": self.people_per_part}
        with _terminated_as_interrupted(), stdout_aside(), people_bar("finding options") as progress:
            try:
                result = recommend_files(
                    recourse,
                    self.people,
                    self.out,
                    preferences=said,
                    index=self.index,
                    workers=self.workers,
                    cluster=self.cluster,
                    resume=self.resume,
                    dedup=self.dedup,
                    time_limit=self.time_limit,
                    log=self.log,
                    progress=progress,
                    model_file=file_print(Path(model)) if Path(model).is_file() else None,
                    **size,
                )
            except KeyboardInterrupt:
                interrupted = True
            else:
                interrupted = False
        if interrupted:
            self._say_how_to_go_on()
            raise typer.Exit(INTERRUPTED)
        if not as_json:
            self._show(result)  # before the audit, which may fail: the people are done
        report = self._audited(result, recourse.random_state) if self.audit_by else None
        if as_json:
            self._show_json(result, settings_of(recourse), report)
        elif report is not None:
            say(f"Written to {report}")
        self._tell_of_failures(result)

    def _audited(self, result: BatchResult, seed: int) -> Path | None:
        """Compare groups, and return the page that says how they fare."""
        from leastways.audit import audit_plans
        from leastways.plans import NOT_SEARCHED
        from leastways.report import write_audit

        if result.totals.people == sum(result.totals.statuses.get(status, 0) for status in NOT_SEARCHED):
            return None  # there is nobody to compare
        plans, total = read_sample(result.folder, SAMPLE, seed)
        with progress_bar("comparing groups") as progress:
            audit = audit_plans(plans, self.audit_by, random_state=seed, progress=progress)
        return write_audit(of_a_sample(audit, len(plans), total), result.folder / "audit")[0]

    def _say_how_to_go_on(self) -> None:
        from leastways.batch.manifest import DUPLICATES, people_done

        done, total = people_done(self.out)
        whom = "people"
        if self.dedup and not done and (self.out / DUPLICATES).is_dir():
            (done, total), whom = people_done(self.out / DUPLICATES), "different people"
        notes().print(
            f"Interrupted. {done:,} of {total:,} {whom} are done and kept in {self.out}; the same command with "
            "--resume goes on from there.",
            style="yellow",
            soft_wrap=True,
            markup=False,
        )

    def _show(self, result: BatchResult) -> None:
        from leastways.report import summary_table

        screen().print(summary_table(result.totals))
        if self.dedup:
            served = result.totals.people
            screen().print(f"{result.solved:,} searches served {served:,} people: the others have the same")
        say(f"Written to {result.folder}")

    def _show_json(self, result: BatchResult, settings: dict[str, Any], report: Path | None) -> None:
        facts: dict[str, Any] = {
            "seconds": round(result.seconds, 3),
            "people_per_second": None if result.seconds == 0 else round(result.people_per_second, 1),
            "solved": result.solved,
            "cut_short": result.cut_short,
        }
        facts |= {} if report is None else {"audit": str(report)}
        print_json({"out": str(result.folder), **facts, "summary": result.totals.to_dict(), "settings": settings})

    @staticmethod
    def _tell_of_failures(result: BatchResult) -> None:
        """Say how many people could not be served in full, and end with the code that says so."""
        unusable, early = result.totals.statuses.get("invalid_input", 0), result.cut_short
        if unusable or early:
            what = [f"{unusable:,} row(s) could not be used"] if unusable else []
            what += [f"the search ended early for {early:,} person(s)"] if early else []
            notes().print(
                f"Note: {', and '.join(what)}; the column reason says why.",
                style="yellow",
                soft_wrap=True,
            )
            raise typer.Exit(SOME_FAILED)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Take a polite request to end, as cluster managers send it, for Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
