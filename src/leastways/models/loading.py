"""Models from disk or from the user's own code, without running anything that was not asked for."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from leastways._extras import require
from leastways._messages import listed, nearest
from leastways.errors import SettingError
from leastways.models.dispatch import check_model
from leastways.models.onnx_model import OnnxModel

_PICKLES = (".pkl", ".pickle", ".joblib")
MODEL_FILES = (".onnx", ".skops", *_PICKLES)
_HARMLESS = ("numpy.dtype",)  # in every SimpleImputer, and skops does not know it
_WAYS = "a .onnx or .skops file, a .pkl, .pickle or .joblib file with trust=True, or 'module:object'"


def load_model(path: str | Path, *, trust: bool | Sequence[str] = False) -> Any:
    """Return the model in a file, or the object a ``module:object`` string names, ready for `as_model`.

    `.onnx` and `.skops` files are data. A `.skops` file may still name types that skops does not know to be
    harmless: those load only where `trust` is True or lists them. A pickle runs whatever its author put in,
    so it loads only with ``trust=True``. ``module:object`` imports from the working directory.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in MODEL_FILES:
        if isinstance(path, str) and ":" in path:
            return _from_code(path)
        raise SettingError(f"Cannot tell how to load a model from {str(path)!r}: it must be {_WAYS}.")
    file = _existing(Path(path))
    if suffix == ".onnx":
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
    """Call a loader; whatever it raises on a damaged or foreign file is told with the file's name."""
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
