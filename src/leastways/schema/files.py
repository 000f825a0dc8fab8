"""Schemas as YAML a person can read and edit, and back; a typo is named, with the nearest key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from leastways.errors import SchemaError, nearest
from leastways.schema.feature import Feature, number_grid
from leastways.schema.rules import Rule

VERSION = 1
_TOP = ("version", "target", "features", "rules")
_FEATURE = (
    "kind",
    "direction",
    "label",
    "unit",
    "min",
    "max",
    "step",
    "grid",
    "values",
    "dtype",
    "categories",
)
_FEATURE_KEYS = (*_FEATURE, "categories_ordered")
_HEADER = """\
# A leastways schema: what each column is and how a person may move in it. Edit freely.
#
# direction  any | up | down | fixed     (fixed never changes, in any option)
# kind       integer | real | ordinal | category   (ordinal: `values` are listed from low to high)
# min, max   ends of the grid of a number; `step` between points, or list the points under `grid`
# label      the name a person reads;  unit: printed behind numbers
# dtype      the column's type in the training table; leave as it is
#
# rules      - {if: {married: "yes"}, then: {relationship: [husband, wife]}}
#            - {forbid: {job: none, hours: {min: 30}}}
#            - {linked: {feature: education, by: 1, requires: age, at_least: 2}}
#            - {at_most: 3}
"""


def to_text(features: Sequence[Feature], target: str | None, rules: Sequence[Rule]) -> str:
    """Write a schema as commented YAML."""
    head = yaml.safe_dump({"version": VERSION, "target": target}, sort_keys=False)
    lines = [_HEADER, head, "features:\n"]
    for feature in features:
        block = yaml.safe_dump({feature.name: feature_dict(feature)}, sort_keys=False, allow_unicode=True, width=110)
        lines.append("".join(f"  {line}\n" for line in block.splitlines()))
    body = yaml.safe_dump({"rules": [r.to_dict() for r in rules]}, sort_keys=False, allow_unicode=True)
    return "".join([*lines, body])


def feature_dict(feature: Feature) -> dict[str, Any]:
    """Return what a schema file says of a feature, in the shortest form that brings the same grid back."""
    out: dict[str, Any] = {"kind": feature.kind, "direction": feature.direction}
    if not feature.numeric:
        out["values"] = list(feature.values)
    else:
        low, high = feature.values[0], feature.values[-1]
        step = feature.values[1] - low if len(feature.values) > 1 else 1
        if feature.values == number_grid(feature.name, feature.kind, low, high, step):
            out.update({"min": low, "max": high})
            if step != 1 or feature.kind == "real":
                out["step"] = step
        else:
            out["grid"] = list(feature.values)
    out.update({k: v for k, v in (("label", feature.label), ("unit", feature.unit)) if v})
    out["dtype"] = feature.dtype
    if feature.categories:
        out.update({"categories": list(feature.categories), "categories_ordered": feature.categories_ordered})
    return out


def read_text(text: str, where: str) -> tuple[list[Feature], str | None, list[Any]]:
    """Read a schema file: features, target, rules (still as mappings)."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SchemaError(f"{where} is not valid YAML: {error}") from error
    if not isinstance(data, Mapping):
        raise SchemaError(f"{where}: expected the keys {', '.join(_TOP)}.")
    _known_keys(data, _TOP, where)
    if data.get("version") != VERSION:
        raise SchemaError(f"{where}: version {data.get('version')!r} is not supported; this release reads {VERSION}.")
    if not isinstance(data.get("features"), Mapping) or not data["features"]:
        raise SchemaError(f"{where}: 'features' must map each column to its settings.")
    features = [feature_from_dict(str(n), spec, where) for n, spec in data["features"].items()]
    return features, data.get("target"), list(data.get("rules") or [])


def feature_from_dict(name: str, spec: object, where: str) -> Feature:
    """Build a feature from what a schema file says of it."""
    where = f"{where}, feature {name!r}"
    if not isinstance(spec, Mapping):
        raise SchemaError(f"{where}: expected settings such as 'kind: integer', not {spec!r}.")
    _known_keys(spec, _FEATURE_KEYS, where)
    if "kind" not in spec:
        raise SchemaError(f"{where}: 'kind' is missing (integer, real, ordinal or category).")
    return Feature(
        name=name,
        kind=spec["kind"],
        values=_values(name, spec, where),
        direction=spec.get("direction", "any"),
        dtype=str(spec.get("dtype", "object")),
        label=str(spec.get("label", "")),
        unit=str(spec.get("unit", "")),
        categories=tuple(spec.get("categories", ())),
        categories_ordered=bool(spec.get("categories_ordered", False)),
    )


def _values(name: str, spec: Mapping[str, Any], where: str) -> tuple[Any, ...]:
    for key in ("values", "grid"):
        if key in spec:
            if not isinstance(spec[key], list):
                raise SchemaError(f"{where}: {key!r} must be a list, not {spec[key]!r}.")
            return tuple(spec[key])
    if "min" not in spec or "max" not in spec:
        raise SchemaError(f"{where}: give 'values', or 'grid', or 'min' and 'max'.")
    return number_grid(name, spec["kind"], spec["min"], spec["max"], spec.get("step"))


def _known_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise SchemaError(f"{where}: unknown key {key!r}; known: {', '.join(known)}." + nearest(key, known))


def read_path(path: str | Path) -> str:
    """Read a schema file, saying plainly when it is not there."""
    path = Path(path)
    if not path.is_file():
        raise SchemaError(f"there is no schema file {str(path)!r}.")
    return path.read_text(encoding="utf-8")
