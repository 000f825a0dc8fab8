"""Count the queries to a model, and check its answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from leastways._messages import plain
from leastways.errors import MissingExtraError, ModelError, SettingError
from leastways.models.answers import as_probabilities, told, unusable
from leastways.models.base import FloatArray, Model, lend
from leastways.models.estimator import FunctionModel

_SHOWN_VALUES = 12


class QueryCounter:
    """Asks a model and keeps count.

    `rows` counts the rows that were answered: a NaN, too, was an answer and is spent. `failed_rows` counts
    the rows of calls that raised or whose answer could not be told apart by row; such rows cost no budget.
    `calls` counts both kinds of call, so `rows + failed_rows` is all that was ever sent. An empty frame is
    never sent. `gradient_rows` are those of methods that follow gradients, counted apart.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.rows = 0
        self.calls = 0
        self.failed_rows = 0
        self.gradient_rows = 0

    def note_gradients(self, rows: int) -> None:
        """Count rows that a method put through the model itself, forward and back."""
        self.gradient_rows += rows

    def evaluate(self, frame: pd.DataFrame) -> FloatArray:
        """Return P(target) of every row, float64 [n], all within [0, 1]; anything else is a ModelError."""
        values = self._ask(frame, named=True)
        bad = unusable(values)
        if bad.any():
            raise _bad_values(self.model, frame, values, named=True)
        return values

    def evaluate_by_group(
        self, frame: pd.DataFrame, group: npt.NDArray[np.integer], named: bool = False
    ) -> tuple[FloatArray, dict[int, ModelError]]:
        """Judge the rows of many people in one call, and lose only those people on whom the model fails.

        `group` [n] says whose row each is. Returns the probabilities, NaN for every row of a failed group,
        and the error of each failed group. If the call as a whole fails, each group is sent again by itself.

        `named` says that the frame's index has labels somebody knows. States that a search asks about are merely
        numbered: errors show their values only.
        """
        group = np.asarray(group)
        if group.shape != (len(frame),):
            raise ValueError(f"group must have shape ({len(frame)},), one number per row, not {group.shape}.")
        try:
            values = self._ask(frame, named)
            failures: dict[int, ModelError] = {}
        except ModelError as error:
            values, failures = self._ask_each(frame, group, named, error)
        bad = unusable(values)
        for number in map(int, np.unique(group[bad])):
            if number not in failures:
                members = group == number
                failures[number] = _bad_values(self.model, frame[members], values[members], named)
        if not failures:
            return values, failures
        return np.where(np.isin(group, list(failures)), np.nan, values), failures

    def evaluate_by_table(self, shortcut: Callable[[], FloatArray], rows: int) -> FloatArray | None:
        """Take the answers from a shortcut to the same model; None where it fails, or a row has no usable answer.

        Such rows have to be asked again as a frame, which tells whom the model fails on, and how; only that is
        counted.
        """
        try:
            values = shortcut()
        except Exception:  # whatever it is, the plain path meets it again and reports it
            return None
        if values.shape != (rows,) or unusable(values).any():
            return None
        self.calls += rows > 0
        self.rows += rows
        return values

    def _ask_each(
        self, frame: pd.DataFrame, group: npt.NDArray[np.integer], named: bool, error: ModelError
    ) -> tuple[FloatArray, dict[int, ModelError]]:
        """Send each group by itself after `error`; one group alone has had its answer already."""
        numbers = np.unique(group)
        values = np.full(len(frame), np.nan)
        if len(numbers) == 1:
            return values, {int(numbers[0]): error}
        failures: dict[int, ModelError] = {}
        for number in map(int, numbers):
            members = group == number
            try:
                values[members] = self._ask(frame[members], named)
            except ModelError as own:
                failures[number] = own
        return values, failures

    def _ask(self, frame: pd.DataFrame, named: bool) -> FloatArray:
        """Call the model once, counting; return one float per row, not yet checked for NaN and range."""
        if len(frame) == 0:
            return np.empty(0)
        self.calls += 1
        try:
            values = as_probabilities(self.model.probability(lend(frame)), len(frame))
        except (SettingError, MissingExtraError):  # no row is at fault, and none could succeed
            self.failed_rows += len(frame)
            raise
        except Exception as error:
            self.failed_rows += len(frame)
            raise ModelError(f"{told(error)} {_asked(frame, named)}", frame) from error
        self.rows += len(frame)
        return values


def _asked(frame: pd.DataFrame, named: bool) -> str:
    """Say what the model had been asked."""
    return f"It was asked about {len(frame)} row(s), the first being {_show(frame, 0, named)}."


def _bad_values(model: Model, frame: pd.DataFrame, values: FloatArray, named: bool) -> ModelError:
    """Build the error for answers some of which are NaN or outside [0, 1], with exactly those rows."""
    bad = unusable(values)
    first = int(np.flatnonzero(bad)[0])
    score = isinstance(model, FunctionModel) and not np.isnan(values[first])
    hint = " If it is a score, pass what it decides, such as lambda frame: score(frame) >= 600." if score else ""
    return ModelError(
        f"The model returned {float(values[first])!r} as a probability, which must lie in [0, 1], for "
        f"{_show(frame, first, named)}; {int(bad.sum())} of {len(frame)} rows have such answers.{hint}",
        frame[bad],
    )


def _show(frame: pd.DataFrame, position: int, named: bool) -> str:
    """Show one row, by values and, where it means something, index label; cut where a frame is wide."""
    names = list(frame.columns)
    cells = [f"{name}={plain(frame.iat[position, i])!r}" for i, name in enumerate(names[:_SHOWN_VALUES])]
    more = f", ... ({len(names)} columns)" if len(names) > _SHOWN_VALUES else ""
    values = f"{', '.join(cells)}{more}"
    return f"row {plain(frame.index[position])!r} ({values})" if named else f"a row with {values}"
