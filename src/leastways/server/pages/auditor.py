"""The auditor's page: choose columns and days, sign in with a key, download."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pandas as pd
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from markupsafe import Markup
from sqlalchemy import func, select
from starlette.datastructures import QueryParams

from leastways._values import plain
from leastways.audit import NOT_STATED, group_text, value_groups
from leastways.errors import LeastwaysError, NotFound
from leastways.report import audit_body, audit_html, audit_style
from leastways.schema import Feature
from leastways.server.database import PersonRow, reading
from leastways.server.pages.rendering import (
    LASTS,
    SESSION_COOKIE,
    Renderer,
    SentForm,
    Sessions,
    first,
    see_other,
    set_cookie,
)
from leastways.server.pages.texts import Words
from leastways.server.served import WHICH, of_one_kind

if TYPE_CHECKING:
    from leastways.audit import Audit
    from leastways.server.audits import Audits
    from leastways.server.service import Service

Groups = dict[str, tuple[str, Any]]  # key of a group in an address -> column, value
MOST_COLUMNS = 3  # more groupings at once cannot be read
TABLES = ("by_group", "ratios", "changes", "curves", "oracle", "unserved")
_KEPT, _KEPT_SECONDS = 8, 600
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Question:
    """The parameters of an audit: columns, days (both included), which answer of each person, optionally one group."""

    by: tuple[str, ...]
    since: date | None = None
    until: date | None = None
    which: str = "first"
    only: tuple[str, Any] | None = None

    @classmethod
    def read(cls, query: QueryParams, columns: list[str], usual: list[str], groups: Groups | None = None) -> Question:
        """Read the query of an address; parts that are not valid are left out, as the form then shows."""
        by = tuple(name for name in columns if name in query.getlist("by"))[:MOST_COLUMNS]
        which = query.get("which", "")
        since, until = (_day(query.get(name, "")) for name in ("since", "until"))
        only = (groups or {}).get(query.get("only", ""))
        return cls(by or tuple(usual), since, until, which if which in WHICH else WHICH[0], only)

    @property
    def crossed(self) -> bool:
        """Return whether the first day is later than the last."""
        return self.since is not None and self.until is not None and self.since > self.until

    def address(self) -> str:
        """Return the query of the address of this question."""
        days = [(name, day.isoformat()) for name in ("since", "until") if (day := getattr(self, name)) is not None]
        only = [] if self.only is None else [("only", group_key(*self.only))]
        return urlencode([*(("by", name) for name in self.by), *days, ("which", self.which), *only])

    def filters(self) -> dict[str, Any]:
        """Return the filters for `Service.audit`."""
        moments: dict[str, Any] = {"which": self.which, "only": self.only}
        if self.since is not None:
            moments["since"] = datetime(self.since.year, self.since.month, self.since.day, tzinfo=UTC)
        if self.until is not None:
            after = self.until + timedelta(days=1)
            moments["until"] = datetime(after.year, after.month, after.day, tzinfo=UTC)
        return moments


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1970 <= day.year < 9999 else None


def columns_of(service: Service) -> tuple[list[str], list[str]]:
    """Return the columns that can be compared by, and the default ones.

    First the attributes that only the audit uses, then features that people cannot change, then the others.
    """

    def place(feature: Feature) -> tuple[bool, bool]:
        return feature.direction != "fixed", feature.numeric

    features = sorted(service.schema.features, key=place)
    fixed = [f.name for f in features if f.direction == "fixed"]
    usual = [*service.config.groups, *fixed][:2] or [features[0].name]
    return [*service.config.groups, *(f.name for f in features)], usual


def group_key(column: str, value: Any) -> str:
    """Return the key of a group in an address, as the audit names the group."""
    return f"{column}: {group_text(value)}"


def groups_of(service: Service) -> Groups:
    """Return the groups that an audit can be narrowed to, by key: of the audit's attributes, then of features.

    The values of attributes are read from the recorded people, who have few different sets of them.
    """
    with reading(service.engine) as session:
        query = select(PersonRow.groups, func.count()).group_by(PersonRow.groups)
        counted = [(json.loads(text), people) for text, people in session.execute(query)]
    names = service.config.groups
    sent = pd.DataFrame([attributes for attributes, _ in counted]).reindex(columns=names)
    taken = of_one_kind(sent, set(names), [people for _, people in counted])
    pairs: list[tuple[str, Any]] = [(name, text) for name in names for text in _groups_by_value(taken[name])]
    for feature in service.schema.features:
        if not feature.numeric:
            missing = [None] if feature.missing else []
            pairs += [(feature.name, plain(value)) for value in (*feature.values, *missing)]
    return {group_key(*pair): pair for pair in pairs}


def _groups_by_value(column: pd.Series[Any]) -> tuple[str, ...]:
    """Return the groups of an attribute; none if it has no values."""
    return value_groups(column) if column.notna().any() else ()


@dataclass(frozen=True)
class _Kept:
    when: float  # by the monotonic clock
    erased: dict[str, int]  # how many people had been erased, by cause
    audit: Audit


class RecentAudits:
    """Makes audits and keeps recent ones, so that a download equals the page. For the thread of `Audits` only."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: OrderedDict[Question, _Kept] = OrderedDict()

    def make(self, question: Question) -> Audit:
        """Audit the answers served so far."""
        erased = self._service.store.erased()
        audit = self._service.audit(list(question.by), **question.filters())
        self._kept.pop(question, None)
        self._kept[question] = _Kept(time.monotonic(), erased, audit)
        for old in [key for key, kept in self._kept.items() if self._is_old(kept, erased)]:
            del self._kept[old]
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return audit

    def kept(self, question: Question) -> Audit | None:
        """Return the audit that was shown for a question, unless it is too old."""
        kept = self._kept.get(question)
        return None if kept is None or self._is_old(kept, self._service.store.erased()) else kept.audit

    def seen(self, question: Question) -> Audit:
        """Return the audit that was shown for a question, or make it."""
        kept = self.kept(question)
        return self.make(question) if kept is None else kept

    @staticmethod
    def _is_old(kept: _Kept, erased: dict[str, int]) -> bool:
        """Return whether an audit is too old, or was made before an erasure."""
        return time.monotonic() - kept.when > _KEPT_SECONDS or kept.erased != erased


def as_csv(table: pd.DataFrame) -> str:
    """Write a table as CSV, with texts escaped that a spreadsheet would take for formulas."""
    flat = table.reset_index()
    for name in flat.columns:
        if not pd.api.types.is_numeric_dtype(flat[name]):
            flat[name] = [f"'{v}" if isinstance(v, str) and v.startswith(_FORMULA) else v for v in flat[name]]
    return flat.to_csv(index=False, lineterminator="\r\n")


HOME = "/audit"
_SHEET = f"{HOME}/report.css"
_SCOPE = "audit"
_JSON, _REPORT = "audit.json", "report.html"


class AuditorPages:
    """The routes of the auditor's page. If keys are required, a session begins with a key of the scope `audit`."""

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
        """Show the audit over the answers served so far."""
        asked = await run_in_threadpool(self._asked, request)
        if asked is None:
            return self._login_page(request)
        question, groups = asked
        shown = await self.audits(("page", question), partial(self._audited, question))
        return await run_in_threadpool(self._page, request, question, groups, shown)

    def _audited(self, question: Question) -> dict[str, Any]:
        """Make an audit and its plots, which take as long as the audit."""
        shown: dict[str, Any] = {"report": None, "problem": None, "nothing": False, "tables": []}
        try:
            audit = self.recent.make(question)
        except NotFound:  # no answers in that time
            shown["nothing"] = True
        except LeastwaysError as error:
            if isinstance(error, RuntimeError | TimeoutError):
                raise  # of the service, not of the audit: reported as on every page
            shown["problem"] = str(error)
        else:
            shown |= {"report": _body(audit), "tables": [name for name in TABLES if _has(audit, name)]}
        return shown

    def login(self, request: Request, form: SentForm) -> Response:
        """Begin a session for a visitor with a key that has the scope `audit`."""
        refused = self.renderer.forged(request, form, HOME)
        if refused is not None:
            return refused
        key = self.service.keys.check(first(form, "key").strip())
        if key is None or _SCOPE not in key.scopes:
            return self._login_page(request, wrong=True)
        response = see_other(f"{HOME}?{self._question(request, groups_of(self.service)).address()}")
        set_cookie(request, response, SESSION_COOKIE, self.sessions.start(key.id), max_age=LASTS, samesite="strict")
        return response

    def logout(self, request: Request, form: SentForm) -> Response:
        """End a session."""
        refused = self.renderer.forged(request, form, HOME)
        if refused is not None:
            return refused
        response = see_other(HOME)
        response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
        return response

    def return_home(self, request: Request) -> Response:
        """Redirect from the address of a form to its page."""
        return see_other(HOME)

    def sheet(self, request: Request) -> Response:
        """Return the style sheet of the report."""
        return Response(audit_style(), media_type="text/css", headers={"Cache-Control": "no-cache"})

    async def download(self, name: str, request: Request) -> Response:
        """Return the audit that was shown: as JSON, as one page, or a table as CSV."""
        asked = await run_in_threadpool(self._asked, request)
        if asked is None:
            return self._login_page(request)
        question, _ = asked
        if name not in (_JSON, _REPORT, *(f"{table}.csv" for table in TABLES)):
            raise NotFound(f"there is no download {name!r}.")
        kept = await run_in_threadpool(self.recent.kept, question)
        if kept is None or name == _REPORT:  # slow work is queued
            content = await self.audits((name, question), lambda: _content(name, self.recent.seen(question)))
        else:
            content = await run_in_threadpool(_content, name, kept)
        return _file(content, name)

    def _asked(self, request: Request) -> tuple[Question, Groups] | None:
        """Return the audit's parameters and the groups to choose from; None without permission."""
        if not self._may_enter(request):
            return None
        groups = groups_of(self.service)
        return self._question(request, groups), groups

    def _question(self, request: Request, groups: Groups) -> Question:
        return Question.read(request.query_params, *columns_of(self.service), groups)

    def _may_enter(self, request: Request) -> bool:
        """Return whether no key is required, or the request has one, or a session of a valid key."""
        key = getattr(request.state, "key", None)
        if key is not None:
            return _SCOPE in key.scopes
        if not self.service.config.keys_required:
            return True
        key_id = self.sessions.key_of(request.cookies.get(SESSION_COOKIE))
        if key_id is None:
            return False
        return any(k.id == key_id and k.revoked is None and _SCOPE in k.scopes for k in self.service.keys.all())

    def _login_page(self, request: Request, wrong: bool = False) -> Response:
        """Show the sign-in page; the question of the address is kept for after it."""
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
            choice = (key, _value(words, name, value), key == chosen)
            narrow.setdefault(_label(words, name), []).append(choice)
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
            signed_in=self.sessions.key_of(request.cookies.get(SESSION_COOKIE)) is not None,
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
    """Return the body of the report's page, which escapes values itself."""
    return Markup(audit_body(audit))


def _content(name: str, audit: Audit) -> str:
    """Return the content of a download: the audit, or a table of it."""
    if name == _JSON:
        return audit.to_json()
    if name == _REPORT:
        return audit_html(audit)
    table = name.removesuffix(".csv")
    if not _has(audit, table):
        raise NotFound(f"this audit has no table {table!r}.")
    return as_csv(getattr(audit, table))


def _file(content: str, name: str) -> Response:
    kind = {_JSON: "application/json", _REPORT: "text/html"}.get(name, "text/csv")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=f"{kind}; charset=utf-8", headers=headers)
