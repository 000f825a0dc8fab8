"""Replay: the same bytes, or exactly what differs; and never by other files than those of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leastways.costs import Preferences
from leastways.errors import SettingError
from leastways.plans import Change, RecourseOption, RecoursePlan, plan_from_json, plan_to_json
from leastways.recourse import Recourse
from leastways.server import Applicant, NotFound, read_config
from leastways.server.database import AnswerRow, OriginRow, writing
from leastways.server.solving import replay
from tests.support.loan_service import BANK, LABELLED, counts, pipeline, same, serve, states, write_shop


@pytest.fixture
def own_shop(tmp_path: Path) -> Path:
    """Files that a test may change."""
    return write_shop(tmp_path)


def test_every_answer_replays_byte_for_byte(shop: Path, recourse: Recourse, new_database: Callable[[], str]) -> None:
    database = new_database()
    config = read_config(shop, database=database)
    with serve(shop, recourse, database=database) as service:
        said = Preferences(scores={"income": 0.75, "job": 0.25}, ranges={"job": ["cook"]}, alpha=0.5)
        issued = service.answer([Applicant(row) for row in states(4)])  # in one batch, with others
        ids = [i.answer.id for i in issued] + [service.refine(issued[0].token, said).id]
        for one in ids:
            result = replay(config, service.engine, one)
            assert result.same, result.differences
            assert (result.differences, result.notes) == ([], [])
        with pytest.raises(NotFound):
            replay(config, service.engine, "nothing")


def test_page_entries_do_not_change_the_replay(shop: Path, recourse: Recourse, new_database: Callable[[], str]) -> None:
    database = new_database()
    config = read_config(shop, database=database)
    said = {"income": {"locked": False, "ease": "hard"}}
    with serve(shop, recourse, database=database) as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
        told = Preferences(editable=["income", "job"], ranges={"job": ["cook"]})
        for preferences in (None, told):
            for entries in (said, {**said, "job": {"locked": True, "ease": "easy"}}, {}):
                answer = service.refine(issued.token, preferences, entries)
                assert same(answer, service.read(answer.id))
                assert (answer.preferences, answer.entries) == (preferences, entries or None)
                assert replay(config, service.engine, answer.id).same
        assert counts(service)["answers"] == 2  # one for each thing that was meant


def test_replay_uses_recorded_settings(own_shop: Path, recourse: Recourse) -> None:
    with serve(own_shop, recourse) as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
        later = read_config(own_shop, n_options=2, budget=20, seed=9, n_costs=10)
        assert replay(later, service.engine, issued.answer.id).same


def test_settings_unknown_to_this_release_are_refused_by_name(own_shop: Path, recourse: Recourse) -> None:
    """The config does not set the method, which may differ between releases."""
    with serve(own_shop, recourse) as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
        recorded = {**service.origin.settings_dict(), "method": "Guess()"}
        with writing(service.engine) as session:
            session.query(OriginRow).update({"settings": json.dumps(recorded)})
        with pytest.raises(SettingError, match=r"the setting 'method' of this answer was 'Guess\(\)'; this release"):
            replay(service.config, service.engine, issued.answer.id)


@pytest.mark.parametrize("name", ["model", "schema", "data"])
def test_other_files_are_refused_by_name(own_shop: Path, recourse: Recourse, name: str) -> None:
    with serve(own_shop, recourse) as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
        if name == "model":
            import skops.io

            skops.io.dump(
                pipeline().fit(LABELLED.drop(columns="approved")[::2], LABELLED["approved"][::2]),
                own_shop.parent / "model.skops",
            )
        elif name == "schema":
            BANK.update(income={"direction": "up"}).to_yaml(own_shop.parent / "schema.yaml")
        else:
            LABELLED.head(200).to_csv(own_shop.parent / "train.csv", index=False)
        with pytest.raises(SettingError, match=f"the {name} is not the one of this answer: recorded sha256"):
            replay(read_config(own_shop), service.engine, issued.answer.id)


def test_every_difference_of_a_changed_record_is_named(own_shop: Path, recourse: Recourse) -> None:
    with serve(own_shop, recourse) as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
        with writing(service.engine) as session:
            row = session.get_one(AnswerRow, issued.answer.id)
            plan = json.loads(row.plan)
            plan["options"][0]["expected_cost"] = 0.001
            row.plan = json.dumps(plan, separators=(",", ":"))
        result = replay(read_config(own_shop), service.engine, issued.answer.id)
        assert not result.same
        (place,) = result.differences
        assert place.startswith("/options/0/expected_cost: recorded 0.001, comes out as ")


values = st.one_of(
    st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.text(max_size=5)
)
numbers = st.floats()
options = st.builds(
    RecourseOption,
    st.integers(1, 9),
    st.dictionaries(st.text(max_size=5), values, max_size=3),
    st.lists(
        st.builds(Change, st.text(max_size=4), st.integers(), st.text(max_size=3), st.text(max_size=9)), max_size=2
    ).map(tuple),
    numbers,
    numbers,
    numbers,
)
plans = st.builds(
    RecoursePlan,
    person=st.just("p"),
    status=st.sampled_from(["found", "none_found"]),
    reason=st.text(max_size=9),
    state=st.just({"a": 1}),
    probability=numbers,
    options=st.lists(options, max_size=3).map(tuple),
    covered=numbers,
    emc=numbers,
    satisfied=numbers,
    queries=st.integers(0, 10**6),
    certificate=st.none(),
)


@given(plans)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_a_plan_round_trips_exactly(plan: RecoursePlan) -> None:
    text = plan_to_json(plan)
    back = plan_from_json(text, "p", {"a": 1})
    assert plan_to_json(back) == text
    assert repr(back) == repr(plan)
