"""The oracle: the exact least cost of an accepted state, for people whose costs are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways._progress import reporter
from leastways._validation import check_count, check_number
from leastways._values import plain, value_or_none
from leastways.costs import StatedCost, stated_costs
from leastways.errors import DataError, SettingError
from leastways.evaluation.simulate import SimulatedPeople
from leastways.models import QueryCounter, as_model, check_labels_seen
from leastways.plans import Change, changes_of
from leastways.schema import Encoded, Schema, check_columns
from leastways.search import PEOPLE_TOGETHER, Cheapest, Evaluate, cheapest_states, searches, searches_of

OracleStatus = Literal["exact", "none_exists", "bounded", "already_positive"]
_MEANINGS: dict[str, str] = {
    "exact": "the cheapest accepted state costs {cost:.4g}",
    "none_exists": "the model accepts no state that is permitted to this person",
    "bounded": "no accepted state costs less than {bound:.4g}; it is not known whether there is one",
    "already_positive": "the model accepts this person as they are",
}


@dataclass(frozen=True)
class OracleResult:
    """Result of `oracle` for one person.

    Attributes
    ----------
    person
        The person's label; None for a mapping, which has none.
    status
        `exact`: `cost` is the least cost, and `state` has it. `none_exists`: the model accepts no state that is
        permitted to this person. `bounded`: the limit on rows or on cost was reached first, or too many states broke a
        rule; every accepted state costs at least `bound`. `already_positive`: nothing needs to change.
    cost
        The least cost, infinite if none is known.
    bound
        Lower bound on the cost of every accepted state; equal to `cost` where that is exact.
    state
        The cheapest accepted state, a raw value per feature, or None.
    changes
        The changes from the present state, each with a text, as in plans.
    queries
        Rows that the model evaluated, the person's own included.
    calls
        Model calls for these rows.

    Examples
    --------
    >>> import pandas as pd
    >>> import leastways as lw
    >>> data = pd.DataFrame({"income": [10, 20, 30, 40]})
    >>> found = lw.oracle(lambda rows: rows["income"] >= 30, lw.Schema.infer(data), {"income": 10},
    ...                   lambda feature, before, after: abs(after - before) / 100)
    >>> found.status, found.cost, found.state
    ('exact', 0.2, {'income': 30})
    """

    person: Any
    status: OracleStatus
    cost: float
    bound: float
    state: Mapping[str, Any] | None
    changes: tuple[Change, ...]
    queries: int
    calls: int

    def __str__(self) -> str:
        text = _MEANINGS[self.status].format(cost=self.cost, bound=self.bound)
        who = "" if self.person is None else f"Person {self.person}: "
        head = f"{who}{text} ({self.queries:,} rows in {self.calls} calls)."
        return "\n".join([head, *(f"  - {change.text}" for change in self.changes)])


def oracle(
    model: Any,
    schema: Schema,
    person: pd.DataFrame | pd.Series[Any] | Mapping[str, Any],
    cost: SimulatedPeople | StatedCost,
    *,
    target: Any = 1,
    threshold: float = 0.5,
    max_cost: float = np.inf,
    max_queries: int = 1_000_000,
) -> OracleResult:
    """Find the cheapest accepted state, or a lower bound on its cost, for one person whose costs are known.

    States are evaluated in order of cost, many in a call, so the first accepted one is the cheapest, whatever the model
    is. Directions and rules of the schema hold; states that break one are skipped without a query. If too many have to
    be skipped (200,000, plus 20 for each state that breaks none), the search ends with the bound proven so far.

    Parameters
    ----------
    model
        As in `Recourse`.
    schema
        As in `Recourse`.
    person
        A DataFrame with one row, a row of one (a Series), or a mapping from feature to value.
    cost
        What changes cost this person, in one of three forms. What `simulate_people` returns: the hidden function of the
        person with this label. A mapping from feature to ``{value: cost}`` (or to a DataFrame, as in
        `Preferences.costs`): other values cannot be chosen, and other features not be changed. A function
        ``(feature, before, after) -> cost`` of raw values. Costs are 0 or more, or infinite; an unchanged feature costs
        nothing; costs of several changes add up.
    target
        The label that is accepted.
    threshold
        A state is accepted if its probability of `target` is at least this.
    max_cost
        Largest cost to look at: if no state up to it is accepted, the status is `bounded`.
    max_queries
        Largest number of rows that the model evaluates.
    """
    _check_limits(schema, max_cost, max_queries)
    label, frame = _one_row(schema, person)
    encoded = schema.encode(frame)
    if isinstance(cost, SimulatedPeople):
        p = _position(cost, schema, label, frame)
        samples = cost.samples.part(slice(p, p + 1))
        what = searches_of(samples)
    else:
        table, space = stated_costs(schema, encoded, frame, cost)
        none_free = np.zeros((1, len(schema.features)), np.bool_)
        what = searches(space, 1, table, none_free)
    meter = QueryCounter(as_model(model, target, threshold=threshold))
    before = {name: value_or_none(frame[name].iloc[0]) for name in schema.names}
    if meter.evaluate(schema.decode(encoded))[0] >= threshold:
        return OracleResult(label, "already_positive", 0.0, 0.0, before, (), meter.rows, meter.calls)
    found = cheapest_states(
        what,
        _judge(schema, encoded, meter),
        threshold,
        most_cost=max_cost,
        most_queries=max_queries - 1,
    )
    if found.failures:
        raise found.failures[0]
    check_labels_seen(meter.model, 1)
    state, least = None, float(found.cost[0])
    if np.isfinite(least):
        row = schema.decode(found.codes[:1], encoded, np.zeros(1, np.intp))
        state = {name: value_or_none(row[name].iloc[0]) for name in schema.names}
    return OracleResult(
        label,
        _status(found)[0],
        least,
        float(found.bound[0]),
        state,
        () if state is None else changes_of(schema, before, state),
        meter.rows,
        meter.calls,
    )


def oracle_people(
    model: Any,
    truth: SimulatedPeople,
    *,
    target: Any = 1,
    threshold: float = 0.5,
    max_cost: float = np.inf,
    max_queries: int = 1_000_000,
    progress: bool | Callable[[float], None] = False,
) -> pd.DataFrame:
    """Return a table of the oracle's status, cost, bound and queries for all simulated people together.

    The largest FS@k that any method could reach is ``fraction_satisfied(table["cost"])``; `max_cost=1` suffices for
    FS@1. A person on whose rows the model fails has the status `model_failed`, and the bound that was proven before.

    Parameters
    ----------
    model
        As in `Recourse`.
    truth
        What `simulate_people` returns.
    target, threshold, max_cost
        As in `oracle`.
    max_queries
        Rows per person, at most.
    progress
        True for a progress bar, or a function that is called with the fraction done, from 0 to 1.

    Examples
    --------
    >>> import leastways as lw
    >>> credit = lw.datasets.load_credit()
    >>> people = credit.people[credit.model(credit.people) < 0.5].head(4)
    >>> truth = lw.simulate_people(people, credit.schema(), credit.train)
    >>> lw.evaluation.oracle_people(credit.model, truth, max_cost=1, max_queries=2000).columns.tolist()
    ['status', 'cost', 'bound', 'queries']
    """
    if not isinstance(truth, SimulatedPeople):
        raise SettingError(f"truth must be what simulate_people returns, not {type(truth).__name__}.")
    schema = truth.schema
    _check_limits(schema, max_cost, max_queries)
    meter = QueryCounter(as_model(model, target, threshold=threshold))
    P = len(truth.people)
    status, cost = np.full(P, "already_positive", dtype=object), np.zeros(P)
    bound, queries = np.zeros(P), np.ones(P, np.int64)
    now, failed = meter.evaluate_by_group(schema.decode(truth.people), np.arange(P))
    for p in failed:
        status[p], cost[p], queries[p] = "model_failed", np.inf, 0
    refused = np.flatnonzero(now < threshold)
    with reporter(progress, "finding least costs") as report:
        for first in range(0, len(refused), PEOPLE_TOGETHER):
            rows = refused[first : first + PEOPLE_TOGETHER]
            samples = truth.samples.part(rows)
            found = cheapest_states(
                searches_of(samples),
                _judge(schema, truth.people.take(rows), meter),
                threshold,
                most_cost=max_cost,
                most_queries=max_queries - 1,
                progress=report.part(first, len(rows), len(refused)),
            )
            status[rows], cost[rows], bound[rows] = _status(found), found.cost, found.bound
            queries[rows] += found.queries
    check_labels_seen(meter.model, P)
    columns = {"status": pd.Series(status, dtype="str"), "cost": cost, "bound": bound, "queries": queries}
    table = pd.DataFrame(columns).set_axis(truth.index, axis=0)
    table.attrs["model_calls"], table.attrs["model_rows"] = meter.calls, meter.rows
    return table


def _status(found: Cheapest) -> NDArray[Any]:
    """Return each person's status, for one search per person."""
    out = np.where(np.isinf(found.bound), "none_exists", np.where(found.exact, "exact", "bounded")).astype(object)
    out[list(found.failures)] = "model_failed"
    return out


def _judge(schema: Schema, people: Encoded, meter: QueryCounter) -> Evaluate:
    return lambda q: meter.evaluate_by_group(schema.decode(q.codes, people, q.people), q.people)


def _check_limits(schema: object, max_cost: float, max_queries: int) -> None:
    if not isinstance(schema, Schema):
        raise SettingError(f"schema must be a leastways Schema, not {type(schema).__name__}.")
    check_number("max_cost", max_cost, 0, np.inf)
    check_count("max_queries", max_queries)


def _one_row(schema: Schema, person: object) -> tuple[Any, pd.DataFrame]:
    """Return the person's label and their row as a table."""
    label = None
    if isinstance(person, pd.DataFrame):
        if len(person) != 1:
            raise DataError(f"person must be one row; this table has {len(person)}. For many, see oracle_people.")
        label = plain(person.index[0])
        return label, check_columns(person, schema.features, schema.target)
    if isinstance(person, pd.Series):
        label = plain(person.name)
    elif not isinstance(person, Mapping):
        raise DataError(f"person must be a one-row DataFrame, a Series or a mapping, not {type(person).__name__}.")
    known = {name: np.nan if value is None else value for name, value in person.items()}
    row = pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in known.items()})
    return label, check_columns(row.infer_objects(), schema.features, schema.target)


def _position(truth: SimulatedPeople, schema: Schema, label: Any, person: pd.DataFrame) -> int:
    """Return the person's position among the simulated ones; raise unless the state is the same."""
    if truth.schema != schema:
        raise DataError("the simulated people have a different schema; use the same one for both.")
    if label is None or label not in truth.index:
        known = truth.index.tolist()
        hint = " (give them a label: the index of a one-row DataFrame, or a Series' name)" if label is None else ""
        raise DataError(f"the simulated people have no {label!r}{hint}; known: {listed(known)}.{nearest(label, known)}")
    truth.check_states(person.set_axis(pd.Index([label]), axis=0))
    return int(truth.index.get_indexer(pd.Index([label]))[0])
