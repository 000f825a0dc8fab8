"""Search methods, the budget loop that drives them, and their registry."""

from leastways.search.cols import COLS, PCOLS
from leastways.search.guided.searcher import Guided
from leastways.search.local import LocalSearch, RandomSearch
from leastways.search.loop import Evaluate, SearchResult, run_search
from leastways.search.protocol import (
    Account,
    Accounting,
    Background,
    Chosen,
    Preparing,
    Problem,
    Questions,
    Run,
    Searcher,
)
from leastways.search.registry import as_searcher, register_searcher

__all__ = [
    "COLS",
    "PCOLS",
    "Account",
    "Accounting",
    "Background",
    "Chosen",
    "Evaluate",
    "Guided",
    "LocalSearch",
    "Preparing",
    "Problem",
    "Questions",
    "RandomSearch",
    "Run",
    "SearchResult",
    "Searcher",
    "as_searcher",
    "register_searcher",
    "run_search",
]
