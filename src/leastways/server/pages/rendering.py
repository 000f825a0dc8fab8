"""Render pages: templates, languages, cookies, forms with CSRF protection, sessions, and messages for faults."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlencode

from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from leastways.errors import Busy, DatabaseDown, JobFailed, ModelError, NotFound, NotReady, ShuttingDown, TimedOut
from leastways.server.pages.texts import Catalogue, Languages

Form = Mapping[str, Sequence[str]]
_MOST_FIELDS = 5000


async def sent_form(request: Request) -> Form:
    """Read a form: all values sent under each name. Files are refused."""
    form = await request.form(max_files=0, max_fields=_MOST_FIELDS)
    return {name: [value for value in form.getlist(name) if isinstance(value, str)] for name in form}


SentForm = Annotated[Form, Depends(sent_form)]


def first(form: Form, name: str) -> str:
    """Return the first value sent under a name, or an empty text."""
    values = form.get(name, ())
    return values[0] if values else ""


FORM_COOKIE = "leastways_form"
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


def csrf_secret(cookie: str | None) -> str:
    """Return the secret of a browser's cookie, or a new one if it has none."""
    return cookie if cookie is not None and _SECRET.fullmatch(cookie) else secrets.token_urlsafe(32)


def csrf_token(secret: str, purpose: str) -> str:
    """Return the CSRF token of forms for a purpose, such as the path of a person's page.

    Another site can make a browser send a form here, but it cannot read the cookie with the secret, which is
    `HttpOnly` and `SameSite=Lax`, and so cannot make the token. Nothing is stored on the server, so that forms in open
    pages work after a restart.
    """
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def is_genuine(cookie: str | None, purpose: str, sent: str) -> bool:
    """Return whether a form was made by this service, for this browser and this purpose."""
    if cookie is None or not _SECRET.fullmatch(cookie):
        return False
    return hmac.compare_digest(csrf_token(cookie, purpose).encode(), sent.encode("utf-8", "replace"))


SESSION_COOKIE = "leastways_session"
LASTS = 30 * 60  # seconds


class Sessions:
    """Signs sessions with a secret of this process; a restart ends all sessions."""

    def __init__(self, lasts: float = LASTS) -> None:
        self._secret = secrets.token_bytes(32)
        self._lasts = lasts

    def start(self, key_id: str) -> str:
        """Return the cookie of a new session for a key."""
        signed = f"{key_id}.{int(time.time() + self._lasts)}"
        return f"{signed}.{self._sign(signed)}"

    def key_of(self, cookie: str | None) -> str | None:
        """Return the id of the key of a session; None if the cookie is not valid or has expired."""
        if cookie is None or cookie.count(".") != 2:
            return None
        signed, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(self._sign(signed).encode(), signature.encode()):
            return None
        key_id, _, ends = signed.partition(".")
        return key_id if time.time() < int(ends) else None

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()


LANGUAGE_COOKIE = "leastways_language"
LANGUAGE_HEADER = "x-language"
STATIC = "/static"
OWN_STYLE = "/style.css"
_YEAR = 365 * 24 * 3600
_FAULTS: tuple[tuple[type[Exception], int, str], ...] = (  # error -> status, name of the message
    (JobFailed, 503, "job_failed"),
    (NotReady, 503, "not_ready"),
    (NotFound, 404, "not_found"),
    (Busy, 503, "busy"),
    (ShuttingDown, 503, "busy"),
    (TimedOut, 503, "busy"),
    (DatabaseDown, 503, "down"),
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
        """Add pages to an application: path, method, handler; errors are shown as pages too."""
        for path, method, route in routes:
            handler = faults_as_pages(self, route)
            app.add_api_route(path, handler, methods=[method], include_in_schema=False, response_model=None)

    def forged(self, request: Request, form: Form, here: str) -> Response | None:
        """Return a refusal if a form was not made by this service for this browser, on the page `here`; else None."""
        if is_genuine(request.cookies.get(FORM_COOKIE), here, first(form, "csrf")):
            return None
        return self.message(request, "expired", 403, back=here)

    def texts(self, request: Request) -> Catalogue:
        """Return the texts in the visitor's language: of the address, of a cookie, or of the browser.

        The language that a script sends with its page precedes the cookie, since another tab may use another language.
        """
        named = request.query_params.get("lang") or request.headers.get(LANGUAGE_HEADER)
        wanted = named or request.cookies.get(LANGUAGE_COOKIE)
        return self.languages.choose(wanted, request.headers.get("accept-language", ""))

    def page(self, request: Request, template: str, *, status: int = 200, purpose: str, **shown: Any) -> Response:
        """Render a template. `purpose` is what its forms are for, and `csrf` their token."""
        texts = self.texts(request)
        secret = csrf_secret(request.cookies.get(FORM_COOKIE))
        html = self._templates.get_template(template).render(
            t=texts,
            title=self.title,
            languages=self._switch(request, shown),
            static=STATIC,
            own_style=OWN_STYLE if self.own_style else None,
            csrf=csrf_token(secret, purpose),
            **shown,
        )
        response = HTMLResponse(html, status, headers={"Content-Language": texts.language})
        response.headers["Vary"] = "Accept-Language, Cookie"
        set_cookie(request, response, FORM_COOKIE, secret)
        if request.query_params.get("lang") == texts.language:
            set_cookie(request, response, LANGUAGE_COOKIE, texts.language, max_age=_YEAR)
        return response

    def _switch(self, request: Request, shown: Mapping[str, Any]) -> list[tuple[Catalogue, str]]:
        """Return the languages and the address of this page in each.

        The response to a form has no address of its own; then it is the address of the form's page, if known.
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
        """Render a message, with a link back to the person's page, or a button to search again."""
        texts = self.texts(request)
        words = {"name": name, "heading": texts(f"message.{name}.title"), "text": texts(f"message.{name}.text")}
        return self.page(request, "message.html", status=status, purpose=again or "", back=back, again=again, **words)


def set_cookie(
    request: Request,
    response: Response,
    name: str,
    value: str,
    max_age: int | None = None,
    samesite: Literal["lax", "strict"] = "lax",
) -> None:
    """Set a cookie for this site only, unless the browser has it already.

    "lax" cookies are sent when a visitor follows a link in a mail, but not with forms of other sites. With "strict",
    each visit by such a link would get a new cookie, and forms in open tabs would no longer be valid.
    """
    if request.cookies.get(name) == value:
        return
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=max_age, httponly=True, samesite=samesite, secure=secure)


def see_other(path: str) -> Response:
    """Redirect after a form, so that reloading does not send it twice."""
    return RedirectResponse(path, status_code=303)


def faults_as_pages(renderer: Renderer, route: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a route so that errors of the service are shown as pages."""

    @wraps(route)
    def guarded(*args: Any, **named: Any) -> Response:
        try:
            response: Response = route(*args, **named)
        except _KINDS as error:
            return _message_of(renderer, named["request"], error)
        return response

    @wraps(route)
    async def guarded_async(*args: Any, **named: Any) -> Response:
        try:
            response: Response = await route(*args, **named)
        except _KINDS as error:
            return _message_of(renderer, named["request"], error)
        return response

    wrapped: Any = guarded_async if iscoroutinefunction(route) else guarded
    # Older FastAPI would resolve names in annotations in this module, where they are not defined.
    wrapped.__signature__ = signature(route, eval_str=True)
    return cast(Callable[..., Any], wrapped)


def _message_of(renderer: Renderer, request: Request, error: Exception) -> Response:
    status, name = next((s, n) for kind, s, n in _FAULTS if isinstance(error, kind))
    response = renderer.message(request, name, status)
    if isinstance(error, Busy):
        response.headers["Retry-After"] = str(error.retry_after)
    return response
