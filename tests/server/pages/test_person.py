"""The person's page without a browser: what it says, what its forms do, and whom they refuse."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pandas as pd
import pytest

import leastways as lw
from leastways.errors import Busy, DatabaseDown, ModelError, NotReady, Superseded
from leastways.recourse import Recourse
from leastways.server import Applicant, Issued, Limits, Service
from leastways.server.app import create_app
from leastways.server.pages.rendering import FORM_COOKIE, csrf_token
from leastways.server.pages.texts import FOLDER
from tests.support.loan_service import Client, serve, states, until
from tests.support.page_services import AMPERSAND, LONG, SCRIPT, Visitor, credit_service, issue, odd_service, running


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, list[Issued]]]:
    service, refused = credit_service(tmp_path_factory.mktemp("bank"))
    with service:
        yield service, issue(service, refused.head(12))


@pytest.fixture
def service(bank: tuple[Service, list[Issued]]) -> Service:
    return bank[0]


@pytest.fixture
def issued(bank: tuple[Service, list[Issued]], request: pytest.FixtureRequest) -> Issued:
    """Somebody for each test, so that no test sees what another said."""
    taken: list[Any] = request.config.stash.setdefault(TAKEN, [])
    taken.append(request.node.name)
    return bank[1][(len(taken) - 1) % len(bank[1])]


TAKEN: pytest.StashKey[list[Any]] = pytest.StashKey()


@pytest.fixture
def visitor(service: Service) -> Visitor:
    return Visitor(service)


def place(service: Service, feature: str, part: str) -> str:
    return f"f{service.schema.position(feature)}-{part}"


def changed_features(html: str) -> set[str]:
    return set(re.findall(r'data-feature="([^"]+)"', html))


def test_the_page_shows_the_decision_and_the_options(visitor: Visitor, issued: Issued) -> None:
    page = visitor.get(f"/p/{issued.token}")
    assert page.status_code == 200
    text = unescape(page.text)
    assert "the answer to your application was no" in text
    assert "A yes needs 50%" in text
    plan = issued.answer.plan
    assert changed_features(page.text) == {c.feature for o in plan.options for c in o.changes}
    assert f"{plan.state['age']}\u00a0years" in text
    assert page.headers["cache-control"] == "no-store"
    assert "script-src" not in page.headers["content-security-policy"]  # all from 'self', nothing inline
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert re.findall(r"https?://", re.sub(r'xmlns="[^"]*"', "", page.text)) == []


def test_bars_have_a_legend(service: Service, visitor: Visitor, bank: tuple[Service, list[Issued]]) -> None:
    one_change = (i.answer for i in bank[1] if any(len(o.changes) == 1 for o in i.answer.plan.options))
    (issued,) = service.answer([Applicant(next(one_change).state)])
    page = visitor.get(f"/p/{issued.token}").text
    assert 'class="note legend"' in page
    assert "from what you told us" not in page  # they told us nothing yet
    alone = next(o.changes[0].feature for o in issued.answer.plan.options if len(o.changes) == 1)
    form = {place(service, f.name, "lock"): "1" for f in service.schema.features if f.name != alone}
    page = visitor.send(f"/p/{issued.token}", form, headers={"X-Fragment": "options"}).text
    assert changed_features(page) == {alone}
    assert "hard to say" in page
    assert 'class="note legend"' not in page


def test_options_are_ordered_by_expected_cost(service: Service, visitor: Visitor, issued: Issued) -> None:
    numbers = [int(n) for n in re.findall(r'data-option="(\d+)"', visitor.get(f"/p/{issued.token}").text)]
    cost = {o.number: o.expected_cost for o in service.read_by_token(issued.token).plan.options}
    assert [cost[n] for n in numbers] == sorted(cost[n] for n in numbers)


@pytest.mark.parametrize("token", ["unknown", "a" * 43, "..", "%00", "é"])
def test_an_unknown_link_reveals_nothing(visitor: Visitor, service: Service, token: str) -> None:
    page = visitor.get(f"/p/{token}")
    assert page.status_code == 404
    if token not in ("..",):
        assert "This link leads nowhere" in page.text
        assert token not in page.text


def test_an_erased_person_is_like_an_unknown_one(tmp_path: Path) -> None:
    service, refused = credit_service(tmp_path)
    with service:
        one = issue(service, refused.head(1))[0]
        visitor = Visitor(service)
        assert visitor.get(f"/p/{one.token}").status_code == 200
        service.erase(one.answer.id)
        gone, never = visitor.get(f"/p/{one.token}"), visitor.get(f"/p/{'x' * 43}")
        assert (gone.status_code, gone.text) == (never.status_code, never.text)


def test_a_plain_form_does_what_the_script_does(service: Service, visitor: Visitor, issued: Issued) -> None:
    path = f"/p/{issued.token}"
    locked = {c.feature for c in issued.answer.plan.options[0].changes}
    form = {place(service, name, "lock"): "1" for name in locked}
    answer = visitor.send(path, form)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}#options")
    page = visitor.get(path).text
    assert not changed_features(page) & locked
    fragment = visitor.send(path, form, headers={"X-Fragment": "options"})
    assert fragment.status_code == 200
    assert "<html" not in fragment.text
    cards = fragment.text[fragment.text.index('<ol class="cards">') : fragment.text.index("</ol>")]
    assert cards in page  # the page is the fragment inside the layout
    for name in locked:
        assert re.search(rf'name="{place(service, name, "lock")}" value="1" checked', page)


def test_entries_are_shown_again(service: Service, visitor: Visitor, issued: Issued) -> None:
    path = f"/p/{issued.token}"
    form = {place(service, "savings", "ease"): "0", place(service, "loan_months", "high"): "48"}
    housing = service.schema.by_name["housing"].values
    other = [v for v in housing if v != issued.answer.state["housing"]]
    form |= {place(service, "housing", "listed"): "1", place(service, "housing", "ok"): str(housing.index(other[0]))}
    assert visitor.send(path, form).status_code == 303
    page = visitor.get(path).text
    assert re.search(rf'name="{place(service, "savings", "ease")}"[^>]* value="0"', page)
    assert re.search(rf'name="{place(service, "loan_months", "high")}"[^>]* value="48"', page)
    ticks = dict(re.findall(rf'name="{place(service, "housing", "ok")}" value="(\d)"( checked)?', page))
    assert ticks == {str(housing.index(other[0])): " checked", str(housing.index(other[1])): ""}
    told = service.read_by_token(issued.token).preferences
    assert told is not None
    assert dict(told.ranges) == {"loan_months": (None, 48), "housing": [other[0]]}
    assert visitor.send(path, {"fresh": "1"}).status_code == 303
    assert service.read_by_token(issued.token).preferences is None


def sliders(page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(f\d+)-ease"[^>]* value="(\d)"', page))


def locks(page: str) -> set[str]:
    return set(re.findall(r'name="(f\d+)-lock" value="1" checked', page))


def test_equal_entries_are_shown_again(service: Service, visitor: Visitor, issued: Issued) -> None:
    path, before = f"/p/{issued.token}", service.read_by_token(issued.token)
    places = list(sliders(visitor.get(path).text))
    assert visitor.send(path, {f"{one}-ease": "3" for one in places}).status_code == 303
    assert sliders(visitor.get(path).text) == dict.fromkeys(places, "3")
    after = service.read_by_token(issued.token)
    assert (after.id, after.preferences, after.plan.options) == (before.id, None, before.plan.options)
    form = {f"{one}-lock": "1" for one in places[2:]} | {f"{one}-ease": "1" for one in places[:2]}
    assert visitor.send(path, form | {f"{places[-1]}-ease": "5"}).status_code == 303
    page = visitor.get(path).text
    unsaid = dict.fromkeys(places[2:-1], "2")
    assert sliders(page) == {places[0]: "1", places[1]: "1", **unsaid, places[-1]: "5"}
    assert locks(page) == set(places[2:])
    assert visitor.send(path, {"fresh": "1"}).status_code == 303
    page = visitor.get(path).text
    assert (set(sliders(page).values()), locks(page)) == ({"2"}, set())


def test_entries_with_everything_locked_are_shown_again(service: Service, visitor: Visitor, issued: Issued) -> None:
    path = f"/p/{issued.token}"
    visitor.send(path, {place(service, "savings", "ease"): "0"})
    told = service.read_by_token(issued.token).preferences
    places = list(sliders(visitor.get(path).text))
    visitor.send(path, {f"{one}-lock": "1" for one in places})
    page = visitor.get(path).text
    assert "Everything is to stay as it is" in page
    assert "not kept" not in page
    assert changed_features(page) == set()
    assert locks(page) == set(places)
    assert service.read_by_token(issued.token).preferences == told  # by which the last options were found
    visitor.send(path, {f"{one}-lock": "1" for one in places[1:]})
    page = visitor.get(path).text
    assert "Everything is to stay as it is" not in page
    assert locks(page) == set(places[1:])


def test_with_everything_locked_nothing_is_searched_or_stored(
    service: Service, visitor: Visitor, issued: Issued
) -> None:
    before = service.read_by_token(issued.token)
    form = {place(service, f.name, "lock"): "1" for f in service.schema.features}
    page = visitor.send(f"/p/{issued.token}", form)
    assert page.status_code == 200
    assert "Everything is to stay as it is" in page.text
    assert changed_features(page.text) == set()
    assert service.read_by_token(issued.token).id == before.id


def test_wrong_limits_are_named_and_shown_again(service: Service, visitor: Visitor, issued: Issued) -> None:
    before = service.read_by_token(issued.token)
    low, high = place(service, "hours_per_week", "low"), place(service, "hours_per_week", "high")
    page = visitor.send(f"/p/{issued.token}", {low: "50", high: "20"})
    assert page.status_code == 422
    text = unescape(page.text)
    assert "weekly working hours: your “at least” is larger than your “at most”" in text
    assert re.search(rf'name="{low}"[^>]* value="50"[^>]* aria-invalid="true"', page.text)
    assert service.read_by_token(issued.token).id == before.id


def test_options_are_worded_by_their_own_entries_while_a_limit_is_wrong(
    service: Service, visitor: Visitor, issued: Issued
) -> None:
    path = f"/p/{issued.token}"
    wrong = {place(service, "hours_per_week", "low"): "50", place(service, "hours_per_week", "high"): "20"}
    lock = place(service, "savings", "lock")
    for headers in ({}, {"X-Fragment": "options"}):
        page = unescape(visitor.send(path, wrong | {lock: "1"}, headers=headers).text)
        assert "We do not know yet what is easy for you" in page
        assert "of the cases we tried." in page
        assert "what you told us" not in page
        if not headers:  # what was said is still in the form
            assert re.search(rf'name="{lock}" value="1" checked', page)
    visitor.send(path, {place(service, f.name, "lock"): "1" for f in service.schema.features})
    page = unescape(visitor.send(path, wrong).text)
    assert "Everything is to stay as it is" in page  # as it does without the limit
    assert f'name="{lock}" value="1">' in page


def test_german_sentences_take_words_unchanged(service: Service, visitor: Visitor, issued: Issued) -> None:
    """Units and categories stand in one case, "Jahre": no sentence may need another, as in "von 20 Jahre"."""
    path, low = f"/p/{issued.token}", place(service, "age", "low")
    page = visitor.send(f"{path}?lang=de", {low: "alt"}).text
    assert re.search(r"eine Zahl, mindestens \d+\u00a0Jahre und höchstens \d+\u00a0Jahre, oder", page)
    page = visitor.send(f"{path}?lang=de", {low: "999"}).text
    assert re.search(r"Möglich sind mindestens \d+\u00a0Jahre und höchstens \d+\u00a0Jahre\.", page)
    answer = service.read_by_token(issued.token)
    visitor.send(f"{path}/choice", {"answer": answer.id, "option": "1"})
    page = visitor.get(f"{path}?lang=de").text
    assert re.search(r"dass Sie das tun könnten: \S+[^:.(]* \(bisher [^()]+, dann [^()]+\)", page)


def test_without_options_the_nearest_miss_is_shown(service: Service, visitor: Visitor) -> None:
    state = dict(issue_worst(service).answer.state)
    token = issue_worst(service).token
    form = {place(service, f.name, "lock"): "1" for f in service.schema.features if f.name != "loan_months"}
    page = visitor.send(f"/p/{token}", form, headers={"X-Fragment": "options"})
    text = unescape(page.text)
    assert "There is no way we can offer" in text  # every other term was asked about
    assert "We looked at every change that is open to you. None of them leads to a yes." in text
    assert "Allowing one of them may open a way" in text
    assert "The nearest we came" in text
    assert changed_features(page.text) == {"loan_months"}
    assert state["loan_months"] != service.read_by_token(token).plan.nearest_miss.values["loan_months"]  # type: ignore[union-attr]


def issue_worst(service: Service) -> Issued:
    """The person whom the model likes least."""
    credit = lw.datasets.load_credit(n=1200)
    assert credit.model is not None
    worst = credit.people.iloc[[int(credit.model(credit.people).argmin())]]
    return issue(service, worst)[0]


def test_an_accepted_person_needs_no_change(service: Service, visitor: Visitor) -> None:
    credit = lw.datasets.load_credit(n=1200)
    assert credit.model is not None
    best = credit.people.iloc[[int(credit.model(credit.people).argmax())]]
    page = visitor.get(f"/p/{issue(service, best)[0].token}").text
    assert "the answer to your application is yes" in page
    assert "nothing you need to change" in page
    assert 'id="preferences"' not in page


def test_a_choice_is_recorded_and_repeated(service: Service, visitor: Visitor, issued: Issued) -> None:
    path, answer = f"/p/{issued.token}", service.read_by_token(issued.token)
    option = answer.plan.options[1]
    sent = visitor.send(f"{path}/choice", {"answer": answer.id, "option": str(option.number)})
    assert (sent.status_code, sent.headers["location"]) == (303, f"{path}#recorded")
    choice = service.read(answer.id).choice
    assert choice is not None
    assert choice.option == option.number
    page = unescape(visitor.get(path).text)
    assert "Thank you, we have noted it" in page
    why = f"{SCRIPT} too much & too late"
    visitor.send(f"{path}/choice", {"answer": answer.id, "option": "", "reason": why})
    choice = service.read(answer.id).choice
    assert choice is not None
    assert (choice.option, choice.reason) == (None, why)
    html = visitor.get(path).text
    assert why not in html
    assert why in unescape(html)
    box = re.search(r"<textarea[^>]*>(.*?)</textarea>", html, re.DOTALL)
    assert box is not None
    assert unescape(box[1]) == why  # sent again, it is not lost


def send_the_beginning(home: str, path: str, cookies: Any, form: dict[str, str], left_out: int) -> None:
    """Send a form but for its last characters, and hang up; its head announces the whole of it."""
    body, host = urlencode(form).encode(), urlsplit(home)
    kept = "; ".join(f"{name}={value}" for name, value in cookies.items())
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host.netloc}\r\nCookie: {kept}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host.hostname, host.port)) as connection:
        connection.sendall(head.encode() + body[: len(body) - left_out])


def test_an_incomplete_form_is_not_used(
    service: Service, visitor: Visitor, issued: Issued, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="leastways.access")
    path, before = f"/p/{issued.token}", service.read_by_token(issued.token)
    proof = {"csrf": visitor.csrf(path)}
    reason = proof | {"answer": before.id, "option": "", "reason": "I could do it, but ONLY IF it may wait"}
    option = proof | {"answer": before.id, "option": "10"}
    locks = proof | {place(service, name, "lock"): "1" for name in ("savings", "job", "housing")}
    with running(create_app(service)) as home:
        for way, form, left_out in (("/choice", reason, 20), ("/choice", option, 1), ("", locks, 15)):
            caplog.clear()
            send_the_beginning(home, path + way, visitor.cookies, form, left_out)
            until(lambda: any(line.startswith("POST") for line in caplog.messages))
            assert service.read(before.id).choice == before.choice
            assert service.read_by_token(issued.token).id == before.id
    assert visitor.post(f"{path}/choice", data=reason).status_code == 303  # nothing but its end was missing


@pytest.mark.parametrize(
    ("change", "status"),
    [({"option": "99"}, 422), ({"option": "one"}, 422), ({"answer": "x"}, 404), ({"answer": ""}, 404)],
)
def test_invalid_choices_are_refused(
    service: Service, visitor: Visitor, issued: Issued, change: dict[str, str], status: int
) -> None:
    answer = service.read_by_token(issued.token)
    before = answer.choice
    sent = visitor.send(f"/p/{issued.token}/choice", {"answer": answer.id, "option": "1"} | change)
    assert sent.status_code == status
    assert service.read(answer.id).choice == before


def test_a_link_does_not_reach_other_peoples_answers(
    service: Service, visitor: Visitor, bank: tuple[Service, list[Issued]]
) -> None:
    mine, other = bank[1][0], bank[1][1]
    before = service.read(other.answer.id).choice
    sent = visitor.send(f"/p/{mine.token}/choice", {"answer": other.answer.id, "option": "1"})
    assert sent.status_code == 404
    assert service.read(other.answer.id).choice == before


@pytest.mark.parametrize("proof", [None, "", "0" * 64, "ü", "another page's", "another browser's"])
@pytest.mark.parametrize("way", ["", "/choice"])
def test_forms_of_other_sites_are_refused(
    service: Service, bank: tuple[Service, list[Issued]], proof: str | None, way: str
) -> None:
    visitor, (mine, other) = Visitor(service), bank[1][:2]
    before = service.read_by_token(mine.token)
    visitor.get(f"/p/{mine.token}")
    if proof == "another page's":
        proof = visitor.csrf(f"/p/{other.token}")
    elif proof == "another browser's":
        proof = Visitor(service).csrf(f"/p/{mine.token}")
    form = {"answer": before.id, "option": "1", place(service, "age", "lock"): "1"}
    sent = visitor.post(f"/p/{mine.token}{way}", data=form | ({} if proof is None else {"csrf": proof}))
    assert sent.status_code == 403
    assert "no longer valid" in sent.text
    after = service.read_by_token(mine.token)
    assert (after.id, after.choice) == (before.id, before.choice)


def test_without_cookies_a_form_is_refused(service: Service, visitor: Visitor, issued: Issued) -> None:
    path = f"/p/{issued.token}"
    proof = visitor.csrf(path)
    visitor.cookies.clear()
    assert visitor.post(path, data={"csrf": proof}).status_code == 403
    visitor.cookies.set(FORM_COOKIE, "known to others")
    assert visitor.post(path, data={"csrf": csrf_token("known to others", path)}).status_code == 403


def test_browsers_may_cache_files_but_no_page(visitor: Visitor, issued: Issued) -> None:
    for path, kept in (("/static/pages.css", "no-cache"), (f"/p/{issued.token}", "no-store")):
        assert visitor.get(path).headers["cache-control"] == kept


def test_cookies_are_for_this_site_and_hidden_from_scripts(service: Service, issued: Issued) -> None:
    for scheme in ("http", "https"):
        set_cookie = Visitor(service, scheme).get(f"/p/{issued.token}?lang=de").headers.get_list("set-cookie")
        assert len(set_cookie) == 2
        for cookie in set_cookie:
            assert "HttpOnly" in cookie
            assert "SameSite=lax" in cookie  # a link in a mail brings them along, a form elsewhere does not
            assert ("Secure" in cookie) == (scheme == "https")


def test_cookies_are_secure_over_https(shop: Path, recourse: Recourse, tmp_path: Path) -> None:
    """From outside that is the proxy's https; a browser on this machine uses http."""
    address = {"public_url": "https://bank.example", "database": str(tmp_path / "d.db")}
    with serve(shop, recourse, **address) as opened:
        (issued,) = opened.answer([Applicant(states(1)[0])])
        for host, secure in (("bank.example", True), ("localhost", False)):
            page = Client(opened, host=host).get(f"/p/{issued.token}")
            assert page.status_code == 200
            assert ["Secure" in cookie for cookie in page.headers.get_list("set-cookie")] == [secure]


def test_forms_stay_valid_after_a_restart(service: Service, visitor: Visitor, issued: Issued) -> None:
    path = f"/p/{issued.token}"
    proof, after = visitor.csrf(path), Visitor(service)  # another application on the same answers
    after.cookies = visitor.cookies
    assert after.post(path, data={"csrf": proof}).status_code == 303


def test_the_address_of_a_form_redirects_to_its_page(visitor: Visitor, issued: Issued) -> None:
    path = f"/p/{issued.token}"
    there = visitor.get(f"{path}/choice")
    assert (there.status_code, there.headers["location"]) == (303, path)
    message = visitor.post(f"{path}/choice", data={"csrf": "no"})
    assert f'href="{path}?lang=de"' in message.text  # not to the form's own address
    lost = visitor.post("/p/unknown/choice", data={"csrf": "no"})
    assert "lang=de" not in lost.text


def test_the_choice_stays_on_the_page(service: Service, visitor: Visitor, issued: Issued) -> None:
    path = f"/p/{issued.token}"
    answer = service.read_by_token(issued.token)
    option = min(answer.plan.options, key=lambda o: o.expected_cost)
    asked = sorted(c.feature for c in option.changes)
    visitor.send(f"{path}/choice", {"answer": answer.id, "option": str(option.number)})
    visitor.send(path, {place(service, asked[0], "ease"): "0"})
    assert service.read_by_token(issued.token).choice is None  # these are new options
    page = visitor.get(path).text
    assert "You said you could do this: " in page
    visitor.send(path, {place(service, asked[0], "lock"): "1"})
    page = visitor.get(path).text
    assert "You said you could do this: " in page
    assert 'class="card chosen"' not in page
    visitor.send(f"{path}/choice", {"answer": service.read_by_token(issued.token).id, "option": "", "reason": "no"})
    assert "there was nothing for you" in visitor.get(path).text


def test_an_undone_entry_counts_as_no_entry(service: Service, visitor: Visitor, issued: Issued) -> None:
    path, ease = f"/p/{issued.token}", place(service, "savings", "ease")
    for said, words in (("0", "going by what you told us"), ("2", "We do not know yet")):
        assert words in visitor.send(path, {ease: said}, headers={"X-Fragment": "options"}).text


def test_a_single_option_is_not_called_the_first(service: Service, visitor: Visitor) -> None:
    credit = lw.datasets.load_credit(n=1200)
    assert credit.model is not None
    chances = pd.Series(credit.model(credit.people), credit.people.index)
    nearest = credit.people.loc[[chances[chances < 0.5].idxmax()]]  # to a yes, so that one change alone suffices
    issued = issue(service, nearest)[0]
    alone = next(o.changes[0].feature for o in issued.answer.plan.options if len(o.changes) == 1)
    locked = {place(service, f.name, "lock"): "1" for f in service.schema.features if f.name != alone}
    for language, words in (("en", "The way with the least effort that we found"), ("de", "Der Weg mit dem gering")):
        headers = {"X-Fragment": "options", "X-Language": language}
        page = visitor.send(f"/p/{issued.token}", locked, headers=headers).text
        assert page.count('class="card"') == 1
        assert words in page


def test_page_is_shown_in_the_visitors_language(visitor: Visitor, issued: Issued) -> None:
    path = f"/p/{issued.token}"
    german = visitor.get(path, headers={"Accept-Language": "de-DE,de;q=0.9"})
    assert '<html lang="de">' in german.text
    assert german.headers["content-language"] == "de"
    assert "Monatseinkommen" in german.text
    assert '<html lang="en">' in visitor.get(path).text
    assert '<html lang="de">' in visitor.get(f"{path}?lang=de").text
    assert '<html lang="de">' in visitor.get(path).text  # it is kept
    assert '<html lang="en">' in visitor.get(f"{path}?lang=en").text
    script = {"X-Fragment": "options", "X-Language": "de"}  # from a tab that was opened before
    assert "zum Ja" in visitor.send(path, {}, headers=script).text


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (Busy("full", 7), 503, "many visitors"),
        (DatabaseDown("gone"), 503, "out of order"),
        (NotReady("soon"), 503, "still being prepared"),
        (ModelError("secret row"), 502, "out of order"),
    ],
)
def test_errors_are_shown_in_words(
    service: Service, visitor: Visitor, monkeypatch: pytest.MonkeyPatch, fault: Exception, status: int, words: str
) -> None:
    def fail(token: str) -> Any:
        raise fault

    monkeypatch.setattr(service, "read_by_token", fail)
    page = visitor.get("/p/any")
    assert page.status_code == status
    assert words in page.text
    assert str(fault) not in page.text
    assert page.headers.get("retry-after") == ("7" if isinstance(fault, Busy) else None)


def test_a_superseded_answer_is_not_shown(
    service: Service, visitor: Visitor, issued: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    def superseded(*_: Any) -> Any:
        raise Superseded("later")

    monkeypatch.setattr(service, "refine", superseded)
    path, form = f"/p/{issued.token}", {place(service, "savings", "lock"): "1"}
    for said in (form, {"again": "1"}):
        answer = visitor.send(path, said)
        assert (answer.status_code, answer.headers["location"]) == (303, f"{path}#options")
    fragment = visitor.send(path, form, headers={"X-Fragment": "options"})
    assert fragment.status_code == 409
    assert 'data-message="superseded"' in fragment.text  # by which the script tells it from other conflicts


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "Your options cannot be changed any more often"), ("de", "Öfter lassen sich Ihre Möglichkeiten nicht")],
)
def test_the_refinement_limit_is_shown(tmp_path: Path, language: str, words: str) -> None:
    service, refused = credit_service(tmp_path, limits=Limits(request_seconds=300.0, refinements=2))
    with service:
        visitor, path = Visitor(service), f"/p/{issue(service, refused.head(1))[0].token}"
        visitor.get(f"{path}?lang={language}")
        assert visitor.send(path, {place(service, "savings", "lock"): "1"}).status_code == 303
        before = service.read_by_token(path.removeprefix("/p/"))
        form = {place(service, "job", "lock"): "1"}
        for headers in ({}, {"X-Fragment": "options"}):
            page = visitor.send(path, form, headers=headers)
            assert page.status_code == 409
            assert words in page.text
            assert 'data-message="refinement_limit"' in page.text
            assert f'href="{path}"' in page.text
            assert "retry-after" not in page.headers
        assert f'data-refinement_limit="{words}' in visitor.get(path).text  # what the script says
        assert service.read_by_token(path.removeprefix("/p/")).id == before.id
        chosen = {"answer": before.id, "option": str(before.plan.options[0].number)}
        assert visitor.send(f"{path}/choice", chosen).status_code == 303


def test_markup_in_data_is_shown_as_text(tmp_path: Path) -> None:
    with odd_service(tmp_path) as service:
        state = {"<b>kind</b>": "plain", 'points "x"': 10, LONG: f"{LONG} 0"}
        one = service.answer([Applicant(state)])[0]
        visitor = Visitor(service)
        for language in ("en", "de"):
            html = visitor.get(f"/p/{one.token}?lang={language}").text
            assert html.count("<script") == 1  # our own module
            assert "<img" not in html
            assert "<u>Bank" not in html
            assert "<i>p</i>" not in html
            text = unescape(html)
            for part in (SCRIPT, AMPERSAND, "<u>Bank</u>", "<i>p</i>", "kind</b>"):
                assert part in text


def test_operators_can_add_a_style_and_a_language(tmp_path: Path, service: Service, issued: Issued) -> None:
    assert "/style.css" not in Visitor(service).get(f"/p/{issued.token}").text
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "style.css").write_text(":root { --accent: #7a1f5c; }")
    whole = (FOLDER / "de.yaml").read_text(encoding="utf-8").replace("name: Deutsch", "name: Plattdüütsch")
    (tmp_path / "own" / "nds.yaml").write_text(whole, encoding="utf-8")  # another language is one file
    other, refused = credit_service(tmp_path, texts=tmp_path / "own")
    with other:
        visitor = Visitor(other)
        path = f"/p/{issue(other, refused.head(1))[0].token}"
        low = visitor.get(f"{path}?lang=nds").text
        assert '<html lang="nds">' in low
        assert ">Plattdüütsch</a>" in low
        page = visitor.get(path).text
        assert page.index("/static/pages.css") < page.index('href="/style.css"')
        sheet = visitor.get("/style.css")
        assert sheet.headers["content-type"].startswith("text/css")
        assert "--accent" in sheet.text
