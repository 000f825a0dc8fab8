"""dice-ml's random, genetic and k-d tree methods for a chunk of people, within the budget loop.

Each person has a run of dice-ml by itself, and nothing it does depends on the others; but the rows that several runs
wait for share a model call.
"""

from __future__ import annotations

import weakref

import numpy as np
from numpy.typing import NDArray

from leastways.baselines.dice_person import OnePerson, Prepared, States
from leastways.baselines.dice_talk import Talk
from leastways.search import Account, Chosen, Problem, Questions

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
