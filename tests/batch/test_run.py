"""`recommend_files` as a whole: settings, preferences, totals, log and progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import leastways as lw
from leastways.batch import read_plans
from leastways.errors import DataError, SettingError
from leastways.report import Totals
from tests.support.applicant_files import (
    QUICK,
    OwnSearcher,
    check_each_person_once,
    checksums,
    events,
    fitted,
    interrupted_copy,
    people,
    run,
    tables,
    write_people,
)
from tests.support.bank_people import TRAIN, chance


def test_results_cannot_be_written_among_the_people(tmp_path: Path) -> None:
    """They would be read as people when the run is resumed; files whose names are skipped would not."""
    source = tmp_path / "in"
    source.mkdir()
    write_people(source / "a.parquet", people().head(4))
    with pytest.raises(DataError, match=r"the results cannot be written to .*plans', inside the folder .*in'"):
        run(fitted(), source, source / "plans")
    with pytest.raises(DataError, match="the log cannot be written"):
        run(fitted(), source, tmp_path / "out", log=source / "log.jsonl")
    assert [path.name for path in source.iterdir()] == ["a.parquet"]
    run(fitted(), source, source / "_plans", log=source / ".log")
    assert run(fitted(), source, source / "_plans", resume=True).seconds == 0


def test_totals_equal_those_of_recommend(source: Path, uninterrupted: Path) -> None:
    check_each_person_once(uninterrupted)
    result = run(fitted(), source, uninterrupted, resume=True)  # there is nothing left to do
    plans = fitted().recommend(people())
    wanted = Totals.of(plans).to_dict()
    found = result.totals.to_dict()
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name] == (pytest.approx(value) if isinstance(value, float) else value), name


@pytest.mark.parametrize("size", [5, 47, 48, 1000])
def test_results_do_not_depend_on_the_size_of_parts(
    source: Path, uninterrupted: Path, tmp_path: Path, size: int
) -> None:
    run(fitted(), source, tmp_path / "out", people_per_part=size)
    check_each_person_once(tmp_path / "out")
    for found, wanted in zip(tables(tmp_path / "out"), tables(uninterrupted), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


def test_preferences_of_unknown_people_are_an_error(source: Path, tmp_path: Path) -> None:
    """As in `recommend`, and before any work."""
    own = lw.Preferences(editable=["income"])
    out = tmp_path / "out"
    with pytest.raises(lw.PreferenceError, match=r"not in the table: 'p99', 3\. .* string there, such as 'p0'"):
        run(fitted(), source, out, preferences={"p1": own, "p99": own, 3: own})
    with pytest.raises(lw.PreferenceError, match="the preferences of 'p1' must be a Preferences object"):
        run(fitted(), source, out, preferences={"p1": "income"})
    with pytest.raises(lw.PreferenceError, match="a mapping from a person's label"):
        run(fitted(), source, out, preferences=[own])
    assert not out.exists()
    run(fitted(), source, out, preferences={"p1": own, "p47": own})
    wanted = fitted().recommend(people(), {"p1": own, "p47": own})
    pd.testing.assert_frame_equal(read_plans(out).options, wanted.options)


def test_preferences_need_labels_of_the_right_type(tmp_path: Path) -> None:
    """Labels of one file are text, so all are: the label 5 is unknown, and not ignored silently."""
    (tmp_path / "in").mkdir()
    for name, labels in (("a", [5, 6]), ("b", ["x", "y"])):
        people().iloc[:2].set_axis(labels, axis=0).rename_axis("id").to_csv(tmp_path / "in" / f"{name}.csv")
    own = lw.Preferences(editable=["income"])
    with pytest.raises(lw.PreferenceError, match=r"not in the table: 5\. Labels .* string there, such as '5'"):
        run(fitted(), tmp_path / "in", tmp_path / "out", preferences={5: own}, index="id")
    run(fitted(), tmp_path / "in", tmp_path / "out", preferences={"5": own}, index="id")


def test_one_preference_for_all(source: Path, tmp_path: Path) -> None:
    shared = lw.Preferences(editable=["income"])
    run(fitted(), source, tmp_path / "out", preferences=shared)
    pd.testing.assert_frame_equal(read_plans(tmp_path / "out").options, fitted().recommend(people(), shared).options)
    with pytest.raises(lw.PreferenceError, match="nothing"):
        run(fitted(), source, tmp_path / "no", preferences=lw.Preferences(editable=["nothing"]))
    assert not (tmp_path / "no").exists()


def test_feature_may_be_called_position(tmp_path: Path) -> None:
    """No column that tables need while they are put together takes a name from features."""
    train, applicants = (frame.rename(columns={"job": "position"}) for frame in (TRAIN, people()))
    schema = lw.Schema.infer(train)
    rec = lw.Recourse(lambda rows: chance(rows.rename(columns={"position": "job"})), schema, n_options=2, **QUICK)
    rec.fit(train)
    for dedup in (False, True):
        run(rec, write_people(tmp_path / "people.parquet", applicants), tmp_path / f"out{dedup}", dedup=dedup)
        pd.testing.assert_frame_equal(read_plans(tmp_path / f"out{dedup}").options, rec.recommend(applicants).options)


def test_run_with_an_own_searcher_is_resumed(source: Path, tmp_path: Path) -> None:
    run(fitted(method=OwnSearcher()), source, tmp_path / "whole")
    out = interrupted_copy(tmp_path / "whole", tmp_path / "out")
    message = r"settings\.method is 'OwnSearcher\(depth=4\)', was 'OwnSearcher\(depth=3\)'"
    with pytest.raises(SettingError, match=message):
        run(fitted(method=OwnSearcher(4)), source, out, resume=True)
    run(fitted(method=OwnSearcher()), source, out, resume=True)
    assert checksums(out) == checksums(tmp_path / "whole")
    texts = [
        fitted(method=OwnSearcher(inner=inner)).recorded_settings()["method"]
        for inner in (OwnSearcher(), OwnSearcher(), OwnSearcher(5), chance)
    ]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3
    assert not any("0x" in text for text in texts)


def test_progress_and_log_reach_the_end(source: Path, tmp_path: Path) -> None:
    seen: list[Any] = []
    run(fitted(), source, tmp_path / "out", progress=seen.append, log=tmp_path / "mine.jsonl")
    assert [p.done for p in seen][-1] == seen[-1].total == 48
    assert all(0 <= p.found <= 1 and p.people_per_second > 0 and p.seconds_left >= 0 for p in seen)
    lines = pd.read_json(tmp_path / "mine.jsonl", lines=True)
    assert lines["event"].tolist() == ["begun", *["chunk", "part"] * 3, "finished"] or set(lines["event"]) == {
        "begun",
        "chunk",
        "part",
        "finished",
    }
    assert not (tmp_path / "out" / "log.jsonl").exists()
    last = lines.iloc[-1]
    assert 0 < last["searching"] <= last["working"]


def test_invalid_settings_are_errors(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="speed of a machine"):
        run(fitted(time_limit=1.0), source, tmp_path / "out")
    for wrong in ({"workers": 0}, {"people_per_part": 0}, {"give_up_after": 0}, {"time_limit": -1.0}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            run(fitted(), source, tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()
    assert "begun" not in events(tmp_path) if (tmp_path / "log.jsonl").exists() else True


def test_log_cannot_be_written_among_the_people(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    people().to_csv(path)
    before = path.read_bytes()
    with pytest.raises(DataError, match="the log cannot be written"):
        run(fitted(), path, tmp_path / "out", index="customer", log=path)
    assert path.read_bytes() == before
    assert not (tmp_path / "out").exists()
