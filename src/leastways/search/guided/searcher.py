"""Guided search: evaluate only states that could lower the objective, where a surrogate expects acceptance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastways._random import stream
from leastways._validation import check_choice
from leastways.costs import top_of
from leastways.errors import SettingError
from leastways.search.guided.candidate_kernels import Archive, Parts, Scratch, ask_guided, enter_seen, tell_guided
from leastways.search.guided.closing_kernels import ask_rest, ask_smaller, choose_options, count_states
from leastways.search.guided.knapsack_kernels import Items
from leastways.search.guided.surrogate_kernels import LEAST_SPREAD, SharedNet, columns_of, log_odds, shared_effects
from leastways.search.protocol import Account, Chosen, Problem, Questions
from leastways.search.registry import register_searcher

_CALLS = 12  # model calls for an ordinary budget
_SHRINK_ROUNDS = 2  # the last ones: they ask whether smaller changes are accepted
_FIRST_ROWS = 100  # so many go to the search in any case: few rows find more if they look for other ways
_LARGEST_ROUND = 100
_WINDOW = 256  # a round makes and ranks candidates for so many of the samples; the answers count on all
_MOST_COUNTED = 2**20  # states that are looked at to count those within the rules, for who has no option so far
_MOST_COUNTED_FOR_MORE = 2**14  # the same for who has one
_CANDIDATES = 4  # made per question asked
_FIRST_DOUBT = 0.7  # how far a estimate is taken to be off before any was checked, in log-odds


@dataclass(frozen=True)
class Guided:
    """Guided search, the default: evaluate only states that would lower EMC if accepted.

    Costs are known without asking the model. Each round proposes states for badly served cost samples: half are the
    cheapest that a surrogate of the model would accept (a multiple-choice knapsack), half are moves around accepted
    states. It asks about those with the largest expected gain, and learns from the answers. The last rounds ask whether
    smaller changes are accepted. The options are chosen last, from all accepted states. No state is asked about
    twice, and none that, noise apart, could not help.

    Parameters
    ----------
    without
        Parts to switch off, to measure what each is worth: "first_moves", "aim", "surrogate", "steps", "gains",
        "shrink" or "swaps".
    """

    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.without, str):
            raise SettingError(f"without must be a tuple of names, such as ({self.without!r},), not text.")
        object.__setattr__(self, "without", tuple(self.without))
        for part in self.without:
            check_choice("without", part, Parts._fields)
        if {"surrogate", "steps"} <= set(self.without):
            raise SettingError('without "surrogate" and "steps" nothing is left that proposes states.')

    def __repr__(self) -> str:
        return f"Guided(without={self.without!r})" if self.without else "Guided()"

    def start(self, problem: Problem) -> GuidedRun:
        """Begin a search for a chunk of people."""
        return GuidedRun(problem, Parts(*(part not in self.without for part in Parts._fields)))


def nothing_shared(F: int) -> SharedNet:
    """Return an empty shared surrogate, for a model that was not distilled."""
    none = np.zeros(0)
    return SharedNet(np.zeros(F + 1, np.int64), np.zeros(F), np.ones(F), np.zeros((1, 0)), none, none, _FIRST_DOUBT)


class GuidedRun:
    """One guided search for a chunk of people, in lockstep: a round is one call of the model."""

    def __init__(self, problem: Problem, parts: Parts) -> None:
        self.problem = problem
        t = problem.samples.tables
        self.tables = t
        P, F, M, B = problem.n_people, t.space.start.shape[1], problem.samples.n_samples, problem.budget
        V = t.space.allowed.shape[1]
        # What each person can reach, at first with rules aside: their own value of each feature is among the choices.
        with np.errstate(over="ignore"):  # infinitely many, where columns are many
            self.states = t.space.n_choices.prod(axis=1, dtype=np.float64) - 1
        rows = int(
            min(B, self.states.max(initial=1.0) + (0 if problem.warm_start is None else len(problem.warm_start.people)))
        )
        self.round = max(4, min(-(-B // _CALLS), _LARGEST_ROUND))
        self.most_rounds = max(_CALLS, -(-B // self.round))
        first_rounds = min(-(-_FIRST_ROWS // self.round), self.most_rounds)
        self.search_rounds = max(self.most_rounds - (_SHRINK_ROUNDS if parts.shrink else 0), first_rounds)
        self.shrink_rounds, self.shrunk = np.zeros(P, np.int64), np.zeros(P, np.bool_)  # rounds of it, and who is done
        columns = np.zeros(F + 1, np.int64)
        D = columns_of(t, columns)
        self.net = nothing_shared(F) if problem.surrogate is None else problem.surrogate
        self.warm_start = problem.warm_start
        H = len(self.net.bias)
        self.shared_effect = np.zeros((P, V))
        shared_effects(t, self.net, np.empty(P), self.shared_effect, np.empty(H), np.empty(H))
        self.archive = Archive(
            parts=parts,
            stream=stream(problem.keys, "guided"),
            alive=np.ones(P, np.bool_),
            rounds=np.zeros(P, np.int64),
            window=np.zeros(P, np.int64),
            present=np.array([log_odds(x, problem.threshold) for x in problem.present]),
            n_asked=np.zeros(P, np.int64),
            asked=np.zeros((P, rows, F), np.int32),
            odds=np.zeros((P, rows)),
            shared=np.zeros((P, rows)),
            probability=np.zeros((P, rows)),
            n_valid=np.zeros(P, np.int64),
            valid=np.zeros((P, rows), np.int32),
            seen=np.zeros((P, _power_of_two(2 * rows + 64)), np.uint64),
            lowest=np.full((P, M), top_of(t)),
            columns=columns,
            normal=np.zeros((P, D, D)),
            moment=np.zeros((P, D)),
            own_effect=np.zeros((P, V)),
            effect=self.shared_effect.copy(),
            spread=np.full(P, 1.0 if problem.surrogate is None else max(self.net.doubt, LEAST_SPREAD)),
        )
        S = min(M, _WINDOW)
        C = max(24, _CANDIDATES * self.round)
        self.scratch = Scratch(
            codes=np.zeros((C + 1, F), np.int32),
            costs=np.empty((C, S)),
            value=np.empty(C),
            chance=np.empty(C),
            lowest=np.empty(S),
            fresh=np.empty(_power_of_two(2 * C), np.uint64),
            need=np.empty(S),
            row=np.empty(M),
            factor=np.zeros((D, D)),
            used=np.empty(D, np.int64),
            weights=np.empty(D),
            places=np.empty(2 * F, np.int64),
            values=np.empty(2 * F),
            hidden=np.empty(H),
        )
        self.items = Items.room(F, V)
        self.rest_asked, self.all_answered, self.counted = np.zeros((3, P), np.bool_)

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Return the states of an earlier plan, then those with the largest expected gain."""
        if self.warm_start is not None and len(self.warm_start.people):
            return self._ask_warm_start(self.warm_start, left)
        most = np.where(self.archive.n_valid > 0, self.search_rounds, self.most_rounds)
        going = self.archive.alive & (self.archive.rounds < most)
        quota = np.where(going, np.minimum(left, self.round), 0)
        rows = int(quota.sum())
        people, codes = np.empty(rows, np.int64), np.empty((rows, self.archive.asked.shape[2]), np.int32)
        n = ask_guided(
            self.tables,
            self.net,
            self.archive,
            self.scratch,
            self.items,
            quota,
            people,
            codes,
        )
        return self._with_rest(self._with_smaller(Questions(people[:n], codes[:n]), left), left)

    def _with_smaller(self, questions: Questions, left: NDArray[np.int64]) -> Questions:
        """Add smaller changes of the options found, for people whose search is otherwise finished."""
        g = self.archive
        who = (np.bincount(questions.people, minlength=len(left)) == 0) & (g.n_valid > 0) & ~self.shrunk
        quota = np.where(who & (g.rounds + self.shrink_rounds < self.most_rounds), np.minimum(left, self.round), 0)
        if not quota.any() or not g.parts.shrink:
            return questions
        t, N = self.tables, self.problem.n_options
        people, codes = np.empty(quota.sum(), np.int64), np.empty((quota.sum(), t.space.start.shape[1]), np.int32)
        n = ask_smaller(t, g, N, quota, self.shrink_rounds % 2 == 0, people, codes)
        self.shrink_rounds[quota > 0] += 1
        self.shrunk[np.setdiff1d(np.flatnonzero(quota), people[:n])] = True  # for good, whether or not others go on
        return _merged(questions, Questions(people[:n], codes[:n]))

    def _with_rest(self, questions: Questions, left: NDArray[np.int64]) -> Questions:
        """Add all other useful states for people without further proposals, if the remaining budget covers them.

        Then "nothing was found" means that there is nothing, and nothing that was found is worse than need be.
        """
        at_end = (np.bincount(questions.people, minlength=len(left)) == 0) & (left > 0) & ~self.rest_asked
        self._count_within_rules(at_end & (self.states - self.archive.n_asked > left))
        who = np.flatnonzero(at_end & (self.states - self.archive.n_asked <= left))
        if not len(who):
            return questions
        self.rest_asked[who] = True
        t = self.tables
        rows = int(np.minimum(left[who], self.states[who]).sum())
        people, codes = np.empty(rows, np.int64), np.empty((rows + 1, t.space.start.shape[1]), np.int32)
        n = ask_rest(t, self.archive, who, people, codes)
        self.all_answered[np.setdiff1d(who, people[:n])] = True  # all there was had been asked
        return _merged(questions, Questions(people[:n], codes[:n]))

    def _count_within_rules(self, who: NDArray[np.bool_]) -> None:
        """Count the states that the rules leave these people, where looking at all of them does not take long."""
        rules = self.tables.space.rules
        if not (len(rules.literal) or len(rules.link_feature) or rules.max_changes < len(rules.literal.T)):
            return
        most = np.where(self.archive.n_valid == 0, _MOST_COUNTED, _MOST_COUNTED_FOR_MORE)
        for p in np.flatnonzero(who & ~self.counted & (self.states <= most)):
            self.states[p] = count_states(self.tables.space, int(p))
            self.counted[p] = True

    def _ask_warm_start(self, first: Questions, left: NDArray[np.int64]) -> Questions:
        self.warm_start = None
        starts = np.searchsorted(first.people, first.people)  # rows of one person are adjacent
        within = np.arange(len(first.people)) - starts < left[first.people]  # what is remembered has room for no more
        people, codes = first.people[within], first.codes[within]
        new = np.empty(len(people), np.bool_)
        enter_seen(self.archive, people, codes, new)
        return Questions(people[new], codes[new])

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Record the accepted states, and update the surrogate."""
        tell_guided(
            self.tables,
            self.net,
            self.archive,
            self.scratch,
            questions.people,
            questions.codes,
            accepted,
            probability,
            self.shared_effect,
            self.problem.threshold,
        )
        self.all_answered[questions.people] |= self.rest_asked[questions.people]

    def account(self) -> Account:
        """Return the account; its reasons are for people whom a larger budget would not help."""
        g, P = self.archive, self.problem.n_people
        self._count_within_rules((g.n_valid == 0) & (g.n_asked >= self.problem.budget))
        refused_all = self.all_answered | (g.n_asked >= self.states)
        reasons = {}
        for p in np.flatnonzero((refused_all | ~g.alive) & (g.n_valid == 0)):
            n = int(g.n_asked[p])
            if not refused_all[p]:
                reasons[int(p)] = f"after {n} states nothing more was found that could help this person"
            elif n:
                reasons[int(p)] = f"the model refuses all {n} states that this person can reach"
            else:
                reasons[int(p)] = "every change that this person could make breaks a rule"
        return Account(np.zeros(P, np.int64), reasons, np.zeros(P, np.bool_), refused_all & (g.n_valid == 0))

    def chosen(self) -> Chosen:
        """Choose each person's options from everything accepted so far."""
        P, _, F = self.archive.asked.shape
        out = Chosen.none(P, self.problem.n_options, F)
        choose_options(self.tables, self.archive, *out)
        return out


def _merged(some: Questions, others: Questions) -> Questions:
    """Return the questions of both, with rows of one person adjacent."""
    people, codes = np.append(some.people, others.people), np.concatenate([some.codes, others.codes])
    order = np.argsort(people, kind="stable")
    return Questions(people[order], codes[order])


def _power_of_two(least: int) -> int:
    """Return the smallest power of two that is at least the number."""
    return 1 << (least - 1).bit_length()


register_searcher("guided", Guided)
