"""Inputs of a search: prepared methods, a surrogate learned from training rows, options of earlier plans."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._fingerprint import bytes_fingerprint
from leastways._random import keys_of_rows, stream
from leastways.costs import CostModel, CostSamples
from leastways.errors import DataError, LeastwaysError, SettingError
from leastways.models import Model, comparable, cutoff_warning, disagreement
from leastways.plans import RecoursePlans
from leastways.recourse.applicants import Applicants
from leastways.recourse.evaluator import Evaluator
from leastways.schema import Encoded, Feature, Schema, category_codes
from leastways.search import Background, Distilled, Guided, Preparing, Questions, Searcher, distill

_ROWS = 4000  # training rows that moves are drawn around
_COMPARED = 256  # training rows on which `predict` is compared with the probability


def learn_once(
    cost_model: CostModel,
    evaluator: Evaluator,
    searcher: Searcher | Preparing,
    frame: pd.DataFrame,
    queries: int,
    threshold: float,
    seed: int,
) -> Distilled:
    """Fit the surrogate that all people share to the model's answers about training rows and moves around them."""
    check_guided(searcher, "distill")
    if queries < 100:
        raise SettingError(
            f"distill={queries} is too few queries to learn a model from; give 100 or more, or 0 for none."
        )
    applicants = Applicants.check(cost_model.schema, _drawn_by_content(cost_model.schema, frame, seed, _ROWS), None)
    if not len(applicants.encoded):
        raise DataError("distill: no row of the table is within the schema, so there is nothing to learn from.")
    keys = keys_of_rows(applicants.encoded.content(), seed)
    samples = cost_model.sample(applicants.encoded, keys, 1, [None] * len(applicants.encoded))
    evaluate = evaluator.of(applicants.encoded)

    def ask(questions: Questions) -> NDArray[np.float64]:
        values, failures = evaluate(questions)
        for error in failures.values():
            raise error
        return values

    return distill(samples, ask, threshold, queries, seed)


def _drawn_by_content(schema: Schema, frame: pd.DataFrame, seed: int, n: int) -> pd.DataFrame:
    """Sample rows by their hash, so that the result does not depend on row order or dtypes."""
    contents = _contents(schema, frame)
    return frame.iloc[np.argsort(stream(contents, f"distill {seed}"), kind="stable")[:n]]


def training_fingerprint(schema: Schema, frame: pd.DataFrame, in_order: bool) -> str:
    """Return the fingerprint of a training table: its rows by value, ordered only for methods that see order."""
    contents = _contents(schema, frame)
    return bytes_fingerprint((contents if in_order else np.sort(contents)).tobytes())


def _contents(schema: Schema, frame: pd.DataFrame) -> NDArray[np.uint64]:
    """Return a hash of each row's values, whatever the dtypes of the columns."""
    values = pd.DataFrame({place: _values(f, frame[f.name]) for place, f in enumerate(schema.features)})
    return np.asarray(pd.util.hash_pandas_object(values, index=False), np.uint64)


def _values(feature: Feature, column: pd.Series[Any]) -> NDArray[Any]:
    """Return a column as numbers that are equal for equal values, whatever its dtype."""
    if not feature.numeric:
        return category_codes(feature, column)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return feature.as_held(numbers) + 0.0  # no minus zero


# What a method that has to be prepared may have read; changed after `fit`, it is prepared for something else.
READ_BY_METHODS = ("method", "model", "target", "threshold", "random_state")


@dataclass(frozen=True)
class Prepared:
    """A method made ready by `fit`, and the settings it was made ready for."""

    searcher: Searcher
    settings: Mapping[str, Any]

    def check(self, now: Mapping[str, Any], reader: str) -> None:
        """Raise where settings that something read in `fit` have changed since."""
        for name, value in now.items():
            before = self.settings[name]
            if value is not before and (name == "model" or value != before):
                raise SettingError(f"{name} was changed after fit, and {reader} reads it there; call fit again.")


def background_of(schema: Schema, frame: pd.DataFrame, model: Model, threshold: float, seed: int) -> Background:
    """Return what a method may learn from before a search."""
    rows = Applicants.check(schema, frame, None).encoded
    rows = rows.take(np.flatnonzero(~rows.missing.any(axis=1)))
    if not len(rows):
        raise DataError(
            "fit: no row of the table is whole and within the schema; the method has nothing to learn from."
        )
    return Background(schema, rows, model, threshold, seed)


def warn_of_predict(schema: Schema, frame: pd.DataFrame, model: Model, threshold: float) -> None:
    """Warn where the model's `predict` disagrees with its probability, on rows from all of the table."""
    text = cutoff_warning(model, threshold)
    if not text and comparable(model, threshold):
        places = np.unique(np.linspace(0, len(frame) - 1, _COMPARED).astype(np.intp))
        try:
            rows = schema.decode(Applicants.check(schema, frame.iloc[places], None).encoded)
        except LeastwaysError:  # nothing to compare on
            return
        text = disagreement(model, threshold, rows)
    if text:
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def options_of(schema: Schema, plans: RecoursePlans, people: Encoded) -> Questions:
    """Return the options that plans have for these people, person by person; -1 where a value is in no grid.

    `schema` is the present one: that of earlier plans may have had other grids.
    """
    places = people.index.get_indexer(pd.Index(plans.options["person"]))
    mine = np.flatnonzero(places >= 0)
    mine = mine[np.argsort(places[mine], kind="stable")]
    rows = places[mine].astype(np.int64)
    return Questions(rows, schema.encode_options(plans.options.iloc[mine], people, rows))


def first_states(schema: Schema, plans: RecoursePlans, people: Encoded, samples: CostSamples) -> Questions:
    """Return the options of earlier plans for these people that are still permitted."""
    options = options_of(schema, plans, people)
    known = (options.codes >= 0).all(axis=1) & (options.codes != people.codes[options.people]).any(axis=1)
    rows, codes = options.people[known], options.codes[known]
    fits = samples.permits(rows, codes)
    return Questions(rows[fits], codes[fits])


def check_guided(searcher: Searcher | Preparing, what: str) -> None:
    """Raise unless the method is guided search, which alone uses `what`."""
    if not isinstance(searcher, Guided):
        raise SettingError(f'{what} is for method="guided"; {searcher!r} makes no use of it.')
