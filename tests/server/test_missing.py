"""Somebody of whom something is not known: null in, null out, "not stated" on their page, the same on replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import skops.io
import yaml

from leastways._values import value_or_none
from leastways.schema import Schema
from leastways.server import Service, read_config
from leastways.server.solving import replay
from tests.support.loan_service import SMALL, Client
from tests.support.tables_with_gaps import PEOPLE, SCHEMA, TRAIN, Y, pipeline


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service opened from files: what a gap is must survive YAML, CSV and JSON."""
    folder = tmp_path_factory.mktemp("gaps")
    skops.io.dump(pipeline(), folder / "model.skops")
    Schema(SCHEMA.features, target="approved").to_yaml(folder / "schema.yaml")
    TRAIN.assign(approved=Y.astype(int)).to_csv(folder / "train.csv", index=False)
    config = {"model": "model.skops", "schema": "schema.yaml", "data": "train.csv"} | SMALL
    (folder / "service.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    with Service.open(read_config(folder / "service.yaml", database=str(folder / "answers.db"))) as opened:
        yield opened


def refused_without_job() -> dict[str, Any]:
    rows = PEOPLE[PEOPLE["job"].isna() & PEOPLE["income"].notna() & (pipeline().predict(PEOPLE) == 0)]
    return {name: value_or_none(rows[name].iloc[0]) for name in SCHEMA.names}


def test_missing_values_stay_missing(service: Service) -> None:
    client, state = Client(service), refused_without_job()
    assert state["job"] is None
    answer = client.apply({"state": state})
    assert answer.status_code == 200, answer.text
    (one,) = answer.json()["answers"]
    assert one["state"] == state
    assert one["status"] == "found"
    assert "job" not in {change["feature"] for option in one["options"] for change in option["changes"]}
    read = client.get(f"/v1/recourse/{one['id']}").json()
    assert read == {name: value for name, value in one.items() if name not in ("token", "link")}
    page = client.get(f"/p/{one['token']}").text
    assert "not stated" in page
    assert f'name="f{SCHEMA.position("job")}-' not in page  # nothing to say about it
    assert "nan" not in page.lower().replace("finance", "")
    assert "keine Angabe" in client.get(f"/p/{one['token']}?lang=de").text
    result = replay(service.config, service.engine, one["id"])
    assert result.same, result.differences


def test_a_left_out_value_is_refused_where_null_is_allowed(service: Service) -> None:
    state = refused_without_job()
    del state["job"]
    answer = Client(service).apply({"state": state})
    assert answer.status_code == 422
    assert "send null where it is not known" in answer.text


def test_contract_states_where_null_is_allowed(service: Service) -> None:
    document = Client(service).get("/v1/openapi.json").json()
    text = str(document)
    assert "'anyOf': [{'enum': ['clerk', 'cook', 'nurse']}, {'type': 'null'}]" in text
    features = Client(service).get("/v1/model").json()["features"]
    assert all(feature["allowed"].endswith(", or missing") for feature in features)
