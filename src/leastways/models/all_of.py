"""Several models that must all say yes, so that an option survives a retraining or holds at every lender."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leastways.errors import MissingExtraError, ModelError, SettingError
from leastways.models.answers import as_probabilities, told, unusable
from leastways.models.base import FloatArray, Model, Unbound
from leastways.models.dispatch import as_model, check_model
from leastways.models.frames import lend


class AllOf(Unbound):
    """Accept a row only where every model accepts it.

    The probability is the lowest of the members', so it reaches the overall threshold exactly where all of
    theirs do. With `thresholds`, one per model, each member's probability is first rescaled by two straight
    lines (0 -> 0, its threshold -> the overall one, 1 -> 1): then the lowest reaches the overall threshold
    exactly where every member reaches its own.

    A row judged is one query, however many models look at it: the budget counts questions about a person.
    """

    def __init__(self, models: Sequence[object], thresholds: Sequence[float] | None = None) -> None:
        if isinstance(models, str | bytes) or not isinstance(models, Sequence) or len(models) == 0:
            raise SettingError(f"AllOf needs a list of at least one model, not {models!r}.")
        for model in models:
            check_model(model)
        self.models = tuple(models)
        self.thresholds = None if thresholds is None else _checked(thresholds, len(self.models))

    def bind(self, target: object, threshold: float) -> Model:
        """Bind every member to the same target; `threshold` is the overall one."""
        own = self.thresholds or (threshold,) * len(self.models)
        members = tuple(as_model(m, target, threshold=t) for m, t in zip(self.models, own, strict=True))
        return BoundAllOf(members, own, threshold)

    def __repr__(self) -> str:
        return f"AllOf({list(self.models)!r}, thresholds={self.thresholds!r})"


@dataclass(frozen=True)
class BoundAllOf:
    """The members with their own thresholds, and the overall threshold they are rescaled to."""

    members: tuple[Model, ...]
    own: tuple[float, ...]
    threshold: float

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Return the lowest rescaled probability; an unusable answer of any member shows through as it is."""
        lowest = np.ones(len(frame))
        faulty = np.zeros(len(frame), dtype=bool)
        for number, (member, own) in enumerate(zip(self.members, self.own, strict=True), start=1):
            try:
                # Each gets a frame of its own: what one member does to it must not reach the next.
                values = as_probabilities(member.probability(lend(frame)), len(frame))
            except (SettingError, MissingExtraError):  # no fault of a row: as it is
                raise
            except Exception as error:
                raise ModelError(f"Model {number} of {len(self.members)} in AllOf: {told(error)}") from error
            bad = unusable(values)
            scaled = rescale(np.where(bad, 0.0, values), own, self.threshold)
            lowest = np.where(faulty, lowest, np.where(bad, values, np.minimum(lowest, scaled)))
            faulty |= bad
        return lowest


def rescale(values: FloatArray, own: float, overall: float) -> FloatArray:
    """Map [0, 1] to itself, rising, so that a result is >= `overall` exactly where the value is >= `own`.

    Exactly, in floating point too: below, the result is held under `overall`; above, nothing negative is
    added to it.
    """
    if own == overall:
        return values
    below = np.minimum(np.minimum(values, own) / own * overall, np.nextafter(overall, 0.0))
    span = 1.0 - own
    share = (values - own) / span if span > 0.0 else np.ones_like(values)
    above = np.minimum(overall + share * (1.0 - overall), 1.0)
    return np.where(values >= own, above, below)


def _checked(thresholds: Sequence[float], n_models: int) -> tuple[float, ...]:
    try:
        own = tuple(float(threshold) for threshold in thresholds)
    except (TypeError, ValueError) as error:
        raise SettingError(f"thresholds={thresholds!r} must be a number per model: {error}.") from error
    if len(own) != n_models:
        raise SettingError(f"thresholds={own!r} has {len(own)} entries for {n_models} models: give one per model.")
    if bad := [t for t in own if not 0.0 < t <= 1.0]:
        raise SettingError(f"thresholds={own!r}: {bad[0]!r} must be above 0 and at most 1.")
    return own
