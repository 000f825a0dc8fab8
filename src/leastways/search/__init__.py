"""Search methods, the budget loop that drives them, and their registry."""

from leastways.search.cols import COLS, PCOLS
from leastways.search.exact.best_first import PEOPLE_TOGETHER, Cheapest, cheapest_states, searches, searches_of
from leastways.search.guided.distillation import Distilled, distill
from leastways.search.guided.searcher import Guided
from leastways.search.guided.surrogate_kernels import SharedNet
from leastways.search.kernels import describe_sets
from leastways.search.local import LocalSearch, RandomSearch
from leastways.search.loop import Evaluate, SearchResult, run_search, steady
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
from leastways.search.registry import as_searcher, made_ready, register_searcher

__all__ = [
    "COLS",
    "PCOLS",
    "PEOPLE_TOGETHER",
    "Account",
    "Accounting",
    "Background",
    "Cheapest",
    "Chosen",
    "Distilled",
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
    "SharedNet",
    "as_searcher",
    "cheapest_states",
    "describe_sets",
    "distill",
    "made_ready",
    "register_searcher",
    "run_search",
    "searches",
    "searches_of",
    "steady",
]
