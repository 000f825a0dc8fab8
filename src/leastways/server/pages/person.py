"""The person's page: `GET /p/{token}`, their answers, and what they choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.responses import Response

from leastways.plans import NOT_SEARCHED
from leastways.server.answers import Answer
from leastways.server.faults import InputRefused, NotKnown, Overtaken, Spent
from leastways.server.inputs import MAX_TEXT
from leastways.server.pages.fields import ease_words, fields
from leastways.server.pages.forms import Form, SentForm, first
from leastways.server.pages.rendering import Renderer, see_other
from leastways.server.pages.view import Said, Told, person_view
from leastways.server.pages.wishes import (
    Problem,
    Wishes,
    changeable,
    from_preferences,
    from_record,
    read_form,
    to_preferences,
    to_record,
)

if TYPE_CHECKING:
    from leastways.server.service import Service


class PersonPages:
    """The routes of the person's page."""

    def __init__(self, service: Service, renderer: Renderer) -> None:
        self.service = service
        self.renderer = renderer

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        routes = (
            ("/p/{token}", "GET", self.show),
            ("/p/{token}", "POST", self.answer),
            ("/p/{token}/choice", "GET", self.return_to),
            ("/p/{token}/choice", "POST", self.choose),
        )
        self.renderer.add_routes(app, routes)

    def show(self, token: str, request: Request) -> Response:
        """Show the latest options, and what the person said for them."""
        answer = self.service.read_by_token(token)
        if not self.service.has_current_schema(answer):
            return self._other_form(request, token, answer)
        return self._page(request, token, answer, *self._told(answer))

    def answer(self, token: str, request: Request, form: SentForm) -> Response:
        """Find options for what the person says now. A script asks for the options alone, a plain form for the page."""
        answer = self.service.read_by_token(token)
        refused = self.renderer.forged(request, form, _here(token))
        if refused is not None:
            return refused
        if form.get("again"):
            return self._look_again(request, token, answer)
        if not self.service.is_current(answer):  # of today's page nothing was sent: this one is from before
            return self._outdated_page(request, token)
        schema, state, number = self.service.schema, answer.state, self.renderer.texts(request).read
        wishes, problems = (Wishes(), []) if form.get("fresh") else read_form(schema, state, form, number)
        if problems:  # a script was answered what it asked for; a browser would note anything but 200 as a fault
            status = 200 if _wants_options_only(request) else 422
            sent = (wishes, form)
            return self._page(request, token, answer, *self._told(answer), status=status, problems=problems, sent=sent)
        closed = self._all_closed(answer, wishes)
        told = None if closed else to_preferences(schema, state, wishes, answer.preferences)
        try:
            if closed:  # nothing to look for
                answer = self.service.reword(token, to_record(wishes))
                return self._page(request, token, answer, wishes, True)
            answer = self.service.refine(token, told, to_record(wishes))
        except InputRefused:  # nothing our form can send; whoever made it up learns no more than this
            return self.renderer.message(request, "bad", 422, back=_here(token))
        except (Overtaken, Spent) as why:
            return self._unchanged(request, token, why)
        if _wants_options_only(request):
            return self._page(request, token, answer, wishes)
        return see_other(f"{_here(token)}#options")

    def _outdated_page(self, request: Request, token: str) -> Response:
        """Lead whoever has an old page open to the one of today; a script cannot follow, and says so."""
        if _wants_options_only(request):
            return self.renderer.message(request, "changed", 409)
        return see_other(_here(token))

    def _unchanged(self, request: Request, token: str, why: Overtaken | Spent) -> Response:
        """Say why the options stay, or lead to them where the person has only to see what they said last.

        A script is on a page that says something else than what was recorded, and tells them so.
        """
        if isinstance(why, Spent):
            return self.renderer.message(request, "spent", 409, back=_here(token))
        if _wants_options_only(request):
            return self.renderer.message(request, "overtaken", 409)
        return see_other(f"{_here(token)}#options")

    def _look_again(self, request: Request, token: str, answer: Answer) -> Response:
        """Find options by the rules of today, for what the person said before if that still means something."""
        kept = (answer.preferences, answer.wishes) if self.service.has_current_schema(answer) else (None, None)
        try:
            self.service.refine(token, *kept)
        except InputRefused:
            return self._other_form(request, token, answer)
        except (Overtaken, Spent) as why:
            return self._unchanged(request, token, why)
        return see_other(f"{_here(token)}#options")

    def _other_form(self, request: Request, token: str, answer: Answer) -> Response:
        """Say that the facts which decide are others by now; earlier options would be told in the wrong words."""
        if self.service.still_fits(answer):
            return self.renderer.message(request, "changed", 200, again=_here(token))
        return self.renderer.message(request, "outdated", 409)

    def choose(self, token: str, request: Request, form: SentForm) -> Response:
        """Record what the person would do, or why nothing fits."""
        family = self.service.read_by_token(token).first
        refused = self.renderer.forged(request, form, _here(token))
        if refused is not None:
            return refused
        answer = self.service.read(first(form, "answer"))
        if answer.first != family:  # the link to one person's page says nothing about another's answers
            raise NotKnown("this answer is another person's.")
        number = first(form, "option")
        try:
            option = int(number) if number else None
            self.service.choose(answer.id, option, first(form, "reason").strip()[:MAX_TEXT])
        except ValueError:  # no number, or (`InputRefused`) no option of this answer
            return self.renderer.message(request, "bad", 422, back=_here(token))
        return see_other(f"{_here(token)}#recorded")

    def return_to(self, token: str, request: Request) -> Response:
        """Lead whoever opens the address of a form to the page it is on: after a message, it stands in the browser."""
        return see_other(_here(token))

    def _wishes(self, answer: Answer) -> Wishes:
        """Return what the person said, or what was said for them when they applied."""
        if answer.wishes is not None:
            return from_record(answer.wishes)
        return from_preferences(self.service.schema, answer.state, answer.preferences)

    def _told(self, answer: Answer) -> tuple[Wishes, bool]:
        """Return what the person said for the options they have, and whether that left nothing to look for."""
        wishes = self._wishes(answer)
        asked = answer.wishes is not None and self.service.is_current(answer)
        return wishes, asked and self._all_closed(answer, wishes)

    def _all_closed(self, answer: Answer, wishes: Wishes) -> bool:
        return not wishes.open(feature.name for feature in changeable(self.service.schema, answer.state))

    def _said(self, answer: Answer) -> Said | None:
        """Return what the person last said they would do, be it to these options or to earlier ones."""
        told = self.service.chosen(answer)
        if told is None or told.choice is None:
            return None
        taken = next((o.values for o in told.plan.options if o.number == told.choice.option), None)
        return Said(taken, told.choice.reason)

    def _page(
        self,
        request: Request,
        token: str,
        answer: Answer,
        wishes: Wishes,
        all_closed: bool = False,
        *,
        status: int = 200,
        problems: Sequence[Problem] = (),
        sent: tuple[Wishes, Form] | None = None,
    ) -> Response:
        """Render the page, or the options alone for a script: the same template in either case.

        `wishes` are those that the options are for. `sent` is what stands in the form instead, if some of it is wrong.
        """
        schema, texts = self.service.schema, self.renderer.texts(request)
        told = Told(answer.id, answer.plan, wishes, answer.rules.threshold, self._said(answer), problems, all_closed)
        view = person_view(schema, texts, told)
        current = self.service.is_current(answer)
        asked = current and answer.plan.status not in NOT_SEARCHED
        only = _wants_options_only(request)
        said, typed = (wishes, None) if sent is None else sent
        asking = fields(schema, texts, answer.state, said, typed, dict(view.problems)) if asked and not only else []
        return self.renderer.page(
            request,
            "options.html" if only else "person.html",
            status=status,
            purpose=_here(token),
            heading=texts("page.subtitle", title=self.renderer.title),
            here=_here(token),
            view=view,
            made=None if current else texts.day(answer.created.date()),
            fields=asking,
            asked=asked,
            ease_words=ease_words(texts),
            reason_length=MAX_TEXT,
        )


def _here(token: str) -> str:
    return f"/p/{token}"


def _wants_options_only(request: Request) -> bool:
    return request.headers.get("x-fragment") == "options"
