"""The facade that users meet first: `Recourse(model, schema).fit(train).recommend(people)`."""

import leastways.baselines  # noqa: F401  (registers the names of published methods, which load on first use)
from leastways.recourse.recourse import Recourse

__all__ = ["Recourse"]
