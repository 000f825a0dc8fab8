"""dice-ml's random, genetic and k-d tree methods at work for one person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.baselines.dice_answers import Answers
from leastways.baselines.dice_frames import MOST_STEPS, Layout, Person
from leastways.baselines.dice_talk import StoppedError, Talk
from leastways.search import Problem

States = NDArray[np.int32]  # [R, F]

_FREE = 20  # rows dice-ml may look at for each it may ask, before it is taken to go round in circles
_CANDIDATES = {"genetic": 0.25, "kdtree": 0.8}  # share of the allowance that training rows may take
_ROUNDS = 4  # rounds of dice-ml's random sampling that the allowance should last for, at least


@dataclass(frozen=True)
class Prepared:
    """What all people share: dice-ml's explainer, the training rows in its order, and the settings."""

    method: str
    layout: Layout
    explainer: Any
    rows: NDArray[np.float64]  # [R, F] training rows
    weights: NDArray[np.float64]  # [numbers] of the distance, per unit of each number
    settings: Mapping[str, float]

    def keywords(self, left: int) -> dict[str, Any]:
        """Return the settings as this method of dice-ml takes them, for so many rows."""
        own = dict(self.settings)
        if self.method == "random":
            return {"sample_size": int(max(1, min(own["sample_size"], left // _ROUNDS))), "limit_steps_ls": MOST_STEPS}
        if self.method == "kdtree":
            return {"sparsity_weight": own["sparsity_weight"], "limit_steps_ls": MOST_STEPS}
        weights = dict(zip(self.layout.numbers, self.weights.tolist(), strict=True))
        return {
            "proximity_weight": own["proximity_weight"],
            "sparsity_weight": own["sparsity_weight"],
            "maxiterations": int(own["max_iter"]),
            "feature_weights": weights | dict.fromkeys(self.layout.categories, 1.0),
        }

    def candidates(self, person: Person, left: int) -> NDArray[np.float64]:
        """Return the training rows for the tree [R, F]: those the person may move to, the nearest first.

        dice-ml has the whole training set predicted for every person. Rows that may not be offered are left out, and
        the nearest, by the distance of its tree, come first, as far as the allowance goes.
        """
        share = _CANDIDATES.get(self.method)
        if share is None:
            return self.rows[:0]
        n = self.layout.n_numbers
        within = np.ones(len(self.rows), np.bool_)
        for k, (codes, levels) in enumerate(zip(person.codes, person.levels, strict=True)):
            x = self.rows[:, k]
            within &= (x >= levels[0]) & (x <= levels[-1]) if k < n else np.isin(x, codes)
        states = np.unique(person.states(self.rows[within]), axis=0)
        states = states[person.permits(states) & (states != person.start).any(axis=1)]
        values = person.values(states)
        gaps = values - person.now
        distance = (gaps[:, :n] ** 2).sum(axis=1) + 2.0 * (gaps[:, n:] != 0).sum(axis=1)
        return values[np.argsort(distance, kind="stable")[: int(share * left)]]


class OnePerson:
    """A run of dice-ml, which waits whenever it wants states judged."""

    def __init__(self, prepared: Prepared, problem: Problem, place: int) -> None:
        self.person = Person(prepared.layout, problem, place)
        self.answers = Answers(self.person, float(problem.present[place]), problem.threshold)
        self.out_of_time = False
        self.error: str | None = None  # what dice-ml raised
        self._prepared, self._problem = prepared, problem
        self._left, self._free = 0, 0
        self.talk: Talk[States, States] = Talk(self._work, int(problem.keys[place]))

    @property
    def wants(self) -> States | None:
        """The states it waits for; None when it has ended."""
        return self.talk.question

    def start(self, left: int) -> None:
        """Begin, with so many rows to ask."""
        self._left, self._free = left, _FREE * left + 1000
        if self.person.varies and left:
            self.talk.start()
        else:
            self.talk.stop()

    def tell(self, states: States, probability: NDArray[np.float64], accepted: NDArray[np.bool_], left: int) -> None:
        """Take answers, and go on to the next question; without rows left there is none."""
        self.answers.note(states, probability, accepted)
        self.talk.go_on()
        if not left:
            self.talk.stop()

    def options(self) -> States:
        """Return dice-ml's own set if it came to one, else the nearest of all states that were accepted."""
        if self.talk.result is not None:
            own = self.answers.offered(self.talk.result)
            if len(own):
                return own[: self._problem.n_options]
        return self.answers.nearest(self._problem.n_options, self._prepared.weights)

    def _work(self, ask: Callable[[States], None]) -> States:
        """Run dice-ml; in its thread."""
        from leastways.baselines.dice_explainers import AnsweringModel, FinishedError

        person, layout = self.person, self.person.layout
        explainer = copy(self._prepared.explainer)
        explainer.model = AnsweringModel(lambda table: self._probability(table, ask))
        explainer.candidates = self._prepared.candidates(person, self._left)
        now = layout.frame(person.now[None]).astype(dict.fromkeys(layout.categories, object))
        try:
            explainer._generate_counterfactuals(
                now,
                self._problem.n_options,
                desired_class=1,
                permitted_range=person.ranges(),
                features_to_vary=person.varies,
                **self._prepared.keywords(self._left),
            )
        except FinishedError as done:
            if done.table is not None and len(done.table):
                return person.states(layout.values(done.table))
        except Exception as error:  # dice-ml's, on this person's rows: told as their reason, the others go on
            self.error = f"{type(error).__name__}: {error}"
        return np.empty((0, len(person.start)), np.int32)

    def _probability(self, table: pd.DataFrame, ask: Callable[[States], None]) -> NDArray[np.float64]:
        """Answer dice-ml: by what is known, else by asking; in its thread."""
        if self._problem.out_of_time():
            self.out_of_time = True
            raise StoppedError
        states = self.person.states(self.person.layout.values(table))
        self._free -= len(states)
        if self._free < 0:
            raise StoppedError
        unknown = self.answers.unknown(states)
        if len(unknown):
            ask(unknown)
            if len(self.answers.unknown(unknown)):  # the allowance was for a part of them
                raise StoppedError
        return self.answers.told(states)
