"""Near twins are one way; no way is lost; shares add up; the page's words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastways.plans import NearestMiss, RecourseOption, RecoursePlan, changes_of, option_groups
from leastways.server.pages.form import Entries, Entry, changeable
from leastways.server.pages.texts import Languages
from leastways.server.pages.view import PageState, person_view
from tests.server.pages.test_form import SCHEMA, STATE

ENGLISH, GERMAN = (Languages().by_code[code] for code in ("en", "de"))


def option(number: int, cost: float = 0.2, best_for: float = 0.1, **changes: Any) -> RecourseOption:
    values = STATE | changes
    return RecourseOption(number, values, changes_of(SCHEMA, STATE, values), 0.6, cost, best_for)


def plan(*options: RecourseOption, status: Any = "found", **more: Any) -> RecoursePlan:
    return RecoursePlan("p", status, "", STATE, 0.41, options, 0.9, 0.3, 0.8, 10, **more)


def numbers(*options: RecourseOption) -> list[tuple[int, list[int]]]:
    return [(w.option.number, [o.number for o in w.more]) for w in option_groups(SCHEMA, STATE, options)]


def test_more_of_the_same_is_grouped() -> None:
    far, near = option(1, 0.3, savings=12_000.0), option(2, 0.2, savings=10_000.0)
    assert numbers(far, near) == [(2, [1])]
    both = option(3, 0.5, savings=10_000.0, age=40)
    assert numbers(far, near, both) == [(2, [1, 3])]
    assert numbers(option(1, savings=10_000.0), option(2, savings=10_000.0)) == [(1, [2])]


def test_another_direction_or_category_is_another_group() -> None:
    assert numbers(option(1, hours_per_week=20), option(2, hours_per_week=40)) == [(1, []), (2, [])]
    assert numbers(option(1, housing="own"), option(2, housing="with family")) == [(1, []), (2, [])]
    less_of_one = option(1, savings=10_000.0, age=35), option(2, savings=9_000.0, age=45)
    assert numbers(*less_of_one) == [(1, []), (2, [])]


def test_the_cheapest_comes_first_and_unknown_costs_last() -> None:
    mixed = option(1, math.nan, age=40), option(2, 0.5, savings=9000.0), option(3, 0.1, housing="own")
    assert [number for number, _ in numbers(*mixed)] == [3, 2, 1]


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "savings": st.sampled_from([1000.0, 2000.0, 3000.0]),
                "hours_per_week": st.sampled_from([20, 25, 30, 35, 40]),
                "housing": st.sampled_from(["own", "with family"]),
            },
        ),
        max_size=8,
    )
)
def test_every_option_is_in_exactly_one_group(changes: list[dict[str, Any]]) -> None:
    options = [option(i, cost=0.1 * (i % 3), best_for=1 / len(changes), **c) for i, c in enumerate(changes, 1)]
    found = option_groups(SCHEMA, STATE, options)
    assert sorted(o.number for w in found for o in (w.option, *w.more)) == [o.number for o in options]
    if options:
        assert sum(w.best_for for w in found) == pytest.approx(1)
    for one in found:  # and no group asks more than another of everything
        others = [w.option for w in found if w is not one]
        assert [w.option.number for w in option_groups(SCHEMA, STATE, [one.option, *others])] == [
            w.option.number for w in option_groups(SCHEMA, STATE, [w.option for w in found])
        ]


def view_of(the_plan: RecoursePlan, entries: Entries | None = None, texts: Any = ENGLISH, **more: Any) -> Any:
    return person_view(SCHEMA, texts, PageState("id", the_plan, entries or Entries(), 0.5, **more))


def test_a_card_in_words() -> None:
    the_plan = plan(option(1, 0.05, 0.62, monthly_income=1800.0, housing="own"))
    (card,) = view_of(the_plan).options
    assert card.title == "monthly income and housing"
    assert [(c.before, c.after, c.difference) for c in card.changes] == [
        ("1,490\u00a0€", "1,800\u00a0€", "310\u00a0€ more"),
        ("rent", "own", ""),
    ]
    assert card.effort == "small"
    assert card.effort_width == 5
    assert "62%" in card.easiest_for
    assert "60%" in card.score
    (card,) = view_of(the_plan, texts=GERMAN).options
    assert card.changes[0].after == "1.800\u00a0€"
    assert "62\u00a0%" in card.easiest_for


def test_with_one_open_feature_no_effort_is_shown() -> None:
    """By the formula a change of the only editable feature is free, whatever it takes."""
    names = [feature.name for feature in changeable(SCHEMA, STATE)]
    only = Entries({name: Entry(locked=True) for name in names if name != "savings"})
    (card,) = view_of(plan(option(1, 0.0, 1.0, savings=30_000.0)), only).options
    assert (card.effort, card.effort_width) == ("hard to say", 0)
    two = Entries({name: Entry(locked=True) for name in names if name not in ("savings", "housing")})
    (card,) = view_of(plan(option(1, 0.0, 1.0, savings=30_000.0)), two).options
    assert card.effort == "small"


def test_an_option_no_cost_sample_allows_is_much_effort() -> None:
    far, near = view_of(
        plan(option(1, float("inf"), 0.0, savings=30_000.0), option(2, 0.4, 0.6, housing="own"))
    ).options[::-1]
    assert (near.number, far.number) == (2, 1)
    assert far.effort == "very large"
    assert far.effort_width == 100
    (alone,) = view_of(plan(option(1, float("inf"), 0.0, savings=30_000.0))).options
    assert alone.effort_width == 100


@pytest.mark.parametrize("dearest", [0.7, 1.0, 2.5, float("inf")])
def test_bar_and_word_agree_whatever_other_options_cost(dearest: float) -> None:
    near, far = view_of(
        plan(option(1, 0.2, 0.6, housing="own"), option(2, dearest, 0.2, savings=30_000.0, hours_per_week=40))
    ).options
    assert (near.effort, near.effort_width) == ("moderate", 20)
    assert (far.effort, far.effort_width) == ("very large", 70 if dearest == 0.7 else 100)


@pytest.mark.parametrize(
    ("texts", "after", "now", "then", "difference"),
    [
        (ENGLISH, 10.0, "30%", "10%", "20 percentage points less"),
        (ENGLISH, 29.0, "30%", "29%", "1 percentage point less"),
        (GERMAN, 10.0, "30\u00a0%", "10\u00a0%", "20 Prozentpunkte weniger"),
    ],
)
def test_percentages_differ_by_points(texts: Any, after: float, now: str, then: str, difference: str) -> None:
    (card,) = view_of(plan(option(1, card_utilisation=after)), texts=texts).options
    assert [(c.before, c.after, c.difference) for c in card.changes] == [(now, then, difference)]


def test_scores_have_digits_enough_to_differ_from_the_threshold() -> None:
    close = option(1, savings=9000.0)
    view = view_of(plan(RecourseOption(**(vars(close) | {"probability": 0.5004}))))
    assert "50.04%" in view.options[0].score
    assert "50.00%" in view.options[0].score


@pytest.mark.parametrize(("threshold", "needed"), [(0.999, "99.9%"), (0.0004, "0.04%"), (0.625, "62%"), (1.0, "100%")])
def test_the_threshold_is_not_rounded_to_0_or_100(threshold: float, needed: str) -> None:
    view = person_view(SCHEMA, ENGLISH, PageState("id", plan(status="none_found"), Entries(), threshold))
    assert view.score.endswith(f"A yes needs {needed}.")


def test_options_on_the_same_features_have_distinct_names() -> None:
    own, family = view_of(plan(option(1, housing="own"), option(2, housing="with family"))).options
    assert own.title == family.title == "housing"
    assert own.in_words != family.in_words
    assert own.in_words == "housing from rent to own"


def test_the_effort_note_mentions_entries_only_if_there_are_any() -> None:
    the_plan = plan(option(1, savings=9000.0))
    assert "you told us" not in view_of(the_plan).effort_note
    assert "you told us" in view_of(the_plan, Entries({"savings": Entry(ease=0)})).effort_note


def test_a_refused_tie_requires_more_than_the_threshold() -> None:
    tied = view_of(RecoursePlan(**(vars(plan(option(1, savings=9000.0))) | {"probability": 0.5})))
    assert tied.score == "The model rated your application at 50%. A yes needs more than 50%."
    below = view_of(
        RecoursePlan(**(vars(plan(option(1, savings=9000.0))) | {"probability": float(np.nextafter(0.5, 0))}))
    )
    assert below.score == tied.score
    close = view_of(RecoursePlan(**(vars(plan(option(1, savings=9000.0))) | {"probability": 0.49999})))
    assert close.score == "The model rated your application at 50.00%. A yes needs 50.00%."
    accepted = view_of(RecoursePlan(**(vars(plan(status="already_positive")) | {"probability": 0.5})))
    assert accepted.score == "The model rated your application at 50%. A yes needs 50%."


def test_each_status_without_options_has_its_text() -> None:
    miss = NearestMiss(STATE | {"age": 75}, changes_of(SCHEMA, STATE, STATE | {"age": 75}), 0.47)
    locked = Entries({name: Entry(locked=True) for name in ("savings", "job")})
    view = view_of(plan(status="none_found", nearest_miss=miss), locked)
    assert view.options == ()
    assert view.advice.startswith("You ruled out 2 of 10 things")
    assert [c.feature for c in view.miss.changes] == ["age"]
    assert "47%" in view.miss.score
    limited = view_of(plan(status="none_found"), Entries({"savings": Entry(high=1000)}))
    assert limited.advice.startswith("You set limits")
    assert limited.miss is None
    assert view_of(plan(status="none_found")).advice == ""
    for status in ("none_exists", "invalid_input", "already_positive"):
        assert view_of(plan(status=status)).headline
    closed = view_of(plan(option(1, age=40)), all_closed=True)
    assert (closed.options, closed.compared, closed.status) == ((), (), "all_closed")
    every = Entries({feature.name: Entry(locked=True) for feature in changeable(SCHEMA, STATE)})
    assert view_of(plan(), every, all_closed=True).advice == ""  # the explanation says it already


def test_a_partial_search_is_mentioned() -> None:
    view = view_of(plan(option(1, age=40), status="partial"))
    assert "stop looking early" in view.explanation
    assert len(view.options) == 1


def test_the_comparison_lists_changed_features() -> None:
    view = view_of(plan(option(1, 0.1, age=40), option(2, 0.2, housing="own", age=39)))
    rows = {row.label: (row.now, row.then) for row in view.compared}
    assert rows == {
        "age": ("30\u00a0years", ("40\u00a0years", "39\u00a0years")),
        "housing": ("rent", (None, "own")),
    }
