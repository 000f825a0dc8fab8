"""Fingerprints and texts of settings are the same in every process, and differ where contents do."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import leastways as lw
from leastways._fingerprint import setting_text, value_fingerprint
from tests.support.applicant_files import (
    OwnSearcher,
)


def test_fingerprints_do_not_depend_on_the_process() -> None:
    """Sets have another order, and objects another address, in each process."""
    one, other = {0, 8}, {8, 0}
    assert list(one) != list(other)
    assert value_fingerprint([one, frozenset(one)]) == value_fingerprint([other, frozenset(other)])
    assert value_fingerprint({1, 2}) != value_fingerprint({1, 3})
    assert value_fingerprint(lw.Preferences(editable={"income"})) != value_fingerprint(lw.Preferences(editable={"age"}))  # type: ignore[arg-type]
    itself, alike = OwnSearcher(), OwnSearcher()
    itself.inner, alike.inner = itself, alike
    assert value_fingerprint(itself) == value_fingerprint(alike) != value_fingerprint(OwnSearcher())
    assert value_fingerprint("<OwnSearcher at 0x1f>") != value_fingerprint("<OwnSearcher at 0x2f>")
    assert (
        value_fingerprint(lw.Feature) == value_fingerprint(lw.Feature) != value_fingerprint(lw.RecoursePlan)
    )  # not of them: themselves
    table = pd.DataFrame({"a": [1, 2], "b": [["x"], ["y"]]})
    for frame in (table, table[["a"]]):
        assert value_fingerprint(frame) == value_fingerprint(frame.copy()) != value_fingerprint(frame.assign(a=[1, 3]))


@dataclass
class Holds:
    """A searcher whose `repr` shows an object without one."""

    inner: Any


class Slotted:
    """An object without a `__dict__`."""

    __slots__ = ("depth",)

    def __init__(self, depth: int) -> None:
        self.depth = depth


def deep(depth: int) -> Any:
    return lambda: depth


def test_searchers_with_other_contents_have_other_fingerprints() -> None:
    for one, same, other in (
        (Holds(OwnSearcher(1)), Holds(OwnSearcher(1)), Holds(OwnSearcher(2))),
        (Slotted(1), Slotted(1), Slotted(2)),
        (Holds(Slotted(1)), Holds(Slotted(1)), Holds(Slotted(2))),
        (Holds(deep(1)), Holds(deep(1)), Holds(deep(2))),
        (Holds({"a", "b"}), Holds({"b", "a"}), Holds({"a", "c"})),
        (Holds(lambda: 1), Holds(lambda: 1), Holds(lambda: 2)),
        (Holds(partial(deep, 1)), Holds(partial(deep, 1)), Holds(partial(deep, 2))),
        (Holds(OwnSearcher(1).start), Holds(OwnSearcher(1).start), Holds(OwnSearcher(2).start)),
        (Holds(np.random.default_rng(1)), Holds(np.random.default_rng(1)), Holds(np.random.default_rng(2))),
        (Holds(threading.Lock()), Holds(threading.Lock()), Holds(object())),
    ):
        assert "0x" not in setting_text(one)
        assert setting_text(one) != setting_text(other)
        assert (setting_text(one) == setting_text(same)) == (
            same.inner is not deep if isinstance(same, Holds) else True
        )
    assert setting_text(lw.COLS()) == repr(lw.COLS())
