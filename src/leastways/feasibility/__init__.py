"""Which states a person may be offered: directions, ranges and rules, compiled once for a chunk of people.

What compiled kernels need is imported on first use, so that making a schema loads no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastways._lazy import lazy_names
from leastways.feasibility.constraints import Constraints, Grids, Link, check_consistent, compiles, constraints_of

if TYPE_CHECKING:
    from leastways.feasibility.kernels import (
        RuleTables,
        Space,
        clause_holds,
        link_shortfall,
        meets_rules,
        permitted_rows,
        permitted_states,
        perturb,
        repair,
        same_state,
        uniform_state,
    )
    from leastways.feasibility.space import offered_values, packed_choices, permitted_values, rule_tables, space_of

__all__ = [
    "Constraints",
    "Grids",
    "Link",
    "RuleTables",
    "Space",
    "check_consistent",
    "clause_holds",
    "compiles",
    "constraints_of",
    "link_shortfall",
    "meets_rules",
    "offered_values",
    "packed_choices",
    "permitted_rows",
    "permitted_states",
    "permitted_values",
    "perturb",
    "repair",
    "rule_tables",
    "same_state",
    "space_of",
    "uniform_state",
]


__getattr__ = lazy_names(
    __name__,
    {
        "kernels": (
            "RuleTables",
            "Space",
            "clause_holds",
            "link_shortfall",
            "meets_rules",
            "permitted_rows",
            "permitted_states",
            "perturb",
            "repair",
            "same_state",
            "uniform_state",
        ),
        "space": ("offered_values", "packed_choices", "permitted_values", "rule_tables", "space_of"),
    },
)
