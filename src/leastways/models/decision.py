"""Where a model's own decision begins: ties, cut-offs, and predict() against predict_proba()."""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import pandas as pd

from leastways._messages import plain
from leastways.errors import SettingError
from leastways.models.answers import same_label
from leastways.models.base import Combined, Model, lend
from leastways.models.estimator import LabelEstimator, ProbabilityEstimator
from leastways.models.libraries import Stages, Ties

_ROUNDING = 1e-9  # 1 - 0.7 is not 0.3


def cutoff_of(estimator: Any, target: object) -> float | None:
    """Return the probability of `target` from which on `predict` says `target`.

    None where the estimator keeps no cut-off of its own, NaN where it has one that is no probability.
    """
    if not callable(getattr(estimator, "predict_proba", None)):
        return None  # its labels are used
    final = Stages.of(estimator).final
    if not _has_cutoff(final):
        return None
    if final.response_method == "decision_function":
        return nan
    try:
        at, positive = _positive(final)
    except AttributeError:  # kept elsewhere in another version: what `predict` says of rows is looked at too
        return None
    return at if same_label(positive, target) else round(1.0 - at, 12)


def check_cutoff(estimator: Any, target: object, threshold: float) -> None:
    """Refuse a threshold below the estimator's own cut-off: it would refuse options that we call accepted."""
    at = cutoff_of(estimator, target)
    if at is None or threshold >= at - _ROUNDING:
        return
    name, wanted = type(estimator).__name__, plain(target)
    if isnan(at) or at > 1.0:
        what = "goes by its decision_function" if isnan(at) else f"needs a probability of {at!r}"
        raise SettingError(
            f"The model {name} {what}, so no probability says where its yes begins. Pass a callable that gives its "
            f"labels: lambda frame: model.predict(frame)."
        )
    raise SettingError(
        f"The model {name} says {wanted!r} from a probability of {at!r} on: with threshold={threshold!r} it would "
        f"refuse some of its options. Pass threshold={at!r} (in AllOf: thresholds=[...], one for each model)."
    )


def ties_of(estimator: Any, threshold: float) -> Ties:
    """Say to which class `predict` gives a tie at one half, where that is the threshold.

    The class with the highest probability is looked for from the first on; a cut-off says yes from itself on, and so
    does scikit-learn's older gradient boosting with its scores.
    """
    if threshold != 0.5 or not callable(getattr(estimator, "predict", None)):
        return "as they are"
    final = Stages.of(estimator).final
    if not callable(getattr(estimator, "predict_proba", None)) or not _has_cutoff(final):
        return "last wins" if type(final).__name__ == "GradientBoostingClassifier" else "first wins"
    second = final.classes_[1]
    cutoff = cutoff_of(estimator, second)
    if cutoff != 0.5:
        return "as they are"
    return "last wins" if same_label(_positive(final)[1], second) else "first wins"


def _has_cutoff(final: object) -> bool:
    try:
        from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
    except ImportError:  # they came with scikit-learn 1.5
        return False
    return isinstance(final, FixedThresholdClassifier | TunedThresholdClassifierCV)


def _positive(final: Any) -> tuple[float, object]:
    """Return the cut-off, and the class it is about: the second one unless said otherwise."""
    if hasattr(final, "best_threshold_"):
        at, positive = float(final.best_threshold_), final._curve_scorer._get_pos_label()
    else:
        at, positive = 0.5 if final.threshold == "auto" else float(final.threshold), final.pos_label
    return at, final.classes_[1] if positive is None else positive


_DEFAULT = 0.5  # where nobody chose a threshold; any other was chosen, and may differ from what `predict` goes by
_MARGIN = 1e-6


def comparable(model: Model, threshold: float) -> list[ProbabilityEstimator]:
    """List the estimators in a model that have both methods and are used at the default threshold."""
    if isinstance(model, Combined):
        pairs = zip(model.members, model.thresholds, strict=True)
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


def cutoff_warning(model: Model, threshold: float) -> str:
    """Say so where a model's own cut-off lies below the default: people whom it accepts would pass for refused."""
    for member in comparable(model, threshold):
        at = cutoff_of(member.estimator, member.target)
        if at is not None and at < _DEFAULT - _MARGIN:
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
