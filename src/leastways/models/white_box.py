"""Models read from the inside: linear scores, and gradients through a torch module.

Methods that need more than a model's answers use these. A relaxed row holds any number between a feature's lowest and
highest grid value, and for a category a weight per value. The encoder is not differentiable, but its output for each
value is in the encoder table, and between these values the relaxation is linear.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from leastways._extras import require
from leastways.errors import ModelError, SettingError
from leastways.models.answers import column_of
from leastways.models.base import FloatArray, Model
from leastways.models.encoder_table import EncoderTable, NotColumnWise, checked_table, with_offered_values
from leastways.models.estimator import LabelEstimator, ProbabilityEstimator, Stages
from leastways.models.libraries import library_of, no_linear_score
from leastways.models.torch import BoundTorch, evaluating, float_type
from leastways.schema import Encoded, Schema, grid_points

Floats = NDArray[np.float64]

_SURE = 1.0 - 2.0**-53  # the largest probability below 1: a threshold of 1 is reached by rounding from there on
_SAME = 1e-4  # how far the probability that was read may lie from the model's own, which may be in single precision


@dataclass(frozen=True)
class LinearScore:
    """A score, linear in encoded columns, that increases with P(target)."""

    name: str  # of the model, for messages
    schema: Schema
    encode: Callable[[pd.DataFrame], Any]
    columns: EncoderTable
    weights: Floats  # [D]
    base: float  # the intercept, and columns that no feature moves
    logistic: bool  # whether P(target) is the logistic function of the score

    def cut_at(self, threshold: float) -> float:
        """Return the score from which on a row is accepted, given the threshold on the probability."""
        return float(logit(min(threshold, _SURE))) if self.logistic else 0.0

    def parts(self, people: Encoded) -> tuple[Floats, Floats]:
        """Return the contribution of each grid value to the score, [P, V], and the present scores, [P]."""
        try:
            encoded = self.columns.shape.checked(self.encode(self.schema.decode(people))).astype(np.float64)
        except NotColumnWise as trouble:
            raise ModelError(
                f"The encoder before {self.name} no longer does what it did at fit: {trouble}."
            ) from trouble
        parts = [self._part(f, people, encoded) for f in range(len(self.schema.features))]
        now = self.base + sum(part[np.arange(len(people)), people.codes[:, f]] for f, part in enumerate(parts))
        return np.concatenate(parts, axis=1), np.asarray(now, dtype=np.float64)

    def check(self, now: Floats, present: Floats) -> None:
        """Raise `ModelError` unless the scores [P] agree with the model's own probabilities of the same people [P]."""
        if self.logistic:
            differ = np.abs(expit(now) - present) > _SAME
        else:
            differ = (now > _SAME) & (present < 0.5) | (now < -_SAME) & (present > 0.5)
        if differ.any():
            first = int(np.flatnonzero(differ)[0])
            raise ModelError(
                f"{self.name} answers {present[first]:.6g} where the coefficients it had at fit give a score of "
                f"{now[first]:.6g}: it was changed since. Call fit again."
            )

    def _part(self, f: int, people: Encoded, encoded: Floats) -> Floats:
        """Return feature f's contributions to the score, [P, slots], including people's values off the grid."""
        feature = self.schema.features[f]
        mine, cells = self.columns.of_feature(f)
        grid = cells @ self.weights[mine]  # [slots of the grid]
        slots = np.arange(feature.n_slots)
        if not feature.open:
            return np.broadcast_to(grid, (len(people), len(slots)))
        at = people.inserted_at[:, f, None]
        own = encoded[:, mine] @ self.weights[mine]
        return np.where(slots == at, own[:, None], grid[grid_points(slots, at, len(grid))])


def read_linear(model: Model, schema: Schema) -> LinearScore | str:
    """Return the linear score of an estimator, alone or at the end of a Pipeline, or the reason why it has none."""
    if not isinstance(model, ProbabilityEstimator | LabelEstimator):
        return f"{type(model).__name__} is no scikit-learn estimator, so it has no coefficients to read"
    final = Stages.of(model.estimator).final
    name = type(final).__name__
    logistic = isinstance(model, ProbabilityEstimator)
    linear_score = library_of(final).linear_score
    reason = no_linear_score(final) if linear_score is None else linear_score(final, logistic)
    if reason:
        return reason
    try:
        columns = checked_table(model.split(), schema)
    except NotColumnWise as trouble:
        return f"{name} gets columns that do not each depend on one feature: {trouble}"
    sign = 1.0 if column_of(model.target, list(final.classes_), name) == 1 else -1.0
    weights = sign * np.asarray(final.coef_, dtype=np.float64).reshape(-1)
    constant = columns.constant.view(columns.shape.dtype).astype(np.float64)
    if len(weights) != len(constant):
        return f"{name} has {len(weights)} coefficients for {len(constant)} columns"
    still = np.setdiff1d(np.arange(len(weights)), columns.columns)
    base = sign * float(np.ravel(final.intercept_)[0]) + float(constant[still] @ weights[still])
    return LinearScore(name, schema, model.split().encode, columns, weights, base, logistic)


_CHECKED_ROWS = 64
_TOLERANCE = 1e-5  # of a network in single precision
_ONE_AT_A_TIME = threading.RLock()  # flags of parameters and torch's number of threads are shared by all threads
_MANY_PARAMETERS = 10**6  # from here on, threads are worth their start


class RowsSpentError(Exception):
    """Raised where a forward pass would take more rows than are left."""


class RelaxedModel:
    """A torch model as a function of relaxed rows that gradients flow through.

    `numbers` [R, n] are values of the numeric features and `weights` [R, w] those of the categories' values, both in
    the schema's order. Rows are put through it within ``with relaxed.ready():``.
    """

    def __init__(self, model: BoundTorch, schema: Schema) -> None:
        torch = _torch()
        self.model = model
        columns = EncoderTable.build(model.model.encode, schema)
        tables = [_table(columns, f) for f in range(len(schema.features))]
        constant = columns.constant.view(columns.shape.dtype).astype(np.float64)
        constant[columns.columns] = 0.0
        self._tail = columns.shape.tail
        numeric = [f for f, feature in enumerate(schema.features) if feature.numeric]
        parts = [tables[f] for f in range(len(tables)) if f not in numeric]
        self._categories = torch.tensor(np.concatenate(parts) if parts else np.zeros((0, len(constant))))
        slopes = np.zeros((len(numeric), len(constant)))
        self._bends: list[tuple[int, Any, Any]] = []
        for k, f in enumerate(numeric):
            grid, table = schema.features[f].array, tables[f]
            if len(grid) > 1:
                slopes[k] = (table[-1] - table[0]) / (grid[-1] - grid[0])
            line = table[0] + (grid - grid[0])[:, None] * slopes[k]
            constant += line[0] - grid[0] * slopes[k]
            if np.abs(table - line).max() > 1e-9 * max(1.0, np.abs(table).max()):
                self._bends.append((k, torch.tensor(grid), torch.tensor(table - line)))
        self._slopes, self._constant = torch.tensor(slopes), torch.tensor(constant)

    @classmethod
    def build(cls, model: Model, schema: Schema, method: str) -> RelaxedModel:
        """Make the function and compare it with the model; raise `SettingError` where it cannot be used."""
        instead = 'Use method="dice-genetic", which needs no gradients'
        if not isinstance(model, BoundTorch):
            raise SettingError(
                f"method {method!r} follows gradients; {_kind(model)}. {instead}, or wrap a torch "
                "module in TorchModel(module, encoder)."
            )
        try:
            relaxed = cls(model, schema)
        except NotColumnWise as reason:
            raise SettingError(
                f"method {method!r} needs an encoder that treats each column by itself, so that gradients can pass "
                f"it: {reason}. {instead}."
            ) from reason
        relaxed._check(schema, f"method {method!r}", instead)
        return relaxed

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Put the module in eval mode, with parameters that gather no gradients, and leave it as it was.

        A small module is run in one thread meanwhile: on a few rows, waking others costs more than the arithmetic.
        Other Python threads that call this wait, or they would take these flags for the ones to restore.
        """
        with _ONE_AT_A_TIME, evaluating(module := self.model.model.module.to(self.model.model.device)):
            threads = _torch().get_num_threads()
            flags = [(parameter, parameter.requires_grad) for parameter in module.parameters()]
            try:
                if sum(parameter.numel() for parameter in module.parameters()) < _MANY_PARAMETERS:
                    _torch().set_num_threads(1)
                module.requires_grad_(False)
                yield
            finally:
                _torch().set_num_threads(threads)
                for parameter, wanted in flags:
                    parameter.requires_grad_(wanted)

    def probability(self, numbers: Any, weights: Any) -> Any:
        """Return P(target) [R], in double precision, of relaxed rows."""
        model = self.model.model
        rows = self._encoded(numbers, weights).reshape(len(numbers), *self._tail)
        out = model.module(rows.to(dtype=float_type(model.module), device=model.device)).cpu().double()
        return self._read(out)

    def _encoded(self, numbers: Any, weights: Any) -> Any:
        """Return the encoder's columns [R, D]: sums, because each column belongs to one feature."""
        encoded = self._constant + weights @ self._categories + numbers @ self._slopes
        for k, grid, table in self._bends:  # how far each value is from the straight line through both ends
            x = numbers[:, k]
            right = _torch().searchsorted(grid, x.detach().contiguous()).clamp(1, len(grid) - 1)
            share = ((x - grid[right - 1]) / (grid[right] - grid[right - 1]))[:, None]
            encoded = encoded + table[right - 1] * (1 - share) + table[right] * share
        return encoded

    def _read(self, scores: Any) -> Any:
        """Read the target's probability from the module's output, as `read_scores` does."""
        model, logits = self.model.model, self.model.model.output == "logits"
        if scores.ndim == 2 and scores.shape[1] == 1:
            scores = scores[:, 0]
        single = scores.ndim == 1
        classes = range(2 if single else scores.shape[1]) if model.classes is None else model.classes
        column = column_of(self.model.target, classes, "the model")
        if single:
            positive = _torch().sigmoid(scores) if logits else scores
            return positive if column == 1 else 1.0 - positive
        return (_torch().softmax(scores, dim=1) if logits else scores)[:, column]

    def _check(self, schema: Schema, owner: str, instead: str) -> None:
        """Raise `SettingError` unless rows of grid values get the model's own probabilities."""
        torch, draw = _torch(), np.random.default_rng(20240229)
        sizes = np.array([len(f.values) for f in schema.features])
        codes = with_offered_values(schema, (draw.random((_CHECKED_ROWS, len(sizes))) * sizes).astype(np.int32))
        numbers, weights = relaxed_rows(schema, codes)
        with self.ready(), torch.no_grad():
            mine = self.probability(torch.tensor(numbers), torch.tensor(weights)).numpy()
        theirs = self.model.probability(schema.decode(codes))
        if not np.allclose(mine, theirs, rtol=0.0, atol=_TOLERANCE):
            worst = int(np.argmax(np.abs(mine - theirs)))
            raise SettingError(
                f"{owner} cannot follow the gradients of this model: with its encoder tabulated it gives "
                f"{mine[worst]:.6f} where the model itself gives {theirs[worst]:.6f}. {instead}."
            )


class GradientCounter:
    """Evaluates a `RelaxedModel` for one person, counts the rows, and stops at the allowance."""

    def __init__(self, model: RelaxedModel, allowance: int) -> None:
        self.model = model
        self.left = allowance
        self.rows = 0

    def probability(self, numbers: Any, weights: Any) -> Any:
        """Return P(target) of relaxed rows; raise `ModelError` where the model fails, with its rows counted."""
        n = len(numbers)
        if n > self.left:
            raise RowsSpentError(f"{n} rows wanted, {self.left} left")
        self.rows += n
        self.left -= n
        try:
            return self.model.probability(numbers, weights)
        except Exception as error:
            raise ModelError(f"the model raised {type(error).__name__}: {error}") from error


def relaxed_rows(schema: Schema, codes: NDArray[np.int32]) -> tuple[FloatArray, FloatArray]:
    """Return grid states as relaxed rows: the numbers, and 1 for each category's value."""
    numbers, weights = [np.empty((len(codes), 0))], [np.empty((len(codes), 0))]
    for f, feature in enumerate(schema.features):
        if feature.numeric:
            numbers.append(feature.array[codes[:, f]][:, None])
        else:
            weights.append(np.eye(len(feature.values))[codes[:, f]])
    return np.concatenate(numbers, axis=1), np.concatenate(weights, axis=1)


def _torch() -> Any:
    return require("torch", "torch", "a method that follows gradients")


def _table(columns: EncoderTable, f: int) -> FloatArray:
    """Return one feature's part of the encoding, [values, D]: 0 in the columns of other features."""
    own, cells = columns.of_feature(f)
    table = np.zeros((len(cells), len(columns.constant)))
    table[:, own] = cells
    return table


def _kind(model: Model) -> str:
    """Describe a model by what the user passed, where an adapter holds it."""
    given = getattr(model, "function", None) or getattr(model, "estimator", None) or model
    twin = " (its twin, by its method torch_model(), has)" if hasattr(given, "torch_model") else ""
    return f"a model of type {type(given).__name__!r} has none{twin}"
