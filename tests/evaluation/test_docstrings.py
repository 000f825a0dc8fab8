"""Examples in the docstrings of evaluation, baselines and contract suites run and give what they show."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "evaluation.evaluate",
    "evaluation.measures",
    "evaluation.oracle",
    "evaluation.simulate",
    "baselines.actionable_recourse",
    "baselines.dice",
    "baselines.face",
    "testing.models",
    "testing.searchers",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"leastways.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
