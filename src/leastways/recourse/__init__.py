"""The facade a user meets first."""

import leastways.baselines  # noqa: F401  (so that their names are known)
from leastways.recourse.recourse import Recourse

__all__ = ["Recourse"]
