"""Searchers that ask and are told, the budget loop that drives them, and their registry."""

from leastways.search.base import (
    Account,
    Background,
    Chosen,
    Moves,
    Preparing,
    Problem,
    Questions,
    Run,
    Searcher,
    as_searcher,
    register_searcher,
)
from leastways.search.cols import COLS, PCOLS
from leastways.search.guided import Guided
from leastways.search.loop import SearchResult, run_search
from leastways.search.sets import LocalSearch, RandomSearch

__all__ = [
    "COLS",
    "PCOLS",
    "Account",
    "Background",
    "Chosen",
    "Guided",
    "LocalSearch",
    "Moves",
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
