"""Classifiers with a cut-off of their own: scikit-learn's FixedThresholdClassifier and TunedThresholdClassifierCV."""

from __future__ import annotations

from math import isnan, nan
from typing import Any, Literal

from leastways._messages import plain
from leastways.errors import SettingError
from leastways.models.labels import same_label
from leastways.models.stages import Stages

_ROUNDING = 1e-9  # 1 - 0.7 is not 0.3
Ties = Literal["as they are", "first wins", "last wins"]


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
