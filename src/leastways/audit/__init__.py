"""Is recourse fair? Measures by group with intervals, ratios and tests; the model's part in a gap, and the search's."""

from leastways.audit.result import Audit
from leastways.audit.run import audit_plans

__all__ = ["Audit", "audit_plans"]
