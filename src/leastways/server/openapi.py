"""What OpenAPI says of a person: the features of this very model, with what each may be."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

from fastapi import FastAPI

from leastways._messages import plain
from leastways.schema import Feature, Schema
from leastways.server.inputs import MAX_REFERENCE
from leastways.server.problems import Problem
from leastways.server.service import Service

_PAIR = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": ["string", "number", "boolean"]}}
_COSTS = {"type": "array", "items": _PAIR}
_MOVES = {"any": "may go either way", "up": "may only go up", "down": "may only go down", "fixed": "cannot change"}


def describe_people(app: FastAPI, service: Service) -> None:
    """Make the app's OpenAPI document say what a person's state, preferences and groups look like."""
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
    """Say that a request without a key will do."""
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
    """Return the JSON Schema of what a person has now: a value, or null where one may be missing."""
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
    """Return the JSON Schema of preferences, as far as such a schema can say it."""
    open_ = [f for f in schema.features if f.direction != "fixed"]
    share = {"type": "number", "minimum": 0, "maximum": 1}

    def by_feature(of: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {f.name: of(f) for f in open_}, "additionalProperties": False}

    names = {"type": ["array", "null"], "items": {"enum": [f.name for f in open_]}, "uniqueItems": True}
    parts = {
        "editable": names | {"minItems": 1, "description": "The features they would change; all others stay"},
        "scores": by_feature(lambda f: share) | {"description": "Willingness for each feature; they sum to 1"},
        "alpha": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "ranges": by_feature(_range_schema) | {"description": "What they accept: [low, high], or a list of categories"},
        "costs": by_feature(lambda f: _COSTS) | {"description": "Pairs of a value and what it costs, from 0 to 1"},
        "locked": names | {"description": "The features they would not change; of the others nothing is said"},
    }
    return {
        "type": ["object", "null"],
        "properties": parts,
        "additionalProperties": False,
        "description": "What they told us, all of it optional",
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
        "description": "Attributes that only the audit looks at",
    }
