"""The nearest miss: for people to whom nothing can be offered, the refused state that came closest to a yes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastways.costs import CostSamples
from leastways.search.base import Problem, Questions


@dataclass(frozen=True)
class NearestMisses:
    """Of each person, the likeliest state that was refused; kept only while nothing was accepted."""

    served: NDArray[np.bool_]  # [P] something was accepted: no miss is of interest
    known: NDArray[np.bool_]  # [P] a state likelier than the present one was refused
    probability: NDArray[np.float64]  # [P] of that state
    codes: NDArray[np.int32]  # [P, F]
    samples: CostSamples  # what each person may be led to

    @classmethod
    def of(cls, problem: Problem) -> NearestMisses:
        """Start with everyone as they are: what is no likelier than that is no near miss."""
        P = problem.n_people
        nobody = np.zeros(P, np.bool_)
        present, codes = problem.present.astype(np.float64), problem.people.codes.astype(np.int32)
        return cls(nobody, nobody.copy(), present, codes, problem.samples)

    def note(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Take in the answers of a round. Of equally likely states the first asked stays, whatever the batch."""
        self.served[questions.people[accepted]] = True
        closer = ~self.served[questions.people] & (probability > self.probability[questions.people])
        rows = np.flatnonzero(closer)
        # some methods also ask about states that the person may not be led to
        rows = rows[self.samples.permits(questions.people[rows], questions.codes[rows])]
        if not len(rows):
            return
        rows = rows[np.lexsort((-probability[rows], questions.people[rows]))]
        people, first = np.unique(questions.people[rows], return_index=True)
        self.known[people] = True
        self.probability[people] = probability[rows[first]]
        self.codes[people] = questions.codes[rows[first]]
