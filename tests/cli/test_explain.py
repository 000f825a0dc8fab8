"""`leastways explain`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import leastways as lw
from tests.cli.bank import document, recommend, run


@pytest.fixture
def plans(bank: Path, tmp_path: Path) -> Path:
    recommend(bank, tmp_path / "plans.json")
    return tmp_path / "plans.json"


def test_in_words(plans: Path) -> None:
    held = lw.RecoursePlans.from_json(plans)
    label = held.summary.index[0]
    result = run("explain", plans, "--person", label)
    assert result.exit_code == 0
    assert result.stdout == held[label].to_text() + "\n"


def test_as_json(plans: Path) -> None:
    held = lw.RecoursePlans.from_json(plans)
    plan = held[held.summary.index[1]]
    said = document(run("explain", plans, "-p", plan.person, "--json"))
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


def test_somebody_unknown(plans: Path) -> None:
    label = lw.RecoursePlans.from_json(plans).summary.index[0]
    result = run("explain", plans, "--person", f"{label}0")
    assert result.exit_code == 2
    assert f"Did you mean {label}?" in result.stderr
    assert document(run("explain", plans, "--person", "x", "--json"))["error"]["kind"] == "DataError"


def test_labels_that_are_text_and_look_like_markup(bank: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(bank / "people.csv")[:3]
    rows.assign(id=["[red]Ada[/red]", "007", "Bo"]).to_csv(tmp_path / "named.csv", index=False)
    recommend(bank, tmp_path / "p.json", "--index", "id", people=str(tmp_path / "named.csv"))
    assert "Person [red]Ada[/red]:" in run("explain", tmp_path / "p.json", "--person", "[red]Ada[/red]").stdout
    assert run("explain", tmp_path / "p.json", "--person", "007").exit_code == 0
    assert run("explain", tmp_path / "p.json", "--person", "7").exit_code == 2


def test_a_row_that_could_not_be_used(bank: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(bank / "people.csv", dtype=str)[:3]
    rows.loc[0, "age"] = ""
    rows.to_csv(tmp_path / "odd.csv", index=False)
    recommend(bank, tmp_path / "p.json", "--index", "id", people=str(tmp_path / "odd.csv"))
    said = document(run("explain", tmp_path / "p.json", "--person", rows["id"][0], "--json"))
    assert said["status"] == "invalid_input"
    assert said["state"]["age"] is None
    assert said["probability"] is None


@pytest.mark.parametrize("text", [None, "", "{}", "[1]", "no json"])
def test_what_are_no_plans(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "other.json"
    if text is not None:
        file.write_text(text)
    result = run("explain", file, "--person", "1")
    assert result.exit_code == 2
    assert "other.json" in result.stderr


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("command", [["explain", "--person", "1"], ["audit", "--by", "age", "-o", "report"]])
def test_a_table_of_options_is_not_enough(bank: Path, tmp_path: Path, ending: str, command: list[str]) -> None:
    out = tmp_path / f"plans{ending}"
    recommend(bank, out)
    result = run(command[0], out, *command[1:])
    assert result.exit_code == 2
    assert f"{command[0]} reads the .json that recommend wrote (or its folder)" in result.stderr
    missing = run(command[0], tmp_path / f"nothing{ending}", *command[1:])
    assert "there is no file" in missing.stderr


def test_the_nearest_miss(bank: Path, tmp_path: Path) -> None:
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


def test_no_nearest_miss_is_null(plans: Path) -> None:
    label = lw.RecoursePlans.from_json(plans).summary.index[0]
    assert document(run("explain", plans, "-p", label, "--json"))["nearest_miss"] is None
