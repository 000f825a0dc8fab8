"""The facade a user meets first."""

import leastways.baselines  # noqa: F401 - makes the names of the published methods known
from leastways.recourse.facade import Recourse

__all__ = ["Recourse"]
