"""The seam for methods that read training rows or the model first, and give an account of what they spent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

import leastways as lw
from leastways.search import Account, Background, Chosen, Problem, Questions, Searcher
from leastways.search.local import SetRun
from tests.support.small_worlds import World, make_world


@dataclass(frozen=True)
class Following:
    """Random sets, after so many rows for gradients, and with something to say about the first person."""

    gradient_rows: int = 3
    rows_seen: int = 0

    def prepare(self, background: Background) -> Searcher:
        return replace(Ready(self.gradient_rows), rows_seen=len(background.rows))


@dataclass(frozen=True)
class Ready:
    gradient_rows: int
    rows_seen: int = 0

    def start(self, problem: Problem) -> FollowingRun:
        return FollowingRun(problem, self.gradient_rows, self.rows_seen)


class FollowingRun:
    def __init__(self, problem: Problem, gradient_rows: int, rows_seen: int) -> None:
        self.run: SetRun = lw.RandomSearch().start(problem)
        self.n_people, self.each = problem.n_people, gradient_rows
        self.spent = np.zeros(self.n_people, np.int64)
        self.said = f"saw {rows_seen} rows"
        self.asked = 0

    def ask(self, left: NDArray[np.int64]) -> Questions:
        if self.asked == 0:
            self.spent += self.each
            left = left - self.each
        self.asked += 1
        return self.run.ask(np.maximum(left, 0)) if self.asked <= 3 else Questions(np.empty(0, np.int64), EMPTY)

    def tell(self, questions: Questions, probability: Any, accepted: Any) -> None:
        self.run.tell(questions, probability, accepted)

    def chosen(self) -> Chosen:
        return self.run.chosen()

    def account(self) -> Account:
        cut_short = np.zeros(self.n_people, np.bool_)
        cut_short[-1] = True
        return Account(self.spent, {0: self.said}, cut_short)


EMPTY = np.empty((0, 6), np.int32)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(5)


def recourse(world: World, method: Any, **settings: Any) -> lw.Recourse:
    return lw.Recourse(world, world.schema, method, n_options=4, n_costs=20, **settings)


def refused(world: World) -> Any:
    return world.frame[world.probability(world.frame) < 0.5].head(6)


def test_rows_for_gradients_count_as_queries_and_are_shown_apart(world: World) -> None:
    people = refused(world)
    plain = recourse(world, lw.RandomSearch(), budget=13).fit(world.frame).recommend(people)
    plans = recourse(world, Following(), budget=40).fit(world.frame).recommend(people)
    assert plain.summary["queries"].max() == 13
    assert (plans.summary["queries"] == 1 + 3 + 12).all()  # own row, gradients, three sets of four
    assert plans.settings["model_gradient_rows"] == 3 * len(people)
    assert "model_gradient_rows" not in plain.settings
    assert plans.settings["model_rows"] == len(people) * 13


def test_rows_for_gradients_beyond_the_budget_are_an_error(world: World) -> None:
    rec = recourse(world, Following(gradient_rows=30), budget=20).fit(world.frame)
    with pytest.raises(lw.SearcherError, match="rows for gradients count too"):
        rec.recommend(refused(world))


def test_note_of_a_method_reaches_the_plan(world: World) -> None:
    summary = recourse(world, Following(), budget=40).fit(world.frame).recommend(refused(world)).summary
    assert summary["reason"].iloc[0] == f"saw {len(world.frame)} rows"
    assert summary["reason"].iloc[-1] == "the time limit ended the search early"
    assert summary["status"].iloc[-1] in ("partial", "none_found")


def test_a_method_that_was_prepared_for_another_is_refused(world: World) -> None:
    rec = recourse(world, Following(), budget=40).fit(world.frame)
    rec.method = Following(gradient_rows=4)
    with pytest.raises(lw.SettingError, match=r"method was changed after fit, and .*gradient_rows=4.* call fit again"):
        rec.recommend(refused(world))
    rec.method = "random"  # needs no preparing
    assert len(rec.recommend(refused(world))) == 6


@pytest.mark.parametrize("change", [{"threshold": 0.6}, {"random_state": 3}, {"target": 0}, {"model": make_world(5)}])
def test_settings_read_at_fit_may_not_change_after_it(world: World, change: dict[str, Any]) -> None:
    rec = recourse(world, Following(), budget=40).fit(world.frame).set_params(**change)
    with pytest.raises(lw.SettingError, match=f"{next(iter(change))} was changed after fit"):
        rec.recommend(refused(world))
    rec.set_params(method="random").recommend(refused(world))  # reads nothing there


def test_a_fit_that_failed_leaves_no_other_method_in_use(world: World) -> None:
    rec = recourse(world, Following(), budget=40).fit(world.frame).set_params(method="dice")
    with pytest.raises(lw.SettingError, match="dice-genetic"):
        rec.fit(world.frame)
    with pytest.raises(lw.SettingError, match="method was changed after fit"):
        rec.recommend(refused(world))
    fresh = recourse(world, "dice", budget=40)
    with pytest.raises(lw.SettingError, match="dice-genetic"):
        fresh.fit(world.frame)
    with pytest.raises(NotFittedError):
        fresh.recommend(refused(world))


def test_which_features_the_sampled_functions_can_change(world: World) -> None:
    people = refused(world)
    rec = recourse(world, "random", budget=40).fit(world.frame)
    drawn = rec.belief(people).editable
    assert drawn.shape == (len(people), 20, len(world.schema.features))
    assert drawn.any(axis=2).all()
    fixed = [feature.direction == "fixed" for feature in world.schema.features]
    assert not drawn[:, :, fixed].any()
    told = rec.belief(people, lw.Preferences(editable=["income"])).editable
    assert (told == (np.array(world.schema.names) == "income")).all()
    with pytest.raises(lw.DataError, match="row 'x' cannot be used"):
        rec.belief(people.head(1).assign(job="?").set_axis(["x"], axis=0))


def test_rows_outside_the_schema_are_left_out_of_the_background(world: World) -> None:
    frame = world.frame.assign(sex=world.frame["sex"].astype(object))
    frame.loc[frame.index[:2], "sex"] = "other"
    rec = lw.Recourse(world, world.schema, Following(), n_options=4, n_costs=20, budget=40).fit(frame)
    assert rec.recommend(refused(world)).summary["reason"].iloc[0] == f"saw {len(frame) - 2} rows"
    frame["sex"] = np.where(np.arange(len(frame)) % 2, "other", "f")
    frame["job"] = np.where(np.arange(len(frame)) % 2, "a", "z")
    with pytest.raises(lw.DataError, match="nothing to learn from"):
        rec.fit(frame)
