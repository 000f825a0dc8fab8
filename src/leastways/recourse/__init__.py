"""The facade a user meets first."""

from leastways.recourse.facade import Recourse

__all__ = ["Recourse"]
