"""Write schemas as YAML that people can edit, and read them; unknown keys are errors that suggest the nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from leastways.errors import SchemaError
from leastways.io import yaml_of
from leastways.schema.feature import MAX_POINTS, Feature, number_grid
from leastways.schema.rules import Rule, known_keys

VERSION = 1
_TOP = ("version", "target", "features", "rules")
_FEATURE = (
    *("kind", "direction", "label", "unit", "min", "max", "step", "grid", "values", "dtype"),
    *("categories", "categories_ordered", "categories_dtype", "missing", "excluded", "valid_range"),
)
_HEADER = """\
# A leastways schema: what each column is and how a person may move in it. Edit freely.
#
# direction    any | up | down | fixed     (fixed never changes, in any option)
# kind         integer | real | ordinal | category   (ordinal: `values` are listed from low to high)
# values       every category; text that looks like something else ("yes", "1") stands in quotes
# min, max     ends of the grid of a number; `step` between points, or list the points under `grid`
# valid_range  the smallest and the largest number that a person can have: [0, null]; others are mistakes in the table
# label        the name a person reads;  unit: printed behind numbers
# excluded     values that people may have, but no option proposes: [unknown, other]
# missing      true: people may have no value here, which then stays as it is; false, or left out: they must have one
# dtype        the column's type in the training table; leave as it is
#
# rules        - {if: {married: "yes"}, then: {relationship: [husband, wife]}}
#              - {forbid: {job: none, hours: {min: 30}}}
#              - {linked: {feature: education, by: 1, requires: age, at_least: 2}}
#              - {at_most: 3}
"""


class _Writer(yaml.SafeDumper):
    """Writes a list in one line, which keeps long grids short, and unusual line breaks as escapes."""


def _text(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    odd = any(c in text for c in "\x85\u2028\u2029")  # PyYAML would write them bare, and read them as spaces
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style='"' if odd else None)


_Writer.add_representer(str, _text)
_Writer.add_representer(list, lambda writer, data: writer.represent_sequence("tag:yaml.org,2002:seq", data, True))


def to_text(features: Sequence[Feature], target: str | None, rules: Sequence[Rule]) -> str:
    """Return a schema as commented YAML."""
    head = _dump({"version": VERSION, "target": target})
    body = _dump({"features": {f.name: feature_dict(f) for f in features}})
    tail = "rules:\n" + "".join(f"- {_dump(r.to_dict(), inline=True)}" for r in rules) if rules else "rules: []\n"
    return f"{_HEADER}{head}{body}{tail}"


def _dump(data: Mapping[str, Any], inline: bool = False) -> str:
    layout: dict[str, Any] = {"default_flow_style": inline, "width": 2**20 if inline else 110}
    return str(yaml.dump(data, Dumper=_Writer, sort_keys=False, allow_unicode=True, **layout))


def feature_dict(feature: Feature) -> dict[str, Any]:
    """Return a feature's settings in a schema file, in the shortest form with the same grid."""
    out: dict[str, Any] = {"kind": feature.kind, "direction": feature.direction}
    if feature.numeric:
        out.update(_grid_dict(feature))
    else:
        out["values"] = list(feature.values)
    out.update({k: v for k, v in (("label", feature.label), ("unit", feature.unit)) if v})
    if feature.missing:
        out["missing"] = True
    if feature.excluded:
        out["excluded"] = list(feature.excluded)
    if feature.valid_range != (None, None):
        out["valid_range"] = list(feature.valid_range)
    out["dtype"] = feature.dtype
    if feature.categories:
        out.update({"categories": list(feature.categories), "categories_ordered": feature.categories_ordered})
    if feature.categories_dtype:
        out["categories_dtype"] = feature.categories_dtype
    return out


def _grid_dict(feature: Feature) -> dict[str, Any]:
    """Return a grid as min and max, with a step if needed, or point by point."""
    values, steps = feature.values, len(feature.values) - 1
    low, high = values[0], values[-1]
    if feature.kind == "integer" and high - low == steps:
        return {"min": low, "max": high}
    step = float(f"{values[1] - low:.12g}") if feature.kind == "real" and steps else values[min(1, steps)] - low
    if 1 < steps < MAX_POINTS - 1 and abs((high - low) / step - steps) < 1:
        by_step = number_grid(feature.name, feature.kind, low, high, step)
        if by_step == values:
            return {"min": low, "max": high, "step": step}
    return {"grid": list(values)}


def read_text(text: str, where: str) -> tuple[list[Feature], Any, Any]:
    """Read a schema file: features, target, rules (still as mappings)."""
    try:
        data = yaml_of(text)
    except ValueError as error:
        raise SchemaError(f"{where} is not valid YAML: {error}") from error
    if not isinstance(data, Mapping):
        raise SchemaError(f"{where}: expected the keys {', '.join(_TOP)}.")
    known_keys(data, _TOP, where)
    if data.get("version") != VERSION:
        raise SchemaError(f"{where}: version {data.get('version')!r} is not supported; this release reads {VERSION}.")
    if not isinstance(data.get("features"), Mapping) or not data["features"]:
        raise SchemaError(f"{where}: 'features' must map each column to its settings.")
    features = [feature_from_dict(str(n), spec, where) for n, spec in data["features"].items()]
    rules = data.get("rules") or []
    if not isinstance(rules, list):
        raise SchemaError(f"{where}: 'rules' must be a list (a line with a dash for each), not {rules!r}.")
    return features, data.get("target"), rules


def feature_from_dict(name: str, spec: object, where: str) -> Feature:
    """Return the feature with these settings of a schema file."""
    where = f"{where}, feature {name!r}"
    if not isinstance(spec, Mapping):
        raise SchemaError(f"{where}: expected settings such as 'kind: integer', not {spec!r}.")
    known_keys(spec, _FEATURE, where)
    if "kind" not in spec:
        raise SchemaError(f"{where}: 'kind' is missing (integer, real, ordinal or category).")
    for key in ("values", "grid", "categories", "excluded"):
        if not isinstance(spec.get(key, []), list):
            raise SchemaError(f"{where}: {key!r} must be a list, not {spec[key]!r}.")
    for key in ("dtype", "label", "unit", "categories_dtype"):
        if not isinstance(spec.get(key, ""), str):
            raise SchemaError(f"{where}: {key!r} must be a text, not {spec[key]!r}. Write it in quotes.")
    dtype = spec.get("dtype", "object")
    values = _values(name, spec, where)
    not_text = [v for v in values if not isinstance(v, str)]
    if not_text and dtype in ("str", "string"):
        raise SchemaError(f"{where}: the column holds text, but YAML reads {not_text[0]!r} here. Write it in quotes.")
    return Feature(
        name=name,
        kind=spec["kind"],
        values=values,
        direction=spec.get("direction", "any"),
        dtype=dtype,
        label=spec.get("label", ""),
        unit=spec.get("unit", ""),
        categories=tuple(spec.get("categories", ())),
        categories_ordered=bool(spec.get("categories_ordered", False)),
        categories_dtype=spec.get("categories_dtype", ""),
        missing=spec.get("missing", False),
        excluded=tuple(spec.get("excluded", ())),
        valid_range=spec.get("valid_range", (None, None)),
    )


def _values(name: str, spec: Mapping[str, Any], where: str) -> tuple[Any, ...]:
    lists = [key for key in ("values", "grid") if key in spec]
    ends = [key for key in ("min", "max", "step") if key in spec]
    if len(lists) > 1 or (lists and ends):
        hint = " To have steps, delete grid and write min, max and step." if {"grid", "step"} <= {*lists, *ends} else ""
        raise SchemaError(f"{where}: give only one of {', '.join(lists + ends)}.{hint}")
    if spec["kind"] in ("ordinal", "category") and lists != ["values"]:
        raise SchemaError(f"{where}: give its categories under 'values'; 'grid', 'min' and 'max' are for numbers.")
    if lists:
        return tuple(spec[lists[0]])
    if "min" not in ends or "max" not in ends:
        raise SchemaError(f"{where}: give 'grid', or 'min' and 'max'.")
    return number_grid(name, spec["kind"], spec["min"], spec["max"], spec.get("step"))


def read_path(path: str | Path) -> str:
    """Return the text of a schema file; raise `SchemaError` if it is absent or not UTF-8."""
    path = Path(path)
    if not path.is_file():
        raise SchemaError(f"there is no schema file {str(path)!r}.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SchemaError(f"the schema file {str(path)!r} is not UTF-8 text: {error}.") from error
