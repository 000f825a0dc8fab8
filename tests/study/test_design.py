"""Who judges what: balance by annotator and by item, for any numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastways.errors import SettingError
from leastways.study.create import make_design

NUMBERS = st.integers(1, 7).flatmap(lambda m: st.tuples(st.just(m), st.integers(1, m)))


@given(n_items=st.integers(1, 40), numbers=NUMBERS, seed=st.integers(0, 2**40))
def test_everything_is_balanced(n_items: int, numbers: tuple[int, int], seed: int) -> None:
    n_annotators, per_item = numbers
    design = make_design(n_items, n_annotators, per_item, seed)
    judged = design.first >= 0
    assert (judged.sum(axis=0) == per_item).all()
    assert np.ptp(judged.sum(axis=1)) <= 1
    for row, task in zip(judged, design.tasks, strict=True):
        assert sorted(task.tolist()) == np.flatnonzero(row).tolist()
    lead = (design.first == 0).astype(int) - (design.first == 1)
    assert (abs(lead.sum(axis=0)) <= 1).all()
    assert (abs(lead.sum(axis=1)) <= 1).all()


def test_the_seed_decides() -> None:
    one, same, other = (make_design(30, 4, 3, seed) for seed in (1, 1, 2))
    assert (one.first == same.first).all()
    assert all((a == b).all() for a, b in zip(one.tasks, same.tasks, strict=True))
    assert (one.first != other.first).any()


def test_order_and_sides_are_random() -> None:
    shown_first = np.array([make_design(10, 3, 3, seed).first for seed in range(400)])  # [seeds, annotators, items]
    assert abs((shown_first == 0).mean(axis=0) - 0.5).max() < 0.12  # 4.8 standard errors
    begins = np.array([make_design(10, 3, 3, seed).tasks[0][0] for seed in range(400)])
    assert np.bincount(begins, minlength=10).min() > 15


def test_annotators_are_mixed() -> None:
    judged = make_design(60, 6, 3, 0).first >= 0
    together = judged.astype(int) @ judged.T.astype(int)
    assert (together > 0).all()


@pytest.mark.parametrize("per_item", [0, 4, -1])
def test_impossible_numbers(per_item: int) -> None:
    with pytest.raises(SettingError, match=r"from 1 to the number of annotators \(3\)"):
        make_design(5, 3, per_item, 0)
