"""DICE: diverse counterfactual explanations, by the published package dice-ml.

R. K. Mothilal, A. Sharma, C. Tan: "Explaining Machine Learning Classifiers through Diverse Counterfactual
Explanations", FAT* 2020. For a person x it looks for k counterfactuals c_1 .. c_k with the least

    mean hinge(f(c_i), y)  +  l1 / k * sum dist(c_i, x)  -  l2 * det K,    K_ij = 1 / (1 + dist(c_i, c_j)),

by gradient descent on the relaxed encoding, rounded at the end ("gradient"). The package also has three methods that
need no gradients: random changes of ever more features ("random"), a genetic search for the least distance ("genetic"),
and the nearest accepted training rows ("kdtree").

Deviations from the published method
------------------------------------
All methods:

- Ordinal features are passed as categories: dice-ml knows numbers and categories only.
- Only permitted states are evaluated: fixed features do not vary, directions and personal ranges become dice-ml's
  permitted ranges, and a state that breaks a rule counts as rejected without a query. dice-ml itself knows no rules.
- Every row is put on the person's grid, numbers at the nearest permitted value: only such states can be options.
- If dice-ml raises an error, only that person's run ends: the nearest accepted states become the options, and the error
  is given as the reason.
- A state is evaluated once per person. dice-ml evaluates the same state repeatedly, which would waste the budget.
- The budget and the time limit end a run; the options are then the accepted states nearest to the person. A run that
  ends by itself gives dice-ml's own set, as far as it is permitted; if nothing of it is, the nearest accepted states.
- dice-ml works with a threshold of 0.5; any other threshold is moved there by a shift of log-odds.
- Each person has a random stream of their own, so plans do not depend on who else is in the batch. dice-ml draws from
  the global streams and, given a seed, reseeds for every feature.

Gradient:

- The loss is computed in arrays, not cell by cell, with the same values; a row needed twice in a step is passed once.
- Rounding goes to the person's grid, also for the intermediate sets that dice-ml keeps. Its own rounding scales by the
  wrong range if there are permitted ranges.
- Counterfactuals start at random permitted points (``begin="random"``). dice-ml's default is to start next to the
  person (``begin="near"``), where the determinant is flat: on COMPAS ten counterfactuals collapsed to one or two.
- A category's value that is not permitted gets no weight; dice-ml can only freeze whole features.

Genetic and k-d tree:

- dice-ml predicts the whole training set for every person. Here only training rows that are permitted to the person are
  evaluated, the nearest first, up to 0.25 (genetic) or 0.8 (k-d tree) of the allowance.
- Genetic: missing rows of the first generation are drawn all at once, not one by one.
- Genetic: the weights of numbers, 1 / MAD, are not rounded. dice-ml rounds them to two decimals, which makes them 0 for
  amounts of money; if all are 0, it divides 0 by 0 and finds nothing.
- Genetic: a generation of one row ends the search; dice-ml raises an error there, as half of it is no parent.

Random: `sample_size` is at most a quarter of the allowance, so that states with several changes are reached.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leastways._extras import require
from leastways._messages import listed
from leastways._validation import check_choice, check_count
from leastways.baselines.dice_tables import Answers, Layout, Person, weights_of
from leastways.baselines.dice_threads import OwnStreams, PersonRun, Prepared, Routine, States, quiet
from leastways.errors import ModelError, SettingError
from leastways.models import GradientCounter, RelaxedModel
from leastways.search import Account, Background, Chosen, Problem, Questions, Run, Searcher

Method = Literal["gradient", "random", "genetic", "kdtree"]

# The settings of each method, with dice-ml's defaults (except for `begin`, see above).
_DEFAULTS: dict[str, dict[str, Any]] = {
    "gradient": {
        "begin": "random",
        "proximity_weight": 0.5,
        "diversity_weight": 1.0,
        "categorical_penalty": 0.1,
        "learning_rate": 0.05,
        "min_iter": 500,
        "max_iter": 5000,
    },
    "random": {"sample_size": 1000},
    "genetic": {"proximity_weight": 0.2, "sparsity_weight": 0.2, "max_iter": 500},
    "kdtree": {"sparsity_weight": 1.0},
}
_COUNTS = ("min_iter", "max_iter", "sample_size")


@dataclass(frozen=True)
class Dice:
    """Find diverse counterfactuals with the package dice-ml (DICE, Mothilal et al. 2020).

    A setting that is None has dice-ml's default; one that the method does not use is an error.

    Parameters
    ----------
    method
        "gradient" for a `TorchModel`; "random", "genetic" or "kdtree" for any model.
    begin
        Start of the descent ("gradient"): any permitted point ("random"), or next to the person ("near", dice-ml's
        default).
    proximity_weight
        Weight of the distance to the person ("gradient": l1; "genetic").
    diversity_weight
        Weight of the determinant, l2 ("gradient").
    categorical_penalty
        Weight of the penalty on a category whose values' weights do not sum to 1 ("gradient").
    sparsity_weight
        Weight of the number of changed features ("genetic", "kdtree").
    learning_rate
        Of Adam ("gradient").
    min_iter, max_iter
        Least and largest number of steps ("gradient"); largest number of generations ("genetic": `max_iter`).
    sample_size
        Rows drawn for each number of changed features ("random").

    Examples
    --------
    >>> import leastways as lw
    >>> lw.Dice("genetic", sparsity_weight=0.5).max_iter is None
    True
    >>> lw.Dice("random", learning_rate=0.1)
    Traceback (most recent call last):
    leastways.errors.SettingError: Dice: method 'random' makes no use of learning_rate; it takes 'sample_size'.

    Used as ``lw.Recourse(model, schema, lw.Dice("genetic"))``, or by name: ``"dice-genetic"``.
    """

    method: Method = "gradient"
    begin: Literal["random", "near"] | None = None
    proximity_weight: float | None = None
    diversity_weight: float | None = None
    categorical_penalty: float | None = None
    sparsity_weight: float | None = None
    learning_rate: float | None = None
    min_iter: int | None = None
    max_iter: int | None = None
    sample_size: int | None = None

    def __post_init__(self) -> None:
        check_choice("method", self.method, tuple(_DEFAULTS))
        for name, value in self._given().items():
            if name not in _DEFAULTS[self.method]:
                takes = listed(list(_DEFAULTS[self.method]))
                raise SettingError(f"Dice: method {self.method!r} makes no use of {name}; it takes {takes}.")
            if name == "begin":
                check_choice("Dice: begin", value, ("random", "near"))
            elif name in _COUNTS:
                check_count(f"Dice: {name}", value)
            elif isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
                raise SettingError(f"Dice: {name} must be a number of 0 or more, not {value!r}.")

    def prepare(self, background: Background) -> Searcher:
        """Return the method with dice-ml's view of the training rows, and the model's gradients if it needs them."""
        settings = _DEFAULTS[self.method] | self._given()
        name = "dice" if self.method == "gradient" else f"dice-{self.method}"
        require("dice_ml", "baselines", f"method {name!r}")
        layout = Layout.of(background.schema)
        rows = layout.training(background.schema, background.rows)
        if self.method == "gradient":
            model = RelaxedModel.build(background.model, background.schema, name)
            from leastways.baselines.dice_descent import Descent

            scaled = (rows[:, : layout.n_numbers] - layout.low) / (layout.high - layout.low)
            weights = weights_of(scaled, layout.n_numbers).round(2)  # as dice-ml; on this scale none is below 1
            return PreparedGradient(model, layout, Descent(layout, rows, weights), weights, settings)
        from leastways.baselines.dice_explainers import make_explainer

        with OwnStreams(background.seed).in_force():
            explainer = make_explainer(self.method, layout, rows)
        weights = weights_of(rows, layout.n_numbers)
        return PreparedDice(Prepared(self.method, layout, explainer, rows, weights, settings))

    def _given(self) -> dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "method"}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class PreparedDice:
    """One of dice-ml's methods without gradients, with what all people share."""

    prepared: Prepared

    def start(self, problem: Problem) -> Run:
        """Begin a search for a chunk of people."""
        return QueryRun(self.prepared, problem)


_AT_A_TIME = 32  # people whose runs are under way together: each holds tables of its own


class QueryRun:
    """dice-ml's random, genetic or k-d tree method for a chunk of people.

    Each person has a run of dice-ml, which does not depend on the others; but rows that several runs wait for share a
    model call.
    """

    def __init__(self, prepared: Prepared, problem: Problem) -> None:
        self.problem = problem
        self._prepared = prepared
        self._people: list[PersonRun] = []  # those whose run was begun, in order
        self._left = np.zeros(problem.n_people, np.int64)  # before the last questions
        self._routines: list[Routine[States, States]] = []
        weakref.finalize(self, _stop_all, self._routines)  # a search that is dropped half-way leaves no thread

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Return the pending states of all runs, after replacing ended runs by new ones."""
        self._left = left
        for p, one in enumerate(self._people):
            if not left[p] and not one.routine.ended:
                one.routine.stop()
        running = sum(not one.routine.ended for one in self._people)
        while running < _AT_A_TIME and len(self._people) < self.problem.n_people and not self.problem.out_of_time():
            one = PersonRun(self._prepared, self.problem, len(self._people))
            self._routines.append(one.routine)
            self._people.append(one)
            one.start(int(left[len(self._people) - 1]))
            running += not one.routine.ended
        F = self.problem.people.shape[1]
        people, codes = [np.empty(0, np.int64)], [np.empty((0, F), np.int32)]
        for p, one in enumerate(self._people):
            if one.pending is not None:
                codes.append(one.pending[: left[p]])
                people.append(np.full(len(codes[-1]), p, np.int64))
        return Questions(np.concatenate(people), np.concatenate(codes))

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Pass each run its answers, and let it continue to its next question."""
        people, first, counts = np.unique(questions.people, return_index=True, return_counts=True)
        for p, a, n in zip(people.tolist(), first.tolist(), counts.tolist(), strict=True):
            rows = slice(a, a + n)
            left = int(self._left[p]) - n
            self._people[p].tell(questions.codes[rows], probability[rows], accepted[rows], left)

    def chosen(self) -> Chosen:
        """Return each person's options so far."""
        P, F = self.problem.people.shape
        out = Chosen.none(P, self.problem.n_options, F)
        for p, one in enumerate(self._people):
            states = one.options()
            out.n[p] = len(states)
            out.codes[p, : len(states)] = states
            out.probability[p, : len(states)] = one.answers.probability(states)
        return out

    def account(self) -> Account:
        """Return the people whose search was cut short, and the reasons; end all runs at the time limit."""
        P = self.problem.n_people
        cut, reasons = np.zeros(P, np.bool_), {}
        late = self.problem.out_of_time()
        cut[len(self._people) :] = late
        for p, one in enumerate(self._people):
            cut[p] = one.out_of_time or (late and not one.routine.ended)
            if late and not one.routine.ended:
                one.routine.stop()
            if one.routine.ended and one.person.varies and not len(one.options()):
                reasons[p] = f"DICE ({self._prepared.method}) met no permitted state that the model accepts"
            if one.error is not None:
                reasons[p] = f"DICE ({self._prepared.method}) ended early, as dice-ml raised {one.error}"
        return Account(np.zeros(P, np.int64), reasons, cut)


def _stop_all(routines: list[Routine[States, States]]) -> None:
    """End the runs that still wait for answers."""
    for routine in routines:
        if not routine.ended:
            routine.stop()


@dataclass(frozen=True)
class PreparedGradient:
    """The gradient method with what all people share: the model with gradients, and dice-ml's explainer."""

    model: RelaxedModel
    layout: Layout
    descent: Any  # a `Descent`, which works for one person at a time
    weights: NDArray[np.float64]  # [numbers] of the distance, with each number scaled to [0, 1]
    settings: Mapping[str, Any]

    def start(self, problem: Problem) -> Run:
        """Begin a search for a chunk of people."""
        return GradientRun(self, problem)


class GradientRun:
    """dice-ml's gradient method for a chunk of people: one person's descent in each `ask`."""

    def __init__(self, prepared: PreparedGradient, problem: Problem) -> None:
        P, F = problem.people.shape
        self.problem, self._prepared = problem, prepared
        self._descent = copy(prepared.descent)  # which holds the state of a descent
        self._next = 0  # the first person whose descent has not begun
        self._rows = np.zeros(P, np.int64)
        self._cut_short = np.zeros(P, np.bool_)
        self._reasons: dict[int, str] = {}
        self._failed: set[int] = set()  # people whose descent ended with an error: they may have fewer options
        self._chosen = Chosen.none(P, problem.n_options, F)

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Descend for one person after the other until there are states to evaluate."""
        states = self._chosen.codes[0, :0]
        while not len(states) and self._next < self.problem.n_people and not self.problem.out_of_time():
            states = self._descend(self._next, int(left[self._next]))
            self._next += 1
        return Questions(np.full(len(states), self._next - 1, np.int64), states)

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Keep the accepted options."""
        p, n = int(questions.people[0]), int(accepted.sum())
        self._chosen.n[p] = n
        self._chosen.codes[p, :n] = questions.codes[accepted]
        self._chosen.probability[p, :n] = probability[accepted]
        if n and p not in self._failed:
            del self._reasons[p]

    def chosen(self) -> Chosen:
        """Return each person's options so far."""
        return self._chosen.copy()

    def account(self) -> Account:
        """Return the rows that descents used, and the people whose descent did not begin or end in time."""
        cut = self._cut_short.copy()
        cut[self._next :] |= self.problem.out_of_time()
        return Account(self._rows.copy(), dict(self._reasons), cut)

    def _descend(self, p: int, left: int) -> NDArray[np.int32]:
        """Return the final states of one person's descent; the rows to evaluate them are reserved in advance."""
        problem, prepared = self.problem, self._prepared
        person = Person(prepared.layout, problem, p)
        answers = Answers(person, float(problem.present[p]), problem.threshold)
        k = min(problem.n_options, left // 3)  # two rows for each option in a step, one more to evaluate it
        if not person.varies:
            return self._chosen.codes[p, :0]
        self._reasons[p] = "DICE (gradient) came to no permitted state that the model accepts"
        if not k:
            return self._chosen.codes[p, :0]
        meter = GradientCounter(prepared.model, left - k)
        try:
            with prepared.model.ready(), quiet():
                states = self._descent.find(answers, meter, problem, k, int(problem.keys[p]), prepared.settings)
        except Exception as error:  # the model's or dice-ml's, on this person's rows: the others continue
            raised = str(error) if isinstance(error, ModelError) else f"dice-ml raised {type(error).__name__}: {error}"
            self._reasons[p] = f"DICE (gradient) ended early, as {raised}"
            self._failed.add(p)
            states = answers.nearest(k, prepared.weights / (prepared.layout.high - prepared.layout.low))
        self._rows[p] = meter.rows
        self._cut_short[p] = self.problem.out_of_time()
        return answers.accepted_among(states)
