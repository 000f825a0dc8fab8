"""A person's states and answers, translated to and from dice-ml's tables.

dice-ml knows numbers and categories (ordinal ones included), and identifies both by column names and by values as text.
So it gets generated names and labels, whatever the user's are: numbers first, as ``n0000``, then categories, as
``c0000``, whose values are their codes as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, log10
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.feasibility import permitted_states
from leastways.schema import Encoded, Schema, levels_now
from leastways.search import Problem

OUTCOME = "outcome"
MOST_STEPS = 200  # steps by which dice-ml may move one number of an option back towards the person
_STEPS = 100  # least number of steps of dice-ml's rounding in a real number's range; there are under ten times as many
_LARGEST = 2**31 - 1  # dice-ml keeps whole numbers in 32 bits


@dataclass(frozen=True)
class Layout:
    """Positions of our features in dice-ml's tables."""

    order: NDArray[np.int64]  # [F] our feature at each of dice-ml's positions
    n_numbers: int
    whole: NDArray[np.bool_]  # [n_numbers] whether dice-ml takes it for a whole number
    low: NDArray[np.float64]  # [n_numbers] ends of the grids
    high: NDArray[np.float64]  # [n_numbers]
    sizes: NDArray[np.int64]  # [categories] values of each

    @classmethod
    def of(cls, schema: Schema) -> Layout:
        """Return the layout of a schema, numbers first: dice-ml looks up decimals by a number's position."""
        features = schema.features
        numbers = [f for f, feature in enumerate(features) if feature.numeric]
        categories = [f for f, feature in enumerate(features) if not feature.numeric]
        low = np.array([features[f].array[0] for f in numbers], np.float64)
        high = np.array([features[f].array[-1] for f in numbers], np.float64)
        return cls(
            order=np.array(numbers + categories, np.int64),
            n_numbers=len(numbers),
            whole=np.array([features[f].whole for f in numbers], np.bool_) & (np.maximum(-low, high) < _LARGEST),
            low=low,
            high=np.where(high > low, high, low + 1.0),  # dice-ml divides by the range
            sizes=np.array([len(features[f].values) for f in categories], np.int64),
        )

    @cached_property
    def numbers(self) -> list[str]:
        """dice-ml's names of the numbers."""
        return [f"n{k:04d}" for k in range(self.n_numbers)]

    @cached_property
    def categories(self) -> list[str]:
        """dice-ml's names of the categories, all of one length: it finds columns by the beginning of their names."""
        return [f"c{k:04d}" for k in range(len(self.sizes))]

    @cached_property
    def names(self) -> list[str]:
        """dice-ml's names, in its order."""
        return self.numbers + self.categories

    @cached_property
    def columns(self) -> list[str]:
        """Columns of dice-ml's relaxed rows: numbers scaled to [0, 1], then a weight for each value of a category."""
        pairs = zip(self.categories, self.sizes, strict=True)
        return self.numbers + [f"{name}_{label(code)}" for name, size in pairs for code in range(size)]

    @cached_property
    def groups(self) -> list[slice]:
        """Position of each category's weights in a relaxed row."""
        ends = self.n_numbers + np.cumsum(self.sizes)
        return [slice(int(end - size), int(end)) for end, size in zip(ends, self.sizes, strict=True)]

    @cached_property
    def decimals(self) -> dict[str, int]:
        """The decimals that dice-ml rounds each number to; what it returns is put on the grid afterwards."""
        fine = [ceil(log10(_STEPS / span)) for span in self.high - self.low]
        pairs = zip(self.numbers, self.whole, fine, strict=True)
        return {name: 0 if whole else decimals or 1 for name, whole, decimals in pairs}  # 0 is for whole numbers

    def frame(self, values: NDArray[np.float64]) -> pd.DataFrame:
        """Return a table for dice-ml of rows [R, F] in its order: numbers as values, categories as codes."""
        columns: dict[str, Any] = {}
        for k, name in enumerate(self.numbers):
            columns[name] = values[:, k].round().astype(np.int64) if self.whole[k] else values[:, k]
        for k, (name, size) in enumerate(zip(self.categories, self.sizes, strict=True)):
            labels = pd.Index([label(code) for code in range(size)])
            columns[name] = pd.Categorical.from_codes(values[:, self.n_numbers + k].astype(np.int64), labels)
        return pd.DataFrame(columns, columns=pd.Index(self.names))

    def values(self, table: pd.DataFrame) -> NDArray[np.float64]:
        """Return the rows of a table of dice-ml's as numbers [R, F], categories as codes."""
        out = np.empty((len(table), len(self.names)))
        for k, name in enumerate(self.names):
            column = table[name]
            if isinstance(column.dtype, pd.CategoricalDtype):
                column = column.astype(object)
            out[:, k] = column.to_numpy(dtype=object).astype(np.float64)
        return out

    def training(self, schema: Schema, rows: Encoded) -> NDArray[np.float64]:
        """Return training rows [R, F] in dice-ml's order."""
        return levels_now(schema.features, rows)[:, self.order]

    def covering(self) -> NDArray[np.float64]:
        """Return a few rows with every value of every category, and both ends of every number."""
        n = int(max(2, self.sizes.max(initial=0)))
        ends = np.where(np.arange(n)[:, None] % 2 == 0, self.low, self.high)
        return np.concatenate([ends, np.arange(n)[:, None] % self.sizes], axis=1)


class Person:
    """One person's grid for dice-ml: the permitted values, and the conversion of its rows to states.

    dice-ml knows no missing values. As they never change, it gets the first value of the grid instead.
    """

    def __init__(self, layout: Layout, problem: Problem, p: int) -> None:
        t = problem.samples.tables
        self.layout = layout
        self.start: NDArray[np.int32] = t.space.start[p]
        self._p, self._space = p, t.space
        self.codes: list[NDArray[np.int64]] = []  # permitted ones, present included, in dice-ml's order
        self.levels: list[NDArray[np.float64]] = []  # the values these codes stand for
        for f in layout.order:
            slots = slice(t.space.offsets[f], t.space.offsets[f] + t.space.used[p, f])
            codes = np.flatnonzero(t.space.allowed[p, slots])
            self.codes.append(codes)
            self.levels.append(t.space.levels[p, slots][codes])

    @cached_property
    def varies(self) -> list[str]:
        """The features that have another permitted value, by dice-ml's names."""
        return [name for name, codes in zip(self.layout.names, self.codes, strict=True) if len(codes) > 1]

    @cached_property
    def now(self) -> NDArray[np.float64]:
        """The person's present state, [F] in dice-ml's order."""
        own = [codes == self.start[f] for codes, f in zip(self.codes, self.layout.order, strict=True)]
        return np.array([levels[mine][0] for levels, mine in zip(self.levels, own, strict=True)])

    def ranges(self) -> dict[str, list[object]]:
        """Return dice-ml's `permitted_range`: both ends of a number, the labels of a category."""
        out: dict[str, list[object]] = {}
        for k, (name, levels) in enumerate(zip(self.layout.names, self.levels, strict=True)):
            if k >= self.layout.n_numbers:
                out[name] = [label(int(level)) for level in levels]
            else:
                ends = levels[0], levels[-1]
                out[name] = [int(end) if self.layout.whole[k] else float(end) for end in ends]
        return out

    def states(self, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """Convert dice-ml's rows to states [R, F]: numbers to the nearest permitted grid value."""
        out = np.empty(values.shape, np.int32)
        for k, (codes, levels) in enumerate(zip(self.codes, self.levels, strict=True)):
            x = values[:, k]
            if k < self.layout.n_numbers:
                out[:, self.layout.order[k]] = codes[np.searchsorted((levels[1:] + levels[:-1]) / 2, x)]
            else:
                out[:, self.layout.order[k]] = x if len(codes) > 1 else codes[0]
        return out

    def values(self, states: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return states [R, F] as rows of dice-ml's; codes of numbers must be permitted."""
        out = np.empty(states.shape)
        for k, f in enumerate(self.layout.order):
            codes = states[:, f]
            by_code = k < self.layout.n_numbers or len(self.codes[k]) == 1
            out[:, k] = self.levels[k][np.searchsorted(self.codes[k], codes)] if by_code else codes
        return out

    def permits(self, states: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which states [R, F] are permitted to the person, [R]."""
        within, out = np.empty(len(states), np.bool_), np.empty(len(states), np.bool_)
        permitted_states(self._space, self._p, states, within, out)
        return out


def label(code: int) -> str:
    """Return dice-ml's name for a category's value; names sort as the codes do."""
    return f"{code:06d}"


def weights_of(values: NDArray[np.float64], n_numbers: int) -> NDArray[np.float64]:
    """Return dice-ml's weights of the numbers: 1 / median absolute deviation; 1 where that is 0.

    values [R, F] are training rows, numbers first, scaled as in the distance. dice-ml itself rounds the weights to two
    decimals: a number with a deviation above 200 then has weight 0, and if all have, it divides by a sum of 0.
    """
    numbers = values[:, :n_numbers]
    deviation = np.median(np.abs(numbers - np.median(numbers, axis=0)), axis=0)
    return np.asarray(1.0 / np.where(deviation > 0.0, deviation, 1.0))


_REJECTED = np.nextafter(0.5, 0.0)  # dice-ml counts 0.5 as accepted


class Answers:
    """Answers on a person's states. Each is queried once, and a state that is not permitted never.

    dice-ml has 0.5 as its threshold in several places. So it gets probabilities with the threshold moved there by a
    shift of the log-odds; with a threshold of 0.5 they are the model's own.
    """

    def __init__(self, person: Person, present: float, threshold: float) -> None:
        self.person = person
        self.shift = log_odds(np.array([threshold]))[0]
        self.known: dict[bytes, float] = {}  # probability that dice-ml gets, by state
        self.accepted: dict[bytes, float] = {}  # the model's probability of accepted states, in the order of queries
        self.note(person.start[None], np.array([present]), np.array([False]))

    def note(self, states: NDArray[np.int32], probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Keep answers to states [R, F]."""
        moved = shifted(probability, accepted, self.shift)
        for state, q, p, accept in zip(states, moved.tolist(), probability.tolist(), accepted, strict=True):
            self.known[state.tobytes()] = q
            if accept:
                self.accepted[state.tobytes()] = p

    def unknown(self, states: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the states that have to be evaluated, each once; those that are not permitted count as rejected."""
        states = np.unique(states, axis=0)
        new = states[[state.tobytes() not in self.known for state in states]]
        permitted = self.person.permits(new)
        self.known.update((state.tobytes(), 0.0) for state in new[~permitted])
        return new[permitted]

    def lookup(self, states: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the probabilities that dice-ml gets for known states."""
        return np.array([self.known[state.tobytes()] for state in states])

    def accepted_among(self, states: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the accepted ones of some states, each once, in their order."""
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
        """Return the model's probabilities of accepted states."""
        return np.array([self.accepted[state.tobytes()] for state in states])

    def _states(self, keys: list[bytes]) -> NDArray[np.int32]:
        return np.frombuffer(b"".join(keys), np.int32).reshape(len(keys), len(self.person.start))


def log_odds(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(p / (1 - p)), finite also at 0 and 1."""
    p = np.clip(probability, 1e-12, 1.0 - 1e-12)
    return np.asarray(np.log(p / (1.0 - p)))


def shifted(probability: NDArray[np.float64], accepted: NDArray[np.bool_], shift: float) -> NDArray[np.float64]:
    """Return probabilities with the threshold moved to 0.5; rounding does not change which are accepted."""
    moved = probability if shift == 0.0 else 1.0 / (1.0 + np.exp(shift - log_odds(probability)))
    return np.where(accepted, np.maximum(moved, 0.5), np.minimum(moved, _REJECTED))
