"""Render Jinja2 templates to pages that are one file: reports, audits and study forms.

A room keeps its pages in `templates/` and their style sheets and scripts in `static/`. Templates of other rooms extend
`page.html` of this one, and put files of either room into a page by `static("report.css")`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent


def render(template: str, room: Path = HERE, **shown: Any) -> str:
    """Return a template of a room, filled in; whatever is not `Markup` is escaped.

    Parameters
    ----------
    template
        Its name in `templates/`.
    room
        The room's folder. What it does not hold is looked up in the report's.
    shown
        The values that the template names.
    """
    return _environment(room).get_template(template).render(**shown)


def static_text(name: str, room: Path = HERE) -> str:
    """Return the text of a style sheet or script, from the room's `static/` or the report's."""
    path = room / "static" / name
    return (path if path.is_file() else HERE / "static" / name).read_text(encoding="utf-8")


@cache
def _environment(room: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from leastways import __version__

    made = Environment(
        loader=FileSystemLoader([room / "templates", HERE / "templates"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {}  # keep the order of keys
    made.globals.update(static=cache(lambda name: Markup(static_text(name, room))), version=__version__)
    return made
