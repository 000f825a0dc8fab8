"""`leastways study create`, `collect` and `analyse`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import leastways as lw
from leastways.study import Study
from tests.support import study_answers
from tests.support.command_line import document, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plans of two methods, and the training table."""
    place = tmp_path_factory.mktemp("plans")
    for method in ("guided", "random"):
        study_answers.plans(method).to_json(place / f"{method}.json")
    study_answers.credit()[0].train.to_csv(place / "train.csv", index=False)
    return place


def create(folder: Path, out: Path, *more: object) -> Study:
    result = run("study", "create", folder / "guided.json", folder / "random.json", "--out", out, *more)
    assert result.exit_code == 0, result.stderr
    return Study.read(out)


def answer(study: Study, place: Path) -> Path:
    offered = {method: study_answers.plans(method) for method in ("guided", "random")}
    return study_answers.answered(study, offered, place)


def test_study_can_be_created_collected_and_analysed(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("statsmodels")
    study = create(
        folder, tmp_path / "study", "--data", folder / "train.csv", "--annotators", "ann,bob,cy", "--seed", 3
    )
    assert study.methods == ("guided", "random")
    assert study.annotators == ("ann", "bob", "cy")
    page = study.form("ann").read_text()
    assert "What this person would change" in page
    assert "guided" not in page
    done = run("study", "collect", study.folder, answer(study, tmp_path / "in"))
    assert done.exit_code == 0
    assert f"{9 * len(study.people)} answers kept, 0 missing." in done.stdout
    result = run("study", "analyse", study.folder)
    assert result.exit_code == 0
    assert "guided is preferred to random" in result.stdout
    assert "Fleiss' kappa" in result.stdout
    said = document(run("study", "analyse", study.folder, "--json"))
    assert said["preference"]["p_value"] < 0.01
    assert said["preferred"]["guided"]["of"] == len(study.people)
    written = {Path(name).name for name in said["files"]}
    assert "result.md" in written
    assert all(Path(name).is_file() for name in said["files"])


def test_create_as_json_lists_the_forms(folder: Path, tmp_path: Path) -> None:
    more = ["--names", "a b", "c", "--people", "7", "--annotators", "4", "--per-item", "2", "--options", "2"]
    out = tmp_path / "study"
    said = document(run("study", "create", folder / "guided.json", folder / "random.json", "-o", out, *more, "--json"))
    assert said["methods"] == ["a b", "c"]
    assert said["people"] == 7
    assert sorted(said["annotators"].values()) == [3, 3, 4, 4]
    assert [Path(form).is_file() for form in said["forms"]] == [True] * 4
    assert said["id"] == Study.read(out).id


def test_profiles_of_a_file_are_shown_in_forms(folder: Path, tmp_path: Path) -> None:
    label = study_answers.plans().summary.index[0]
    file = tmp_path / "profiles.json"
    said = {"scores": {"savings": 0.6, "job": 0.4}, "ranges": {"savings": {"max": 20000}, "job": ["office"]}}
    file.write_text(json.dumps({str(label): said, "somebody else": said}))
    study = create(folder, tmp_path / "study", "--profiles", file)
    assert list(study.people.values()) == [label]
    assert study.left_out == {"no profile is known": study_answers.N_PEOPLE - 1}
    page = study.form("annotator-1").read_text()
    assert "at most 20,000 €" in page
    assert "only office" in page


@pytest.mark.parametrize(
    ("content", "match"),
    [("{", "cannot read profiles"), ("[]", "must hold an object"), ('{"1": {"score": {}}}', "Did you mean 'scores'?")],
)
def test_bad_profiles_are_refused(folder: Path, tmp_path: Path, content: str, match: str) -> None:
    (tmp_path / "p.json").write_text(content)
    plans = [folder / "guided.json", folder / "random.json"]
    result = run("study", "create", *plans, "--out", tmp_path / "s", "--profiles", tmp_path / "p.json")
    assert result.exit_code == 2
    assert match in result.stderr
    both = ["--profiles", tmp_path / "p.json", "--data", folder / "train.csv"]
    assert "use one of the two" in run("study", "create", *plans, "--out", tmp_path / "s", *both).stderr


def test_another_study_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    study = create(folder, tmp_path / "study", "--people", 5)
    create(folder, tmp_path / "study", "--people", 5)
    plans = [folder / "guided.json", folder / "random.json"]
    result = run("study", "create", *plans, "--out", study.folder, "--people", "6", "--json")
    assert result.exit_code == 2
    assert "holds another study" in document(result)["error"]["message"]
    assert Study.read(study.folder) == study


def test_problems_are_shown_and_counted(folder: Path, tmp_path: Path) -> None:
    study = create(folder, tmp_path / "study", "--people", 5)
    files = answer(study, tmp_path / "in")
    (files / "answers-annotator-2.json").write_text("{")
    (files / "[red]notes.json").write_text("[]")
    result = run("study", "collect", study.folder, files, files / "nowhere.json")
    assert result.exit_code == 4
    for words in ("answers-annotator-2.json", "[red]notes.json", "nowhere.json", "30 answers kept, 15 missing"):
        assert words in result.stdout
    assert "3 unreadable file, 1 missing" in result.stderr
    said = document(run("study", "collect", study.folder, files, "--json"))
    assert said["counts"] == {"unreadable file": 2, "missing": 1}
    assert said["complete"] is False
    assert (study.folder / "answers.csv").is_file()
    assert (study.folder / "problems.csv").read_text().count("\n") == 4


def test_commands_in_the_wrong_order_name_the_missing_one(folder: Path, tmp_path: Path) -> None:
    assert "study create" in run("study", "collect", tmp_path, tmp_path).stderr
    study = create(folder, tmp_path / "study", "--people", 5)
    result = run("study", "analyse", study.folder)
    assert result.exit_code == 2
    assert "`leastways study collect` makes it" in result.stderr
    assert "no files are given" in run("study", "collect", study.folder).stderr
    run("study", "collect", study.folder, tmp_path / "nothing.json")
    assert "no usable answer" in run("study", "analyse", study.folder).stderr
    assert "there is no folder" in run("study", "analyse", study.folder, "--out", tmp_path / "no").stderr


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (",yes,", ",perhaps,", "answer 'perhaps' is not of this study"),
        ("item-1,", "item-9,", "item 'item-9'"),
        (",preferred,,", ",preferred,,x", "answer 'x"),
        (",preferred,", ",liked,", "question 'liked'"),
        (",reasonable,", ",reasonable,x", "about 'x"),
        ("\nannotator-1,", "\nannotator-9,", "annotator 'annotator-9'"),
        ("annotator,", "who,", "other columns"),
    ],
)
def test_a_changed_answer_table_is_refused(folder: Path, tmp_path: Path, old: str, new: str, match: str) -> None:
    study = create(folder, tmp_path / "study", "--people", 3)
    run("study", "collect", study.folder, answer(study, tmp_path / "in"))
    table = study.folder / "answers.csv"
    text = table.read_text()
    assert old in text
    table.write_text(text.replace(old, new, 1))
    result = run("study", "analyse", study.folder)
    assert result.exit_code == 2
    assert match in result.stderr
    last = text.splitlines()[-1]
    other = last.replace(",yes,", ",no,") if ",yes," in last else last.replace(",no,", ",yes,")
    assert other != last
    for again in (last, other):
        table.write_text(f"{text}{again}\n")
        assert "holds an answer twice" in run("study", "analyse", study.folder).stderr


def test_plans_of_different_schemas_are_refused(folder: Path, tmp_path: Path) -> None:
    other = study_answers.plans().schema.update(savings={"unit": "EUR"})
    held = study_answers.plans()
    plans = lw.RecoursePlans(other, held.people, held.summary, held.options, held.failed_rows, held.settings)
    plans.to_json(tmp_path / "other.json")
    result = run("study", "create", folder / "guided.json", tmp_path / "other.json", "--out", tmp_path / "s")
    assert result.exit_code == 2
    assert "different schemas" in result.stderr
