"""A user's YAML, held to the same as JSON; apart from it, because the library takes time to load."""

from __future__ import annotations

from typing import Any

import yaml

from leastways.io.strict_json import TOO_DEEP


def yaml_of(text: str) -> Any:
    """Return what a YAML text says, plain values only; ValueError says what is wrong with it."""
    try:
        return yaml.load(text, Loader=_Reader)  # a SafeLoader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    except (AttributeError, IndexError, KeyError, TypeError) as error:  # PyYAML's own, for `!!int ''` and the like
        raise ValueError(f"a value is not of the type that its tag says: {error}") from error
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


class _Reader(yaml.SafeLoader):
    """Refuses a key that stands twice, where plain YAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for place, (key, _) in enumerate(node.value):
            if key.value in keys[:place]:
                said = f"the key {key.value!r} stands twice"
                raise yaml.constructor.ConstructorError(None, None, said, key.start_mark)
        return super().construct_mapping(node, deep)
