"""People on whom two methods can be compared, and the stated preferences that annotators see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leastways._messages import listed
from leastways._random import keys_of_labels, stream
from leastways._values import plain
from leastways.costs import Preferences
from leastways.errors import DataError, PreferenceError
from leastways.evaluation import SimulatedPeople
from leastways.plans import RecoursePlans, value_text
from leastways.schema import Feature, Schema, range_of, values_of

Profiles = SimulatedPeople | Mapping[Any, Preferences] | Preferences | None


@dataclass(frozen=True)
class Comparable:
    """The people on whom two methods can be compared, and why the others cannot be used."""

    people: pd.Index[Any]
    left_out: dict[str, int]


def comparable_people(one: RecoursePlans, two: RecoursePlans) -> Comparable:
    """Return the people who are refused in both plans and have an option in at least one."""
    if one.schema != two.schema:
        raise DataError("the two plans have different schemas; make both with the same one.")
    both = one.summary.index[one.summary.index.isin(two.summary.index)]
    if both.empty:
        raise DataError(
            f"the two plans share no person: one has {listed(one.summary.index.tolist(), 4)}, "
            f"the other {listed(two.summary.index.tolist(), 4)}."
        )
    summaries = [plans.summary.loc[both] for plans in (one, two)]
    unusable, accepted = (
        np.logical_or(*((s["status"] == status).to_numpy() for s in summaries))
        for status in ("invalid_input", "already_positive")
    )
    empty = np.logical_and(*((s["n_options"] == 0).to_numpy() for s in summaries))
    good = ~unusable & ~accepted & ~empty
    _check_same_states(one, two, both[~unusable])
    counts = {
        "in one of the two plans only": len(one) + len(two) - 2 * len(both),
        "their row could not be used": int(unusable.sum()),
        "the model accepts them already": int((accepted & ~unusable).sum()),
        "no option from either method": int((empty & ~accepted & ~unusable).sum()),
    }
    return Comparable(both[good], {why: n for why, n in counts.items() if n})


def _check_same_states(one: RecoursePlans, two: RecoursePlans, labels: pd.Index[Any]) -> None:
    for feature in one.schema.features:
        columns = [plans.people.loc[labels, feature.name] for plans in (one, two)]
        gone = [c.isna().to_numpy() for c in columns]
        there = ~(gone[0] | gone[1])
        if feature.numeric:
            a, b = (feature.as_held(c[there].to_numpy(np.float64)) for c in columns)
        else:
            a, b = (c[there].to_numpy(dtype=object) for c in columns)
        differ = gone[0] != gone[1]
        differ[there] = a != b
        places = np.flatnonzero(differ)
        if len(places):
            p = int(places[0])
            raise DataError(
                f"the two plans are of different people: {feature.name!r} of person {plain(labels[p])!r} is "
                f"{plain(columns[0].iloc[p])!r} in one and {plain(columns[1].iloc[p])!r} in the other."
            )


def draw_people(labels: pd.Index[Any], n: int, seed: int) -> list[Any]:
    """Draw `n` people at random, in random order; the result does not depend on the order of the table."""
    lots = stream(keys_of_labels(labels.tolist(), seed), "study people")
    return [plain(labels[i]) for i in np.argsort(lots, kind="stable")[:n]]


def profiles_of(profiles: Profiles, schema: Schema, labels: pd.Index[Any]) -> dict[Any, Preferences]:
    """Return the profile of each person who has one, checked."""
    if profiles is None:
        return {}
    if isinstance(profiles, SimulatedPeople):
        if profiles.schema != schema:
            raise DataError("plans and simulated people have different schemas; use the same one for both.")
        profiles = profiles.preferences
    if isinstance(profiles, Preferences):
        found = dict.fromkeys(labels.tolist(), profiles)
    elif isinstance(profiles, Mapping):
        found = {label: profiles[label] for label in labels.tolist() if label in profiles}
    else:
        raise PreferenceError(
            "profiles must be simulated people, a Preferences object, or a mapping from a person's label to one, "
            f"not {type(profiles).__name__}."
        )
    for label, profile in found.items():
        _check_profile(label, profile, schema)
    return found


def _check_profile(label: Any, profile: object, schema: Schema) -> None:
    if not isinstance(profile, Preferences):
        raise PreferenceError(f"the profile of {plain(label)!r} must be a Preferences object, not {profile!r}.")
    profile.check(schema)
    if profile.costs:
        raise PreferenceError(
            f"the profile of {plain(label)!r} has cost tables, which a form cannot show to an annotator; "
            "use editable, locked, scores and ranges."
        )
    if profile.editable_features is None and not profile.ranges and not profile.locked:
        raise PreferenceError(f"the profile of {plain(label)!r} has nothing that a form could show to an annotator.")
    if not stated_preferences(schema, profile):
        raise PreferenceError(f"the profile of {plain(label)!r} locks everything; leave open what they would change.")


@dataclass(frozen=True)
class StatedPreference:
    """A feature that a person would change: how willingly (a share, if known) and within which limits."""

    wording: str
    score: float | None
    limits: str

    @property
    def percent(self) -> str:
        """The score as a percentage; empty where none is known."""
        if self.score is None:
            return ""
        percent = 100 * self.score
        return f"{percent:.0f} %" if percent >= 1 or percent == 0 else "under 1 %"


def stated_preferences(schema: Schema, profile: Preferences) -> tuple[StatedPreference, ...]:
    """Return a profile in words, the most willing change first."""
    names = profile.editable_features
    if names is None:
        names = [f.name for f in schema.features if f.direction != "fixed" and f.name not in profile.locked]
    scores = profile.scores or {}
    preferences = [
        StatedPreference(
            schema.by_name[name].wording,
            float(scores.get(name, 0.0)) if profile.scores is not None else None,
            _limits(schema.by_name[name], profile.ranges.get(name)),
        )
        for name in names
    ]
    return tuple(sorted(preferences, key=lambda preference: -(preference.score or 0.0)))


def _limits(feature: Feature, accepted: Any) -> str:
    """Return in words which values a person accepts; empty where they set no limits."""
    if accepted is None:
        return ""
    bounds = range_of(accepted)
    if bounds is None:
        return "only " + " or ".join(value_text(feature, value) for value in values_of(accepted))
    words = zip(("at least", "at most"), bounds, strict=True)
    return " and ".join(f"{word} {value_text(feature, end)}" for word, end in words if end is not None)


def profile_to_json(profile: Preferences | None) -> dict[str, Any] | None:
    """Return a profile for JSON."""
    if profile is None:
        return None
    ranges: dict[str, Any] = {}
    for name, accepted in profile.ranges.items():
        bounds = range_of(accepted)
        if bounds is None:
            ranges[name] = [plain(v) for v in values_of(accepted)]
        else:
            ranges[name] = {k: plain(v) for k, v in zip(("min", "max"), bounds, strict=True) if v is not None}
    scores = None if profile.scores is None else {name: float(score) for name, score in profile.scores.items()}
    return {"editable": profile.editable_features, "locked": list(profile.locked), "scores": scores, "ranges": ranges}
