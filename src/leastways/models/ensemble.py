"""Several models that must all accept, so that an option survives a retraining or holds at every lender."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from leastways.errors import MissingExtraError, ModelError, SettingError
from leastways.models.answers import LabelsSeen, as_probabilities, error_text, seen_by, unusable
from leastways.models.base import Combined, FloatArray, Model, Split, Unbound, lend, split_of
from leastways.models.loading import as_model, check_model


class AllOf(Unbound):
    """A model that accepts a row only where every one of its members accepts it.

    The probability is the lowest of the members', so it reaches the overall threshold exactly where all of
    theirs do. With `thresholds`, one per model, each member's probability is first rescaled by two straight
    lines (0 -> 0, its threshold -> the overall one, 1 -> 1): then the lowest reaches the overall threshold
    exactly where every member reaches its own.

    A row counts as one query, however many models evaluate it.

    Parameters
    ----------
    models
        The members: whatever `Recourse` accepts as a model.
    thresholds
        The lowest accepted probability of each member; without them, all use the overall threshold.

    Examples
    --------
    >>> import pandas as pd
    >>> from leastways.models import as_model
    >>> both = AllOf([lambda frame: frame["income"] / 1000, lambda frame: 1 - frame["debt"] / 1000])
    >>> as_model(both, target=1).probability(pd.DataFrame({"income": [500, 900], "debt": [100, 400]}))
    array([0.5, 0.6])
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
class BoundAllOf(Combined):
    """The members with their own thresholds, and the overall threshold they are rescaled to."""

    threshold: float

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Return the lowest rescaled probability; an unusable output of any member is returned unchanged."""
        # Each member gets a frame of its own: what one does to it must not reach the next.
        return self._lowest([partial(_ask, member, frame) for member in self.members], len(frame))

    @property
    def labels_seen(self) -> tuple[LabelsSeen, ...]:
        """The labels that members have given."""
        return tuple(seen for member in self.members for seen in seen_by(member))

    def split(self) -> Split | None:
        """Offer the members' encoders side by side, where every member has one and their numbers are of one type."""
        halves = [split_of(member) for member in self.members]
        splits = [half for half in halves if half is not None]
        if len(splits) < len(halves):
            return None
        layout = _Layout()

        def encode(frame: pd.DataFrame) -> npt.NDArray[Any]:
            parts = [split.encode(lend(frame)) for split in splits]
            if len({(type(part), part.dtype, part.ndim) for part in parts}) > 1 or not isinstance(parts[0], np.ndarray):
                raise ModelError("The members' encoders return numbers of several kinds.")
            layout.learn(parts)
            return np.concatenate(parts, axis=1)

        def decide(way: int, array: npt.NDArray[Any]) -> FloatArray:
            parts = layout.parts(array)
            ways = [split.decisions[min(way, len(split.decisions) - 1)] for split in splits]
            return self._lowest([partial(ask, part) for ask, part in zip(ways, parts, strict=True)], len(array))

        most = max(len(split.decisions) for split in splits)
        parts = tuple(part for split in splits for part in split.parts)
        return Split(encode, tuple(partial(decide, way) for way in range(most)), parts)

    def _lowest(self, asks: Sequence[Callable[[], object]], rows: int) -> FloatArray:
        lowest = np.ones(rows)
        faulty = np.zeros(rows, dtype=bool)
        for number, (ask, own) in enumerate(zip(asks, self.thresholds, strict=True), start=1):
            try:
                values = as_probabilities(ask(), rows)
            except (SettingError, MissingExtraError):  # no fault of a row: as it is
                raise
            except Exception as error:
                raise ModelError(f"Model {number} of {len(self.members)} in AllOf: {error_text(error)}") from error
            bad = unusable(values)
            scaled = rescale(np.where(bad, 0.0, values), own, self.threshold)
            lowest = np.where(faulty, lowest, np.where(bad, values, np.minimum(lowest, scaled)))
            faulty |= bad
        return lowest


class _Layout:
    """The layout of members' encodings side by side; learned by encoding, which comes before any decision.

    A member's last bits may depend on the memory order of its rows, so each part is passed on in the order of its own
    encoder's output, whatever that of the whole.
    """

    def __init__(self) -> None:
        self._ends: list[int] = []  # of each member's columns
        self._orders: list[Literal["C", "F"]] = []

    def learn(self, parts: Sequence[npt.NDArray[Any]]) -> None:
        """Note how wide the parts are, and their orders the first time that there are rows enough to have one."""
        self._ends = np.cumsum([part.shape[1] for part in parts]).tolist()
        if not self._orders and len(parts[0]) > 1:
            self._orders = [_order(part) for part in parts]

    def parts(self, array: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Return each member's columns, in its own memory order."""
        pieces = np.split(array, self._ends[:-1], axis=1)
        orders = self._orders or [_order(array)] * len(pieces)
        return [np.asarray(piece, order=order) for piece, order in zip(pieces, orders, strict=True)]


def _order(array: npt.NDArray[Any]) -> Literal["C", "F"]:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _ask(member: Model, frame: pd.DataFrame) -> FloatArray:
    return member.probability(lend(frame))


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
