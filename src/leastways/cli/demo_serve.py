"""`leastways demo --serve`: the service's pages on the built-in data, for as long as the command runs."""

from __future__ import annotations

import logging
import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leastways._fingerprint import text_fingerprint
from leastways._values import plain
from leastways.cli.console import notes, print_json, say, screen
from leastways.cli.demo import COSTS, train_model
from leastways.datasets import load_credit
from leastways.recourse import Recourse
from leastways.server import (
    DEMO_TEXTS,
    Applicant,
    Issued,
    Limits,
    Service,
    ServiceConfig,
    add_index,
    create_app,
    open_socket,
    run,
)

_LISTED = 12  # people on the first page
_COLUMNS = ("age", "job", "loan_amount")  # what the first page says of each
_BATCH = 20  # people answered in one call
_TIMEOUT = 300.0  # seconds for an answer: the machine may be slow, and no other callers wait


@dataclass(frozen=True)
class DemoSettings:
    """The options of the command."""

    people: int | None
    options: int
    budget: int
    seed: int
    port: int
    opens: bool
    as_json: bool


def serve_demo(settings: DemoSettings) -> None:
    """Train, answer, and serve until Ctrl-C. The database is in a temporary folder, which is deleted at the end."""
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="leastways-demo-") as folder:
        notes().print("Training a model and finding options (a first run also compiles) ...")
        with _service(settings, Path(folder)) as service:
            issued = _answered(service, settings)
            app = create_app(service)
            add_index(app, service, issued[:_LISTED], _COLUMNS)
            listening = open_socket(service.config)
            home = f"http://127.0.0.1:{listening.getsockname()[1]}/"
            run(app, service.config, listening, lambda: _show(home, issued, settings))
    notes().print("Ended. Nothing of it is left on this computer.")


def _service(settings: DemoSettings, folder: Path) -> Service:
    credit = load_credit(random_state=settings.seed)
    schema = credit.schema()
    schema.to_yaml(folder / "schema.yaml")
    config = ServiceConfig(
        model="the demo's own",
        schema=folder / "schema.yaml",
        data=folder / "train.csv",
        target=credit.favourable,
        n_options=settings.options,
        budget=settings.budget,
        n_costs=COSTS,
        seed=settings.seed,
        database=f"sqlite:///{(folder / 'demo.db').as_posix()}",
        port=settings.port,
        title="Leastways Bank",
        texts=DEMO_TEXTS,
        limits=Limits(request_seconds=_TIMEOUT),
    )
    recourse = Recourse(train_model(credit, schema), schema, **config.settings()).fit(credit.train)
    recourse.recommend(credit.train.head(_BATCH))  # so that compiling does not slow the first answer
    made_of = f"credit, seed {settings.seed}"  # the same seed makes the same model and data, byte for byte
    fingerprints = {
        "model": text_fingerprint(made_of),
        "schema": text_fingerprint(schema.to_yaml()),
        "data": text_fingerprint(made_of),
    }
    return Service(config, recourse, fingerprints)


def _answered(service: Service, settings: DemoSettings) -> list[Issued]:
    """Answer the first people whom the model refuses, or all of them."""
    credit = load_credit(random_state=settings.seed)
    model: Any = service.recourse.model
    refused = credit.people[model.predict(credit.people) != credit.favourable].head(settings.people or 10_000)
    applicants = [
        Applicant({str(name): plain(value) for name, value in row.items()}, reference=str(label))
        for label, row in refused.iterrows()
    ]
    starts = range(0, len(applicants), _BATCH)
    return [one for start in starts for one in service.answer(applicants[start : start + _BATCH])]


def _show(home: str, issued: list[Issued], settings: DemoSettings) -> None:
    links = {str(one.answer.reference): f"{home}p/{one.token}" for one in issued}
    if settings.as_json:
        print_json({"home": home, "audit": f"{home}audit", "people": links})
    else:
        console = screen()
        console.print(f"A bank's model refused {len(issued):,} people. Each of them has a page of their own now:\n")
        for label, link in list(links.items())[:3]:
            say(f"  person {label}:  {link}")
        say(f"\n  the auditor:  {home}audit")
        say(f"  all of them:  {home}")
        console.print("\nCtrl-C ends it.")
    if settings.opens:
        webbrowser.open(home)
