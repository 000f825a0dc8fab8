"""The catalogues: same keys and placeholders in every language, all of them used, and no text anywhere else."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, nodes

from leastways.errors import SettingError
from leastways.plans import STATUSES
from leastways.server import pages
from leastways.server.pages.auditor import TABLES
from leastways.server.pages.form import EASE
from leastways.server.pages.texts import FOLDER, Languages, placeholders
from leastways.server.served import WHICH

HOME = Path(pages.__file__).parent
TEMPLATES = sorted((HOME / "templates").glob("*.html"))
SCRIPTS = sorted((HOME / "static").glob("*.js"))
LANGUAGES = Languages()
MESSAGES = (
    "not_found",
    "not_ready",
    "expired",
    "busy",
    "down",
    "bad",
    "changed",
    "outdated",
    "superseded",
    "refinement_limit",
    "job_failed",
)
COUNTED = ("options.found", "options.without_preferences", "options.with_preferences", "change.points")
# Keys that code puts together from parts.
MADE_UP = {
    *(f"ease.{name}" for name in EASE),
    *(f"effort.{name}" for name in ("small", "moderate", "large", "very_large", "unknown")),
    *(f"easiest.{kind}" for kind in ("with_preferences", "without_preferences")),
    *(f"problem.{kind}" for kind in ("not_a_number", "crossed", "no_value")),
    *(f"nothing.{s}.{part}" for s in (*STATUSES, "all_closed") for part in ("headline", "explanation")),
    *(f"message.{name}.{part}" for name in MESSAGES for part in ("title", "text")),
    *(f"{key}.{number}" for key in COUNTED for number in ("one", "other")),
    *(f"preferences.{end}" for end in ("low", "high")),
    *(f"audit.{name}" for name in (*TABLES, *WHICH)),
}


def test_every_language_has_the_same_keys() -> None:
    english = LANGUAGES.by_code["en"].texts
    assert len(LANGUAGES.by_code) >= 2
    for other in LANGUAGES:
        assert list(other.texts) == list(english), f"{other.language}.yaml: other keys, or in another order"
        for key, text in other.texts.items():
            assert text, f"{other.language}.yaml: {key} is empty"
            assert placeholders(text) == placeholders(english[key]), f"{other.language}.yaml: {key}"


def test_every_text_is_used() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in [*HOME.rglob("*.py"), *TEMPLATES, *SCRIPTS])
    keys = LANGUAGES.by_code["en"].texts
    unused = [key for key in keys if f'"{key}"' not in sources and key not in MADE_UP]
    assert unused == []
    never = {f"nothing.{status}.{part}" for status in ("found", "partial") for part in ("headline", "explanation")}
    assert set(keys) >= MADE_UP - never


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_hold_no_text_of_their_own(path: Path) -> None:
    """What a template writes itself is markup: no word outside a tag, none in an attribute that people read or hear."""
    source = re.sub(r"{% block kind %}\w+{% endblock %}", "", path.read_text(encoding="utf-8"))  # a class of the body
    tree = Environment().parse(source)
    parts = [part for node in tree.find_all(nodes.Output) for part in node.nodes]
    raw = "\x00".join(part.data if isinstance(part, nodes.TemplateData) else "" for part in parts)
    shown = re.sub(r"<!--.*?-->|<[^>]*>", "", raw, flags=re.DOTALL)
    shown = re.sub(r"<[^>]*$|^[^<]*>", "", shown)
    assert not re.search(r"[^\W\d_]{2,}", shown.replace("\x00", " ")), shown
    for attribute in ("aria-label", "title", "placeholder", "alt", "label"):
        assert not re.search(rf'\s{attribute}="[^"\x00{{]*[^\W\d_]', raw), f"{path.name}: {attribute}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_hold_no_text_of_their_own(path: Path) -> None:
    code = re.sub(r"//.*|/\*.*?\*/", "", path.read_text(encoding="utf-8"))
    sentences = [text for text in re.findall(r'"([^"\n]*)"', code) if re.search(r"^[^.#\[]*[a-z] [a-z]", text)]
    assert sentences == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_pages_have_no_inline_scripts_and_no_external_files(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert not re.search(r"\sstyle=|<style|\son\w+=|<script(?![^>]*\ssrc=)|https?://|javascript:", source)


@pytest.mark.parametrize(
    ("chosen", "header", "language"),
    [
        (None, "", "en"),
        ("de", "", "de"),
        ("de", "en", "de"),
        ("xx", "de", "de"),
        (None, "de-AT,de;q=0.9,en;q=0.8", "de"),
        (None, "fr,en;q=0.5,de;q=0.7", "de"),
        (None, "en-GB,de;q=0.9", "en"),
        (None, "de;q=0,en", "en"),
        (None, "de;q=much", "en"),
        (None, ",;q=,*;" * 400, "en"),
    ],
)
def test_the_language_is_negotiated(chosen: str | None, header: str, language: str) -> None:
    assert LANGUAGES.choose(chosen, header).language == language


def test_numbers_and_lists_as_a_language_writes_them() -> None:
    english, german = (LANGUAGES.by_code[code] for code in ("en", "de"))
    assert (english.number("1,234.5"), german.number("1,234.5")) == ("1,234.5", "1.234,5")
    assert (english.percent(0.625, 1), german.percent(0.625, 1)) == ("62.5%", "62,5\u00a0%")
    assert (english.day(date(2026, 3, 9)), german.day(date(2026, 3, 9))) == ("2026-03-09", "09.03.2026")
    assert english.listing(["a"]) == "a"
    assert german.listing(["a", "b", "c"]) == "a, b und c"
    assert english.count("options.found", 1) != english.count("options.found", 2) == "2 ways to a yes"


@pytest.mark.parametrize(
    ("text", "english", "german"),
    [
        ("10000", 10_000, 10_000),
        ("10,000", 10_000, 10),
        ("10.000", 10, 10_000),
        ("1.234.567", None, 1_234_567),
        ("1,234,567.5", 1_234_567.5, None),
        ("5.000,50", None, 5000.5),
        ("1,5", None, 1.5),
        ("1.5", 1.5, 1.5),
        (" 10 000 ", 10_000, 10_000),
        ("\u2212250", -250, -250),
        ("-1.500", -1.5, -1500),
        ("much", None, None),
        ("", None, None),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, english: float | None, german: float | None) -> None:
    for code, value in (("en", english), ("de", german)):
        if value is None:
            with pytest.raises(ValueError, match="could not convert"):
                LANGUAGES.by_code[code].read(text)
        else:
            assert LANGUAGES.by_code[code].read(text) == value


@given(st.floats(allow_nan=False, allow_infinity=False).map(str))
def test_written_numbers_are_read_back(text: str) -> None:
    for texts in LANGUAGES:
        assert texts.read(texts.number(text)) == float(text)


def test_an_operator_changes_texts_and_adds_a_language(tmp_path: Path) -> None:
    (tmp_path / "en.yaml").write_text("decision:\n  refused: Sorry.\nfeatures:\n  job: {label: work, values: {a: A}}\n")
    full = (FOLDER / "de.yaml").read_text(encoding="utf-8").replace("name: Deutsch", "name: Plattdüütsch")
    (tmp_path / "nds.yaml").write_text(full, encoding="utf-8")
    languages = Languages(tmp_path)
    assert languages.by_code["en"]("decision.refused") == "Sorry."
    assert languages.by_code["en"]("options.take") == "I could do this"
    assert languages.by_code["en"].features["job"].label == "work"
    assert [one.name for one in languages] == ["Deutsch", "English", "Plattdüütsch"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "en.yaml",
            "decision: {refuse: Sorry}",
            r"there is no text 'decision.refuse'.* Did you mean 'decision.refused'",
        ),
        ("en.yaml", "options: {rank: '{m}'}", r"'options.rank' has placeholders it cannot have; allowed: 'n'"),
        ("fr.yaml", "decision: {refused: Non.}", r"these texts are missing: 'language.name'"),
        ("en.yaml", "decision: {refused: 1}", r"'decision.refused' must be a text, not 1"),
        ("en.yaml", "decision: {refused: {}", "is not valid YAML"),
        ("en.yaml", "just words", "expected keys with texts"),
        ("english.yaml", "{}", "named by its language"),
        ("en.yaml", "features: {job: {name: x}}", r"feature 'job': unknown key 'name'; allowed: label, unit, values"),
        ("en.yaml", "features: [job]", "features must map"),
        ("en.yaml", "features: {job: work}", "feature 'job' must have a label"),
    ],
)
def test_a_wrong_text_file_is_named_with_its_fault(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SettingError, match=message) as error:
        Languages(tmp_path)
    assert name in str(error.value)
