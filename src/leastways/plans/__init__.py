"""What comes out: one frozen plan per person, all plans together as tables, JSON and text."""

from leastways.plans.plan import CERTIFICATE, Certificate, NearestMiss, RecourseOption, RecoursePlan
from leastways.plans.plans import FIGURES, SUMMARY, RecoursePlans, no_failed_rows
from leastways.plans.serialize import plan_as_dict
from leastways.plans.wording import (
    CUT_SHORT,
    MODEL_FAILED,
    NOT_SEARCHED,
    OUT_OF_TIME,
    STATUSES,
    Change,
    Status,
    changes_of,
)

__all__ = [
    "CERTIFICATE",
    "CUT_SHORT",
    "FIGURES",
    "MODEL_FAILED",
    "NOT_SEARCHED",
    "OUT_OF_TIME",
    "STATUSES",
    "SUMMARY",
    "Certificate",
    "Change",
    "NearestMiss",
    "RecourseOption",
    "RecoursePlan",
    "RecoursePlans",
    "Status",
    "changes_of",
    "no_failed_rows",
    "plan_as_dict",
]
