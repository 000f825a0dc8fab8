"""Forms as the pages are sent them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import Depends, Request

Form = Mapping[str, Sequence[str]]
_MOST_FIELDS = 5000


async def sent_form(request: Request) -> Form:
    """Read a form: every value that was sent under each name. Files are refused."""
    form = await request.form(max_files=0, max_fields=_MOST_FIELDS)
    return {name: [value for value in form.getlist(name) if isinstance(value, str)] for name in form}


SentForm = Annotated[Form, Depends(sent_form)]


def first(form: Form, name: str) -> str:
    """Return the first value sent under a name, or nothing."""
    values = form.get(name, ())
    return values[0] if values else ""
