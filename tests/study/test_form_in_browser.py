"""The form in a real browser: it opens from disk, keeps answers, points out gaps, and saves what `collect` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leastways as lw
from leastways.study import Study, collect_answers, create_study
from tests.plans.made import OPTIONS, PEOPLE, plans
from tests.study.test_create import make
from tests.support.browsers import with_letters


@pytest.fixture
def study(tmp_path: Path) -> Study:
    profile = lw.Preferences(scores={"monthly_hours": 0.75, "debt": 0.25}, ranges={"monthly_hours": (20, 40)})
    return make(tmp_path / "study", annotators=["ann", "bob"], per_item=2, profiles=profile, title='<i>"A" & B</i>')


@pytest.fixture
def page(browser: Any, study: Study) -> Iterator[Any]:
    """Ann's form; a fault in its script, or an attempt to reach the network, fails the test."""
    context = browser.new_context(viewport={"width": 390, "height": 800})
    tab = context.new_page()
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    tab.on("request", lambda request: faults.append(request.url))
    tab.goto(study.form("ann").as_uri())
    yield tab
    context.close()
    assert [fault for fault in faults if not fault.startswith(("file:", "blob:"))] == []


def choose(page: Any, question: str, value: str) -> None:
    page.check(f'.page.shown [data-question="{question}"] input[value="{value}"]')


def answer(page: Any, prefer: str = "A", a: str = "yes", b: str = "no") -> None:
    for question, value in (("prefer", prefer), ("reasonable_A", a), ("reasonable_B", b)):
        choose(page, question, value)


def saved(page: Any, folder: Path) -> Path:
    with page.expect_download() as download:
        page.click("#save")
    path = folder / str(download.value.suggested_filename)
    download.value.save_as(path)
    return path


def test_saved_answers_can_be_collected(page: Any, study: Study, tmp_path: Path) -> None:
    assert page.title() == '<i>"A" & B</i>'
    page.click("#next")
    assert page.inner_text(".page.shown h2") == "Person 1 of 2"
    assert "at least 20 h and at most 40 h" in page.inner_text(".page.shown .preferences")
    answer(page, "A")
    page.click("#next")
    answer(page, "none", "no", "yes")
    assert page.inner_text("#done") == "2 of 2 answered"
    page.click("#next")
    assert "All questions are answered" in page.inner_text("#missing")
    path = saved(page, tmp_path)
    assert path.name == "answers-ann.json"
    assert json.loads(path.read_text())["annotator"] == "ann"
    collected = collect_answers(study, path)
    assert collected.problems["annotator"].tolist() == ["bob"]  # who has not answered yet
    first, second = study.tasks["ann"]
    table = collected.answers.set_index(["item", "question", "shown_as"])["answer"]
    assert table[first, "preferred", "A"] == study.method_shown("ann", first, "A")
    assert table[first, "reasonable", "B"] == "no"
    assert table[second, "preferred", ""] == "no preference"
    assert json.loads(page.input_value("#text"))["answers"] == json.loads(path.read_text())["answers"]


def test_open_questions_are_pointed_out(page: Any, study: Study, tmp_path: Path) -> None:
    page.click("#next")
    choose(page, "prefer", "B")
    page.click("#next")
    assert page.locator(".page.shown .open:visible").count() == 2
    assert page.inner_text("#next") == "Skip for now"
    first = page.locator('.page.shown [data-question="reasonable_A"] input').first
    assert first.evaluate("one => one === document.activeElement")
    assert page.inner_text(f"#{first.get_attribute('aria-describedby')}") == "Not answered yet."
    choose(page, "reasonable_A", "yes")
    assert first.get_attribute("aria-describedby") is None
    assert page.locator(".page.shown .open:visible").count() == 1
    page.click("#next")
    page.click("#next")
    page.click("#next")
    assert page.locator("#missing button").all_inner_texts() == ["1", "2"]
    assert "2 still open" in page.inner_text("#save")
    collected = collect_answers(study, saved(page, tmp_path))
    assert len(collected.answers) == 2
    page.click("#missing button >> nth=1")
    assert page.inner_text(".page.shown h2") == "Person 2 of 2"


def test_answers_survive_closing_the_page(page: Any) -> None:
    page.click("#next")
    answer(page, "B")
    page.reload()
    assert page.inner_text(".page.shown h2") == "Person 1 of 2"
    assert page.is_checked('.page.shown [data-question="prefer"] input[value="B"]')
    assert page.inner_text("#done") == "1 of 2 answered"


def test_form_works_by_keyboard_alone(page: Any) -> None:
    page.focus("#next")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H2"
    for key in ("Tab", "Space", "ArrowRight", "Tab", "Space", "Tab", "ArrowRight"):
        page.keyboard.press(key)
    assert page.is_checked('.page.shown [data-question="prefer"] input[value="B"]')
    assert page.is_checked('.page.shown [data-question="reasonable_A"] input[value="yes"]')
    assert page.is_checked('.page.shown [data-question="reasonable_B"] input[value="no"]')
    assert page.inner_text("#done") == "1 of 2 answered"


@pytest.mark.parametrize("height", [480, 560, 640, 720])
def test_bar_does_not_cover_the_focused_answer(page: Any, height: int) -> None:
    page.set_viewport_size({"width": 360, "height": height})
    page.focus("#next")
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.type") == "radio"
        assert page.evaluate(CLEAR_OF_THE_BAR)


CLEAR_OF_THE_BAR = """() => document.activeElement.closest("label").getBoundingClientRect().bottom
    <= document.querySelector(".bar").getBoundingClientRect().top"""


def test_form_fits_at_twice_the_font_size(browser: Any, study: Study) -> None:
    large = with_letters(browser, 32)
    tab = large.new_page(viewport={"width": 360, "height": 740})
    tab.goto(study.form("ann").as_uri())
    for _ in range(2):
        assert tab.evaluate("document.documentElement.scrollWidth") == 360
        tab.locator("#next").click()
    box = tab.locator("#next").bounding_box()  # where it asks whether to skip, with more words
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 360
    large.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_long_words_do_not_overflow(browser: Any, tmp_path: Path, width: int) -> None:
    long = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz" * 2
    people, options = (
        table.assign(job=table["job"].cat.rename_categories({"cook": long})) for table in (PEOPLE, OPTIONS)
    )
    schema = lw.Schema.infer(people).update(job={"label": long.upper()})
    one = plans(schema=schema, people=people, options=options)
    two = plans(schema=schema, people=people, options=options.iloc[[1]].assign(option=1))
    told = lw.Preferences(scores={"job": 0.75, "debt": 0.25})
    create_study(one, two, tmp_path / "study", methods=("a", "b"), annotators=1, per_item=1, profiles=told)
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.goto((tmp_path / "study" / "forms" / "annotator-1.html").as_uri())
    tab.click("#next")
    assert long in tab.inner_text(".page.shown .sets") + tab.inner_text(".page.shown .facts")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    beyond = """parts => parts.filter(part => part.scrollWidth > part.clientWidth + 1).map(part => part.className)"""
    assert tab.eval_on_selector_all(".shown :is(.facts, .facts div, .preferences, .preferences li, .set)", beyond) == []
    a, b = (
        one["width"]
        for one in tab.eval_on_selector_all(".shown .set", "sets => sets.map(s => s.getBoundingClientRect().toJSON())")
    )
    assert abs(a - b) < 1  # neither set looks like the larger one
    tab.close()


def test_form_works_without_local_storage(browser: Any, study: Study, tmp_path: Path) -> None:
    context = browser.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    tab = context.new_page()
    tab.goto(study.form("ann").as_uri())
    assert "keeps nothing" in tab.inner_text("#kept")
    tab.click("#next")
    answer(tab)
    tab.click("#next")
    tab.click("#next")
    tab.click("#next")
    path = saved(tab, tmp_path)
    tab.reload()
    assert tab.inner_text("#done") == "0 of 2 answered"
    tab.click("summary")
    tab.set_input_files("#load", path)
    tab.wait_for_selector("#loaded:not(:empty)")
    assert tab.inner_text("#loaded") == "3 answers were taken from the file."
    assert tab.inner_text("#done") == "1 of 2 answered"
    (tmp_path / "other.json").write_text(path.read_text().replace('"ann"', '"bob"'))
    tab.set_input_files("#load", tmp_path / "other.json")
    tab.wait_for_selector("#loaded.bad")
    assert "belongs to another form" in tab.inner_text("#loaded")
    context.close()


def test_form_fits_a_phone(page: Any) -> None:
    page.click("#next")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    heights = page.evaluate("[...document.querySelectorAll('.shown label')].map(x => x.getBoundingClientRect().height)")
    assert min(heights) >= 44
