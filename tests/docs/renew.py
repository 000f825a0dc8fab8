"""Run the documentation and write what its code prints into it: ``python -m tests.docs.renew [PAGE ...]``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.pages import PAGES, read_page, renew


def main(names: list[str]) -> None:
    for page in [Path(name).resolve() for name in names] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            outputs = read_page(page, Path(folder))
        stale = [output for output in outputs if output.renewed() != output.shown]
        if stale:
            renew(page, stale)
        sys.stdout.write(f"{page.name}: {len(outputs)} outputs, {len(stale)} renewed\n")


if __name__ == "__main__":
    main(sys.argv[1:])
