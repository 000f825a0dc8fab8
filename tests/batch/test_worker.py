"""What a worker does with a chunk."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import leastways as lw
from leastways.batch import worker
from tests.support.applicant_files import (
    fitted,
    people,
)

PREFERENCES = lw.Preferences(editable=["income"])


@pytest.mark.parametrize(
    "preferences",
    [
        {},
        {"preferences": PREFERENCES},
        {"preferences_by_row": {1: PREFERENCES, 2: lw.Preferences(editable=["job"])}},
    ],
)
def test_person_solved_alone_gets_the_same_options(preferences: dict[str, Any]) -> None:
    unit = people().head(5).reset_index(drop=True)
    together, alone = (
        worker.solve(fitted(), worker.Chunk((unit,), **preferences, singly=singly)) for singly in (False, True)
    )
    pd.testing.assert_frame_equal(alone.people.to_pandas(), together.people.to_pandas())
    pd.testing.assert_frame_equal(alone.options.to_pandas(), together.options.to_pandas())
    assert len(together.options)
