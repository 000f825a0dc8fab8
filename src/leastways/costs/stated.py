"""One whole cost function, written down by hand: a table per feature, or a function of feature, before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import plain
from leastways._validation import is_real
from leastways.costs.model import offered_values, permitted, rule_tables
from leastways.costs.preferences import Preferences, check_changeable, check_costs, given_costs
from leastways.errors import PreferenceError
from leastways.kernels.rules import RuleTables
from leastways.schema import Encoded, Schema
from leastways.schema.codec import finite, levels_of, slots_used

StatedCost = Mapping[str, Any] | Callable[[str, Any, Any], float]


def stated_costs(
    schema: Schema, people: Encoded, person: pd.DataFrame, cost: StatedCost
) -> tuple[NDArray[np.float64], RuleTables]:
    """Lay out what one person's moves cost, [1, V], infinite where they may not; and the rules they are under."""
    levels = levels_of(schema.features, people)
    V = int(schema.offsets[-1])
    changeable = np.array([[f.direction != "fixed" for f in schema.features]]) & ~people.missing
    nothing = np.full((1, V), np.nan)
    used = slots_used(schema.features, people)
    may = permitted(schema, people, used, changeable, offered_values(schema, people), nothing)[0]
    may[schema.offsets[:-1] + people.codes[0]] = False  # where they are
    costs = np.full(V, np.inf)
    if callable(cost):
        _ask(schema, people, person, cost, may, costs)
    else:
        _look_up(schema, people, person, cost, levels, costs)
    costs[~may] = np.inf
    costs[schema.offsets[:-1] + people.codes[0]] = 0.0
    return costs[None, :], rule_tables(schema, levels, np.concatenate(finite(schema.features, levels), axis=1))


def _look_up(
    schema: Schema,
    people: Encoded,
    person: pd.DataFrame,
    cost: Mapping[str, Any],
    levels: list[NDArray[np.float64]],
    costs: NDArray[np.float64],
) -> None:
    if not isinstance(cost, Mapping) or not len(cost):
        raise PreferenceError(
            "cost must be what simulate_people returns, a mapping from feature to {value: cost}, or a function "
            f"(feature, before, after) -> cost, not {cost!r}."
        )
    for name, table in cost.items():
        check_changeable(schema, name, "cost")
        check_costs(schema.by_name[name], table, most=np.inf)
    Preferences(costs=cost).check_person(schema, {name: person[name].iloc[0] for name in cost})
    for name, table in cost.items():
        f = schema.position(name)
        own = levels[f][0, people.codes[0, f]]
        if np.isnan(own):
            continue  # it stays missing, whatever a change would cost
        costs[schema.offsets[f] : schema.offsets[f + 1]] = given_costs(schema.features[f], table, own, levels[f][0])


def _ask(
    schema: Schema,
    people: Encoded,
    person: pd.DataFrame,
    cost: Callable[[str, Any, Any], float],
    may: NDArray[np.bool_],
    costs: NDArray[np.float64],
) -> None:
    """Ask the function about every permitted value, as raw values."""
    slots = np.flatnonzero(may)
    features = np.searchsorted(schema.offsets, slots, side="right") - 1
    codes = np.repeat(people.codes, len(slots), axis=0)
    codes[np.arange(len(slots)), features] = slots - schema.offsets[features]
    raw = schema.decode(codes, people, np.zeros(len(slots), np.intp))
    columns = [raw[name].tolist() for name in schema.names]
    for row, (slot, f) in enumerate(zip(slots.tolist(), features.tolist(), strict=True)):
        name, before, after = schema.names[f], plain(person[schema.names[f]].iloc[0]), columns[f][row]
        said = plain(cost(name, before, after))
        if not is_real(said) or not float(said) >= 0.0:
            raise PreferenceError(
                f"cost({name!r}, {before!r}, {after!r}) returned {said!r}; costs are 0 or more or infinite."
            )
        costs[slot] = float(said)
