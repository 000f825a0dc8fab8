"""Make a `Model` from an object or a file."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from leastways._extras import require
from leastways._messages import listed, nearest
from leastways._validation import check_threshold
from leastways.errors import SettingError
from leastways.models.base import Model, Unbound
from leastways.models.decision import check_cutoff, ties_of
from leastways.models.estimator import FunctionModel, adapt_estimator, check_estimator
from leastways.models.libraries import library_of

ACCEPTED = (
    "a fitted scikit-learn, xgboost or lightgbm classifier or Pipeline; a callable frame -> probability or "
    "label; TorchModel(module, encoder); OnnxModel(path); AllOf([...]); or an object with a method "
    "probability(frame) -> array"
)


def as_model(model: object, target: object, *, threshold: float = 0.5) -> Model:
    """Return `model` as a `Model` of P(target).

    Parameters
    ----------
    model
        An estimator, a callable, a wrapper such as `TorchModel`, or an object with a method `probability`.
    target
        The label of an accepted row, as the model writes it.
    threshold
        The lowest probability that is accepted. It changes only the scale of an `AllOf` with thresholds of its own,
        and ties at one half that `predict` gives to another class.

    Returns
    -------
    Model
        The model, bound to the target.

    Raises
    ------
    SettingError
        If the object is no fitted model, does not know the target, or has a cut-off above the threshold.

    Examples
    --------
    >>> import pandas as pd
    >>> model = as_model(lambda frame: frame["income"] > 1000, target=True)
    >>> model.probability(pd.DataFrame({"income": [500, 1500]}))
    array([0., 1.])
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
    """Raise `SettingError` for objects that `as_model` cannot use, with advice what to pass instead."""
    if isinstance(model, type):
        raise SettingError(
            f"The model is the class {model.__name__}, not an instance of it. Pass a fitted one: "
            f"{model.__name__}(...).fit(X, y)."
        )
    if isinstance(model, Unbound) or callable(getattr(model, "probability", None)):
        return
    library = library_of(model)
    if library.not_a_model:
        raise SettingError(library.not_a_model)
    if _predicts(model):
        check_estimator(model)
    elif (hint := library.hint or _hint(model)) or not callable(model):
        raise SettingError(f"{_short(model)} is not a model.{hint} Accepted: {ACCEPTED}.")


def _predicts(model: object) -> bool:
    return callable(getattr(model, "predict_proba", None)) or callable(getattr(model, "predict", None))


def _hint(model: object) -> str:
    """Name the likely mistake, or return an empty string."""
    if isinstance(model, str | bytes | os.PathLike):
        return " Load a file or 'module:object' with load_model(...) first."
    if isinstance(model, list | tuple | set | frozenset | dict):
        return " For several models that must all accept, use AllOf([...])."
    if callable(getattr(model, "transform", None)):
        return " It transforms, but does not predict."
    return ""


def _short(model: object) -> str:
    text = repr(model)
    return text if len(text) <= 80 else f"{text[:77]}..."


_PICKLES = (".pkl", ".pickle", ".joblib")
MODEL_FILES = (".onnx", ".skops", *_PICKLES)
_HARMLESS = ("numpy.dtype",)  # in every SimpleImputer, and skops does not know it
_WAYS = "a .onnx or .skops file, a .pkl, .pickle or .joblib file with trust=True, or 'module:object'"


def load_model(path: str | Path, *, trust: bool | Sequence[str] = False) -> Any:
    """Load a model from a file, or the object that a ``module:object`` string names.

    Parameters
    ----------
    path
        A `.onnx` or `.skops` file, which are data; a `.pkl`, `.pickle` or `.joblib` file, which can run any code its
        author put in; or ``module:object``, imported from the working directory.
    trust
        True to load a pickle, or a `.skops` file with types that skops does not know to be harmless. For `.skops`,
        also a list of the types to allow.

    Returns
    -------
    object
        The model, as `Recourse` takes it.

    Examples
    --------
    >>> load_model("model.skops")  # doctest: +SKIP
    Pipeline(steps=[...])
    """
    suffix = Path(path).suffix.lower()
    if suffix not in MODEL_FILES:
        if isinstance(path, str) and ":" in path:
            return _from_code(path)
        raise SettingError(f"Cannot tell how to load a model from {str(path)!r}: it must be {_WAYS}.")
    file = _existing(Path(path))
    if suffix == ".onnx":
        from leastways.models.onnx import OnnxModel  # late: few models are ONNX files

        return OnnxModel(file)
    model = _from_skops(file, trust) if suffix == ".skops" else _from_pickle(file, trust)
    check_model(model)
    return model


def _existing(file: Path) -> Path:
    if file.is_file():
        return file
    beside = [other.name for other in file.parent.glob(f"*{file.suffix}")] if file.parent.is_dir() else []
    raise SettingError(f"There is no model file {str(file)!r}.{nearest(file.name, beside)}")


def _from_skops(file: Path, trust: bool | Sequence[str]) -> Any:
    io = require("skops.io", "skops", "Loading a .skops file")
    found: list[str] = _reading(file, lambda: io.get_untrusted_types(file=file))
    named = found if trust is True else [] if trust is False else [trust] if isinstance(trust, str) else trust
    allowed = {*named, *_HARMLESS}
    if refused := [name for name in found if name not in allowed]:
        raise SettingError(
            f"{str(file)!r} holds types that are not known to be safe: {listed(refused, 20)}. If you trust "
            f"where the file comes from, pass trust=True, or the list of these names as trust=."
        )
    return _reading(file, lambda: io.load(file, trusted=[name for name in found if name in allowed]))


def _from_pickle(file: Path, trust: bool | Sequence[str]) -> Any:
    if trust is not True:
        raise SettingError(
            f"{str(file)!r} is a pickle: loading it runs any code its author put in. If you trust where the "
            f"file comes from, pass trust=True; else have the model saved as .skops or .onnx."
        )
    if file.suffix.lower() == ".joblib":
        joblib = importlib.import_module("joblib")  # comes with scikit-learn
        return _reading(file, lambda: joblib.load(file))
    with file.open("rb") as stream:
        return _reading(file, lambda: pickle.load(stream))


def _reading(file: Path, read: Callable[[], Any]) -> Any:
    """Call a loader; turn its errors on a damaged or foreign file into a `SettingError` that names the file."""
    try:
        return read()
    except Exception as error:  # zip, JSON, pickle and import errors alike: loaders promise no base class
        raise SettingError(f"Cannot read a model from {str(file)!r}: {type(error).__name__}: {error}") from error


def _from_code(spec: str) -> Any:
    """Import ``module:object`` (or ``module:object.attribute``) as Python started here would."""
    module_name, _, attribute = spec.partition(":")
    if not attribute or not all(part.isidentifier() for part in module_name.split(".")):
        raise SettingError(f"{spec!r} is not of the form 'module:object', and not a model file. It must be {_WAYS}.")
    found = _import(module_name, spec)
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [name for name in dir(found) if not name.startswith("_")]
            raise SettingError(f"{spec!r}: {module_name!r} has no {part!r}.{nearest(part, public)}")
        found = getattr(found, part)
    check_model(found)
    return found


def _import(name: str, spec: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:  # stays: what the module imports later must be found too
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            beside = [file.stem for file in Path.cwd().glob("*.py")]
            raise SettingError(f"{spec!r}: there is no module {error.name!r} here.{nearest(name, beside)}") from error
        raise SettingError(f"{spec!r}: importing {name!r} failed: {error}") from error
    except Exception as error:  # the user's own module may raise anything
        raise SettingError(f"{spec!r}: importing {name!r} raised {type(error).__name__}: {error}") from error
