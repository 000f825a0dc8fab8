"""From what a page shows to a response: templates, language, cookies, and messages for what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from leastways.errors import ModelError
from leastways.server.faults import Busy, Closing, NotKnown, NotReady, StoreDown, Stuck, TooLate
from leastways.server.pages import csrf
from leastways.server.pages.forms import Form, first
from leastways.server.pages.texts import Catalogue, Languages

LANGUAGE_COOKIE = "leastways_language"
LANGUAGE_HEADER = "x-language"
STATIC = "/static"
OWN_STYLE = "/style.css"
_YEAR = 365 * 24 * 3600
_FAULTS: tuple[tuple[type[Exception], int, str], ...] = (  # what went wrong -> status, the message's name
    (Stuck, 503, "stuck"),
    (NotReady, 503, "not_ready"),
    (NotKnown, 404, "not_found"),
    (Busy, 503, "busy"),
    (Closing, 503, "busy"),
    (TooLate, 503, "busy"),
    (StoreDown, 503, "down"),
    (ModelError, 502, "down"),
)
_KINDS = tuple(kind for kind, _, _ in _FAULTS)


class Renderer:
    """Renders the pages of one service."""

    def __init__(self, title: str, texts: Path | None) -> None:
        self.title = title
        self.languages = Languages(texts)
        style = None if texts is None else texts / "style.css"
        self.own_style = style if style is not None and style.is_file() else None
        self._templates = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def add_routes(self, app: FastAPI, routes: Iterable[tuple[str, str, Callable[..., Any]]]) -> None:
        """Add pages to an application: path, method, and what answers; faults are told on a page too."""
        for path, method, route in routes:
            told = faults_told(self, route)
            app.add_api_route(path, told, methods=[method], include_in_schema=False, response_model=None)

    def forged(self, request: Request, form: Form, here: str) -> Response | None:
        """Return a refusal for a form that no page of ours made for this browser, on the page `here`."""
        if csrf.is_genuine(request.cookies.get(csrf.COOKIE), here, first(form, "csrf")):
            return None
        return self.message(request, "expired", 403, back=here)

    def texts(self, request: Request) -> Catalogue:
        """Return the texts in the visitor's language: asked for in the address, kept in a cookie, or the browser's.

        Before the cookie comes what a script says of the page it is on: another tab may be in another language.
        """
        told = request.query_params.get("lang") or request.headers.get(LANGUAGE_HEADER)
        wanted = told or request.cookies.get(LANGUAGE_COOKIE)
        return self.languages.choose(wanted, request.headers.get("accept-language", ""))

    def page(self, request: Request, template: str, *, status: int = 200, purpose: str, **shown: Any) -> Response:
        """Render a template. `purpose` is what its forms are for; the proof stands in `csrf`."""
        texts = self.texts(request)
        secret = csrf.secret_of(request.cookies.get(csrf.COOKIE))
        html = self._templates.get_template(template).render(
            t=texts,
            title=self.title,
            languages=self._switch(request, shown),
            static=STATIC,
            own_style=OWN_STYLE if self.own_style else None,
            csrf=csrf.proof(secret, purpose),
            **shown,
        )
        response = HTMLResponse(html, status, headers={"Content-Language": texts.language})
        response.headers["Vary"] = "Accept-Language, Cookie"
        set_cookie(request, response, csrf.COOKIE, secret)
        if request.query_params.get("lang") == texts.language:
            set_cookie(request, response, LANGUAGE_COOKIE, texts.language, max_age=_YEAR)
        return response

    def _switch(self, request: Request, shown: Mapping[str, Any]) -> list[tuple[Catalogue, str]]:
        """Return the languages and where each leads: to this page again, with all else that its address says.

        What a form was answered with has no address of its own; then it is the page with the form, if we know it.
        """
        page, kept = "", [pair for pair in request.query_params.multi_items() if pair[0] != "lang"]
        if request.method != "GET":
            page = next((str(shown[name]) for name in ("here", "home", "back") if shown.get(name)), "")
            if not page:
                return []
        return [(one, f"{page}?{urlencode([*kept, ('lang', one.language)])}") for one in self.languages]

    def message(
        self, request: Request, name: str, status: int, back: str | None = None, again: str | None = None
    ) -> Response:
        """Render a page that only says something; with the person's page to go back to, or to ask for options anew."""
        texts = self.texts(request)
        said = {"name": name, "heading": texts(f"message.{name}.title"), "text": texts(f"message.{name}.text")}
        return self.page(request, "message.html", status=status, purpose=again or "", back=back, again=again, **said)


def set_cookie(
    request: Request,
    response: Response,
    name: str,
    value: str,
    max_age: int | None = None,
    samesite: Literal["lax", "strict"] = "lax",
) -> None:
    """Set a cookie for this site alone; one that the browser has already is not sent again.

    "lax": it comes along when somebody follows a link in a mail, never with a form of another site. Were it "strict",
    each visit by such a link would begin anew, and forms in tabs that are open already would no longer be good.
    """
    if request.cookies.get(name) == value:
        return
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=max_age, httponly=True, samesite=samesite, secure=secure)


def see_other(path: str) -> Response:
    """Send the browser on after a form, so that reloading sends nothing twice."""
    return RedirectResponse(path, status_code=303)


def faults_told(renderer: Renderer, route: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a route so that what the service cannot do now is told on a page, in words."""

    @wraps(route)
    def told(*args: Any, **named: Any) -> Response:
        try:
            response: Response = route(*args, **named)
        except _KINDS as error:
            return _message_of(renderer, named["request"], error)
        return response

    @wraps(route)
    async def told_later(*args: Any, **named: Any) -> Response:
        try:
            response: Response = await route(*args, **named)
        except _KINDS as error:
            return _message_of(renderer, named["request"], error)
        return response

    wrapped: Any = told_later if iscoroutinefunction(route) else told
    # Older FastAPI would look the names in annotations up here, where the wrapper is written, and not find them.
    wrapped.__signature__ = signature(route, eval_str=True)
    return cast(Callable[..., Any], wrapped)


def _message_of(renderer: Renderer, request: Request, error: Exception) -> Response:
    status, name = next((s, n) for kind, s, n in _FAULTS if isinstance(error, kind))
    response = renderer.message(request, name, status)
    if isinstance(error, Busy):
        response.headers["Retry-After"] = str(error.retry_after)
    return response
