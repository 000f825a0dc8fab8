"""The form of one annotator: a person's present state and two sets of options, without the methods' names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from leastways.costs import Preferences
from leastways.plans import RecourseOption, RecoursePlan, RecoursePlans
from leastways.plans.wording import value_text
from leastways.report.css import SHEET
from leastways.schema import Schema
from leastways.study.form_script import SCRIPT
from leastways.study.form_style import FORM_SHEET
from leastways.study.people import Wish, wishes_of

Option = tuple[str, ...]  # the changes that go together, in words


@dataclass(frozen=True)
class Fact:
    """A feature as it stands, and whether nobody can change it."""

    wording: str
    value: str
    fixed: bool


@dataclass(frozen=True)
class Item:
    """A person to be judged for: who they are, what they want, and what either method offers them."""

    id: str
    person: Any
    profile: Preferences | None
    facts: tuple[Fact, ...]
    wishes: tuple[Wish, ...]
    sets: tuple[tuple[Option, ...], tuple[Option, ...]]  # of the two methods


def make_items(
    plans: tuple[RecoursePlans, RecoursePlans],
    people: Sequence[Any],
    profiles: Mapping[Any, Preferences],
    n_options: int | None,
) -> tuple[Item, ...]:
    """Write an item for each person, in this order."""
    width = len(str(len(people)))
    return tuple(
        _item(f"item-{place + 1:0{width}}", (plans[0][label], plans[1][label]), plans[0].schema, profiles, n_options)
        for place, label in enumerate(people)
    )


def _item(
    name: str,
    pair: tuple[RecoursePlan, RecoursePlan],
    schema: Schema,
    profiles: Mapping[Any, Preferences],
    n_options: int | None,
) -> Item:
    person, state = pair[0].person, pair[0].state
    said = profiles.get(person)
    facts = tuple(Fact(f.wording, value_text(f, state[f.name]), f.direction == "fixed") for f in schema.features)
    sets = tuple(options_in_words(plan.options[:n_options], schema) for plan in pair)
    return Item(name, person, said, facts, () if said is None else wishes_of(schema, said), (sets[0], sets[1]))


def options_in_words(options: Sequence[RecourseOption], schema: Schema) -> tuple[Option, ...]:
    """Return options as lists of changes, fewest changes first, then in the schema's order.

    The order follows from the options alone. A method's own order (its favourite first, say) could give it away.
    """
    place = {name: f for f, name in enumerate(schema.names)}

    def order(option: RecourseOption) -> tuple[int, list[int], list[str]]:
        return len(option.changes), [place[c.feature] for c in option.changes], [c.text for c in option.changes]

    return tuple(
        tuple(_unbroken(c.text, schema.by_name[c.feature].unit) for c in option.changes)
        for option in sorted(options, key=order)
    )


def _unbroken(text: str, unit: str) -> str:
    """Tie a unit to its number, so that no line breaks between them."""
    return re.sub(rf"(?<=\d) (?={re.escape(unit)})", "\N{NO-BREAK SPACE}", text) if unit else text


ANSWERS_FORMAT, ANSWERS_VERSION = "leastways study answers", 1
CHOICES = (("A", "Set A"), ("B", "Set B"), ("none", "No preference"))
YES_NO = (("yes", "Yes"), ("no", "No"))
# The browser itself refuses to load or send anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'"


@dataclass(frozen=True)
class Sheet:
    """An item as one annotator sees it: which set is A, which is B."""

    item: Item
    a: tuple[Option, ...]
    b: tuple[Option, ...]


def sheet_content(sheet: Sheet) -> dict[str, Any]:
    """Return what is shown, for checksums."""
    item = sheet.item
    facts, wishes = [asdict(f) for f in item.facts], [asdict(w) for w in item.wishes]
    return {"item": item.id, "facts": facts, "wishes": wishes, "A": sheet.a, "B": sheet.b}


def form_html(title: str, study: str, annotator: str, checksum: str, sheets: Sequence[Sheet]) -> str:
    """Return the page. It names no method and holds no figure of a search."""
    about = {
        "format": ANSWERS_FORMAT,
        "version": ANSWERS_VERSION,
        "study": study,
        "annotator": annotator,
        "form": checksum,
    }
    data = json.dumps(about).replace("<", "\\u003c")
    pages = [_intro(title, annotator, sheets), *(_page(s, n, len(sheets)) for n, s in enumerate(sheets)), _finish()]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{escape(title)}</title>",
            f"<style>{SHEET}{FORM_SHEET}</style></head>",
            "<body>",
            "<noscript><p>This form needs JavaScript to keep and save your answers. It loads and sends nothing.</p>"
            "</noscript>",
            "<main>",
            *pages,
            "</main>",
            '<nav class="bar" aria-label="Pages"><button type="button" id="back">Back</button>'
            '<div class="done"><span id="done" role="status"></span><progress id="progress" max="1" value="0" '
            'aria-label="Answered"></progress></div>'
            '<button type="button" id="next" class="main">Next</button></nav>',
            f'<script type="application/json" id="about">{data}</script>',
            f"<script>{SCRIPT}</script>",
            "</body></html>\n",
        ]
    )


def _intro(title: str, annotator: str, sheets: Sequence[Sheet]) -> str:
    told = any(sheet.item.wishes for sheet in sheets)
    wishes = " and what they would be willing to change" if told else ""
    people = f"{len(sheets)} people" if len(sheets) != 1 else "one person"
    return f"""<section class="page" id="intro"><h1 tabindex="-1">{escape(title)}</h1>
<p class="lead">For {escape(annotator)}: {people}.</p>
<p>A computer program turned each of these people down. You will see how things stand for them{wishes}. Then you see two
sets of options. Each option is one way to be accepted: <strong>the changes in one option go together; one option of
the set is enough</strong>.</p>
<p>Put yourself in the place of the person, and answer three short questions:</p>
<ol><li>From which set would you rather take an option: A, B, or no preference?</li>
<li>Does set A seem reasonable to you?</li><li>Does set B seem reasonable to you?</li></ol>
<p>There are no right answers. A and B change places from person to person; do not look for a pattern. Please answer
alone. At the end you save a file and send it back to whoever gave you this form. Nothing is sent by itself.</p>
<p class="note" id="kept"></p>
<details><summary>Go on with answers saved in a file</summary>
<p><label>The file: <input type="file" id="load" accept=".json,application/json"></label></p></details>
<p id="loaded" role="status"></p></section>"""


def _page(sheet: Sheet, place: int, of: int) -> str:
    item = sheet.item
    name = f"p{place + 1}"
    questions = (
        _question(f"{name}-prefer", "prefer", "If you were this person, from which set would you choose?", CHOICES)
        + _question(f"{name}-a", "reasonable_A", "Does set A seem reasonable?", YES_NO)
        + _question(f"{name}-b", "reasonable_B", "Does set B seem reasonable?", YES_NO)
    )
    return (
        f'<section class="page item" id="{name}" data-item="{escape(item.id)}" aria-labelledby="{name}-title">'
        f'<h2 tabindex="-1" id="{name}-title">Person {place + 1} of {of}</h2>'
        f'<div class="who">{_facts(item.facts, told=bool(item.wishes))}{_wishes(item.wishes)}</div>'
        f'<div class="sets">{_set("A", sheet.a)}{_set("B", sheet.b)}</div>'
        f'<div class="questions">{questions}</div></section>'
    )


def _facts(facts: Sequence[Fact], told: bool) -> str:
    """How things stand. Where no wishes are known, at least what nobody can change is marked."""
    rows = "".join(
        f"<div><dt>{escape(f.wording)}</dt><dd>{escape(f.value)}"
        f"{' <small>(cannot be changed)</small>' if f.fixed and not told else ''}</dd></div>"
        for f in facts
    )
    return f'<div><h3>As things stand</h3><dl class="facts">{rows}</dl></div>'


def _wishes(wishes: Sequence[Wish]) -> str:
    if not wishes:
        return ""
    scored = any(wish.score is not None for wish in wishes)
    how = "The more willing, the longer the bar; all add up to 100 %. " if scored else ""
    return (
        '<div><h3>What this person would change</h3><ul class="wishes">'
        + "".join(_wish(wish) for wish in wishes)
        + f'</ul><p class="note">{how}Everything else should stay as it is.</p></div>'
    )


def _wish(wish: Wish) -> str:
    limits = f" <small>({escape(wish.limits)})</small>" if wish.limits else ""
    if wish.score is None:
        return f"<li><span>{escape(wish.wording)}{limits}</span></li>"
    percent = 100 * wish.score
    shown = f"{percent:.0f} %" if percent >= 1 or percent == 0 else "under 1 %"
    return (
        f"<li><span>{escape(wish.wording)}{limits}</span><b>{shown}</b>"
        f'<i aria-hidden="true"><i style="width:{percent:.1f}%"></i></i></li>'
    )


def _set(side: str, options: Sequence[Option]) -> str:
    if not options:
        body = "<p>No option was found: this set is empty.</p>"
    else:
        body = "<ol>" + "".join(_option(n + 1, option) for n, option in enumerate(options)) + "</ol>"
    return f'<section class="set"><h3>Set {side}</h3>{body}</section>'


def _option(number: int, option: Option) -> str:
    changes = "".join(f"<li>{escape(change)}</li>" for change in option)
    return f'<li><span class="number">Option {number}</span><ul>{changes}</ul></li>'


def _question(group: str, question: str, text: str, choices: Sequence[tuple[str, str]]) -> str:
    boxes = "".join(
        f'<label><input type="radio" name="{group}" value="{value}"><span>{escape(word)}</span></label>'
        for value, word in choices
    )
    return (
        f'<fieldset data-question="{question}"><legend>{escape(text)}</legend><div class="choices">{boxes}</div>'
        f'<p class="open" id="{group}-open" hidden>Not answered yet.</p></fieldset>'
    )


def _finish() -> str:
    return """<section class="page" id="finish"><h2 tabindex="-1">Save your answers</h2>
<div id="missing" role="status"></div>
<p><button type="button" id="save" class="main">Save answers</button></p>
<p id="saved" role="status"></p>
<details><summary>No file appeared?</summary>
<p>Copy this text, all of it, and send it instead.</p>
<textarea id="text" readonly rows="6" aria-label="Your answers as text"></textarea></details></section>"""
