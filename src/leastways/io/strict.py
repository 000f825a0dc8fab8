"""Strict JSON and YAML: a key that occurs twice, or nesting without end, is an error of the file like any other.

Python's own JSON reader takes the last of two equal keys without a word, and raises a RecursionError for deep nesting.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastways.errors import DataError

if TYPE_CHECKING:
    import yaml

_TOO_DEEP = "it is nested too deeply"
_MAX_NUMBER = 1e300


def json_of(text: str | bytes) -> Any:
    """Parse a JSON text; raise a ValueError that describes the fault."""
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def read_json(path: Path, what: str = "") -> Any:
    """Read a JSON file; the error names the file, and `what` was to be read from it ("profiles")."""
    try:
        return json_of(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {what + ' from ' if what else ''}{str(path)!r}: {error}") from error


def canonical_json(data: object, sort: bool = True) -> str:
    """Write JSON in one form that can be compared and hashed: ASCII only, exact numbers, keys sorted or as given."""
    return json.dumps(data, sort_keys=sort, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def is_finite_number(value: object) -> bool:
    """Return whether a JSON value is a number that a float can hold; JSON itself has no limit."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MAX_NUMBER


def json_type(value: object) -> type:
    """Return the type of a JSON value: bool, str, or float for every number."""
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float


def yaml_of(text: str) -> Any:
    """Parse a YAML text of plain values (a safe loader); raise a ValueError that describes the fault."""
    import yaml  # late: not every reader of JSON needs it

    try:
        return yaml.load(text, Loader=_strict_loader())
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    except (AttributeError, IndexError, KeyError, TypeError) as error:  # PyYAML's own, for `!!int ''` and the like
        raise ValueError(f"a value is not of the type that its tag says: {error}") from error
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(_repeated(Counter(key for key, _ in pairs).most_common(1)[0][0]))
    return found


@cache
def _strict_loader() -> type[yaml.SafeLoader]:
    """Return PyYAML's safe loader, with an error for a repeated key."""
    import yaml

    class StrictLoader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys = [key.value for key, _ in node.value]
            for position, (key, _) in enumerate(node.value):
                if key.value in keys[:position]:
                    raise yaml.constructor.ConstructorError(None, None, _repeated(key.value), key.start_mark)
            return super().construct_mapping(node, deep)

    return StrictLoader


def _repeated(key: object) -> str:
    return f"the key {key!r} occurs twice"
