"""Every field of every request wrong in turn: 422 with its name and what is allowed, and nothing stored."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastways.recourse import Recourse
from leastways.schema import Feature
from leastways.schema.validation import problems_of
from leastways.server import Applicant, Service
from leastways.server.inputs import fits
from tests.support.loan_service import BANK, Client, counts, serve, states

HUGE = 10**400
WRONG_STATES: list[tuple[str, Any, str]] = [
    ("age", 121, "whole number from 0 to 120"),
    ("age", 20.5, "not a whole number"),
    ("age", "20", "not a number"),
    ("age", True, "not a number"),
    ("age", None, "is missing"),
    ("age", HUGE, "too large"),
    ("age", float("nan"), "is missing"),
    ("age", [20], "single value"),
    ("income", -1, "outside the valid range"),
    ("income", float("inf"), "too large"),
    ("income", {"is": 3}, "single value"),
    ("school", "hihg", "Did you mean 'high'"),
    ("school", 1, "not a known category"),
    ("school", "", "not a known category"),
    ("job", "co\ud800ok", "half of a character"),
    ("age", "\udfff", "half of a character"),
    ("job", "baker", "one of 'clerk', 'cook', 'nurse'"),
    ("sex", False, "not a known category"),
]
WRONG_PREFERENCES: list[tuple[Any, str, str]] = [
    ([], "preferences", "must be an object"),
    ("fast", "preferences", "must be an object"),
    ({"speed": 1}, "preferences", "unknown 'speed'"),
    ({"editable": []}, "editable", "at least one feature"),
    ({"editable": "income"}, "editable", "list of features"),
    ({"editable": ["sex"]}, "editable", "which is fixed"),
    ({"editable": ["income", "income"]}, "editable", "twice"),
    ({"editable": [["income"]]}, "editable", "names"),
    ({"editable": ["incme"]}, "editable", "Did you mean 'income'"),
    ({"editable": {"income": False}}, "editable", "list of features"),
    ({"locked": "income"}, "locked", "list of features"),
    ({"locked": {"income": False}}, "locked", "list of features"),
    ({"locked": ["sex"]}, "locked", "which is fixed"),
    ({"locked": ["income", "income"]}, "locked", "twice"),
    ({"locked": [["income"]]}, "locked", "names"),
    ({"scores": {"income": 0.4}}, "scores", "sum to 1"),
    ({"scores": {"income": "1"}}, "scores", "number from 0 to 1"),
    ({"scores": [1]}, "scores", "mapping"),
    ({"alpha": 1.5}, "alpha", "from 0 to 1"),
    ({"alpha": "half"}, "alpha", "from 0 to 1"),
    ({"alpha": HUGE}, "alpha", "too large"),
    ({"ranges": [1]}, "ranges", "object"),
    ({"ranges": {"income": 5}}, "ranges", "must be a list"),
    ({"ranges": {"income": [5]}}, "ranges", "[low, high]"),
    ({"ranges": {"income": [9, 1]}}, "ranges", "down to"),
    ({"ranges": {"income": [None, None]}}, "ranges", "neither end"),
    ({"ranges": {"income": ["a", "b"]}}, "ranges", "two numbers"),
    ({"ranges": {"income": [HUGE, None]}}, "ranges", "too large"),
    ({"ranges": {"job": ["baker"]}}, "ranges", "one of 'clerk'"),
    ({"ranges": {"job": [3]}}, "ranges", "one of 'clerk'"),
    ({"ranges": {"job": ["cook"] * 4}}, "ranges", "there are 3"),
    ({"ranges": {"job": []}}, "ranges", "no value"),
    ({"ranges": {"job": [["cook"]]}}, "ranges", "no value"),
    ({"ranges": {"sex": ["f"]}}, "ranges", "which is fixed"),
    ({"costs": {"school": {"high": 1}}}, "costs", "[value, cost]"),
    ({"costs": {"school": [["high", 2]]}}, "costs", "[0, 1]"),
    ({"costs": {"school": [["high"]]}}, "costs", "[value, cost]"),
    ({"costs": {"school": [["high", 0.1], ["high", 0.2]]}}, "costs", "twice"),
    ({"costs": {"school": [["hihg", 0.5]]}}, "costs", "Did you mean 'high'"),
    ({"costs": {"income": [[HUGE, 0.5]]}}, "costs", "too large"),
    ({"costs": {"income": [[1234.56789, 0.5]]}}, "preferences", "not on its grid"),
    ({"editable": ["job"], "scores": {"income": 1.0}}, "preferences", "not among the editable"),
    ({"editable": ["job"], "locked": ["job"]}, "preferences", "is locked, but is editable too"),
]
WRONG_REST: list[tuple[str, Any, str, str]] = [
    ("reference", 7, "reference", "text"),
    ("reference", "  ", "reference", "not empty"),
    ("reference", "x" * 201, "reference", "at most 200"),
    ("reference", "nul \x00", "reference", "cannot be kept"),
    ("reference", "half \ud800", "reference", "cannot be kept"),
    ("groups", {"regoin": "n"}, "regoin", "Did you mean 'region'"),
    ("groups", {"region": ["n"]}, "region", "a text of at most 200"),
    ("groups", {"region": "n" * 201}, "region", "a text of at most 200"),
    ("groups", {"region": HUGE}, "region", "a number"),
    ("groups", [], "groups", "dictionary"),
    ("state", [], "state", "dictionary"),
    ("state", None, "state", "dictionary"),
    ("colour", "red", "colour", "not a field"),
]


@pytest.fixture(scope="module")
def untouched(shop: Path, recourse: Recourse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that never stores anything, because every request to it is wrong."""
    with serve(shop, recourse, database=str(tmp_path_factory.mktemp("untouched") / "d.db")) as opened:
        yield opened


@pytest.fixture(scope="module")
def asked(shop: Path, recourse: Recourse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that has answered a person."""
    with serve(shop, recourse, database=str(tmp_path_factory.mktemp("asked") / "d.db")) as opened:
        yield opened


def good() -> dict[str, Any]:
    return {"state": states(1)[0], "preferences": None, "reference": "r", "groups": {"region": "n"}}


def refused(service: Service, body: Any, field: str, allowed: str, pointer: str | None = None) -> None:
    answer = Client(service).post(
        "/v1/recourse", None, content=_json(body), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == 422
    named = [e for e in problem["errors"] if e["field"] == field]
    assert named, problem
    assert any(allowed in e["message"] for e in named), problem
    if pointer is not None:
        assert pointer in [e["pointer"] for e in named]
    assert counts(service) == dict.fromkeys(counts(service), 0)


def _json(body: Any) -> bytes:
    import json

    return json.dumps(body).encode()  # with NaN and Infinity, which httpx would not send


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG_STATES)
def test_wrong_values_are_named(untouched: Service, name: str, value: Any, allowed: str) -> None:
    person = good()
    person["state"][name] = value
    refused(untouched, {"people": [good(), person]}, name, allowed, f"/people/1/state/{name}")


@pytest.mark.parametrize("name", BANK.names)
def test_a_missing_feature_is_named(untouched: Service, name: str) -> None:
    person = good()
    del person["state"][name]
    refused(untouched, {"people": [person]}, name, "is missing; allowed:", f"/people/0/state/{name}")


def test_an_unknown_feature_is_named(untouched: Service) -> None:
    person = good()
    person["state"]["incme"] = 3
    refused(untouched, {"people": [person]}, "incme", "Did you mean 'income'", "/people/0/state/incme")


@pytest.mark.parametrize(("said", "field", "allowed"), WRONG_PREFERENCES)
def test_wrong_preferences_are_named(untouched: Service, said: Any, field: str, allowed: str) -> None:
    refused(untouched, {"people": [good() | {"preferences": said}]}, field, allowed)


@pytest.mark.parametrize(("name", "value", "field", "allowed"), WRONG_REST)
def test_other_wrong_fields_are_named(untouched: Service, name: str, value: Any, field: str, allowed: str) -> None:
    refused(untouched, {"people": [good() | {name: value}]}, field, allowed)


@pytest.mark.parametrize(
    ("body", "field", "allowed"),
    [
        ({}, "people", "is missing"),
        ({"people": []}, "people", "at least 1"),
        ({"people": {}}, "people", "list"),
        ({"people": [3]}, "people", "dictionary"),
        ({"people": [good()], "person": 1}, "person", "not a field"),
        ([], "body", "dictionary"),
        (None, "body", ""),
    ],
)
def test_a_wrong_body_is_named(untouched: Service, body: Any, field: str, allowed: str) -> None:
    refused(untouched, body, field, allowed)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b'{"people": [{"state": {"age": 1, "age": 2}}]}', "the key 'age' occurs twice"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"people": [\xff]}', "is not valid JSON"),
        (b'{"people": [}', "is not valid JSON"),
        (b"", ""),
    ],
    ids=["twice", "deep", "no UTF-8", "torn", "empty"],
)
def test_an_unreadable_body_is_refused(untouched: Service, text: bytes, told: str) -> None:
    answer = Client(untouched).post("/v1/recourse", None, content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["field"] == "body"
    assert told in error["message"]


def test_every_fault_is_named_at_once(untouched: Service) -> None:
    first, second = good(), good()
    first["state"] |= {"age": -3, "job": "baker"}
    second["reference"] = ""
    body = {"people": [first, second]}
    answer = Client(untouched).post("/v1/recourse", body)
    pointers = {e["pointer"] for e in answer.json()["errors"]}
    assert pointers == {"/people/0/state/age", "/people/0/state/job", "/people/1/reference"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "option"),
        ({"option": "1"}, "option"),
        ({"option": True}, "option"),
        ({"option": 1.5}, "option"),
        ({"option": 99}, "option"),
        ({"option": 0}, "option"),
        ({"option": 1, "reason": 3}, "reason"),
        ({"option": 1, "reason": "x" * 2001}, "reason"),
        ({"option": 1, "reason": "\x00"}, "reason"),
        ({"option": 1, "why": "x"}, "why"),
    ],
)
def test_a_wrong_choice_is_refused(asked: Service, body: Any, field: str) -> None:
    (issued,) = asked.answer([Applicant(states(1)[0])])
    answer = Client(asked).post(f"/v1/recourse/{issued.answer.id}/choice", body)
    assert answer.status_code == 422
    assert field in [e["field"] for e in answer.json()["errors"]]
    assert counts(asked)["choices"] == 0


QUESTIONS = [
    "",
    "by=shoe",
    "by=sex&since=yesterday",
    "by=sex&since=0001-01-01T00:00:00%2B14:00",
    "by=sex&until=9999-12-31T23:00:00-14:00",
    "by=sex&which=third",
    "by=sex&until=12",
]


@pytest.mark.parametrize("query", QUESTIONS)
def test_a_wrong_audit_query_is_refused(asked: Service, query: str) -> None:
    client = Client(asked)
    client.apply({"state": states(1)[0]})
    answer = client.get(f"/v1/audit?{query}")
    if query == "by=sex&until=12":  # twelve seconds after 1970: a moment without earlier answers
        assert answer.status_code == 404
        return
    assert answer.status_code == 422
    wanted = "by" if query in ("", "by=shoe") else query.rpartition("&")[2].partition("=")[0]
    assert [e["field"] for e in answer.json()["errors"]] == [wanted]
    assert answer.json()["errors"][0]["pointer"] == f"/query/{wanted}"


MANY = {f"k{i}": 1 for i in range(30_000)}
FLOODS: list[tuple[str, Any]] = [
    ("state", {"people": [good() | {"state": good()["state"] | MANY}]}),
    ("groups", {"people": [good() | {"groups": MANY}]}),
    ("fields", {"people": [good() | MANY]}),
    ("top", {"people": [good()], **MANY}),
    ("no people", {"people": [{}] * 30_000}),
    ("rows", {"people": [{"state": {}, "preferences": 1}] * 30_000}),
    ("preferences", {"people": [{"state": {}, "preferences": 1}] * 9_000}),
    ("long", {"people": [good() | {"state": good()["state"] | {"x" * 500_000: 1, "job": "y" * 500_000}}]}),
]


@pytest.mark.parametrize(("name", "body"), FLOODS, ids=[name for name, _ in FLOODS])
def test_very_many_faults_are_cut_short(untouched: Service, name: str, body: Any, monkeypatch: Any) -> None:
    """Wording a fault blocks other requests, so only as many are worded as are reported."""
    from leastways import errors as faults

    worded: list[Any] = []
    monkeypatch.setattr(faults.FieldError, "__post_init__", worded.append, raising=False)
    answer = Client(untouched).post(
        "/v1/recourse", None, content=_json(body), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    assert 1 <= len(answer.json()["errors"]) <= 100
    assert len(worded) <= 210
    assert len(answer.content) < 100_000


def test_the_unmutated_request_is_accepted(asked: Service) -> None:
    body = copy.deepcopy({"people": [good()]})
    assert Client(asked).post("/v1/recourse", body).status_code == 200


@given(
    st.sampled_from(BANK.features),
    st.one_of(
        st.integers(-10, 80),
        st.floats(allow_nan=True),
        st.booleans(),
        st.none(),
        st.sampled_from(["f", "cook", "mid", "x"]),
    ),
)
def test_the_quick_check_agrees_with_the_schema(feature: Any, value: Any) -> None:
    column = pd.Series([value], dtype=object).infer_objects()
    assert fits(feature, value) == problems_of(pd.DataFrame({feature.name: column}), [feature]).empty


def test_true_is_not_accepted_as_1() -> None:
    owner = Feature("owner", "category", (False, True), dtype="bool")
    code = Feature("code", "category", (0, 1), dtype="object")
    assert [fits(owner, value) for value in (True, False, 1, 0.0, "True")] == [True, True, False, False, False]
    assert [fits(code, value) for value in (1, 0.0, True, False, "1")] == [True, True, False, False, False]
