"""`leastways recommend --out FOLDER`: the same people, by files and workers."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import leastways as lw
from leastways.batch import read_plans
from leastways.batch.manifest import journal_lines
from leastways.cli.recommend import _terminated_as_interrupted
from leastways.errors import DataError
from tests.cli.test_process import COMMAND, files
from tests.support.command_line import SMALL, document, recommend, run
from tests.support.processes import children, is_alive, wait_until


@pytest.fixture(autouse=True)
def _run_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastways.batch.executors.pickled", lambda _: None)  # quick to start


def test_a_run_folder_holds_the_same_plans_as_a_file(bank: Path, plans_file: Path, tmp_path: Path) -> None:
    result = recommend(bank, tmp_path / "plans", "--people-per-part", 5)
    assert result.exit_code == 0, result.output
    assert "All people" in result.stdout
    assert "plans" in result.stdout
    wanted, found = lw.RecoursePlans.from_json(plans_file), read_plans(tmp_path / "plans")
    pd.testing.assert_frame_equal(found.summary, wanted.summary)
    pd.testing.assert_frame_equal(found.options, wanted.options)
    assert len(list((tmp_path / "plans" / "people").iterdir())) == 3


def test_json_output_counts_solved_people(bank: Path, tmp_path: Path) -> None:
    said = document(recommend(bank, tmp_path / "plans", "--json", "--dedup", "--workers", 2, "--log", tmp_path / "l"))
    assert said["summary"]["people"] == 12
    assert said["solved"] == 12
    assert said["people_per_second"] > 0
    assert (tmp_path / "l").read_text().splitlines()[0].startswith('{"at": ')
    again = document(recommend(bank, tmp_path / "plans", "--json", "--dedup", "--resume"))
    assert again["people_per_second"] is None
    assert again["summary"] == said["summary"]


def test_a_model_failure_in_a_batch_run_exits_with_4(bank: Path, tmp_path: Path) -> None:
    """Their status is `none_found`, but the search was incomplete: the exit code is that for a file."""
    asked = {"model": "bank_rule:never_accepts_cooks"}
    wanted = recommend(bank, tmp_path / "plans.json", "--editable", "hours-week", **asked)
    result = recommend(bank, tmp_path / "plans", "--editable", "hours-week", **asked)
    summary = read_plans(tmp_path / "plans").summary
    failed = summary["reason"].str.contains("the model failed")
    assert set(summary.loc[failed, "status"]) == {"none_found"}
    assert wanted.exit_code == result.exit_code == 4
    assert f"the model failed for {failed.sum()} person(s)" in wanted.stderr
    assert f"the search ended early for {failed.sum()} person(s)" in result.stderr
    said = document(recommend(bank, tmp_path / "plans", "--editable", "hours-week", "--resume", "--json", **asked))
    assert said["cut_short"] == failed.sum()


def test_audit_by_compares_a_sample_and_says_so(bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With too many people, a sample is compared, and the report states this."""
    monkeypatch.setattr("leastways.cli.recommend.SAMPLE", 8)
    result = recommend(bank, tmp_path / "plans", "--audit-by", "job title", "--audit-by", "age:30")
    assert result.exit_code == 0, result.output
    assert "audit/report.html" in result.stdout.replace("\n", "")
    audit = lw.audit.Audit.from_json(tmp_path / "plans" / "audit" / "audit.json")
    assert audit.groupings == ["job title", "age", "job title × age"]
    assert audit.overall["people"].tolist() == [8]
    assert audit.warnings[0].startswith("8 of 12 people were compared, drawn at random")
    assert "8 of 12 people were compared" in (tmp_path / "plans" / "audit" / "report.html").read_text()
    again = document(recommend(bank, tmp_path / "plans", "--audit-by", "job title", "--resume", "--json"))
    assert again["audit"].endswith("report.html")


def test_repeated_labels_are_an_error_only_where_labels_are_needed(bank: Path, tmp_path: Path) -> None:
    """Repeated labels are accepted unless an option refers to people by label."""
    rows = pd.read_csv(bank / "people.csv")
    rows.assign(id=rows["id"] // 1000).to_csv(tmp_path / "alike.csv", index=False)
    alike = {"people": str(tmp_path / "alike.csv")}
    result = recommend(bank, tmp_path / "plans", "--index", "id", "--audit-by", "job title", **alike)
    assert result.exit_code == 0, result.output
    said = result.stdout.replace("\n", "")
    assert said.index("All people") < said.index("audit/report.html")
    audit = lw.audit.Audit.from_json(tmp_path / "plans" / "audit" / "audit.json")
    assert audit.overall["people"].tolist() == [12]
    command = ["audit", tmp_path / "plans", "--by", "job title", "-o", tmp_path / "report"]
    assert run(*command).exit_code == 0
    by_label = run(*command, "--force", "--groups", bank / "people.csv", "--index", "id")
    assert by_label.exit_code == 2
    assert "labels occur twice" in by_label.stderr


def test_the_summary_is_shown_before_the_audit(bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DataError("nothing to compare")

    monkeypatch.setattr("leastways.audit.audit_plans", fail)
    result = recommend(bank, tmp_path / "plans", "--audit-by", "job title")
    assert result.exit_code == 2
    assert "All people" in result.stdout
    assert "nothing to compare" in result.stderr


def test_unknown_groups_are_refused_before_any_work(bank: Path, tmp_path: Path) -> None:
    for by, message in (
        ("jobb", "no column 'jobb'"),
        ("age:30,20", "rising numbers"),
        ("job title:1", "not hold numbers"),
    ):
        result = recommend(bank, tmp_path / "plans", "--audit-by", by)
        assert result.exit_code == 2
        assert message in result.stderr.replace("\n", " ")
        assert not (tmp_path / "plans").exists()


def test_audit_and_explain_read_a_run_folder(bank: Path, plans_file: Path, tmp_path: Path) -> None:
    assert recommend(bank, tmp_path / "plans").exit_code == 0
    for sample, told in (("5", "5 of 12 people were compared"), ("12", "")):
        out = tmp_path / f"report-{sample}"
        command = ["audit", str(tmp_path / "plans"), "--by", "job title", "-o", str(out), "--sample", sample]
        result = run(*command)
        assert result.exit_code == 0, result.output
        assert ("were compared" in result.stdout) == bool(told)
        assert told in result.stdout
    person = lw.RecoursePlans.from_json(plans_file).summary.index[0]
    said = [run("explain", place, "--person", person) for place in (tmp_path / "plans", plans_file)]
    assert said[0].exit_code == 0, said[0].output
    assert said[0].stdout == said[1].stdout
    result = run("explain", tmp_path / "plans", "--person", "nobody at all")
    assert result.exit_code == 2
    assert "there is no person with the label 'nobody at all'" in result.stderr.replace("\n", " ")


def test_dedup_reports_how_many_searches_it_saved(bank: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(bank / "people.csv")
    pd.concat([rows, rows.assign(id=rows["id"] + 1000)]).to_csv(tmp_path / "twice.csv", index=False)
    result = recommend(bank, tmp_path / "plans", "--index", "id", "--dedup", people=str(tmp_path / "twice.csv"))
    assert result.exit_code == 0, result.output
    assert "12 searches served 24 people" in result.stdout


def test_unusable_rows_exit_with_4(bank: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(bank / "people.csv", dtype=str)
    rows.loc[0, "age"] = "old"
    rows.to_csv(tmp_path / "odd.csv", index=False)
    result = recommend(bank, tmp_path / "plans", "--index", "id", people=str(tmp_path / "odd.csv"))
    assert result.exit_code == 4
    assert "1 row(s) could not be used" in result.stderr
    assert "'old' is not a number" in read_plans(tmp_path / "plans").summary["reason"].iloc[0]


def test_options_of_files_and_run_folders_exclude_each_other(bank: Path, tmp_path: Path) -> None:
    for more in (["--force"], ["--certify"], ["--report", tmp_path / "r.html"]):
        result = recommend(bank, tmp_path / "plans", *more)
        assert result.exit_code == 2
        assert f"{more[0]} does not go with" in result.stderr
        wanted = (
            "a .json file, or any file with --report." if more == ["--certify"] else "a .json, .csv or .parquet file."
        )
        assert f"Give --out {wanted}" in result.stderr
    for more in (["--resume"], ["--workers", 2], ["--cluster", "tcp://x:1"], ["--dedup"], ["--log", "l"]):
        result = recommend(bank, tmp_path / "plans.json", *more)
        assert result.exit_code == 2
        assert f"{more[0]} is for a folder" in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_of_another_run_is_refused(bank: Path, tmp_path: Path) -> None:
    assert recommend(bank, tmp_path / "plans").exit_code == 0
    again = recommend(bank, tmp_path / "plans")
    assert again.exit_code == 2
    assert "holds a finished run" in again.stderr
    other = recommend(bank, tmp_path / "plans", "--resume", "--seed", 3)
    assert other.exit_code == 2
    assert "settings.random_state is 3, was 0" in " ".join(other.stderr.split())
    model = recommend(bank, tmp_path / "plans", "--resume", model="model.skops")
    assert model.exit_code == 2
    assert "the model" in model.stderr


def test_a_failing_model_exits_with_3(bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastways.batch.driver._MODEL_PAUSE", 0.0)
    result = recommend(bank, tmp_path / "plans", model="bank_rule:broken")
    assert result.exit_code == 3
    assert "the bank's computer is down" in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_run_can_be_interrupted_and_resumed(bank: Path, tmp_path: Path) -> None:
    """All processes get the signal, as from a terminal; the same command with --resume continues the run."""
    started, plans = tmp_path / "started", tmp_path / "plans"
    last = [tuple(row) for row in pd.read_csv(bank / "people.csv")[["age", "hours-week"]].tail(4).to_numpy().tolist()]
    (tmp_path / "slow_rule.py").write_text(
        "import pathlib, time\nfrom bank_rule import approve as quick\n"
        f"mark, last = pathlib.Path({str(started)!r}), set({last!r})\n"
        "def approve(frame):\n"
        "    asked = set(zip(frame['age'].astype(float), frame['hours-week'].astype(float)))\n"
        "    if last <= asked and not mark.exists():  # the four people of the last part, as they are\n"
        "        mark.touch()\n        time.sleep(600)\n"
        "    return quick(frame)\n"
    )
    (tmp_path / "bank_rule.py").write_text((bank / "bank_rule.py").read_text())
    out = ["--out", str(plans), *SMALL, "--people-per-part", "4", "--workers", "1"]
    command = [*COMMAND, *files(bank, "slow_rule:approve"), *out]
    with subprocess.Popen(  # with Ctrl-C in force, also where the suite runs in the background, which ignores it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        args=command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        try:
            wait_until(lambda: (started.exists() and len(journal_lines(plans)) == 2) or process.poll() is not None)
            helpers = children(process.pid)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "8 of 12 people are done" in said
    assert "--resume" in said
    assert "Traceback" not in said
    assert helpers
    wait_until(lambda: not any(is_alive(pid) for pid in helpers), 30)
    done = subprocess.run([*command, "--resume"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(read_plans(tmp_path / "plans")) == 12


def test_sigterm_is_an_interruption() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), _terminated_as_interrupted():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before
