"""A service that comes back with another model, threshold or schema: what it says of earlier answers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlalchemy import update

from leastways.errors import InputRefused, NotFound, NotReady
from leastways.recourse import Recourse
from leastways.schema import Schema
from leastways.server import Applicant, Service
from leastways.server.database import JobRow, writing
from leastways.server.jobs import JobRunner
from tests.support.loan_service import BANK, LABELLED, SMALL, Client, counts, finished, pipeline, serve, states, until
from tests.support.page_services import Visitor

Reopen = Callable[..., AbstractContextManager[Service]]
QUICK = {"bootstraps": 50, "permutations": 50}


@pytest.fixture
def reopen(shop: Path, tmp_path: Path) -> Reopen:
    """Open a service on one and the same database, with another threshold or schema."""

    def opened(schema: Schema = BANK, **settings: Any) -> AbstractContextManager[Service]:
        train = LABELLED[[*schema.names, "approved"]]
        model: Any = pipeline() if schema.names == BANK.names else lambda frame: frame["income"].to_numpy() > 1e5
        recourse = Recourse(model, schema, **{**SMALL, **settings}).fit(train)
        return serve(shop, recourse, database=str(tmp_path / "answers.db"))

    return opened


OTHER = BANK.update({"income": {"direction": "fixed"}})
FEWER = Schema(tuple(f for f in BANK.features if f.name != "job"), target="approved")


def test_an_answer_under_another_threshold_is_marked_and_can_be_renewed(reopen: Reopen) -> None:
    with reopen() as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
        assert "by the rules of today" not in Visitor(service).get(f"/p/{issued.token}").text
    with reopen(threshold=0.9) as service:
        visitor, here = Visitor(service), f"/p/{issued.token}"
        page = visitor.get(here)
        assert page.status_code == 200
        assert f"This answer was made on {issued.answer.created.date()}" in page.text
        assert f"Diese Antwort ist vom {issued.answer.created:%d.%m.%Y}." in visitor.get(f"{here}?lang=de").text
        visitor.get(f"{here}?lang=en")
        assert "A yes needs 50%" in page.text  # what is shown is of that time
        assert "A yes needs 90%" not in page.text
        assert "preferences-heading" not in page.text
        locked = {f"f{place}-lock": "1" for place in range(len(BANK.features))}
        for form in (locked, {"f1-low": "much"}):  # what an old page says is not answered by the new rules
            old = visitor.send(here, form)
            assert (old.status_code, old.headers["location"]) == (303, here)
        assert counts(service)["answers"] == 1
        again = visitor.send(here, {"again": "1"})
        assert again.status_code == 303
        page = visitor.get(here)
        assert "This answer was made on" not in page.text
        assert "A yes needs 90%" in page.text
        assert counts(service)["answers"] == 2
        visitor.send(here, {"again": "1"})  # by the same rules there is nothing new to find
        assert counts(service)["answers"] == 2


def test_an_answer_under_another_schema_is_not_shown_with_its_labels(reopen: Reopen) -> None:
    with reopen() as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
    here = f"/p/{issued.token}"
    with reopen(OTHER) as service:
        visitor = Visitor(service)
        page = visitor.get(here)
        assert (page.status_code, "<h1>The rules have changed</h1>" in page.text) == (200, True)
        assert "Option 1" not in page.text
        old = visitor.send(here, {"f0-lock": "1"}, headers={"X-Fragment": "options"})  # of a page that was open before
        assert old.status_code == 409
        assert visitor.send(here, {"again": "1"}).status_code == 303
        page = visitor.get(here)
        assert "<h1>The rules have changed</h1>" not in page.text
        assert service.read_by_token(issued.token).parent == issued.answer.id


def test_recorded_facts_that_no_longer_fit_the_schema(reopen: Reopen) -> None:
    with reopen() as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
    with reopen(FEWER) as service:
        visitor, here = Visitor(service), f"/p/{issued.token}"
        page = visitor.get(here)
        assert (page.status_code, "ask the people who sent you this link" in page.text) == (409, True)
        with pytest.raises(InputRefused, match="does not fit the current schema"):
            service.refine(issued.token, None)
        assert Client(service).get(f"/v1/recourse/{issued.answer.id}").status_code == 200  # what was said is on record


def test_a_job_whose_people_no_longer_fit_fails(reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobRunner, "_run", lambda self: None)
    with reopen() as service:
        job, pending = service.add_job([Applicant(state) for state in states(3)])
    monkeypatch.undo()
    with reopen(FEWER) as service:
        service._runner.wake()
        client = Client(service)
        assert "the schema has changed since this job was added" in finished(client, job.id)["error"]
        detail = client.get(f"/v1/recourse/{pending[0].id}").json()["detail"]
        assert "failed: the schema has changed" in detail
        page = Visitor(service).get(f"/p/{pending[0].token}")
        assert (page.status_code, "could not be prepared" in page.text) == (503, True)
    with reopen() as service:  # the schema of that time: it goes on
        until(lambda: service.jobs.read(job.id).state == "done")
        assert service.jobs.read(job.id).done == 3


ODD = pd.DataFrame(
    {
        "income": [1000 + 40 * i for i in range(60)],
        "owner": [i % 2 == 0 for i in range(60)],
        "tier": pd.Categorical([i % 3 for i in range(60)]),
    }
)


def rich(frame: pd.DataFrame) -> Any:
    return frame["income"].to_numpy() / 5000 + frame["owner"].to_numpy().astype(float) / 10


def test_categories_need_not_be_texts(shop: Path, tmp_path: Path) -> None:
    """Jobs, pages and audits of people with truth values and numbers as categories, before and after a change."""
    schema, people = Schema.infer(ODD), [{"income": 1000 + i, "owner": i > 2, "tier": i % 3} for i in range(6)]
    for changed in (schema, schema.update(income={"direction": "up"})):
        recourse = Recourse(rich, changed, **SMALL).fit(ODD)
        with serve(shop, recourse, database=str(tmp_path / "odd.db")) as service:
            if changed is schema:
                (issued,) = service.answer([Applicant(people[0])])
            assert service.still_fits(service.read_by_token(issued.token))
            job, _ = service.add_job([Applicant(state) for state in people[1:]])
            told = finished(Client(service), job.id)
            assert (told["state"], told["done"]) == ("done", 5), told
            served = service.served()
    assert (len(served.made), served.left_out) == (11, 0)


def test_page_of_a_pending_answer_reports_that_it_is_pending(reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobRunner, "_run", lambda self: None)
    with reopen() as service:
        _, pending = service.add_job([Applicant(state) for state in states(2)])
        page = Visitor(service).get(f"/p/{pending[1].token}")
        assert (page.status_code, "still being prepared" in page.text) == (503, True)
        with pytest.raises(NotReady):
            service.read_by_token(pending[0].token)
        assert Visitor(service).get("/p/nobodys").status_code == 404
        with writing(service.engine) as session:
            session.execute(update(JobRow).values(state="done"))


def test_an_audit_warns_of_several_thresholds_and_schemas(reopen: Reopen) -> None:
    people = states(6)
    with reopen() as service:
        service.answer([Applicant(state) for state in people[:3]])
        alone = service.audit("sex", **QUICK)
        assert not any("The service changed" in warning for warning in alone.warnings)
        (origin,) = alone.settings["served"]["origins"]
        assert (origin["people"], origin["settings"]["threshold"]) == (3, 0.5)
    with reopen(OTHER, threshold=0.9) as service:
        service.answer([Applicant(state) for state in people[3:]])
        audit = service.audit("sex", **QUICK)
        assert audit.by_group["people"].sum() == 6  # they fit, whatever the other schema lets them change
        (told,) = [warning for warning in audit.warnings if warning.startswith("The service changed once")]
        assert "threshold 0.5" in told
        assert "threshold 0.9" in told
        assert audit.settings["plans"]["budget"] == SMALL["budget"]
    with reopen(FEWER) as service:
        with pytest.raises(
            Exception, match="6 people were answered under an earlier schema and do not fit the current one"
        ):
            service.audit("sex", **QUICK)
        state = {name: value for name, value in people[0].items() if name != "job"}
        service.answer([Applicant(state)])
        audit = service.audit("sex", **QUICK)
        warning = "6 people were answered under an earlier schema and do not fit the current one; they are not counted."
        assert warning in audit.warnings


def test_an_audit_of_one_group_over_several_thresholds(reopen: Reopen) -> None:
    people = states(6)
    with reopen() as service:
        service.answer([Applicant(state, groups={"region": "north"}) for state in people[:3]])
    with reopen(threshold=0.9) as service:
        service.answer([Applicant(state, groups={"region": "south"}) for state in people[3:]])
        audit = service.audit("sex", only=("region", "south"), **QUICK)
        assert not any("The service changed" in warning for warning in audit.warnings)
        (origin,) = audit.settings["served"]["origins"]
        assert (origin["people"], origin["settings"]["threshold"]) == (3, 0.9)
        with pytest.raises(NotFound, match="no person with region: west was answered"):
            service.audit("sex", only=("region", "west"), **QUICK)
    with reopen(threshold=0.9, random_state=7) as service:
        service.answer([Applicant(states(1)[0])])
        (told,) = [text for text in service.audit("sex", **QUICK).warnings if "changed twice" in text]
        assert "random_state 7" in told


def test_repeated_case_counts_by_the_answer_that_fits_the_current_schema(reopen: Reopen) -> None:
    state = states(1)[0]
    most = state["income"]
    lower = BANK.update({"income": {"max": most, "valid_range": [None, most]}})
    with reopen() as service:
        (issued,) = service.answer([Applicant(state, reference="case 1")])
        assert any(option.values["income"] > most for option in issued.answer.plan.options)
    with reopen(lower) as service:
        (again,) = service.answer([Applicant(state, reference="case 1")])
        served = service.served()
        assert (len(served.made), served.left_out) == (1, 0)
        assert served.plans is not None
        assert served.plans.people.index.tolist() == [again.answer.id]
