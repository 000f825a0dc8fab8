"""What a model must offer, adapters for the models people have, and the one place that counts queries.

Nothing optional is imported here: torch, onnxruntime and skops load when a model that needs them is used.
"""

from leastways.models.all_of import AllOf
from leastways.models.base import Model
from leastways.models.dispatch import as_model
from leastways.models.loading import load_model
from leastways.models.meter import QueryMeter
from leastways.models.onnx_model import OnnxModel
from leastways.models.torch_model import TorchModel

__all__ = ["AllOf", "Model", "OnnxModel", "QueryMeter", "TorchModel", "as_model", "load_model"]
