"""The API does what its OpenAPI document says, whatever is sent: schemathesis makes up requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from leastways.recourse import Recourse
from leastways.server import Service
from tests.support.loan_service import Client, app_of, serve, states

CHECKS = [
    not_a_server_error,
    negative_data_rejection,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def spoken(shop: Path, recourse: Recourse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that makes no jobs of small batches, and knows the name that the test's client calls it by."""
    database = tmp_path_factory.mktemp("spoken") / "d.db"
    more = {"allowed_hosts": ["*"], "limits": {"requests_per_second": 1e6, "burst": 10**6, "inline_rows": 3}}
    with serve(shop, recourse, database=str(database), **more) as opened:
        Client(opened).apply({"state": states(1)[0], "groups": {"region": "n"}})
        yield opened


@pytest.fixture(scope="module")
def api(spoken: Service) -> Any:
    return schemathesis.openapi.from_asgi("/v1/openapi.json", app_of(spoken))


# The audit is left out: its answer is not described in detail.
OPERATIONS = [
    ("GET", "/health"),
    ("POST", "/v1/recourse"),
    ("GET", "/v1/recourse/{answer_id}"),
    ("POST", "/v1/recourse/{answer_id}/choice"),
    ("GET", "/v1/jobs/{job_id}"),
    ("GET", "/v1/model"),
]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@pytest.mark.parametrize("mode", [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE])
def test_any_request_conforms_to_the_contract(
    api: Any, method: str, path: str, mode: schemathesis.GenerationMode
) -> None:
    operation = api[path][method]
    if mode is schemathesis.GenerationMode.NEGATIVE and path in ("/health", "/v1/model"):
        pytest.skip("nothing is sent to this route, so nothing can be wrong")

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    def send(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    send()


def test_the_document_describes_the_services_model(spoken: Service) -> None:
    document = app_of(spoken).openapi()
    person = document["components"]["schemas"]["PersonIn"]["properties"]
    assert list(person["state"]["properties"]) == list(spoken.schema.names)
    assert person["state"]["properties"]["job"]["enum"] == ["clerk", "cook", "nurse"]
    assert person["state"]["properties"]["age"]["type"] == "integer"
    assert "sex" not in person["preferences"]["properties"]["editable"]["items"]["enum"]
    assert list(person["groups"]["properties"]) == ["region"]
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            problems = {code: r for code, r in said["responses"].items() if code >= "400"}
            assert problems, f"{method} {path}"
            for response in problems.values():
                assert list(response["content"]) == ["application/problem+json"]
            assert {} in said.get("security", [{}])  # on loopback a key may be sent, and need not be
    assert "HTTPValidationError" not in document["components"]["schemas"]
