"""A matplotlib figure as SVG that can stand inside a page: page colours, page font, no clashing ids."""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

from leastways._extras import require

# The figure's colours (Okabe and Ito's blue and vermilion, safe for the colour-blind), and what stands for each in a
# page: variables, so that a page in dark colours can choose lighter ones.
INK, FAINT, ONE, TWO = "#1b1f24", "#d0d7de", "#0072b2", "#d55e00"
_IN_PAGE = {INK: "currentColor", FAINT: "var(--faint)", ONE: "var(--one)", TWO: "var(--two)"}
# More of the same authors' colours, for as many lines as one picture can hold; a page may name others.
LINES = (ONE, TWO, "#009e73", "#cc79a7", "#a6761d", "#666666")
_IN_PAGE |= {colour: f"var(--line-{place}, {colour})" for place, colour in enumerate(LINES) if place > 1}

STYLE: dict[str, Any] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 9.5,
    "font.size": 9.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 2.0,
    "text.parse_math": False,  # a dollar sign in a label is a dollar sign
    "svg.fonttype": "none",  # text stays text: to be searched, read aloud, and set in the page's font
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def inline_svg(figure: Any, name: str, alt: str) -> str:
    """Return the figure as an `<svg>` element. `name` makes its ids unique; `alt` says what is to be seen."""
    matplotlib = require("matplotlib", "plots", "A picture")
    buffer = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", text)
    for colour, variable in _IN_PAGE.items():
        text = text.replace(colour, variable)
    head, body = text.split(">", 1)
    view = re.search(r'viewBox="[^"]*"', head)
    if view is None:  # matplotlib has always written one
        raise RuntimeError("the drawing has no viewBox")
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return (
        f'<svg {space} {view[0]} role="img" aria-labelledby="{name}-alt">'
        f'<title id="{name}-alt">{escape(alt)}</title>{body.strip()}'
    )


def without_styles(svg: str) -> str:
    """Return an inline drawing whose looks are plain attributes: a page may then forbid styles that stand in it."""
    text = re.sub(r"<style\b.*?</style>", "", svg, flags=re.DOTALL)
    text = re.sub(r'style="([^"]*)"', lambda found: _attributes(found[1]), text)
    return text.replace("<svg ", '<svg stroke-linejoin="round" stroke-linecap="butt" ', 1)


def _attributes(style: str) -> str:
    """Turn `fill: none; stroke-width: 2` into attributes. The font is the page's: only its size and weight stay."""
    found = dict(part.split(":", 1) for part in style.split(";") if ":" in part)
    pairs = {name.strip(): value.strip() for name, value in found.items()}
    short = pairs.pop("font", "")
    if size := re.search(r"[\d.]+px", short):
        pairs["font-size"] = size[0]
    if weight := re.match(r"\s*(bold|[1-9]00)\b", short):
        pairs["font-weight"] = weight[1]
    pairs.pop("font-family", None)
    return " ".join(f'{name}="{value}"' for name, value in pairs.items())
