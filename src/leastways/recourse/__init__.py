"""The facade a user meets first."""

import leastways.baselines  # noqa: F401  (so that their names are known)
from leastways.recourse.recourse import Recourse
from leastways.recourse.settings import check_settings, chunk_size, settings_of

__all__ = ["Recourse", "check_settings", "chunk_size", "settings_of"]
