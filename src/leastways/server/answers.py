"""What the service hands out and keeps: applicants in, answers out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from leastways.costs import Preferences
from leastways.plans import RecoursePlan


@dataclass(frozen=True)
class Applicant:
    """Somebody who was refused: their state, and what else the caller says of them.

    `reference` is the caller's own label, `groups` the attributes that only the audit looks at.
    """

    state: Mapping[str, Any]
    preferences: Preferences | None = None
    reference: str | None = None
    groups: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """What a person said to an answer: the option they took, or None and why none fits."""

    option: int | None
    reason: str
    when: datetime


@dataclass(frozen=True)
class Rules:
    """What decided between yes and no when an answer was made: fingerprints of schema and model, and the threshold."""

    schema: str
    model: str
    target: Any
    threshold: float


@dataclass(frozen=True)
class Answer:
    """A recorded answer. `parent` is the first answer of the same person, None if this is the first.

    `wishes` is what the person said on their page, in the page's own terms: several ways to say it mean the same
    preferences, and some mean none.
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
    wishes: Mapping[str, Any] | None = None

    @property
    def first(self) -> str:
        """The id of the first answer of this person: the name of the family."""
        return self.parent or self.id


@dataclass(frozen=True)
class Issued:
    """A new answer and the token of the person's page. The token is shown here and never again."""

    answer: Answer
    token: str


@dataclass(frozen=True)
class Promised:
    """A person of a long batch: the id that their answer will have, and the token of their page."""

    id: str
    token: str
    reference: str | None


@dataclass(frozen=True)
class JobState:
    """How far a long batch is."""

    id: str
    created: datetime
    state: str  # queued, running, done, failed
    total: int
    done: int
    failed: int
    error: str
