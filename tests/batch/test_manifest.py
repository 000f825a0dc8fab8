"""Run folders: what is resumed, what is refused, and what a crash leaves behind."""

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
from leastways.batch import people_done, read_manifest, read_plans
from leastways.batch.manifest import RunFolder, nothing_done
from leastways.errors import DataError, SettingError
from tests.support.applicant_files import (
    check_each_person_once,
    checksums,
    fitted,
    interrupted_copy,
    people,
    run,
    tables,
    write_people,
)
from tests.support.bank_people import SCHEMA, TRAIN, chance


def test_manifest_describes_the_run(source: Path, uninterrupted: Path) -> None:
    manifest = read_manifest(uninterrupted)
    assert manifest["finished"]
    assert manifest["config"]["settings"]["random_state"] == 0
    assert manifest["config"]["settings"]["n_costs"] == 20
    assert lw.Schema.from_yaml(manifest["schema"]) == SCHEMA
    assert manifest["input"]["rows"] == 48
    assert manifest["input"]["files"][0]["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert [part["people"] for part in manifest["parts"]] == [16, 16, 16]
    for part in manifest["parts"]:
        for name, file in part["files"].items():
            content = (uninterrupted / file["name"]).read_bytes()
            assert (file["bytes"], file["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
            assert file["rows"] == len(pd.read_parquet(uninterrupted / file["name"])), name
    assert manifest["totals"]["people"] == 48
    assert not (uninterrupted / "journal.jsonl").exists()


@pytest.mark.parametrize("keep", [0, 1, 2, 3])
def test_resumed_run_writes_the_same_files(source: Path, uninterrupted: Path, tmp_path: Path, keep: int) -> None:
    out = interrupted_copy(uninterrupted, tmp_path / "out", keep)
    (out / "people" / ".part-000001-abcd").write_bytes(b"half of a p")
    shutil.copy(uninterrupted / "people" / "part-000002.parquet", out / "people" / "part-000002.parquet")
    with (out / "journal.jsonl").open("a") as journal:
        journal.write('{"number": 9, "first": 144, "peo')  # a power cut
    run(fitted(), source, out, resume=True)
    assert checksums(out) == checksums(uninterrupted)


def test_missing_or_damaged_part_is_made_again(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = interrupted_copy(uninterrupted, tmp_path / "out", keep=3)
    (out / "people" / "part-000001.parquet").unlink()
    damaged = out / "options" / "part-000002.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    run(fitted(), source, out, resume=True)
    assert checksums(out) == checksums(uninterrupted)


@pytest.mark.parametrize("dedup", [False, True])
def test_damaged_parts_of_a_finished_run_are_made_again(source: Path, tmp_path: Path, dedup: bool) -> None:
    """Errors name them, and the same command with --resume makes them again, and no others."""
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
    assert checksums(out) == checksums(whole)
    assert (out / "people" / "part-000000.parquet").stat().st_mtime_ns == untouched


@pytest.mark.parametrize("killed", ["_remove_unfinished", "_write_json", "write"])
def test_kill_while_damaged_parts_are_made_again_loses_nothing(
    source: Path, uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """Before or after the manifest marks the run as unfinished again, whole parts are kept."""

    def kill(*_: Any) -> None:
        raise KeyboardInterrupt

    out = Path(shutil.copytree(uninterrupted, tmp_path / "out"))
    (out / "people" / "part-000001.parquet").unlink()
    untouched = (out / "people" / "part-000000.parquet").stat().st_mtime_ns
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, killed, kill)
        with pytest.raises(KeyboardInterrupt):
            run(fitted(), source, out, resume=True)
    run(fitted(), source, out, resume=True)
    assert checksums(out) == checksums(uninterrupted)
    assert (out / "people" / "part-000000.parquet").stat().st_mtime_ns == untouched


def test_finished_run_is_not_changed(source: Path, uninterrupted: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in uninterrupted.rglob("*.parquet")}
    result = run(fitted(), source, uninterrupted, resume=True)
    assert result.seconds == 0
    assert result.totals.people == 48
    assert before == {p: p.stat().st_mtime_ns for p in uninterrupted.rglob("*.parquet")}


def test_run_is_never_overwritten(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    before = checksums(uninterrupted)
    with pytest.raises(SettingError, match="holds a finished run"):
        run(fitted(), source, uninterrupted)
    assert checksums(uninterrupted) == before
    out = interrupted_copy(uninterrupted, tmp_path / "out")
    with pytest.raises(SettingError, match=r"interrupted.*--resume"):
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


@pytest.mark.parametrize("dedup", [False, True])
def test_run_without_parts_is_started_again(source: Path, uninterrupted: Path, tmp_path: Path, dedup: bool) -> None:
    """A wrong address is noticed when the folder is there already; the right one then needs no --resume."""
    out = tmp_path / "out"
    with pytest.raises(SettingError, match="no address"):
        run(fitted(), source, out, dedup=dedup, cluster="nowhere")
    assert read_manifest(out)["config"]["settings"]["budget"] == fitted().budget
    run(fitted(), source, out, dedup=dedup)
    assert read_manifest(out)["finished"]
    for found, wanted in zip(tables(out), tables(uninterrupted), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


def test_run_without_parts_may_be_replaced_by_another(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(SettingError, match="no address"):
        run(fitted(), source, out, dedup=True, cluster="nowhere")
    run(fitted(budget=26), source, out)
    assert read_manifest(out)["config"]["settings"]["budget"] == 26
    assert not (out / "duplicates").exists()


def test_solved_duplicate_groups_count_as_done(tmp_path: Path) -> None:
    """A run with deduplication has no part of its own until all groups are done."""
    inside = tmp_path / "duplicates"
    (inside / "people").mkdir(parents=True)
    assert nothing_done(tmp_path)
    for path, content in (
        (inside / "journal.jsonl", '{"number": 0, "people": 4}\n'),
        (inside / "people/part-0.parquet", ""),
    ):
        path.write_text(content)
        assert not nothing_done(tmp_path)
        path.unlink()


def contrary(frame: pd.DataFrame) -> Any:
    return 1.0 - chance(frame)


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
def test_changed_run_is_not_resumed(
    source: Path, uninterrupted: Path, tmp_path: Path, change: Any, message: str
) -> None:
    out = interrupted_copy(uninterrupted, tmp_path / "out")
    before = checksums(out)
    given = change()
    with pytest.raises(SettingError, match=message):
        run(given.pop("rec", None) or fitted(), source, out, resume=True, **given)
    assert checksums(out) == before


def shuffled() -> pd.DataFrame:
    """Return the training table with each column permuted: other rows, the same values per column."""
    draw = np.random.default_rng(5)
    return TRAIN.apply(lambda column: draw.permutation(column.to_numpy()))


@pytest.mark.parametrize("method", ["guided", "face-knn"])
def test_other_training_rows_are_not_resumed(source: Path, tmp_path: Path, method: str) -> None:
    """Methods learn from whole rows, so a folder must not mix plans learned from two tables."""
    out, rec = tmp_path / "out", fitted(method=method)
    run(rec, source, tmp_path / "whole")
    interrupted_copy(tmp_path / "whole", out)
    other = TRAIN.assign(job=TRAIN["job"].replace("cook", "clerk"))  # a category without an order
    for table in (shuffled(), other, TRAIN.head(239)):
        with pytest.raises(SettingError, match="the training table"):
            run(fitted(method=method).fit(table), source, out, resume=True)
    alike = TRAIN.set_axis([f"t{i}" for i in range(len(TRAIN))], axis=0).astype({"age": float, "job": "category"})
    run(fitted(method=method).fit(alike), source, out, resume=True)
    assert checksums(out) == checksums(tmp_path / "whole")


def test_order_of_training_rows_matters_only_to_methods_that_see_it(
    source: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    upside_down = TRAIN.iloc[::-1]
    out = interrupted_copy(uninterrupted, tmp_path / "out")
    run(fitted().fit(upside_down), source, out, resume=True)
    assert checksums(out) == checksums(uninterrupted)
    run(fitted(method="face-knn"), source, tmp_path / "face")
    with pytest.raises(SettingError, match="the training table"):
        run(fitted(method="face-knn").fit(upside_down), source, tmp_path / "face", resume=True)


def test_changed_people_are_not_resumed(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = interrupted_copy(uninterrupted, tmp_path / "out")
    changed = people()
    changed["age"] = changed["age"].where(changed.index != changed.index[40], 33)
    with pytest.raises(SettingError, match=r"'people\.parquet' was changed"):
        run(fitted(), write_people(tmp_path / "people.parquet", changed), out, resume=True)
    with pytest.raises(SettingError, match=r"has no file 'people\.parquet' any more; .* new file 'b\.parquet'"):
        run(fitted(), write_people(tmp_path / "b.parquet"), out, resume=True)


def test_folder_is_locked_against_a_second_run(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = interrupted_copy(uninterrupted, tmp_path / "out")
    manifest = {name: read_manifest(out)[name] for name in ("config", "input", "schema")}
    with (
        RunFolder.opened(out, manifest, resume=True),
        pytest.raises(SettingError, match="another run is writing"),
    ):
        run(fitted(), source, out, resume=True)
    run(fitted(), source, out, resume=True)
    check_each_person_once(out)


def test_run_killed_before_its_manifest_is_started_again(source: Path, tmp_path: Path) -> None:
    """A folder without a manifest counts as new."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "lock").touch()
    (tmp_path / "out" / ".manifest.json-1234").write_text("{")
    run(fitted(), source, tmp_path / "out")
    check_each_person_once(tmp_path / "out")


NO_PARTS = ["123", "null", '"x"', "[1, 2]", '{"number": 0}', '{"number": 0, "people": 16}']
NO_PARTS += ['{"number": 2, "first": 32, "people": 16, "files": {}, "totals": {}}']


@pytest.mark.parametrize("line", NO_PARTS)
def test_unusable_journal_lines_are_skipped(source: Path, uninterrupted: Path, tmp_path: Path, line: str) -> None:
    out = interrupted_copy(uninterrupted, tmp_path / "out")
    with (out / "journal.jsonl").open("a") as journal:
        journal.write(line + "\n")
    assert people_done(out)[1] == 48
    run(fitted(), source, out, resume=True)
    assert checksums(out) == checksums(uninterrupted)


def test_parts_without_a_journal_are_not_overwritten(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    """They are checked and kept or made again, but only with --resume."""
    out = interrupted_copy(uninterrupted, tmp_path / "out")
    (out / "journal.jsonl").unlink()
    before = checksums(out)
    with pytest.raises(SettingError, match=r"interrupted.*--resume"):
        run(fitted(), source, out)
    assert checksums(out) == before
    run(fitted(), source, out, resume=True)
    assert checksums(out) == checksums(uninterrupted)


def test_damaged_manifest_is_an_error(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = interrupted_copy(uninterrupted, tmp_path / "out")
    for content, message in (("{", "cannot read"), ('{"format": "x"}', "not the manifest"), ("[]", "not the manifest")):
        (out / "manifest.json").write_text(content)
        with pytest.raises(DataError, match=message):
            run(fitted(), source, out, resume=True)
    (out / "manifest.json").write_text('{"format": "leastways run", "version": 99}')
    with pytest.raises(DataError, match="version 99"):
        run(fitted(), source, out, resume=True)
    whole = read_manifest(uninterrupted)
    for name in ("config", "input", "schema", "parts", "totals"):
        (out / "manifest.json").write_text(json.dumps({key: value for key, value in whole.items() if key != name}))
        with pytest.raises(DataError, match=f"manifest.json' is damaged: it does not hold '{name}'"):
            run(fitted(), source, out, resume=True)
        with pytest.raises(DataError, match=f"does not hold '{name}'"):
            read_plans(out)


def test_kill_while_finishing_loses_nothing(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    """Neither during the manifest's draft, nor between the manifest and the removal of the journal."""
    early = interrupted_copy(uninterrupted, tmp_path / "early", keep=3)
    (early / ".manifest.json-12ab34cd").write_text('{"format": "leastw')
    (early / ".journal.jsonl-12ab34cd").write_text("{")
    late = Path(shutil.copytree(uninterrupted, tmp_path / "late"))
    (late / "journal.jsonl").write_text("".join(json.dumps(part) + "\n" for part in read_manifest(late)["parts"]))
    for out in (early, late):
        run(fitted(), source, out, resume=True)
        assert checksums(out) == checksums(uninterrupted)


def test_damaged_journal_lines_are_made_again(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = interrupted_copy(uninterrupted, tmp_path / "out", keep=3)
    lines = (out / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (out / "journal.jsonl").write_bytes(lines[0] + b"\0" * 40 + b"\n" + lines[2])
    assert people_done(out) == (32, 48)
    run(fitted(), source, out, resume=True)
    assert checksums(out) == checksums(uninterrupted)


def test_other_files_in_the_folder_are_kept(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = interrupted_copy(uninterrupted, tmp_path / "out")
    (out / "people" / "notes.txt").write_text("checked until part 0")
    (out / "people" / "copies").mkdir()
    (out / "audit").mkdir()
    (out / "audit" / "audit.json").write_text("{}")
    run(fitted(), source, out, resume=True)
    assert (out / "people" / "notes.txt").read_text() == "checked until part 0"
    assert (out / "people" / "copies").is_dir()
    assert (out / "audit" / "audit.json").exists()
    found = checksums(out)
    assert {name: found[name] for name in checksums(uninterrupted)} == checksums(uninterrupted)


def test_run_that_another_finished_meanwhile_is_not_changed(
    source: Path, uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is read once it is locked, so that a run finished by another process is recognised."""
    out = interrupted_copy(uninterrupted, tmp_path / "out")
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
    assert checksums(out) == checksums(uninterrupted)


def file_of(path: Path) -> str:
    """Return which file of a run folder a path or its draft is."""
    name = path.name.lstrip(".")
    return "part" if name.startswith("part-") else name.rsplit("-", 1)[0]


def test_part_is_on_the_disk_before_it_is_in_the_journal(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content is flushed first, then the name, then the line of the journal."""
    done: list[str] = []
    to_disk, folder_to_disk, replace = folder._to_disk, folder._folder_to_disk, Path.replace

    def content(stream: Any) -> None:
        done.append(f"sync {file_of(Path(stream.name))}")
        to_disk(stream)

    def names(path: Path) -> None:
        done.append(f"names of {path.name}")
        folder_to_disk(path)

    def rename(draft: Path, target: Path) -> Path:
        done.append(f"rename to {file_of(target)}")
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


def test_file_system_without_locks_is_warned_about(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def flock(*_: Any) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.warns(RuntimeWarning, match="cannot be locked"):
        run(fitted(), source, tmp_path / "out")
    check_each_person_once(tmp_path / "out")
