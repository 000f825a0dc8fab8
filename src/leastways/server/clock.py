"""Moments in time, as the service records them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)


def days_ago(days: int) -> datetime:
    """Return the moment so many days ago, or the first that there is."""
    try:
        return now() - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
