"""The audit over what was served, through the service and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leastways.recourse import Recourse
from leastways.server import Applicant, NotKnown, Service
from leastways.server.faults import InputRefused
from tests.server.shop import Client, serve
from tests.server.test_jobs import many

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


def test_by_a_feature_and_by_an_attribute_of_its_own(busy: Service) -> None:
    audit = busy.audit(["sex", "region"], **QUICK)
    people = audit.by_group["people"]
    assert people.xs("sex", level="grouping").sum() == 48
    assert {"north", "south"} <= set(map(str, people.xs("region", level="grouping").index))
    assert audit.settings


def test_over_http(busy: Service) -> None:
    answer = Client(busy).get("/v1/audit", params={"by": ["sex", "region"], "which": "latest"})
    assert answer.status_code == 200, answer.text
    assert answer.json()


def test_a_span_of_time_in_which_nobody_came(busy: Service) -> None:
    later = datetime.now(UTC) + timedelta(days=1)
    with pytest.raises(NotKnown, match="nobody"):
        busy.audit("sex", since=later)
    assert Client(busy).get("/v1/audit", params={"by": "sex", "since": later.isoformat()}).status_code == 404


def test_what_there_is_not(busy: Service) -> None:
    with pytest.raises(InputRefused, match="Did you mean 'region'"):
        busy.audit(["regoin"])
    with pytest.raises(InputRefused, match="is missing"):
        busy.audit([])
