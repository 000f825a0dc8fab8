"""The examples in the docstrings of the room run."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import pytest

from leastways import models
from leastways.models import libraries

MODULES = [found.name for found in iter_modules(models.__path__)]


@pytest.fixture(autouse=True)
def records_are_restored() -> Iterator[None]:
    before = libraries._LIBRARIES.copy()
    yield
    libraries._LIBRARIES[:] = before


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(import_module(f"leastways.models.{name}")).failed == 0
