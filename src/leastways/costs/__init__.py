"""Distributions of cost functions, a person's preferences, beliefs about them, and cost samples."""

from leastways.costs.belief import Belief, check_belief
from leastways.costs.distribution import CostDistribution
from leastways.costs.kernels import charged_many
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
    "Belief",
    "CostDistribution",
    "CostModel",
    "CostSamples",
    "Preferences",
    "StatedCost",
    "charged_many",
    "check_belief",
    "check_preferences_by_label",
    "preference_faults",
    "preferences_by_row",
    "preferences_from_json",
    "preferences_from_record",
    "preferences_to_json",
    "preferences_to_record",
    "stated_costs",
]
