"""`leastways recommend`: files in, plans out."""

from __future__ import annotations

from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from typer.main import get_command

import leastways as lw
from leastways.cli import app
from tests.support.command_line import document, recommend, run, table
from tests.support.job_table import NUMBERS, TEXT, pipeline


def test_json_output_holds_all_plans(bank: Path, tmp_path: Path) -> None:
    result = recommend(bank, tmp_path / "plans.json")
    assert result.exit_code == 0
    plans = lw.RecoursePlans.from_json(tmp_path / "plans.json")
    assert len(plans) == 12
    assert plans.summary.index.name == "id"
    assert set(plans.summary["status"]) == {"found"}
    assert plans.settings["n_options"] == 3
    assert "All people" in result.stdout
    assert str(tmp_path / "plans.json") in result.stdout.replace("\n", "")


def test_certificates_are_written_and_explained(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.json"
    assert recommend(bank, out, "--certify").exit_code == 0
    certificates = lw.RecoursePlans.from_json(out).certificates
    assert len(certificates) == 12
    assert (certificates["bound"] <= certificates["objective"]).all()
    person = str(certificates.index[0])
    assert "No set of options could cost less than" in run("explain", out, "--person", person).stdout
    said = document(run("explain", out, "--person", person, "--json"))
    assert said["certificate"]["bound"] == certificates["bound"].iloc[0]


@pytest.mark.parametrize("name", ["plans.csv", "plans.parquet"])
def test_certificates_need_a_file_that_can_hold_them(bank: Path, tmp_path: Path, name: str) -> None:
    result = recommend(bank, tmp_path / name, "--certify")
    assert result.exit_code == 2
    assert "--certify does not go with --out" in result.stderr
    assert "a .json file, or add --report FILE.html" in result.stderr
    assert not list(tmp_path.iterdir())
    pd.read_csv(bank / "people.csv").head(3).to_csv(tmp_path / "few.csv", index=False)
    more = ["--index", "id", "--certify", "--report", tmp_path / "r.html"]
    assert recommend(bank, tmp_path / name, *more, people=str(tmp_path / "few.csv")).exit_code == 0
    assert "No set of options could cost less than" in (tmp_path / "r.html").read_text()


def test_an_unedited_schema_is_noted(bank: Path, tmp_path: Path) -> None:
    run("schema", "infer", bank / "train.csv", "-t", "approved", "-o", tmp_path / "raw.yaml")
    said = "raw.yaml' every feature may move either way, as `leastways schema infer` leaves it. Edit it: age, sex"
    result = recommend(bank, tmp_path / "p.json", "--json", schema=str(tmp_path / "raw.yaml"))
    assert said in result.stderr
    assert document(result)["summary"]["statuses"] == {"found": 12}
    for more in ([], ["--editable", "hours-week"]):
        files = {"schema": str(tmp_path / "raw.yaml")} if more else {}
        assert "either way" not in recommend(bank, tmp_path / "p.json", "--force", *more, **files).stderr


@pytest.mark.parametrize("command", ["recommend", "demo"])
def test_defaults_are_those_of_the_library(command: str) -> None:
    """Options left out on the command line have Python's defaults; the demo has its own."""
    library = {name: p.default for name, p in signature(lw.Recourse).parameters.items()}
    names = {"options": "n_options", "costs": "n_costs", "distribution": "costs", "seed": "random_state"}
    own = {"target"} if command == "recommend" else {"options"}  # a label comes as text, a menu of six fits a screen
    said = {p.name: p.default for p in get_command(app).commands[command].params}  # type: ignore[attr-defined]
    shared = {name: value for name, value in said.items() if names.get(name, name) in library and name not in own}
    shared = {name: value for name, value in shared.items() if name not in ("model", "schema")}
    assert {"budget", "seed"} <= set(shared)
    assert shared == {name: library[names.get(name, name)] for name in shared}


def test_the_objective_changes_the_options(bank: Path, tmp_path: Path) -> None:
    """Chosen for satisfaction, at least as many cost functions find an option below the bar as chosen for EMC."""
    low = ["--satisfied-below", 0.1]
    assert recommend(bank, tmp_path / "emc.json", *low).exit_code == 0
    assert recommend(bank, tmp_path / "satisfaction.json", "--objective", "satisfaction", *low).exit_code == 0
    emc, satisfied = (lw.RecoursePlans.from_json(tmp_path / f"{name}.json") for name in ("emc", "satisfaction"))
    assert (emc.settings["objective"], satisfied.settings["objective"]) == ("emc", "satisfaction")
    assert emc.settings["satisfied_below"] == satisfied.settings["satisfied_below"] == 0.1
    assert emc.options.to_csv() != satisfied.options.to_csv()


def test_a_time_limit_keeps_what_was_found(bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    with monkeypatch.context() as patch:
        patch.setattr("leastways.search.protocol.monotonic", lambda: float(next(ticks)))  # a second a look
        result = recommend(bank, tmp_path / "plans.json", "--time-limit", 4)
    assert result.exit_code == 0, result.stderr
    plans = lw.RecoursePlans.from_json(tmp_path / "plans.json")
    assert plans.settings["time_limit"] == 4
    assert set(plans.summary["reason"]) == {"the time limit ended the search early"}
    some = plans.summary["n_options"] > 0
    assert some.any()
    assert set(plans.summary.loc[some, "status"]) == {"partial"}
    assert set(plans.summary.loc[~some, "status"]) <= {"none_found"}
    assert "partial" in result.stdout
    assert recommend(bank, tmp_path / "none.json", "--time-limit", 0).exit_code == 0
    assert set(lw.RecoursePlans.from_json(tmp_path / "none.json").summary["status"]) == {"none_found"}
    assert recommend(bank, tmp_path / "enough.json", "--time-limit", 1000).exit_code == 0
    assert set(lw.RecoursePlans.from_json(tmp_path / "enough.json").summary["status"]) == {"found"}


def test_distill_limits_the_shared_rows(bank: Path, tmp_path: Path) -> None:
    said = document(recommend(bank, tmp_path / "plans.json", "--distill", 300, "--budget", 60, "--json"))
    assert said["settings"]["distill_rows"] <= 300
    assert said["settings"]["budget"] == 60
    assert said["summary"]["statuses"] == {"found": 12}
    plain = document(recommend(bank, tmp_path / "plain.json", "--json"))
    assert "distill_rows" not in plain["settings"]
    assert "time_limit" not in plain["settings"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_the_format_of_files_does_not_change_the_options(
    bank: Path, plans_file: Path, tmp_path: Path, kind: str, suffix: str
) -> None:
    """The same people give the same options, whatever the files they come in and go out by."""
    out = tmp_path / f"plans{suffix}"
    assert recommend(bank, out, people=f"people{kind}", data=f"train{kind}").exit_code == 0
    wanted = lw.RecoursePlans.from_json(plans_file).to_table()
    found = table(out)
    assert list(found.columns) == list(wanted.columns)
    assert found["person"].tolist() == wanted["person"].tolist()
    assert found["job title"].tolist() == wanted["job title"].tolist()
    np.testing.assert_allclose(found["hours-week"], wanted["hours-week"])
    np.testing.assert_allclose(found["best_for"], wanted["best_for"])


@pytest.mark.parametrize("model", ["model.skops", "model.onnx", "bank_rule:approve"])
def test_every_form_of_model_gives_options(bank: Path, tmp_path: Path, model: str) -> None:
    result = recommend(bank, tmp_path / "plans.csv", model=model)
    assert result.exit_code == 0, result.stderr
    options = table(tmp_path / "plans.csv")
    assert (options["probability"].dropna() >= 0.5).all()
    assert (options["status"] == "found").any()


def test_json_output_names_files_summary_and_settings(bank: Path, tmp_path: Path) -> None:
    result = recommend(bank, tmp_path / "plans.csv", "--json", "--report", tmp_path / "r.html", "--seed", 5)
    said = document(result)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert said["out"] == str(tmp_path / "plans.csv")
    assert said["report"] == str(tmp_path / "r.html")
    assert said["summary"]["people"] == 12
    assert said["summary"]["statuses"] == {"found": 12}
    assert 0 < said["summary"]["covered"] <= 1
    assert said["settings"]["random_state"] == 5
    assert "<svg" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_preferences_limit_the_options(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.json"
    preferences = ["--editable", "hours-week", "--score", "hours-week=1.0", "--alpha", 0.3, "--range", "hours-week=:55"]
    assert recommend(bank, out, *preferences).exit_code == 0
    plans = lw.RecoursePlans.from_json(out)
    assert set(plans.changes["feature"]) == {"hours-week"}
    assert plans.options["hours-week"].max() <= 55


def test_locked_features_do_not_change(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.json"
    assert recommend(bank, out, "--lock", "hours-week", "--lock", "age").exit_code == 0
    assert not {"hours-week", "age"} & set(lw.RecoursePlans.from_json(out).changes["feature"])


def test_settings_reach_the_search(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.json"
    more = ["--method", "random", "--distribution", "linear", "--threshold", 0.6, "--seed", 3]
    assert recommend(bank, out, *more).exit_code == 0
    settings = lw.RecoursePlans.from_json(out).settings
    assert settings["method"].startswith("RandomSearch")
    assert "alpha=1" in settings["costs"]
    assert (settings["threshold"], settings["random_state"], settings["budget"]) == (0.6, 3, 60)


@pytest.mark.parametrize("method", ["ar", "face-knn", "face-eps", "dice-random", "dice-genetic", "dice-kdtree"])
def test_published_methods_from_files_to_a_report(bank: Path, tmp_path: Path, method: str) -> None:
    out = tmp_path / "plans.json"
    result = recommend(bank, out, "--method", method, "--report", tmp_path / "report.html")
    assert result.exit_code == 0, result.output
    plans = lw.RecoursePlans.from_json(out)
    assert (plans.summary["queries"] <= 60).all()
    assert (tmp_path / "report.html").stat().st_size > 1000
    told = run("explain", out, "--person", str(plans.summary.index[0]))
    assert told.exit_code == 0


def test_a_method_that_cannot_run_names_another(bank: Path, tmp_path: Path) -> None:
    result = recommend(bank, tmp_path / "plans.json", "--method", "dice")
    assert result.exit_code == 2
    assert "dice-genetic" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("model", "target", "kept"),
    [("model.skops", "1", 1), ("bank_rule:words", "yes", "yes"), ("model.onnx", "1", 1)],
)
def test_the_target_becomes_a_label_of_the_model(
    bank: Path, tmp_path: Path, model: str, target: str, kept: object
) -> None:
    assert recommend(bank, tmp_path / "p.json", "--target", target, model=model).exit_code == 0
    assert lw.RecoursePlans.from_json(tmp_path / "p.json").settings["target"] == kept


@pytest.mark.parametrize(
    ("final", "target"), [(None, "granted"), (CalibratedClassifierCV(LogisticRegression(), cv=2), "0")]
)
def test_an_onnx_target_is_a_text_label_or_a_column_number(bank: Path, tmp_path: Path, final: Any, target: str) -> None:
    """Its classifier names its classes; an ensemble does not, and its columns have numbers."""
    train = pd.read_csv(bank / "train.csv").assign(approved=lambda f: f["approved"].map({0: "refused", 1: "granted"}))
    train.to_csv(tmp_path / "words.csv", index=False)
    wide = train[[*NUMBERS, *TEXT]].astype({"hours-week": np.float32})
    skl2onnx = pytest.importorskip("skl2onnx")
    graph = skl2onnx.to_onnx(pipeline(final).fit(wide, train["approved"]), wide[:1], options={"zipmap": False})
    (tmp_path / "words.onnx").write_bytes(graph.SerializeToString())
    files = {"model": str(tmp_path / "words.onnx"), "data": str(tmp_path / "words.csv")}
    result = recommend(bank, tmp_path / "plans.json", "--target", target, **files)
    assert result.exit_code == 0, result.stderr
    plans = lw.RecoursePlans.from_json(tmp_path / "plans.json")
    assert plans.settings["target"] == (0 if target == "0" else target)
    assert (plans.summary["status"] == "found").any()


def test_a_threshold_of_the_model_must_be_given_as_an_option(bank: Path, tmp_path: Path) -> None:
    code = (
        "import pandas as pd\nfrom sklearn.linear_model import LogisticRegression\n"
        "from sklearn.model_selection import FixedThresholdClassifier\n"
        "train = pd.read_csv('train.csv')\n"
        "model = FixedThresholdClassifier(LogisticRegression(), threshold=0.7)\n"
        "model.fit(train[['age', 'hours-week']], train['approved'])\n"
    )
    (bank / "bank_cut.py").write_text(code)
    result = recommend(bank, tmp_path / "plans.json", model="bank_cut:model")
    assert result.exit_code == 2
    assert "Give --threshold 0.7 (in a service's file: threshold: 0.7)" in result.stderr
    assert recommend(bank, tmp_path / "plans.json", "--threshold", "0.7", model="bank_cut:model").exit_code == 0


def test_an_unknown_target_is_refused(bank: Path, tmp_path: Path) -> None:
    result = recommend(bank, tmp_path / "p.json", "--target", "approved", model="model.skops")
    assert result.exit_code == 2
    assert "Error: --target 'approved' is not a class of" in result.stderr
    assert (
        "its classes are 0, 1. It is the label of the wanted answer, 1 if left out, and not the name" in result.stderr
    )


def test_the_default_target_must_be_a_label_of_the_model(bank: Path, tmp_path: Path) -> None:
    result = recommend(bank, tmp_path / "p.json", model="bank_rule:words")
    assert result.exit_code == 2
    assert "--target '1'" in result.stderr or "--target 1" in result.stderr
    assert "'no'" in result.stderr
    assert "the label of the wanted answer, 1 if left out" in result.stderr


def test_bad_rows_do_not_stop_the_others(bank: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(bank / "people.csv", dtype=str)
    rows.loc[0, "age"] = "old"
    rows.loc[1, "age"] = ""
    rows.loc[2, "job title"] = "nures"
    rows.to_csv(tmp_path / "odd.csv", index=False)
    result = recommend(bank, tmp_path / "p.json", "--index", "id", people=str(tmp_path / "odd.csv"))
    assert result.exit_code == 4
    first = pd.read_csv(bank / "people.csv")["id"].tolist()[0]
    assert f"3 row(s) could not be used. The first is person {first!r}: column 'age': 'old'" in result.stderr
    summary = lw.RecoursePlans.from_json(tmp_path / "p.json").summary
    assert (summary["status"] == "invalid_input").tolist() == [True] * 3 + [False] * 9
    assert "'old' is not a number" in summary["reason"].iloc[0]
    assert "is missing" in summary["reason"].iloc[1]
    assert "Did you mean 'nurse'" in summary["reason"].iloc[2]
    assert document(recommend(bank, tmp_path / "q.json", "--index", "id", "--json", people=str(tmp_path / "odd.csv")))[
        "summary"
    ]["statuses"] == {"found": 9, "invalid_input": 3}


def test_a_failing_model_exits_with_3(bank: Path, tmp_path: Path) -> None:
    result = recommend(bank, tmp_path / "p.json", model="bank_rule:broken")
    assert result.exit_code == 3
    assert "the bank's computer is down" in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_rows_the_model_fails_on_exit_with_4(bank: Path, tmp_path: Path) -> None:
    result = recommend(bank, tmp_path / "p.json", model="bank_rule:fails_on_old_cooks")
    assert result.exit_code == 4
    assert "the model failed for" in result.stderr
    plans = lw.RecoursePlans.from_json(tmp_path / "p.json")
    assert set(plans.failed_rows["job title"]) == {"cook"}
    assert {"invalid_input", "found"} <= set(plans.summary["status"])


def test_same_seed_same_file(bank: Path, plans_file: Path, tmp_path: Path) -> None:
    recommend(bank, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == plans_file.read_text()


def test_people_without_labels_get_row_numbers(bank: Path, tmp_path: Path) -> None:
    pd.read_csv(bank / "people.csv").drop(columns="id").to_csv(tmp_path / "plain.csv", index=False)
    recommend(bank, tmp_path / "p.json", people=str(tmp_path / "plain.csv"))
    assert lw.RecoursePlans.from_json(tmp_path / "p.json").summary.index.tolist() == list(range(12))


def test_an_unexpected_error_is_raised(bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object, **__: object) -> None:
        raise AssertionError("a bug")

    monkeypatch.setattr("leastways.recourse.Recourse.recommend", fault)
    with pytest.raises(AssertionError, match="a bug"):
        recommend(bank, tmp_path / "p.json")
    assert not list(tmp_path.iterdir())


def test_an_interruption_exits_with_130_and_writes_nothing(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("leastways.recourse.Recourse.recommend", interrupt)
    result = recommend(bank, tmp_path / "p.json")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr
    assert not list(tmp_path.iterdir())


def test_every_help_has_examples_and_exit_codes(bank: Path) -> None:
    groups = (["schema"], ["study"], ["keys"])
    of_groups = (["schema", "infer"], *(["study", name] for name in ("create", "collect", "analyse")))
    keys = (["keys", name] for name in ("create", "list", "revoke"))
    single = ("demo", "recommend", "explain", "audit", "serve", "replay", "erase")
    for command in ([], *groups, *of_groups, *keys, *([name] for name in single)):
        said = run(*command, "--help").stdout
        assert "Example" in said
        assert "leastways" in said
        if command not in groups:
            assert "Exit codes" in said


def test_other_columns_of_the_training_table_change_nothing(bank: Path, plans_file: Path, tmp_path: Path) -> None:
    """A customer number, for example."""
    train = table(bank / "train.csv")
    train.assign(customer=range(len(train)), note="x")[["note", *train.columns, "customer"]].to_csv(
        tmp_path / "wide.csv", index=False
    )
    assert recommend(bank, tmp_path / "wide.json", data=str(tmp_path / "wide.csv")).exit_code == 0
    assert (tmp_path / "wide.json").read_bytes() == plans_file.read_bytes()


def test_uncovered_cost_and_n_costs_reach_the_settings(bank: Path, tmp_path: Path) -> None:
    recommend(bank, tmp_path / "plans.json", "--uncovered-cost", 3, "--n-costs", 30)
    settings = lw.RecoursePlans.from_json(tmp_path / "plans.json").settings
    assert (settings["uncovered_cost"], settings["n_costs"]) == (3, 30)
