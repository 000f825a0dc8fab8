"""The class labels that an ONNX graph keeps in its classifier node.

onnxruntime does not tell them, and the `onnx` package is not needed for anything else: the few fields are read from the
file itself, which is in the wire format of protocol buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    """Return the labels of the classifier whose label is an output of the graph; None where there is none like that.

    Classifiers further inside, as in an ensemble, may have labels of their own: they are not asked.
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
    """Go back from an output to the classifier it comes from."""
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
    """Return the values of a field that may occur many times."""
    return [value for number, value in _fields(data) if number == wanted and not isinstance(value, int)]


def _last(data: memoryview, wanted: int) -> memoryview:
    return _parts(data, wanted)[-1]


def _fields(data: memoryview) -> Iterator[Field]:
    """List the fields of a message: numbers as they are, everything with a length as its bytes."""
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
