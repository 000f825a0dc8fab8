"""The form on the person's page: its fields, the entries in it, and the preferences that these mean.

A feature that is locked, or whose change is "not at all" possible, is locked. The other positions of the slider become
scores: each position has a weight, and a feature's score is its weight over the sum of all weights, so that scores sum
to 1 and an easier position never makes a score smaller. "Not stated" weighs 1, a step towards easy more, towards hard
less. If all positions are the same, no change is easier than another: then scores are not given but drawn.

The weights are powers of the square root of 2 with the exponents of `_EXPONENTS`. No two differences between these are
the same, so that the positions can be recovered from scores.

Different entries can mean the same preferences, or none. So that people who return find their entries as they made
them, entries are recorded beside the preferences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from leastways._values import is_missing, plain
from leastways.costs import Preferences
from leastways.plans import differs
from leastways.schema import Feature, Schema, range_of, values_of
from leastways.server.pages.rendering import Form, first
from leastways.server.pages.texts import Catalogue, Words

EASE = ("very_easy", "easy", "not_stated", "hard", "very_hard", "not_at_all")
NOT_STATED, NOT_AT_ALL = EASE.index("not_stated"), EASE.index("not_at_all")
_EXPONENTS = (11, 5, 0, -4, -7)
_NEAR = 1e-3  # tolerance of an exponent; recorded scores are exact but for rounding
_NO_SHARE = 1e-9  # replaces a score of 0, which has no logarithm
_NO_RANGE = (None, None)


@dataclass(frozen=True)
class Entry:
    """What a person entered for one feature."""

    locked: bool = False
    ease: int = NOT_STATED
    low: float | None = None
    high: float | None = None
    accepted: tuple[Any, ...] | None = None  # categories; None: any

    @property
    def closed(self) -> bool:
        """Return whether they would not change it at all."""
        return self.locked or self.ease == NOT_AT_ALL or self.accepted == ()

    @property
    def limited(self) -> bool:
        """Return whether they accept only some values."""
        return self.low is not None or self.high is not None or self.accepted is not None


@dataclass(frozen=True)
class Problem:
    """An entry that cannot be used: its feature, and what is wrong."""

    feature: str
    kind: Literal["not_a_number", "crossed", "no_value"]


@dataclass(frozen=True)
class Entries:
    """What a person entered, by feature; features without an entry are left out."""

    by_feature: Mapping[str, Entry] = field(default_factory=dict)

    def of(self, name: str) -> Entry:
        """Return the entry for a feature."""
        return self.by_feature.get(name, Entry())

    @property
    def empty(self) -> bool:
        """Return whether nothing was entered."""
        return all(entry == Entry() for entry in self.by_feature.values())

    def open(self, names: Iterable[str]) -> list[str]:
        """Return the features of `names` that the person would change."""
        return [name for name in names if not self.of(name).closed]


def reachable(feature: Feature, present: Any) -> list[Any]:
    """List the values of the grid that can be reached from a present value."""
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
    """List the present value and those that can be reached from it."""
    return [present, *reachable(feature, present)]


def changeable(schema: Schema, state: Mapping[str, Any]) -> list[Feature]:
    """List the features that can change in a state."""
    return [f for f in schema.features if reachable(f, state[f.name])]


def read_form(
    schema: Schema,
    state: Mapping[str, Any],
    form: Mapping[str, Sequence[str]],
    number: Callable[[str], float] = float,
) -> tuple[Entries, list[Problem]]:
    """Read the fields of the form; entries that cannot be used are left out and returned as problems.

    Fields are named by the feature's position in the schema (`f3-ease`), so that no column name can break a form.
    `number` reads a number in the language of the page, or raises ValueError.
    """
    by_feature, problems = {}, []
    for feature in changeable(schema, state):
        place = f"f{schema.position(feature.name)}"
        entry, problem = _read_entry(feature, state[feature.name], place, form, number)
        by_feature[feature.name] = entry
        if problem is not None:
            problems.append(problem)
    return Entries(by_feature), problems


def _read_entry(
    feature: Feature, present: Any, place: str, form: Mapping[str, Sequence[str]], number: Callable[[str], float]
) -> tuple[Entry, Problem | None]:
    ease = _read_ease(form.get(f"{place}-ease", ()))
    locked = bool(form.get(f"{place}-lock"))
    if not feature.numeric:
        return Entry(locked, ease, accepted=_read_accepted(feature, present, place, form)), None
    low, high = (_read_number(form.get(f"{place}-{end}", ()), number) for end in ("low", "high"))
    fault = _range_fault(feature, present, low, high)
    if fault is not None and Entry(locked, ease).closed:
        return Entry(locked, ease), None  # limits of a locked feature have no effect, and their fields are hidden
    if fault is not None:
        return Entry(locked, ease), Problem(feature.name, fault)
    return Entry(locked, ease, low, high), None


def _read_ease(sent: Sequence[str]) -> int:
    """Return the position of the slider; anything else counts as not stated."""
    known = {str(place): place for place in range(len(EASE))}
    return known.get(sent[0], NOT_STATED) if sent else NOT_STATED


def _read_accepted(
    feature: Feature, present: Any, place: str, form: Mapping[str, Sequence[str]]
) -> tuple[Any, ...] | None:
    """Return the ticked categories; None if all are ticked, or if the form had no list of them."""
    if not form.get(f"{place}-listed"):
        return None
    ticked = set(form.get(f"{place}-ok", ()))
    others = reachable(feature, present)
    accepted = tuple(value for value in others if str(feature.values.index(value)) in ticked)
    return None if len(accepted) == len(others) else accepted


def _read_number(sent: Sequence[str], number: Callable[[str], float]) -> float | None:
    """Return the number of a field, None if it is empty, NaN if it is not a number."""
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
    schema: Schema, state: Mapping[str, Any], entries: Entries, before: Preferences | None = None
) -> Preferences | None:
    """Convert entries to preferences; None if they state none. At least one feature must be changeable.

    The page has no fields for `alpha`, stated costs and `editable`; those of `before` are kept as far as they still
    apply.
    """
    names = [feature.name for feature in changeable(schema, state)]
    open_to = entries.open(names)
    scores = _scores([(name, entries.of(name).ease) for name in open_to])
    ranges = {name: accepted for name in names if (accepted := _accepted(entries.of(name))) is not None}
    costs = {} if before is None else {n: table for n, table in before.costs.items() if n in open_to}
    alpha = None if before is None else before.alpha
    if before is not None and before.editable is not None and set(open_to) <= set(before.editable):
        return Preferences(open_to, scores, alpha, ranges, costs)
    preferences = Preferences(None, scores, alpha, ranges, costs, tuple(name for name in names if name not in open_to))
    return None if preferences == Preferences() else preferences


def to_record(entries: Entries) -> dict[str, Any]:
    """Return entries as plain values, to be recorded."""
    return {name: _plain_entry(entry) for name, entry in entries.by_feature.items() if entry != Entry()}


def _plain_entry(entry: Entry) -> dict[str, Any]:
    accepted = None if entry.accepted is None else [plain(value) for value in entry.accepted]
    parts = {
        "locked": entry.locked,
        "ease": EASE[entry.ease],
        "low": entry.low,
        "high": entry.high,
        "accepted": accepted,
    }
    return {part: value for part, value in parts.items() if value is not None}


def from_record(kept: Mapping[str, Any]) -> Entries:
    """Return recorded entries."""
    return Entries({name: _entry_of(parts) for name, parts in kept.items()})


def _entry_of(parts: Mapping[str, Any]) -> Entry:
    accepted = parts.get("accepted")
    known = parts["ease"] in EASE  # a later release may have other positions
    ease = EASE.index(parts["ease"]) if known else NOT_STATED
    return Entry(
        parts["locked"], ease, parts.get("low"), parts.get("high"), None if accepted is None else tuple(accepted)
    )


def _scores(answers: Sequence[tuple[str, int]]) -> dict[str, float] | None:
    if len({ease for _, ease in answers}) < 2:
        return None
    weights = {name: weight_of(ease) for name, ease in answers}
    total = math.fsum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def weight_of(ease: int) -> float:
    """Return the weight of a position of the slider."""
    return float(2.0 ** (_EXPONENTS[ease] / 2))


def _accepted(entry: Entry) -> Any:
    """Return the range of an entry as `Preferences` take it. An empty list is a lock, not a range."""
    if entry.accepted:
        return list(entry.accepted)
    bounds = (entry.low, entry.high)
    return None if bounds == _NO_RANGE else bounds


def from_preferences(schema: Schema, state: Mapping[str, Any], preferences: Preferences | None) -> Entries:
    """Convert preferences to entries, for a person who has not entered anything yet.

    Features that are locked or not editable become locks. Preferences that the form cannot express are approximated.
    """
    if preferences is None:
        return Entries()
    features = changeable(schema, state)
    editable = preferences.editable_features
    ease = _ease_of(preferences.scores or {}, [f.name for f in features])
    by_feature = {}
    for feature in features:
        locked = feature.name in preferences.locked or (editable is not None and feature.name not in editable)
        low, high, accepted = _limits_of(feature, state[feature.name], preferences.ranges.get(feature.name))
        by_feature[feature.name] = Entry(locked, ease.get(feature.name, NOT_STATED), low, high, accepted)
    return Entries(by_feature)


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
    """Recover the positions from scores: by the shift that puts every exponent on the scale, else the nearest ones."""
    shares = {name: float(scores[name]) for name in names if name in scores}
    if len(set(shares.values())) < 2:
        return {}
    exponents = 2 * np.log2(np.maximum(list(shares.values()), _NO_SHARE))
    scale = np.array(_EXPONENTS, dtype=np.float64)
    shifts = [top - exponents.max() for top in scale]
    gaps = [np.abs((exponents + shift)[:, None] - scale).min(axis=1).max() for shift in shifts]
    best = int(np.argmin(gaps))
    shift = shifts[best] if gaps[best] < _NEAR else 2 * math.log2(len(shares))  # else: an equal share is "not stated"
    nearest = np.abs((exponents + shift)[:, None] - scale).argmin(axis=1)
    return dict(zip(shares, nearest.tolist(), strict=True))


@dataclass(frozen=True)
class Tick:
    """A category with a checkbox."""

    value: str  # its position in the schema's list
    text: str
    ticked: bool


@dataclass(frozen=True)
class Field:
    """The fields for one feature."""

    place: str
    label: str
    now: str
    locked: bool
    ease: int
    ease_word: str
    unit: str = ""
    low: str = ""
    high: str = ""
    signed: bool = False  # whether a value can be negative
    ticks: tuple[Tick, ...] = ()
    limited: bool = False
    problem: str = ""


def fields(
    schema: Schema,
    texts: Catalogue,
    state: Mapping[str, Any],
    entries: Entries,
    sent: Form | None = None,
    problems: Mapping[str, str] | None = None,
) -> list[Field]:
    """Return the fields of the form. `sent` is a form that could not be used: it is shown again, with its problems."""
    words = Words(schema, texts)
    return [
        _field(words, feature, state[feature.name], entries.of(feature.name), sent or {}, problems or {})
        for feature in changeable(schema, state)
    ]


def ease_words(texts: Catalogue) -> list[str]:
    """Return the word for each position of the slider."""
    return [texts(f"ease.{name}") for name in EASE]


def _field(
    words: Words,
    feature: Feature,
    present: Any,
    entry: Entry,
    sent: Form,
    problems: Mapping[str, str],
) -> Field:
    place = f"f{words.schema.position(feature.name)}"
    shared: dict[str, Any] = {
        "place": place,
        "label": words.label(feature),
        "now": words.value(feature, present, exact=True),
        "locked": entry.locked,
        "ease": entry.ease,
        "ease_word": ease_words(words.texts)[entry.ease],
        "problem": problems.get(place, ""),
    }
    if not feature.numeric:
        ticks = tuple(
            Tick(
                str(feature.values.index(v)),
                words.value(feature, v),
                entry.accepted is None or v in entry.accepted,
            )
            for v in reachable(feature, present)
        )
        return Field(**shared, ticks=ticks, limited=entry.limited)
    low, high = ("" if end is None else words.texts.number(str(end)) for end in (entry.low, entry.high))
    if place in problems:  # as it was typed
        low, high = first(sent, f"{place}-low"), first(sent, f"{place}-high")
    return Field(
        **shared,
        unit=words.unit(feature),
        low=low,
        high=high,
        signed=any(plain(value) < 0 for value in possible(feature, present)),
        limited=entry.limited or bool(low or high),
    )
