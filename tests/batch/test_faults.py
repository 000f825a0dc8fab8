"""Real processes that die, hang, are killed, or run out of disk. After each: everybody exactly once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastways.batch.manifest import read_manifest
from leastways.errors import ModelError, SearcherError, SettingError
from tests.batch.crowd import (
    VICTIM,
    Misbehaving,
    cut_short,
    events,
    everybody_once,
    fitted,
    people,
    prints,
    run,
    tables,
    write,
)
from tests.recourse.bank import chance

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


def others_are_unharmed(out: Path, unbroken: Path, found: pd.DataFrame) -> None:
    """Nobody but the victim fares otherwise than in a run that nothing happened to."""
    wanted, options = tables(unbroken)
    rest = found["row"] != VICTIM
    pd.testing.assert_frame_equal(found[rest], wanted[rest])
    mine = tables(out)[1]
    pd.testing.assert_frame_equal(mine, options[options["row"] != VICTIM].reset_index(drop=True))


def test_a_worker_is_killed_in_the_middle_of_a_chunk(source: Path, unbroken: Path, tmp_path: Path) -> None:
    model = Misbehaving("die", str(tmp_path / "mark"))
    run(fitted(model), source, tmp_path / "out", workers=1)
    log = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    lost = next(line for line in log if line["event"] == "lost")
    again = log[log.index(lost) + 1]  # as a whole, before anybody thinks of halving it
    assert (again["event"], again["people"]) == ("chunk", lost["rows"][1] - lost["rows"][0])
    everybody_once(tmp_path / "out")
    assert prints(tmp_path / "out") == prints(unbroken)


def test_a_worker_hangs(source: Path, unbroken: Path, tmp_path: Path) -> None:
    model = Misbehaving("hang", str(tmp_path / "mark"))
    run(fitted(model), source, tmp_path / "out", workers=1, time_limit=3.0)
    assert "hung" in events(tmp_path / "out")
    everybody_once(tmp_path / "out")
    assert prints(tmp_path / "out") == prints(unbroken)


def test_a_chunk_that_always_fails(source: Path, unbroken: Path, tmp_path: Path) -> None:
    """Something in the worker raises what no model may: found by halving, and the others are solved."""
    run(fitted(Misbehaving("exit")), source, tmp_path / "out", workers=1)
    found = everybody_once(tmp_path / "out")
    assert found["status"].iloc[VICTIM] == "invalid_input"
    assert "also by itself" in found["reason"].iloc[VICTIM]
    assert "SystemExit" in found["reason"].iloc[VICTIM]
    assert events(tmp_path / "out").count("isolated") == 1
    others_are_unharmed(tmp_path / "out", unbroken, found)


def test_a_row_that_kills_every_worker(tmp_path: Path) -> None:
    few = people().iloc[VICTIM - 1 : VICTIM + 2]
    source = write(tmp_path / "people.parquet", few)
    run(fitted(Misbehaving("die")), source, tmp_path / "out", workers=1, people_per_part=1)
    found = everybody_once(tmp_path / "out", few.index.tolist())
    assert found["status"].tolist()[1] == "invalid_input"
    assert "the worker died each time" in found["reason"].iloc[1]
    assert "invalid_input" not in found["status"].tolist()[::2]


def test_a_row_on_which_the_search_never_ends(
    source: Path, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leastways.batch.run.pickled", lambda _: None)  # threads, which are left to themselves
    run(fitted(Misbehaving("hang")), source, tmp_path / "out", time_limit=1.0, workers=2, people_per_part=4)
    found = everybody_once(tmp_path / "out")
    assert "did not end in time" in found["reason"].iloc[VICTIM]
    others_are_unharmed(tmp_path / "out", unbroken, found)


def test_a_model_that_raises_on_one_row(source: Path, unbroken: Path, tmp_path: Path) -> None:
    run(fitted(Misbehaving("raise")), source, tmp_path / "out")
    found = everybody_once(tmp_path / "out")
    reason = found["reason"].iloc[VICTIM]
    assert found["status"].iloc[VICTIM] == "invalid_input"
    assert "the model failed on this row" in reason
    assert "this row is beyond me" in reason
    others_are_unharmed(tmp_path / "out", unbroken, found)
    for size in (1, 48):  # the text of a failure does not depend on who else was asked about
        run(fitted(Misbehaving("raise")), source, tmp_path / f"out{size}", people_per_part=size)
        pd.testing.assert_frame_equal(tables(tmp_path / f"out{size}")[0], found)


def gone(frame: pd.DataFrame) -> Any:
    raise SystemExit(3)


def test_a_search_that_fails_for_everybody_stops_the_run(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leastways.batch.run.config_of", lambda *_: {"settings": {}})  # which asks the model, too
    with pytest.raises(SearcherError, match=r"the search failed for 20 people in a row.*SystemExit"):
        run(fitted(gone), source, tmp_path / "out")


class Rarely:
    """Raises for about one row in a hundred of those it is asked about, whoever they belong to."""

    def __call__(self, frame: pd.DataFrame) -> Any:
        odd = (frame["income"] * 100).round() % 97 == 3
        if odd.any():
            raise ArithmeticError("not this one")
        return chance(frame)


def test_a_model_that_raises_now_and_then(source: Path, tmp_path: Path) -> None:
    run(fitted(Rarely()), source, tmp_path / "out")
    found = everybody_once(tmp_path / "out")
    hit = found["reason"].str.contains("not this one")
    assert 0 < hit.sum() < 48
    usual = fitted().recommend(people()).summary["status"].to_numpy()
    assert (found["status"] == usual)[~hit].all()
    run(fitted(Rarely()), source, tmp_path / "other", people_per_part=48)
    for one, other in zip(tables(tmp_path / "out"), tables(tmp_path / "other"), strict=True):
        pd.testing.assert_frame_equal(one, other)


def broken(frame: pd.DataFrame) -> Any:
    raise ConnectionError("the bank's computer is down")


class DownAfter:
    """Works for so many calls, then for none."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def __call__(self, frame: pd.DataFrame) -> Any:
        self.calls -= 1
        return chance(frame) if self.calls > 0 else broken(frame)


def test_a_model_that_is_down_stops_the_run(
    source: Path, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is nobody's fault, so nobody is called unusable; once it is mended, the run goes on."""
    monkeypatch.setattr("leastways.batch.driver._MODEL_PAUSE", 0.0)
    with pytest.raises(ModelError, match=r"failed on \d+ people in a row.*computer is down"):
        run(fitted(broken), source, tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(ModelError, match="people in a row"):
        run(fitted(DownAfter(8)), source, tmp_path / "out", give_up_after=10, workers=1)
    assert "stopped" in events(tmp_path / "out")
    run(fitted(), source, tmp_path / "out", resume=True)
    assert prints(tmp_path / "out") == prints(unbroken)


@dataclass(frozen=True)
class Picky:
    """Fails on the last people of all, and on nobody else."""

    incomes: tuple[float, ...]

    def __call__(self, frame: pd.DataFrame) -> Any:
        if frame["income"].isin(self.incomes).any():
            raise ValueError("not these")
        return chance(frame)


def test_a_run_that_is_cut_short_before_people_on_whom_the_model_fails(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends as the unbroken one does: that the model served the others is known from the folder."""
    monkeypatch.setattr("leastways.batch.driver._MODEL_PAUSE", 0.0)
    model = Picky(tuple(people()["income"].iloc[32:]))
    whole = run(fitted(model), source, tmp_path / "whole")
    assert whole.totals.statuses["invalid_input"] == 16
    out = cut_short(tmp_path / "whole", tmp_path / "out", keep=2)
    run(fitted(model), source, out, resume=True)
    assert prints(out) == prints(tmp_path / "whole")


def test_a_model_that_a_worker_cannot_load(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="a worker cannot load the model: RuntimeError: only at home"):
        run(fitted(Homebody(os.getpid())), source, tmp_path / "out", workers=1)


def test_a_model_that_hangs_before_the_first_chunk(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No chunk is at fault, and nobody would notice: the processes get so long to get ready, and then the run stops."""
    monkeypatch.setattr("leastways.batch.executors._START_SECONDS", 0.5)
    monkeypatch.setattr("leastways.batch.executors._STARTS", 1)
    with pytest.raises(SettingError, match="did not get ready"):
        run(fitted(Homebody(os.getpid(), 600)), source, tmp_path / "out", workers=1, time_limit=0.5)


def test_a_first_chunk_that_takes_long(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a speed nobody knows whether it hangs: it is told once, and left to the user."""
    monkeypatch.setattr("leastways.batch.driver._PATIENCE", 0.01)
    monkeypatch.setattr("leastways.batch.driver._LOOK", 0.01)
    with pytest.warns(RuntimeWarning, match=r"no chunk of people has come back.*--time-limit") as told:
        run(fitted(Misbehaving("slow", income=float(people()["income"].iloc[0]))), source, tmp_path / "out", workers=1)
    assert len(told) == 1
    assert events(tmp_path / "out").count("waiting") == 1


class Homebody:
    """A model that can be loaded in the process that made it, and nowhere else."""

    def __init__(self, home: int, delay: float = 0.0) -> None:
        self.home = home
        self.delay = delay

    def __setstate__(self, state: dict[str, Any]) -> None:
        if os.getpid() != state["home"]:
            time.sleep(state["delay"])
            raise RuntimeError("only at home")
        self.__dict__.update(state)

    def __call__(self, frame: pd.DataFrame) -> Any:
        return chance(frame)


DRIVER = """
import sys
from pathlib import Path
from tests.batch.crowd import Misbehaving, fitted, run
if __name__ == "__main__":
    source, out, mark = sys.argv[1:]
    run(fitted(Misbehaving("hang", mark)), Path(source), Path(out), workers=1)
"""


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def until(done: Any, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


def test_the_driver_is_killed(source: Path, unbroken: Path, tmp_path: Path) -> None:
    """kill -9 of the driver in the middle of the second part; its workers go too, and the run is resumed."""
    script, out, mark = tmp_path / "driver.py", tmp_path / "out", tmp_path / "mark"
    journal = out / "journal.jsonl"
    script.write_text(DRIVER)
    command = [sys.executable, str(script), str(source), str(out), str(mark)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, env=env) as process:
        try:
            until(lambda: (mark.exists() and journal.read_text()) or process.poll() is not None)
            assert process.poll() is None  # the worker hangs on the victim by now, and the first part is written
            helpers = children(process.pid)
            assert helpers
        finally:
            process.kill()
    until(lambda: not any(alive(pid) for pid in helpers), 30)
    assert not read_manifest(out)["finished"]
    assert len(journal.read_text().splitlines()) == 1
    run(fitted(), source, out, resume=True)
    everybody_once(out)
    assert prints(out) == prints(unbroken)


FULL = """
import json, subprocess, sys
from pathlib import Path
from leastways.errors import DataError
from tests.batch.crowd import fitted, people, run, write, prints
source, small = Path(sys.argv[1]), Path(sys.argv[2])
size = lambda kib: f"size={kib}k"
subprocess.run(["mount", "-t", "tmpfs", "-o", size(48), "none", str(small)], check=True)
(small / "ballast").write_bytes(b"x" * 24 * 1024)
out = small / "out"
try:
    run(fitted(), source, out)
    said = "nothing"
except DataError as error:
    said = str(error)
left = [p.name for p in (out / "people").iterdir()] + [p.name for p in (out / "options").iterdir()]
subprocess.run(["mount", "-o", f"remount,{size(4096)}", str(small)], check=True)
run(fitted(), source, out, resume=True)
print(json.dumps({"said": said, "left": left, "prints": prints(out)}))
"""


def test_the_disk_is_full(source: Path, unbroken: Path, tmp_path: Path) -> None:
    """On a file system of a few pages: the run stops, says so, leaves no half of a file, and can be resumed."""
    apart = ["unshare", "-rm"]
    if not shutil.which("unshare") or subprocess.run([*apart, "mount", "-t", "tmpfs", "none", "/mnt"]).returncode:
        pytest.skip("file systems of one's own need unshare")
    (tmp_path / "small").mkdir()
    command = [*apart, sys.executable, "-c", FULL, str(source), str(tmp_path / "small")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "No space left on device" in told["said"]
    assert "--resume" in told["said"]
    assert not [name for name in told["left"] if name.startswith(".")]
    assert told["prints"] == prints(unbroken)
