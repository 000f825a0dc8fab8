"""dice-ml's gradient method for one person at a time. Imported late: it needs dice-ml and torch.

The search is dice-ml's own: start, optimiser, stopping rule, the sets it keeps, how it makes them sparser. Overridden
are the terms of its loss, which it computes cell by cell in Python (a test compares the values); its rounding, which
goes to the person's grid; and its calls of the model, which are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import torch
from dice_ml.explainer_interfaces.dice_pytorch import DicePyTorch
from numpy.typing import NDArray

from leastways.baselines.dice_explainers import FinishedError, TrainingData
from leastways.baselines.dice_tables import MOST_STEPS, Answers, Layout
from leastways.models import GradientCounter, RowsSpentError
from leastways.search import Problem

_EPSILON = 1e-6  # dice-ml's, in its log-odds
_DIAGONAL = 1e-4  # dice-ml's, added to the diagonal of the kernel
_STEP_APART = 0.01  # by which dice-ml has its counterfactuals differ at the start


class Descent(DicePyTorch):  # type: ignore[misc]
    """dice-ml's explainer for torch models, used for one person by each call of `find`."""

    def __init__(self, layout: Layout, rows: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        with torch.random.fork_rng(devices=[]):
            super().__init__(TrainingData(layout, rows), _TransformerOnly(layout))
        self.layout = layout
        self.minx = self.maxx = np.empty((1, 0))  # no cells for its loops: see `_BoundedAdam`
        self._origin, self._span = torch.tensor(layout.low), torch.tensor(layout.high - layout.low)
        groups = np.repeat(np.arange(len(layout.sizes)), layout.sizes)
        self._members = torch.tensor(np.eye(len(layout.sizes))[groups])  # [values, categories] category of each value
        self._weights = dict(zip(layout.numbers, weights.tolist(), strict=True))

    def find(
        self, answers: Answers, meter: GradientCounter, problem: Problem, k: int, seed: int, settings: Mapping[str, Any]
    ) -> NDArray[np.int32]:
        """Return those of the k states found by dice-ml that are accepted."""
        self._draw = np.random.default_rng(seed)
        self.answers, self.meter, self.problem = answers, meter, problem
        self._set_bounds()
        self._state_of: dict[bytes, NDArray[np.int32]] = {}
        self.cf_init_weights: list[Any] = []  # has dice-ml make its counterfactuals anew
        now = self.layout.frame(answers.person.now[None])
        own = {name: value for name, value in settings.items() if name != "begin"}
        try:
            self._generate_counterfactuals(
                now,
                k,
                desired_class=1,
                feature_weights=self._weights,
                init_near_query_instance=settings["begin"] == "near",
                limit_steps_ls=MOST_STEPS,
                **own,
            )
        except FinishedError as done:
            after = self._before if done.table is None else self._states(done.table)
        return self._best_of(self._before, after)

    def _best_of(self, before: NDArray[np.int32], after: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return accepted states: the sparser one of each pair, or the original if only that is known as accepted."""
        known = self.answers.known
        fine = np.array([known.get(state.tobytes(), 0.0) >= 0.5 for state in after], np.bool_)
        both = np.where(fine[:, None], after, before)
        return both[[known.get(state.tobytes(), 0.0) >= 0.5 for state in both]]

    def _set_bounds(self) -> None:
        """Set the bounds of each column of a relaxed row: a value that is not permitted gets no weight."""
        person, layout = self.answers.person, self.layout
        n = layout.n_numbers
        low, high = np.zeros(len(layout.columns)), np.zeros(len(layout.columns))
        ends = np.array([(levels[0], levels[-1]) for levels in person.levels[:n]]).reshape(n, 2)
        low[:n], high[:n] = ((ends - layout.low[:, None]) / (layout.high - layout.low)[:, None]).T
        for k, group in enumerate(layout.groups, n):
            high[group.start + person.codes[k]] = 1.0
        moves = np.isin(layout.names, person.varies)
        varies = np.concatenate([moves[:n], np.repeat(moves[n:], layout.sizes)])
        self._low, self._high = torch.tensor(low), torch.tensor(high)
        self._varies = torch.tensor(varies)

    # What dice-ml calls before it begins

    def do_cf_initializations(self, total_CFs: int, algorithm: str, features_to_vary: Any) -> None:
        """Make room for the counterfactuals: one block, whose rows are dice-ml's counterfactuals."""
        self.total_random_inits, self.total_CFs = 0, total_CFs
        self.block = torch.zeros((total_CFs, len(self.layout.columns)), dtype=torch.float64, requires_grad=True)
        self.cfs = list(self.block.detach())

    def initialize_CFs(self, query_instance: Any, init_near_query_instance: bool = False) -> None:  # noqa: N802
        """Start at random points, or near the person, each counterfactual a little farther: dice-ml's two choices."""
        now = torch.tensor(query_instance)
        if init_near_query_instance:
            away = _STEP_APART * torch.arange(self.total_CFs, dtype=torch.float64)[:, None] + now
        else:
            away = self._low + torch.tensor(self._draw.random(self.block.shape)) * (self._high - self._low)
        self.block.data.copy_(torch.where(self._varies, away, now))

    def do_optimizer_initializations(self, optimizer: str, learning_rate: float) -> None:
        """Make Adam, with dice-ml's freezing and clamping after each step."""
        self.optimizer = _BoundedAdam(self.block, learning_rate, self._varies, self._low, self._high)

    # The terms of the loss

    def compute_yloss(self) -> Any:
        """Return the mean hinge loss on the log-odds."""
        p = self._moved(self.meter.probability(*self._parts(self.block)))
        near = torch.abs(p - _EPSILON)
        return torch.relu(1.0 - torch.log(near / (1.0 - near))).mean()

    def compute_proximity_loss(self) -> Any:
        """Return the weighted distance to the person, over all cells of all counterfactuals."""
        return (torch.abs(self.block - self.x1) * self.feature_weights_list).sum() / self.block.numel()

    def dpp_style(self, submethod: str) -> Any:
        """Return the determinant of the kernel 1 / (1 + distance)."""
        gaps = torch.abs(self.block[:, None] - self.block[None])
        kernel = 1.0 / (1.0 + (gaps * self.feature_weights_list).sum(dim=2))
        return torch.det(kernel + _DIAGONAL * torch.eye(self.total_CFs, dtype=torch.float64))

    def compute_regularization_loss(self) -> Any:
        """Return the squared differences of each category's sum of weights from 1."""
        return ((self.block[:, self.layout.n_numbers :] @ self._members - 1.0) ** 2).sum()

    # Rounding, answers, the end

    def round_off_cfs(self, assign: bool = False) -> Any:
        """Put the counterfactuals on the person's grid, and evaluate them in one pass."""
        person, block = self.answers.person, self.block.detach().numpy()
        n = self.layout.n_numbers
        values = np.empty((len(block), len(self.layout.names)))
        values[:, :n] = self.layout.low + block[:, :n] * (self.layout.high - self.layout.low)
        for k, group in enumerate(self.layout.groups, n):
            values[:, k] = person.codes[k][np.argmax(block[:, group][:, person.codes[k]], axis=1)]
        states = person.states(values)
        rows = relaxed(self.layout, person.values(states))
        self._state_of.update((row.tobytes(), state) for row, state in zip(rows, states, strict=True))
        self._fetch(states)
        if assign:
            self.block.data.copy_(torch.tensor(rows))
            return None
        return list(rows)

    def predict_fn(self, input_instance: Any) -> NDArray[np.float64]:
        """Return the answer on a state, a row on the grid."""
        row = np.asarray(input_instance, dtype=np.float64)
        state = self._state_of.get(row.tobytes(), self.answers.person.start)  # the person as they are, at the start
        return self.answers.lookup(state[None])

    def predict_fn_for_sparsity(self, input_instance: pd.DataFrame) -> NDArray[np.float64]:
        """Return the answer on a row of dice-ml's tables."""
        if self.problem.out_of_time():
            raise RowsSpentError("the time is up")
        states = self._states(input_instance)
        self._fetch(states)
        return self.answers.lookup(states)

    def stop_loop(self, itr: int, loss_diff: Any) -> bool:
        """Stop as dice-ml does, or when another step could take more rows than are left, or the time is up."""
        if self.meter.left < 2 * self.total_CFs or self.problem.out_of_time():
            return True
        return bool(super().stop_loop(itr, loss_diff))

    def do_posthoc_sparsity_enhancement(self, table: pd.DataFrame, *rest: Any) -> Any:
        """Make the set sparser as dice-ml does, as far as rows and time are left, and return it by `FinishedError`."""
        self._before = self._states(table)
        with suppress(RowsSpentError):  # dice-ml changes the table in place, as far as it gets
            super().do_posthoc_sparsity_enhancement(table, *rest)
        raise FinishedError(table)

    def _fetch(self, states: NDArray[np.int32]) -> None:
        """Evaluate the states that are not known yet; every row counts."""
        unknown = self.answers.unknown(states)
        if len(unknown):
            rows = torch.tensor(relaxed(self.layout, self.answers.person.values(unknown)))
            with torch.no_grad():
                p = self.meter.probability(*self._parts(rows)).numpy()
            self.answers.note(unknown, p, p >= self.problem.threshold)

    def _parts(self, rows: Any) -> tuple[Any, Any]:
        """Split relaxed rows into numbers on their own scale and weights."""
        n = self.layout.n_numbers
        return self._origin + rows[:, :n] * self._span, rows[:, n:]

    def _moved(self, p: Any) -> Any:
        """Move the threshold to 0.5, as in `Answers`."""
        if self.answers.shift == 0.0:
            return p
        return torch.sigmoid(torch.logit(p, eps=1e-12) - self.answers.shift)

    def _states(self, table: pd.DataFrame) -> NDArray[np.int32]:
        return self.answers.person.states(self.layout.values(table))


class _BoundedAdam(torch.optim.Adam):
    """Adam that keeps frozen columns and clamps the others: dice-ml's projection, in one step."""

    def __init__(self, block: Any, learning_rate: float, varies: Any, low: Any, high: Any) -> None:
        super().__init__([block], lr=learning_rate)
        self._block, self._varies, self._low, self._high = block, varies, low, high

    def step(self, closure: Any = None) -> Any:
        """Take one step."""
        self._block.grad.mul_(self._varies)
        super().step()
        self._block.data.clamp_(self._low, self._high)


class _TransformerOnly:
    """A stand-in for dice-ml's torch model: it only transforms rows; `Descent` evaluates them."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.transformer = self
        self.model = self
        self.model_type = "classifier"

    def load_model(self) -> None:
        """Do nothing: no model is loaded."""

    def zero_grad(self) -> None:
        """Do nothing: parameters accumulate no gradients."""

    def feed_data_params(self, data: Any) -> None:
        """Do nothing: the layout is known."""

    def initialize_transform_func(self) -> None:
        """Do nothing: there is one transformation."""

    def get_num_output_nodes(self, inputs: int) -> NDArray[np.float64]:
        """Return an answer of one output."""
        return np.zeros((1, 1))

    def transform(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table of relaxed rows."""
        return pd.DataFrame(relaxed(self.layout, self.layout.values(table)), columns=pd.Index(self.layout.columns))

    def inverse_transform(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return relaxed rows as a table: numbers on their scale, the likeliest value of each category."""
        rows, n = table.to_numpy(dtype=np.float64), self.layout.n_numbers
        values = np.empty((len(rows), len(self.layout.names)))
        values[:, :n] = self.layout.low + rows[:, :n] * (self.layout.high - self.layout.low)
        for k, group in enumerate(self.layout.groups, n):
            values[:, k] = np.argmax(rows[:, group], axis=1)
        return self.layout.frame(values).astype(dict.fromkeys(self.layout.numbers, np.float64))


def relaxed(layout: Layout, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows [R, F] of dice-ml's as relaxed rows [R, D]: numbers from 0 to 1, and 1 for each category's value."""
    n = layout.n_numbers
    parts = [(values[:, :n] - layout.low) / (layout.high - layout.low)]
    parts += [np.eye(size)[values[:, k].astype(np.int64)] for k, size in enumerate(layout.sizes, n)]
    return np.concatenate(parts, axis=1)
