"""The command `leastways`: parse, call, show. The work is done in the other rooms, which load when a command runs."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line; the entry point of the `leastways` script."""
    from leastways.cli.app import app
    from leastways.cli.exits import INTERRUPTED

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without a sign for the euro still gets the rest
    try:
        app()
    except KeyboardInterrupt:  # outside of a command: while starting or ending
        sys.exit(INTERRUPTED)


__all__ = ["main"]
