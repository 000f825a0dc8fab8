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

- Ordinal features go as categories: dice-ml knows numbers and categories only.
- What a person may not do is kept from dice-ml: fixed features do not vary, directions and personal limits become its
  permitted ranges, and a state that breaks a rule counts as refused, without being asked. Its own checks know no rules.
- Every row is put on the person's grid, numbers at the nearest permitted value: only such states can be offered.
- A run of dice-ml that raises ends for its person alone: the nearest accepted states are offered, and a reason is told.
- A state is asked about once per person; dice-ml asks again and again. It would spend the budget on nothing new.
- The budget and the time limit end it. Then the accepted states that are nearest to the person are offered; if it came
  to its own end, its own set is, as far as it may be offered. Where nothing is left of that set, it is the nearest too.
- dice-ml takes 0.5 for the threshold, and some others for mistakes; another one is moved there by a shift of log-odds.
- The random streams are the person's, so plans do not depend on company; dice-ml draws from global ones, and given a
  seed, it seeds anew for every feature.

Gradient:

- The loss is worked out in arrays, not cell by cell, with the same values; two passes of the same row are one.
- Rounding goes to the person's grid, for the sets dice-ml keeps on the way as well. Its own, given permitted ranges,
  scales by the wrong range.
- It begins anywhere; dice-ml's default is beside the person, where the determinant is flat, and on COMPAS the ten
  counterfactuals came down to one or two. Both are dice-ml's; ``begin="near"`` is the other.
- A category's value that is not permitted gets no weight; dice-ml can only freeze whole features.

Genetic and k-d tree:

- dice-ml has the whole training set predicted for every person. Here the training rows that the person may move to are
  asked about, the nearest first, up to 0.25 (genetic) or 0.8 (k-d tree) of the allowance.
- Genetic: rows of the first generation that are missing are drawn all at a time, not one by one.
- Genetic: the weights of numbers, 1 / MAD, are not rounded. dice-ml rounds them to two decimals, so that those of
  money-scaled numbers are 0, and where all are, 0 is divided by 0 and nothing is found.
- Genetic: it ends when its rows have become one; dice-ml raises an error there, with no half to draw parents from.

Random: `sample_size` is at most a quarter of the allowance, so that it comes to change several features.
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
from leastways.baselines.dice_threads import OnePerson, OwnStreams, Prepared, States, Talk, quiet
from leastways.errors import ModelError, SettingError
from leastways.models import GradientCounter, RelaxedModel
from leastways.search import Account, Background, Chosen, Problem, Questions, Searcher
from leastways.search.protocol import Run

Method = Literal["gradient", "random", "genetic", "kdtree"]

# The settings that each method takes, with the values dice-ml gives them (but for `begin`, see above).
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
    """DICE, by dice-ml. A setting that is None has the default; one that the method has no use for is refused.

    Parameters
    ----------
    method
        "gradient" for a `TorchModel`; "random", "genetic" or "kdtree" for any model.
    begin
        Where the descent begins: anywhere within what is permitted ("random"), or beside the person ("near", dice-ml's
        default) ("gradient").
    proximity_weight
        Weight of the distance to the person ("gradient": l1; "genetic").
    diversity_weight
        Weight of the determinant, l2 ("gradient").
    categorical_penalty
        Weight of what the weights of a category's values differ from a sum of 1 ("gradient").
    sparsity_weight
        Weight of the number of changed features ("genetic", "kdtree").
    learning_rate
        Of Adam ("gradient").
    min_iter, max_iter
        Steps of descent at least and at most ("gradient"); generations at most ("genetic": `max_iter`).
    sample_size
        Rows that are drawn for each number of changed features ("random").
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
        """Make dice-ml's view of the training rows, and look at the model's gradients where they are needed."""
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
    """One of dice-ml's methods that ask the model."""

    prepared: Prepared

    def start(self, problem: Problem) -> Run:
        """Begin a search for a chunk of people."""
        return AskingRun(self.prepared, problem)


_TOGETHER = 32  # people whose runs are under way at a time: each holds tables of its own


class AskingRun:
    """dice-ml's runs for a chunk of people."""

    def __init__(self, prepared: Prepared, problem: Problem) -> None:
        self.problem = problem
        self._prepared = prepared
        self._people: list[OnePerson] = []  # those whose run was begun, in order
        self._left = np.zeros(problem.n_people, np.int64)  # before the last questions
        self._talks: list[Talk[States, States]] = []
        weakref.finalize(self, _stop_all, self._talks)  # a search that is dropped half-way leaves no thread

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Collect what the runs wait for, beginning others where some have ended."""
        self._left = left
        for p, one in enumerate(self._people):
            if not left[p] and not one.talk.ended:
                one.talk.stop()
        waiting = sum(not one.talk.ended for one in self._people)
        while waiting < _TOGETHER and len(self._people) < self.problem.n_people and not self.problem.out_of_time():
            one = OnePerson(self._prepared, self.problem, len(self._people))
            self._talks.append(one.talk)
            self._people.append(one)
            one.start(int(left[len(self._people) - 1]))
            waiting += not one.talk.ended
        F = self.problem.people.shape[1]
        people, codes = [np.empty(0, np.int64)], [np.empty((0, F), np.int32)]
        for p, one in enumerate(self._people):
            if one.wants is not None:
                codes.append(one.wants[: left[p]])
                people.append(np.full(len(codes[-1]), p, np.int64))
        return Questions(np.concatenate(people), np.concatenate(codes))

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Hand each run its answers, and let it go on to its next question."""
        places, first, counts = np.unique(questions.people, return_index=True, return_counts=True)
        for p, a, n in zip(places.tolist(), first.tolist(), counts.tolist(), strict=True):
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
        """Say who was cut short and why others have nothing; once the time is up, nobody's run goes on."""
        P = self.problem.n_people
        cut, reasons = np.zeros(P, np.bool_), {}
        late = self.problem.out_of_time()
        cut[len(self._people) :] = late
        for p, one in enumerate(self._people):
            cut[p] = one.out_of_time or (late and not one.talk.ended)
            if late and not one.talk.ended:
                one.talk.stop()
            if one.talk.ended and one.person.varies and not len(one.options()):
                reasons[p] = f"DICE ({self._prepared.method}) met no permitted state that the model accepts"
            if one.error is not None:
                reasons[p] = f"DICE ({self._prepared.method}) ended early, as dice-ml raised {one.error}"
        return Account(np.zeros(P, np.int64), reasons, cut)


def _stop_all(talks: list[Talk[States, States]]) -> None:
    """End the runs that were left waiting."""
    for talk in talks:
        if not talk.ended:
            talk.stop()


@dataclass(frozen=True)
class PreparedGradient:
    """What all people share: the model as a function with gradients, and dice-ml's explainer."""

    model: RelaxedModel
    layout: Layout
    descent: Any  # a `Descent`, which works for one person at a time
    weights: NDArray[np.float64]  # [numbers] of the distance, each number's range taken for 1
    settings: Mapping[str, Any]

    def start(self, problem: Problem) -> Run:
        """Begin a search for a chunk of people."""
        return GradientRun(self, problem)


class GradientRun:
    """Descends for one person in each `ask`, and asks about what came of it."""

    def __init__(self, prepared: PreparedGradient, problem: Problem) -> None:
        P, F = problem.people.shape
        self.problem, self._prepared = problem, prepared
        self._descent = copy(prepared.descent)  # it keeps what it works on
        self._next = 0  # the first person who has not had their turn
        self._rows = np.zeros(P, np.int64)
        self._cut_short = np.zeros(P, np.bool_)
        self._reasons: dict[int, str] = {}
        self._failed: set[int] = set()  # whose descent an error ended: they may have got less
        self._chosen = Chosen.none(P, problem.n_options, F)

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Descend for the next person who gets something to ask about."""
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
        """Return the rows that descents took, and who did not get their turn, or not to its end."""
        cut = self._cut_short.copy()
        cut[self._next :] |= self.problem.out_of_time()
        return Account(self._rows.copy(), dict(self._reasons), cut)

    def _descend(self, p: int, left: int) -> NDArray[np.int32]:
        """Return states worth asking about for one person; rows for asking are kept back."""
        problem, prepared = self.problem, self._prepared
        person = Person(prepared.layout, problem, p)
        answers = Answers(person, float(problem.present[p]), problem.threshold)
        k = min(problem.n_options, left // 3)  # a step takes two rows for each option, asking about it one more
        if not person.varies:
            return self._chosen.codes[p, :0]
        self._reasons[p] = "DICE (gradient) came to no permitted state that the model accepts"
        if not k:
            return self._chosen.codes[p, :0]
        meter = GradientCounter(prepared.model, left - k)
        try:
            with prepared.model.ready(), quiet():
                states = self._descent.find(answers, meter, problem, k, int(problem.keys[p]), prepared.settings)
        except Exception as error:  # the model's or dice-ml's, on this person's rows: the others go on
            raised = str(error) if isinstance(error, ModelError) else f"dice-ml raised {type(error).__name__}: {error}"
            self._reasons[p] = f"DICE (gradient) ended early, as {raised}"
            self._failed.add(p)
            states = answers.nearest(k, prepared.weights / (prepared.layout.high - prepared.layout.low))
        self._rows[p] = meter.rows
        self._cut_short[p] = self.problem.out_of_time()
        return answers.offered(states)
