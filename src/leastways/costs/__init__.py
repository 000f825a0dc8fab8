"""Distributions of cost functions, a person's preferences, beliefs about them, and cost samples."""

from leastways.costs.belief import Belief, check_belief
from leastways.costs.distribution import CostDistribution
from leastways.costs.kernels import (
    TIE,
    Tables,
    charged,
    charged_many,
    linear_mean,
    may_gain,
    objective_costs,
    reachable,
    row_of,
    scaled,
    top_of,
)
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
    "TIE",
    "Belief",
    "CostDistribution",
    "CostModel",
    "CostSamples",
    "Preferences",
    "StatedCost",
    "Tables",
    "charged",
    "charged_many",
    "check_belief",
    "check_preferences_by_label",
    "linear_mean",
    "may_gain",
    "objective_costs",
    "preference_faults",
    "preferences_by_row",
    "preferences_from_json",
    "preferences_from_record",
    "preferences_to_json",
    "preferences_to_record",
    "reachable",
    "row_of",
    "scaled",
    "stated_costs",
    "top_of",
]
