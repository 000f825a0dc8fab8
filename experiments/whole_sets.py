"""The paper's searches with the paper's sets: always full, of states that the model accepts, permitted or not.

leastways never offers what a person may not do, and adds an option only if it serves someone. The paper's sets hold N
accepted states from the beginning; many of them break a direction or change a fixed feature, serve nobody, and stay.
Measures of whole sets (Div, Prox, Spars, Val) then tell of those states. These searches exist to show that: they are
plain, slow, and never offered to anyone. What is infinite costs 99999, as in the released code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastways.search import Chosen, Questions

_INFINITE = 99999.0
_Candidate = tuple[NDArray[np.int32], float, NDArray[np.float64]]  # codes, chance of a yes, cost under each sample
_WIDER_AFTER = 3  # rounds without a yes before more features change at once


@dataclass(frozen=True)
class WholeSets:
    """A search of the paper over whole sets.

    Parameters
    ----------
    objective
        "cols" swaps single members by the paper's gain; "random" draws sets over the whole space and keeps the best by
        EMC; "emc", "sparsity", "proximity" and "diversity" are the local searches.
    runs
        Independent runs with a share of the budget each, the lowest EMC wins (P-COLS has 5).
    released
        Swap as the released code does instead of as the paper says: gains are computed once a round, one candidate may
        go to several members, and the place of a candidate among the accepted ones is taken for its place among all, so
        that another state than the one with the gain is put in (nothing, if the model refused that one).
    exactly_two
        Perturb two features, never one: the paper's "Hamming distance two", read to the letter.
    """

    offers_unpermitted: ClassVar[bool] = True  # the searches of the paper do; ours are refused for it

    objective: str
    runs: int = 1
    released: bool = False
    exactly_two: bool = False

    def start(self, problem: Any) -> WholeRun:
        """Begin a search for a chunk of people."""
        return WholeRun(problem, self)


class WholeRun:
    """One walk per person and run."""

    def __init__(self, problem: Any, method: WholeSets) -> None:
        self.n_options = problem.n_options
        self.runs = method.runs
        make = _SwapWalk if method.objective == "cols" else _SetWalk
        self.walks = [
            make(problem, p, method, np.random.default_rng([int(problem.keys[p]), run]))
            for p in range(problem.n_people)
            for run in range(method.runs)
        ]
        self.shape = problem.samples.tables.space.start.shape

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Let every walk propose; runs of one person take turns with what is left."""
        people, rows = [], []
        for p, most in enumerate(left):
            mine = self.walks[p * self.runs : (p + 1) * self.runs]
            rest = int(most)
            for walk in mine:
                walk.proposed = walk.propose(min(self.n_options, rest))
                rest -= len(walk.proposed)
                rows += walk.proposed
                people += [p] * len(walk.proposed)
        return Questions(np.array(people, np.int64), np.array(rows, np.int32).reshape(-1, self.shape[1]))

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Hand each walk its answers."""
        first = 0
        for walk in self.walks:
            last = first + len(walk.proposed)
            if last > first:
                walk.learn(walk.proposed, accepted[first:last], probability[first:last])
            first = last

    def chosen(self) -> Chosen:
        """Return each person's best set: its accepted, distinct members, whether the person may take them or not."""
        P, F = self.shape
        out = Chosen(np.zeros((P, self.n_options, F), np.int32), np.zeros(P, np.int64), np.zeros((P, self.n_options)))
        for p in range(P):
            walk = max(self.walks[p * self.runs : (p + 1) * self.runs], key=lambda w: w.score)
            members = {codes.tobytes(): (codes, chance) for codes, chance in walk.members()}
            for o, (codes, chance) in enumerate(members.values()):
                out.codes[p, o], out.probability[p, o], out.n[p] = codes, chance, o + 1
        return out


class _Walk:
    """What all walks share: proposals of any value of any feature, and what a state costs."""

    def __init__(self, problem: Any, p: int, method: WholeSets, draw: np.random.Generator) -> None:
        self.problem, self.tables = problem, problem.samples.tables
        self.p, self.method, self.draw = p, method, draw
        self.size: int = problem.n_options
        self.n_samples: int = problem.samples.n_samples
        self.start = self.tables.space.start[p]
        self.proposed: list[NDArray[np.int32]] = []
        self.score = -np.inf
        self.barren = 0  # rounds so far, while nothing was accepted

    def perturbed(self, base: NDArray[np.int32], most: int) -> NDArray[np.int32]:
        codes = base.copy()
        least = 2 if self.method.exactly_two else 1
        for f in self.draw.choice(len(base), self.draw.integers(least, most + 1), replace=False):
            values = self.tables.space.used[self.p, f]
            if values > 1:
                other = self.draw.integers(values - 1)
                codes[f] = other + (other >= base[f])
        return codes

    def widening(self) -> int:
        return min(2 + self.barren // _WIDER_AFTER, len(self.start))

    def costs(self, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        t = self.tables
        if not t.space.allowed[self.p, t.space.offsets[:-1] + codes].all():
            return np.full(self.n_samples, _INFINITE)
        out: NDArray[np.float64] = self.problem.costs(self.p, codes)
        out[out >= self.problem.uncovered] = _INFINITE
        return out


class _SwapWalk(_Walk):
    """COLS: N accepted members from the start, swapped one by one."""

    def __init__(self, problem: Any, p: int, method: WholeSets, draw: np.random.Generator) -> None:
        super().__init__(problem, p, method, draw)
        self.codes: list[NDArray[np.int32]] = []
        self.chances: list[float] = []
        self.table = np.empty((0, self.n_samples))

    def propose(self, most: int) -> list[NDArray[np.int32]]:
        if len(self.codes) < self.size:
            return [self.perturbed(self.start, self.widening()) for _ in range(most)]
        return [self.perturbed(self.codes[c], 2) for c in range(most)]

    def learn(
        self, proposed: list[NDArray[np.int32]], accepted: NDArray[np.bool_], chances: NDArray[np.float64]
    ) -> None:
        self.barren += 1
        new = []
        answers = zip(proposed, chances, accepted, strict=True)
        for codes, chance in ((c, x) for c, x, fine in answers if fine):
            if any((codes == member).all() for member in self.codes):
                continue
            if len(self.codes) < self.size:
                self.codes.append(codes)
                self.chances.append(float(chance))
                self.table = np.vstack([self.table, self.costs(codes)])
            else:
                new.append((codes, float(chance), self.costs(codes)))
        if new and self.method.released:
            self.swap_as_released(new, proposed, accepted, chances)
        elif new:
            self.swap(new)
        if len(self.table):
            self.score = -float(self.table.min(axis=0).mean())

    def swap(self, new: list[_Candidate]) -> None:
        candidates = np.array([costs for _, _, costs in new])
        free = np.ones(len(new), np.bool_)
        for _ in range(self.size):
            gains = self.gains(candidates)
            gains[~free] = -np.inf
            best, member = np.unravel_index(gains.argmax(), gains.shape)
            if gains[best, member] <= 1e-9:
                return
            free[best] = False
            self.put(int(member), new[best])

    def swap_as_released(
        self,
        new: list[_Candidate],
        proposed: list[NDArray[np.int32]],
        accepted: NDArray[np.bool_],
        chances: NDArray[np.float64],
    ) -> None:
        gains = self.gains(np.array([costs for _, _, costs in new]))
        for member in np.flatnonzero(gains.max(axis=0) > 1e-9):
            wrong = int(gains[:, member].argmax())
            if accepted[wrong]:
                self.put(int(member), (proposed[wrong], float(chances[wrong]), self.costs(proposed[wrong])))

    def gains(self, candidates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Count only samples whose minimum the replaced member holds, as the paper's table does."""
        owner = self.table.argmin(axis=0)
        holds = np.zeros((self.n_samples, len(self.table)))
        holds[np.arange(self.n_samples), owner] = 1.0
        gains: NDArray[np.float64] = (self.table.min(axis=0) @ holds)[None, :] - candidates @ holds
        return gains

    def put(self, member: int, new: _Candidate) -> None:
        self.codes[member], self.chances[member], self.table[member] = new

    def members(self) -> list[tuple[NDArray[np.int32], float]]:
        return list(zip(self.codes, self.chances, strict=True))


class _SetWalk(_Walk):
    """Random and local search: a whole set is tried against the best so far."""

    def __init__(self, problem: Any, p: int, method: WholeSets, draw: np.random.Generator) -> None:
        super().__init__(problem, p, method, draw)
        self.best: list[tuple[NDArray[np.int32], float, bool]] = []

    def propose(self, most: int) -> list[NDArray[np.int32]]:
        if self.method.objective == "random":
            return [self.draw.integers(0, self.tables.space.used[self.p]).astype(np.int32) for _ in range(most)]
        if not self.best:
            return [self.perturbed(self.start, self.widening()) for _ in range(most)]
        return [self.perturbed(self.best[c % len(self.best)][0], 2) for c in range(most)]

    def learn(
        self, proposed: list[NDArray[np.int32]], accepted: NDArray[np.bool_], chances: NDArray[np.float64]
    ) -> None:
        self.barren += 1
        score = self.judge(np.array(proposed), accepted)
        if score > self.score:
            self.score = score
            self.best = list(zip(proposed, chances.tolist(), accepted.tolist(), strict=True))

    def judge(self, codes: NDArray[np.int32], accepted: NDArray[np.bool_]) -> float:
        objective = self.method.objective
        if objective in ("random", "emc"):
            costs = [
                self.costs(c) if fine else np.full(self.n_samples, _INFINITE)
                for c, fine in zip(codes, accepted, strict=True)
            ]
            return -float(np.mean(np.min(costs, axis=0)))
        valid = len(np.unique(codes[accepted], axis=0)) / self.size
        if objective == "sparsity":
            measure = 1.0 - float((codes != self.start).mean())
        elif objective == "proximity":
            measure = 1.0 - float(np.mean([self.distance(c, self.start) for c in codes]))
        else:
            measure = float(np.mean([self.distance(a, b) for i, a in enumerate(codes) for b in codes[:i]] or [0.0]))
        return (measure + valid) / 2

    def distance(self, a: NDArray[np.int32], b: NDArray[np.int32]) -> float:
        t, places = self.tables, self.tables.space.offsets[:-1]
        steps = np.abs(t.space.levels[self.p, places + a] - t.space.levels[self.p, places + b])
        numeric = t.space.span > 0
        apart: NDArray[np.float64] = np.where(numeric, steps / np.where(numeric, t.space.span, 1.0), a != b)
        return float(np.mean(apart))

    def members(self) -> list[tuple[NDArray[np.int32], float]]:
        return [(codes, chance) for codes, chance, fine in self.best if fine]
