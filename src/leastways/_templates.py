"""Render Jinja2 templates: reports, audits and study forms, and what notebooks show.

A room keeps its templates in `templates/` and their style sheets and scripts in `static/`. A room whose pages extend
those of another names both. A template puts a file into its page by ``static("report.css")``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE = Path(__file__).parent


def render(template: str, /, *rooms: str, **shown: Any) -> str:
    """Return a template, filled in; values that are not `Markup` are escaped.

    Parameters
    ----------
    template
        Its name in `templates/`.
    rooms
        Folders of the package to search, in this order: ``"study", "report"``.
    shown
        The values that the template names.
    """
    return _environment(rooms).get_template(template).render(**shown)


def static_text(name: str, *rooms: str) -> str:
    """Return the text of a style sheet or script, from the first of the rooms whose `static/` holds it."""
    paths = [_PACKAGE / room / "static" / name for room in rooms]
    return next((path for path in paths if path.is_file()), paths[-1]).read_text(encoding="utf-8")


@cache
def _environment(rooms: tuple[str, ...]) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader([_PACKAGE / room / "templates" for room in rooms]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {}  # keep the order of keys
    made.globals.update(static=cache(lambda name: Markup(static_text(name, *rooms))))
    return made
