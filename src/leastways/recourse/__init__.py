"""The facade that users meet first: `Recourse(model, schema).fit(train).recommend(people)`."""

from leastways.recourse.recourse import Recourse

__all__ = ["Recourse"]
