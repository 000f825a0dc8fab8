"""What the person's page shows, worked out before any template sees it: sentences, facts, cards, a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leastways.plans import RecourseOption, RecoursePlan
from leastways.schema import Schema
from leastways.server.pages.texts import Catalogue
from leastways.server.pages.ways import Way, ways
from leastways.server.pages.wishes import Problem, Wishes, changeable, possible
from leastways.server.pages.words import ChangeView, Words

_EFFORT = ((0.1, "small"), (0.3, "moderate"), (0.6, "large"))  # cost below -> word; above all of them: very large
_RARELY = 0.005
_TIE = 5e-7  # plans have six decimals
_FULL = 100  # the width of a bar, in its own units: a cost of 1, the most that one change can cost, or more


@dataclass(frozen=True)
class Fact:
    """Something the decision rests on."""

    label: str
    value: str


@dataclass(frozen=True)
class OptionView:
    """A card: one way to a yes."""

    number: int  # as the service knows it
    rank: int  # as the person sees it
    title: str
    in_words: str  # all of it, as a button is called: two options may change the same things
    changes: tuple[ChangeView, ...]
    more: tuple[str, ...]  # what asks more of the same things, in words
    effort: str
    effort_width: int  # 0: no bar
    easiest_for: str
    score: str
    chosen: bool


@dataclass(frozen=True)
class Compared:
    """A row of the comparison: a feature now, and under each option; None where an option leaves it as it is."""

    label: str
    now: str
    then: tuple[str | None, ...]


@dataclass(frozen=True)
class Miss:
    """The nearest that the search came to a yes."""

    changes: tuple[ChangeView, ...]
    score: str


@dataclass(frozen=True)
class PersonView:
    """The whole page, but for the form's own fields."""

    answer_id: str
    status: str
    decision: str
    score: str
    headline: str
    explanation: str
    advice: str
    facts: tuple[Fact, ...]
    fixed: tuple[Fact, ...]
    options: tuple[OptionView, ...]
    effort_note: str
    compared: tuple[Compared, ...]
    miss: Miss | None
    problems: tuple[tuple[str, str], ...]  # field, sentence
    chosen: str
    chosen_reason: str


@dataclass(frozen=True)
class Said:
    """What a person said they would do: the state they would come to, or None and why nothing fits."""

    taken: Mapping[str, Any] | None
    reason: str


@dataclass(frozen=True)
class Told:
    """What is known when a page is made: the plan, what the person said, and what they chose."""

    answer_id: str
    plan: RecoursePlan
    wishes: Wishes
    threshold: float
    choice: Said | None = None
    problems: Sequence[Problem] = ()
    all_closed: bool = False


def person_view(schema: Schema, texts: Catalogue, told: Told) -> PersonView:
    """Work out everything the page says."""
    words = Words(schema, texts)
    plan = told.plan
    offered = [] if told.all_closed else ways(schema, plan.state, plan.options)
    options = _cards(words, told, offered)
    status = "all_closed" if told.all_closed else plan.status
    facts, fixed = _facts(words, plan.state)
    return PersonView(
        answer_id=told.answer_id,
        status=status,
        decision=texts("decision.accepted" if plan.status == "already_positive" else "decision.refused"),
        score=_score(
            texts, plan.probability, told.threshold, "decision.score", accepted=plan.status == "already_positive"
        ),
        headline=texts.count("options.found", len(options)) if options else texts(f"nothing.{status}.headline"),
        explanation=_explanation(texts, status, options, told),
        advice=_advice(schema, texts, told) if not options else "",
        facts=facts,
        fixed=fixed,
        options=options,
        effort_note=texts("options.effort_note" if told.wishes.empty else "options.effort_note_said"),
        compared=_compared(words, plan.state, [way.option for way in offered]),
        miss=None if options or told.all_closed else _miss(words, told),
        problems=tuple(_problem(words, problem, plan.state) for problem in told.problems),
        **_chosen(words, told),
    )


def _cards(words: Words, told: Told, offered: Sequence[Way]) -> tuple[OptionView, ...]:
    return tuple(_card(words, told, way, rank) for rank, way in enumerate(offered, 1))


def _card(words: Words, told: Told, way: Way, rank: int) -> OptionView:
    texts, option, state = words.texts, way.option, told.plan.state
    cost = option.expected_cost
    changes = tuple(words.changes(state, option.values))
    word = next((name for limit, name in _EFFORT if cost < limit), "very_large")
    width = max(2, round(_FULL * min(cost, 1.0)))  # by the cost itself, as the word: other options do not count
    names = [feature.name for feature in changeable(words.schema, state)]
    if len(told.wishes.open(names)) == 1:  # by the formula it is free, whatever it takes: nothing to weigh it by
        word, width = "unknown", 0
    return OptionView(
        number=option.number,
        rank=rank,
        title=texts.listing([change.label for change in changes]),
        in_words=_in_words(texts, changes),
        changes=changes,
        more=tuple(_in_a_line(words, state, other) for other in way.more),
        effort=texts(f"effort.{word}"),
        effort_width=width,
        easiest_for=_easiest_for(texts, way.best_for, told),
        score=_score(texts, option.probability, told.threshold, "options.score", accepted=True),
        chosen=told.choice is not None and told.choice.taken == option.values,
    )


def _in_words(texts: Catalogue, changes: Sequence[ChangeView]) -> str:
    return texts.listing([texts("choice.change", label=c.label, before=c.before, after=c.after) for c in changes])


def _in_a_line(words: Words, state: Mapping[str, Any], option: RecourseOption) -> str:
    texts = words.texts
    parts = [texts("options.more_change", label=c.label, after=c.after) for c in words.changes(state, option.values)]
    return texts.listing(parts)


def _easiest_for(texts: Catalogue, share: float, told: Told) -> str:
    """Say for how many of the preferences still possible this option is the cheapest."""
    kind = "unsaid" if told.wishes.empty else "said"
    if share < _RARELY:
        return texts("easiest.rarely")
    return texts(f"easiest.{kind}", share=texts.percent(share))


def _score(texts: Catalogue, probability: float, threshold: float, key: str, *, accepted: bool) -> str:
    """Say a score beside what is needed, with as many digits as tell them apart.

    A model may call the threshold itself a no: then more than that is needed.
    """
    if math.isnan(probability):
        return ""
    tied = math.isclose(probability, threshold, rel_tol=0, abs_tol=_TIE)
    for digits in (0, 1, 2):
        score, needed = (texts.percent(p, digits) for p in (probability, threshold))
        if (score != needed or tied) and not _rounds_away(threshold, digits):
            break
    if tied and not accepted:
        needed = texts("number.above", n=needed)
    return texts(key, score=score, needed=needed)


def _rounds_away(threshold: float, digits: int) -> bool:
    """Whether a threshold would read as 0 or 100 %, and is neither."""
    return 0 < threshold < 1 and round(threshold, digits + 2) in (0, 1)


def _explanation(texts: Catalogue, status: str, options: Sequence[OptionView], told: Told) -> str:
    if status == "partial":
        return texts("options.partial")
    if options:
        return texts.count("options.unsaid" if told.wishes.empty else "options.said", len(options))
    return texts(f"nothing.{status}.explanation")


def _advice(schema: Schema, texts: Catalogue, told: Told) -> str:
    """Say what the person could loosen, if they closed or limited anything; of all closed the explanation says it."""
    if told.all_closed:
        return ""
    features = changeable(schema, told.plan.state)
    closed = sum(told.wishes.of(f.name).closed for f in features)
    limited = sum(told.wishes.of(f.name).limited and not told.wishes.of(f.name).closed for f in features)
    if closed:
        return texts("nothing.loosen_locks", n=closed, total=len(features))
    return texts("nothing.loosen_limits") if limited else ""


def _facts(words: Words, state: Mapping[str, Any]) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """Return what may change and what may not."""
    open_to = {feature.name for feature in changeable(words.schema, state)}
    parts: dict[bool, list[Fact]] = {True: [], False: []}
    for f in words.schema.features:
        parts[f.name in open_to].append(Fact(words.label(f), words.value(f, state[f.name], exact=True)))
    return tuple(parts[True]), tuple(parts[False])


def _compared(words: Words, state: Mapping[str, Any], options: Sequence[RecourseOption]) -> tuple[Compared, ...]:
    by_option = [{c.feature: c for c in words.changes(state, option.values)} for option in options]
    rows = []
    for feature in words.schema.features:
        then = tuple(changes[feature.name].after if feature.name in changes else None for changes in by_option)
        if any(then):
            rows.append(Compared(words.label(feature), words.value(feature, state[feature.name], exact=True), then))
    return tuple(rows)


def _miss(words: Words, told: Told) -> Miss | None:
    nearest = told.plan.nearest_miss
    if nearest is None:
        return None
    changes = tuple(words.changes(told.plan.state, nearest.values))
    return Miss(changes, _score(words.texts, nearest.probability, told.threshold, "nothing.miss_score", accepted=False))


def _problem(words: Words, problem: Problem, state: Mapping[str, Any]) -> tuple[str, str]:
    feature = words.schema.by_name[problem.feature]
    place = f"f{words.schema.position(feature.name)}"
    values = possible(feature, state[feature.name])
    low, high = (words.value(feature, end) for end in (min(values), max(values)))
    return place, words.texts(f"problem.{problem.kind}", label=words.label(feature), low=low, high=high)


def _chosen(words: Words, told: Told) -> dict[str, str]:
    """Repeat what the person chose, in words, so that they can be sure of it."""
    texts = words.texts
    if told.choice is None:
        return {"chosen": "", "chosen_reason": ""}
    taken, reason = told.choice.taken, told.choice.reason
    if taken is None:
        return {"chosen": texts("choice.recorded_none"), "chosen_reason": reason}
    changes = words.changes(told.plan.state, taken)
    return {"chosen": texts("choice.recorded", what=_in_words(texts, changes)), "chosen_reason": reason}
