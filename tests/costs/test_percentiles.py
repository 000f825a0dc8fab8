"""Percentiles against scipy, and against the ones published with the paper's data."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import percentileofscore

from leastways.costs.percentiles import Percentiles, mean_rank
from leastways.datasets import load_adult_binary, load_compas_binary
from leastways.schema.encoding import grid_levels


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.lists(st.integers(-7, 7), min_size=1, max_size=10))
def test_mean_rank_is_scipys(data: list[int], values: list[int]) -> None:
    ours = mean_rank(np.sort(np.array(data, float)), np.array(values, float))
    theirs = [percentileofscore(data, v, kind="rank") / 100 for v in values]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.real_data
@pytest.mark.parametrize("load", [load_adult_binary, load_compas_binary])
def test_percentiles_are_the_published_ones(load: object) -> None:
    folder = os.environ.get("LEASTWAYS_DATA")
    if not folder:
        pytest.skip("LEASTWAYS_DATA is not set")
    data = load()  # type: ignore[operator]
    schema = data.schema()
    learned = Percentiles.fit(schema, data.frame)
    published = json.loads((Path(folder) / data.name / "schema.json").read_text())
    checked = 0
    for f, feature in enumerate(schema.features):
        spec = next(s for s in published["features"] if s["name"] == feature.name)
        if spec.get("percentiles"):
            ours = learned.of(f, grid_levels(feature)[None, :])[0]
            np.testing.assert_allclose(ours, [share for _, share in spec["percentiles"]], atol=1e-12)
            checked += 1
    assert checked >= 3
