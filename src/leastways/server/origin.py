"""By what an answer was made: fingerprints of model, schema and data, settings, and versions."""

from __future__ import annotations

import hashlib
import importlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from leastways import __version__
from leastways._fingerprint import file_print
from leastways.server.answers import Rules
from leastways.server.config import ServiceConfig
from leastways.server.plan_json import canonical

PRINTS = ("model", "schema", "data")
_LIBRARIES = ("numpy", "pandas", "scikit-learn", "scipy", "numba")


@dataclass(frozen=True)
class Origin:
    """What has to be the same for an answer to come out the same."""

    prints: Mapping[str, str]  # sha256 of each of PRINTS
    settings: str  # canonical JSON
    version: str = __version__

    @cached_property
    def libraries(self) -> str:
        """The versions that arithmetic may depend on, as canonical JSON."""
        return canonical({"python": platform.python_version()} | {name: installed(name) for name in _LIBRARIES})

    @cached_property
    def id(self) -> str:
        """A fingerprint of it all."""
        whole = canonical([dict(self.prints), self.settings, self.version, self.libraries])
        return hashlib.sha256(whole.encode()).hexdigest()

    def settings_dict(self) -> dict[str, Any]:
        """Return the settings as they were written down."""
        data: dict[str, Any] = json.loads(self.settings)
        return data

    @cached_property
    def rules(self) -> Rules:
        """What decides between yes and no."""
        return rules_of(self.prints["schema"], self.prints["model"], self.settings)


def rules_of(schema_print: str, model_print: str, settings: str) -> Rules:
    """Return what decides between yes and no, of an origin that was written down."""
    decided = json.loads(settings)
    return Rules(schema_print, model_print, decided["target"], decided["threshold"])


def fingerprints(config: ServiceConfig, schema_text: str) -> dict[str, str]:
    """Fingerprint the files of a service; the schema by what it says, not by how the file is laid out."""
    return {
        "model": file_print(_model_file(config.model)),
        "schema": text_print(schema_text),
        "data": file_print(config.data),
    }


def text_print(text: str) -> str:
    """Return the sha256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _model_file(name: str) -> Path:
    """Return the file of a model; for 'module:object' the module's own, which is all that can be told of it."""
    if Path(name).is_file():
        return Path(name)
    module = importlib.import_module(name.partition(":")[0])
    return Path(str(module.__file__))
