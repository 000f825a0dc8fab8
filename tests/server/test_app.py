"""The JSON API on both databases: what is answered, recorded, read back, chosen and erased."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import leastways as lw
from leastways.costs import Preferences
from leastways.errors import InputRefused
from leastways.plans import plan_to_json
from leastways.recourse import Recourse
from leastways.server import Applicant, NotFound, Service
from leastways.server.database import now
from tests.support.loan_service import Client, counts, frame, same, serve, states, until


def test_an_answer_equals_the_librarys_and_is_recorded(service: Service, client: Client, recourse: Recourse) -> None:
    person = {"state": states(1)[0], "reference": "case 7", "groups": {"region": "north"}}
    answer = client.apply(person)
    assert answer.status_code == 200
    (one,) = answer.json()["answers"]
    plan = recourse.recommend(frame(states(1)))[0]
    assert plan.options
    assert one["status"] == plan.status
    assert [o["expected_cost"] for o in one["options"]] == [o.expected_cost for o in plan.options]
    assert [[c["to"] for c in o["changes"]] for o in one["options"]] == [
        [c.after for c in o.changes] for o in plan.options
    ]
    assert (one["reference"], one["state"], one["parent"], one["choice"]) == ("case 7", states(1)[0], None, None)
    assert one["link"].endswith(f"/p/{one['token']}")
    read = client.get(f"/v1/recourse/{one['id']}")
    assert read.status_code == 200
    assert read.json() == {name: value for name, value in one.items() if name not in ("token", "link")}
    assert abs(datetime.fromisoformat(one["created"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert counts(service)["answers"] == 1


def test_a_person_without_options_gets_the_nearest_miss(client: Client, recourse: Recourse) -> None:
    plans = recourse.recommend(frame(states()), Preferences(editable=["job"]))
    place = next(place for place, plan in enumerate(plans) if plan.nearest_miss is not None)
    miss = plans[plans.summary.index[place]].nearest_miss
    assert miss is not None
    (one,) = client.apply({"state": states()[place], "preferences": {"editable": ["job"]}}).json()["answers"]
    assert one["options"] == []
    assert one["nearest_miss"]["probability"] == miss.probability
    assert [c["to"] for c in one["nearest_miss"]["changes"]] == [c.after for c in miss.changes]
    (other,) = client.apply({"state": states(1)[0]}).json()["answers"]
    assert other["nearest_miss"] is None


def test_the_token_is_not_in_the_database(service: Service, client: Client) -> None:
    from sqlalchemy import select

    from leastways.server.database import PersonRow, reading

    token = client.apply({"state": states(1)[0]}).json()["answers"][0]["token"]
    with reading(service.engine) as session:
        kept = session.scalars(select(PersonRow)).one()
        assert token not in repr(vars(kept))
    assert service.read_by_token(token).id == kept.id
    with pytest.raises(NotFound):
        service.read_by_token(token[:-1])


def test_a_batch_keeps_order_and_preferences(client: Client, recourse: Recourse) -> None:
    rows = states(4)
    said = {"editable": ["income", "school"], "ranges": {"income": [None, 4000]}}
    answers = client.apply(*({"state": row, "preferences": said} for row in rows)).json()["answers"]
    wants = Preferences(editable=["income", "school"], ranges={"income": (None, 4000)})
    plans = recourse.recommend(frame(rows), wants)
    for row, answer, plan in zip(rows, answers, plans, strict=True):
        assert answer["state"] == row
        assert answer["preferences"] == said
        assert [o["probability"] for o in answer["options"]] == [o.probability for o in plan.options]
        assert {c["feature"] for o in answer["options"] for c in o["changes"]} <= {"income", "school"}


def test_every_kind_of_preference_round_trips(service: Service) -> None:
    said = Preferences(
        editable=["income", "school", "job"],
        scores={"income": 0.25, "school": 0.5, "job": 0.25},
        alpha=0.3,
        ranges={"income": (None, 5000.0), "job": ["cook", "nurse"]},
        costs={"school": {"high": 0.75, "mid": 0.5}},
    )
    for told in (said, Preferences(locked=("income", "job"))):
        (issued,) = service.answer([Applicant(states(1)[0], told)])
        assert same(service.read(issued.answer.id), issued.answer)
        assert issued.answer.preferences == told


def test_refine_records_a_child_of_the_first_answer(service: Service) -> None:
    (issued,) = service.answer([Applicant(states(1)[0], reference="r")])
    first = issued.answer
    assert same(service.refine(issued.token, None), first)  # nothing new was said
    second = service.refine(issued.token, Preferences(editable=["income"]))
    third = service.refine(issued.token, Preferences(editable=["school", "job"]))
    assert (second.parent, third.parent, third.reference) == (first.id, first.id, "r")
    assert {c.feature for o in third.plan.options for c in o.changes} <= {"school", "job"}
    assert same(service.read_by_token(issued.token), third)
    assert same(service.read(first.id), first)
    assert counts(service)["answers"] == 3
    with pytest.raises(InputRefused, match="no feature"):
        service.refine(issued.token, Preferences(editable=["incme"]))
    with pytest.raises(NotFound):
        service.refine("nobody", None)


def test_a_choice_is_recorded_and_replaced(client: Client, service: Service) -> None:
    (one,) = client.apply({"state": states(1)[0]}).json()["answers"]
    said = client.post(f"/v1/recourse/{one['id']}/choice", {"option": 1, "reason": "I can do that"})
    assert (said.status_code, said.json()["option"]) == (200, 1)
    said = client.post(f"/v1/recourse/{one['id']}/choice", {"option": None, "reason": "no time <script>"})
    assert said.status_code == 200
    kept = client.get(f"/v1/recourse/{one['id']}").json()["choice"]
    assert (kept["option"], kept["reason"]) == (None, "no time <script>")
    assert counts(service)["choices"] == 1
    assert client.post("/v1/recourse/unknown/choice", {"option": None}).status_code == 404


def test_the_latest_choice_counts_for_whichever_answer(service: Service) -> None:
    mine, other = service.answer([Applicant(row) for row in states(2)])
    first = mine.answer
    second = service.refine(mine.token, Preferences(editable=["income"]))
    assert service.chosen(second) is None
    service.choose(first.id, 1)
    service.choose(second.id, None, "changed my mind")
    service.choose(other.answer.id, 1)
    for asked in (first, second):
        last = service.chosen(asked)
        assert last is not None
        assert last.id == second.id
    service.choose(first.id, 1, "and again")
    last = service.chosen(second)
    assert last is not None
    assert last.choice is not None
    assert (last.id, last.choice.reason) == (first.id, "and again")


def test_erasing_removes_all_answers_of_a_person_and_keeps_a_count(client: Client, service: Service) -> None:
    people = [Applicant(row, reference="gone" if i else "stays") for i, row in enumerate(states(3))]
    stays, gone, also = service.answer(people)
    child = service.refine(gone.token, Preferences(editable=["income"]))
    service.choose(child.id, None, "private")
    assert service.erase(child.id) == 1
    for missing in (gone.answer.id, child.id):
        assert client.get(f"/v1/recourse/{missing}").status_code == 404
    assert service.erase(reference="gone") == 1
    with pytest.raises(NotFound):
        service.read(also.answer.id)
    assert same(service.read(stays.answer.id), stays.answer)
    assert service.erase(gone.answer.id) == 0
    assert counts(service) == {"people": 1, "answers": 1, "choices": 0, "jobs": 0, "pending": 0}
    assert client.get("/v1/model").json()["erased"] == {"asked": 2}


def test_people_past_retention_are_erased_at_the_start(
    shop: Path, recourse: Recourse, new_database: Callable[[], str]
) -> None:
    from sqlalchemy import update

    from leastways.server.database import PersonRow, writing

    database = new_database()
    with serve(shop, recourse, database=database, retention_days=None) as kept:
        old, new = kept.answer([Applicant(row) for row in states(2)])
        with writing(kept.engine) as session:
            aged = update(PersonRow).where(PersonRow.id == old.answer.id)
            session.execute(aged.values(created=now() - timedelta(days=31)))
        assert counts(kept)["people"] == 2  # null: never
    with serve(shop, recourse, database=database, retention_days=30) as service:
        until(lambda: counts(service)["people"] == 1)
        assert service.read(new.answer.id).id == new.answer.id


def test_retention_erases_people_by_age(service: Service) -> None:
    old, new = service.answer([Applicant(row) for row in states(2)])
    moment = old.answer.created + timedelta(seconds=1)
    assert service.store.erase_before(old.answer.created - timedelta(days=1)) == 0
    assert service.store.erase_before(moment) == 2
    assert counts(service)["people"] == 0
    assert service.store.erased() == {"retention": 2}
    with pytest.raises(NotFound):
        service.read(new.answer.id)


def test_plans_do_not_depend_on_simultaneous_requests(service: Service, recourse: Recourse) -> None:
    rows = states(6) * 4
    alone = {str(row): [o.values for o in plan.options] for row, plan in zip(states(6), _alone(recourse), strict=True)}
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda row: service.answer([Applicant(row)])[0].answer, rows))
    for row, answer in zip(rows, answers, strict=True):
        assert [o.values for o in answer.plan.options] == alone[str(row)]
    assert counts(service)["answers"] == len(rows)


def _alone(recourse: Recourse) -> list[lw.RecoursePlan]:
    return [recourse.recommend(frame([row]))[0] for row in states(6)]


def test_health_and_model_card_describe_the_service(client: Client, service: Service) -> None:
    assert client.get("/health").json() == {"status": "ok", "version": lw.__version__, "pending": 0}
    assert client.request("HEAD", "/health").status_code == 200
    card = client.get("/v1/model").json()
    assert [f["name"] for f in card["features"]] == list(service.schema.names)
    assert card["fingerprints"] == dict(service.origin.fingerprints)
    assert card["settings"]["random_state"] == 0
    assert (card["retention_days"], card["groups"]) == (365, ["region"])
    assert card["recorded"]


def test_served_answers_are_read_back_as_plans(service: Service, recourse: Recourse) -> None:
    rows = states(3)
    people = [Applicant(row, groups={"region": r}) for row, r in zip(rows, ("n", "s", None), strict=True)]
    issued = service.answer(people)
    found = service.served()
    assert found.plans is not None
    ids = [i.answer.id for i in issued]
    mine = recourse.recommend(frame(rows).set_axis(ids, axis=0))
    order = list(found.plans.summary.index)
    assert sorted(order) == sorted(ids)
    assert found.plans.summary.loc[ids].equals(mine.summary)
    assert all(plan_to_json(found.plans[one]) == plan_to_json(mine[one]) for one in ids)
    assert found.plans.changes.shape == mine.changes.shape
    assert found.groups.loc[ids, "region"].tolist()[:2] == ["n", "s"]
    later = datetime.now(UTC) + timedelta(hours=1)
    assert service.served(since=later).plans is None
    refined = service.refine(issued[0].token, Preferences(editable=["income"]))
    latest = service.served(which="latest").plans
    assert latest is not None
    assert latest[ids[0]].options == refined.plan.options


def test_a_span_of_time_includes_its_beginning_but_not_its_end(service: Service) -> None:
    from sqlalchemy import select

    from leastways.server.database import PersonRow, reading

    service.answer([Applicant(states(1)[0])])
    with reading(service.engine) as session:
        came = session.scalars(select(PersonRow.created)).one()
    after = came + timedelta(microseconds=1)
    for since, until_, there in ((came, after, True), (after, None, False), (None, came, False), (None, after, True)):
        assert (service.served(since, until_).plans is not None) == there


def test_the_first_or_the_latest_of_a_person_s_answers_is_served(service: Service) -> None:
    (issued,) = service.answer([Applicant(states(1)[0])])
    last = service.refine(issued.token, Preferences(editable=["income"]))
    for which, answer in (("first", issued.answer), ("latest", last)):
        found = service.served(which=which)
        assert found.plans is not None
        assert (len(found.plans), found.repeated) == (1, 0)
        assert found.plans[issued.answer.id].options == answer.plan.options
