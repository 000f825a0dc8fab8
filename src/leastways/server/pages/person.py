"""The person's page: `GET /p/{token}`, their answers, and what they choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.responses import Response

from leastways.errors import InputRefused, NotFound, RefinementLimit, Superseded
from leastways.plans import NOT_SEARCHED
from leastways.server.answers import Answer
from leastways.server.inputs import MAX_TEXT
from leastways.server.pages.form import (
    Entries,
    Problem,
    changeable,
    ease_words,
    fields,
    from_preferences,
    from_record,
    read_form,
    to_preferences,
    to_record,
)
from leastways.server.pages.rendering import Form, Renderer, SentForm, first, see_other
from leastways.server.pages.view import PageState, TakenOption, person_view

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
        """Show the latest options, and the entries that they are for."""
        answer = self.service.read_by_token(token)
        if not self.service.has_current_schema(answer):
            return self._other_form(request, token, answer)
        return self._page(request, token, answer, *self._state_of(answer))

    def answer(self, token: str, request: Request, form: SentForm) -> Response:
        """Find options for new entries. A script requests the options alone, a plain form the whole page."""
        answer = self.service.read_by_token(token)
        refused = self.renderer.forged(request, form, _here(token))
        if refused is not None:
            return refused
        if form.get("again"):
            return self._look_again(request, token, answer)
        if not self.service.is_current(answer):  # the form is from before the change of rules
            return self._outdated_page(request, token)
        schema, state, number = self.service.schema, answer.state, self.renderer.texts(request).read
        entries, problems = (Entries(), []) if form.get("fresh") else read_form(schema, state, form, number)
        if problems:  # a script gets 200, since browsers log any other status as an error
            status = 200 if _wants_options_only(request) else 422
            sent = (entries, form)
            return self._page(
                request, token, answer, *self._state_of(answer), status=status, problems=problems, sent=sent
            )
        closed = self._all_closed(answer, entries)
        preferences = None if closed else to_preferences(schema, state, entries, answer.preferences)
        try:
            if closed:  # nothing to search
                answer = self.service.set_entries(token, to_record(entries))
                return self._page(request, token, answer, entries, True)
            answer = self.service.refine(token, preferences, to_record(entries))
        except InputRefused:  # our form cannot send this, so the sender gets no details
            return self.renderer.message(request, "bad", 422, back=_here(token))
        except (Superseded, RefinementLimit) as why:
            return self._unchanged(request, token, why)
        if _wants_options_only(request):
            return self._page(request, token, answer, entries)
        return see_other(f"{_here(token)}#options")

    def _outdated_page(self, request: Request, token: str) -> Response:
        """Redirect from an outdated page to the current one; a script cannot follow, and shows a message."""
        if _wants_options_only(request):
            return self.renderer.message(request, "changed", 409)
        return see_other(_here(token))

    def _unchanged(self, request: Request, token: str, why: Superseded | RefinementLimit) -> Response:
        """Explain why the options are unchanged, or redirect to the page with the latest entries.

        A script is on a page with other entries than the recorded ones, and shows a message.
        """
        if isinstance(why, RefinementLimit):
            return self.renderer.message(request, "refinement_limit", 409, back=_here(token))
        if _wants_options_only(request):
            return self.renderer.message(request, "superseded", 409)
        return see_other(f"{_here(token)}#options")

    def _look_again(self, request: Request, token: str, answer: Answer) -> Response:
        """Find options under the current rules, with the recorded entries if the schema is the same."""
        kept = (answer.preferences, answer.entries) if self.service.has_current_schema(answer) else (None, None)
        try:
            self.service.refine(token, *kept)
        except InputRefused:
            return self._other_form(request, token, answer)
        except (Superseded, RefinementLimit) as why:
            return self._unchanged(request, token, why)
        return see_other(f"{_here(token)}#options")

    def _other_form(self, request: Request, token: str, answer: Answer) -> Response:
        """Explain that the schema has changed; earlier options would be shown with wrong labels."""
        if self.service.still_fits(answer):
            return self.renderer.message(request, "changed", 200, again=_here(token))
        return self.renderer.message(request, "outdated", 409)

    def choose(self, token: str, request: Request, form: SentForm) -> Response:
        """Record the person's choice."""
        family = self.service.read_by_token(token).first
        refused = self.renderer.forged(request, form, _here(token))
        if refused is not None:
            return refused
        answer = self.service.read(first(form, "answer"))
        if answer.first != family:  # the link of one person must not reach another's answers
            raise NotFound("this answer is another person's.")
        number = first(form, "option")
        try:
            option = int(number) if number else None
            self.service.choose(answer.id, option, first(form, "reason").strip()[:MAX_TEXT])
        except ValueError:  # not a number, or (`InputRefused`) not an option of this answer
            return self.renderer.message(request, "bad", 422, back=_here(token))
        return see_other(f"{_here(token)}#recorded")

    def return_to(self, token: str, request: Request) -> Response:
        """Redirect from the address of a form to its page: after a message, a browser shows that address."""
        return see_other(_here(token))

    def _entries(self, answer: Answer) -> Entries:
        """Return the recorded entries, else those that mean the preferences of the application."""
        if answer.entries is not None:
            return from_record(answer.entries)
        return from_preferences(self.service.schema, answer.state, answer.preferences)

    def _state_of(self, answer: Answer) -> tuple[Entries, bool]:
        """Return the entries of an answer, and whether they left nothing to search."""
        entries = self._entries(answer)
        asked = answer.entries is not None and self.service.is_current(answer)
        return entries, asked and self._all_closed(answer, entries)

    def _all_closed(self, answer: Answer, entries: Entries) -> bool:
        return not entries.open(feature.name for feature in changeable(self.service.schema, answer.state))

    def _taken(self, answer: Answer) -> TakenOption | None:
        """Return the person's latest choice, for this answer or an earlier one."""
        found = self.service.chosen(answer)
        if found is None or found.choice is None:
            return None
        taken = next((o.values for o in found.plan.options if o.number == found.choice.option), None)
        return TakenOption(taken, found.choice.reason)

    def _page(
        self,
        request: Request,
        token: str,
        answer: Answer,
        entries: Entries,
        all_closed: bool = False,
        *,
        status: int = 200,
        problems: Sequence[Problem] = (),
        sent: tuple[Entries, Form] | None = None,
    ) -> Response:
        """Render the page, or the options alone for a script: the same template in either case.

        `entries` are those that the options are for. `sent` is what the form shows instead, if some of it is wrong.
        """
        schema, texts = self.service.schema, self.renderer.texts(request)
        page = PageState(
            answer.id, answer.plan, entries, answer.rules.threshold, self._taken(answer), problems, all_closed
        )
        view = person_view(schema, texts, page)
        current = self.service.is_current(answer)
        asked = current and answer.plan.status not in NOT_SEARCHED
        only = _wants_options_only(request)
        shown, typed = (entries, None) if sent is None else sent
        asking = fields(schema, texts, answer.state, shown, typed, dict(view.problems)) if asked and not only else []
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
