"""The audit over what was served, through the service and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

from leastways.audit import Audit
from leastways.errors import InputRefused, LeastwaysError
from leastways.recourse import Recourse
from leastways.report import audit_html
from leastways.server import Applicant, NotFound, Service
from leastways.server.pages.auditor import groups_of
from leastways.server.served import of_some
from tests.support.loan_service import Client, many, serve

pytest.importorskip("leastways.audit", reason="the audit is not in this build")
QUICK = {"bootstraps": 50, "permutations": 50}


@pytest.fixture(scope="module")
def busy(shop: Path, recourse: Recourse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that has answered people of two regions."""
    with serve(shop, recourse, database=str(tmp_path_factory.mktemp("busy") / "d.db")) as service:
        regions = ["north", "south", None]
        for first in range(0, 48, 16):
            rows = many(48)[first : first + 16]
            service.answer([Applicant(row, groups={"region": regions[i % 3]}) for i, row in enumerate(rows)])
        yield service


def test_audit_by_a_feature_and_by_an_attribute(busy: Service) -> None:
    audit = busy.audit(["sex", "region"], **QUICK)
    people = audit.by_group["people"]
    assert people.xs("sex", level="grouping").sum() == 48
    assert {"north", "south"} <= set(map(str, people.xs("region", level="grouping").index))
    assert audit.settings


def test_served_plans_have_the_schemas_dtypes() -> None:
    assert get_type_hints(Service.audit)["return"] is Audit


def test_the_audit_over_http_is_the_same(busy: Service) -> None:
    answer = Client(busy).get("/v1/audit", params={"by": ["sex", "region"], "which": "latest"})
    assert answer.status_code == 200, answer.text
    assert answer.json()


def test_a_span_of_time_without_answers(busy: Service) -> None:
    later = datetime.now(UTC) + timedelta(days=1)
    with pytest.raises(NotFound, match="no person was answered"):
        busy.audit("sex", since=later)
    assert Client(busy).get("/v1/audit", params={"by": "sex", "since": later.isoformat()}).status_code == 404


def test_unknown_columns_are_refused(busy: Service) -> None:
    with pytest.raises(InputRefused, match="Did you mean 'region'"):
        busy.audit(["regoin"])
    with pytest.raises(InputRefused, match="is missing"):
        busy.audit([])


def test_the_audit_records_its_days_and_answers(busy: Service) -> None:
    since, until = datetime.now(UTC) - timedelta(days=1), datetime.now(UTC) + timedelta(days=1)
    audit = busy.audit("sex", since=since, until=until, which="latest", only=("region", "north"), **QUICK)
    told = audit.settings["served"]
    assert (told["since"], told["until"], told["which"]) == (since.isoformat(), until.isoformat(), "latest")
    assert told["only"] == ["region", "north"]
    assert told["made"][:10] == datetime.now(UTC).date().isoformat()
    assert told["origins"][0]["settings"]["threshold"] == 0.5
    assert audit.warnings[0] == "Only people with region: north are counted here."
    assert Audit.from_json(audit.to_json()) == audit
    assert told["made"] in audit_html(audit)


def test_a_repeated_case_counts_once(lite: Service) -> None:
    rows = many(6)
    lite.answer([Applicant(row, reference=f"case {i}") for i, row in enumerate(rows)])
    for _ in range(4):
        lite.answer([Applicant(rows[0], reference="case 0")])
    lite.answer([Applicant(rows[1], reference="case 0"), Applicant(rows[2]), Applicant(rows[2])])  # not the same
    for which in ("first", "latest"):
        audit = lite.audit("sex", which=which, **QUICK)
        assert audit.by_group["people"].sum() == 9
        assert (
            "4 requests repeated an earlier one, with the same reference and facts; each of these cases counts once."
            in audit.warnings
        )


def test_of_a_repeated_case_the_first_or_the_latest_counts(lite: Service) -> None:
    row, other = many(2)
    (early,), (between,), (late,) = (
        lite.answer([Applicant(state, reference=label)]) for state, label in ((row, "a"), (other, "b"), (row, "a"))
    )
    for which, kept in (("first", [early, between]), ("latest", [between, late])):
        found = lite.served(which=which).plans
        assert found is not None
        assert list(found.summary.index) == [issued.answer.id for issued in kept]


def test_a_part_of_the_served_keeps_exactly_its_own_rows(lite: Service) -> None:
    issued = lite.answer([Applicant(row, groups={"region": str(i)}) for i, row in enumerate(many(4))])
    some = of_some(lite.served(), np.array([False, True, False, True]))
    assert some.plans is not None
    mine = [issued[i].answer for i in (1, 3)]
    assert list(some.plans.summary.index) == list(some.plans.people.index) == [answer.id for answer in mine]
    assert [plan.options for plan in some.plans] == [answer.plan.options for answer in mine]
    assert len(some.plans.options) == sum(len(answer.plan.options) for answer in mine)
    assert (some.groups["region"].tolist(), len(some.made)) == (["1", "3"], 2)


def test_a_few_texts_among_numbers_count_as_missing(shop: Path, recourse: Recourse, tmp_path: Path) -> None:
    with serve(shop, recourse, database=str(tmp_path / "d.db"), groups=["band"]) as service:
        rows = many(40)
        service.answer([Applicant(row, groups={"band": 1.5 * i}) for i, row in enumerate(rows[:16])])
        service.answer([Applicant(row, groups={"band": 1.5 * i}) for i, row in enumerate(rows[16:32])])
        service.answer([Applicant(rows[33], groups={"band": "n/a"}), Applicant(rows[34], groups={"band": None})])
        audit = service.audit("band:10", **QUICK)
        sizes = audit.by_group["people"].xs("band", level="grouping").to_dict()
        assert sizes == {"below 10": 14, "10 and above": 18, "not stated": 2}
        told = "band: 1 of 33 people have no number where the others have one; they count as not stated."
        assert told in audit.warnings
        service.answer([Applicant(row, groups={"band": "old"}) for row in rows[34:40]])
        with pytest.raises(LeastwaysError, match="does not hold numbers"):  # no mistake any more, but another attribute
            service.audit("band:10", **QUICK)


def test_mistaken_texts_are_not_quoted(shop: Path, recourse: Recourse, tmp_path: Path) -> None:
    with serve(shop, recourse, database=str(tmp_path / "d.db"), groups=["note", "band"]) as service:
        rows = many(16)
        said: list[dict[str, Any]] = [{"note": 1, "band": i % 2} for i in range(16)]
        said[0] = {"note": "Jane Doe", "band": "1"}  # a text that reads as a number is one
        service.answer([Applicant(row, groups=groups) for row, groups in zip(rows, said, strict=True)])
        assert "Jane" not in service.audit("sex", **QUICK).to_json()
        audit = service.audit(["note", "band"], **QUICK)
        assert "Jane" not in audit.to_json()
        assert audit.by_group["people"].xs("band", level="grouping").to_dict() == {"0": 7, "1": 9}


def test_an_empty_text_is_refused_as_a_group(lite: Service) -> None:
    with pytest.raises(InputRefused, match="is empty; send null where it is not known"):
        lite.answer([Applicant(many(1)[0], groups={"region": "  "})])


TAGS: list[Any] = [1, "1", True, None, "not stated", 1.0]  # as Python has them, 1 and True are one value


@pytest.fixture(scope="module")
def tagged(shop: Path, recourse: Recourse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose people have attributes that read alike and are not, or are and do not."""
    with serve(shop, recourse, database=str(tmp_path_factory.mktemp("tagged") / "d.db"), groups=["tag", "band"]) as one:
        said = [{"tag": TAGS[i % 6], "band": "Jane Doe" if i == 5 else i % 3} for i in range(45)]
        said.append({})
        one.answer([Applicant(row, groups=groups) for row, groups in zip(many(46), said, strict=True)])
        yield one


@pytest.mark.parametrize("column", ["tag", "band", "sex"])
def test_an_audit_of_one_group_equals_the_group_of_the_whole_audit(tagged: Service, column: str) -> None:
    sizes = tagged.audit(column, **QUICK).by_group["people"].xs(column, level="grouping").to_dict()
    offered = {key: pair for key, pair in groups_of(tagged).items() if pair[0] == column}
    assert set(offered) == {f"{column}: {group}" for group in sizes}
    for key, only in offered.items():
        audit = tagged.audit(column, only=only, **QUICK)
        group = key.removeprefix(f"{column}: ")
        assert audit.by_group["people"].xs(column, level="grouping").to_dict() == {group: sizes[group]}
        assert audit.warnings[0] == f"Only people with {key} are counted here."
        assert audit.settings["served"]["only"] == [column, group]
        assert "Jane" not in audit.to_json() + key
    assert sum(sizes.values()) == 46


def test_a_group_is_chosen_by_any_value_with_its_text(tagged: Service) -> None:
    def people(value: Any) -> int:
        return int(tagged.audit("sex", only=("tag", value), **QUICK).overall["people"].iloc[0])

    assert people(1) == people("1") == people(1.0) > people(True) == people("True") > 0
    assert people(None) == people(float("nan")) == people("not stated") > 0
    with pytest.raises(NotFound, match="no person with tag: 2"):
        people(2)
