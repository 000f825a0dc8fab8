"""Workers that die, hang or raise, a killed driver, a full disk: every person is written exactly once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastways.batch import driver, read_manifest
from leastways.batch.driver import Driver, DriverSettings
from leastways.batch.executors import ThreadExecutor
from leastways.errors import ModelError, SearcherError
from tests.support.applicant_files import (
    FAULTY,
    Misbehaving,
    check_each_person_once,
    checksums,
    events,
    fitted,
    interrupted_copy,
    people,
    run,
    tables,
    write_people,
)
from tests.support.bank_people import chance
from tests.support.processes import children, is_alive, own_environment, wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


def test_chunk_of_a_killed_worker_is_solved_again_as_a_whole(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    model = Misbehaving("die", str(tmp_path / "mark"))
    run(fitted(model), source, tmp_path / "out", workers=1)
    log = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    lost = next(line for line in log if line["event"] == "lost")
    again = log[log.index(lost) + 1]  # as a whole, not in halves
    assert (again["event"], again["people"]) == ("chunk", lost["rows"][1] - lost["rows"][0])
    check_each_person_once(tmp_path / "out")
    assert checksums(tmp_path / "out") == checksums(uninterrupted)


def test_chunk_of_a_hanging_worker_is_solved_again(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    model = Misbehaving("hang", str(tmp_path / "mark"))
    run(fitted(model), source, tmp_path / "out", workers=1, time_limit=3.0)
    assert "hung" in events(tmp_path / "out")
    check_each_person_once(tmp_path / "out")
    assert checksums(tmp_path / "out") == checksums(uninterrupted)


def check_others_unchanged(out: Path, uninterrupted: Path, found: pd.DataFrame) -> None:
    """Check that all people but the faulty row have the results of an uninterrupted run."""
    wanted, options = tables(uninterrupted)
    rest = found["row"] != FAULTY
    pd.testing.assert_frame_equal(found[rest], wanted[rest])
    own = tables(out)[1]
    pd.testing.assert_frame_equal(own, options[options["row"] != FAULTY].reset_index(drop=True))


def test_failing_chunk_is_halved_down_to_the_row_at_fault(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    """The model raises SystemExit: the row is found by halving, and the others are solved."""
    run(fitted(Misbehaving("exit")), source, tmp_path / "out", workers=1)
    found = check_each_person_once(tmp_path / "out")
    assert found["status"].iloc[FAULTY] == "invalid_input"
    assert "also by itself" in found["reason"].iloc[FAULTY]
    assert "SystemExit" in found["reason"].iloc[FAULTY]
    assert events(tmp_path / "out").count("isolated") == 1
    check_others_unchanged(tmp_path / "out", uninterrupted, found)


def test_row_that_kills_every_worker_is_isolated(tmp_path: Path) -> None:
    few = people().iloc[FAULTY - 1 : FAULTY + 2]
    source = write_people(tmp_path / "people.parquet", few)
    run(fitted(Misbehaving("die")), source, tmp_path / "out", workers=1, people_per_part=1)
    found = check_each_person_once(tmp_path / "out", few.index.tolist())
    assert found["status"].tolist()[1] == "invalid_input"
    assert "the worker died each time" in found["reason"].iloc[1]
    assert "invalid_input" not in found["status"].tolist()[::2]


def test_row_on_which_the_search_hangs_is_isolated(
    source: Path, uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leastways.batch.executors.pickled", lambda _: None)  # threads, which cannot be killed
    run(fitted(Misbehaving("hang")), source, tmp_path / "out", time_limit=1.0, workers=2, people_per_part=4)
    found = check_each_person_once(tmp_path / "out")
    assert "did not end in time" in found["reason"].iloc[FAULTY]
    check_others_unchanged(tmp_path / "out", uninterrupted, found)


def test_model_failure_on_one_row_affects_that_person_alone(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    run(fitted(Misbehaving("raise")), source, tmp_path / "out")
    found = check_each_person_once(tmp_path / "out")
    reason = found["reason"].iloc[FAULTY]
    assert found["status"].iloc[FAULTY] == "invalid_input"
    assert "the model failed on this row" in reason
    assert "this row is beyond me" in reason
    check_others_unchanged(tmp_path / "out", uninterrupted, found)
    for size in (1, 48):  # the text of a failure does not depend on the rest of the chunk
        run(fitted(Misbehaving("raise")), source, tmp_path / f"out{size}", people_per_part=size)
        pd.testing.assert_frame_equal(tables(tmp_path / f"out{size}")[0], found)


def gone(frame: pd.DataFrame) -> Any:
    raise SystemExit(3)


def test_search_that_fails_for_all_stops_the_run(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastways.batch.run.config_of", lambda *_: {"settings": {}})  # which queries the model, too
    with pytest.raises(SearcherError, match=r"the search failed for 20 people in a row.*SystemExit"):
        run(fitted(gone), source, tmp_path / "out")


class FailsRarely:
    """A model that raises for about one row in a hundred."""

    def __call__(self, frame: pd.DataFrame) -> Any:
        odd = (frame["income"] * 100).round() % 97 == 3
        if odd.any():
            raise ArithmeticError("not this one")
        return chance(frame)


def test_occasional_model_failures_affect_their_people_alone(source: Path, tmp_path: Path) -> None:
    run(fitted(FailsRarely()), source, tmp_path / "out")
    found = check_each_person_once(tmp_path / "out")
    hit = found["reason"].str.contains("not this one")
    assert 0 < hit.sum() < 48
    usual = fitted().recommend(people()).summary["status"].to_numpy()
    assert (found["status"] == usual)[~hit].all()
    run(fitted(FailsRarely()), source, tmp_path / "other", people_per_part=48)
    for one, other in zip(tables(tmp_path / "out"), tables(tmp_path / "other"), strict=True):
        pd.testing.assert_frame_equal(one, other)


def broken(frame: pd.DataFrame) -> Any:
    raise ConnectionError("the bank's computer is down")


class DownAfter:
    """A model that works for some calls, then for none."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def __call__(self, frame: pd.DataFrame) -> Any:
        self.calls -= 1
        return chance(frame) if self.calls > 0 else broken(frame)


def test_model_that_is_down_stops_the_run(
    source: Path, uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row is at fault, so no person gets `invalid_input`; once the model works again, the run is resumed."""
    monkeypatch.setattr("leastways.batch.driver._MODEL_PAUSE", 0.0)
    with pytest.raises(ModelError, match=r"failed on \d+ people in a row.*computer is down"):
        run(fitted(broken), source, tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(ModelError, match="people in a row"):
        run(fitted(DownAfter(8)), source, tmp_path / "out", give_up_after=10, workers=1)
    assert "stopped" in events(tmp_path / "out")
    run(fitted(), source, tmp_path / "out", resume=True)
    assert checksums(tmp_path / "out") == checksums(uninterrupted)


@dataclass(frozen=True)
class FailsOnSome:
    """A model that fails on people with certain incomes."""

    incomes: tuple[float, ...]

    def __call__(self, frame: pd.DataFrame) -> Any:
        if frame["income"].isin(self.incomes).any():
            raise ValueError("not these")
        return chance(frame)


def test_interruption_does_not_change_which_rows_are_at_fault(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed run knows from the folder that the model answered for earlier people."""
    monkeypatch.setattr("leastways.batch.driver._MODEL_PAUSE", 0.0)
    model = FailsOnSome(tuple(people()["income"].iloc[32:]))
    whole = run(fitted(model), source, tmp_path / "whole")
    assert whole.totals.statuses["invalid_input"] == 16
    out = interrupted_copy(tmp_path / "whole", tmp_path / "out", keep=2)
    run(fitted(model), source, out, resume=True)
    assert checksums(out) == checksums(tmp_path / "whole")


def test_slow_first_chunk_is_warned_about_once(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a first result the driver cannot know whether a worker is slow or hangs."""
    monkeypatch.setattr("leastways.batch.driver._PATIENCE", 0.01)
    monkeypatch.setattr("leastways.batch.driver._LOOK", 0.01)
    with pytest.warns(RuntimeWarning, match=r"no chunk of people has come back.*--time-limit") as warned:
        run(fitted(Misbehaving("slow", income=float(people()["income"].iloc[0]))), source, tmp_path / "out")
    assert len(warned) == 1
    assert events(tmp_path / "out").count("pending") == 1


DRIVER = """
import sys
from pathlib import Path
from tests.support.applicant_files import Misbehaving, fitted, run
if __name__ == "__main__":
    source, out, mark = sys.argv[1:]
    run(fitted(Misbehaving("hang", mark)), Path(source), Path(out), workers=1)
"""


def test_run_of_a_killed_driver_is_resumed(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    """After kill -9 of the driver in the second part its workers end too, and the run is resumed."""
    script, out, mark = tmp_path / "driver.py", tmp_path / "out", tmp_path / "mark"
    journal = out / "journal.jsonl"
    script.write_text(DRIVER)
    command = [sys.executable, str(script), str(source), str(out), str(mark)]
    with subprocess.Popen(command, env=own_environment()) as process:
        try:
            wait_until(lambda: (mark.exists() and journal.read_text()) or process.poll() is not None)
            assert process.poll() is None  # the worker hangs on the faulty row by now, and the first part is written
            helpers = children(process.pid)
            assert helpers
        finally:
            process.kill()
    wait_until(lambda: not any(is_alive(pid) for pid in helpers), 30)
    assert not read_manifest(out)["finished"]
    assert len(journal.read_text().splitlines()) == 1
    run(fitted(), source, out, resume=True)
    check_each_person_once(out)
    assert checksums(out) == checksums(uninterrupted)


FULL = """
import json, subprocess, sys
from pathlib import Path
from leastways.errors import DataError
from tests.support.applicant_files import checksums, fitted, run
source, small = Path(sys.argv[1]), Path(sys.argv[2])
size = lambda kib: f"size={kib}k"
subprocess.run(["mount", "-t", "tmpfs", "-o", size(48), "none", str(small)], check=True)
(small / "ballast").write_bytes(b"x" * 24 * 1024)
out = small / "out"
try:
    run(fitted(), source, out)
    message = ""
except DataError as error:
    message = str(error)
left = [p.name for p in (out / "people").iterdir()] + [p.name for p in (out / "options").iterdir()]
subprocess.run(["mount", "-o", f"remount,{size(4096)}", str(small)], check=True)
run(fitted(), source, out, resume=True)
print(json.dumps({"message": message, "left": left, "checksums": checksums(out)}))
"""


def test_run_on_a_full_disk_stops_and_is_resumed(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    """On a tiny file system the run stops with a clear error, leaves no partial file, and can be resumed."""
    apart = ["unshare", "-rm"]
    if not shutil.which("unshare") or subprocess.run([*apart, "mount", "-t", "tmpfs", "none", "/mnt"]).returncode:
        pytest.skip("file systems of one's own need unshare")
    (tmp_path / "small").mkdir()
    command = [*apart, sys.executable, "-c", FULL, str(source), str(tmp_path / "small")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=own_environment())
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert "No space left on device" in report["message"]
    assert "--resume" in report["message"]
    assert not [name for name in report["left"] if name.startswith(".")]
    assert report["checksums"] == checksums(uninterrupted)


@settings(max_examples=8)
@given(unit=st.integers(1, 20), seconds=st.sampled_from([0.0, 0.05, 100.0]), workers=st.integers(1, 4))
def test_results_do_not_depend_on_chunks(
    source: Path, uninterrupted: Path, unit: int, seconds: float, workers: int
) -> None:
    """Units and chunks of any size, in any order of arrival, give the same plans."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_SECONDS", seconds)
        patch.setattr("leastways.batch.run.unit_of", lambda *_: unit)
        patch.setattr("leastways.batch.executors.pickled", lambda _: None)
        run(fitted(), source, Path(folder) / "out", workers=workers)
        assert checksums(Path(folder) / "out") == checksums(uninterrupted)


def test_chunks_grow_with_speed() -> None:
    """A chunk has as many units as take about five seconds, and at most a fair share of what is left."""
    rec = fitted()
    setting = DriverSettings(rec.schema, unit=10, preferences=None, time_limit=None, give_up_after=100, total=10_000)
    driving = Driver(ThreadExecutor(2, rec), setting, lambda _: None, lambda *_: None, lambda *_, **__: None)
    assert driving._rows() == 10  # no speed is known yet
    driving._speed = 100.0
    assert driving._rows() == 500
    driving._submitted = 9_200
    assert driving._rows() == 100
    driving._speed = 0.1
    assert driving._rows() == 10
