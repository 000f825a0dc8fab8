"""An estimator as two stages: the steps that prepare rows, and the last one, which decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from leastways.errors import ModelError
from leastways.models.frames import columns_as_fitted, quiet_about_names
from leastways.models.threads import one_worker


@dataclass(frozen=True)
class Stages:
    """The transformers of a (nested) Pipeline in order, and its last step; an estimator alone has no transformers."""

    whole: Any
    transformers: tuple[Any, ...]
    final: Any

    @classmethod
    def of(cls, estimator: Any) -> Stages:
        """Take apart Pipelines, and searches over settings, which answer through their best estimator."""
        from sklearn.model_selection._search import BaseSearchCV
        from sklearn.pipeline import Pipeline

        transformers: list[Any] = []
        final = estimator
        while isinstance(final, Pipeline | BaseSearchCV):
            if isinstance(final, BaseSearchCV):
                final = final.best_estimator_
            else:
                transformers += [step for _, step in final.steps[:-1] if step is not None and step != "passthrough"]
                final = final.steps[-1][1]
        return cls(estimator, tuple(transformers), final)

    def encode(self, frame: pd.DataFrame) -> Any:
        """Return what the last step is given."""
        with quiet_about_names(self.whole), one_worker():
            rows: Any = columns_as_fitted(self.whole, frame)
            for step in self.transformers:
                rows = step.transform(rows)
        return as_numbers(rows) if isinstance(rows, pd.DataFrame) else rows

    @property
    def parts(self) -> tuple[object, ...]:
        """Everything the steps hold: fitting one again replaces what it holds."""
        return tuple(
            part
            for step in (*self.transformers, self.final)
            for part in (step, *getattr(step, "__dict__", {}).values())
        )


def as_numbers(frame: pd.DataFrame) -> npt.NDArray[Any]:
    """Return a frame of numbers as the array scikit-learn makes of it: one type that holds all, column after column."""
    dtypes: list[np.dtype[Any]] = []
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        inner = dtype if isinstance(dtype, np.dtype) else np.dtype(np.float64)
        if not pd.api.types.is_numeric_dtype(dtype) or inner.kind not in "biuf":
            raise ModelError(f"Column {name!r} holds {dtype}, not numbers.")
        dtypes.append(inner)
    common = np.result_type(*dtypes)
    out = np.empty(frame.shape, dtype=common, order="F")
    for k in range(frame.shape[1]):
        out[:, k] = frame.iloc[:, k].to_numpy(dtype=common)
    return out
