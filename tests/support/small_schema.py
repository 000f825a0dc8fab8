"""A schema of four small features, whose states can be enumerated."""

from __future__ import annotations

from typing import Any

from leastways.schema import Feature, Schema

FEATURES = (
    Feature("a", "integer", (0, 1, 2), dtype="int64"),
    Feature("b", "category", ("x", "y", "z")),
    Feature("c", "ordinal", ("low", "mid", "high")),
    Feature("d", "integer", (0, 1, 2, 3), dtype="int64"),
)


def with_rules(*rules: Any, **directions: str) -> Schema:
    """Return the schema with rules, and directions by feature."""
    schema = Schema(FEATURES).update({name: {"direction": d} for name, d in directions.items()})
    return schema.update(rules=list(rules))
