"""dice-ml's gradient method for a chunk of people, within the budget loop: one person after the other."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastways.baselines.dice_answers import Answers
from leastways.baselines.dice_frames import Layout, Person
from leastways.baselines.dice_talk import quiet
from leastways.errors import ModelError
from leastways.models.gradients import GradientMeter, RelaxedModel
from leastways.search import Account, Chosen, Problem, Questions
from leastways.search.protocol import Run


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
        meter = GradientMeter(prepared.model, left - k)
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
