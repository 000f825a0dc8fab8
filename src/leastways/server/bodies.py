"""Bodies of requests and responses, and what OpenAPI says of this service's own model."""

from __future__ import annotations

from datetime import datetime
from math import ceil, floor
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, FailFast, Field, model_validator

from leastways import __version__
from leastways._values import plain
from leastways.costs import preferences_to_json
from leastways.plans import plan_as_dict
from leastways.schema import Feature, Schema
from leastways.server.answers import Answer, Issued, JobState, Pending
from leastways.server.inputs import MAX_REFERENCE, MAX_TEXT
from leastways.server.problems import Problem

if TYPE_CHECKING:
    from leastways.server.service import Service

Scalar = bool | int | float | str | None


_MOST_KEYS = 50  # of an object with fixed keys; naming more unknown ones would take seconds


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, data: Any) -> Any:
        if isinstance(data, dict) and len(data) > _MOST_KEYS:
            raise ValueError(f"has {len(data)} fields; allowed: {', '.join(cls.model_fields)}")
        return data


class PersonIn(_In):
    """A person whom the model refused."""

    state: dict[str, Any] = Field(description="A value for every feature of the model")
    preferences: Any = Field(default=None, description="The person's preferences, all of them optional")
    reference: Any = Field(default=None, description=f"Your own label, at most {MAX_REFERENCE} characters")
    groups: dict[str, Any] = Field(default_factory=dict, description="Attributes that only the audit uses")


class RecourseIn(_In):
    """One or many people."""

    people: Annotated[list[PersonIn], FailFast()] = Field(min_length=1)  # the first malformed person is reported alone


class ChoiceIn(_In):
    """A person's choice."""

    option: int | None = Field(strict=True, description="The number of the chosen option; null: none fits")
    reason: str = Field(default="", max_length=MAX_TEXT, description="Why, in their own words")


class ChangeOut(BaseModel):
    """One thing to change."""

    model_config = ConfigDict(populate_by_name=True)

    feature: str
    before: Scalar = Field(alias="from")
    after: Scalar = Field(alias="to")
    text: str


class OptionOut(BaseModel):
    """An option."""

    option: int
    changes: list[ChangeOut]
    probability: float | None
    expected_cost: float | None
    best_for: float | None


class NearestMissOut(BaseModel):
    """The state that came closest to acceptance, for a person without options."""

    changes: list[ChangeOut]
    probability: float | None


class ChoiceOut(BaseModel):
    """A person's choice, as recorded."""

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
    """A new answer, with the token and link of the person's page, which are returned only here."""

    token: str
    link: str


class AnswersOut(BaseModel):
    """Answers in the order of the people."""

    answers: list[IssuedOut]


class JobOut(BaseModel):
    """Progress of a job."""

    id: str
    created: datetime
    state: Literal["queued", "running", "done", "failed"]
    total: int
    done: int
    failed: int
    error: str


class PendingOut(BaseModel):
    """A person of a job: the id that their answer will have, and the token and link of their page."""

    id: str
    token: str
    link: str
    reference: str | None


class AcceptedOut(BaseModel):
    """A job was accepted; its people in the order of the request."""

    job: JobOut
    people: list[PendingOut]


class HealthOut(BaseModel):
    """Whether the service works, and how many people are pending."""

    status: Literal["ok"]
    version: str
    pending: int


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
    """Return an answer in the form of `AnswerOut`."""
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
    """Return a new answer in the form of `IssuedOut`."""
    return answer_out(issued.answer) | {"token": issued.token, "link": f"{base}/p/{issued.token}"}


def accepted_out(job: JobState, people: list[Pending], base: str) -> dict[str, Any]:
    """Return an accepted job in the form of `AcceptedOut`."""
    links = [vars(p) | {"link": f"{base}/p/{p.token}"} for p in people]
    return {"job": vars(job), "people": links}


_PAIR = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": ["string", "number", "boolean"]}}
_COSTS = {"type": "array", "items": _PAIR}
_MOVES = {"any": "may go either way", "up": "may only go up", "down": "may only go down", "fixed": "cannot change"}


def describe_people(app: FastAPI, service: Service) -> None:
    """Describe a person's state, preferences and groups in the application's OpenAPI document."""
    plain_openapi = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain_openapi()
            parts = document["components"]["schemas"]
            parts["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            parts |= parts["Problem"].pop("$defs", {})
            if not service.config.keys_required:
                _make_keys_optional(document)
            people = parts["RecourseIn"]["properties"]["people"]
            people["maxItems"] = service.config.limits.rows
            parts["PersonIn"]["properties"] |= {
                "state": state_schema(service.schema),
                "preferences": preferences_schema(service.schema),
                "reference": {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_REFERENCE},
                "groups": groups_schema(service.config.groups),
            }
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]


def _make_keys_optional(document: dict[str, Any]) -> None:
    """Mark keys as optional in every operation."""
    for methods in document["paths"].values():
        for operation in methods.values():
            if "security" in operation:
                operation["security"].append({})


def state_schema(schema: Schema) -> dict[str, Any]:
    """Return the JSON Schema of a person's state."""
    properties = {f.name: _present(f) | {"description": _description(f)} for f in schema.features}
    return {
        "type": "object",
        "properties": properties,
        "required": list(schema.names),
        "additionalProperties": False,
        "description": "A value for every feature of the model",
    }


def _present(feature: Feature) -> dict[str, Any]:
    """Return the JSON Schema of a present value; null is allowed where values may be missing."""
    return {"anyOf": [value_schema(feature), {"type": "null"}]} if feature.missing else value_schema(feature)


def value_schema(feature: Feature) -> dict[str, Any]:
    """Return the JSON Schema of the values that people may have."""
    if not feature.numeric:
        return {"enum": [plain(v) for v in feature.values]}
    low, high = feature.possible
    if feature.whole:
        return {"type": "integer", "minimum": ceil(low), "maximum": floor(high)}
    return {"type": "number", "minimum": low, "maximum": high}


def _description(feature: Feature) -> str:
    unit = f" ({feature.unit})" if feature.unit else ""
    led = feature.numeric and feature.direction != "fixed"
    grid = f"; options lie between {plain(feature.values[0])} and {plain(feature.values[-1])}" if led else ""
    return f"{feature.wording}{unit}; {_MOVES[feature.direction]}{grid}"


def preferences_schema(schema: Schema) -> dict[str, Any]:
    """Return the JSON Schema of preferences, as far as JSON Schema can express it."""
    open_ = [f for f in schema.features if f.direction != "fixed"]
    share = {"type": "number", "minimum": 0, "maximum": 1}

    def by_feature(of: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {f.name: of(f) for f in open_}, "additionalProperties": False}

    names = {"type": ["array", "null"], "items": {"enum": [f.name for f in open_]}, "uniqueItems": True}
    parts = {
        "editable": names | {"minItems": 1, "description": "The features they would change; all others stay fixed"},
        "scores": by_feature(lambda f: share) | {"description": "Willingness to change each feature; scores sum to 1"},
        "alpha": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "ranges": by_feature(_range_schema) | {"description": "Accepted values: [low, high], or a list of categories"},
        "costs": by_feature(lambda f: _COSTS) | {"description": "Pairs of a value and its cost, from 0 to 1"},
        "locked": names | {"description": "The features they would not change; the others stay open"},
    }
    return {
        "type": ["object", "null"],
        "properties": parts,
        "additionalProperties": False,
        "description": "The person's preferences, all of them optional",
    }


def _range_schema(feature: Feature) -> dict[str, Any]:
    if not feature.numeric:
        return {"type": "array", "items": value_schema(feature), "minItems": 1}
    end = {"type": ["number", "null"]}
    return {"type": "array", "items": end, "minItems": 2, "maxItems": 2}


def groups_schema(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the JSON Schema of the attributes for the audit."""
    value = {"type": ["string", "number", "boolean", "null"], "maxLength": MAX_REFERENCE}
    return {
        "type": "object",
        "properties": dict.fromkeys(names, value),
        "additionalProperties": False,
        "description": "Attributes that only the audit uses",
    }


RECORDED = (
    "the state, preferences, reference and audit attributes that were sent",
    "the options, their probabilities and figures, and the status",
    "fingerprints of model, schema and training data, settings, seed and versions",
    "what a person entered on their page, and the option they chose, or why none fits",
    "the time of each of these",
)


def model_card(service: Service) -> dict[str, Any]:
    """Return the model card of a service as plain values."""
    config = service.config
    return {
        "title": config.title,
        "version": __version__,
        "features": [
            {
                "name": f.name,
                "label": f.wording,
                "unit": f.unit,
                "kind": f.kind,
                "direction": f.direction,
                "allowed": f.possible_text(),
                "values": None if f.numeric else [plain(v) for v in f.values],
            }
            for f in service.schema.features
        ],
        "rules": [rule.words(service.schema.by_name) for rule in service.schema.rules],
        "groups": list(config.groups),
        "settings": service.origin.settings_dict(),
        "fingerprints": dict(service.origin.fingerprints),
        "origin": service.origin.id,
        "recorded": list(RECORDED),
        "retention_days": config.retention_days,
        "erased": service.store.erased(),
        "limits": vars(config.limits),
    }
