"""Whoever works, in whatever portions: the same plans, and they are those of `recommend`."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastways as lw
from leastways._fingerprint import setting_text, value_print
from leastways.batch import driver, read_plans, worker
from leastways.batch.deduplication import _KEYS, _hashes
from leastways.batch.driver import Driver
from leastways.batch.executors import Threads
from leastways.batch.manifest import RunFolder, read_manifest
from leastways.errors import SettingError
from leastways.recourse.settings import settings_of
from tests.batch.crowd import QUICK, cut_short, events, everybody_once, fitted, people, prints, run, tables, write
from tests.recourse.bank import TRAIN, chance

WISH = lw.Preferences(editable=["income"])


def test_plans_are_those_of_recommend(source: Path, unbroken: Path) -> None:
    wanted, found = fitted().recommend(people()), read_plans(unbroken)
    pd.testing.assert_frame_equal(found.summary, wanted.summary)
    pd.testing.assert_frame_equal(found.options, wanted.options)
    pd.testing.assert_frame_equal(found.people, wanted.people)
    first, second = wanted.summary.index[wanted.summary["status"] == "found"][[3, 20]]
    few = read_plans(unbroken, [second, first])
    assert [plan.person for plan in few] == [first, second]
    assert few[second] == found[second] == wanted[second]


def test_people_drawn_at_random(unbroken: Path) -> None:
    whole = read_plans(unbroken)
    drawn = [read_plans(unbroken, sample=20, random_state=seed).summary.index.tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    for labels in drawn:
        assert len(set(labels)) == 20
        assert labels == [label for label in whole.summary.index if label in labels]
    some = read_plans(unbroken, sample=20, random_state=2)
    pd.testing.assert_frame_equal(some.summary, whole.summary.loc[drawn[2]])
    own = whole.options[whole.options["person"].isin(drawn[2])]
    pd.testing.assert_frame_equal(some.options, own.reset_index(drop=True))
    assert len(read_plans(unbroken, sample=1000)) == len(whole)
    with pytest.raises(SettingError, match="not both"):
        read_plans(unbroken, ["p3"], sample=3)


def test_the_account_in_the_manifest(source: Path, unbroken: Path) -> None:
    everybody_once(unbroken)
    result = run(fitted(), source, unbroken, resume=True)  # there is nothing left to do
    plans = fitted().recommend(people())
    from leastways.report import Totals

    wanted = Totals.of(plans).to_dict()
    found = result.totals.to_dict()
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name] == (pytest.approx(value) if isinstance(value, float) else value), name


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_any_number_of_processes(source: Path, unbroken: Path, tmp_path: Path, workers: int) -> None:
    run(fitted(), source, tmp_path / "out", workers=workers)
    assert prints(tmp_path / "out") == prints(unbroken)


class Locked:
    """A model that cannot be sent anywhere."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, frame: pd.DataFrame) -> Any:
        with self.lock:
            return chance(frame)


def test_a_model_that_cannot_be_pickled_runs_in_threads(source: Path, unbroken: Path, tmp_path: Path) -> None:
    run(fitted(Locked()), source, tmp_path / "out", workers=3)
    assert prints(tmp_path / "out") == prints(unbroken)
    assert "3 threads" in (tmp_path / "out" / "log.jsonl").read_text()
    with pytest.raises(SettingError, match="cannot be pickled"):
        run(fitted(Locked()), source, tmp_path / "other", cluster="tcp://127.0.0.1:1")


def test_functions_of_a_notebook_can_be_sent(source: Path, tmp_path: Path) -> None:
    from leastways.batch.executors import pickled

    assert pickled(fitted(lambda frame: chance(frame))) is not None


@settings(max_examples=8)
@given(unit=st.integers(1, 20), seconds=st.sampled_from([0.0, 0.05, 100.0]), workers=st.integers(1, 4))
def test_however_the_chunks_are_cut(source: Path, unbroken: Path, unit: int, seconds: float, workers: int) -> None:
    """Units and chunks of any size, in any order of arrival, give the same plans."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_SECONDS", seconds)
        patch.setattr("leastways.batch.run.unit_of", lambda *_: unit)
        patch.setattr("leastways.batch.run.pickled", lambda _: None)
        run(fitted(), source, Path(folder) / "out", workers=workers)
        assert prints(Path(folder) / "out") == prints(unbroken)


@pytest.mark.parametrize("size", [5, 47, 48, 1000])
def test_parts_of_any_size_hold_the_same_people(source: Path, unbroken: Path, tmp_path: Path, size: int) -> None:
    run(fitted(), source, tmp_path / "out", people_per_part=size)
    everybody_once(tmp_path / "out")
    for found, wanted in zip(tables(tmp_path / "out"), tables(unbroken), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


@pytest.mark.parametrize("told", [{}, {"told": WISH}, {"told_each": {1: WISH, 2: lw.Preferences(editable=["job"])}}])
def test_people_who_are_asked_about_alone_get_what_they_get_among_others(told: dict[str, Any]) -> None:
    unit = people().head(5).reset_index(drop=True)
    together, alone = (worker.solve(fitted(), worker.Chunk((unit,), **told, singly=singly)) for singly in (False, True))
    pd.testing.assert_frame_equal(alone.people.to_pandas(), together.people.to_pandas())
    pd.testing.assert_frame_equal(alone.options.to_pandas(), together.options.to_pandas())
    assert len(together.options)


@pytest.mark.parametrize("size", [16, 4])  # 4: people of one part are of kinds in several
def test_people_like_others_are_solved_once(tmp_path: Path, size: int) -> None:
    draw = np.random.default_rng(0)
    crowd = people().iloc[draw.integers(0, 9, 60)]
    crowd = crowd.set_axis([f"q{i}" for i in range(60)], axis=0)
    source = write(tmp_path / "people.parquet", crowd)
    once = run(fitted(), source, tmp_path / "once", dedup=True, people_per_part=size)
    each = run(fitted(), source, tmp_path / "each", people_per_part=size)
    everybody_once(tmp_path / "once", crowd.index.tolist())
    assert each.solved == 60
    assert once.solved == len(crowd.drop_duplicates()) <= 9  # also where they are in different parts
    assert not (tmp_path / "once" / "kinds").exists()
    assert replace(once.totals, queries=each.totals.queries) == each.totals
    first_of_each = ~crowd.reset_index(drop=True).duplicated()
    queries = tables(tmp_path / "each")[0]["queries"]
    assert (once.totals.queries, each.totals.queries) == (queries[first_of_each].sum(), queries.sum())
    for found, wanted in zip(tables(tmp_path / "once"), tables(tmp_path / "each"), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


def test_kinds_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short while kinds are solved, and while everybody gets theirs; with damaged rows among them."""
    crowd = people().iloc[np.random.default_rng(0).integers(0, 30, 100)]
    crowd = crowd.set_axis([f"q{i}" for i in range(100)], axis=0).astype({"income": object})
    crowd.loc[["q7", "q60"], "income"] = "1,000"
    crowd.loc["q61", "income"] = 1000.0
    crowd.astype({"income": "str"}).to_csv(tmp_path / "people.csv", index_label="customer")
    source = tmp_path / "people.csv"
    whole = run(fitted(), source, tmp_path / "whole", dedup=True, index="customer")
    assert whole.solved == len(crowd.astype({"income": "str"}).drop_duplicates())
    each = run(fitted(), source, tmp_path / "each", index="customer")
    assert replace(whole.totals, queries=each.totals.queries) == each.totals
    for found, wanted in zip(tables(tmp_path / "whole"), tables(tmp_path / "each"), strict=True):
        pd.testing.assert_frame_equal(found, wanted)
    keep, left = RunFolder.keep, [1]

    def cut(self: RunFolder, *arguments: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return keep(self, *arguments)

    monkeypatch.setattr(RunFolder, "keep", cut)
    out = tmp_path / "out"
    for more in (1, 1, 2):  # parts that are written until the next interruption: of kinds, then of people
        left[0] = more
        with pytest.raises(KeyboardInterrupt):
            run(fitted(), source, out, dedup=True, index="customer", resume=True)
    assert read_manifest(out / "kinds")["finished"]
    spoiled = out / "kinds" / "people" / "part-000001.parquet"
    spoiled.write_bytes(spoiled.read_bytes()[:-1] + b"?")  # that part of the kinds is made again
    assert not read_manifest(out)["finished"]
    left[0] = 1000
    result = run(fitted(), source, out, dedup=True, index="customer", resume=True)
    assert result.solved == whole.solved
    assert prints(out) == prints(tmp_path / "whole")
    assert events(out).count("interrupted") == 3


def test_kinds_do_not_depend_on_how_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One value that cannot be read changes the type of all that are read with it: of a block here, of a part there."""
    monkeypatch.setattr("leastways.batch.sources.BATCH", 6)
    crowd = people().iloc[[0, 1, 2] * 10].set_axis([f"q{i}" for i in range(30)], axis=0).astype({"age": object})
    crowd.loc["q20", "age"] = "old"
    crowd.loc["q21", "age"] = 2**60
    crowd.to_csv(tmp_path / "people.csv", index_label="customer")
    once = run(fitted(), tmp_path / "people.csv", tmp_path / "once", dedup=True, index="customer")
    each = run(fitted(), tmp_path / "people.csv", tmp_path / "each", index="customer")
    assert (once.solved, each.solved) == (5, 30)
    for found, wanted in zip(tables(tmp_path / "once"), tables(tmp_path / "each"), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_kinds_with_a_large_number_here_and_a_gap_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A column of whole numbers is one of floats beside a gap, and no float holds the digits of a large number."""
    monkeypatch.setattr("leastways.batch.sources.BATCH", 6)
    crowd = people().iloc[[0, 1, 2] * 10].set_axis([f"q{i}" for i in range(30)], axis=0).astype({"age": "Int64"})
    crowd.loc["q3", "age"] = crowd.loc["q21", "age"] = 2**53 + 1
    crowd.loc["q4", "age"] = 2**53
    crowd.loc["q13", "age"] = pd.NA
    source = tmp_path / f"people.{kind}"
    if kind == "csv":
        crowd.rename_axis("customer").to_csv(source)
    else:  # as other programs write it: pandas would note that the column is its own Int64
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pandas(crowd.rename_axis("customer")).replace_schema_metadata(None), source)
    once = run(fitted(), source, tmp_path / "once", dedup=True, index="customer", people_per_part=30)
    each = run(fitted(), source, tmp_path / "each", index="customer")
    assert (once.solved, each.solved) == (6, 30)
    for found, wanted in zip(tables(tmp_path / "once"), tables(tmp_path / "each"), strict=True):
        pd.testing.assert_frame_equal(found, wanted)
    reasons = everybody_once(tmp_path / "once", crowd.index.tolist())["reason"]
    assert all(str(2**53 + 1) in reasons[row] for row in (3, 21))


def test_people_who_said_different_things_are_not_alike(tmp_path: Path) -> None:
    crowd = people().iloc[[0] * 6].set_axis(list("abcdef"), axis=0)
    said = {"a": lw.Preferences(editable=["income"]), "b": lw.Preferences(editable=["income"])}
    said |= {"c": lw.Preferences(editable=["school"]), "f": lw.Preferences(editable=["nothing"])}
    source = write(tmp_path / "people.parquet", crowd)
    result = run(fitted(), source, tmp_path / "out", preferences=said, dedup=True)
    assert result.solved == 4
    found = read_plans(tmp_path / "out")
    wanted = fitted().recommend(crowd, said)
    pd.testing.assert_frame_equal(found.options, wanted.options)
    pd.testing.assert_frame_equal(found.summary, wanted.summary)
    assert found.summary.loc["f", "status"] == "invalid_input"


def test_wishes_of_people_who_are_not_there(source: Path, tmp_path: Path) -> None:
    """As `recommend` does, and before any work: a wish that nobody hears is a wrong plan."""
    wish = lw.Preferences(editable=["income"])
    out = tmp_path / "out"
    with pytest.raises(lw.PreferenceError, match=r"not in the table: 'p99', 3\. .* string there, such as 'p0'"):
        run(fitted(), source, out, preferences={"p1": wish, "p99": wish, 3: wish})
    with pytest.raises(lw.PreferenceError, match="the preferences of 'p1' must be a Preferences object"):
        run(fitted(), source, out, preferences={"p1": "income"})
    with pytest.raises(lw.PreferenceError, match="a mapping from a person's label"):
        run(fitted(), source, out, preferences=[wish])
    assert not out.exists()
    run(fitted(), source, out, preferences={"p1": wish, "p47": wish})
    wanted = fitted().recommend(people(), {"p1": wish, "p47": wish})
    pd.testing.assert_frame_equal(read_plans(out).options, wanted.options)


def test_wishes_where_labels_became_text(tmp_path: Path) -> None:
    """Labels of one file are no numbers, so none are: 5 is nobody, and is not passed over in silence."""
    (tmp_path / "in").mkdir()
    for name, labels in (("a", [5, 6]), ("b", ["x", "y"])):
        people().iloc[:2].set_axis(labels, axis=0).rename_axis("id").to_csv(tmp_path / "in" / f"{name}.csv")
    wish = lw.Preferences(editable=["income"])
    with pytest.raises(lw.PreferenceError, match=r"not in the table: 5\. Labels .* string there, such as '5'"):
        run(fitted(), tmp_path / "in", tmp_path / "out", preferences={5: wish}, index="id")
    run(fitted(), tmp_path / "in", tmp_path / "out", preferences={"5": wish}, index="id")


def test_one_wish_for_all(source: Path, tmp_path: Path) -> None:
    said = lw.Preferences(editable=["income"])
    run(fitted(), source, tmp_path / "out", preferences=said)
    pd.testing.assert_frame_equal(read_plans(tmp_path / "out").options, fitted().recommend(people(), said).options)
    with pytest.raises(lw.PreferenceError, match="nothing"):
        run(fitted(), source, tmp_path / "no", preferences=lw.Preferences(editable=["nothing"]))
    assert not (tmp_path / "no").exists()


def test_a_feature_called_place(tmp_path: Path) -> None:
    """No name that a feature may have is one that tables need while they are put together."""
    train, crowd = (frame.rename(columns={"job": "place"}) for frame in (TRAIN, people()))
    schema = lw.Schema.infer(train)
    rec = lw.Recourse(lambda rows: chance(rows.rename(columns={"place": "job"})), schema, n_options=2, **QUICK)
    rec.fit(train)
    for dedup in (False, True):
        run(rec, write(tmp_path / "people.parquet", crowd), tmp_path / f"out{dedup}", dedup=dedup)
        pd.testing.assert_frame_equal(read_plans(tmp_path / f"out{dedup}").options, rec.recommend(crowd).options)


class Mine:
    """A search of one's own, which says nothing of itself."""

    def __init__(self, depth: int = 3, inner: Any = None) -> None:
        self.depth = depth
        if inner is not None:
            self.inner = inner

    def start(self, problem: Any) -> Any:
        return lw.search.COLS().start(problem)


def test_a_run_with_a_search_of_ones_own_is_resumed(source: Path, tmp_path: Path) -> None:
    run(fitted(method=Mine()), source, tmp_path / "whole")
    out = cut_short(tmp_path / "whole", tmp_path / "out")
    with pytest.raises(SettingError, match=r"settings\.method is 'Mine\(depth=4\)', was 'Mine\(depth=3\)'"):
        run(fitted(method=Mine(4)), source, out, resume=True)
    run(fitted(method=Mine()), source, out, resume=True)
    assert prints(out) == prints(tmp_path / "whole")
    texts = [settings_of(fitted(method=Mine(inner=inner)))["method"] for inner in (Mine(), Mine(), Mine(5), chance)]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3
    assert not any("0x" in text for text in texts)


def test_prints_do_not_depend_on_the_process() -> None:
    """Sets have another order in each, and objects another address."""
    one, other = {0, 8}, {8, 0}
    assert list(one) != list(other)
    assert value_print([one, frozenset(one)]) == value_print([other, frozenset(other)])
    assert value_print({1, 2}) != value_print({1, 3})
    assert value_print(lw.Preferences(editable={"income"})) != value_print(lw.Preferences(editable={"age"}))  # type: ignore[arg-type]
    itself, alike = Mine(), Mine()
    itself.inner, alike.inner = itself, alike
    assert value_print(itself) == value_print(alike) != value_print(Mine())
    assert value_print("<Mine at 0x1f>") != value_print("<Mine at 0x2f>")
    assert value_print(lw.Feature) == value_print(lw.Feature) != value_print(lw.RecoursePlan)  # not of them: themselves
    table = pd.DataFrame({"a": [1, 2], "b": [["x"], ["y"]]})
    for frame in (table, table[["a"]]):
        assert value_print(frame) == value_print(frame.copy()) != value_print(frame.assign(a=[1, 3]))


@dataclass
class Holds:
    """A searcher that says what it holds, which does not."""

    inner: Any


class Slotted:
    """Keeps what it has where `vars` does not look."""

    __slots__ = ("depth",)

    def __init__(self, depth: int) -> None:
        self.depth = depth


def deep(depth: int) -> Any:
    return lambda: depth


def test_searchers_that_differ_in_what_they_hold_are_told_apart() -> None:
    for one, same, other in (
        (Holds(Mine(1)), Holds(Mine(1)), Holds(Mine(2))),
        (Slotted(1), Slotted(1), Slotted(2)),
        (Holds(Slotted(1)), Holds(Slotted(1)), Holds(Slotted(2))),
        (Holds(deep(1)), Holds(deep(1)), Holds(deep(2))),
        (Holds({"a", "b"}), Holds({"b", "a"}), Holds({"a", "c"})),
        (Holds(lambda: 1), Holds(lambda: 1), Holds(lambda: 2)),
        (Holds(partial(deep, 1)), Holds(partial(deep, 1)), Holds(partial(deep, 2))),
        (Holds(Mine(1).start), Holds(Mine(1).start), Holds(Mine(2).start)),
        (Holds(np.random.default_rng(1)), Holds(np.random.default_rng(1)), Holds(np.random.default_rng(2))),
        (Holds(threading.Lock()), Holds(threading.Lock()), Holds(object())),
    ):
        assert "0x" not in setting_text(one)
        assert setting_text(one) != setting_text(other)
        assert (setting_text(one) == setting_text(same)) == (
            same.inner is not deep if isinstance(same, Holds) else True
        )
    assert setting_text(lw.COLS()) == repr(lw.COLS())


def test_an_executor_of_ones_own(source: Path, unbroken: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as executor:
        run(fitted(), source, tmp_path / "out", executor=executor)
        assert executor.submit(int, "1").result() == 1  # it is not ours to end
    assert prints(tmp_path / "out") == prints(unbroken)
    with pytest.raises(SettingError, match="not both"):
        run(fitted(), source, tmp_path / "no", executor=executor, cluster="tcp://x:1")


class Forgetful(ThreadPoolExecutor):
    """An executor whose worker is replaced by a new one before every second chunk."""

    given = 0

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Any:
        self.given += 1
        if self.given % 2 == 0:
            worker._TOLD.clear()
        return super().submit(function, *arguments, **named)


def test_an_executor_whose_workers_come_and_go(source: Path, unbroken: Path, tmp_path: Path) -> None:
    with Forgetful(1) as executor:
        run(fitted(), source, tmp_path / "out", executor=executor)
        assert executor.given > 3
    assert "lost" in events(tmp_path / "out")  # and told again
    assert prints(tmp_path / "out") == prints(unbroken)


class Silent(Executor):
    """An executor that begins on everything and ends nothing."""

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Any:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        return future


def test_an_executor_that_never_answers(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="all workers of the Silent that was given hang"):
        run(fitted(), source, tmp_path / "out", executor=Silent(), workers=2, time_limit=0.2)


def test_progress_and_log(source: Path, tmp_path: Path) -> None:
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


def test_chunks_grow_with_speed() -> None:
    """A chunk is so many units as take about five seconds, and never more than a fair share of what is left."""
    from leastways.batch.driver import Settings

    rec = fitted()
    setting = Settings(rec.schema, unit=10, told=None, time_limit=None, give_up_after=100, total=10_000)
    boss = Driver(Threads(2, rec), setting, lambda _: None, lambda *_: None, lambda *_, **__: None)
    assert boss._rows() == 10  # nothing is known yet
    boss._speed = 100.0
    assert boss._rows() == 500
    boss._given = 9_200
    assert boss._rows() == 100
    boss._speed = 0.1
    assert boss._rows() == 10


def test_settings_that_cannot_be(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="speed of a machine"):
        run(fitted(time_limit=1.0), source, tmp_path / "out")
    for wrong in ({"workers": 0}, {"people_per_part": 0}, {"give_up_after": 0}, {"time_limit": -1.0}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            run(fitted(), source, tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()
    assert "begun" not in events(tmp_path) if (tmp_path / "log.jsonl").exists() else True


def test_the_two_hashes_of_a_kind_are_two() -> None:
    """Else a collision in one is one in both. And zero is one number, whatever its sign."""
    numbers = pd.Series([0.0, -0.0, 1.5, 2.0])
    one, other = (_hashes(numbers, key) for key in _KEYS)
    assert (one != other).all()
    assert one[0] == one[1]
    assert (_hashes(numbers.astype(object), _KEYS[0]) == one).all()
