"""A search of your own: ask about single changes, the smallest first. Run: python examples/own_searcher.py"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import leastways as lw
from leastways.feasibility.kernels import meets_rules
from leastways.search import Chosen, Problem, Questions


class OneChange:
    """The method: settings only (here none), no state."""

    def start(self, problem: Problem) -> OneChangeRun:
        """Begin a search for a chunk of people."""
        return OneChangeRun(problem)


class OneChangeRun:
    """A search under way for a chunk of people."""

    def __init__(self, problem: Problem) -> None:
        self.start, self.n_options = problem.samples.tables.start, problem.n_options
        self.waiting = [single_moves(problem, p) for p in range(problem.n_people)]
        self.found: list[dict[int, tuple[NDArray[np.int32], float]]] = [{} for _ in self.waiting]  # by feature

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Return the next states to judge, at most `left[p]` of person p."""
        people, rows = [], []
        for p, moves in enumerate(self.waiting):
            open_moves = [(f, codes) for f, codes in moves if f not in self.found[p]]
            now = open_moves[: min(int(left[p]), self.n_options)]
            self.waiting[p] = open_moves[len(now) :]
            people += [p] * len(now)
            rows += [codes for _, codes in now]
        return Questions(np.array(people, np.int64), np.array(rows, np.int32).reshape(-1, self.start.shape[1]))

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Note which of them the model accepts: the smallest change of each feature."""
        for i in np.flatnonzero(accepted):
            p, codes = questions.people[i], questions.codes[i]
            feature = int(np.flatnonzero(codes != self.start[p])[0])
            self.found[p].setdefault(feature, (codes, probability[i]))

    def chosen(self) -> Chosen:
        """Return the options so far."""
        P, F = self.start.shape
        out = Chosen(np.zeros((P, self.n_options, F), np.int32), np.zeros(P, np.int64), np.zeros((P, self.n_options)))
        for p, options in enumerate(self.found):
            for o, (codes, probability) in enumerate(list(options.values())[: self.n_options]):
                out.codes[p, o], out.probability[p, o], out.n[p] = codes, probability, o + 1
        return out


def single_moves(problem: Problem, p: int) -> list[tuple[int, NDArray[np.int32]]]:
    t, moves = problem.samples.tables, []
    for f in range(t.start.shape[1]):
        for code in np.flatnonzero(t.allowed[p, t.offsets[f] : t.offsets[f + 1]]):  # what this person may do
            codes = t.start[p].copy()
            codes[f] = code
            if code != t.start[p, f] and meets_rules(problem.samples.rules, t.offsets, p, t.start[p], codes):
                moves.append((abs(int(code - t.start[p, f])), f, codes))
    return [(f, codes) for _, f, codes in sorted(moves, key=lambda move: move[:2])]


if __name__ == "__main__":
    lw.testing.check_searcher(OneChange())  # raises, with what is wrong
    credit = lw.datasets.load_credit()
    assert credit.model is not None
    refused = credit.people[credit.model(credit.people) < 0.5].head(40)
    recourse = lw.Recourse(credit.model, credit.schema(), OneChange(), budget=300, n_costs=200).fit(credit.train)
    plans = recourse.recommend(refused)
    print(plans, f"rows asked per person: {plans.summary['queries'].mean():.0f}", plans[refused.index[0]], sep="\n")
