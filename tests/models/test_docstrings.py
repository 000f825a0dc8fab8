"""The examples in the docstrings of the room run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

from leastways import models

MODULES = [found.name for found in iter_modules(models.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(import_module(f"leastways.models.{name}")).failed == 0
