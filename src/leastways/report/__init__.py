"""Plans for readers: tables for a terminal, pictures, and one HTML file that needs nothing else."""

from leastways.report.audit_pages import audit_body, audit_html, audit_style, write_audit
from leastways.report.pages import write_report
from leastways.report.plots import can_draw
from leastways.report.terminal import plan_panel, schema_table, summary_table
from leastways.report.totals import Totals

__all__ = [
    "Totals",
    "audit_body",
    "audit_html",
    "audit_style",
    "can_draw",
    "plan_panel",
    "schema_table",
    "summary_table",
    "write_audit",
    "write_report",
]
