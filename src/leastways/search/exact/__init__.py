"""Exact search: permitted states in order of cost, until the model accepts one."""

from leastways.search.exact.best_first import PEOPLE_TOGETHER, Cheapest, cheapest_states, searches, searches_of

__all__ = ["PEOPLE_TOGETHER", "Cheapest", "cheapest_states", "searches", "searches_of"]
