"""The facade a user meets first: a model, a schema, training data; then plans for the people it refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from leastways._fingerprint import setting_text
from leastways._messages import listed
from leastways._progress import Clock, reporter
from leastways._random import Keys, keys_of_rows
from leastways._validation import check_count
from leastways._values import plain
from leastways.costs import Belief, CostDistribution, CostModel, Preferences, check_belief
from leastways.errors import DataError, SettingError
from leastways.models import QueryCounter, as_model, check_labels_seen
from leastways.plans import RecoursePlans
from leastways.recourse.applicants import Applicants
from leastways.recourse.certify import Prover, check_same_settings
from leastways.recourse.evaluator import Evaluator
from leastways.recourse.preparation import (
    READ_BY_METHODS,
    Prepared,
    background_of,
    check_guided,
    learn_once,
    training_fingerprint,
    warn_of_predict,
)
from leastways.recourse.results import Outcome, assemble
from leastways.recourse.settings import Settings
from leastways.recourse.solve import Solver, belief_about
from leastways.schema import Schema, check_columns
from leastways.search import Distilled, Guided, Preparing, Searcher, as_searcher, made_ready


class Recourse(BaseEstimator):  # type: ignore[misc]
    """Find a small set of options for each refused person, so that at least one is cheap for them.

    Parameters
    ----------
    model
        The model that decides, fitted, on raw rows: a scikit-learn, xgboost or lightgbm estimator or Pipeline, any
        callable from a DataFrame to probabilities or labels, `TorchModel`, `OnnxModel`, or `AllOf` of several models.
    schema : Schema
        What each column is and how a person may move in it.
    method : str or searcher
        "guided", "cols", "pcols", "ls", "random"; published methods to compare with: "ar", "face-knn", "face-eps",
        "dice", "dice-random", "dice-genetic", "dice-kdtree"; or a configured one, such as ``COLS(gain="paper")``.
        Guided search needs 200 rows where the others need thousands.
    n_options : int
        Options per person, at most.
    budget : int
        Rows per person that may be sent to the model, the person's own row included. If the model raises in a call, its
        rows are sent again, person by person, to find out whom it fails on. The rows of the failed call do not count;
        ``plans.settings["model_failed_rows"]`` has their number.
    n_costs : int
        Cost functions drawn per person.
    target
        The label that is a yes.
    threshold : float
        A state is accepted if its probability of `target` is at least this.
    costs : str or CostDistribution
        Where cost functions come from: "mix", "linear", "percentile", or a `CostDistribution`.
    uncovered_cost : float
        What a drawn cost function counts in the objective if no option serves it.
    objective : str
        "emc", the expected minimum cost, or "satisfaction", the share of cost functions under which some option costs
        less than `satisfied_below`; EMC breaks ties.
    satisfied_below : float
        See `objective`.
    time_limit : float, optional
        Seconds that `recommend` may search. Applicants whose search was cut short keep what was found by then, with the
        status `partial`, or `none_found` if that is nothing; such plans depend on the speed of the machine.
    random_state : int
        Same seed, same plans, whatever the batch, order or process.

    Attributes
    ----------
    cost_model_ : CostModel
        The cost distribution with the percentiles of the fitted data.
    distilled_ : Distilled or None
        The surrogate of the model that all people share, after ``fit(X, distill=...)``.
    n_features_in_, feature_names_in_
        The features, as scikit-learn names them.
    """

    def __init__(
        self,
        model: Any,
        schema: Schema,
        method: str | Searcher | Preparing = "guided",
        n_options: int = 10,
        budget: int = 200,
        n_costs: int = 1000,
        target: Any = 1,
        threshold: float = 0.5,
        costs: str | CostDistribution = "mix",
        uncovered_cost: float = 1.5,
        objective: str = "emc",
        satisfied_below: float = 1.0,
        time_limit: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.schema = schema
        self.method = method
        self.n_options = n_options
        self.budget = budget
        self.n_costs = n_costs
        self.target = target
        self.threshold = threshold
        self.costs = costs
        self.uncovered_cost = uncovered_cost
        self.objective = objective
        self.satisfied_below = satisfied_below
        self.time_limit = time_limit
        self.random_state = random_state

    def __sklearn_clone__(self) -> Recourse:
        """Clone the settings and keep the model: it is the given, fitted black box, not a part to fit again."""
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the fast path of the model: it is found again where it is needed."""
        return {name: value for name, value in super().__getstate__().items() if name != "_fast_path"}

    def fit(self, X: pd.DataFrame, y: object = None, distill: int = 0) -> Recourse:
        """Learn the percentiles of the training data, and check every setting. `y` is ignored.

        With `distill`, also ask the model about this many rows, once: training rows and moves around them. Guided
        search then begins with a guess of the model that all people share, and a budget of 20 goes nearly as far as
        200. These rows are reported as ``plans.settings["distill_rows"]``, apart from those spent on people.

        At a threshold of 0.5, an estimator with both `predict_proba` and `predict` is asked about at most 256 rows of
        the table, and `fit` warns where `predict` refuses what the probability accepts.
        """
        settings = self._settings()
        meter = QueryCounter(as_model(self.model, self.target, threshold=self.threshold))
        table = X.reset_index(drop=True) if isinstance(X, pd.DataFrame) else X
        frame = check_columns(table, self.schema.features, self.schema.target)
        searcher, seed = settings.searcher, settings.seed
        ready = made_ready(searcher, lambda: background_of(self.schema, frame, meter.model, self.threshold, seed))
        self._prepared = Prepared(ready, {name: getattr(self, name) for name in READ_BY_METHODS})
        self.cost_model_ = CostModel.fit(self.schema, settings.distribution, frame)
        self._training = training_fingerprint(self.schema, frame, in_order=isinstance(searcher, Preparing))
        self.n_features_in_ = len(self.schema.features)
        self.feature_names_in_ = np.array(self.schema.names, dtype=object)
        self.distilled_: Distilled | None = None
        check_count("distill", distill, least=0)
        if distill:
            evaluator = Evaluator.start(self.schema, meter, getattr(self, "_fast_path", None))
            self.distilled_ = learn_once(self.cost_model_, evaluator, searcher, frame, distill, self.threshold, seed)
            self._fast_path = evaluator.fast_path
        warn_of_predict(self.schema, frame, meter.model, self.threshold)
        return self

    def recommend(
        self,
        people: pd.DataFrame,
        preferences: Preferences | Mapping[Any, Preferences] | None = None,
        progress: bool | Callable[[float], None] = False,
        warm_start: RecoursePlans | None = None,
        belief: Belief | None = None,
    ) -> RecoursePlans:
        """Return a plan for each person (a row of `people`; the index is kept).

        Parameters
        ----------
        people
            Raw rows, columns as in the schema. A row that cannot be used gets the status `invalid_input` with the
            reason, and does not stop the others.
        preferences
            What people told us: one `Preferences` for all, or a mapping from a person's label to theirs.
        progress
            True for a progress bar, or a function that is called with the share done, from 0 to 1.
        warm_start
            Earlier plans. Options that they offered to people with the same labels are asked about first, if they are
            still permitted. This counts against the budget.
        belief
            What `belief` returned for these people, perhaps reweighted, in place of `preferences`: options are chosen
            under its samples and weights.
        """
        settings = self._checked()
        searcher = self._searcher(settings)
        self._check_warm_start(warm_start)
        applicants, keys, own = _applicants(settings, people, preferences, belief)
        meter = QueryCounter(as_model(self.model, self.target, threshold=self.threshold))
        evaluator = Evaluator.start(self.schema, meter, getattr(self, "_fast_path", None))
        outcome = Outcome.empty(len(applicants.encoded), settings.n_options, len(self.schema.features))
        net = None if self.distilled_ is None else self.distilled_.net
        solver = Solver(
            settings, searcher, self.cost_model_, net, applicants, keys, evaluator, outcome, warm_start, own
        )
        total = len(applicants.encoded)
        with reporter(progress, "finding options") as report:
            size = settings.people_together(self.cost_model_)
            room = self.cost_model_.room_for_cells(min(size, total), settings.n_costs)
            clock = Clock.start(self.time_limit)
            for first in range(0, total, size):
                rows = np.arange(first, min(first + size, total))
                seconds = clock.share(len(rows), total - first)
                solver.solve(rows, room, report.part(first, len(rows), total), seconds)
        outcome.raise_if_all_lost()
        check_labels_seen(meter.model, total)
        counts = {"model_calls": meter.calls, "model_rows": meter.rows, "model_failed_rows": meter.failed_rows}
        if meter.gradient_rows:
            counts["model_gradient_rows"] = meter.gradient_rows
        self._fast_path = evaluator.fast_path
        recorded = self._recorded(settings) | counts | evaluator.settings()
        return assemble(self.schema, applicants, outcome, recorded)

    def belief(
        self, people: pd.DataFrame, preferences: Preferences | Mapping[Any, Preferences] | None = None
    ) -> Belief:
        """Return the belief that `recommend` uses for people's costs: weighted samples of their preferences.

        It can be looked at, stored, given other weights, and passed to `recommend` and `certify`, which draw the same
        samples where they are given none.

        Parameters
        ----------
        people
            As in `recommend`, but every row must be usable and every label occur once.
        preferences
            As in `recommend`.

        Returns
        -------
        Belief
        """
        settings = self._checked()
        applicants, keys, _ = _applicants(settings, people, preferences, None)
        if applicants.reasons:
            place, reason = next(iter(applicants.reasons.items()))
            raise DataError(f"row {plain(applicants.frame.index[place])!r} cannot be used: {reason}")
        if not applicants.frame.index.is_unique:
            label = applicants.frame.index[applicants.frame.index.duplicated()][0]
            raise DataError(f"the label {plain(label)!r} occurs more than once; a belief needs one label per person.")
        return self.cost_model_.draw(applicants.encoded, keys, settings.n_costs, applicants.preferences)

    def certify(
        self,
        plans: RecoursePlans,
        people: Iterable[Any] | None = None,
        preferences: Preferences | Mapping[Any, Preferences] | None = None,
        max_queries: int = 20_000,
        progress: bool | Callable[[float], None] = False,
        belief: Belief | None = None,
    ) -> RecoursePlans:
        """Return the plans with certificates: how far each is from the best that any set of options could reach.

        The cost functions that `recommend` drew are drawn again, and the oracle finds the least cost under each of
        them; their mean is a bound for every set of options, of whatever size. The model is asked about each state
        once per person. If the limit on rows is reached first, the bound is lower, and still holds.

        Parameters
        ----------
        plans
            What `recommend` returned, with the same settings as this object has now.
        people
            Labels of those to certify; None for all who were refused.
        preferences
            What `recommend` was given.
        max_queries
            Rows per person, at most, in addition to those of the plan.
        progress
            As in `recommend`.
        belief
            The belief that `recommend` was given, if any.
        """
        settings = self._checked()
        if not isinstance(plans, RecoursePlans):
            raise SettingError(f"plans must be what recommend returned, not {type(plans).__name__}.")
        check_same_settings(plans, self.schema, self._recorded(settings))
        applicants, keys, own = _applicants(settings, plans.people, preferences, belief)
        meter = QueryCounter(as_model(self.model, self.target, threshold=self.threshold))
        prover = Prover(settings, self.cost_model_, applicants, keys, meter, own)
        return prover.certify(plans, people, max_queries, progress)

    def recorded_settings(self) -> dict[str, Any]:
        """Return the settings as plans record them."""
        return self._recorded(self._settings())

    def _recorded(self, settings: Settings) -> dict[str, Any]:
        return settings.recorded(0 if self.distilled_ is None else self.distilled_.queries)

    def people_together(self) -> int:
        """Return how many people `recommend` searches for together: as many as their tables leave memory for."""
        return self._settings().people_together(self.cost_model_)

    def _settings(self) -> Settings:
        """Return the present settings, checked."""
        own = self.get_params(deep=False)
        return Settings(**{name: value for name, value in own.items() if name != "model"})

    def check(self) -> None:
        """Raise unless `fit` was called, and with the settings of now."""
        self._checked()

    def _checked(self) -> Settings:
        """Return the present settings; raise unless `fit` was called with the same."""
        check_is_fitted(self, "cost_model_")
        settings = self._settings()
        if self.cost_model_.schema != self.schema:
            raise SettingError("the schema was changed after fit; call fit again.")
        if self.cost_model_.distribution != CostDistribution.of(self.costs):
            raise SettingError("costs was changed after fit; call fit again.")
        return settings

    def _searcher(self, settings: Settings) -> Searcher:
        """Return the method ready to start: as it was prepared by `fit`, if it has to be."""
        method = settings.searcher
        if isinstance(method, Guided) and self.distilled_ is not None:
            now = {name: getattr(self, name) for name in ("model", "target", "threshold", "random_state")}
            self._prepared.check(now, "the surrogate of fit(X, distill=...)")
        if not isinstance(method, Preparing):
            return method
        self._prepared.check({name: getattr(self, name) for name in READ_BY_METHODS}, setting_text(self.method))
        return self._prepared.searcher

    def _check_warm_start(self, plans: RecoursePlans | None) -> None:
        if plans is None:
            return
        check_guided(as_searcher(self.method), "warm_start")
        if not isinstance(plans, RecoursePlans):
            raise SettingError(f"warm_start must be plans that recommend returned, not {type(plans).__name__}.")
        before, now = plans.schema.by_name, self.schema.by_name
        lost, added = ([n for n in one if n not in other] for one, other in ((before, now), (now, before)))
        if lost or added:
            parts = ((lost, "the schema has no"), (added, "they have no"))
            said = "; ".join(f"{text} {listed(names)}" for names, text in parts if names)
            raise SettingError(f"warm_start: the plans were made with other columns: {said}.")
        for name, feature in now.items():
            if before[name].numeric != feature.numeric:
                number = before[name].numeric
                what = "a number, and is a category now" if number else "a category, and is a number now"
                raise SettingError(f"warm_start: in those plans {name!r} was {what}.")


def _applicants(
    settings: Settings,
    people: pd.DataFrame,
    preferences: Preferences | Mapping[Any, Preferences] | None,
    belief: Belief | None,
) -> tuple[Applicants, Keys, Belief | None]:
    """Check people, with their preferences or a belief; return them, their streams, and the belief about them."""
    if check_belief(belief, preferences) is not None:
        assert belief is not None
        pairs = zip(belief.index, belief.preferences, strict=True)
        stated = {label: own for label, own in pairs if own is not None and label in people.index}
        preferences = stated or None
    applicants = Applicants.check(settings.schema, people, preferences)
    keys = keys_of_rows(applicants.encoded.content(), settings.seed)
    return applicants, keys, None if belief is None else belief_about(belief, applicants, keys, settings)
