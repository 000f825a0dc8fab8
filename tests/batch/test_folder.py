"""What is on the disk: a manifest, parts that are whole, and nothing that another run could spoil."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastways as lw
from leastways.batch import manifest as folder
from leastways.batch import read_plans
from leastways.batch.manifest import RunFolder, nothing_done, people_done, read_manifest
from leastways.errors import DataError, SettingError
from tests.batch.crowd import cut_short, everybody_once, fitted, people, prints, run, tables, write
from tests.recourse.bank import SCHEMA, TRAIN, chance


def contrary(frame: pd.DataFrame) -> Any:
    return 1.0 - chance(frame)


def test_the_manifest_says_what_was_done(source: Path, unbroken: Path) -> None:
    said = read_manifest(unbroken)
    assert said["finished"]
    assert said["config"]["settings"]["random_state"] == 0
    assert said["config"]["settings"]["n_costs"] == 20
    assert lw.Schema.from_yaml(said["schema"]) == SCHEMA
    assert said["input"]["rows"] == 48
    assert said["input"]["files"][0]["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert [part["people"] for part in said["parts"]] == [16, 16, 16]
    for part in said["parts"]:
        for name, file in part["files"].items():
            content = (unbroken / file["name"]).read_bytes()
            assert (file["bytes"], file["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
            assert file["rows"] == len(pd.read_parquet(unbroken / file["name"])), name
    assert said["totals"]["people"] == 48
    assert not (unbroken / "journal.jsonl").exists()


@pytest.mark.parametrize("keep", [0, 1, 2, 3])
def test_resuming_gives_the_very_same_files(source: Path, unbroken: Path, tmp_path: Path, keep: int) -> None:
    out = cut_short(unbroken, tmp_path / "out", keep)
    (out / "people" / ".part-000001-abcd").write_bytes(b"half of a p")
    shutil.copy(unbroken / "people" / "part-000002.parquet", out / "people" / "part-000002.parquet")
    with (out / "journal.jsonl").open("a") as journal:
        journal.write('{"number": 9, "first": 144, "peo')  # the power went here
    run(fitted(), source, out, resume=True)
    assert prints(out) == prints(unbroken)


def test_a_part_in_the_middle_is_missing_or_damaged(source: Path, unbroken: Path, tmp_path: Path) -> None:
    out = cut_short(unbroken, tmp_path / "out", keep=3)
    (out / "people" / "part-000001.parquet").unlink()
    damaged = out / "options" / "part-000002.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    run(fitted(), source, out, resume=True)
    assert prints(out) == prints(unbroken)


@pytest.mark.parametrize("dedup", [False, True])
def test_parts_of_a_finished_run_are_damaged_later(source: Path, tmp_path: Path, dedup: bool) -> None:
    """They are told by their names, and the same command with --resume makes them again, and no others."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    run(fitted(), source, whole, dedup=dedup)
    shutil.copytree(whole, out)
    damaged, gone = out / "people" / "part-000001.parquet", out / "options" / "part-000002.parquet"
    content = damaged.read_bytes()
    damaged.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
    with pytest.raises(DataError, match=r"cannot read .*people/part-000001\.parquet': it is not as it was written"):
        read_plans(out)
    damaged.write_bytes(content)
    gone.unlink()
    with pytest.raises(DataError, match=r"cannot read .*options/part-000002\.parquet': .*--resume"):
        read_plans(out)
    damaged.unlink()
    untouched = (out / "people" / "part-000000.parquet").stat().st_mtime_ns
    assert run(fitted(), source, out, resume=True, dedup=dedup).totals.people == 48
    assert prints(out) == prints(whole)
    assert (out / "people" / "part-000000.parquet").stat().st_mtime_ns == untouched


@pytest.mark.parametrize("killed", ["_forget_unfinished", "_write_json", "keep"])
def test_killed_while_damaged_parts_are_made_again(
    source: Path, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """Before the manifest says that the run is not finished any more, or after it: parts that are whole are kept."""

    def kill(*_: Any) -> None:
        raise KeyboardInterrupt

    out = Path(shutil.copytree(unbroken, tmp_path / "out"))
    (out / "people" / "part-000001.parquet").unlink()
    untouched = (out / "people" / "part-000000.parquet").stat().st_mtime_ns
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, killed, kill)
        with pytest.raises(KeyboardInterrupt):
            run(fitted(), source, out, resume=True)
    run(fitted(), source, out, resume=True)
    assert prints(out) == prints(unbroken)
    assert (out / "people" / "part-000000.parquet").stat().st_mtime_ns == untouched


def test_a_finished_run_is_left_alone(source: Path, unbroken: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in unbroken.rglob("*.parquet")}
    result = run(fitted(), source, unbroken, resume=True)
    assert result.seconds == 0
    assert result.totals.people == 48
    assert before == {p: p.stat().st_mtime_ns for p in unbroken.rglob("*.parquet")}


def test_a_run_is_never_overwritten(source: Path, unbroken: Path, tmp_path: Path) -> None:
    before = prints(unbroken)
    with pytest.raises(SettingError, match="holds a finished run"):
        run(fitted(), source, unbroken)
    assert prints(unbroken) == before
    out = cut_short(unbroken, tmp_path / "out")
    with pytest.raises(SettingError, match=r"cut short.*--resume"):
        run(fitted(), source, out)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("years of work")
    for resume in (False, True):
        with pytest.raises(SettingError, match="holds other files"):
            run(fitted(), source, tmp_path / "other", resume=resume)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SettingError, match=r"empty' holds no run of leastways recommend"):
        read_manifest(tmp_path / "empty")
    with pytest.raises(SettingError, match="is a file"):
        run(fitted(), source, source)
    with pytest.raises(SettingError, match="no folder"):
        run(fitted(), source, tmp_path / "no" / "where")
    with pytest.raises(DataError, match="inside the folder"):
        run(fitted(), source, source.parent)


def test_results_among_the_people(tmp_path: Path) -> None:
    """They would be taken for people when the run is resumed; names that are passed over would not."""
    source = tmp_path / "in"
    source.mkdir()
    write(source / "a.parquet", people().head(4))
    with pytest.raises(DataError, match=r"the results cannot be written to .*plans', inside the folder .*in'"):
        run(fitted(), source, source / "plans")
    with pytest.raises(DataError, match="the log cannot be written"):
        run(fitted(), source, tmp_path / "out", log=source / "log.jsonl")
    assert [path.name for path in source.iterdir()] == ["a.parquet"]
    run(fitted(), source, source / "_plans", log=source / ".log")
    assert run(fitted(), source, source / "_plans", resume=True).seconds == 0


@pytest.mark.parametrize("dedup", [False, True])
def test_a_run_that_did_nothing_yet_is_begun_anew(source: Path, unbroken: Path, tmp_path: Path, dedup: bool) -> None:
    """A wrong address is noticed when the folder is there already; the right one then needs no --resume."""
    out = tmp_path / "out"
    with pytest.raises(SettingError, match="no address"):
        run(fitted(), source, out, dedup=dedup, cluster="nowhere")
    assert read_manifest(out)["config"]["settings"]["budget"] == fitted().budget
    run(fitted(), source, out, dedup=dedup)
    assert read_manifest(out)["finished"]
    for found, wanted in zip(tables(out), tables(unbroken), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


def test_a_run_that_did_nothing_yet_may_become_another(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(SettingError, match="no address"):
        run(fitted(), source, out, dedup=True, cluster="nowhere")
    run(fitted(budget=26), source, out)
    assert read_manifest(out)["config"]["settings"]["budget"] == 26
    assert not (out / "kinds").exists()


def test_kinds_that_are_solved_are_not_nothing(tmp_path: Path) -> None:
    """A run that solves each kind once has no part of its own until all kinds are done."""
    inside = tmp_path / "kinds"
    (inside / "people").mkdir(parents=True)
    assert nothing_done(tmp_path)
    for path, content in (
        (inside / "journal.jsonl", '{"number": 0, "people": 4}\n'),
        (inside / "people/part-0.parquet", ""),
    ):
        path.write_text(content)
        assert not nothing_done(tmp_path)
        path.unlink()


CHANGES: list[tuple[Any, str]] = [
    (lambda: {"rec": fitted(budget=26)}, "settings.budget is 26, was 25"),
    (lambda: {"rec": fitted(random_state=1)}, "settings.random_state is 1, was 0"),
    (lambda: {"rec": fitted(contrary)}, "the model answers"),
    (lambda: {"rec": fitted(schema=SCHEMA.update(job={"direction": "fixed"}))}, "the schema differs"),
    (lambda: {"rec": fitted().fit(TRAIN.head(100))}, "the training table"),
    (lambda: {"preferences": lw.Preferences(editable=["income"])}, "the preferences differ"),
    (lambda: {"people_per_part": 10}, "people_per_part is 10, was 16"),
    (lambda: {"dedup": True}, "dedup is True, was False"),
    (lambda: {"model_file": "abc"}, "the model's file differs"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=[m.replace(" ", "-") for _, m in CHANGES])
def test_a_changed_run_is_not_resumed(source: Path, unbroken: Path, tmp_path: Path, change: Any, message: str) -> None:
    out = cut_short(unbroken, tmp_path / "out")
    before = prints(out)
    given = change()
    with pytest.raises(SettingError, match=message):
        run(given.pop("rec", None) or fitted(), source, out, resume=True, **given)
    assert prints(out) == before


def shuffled() -> pd.DataFrame:
    """The training table with the values of each column dealt out anew: other rows, the same in each column."""
    draw = np.random.default_rng(5)
    return TRAIN.apply(lambda column: draw.permutation(column.to_numpy()))


@pytest.mark.parametrize("method", ["guided", "face-knn"])
def test_training_rows_are_told_apart(source: Path, tmp_path: Path, method: str) -> None:
    """Methods learn from whole rows, and one folder must not hold what was learned from two tables."""
    out, rec = tmp_path / "out", fitted(method=method)
    run(rec, source, tmp_path / "whole")
    cut_short(tmp_path / "whole", out)
    other = TRAIN.assign(job=TRAIN["job"].replace("cook", "clerk"))  # a category without an order
    for table in (shuffled(), other, TRAIN.head(239)):
        with pytest.raises(SettingError, match="the training table"):
            run(fitted(method=method).fit(table), source, out, resume=True)
    alike = TRAIN.set_axis([f"t{i}" for i in range(len(TRAIN))], axis=0).astype({"age": float, "job": "category"})
    run(fitted(method=method).fit(alike), source, out, resume=True)
    assert prints(out) == prints(tmp_path / "whole")


def test_the_order_of_training_rows_matters_where_a_method_may_see_it(
    source: Path, unbroken: Path, tmp_path: Path
) -> None:
    upside_down = TRAIN.iloc[::-1]
    out = cut_short(unbroken, tmp_path / "out")
    run(fitted().fit(upside_down), source, out, resume=True)
    assert prints(out) == prints(unbroken)
    run(fitted(method="face-knn"), source, tmp_path / "face")
    with pytest.raises(SettingError, match="the training table"):
        run(fitted(method="face-knn").fit(upside_down), source, tmp_path / "face", resume=True)


def test_changed_people_are_not_resumed(source: Path, unbroken: Path, tmp_path: Path) -> None:
    out = cut_short(unbroken, tmp_path / "out")
    changed = people()
    changed["age"] = changed["age"].where(changed.index != changed.index[40], 33)
    with pytest.raises(SettingError, match=r"'people\.parquet' was changed"):
        run(fitted(), write(tmp_path / "people.parquet", changed), out, resume=True)
    with pytest.raises(SettingError, match=r"has no file 'people\.parquet' any more; .* new file 'b\.parquet'"):
        run(fitted(), write(tmp_path / "b.parquet"), out, resume=True)


def test_two_runs_at_once(source: Path, unbroken: Path, tmp_path: Path) -> None:
    out = cut_short(unbroken, tmp_path / "out")
    manifest = {name: read_manifest(out)[name] for name in ("config", "input", "schema")}
    with (
        RunFolder.opened(out, manifest, resume=True),
        pytest.raises(SettingError, match="another run is writing"),
    ):
        run(fitted(), source, out, resume=True)
    run(fitted(), source, out, resume=True)
    everybody_once(out)


def test_a_run_that_never_began(source: Path, tmp_path: Path) -> None:
    """Killed before the manifest was there: the folder is as good as new."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "lock").touch()
    (tmp_path / "out" / ".manifest.json-1234").write_text("{")
    run(fitted(), source, tmp_path / "out")
    everybody_once(tmp_path / "out")


NO_PARTS = ["123", "null", '"x"', "[1, 2]", '{"number": 0}', '{"number": 0, "people": 16}']
NO_PARTS += ['{"number": 2, "first": 32, "people": 16, "files": {}, "totals": {}}']


@pytest.mark.parametrize("line", NO_PARTS)
def test_lines_of_a_journal_that_are_no_parts(source: Path, unbroken: Path, tmp_path: Path, line: str) -> None:
    out = cut_short(unbroken, tmp_path / "out")
    with (out / "journal.jsonl").open("a") as journal:
        journal.write(line + "\n")
    assert people_done(out)[1] == 48
    run(fitted(), source, out, resume=True)
    assert prints(out) == prints(unbroken)


def test_a_journal_that_is_lost(source: Path, unbroken: Path, tmp_path: Path) -> None:
    """What is written is not overwritten unless the user says so."""
    out = cut_short(unbroken, tmp_path / "out")
    (out / "journal.jsonl").unlink()
    before = prints(out)
    with pytest.raises(SettingError, match=r"cut short.*--resume"):
        run(fitted(), source, out)
    assert prints(out) == before
    run(fitted(), source, out, resume=True)
    assert prints(out) == prints(unbroken)


def test_a_damaged_manifest(source: Path, unbroken: Path, tmp_path: Path) -> None:
    out = cut_short(unbroken, tmp_path / "out")
    for content, message in (("{", "cannot read"), ('{"format": "x"}', "not the manifest"), ("[]", "not the manifest")):
        (out / "manifest.json").write_text(content)
        with pytest.raises(DataError, match=message):
            run(fitted(), source, out, resume=True)
    (out / "manifest.json").write_text('{"format": "leastways population", "version": 99}')
    with pytest.raises(DataError, match="version 99"):
        run(fitted(), source, out, resume=True)
    whole = read_manifest(unbroken)
    for name in ("config", "input", "schema", "parts", "totals"):
        (out / "manifest.json").write_text(json.dumps({key: said for key, said in whole.items() if key != name}))
        with pytest.raises(DataError, match=f"manifest.json' is damaged: it does not say '{name}'"):
            run(fitted(), source, out, resume=True)
        with pytest.raises(DataError, match=f"does not say '{name}'"):
            read_plans(out)


def test_plans_of_a_run_that_is_not_finished(unbroken: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not finished"):
        read_plans(cut_short(unbroken, tmp_path / "out"))
    with pytest.raises(DataError, match="there is nobody with the label 1180591620717411303424"):
        read_plans(unbroken, people=[2**70])
    with pytest.raises(DataError, match="people must be labels"):
        read_plans(unbroken, people=[[1, 2]])
    with pytest.raises(DataError, match="there is nobody with the label 'nobody'"):
        read_plans(unbroken, ["nobody"])
    with pytest.raises(DataError, match="there is nobody with the label 'nobody', 'p99', 7 in the run"):
        read_plans(unbroken, ["p3", "nobody", "p40", "p99", 7])


def test_killed_while_finishing(source: Path, unbroken: Path, tmp_path: Path) -> None:
    """At the manifest's draft, or between the manifest and the end of the journal: the same folder, to the file."""
    early = cut_short(unbroken, tmp_path / "early", keep=3)
    (early / ".manifest.json-12ab34cd").write_text('{"format": "leastw')
    (early / ".journal.jsonl-12ab34cd").write_text("{")
    late = Path(shutil.copytree(unbroken, tmp_path / "late"))
    (late / "journal.jsonl").write_text("".join(json.dumps(part) + "\n" for part in read_manifest(late)["parts"]))
    for out in (early, late):
        run(fitted(), source, out, resume=True)
        assert prints(out) == prints(unbroken)


def test_a_journal_that_a_power_cut_spoiled(source: Path, unbroken: Path, tmp_path: Path) -> None:
    out = cut_short(unbroken, tmp_path / "out", keep=3)
    lines = (out / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (out / "journal.jsonl").write_bytes(lines[0] + b"\0" * 40 + b"\n" + lines[2])
    assert people_done(out) == (32, 48)
    run(fitted(), source, out, resume=True)
    assert prints(out) == prints(unbroken)


def test_what_others_put_into_the_folder_is_theirs(source: Path, unbroken: Path, tmp_path: Path) -> None:
    out = cut_short(unbroken, tmp_path / "out")
    (out / "people" / "notes.txt").write_text("looked at until part 0")
    (out / "people" / "copies").mkdir()
    (out / "audit").mkdir()
    (out / "audit" / "audit.json").write_text("{}")
    run(fitted(), source, out, resume=True)
    assert (out / "people" / "notes.txt").read_text() == "looked at until part 0"
    assert (out / "people" / "copies").is_dir()
    assert (out / "audit" / "audit.json").exists()
    found = prints(out)
    assert {name: found[name] for name in prints(unbroken)} == prints(unbroken)


def test_a_run_that_ends_as_another_begins(
    source: Path, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is looked at once nobody else can write to it: a finished run is not taken for half of one."""
    out = cut_short(unbroken, tmp_path / "out")
    real = folder._locked

    def late(path: Path) -> Any:
        monkeypatch.setattr(folder, "_locked", real)
        run(fitted(), source, out, resume=True)  # the other run
        stamps.update({p: p.stat().st_mtime_ns for p in out.rglob("*.parquet")})
        return real(path)

    stamps: dict[Path, int] = {}
    monkeypatch.setattr(folder, "_locked", late)
    assert run(fitted(), source, out, resume=True).seconds == 0
    assert stamps == {p: p.stat().st_mtime_ns for p in out.rglob("*.parquet")}
    assert prints(out) == prints(unbroken)


def test_a_part_is_in_the_journal_only_once_it_is_on_the_disk(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order is all: the content is brought to the disk, then the name, then the line that says so."""
    done: list[str] = []
    to_disk, folder_to_disk, replace = folder._to_disk, folder._folder_to_disk, Path.replace

    def content(stream: Any) -> None:
        done.append(f"sync {kind(Path(stream.name))}")
        to_disk(stream)

    def names(path: Path) -> None:
        done.append(f"names of {path.name}")
        folder_to_disk(path)

    def rename(draft: Path, target: Path) -> Path:
        done.append(f"rename to {kind(target)}")
        return replace(draft, target)

    monkeypatch.setattr(folder, "_to_disk", content)
    monkeypatch.setattr(folder, "_folder_to_disk", names)
    monkeypatch.setattr(Path, "replace", rename)
    run(fitted(), source, tmp_path / "out", people_per_part=48)
    whole = ["sync part", "rename to part", "names of {}"]
    part = [step.format(table) for table in ("people", "options") for step in whole]
    named = {name: [f"sync {name}", f"rename to {name}", "names of out"] for name in ("manifest.json", "journal.jsonl")}
    begun = [*named["manifest.json"], *named["journal.jsonl"], f"names of {tmp_path.name}"]
    assert done == [*begun, *part, "sync journal.jsonl", *named["manifest.json"]]


def kind(path: Path) -> str:
    name = path.name.lstrip(".")
    return "part" if name.startswith("part-") else name.rsplit("-", 1)[0]


def test_a_file_system_without_locks(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def flock(*_: Any) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.warns(RuntimeWarning, match="cannot be locked"):
        run(fitted(), source, tmp_path / "out")
    everybody_once(tmp_path / "out")
