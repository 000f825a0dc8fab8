"""Count the queries to a model, and check its answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from leastways._values import plain
from leastways.errors import MissingExtraError, ModelError, SettingError
from leastways.models.answers import as_probabilities, error_text, unusable
from leastways.models.base import FloatArray, Model, lend
from leastways.models.estimator import FunctionModel

_SHOWN_VALUES = 12


class QueryCounter:
    """Evaluates a model, checks its answers, and counts them.

    Parameters
    ----------
    model
        The model, bound to a target.

    Attributes
    ----------
    rows
        Rows that were answered. A NaN is an answer too, and is spent.
    failed_rows
        Rows of calls that raised, or whose answer was not one number per row; they cost no budget.
    calls
        Calls of both kinds, so that `rows + failed_rows` is all that was ever sent. An empty frame is never sent.
    gradient_rows
        Rows of methods that follow gradients, counted apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from leastways.models import as_model
    >>> counter = QueryCounter(as_model(lambda frame: frame["income"] / 2000, target=1))
    >>> counter.evaluate(pd.DataFrame({"income": [500, 1500]}))
    array([0.25, 0.75])
    >>> counter.rows, counter.calls
    (2, 1)
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.rows = 0
        self.calls = 0
        self.failed_rows = 0
        self.gradient_rows = 0

    def note_gradients(self, rows: int) -> None:
        """Count rows of which a method took the model's gradients."""
        self.gradient_rows += rows

    def evaluate(self, frame: pd.DataFrame) -> FloatArray:
        """Return P(target) of every row, float64 [n], all within [0, 1]; raise `ModelError` for anything else."""
        values = self._evaluate(frame, named=True)
        bad = unusable(values)
        if bad.any():
            raise _bad_values(self.model, frame, values, named=True)
        return values

    def evaluate_by_group(
        self, frame: pd.DataFrame, group: npt.NDArray[np.integer], named: bool = False
    ) -> tuple[FloatArray, dict[int, ModelError]]:
        """Evaluate the rows of many people in one call, so that a failing row costs only its own person.

        If the call as a whole fails, each group is sent again by itself.

        Parameters
        ----------
        frame
            The rows.
        group
            Whose row each is, integers [n].
        named
            Whether the frame's index has labels that the user knows. The states of a search are merely numbered:
            errors then show their values only.

        Returns
        -------
        tuple
            P(target) of every row [n], NaN for those of a failed group, and the error of each failed group.
        """
        group = np.asarray(group)
        if group.shape != (len(frame),):
            raise ValueError(f"group must have shape ({len(frame)},), one number per row, not {group.shape}.")
        try:
            values = self._evaluate(frame, named)
            failures: dict[int, ModelError] = {}
        except ModelError as error:
            values, failures = self._evaluate_each(frame, group, named, error)
        bad = unusable(values)
        for number in map(int, np.unique(group[bad])):
            if number not in failures:
                members = group == number
                failures[number] = _bad_values(self.model, frame[members], values[members], named)
        if not failures:
            return values, failures
        return np.where(np.isin(group, list(failures)), np.nan, values), failures

    def evaluate_by_table(self, answer: Callable[[], FloatArray], rows: int) -> FloatArray | None:
        """Return the answers of the model's encoder table; None where it fails, or a row has no usable answer.

        Such rows have to be evaluated again as a frame, which shows on whom the model fails, and how; only that is
        counted.
        """
        try:
            values = answer()
        except Exception:  # whatever it is, the plain path meets it again and reports it
            return None
        if values.shape != (rows,) or unusable(values).any():
            return None
        self.calls += rows > 0
        self.rows += rows
        return values

    def _evaluate_each(
        self, frame: pd.DataFrame, group: npt.NDArray[np.integer], named: bool, error: ModelError
    ) -> tuple[FloatArray, dict[int, ModelError]]:
        """Send each group by itself after `error`; a single group is not sent twice."""
        numbers = np.unique(group)
        values = np.full(len(frame), np.nan)
        if len(numbers) == 1:
            return values, {int(numbers[0]): error}
        failures: dict[int, ModelError] = {}
        for number in map(int, numbers):
            members = group == number
            try:
                values[members] = self._evaluate(frame[members], named)
            except ModelError as own:
                failures[number] = own
        return values, failures

    def _evaluate(self, frame: pd.DataFrame, named: bool) -> FloatArray:
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
            raise ModelError(f"{error_text(error)} {_asked(frame, named)}", frame) from error
        self.rows += len(frame)
        return values


def _asked(frame: pd.DataFrame, named: bool) -> str:
    """Describe the rows that the model was given."""
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
    """Show one row by its values and, if it is `named`, its index label; cut where a frame is wide."""
    names = list(frame.columns)
    cells = [f"{name}={plain(frame.iat[position, i])!r}" for i, name in enumerate(names[:_SHOWN_VALUES])]
    more = f", ... ({len(names)} columns)" if len(names) > _SHOWN_VALUES else ""
    values = f"{', '.join(cells)}{more}"
    return f"row {plain(frame.index[position])!r} ({values})" if named else f"a row with {values}"
