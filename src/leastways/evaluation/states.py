"""States as numbers, to compare them and to measure distances by."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.schema import Schema
from leastways.schema.encoding import category_codes


def as_numbers(schema: Schema, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return states as numbers, [rows, F]: numbers as they are, places for categories (-1: unknown)."""
    columns = []
    for feature in schema.features:
        column = frame[feature.name]
        if feature.numeric:
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
            columns.append(feature.as_held(numbers))
        else:
            columns.append(category_codes(feature, column).astype(np.float64))
    return np.stack(columns, axis=1)
