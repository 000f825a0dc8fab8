"""The applicants of one call: which rows can be used, each person's preferences, and why a row cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.costs import Preferences, preferences_by_row
from leastways.errors import DataError, PreferenceError
from leastways.schema import Encoded, Schema, check_columns, describe, problems_of, raise_problems


@dataclass(frozen=True)
class Applicants:
    """The rows as given, which of them can be used, and why the others cannot."""

    frame: pd.DataFrame
    reasons: dict[int, str]  # position in the frame -> why the row cannot be used
    usable: NDArray[np.intp]  # positions in the frame
    encoded: Encoded  # the usable rows
    preferences: list[Preferences | None]  # of the usable rows

    @classmethod
    def check(
        cls, schema: Schema, people: pd.DataFrame, preferences: Preferences | Mapping[Any, Preferences] | None
    ) -> Applicants:
        """Check rows and preferences; only a fault of the whole table or of shared preferences raises."""
        frame = check_columns(people, schema.features, schema.target)
        if frame.index.nlevels > 1:
            raise DataError(
                f"the index names people, but has {frame.index.nlevels} levels; give each person one label, "
                "for example with reset_index(drop=True)."
            )
        if frame.index.hasnans:
            raise DataError(
                f"the index names people, but the label of row {int(frame.index.isna().argmax())} is missing."
            )
        problems = problems_of(frame, schema.features)
        reasons: dict[int, str] = {}
        for place, problem in zip(problems.attrs["positions"], problems.itertuples(), strict=True):
            text = describe(problem)
            reasons[int(place)] = f"{reasons[int(place)]}; {text}" if int(place) in reasons else text
        _raise_if_column_is_wrong(frame, problems)
        stated = preferences_by_row(frame.index, preferences)
        if isinstance(preferences, Preferences):
            preferences.check(schema)
        checked = {id(preferences)}
        for place, own in stated.items():
            try:
                if id(own) not in checked:
                    own.check(schema)
                checked.add(id(own))
                if place not in reasons:
                    own.check_person(schema, {name: frame[name].iloc[place] for name in own.costs})
            except PreferenceError as error:
                reasons[place] = "; ".join(filter(None, [reasons.get(place), f"preferences: {error}"]))
        usable = np.setdiff1d(np.arange(len(frame)), list(reasons))
        encoded = schema.encode_checked(frame.iloc[usable] if reasons else frame)
        return cls(frame, reasons, usable, encoded, [stated.get(int(i)) for i in usable])


def _raise_if_column_is_wrong(frame: pd.DataFrame, problems: pd.DataFrame) -> None:
    """Raise where a column is wrong from top to bottom: that is a fault of the table, not of its people."""
    if problems.empty:
        return
    for _, faults in problems.groupby("column", sort=False):
        wrong_type = faults["problem"].str.startswith(("is not a number", "is not a known category"))
        if len(frame) > 1 and wrong_type.sum() == len(frame):
            raise_problems(faults)
