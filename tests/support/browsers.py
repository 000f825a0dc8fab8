"""A real browser for tests of pages. Importing this skips the tests of whoever does where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if _CHROMIUM is None:
    pytest.skip("needs Chromium", allow_module_level=True)
_FLAGS = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser."""
    with _sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=_CHROMIUM, args=_FLAGS)
        yield running
        running.close()


def with_letters(browser: Any, size: int) -> Any:
    """Start another browser, whose reader has chosen letters of this size in pixels (16 is the default)."""
    setting = f"--blink-settings=defaultFontSize={size}"
    return browser.browser_type.launch(executable_path=_CHROMIUM, args=[*_FLAGS, setting])
