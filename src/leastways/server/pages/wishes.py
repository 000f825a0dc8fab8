"""What a person says on their page, as `Preferences`, and back again.

A feature they lock, or change "not at all", is locked. How easy the others are for them becomes scores: each
answer has a weight, and a feature's score is its weight over the sum of all weights, so that scores sum to 1 and an
easier answer never makes a score smaller. "Not said" weighs 1, a step towards easy more, towards hard less. Answers
that are all the same do not say which change is easier than which: then no scores are given, and they are drawn.

The weights are powers of the square root of 2 with the exponents of `_EXPONENTS`. No two differences between these are
the same, so the answers can be read off scores.

Much of what can be said means the same preferences, and some of it none. So that a person who comes back finds what
they said, it is kept as they said it, beside the preferences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from leastways._messages import plain
from leastways._validation import is_missing
from leastways.costs import Preferences
from leastways.plans.wording import differs
from leastways.schema import Feature, Schema
from leastways.schema.rules import range_of, values_of

EASE = ("very_easy", "easy", "not_said", "hard", "very_hard", "not_at_all")
NOT_SAID, NOT_AT_ALL = EASE.index("not_said"), EASE.index("not_at_all")
_EXPONENTS = (11, 5, 0, -4, -7)
_NEAR = 1e-3  # of an exponent; recorded scores are exact but for rounding
_NO_SHARE = 1e-9  # stands for a score of 0, which has no logarithm
_UNSAID_RANGE = (None, None)


@dataclass(frozen=True)
class Wish:
    """What a person said of one feature."""

    locked: bool = False
    ease: int = NOT_SAID
    low: float | None = None
    high: float | None = None
    accepted: tuple[Any, ...] | None = None  # categories; None: any

    @property
    def closed(self) -> bool:
        """Whether they would not change it at all."""
        return self.locked or self.ease == NOT_AT_ALL or self.accepted == ()

    @property
    def limited(self) -> bool:
        """Whether they accept only some values."""
        return self.low is not None or self.high is not None or self.accepted is not None


@dataclass(frozen=True)
class Problem:
    """An answer that cannot be used: of which feature, and what is wrong with it."""

    feature: str
    kind: Literal["not_a_number", "crossed", "no_value"]


@dataclass(frozen=True)
class Wishes:
    """What a person said of everything they may change. What they left out, they did not say."""

    said: Mapping[str, Wish] = field(default_factory=dict)

    def of(self, name: str) -> Wish:
        """Return what was said of a feature."""
        return self.said.get(name, Wish())

    @property
    def empty(self) -> bool:
        """Whether nothing was said."""
        return all(wish == Wish() for wish in self.said.values())

    def open(self, names: Iterable[str]) -> list[str]:
        """Return those features that they would change."""
        return [name for name in names if not self.of(name).closed]


def reachable(feature: Feature, present: Any) -> list[Any]:
    """List the values of the grid that a person at this value could move to."""
    if feature.direction == "fixed" or is_missing(present):
        return []
    if feature.direction == "any":
        there = [value for value in feature.values if differs(feature, present, value)]
    elif feature.numeric:
        up = feature.direction == "up"
        there = [value for value in feature.values if (value > present if up else value < present)]
    else:
        at = feature.values.index(present)
        there = list(feature.values[at + 1 :] if feature.direction == "up" else feature.values[:at])
    return [value for value in there if value not in feature.excluded]


def possible(feature: Feature, present: Any) -> list[Any]:
    """List the values that a person at this value may have: theirs, and those that they could move to."""
    return [present, *reachable(feature, present)]


def changeable(schema: Schema, state: Mapping[str, Any]) -> list[Feature]:
    """List the features in which a person in this state has anywhere to go."""
    return [f for f in schema.features if reachable(f, state[f.name])]


def read_form(
    schema: Schema,
    state: Mapping[str, Any],
    form: Mapping[str, Sequence[str]],
    number: Callable[[str], float] = float,
) -> tuple[Wishes, list[Problem]]:
    """Read the fields of the form: all values sent under each name. What cannot be used is left out and named.

    Fields are named by the feature's place in the schema (`f3-ease`), so that no column name can upset a form. `number`
    reads one in the language of the page; it raises ValueError for what is none.
    """
    said, problems = {}, []
    for feature in changeable(schema, state):
        place = f"f{schema.position(feature.name)}"
        wish, problem = _read_wish(feature, state[feature.name], place, form, number)
        said[feature.name] = wish
        if problem is not None:
            problems.append(problem)
    return Wishes(said), problems


def _read_wish(
    feature: Feature, present: Any, place: str, form: Mapping[str, Sequence[str]], number: Callable[[str], float]
) -> tuple[Wish, Problem | None]:
    ease = _read_ease(form.get(f"{place}-ease", ()))
    locked = bool(form.get(f"{place}-lock"))
    if not feature.numeric:
        return Wish(locked, ease, accepted=_read_accepted(feature, present, place, form)), None
    low, high = (_read_number(form.get(f"{place}-{end}", ()), number) for end in ("low", "high"))
    fault = _range_fault(feature, present, low, high)
    if fault is not None and Wish(locked, ease).closed:
        return Wish(locked, ease), None  # limits of what stays as it is say nothing, and their fields are out of sight
    if fault is not None:
        return Wish(locked, ease), Problem(feature.name, fault)
    return Wish(locked, ease, low, high), None


def _read_ease(sent: Sequence[str]) -> int:
    """Return the answer sent; anything that no slider of ours sends counts as not said."""
    known = {str(place): place for place in range(len(EASE))}
    return known.get(sent[0], NOT_SAID) if sent else NOT_SAID


def _read_accepted(
    feature: Feature, present: Any, place: str, form: Mapping[str, Sequence[str]]
) -> tuple[Any, ...] | None:
    """Return the categories ticked; None if all are, or if the form had no list of them."""
    if not form.get(f"{place}-listed"):
        return None
    ticked = set(form.get(f"{place}-ok", ()))
    others = reachable(feature, present)
    accepted = tuple(value for value in others if str(feature.values.index(value)) in ticked)
    return None if len(accepted) == len(others) else accepted


def _read_number(sent: Sequence[str], number: Callable[[str], float]) -> float | None:
    """Return the number sent, None for an empty field, NaN for what is no number."""
    text = sent[0].strip() if sent else ""
    if not text:
        return None
    try:
        value = number(text)
    except ValueError:
        return math.nan
    if not math.isfinite(value):
        return math.nan
    return int(value) if value.is_integer() else value


def _range_fault(
    feature: Feature, present: Any, low: float | None, high: float | None
) -> Literal["not_a_number", "crossed", "no_value"] | None:
    bounds = (-math.inf if low is None else low, math.inf if high is None else high)
    if any(math.isnan(bound) for bound in bounds):
        return "not_a_number"
    if bounds[0] > bounds[1]:
        return "crossed"
    least, most = (feature.as_held(bound) for bound in bounds)
    return None if any(least <= value <= most for value in possible(feature, present)) else "no_value"


def to_preferences(
    schema: Schema, state: Mapping[str, Any], wishes: Wishes, before: Preferences | None = None
) -> Preferences | None:
    """Return what the wishes mean, or None if they say nothing. At least one feature must be open.

    The page does not ask about `alpha`, stated costs, and whether somebody would surely change a feature; what `before`
    says of these is kept as far as it still applies.
    """
    names = [feature.name for feature in changeable(schema, state)]
    open_to = wishes.open(names)
    scores = _scores([(name, wishes.of(name).ease) for name in open_to])
    ranges = {name: accepted for name in names if (accepted := _accepted(wishes.of(name))) is not None}
    costs = {} if before is None else {n: table for n, table in before.costs.items() if n in open_to}
    alpha = None if before is None else before.alpha
    if before is not None and before.editable is not None and set(open_to) <= set(before.editable):
        return Preferences(open_to, scores, alpha, ranges, costs)
    said = Preferences(None, scores, alpha, ranges, costs, tuple(name for name in names if name not in open_to))
    return None if said == Preferences() else said


def to_record(wishes: Wishes) -> dict[str, Any]:
    """Return what was said as plain values, to be kept."""
    return {name: _plain_wish(wish) for name, wish in wishes.said.items() if wish != Wish()}


def _plain_wish(wish: Wish) -> dict[str, Any]:
    accepted = None if wish.accepted is None else [plain(value) for value in wish.accepted]
    said = {"locked": wish.locked, "ease": EASE[wish.ease], "low": wish.low, "high": wish.high, "accepted": accepted}
    return {part: value for part, value in said.items() if value is not None}


def from_record(kept: Mapping[str, Any]) -> Wishes:
    """Return the wishes that were kept."""
    return Wishes({name: _wish_of(said) for name, said in kept.items()})


def _wish_of(said: Mapping[str, Any]) -> Wish:
    accepted = said.get("accepted")
    ease = EASE.index(said["ease"]) if said["ease"] in EASE else NOT_SAID  # of a release that had other words
    return Wish(said["locked"], ease, said.get("low"), said.get("high"), None if accepted is None else tuple(accepted))


def _scores(answers: Sequence[tuple[str, int]]) -> dict[str, float] | None:
    if len({ease for _, ease in answers}) < 2:
        return None
    weights = {name: weight_of(ease) for name, ease in answers}
    total = math.fsum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def weight_of(ease: int) -> float:
    """Return how much an answer weighs."""
    return float(2.0 ** (_EXPONENTS[ease] / 2))


def _accepted(wish: Wish) -> Any:
    """Return the range of a wish as `Preferences` take it. An empty list is a lock, not a range."""
    if wish.accepted:
        return list(wish.accepted)
    bounds = (wish.low, wish.high)
    return None if bounds == _UNSAID_RANGE else bounds


def from_preferences(schema: Schema, state: Mapping[str, Any], preferences: Preferences | None) -> Wishes:
    """Return wishes that mean these preferences, for whoever has not said anything on the page yet.

    A lock stands for what is locked, or not editable. Preferences from elsewhere are read as nearly as can be.
    """
    if preferences is None:
        return Wishes()
    features = changeable(schema, state)
    editable = preferences.editable_features
    ease = _ease_of(preferences.scores or {}, [f.name for f in features])
    said = {}
    for feature in features:
        locked = feature.name in preferences.locked or (editable is not None and feature.name not in editable)
        low, high, accepted = _limits_of(feature, state[feature.name], preferences.ranges.get(feature.name))
        said[feature.name] = Wish(locked, ease.get(feature.name, NOT_SAID), low, high, accepted)
    return Wishes(said)


def _limits_of(
    feature: Feature, present: Any, accepted: Any
) -> tuple[float | None, float | None, tuple[Any, ...] | None]:
    if accepted is None:
        return None, None, None
    if not feature.numeric:
        values = values_of(accepted)
        return None, None, tuple(value for value in reachable(feature, present) if value in values)
    low, high = range_of(accepted) or (min(values_of(accepted)), max(values_of(accepted)))
    return low, high, None


def _ease_of(scores: Mapping[str, float], names: Sequence[str]) -> dict[str, int]:
    """Read the answers off scores: the one shift that puts every exponent on the scale, else what is nearest."""
    shares = {name: float(scores[name]) for name in names if name in scores}
    if len(set(shares.values())) < 2:
        return {}
    exponents = 2 * np.log2(np.maximum(list(shares.values()), _NO_SHARE))
    scale = np.array(_EXPONENTS, dtype=np.float64)
    shifts = [top - exponents.max() for top in scale]
    gaps = [np.abs((exponents + shift)[:, None] - scale).min(axis=1).max() for shift in shifts]
    best = int(np.argmin(gaps))
    shift = shifts[best] if gaps[best] < _NEAR else 2 * math.log2(len(shares))  # else: an even share is "not said"
    nearest = np.abs((exponents + shift)[:, None] - scale).argmin(axis=1)
    return dict(zip(shares, nearest.tolist(), strict=True))
