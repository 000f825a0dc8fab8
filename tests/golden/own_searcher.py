"""A user's own search method, on the documented surface alone: it tries the next values of each feature in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastways.search import Chosen, Questions


class FirstStates:
    """The method: no settings."""

    def start(self, problem: Any) -> FirstStatesRun:
        """Begin a search."""
        return FirstStatesRun(problem)


class FirstStatesRun:
    """A search under way: changes of one feature, then of two, the cheapest on average first."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.pending = [self._states(p) for p in range(problem.n_people)]
        self.found: list[list[tuple[Any, float]]] = [[] for _ in self.pending]

    def _states(self, p: int) -> list[Any]:
        """List some permitted states by their mean cost."""
        problem, states = self.problem, []
        for f in range(problem.n_features):
            for code in problem.choices(p, f):
                one = problem.start[p].copy()
                one[f] = code
                states.append(one)
                other = one.copy()
                g = (f + 1) % problem.n_features
                other[g] = problem.choices(p, g)[-1]
                states.append(other)
        codes = np.unique(np.array(states), axis=0)
        codes = codes[problem.permits(np.full(len(codes), p), codes)]
        codes = codes[(codes != problem.start[p]).any(axis=1)]
        cost = np.minimum(problem.costs(p, codes), 9.0)
        means = [float(sum(row.tolist()) / len(row)) for row in cost]
        return [codes[k] for k in sorted(range(len(codes)), key=lambda k: (means[k], codes[k].tolist()))]

    def ask(self, left: Any) -> Questions:
        """Ask about the next six states of each person."""
        people, rows = [], []
        for p, states in enumerate(self.pending):
            now = states[: min(int(left[p]), 6)] if len(self.found[p]) < self.problem.n_options else []
            self.pending[p] = states[len(now) :]
            people += [p] * len(now)
            rows += now
        return Questions(np.array(people, np.int64), np.array(rows, np.int32).reshape(-1, self.problem.n_features))

    def tell(self, questions: Questions, probability: Any, accepted: Any) -> None:
        """Keep what is accepted."""
        for k in np.flatnonzero(accepted):
            self.found[questions.people[k]].append((questions.codes[k], float(probability[k])))

    def chosen(self) -> Chosen:
        """Return the first ones found."""
        P, N, F = self.problem.n_people, self.problem.n_options, self.problem.n_features
        out = Chosen.none(P, N, F)
        for p, found in enumerate(self.found):
            for o, (codes, probability) in enumerate(found[:N]):
                out.codes[p, o], out.probability[p, o], out.n[p] = codes, probability, o + 1
        return out
