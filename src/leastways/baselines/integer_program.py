"""The integer program of Actionable Recourse for one person: the cheapest change that a linear score accepts.

There is one binary variable per (feature, other value). At most one of a feature's variables is 1; if all are 0, the
feature keeps its value. The score has to rise by `need`; rules are constraints too.

For each further option, with another set of features, the published package adds a row that excludes the set just
found. Such rows leave the solver's bounds far apart. Here the remaining sets are split into cells instead (Lawler
1972): in a cell some features must move and some must not, and no set is in two cells. The cell with the least bound is
solved next. The options are the same.

Programs are solved by HiGHS with its own package: for programs this small the copy inside scipy takes twice the time,
as it has no settings to turn heuristics off, and some versions of it print to standard output.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._extras import require
from leastways.feasibility import Space, meets_rules

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Cell = NDArray[np.int8]  # [K] for each feature that has moves: 1 it must move, -1 it must not, 0 it may

_PRICES = 64  # Lagrange multipliers (cost per unit of score) for which bounds are computed


class Person(NamedTuple):
    """One person of a chunk, and the chunk's grids and rules."""

    row: int  # in the chunk
    space: Space

    @property
    def start(self) -> NDArray[np.int32]:
        """Codes of the present state, [F]."""
        start: NDArray[np.int32] = self.space.start[self.row]
        return start

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Permitted slots, [V]."""
        allowed: NDArray[np.bool_] = self.space.allowed[self.row]
        return allowed


class Found(NamedTuple):
    """A state and its cost, or why there is none: no state is left ("none"), or the solver ran out of time ("time")."""

    codes: Codes | None
    cost: float
    why: str


class Moves(NamedTuple):
    """The variables of a program: one move each."""

    feature: NDArray[np.int64]  # [n]
    code: NDArray[np.int64]  # [n]
    slot: NDArray[np.int64]  # [n]
    cost: Floats  # [n]
    gain: Floats  # [n] increase of the score


@dataclass
class Program:
    """The program of one person, and the cells that are left to solve."""

    person: Person
    moves: Moves
    need: float
    position: NDArray[np.intp]  # [n] of a move's feature among those that have moves
    prices: Floats  # [L]
    least: Floats  # [L, K] least cost of a feature's moves, minus their gain at a price
    most: Floats  # [K] largest gain of a feature's moves
    rows: list[tuple[Floats, float]]  # constraints beside the need: coefficients [n], lower bound of the sum
    cells: list[tuple[float, int, Cell, NDArray[np.intp] | None]] = field(default_factory=list)  # a heap
    made: int = 0

    @classmethod
    def build(cls, person: Person, cost: Floats, gain: Floats, need: float) -> Program:
        """Build the program: `cost` and `gain` [V] of a move to each slot, `need` the gain required."""
        m = _useful(person, cost, gain)
        features, first, position = np.unique(m.feature, return_index=True, return_inverse=True)
        rate = m.cost[m.gain > 0.0] / m.gain[m.gain > 0.0]
        prices = np.geomspace(rate.min() / 2, rate.max() * 2, _PRICES) if len(rate) else np.zeros(1)
        if len(features):
            least = np.minimum.reduceat(m.cost - prices[:, None] * m.gain, first, axis=1)
            most = np.maximum.reduceat(m.gain, first)
        else:
            least, most = np.zeros((len(prices), 0)), np.zeros(0)
        rows = [(np.ones(len(m.code)), 1.0), (-np.ones(len(m.code)), -float(person.space.rules.max_changes))]
        program = cls(person, m, need, position, prices, least, most, rows + list(_rule_rows(person, m)))
        program._push(np.zeros(len(features), np.int8))
        return program

    def next(self, seconds: float, disjoint: bool = False) -> Found:
        """Return the cheapest state with another set of features than every earlier state's.

        With `disjoint` it shares no feature with an earlier state.
        """
        end = monotonic() + seconds
        while self.cells:
            bound, number, cell, taken = heapq.heappop(self.cells)
            if taken is not None:
                self._split(cell, taken, disjoint)
                return Found(self._codes(taken), float(self.moves.cost[taken].sum()), "")
            answer = self._solve(cell, end)
            if answer is None:
                heapq.heappush(self.cells, (bound, number, cell, None))
                return Found(None, np.inf, "time")
            if len(answer):
                self._push(cell, answer)
        return Found(None, np.inf, "none")

    def _push(self, cell: Cell, taken: NDArray[np.intp] | None = None) -> None:
        """Put a cell on the heap, by its cost if it is solved, else by a lower bound; leave out an empty cell."""
        if taken is None:
            on, free = cell == 1, cell == 0
            if self.most[on].sum() + np.maximum(self.most[free], 0.0).sum() < self.need:
                return
            # Lagrangian relaxation: for every price this is a lower bound on the cost of meeting the need.
            paid = self.least[:, on].sum(axis=1) + np.minimum(self.least[:, free], 0.0).sum(axis=1)
            bound = float((paid + self.prices * self.need).max())
        else:
            bound = float(self.moves.cost[taken].sum())
        heapq.heappush(self.cells, (bound, self.made, cell, taken))
        self.made += 1

    def _split(self, cell: Cell, taken: NDArray[np.intp], disjoint: bool) -> None:
        """Put the rest of a cell on the heap: all its sets of features but the one found in it."""
        moved = np.zeros(len(cell), np.bool_)
        moved[self.position[taken]] = True
        rest = cell.copy()
        if disjoint:
            rest[moved] = -1
            self._push(rest)
            return
        for k in np.flatnonzero(cell == 0):
            child = rest.copy()
            child[k] = -1 if moved[k] else 1
            self._push(child)
            rest[k] = -child[k]

    def _solve(self, cell: Cell, end: float) -> NDArray[np.intp] | None:
        """Return the moves of the cheapest state in a cell: empty if there is no state, None if time ran out."""
        m = self.moves
        keep = np.flatnonzero(cell[self.position] >= 0)
        one = (self.position[keep] == np.arange(len(cell))[:, None]).astype(np.float64)  # [K, n]
        scale = max(float(np.abs(m.gain[keep]).max(initial=0.0)), 1e-300)  # the solver's tolerance is absolute
        while (left := end - monotonic()) > 0.0:
            rows = np.stack([*one, m.gain[keep] / scale, *(row[keep] for row, _ in self.rows)])
            low = np.array([*np.maximum(cell, 0), self.need / scale, *(low for _, low in self.rows)], dtype=np.float64)
            high = np.where(np.arange(len(low)) < len(cell), 1.0, np.inf)
            answer = minimise(m.cost[keep], rows, low, high, left)
            if answer.status == "time":
                return None
            taken = keep[answer.ones]
            if answer.status == "none" or self._holds(taken):
                return taken
            # Feasible within the solver's tolerance, but not exactly: exclude this one state.
            away = np.ones(len(m.cost))
            away[taken] = -1.0
            self.rows.append((away, 1.0 - len(taken)))
        return None

    def _codes(self, taken: NDArray[np.intp]) -> Codes:
        codes = self.person.start.copy()
        codes[self.moves.feature[taken]] = self.moves.code[taken]
        return codes

    def _holds(self, taken: NDArray[np.intp]) -> bool:
        """Whether moves meet the constraints exactly."""
        p = self.person
        enough = float(self.moves.gain[taken].sum()) >= self.need
        return enough and bool(meets_rules(p.space, p.row, self._codes(taken)))


def _useful(person: Person, cost: Floats, gain: Floats) -> Moves:
    """Return the moves that get a variable.

    As in the published method, a feature moves only where that raises the score; and a move is left out if another one
    of the same feature costs no more and raises the score no less. A feature in a rule keeps all its moves.
    """
    rules, keep = person.space.rules, []
    in_rules = [np.flatnonzero(rules.literal.any(axis=0)), rules.link_feature, rules.link_requires]
    bound = np.isin(np.arange(len(person.start)), np.concatenate(in_rules))
    for f in range(len(person.start)):
        slots = np.arange(person.space.offsets[f], person.space.offsets[f + 1])
        slots = slots[person.allowed[slots] & (slots != person.space.offsets[f] + person.start[f])]
        if not bound[f]:
            slots = slots[gain[slots] > 0.0]
            slots = slots[np.lexsort((-gain[slots], cost[slots]))]
            cheaper = np.maximum.accumulate(np.concatenate([[0.0], gain[slots]]))[:-1]  # best gain at less cost
            slots = slots[gain[slots] > cheaper]
        keep.append(slots)
    feature = np.repeat(np.arange(len(keep)), [len(slots) for slots in keep])
    slot = np.concatenate(keep)
    return Moves(feature, slot - person.space.offsets[feature], slot, cost[slot], gain[slot])


def _rule_rows(person: Person, m: Moves) -> Iterator[tuple[Floats, float]]:
    """Yield the rules as constraints: coefficients of the variables, and the lower bound of their sum."""
    rules, offsets = person.space.rules, person.space.offsets
    own = offsets[:-1] + person.start  # [F]
    for k in range(len(rules.literal)):
        # A literal counts 1 if it holds: for the present value, unless the feature moves, or for the new one.
        holds = rules.meets[person.row, k] & np.repeat(rules.literal[k], np.diff(offsets))
        yield holds[m.slot].astype(np.float64) - holds[own][m.feature], 1.0 - holds[own].sum()
    levels = person.space.levels[person.row]
    for a, b, by, at_least in zip(
        rules.link_feature, rules.link_requires, rules.link_by, rules.link_at_least, strict=True
    ):
        moved = np.where(m.feature == a, (levels[m.slot] - levels[own[a]]) / by, 0.0)
        demand = abs(at_least) * np.maximum(moved, 0.0)
        has = np.where(m.feature == b, np.sign(at_least) * (levels[m.slot] - levels[own[b]]), 0.0)
        slack = max(0.0, -float(has.min(initial=0.0)))  # what b may lose while a does not move
        yield has - demand - slack * (moved > 0.0), -slack - 1e-9


_SETTINGS = {
    "output_flag": False,
    "parallel": "off",
    "mip_rel_gap": 0.0,  # to the optimum, not near it
    # The following are of use in large programs only.
    "presolve": "off",
    "mip_detect_symmetry": False,
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
}


class Solution(NamedTuple):
    """How the solver ended, and which variables are 1 in the optimum."""

    status: Literal["optimal", "none", "time"]
    ones: NDArray[np.intp]


def load_highs() -> Any:
    """Import the solver; raise, with how to install it, if it is missing."""
    return require("highspy", "baselines", "Actionable Recourse (method='ar')")


def minimise(cost: Floats, rows: Floats, low: Floats, high: Floats, seconds: float) -> Solution:
    """Minimise `cost` [n] over binary variables of which `rows` [m, n] lie between `low` and `high` [m]."""
    highspy = load_highs()
    n, m = len(cost), len(rows)
    solver = highspy.Highs()
    for name, value in _SETTINGS.items():
        solver.setOptionValue(name, value)
    solver.setOptionValue("time_limit", float(seconds))
    columns = np.arange(n, dtype=np.int32)
    solver.addVars(n, np.zeros(n), np.ones(n))
    solver.changeColsCost(n, columns, cost)
    solver.changeColsIntegrality(n, columns, np.ones(n, np.uint8))
    row, column = np.nonzero(rows)
    starts = np.searchsorted(row, np.arange(m)).astype(np.int32)
    solver.addRows(m, low, high, len(row), starts, column.astype(np.int32), rows[row, column])
    solver.run()
    ended = solver.getModelStatus()
    if ended == highspy.HighsModelStatus.kOptimal:
        return Solution("optimal", np.flatnonzero(np.array(solver.getSolution().col_value) > 0.5))
    nothing = np.empty(0, np.intp)
    return Solution("none" if ended == highspy.HighsModelStatus.kInfeasible else "time", nothing)
