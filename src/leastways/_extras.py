"""Late imports of optional dependencies, with the pip command in the message when one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from leastways.errors import MissingExtraError


def require(module: str, extra: str, purpose: str) -> Any:
    """Import `module`; if it is missing, raise an error that names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs {module.split('.')[0]!r}, which is not installed. "
            f"Install it with: pip install 'leastways[{extra}]'"
        ) from error
