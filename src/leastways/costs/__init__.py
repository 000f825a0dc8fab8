"""Distributions of cost functions, what a person told us, and samples of them."""

from leastways.costs.distribution import CostDistribution
from leastways.costs.preferences import Preferences
from leastways.costs.sampling import CostModel, CostSamples

__all__ = ["CostDistribution", "CostModel", "CostSamples", "Preferences"]
