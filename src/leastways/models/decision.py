"""Where a model's own decision begins: ties, cut-offs, and predict() against predict_proba()."""

from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd

from leastways._values import plain
from leastways.errors import SettingError
from leastways.models.answers import same_label
from leastways.models.base import Combined, Model, lend
from leastways.models.estimator import LabelEstimator, ProbabilityEstimator, Stages
from leastways.models.libraries import Ties, library_of

_ROUNDING = 1e-9  # 1 - 0.7 is not 0.3
_DEFAULT = 0.5  # the default threshold; any other was chosen by the user, and may differ from what `predict` goes by
_MARGIN = 1e-6


def cutoff_of(estimator: Any, target: object) -> float | None:
    """Return the probability of `target` from which on `predict` gives `target`.

    None where the estimator keeps no cut-off of its own, NaN where it has one that is no probability.
    """
    if not callable(getattr(estimator, "predict_proba", None)):
        return None  # its labels are used
    final = Stages.of(estimator).final
    own_cutoff = library_of(final).cutoff
    if own_cutoff is None:
        return None
    try:
        at, label = own_cutoff(final)
    except AttributeError:  # another version keeps it elsewhere; `predict` is compared on rows too
        return None
    return at if same_label(label, target) else round(1.0 - at, 12)


def check_cutoff(estimator: Any, target: object, threshold: float) -> None:
    """Raise `SettingError` for a threshold below the estimator's own cut-off, as it would refuse some options."""
    at = cutoff_of(estimator, target)
    if at is None or threshold >= at - _ROUNDING:
        return
    name, wanted = type(estimator).__name__, plain(target)
    if isnan(at) or at > 1.0:
        what = "goes by its decision_function" if isnan(at) else f"needs a probability of {at!r}"
        raise SettingError(
            f"The model {name} {what}, so no threshold on the probability agrees with its decisions. Pass a callable "
            f"that gives its labels: lambda frame: model.predict(frame)."
        )
    raise SettingError(
        f"The model {name} predicts {wanted!r} from a probability of {at!r} on: with threshold={threshold!r} it would "
        f"refuse some of its options. Pass threshold={at!r} (in AllOf: thresholds=[...], one for each model)."
    )


def ties_of(estimator: Any, threshold: float) -> Ties:
    """Return to which class `predict` gives a tie at one half, where one half is the threshold.

    Most libraries look for the highest probability from the first class on; see each one's `Library.ties`. A cut-off
    of one half is reached by a tie.
    """
    if threshold != _DEFAULT or not callable(getattr(estimator, "predict", None)):
        return "as they are"
    final = Stages.of(estimator).final
    library = library_of(final)
    if not callable(getattr(estimator, "predict_proba", None)) or library.cutoff is None:
        return library.ties
    second = final.classes_[1]
    if cutoff_of(estimator, second) != _DEFAULT:
        return "as they are"
    return "last wins" if same_label(library.cutoff(final)[1], second) else "first wins"


def comparable(model: Model, threshold: float) -> list[ProbabilityEstimator]:
    """List the estimators in a model that have both methods and are used at the default threshold."""
    if isinstance(model, Combined):
        pairs = zip(model.members, model.thresholds, strict=True)
        return [found for member, own in pairs for found in comparable(member, own)]
    if threshold != _DEFAULT or not isinstance(model, ProbabilityEstimator):
        return []
    return [model] if callable(getattr(model.estimator, "predict", None)) else []


def disagreement(model: Model, threshold: float, frame: pd.DataFrame) -> str:
    """Compare predict() with predict_proba() on rows; return a warning where only the probability accepts some.

    Parameters
    ----------
    model
        A bound model, or several in an `AllOf`.
    threshold
        The threshold it is used at; models with a threshold other than 0.5 are not compared.
    frame
        The rows.

    Returns
    -------
    str
        The warning; empty if the two methods agree, or cannot be compared.
    """
    for member in comparable(model, threshold):
        try:
            accepted, refused = _counts(member, frame)
        except Exception:  # the search meets it too if it matters, and reports it with the row
            continue
        if refused:
            column = plain(member.target) if member.column is None else member.column
            return (
                f"{type(member.estimator).__name__}: predict() and predict_proba() disagree on {refused} of the "
                f"{accepted} rows whose probability of {plain(member.target)!r} is {_DEFAULT} or more, so predict() "
                f"may refuse options too. If predict() decides, pass lambda frame: model.predict(frame). If the "
                f"probability does, pass lambda frame: model.predict_proba(frame)[:, {column}], or threshold= where "
                f"acceptance begins elsewhere."
            )
    return ""


def cutoff_warning(model: Model, threshold: float) -> str:
    """Return a warning if a model's own cut-off is below the default threshold, else an empty string."""
    for member in comparable(model, threshold):
        at = cutoff_of(member.estimator, member.target)
        if at is not None and at < _DEFAULT - _MARGIN:
            return (
                f"{type(member.estimator).__name__} predicts {plain(member.target)!r} from a probability of {at!r} on; "
                f"people between that and threshold={_DEFAULT} count as refused. Pass threshold={at!r}."
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
    predicted = LabelEstimator(estimator, model.target).probability(lend(frame[above]))
    return int(above.sum()), int((predicted == 0.0).sum())
