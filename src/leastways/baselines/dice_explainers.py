"""dice-ml's explainers for the random, genetic and k-d tree methods. Imported late: it needs dice-ml.

The methods are dice-ml's own. Overridden are how it gets its rows and answers, how it returns its set, and a few slow
steps.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
from dice_ml.data_interfaces.public_data_interface import PublicData
from dice_ml.explainer_interfaces.dice_genetic import DiceGenetic
from dice_ml.explainer_interfaces.dice_KD import DiceKD
from dice_ml.explainer_interfaces.dice_random import DiceRandom
from dice_ml.model_interfaces.base_model import BaseModel
from numpy.typing import NDArray

from leastways.baselines.dice_tables import OUTCOME, Layout, label


class FinishedError(Exception):
    """Ends dice-ml once it has its set (`table`), before it words a report."""

    def __init__(self, table: pd.DataFrame | None) -> None:
        super().__init__("dice-ml is done")
        self.table = table


class TrainingData(PublicData):  # type: ignore[misc]
    """dice-ml's view of the training rows; statistics that it would compute for every person are kept."""

    def __init__(self, layout: Layout, rows: NDArray[np.float64]) -> None:
        table = layout.frame(np.concatenate([rows, layout.covering()])).assign(**{OUTCOME: 0})
        super().__init__(
            {
                "dataframe": table,
                "continuous_features": list(layout.numbers),
                "continuous_features_precision": layout.decimals,
                "outcome_name": OUTCOME,
            }
        )
        self.set_continuous_feature_indexes(table)
        self._kept: dict[Any, Any] = {}

    def get_mads(self, normalized: bool = False) -> Any:
        """Return dice-ml's median absolute deviations."""
        return self._once("mads", lambda: PublicData.get_mads(self, normalized), normalized)

    def get_quantiles_from_training_data(self, quantile: float = 0.05, normalized: bool = False) -> Any:
        """Return dice-ml's quantiles of deviations."""
        make = PublicData.get_quantiles_from_training_data
        return self._once("quantiles", lambda: make(self, quantile, normalized), quantile, normalized)

    def get_features_range(self, permitted_range_input: Any = None, features_dict: Any = None) -> Any:
        """Return dice-ml's ranges: a person's where given, and the whole."""
        whole = self._once("ranges", lambda: PublicData.get_features_range(self)[1]) if "_kept" in vars(self) else None
        if whole is None:
            return super().get_features_range(permitted_range_input, features_dict)
        return whole | (permitted_range_input or {}), dict(whole)

    def _once(self, *key: Any) -> Any:
        name, make, *rest = key
        if (name, *rest) not in self._kept:
            self._kept[name, *rest] = make()
        kept = self._kept[name, *rest]
        return dict(kept)  # dice-ml changes what it is given


class AnsweringModel(BaseModel):  # type: ignore[misc]
    """A model as dice-ml calls it: rows of its tables in, probabilities of both classes out."""

    def __init__(self, probability: Any) -> None:
        super().__init__(model=None, backend="sklearn")
        self.model_type = "classifier"
        self.probability = probability

    def get_output(self, input_instance: Any, model_score: bool = True) -> Any:
        """Return [P(0), P(1)] of each row, or the more probable class."""
        positive = self.probability(input_instance)
        return np.column_stack([1.0 - positive, positive]) if model_score else (positive >= 0.5).astype(int)


class _Ending:
    """Ends dice-ml when it has its set: before it words a report, part of which it prints."""

    def decode_to_original_labels(self, person: Any, table: Any, sparse: Any) -> Any:
        """Return the set by `FinishedError`; the sparser one, if dice-ml made one."""
        raise FinishedError(table if sparse is None else sparse)


class RandomExplainer(_Ending, DiceRandom):  # type: ignore[misc]
    """dice-ml's random sampling."""


class _Candidates:
    """A k-d tree of a person's candidates in place of the whole training set."""

    layout: Layout
    candidates: NDArray[np.float64]  # [R, F]

    def build_KD_tree(self, table: Any, desired_range: Any, desired_class: Any, name: Any) -> Any:  # noqa: N802
        """Return dice-ml's tree, its accepted rows and all predictions; no tree where there are no rows."""
        if not len(self.candidates):
            return table.iloc[:0], None, np.empty(0)
        own = self.layout.frame(self.candidates).assign(**{OUTCOME: 0})
        return super().build_KD_tree(own, desired_range, desired_class, name)  # type: ignore[misc]


class TreeExplainer(_Ending, _Candidates, DiceKD):  # type: ignore[misc]
    """dice-ml's k-d tree method."""


class GeneticExplainer(_Ending, _Candidates, DiceGenetic):  # type: ignore[misc]
    """dice-ml's genetic method."""

    def label_decode(self, labelled_input: Any) -> pd.DataFrame:
        """Return rows of codes as a table; dice-ml's own method looks up each cell separately."""
        rows = np.atleast_2d(np.asarray(labelled_input, dtype=np.float64))
        numbers, names = self.layout.n_numbers, self.layout.names
        columns: dict[str, Any] = {name: rows[:, k] for k, name in enumerate(names[:numbers])}
        for k, name in enumerate(names[numbers:], numbers):
            columns[name] = np.array([label(code) for code in rows[:, k].astype(int).tolist()], dtype=object)
        return pd.DataFrame(columns, columns=pd.Index(names))

    def compute_proximity_loss(self, x_hat_unnormalized: Any, query_instance_normalized: Any) -> Any:
        """Return dice-ml's distance, which is of numbers alone: 0 if there are none."""
        if not self.layout.n_numbers:
            return np.zeros(len(x_hat_unnormalized))
        return super().compute_proximity_loss(x_hat_unnormalized, query_instance_normalized)

    def compute_loss(self, cfs: Any, desired_range: Any, desired_class: Any) -> Any:
        """Return dice-ml's loss; end at a generation of one row, from which dice-ml cannot choose half as parents."""
        if len(cfs) < 2:
            raise FinishedError(self.label_decode(cfs))
        return super().compute_loss(cfs, desired_range, desired_class)

    def do_random_init(
        self, num_inits: int, features_to_vary: Any, query_instance: Any, desired_class: Any, desired_range: Any
    ) -> NDArray[np.float64]:
        """Draw rows until enough are accepted, as dice-ml does, but all missing ones at once."""
        draw = np.random.default_rng(random.getrandbits(64))
        found = [np.empty((0, len(self.layout.names)))]
        missing = num_inits
        while missing > 0:
            rows = np.tile(np.asarray(query_instance, dtype=np.float64), (missing, 1))
            for k, name in enumerate(self.layout.names):
                if name in features_to_vary and k < self.layout.n_numbers:
                    low, high = self.feature_range[name]
                    rows[:, k] = np.round(draw.uniform(low, high, missing), self.layout.decimals[name])
                elif name in features_to_vary:
                    rows[:, k] = draw.choice(self.feature_range[name], missing)
            found.append(rows[self.predict_fn_scores(rows)[:, 1] >= self.stopping_threshold])
            missing -= len(found[-1])
        return np.concatenate(found)


EXPLAINERS: dict[str, Any] = {"random": RandomExplainer, "genetic": GeneticExplainer, "kdtree": TreeExplainer}


def _refused(table: pd.DataFrame) -> NDArray[np.float64]:
    return np.zeros(len(table))


def make_explainer(method: str, layout: Layout, rows: NDArray[np.float64]) -> Any:
    """Return dice-ml's explainer, made once; each person gets a shallow copy with a model of their own."""
    explainer = EXPLAINERS[method](TrainingData(layout, rows), AnsweringModel(_refused))
    explainer.layout = layout
    return explainer
