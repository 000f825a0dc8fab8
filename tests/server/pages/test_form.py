"""What a person says on the page becomes preferences, and comes back from them."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastways as lw
from leastways.schema import Feature
from leastways.server.pages.form import (
    EASE,
    NOT_AT_ALL,
    NOT_STATED,
    Entries,
    Entry,
    changeable,
    fields,
    from_preferences,
    from_record,
    possible,
    reachable,
    read_form,
    to_preferences,
    to_record,
)
from leastways.server.pages.texts import Languages

CREDIT = lw.datasets.load_credit(n=400)
SCHEMA = CREDIT.schema()
STATE: dict[str, Any] = {
    "age": 30,
    "sex": "female",
    "group": "A",
    "education": "bachelor",
    "job": "office",
    "hours_per_week": 30,
    "monthly_income": 1490.0,
    "savings": 700.0,
    "card_utilisation": 30.0,
    "late_payments": 0,
    "housing": "rent",
    "loan_amount": 8000.0,
    "loan_months": 24,
}
OPEN = [feature.name for feature in changeable(SCHEMA, STATE)]
EASES = st.sampled_from(range(len(EASE)))
PARTS = [f"f{place}-{part}" for place in range(14) for part in ("lock", "ease", "low", "high", "ok", "listed")]


def said(**entries: Entry) -> lw.Preferences | None:
    return to_preferences(SCHEMA, STATE, Entries(entries))


@st.composite
def any_entries(draw: Any) -> Entries:
    entries = {}
    for feature in changeable(SCHEMA, STATE):
        limits: dict[str, Any] = {}
        if draw(st.booleans()):
            if feature.numeric:
                ends = sorted(draw(st.lists(st.sampled_from(feature.values), min_size=1, max_size=2)))
                limits = dict(zip(("low", "high"), ends, strict=False))
            else:
                others = reachable(feature, STATE[feature.name])
                chosen = draw(st.sets(st.sampled_from(others)))
                if len(chosen) < len(others):
                    limits = {"accepted": tuple(v for v in others if v in chosen)}
        entries[feature.name] = Entry(draw(st.booleans()), draw(EASES), **limits)
    return Entries(entries)


def test_excluded_values_are_not_offered() -> None:
    feature = Feature("job", "category", ("cook", "nurse", "unknown"), excluded=("unknown",))
    assert reachable(feature, "cook") == ["nurse"]
    assert reachable(feature, "unknown") == ["cook", "nurse"]
    assert reachable(feature, None) == []


def test_only_changeable_features_have_fields() -> None:
    assert "sex" not in OPEN  # fixed
    assert "late_payments" not in OPEN  # none already, and only fewer would be allowed
    assert len(OPEN) == 10
    assert reachable(SCHEMA.by_name["education"], "bachelor") == ["master or higher"]
    assert reachable(SCHEMA.by_name["education"], "master or higher") == []
    assert reachable(SCHEMA.by_name["card_utilisation"], 12.0) == [0, 5, 10]
    assert reachable(SCHEMA.by_name["housing"], "rent") == ["own", "with family"]


def test_no_entries_are_no_preferences() -> None:
    assert said() is None
    assert said(**{name: Entry() for name in OPEN}) is None


def test_locks_and_not_at_all_close_a_feature() -> None:
    told = said(
        age=Entry(locked=True),
        job=Entry(ease=NOT_AT_ALL),
        housing=Entry(accepted=()),
    )
    assert told is not None
    assert set(told.locked) == {"age", "job", "housing"}
    assert told.editable is None  # what they would not change does not say that they would change the rest
    assert told.scores is None
    assert told.ranges == {}


def test_sliders_become_scores() -> None:
    told = said(
        savings=Entry(ease=EASE.index("easy")),
        age=Entry(locked=True),
        job=Entry(ease=EASE.index("hard")),
    )
    assert told is not None
    assert told.scores is not None
    assert sum(told.scores.values()) == pytest.approx(1, abs=1e-12)
    assert told.scores["savings"] > told.scores["housing"] > told.scores["job"] > 0
    assert "age" not in told.scores


def test_equal_entries_give_no_scores() -> None:
    same = {name: Entry(ease=EASE.index("hard")) for name in OPEN}
    assert said(**same) is None
    one = {name: Entry(locked=name != "savings", ease=0) for name in OPEN}
    assert said(**one) == lw.Preferences(locked=tuple(name for name in OPEN if name != "savings"))


def test_limits_become_ranges() -> None:
    told = said(
        savings=Entry(high=2000),
        hours_per_week=Entry(low=20, high=40),
        housing=Entry(accepted=("own",)),
        age=Entry(low=31),
    )
    assert told == lw.Preferences(
        ranges={"savings": (None, 2000), "hours_per_week": (20, 40), "housing": ["own"], "age": (31, None)}
    )


def test_preferences_without_a_field_are_kept() -> None:
    before = lw.Preferences(alpha=0.25, costs={"savings": {1000: 0.1}, "housing": {"own": 0.5}})
    told = to_preferences(SCHEMA, STATE, Entries({"housing": Entry(locked=True)}), before)
    assert told is not None
    assert told.alpha == 0.25
    assert dict(told.costs) == {"savings": {1000: 0.1}}
    told.check(SCHEMA)


def test_editable_features_are_kept_until_more_are_opened() -> None:
    before = lw.Preferences(editable=["savings", "housing", "job"])
    shut = {name: Entry(locked=True) for name in OPEN if name not in ("savings", "housing", "job")}
    told = to_preferences(SCHEMA, STATE, Entries(shut | {"job": Entry(locked=True)}), before)
    assert told == lw.Preferences(editable=["savings", "housing"])
    del shut["age"]  # of which they had said nothing else
    told = to_preferences(SCHEMA, STATE, Entries(shut), told)
    assert told == lw.Preferences(locked=tuple(shut))


@given(entries=any_entries())
def test_all_entries_are_valid_preferences(entries: Entries) -> None:
    if not entries.open(OPEN):
        return
    told = to_preferences(SCHEMA, STATE, entries)
    if told is not None:
        told.check(SCHEMA)
        told.check_person(SCHEMA, STATE)
        editable = told.editable_features
        assert editable is None or set(editable) == set(entries.open(OPEN))
        assert set(told.locked) == {*OPEN} - {*entries.open(OPEN)}


@given(eases=st.lists(EASES.filter(lambda e: e != NOT_AT_ALL), min_size=len(OPEN), max_size=len(OPEN)), data=st.data())
def test_an_easier_position_never_lowers_a_score(eases: list[int], data: Any) -> None:
    place = data.draw(st.integers(0, len(OPEN) - 1))
    easier = data.draw(st.integers(0, eases[place]))

    def share(answers: list[int]) -> float:
        told = said(**{name: Entry(ease=ease) for name, ease in zip(OPEN, answers, strict=True)})
        if told is None or told.scores is None:
            return 1 / len(OPEN)  # drawn: an even share on average
        return told.scores[OPEN[place]]

    assert share([*eases[:place], easier, *eases[place + 1 :]]) >= share(eases) - 1e-12


@given(entries=any_entries())
def test_entries_are_recovered_from_preferences(entries: Entries) -> None:
    if not entries.open(OPEN):
        return
    told = to_preferences(SCHEMA, STATE, entries)
    back = from_preferences(SCHEMA, STATE, told)
    assert to_preferences(SCHEMA, STATE, back) == told
    answers = {entries.of(name).ease for name in entries.open(OPEN)}
    for name in entries.open(OPEN):
        assert not back.of(name).closed
        if len(answers) > 1:
            assert back.of(name).ease == entries.of(name).ease
        mine, kept = entries.of(name), back.of(name)
        assert (mine.low, mine.high, mine.accepted) == (kept.low, kept.high, kept.accepted)


@given(entries=any_entries())
def test_recorded_entries_round_trip(entries: Entries) -> None:
    kept = json.loads(json.dumps(to_record(entries)))
    assert bool(kept) != entries.empty
    back = from_record(kept)
    assert all(back.of(name) == entries.of(name) for name in OPEN)
    assert to_record(back) == kept


def test_unknown_positions_count_as_not_stated() -> None:
    assert from_record({"savings": {"locked": True, "ease": "so so"}}).of("savings") == Entry(locked=True)


def test_preferences_from_other_sources_are_approximated() -> None:
    limits = {"savings": {"max": 900}, "job": "manual"}
    told = lw.Preferences(scores={"savings": 0.85, "job": 0.15, "age": 0.0}, ranges=limits)
    back = from_preferences(SCHEMA, STATE, told)
    assert back.of("housing").locked
    assert from_preferences(SCHEMA, STATE, lw.Preferences(locked=["housing"])).of("housing").locked
    assert back.of("savings").ease < back.of("job").ease < back.of("age").ease == EASE.index("very_hard")
    assert back.of("savings").high == 900
    assert back.of("job").accepted == ("manual",)


def form(**fields: Any) -> dict[str, list[str]]:
    """A form as a browser sends it, with the names of features for their places."""
    sent = {}
    for key, value in fields.items():
        name, _, part = key.rpartition("__")
        sent[f"f{SCHEMA.position(name)}-{part}"] = [str(v) for v in (value if isinstance(value, list) else [value])]
    return sent


def test_a_form_is_read() -> None:
    housing = SCHEMA.by_name["housing"].values
    entries, problems = read_form(
        SCHEMA,
        STATE,
        form(age__lock=1, savings__ease=0, savings__low="", savings__high="2500.0", monthly_income__low="1600",
             housing__listed=1, housing__ok=[housing.index("own")], job__listed=1, job__ok=list(range(5))),
    )  # fmt: skip
    assert problems == []
    assert entries.of("age").locked
    assert entries.of("savings") == Entry(ease=0, high=2500)
    assert entries.of("monthly_income") == Entry(low=1600)
    assert entries.of("housing").accepted == ("own",)
    assert entries.of("job").accepted is None  # all of them: no limit
    assert entries.of("loan_months") == Entry()


def test_a_decimal_keyboard_is_requested_only_without_negative_values() -> None:
    below = lw.Schema.infer(pd.DataFrame({"balance": range(-50, 50), "age": range(100)}))
    found = {f.label: f for f in fields(below, Languages().by_code["de"], {"balance": 5, "age": 5}, Entries())}
    assert found["balance"].signed
    assert not found["age"].signed


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        ("much", "", "not_a_number"),
        ("", "nan", "not_a_number"),
        ("1e999", "", "not_a_number"),
        ("3000", "2000", "crossed"),
        ("501", "502", "no_value"),
        ("", "-5", "no_value"),
    ],
)
def test_unusable_entries_are_named(low: str, high: str, kind: str) -> None:
    entries, problems = read_form(SCHEMA, STATE, form(savings__low=low, savings__high=high, savings__ease=1))
    assert [(p.feature, p.kind) for p in problems] == [("savings", kind)]
    assert entries.of("savings") == Entry(ease=1)


def test_limits_of_a_locked_feature_are_ignored() -> None:
    wrong = {"savings__low": "3000", "savings__high": "2000"}
    for closed in ({"savings__lock": 1}, {"savings__ease": NOT_AT_ALL}):
        entries, problems = read_form(SCHEMA, STATE, form(**wrong, **closed))
        assert problems == []
        assert entries.of("savings").closed


@pytest.mark.parametrize("sent", ["", "-1", "6", "1.5", "easy", "²"])
def test_unknown_slider_values_count_as_not_stated(sent: str) -> None:
    entries, _ = read_form(SCHEMA, STATE, form(savings__ease=sent))
    assert entries.of("savings").ease == NOT_STATED


@given(st.dictionaries(st.sampled_from(PARTS), st.lists(st.text(max_size=8), max_size=3)))
def test_any_form_can_be_read(sent: dict[str, list[str]]) -> None:
    entries, problems = read_form(SCHEMA, STATE, sent)
    if entries.open(OPEN) and not problems:
        told = to_preferences(SCHEMA, STATE, entries)
        if told is not None:
            told.check(SCHEMA)


def test_limits_refer_to_reachable_values() -> None:
    upwards = SCHEMA.update(savings={"direction": "up"})
    for high, kinds in (("600", ["no_value"]), ("700", []), ("900", [])):  # 700 is what they have
        _, problems = read_form(upwards, STATE, form(savings__high=high))
        assert [problem.kind for problem in problems] == kinds, high
    anywhere = SCHEMA.update(savings={"direction": "any"})
    assert read_form(anywhere, STATE, form(savings__high="600"))[1] == []
    assert possible(upwards.by_name["savings"], 700.0)[0] == 700.0
    assert min(possible(upwards.by_name["savings"], 700.0)) == 700.0
