"""The protocol of search methods: a searcher asks for states to be evaluated and is told the answers.

A searcher never calls the model and never counts queries. One run drives a whole chunk of people in lockstep, so each
round is one model call; the same searcher serves one person, a chunk, or a worker of a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from leastways._random import Keys
from leastways.costs import CostSamples, Tables, objective_costs, top_of
from leastways.errors import SettingError
from leastways.feasibility import packed_choices
from leastways.models import Model
from leastways.schema import Encoded, Schema
from leastways.search.guided.surrogate_kernels import SharedNet

Proposals = Literal["actionable", "paper"]  # what people may do, or any value, as the paper's released code proposes


class Questions(NamedTuple):
    """States to be evaluated. Rows of one person are adjacent."""

    people: NDArray[np.int64]  # [R] place of the person in the chunk
    codes: NDArray[np.int32]  # [R, F]


class Chosen(NamedTuple):
    """The options a run chose: accepted by the model and permitted to the person."""

    codes: NDArray[np.int32]  # [P, N, F]
    n: NDArray[np.int64]  # [P] options of each person
    probability: NDArray[np.float64]  # [P, N]

    @classmethod
    def none(cls, P: int, N: int, F: int) -> Chosen:
        """Allocate room for at most N options of each of P people, all empty."""
        return cls(np.zeros((P, N, F), np.int32), np.zeros(P, np.int64), np.zeros((P, N)))

    def copy(self) -> Chosen:
        """Return the same options in arrays of their own."""
        return Chosen(self.codes.copy(), self.n.copy(), self.probability.copy())


@dataclass(frozen=True)
class Problem:
    """The input of a searcher: people, their sampled costs, their random streams, and the number of options."""

    samples: CostSamples
    people: Encoded  # as they are, in their grids
    keys: Keys  # [P] search streams
    n_options: int
    budget: int  # most rows per person
    present: NDArray[np.float64]  # [P] what the model says of people as they are
    threshold: float  # accepted from here on
    warm_start: Questions | None = (
        None  # states of an earlier plan, permitted to the person: a searcher may ask them first
    )
    surrogate: SharedNet | None = None  # of the model, learned before
    deadline: float | None = None  # by the monotonic clock; see `out_of_time`

    @property
    def n_people(self) -> int:
        """People in this chunk."""
        return len(self.present)

    def within(self, seconds: float | None) -> Problem:
        """Return the same problem, to be worked on from now on for so long; None for as long as it takes."""
        return replace(self, deadline=None if seconds is None else monotonic() + seconds)

    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and monotonic() >= self.deadline

    # People's grids and costs. A state is a row of codes, one for each feature: its value's position in the grid.

    @property
    def n_features(self) -> int:
        """Features of a state."""
        return int(self.start.shape[1])

    @property
    def start(self) -> NDArray[np.int32]:
        """Codes of people's present states, [P, F]."""
        return self.samples.space.start

    @property
    def sizes(self) -> NDArray[np.int32]:
        """Values in each person's grid of each feature, [P, F]; codes run from 0 to one less."""
        return self.samples.space.used

    @property
    def ordered(self) -> NDArray[np.bool_]:
        """Whether a feature's values have an order, as numbers and ordinal categories do, [F]."""
        return self.samples.space.ordered

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of each person's sampled cost functions, [P, M]; a person's sum to 1."""
        return self.samples.tables.objective.weights

    def choices(self, person: int, feature: int) -> NDArray[np.int32]:
        """Return the codes that a person may choose for a feature, in ascending order, the present one included.

        Rules across features are not looked at: `permits` says whether a whole state is permitted.
        """
        space = self.samples.space
        allowed = space.allowed[person, space.offsets[feature] : space.offsets[feature + 1]]
        return np.flatnonzero(allowed).astype(np.int32)

    def values(self, person: int, feature: int) -> NDArray[np.float64]:
        """Return a person's grid of a feature, by code: numbers as values, categories as positions."""
        space = self.samples.space
        return space.levels[person, space.offsets[feature] :][: space.used[person, feature]].copy()

    def permits(self, people: int | NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which states (codes [R, F]) are permitted to their people ([R], or one person for all), [R].

        A permitted state is within the person's choices and breaks no rule of the schema.
        """
        codes = np.ascontiguousarray(codes, np.int32)
        people = np.ascontiguousarray(np.broadcast_to(people, len(codes)), np.int64)
        self._check_codes(people, codes)
        return self.samples.permits(people, codes)

    def costs(self, person: int, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return what states count in the objective of a person under each sampled cost function.

        The result is [M] for one state (codes [F]) and [R, M] for several (codes [R, F]). A cost is `uncovered` where
        the person would not make the change: neither the model nor the schema's rules are looked at.
        """
        states = np.ascontiguousarray(np.atleast_2d(codes), np.int32)
        self._check_codes(np.full(len(states), person), states)
        out = np.empty((len(states), self.samples.n_samples))
        for state, row in zip(states, out, strict=True):
            objective_costs(self.samples.tables, person, state, row)
        return out[0] if np.ndim(codes) == 1 else out

    def random(self, person: int) -> np.random.Generator:
        """Return a generator for a person: the same on every call, and independent of the other people."""
        return np.random.default_rng(int(self.keys[person]))

    def _check_codes(self, people: NDArray[np.int64], codes: NDArray[np.int32]) -> None:
        """Raise unless codes [R, F] are states in the grids of people [R]."""
        if codes.shape != (len(people), self.n_features):
            raise SettingError(
                f"codes must be {self.n_features} whole numbers for each state, one for each feature; their shape is "
                f"{list(codes.shape)}."
            )
        outside = (codes < 0) | (codes >= self.sizes[people])
        if outside.any():
            r, f = np.argwhere(outside)[0]
            raise SettingError(
                f"codes must be within the person's grid: feature {f} of person {people[r]} has codes from 0 to "
                f"{self.sizes[people[r], f] - 1}, not {codes[r, f]}."
            )

    @property
    def uncovered(self) -> float:
        """The value in the objective of a cost sample for which no option is possible."""
        return top_of(self.samples.tables)

    def tables(self, proposals: str) -> Tables:
        """Return the tables with the choices given by a `proposals` setting.

        "actionable": what the person may do. "paper": every value of every feature, as the paper's released code
        proposes, but excluded ones.
        """
        t = self.samples.tables
        if proposals != "paper":
            return t
        sizes = np.diff(t.space.offsets)
        slot = np.concatenate([np.arange(n) for n in sizes])
        own = slot == np.repeat(t.space.start, sizes, axis=1)
        anything = (slot < np.repeat(t.space.used, sizes, axis=1)) & (self.samples.offered | own)
        choices, n_choices = packed_choices(anything, t.space.offsets)
        return t._replace(space=t.space._replace(choices=choices, n_choices=n_choices))


class Run(Protocol):
    """A search under way for one chunk of people."""

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Return states to evaluate, at most `left[p]` for person p; an empty result ends the search."""
        ...

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Take the answers to the last questions."""
        ...

    def chosen(self) -> Chosen:
        """Return the options so far; called at the end, but valid at any time."""
        ...


class Account(NamedTuple):
    """Extra information from a run, besides its options: reasons, and time limits reached."""

    gradient_rows: NDArray[np.int64]  # [P] rows it put through the model itself, for their gradients; they count
    reasons: Mapping[int, str]  # why a person got nothing, or less than was asked for
    cut_short: NDArray[np.bool_]  # [P] who had more to come when the deadline passed
    no_way: NDArray[np.bool_] | None = None  # [P] of whom every state they can reach was refused; None: not known


@runtime_checkable
class Accounting(Protocol):
    """A `Run` that gives an account; most have no need to."""

    def account(self) -> Account:
        """Return the account so far; called after every `ask`, and at the end."""
        ...


@dataclass(frozen=True)
class Background:
    """The data for preparing a method before a search: training rows and the model."""

    schema: Schema
    rows: Encoded  # training rows, as far as they are within the schema and without gaps
    model: Model  # bound to the target; for methods that read coefficients or need gradients
    threshold: float
    seed: int


@runtime_checkable
class Preparing(Protocol):
    """A method that learns from training rows, or reads the model, once for all people."""

    def prepare(self, background: Background) -> Searcher:
        """Return a prepared searcher; this one is unchanged."""
        ...


@runtime_checkable
class Searcher(Protocol):
    """A configured method: settings only, no state."""

    def start(self, problem: Problem) -> Run:
        """Begin a search for a chunk of people."""
        ...
