"""What the pages of a report and of an audit have in common: the frame, cards, pictures, words and settings."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from leastways import __version__
from leastways.report.plots import Picture
from leastways.report.svg import without_styles


def page(title: str, lead: str, sheet: str, sections: Iterable[str]) -> str:
    """Put sections into a page of its own; `sheet` is the element that gives it its looks."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"{sheet}</head>",
            "<body>",
            f'<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p></header>',
            "<main>",
            *sections,
            "</main>",
            f"<footer>Made by leastways {escape(__version__)}.</footer>",
            "</body></html>\n",
        ]
    )


def cards(figures: Iterable[tuple[str, str]]) -> str:
    """Show the figures a reader looks for first, each with what it counts."""
    items = "".join(f"<li><strong>{escape(n)}</strong><span>{escape(what)}</span></li>" for n, what in figures)
    return f'<ul class="cards">{items}</ul>'


def gallery(pictures: Iterable[Picture], *, styles: bool) -> str:
    """Show pictures side by side; without `styles` in them where a page may forbid these."""
    figures = "".join(
        f"<figure><h3>{escape(p.title)}</h3>{p.svg() if styles else without_styles(p.svg())}"
        f"<figcaption>{escape(p.caption)}</figcaption></figure>"
        for p in pictures
    )
    return f'<div class="pictures">{figures}</div>' if figures else ""


def no_pictures(what: str) -> str:
    """Say, in place of pictures, how `what` would get them."""
    return (
        f'<p class="note">This {what} has no pictures, because matplotlib is not installed where it was made. '
        "This brings them: <code>pip install 'leastways[plots]'</code></p>"
    )


def words_section(entries: Iterable[tuple[str, str]]) -> str:
    """Explain the words that a page uses."""
    words = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in entries)
    return f"<section><h2>What the words mean</h2><dl>{words}</dl></section>"


def settings_section(settings: Iterable[tuple[str, Any]]) -> str:
    """Say how it was made, so that it can be made again."""
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(str(name))}</code></th><td><code>{escape(str(value))}</code></td></tr>'
        for name, value in settings
    )
    return (
        "<section><h2>How this was made</h2><details><summary>Settings</summary>"
        f'<div class="wide"><table><tbody>{rows}</tbody></table></div></details></section>'
    )
