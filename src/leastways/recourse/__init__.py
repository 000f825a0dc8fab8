"""The facade a user meets first."""

import leastways.baselines  # noqa: F401 - their names are registered
from leastways.recourse.facade import Recourse

__all__ = ["Recourse"]
