"""Settings for the whole suite."""

from __future__ import annotations

from hypothesis import settings

# Kernels compile on their first call, so a time limit per example would only measure that.
settings.register_profile("leastways", deadline=None)
settings.load_profile("leastways")
