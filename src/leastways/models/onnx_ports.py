"""What an ONNX graph takes and gives, and filling its inputs from a raw frame."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype

from leastways._messages import listed, plain
from leastways.errors import ModelError, SettingError
from leastways.models.frames import Encoder, encode
from leastways.models.labels import NUMBERS

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
        """Read onnxruntime's description; named dimensions are free ones."""
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
    """Refuse a graph that cannot be fed with any number of rows."""
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
    """Return the column's values in the input's type, refusing a loss (1.5 to an integer, text to number)."""
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
