"""Whether a model's `predict` says yes wherever its probability does: where it does not, it may refuse its options."""

from __future__ import annotations

import pandas as pd

from leastways._messages import plain
from leastways.models.all_of import BoundAllOf
from leastways.models.base import Model
from leastways.models.cutoff import cutoff_of
from leastways.models.estimator import LabelEstimator, ProbabilityEstimator
from leastways.models.frames import lend

_DEFAULT = 0.5  # where nobody chose a threshold; any other was chosen, and may differ from what `predict` goes by
_ROUNDING = 1e-6


def comparable(model: Model, threshold: float) -> list[ProbabilityEstimator]:
    """List the estimators in a model that have both methods and are used at the default threshold."""
    if isinstance(model, BoundAllOf):
        pairs = zip(model.members, model.own, strict=True)
        return [found for member, own in pairs for found in comparable(member, own)]
    if threshold != _DEFAULT or not isinstance(model, ProbabilityEstimator):
        return []
    return [model] if callable(getattr(model.estimator, "predict", None)) else []


def disagreement(model: Model, threshold: float, frame: pd.DataFrame) -> str:
    """Ask both methods about the rows; say so where the probability is a yes and `predict` a no, else nothing."""
    for member in comparable(model, threshold):
        try:
            accepted, refused = _counts(member, frame)
        except Exception:  # the search meets it too if it matters, and reports it with the row
            continue
        if refused:
            column = plain(member.target) if member.column is None else member.column
            return (
                f"predict of {type(member.estimator).__name__} does not say {plain(member.target)!r} of {refused} of "
                f"the {accepted} rows to which predict_proba gives {_DEFAULT} or more, so it may refuse options too. "
                f"If predict decides, pass lambda frame: model.predict(frame). If the probability does, pass lambda "
                f"frame: model.predict_proba(frame)[:, {column}], or threshold= where its yes begins elsewhere."
            )
    return ""


def needless(model: Model, threshold: float) -> str:
    """Say so where a model's own cut-off lies below the default: people whom it accepts would pass for refused."""
    for member in comparable(model, threshold):
        at = cutoff_of(member.estimator, member.target)
        if at is not None and at < _DEFAULT - _ROUNDING:
            return (
                f"{type(member.estimator).__name__} says {plain(member.target)!r} from a probability of {at!r} on; "
                f"people between that and threshold={_DEFAULT} are taken for refused. Pass threshold={at!r}."
            )
    return ""


def _counts(model: ProbabilityEstimator, frame: pd.DataFrame) -> tuple[int, int]:
    """Return how many rows the probability accepts, and how many of them `predict` refuses."""
    estimator = model.estimator
    if model.column is None and not (LabelEstimator(estimator, 0).probability(lend(frame)) == 1.0).any():
        return 0, 0  # the target is a column's number, and the labels are something else
    above = model.probability(lend(frame)) >= _DEFAULT
    if not above.any():
        return 0, 0
    said = LabelEstimator(estimator, model.target).probability(lend(frame[above]))
    return int(above.sum()), int((said == 0.0).sum())
