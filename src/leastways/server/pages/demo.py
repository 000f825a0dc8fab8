"""The first page of the demo: whom the model refused, with the links to their pages. Only a demo shows these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.responses import Response

from leastways.server.pages.auditor import HOME
from leastways.server.pages.rendering import Renderer
from leastways.server.pages.ways import ways
from leastways.server.pages.words import Words

if TYPE_CHECKING:
    from leastways.server.answers import Issued
    from leastways.server.service import Service

TEXTS = Path(__file__).parent / "demo_texts"


@dataclass(frozen=True)
class Listed:
    """Somebody on the list: their number, the path of their page, what is known of them, how many ways there are."""

    number: str
    path: str
    facts: str
    ways: str


def add_index(app: FastAPI, service: Service, issued: Sequence[Issued], shown: Sequence[str]) -> None:
    """Add the first page of a demo: the links of these people, by the features to tell them apart by."""
    renderer = Renderer(service.config.title, service.config.texts)

    def index(request: Request) -> Response:
        texts = renderer.texts(request)
        words = Words(service.schema, texts)
        people = [_listed(words, one, shown) for one in issued]
        heading = texts("demo.title")
        return renderer.page(request, "index.html", purpose="", heading=heading, people=people, audit=HOME)

    renderer.add_routes(app, [("/", "GET", index)])


def _listed(words: Words, issued: Issued, shown: Sequence[str]) -> Listed:
    answer = issued.answer
    found = len(ways(words.schema, answer.state, answer.plan.options))
    facts = [
        f"{words.label(f)}: {words.value(f, answer.state[f.name])}"
        for f in map(words.schema.by_name.__getitem__, shown)
    ]
    return Listed(
        number=words.texts("demo.person", n=answer.reference or answer.id),
        path=f"/p/{issued.token}",
        facts=", ".join(facts),
        ways=words.texts.count("options.found", found)
        if found
        else words.texts(f"nothing.{answer.plan.status}.headline"),
    )
