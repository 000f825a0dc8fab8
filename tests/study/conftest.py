"""A browser for the tests of pages; it starts once for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    from tests.support.browsers import chromium  # skips where there is none

    with chromium() as running:
        yield running
