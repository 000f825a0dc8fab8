"""`leastways audit`: from plans on disk to a report, and what it says of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import leastways as lw
from leastways.audit import Audit
from tests.support.command_line import document, run

QUICK = ["--bootstraps", "40", "--permutations", "40", "--min-group", "5"]
MODEL = "import leastways as lw\nmodel = lw.datasets.load_credit().model\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plans of thirty refused people, the training table, and attributes that the model does not see."""
    place = tmp_path_factory.mktemp("audit")
    credit = lw.datasets.load_credit(n=600)
    assert credit.model is not None
    people = credit.people[credit.model(credit.people) < 0.5].head(30)
    recourse = lw.Recourse(credit.model, credit.schema(), n_options=2, budget=40, n_costs=20).fit(credit.train)
    recourse.recommend(people).to_json(place / "plans.json")
    credit.train.to_csv(place / "train.csv", index=False)
    origin = pd.DataFrame({"customer": people.index, "origin": ["north", "south", "north"] * 10})
    origin.iloc[::-1].to_csv(place / "origin.csv", index=False)
    (place / "judge_of_loans.py").write_text(MODEL)
    return place


def test_audit_writes_all_figures_and_a_report(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    wide = pd.read_csv(folder / "train.csv").assign(customer="c")  # of no use to costs, and in nobody's way
    wide.to_csv(tmp_path / "wide.csv", index=False)
    more = ["--by", "sex", "--by", "age:40", "--data", tmp_path / "wide.csv", "--model", "judge_of_loans:model"]
    more += ["--seeds", "2", "--oracle-rows", "150", "--reference", "sex=male", "--title", "Loans"]
    result = run("audit", folder / "plans.json", "-o", tmp_path / "report", *QUICK, *more)
    assert result.exit_code == 0, result.stderr
    held = Audit.from_json(tmp_path / "report" / "audit.json")
    assert result.stdout.startswith(held.to_text())
    assert held.settings["references"]["sex"] == "male"
    assert held.settings["truths"] == 2
    assert held.oracle is not None
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "<h1>Loans</h1>" in page
    assert "Written to" in result.stdout
    plans = lw.RecoursePlans.from_json(folder / "plans.json")
    train = pd.read_csv(folder / "train.csv")
    hidden = [lw.simulate_people(plans.people, plans.schema, train, random_state=seed) for seed in (0, 1)]
    mean = sum(lw.evaluate(plans, t)["Cov"].iloc[0] for t in hidden) / 2
    assert 100 * held.overall["coverage"].iloc[0] == pytest.approx(mean)


def test_attributes_in_a_file_of_their_own_are_joined_by_label(folder: Path, tmp_path: Path) -> None:
    more = ["--by", "origin", "--groups", folder / "origin.csv", "--index", "customer", "--json"]
    said = document(run("audit", folder / "plans.json", "-o", tmp_path / "r", *QUICK, *more))
    assert [(g["group"], g["refused"]) for g in said["groups"]] == [("north", 20), ("south", 10)]
    assert all(Path(name).is_file() for name in said["files"])
    assert any("no curve" in text for text in said["warnings"])
    assert {"ratio", "low", "high", "p_adjusted", "note"} <= set(said["ratios"][0])


def test_a_report_is_replaced_only_with_force(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    result = run("audit", folder / "plans.json", "--by", "sex", "-o", tmp_path, *QUICK)
    assert result.exit_code == 2
    assert "not empty; --force" in result.stderr
    assert run("audit", folder / "plans.json", "--by", "sex", "-o", tmp_path, *QUICK, "--force").exit_code == 0
    assert (tmp_path / "mine.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--by", "sx"], "no column 'sx'; there are: 'age', 'sex'"),
        (["--by", "age:x"], "bins are rising numbers"),
        (["--by", "sex", "--reference", "sex"], "write COLUMN=GROUP"),
        (["--by", "sex", "--reference", "sex=men"], "has no group 'men'"),
        (["--by", "sex", "--reference", "sex=male", "--reference", "sex=female"], "names a column twice: 'sex'"),
        (["--by", "sex", "--by", "sex"], "names a column twice: 'sex'"),
        (["--by", "sex", "--model", "m:m"], "--model needs --data"),
        (["--by", "sex", "--data", "nowhere.csv"], "no file 'nowhere.csv'"),
        (["--by", "origin", "--groups", "{folder}/origin.csv"], "who are in the plans. Name the column"),
        (["--by", "origin", "--groups", "{folder}/origin.csv", "--index", "custmer"], "Did you mean 'customer'"),
        (["--by", "sex", "-o", "{folder}/plans.json"], "is a file"),
        (["--by", "sex", "-o", "{folder}/no/where"], "no folder"),
    ],
)
def test_bad_options_are_named(folder: Path, tmp_path: Path, more: list[str], words: str) -> None:
    filled = [text.format(folder=folder) for text in more]
    result = run("audit", folder / "plans.json", "-o", tmp_path / "r", *QUICK, *filled)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (tmp_path / "r").exists()


def test_repeated_people_among_attributes_are_named(folder: Path, tmp_path: Path) -> None:
    table = pd.read_csv(folder / "origin.csv")
    pd.concat([table, table.tail(2)]).to_csv(tmp_path / "twice.csv", index=False)
    more = ["--by", "origin", "--groups", tmp_path / "twice.csv", "--index", "customer"]
    result = run("audit", folder / "plans.json", "-o", tmp_path / "r", *QUICK, *more)
    assert result.exit_code == 2
    labels = sorted(map(str, table["customer"].tail(2)))
    assert f"twice or more: {labels[0]!r}, {labels[1]!r}." in result.stderr


def test_a_file_without_plans_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"a": 1}))
    result = run("audit", tmp_path / "x.json", "--by", "sex", "-o", tmp_path / "r", "--json")
    assert result.exit_code == 2
    assert document(result)["error"]["kind"] == "DataError"
