"""An audit as a folder: the page, the figures as files, and everything as JSON."""

from __future__ import annotations

import io
import re
from itertools import chain
from pathlib import Path

from leastways._extras import require
from leastways.audit import Audit
from leastways.io.files import draft_of
from leastways.report.audit_html import TITLE, audit_html
from leastways.report.audit_plots import KINDS, draw_audit
from leastways.report.plots import Picture, can_draw
from leastways.report.svg import STYLE

PAGE, DATA, FIGURES = "report.html", "audit.json", "figures"
_FIGURE = re.compile(rf"({'|'.join(KINDS)})-\d+(-[a-z0-9-]+)?\.(svg|png)")


def write_audit(audit: Audit, folder: str | Path, *, title: str = TITLE) -> list[Path]:
    """Write `report.html`, `audit.json`, and each figure as .svg and .png under `figures`; returns the paths.

    The folder is made if it is not there; files of these names are replaced, and figures of an earlier audit that this
    one does not have are removed, so that nobody takes them for its own. Everything is made before the first file is
    written, and each is written whole or not at all. Without matplotlib there are no figures, and the page says so.
    """
    folder = Path(folder)
    pictures = draw_audit(audit) if can_draw() else {}
    files: dict[Path, bytes] = {
        folder / PAGE: audit_html(audit, title=title, pictures=pictures).encode(),
        folder / DATA: audit.to_json().encode(),
    }
    for picture in chain.from_iterable(pictures.values()):
        for kind in ("svg", "png"):
            files[folder / FIGURES / f"{picture.name}.{kind}"] = _drawn(picture, kind)
    for path, content in files.items():
        with draft_of(path) as draft:
            draft.write_bytes(content)
    for path in list((folder / FIGURES).glob("*-*.*")):
        if _FIGURE.fullmatch(path.name) and path not in files:
            path.unlink(missing_ok=True)
    return list(files)


def _drawn(picture: Picture, kind: str) -> bytes:
    """Return a figure as a file that stands alone: its own colours, on white."""
    matplotlib = require("matplotlib", "plots", "A picture")
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": picture.name}):
        picture.figure.savefig(buffer, format=kind, dpi=160, facecolor="white", metadata=metadata)
    return buffer.getvalue()
