"""The contract of searchers, as a suite that a user's own can be run through: ``check_searcher(MySearcher())``.

The suite uses the documented surface of `leastways` alone, as a searcher does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.errors import MissingExtraError
from leastways.models import Model, TorchModel
from leastways.recourse import Recourse
from leastways.schema import AtMost, IfThen, Schema
from leastways.search import Accounting, Background, Chosen, Preparing, Problem, Questions, Run, Searcher

Method = Searcher | Preparing

_N_OPTIONS, _BUDGET, _N_COSTS, _PEOPLE = 4, 60, 30, 12


def check_searcher(searcher: Method, seed: int = 0, gradients: bool = False) -> None:
    """Raise AssertionError, with what is wrong, unless a searcher keeps its contract.

    It is checked on a small generated population. A searcher asks for states of people's grids, within the allowance.
    Whenever it is interrupted, its options are accepted by the model, permitted to the person, within the rules,
    distinct and not too many. A run depends neither on who else is in the chunk nor on earlier runs, and offers nothing
    before it asked.

    Parameters
    ----------
    searcher
        A configured method: it has ``start(problem)``, or ``prepare(background)``.
    seed
        Of the population.
    gradients
        Make the population's model a `TorchModel`, for methods that need gradients.

    Examples
    --------
    >>> import leastways as lw
    >>> lw.testing.check_searcher(lw.COLS())
    """
    for check in SEARCHER_CHECKS:
        check(searcher, seed, gradients)


def check_asks_within_allowance(searcher: Method, seed: int = 0, gradients: bool = False) -> None:
    """Check that states asked for are within `left`, on people's grids, and grouped by person."""
    world = _world(seed, gradients)
    for _ in _rounds(searcher, world, world.problem()):  # which checks every question before it is answered
        pass


def _check_questions(questions: Questions, left: NDArray[np.int64], problem: Problem) -> None:
    asked = np.bincount(questions.people, minlength=len(left))
    assert len(asked) == len(left), "a question names a person who is not in the chunk"
    assert (asked <= left).all(), "more rows asked for a person than `left` allows"
    assert (np.diff(questions.people) >= 0).all(), "rows of one person must be together, in order of people"
    sizes = problem.sizes[questions.people]
    assert ((questions.codes >= 0) & (questions.codes < sizes)).all(), "a question holds a code outside the grid"


def check_options_are_sound_at_any_time(searcher: Method, seed: int = 0, gradients: bool = False) -> None:
    """After every round the options are accepted, permitted, within the rules, distinct, and at most N."""
    world = _world(seed, gradients)
    problem = world.problem()
    for run, _ in _rounds(searcher, world, problem):
        chosen = run.chosen()
        for p in range(problem.n_people):
            options = chosen.codes[p, : chosen.n[p]]
            assert len(options) <= problem.n_options, "more options than asked for"
            assert len(np.unique(options, axis=0)) == len(options), "an option is offered twice"
            for f in range(problem.n_features):
                within = np.isin(options[:, f], problem.choices(p, f))
                assert within.all(), "an option breaks a fixed feature or a direction"
            assert problem.permits(p, options).all(), "an option breaks a rule"
            accepted = world.evaluate(Questions(np.full(len(options), p), options), problem) >= 0.5
            assert accepted.all(), "the model does not accept an option"


def check_company_does_not_matter(searcher: Method, seed: int = 0, gradients: bool = False) -> None:
    """Check that a person's options and queries do not depend on the other people."""
    world = _world(seed, gradients)
    together = _finish(searcher, world, world.problem())
    for p in (0, _PEOPLE // 2, _PEOPLE - 1):
        alone = _finish(searcher, world, world.problem(p))
        assert alone[1][0] == together[1][p], "the number of queries depends on who else is in the chunk"
        assert np.array_equal(alone[0][0], together[0][p]), "the options depend on who else is in the chunk"


def check_runs_are_independent(searcher: Method, seed: int = 0, gradients: bool = False) -> None:
    """Two runs of one searcher give the same options: it holds settings, not state."""
    world = _world(seed, gradients)
    first, second = (_finish(searcher, world, world.problem()) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first[0], second[0], strict=True)), "a second run differs"


def check_nothing_asked_nothing_offered(searcher: Method, seed: int = 0, gradients: bool = False) -> None:
    """Check that nothing is offered before the first evaluation, and nothing asked without an allowance."""
    world = _world(seed, gradients)
    run = world.ready(searcher).start(world.problem())
    assert (run.chosen().n == 0).all(), "options are offered before the model was asked"
    assert not len(run.ask(np.zeros(_PEOPLE, np.int64)).people), "rows are asked for although none are left"


def check_works_in_recourse(searcher: Method, seed: int = 0, gradients: bool = False) -> None:
    """The searcher works behind `Recourse`, within its budget."""
    world = _world(seed, gradients)
    rec = Recourse(world.model, world.schema, searcher, n_options=_N_OPTIONS, budget=_BUDGET, n_costs=_N_COSTS)
    plans = rec.fit(world.frame).recommend(world.people)
    assert (plans.summary["queries"] <= _BUDGET).all(), "the budget is exceeded"
    assert set(plans.summary["status"]) <= {"found", "none_found", "none_exists"}, "an unexpected status"


SEARCHER_CHECKS: tuple[Callable[[Method, int, bool], None], ...] = (
    check_nothing_asked_nothing_offered,
    check_asks_within_allowance,
    check_options_are_sound_at_any_time,
    check_company_does_not_matter,
    check_runs_are_independent,
    check_works_in_recourse,
)


class _World(Model):
    """A generated population with every kind of feature, rules, and a logistic model that refuses these people.

    Some of them lack a value, and some have numbers beyond the ends of the grid.
    """

    def __init__(self, seed: int, gradients: bool = False) -> None:
        self.model: object = _torch_twin() if gradients else self
        self.seed = seed
        self.problems: dict[tuple[int, ...], Problem] = {}
        draw = np.random.default_rng(seed)
        n = 80
        self.frame = pd.DataFrame(
            {
                "years": draw.integers(0, 30, n),
                "income": draw.gamma(3.0, 400.0, n).round(2),
                "level": draw.permutation(np.resize(["low", "mid", "high"], n)),
                "kind": draw.permutation(np.resize(["x", "y", "z"], n)),
                "origin": draw.permutation(np.resize(["here", "there"], n)),
            }
        )
        self.frame["kind"] = self.frame["kind"].mask(draw.random(n) < 0.15)
        self.schema = Schema.infer(self.frame, rules=[IfThen({"kind": "z"}, {"level": ["mid", "high"]}), AtMost(3)])
        self.schema = self.schema.update(
            years={"direction": "up"},
            level={"order": ["low", "mid", "high"]},
            kind={"excluded": ["x"]},
            origin={"direction": "fixed"},
        )
        people = self.frame[self.probability(self.frame) < 0.5].head(_PEOPLE)
        p = np.arange(_PEOPLE)
        self.people = people.assign(
            years=np.where(p % 4 == 1, -3, people["years"]),
            income=np.where(p % 5 == 2, 1.5, people["income"]),
        )

    def probability(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        years, income, level, kind = _columns(frame).T
        return np.asarray(1 / (1 + np.exp(-6 * (years + income + level + kind - 1.8))))

    @cached_property
    def recourse(self) -> tuple[Recourse, _Recorder]:
        """Return a fitted `Recourse`, and its searcher, which records what it is given."""
        recorder = _Recorder()
        recourse = Recourse(
            self.model,
            self.schema,
            recorder,
            n_options=_N_OPTIONS,
            budget=_BUDGET + 1,  # a person's own row takes one
            n_costs=_N_COSTS,
            random_state=self.seed,
        )
        return recourse.fit(self.frame), recorder

    def ready(self, method: Method) -> Searcher:
        """Return the method, prepared with the rows of this population if it needs preparation."""
        return method.prepare(self.recourse[1].background[0]) if isinstance(method, Preparing) else method

    def problem(self, *rows: int) -> Problem:
        """Return a copy of the problem that `Recourse` sets about these people, or about all."""
        if rows not in self.problems:
            recourse, recorder = self.recourse
            recourse.recommend(self.people.iloc[list(rows)] if rows else self.people)
            self.problems[rows] = recorder.problems.pop()
        return deepcopy(self.problems[rows])

    def evaluate(self, questions: Questions, problem: Problem) -> NDArray[np.float64]:
        return self.probability(self.schema.decode(questions.codes, problem.people, questions.people))


@dataclass(frozen=True)
class _Recorder:
    """A searcher that records its problem, and asks for no states."""

    background: list[Background] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def prepare(self, background: Background) -> Searcher:
        self.background.append(background)
        return self

    def start(self, problem: Problem) -> Run:
        self.problems.append(problem)
        return _NoRun(problem)


@dataclass(frozen=True)
class _NoRun:
    """A run without a question."""

    problem: Problem

    def ask(self, left: NDArray[np.int64]) -> Questions:
        return Questions(np.empty(0, np.int64), np.empty((0, self.problem.n_features), np.int32))

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        raise AssertionError("nothing was asked")

    def chosen(self) -> Chosen:
        return Chosen.none(self.problem.n_people, self.problem.n_options, self.problem.n_features)


@lru_cache(maxsize=4)
def _world(seed: int, gradients: bool) -> _World:
    """Return a world, the same for every check."""
    return _World(seed, gradients)


def _columns(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return the terms of the world's score, [R, 4]."""
    level = frame["level"].map({"low": 0.0, "mid": 0.5, "high": 1.0}).to_numpy(dtype=float)
    kind = (frame["kind"] == "y").to_numpy(dtype=float)
    return np.stack([frame["years"].to_numpy() / 30, frame["income"].to_numpy() / 3000, level, 0.3 * kind], axis=1)


def _torch_twin() -> TorchModel:
    """Return the model of a world as a torch module."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("a check of gradients needs torch: pip install 'leastways[torch]'") from error
    layer = torch.nn.Linear(4, 1, dtype=torch.float64, device="meta")
    values = {"weight": torch.full((1, 4), 6.0).double(), "bias": torch.tensor([-6 * 1.8]).double()}
    layer.load_state_dict(values, assign=True)
    return TorchModel(layer, _columns)


def _rounds(searcher: Method, world: _World, problem: Problem) -> Iterator[tuple[Run, Questions]]:
    """Drive a run; after each answer yield it with what was asked."""
    run, left = world.ready(searcher).start(problem), np.full(problem.n_people, problem.budget, np.int64)
    spent = np.zeros(problem.n_people, np.int64)  # on gradients
    for _ in range(problem.budget * problem.n_people):
        questions = run.ask(left.copy())
        if isinstance(run, Accounting):
            left, spent = left - (run.account().gradient_rows - spent), run.account().gradient_rows.copy()
        assert (left >= 0).all(), "more rows spent on gradients than `left` allows"
        if not len(questions.people):
            return
        _check_questions(questions, left, problem)
        probability = world.evaluate(questions, problem)
        run.tell(questions, probability, probability >= 0.5)
        yield run, questions
        left -= np.bincount(questions.people, minlength=len(left))


def _finish(searcher: Method, world: _World, problem: Problem) -> tuple[list[NDArray[np.int32]], NDArray[np.int64]]:
    """Run to the end; return each person's options and queries."""
    asked = np.zeros(problem.n_people, np.int64)
    chosen = world.ready(searcher).start(problem).chosen()
    for run, questions in _rounds(searcher, world, problem):
        asked += np.bincount(questions.people, minlength=len(asked))
        chosen = run.chosen()
    return [chosen.codes[p, : chosen.n[p]] for p in range(problem.n_people)], asked
