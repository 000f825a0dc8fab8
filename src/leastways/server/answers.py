"""Applicants, answers, and the origin of an answer: what the service takes, hands out and keeps."""

from __future__ import annotations

import importlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from leastways import __version__
from leastways._fingerprint import file_fingerprint, text_fingerprint
from leastways.costs import Preferences
from leastways.io import canonical_json
from leastways.plans import RecoursePlan
from leastways.server.config import ServiceConfig


@dataclass(frozen=True)
class Applicant:
    """A person whom the model refused, as the caller sends them.

    `reference` is the caller's own label, `groups` the attributes that only the audit uses.
    """

    state: Mapping[str, Any]
    preferences: Preferences | None = None
    reference: str | None = None
    groups: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """A person's choice: the option they took, or None and the reason why none fits."""

    option: int | None
    reason: str
    when: datetime


@dataclass(frozen=True)
class Rules:
    """The acceptance rule of an answer: fingerprints of schema and model, target and threshold."""

    schema: str
    model: str
    target: Any
    threshold: float


@dataclass(frozen=True)
class Answer:
    """A recorded answer. `parent` is the first answer of the same person, None if this is the first.

    `entries` is what the person entered on their page: different entries can mean the same preferences, or none.
    """

    id: str
    created: datetime
    reference: str | None
    state: Mapping[str, Any]
    preferences: Preferences | None
    plan: RecoursePlan
    parent: str | None
    choice: Choice | None
    rules: Rules
    entries: Mapping[str, Any] | None = None

    @property
    def first(self) -> str:
        """The id of the person's first answer, which is also the person's id."""
        return self.parent or self.id


@dataclass(frozen=True)
class Issued:
    """A new answer and the token of the person's page. The token is returned only here."""

    answer: Answer
    token: str


@dataclass(frozen=True)
class Pending:
    """A person of a job: the id that their answer will have, and the token of their page."""

    id: str
    token: str
    reference: str | None


@dataclass(frozen=True)
class JobState:
    """Progress of a job."""

    id: str
    created: datetime
    state: str  # queued, running, done, failed
    total: int
    done: int
    failed: int
    error: str


FINGERPRINTS = ("model", "schema", "data")
_LIBRARIES = ("numpy", "pandas", "scikit-learn", "scipy", "numba")


@dataclass(frozen=True)
class Origin:
    """Everything that decides an answer besides the person: files, settings, versions."""

    fingerprints: Mapping[str, str]  # sha256 of each of FINGERPRINTS
    settings: str  # canonical JSON
    version: str = __version__

    @cached_property
    def libraries(self) -> str:
        """Versions of Python and the libraries that compute, as canonical JSON."""
        return canonical_json({"python": platform.python_version()} | {name: installed(name) for name in _LIBRARIES})

    @cached_property
    def id(self) -> str:
        """Fingerprint of the whole origin."""
        whole = canonical_json([dict(self.fingerprints), self.settings, self.version, self.libraries])
        return text_fingerprint(whole)

    def settings_dict(self) -> dict[str, Any]:
        """Return the settings as a dict."""
        data: dict[str, Any] = json.loads(self.settings)
        return data

    @cached_property
    def rules(self) -> Rules:
        """The acceptance rule: fingerprints of schema and model, target and threshold."""
        return rules_of(self.fingerprints["schema"], self.fingerprints["model"], self.settings)


def rules_of(schema_fingerprint: str, model_fingerprint: str, settings: str) -> Rules:
    """Return the rules of a recorded origin."""
    decided = json.loads(settings)
    return Rules(schema_fingerprint, model_fingerprint, decided["target"], decided["threshold"])


def fingerprints_of(config: ServiceConfig, schema_text: str) -> dict[str, str]:
    """Return the fingerprints of a service's files; of the schema by its content, whatever the layout of its file."""
    return {
        "model": file_fingerprint(_model_file(config.model)),
        "schema": text_fingerprint(schema_text),
        "data": file_fingerprint(config.data),
    }


def _model_file(name: str) -> Path:
    """Return the file of a model; for 'module:object' the file of the module."""
    if Path(name).is_file():
        return Path(name)
    module = importlib.import_module(name.partition(":")[0])
    return Path(str(module.__file__))
