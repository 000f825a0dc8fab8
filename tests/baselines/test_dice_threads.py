"""DICE leaves nothing behind: no threads, no changed random streams, no changed model; and it never hangs."""

from __future__ import annotations

import gc
import pickle
import random
import sys
import threading
from itertools import count
from typing import Any

import numpy as np
import pytest

from leastways import Recourse
from leastways.baselines import Dice, dice_descent
from leastways.errors import MissingExtraError, SettingError
from leastways.search import protocol as base
from leastways.search import run_search
from tests.support.dice_methods import METHODS, Columns, ready, torch_model
from tests.support.small_worlds import World, evaluator_of, make_problem, make_world

torch: Any = pytest.importorskip("torch")
pytest.importorskip("dice_ml")

ASKING = ("random", "genetic", "kdtree")
WORLD = make_world(5, n=40, rules=False)
PEOPLE = WORLD.refused().head(6)


def threads() -> list[str]:
    gc.collect()
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("leastways")]


def recourse(method: Any, model: Any = None, world: World = WORLD, **settings: Any) -> Recourse:
    quick = {"n_options": 3, "budget": 120, "n_costs": 20} | settings
    return Recourse(model or torch_model(world), world.schema, Dice(method), **quick).fit(world.frame)


@pytest.mark.parametrize("method", METHODS)
def test_global_random_streams_and_model_are_unchanged(method: str, capsys: Any) -> None:
    model = torch_model(WORLD)
    model.module.train()
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # type: ignore[index]  # noqa: NPY002
    recourse(method, model).recommend(PEOPLE)
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # type: ignore[index]  # noqa: NPY002
    assert before == after
    assert model.module.training
    assert all(p.requires_grad and p.grad is None for p in model.module.parameters())
    assert capsys.readouterr().out == ""
    assert threads() == []


@pytest.mark.parametrize("method", METHODS)
def test_no_time_gives_no_options(method: str) -> None:
    plans = recourse(method, time_limit=0).recommend(PEOPLE)
    assert (plans.summary["status"] == "none_found").all()
    assert (plans.summary["reason"] == "the time limit ended the search early").all()
    assert (plans.summary["queries"] == 1).all()
    assert threads() == []


@pytest.mark.parametrize("seconds", [0.02, 0.05, 0.2])
@pytest.mark.parametrize("method", METHODS)
def test_time_limit_interrupts_a_run(method: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that moves on a millisecond whenever it is looked at."""
    ticks = count()
    monkeypatch.setattr(base, "monotonic", lambda: next(ticks) / 1000)
    problem, encoded = make_problem(WORLD, PEOPLE, n_options=3, budget=400)
    result = run_search(ready(method, WORLD), problem, evaluator_of(WORLD, encoded), time_limit=seconds)
    assert result.cut_short.any() or seconds > 0.02
    assert (result.queries <= 400).all()
    for p in range(len(PEOPLE)):
        options = result.chosen.codes[p, : result.chosen.n[p]]
        again = WORLD.probability(WORLD.schema.decode(options, encoded, np.full(len(options), p)))
        assert (again >= 0.5).all()
    assert threads() == []


@pytest.mark.parametrize("method", METHODS)
def test_search_ends_if_nothing_is_accepted(method: str) -> None:
    hopeless = World(WORLD.frame, WORLD.schema, WORLD.weights, cut=50.0)
    plans = recourse(method, torch_model(hopeless), hopeless).recommend(PEOPLE)
    assert (plans.summary["status"] == "none_found").all()
    assert plans.summary["reason"].str.startswith(f"DICE ({method})").all()
    assert (plans.summary["queries"] <= 120).all()
    assert threads() == []


@pytest.mark.parametrize("method", METHODS)
def test_people_who_can_change_nothing_get_no_options(method: str) -> None:
    fixed = WORLD.schema.update({name: {"direction": "fixed"} for name in WORLD.schema.names})
    stuck = World(WORLD.frame, fixed, WORLD.weights, WORLD.cut)
    plans = recourse(method, torch_model(stuck), stuck).recommend(PEOPLE)
    assert (plans.summary["status"] == "none_exists").all()
    assert (plans.summary["queries"] == 1).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_fitted_recourse_can_be_pickled(method: str) -> None:
    rec = recourse(method)
    plans = rec.recommend(PEOPLE)
    again = pickle.loads(pickle.dumps(rec)).recommend(PEOPLE)
    assert again.options.equals(plans.options)


@pytest.mark.parametrize("method", ASKING)
def test_abandoned_search_leaves_no_thread(method: str) -> None:
    problem, _ = make_problem(WORLD, PEOPLE, budget=400)
    run = ready(method, WORLD).start(problem)
    assert len(run.ask(np.full(len(PEOPLE), 400)).people)
    assert len(threads()) == len(PEOPLE)
    del run
    assert threads() == []


@pytest.mark.parametrize("method", METHODS)
def test_evaluation_error_leaves_no_thread(method: str) -> None:
    problem, _ = make_problem(WORLD, PEOPLE, budget=400)

    def evaluate(questions: Any) -> Any:
        raise SettingError("no")

    with pytest.raises(SettingError):
        run_search(ready(method, WORLD), problem, evaluate)
    assert threads() == []


def test_missing_dice_ml_is_named_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dice_ml", None)
    for method in METHODS:
        with pytest.raises(MissingExtraError, match=r"pip install 'leastways\[baselines\]'"):
            recourse(method)


def test_error_for_model_without_gradients_names_alternatives() -> None:
    with pytest.raises(
        SettingError, match=r"'dice' follows gradients; a model of type 'World' has none.*dice-genetic.*TorchModel"
    ):
        Recourse(WORLD, WORLD.schema, "dice").fit(WORLD.frame)


def test_an_encoder_that_mixes_columns_is_refused_for_gradients() -> None:
    columns = Columns(WORLD)
    model = torch_model(WORLD)
    model.encoder = lambda frame: columns(frame) * columns(frame)[:, :1]
    with pytest.raises(SettingError, match=r"each column by itself.*several features.*dice-genetic"):
        recourse("gradient", model)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"method": "gradients"}, "method must be one of .* Did you mean 'gradient'"),
        ({"sample_size": 10}, "method 'gradient' makes no use of sample_size; it takes 'begin', 'proximity_weight'"),
        ({"method": "random", "sample_size": 0}, "sample_size must be a whole number of 1 or more, not 0"),
        ({"begin": "here"}, "begin must be one of 'random', 'near', not 'here'"),
        ({"proximity_weight": -1}, "proximity_weight must be a number of 0 or more, not -1"),
        ({"method": "genetic", "sparsity_weight": "much"}, "sparsity_weight must be a number of 0 or more, not 'much'"),
    ],
)
def test_invalid_settings_are_refused(settings: Any, text: str) -> None:
    with pytest.raises(SettingError, match=text):
        Dice(**settings)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (
            "gradient",
            {"proximity_weight": 0, "diversity_weight": 0, "learning_rate": 0.1, "min_iter": 2, "max_iter": 5},
        ),
        ("random", {"sample_size": 7}),
        ("genetic", {"proximity_weight": 0.7, "sparsity_weight": 1.0, "max_iter": 2}),
        ("kdtree", {"sparsity_weight": 0.0}),
    ],
)
def test_settings_reach_dice_ml(method: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from leastways.baselines.dice_explainers import EXPLAINERS

    kind: Any = dice_descent.Descent if method == "gradient" else EXPLAINERS[method]
    work, given = kind._generate_counterfactuals, []

    def spy(self: Any, *rest: Any, **named: Any) -> Any:
        given.append(named)
        return work(self, *rest, **named)

    monkeypatch.setattr(kind, "_generate_counterfactuals", spy)
    problem, encoded = make_problem(WORLD, PEOPLE, n_options=3, budget=400)
    result = run_search(ready(method, WORLD, **settings), problem, evaluator_of(WORLD, encoded))
    assert len(given) == len(PEOPLE)
    theirs = {"max_iter": "maxiterations"} if method == "genetic" else {}
    for named in given:
        assert {name: named[theirs.get(name, name)] for name in settings} == settings
    if method == "gradient":
        assert (result.gradient_rows < 60).all()
