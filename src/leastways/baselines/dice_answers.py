"""What is known of one person's states, as dice-ml is told it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.baselines.dice_frames import Person

_NO = np.nextafter(0.5, 0.0)  # dice-ml takes a half for a yes


class Answers:
    """Answers on a person's states. Each is asked for once, and a state that may not be offered never.

    dice-ml takes class 1 for likely from 0.5 on, in several places, so it is given the probability with the threshold
    moved there, by a shift of the log-odds; with a threshold of 0.5 that is the probability itself.
    """

    def __init__(self, person: Person, present: float, threshold: float) -> None:
        self.person = person
        self.shift = log_odds(np.array([threshold]))[0]
        self.known: dict[bytes, float] = {}  # as dice-ml is told
        self.accepted: dict[bytes, float] = {}  # probability of those that may be offered, in the order of asking
        self.note(person.start[None], np.array([present]), np.array([False]))

    def note(self, states: NDArray[np.int32], probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Keep answers to states [R, F]."""
        told = shifted(probability, accepted, self.shift)
        for state, q, p, yes in zip(states, told.tolist(), probability.tolist(), accepted, strict=True):
            self.known[state.tobytes()] = q
            if yes:
                self.accepted[state.tobytes()] = p

    def unknown(self, states: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return those of the states that have to be asked, each once; what is not permitted is known to be a no."""
        states = np.unique(states, axis=0)
        new = states[[state.tobytes() not in self.known for state in states]]
        permitted = self.person.permits(new)
        self.known.update((state.tobytes(), 0.0) for state in new[~permitted])
        return new[permitted]

    def told(self, states: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return what dice-ml is told of states that are known."""
        return np.array([self.known[state.tobytes()] for state in states])

    def offered(self, states: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return those of the states that may be offered, each once, in their order."""
        keys = dict.fromkeys(state.tobytes() for state in states)
        return self._states([key for key in keys if key in self.accepted])

    def nearest(self, n: int, weights: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the n accepted states nearest to the person: weighted distance of numbers, 1 for each category."""
        states = self._states(list(self.accepted))
        gaps = np.abs(self.person.values(states) - self.person.now)
        k = self.person.layout.n_numbers
        distance = gaps[:, :k] @ weights + (gaps[:, k:] > 0).sum(axis=1)
        return states[np.argsort(distance, kind="stable")[:n]]

    def probability(self, states: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the model's answers on accepted states."""
        return np.array([self.accepted[state.tobytes()] for state in states])

    def _states(self, keys: list[bytes]) -> NDArray[np.int32]:
        return np.frombuffer(b"".join(keys), np.int32).reshape(len(keys), len(self.person.start))


def log_odds(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(p / (1 - p)), finite also at 0 and 1."""
    p = np.clip(probability, 1e-12, 1.0 - 1e-12)
    return np.asarray(np.log(p / (1.0 - p)))


def shifted(probability: NDArray[np.float64], accepted: NDArray[np.bool_], shift: float) -> NDArray[np.float64]:
    """Return probabilities with the threshold moved to a half; rounding never changes which side one is on."""
    moved = probability if shift == 0.0 else 1.0 / (1.0 + np.exp(shift - log_odds(probability)))
    return np.where(accepted, np.maximum(moved, 0.5), np.minimum(moved, _NO))
