"""`leastways explain`, and the files of plans."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import leastways as lw
from leastways.cli.plans import _with_one_type_per_column
from tests.support.command_line import document, recommend, run


def test_explain_prints_the_text_of_the_plan(plans_file: Path) -> None:
    held = lw.RecoursePlans.from_json(plans_file)
    label = held.summary.index[0]
    result = run("explain", plans_file, "--person", label)
    assert result.exit_code == 0
    assert result.stdout == held[label].to_text() + "\n"


def test_explain_prints_the_plan_as_json(plans_file: Path) -> None:
    held = lw.RecoursePlans.from_json(plans_file)
    plan = held[held.summary.index[1]]
    said = document(run("explain", plans_file, "-p", plan.person, "--json"))
    assert said["person"] == plan.person
    assert said["status"] == "found"
    assert len(said["options"]) == len(plan.options)
    change = said["options"][0]["changes"][0]
    assert change == {
        "feature": plan.options[0].changes[0].feature,
        "from": plan.options[0].changes[0].before,
        "to": plan.options[0].changes[0].after,
        "text": plan.options[0].changes[0].text,
    }


def test_an_unknown_person_is_named_with_the_nearest(plans_file: Path) -> None:
    label = lw.RecoursePlans.from_json(plans_file).summary.index[0]
    result = run("explain", plans_file, "--person", f"{label}0")
    assert result.exit_code == 2
    assert f"Did you mean {label}?" in result.stderr
    assert document(run("explain", plans_file, "--person", "x", "--json"))["error"]["kind"] == "DataError"


def test_labels_are_text_and_not_markup(bank: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(bank / "people.csv")[:3]
    rows.assign(id=["[red]Ada[/red]", "007", "Bo"]).to_csv(tmp_path / "named.csv", index=False)
    recommend(bank, tmp_path / "p.json", "--index", "id", people=str(tmp_path / "named.csv"))
    assert "Person [red]Ada[/red]:" in run("explain", tmp_path / "p.json", "--person", "[red]Ada[/red]").stdout
    assert run("explain", tmp_path / "p.json", "--person", "007").exit_code == 0
    assert run("explain", tmp_path / "p.json", "--person", "7").exit_code == 2


def test_an_unusable_row_has_no_probability(bank: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(bank / "people.csv", dtype=str)[:3]
    rows.loc[0, "age"] = ""
    rows.to_csv(tmp_path / "odd.csv", index=False)
    recommend(bank, tmp_path / "p.json", "--index", "id", people=str(tmp_path / "odd.csv"))
    said = document(run("explain", tmp_path / "p.json", "--person", rows["id"][0], "--json"))
    assert said["status"] == "invalid_input"
    assert said["state"]["age"] is None
    assert said["probability"] is None


@pytest.mark.parametrize("text", [None, "", "{}", "[1]", "no json"])
def test_files_without_plans_are_refused(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "other.json"
    if text is not None:
        file.write_text(text)
    result = run("explain", file, "--person", "1")
    assert result.exit_code == 2
    assert "other.json" in result.stderr


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("command", [["explain", "--person", "1"], ["audit", "--by", "age", "-o", "report"]])
def test_tables_of_options_are_refused(bank: Path, tmp_path: Path, ending: str, command: list[str]) -> None:
    out = tmp_path / f"plans{ending}"
    recommend(bank, out)
    result = run(command[0], out, *command[1:])
    assert result.exit_code == 2
    assert f"{command[0]} reads the .json that recommend wrote (or its folder)" in result.stderr
    missing = run(command[0], tmp_path / f"nothing{ending}", *command[1:])
    assert "there is no file" in missing.stderr


def test_json_holds_the_nearest_miss(bank: Path, tmp_path: Path) -> None:
    recommend(bank, tmp_path / "p.json", "--threshold", "1.0", "--range", "age=18:30", "--range", "hours-week=10:30")
    held = lw.RecoursePlans.from_json(tmp_path / "p.json")
    plan = next(plan for plan in held if plan.nearest_miss is not None)
    assert plan.nearest_miss is not None
    said = document(run("explain", tmp_path / "p.json", "-p", plan.person, "--json"))
    assert said["options"] == []
    assert said["nearest_miss"] == {
        "changes": [
            {"feature": c.feature, "from": c.before, "to": c.after, "text": c.text} for c in plan.nearest_miss.changes
        ],
        "probability": plan.nearest_miss.probability,
    }


def test_without_a_nearest_miss_json_holds_null(plans_file: Path) -> None:
    label = lw.RecoursePlans.from_json(plans_file).summary.index[0]
    assert document(run("explain", plans_file, "-p", label, "--json"))["nearest_miss"] is None


def test_columns_of_mixed_types_become_text_for_parquet(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1, 2.5, 3], "b": [1, "x", None], "c": [True, None, False]}, dtype=object)
    made = _with_one_type_per_column(table)
    assert made["b"].tolist()[:2] == ["1", "x"]
    assert made["b"].isna().tolist() == [False, False, True]
    assert made["c"].tolist() == [True, None, False]
    made.to_parquet(tmp_path / "t.parquet")
    assert len(pd.read_parquet(tmp_path / "t.parquet")) == 3
