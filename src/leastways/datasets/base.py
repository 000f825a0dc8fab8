"""The `Dataset` that every loader returns: rows, people to find options for, and settings of the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways.errors import DataError

if TYPE_CHECKING:
    from leastways.schema import Schema

Model = Callable[[pd.DataFrame], NDArray[np.float64]]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set with everything that recourse on it needs.

    Attributes
    ----------
    name
        A short name, such as "credit".
    frame
        Every row, with the target column. Grids and percentiles are fitted on it.
    train
        The rows a model may learn from, with the target column.
    people
        Features only: the people to find options for, or held-out candidates, some of whom a model refuses.
    target, favourable
        The column to predict, and the label in it that people want.
    settings
        What `Schema.update` takes: directions, orders, grids, wording.
    description, source
        What the rows are, and where they come from.
    validation
        Rows kept apart for tuning, where the set has them.
    model
        A model that belongs to the data (the probability of the favourable label): a published network, or the
        structure that a synthetic set was drawn from.
    candidates
        The people before those whom `model` accepts were left out, where the set has them: another model may
        refuse others.
    protected
        The features to compare groups by.
    rules
        Rules across features, as in a schema file.

    """

    name: str
    frame: pd.DataFrame
    train: pd.DataFrame
    people: pd.DataFrame
    target: str
    favourable: Any
    settings: Mapping[str, Mapping[str, Any]]
    description: str
    source: str
    validation: pd.DataFrame | None = None
    model: Model | None = None
    candidates: pd.DataFrame | None = None
    protected: Sequence[str] = ()
    rules: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", deepcopy(dict(self.settings)))  # a copy, which the caller may change
        where = f"data set {self.name!r}"
        if self.target not in self.frame.columns:
            raise DataError(f"{where} has no target column {self.target!r}.")
        if not (self.frame[self.target] == self.favourable).any():
            raise DataError(f"{where}: no row has {self.target!r} = {self.favourable!r}.")
        if list(self.people.columns) != self.features:
            raise DataError(
                f"{where}: people must have the columns {listed(self.features, 40)}, in this order; "
                f"they have {listed(list(self.people.columns), 40)}."
            )
        for name in (*self.settings, *self.protected):
            if name not in self.features:
                raise DataError(f"{where} has no feature {name!r}." + nearest(name, self.features))

    @property
    def features(self) -> list[str]:
        """The columns a model sees, in the order of the frame."""
        return [str(column) for column in self.frame.columns if column != self.target]

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802 - the name scikit-learn users look for
        """The features of the training rows."""
        return self.train[self.features]

    @property
    def y(self) -> pd.Series[Any]:
        """The target of the training rows."""
        return self.train[self.target]

    def schema(self) -> Schema:
        """Infer kinds and grids from all rows, then apply this set's settings and rules."""
        from leastways.schema import Schema  # late, so that a loader stays cheap to import

        inferred = Schema.infer(self.frame, target=self.target)
        return inferred.update(self.settings, rules=list(self.rules))

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}: {len(self.frame)} rows, {len(self.features)} features, "
            f"{len(self.train)} to train on, {len(self.people)} people, "
            f"{self.target} = {self.favourable!r} is favourable)"
        )
