"""A torch module with the encoder that turns raw rows into its input."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pandas as pd

from leastways._extras import require
from leastways.errors import ModelError, SettingError
from leastways.models.answers import check_output, column_of, read_scores
from leastways.models.base import Encoder, FloatArray, Model, Split, Unbound, check_encoder, encode
from leastways.models.libraries import TORCH, limit_threads


class TorchModel(Unbound):
    """A torch module on raw frames.

    The module runs in eval mode without gradients, and is left in the mode it was in.

    Parameters
    ----------
    module
        A torch.nn.Module that returns [n] or [n, 1] for the positive class (class 1, or the second of `classes`),
        or [n, k] with a column per class.
    encoder
        Turns raw rows into the module's input: a callable frame -> float array, or a fitted transformer.
    classes
        Labels of the columns; without them, the target is the column's number.
    output
        Whether the module returns logits or probabilities.
    device
        The torch device that the module is moved to.
    batch_rows
        The largest number of rows in a call of the module.

    Examples
    --------
    >>> import torch
    >>> income = lambda frame: frame[["income"]].to_numpy() / 1000
    >>> TorchModel(torch.nn.Linear(1, 2), income, classes=["rejected", "accepted"])
    TorchModel(Linear, output='logits', classes=('rejected', 'accepted'))
    """

    def __init__(
        self,
        module: Any,
        encoder: Encoder,
        *,
        classes: Sequence[object] | None = None,
        output: Literal["logits", "probability"] = "logits",
        device: str = "cpu",
        batch_rows: int = 65536,
    ) -> None:
        torch = require("torch", "torch", "TorchModel")
        if not isinstance(module, torch.nn.Module):
            raise SettingError(f"TorchModel: module must be a torch.nn.Module instance, not {module!r}.")
        check_encoder(encoder, "TorchModel")
        check_output(output, "TorchModel")
        if batch_rows < 1:
            raise SettingError(f"TorchModel: batch_rows={batch_rows!r} must be at least 1.")
        self.module = module
        self.encoder = encoder
        self.classes = None if classes is None else tuple(classes)
        self.output = output
        self.device = device
        self.batch_rows = batch_rows

    def bind(self, target: object, threshold: float) -> Model:
        """Bind the target; checked here where the classes are known, else on the first answer."""
        if self.classes is not None:
            column_of(target, self.classes, "the model")
        return BoundTorch(self, target)

    def scores(self, frame: pd.DataFrame) -> npt.NDArray[Any]:
        """Return the module's output for raw rows, evaluated in batches."""
        batches = range(0, len(frame), self.batch_rows)
        return self._run(self.encode(frame.iloc[start : start + self.batch_rows]) for start in batches)

    def scores_of(self, encoded: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the module's output for encoded rows, evaluated in the same batches."""
        batches = range(0, len(encoded), self.batch_rows)
        return self._run(encoded[start : start + self.batch_rows] for start in batches)

    def encode(self, frame: pd.DataFrame) -> npt.NDArray[Any]:
        """Return the encoder's numbers."""
        return encode(self.encoder, frame)

    def _run(self, batches: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        torch = require("torch", "torch", "TorchModel")
        self.module.to(self.device)
        dtype = float_type(self.module)
        parts: list[npt.NDArray[Any]] = []
        with evaluating(self.module), torch.inference_mode():
            for encoded in batches:
                given = torch.tensor(encoded, dtype=dtype, device=self.device)
                with limit_threads(TORCH, len(encoded)):
                    result = self.module(given)
                if not isinstance(result, torch.Tensor):
                    raise ModelError(f"The torch module must return a tensor, not {type(result).__name__}.")
                parts.append(_to_numpy(result, len(encoded)))
        return np.concatenate(parts)

    def __repr__(self) -> str:
        return f"TorchModel({type(self.module).__name__}, output={self.output!r}, classes={self.classes!r})"


@dataclass(frozen=True)
class BoundTorch:
    """A `TorchModel` bound to one target."""

    model: TorchModel
    target: object

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Run the module and read the target's probability."""
        return self._read(self.model.scores(frame), len(frame))

    def split(self) -> Split:
        """Return the encoder and the module as halves."""
        model = self.model
        parts = (model, model.module, model.encoder, *vars(model).values())
        return Split(model.encode, (lambda array: self._read(model.scores_of(array), len(array)),), parts)

    def _read(self, scores: npt.NDArray[Any], rows: int) -> FloatArray:
        return read_scores(scores, self.target, self.model.classes, self.model.output == "logits", rows)


@dataclass
class _InUse:
    """Counts the threads that have a module in eval mode, and keeps the flags to restore."""

    flags: list[tuple[Any, bool]]
    users: int = 0


_IN_USE: WeakKeyDictionary[Any, _InUse] = WeakKeyDictionary()
_IN_USE_LOCK = threading.Lock()


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Switch to eval mode and back, each submodule to its own flag (a frozen part may differ).

    Threads may share a module: the first one switches, and the last one switches back.
    """
    with _IN_USE_LOCK:
        use = _IN_USE.setdefault(module, _InUse([(part, part.training) for part in module.modules()]))
        use.users += 1
        module.eval()
    try:
        yield
    finally:
        with _IN_USE_LOCK:
            use.users -= 1
            if not use.users:
                del _IN_USE[module]
                for part, training in use.flags:
                    part.training = training


def float_type(module: Any) -> Any:
    """Return the floating-point type of a module: that of its first parameter which is no integer."""
    torch = require("torch", "torch", "TorchModel")
    return next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)


def _to_numpy(result: Any, rows: int) -> npt.NDArray[Any]:
    """Return a batch's output as an array; bfloat16 and the like, which numpy lacks, as float32."""
    if result.ndim == 0 or result.shape[0] != rows:
        raise ModelError(f"The torch module must return {rows} rows for {rows} rows, not shape {tuple(result.shape)}.")
    home = result.cpu()
    array: npt.NDArray[Any] = (home if home.element_size() >= 4 else home.float()).numpy()
    return array
