"""The exact yardstick: the cheapest state the model accepts, for cost functions that are known.

Best-first over the grid: states are asked about in order of cost until one is accepted. Nothing cheaper is left then,
whatever the model is, so the answer is exact; at a limit, the cost reached is a proven bound. No exact method can ask
about less, but for what shares the last call with the answer: any cheaper state could have been accepted.

States that break a rule are skipped, and cost no row. What it takes to mend the rule is added to their cost first, so
that nobody whose present state breaks one has to wait for the whole grid; but rules that each could be mended, and not
all together, may leave too much to skip. So there is a limit on that as well.

All searches advance together, so each round is one model call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastways.costs import CostSamples
from leastways.errors import ModelError
from leastways.feasibility import Space
from leastways.search.exact.best_first_kernels import (
    BLOCKED,
    DONE,
    GROWTH,
    RUNNING,
    Asked,
    Heaps,
    Status,
    ask_states,
    first_states,
    move_heaps,
    refill,
    slot_costs,
    tell_states,
)
from leastways.search.exact.bound_kernels import Alternatives, Ranks, Searches, sort_alternatives
from leastways.search.loop import Evaluate
from leastways.search.protocol import Questions

MOST_STATES = 8_000_000  # kept in heaps together, about 40 bytes each
PEOPLE_TOGETHER = 64  # people per run that keep a call to some 260,000 rows
MOST_SKIPPED = 200_000  # states breaking a rule that a search may skip, besides SKIPS_EACH for each that breaks none
MOST_ROWS = 4096  # per person in one call
_FIRST_ROWS = 32  # per person: cheap answers are common
_FACTOR = 1.5  # by which a search's share of a round grows; what is asked too much is at most this much


@dataclass(frozen=True)
class Cheapest:
    """The oracle's result for each search."""

    cost: NDArray[np.float64]  # [S] of the cheapest accepted state known, infinite if none
    bound: NDArray[np.float64]  # [S] nothing accepted costs less; infinite: nothing is accepted
    codes: NDArray[np.int32]  # [S, F] the state; meaningful where cost is finite
    queries: NDArray[np.int64]  # [P] distinct states asked about
    calls: int
    failures: dict[int, ModelError]

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Where the cost is known to be the minimum; infinite where no permitted state is accepted, [S]."""
        return self.bound >= self.cost


def searches_of(samples: CostSamples) -> Searches:
    """Make a search of each person's every cost function."""
    t = samples.tables
    P, F, M = t.draws.scores.shape
    costs, free = np.empty((P * M, t.cache.place.shape[1])), np.empty((P * M, F), np.bool_)
    slot_costs(t, costs, free)
    return searches(t.space, M, costs, free)


def searches(
    space: Space,
    each: int,  # cost functions per person
    costs: NDArray[np.float64],  # [P * each, V]
    free: NDArray[np.bool_],  # [P * each, F]
) -> Searches:
    """Make searches of plain cost tables."""
    P = len(space.start)
    first = np.arange(P + 1, dtype=np.int64) * each
    person = np.repeat(np.arange(P, dtype=np.int64), each)
    return Searches(space, first, person, costs, free)


def cheapest_states(
    q: Searches,
    evaluate: Evaluate,
    threshold: float,
    *,
    most_cost: float = np.inf,
    most_queries: int = 1_000_000,
    known: Questions | None = None,
    progress: Callable[[float], None] | None = None,
) -> Cheapest:
    """Find the cheapest accepted state of every search that costs at most `most_cost`.

    `most_queries` limits the rows per person. `known` are states that are accepted, which need no query. A person
    on whose rows the model fails stops there, with the bound proven so far.
    """
    run = _Run(q, most_cost, most_queries)
    if known is not None:
        tell_states(q, known.people, known.codes, np.ones(len(known.people), np.bool_), run.status)
    run.begin()
    calls = 0
    failures: dict[int, ModelError] = {}
    while run.running:
        questions = run.ask()
        if len(questions.people):
            probability, failed = evaluate(questions)
            lost = np.isin(questions.people, list(failed))
            run.tell(questions, ~lost & (probability >= threshold))
            run.fail(failed)
            failures.update(failed)
            calls += 1
        if progress is not None:
            progress(float((run.status.state != RUNNING).mean()))
    return run.result(calls, failures)


class _Run:
    """Searches under way."""

    def __init__(self, q: Searches, most_cost: float, most_queries: int) -> None:
        S, V = q.costs.shape
        P, F = q.space.start.shape
        self.q = q
        self.most_cost, self.most_queries = float(most_cost), int(most_queries)
        self.alternatives = Alternatives(
            np.zeros(S, np.int64),
            np.zeros((S, F + 1), np.int64),
            np.zeros((S, F), np.int64),
            np.zeros((S, V), np.int32),
            np.zeros((S, V)),
        )
        sort_alternatives(q, self.alternatives)
        self.status = Status(
            np.zeros(S, np.int64),
            np.zeros(S),
            np.full(S, np.inf),
            np.zeros((S, F), np.int32),
            np.full(S, MOST_SKIPPED, np.int64),
            np.full(P, self.most_queries, np.int64),
            np.zeros(P, np.int64),
            np.zeros(P, np.int64),
        )
        self.rest = np.full(S, np.inf)  # the cheapest state not asked about, of searches that ended
        self.closed = np.zeros(S, np.bool_)
        self.looks = bool((np.diff(q.first) > 1).any())  # a search alone never meets a state twice
        self.asked_states = Asked(
            np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, F), np.int32), np.empty(0, np.bool_)
        )
        self.rows = self.asked = 0
        self.active = np.zeros(S, np.bool_)  # searches that were running when the round began
        self.has_room = np.zeros(P, np.bool_)  # people whose turn it is
        self.spent = np.zeros(P, np.int64)
        self.share = np.full(P, max(1, _FIRST_ROWS // max(1, int(np.diff(q.first).max(initial=1)))), np.int64)

    def begin(self) -> None:
        """Put the first state of every search on its heap."""
        self.heaps = self._heaps(np.ones(len(self.closed), np.int64))
        first_states(self.q, self.alternatives, self.heaps, self.most_cost, self.status.cost)
        self._close()

    @property
    def running(self) -> bool:
        """Whether any search is still running."""
        return bool((self.status.state == RUNNING).any())

    def ask(self) -> Questions:
        """Collect the states of every running search, within its share of the round."""
        self.active = self.status.state == RUNNING
        self._make_room()
        if not self.looks:
            self.rows = 0
        self._widen_book()
        before = self.rows
        self.rows = ask_states(
            self.q,
            self.alternatives,
            self.heaps,
            self.asked_states,
            self.status,
            self.share,
            self.has_room,
            self.most_cost,
            MOST_ROWS,
            self.rows,
        )
        wider = np.minimum(MOST_ROWS, np.ceil(_FACTOR * self.share).astype(np.int64))
        self.share = np.where(self.has_room, wider, self.share)
        self._close()
        self.asked = before
        questions = Questions(self.asked_states.people[before : self.rows], self.asked_states.codes[before : self.rows])
        self.spent += np.bincount(questions.people, minlength=len(self.spent))
        return questions

    def tell(self, questions: Questions, accepted: NDArray[np.bool_]) -> None:
        """Take the answers to the last questions."""
        self.asked_states.answered[self.asked : self.rows] = True
        tell_states(self.q, questions.people, questions.codes, accepted, self.status)

    def fail(self, failed: Mapping[int, ModelError]) -> None:
        """End the searches of people on whom the model failed; their last states were not evaluated.

        Searches that met the limit on rows in this very round have asked too, so they, too, fall back to its beginning.
        """
        people = np.array(list(failed), np.int64)
        self.spent[people] -= np.array([error.unanswered for error in failed.values()], np.int64)
        self.status.left[people] = 0
        lost = np.isin(self.q.person, people) & self.active & (self.status.state != DONE)
        self.status.state[lost] = BLOCKED
        self._close()
        self.rest[lost] = np.minimum(self.rest[lost], self.status.floor[lost])

    def result(self, calls: int, failures: dict[int, ModelError]) -> Cheapest:
        """Return the results so far."""
        status = self.status
        bound = np.minimum(np.minimum(self.rest, self.heaps.beyond), status.cost)
        return Cheapest(status.cost, bound, status.codes, self.spent, calls, failures)

    def _close(self) -> None:
        """Record how far ended searches came, and drop their heaps."""
        ended = np.flatnonzero((self.status.state != RUNNING) & ~self.closed)
        left = ended[self.heaps.n[ended] > 0]
        self.rest[left] = self.heaps.cost[self.heaps.begin[left]]
        self.heaps.n[ended] = 0
        self.closed[ended] = True

    def _heaps(self, room: NDArray[np.int64]) -> Heaps:
        S, K, H = len(room), max(1, int(self.alternatives.n.max(initial=1))), int(room.sum())
        ranks: Ranks = np.empty((H, K), np.int16) if self.q.costs.shape[1] < 2**15 else np.empty((H, K), np.int32)
        begin = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
        return Heaps(
            begin,
            np.zeros(S, np.int64),
            np.full(S, np.inf),
            np.empty(H),
            np.zeros(H, np.int32),
            np.empty(H, np.int16),
            ranks,
        )

    def _make_room(self) -> None:
        """Give each running heap room to grow.

        People behind the limit wait, the first of them never. A person's searches grow together or not at all, but
        for somebody whom all the room is not enough for: nothing depends on who else is there.
        """
        n, q = self.heaps.n, self.q
        share = self.share[q.person]
        wanted_room = np.where(self.active, n + GROWTH + np.maximum(n, (GROWTH - 1) * share), 0)
        before = np.concatenate([[0], np.cumsum(wanted_room)])
        within = before[1:] - before[q.first[q.person]]  # what a person's searches want up to this one
        fits = (within <= MOST_STATES) | (within == wanted_room)
        granted = np.add.reduceat(np.where(fits, wanted_room, 0), q.first[:-1])
        wanted = granted > 0
        self.has_room = wanted & (np.cumsum(granted) <= max(MOST_STATES, int(granted[wanted.argmax()])))
        new = self._heaps(np.where(fits & self.has_room[q.person], wanted_room, n))
        move_heaps(self.heaps, new)
        self.heaps = new

    def _widen_book(self) -> None:
        """Enlarge the array of asked states to hold a round."""
        running = np.add.reduceat(self.status.state == RUNNING, self.q.first[:-1], dtype=np.int64)
        most = np.minimum(np.minimum(self.status.left, MOST_ROWS), self.share * running)
        wanted = int(most[self.has_room].sum())
        B, F = len(self.asked_states.people), self.asked_states.codes.shape[1]
        if self.rows + wanted <= B:
            return
        B = max(2 * B, self.rows + wanted)
        old, n = self.asked_states, self.rows
        slots = np.full(1 << int(2 * B - 1).bit_length() if self.looks else 0, -1, np.int64)
        self.asked_states = Asked(slots, np.empty(B, np.int64), np.empty((B, F), np.int32), np.empty(B, np.bool_))
        self.asked_states.people[:n], self.asked_states.codes[:n] = old.people[:n], old.codes[:n]
        self.asked_states.answered[:n] = old.answered[:n]
        if self.looks:
            refill(self.asked_states, n)
