"""Any callable as a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from leastways.models.answers import check_order, read_answer
from leastways.models.base import FloatArray, Split
from leastways.models.labels_seen import LabelsSeen


@dataclass(frozen=True)
class FunctionModel:
    """A callable frame -> probability or label. Its answer may be an array, list, Series or DataFrame.

    - 1-D floats are P(target), even where they are only zeros and ones;
    - 2-D numbers are class probabilities, and the target is the column's number, or its name in a DataFrame;
    - all else (ints, bools, text, categoricals, objects) are labels, compared with the target.
    """

    function: Callable[[pd.DataFrame], object]
    target: object
    seen: LabelsSeen = field(default_factory=LabelsSeen, repr=False, compare=False)

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Call the function and read its answer."""
        answer = self.function(frame)
        check_order(answer, frame.index)
        return read_answer(answer, self.target, len(frame), self.seen)

    @property
    def labels_seen(self) -> tuple[LabelsSeen, ...]:
        """What is known of its labels."""
        return (self.seen,)

    def split(self) -> Split | None:
        """Offer the halves of a callable that has them, as methods `encode` and `probability_of`."""
        function: Any = self.function
        encode, decide = getattr(function, "encode", None), getattr(function, "probability_of", None)
        if not callable(encode) or not callable(decide):
            return None
        return Split(
            encode, (lambda array: read_answer(decide(array), self.target, len(array), self.seen),), (function,)
        )
