"""Plans for readers: tables for a terminal, pictures, and one HTML file that needs nothing else."""

from leastways.report.audit_files import write_audit
from leastways.report.audit_html import audit_html
from leastways.report.html import write_report
from leastways.report.plots import can_draw
from leastways.report.tables import plan_panel, schema_table, summary_table
from leastways.report.totals import Totals

__all__ = [
    "Totals",
    "audit_html",
    "can_draw",
    "plan_panel",
    "schema_table",
    "summary_table",
    "write_audit",
    "write_report",
]
