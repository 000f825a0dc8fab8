"""Keys: each scope against each route, and what is asked of those who can be reached from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leastways.errors import SettingError
from leastways.recourse import Recourse
from leastways.server import Service
from leastways.server.app import check_exposure
from leastways.server.keys import SCOPES, KeyStore
from tests.support.loan_service import Client, serve, states

# method, path, body, the scopes that open it; everything else about the request is right
ROUTES: list[tuple[str, str, Any, tuple[str, ...]]] = [
    ("POST", "/v1/recourse", {"people": [{"state": states(1)[0]}]}, ("apply",)),
    ("GET", "/v1/recourse/{answer}", None, ("read",)),
    ("POST", "/v1/recourse/{answer}/choice", {"option": None, "reason": "no"}, ("apply",)),
    ("GET", "/v1/jobs/nothing", None, ("apply", "read")),
    ("GET", "/v1/model", None, SCOPES),
    ("GET", "/v1/openapi.json", None, SCOPES),
    ("GET", "/v1/audit?by=nothing", None, ("audit",)),
]


@pytest.fixture(scope="module")
def guarded(shop: Path, recourse: Recourse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    database = tmp_path_factory.mktemp("guarded") / "answers.db"
    with serve(shop, recourse, database=str(database), require_keys=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def answer_id(guarded: Service) -> str:
    from leastways.server import Applicant

    return guarded.answer([Applicant(states(1)[0])])[0].answer.id


def ask(service: Service, route: tuple[str, str, Any, tuple[str, ...]], answer_id: str, key: str) -> int:
    method, path, body, _ = route
    more = {} if body is None else {"json": body}
    return Client(service, key).request(method, path.format(answer=answer_id), **more).status_code


def test_every_route_is_listed_with_its_scope(guarded: Service) -> None:
    from leastways.server.app import create_app

    paths = create_app(guarded).openapi()["paths"]
    served = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    listed = {
        (m, p.partition("?")[0].replace("{answer}", "{answer_id}").replace("nothing", "{job_id}"))
        for m, p, *_ in ROUTES
    }
    assert {pair for pair in served if pair[1].startswith("/v1")} == listed - {("GET", "/v1/openapi.json")}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route[0]} {route[1]}")
@pytest.mark.parametrize("scope", SCOPES)
def test_each_scope_against_each_route(guarded: Service, answer_id: str, route: Any, scope: str) -> None:
    _, key = guarded.keys.create(scope, [scope])
    status = ask(guarded, route, answer_id, key)
    if scope in route[3]:
        assert status in (200, 404, 422)  # what comes after the door: 404 and 422 are of jobs and audits of nothing
    else:
        assert status == 403


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route[0]} {route[1]}")
def test_a_key_with_two_scopes_grants_both(guarded: Service, answer_id: str, route: Any) -> None:
    _, key = guarded.keys.create("both", ["audit", "read"])
    assert (ask(guarded, route, answer_id, key) == 403) == (not {"audit", "read"} & set(route[3]))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route[0]} {route[1]}")
@pytest.mark.parametrize("key", ["", "nonsense", "lw_000000000000_secret", "lw__", "lw_é_x"])
def test_missing_and_wrong_keys_are_refused(guarded: Service, answer_id: str, route: Any, key: str) -> None:
    assert ask(guarded, route, answer_id, key) == 401


def test_a_key_with_a_wrong_secret_is_refused(guarded: Service, answer_id: str) -> None:
    one, text = guarded.keys.create("one", ["read"])
    other, another = guarded.keys.create("other", ["read"])
    mixed = f"lw_{one.id}_{another.split('_', 2)[2]}"
    for wrong in (text[:-1], text + "x", mixed, text.upper()):
        assert guarded.keys.check(wrong) is None
    assert guarded.keys.check(text) == one
    assert guarded.keys.check(another) == other


def test_callers_without_a_key_do_not_use_up_the_rate_of_a_key(
    shop: Path, recourse: Recourse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a proxy all callers have one address; a key checked recently has its own rate, and is checked again."""
    from leastways.server import keys

    monkeypatch.setattr(keys, "_REMEMBERED", 0.0)
    slow = {"requests_per_second": 0.01, "burst": 4}
    with serve(shop, recourse, database=str(tmp_path / "d.db"), limits=slow, require_keys=True) as service:
        key, text = service.keys.create("desk", ["read"])
        holder, visitor = Client(service, text), Client(service)
        assert holder.get("/v1/model").status_code == 200
        assert [visitor.get("/p/nothing").status_code for _ in range(4)][-1] == 429
        assert holder.get("/v1/model").status_code == 200
        service.keys.revoke(key.id)
        assert holder.get("/v1/model").status_code in (401, 429)


def test_a_revoked_key_is_refused(guarded: Service, answer_id: str) -> None:
    key, text = guarded.keys.create("leaver", ["read"])
    client = Client(guarded, text)
    assert client.get(f"/v1/recourse/{answer_id}").status_code == 200
    guarded.keys.revoke(key.id)
    assert client.get(f"/v1/recourse/{answer_id}").status_code == 401


def test_a_key_revoked_by_another_process_is_refused_after_its_next_check(
    guarded: Service, answer_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = [0.0]
    monkeypatch.setattr("leastways.server.keys.time", SimpleNamespace(monotonic=lambda: moment[0]))
    key, text = guarded.keys.create("leaver", ["read"])
    client = Client(guarded, text)
    assert client.get(f"/v1/recourse/{answer_id}").status_code == 200
    KeyStore(guarded.engine).revoke(key.id)
    moment[0] = 4.9
    assert guarded.keys.remembered(text) == (key, True)  # not looked up each time: see how long it may live on
    moment[0] = 5.1
    assert guarded.keys.remembered(text) == (key, False)
    assert client.get(f"/v1/recourse/{answer_id}").status_code == 401
    assert guarded.keys.remembered(text) == (None, False)


def test_revoking_twice_keeps_the_first_time(guarded: Service) -> None:
    key, _ = guarded.keys.create("leaver", ["read"])
    assert guarded.keys.revoke(key.id).revoked == guarded.keys.revoke(key.id).revoked


def test_refusal_states_how_to_send_a_key(guarded: Service, answer_id: str) -> None:
    answer = Client(guarded).get(f"/v1/recourse/{answer_id}")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["type"].endswith("key-needed")
    basic = Client(guarded).get("/v1/model", headers={"Authorization": "Basic bHc6bHc="})
    assert basic.status_code == 401


def test_health_needs_no_key(guarded: Service) -> None:
    assert Client(guarded).get("/health").status_code == 200


def test_on_loopback_no_key_is_needed_but_a_wrong_one_is_refused(lite: Service) -> None:
    assert Client(lite).get("/v1/model").status_code == 200
    assert Client(lite, "lw_000000000000_secret").get("/v1/model").status_code == 401
    for header in ("Basic bHc6bHc=", "Bearer", ""):
        assert Client(lite).get("/v1/model", headers={"Authorization": header}).status_code == 401
    _, read = lite.keys.create("reader", ["read"])
    assert Client(lite, read).apply({"state": states(1)[0]}).status_code == 403


def test_secrets_are_not_in_the_database(lite: Service, tmp_path: Path) -> None:
    _, text = lite.keys.create("x", ["read"])
    lite.engine.dispose()
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("answers.db*"))
    assert text.split("_", 2)[2].encode() not in kept


def test_exposure_needs_keys_and_host_names(shop: Path, recourse: Recourse, tmp_path: Path) -> None:
    database = str(tmp_path / "d.db")
    with serve(shop, recourse, database=database, host="0.0.0.0") as exposed:
        assert exposed.config.keys_required
        with pytest.raises(SettingError, match="no API key yet"):
            check_exposure(exposed.config, exposed.keys)
        key, _ = exposed.keys.create("a", ["read"])
        with pytest.raises(SettingError, match="allowed_hosts"):
            check_exposure(exposed.config, exposed.keys)
        assert Client(exposed).get("/v1/model").status_code == 400  # by the name of localhost
    named = {"host": "0.0.0.0", "allowed_hosts": ["bank.example"], "database": database}
    with serve(shop, recourse, **named) as exposed:
        check_exposure(exposed.config, exposed.keys)
        assert Client(exposed, host="bank.example").get("/v1/model").status_code == 401
        exposed.keys.revoke(key.id)
        with pytest.raises(SettingError, match="no API key yet"):
            check_exposure(exposed.config, exposed.keys)


@pytest.mark.parametrize(("name", "scopes"), [("", ["read"]), ("a", []), ("a", ["reed"]), ("x" * 201, ["read"])])
def test_invalid_keys_are_not_made(lite: Service, name: str, scopes: list[str]) -> None:
    with pytest.raises(SettingError):
        lite.keys.create(name, scopes)
