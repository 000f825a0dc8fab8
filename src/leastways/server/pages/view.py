"""The contents of the person's page, computed before the template: sentences, grouped options, a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leastways.plans import OptionGroup, RecourseOption, RecoursePlan, option_groups
from leastways.schema import Schema
from leastways.server.pages.form import Entries, Problem, changeable, possible
from leastways.server.pages.texts import Catalogue, ChangeView, Words

_EFFORT = ((0.1, "small"), (0.3, "moderate"), (0.6, "large"))  # cost below -> word; above all of them: very large
_RARELY = 0.005
_TIE = 5e-7  # plans have six decimals
_FULL = 100  # the width of a bar, in its own units: a cost of 1, the most that one change can cost, or more


@dataclass(frozen=True)
class Fact:
    """A fact of the decision."""

    label: str
    value: str


@dataclass(frozen=True)
class OptionView:
    """A card: one option with those grouped under it."""

    number: int  # of the recorded answer
    rank: int  # as shown to the person
    title: str
    in_words: str  # all changes, as the name of a button: two options may change the same features
    changes: tuple[ChangeView, ...]
    more: tuple[str, ...]  # grouped options that ask for more, in words
    effort: str
    effort_width: int  # 0: no bar
    easiest_for: str
    score: str
    chosen: bool


@dataclass(frozen=True)
class Compared:
    """A row of the comparison: a feature now, and under each option; None if an option does not change it."""

    label: str
    now: str
    then: tuple[str | None, ...]


@dataclass(frozen=True)
class Miss:
    """The nearest miss of the search."""

    changes: tuple[ChangeView, ...]
    score: str


@dataclass(frozen=True)
class PersonView:
    """The content of the page, except the fields of the form."""

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
class TakenOption:
    """A person's choice: the state of the chosen option, or None and why no option fits."""

    taken: Mapping[str, Any] | None
    reason: str


@dataclass(frozen=True)
class PageState:
    """Input of the page: the plan, the person's entries, and their choice."""

    answer_id: str
    plan: RecoursePlan
    entries: Entries
    threshold: float
    choice: TakenOption | None = None
    problems: Sequence[Problem] = ()
    all_closed: bool = False


def person_view(schema: Schema, texts: Catalogue, page: PageState) -> PersonView:
    """Return the content of the page."""
    words = Words(schema, texts)
    plan = page.plan
    offered = [] if page.all_closed else option_groups(schema, plan.state, plan.options)
    options = _cards(words, page, offered)
    status = "all_closed" if page.all_closed else plan.status
    facts, fixed = _facts(words, plan.state)
    return PersonView(
        answer_id=page.answer_id,
        status=status,
        decision=texts("decision.accepted" if plan.status == "already_positive" else "decision.refused"),
        score=_score(
            texts, plan.probability, page.threshold, "decision.score", accepted=plan.status == "already_positive"
        ),
        headline=texts.count("options.found", len(options)) if options else texts(f"nothing.{status}.headline"),
        explanation=_explanation(texts, status, options, page),
        advice=_advice(schema, texts, page) if not options else "",
        facts=facts,
        fixed=fixed,
        options=options,
        effort_note=texts("options.effort_note" if page.entries.empty else "options.effort_note_with_preferences"),
        compared=_compared(words, plan.state, [group.option for group in offered]),
        miss=None if options or page.all_closed else _miss(words, page),
        problems=tuple(_problem(words, problem, plan.state) for problem in page.problems),
        **_chosen(words, page),
    )


def _cards(words: Words, page: PageState, offered: Sequence[OptionGroup]) -> tuple[OptionView, ...]:
    return tuple(_card(words, page, group, rank) for rank, group in enumerate(offered, 1))


def _card(words: Words, page: PageState, group: OptionGroup, rank: int) -> OptionView:
    texts, option, state = words.texts, group.option, page.plan.state
    cost = option.expected_cost
    changes = tuple(words.changes(state, option.values))
    word = next((name for limit, name in _EFFORT if cost < limit), "very_large")
    width = max(2, round(_FULL * min(cost, 1.0)))  # of the cost itself, like the word: independent of other options
    names = [feature.name for feature in changeable(words.schema, state)]
    if len(page.entries.open(names)) == 1:  # with one open feature the cost is 0 by its formula: no effort can be shown
        word, width = "unknown", 0
    return OptionView(
        number=option.number,
        rank=rank,
        title=texts.listing([change.label for change in changes]),
        in_words=_in_words(texts, changes),
        changes=changes,
        more=tuple(_in_a_line(words, state, other) for other in group.more),
        effort=texts(f"effort.{word}"),
        effort_width=width,
        easiest_for=_easiest_for(texts, group.best_for, page),
        score=_score(texts, option.probability, page.threshold, "options.score", accepted=True),
        chosen=page.choice is not None and page.choice.taken == option.values,
    )


def _in_words(texts: Catalogue, changes: Sequence[ChangeView]) -> str:
    return texts.listing([texts("choice.change", label=c.label, before=c.before, after=c.after) for c in changes])


def _in_a_line(words: Words, state: Mapping[str, Any], option: RecourseOption) -> str:
    texts = words.texts
    parts = [texts("options.more_change", label=c.label, after=c.after) for c in words.changes(state, option.values)]
    return texts.listing(parts)


def _easiest_for(texts: Catalogue, share: float, page: PageState) -> str:
    """State for what share of the cost samples this option is the cheapest."""
    kind = "without_preferences" if page.entries.empty else "with_preferences"
    if share < _RARELY:
        return texts("easiest.rarely")
    return texts(f"easiest.{kind}", share=texts.percent(share))


def _score(texts: Catalogue, probability: float, threshold: float, key: str, *, accepted: bool) -> str:
    """Word a score and the required one, with as many digits as distinguish them.

    A model may refuse at the threshold itself: then more than that is required.
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
    """Return whether a threshold would be rounded to 0 or 100 %."""
    return 0 < threshold < 1 and round(threshold, digits + 2) in (0, 1)


def _explanation(texts: Catalogue, status: str, options: Sequence[OptionView], page: PageState) -> str:
    if status == "partial":
        return texts("options.partial")
    if options:
        return texts.count(
            "options.without_preferences" if page.entries.empty else "options.with_preferences", len(options)
        )
    return texts(f"nothing.{status}.explanation")


def _advice(schema: Schema, texts: Catalogue, page: PageState) -> str:
    """Suggest entries to loosen, if any are locked or limited; empty if all are locked."""
    if page.all_closed:
        return ""
    features = changeable(schema, page.plan.state)
    closed = sum(page.entries.of(f.name).closed for f in features)
    limited = sum(page.entries.of(f.name).limited and not page.entries.of(f.name).closed for f in features)
    if closed:
        return texts("nothing.loosen_locks", n=closed, total=len(features))
    return texts("nothing.loosen_limits") if limited else ""


def _facts(words: Words, state: Mapping[str, Any]) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """Return the facts that can change, and those that cannot."""
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


def _miss(words: Words, page: PageState) -> Miss | None:
    nearest = page.plan.nearest_miss
    if nearest is None:
        return None
    changes = tuple(words.changes(page.plan.state, nearest.values))
    return Miss(changes, _score(words.texts, nearest.probability, page.threshold, "nothing.miss_score", accepted=False))


def _problem(words: Words, problem: Problem, state: Mapping[str, Any]) -> tuple[str, str]:
    feature = words.schema.by_name[problem.feature]
    place = f"f{words.schema.position(feature.name)}"
    values = possible(feature, state[feature.name])
    low, high = (words.value(feature, end) for end in (min(values), max(values)))
    return place, words.texts(f"problem.{problem.kind}", label=words.label(feature), low=low, high=high)


def _chosen(words: Words, page: PageState) -> dict[str, str]:
    """Return the person's choice in words."""
    texts = words.texts
    if page.choice is None:
        return {"chosen": "", "chosen_reason": ""}
    taken, reason = page.choice.taken, page.choice.reason
    if taken is None:
        return {"chosen": texts("choice.recorded_none"), "chosen_reason": reason}
    changes = words.changes(page.plan.state, taken)
    return {"chosen": texts("choice.recorded", what=_in_words(texts, changes)), "chosen_reason": reason}
