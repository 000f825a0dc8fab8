"""Preferences of people, checked against the schema and laid out as arrays. All are followed exactly."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways._validation import is_real
from leastways._values import plain
from leastways.errors import PreferenceError, SchemaError
from leastways.schema import Feature, Schema, check_condition, condition_mask, grid_levels


@dataclass(frozen=True)
class Preferences:
    """What a person accepts and prefers. Leave out what is not known.

    Parameters
    ----------
    editable
        The features they would change; all others stay.
    scores
        Willingness per editable feature, summing to 1; a feature with a higher score costs less to change. Without
        `editable`, the features named here are the editable ones.
    alpha
        Weight of linear against percentile cost, from 0 to 1.
    ranges
        Values they accept: ``(low, high)`` for numbers, None for an open end; a list for categories. Staying is always
        accepted.
    costs
        A cost table for a feature: ``{value: cost}`` from where they are now, or a DataFrame with a row per present
        and a column per future value. Costs lie in [0, 1] or are infinite; values left out are infinite. Numbers
        must be points of the feature's grid.
    locked
        The features they would not change. Which of the others they would is not known, and drawn, unless they say.
    """

    editable: Sequence[str] | None = None
    scores: Mapping[str, float] | None = None
    alpha: float | None = None
    ranges: Mapping[str, Any] = field(default_factory=dict)
    costs: Mapping[str, Any] = field(default_factory=dict)
    locked: Sequence[str] = ()

    def check(self, schema: Schema) -> None:
        """Raise `PreferenceError` where this contradicts the schema or itself."""
        self._check_shapes()
        named = [("editable", self.editable or ()), ("scores", self.scores or ()), ("locked", self.locked)]
        for what, names in [*named, ("ranges", self.ranges), ("costs", self.costs)]:
            for name in names:
                check_changeable(schema, name, what)
        self._check_locked()
        if self.editable is not None and not len(self.editable):
            raise PreferenceError("editable is empty; name at least one feature, or leave it out.")
        self._check_scores()
        if self.alpha is not None and not _is_number(self.alpha, 0, 1):
            raise PreferenceError(f"alpha must be a number from 0 to 1, not {self.alpha!r}.")
        for name, accepted in self.ranges.items():
            _check_range(schema.by_name[name], accepted)
        for name, table in self.costs.items():
            if self.editable is not None and name not in self.editable:
                raise PreferenceError(f"costs are given for {name!r}, which is not among the editable features.")
            check_costs(schema.by_name[name], table)

    def check_person(self, schema: Schema, present: Mapping[str, Any]) -> None:
        """Raise `PreferenceError` where checked preferences do not fit this person's present values."""
        for name, table in self.costs.items():
            feature = schema.by_name[name]
            if feature.missing and pd.isna(present[name]):
                continue  # it stays missing, whatever a change would cost
            row = _cost_row(feature, table, present[name])
            if not feature.numeric:
                continue
            known = [*feature.array, float(present[name]), *(table.index if isinstance(table, pd.DataFrame) else ())]
            for value in row:
                if feature.as_held(value) not in known and value not in known:
                    near = feature.values[np.abs(feature.array - float(value)).argmin()]
                    raise PreferenceError(
                        f"the cost table of {name!r} names {plain(value)!r}, which is not on its grid, so no option "
                        f"can have it; the nearest point is {near!r}."
                    )

    def _check_shapes(self) -> None:
        for what, names in (("editable", () if self.editable is None else self.editable), ("locked", self.locked)):
            if isinstance(names, str | Mapping) or not isinstance(names, Collection):
                raise PreferenceError(f"{what} must be a list of features, not {names!r}.")
        for what in ("scores", "ranges", "costs"):
            said = getattr(self, what)
            if not isinstance(said, Mapping) and not (what == "scores" and said is None):
                raise PreferenceError(f"{what} must be a mapping from feature to its {what}, not {said!r}.")

    def _check_locked(self) -> None:
        elsewhere = {"is editable": self.editable, "has a score": self.scores, "has costs": self.costs}
        for what, names in elsewhere.items():
            for name in self.locked:
                if name in (names or ()):
                    raise PreferenceError(f"{name!r} is locked, but {what} too; say one or the other.")

    def _check_scores(self) -> None:
        if self.scores is None:
            return
        for name, score in self.scores.items():
            if not _is_number(score, 0, 1):
                raise PreferenceError(f"the score of {name!r} must be a number from 0 to 1, not {score!r}.")
            if self.editable is not None and name not in self.editable and score > 0:
                raise PreferenceError(f"{name!r} has a score but is not among the editable features.")
        total = float(sum(self.scores.values()))
        if abs(total - 1) > 1e-6:
            raise PreferenceError(f"scores must sum to 1; these sum to {total:.6g}: {dict(self.scores)!r}.")

    @property
    def editable_features(self) -> list[str] | None:
        """The features open to change, or None if any may be."""
        if self.editable is not None:
            return list(self.editable)
        return None if self.scores is None else [*self.scores, *(n for n in self.costs if n not in self.scores)]


class PreferenceTables(NamedTuple):
    """Preferences of a chunk of people as arrays."""

    has_editable: NDArray[np.bool_]  # [P]
    editable: NDArray[np.bool_]  # [P, F]
    locked: NDArray[np.bool_]  # [P, F]
    has_scores: NDArray[np.bool_]  # [P]
    scores: NDArray[np.float64]  # [P, F]
    alpha: NDArray[np.float64]  # [P], NaN: not said
    accepted: NDArray[np.bool_]  # [P, V] inside the ranges they gave
    given: NDArray[np.float64]  # [P, V] costs they stated, NaN elsewhere


def preference_tables(
    schema: Schema,
    levels: Sequence[NDArray[np.float64]],
    start: NDArray[np.int32],
    preferences: Sequence[Preferences | None],
) -> PreferenceTables:
    """Lay out checked preferences, one entry per person; people who share an object are filled in together."""
    P, F, V = len(start), len(schema.features), int(schema.offsets[-1])
    tables = PreferenceTables(
        has_editable=np.zeros(P, np.bool_),
        editable=np.zeros((P, F), np.bool_),
        locked=np.zeros((P, F), np.bool_),
        has_scores=np.zeros(P, np.bool_),
        scores=np.zeros((P, F)),
        alpha=np.full(P, np.nan),
        accepted=np.ones((P, V), np.bool_),
        given=np.full((P, V), np.nan),
    )
    groups: dict[int, list[int]] = {}
    for p, told in enumerate(preferences):
        if told is not None:
            groups.setdefault(id(told), []).append(p)
    for members in groups.values():
        told = preferences[members[0]]
        assert told is not None
        _fill(tables, schema, levels, start, told, np.array(members))
    return tables


def _fill(
    tables: PreferenceTables,
    schema: Schema,
    levels: Sequence[NDArray[np.float64]],
    start: NDArray[np.int32],
    told: Preferences,
    rows: NDArray[np.intp],
) -> None:
    names = told.editable_features
    if names is not None:
        tables.has_editable[rows] = True
        places = np.array([schema.position(n) for n in names], dtype=np.intp)
        tables.editable[rows[:, None], places] = True
    for name in told.locked:
        tables.locked[rows, schema.position(name)] = True
    if told.scores is not None:
        tables.has_scores[rows] = True
        for name, score in told.scores.items():
            tables.scores[rows, schema.position(name)] = score
    if told.alpha is not None:
        tables.alpha[rows] = told.alpha
    for name, accepted in told.ranges.items():
        f = schema.position(name)
        lo, hi = schema.offsets[f], schema.offsets[f + 1]
        tables.accepted[rows, lo:hi] = condition_mask(schema.features[f], accepted, levels[f][rows])
    for name, table in told.costs.items():
        f = schema.position(name)
        lo, hi = schema.offsets[f], schema.offsets[f + 1]
        for row in rows[~np.isnan(levels[f][rows, start[rows, f]])]:  # what is missing stays
            own = levels[f][row, start[row, f]]
            tables.given[row, lo:hi] = given_costs(schema.features[f], table, own, levels[f][row])


def given_costs(feature: Feature, table: Any, own: float, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the stated cost of each slot of one person's grid, infinite where none was stated."""
    row = _cost_row(feature, table, own if feature.numeric else feature.values[int(own)])
    out = np.full(len(levels), np.inf)
    for value, cost in row.items():
        level = feature.as_held(float(value)) if feature.numeric else feature.values.index(value)
        out[levels == level] = cost
    return out


def _cost_row(feature: Feature, table: Any, present: Any) -> dict[Any, float]:
    """Return the stated cost of each future value for a person with this present value."""
    if not isinstance(table, pd.DataFrame):
        return dict(table)
    if feature.numeric:
        at = feature.as_held(table.index.to_numpy(dtype=np.float64)) == feature.as_held(float(present))
    else:
        at = table.index.to_numpy(dtype=object) == present
    if not at.any():
        raise PreferenceError(
            f"the cost table of {feature.name!r} has no row for the present value {plain(present)!r}; "
            f"it has {listed(table.index.tolist())}."
        )
    return dict(zip(table.columns.tolist(), table.to_numpy()[at.argmax()].tolist(), strict=True))


def _check_range(feature: Feature, accepted: Any) -> None:
    try:
        check_condition(feature, accepted, "ranges")
    except SchemaError as error:
        raise PreferenceError(str(error)) from error
    if not condition_mask(feature, accepted, grid_levels(feature)).any():
        raise PreferenceError(
            f"ranges: no point of the grid of {feature.name!r} lies in {accepted!r}; allowed: {feature.allowed_text()}."
        )


def check_costs(feature: Feature, table: Any, most: float = 1.0) -> None:
    """Raise unless a cost table names values of the feature and costs from 0 to `most`, or infinite ones."""
    where = f"the cost table of {feature.name!r}"
    if isinstance(table, pd.DataFrame):
        for what, labels in (("row", table.index), ("column", table.columns)):
            if labels.has_duplicates:
                raise PreferenceError(f"{where} has a {what} twice: {listed(labels[labels.duplicated()].tolist())}.")
        present, future, costs = [*table.index], [*table.columns], table.stack(future_stack=True).to_dict()
    elif isinstance(table, Mapping):
        present, future, costs = [], list(table), dict(table)
    else:
        raise PreferenceError(
            f"{where} must be a mapping from value to cost or a DataFrame (present values down, future values across), "
            f"not {type(table).__name__}."
        )
    for value in (*present, *future):
        allowed = feature.allowed_text()
        if not feature.numeric:
            known = value in feature.values
        elif value in present or costs.get(value) == 0:  # where somebody stands, which may be beyond the grid's ends
            known, allowed = _is_number(value, *feature.possible), feature.possible_text()
        else:
            known = _is_number(value, feature.values[0], feature.values[-1])
        if not known:
            hint = "" if feature.numeric else nearest(value, feature.values)
            raise PreferenceError(f"{where} names {plain(value)!r}; allowed: {allowed}.{hint}")
    for place, cost in costs.items():
        if not (_is_number(cost, 0, most) or cost == np.inf):
            to = " to ".join(repr(plain(v)) for v in place) if isinstance(place, tuple) else repr(plain(place))
            allowed = "lie in [0, 1]" if most == 1 else "are 0 or more"
            raise PreferenceError(f"{where}: {to} costs {plain(cost)!r}; costs {allowed} or are infinite.")


def check_changeable(schema: Schema, name: object, what: str) -> None:
    """Raise unless this is a feature that people may change."""
    if not isinstance(name, str) or name not in schema.by_name:
        raise PreferenceError(f"{what} names {name!r}, which is no feature." + nearest(name, schema.names))
    if schema.by_name[name].direction == "fixed":
        open_to = [f.name for f in schema.features if f.direction != "fixed"]
        raise PreferenceError(f"{what} names {name!r}, which is fixed. Open to change: {listed(open_to, 40)}.")


def _is_number(value: object, low: float, high: float) -> bool:
    return is_real(value) and low <= float(value) <= high


def preferences_by_row(
    index: pd.Index[Any], preferences: Preferences | Mapping[Any, Preferences] | None
) -> dict[int, Preferences]:
    """Return the preferences of people by their row in a table, given one for all or a mapping from labels."""
    if preferences is None:
        return {}
    if isinstance(preferences, Preferences):
        return dict.fromkeys(range(len(index)), preferences)
    check_preferences_by_label(preferences)
    out = {}
    for label, given in preferences.items():
        if label not in index:
            raise PreferenceError(
                f"preferences name a person {plain(label)!r} who is not in the table." + nearest(label, index)
            )
        out[int(index.get_loc(label))] = given  # type: ignore[arg-type]
    return out


def check_preferences_by_label(preferences: object) -> None:
    """Raise unless these are preferences by label; whether a table has the labels is not checked."""
    if not isinstance(preferences, Mapping):
        raise PreferenceError(
            "preferences must be a Preferences object, or a mapping from a person's label to one, "
            f"not {type(preferences).__name__}."
        )
    for label, given in preferences.items():
        if not isinstance(given, Preferences):
            raise PreferenceError(f"the preferences of {plain(label)!r} must be a Preferences object, not {given!r}.")
