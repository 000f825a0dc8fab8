"""Measures of plans against simulated people with known costs, and the least cost that any method could reach.

The functions `evaluate` and `oracle` have the names of their modules, so this door imports them at once.
"""

from leastways.evaluation.evaluate import evaluate, evaluate_people
from leastways.evaluation.measures import (
    coverage,
    disparate_impact_ratio,
    diversity,
    fraction_satisfied,
    population_average_cost,
    proximity,
    sparsity,
    validity,
)
from leastways.evaluation.oracle import OracleResult, oracle, oracle_people
from leastways.evaluation.simulate import SimulatedPeople, simulate_people

__all__ = [
    "OracleResult",
    "SimulatedPeople",
    "coverage",
    "disparate_impact_ratio",
    "diversity",
    "evaluate",
    "evaluate_people",
    "fraction_satisfied",
    "oracle",
    "oracle_people",
    "population_average_cost",
    "proximity",
    "simulate_people",
    "sparsity",
    "validity",
]
