"""ONNX files: graphs of a whole Pipeline (an input per raw column) or of a bare network (one tensor)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from leastways._extras import require
from leastways._messages import listed
from leastways.errors import ModelError, SettingError
from leastways.models.answers import BELOW_HALF, as_series
from leastways.models.base import FloatArray, Model, Split, Unbound
from leastways.models.frames import Encoder, check_encoder
from leastways.models.labels import column_of, label_matches
from leastways.models.labels_seen import LabelsSeen
from leastways.models.onnx_classes import classes_of
from leastways.models.onnx_ports import Port, check_inputs, feed
from leastways.models.scores import check_output, read_scores

_FLOATS = ("float", "double", "float16")
_ROUNDING = 1e-6  # of single precision, in which a sum of ten tenths is not one


class OnnxModel(Unbound):
    """An ONNX graph on raw frames, from a path or from the file's bytes.

    Inputs: one per raw column, as skl2onnx makes from a Pipeline, found by name; or one tensor, filled by
    `encoder`, or by all columns in order where they are of its type. Output: class probabilities (a tensor,
    or the ZipMap that skl2onnx adds; `zipmap=False` at export answers faster), else labels. `output="logits"`
    is for networks exported without their last sigmoid or softmax.

    The classes are `classes`, or those the graph's classifier names, or the ZipMap's keys, or the column numbers
    0..k-1; a single column is class 1 of two. Only the bytes are pickled; the session is made anew where it is needed.
    """

    def __init__(
        self,
        path_or_bytes: str | Path | bytes,
        *,
        encoder: Encoder | None = None,
        classes: Sequence[object] | None = None,
        output: Literal["probability", "logits"] = "probability",
    ) -> None:
        if encoder is not None:
            check_encoder(encoder, "OnnxModel")
        check_output(output, "OnnxModel")
        self.source = "bytes" if isinstance(path_or_bytes, bytes) else str(path_or_bytes)
        self.content = path_or_bytes if isinstance(path_or_bytes, bytes) else _read(Path(path_or_bytes))
        self.encoder = encoder
        self.classes = classes_of(self.content) if classes is None else tuple(classes)
        self.output = output
        self._named_by_the_graph = classes is None and self.classes is not None
        self._session: Any = None

    def bind(self, target: object, threshold: float) -> Model:
        """Open the graph, so that a broken or unsuitable one is refused here, and bind the target."""
        session = self.session()
        check_inputs([Port.of(a) for a in session.get_inputs()], self.encoder is not None)
        choose_output([Port.of(a) for a in session.get_outputs()])
        if self.classes is not None:
            column_of(target, self.classes, "the model")
        return BoundOnnx(self, target, labels_decide=threshold == 0.5 and self._named_by_the_graph)

    def session(self) -> Any:
        """Return the inference session, made on first use in each process."""
        if self._session is None:
            runtime = require("onnxruntime", "onnx", "OnnxModel")
            options = runtime.SessionOptions()
            options.log_severity_level = 3  # errors only: a library does not print
            try:
                self._session = runtime.InferenceSession(
                    self.content, sess_options=options, providers=["CPUExecutionProvider"]
                )
            except Exception as error:  # onnxruntime's own error classes share no other base
                raise SettingError(f"{self.source} is not a usable ONNX model: {error}") from error
        return self._session

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}

    def __repr__(self) -> str:
        return f"OnnxModel({self.source!r}, classes={self.classes!r})"


@dataclass(frozen=True)
class Choice:
    """Which output holds the answer and what it is; `labels` is the label output beside it, if any."""

    answer: Port
    kind: Literal["map", "scores", "labels"]
    labels: Port | None


@dataclass(frozen=True)
class BoundOnnx:
    """An `OnnxModel` asked for one class. With `labels_decide`, a tie at one half is what the graph's label says."""

    model: OnnxModel
    target: object
    labels_decide: bool
    seen: LabelsSeen = field(default_factory=LabelsSeen, repr=False, compare=False)

    @property
    def labels_seen(self) -> tuple[LabelsSeen, ...]:
        """What is known of its labels, where its classes are not."""
        return () if self.model.classes else (self.seen,)

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Run the graph and read the target's probability."""
        return self._run(feed(self._inputs(), frame, self.model.encoder), len(frame))

    def split(self) -> Split | None:
        """Offer what fills the graph's one tensor, and the graph; with an input per column there is no encoder."""
        inputs = self._inputs()
        if len(inputs) != 1 or inputs[0].element == "string":
            return None
        name, encoder = inputs[0].name, self.model.encoder

        def encode(frame: pd.DataFrame) -> npt.NDArray[Any]:
            return feed(inputs, frame, encoder)[name]

        return Split(encode, (lambda array: self._run({name: array}, len(array)),), (self.model, encoder))

    def _inputs(self) -> list[Port]:
        return [Port.of(a) for a in self.model.session().get_inputs()]

    def _run(self, inputs: dict[str, npt.NDArray[Any]], rows: int) -> FloatArray:
        session, model = self.model.session(), self.model
        choice = choose_output([Port.of(a) for a in session.get_outputs()])
        wanted = [choice.answer.name] + ([choice.labels.name] if choice.labels else [])
        answer, *labels = session.run(wanted, inputs)
        if choice.kind == "map":
            return self._as_labelled(self._from_map(answer, rows), labels, rows)
        if choice.kind == "labels":
            return label_matches(_flat(answer, rows), self.target, "the ONNX model", self.seen)
        if labels and model.classes is None:
            _check_column_numbers(labels[0], answer.shape[1] if answer.ndim == 2 else 2)
        values = read_scores(answer, self.target, model.classes, model.output == "logits", rows)
        return self._as_labelled(values, labels, rows)

    def _as_labelled(self, values: FloatArray, labels: Sequence[Any], rows: int) -> FloatArray:
        tied = np.abs(values - 0.5) <= _ROUNDING
        if not (self.labels_decide and labels and tied.any()):
            return values
        lost = tied & (label_matches(_flat(labels[0], rows), self.target, "the ONNX model", self.seen) == 0.0)
        return np.where(lost, np.minimum(values, BELOW_HALF), values)

    def _from_map(self, answer: list[dict[object, float]], rows: int) -> FloatArray:
        """Read a ZipMap: a dict of label -> probability for each row."""
        keys = list(answer[0]) if answer else []
        given = self.model.classes
        names = keys if given is None or set(given) == set(keys) else given  # the keys know their own order
        scores = np.array([list(row.values()) for row in answer], dtype=np.float32)
        return read_scores(scores, self.target, names, self.model.output == "logits", rows)


def choose_output(outputs: list[Port]) -> Choice:
    """Find the probabilities among the outputs: a ZipMap, else floats, preferably named so, else labels."""
    tensors = [port for port in outputs if port.element]
    named = [port for port in tensors if "label" in port.name.lower()]
    discrete = [port for port in tensors if port.element not in _FLOATS]
    labels = _only(discrete) or _only([port for port in named if port in discrete])
    if maps := [port for port in outputs if port.type.startswith("seq(map(")]:
        return Choice(maps[0], "map", labels)
    floats = [port for port in tensors if port.element in _FLOATS]
    scores = _only(floats) or _only([port for port in floats if "prob" in port.name.lower()])
    # skl2onnx gives a margin classifier (LinearSVC) labels beside one column of raw margins: no probability.
    if scores is not None and not (labels is not None and scores.width == 1):
        return Choice(scores, "scores", labels)
    if labels is not None:
        return Choice(labels, "labels", None)
    shown = listed([f"{port.name}: {port.type}" for port in outputs])
    raise SettingError(
        f"OnnxModel cannot tell which output holds the probabilities: {shown}."
        f" Export one tensor of class probabilities (skl2onnx: zipmap=False)."
    )


def _only(ports: list[Port]) -> Port | None:
    return ports[0] if len(ports) == 1 else None


def _check_column_numbers(labels: npt.NDArray[Any], k: int) -> None:
    """Refuse to read the target as a column number where the graph's integer labels are no column numbers."""
    if labels.dtype.kind in "iu" and (other := (labels < 0) | (labels >= max(k, 2))).any():
        raise SettingError(
            f"The ONNX model's labels, such as {int(labels[other][0])}, are not the column numbers "
            f"0..{k - 1}: say which label each column stands for with OnnxModel(..., classes=[...])."
        )


def _flat(answer: npt.NDArray[Any], rows: int) -> pd.Series:
    if np.size(answer) != rows:
        raise ModelError(f"The ONNX model must return one label per row, {rows} in all, not shape {answer.shape}.")
    return as_series(answer.reshape(rows))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingError(f"OnnxModel cannot read {str(path)!r}: {error.strerror or error}.") from error
