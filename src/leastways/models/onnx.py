"""ONNX files: graphs of a whole Pipeline (an input per raw column) or of a bare network (one tensor)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype

from leastways._extras import require
from leastways._messages import listed
from leastways._values import plain
from leastways.errors import ModelError, SettingError
from leastways.models.answers import (
    BELOW_HALF,
    NUMBERS,
    LabelsSeen,
    as_series,
    check_output,
    column_of,
    label_matches,
    read_scores,
)
from leastways.models.base import Encoder, FloatArray, Model, Split, Unbound, check_encoder, encode

_FLOATS = ("float", "double", "float16")
_ROUNDING = 1e-6  # of single precision, in which a sum of ten tenths is not one


class OnnxModel(Unbound):
    """An ONNX graph on raw frames, from a path or from the file's bytes.

    Inputs are one per raw column, found by name, as skl2onnx makes from a Pipeline; or one tensor. Outputs are class
    probabilities (a tensor, or the ZipMap that skl2onnx adds; `zipmap=False` at export answers faster), else labels.
    Only the bytes are pickled; the session is made anew where it is needed.

    Parameters
    ----------
    path_or_bytes
        The file, or its content.
    encoder
        Fills the one input tensor from raw rows: a callable frame -> float array, or a fitted transformer. Without
        it, the tensor is filled by all columns in order.
    classes
        The labels of the columns. Without them: those the graph's classifier names, or the ZipMap's keys, or the
        column numbers 0..k-1; a single column is class 1 of two.
    output
        "logits" for networks exported without their last sigmoid or softmax.

    Examples
    --------
    >>> OnnxModel("model.onnx")  # doctest: +SKIP
    OnnxModel('model.onnx', classes=(0, 1))
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
        """Open the graph, raise `SettingError` if it is broken or unsuitable, and bind the target."""
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
    """The output that holds the answer, and its kind; `labels` is the label output beside it, if any."""

    answer: Port
    kind: Literal["map", "scores", "labels"]
    labels: Port | None


@dataclass(frozen=True)
class BoundOnnx:
    """An `OnnxModel` bound to one target. With `labels_decide`, the graph's label decides a tie at one half."""

    model: OnnxModel
    target: object
    labels_decide: bool
    seen: LabelsSeen = field(default_factory=LabelsSeen, repr=False, compare=False)

    @property
    def labels_seen(self) -> tuple[LabelsSeen, ...]:
        """The labels it has given, where its classes are not known."""
        return () if self.model.classes else (self.seen,)

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Run the graph and read the target's probability."""
        return self._run(feed(self._inputs(), frame, self.model.encoder), len(frame))

    def split(self) -> Split | None:
        """Return encoder and graph as halves, if the graph takes one tensor; with an input per column it has none."""
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
    """Raise `SettingError` where the target would be read as a column number, but integer labels are none."""
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


_SAME_NAME = ("float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
_DTYPES: dict[str, type[np.generic]] = {"float": np.float32, "double": np.float64}
_DTYPES |= {name: np.dtype(name).type for name in _SAME_NAME}


@dataclass(frozen=True)
class Port:
    """One input or output: its name, ONNX type such as ``tensor(float)``, and shape (None where free)."""

    name: str
    type: str
    shape: tuple[int | None, ...]

    @staticmethod
    def of(argument: Any) -> Port:
        """Read onnxruntime's description of an input or output; named dimensions have any size."""
        shape = tuple(size if isinstance(size, int) else None for size in argument.shape or ())
        return Port(argument.name, argument.type, shape)

    @property
    def element(self) -> str:
        """The element type of a tensor (``float``, ``string``, ...), empty for anything else."""
        found = re.fullmatch(r"tensor\((\w+)\)", self.type)
        return found[1] if found else ""

    @property
    def width(self) -> int | None:
        """The declared number of columns, where it is fixed."""
        return self.shape[1] if len(self.shape) > 1 else None


def check_inputs(inputs: list[Port], has_encoder: bool) -> None:
    """Raise `SettingError` for a graph whose inputs cannot be filled, or that takes a fixed number of rows."""
    if has_encoder and len(inputs) != 1:
        raise SettingError(
            f"OnnxModel: an encoder fills one input, the graph has {len(inputs)}: "
            f"{listed([port.name for port in inputs])}. Leave encoder= out to feed them from the columns."
        )
    for port in inputs:
        if port.element not in _DTYPES and (has_encoder or port.element != "string"):
            raise SettingError(f"OnnxModel: input {port.name!r} has type {port.type!r}, which cannot be filled.")
        if port.shape and port.shape[0] is not None:
            raise SettingError(
                f"OnnxModel: input {port.name!r} takes exactly {port.shape[0]} row(s); export the model with "
                f"a dynamic first axis."
            )


def feed(inputs: list[Port], frame: pd.DataFrame, encoder: Encoder | None) -> dict[str, npt.NDArray[Any]]:
    """Fill every input: from the encoder, from one column each, or one tensor from all columns in order."""
    if encoder is not None:
        port = inputs[0]
        return {port.name: _sized(encode(encoder, frame).astype(_DTYPES[port.element]), port)}
    if len(inputs) == 1 and (inputs[0].width != 1 or _column(inputs[0], frame, required=False) is None):
        return {inputs[0].name: _whole_frame(inputs[0], frame)}
    filled: dict[str, npt.NDArray[Any]] = {}
    for port in inputs:
        name = _column(port, frame)
        values = cast(frame[name], port)
        filled[port.name] = values if len(port.shape) == 1 else values[:, None]
    return filled


def _whole_frame(port: Port, frame: pd.DataFrame) -> npt.NDArray[Any]:
    """Stack all columns into one tensor; text in a numeric tensor needs an encoder."""
    try:
        stacked = np.column_stack([cast(frame[name], port) for name in frame.columns])
    except ModelError as error:
        raise ModelError(f"{error} The graph takes one tensor: pass OnnxModel(..., encoder=...).") from error
    return _sized(stacked, port)


def _sized(values: npt.NDArray[Any], port: Port) -> npt.NDArray[Any]:
    if values.ndim == 2 and port.width not in (None, values.shape[1]):
        raise ModelError(
            f"ONNX input {port.name!r} takes {port.width} columns; the frame, encoded, has {values.shape[1]}."
        )
    return values


def _column(port: Port, frame: pd.DataFrame, required: bool = True) -> Any:
    """Find the column an input is named after: exactly, else with all but letters and digits as '_'.

    Converters rename ``job-title`` to ``job_title`` because ONNX names are C identifiers.
    """
    if port.name in frame.columns:
        return port.name
    alike = [name for name in frame.columns if _identifier(name) == _identifier(port.name)]
    if len(alike) == 1:
        return alike[0]
    if not required:
        return None
    trouble = f"could be any of {listed(alike)}" if alike else "is not a column"
    raise ModelError(f"ONNX input {port.name!r} {trouble}; the columns are {listed(list(frame.columns), 20)}.")


def _identifier(name: object) -> str:
    return re.sub(r"[^0-9a-zA-Z]", "_", str(name))


def cast(column: pd.Series, port: Port) -> npt.NDArray[Any]:
    """Return the column's values in the input's type; raise where that loses something (1.5 to an integer)."""
    if port.element == "string":
        return _texts(column)
    if (kind := _kind(column)) not in NUMBERS:
        raise ModelError(
            f"Column {column.name!r} holds {kind} values such as {plain(column.iloc[0])!r}; ONNX input "
            f"{port.name!r} takes {port.type}."
        )
    dtype = _DTYPES[port.element]
    exact = column.dtype.kind in "biuf" if isinstance(column.dtype, np.dtype) else False
    values = column.to_numpy() if exact else column.to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(invalid="ignore"):
        result = values.astype(dtype)
    if not np.issubdtype(dtype, np.floating) and (lost := result != values).any():
        raise ModelError(
            f"Column {column.name!r} holds {plain(values[lost][0])!r}; ONNX input {port.name!r} takes {port.type}."
        )
    return result


def _kind(column: pd.Series) -> str:
    """Return what pandas calls the values, ``integer``, ``string``, ...; of a categorical, its categories."""
    dtype = column.dtype
    return infer_dtype(dtype.categories if isinstance(dtype, pd.CategoricalDtype) else column, skipna=True)


def _texts(column: pd.Series) -> npt.NDArray[Any]:
    """Return Python strings, made once per category where the column has categories."""
    if isinstance(column.dtype, pd.CategoricalDtype) and not column.hasnans:
        names = np.array([str(plain(value)) for value in column.cat.categories], dtype=object)
        return names[column.cat.codes.to_numpy()]
    values = column.to_numpy(dtype=object)
    if _kind(column) == "string" and not column.hasnans:
        return values
    return np.array([str(plain(value)) for value in values], dtype=object)


_GRAPH, _NODE, _OUTPUT = 7, 1, 12  # of ModelProto; of GraphProto
_NAME = 1  # of ValueInfoProto and AttributeProto
_NODE_INPUT, _NODE_OUTPUT, _NODE_TYPE, _NODE_ATTRIBUTE = 1, 2, 4, 5
_INTS, _STRINGS = 8, 9  # of AttributeProto
_LABELS = (b"classlabels_strings", b"classlabels_int64s", b"classlabels_ints")
_PASSES_ON = (b"Cast", b"Identity", b"Reshape", b"Squeeze")  # the label goes through these as it is

Field = tuple[int, int | memoryview]


@dataclass(frozen=True)
class _Node:
    kind: bytes
    inputs: list[bytes]
    labels: tuple[str | int, ...]


def classes_of(content: bytes) -> tuple[str | int, ...] | None:
    """Return the labels of the classifier whose label is an output of the graph; None without one.

    Classifiers further inside, as in an ensemble, may have labels of their own; these are not read.
    """
    try:
        graph = _last(memoryview(content), _GRAPH)
        nodes = {name: node for part in _parts(graph, _NODE) for name, node in _read_node(part)}
        outputs = [bytes(_last(part, _NAME)) for part in _parts(graph, _OUTPUT)]
        found = {labels for name in outputs if (labels := _labels_behind(name, nodes))}
    except (ValueError, IndexError, UnicodeDecodeError):  # no ONNX file: onnxruntime says so
        return None
    return found.pop() if len(found) == 1 else None


def _labels_behind(name: bytes, nodes: dict[bytes, _Node]) -> tuple[str | int, ...]:
    """Trace an output back to the classifier that computes it."""
    for _ in range(len(nodes)):
        node = nodes.get(name)
        if node is None or node.labels:
            return () if node is None else node.labels
        if node.kind not in _PASSES_ON or not node.inputs:
            return ()
        name = node.inputs[0]
    return ()


def _read_node(part: memoryview) -> Iterator[tuple[bytes, _Node]]:
    """Return a node by the name of its first output: a classifier's label."""
    outputs = [bytes(value) for value in _parts(part, _NODE_OUTPUT)]
    inputs = [bytes(value) for value in _parts(part, _NODE_INPUT)]
    labels = tuple(label for attribute in _parts(part, _NODE_ATTRIBUTE) for label in _labels_in(attribute))
    if outputs:
        yield outputs[0], _Node(bytes(_last(part, _NODE_TYPE)), inputs, labels)


def _labels_in(attribute: memoryview) -> Iterator[str | int]:
    """List the labels in an attribute; of one that holds something else, such as trees, only the name is read."""
    for number, value in _fields(attribute):
        if number == _NAME and (isinstance(value, int) or bytes(value) not in _LABELS):
            return
        if number == _STRINGS and not isinstance(value, int):
            yield bytes(value).decode()
        if number == _INTS:
            for whole in [value] if isinstance(value, int) else _packed(value):
                yield whole - 2**64 if whole >= 2**63 else whole


def _packed(data: memoryview) -> Iterator[int]:
    place = 0
    while place < len(data):
        value, place = _varint(data, place)
        yield value


def _parts(data: memoryview, wanted: int) -> list[memoryview]:
    """Return all values of a repeated field."""
    return [value for number, value in _fields(data) if number == wanted and not isinstance(value, int)]


def _last(data: memoryview, wanted: int) -> memoryview:
    return _parts(data, wanted)[-1]


def _fields(data: memoryview) -> Iterator[Field]:
    """List the fields of a protobuf message: numbers as numbers, length-delimited fields as bytes."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, place = _varint(data, place)
            yield number, value
        elif kind in (1, 5):
            place += 8 if kind == 1 else 4
        elif kind == 2:
            length, place = _varint(data, place)
            if place + length > len(data):
                raise ValueError("the file ends in the middle of a field")
            yield number, data[place : place + length]
            place += length
        else:
            raise ValueError(f"unknown kind of field {kind}")


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
