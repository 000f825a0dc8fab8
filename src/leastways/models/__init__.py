"""Models: adapters for users' models, and the only counter of queries.

Everything loads on first use; torch, onnxruntime and skops only with a model that needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastways._lazy import lazy_names

if TYPE_CHECKING:
    from leastways.models.answers import check_labels_seen
    from leastways.models.base import Model, Split, Unbound
    from leastways.models.decision import comparable, cutoff_warning, disagreement
    from leastways.models.encoder_table import FastPath, FastPeople, NotColumnWise, with_offered_values
    from leastways.models.ensemble import AllOf
    from leastways.models.kernels import two_class_network
    from leastways.models.libraries import Library, register_library, unregister_library
    from leastways.models.loading import MODEL_FILES, as_model, load_model
    from leastways.models.onnx import OnnxModel
    from leastways.models.query_counter import QueryCounter
    from leastways.models.torch import TorchModel
    from leastways.models.white_box import GradientCounter, LinearScore, RelaxedModel, RowsSpentError, read_linear

_HOMES = {
    "answers": ("check_labels_seen",),
    "base": ("Model", "Split", "Unbound"),
    "decision": ("comparable", "cutoff_warning", "disagreement"),
    "encoder_table": ("FastPath", "FastPeople", "NotColumnWise", "with_offered_values"),
    "ensemble": ("AllOf",),
    "kernels": ("two_class_network",),
    "libraries": ("Library", "register_library", "unregister_library"),
    "loading": ("MODEL_FILES", "as_model", "load_model"),
    "onnx": ("OnnxModel",),
    "query_counter": ("QueryCounter",),
    "torch": ("TorchModel",),
    "white_box": ("GradientCounter", "LinearScore", "RelaxedModel", "RowsSpentError", "read_linear"),
}

__all__ = [
    "MODEL_FILES",
    "AllOf",
    "FastPath",
    "FastPeople",
    "GradientCounter",
    "Library",
    "LinearScore",
    "Model",
    "NotColumnWise",
    "OnnxModel",
    "QueryCounter",
    "RelaxedModel",
    "RowsSpentError",
    "Split",
    "TorchModel",
    "Unbound",
    "as_model",
    "check_labels_seen",
    "comparable",
    "cutoff_warning",
    "disagreement",
    "load_model",
    "read_linear",
    "register_library",
    "two_class_network",
    "unregister_library",
    "with_offered_values",
]


__getattr__ = lazy_names(__name__, _HOMES)
