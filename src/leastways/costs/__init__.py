"""Distributions of cost functions, what a person told us, and samples of them."""

from leastways.costs.distribution import CostDistribution
from leastways.costs.model import CostModel, CostSamples
from leastways.costs.preferences import Preferences

__all__ = ["CostDistribution", "CostModel", "CostSamples", "Preferences"]
