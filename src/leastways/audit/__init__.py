"""Audit recourse for fairness: measures by group with intervals and tests, and how much of a gap is the model's."""

from leastways.audit.audit import Audit, audit_plans
from leastways.audit.comparison import HIGHER, LOWER, REFERENCE, SAME, TOO_FEW
from leastways.audit.groups import CROSS, NOT_STATED, group_text, group_texts, groupings_of, value_groups
from leastways.audit.measures import MEASURES
from leastways.audit.wording import (
    basis,
    findings,
    lead,
    measure_name,
    p_text,
    points_text,
    range_text,
    ratio_text,
    separation,
    value_text,
)

__all__ = [
    "CROSS",
    "HIGHER",
    "LOWER",
    "MEASURES",
    "NOT_STATED",
    "REFERENCE",
    "SAME",
    "TOO_FEW",
    "Audit",
    "audit_plans",
    "basis",
    "findings",
    "group_text",
    "group_texts",
    "groupings_of",
    "lead",
    "measure_name",
    "p_text",
    "points_text",
    "range_text",
    "ratio_text",
    "separation",
    "value_groups",
    "value_text",
]
