"""Distributions of cost functions, a person's preferences, and cost samples."""

from leastways.costs.distribution import CostDistribution
from leastways.costs.preferences import Preferences, check_preferences_by_label, preferences_by_row
from leastways.costs.preferences_json import (
    preference_faults,
    preferences_from_json,
    preferences_from_record,
    preferences_to_json,
    preferences_to_record,
)
from leastways.costs.sampling import CostModel, CostSamples, StatedCost, stated_costs

__all__ = [
    "CostDistribution",
    "CostModel",
    "CostSamples",
    "Preferences",
    "StatedCost",
    "check_preferences_by_label",
    "preference_faults",
    "preferences_by_row",
    "preferences_from_json",
    "preferences_from_record",
    "preferences_to_json",
    "preferences_to_record",
    "stated_costs",
]
