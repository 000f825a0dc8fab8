"""A small bank that serves: its files, its people, and a client that talks to the app in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import yaml
from fastapi import FastAPI
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leastways._values import plain
from leastways.plans import plan_to_json
from leastways.recourse import Recourse
from leastways.schema import Schema
from leastways.server import Answer, Service, read_config
from leastways.server.answers import fingerprints_of
from leastways.server.app import create_app
from tests.support.bank_people import SCHEMA, TRAIN, chance

SMALL: dict[str, Any] = {"n_options": 3, "budget": 60, "n_costs": 40}
LABELLED = TRAIN.assign(approved=(chance(TRAIN) >= 0.5).astype(int))
BANK = Schema(SCHEMA.features, target="approved")


def pipeline() -> Pipeline:
    """The bank's model."""
    encoder = make_column_transformer(
        (OneHotEncoder(), ["school", "job", "sex"]), (StandardScaler(), ["age", "income"])
    )
    return make_pipeline(encoder, LogisticRegression()).fit(TRAIN, LABELLED["approved"])


def write_shop(folder: Path, **changes: Any) -> Path:
    """Write everything a service needs; returns the config's path."""
    import skops.io

    skops.io.dump(pipeline(), folder / "model.skops")
    BANK.to_yaml(folder / "schema.yaml")
    LABELLED.to_csv(folder / "train.csv", index=False)
    config = {"model": "model.skops", "schema": "schema.yaml", "data": "train.csv", "groups": ["region"]}
    file = folder / "service.yaml"
    file.write_text(yaml.safe_dump(config | SMALL | changes), encoding="utf-8")
    return file


@cache
def refused_people() -> pd.DataFrame:
    """The people of the training table whom the bank refuses."""
    now = pipeline().predict_proba(TRAIN)[:, 1]
    refused: pd.DataFrame = TRAIN[(now > 0.01) & (now < 0.45)]
    return refused


def states(n: int = 6) -> list[dict[str, Any]]:
    """States of refused people, as JSON has them."""
    refused = refused_people().head(n)
    assert len(refused) == n
    return [{str(k): plain(v) for k, v in row.items()} for row in refused.to_dict("records")]


def serve(file: Path, recourse: Recourse, **changes: Any) -> Service:
    """Open a service with a search that is ready already: fitting it again for every test would only take time."""
    config = read_config(file, **changes)
    return Service(config, recourse, fingerprints_of(config, recourse.schema.to_yaml()))


@lru_cache(maxsize=4)
def app_of(service: Service) -> FastAPI:
    """The app of a service; making one takes longer than asking it."""
    return create_app(service)


class Client:
    """Asks an app in this process, as a browser or a program would over HTTP."""

    def __init__(self, app: FastAPI | Service, key: str = "", host: str = "localhost") -> None:
        self.app = app_of(app) if isinstance(app, Service) else app
        self.headers: dict[str, Any] = {"Authorization": f"Bearer {key}".encode()} if key else {}
        self.base = f"http://{host}"

    def request(self, method: str, path: str, headers: Mapping[str, str] | None = None, **more: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=("127.0.0.1", 5000))
            async with httpx.AsyncClient(transport=transport, base_url=self.base) as client:
                return await client.request(method, path, headers={**self.headers, **(headers or {})}, **more)

        return asyncio.run(ask())

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, json: Any, **more: Any) -> httpx.Response:
        return self.request("POST", path, json=json, **more)

    def apply(self, *people: Mapping[str, Any]) -> httpx.Response:
        """Ask for options for people, each with its state and what else is said of it."""
        return self.post("/v1/recourse", {"people": list(people)})


def counts(service: Service) -> dict[str, int]:
    """Count the rows of every table of people."""
    from sqlalchemy import func, select

    from leastways.server.database import AnswerRow, ChoiceRow, JobRow, PendingRow, PersonRow, reading

    with reading(service.engine) as session:
        tables = (PersonRow, AnswerRow, ChoiceRow, JobRow, PendingRow)
        return {t.__tablename__: session.scalar(select(func.count()).select_from(t)) or 0 for t in tables}


def same(one: Answer, other: Answer) -> bool:
    """Whether two answers are equal; plans hold NaN, which is not equal to itself."""
    texts = [plan_to_json(a.plan) for a in (one, other)]
    rest = [replace(a, plan=one.plan) for a in (one, other)]
    return texts[0] == texts[1] and one.plan.state == other.plan.state and rest[0] == rest[1]


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """States as the library takes them."""
    return pd.DataFrame(rows).astype(TRAIN.dtypes.to_dict())


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something that has to come; longer than it takes on a slow machine."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def finished(client: Client, job_id: str) -> dict[str, Any]:
    """Wait for the end of a job."""
    job: dict[str, Any] = {}

    def ended() -> bool:
        job.update(client.get(f"/v1/jobs/{job_id}").json())
        return job["state"] in ("done", "failed")

    until(ended)
    return job


def many(n: int) -> list[dict[str, Any]]:
    """More people than there are: the same ones again and again."""
    some = states(6)
    return [some[i % 6] for i in range(n)]


def slow_down(service: Service) -> None:
    """Let every batch take a moment, so that a job can be met half-way."""
    work = service._solver.work

    def slowly(tickets: Any) -> None:
        time.sleep(0.1)
        work(tickets)

    service._batcher._work = slowly
