"""What goes over the wire, as OpenAPI describes it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, model_validator

from leastways.plans.serialize import plan_as_dict
from leastways.server.answers import Answer, Issued, JobState, Promised
from leastways.server.inputs import MAX_REFERENCE, MAX_TEXT
from leastways.server.wishes_json import preferences_to_json

Scalar = bool | int | float | str | None


_MOST_KEYS = 50  # of an object whose keys are fixed; to name more as unknown would take seconds


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, data: Any) -> Any:
        if isinstance(data, dict) and len(data) > _MOST_KEYS:
            raise ValueError(f"has {len(data)} fields; allowed: {', '.join(cls.model_fields)}")
        return data


class PersonIn(_In):
    """Somebody who was refused."""

    state: dict[str, Any] = Field(description="A value for every feature of the model")
    preferences: Any = Field(default=None, description="What they told us, all of it optional")
    reference: Any = Field(default=None, description=f"Your own label, at most {MAX_REFERENCE} characters")
    groups: dict[str, Any] = Field(default_factory=dict, description="Attributes that only the audit looks at")


class RecourseIn(_In):
    """One or many people."""

    people: Annotated[list[PersonIn], FailFast()] = Field(min_length=1)  # one that is malformed is told alone


class ChoiceIn(_In):
    """What a person says to an answer."""

    option: int | None = Field(strict=True, description="The number of the option they take; null: none fits")
    reason: str = Field(default="", max_length=MAX_TEXT, description="Why, in their own words")


class ChangeOut(BaseModel):
    """One thing to change."""

    model_config = ConfigDict(populate_by_name=True)

    feature: str
    before: Scalar = Field(alias="from")
    after: Scalar = Field(alias="to")
    text: str


class OptionOut(BaseModel):
    """One way to a yes."""

    option: int
    changes: list[ChangeOut]
    probability: float | None
    expected_cost: float | None
    best_for: float | None


class NearestMissOut(BaseModel):
    """The state that came closest to a yes, for somebody to whom nothing can be offered."""

    changes: list[ChangeOut]
    probability: float | None


class ChoiceOut(BaseModel):
    """What a person said to an answer."""

    option: int | None
    reason: str
    when: datetime


class AnswerOut(BaseModel):
    """A recorded answer."""

    id: str
    created: datetime
    reference: str | None
    parent: str | None
    status: str
    reason: str
    probability: float | None
    covered: float | None
    satisfied: float | None
    emc: float | None
    queries: int
    state: dict[str, Scalar]
    preferences: dict[str, Any] | None
    options: list[OptionOut]
    nearest_miss: NearestMissOut | None
    choice: ChoiceOut | None
    text: str


class IssuedOut(AnswerOut):
    """A new answer, with the way to the person's page. Both are told here and never again."""

    token: str
    link: str


class AnswersOut(BaseModel):
    """Answers in the order of the people."""

    answers: list[IssuedOut]


class JobOut(BaseModel):
    """How far a long batch is."""

    id: str
    created: datetime
    state: Literal["queued", "running", "done", "failed"]
    total: int
    done: int
    failed: int
    error: str


class PromisedOut(BaseModel):
    """The id that an answer is going to have, and the way to the person's page."""

    id: str
    token: str
    link: str
    reference: str | None


class AcceptedOut(BaseModel):
    """A long batch was taken up; its people, in the order they were given."""

    job: JobOut
    people: list[PromisedOut]


class HealthOut(BaseModel):
    """Whether the service works."""

    status: Literal["ok"]
    version: str
    waiting: int


class FeatureOut(BaseModel):
    """A feature of the model."""

    name: str
    label: str
    unit: str
    kind: str
    direction: str
    allowed: str
    values: list[Scalar] | None


class CardOut(BaseModel):
    """The model card of the service."""

    title: str
    version: str
    features: list[FeatureOut]
    rules: list[str]
    groups: list[str]
    settings: dict[str, Any]
    fingerprints: dict[str, str]
    origin: str
    recorded: list[str]
    retention_days: int | None
    erased: dict[str, int]
    limits: dict[str, float]


def answer_out(answer: Answer) -> dict[str, Any]:
    """Return an answer as `AnswerOut` has it."""
    plan = plan_as_dict(answer.plan)
    for unused in ("person", "certificate"):
        del plan[unused]
    return plan | {
        "id": answer.id,
        "created": answer.created,
        "reference": answer.reference,
        "parent": answer.parent,
        "preferences": preferences_to_json(answer.preferences),
        "choice": None if answer.choice is None else vars(answer.choice),
    }


def issued_out(issued: Issued, base: str) -> dict[str, Any]:
    """Return a new answer as `IssuedOut` has it."""
    return answer_out(issued.answer) | {"token": issued.token, "link": f"{base}/p/{issued.token}"}


def accepted_out(job: JobState, people: list[Promised], base: str) -> dict[str, Any]:
    """Return a batch that was taken up as `AcceptedOut` has it."""
    links = [vars(p) | {"link": f"{base}/p/{p.token}"} for p in people]
    return {"job": vars(job), "people": links}
