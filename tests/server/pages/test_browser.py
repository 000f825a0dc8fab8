"""The pages in a real browser: what a person does, with scripts and without, on a desk and on a phone."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from leastways.server import Applicant, Issued, Service
from leastways.server.app import create_app
from leastways.server.pages.site import add_index
from tests.support.browsers import chromium
from tests.support.loan_service import until
from tests.support.page_services import LONG, SCRIPT, credit_service, issue, odd_service, running

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 320, "height": 640}
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


class Site:
    """A running service, and people of whom each test takes a new one."""

    def __init__(self, service: Service, home: str, issued: list[Issued]) -> None:
        self.service, self.home, self._fresh = service, home, list(issued)

    def someone(self) -> Issued:
        return self._fresh.pop()

    def place(self, feature: str, part: str) -> str:
        return f"f{self.service.schema.position(feature)}-{part}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    service, refused = credit_service(tmp_path_factory.mktemp("site"))
    with service, ExitStack() as stack:
        issued = issue(service, refused.head(60))
        app = create_app(service)
        add_index(app, service, issued[:5], ("age", "job"))
        yield Site(service, stack.enter_context(running(app)), issued)


@pytest.fixture
def visit(browser: Any, site: Site) -> Iterator[Open]:
    """Opens pages; a fault in a script, or a request to anywhere else, fails the test."""
    faults: list[str] = []
    with ExitStack() as stack:

        def visit(path: str, home: str = site.home, expect: tuple[str, ...] = (), **options: Any) -> Any:
            context = browser.new_context(**({"viewport": DESK} | options))
            stack.callback(context.close)
            context.add_init_script(ABREAST)
            tab = context.new_page()
            tab.on("pageerror", lambda error: faults.append(str(error)))
            tab.on("dialog", lambda dialog: faults.append(f"dialog {dialog.message}"))
            tab.on("console", lambda said: faults.extend(_complaints(said, expect)))
            tab.on("request", lambda r: None if r.url.startswith(home) else faults.append(f"asked {r.url}"))
            tab.goto(home + path)
            return tab

        yield visit
    assert faults == []


def _complaints(said: Any, expected: tuple[str, ...]) -> list[str]:
    known = said.type not in ("error", "warning") or any(part in said.text for part in expected)
    return [] if known else [said.text]


# Whether options came for the form as it stands, and not only for what was said before: that may still be on its way.
ABREAST = """(() => {
    const send = window.fetch;
    window.fetch = (where, said) => {
        if (said?.method === "POST") window.asked = String(said.body);
        return send(where, said);
    };
    document.addEventListener("followed", () => { window.answered = window.asked; });
    window.abreast = () =>
        window.answered === String(new URLSearchParams(new FormData(document.getElementById("preferences"))));
})()"""


def followed(page: Any, act: Callable[[], Any]) -> None:
    """Do something on the form, and wait until the options have followed it."""
    page.evaluate("() => { window.answered = null; }")
    act()
    page.wait_for_function("() => window.abreast()")


def led_on(page: Any, act: Callable[[], Any]) -> None:
    """Do something that leads to another page, and wait until that is there: a click does not wait for it."""
    with page.expect_navigation():
        act()


def asked_to_change(page: Any) -> set[str]:
    found: list[str] = page.eval_on_selector_all("[data-feature]", "all => all.map(one => one.dataset.feature)")
    return set(found)


def first_option(page: Any) -> set[str]:
    found: list[str] = page.eval_on_selector_all(
        ".card:first-child [data-feature]", "all => all.map(one => one.dataset.feature)"
    )
    return set(found)


def test_a_locked_feature_is_in_no_option(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}")
    locked: set[str] = set()
    while len(locked) < 5:
        name = sorted(asked_to_change(page))[0]
        locked.add(name)
        followed(page, page.locator(f"[name={site.place(name, 'lock')}]").check)
        assert not asked_to_change(page) & locked
        if not asked_to_change(page):
            assert "no way" in page.inner_text("#headline")
            break
    assert len(locked) >= 2
    page.reload()
    assert not asked_to_change(page) & locked
    followed(page, page.locator(f"[name={site.place(name, 'lock')}]").uncheck)


def test_not_at_all_acts_as_a_lock(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}")
    name = sorted(first_option(page))[0]
    slider = page.locator(f"#{site.place(name, 'ease')}")
    slider.focus()
    followed(page, lambda: page.keyboard.press("End"))
    assert slider.get_attribute("aria-valuetext") == "not at all"
    assert page.inner_text(f"output[for={site.place(name, 'ease')}]") == "not at all"
    assert name not in asked_to_change(page)
    assert page.evaluate("document.activeElement.id") == site.place(name, "ease")  # the focus is where it was


def test_a_slider_changes_the_order(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}")
    before = first_option(page)
    other = sorted(asked_to_change(page) - before)
    assert other
    moved = []
    for name in other:
        followed(page, lambda name=name: page.locator(f"#{site.place(name, 'ease')}").fill("0"))  # type: ignore[misc]
        moved.append(first_option(page) == {name})
        followed(page, lambda name=name: page.locator(f"#{site.place(name, 'ease')}").fill("2"))  # type: ignore[misc]
        assert first_option(page) == before  # unsaid again, all is as it was
    assert any(moved)
    assert page.inner_text("#status").startswith("Up to date")


def test_limits_are_kept(visit: Open, site: Site) -> None:
    one = site.someone()
    page = visit(f"/p/{one.token}")
    numbers = {f.name for f in site.service.schema.features if f.numeric}
    name = sorted(asked_to_change(page) & numbers)[0]
    now, low, high = float(one.answer.state[name]), site.place(name, "low"), site.place(name, "high")
    page.locator(f"#{site.place(name, 'low').removesuffix('-low')} .limits summary").click()
    span = 0.1 * (site.service.schema.by_name[name].values[-1] - site.service.schema.by_name[name].values[0])
    page.locator(f"#{low}").fill(str(round(now - span)))
    followed(page, lambda: page.locator(f"#{high}").fill(str(round(now + span))))
    for option in site.service.read_by_token(one.token).plan.options:
        assert round(now - span) <= option.values[name] <= round(now + span)
    followed(page, lambda: page.locator(f"#{low}").fill(str(round(now + 2 * span))))
    assert "is larger than" in page.inner_text(".problems")
    assert "is larger than" in page.inner_text("#status")  # where the eyes are, on a phone
    assert page.get_attribute(f"#{low}", "aria-invalid") == "true"
    page.locator(f"#{low}").fill("")
    page.locator(f"#{low}").focus()
    followed(page, lambda: page.keyboard.type("-"))
    assert "please write a number" in page.inner_text("#status")
    followed(page, lambda: page.locator(f"#{low}").fill(""))
    assert page.locator(".problems").count() == 0
    assert page.get_attribute(f"#{low}", "aria-invalid") is None


def test_limits_accept_thousands_as_the_page_writes_them(visit: Open, site: Site) -> None:
    one = site.someone()
    page = visit(f"/p/{one.token}?lang=de")
    high = site.place("savings", "high")
    page.locator(f"#{high.removesuffix('-high')} summary").click()
    asked: list[Any] = []
    page.on("request", lambda request: asked.append(request) if request.method == "POST" else None)
    page.clock.install()
    page.clock.pause_at(time.time() + 3600)
    page.locator(f"#{high}").focus()
    page.keyboard.type("200.000,5")
    page.evaluate("() => fetch('/static/icon.svg').then(() => 0)")  # whatever was asked before this has been seen
    assert asked == []  # half a number is not sent
    followed(page, lambda: page.clock.run_for(1000))
    assert len(asked) == 1
    assert savings_of(site, one) == (None, 200_000.5)
    page.locator(f"#{high}").select_text()
    page.keyboard.type("300.000")
    followed(page, lambda: page.keyboard.press("Tab"))  # leaving the field ends typing
    assert savings_of(site, one) == (None, 300_000)
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("999999,5")
    followed(page, lambda: page.keyboard.press("Tab"))
    page.reload()
    assert page.input_value(f"#{high}") == "999999,5"


def savings_of(site: Site, one: Issued) -> Any:
    preferences = site.service.read_by_token(one.token).preferences
    return preferences and preferences.ranges.get("savings")


def test_unticked_categories_are_not_offered(visit: Open, site: Site) -> None:
    one = site.someone()
    page = visit(f"/p/{one.token}")
    page.locator(f"#{site.place('housing', 'x').removesuffix('-x')} .limits summary").click()
    ticks = page.locator(f"[name={site.place('housing', 'ok')}]")
    followed(page, ticks.nth(0).uncheck)
    refused = site.service.schema.by_name["housing"].values[int(ticks.nth(0).get_attribute("value"))]
    options = site.service.read_by_token(one.token).plan.options
    assert all(option.values["housing"] != refused for option in options)
    followed(page, ticks.nth(1).uncheck)
    assert "housing" not in asked_to_change(page)


def test_a_choice_reaches_the_database(visit: Open, site: Site) -> None:
    one = site.someone()
    page = visit(f"/p/{one.token}")
    number = int(page.get_attribute(".card:nth-child(2)", "data-option"))
    page.locator(".card:nth-child(2) button").click()
    page.wait_for_url("**#recorded")
    assert "Thank you" in page.inner_text("#recorded")
    assert page.locator(".card.chosen").get_attribute("data-option") == str(number)
    assert recorded(site, one.answer.id) == (number, "")
    page.locator(".refuse summary").click()
    page.locator("#reason").fill(f"too far {SCRIPT}")
    led_on(page, page.locator(".refuse button").click)
    assert page.locator(".card.chosen").count() == 0
    assert recorded(site, one.answer.id) == (None, f"too far {SCRIPT}")
    assert SCRIPT in page.inner_text("#recorded")
    assert page.title() != "broken"


def recorded(site: Site, answer_id: str) -> tuple[int | None, str]:
    """What stands in the table itself, read past the service."""
    engine = create_engine(site.service.config.database)
    with engine.connect() as connection:
        row = connection.execute(
            text("select option, reason from choices where answer_id = :id"), {"id": answer_id}
        ).one()
    engine.dispose()
    return row[0], row[1]


def test_equal_entries_are_there_after_returning(visit: Open, site: Site) -> None:
    one = site.someone()
    page = visit(f"/p/{one.token}")
    for slider in page.locator("input[type=range]").all():
        followed(page, partial(slider.fill, "3"))
    page = visit(f"/p/{one.token}")  # another browser, the next day
    sliders = page.locator("input[type=range]")
    assert sliders.evaluate_all("all => all.map(one => one.value)") == ["3"] * sliders.count()
    assert page.locator(".card").count() >= 1


def test_everything_locked_and_starting_over(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}")
    before = page.inner_text(".cards")
    boxes = page.locator("input[name$=-lock]")
    for i in range(boxes.count()):
        boxes.nth(i).check()
    page.wait_for_function("() => document.getElementById('headline').dataset.status === 'all_closed'")
    assert page.locator(".card").count() == 0
    assert page.locator("#hope").is_hidden()  # nothing is below any more
    led_on(page, page.locator("button[name=fresh]").click)
    assert page.inner_text(".cards") == before


def test_failures_are_announced_and_the_last_options_stay(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}", expect=("Failed to load resource",))
    before = page.inner_text(".cards")
    name = sorted(first_option(page))[0]
    lock = page.locator(f"[name={site.place(name, 'lock')}]")
    for answer, words in (
        (lambda route: route.abort(), "could not be brought up to date"),
        (lambda route: route.fulfill(status=503, body="full"), "many visitors"),
        (lambda route: route.fulfill(status=403, body="old"), "Please reload"),
        (lambda route: route.fulfill(status=429, body="again"), "many visitors"),
        (lambda route: route.fulfill(status=500, body="oh"), "could not be brought up to date"),
    ):
        page.route("**/p/*", answer)
        lock.set_checked(not lock.is_checked())
        page.wait_for_function("words => document.getElementById('status').textContent.includes(words)", arg=words)
        assert page.inner_text(".cards") == before
        assert page.inner_text("#again") == ("Reload the page" if words == "Please reload" else "Try again")
        page.unroute("**/p/*")
    assert lock.is_checked()
    spent = '<div data-message="refinement_limit"></div>'
    page.route("**/p/*", lambda route: route.fulfill(status=409, body=spent, content_type="text/html"))
    lock.uncheck()
    page.wait_for_function("() => document.getElementById('status').textContent.includes('any more often')")
    assert page.locator("#again").is_hidden()  # it would be of no use
    page.route("**/p/*", lambda route: route.abort())
    lock.check()
    page.wait_for_function("() => document.getElementById('status').textContent.includes('brought up to date')")
    page.unroute("**/p/*")
    followed(page, page.locator("#again").click)
    assert page.evaluate("document.activeElement.id") == "options"  # the button is gone, the focus is not lost
    assert name not in asked_to_change(page)
    assert page.locator("#again").is_hidden()
    page.route("**/p/*", lambda route: route.fulfill(status=409, body="changed"))
    lock.uncheck()
    page.wait_for_function("() => document.getElementById('status').textContent.includes('rules have changed')")
    page.unroute("**/p/*")
    led_on(page, page.locator("#again").click)
    assert lock.is_checked()  # as it was recorded


def test_offline_is_announced_and_retried(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}", expect=("ERR_INTERNET_DISCONNECTED",))
    name = sorted(first_option(page))[0]
    page.context.set_offline(True)
    page.locator(f"[name={site.place(name, 'lock')}]").check()
    page.wait_for_function("() => document.getElementById('status').textContent.includes('no connection')")
    followed(page, lambda: page.context.set_offline(False))  # without pressing anything
    assert name not in asked_to_change(page)


def test_a_page_erased_while_open_is_announced(visit: Open, site: Site) -> None:
    one = site.someone()
    page = visit(f"/p/{one.token}", expect=("status of 404",))
    site.service.erase(one.answer.id)
    page.locator("input[name$=-lock]").first.check()
    page.wait_for_function("() => document.getElementById('status').textContent.includes('no longer there')")
    assert page.locator("#again").is_hidden()


def test_the_latest_entries_are_recorded_last(visit: Open, site: Site) -> None:
    one = site.someone()
    page = visit(f"/p/{one.token}")
    page.clock.install()
    page.clock.pause_at(time.time() + 3600)  # on this page no time passes, however slow the machine is
    lock = page.locator("input[name$=-lock]").first
    held: list[Any] = []
    page.route("**/p/*", lambda route: held.append(route) if not held else route.continue_())
    asked: list[Any] = []
    page.on("request", lambda request: asked.append(request) if request.method == "POST" else None)
    lock.check()
    lock.uncheck()
    page.evaluate("() => fetch('/static/icon.svg').then(() => 0)")  # whatever was asked before this has been seen
    assert len(asked) == 1  # the second waits: the service must not record the first after it
    followed(page, lambda: held[0].continue_())
    assert len(asked) == 2
    assert site.service.read_by_token(one.token).preferences is None
    page.reload()
    assert not lock.is_checked()


def test_a_newer_request_aborts_a_slow_one(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}", expect=("ERR_",))
    name = sorted(first_option(page))[0]
    held: list[Any] = []
    page.route("**/p/*", lambda route: held.append(route) if not held else route.continue_())
    page.locator("input[name$=-lock]").first.check()
    followed(page, page.locator(f"[name={site.place(name, 'lock')}]").check)
    assert name not in asked_to_change(page)


def test_entries_made_before_the_script_loads_count(visit: Open, site: Site) -> None:
    one = site.someone()
    held: list[Any] = []
    name = sorted(c.feature for c in one.answer.plan.options[0].changes)[0]
    page = visit("/p/unknown", expect=("status of 404",))  # which has no script
    page.route("**/static/follow.js", lambda route: held.append(route))
    page.goto(f"{site.home}/p/{one.token}", wait_until="commit")
    page.locator(f"[name={site.place(name, 'lock')}]").check()
    until(lambda: bool(page.evaluate("1") and held))
    held[0].continue_()
    page.wait_for_function("() => window.abreast()")
    assert name not in asked_to_change(page)


def test_a_link_in_a_mail_keeps_open_tabs_valid(visit: Open, site: Site) -> None:
    page = visit("/p/unknown", expect=("status of 404",))
    mail = f'<a href="{site.home}/p/{site.someone().token}" target="_blank">your page</a>'
    page.context.route("https://mail.example/*", lambda route: route.fulfill(body=mail, content_type="text/html"))
    inbox, tabs = page.context.new_page(), []
    inbox.goto("https://mail.example/")
    for _ in range(2):
        with page.context.expect_page() as opened:
            inbox.locator("a").click()
        opened.value.wait_for_load_state()  # with its script, which hears of what is done from then on
        tabs.append(opened.value)
    followed(tabs[0], tabs[0].locator("input[name$=-lock]").first.check)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_focus_is_always_visible(visit: Open, site: Site, size: dict[str, int]) -> None:
    page = visit(f"/p/{site.someone().token}", viewport=size, reduced_motion="reduce")
    page.evaluate(FOCUS)
    stops = 0
    for _ in range(100):
        page.keyboard.press("Tab")
        found = page.evaluate("() => window.focused()")
        if found is None:
            break
        stops += 1
        assert found["seen"], found
        assert found["outline"] == "solid", found
    assert stops > 30


# Where the focus is: None outside the page, else whether any part of it can be seen, and whether it is marked.
FOCUS = """() => { window.focused = () => {
    const one = document.activeElement;
    if (one === null || one === document.body) return null;
    const box = one.getBoundingClientRect();
    const parts = [[0.5, 0.5], [0.1, 0.2], [0.9, 0.8]].map(([x, y]) => [box.x + x * box.width, box.y + y * box.height]);
    const seen = parts.some(([x, y]) => one.contains(document.elementFromPoint(x, y)));
    return {html: one.outerHTML.slice(0, 80), seen, outline: getComputedStyle(one).outlineStyle};
} }"""


def test_a_slow_answer_is_announced(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}")
    held: list[Any] = []
    page.route("**/p/*", lambda route: held.append(route))
    page.clock.install()
    page.clock.pause_at(time.time() + 3600)
    page.locator("input[name$=-lock]").first.check()
    page.evaluate("() => fetch('/static/icon.svg').then(() => 0)")  # whatever was asked before this has been seen
    page.clock.run_for(1000)
    assert "longer than usual" not in page.inner_text("#status")
    page.clock.run_for(1000)
    assert "longer than usual" in page.inner_text("#status")
    followed(page, lambda: held[0].continue_())


def test_the_page_works_without_scripts(visit: Open, site: Site) -> None:
    one = site.someone()
    told = ("status of 422",)
    page = visit(f"/p/{one.token}", java_script_enabled=False, reduced_motion="reduce", expect=told)
    assert page.locator("output").first.is_hidden()  # it would not follow its slider
    name = sorted(c.feature for c in one.answer.plan.options[0].changes)[0]
    page.locator(f"[name={site.place(name, 'lock')}]").check()
    led_on(page, page.get_by_role("button", name="Show my options").click)
    assert page.url.endswith("#options")
    numbers = page.locator(".limits:has(input[type=text])").first
    numbers.locator("summary").click()
    numbers.locator("input").first.fill("-5")
    numbers.locator("input").last.fill("-9")
    numbers.locator("summary").click()
    # No browser may stop it for a field that is folded away.
    led_on(page, page.get_by_role("button", name="Show my options").click)
    assert page.locator(".problems").is_visible()
    top = "document.querySelector('#options').getBoundingClientRect().top"
    until(lambda: page.evaluate(top) < 100)  # it goes there when it draws the page, some time after it has it
    page.goto(page.url)
    options = site.service.read_by_token(one.token).plan.options
    assert options
    assert all(change.feature != name for option in options for change in option.changes)
    assert page.locator(f"[name={site.place(name, 'lock')}]").is_checked()
    assert page.locator("#live").is_hidden()
    led_on(page, page.locator(".card:first-child button").click)
    assert "Thank you" in page.inner_text("#recorded")


def test_the_page_works_by_keyboard_alone(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'content'")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name ?? ''").endswith("-lock"):
            break
    name = page.evaluate("document.activeElement.name")
    followed(page, lambda: page.keyboard.press("Space"))
    assert page.evaluate("document.activeElement.name") == name
    assert page.locator(f"[name={name}]").is_checked()


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit: Open, site: Site, language: str, size: dict[str, int], scheme: str) -> None:
    page = visit(f"/p/{site.someone().token}?lang={language}", viewport=size, color_scheme=scheme)
    assert faults_of(page) == []
    if size == DESK and scheme == "light":  # the other states of the page, once for each language
        followed(page, lambda: page.locator("input[type=range]").first.fill("0"))
        assert faults_of(page) == []
        page.locator(".limits:has(input[type=text]) summary").first.click()  # the first may be of names
        page.locator(".refuse summary").click()
        assert faults_of(page) == []
        page.locator("input[name$=-low]").first.fill("999999")
        page.wait_for_selector(".problems")
        assert faults_of(page) == []
        page.locator(".card button").first.click()
        page.wait_for_url("**#recorded")
        assert faults_of(page) == []


@pytest.mark.parametrize("path", ["/", "/audit?by=sex", "/p/unknown"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_other_pages(visit: Open, path: str, scheme: str) -> None:
    page = visit(path, color_scheme=scheme, expect=("status of 404",))
    assert faults_of(page) == []


RULES = {"target-size": {"enabled": True}}  # of WCAG 2.2, and off unless asked for


def faults_of(page: Any) -> list[str]:
    """What axe calls serious or critical: rule, and where."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    found = axe.run(page, options={"resultTypes": ["violations"], "rules": RULES}).response["violations"]
    bad = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {node['html'][:120]}" for one in bad for node in one["nodes"][:3]]


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("width", [320, 390, 768])
def test_the_page_fits_narrow_screens(visit: Open, site: Site, width: int, language: str) -> None:
    assert is_narrow(visit(f"/p/{site.someone().token}?lang={language}", viewport={"width": width, "height": 700}))


@pytest.mark.parametrize("path", ["/audit?by=sex&lang=de", "/?lang=de", "/p/unknown?lang=de"])
def test_the_other_pages_fit_narrow_screens(visit: Open, path: str) -> None:
    assert is_narrow(visit(path, viewport=PHONE, expect=("status of 404",)))


def is_narrow(page: Any) -> bool:
    """Whether nothing makes the page scroll sideways, with all that is folded opened."""
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.parametrize("language", ["en", "de"])
def test_text_of_twice_the_size_fits(visit: Open, site: Site, language: str) -> None:
    page = visit(f"/p/{site.someone().token}?lang={language}", viewport={"width": 360, "height": 740})
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert is_narrow(page)
    assert (
        page.evaluate(
            BROKEN, ".languages a, .facts dd, .effort p, .preference .now, .preference .lock, .preference .ask"
        )
        == []
    )


def test_the_audit_fits_with_text_of_twice_the_size(visit: Open) -> None:
    page = visit("/audit?by=sex", viewport={"width": 360, "height": 740})
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert is_narrow(page)
    assert page.evaluate(BROKEN, ".choose, .downloads, .cards") == []


# Short words that go over more than one line, in these parts of the page.
BROKEN = """parts => [...document.querySelectorAll(parts)].flatMap((part) => {
    const all = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), broken = [];
    for (let text = all.nextNode(); text; text = all.nextNode()) {
        for (const word of text.data.matchAll(/\\S{1,8}(?!\\S)/g)) {
            if (word.index > 0 && /\\S/.test(text.data[word.index - 1])) continue;
            const range = document.createRange();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) broken.push(word[0]);
        }
    }
    return broken;
})"""


def test_the_link_to_a_wrong_limit_shows_its_feature(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}", viewport={"width": 360, "height": 740}, reduced_motion="reduce")
    preference = page.locator(".preference:has(input[type=text])").first
    preference.locator("summary").click()
    preference.locator("input[type=text]").first.fill("9")
    preference.locator("input[type=text]").last.fill("5")
    page.wait_for_selector(".problems a", state="attached")
    page.locator(".problems a").click()
    page.wait_for_function("() => document.activeElement.type === 'text'")
    seen = "one => one.getBoundingClientRect().top >= 0 && one.getBoundingClientRect().bottom <= window.innerHeight"
    until(lambda: preference.locator("legend").evaluate(seen))  # the focus is there before the page has moved


def test_targets_are_large_enough(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}", viewport=PHONE)
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    small = page.evaluate(
        """() => [...document.querySelectorAll('button, summary, label:has(input), input[type=range], .languages a')]
            .map(one => [one.outerHTML.slice(0, 60), one.getBoundingClientRect()])
            .filter(([_, box]) => box.width > 0 && (box.height < 24 || box.width < 24)).map(([html]) => html)"""
    )
    assert small == []


def test_printed_page_has_no_controls(visit: Open, site: Site) -> None:
    page = visit(f"/p/{site.someone().token}")
    page.evaluate("""() => document.querySelector(".card .changes").insertAdjacentHTML("afterend",
        '<details class="more"><summary>More</summary><ul><li>Much more</li></ul></details>')""")  # few have any
    page.emulate_media(media="print")
    for part in (".preferences", ".languages", ".refuse", ".card button", "#print"):
        assert page.locator(part).first.is_hidden(), part
    for part in (".decision h1", ".facts dl", ".card .changes", ".card .more ul", ".compare table"):
        assert page.locator(part).first.is_visible(), part


def test_markup_in_data_is_not_interpreted(visit: Open, tmp_path: Path) -> None:
    with odd_service(tmp_path) as service, running(create_app(service)) as home:
        one = service.answer([Applicant({"<b>kind</b>": "plain", 'points "x"': 10, LONG: f"{LONG} 0"})])[0]
        assert is_narrow(visit(f"/p/{one.token}", home=home, viewport=PHONE))
        page = visit(f"/p/{one.token}", home=home)
        assert page.title() == "<u>Bank</u>: your options"
        assert SCRIPT in page.inner_text("body")
        assert page.locator("main img, main b, main i, main u").count() == 0
        followed(page, lambda: page.locator("input[type=range]").first.fill("1"))
        assert page.locator("main img, main script").count() == 0
        page.locator("#f2 summary").click()  # seven categories: all of them are ticked, or none, with one press
        followed(page, page.get_by_role("button", name="Tick none").click)
        assert page.locator("#f2 .ticks input:checked").count() == 0
        assert LONG in service.read_by_token(one.token).preferences.locked  # type: ignore[union-attr]
        followed(page, page.get_by_role("button", name="Tick all").click)
        assert service.read_by_token(one.token).preferences.editable is None  # type: ignore[union-attr]


def test_the_auditor_chooses_and_downloads(visit: Open, site: Site) -> None:
    page = visit("/audit")
    assert page.locator("figure svg").count() >= 4
    assert page.locator("input[name=by]:checked").evaluate_all("all => all.map(one => one.value)") == ["sex", "group"]
    page.locator("input[name=by][value=group]").uncheck()
    led_on(page, page.get_by_role("button", name="Show").click)
    assert "by=sex" in page.url
    assert page.get_by_role("heading", name="By group").count() == 0
    for link, kind in (("Everything (JSON)", "audit.json"), ("Figures by group (CSV)", "by_group.csv")):
        with page.expect_download() as download:
            page.get_by_role("link", name=link).click()
        assert download.value.suggested_filename == kind


def test_the_auditors_fields_are_aligned(visit: Open) -> None:
    heights = "all => all.map(one => one.getBoundingClientRect().height)"
    found = visit("/audit").eval_on_selector_all(".rest :is(input, select, button)", heights)
    assert len(found) == 5
    assert max(found) - min(found) < 1


def test_the_auditor_signs_in(visit: Open, tmp_path: Path) -> None:
    service, refused = credit_service(tmp_path, require_keys=True)
    with service, running(create_app(service)) as home:
        issue(service, refused.head(35))
        _, key = service.keys.create("auditor", ["audit"])
        page = visit("/audit", home=home, expect=("status of 401",))
        assert faults_of(page) == []
        page.locator("#key").fill("lw_wrong_key")
        led_on(page, page.get_by_role("button", name="Sign in").click)
        assert "does not exist" in page.inner_text("#wrong")
        page.locator("#key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_selector("figure svg")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_selector("#key")


def test_the_demos_first_page_links_to_people(visit: Open) -> None:
    page = visit("/")
    assert page.locator(".people a").count() == 5
    led_on(page, page.locator(".people a").first.click)
    assert re.search(r"/p/[\w-]{43}$", page.url)
    assert page.locator(".card").count() >= 1
