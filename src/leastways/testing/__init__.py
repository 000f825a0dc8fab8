"""Contract suites for a user's own search method or model."""

from leastways.testing.models import check_model
from leastways.testing.searchers import SEARCHER_CHECKS, check_searcher

__all__ = ["SEARCHER_CHECKS", "check_model", "check_searcher"]
