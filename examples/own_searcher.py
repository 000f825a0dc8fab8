"""Write a search method: try single changes, the smallest first. Run: python examples/own_searcher.py"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import leastways as lw
from leastways.search import Chosen, Problem, Questions


class OneChange:
    """The method: settings only (here none), no state."""

    def start(self, problem: Problem) -> OneChangeRun:
        """Begin a search for a chunk of people."""
        return OneChangeRun(problem)


class OneChangeRun:
    """A search under way for a chunk of people."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.pending = [single_changes(problem, p) for p in range(problem.n_people)]
        self.found: list[dict[int, tuple[NDArray[np.int32], float]]] = [{} for _ in self.pending]  # by feature

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Return the next states to evaluate, at most `left[p]` of person p."""
        people, rows = [], []
        for p, changes in enumerate(self.pending):
            useful = [(f, codes) for f, codes in changes if f not in self.found[p]]
            now = useful[: min(int(left[p]), self.problem.n_options)]
            self.pending[p] = useful[len(now) :]
            people += [p] * len(now)
            rows += [codes for _, codes in now]
        return Questions(np.array(people, np.int64), np.array(rows, np.int32).reshape(-1, self.problem.n_features))

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Keep the smallest accepted change of each feature."""
        for i in np.flatnonzero(accepted):
            p, codes = questions.people[i], questions.codes[i]
            feature = int(np.flatnonzero(codes != self.problem.start[p])[0])
            self.found[p].setdefault(feature, (codes, probability[i]))

    def chosen(self) -> Chosen:
        """Return the options so far."""
        out = Chosen.none(self.problem.n_people, self.problem.n_options, self.problem.n_features)
        for p, options in enumerate(self.found):
            for o, (codes, probability) in enumerate(list(options.values())[: self.problem.n_options]):
                out.codes[p, o], out.probability[p, o], out.n[p] = codes, probability, o + 1
        return out


def single_changes(problem: Problem, p: int) -> list[tuple[int, NDArray[np.int32]]]:
    """Return the permitted states of a person in which one feature differs, with that feature: the smallest first."""
    changes = []
    for f in range(problem.n_features):
        now = problem.start[p, f]
        for code in problem.choices(p, f):
            codes = problem.start[p].copy()
            codes[f] = code
            if code != now and problem.permits(p, codes[None]).all():  # within the schema's rules
                changes.append((abs(int(code - now)), f, codes))
    return [(f, codes) for _, f, codes in sorted(changes, key=lambda change: change[:2])]


if __name__ == "__main__":
    lw.testing.check_searcher(OneChange())  # raises, with what is wrong
    credit = lw.datasets.load_credit()
    assert credit.model is not None
    refused = credit.people[credit.model(credit.people) < 0.5].head(40)
    recourse = lw.Recourse(credit.model, credit.schema(), OneChange(), budget=300, n_costs=200).fit(credit.train)
    plans = recourse.recommend(refused)
    print(plans, f"rows asked per person: {plans.summary['queries'].mean():.0f}", plans[refused.index[0]], sep="\n")
