"""The routes of the JSON API."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Path, Response
from fastapi.concurrency import run_in_threadpool

from leastways import __version__
from leastways.server.bodies import (
    AcceptedOut,
    AnswerOut,
    AnswersOut,
    ChoiceIn,
    ChoiceOut,
    HealthOut,
    JobOut,
    RecourseIn,
    accepted_out,
    answer_out,
    choice_out,
    issued_out,
)
from leastways.server.service import Service
from leastways.server.waiting import answered, read_people

_Id = Annotated[str, Path(description="An id that the service gave", max_length=64)]


def add_routes(app: FastAPI, service: Service) -> None:
    """Add every route of the API to an app."""
    router = APIRouter()
    base = (service.config.public_url or "").rstrip("/")

    @router.get("/health", response_model=HealthOut)
    def health() -> dict[str, Any]:
        """Say whether the service works, its database included."""
        service.jobs.unfinished()
        return {"status": "ok", "version": __version__, "waiting": service.waiting}

    @router.post("/v1/recourse", response_model=AnswersOut, responses={202: {"model": AcceptedOut}})
    async def recourse(body: RecourseIn) -> Any:
        """Answer one or many people; many become a job."""
        people = await run_in_threadpool(read_people, body, service)
        if len(people) > service.config.limits.inline_rows:
            taken = AcceptedOut(**accepted_out(*await run_in_threadpool(service.promise, people), base))
            where = {"Location": f"/v1/jobs/{taken.job.id}"}
            return Response(taken.model_dump_json(), 202, where, media_type="application/json")
        issued = await answered(service, people)
        return {"answers": [issued_out(i, base) for i in issued]}

    @router.get("/v1/recourse/{answer_id}", response_model=AnswerOut)
    def read(answer_id: _Id) -> dict[str, Any]:
        """Return a recorded answer."""
        return answer_out(service.read(answer_id))

    @router.post("/v1/recourse/{answer_id}/choice", response_model=ChoiceOut)
    def choose(answer_id: _Id, body: ChoiceIn) -> dict[str, Any]:
        """Record which option a person took, or why none fits."""
        return choice_out(service.choose(answer_id, body.option, body.reason))

    @router.get("/v1/jobs/{job_id}", response_model=JobOut)
    def job(job_id: _Id) -> dict[str, Any]:
        """Say how far a long batch is."""
        return vars(service.jobs.read(job_id))

    app.include_router(router)
