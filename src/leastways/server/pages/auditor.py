"""The auditor's page: `GET /audit`, signing in with a key, and downloads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from markupsafe import Markup

from leastways.audit.groups import NOT_STATED
from leastways.errors import LeastwaysError
from leastways.report import audit_body, audit_html, audit_style
from leastways.server.faults import NotKnown
from leastways.server.pages.auditing import (
    MOST_COLUMNS,
    TABLES,
    Groups,
    Question,
    RecentAudits,
    as_csv,
    columns_of,
    group_key,
    groups_of,
)
from leastways.server.pages.forms import SentForm, first
from leastways.server.pages.rendering import Renderer, see_other, set_cookie
from leastways.server.pages.sessions import COOKIE, LASTS, Sessions
from leastways.server.pages.words import Words
from leastways.server.served import WHICH

if TYPE_CHECKING:
    from leastways.audit import Audit
    from leastways.server.audits import Audits
    from leastways.server.service import Service

HOME = "/audit"
_SHEET = f"{HOME}/report.css"
_SCOPE = "audit"
_JSON, _REPORT = "audit.json", "report.html"


class AuditorPages:
    """The routes of the auditor's page. Where keys are needed, a session begins with one that allows the audit."""

    def __init__(self, service: Service, renderer: Renderer, audits: Audits) -> None:
        self.service = service
        self.renderer = renderer
        self.sessions = Sessions()
        self.audits = audits
        self.recent = RecentAudits(service)

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        routes = (
            (HOME, "GET", self.show),
            (f"{HOME}/login", "GET", self.return_home),
            (f"{HOME}/login", "POST", self.login),
            (f"{HOME}/logout", "GET", self.return_home),
            (f"{HOME}/logout", "POST", self.logout),
            (_SHEET, "GET", self.sheet),
            (f"{HOME}/download/{{name}}", "GET", self.download),
        )
        self.renderer.add_routes(app, routes)

    async def show(self, request: Request) -> Response:
        """Show the audit over what was served up to now."""
        asked = await run_in_threadpool(self._asked, request)
        if asked is None:
            return self._login_page(request)
        question, groups = asked
        shown = await self.audits(("page", question), partial(self._audited, question))
        return await run_in_threadpool(self._page, request, question, groups, shown)

    def _audited(self, question: Question) -> dict[str, Any]:
        """Make an audit and the pictures in it, which take as long again."""
        shown: dict[str, Any] = {"report": None, "problem": None, "nothing": False, "tables": []}
        try:
            audit = self.recent.make(question)
        except NotKnown:  # nobody was answered in that time
            shown["nothing"] = True
        except LeastwaysError as error:
            if isinstance(error, RuntimeError | TimeoutError):
                raise  # of the service, not of the audit: told as everywhere
            shown["problem"] = str(error)
        else:
            shown |= {"report": _body(audit), "tables": [name for name in TABLES if _has(audit, name)]}
        return shown

    def login(self, request: Request, form: SentForm) -> Response:
        """Begin a session for whoever shows a key that allows the audit."""
        refused = self.renderer.forged(request, form, HOME)
        if refused is not None:
            return refused
        key = self.service.keys.check(first(form, "key").strip())
        if key is None or _SCOPE not in key.scopes:
            return self._login_page(request, wrong=True)
        response = see_other(f"{HOME}?{self._question(request, groups_of(self.service)).address()}")
        set_cookie(request, response, COOKIE, self.sessions.start(key.id), max_age=LASTS, samesite="strict")
        return response

    def logout(self, request: Request, form: SentForm) -> Response:
        """End a session."""
        refused = self.renderer.forged(request, form, HOME)
        if refused is not None:
            return refused
        response = see_other(HOME)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    def return_home(self, request: Request) -> Response:
        """Lead whoever opens the address of a form to the page it is on."""
        return see_other(HOME)

    def sheet(self, request: Request) -> Response:
        """Give out the looks of the report."""
        return Response(audit_style(), media_type="text/css", headers={"Cache-Control": "no-cache"})

    async def download(self, name: str, request: Request) -> Response:
        """Give out the audit that was shown, as JSON, as one page, or table by table as CSV."""
        asked = await run_in_threadpool(self._asked, request)
        if asked is None:
            return self._login_page(request)
        question, _ = asked
        if name not in (_JSON, _REPORT, *(f"{table}.csv" for table in TABLES)):
            raise NotKnown(f"there is no download {name!r}.")
        kept = await run_in_threadpool(self.recent.kept, question)
        if kept is None or name == _REPORT:  # what takes time, when its turn has come
            content = await self.audits((name, question), lambda: _content(name, self.recent.seen(question)))
        else:
            content = await run_in_threadpool(_content, name, kept)
        return _file(content, name)

    def _asked(self, request: Request) -> tuple[Question, Groups] | None:
        """Return what is asked, and the groups one may choose; None for whoever may not enter."""
        if not self._may_enter(request):
            return None
        groups = groups_of(self.service)
        return self._question(request, groups), groups

    def _question(self, request: Request, groups: Groups) -> Question:
        return Question.read(request.query_params, *columns_of(self.service), groups)

    def _may_enter(self, request: Request) -> bool:
        """Whether no key is needed, or the request shows one, or a session began with one that still holds."""
        key = getattr(request.state, "key", None)
        if key is not None:
            return _SCOPE in key.scopes
        if not self.service.config.keys_required:
            return True
        key_id = self.sessions.key_of(request.cookies.get(COOKIE))
        if key_id is None:
            return False
        return any(k.id == key_id and k.revoked is None and _SCOPE in k.scopes for k in self.service.keys.all())

    def _login_page(self, request: Request, wrong: bool = False) -> Response:
        """Ask for a key; what was asked for before a session ended is asked for again after it."""
        heading = self.renderer.texts(request)("login.title")
        asked = urlencode([pair for pair in request.query_params.multi_items() if pair[0] != "lang"])
        shown = {"heading": heading, "home": HOME, "asked": asked, "wrong": wrong}
        return self.renderer.page(request, "login.html", status=401, purpose=HOME, **shown)

    def _page(self, request: Request, question: Question, groups: Groups, shown: dict[str, Any]) -> Response:
        texts = self.renderer.texts(request)
        words = Words(self.service.schema, texts)
        columns = [(name, _label(words, name), name in question.by) for name in columns_of(self.service)[0]]
        narrow: dict[str, list[tuple[str, str, bool]]] = {}
        chosen = None if question.only is None else group_key(*question.only)
        for key, (name, value) in groups.items():
            said = (key, _value(words, name, value), key == chosen)
            narrow.setdefault(_label(words, name), []).append(said)
        too_many = len({*request.query_params.getlist("by")} & {name for name, _, _ in columns}) > MOST_COLUMNS
        return self.renderer.page(
            request,
            "audit.html",
            purpose=HOME,
            heading=texts("audit.title"),
            home=HOME,
            sheet=_SHEET,
            columns=columns,
            narrow=narrow,
            question=question,
            too_many=too_many,
            crossed=question.crossed,
            choices=WHICH,
            signed_in=self.sessions.key_of(request.cookies.get(COOKIE)) is not None,
            **shown,
        )


def _label(words: Words, name: str) -> str:
    feature = words.schema.by_name.get(name)
    return name.replace("_", " ") if feature is None else words.label(feature)


def _value(words: Words, name: str, value: Any) -> str:
    feature = words.schema.by_name.get(name)
    if feature is None:
        return words.texts("value.missing") if value == NOT_STATED else str(value)
    return words.value(feature, value)


def _has(audit: Audit, name: str) -> bool:
    table = getattr(audit, name)
    return table is not None and len(table) > 0


def _body(audit: Audit) -> Markup:
    """Return what stands in the report's page: it escapes whatever comes from data itself."""
    return Markup(audit_body(audit))


def _content(name: str, audit: Audit) -> str:
    """Write an audit, or a table of it, as the file of this name."""
    if name == _JSON:
        return audit.to_json()
    if name == _REPORT:
        return audit_html(audit)
    table = name.removesuffix(".csv")
    if not _has(audit, table):
        raise NotKnown(f"this audit has no table {table!r}.")
    return as_csv(getattr(audit, table))


def _file(content: str, name: str) -> Response:
    kind = {_JSON: "application/json", _REPORT: "text/html"}.get(name, "text/csv")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=f"{kind}; charset=utf-8", headers=headers)
