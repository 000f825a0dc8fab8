"""From whatever the user has to a `Model`: one door, one list of what is accepted."""

from __future__ import annotations

import os
import sys
from typing import Any

from leastways._validation import check_threshold
from leastways.errors import SettingError
from leastways.models.base import Model, Unbound
from leastways.models.cutoff import check_cutoff, ties_of
from leastways.models.estimator import adapt_estimator, check_estimator
from leastways.models.function import FunctionModel

ACCEPTED = (
    "a fitted scikit-learn, xgboost or lightgbm classifier or Pipeline; a callable frame -> probability or "
    "label; TorchModel(module, encoder); OnnxModel(path); AllOf([...]); or an object with a method "
    "probability(frame) -> array"
)


def as_model(model: object, target: object, *, threshold: float = 0.5) -> Model:
    """Return `model` as a `Model` of P(target).

    `threshold` is where acceptance starts: pass the same one that decides acceptance later. It changes nothing but
    the scale of an `AllOf` with thresholds of its own, and ties at one half that `predict` calls a no; below the
    cut-off that a model keeps itself it is refused.
    """
    check_threshold(threshold)
    check_model(model)
    anything: Any = model
    if isinstance(model, Unbound):
        return model.bind(target, threshold)
    if callable(getattr(model, "probability", None)):
        answering: Model = anything
        return answering
    if _predicts(model):
        check_cutoff(anything, target, threshold)
        return adapt_estimator(anything, target, ties_of(anything, threshold))
    return FunctionModel(anything, target)


def check_model(model: object) -> None:
    """Refuse what `as_model` cannot use, and say what would do instead."""
    if isinstance(model, type):
        raise SettingError(
            f"The model is the class {model.__name__}, not an instance of it. Pass a fitted one: "
            f"{model.__name__}(...).fit(X, y)."
        )
    if isinstance(model, Unbound) or callable(getattr(model, "probability", None)):
        return
    if _is_xgboost_booster(model):
        raise SettingError(
            "The model is an xgboost Booster, which takes a DMatrix and gives scores, not labels. If they are "
            "probabilities, pass a callable: lambda frame: booster.predict(xgboost.DMatrix(frame))."
        )
    if _predicts(model):
        check_estimator(model)
    elif (hint := _hint(model)) or not callable(model):
        raise SettingError(f"{_short(model)} is not a model.{hint} Accepted: {ACCEPTED}.")


def _predicts(model: object) -> bool:
    return callable(getattr(model, "predict_proba", None)) or callable(getattr(model, "predict", None))


def _hint(model: object) -> str:
    """Name the likely slip, or return an empty string."""
    if isinstance(model, str | bytes | os.PathLike):
        return " Load a file or 'module:object' with load_model(...) first."
    if isinstance(model, list | tuple | set | frozenset | dict):
        return " For several models that must all say yes, use AllOf([...])."
    if _is_torch_module(model):
        return " A torch module needs an encoder from raw rows to numbers: TorchModel(module, encoder)."
    if callable(getattr(model, "transform", None)):
        return " It transforms, but does not predict."
    return ""


def _is_torch_module(model: object) -> bool:
    """Recognise a torch module without importing torch: whoever holds one has imported it."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "nn") and isinstance(model, torch.nn.Module)


def _is_xgboost_booster(model: object) -> bool:
    """Recognise a bare booster in the same way."""
    xgboost: Any = sys.modules.get("xgboost")
    return xgboost is not None and hasattr(xgboost, "Booster") and isinstance(model, xgboost.Booster)


def _short(model: object) -> str:
    text = repr(model)
    return text if len(text) <= 80 else f"{text[:77]}..."
