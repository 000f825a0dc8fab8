"""Is recourse fair? Measures by group with intervals, ratios and tests; the model's part in a gap, and the search's."""

from leastways.audit.audit import Audit, audit_plans

__all__ = ["Audit", "audit_plans"]
