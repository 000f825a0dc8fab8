"""The examples in the docstrings of the room run."""

from __future__ import annotations

import doctest

import pytest

from leastways.plans import plan, plans


@pytest.mark.parametrize("module", [plan, plans], ids=lambda module: module.__name__)
def test_examples_run(module: object) -> None:
    tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried.attempted > 0
    assert tried.failed == 0
