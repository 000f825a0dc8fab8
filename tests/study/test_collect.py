"""Answers that come back: what is good is kept and unblinded, everything else is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from experiments.study import document

from leastways.errors import SettingError
from leastways.study import Collected, Study, collect_answers
from tests.study.test_create import NAMES, make
from tests.support.study_answers import save

FULL = {"prefer": "A", "reasonable_A": "yes", "reasonable_B": "no"}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return make(tmp_path / "study", annotators=["ann", "bob"], per_item=2)


def full(study: Study, who: str, **changes: Any) -> list[dict[str, Any]]:
    return [{"item": item, **FULL, **changes} for item in study.tasks[who]]


def kinds(collected: Collected) -> list[str]:
    return [str(kind) for kind in collected.problems["problem"]]


def test_complete_answers_are_unblinded(study: Study, tmp_path: Path) -> None:
    paths = [save(study, who, full(study, who), tmp_path / "in") for who in ("bob", "ann")]
    collected = collect_answers(study, paths)
    assert collected.complete
    assert collected.problems.empty
    assert collected.n_missing == 0
    table = collected.answers
    assert len(table) == 12
    for row in table.to_dict("records"):
        shown_a = study.shown_first[row["annotator"]][row["item"]]
        if row["question"] == "preferred":
            assert (row["answer"], row["shown_as"], row["about"]) == (shown_a, "A", "")
        else:
            assert (row["about"] == shown_a) == (row["answer"] == "yes") == (row["shown_as"] == "A")
        assert row["person"] == study.people[row["item"]]
    assert set(table["answer"]) - {"yes", "no"} <= set(NAMES)
    backwards = collect_answers(tmp_path / "study", paths[::-1])
    assert backwards.answers.equals(table)


def test_no_preference_is_kept_as_an_answer(study: Study, tmp_path: Path) -> None:
    table = collect_answers(study, save(study, "ann", full(study, "ann", prefer="none"), tmp_path / "in")).answers
    assert set(table.loc[table["question"] == "preferred", "answer"]) == {"no preference"}


def test_missing_answers_are_reported(study: Study, tmp_path: Path) -> None:
    answers = full(study, "ann")
    answers[0] |= {"prefer": None}
    collected = collect_answers(study, save(study, "ann", answers[:1], tmp_path / "in"))
    assert not collected.complete
    assert kinds(collected) == ["missing"] * 3
    one, other, silent = collected.problems.to_dict("records")
    assert (one["item"], one["detail"]) == (answers[0]["item"], "no usable answer: which set.")
    assert (other["item"], other["detail"].count(",")) == (answers[1]["item"], 2)
    assert (silent["annotator"], silent["detail"]) == ("bob", "no usable answer to any of 2 items.")
    assert collected.n_missing == 10
    assert len(collected.answers) == 2


def test_repeated_answers_are_used_once(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    save(study, "ann", full(study, "ann"), folder)
    save(study, "bob", full(study, "bob"), folder)
    save(study, "bob", full(study, "bob")[:1], folder, "answers-bob (1).json")
    collected = collect_answers(study, folder)
    assert kinds(collected) == ["repeated"]
    assert collected.complete  # nothing is lost
    assert collected.problems["file"].iloc[0] == "answers-bob (1).json; answers-bob.json"
    assert len(collected.answers) == 12


def test_contradicting_answers_are_not_used(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for who in ("ann", "bob"):
        save(study, who, full(study, who), folder)
    item = study.tasks["bob"][0]
    save(study, "bob", [{"item": item, **FULL, "prefer": "B"}], folder, "later.json")
    collected = collect_answers(study, folder)
    assert kinds(collected) == ["contradiction", "repeated", "missing"]
    clash = collected.problems.iloc[0]
    assert clash["file"] == "answers-bob.json; later.json"
    assert clash["detail"] == "which set: answered A and B; none of them is used."
    assert "see the contradiction" in collected.problems["detail"].iloc[2]
    assert not collected.complete
    kept = collected.answers[(collected.answers["annotator"] == "bob") & (collected.answers["item"] == item)]
    assert kept["question"].tolist() == ["reasonable", "reasonable"]
    assert collected.n_missing == 1


def test_repetitions_within_one_file_are_reported(study: Study, tmp_path: Path) -> None:
    answers = full(study, "ann")
    collected = collect_answers(study, save(study, "ann", [*answers, answers[0] | {"prefer": "B"}], tmp_path / "in"))
    assert kinds(collected)[:2] == ["contradiction", "repeated"]


@pytest.mark.parametrize(
    ("change", "kind", "detail"),
    [
        ({"study": "other"}, "other study", "belongs to study 'other'"),
        ({"annotator": "anne"}, "unknown annotator", "Did you mean 'ann'?"),
        ({"annotator": None}, "unknown annotator", "'None' is not an annotator"),
        ({"form": "0" * 64}, "other form", "differs from the one made for 'ann'"),
        ({"format": "x"}, "unreadable file", "does not hold the answers"),
        ({"version": 2}, "unreadable file", "version 2"),
        ({"answers": {}}, "unreadable file", "no list of answers"),
    ],
)
def test_foreign_files_are_reported_and_not_used(
    study: Study, tmp_path: Path, change: dict[str, Any], kind: str, detail: str
) -> None:
    good = save(study, "bob", full(study, "bob"), tmp_path)
    bad = tmp_path / "strange.json"
    bad.write_text(json.dumps(document(study, "ann", full(study, "ann")) | change))
    collected = collect_answers(study, [bad, good])
    assert kinds(collected) == [kind, "missing"]
    assert collected.problems["file"].iloc[0] == "strange.json"
    assert detail in collected.problems["detail"].iloc[0]
    assert len(collected.answers) == 6
    assert not collected.complete


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"3", b"\xff\xfe\x00", b'{"format": 1}', None])
def test_unreadable_files_are_reported(study: Study, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "broken.json"
    if content is not None:
        path.write_bytes(content)
    collected = collect_answers(study, path)
    assert kinds(collected) == ["unreadable file", "missing", "missing"]
    assert collected.problems["file"].iloc[0] == "broken.json"


@pytest.mark.parametrize(
    ("content", "detail"), [("[" * 200_000, "nested too deeply"), ('{"form": 1, "form": 2}', "key 'form' occurs twice")]
)
def test_malformed_json_does_not_affect_other_files(study: Study, tmp_path: Path, content: str, detail: str) -> None:
    good = save(study, "bob", full(study, "bob"), tmp_path)
    (tmp_path / "broken.json").write_text(content)
    collected = collect_answers(study, [tmp_path / "broken.json", good])
    assert kinds(collected) == ["unreadable file", "missing"]
    assert detail in collected.problems["detail"].iloc[0]
    assert len(collected.answers) == 6


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"item": "item-77", **FULL}, "unknown item"),
        ({"item": 3, **FULL}, "bad answer"),
        ("A", "bad answer"),
        ({"item": "item-1", "prefer": "C"}, "bad answer"),
        ({"item": "item-1", "prefer": ["A"]}, "bad answer"),
        ({"item": "item-1", "reasonable_A": True}, "bad answer"),
    ],
)
def test_invalid_entries_are_reported(study: Study, tmp_path: Path, entry: object, kind: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(json.dumps(document(study, "ann", [*full(study, "ann"), entry])))  # type: ignore[list-item]
    collected = collect_answers(study, path)
    assert kinds(collected) == [kind, "missing"]
    assert len(collected.answers) == 6
    assert not collected.complete


def test_item_of_another_annotator_is_reported(tmp_path: Path) -> None:
    study = make(tmp_path / "study", annotators=["ann", "bob"], per_item=1)
    other = study.tasks["bob"][0]
    collected = collect_answers(study, save(study, "ann", [{"item": other, **FULL}], tmp_path / "in"))
    assert "was not given to this annotator" in collected.problems["detail"].iloc[0]


def test_tables_are_written_and_read_back(study: Study, tmp_path: Path) -> None:
    save(study, "ann", full(study, "ann"), tmp_path / "study" / "answers")
    collected = collect_answers(tmp_path / "study")  # the folder beside the forms
    answers, problems = (pd.read_csv(path, keep_default_na=False) for path in collected.write())
    assert answers.astype(str).equals(collected.answers.astype(str))
    assert problems.equals(collected.problems)


def test_files_with_equal_names_are_named_by_path(study: Study, tmp_path: Path) -> None:
    paths = [save(study, "ann", full(study, "ann"), tmp_path / day) for day in ("monday", "tuesday")]
    where = collect_answers(study, paths).problems["file"].iloc[0]
    assert where == f"{paths[0]}; {paths[1]}"


def test_missing_files_are_an_error(study: Study) -> None:
    with pytest.raises(SettingError, match="no files are given"):
        collect_answers(study)
    assert kinds(collect_answers(study, [])) == ["missing", "missing"]
