"""Photograph the pages for the documentation into docs/images: ``python docs/make_screenshots.py``.

Needs the extra `server`, playwright and Chromium. The demo's people are the same for all; their links are not, and
no picture shows one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent / "images"
PERSON = "3004"
_PATIENCE = 600_000  # ms: the machine may be busy with other things


def main() -> None:
    """Start the demo, take the pictures, end the demo."""
    command = [sys.executable, "-m", "leastways", "demo", "--serve", "--port", "0", "--no-open", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        text = ""
        while not text.endswith("\n}\n"):
            text += demo.stdout.readline()
        said = json.loads(text)
        with sync_playwright() as playwright:
            flags = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
            _person(browser, said["people"][PERSON])
            _audit(browser, said["audit"])
            browser.close()
        demo.send_signal(signal.SIGINT)


def _person(browser: Any, link: str) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 1080})
    page.set_default_timeout(_PATIENCE)
    page.goto(link)
    _take(page, "person-page.png")
    page.close()


def _audit(browser: Any, link: str) -> None:
    page = browser.new_page(viewport={"width": 1100, "height": 1250})
    page.set_default_timeout(_PATIENCE)
    page.goto(link)
    _take(page, "audit-page.png")
    page.close()


def _take(page: Any, name: str) -> None:
    page.screenshot(path=str(FOLDER / name))
    sys.stdout.write(f"docs/images/{name}\n")


if __name__ == "__main__":
    main()
