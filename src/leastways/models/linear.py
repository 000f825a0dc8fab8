"""Models that decide by a linear score, read as what each value of a feature adds to it. They are not asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from leastways.errors import ModelError
from leastways.models.base import Model
from leastways.models.columns import Columns, NotColumnWise
from leastways.models.estimator import LabelEstimator, ProbabilityEstimator
from leastways.models.labels import column_of
from leastways.models.stages import Stages
from leastways.models.tabulated import encoder_table
from leastways.schema import Encoded, Schema
from leastways.schema.encoding import grid_places

Floats = NDArray[np.float64]

_LOGISTIC = ("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis")
_BY_SIGN = ("LinearSVC", "PassiveAggressiveClassifier", "Perceptron", "RidgeClassifier", "RidgeClassifierCV")
_EITHER = "SGDClassifier"  # logistic with loss="log_loss", and by the sign of its score where it only gives labels
_SURE = 1.0 - 2.0**-53  # the largest probability below 1: a threshold of 1 is reached by rounding from there on
_SAME = 1e-4  # how far the probability that was read may lie from the model's own, which may be in single precision


@dataclass(frozen=True)
class LinearScore:
    """A score, linear in encoded columns, that rises with P(target)."""

    name: str  # of the model, for messages
    schema: Schema
    encode: Callable[[pd.DataFrame], Any]
    columns: Columns
    weights: Floats  # [D]
    base: float  # the intercept, and columns that no feature moves
    logistic: bool  # whether P(target) is the logistic function of the score

    def cut_at(self, threshold: float) -> float:
        """Return the score from which on a row is accepted, if it is from this probability on."""
        return float(logit(min(threshold, _SURE))) if self.logistic else 0.0

    def parts(self, people: Encoded) -> tuple[Floats, Floats]:
        """Return what each value of each person's grid adds to the score, [P, V], and the people's scores now, [P]."""
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
        """Raise unless the scores read, [P], give the probabilities, [P], that the model gave of the same people."""
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
        """Return what feature f adds in each person's grid, [P, slots], with own values that are not on it in place."""
        feature = self.schema.features[f]
        mine, cells = self.columns.of_feature(f)
        grid = cells @ self.weights[mine]  # [slots of the grid]
        slots = np.arange(feature.n_slots)
        if not feature.open:
            return np.broadcast_to(grid, (len(people), len(slots)))
        at = people.inserted_at[:, f, None]
        own = encoded[:, mine] @ self.weights[mine]
        return np.where(slots == at, own[:, None], grid[grid_places(slots, at, len(grid))])


def read_linear(model: Model, schema: Schema) -> LinearScore | str:
    """Read the score of a scikit-learn estimator, alone or at the end of a Pipeline, or say why there is none."""
    if not isinstance(model, ProbabilityEstimator | LabelEstimator):
        return f"{type(model).__name__} is no scikit-learn estimator, so it has no coefficients to read"
    final = Stages.of(model.estimator).final
    name = type(final).__name__
    logistic = isinstance(model, ProbabilityEstimator)
    reason = _no_score(final, logistic)
    if reason:
        return reason
    try:
        columns = encoder_table(model.split(), schema)
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


def _no_score(final: Any, logistic: bool) -> str:
    """Say why an estimator does not decide by one linear score, or return an empty string."""
    name = type(final).__name__
    known = (*_LOGISTIC, _EITHER) if logistic else (*_BY_SIGN, _EITHER)
    if type(final).__module__.split(".")[0] != "sklearn" or name not in known:
        return f"{name} does not decide by a linear score"
    if len(final.classes_) != 2:
        return f"{name} has {len(final.classes_)} classes, and so a score for each"
    if logistic and name == _EITHER and final.loss != "log_loss":
        return f"{name}(loss={final.loss!r}) has probabilities that are not the logistic function of its score"
    if getattr(final, "multi_class", None) == "multinomial":
        return f"{name}(multi_class='multinomial') has a score for each class"
    return ""
