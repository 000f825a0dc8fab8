"""Show plans and audits: tables for a terminal, pictures, and HTML pages that are one file each."""

from leastways.report.audit_pages import audit_body, audit_html, audit_style, write_audit
from leastways.report.pages import write_report
from leastways.report.plots import INK, ONE, STYLE, TWO, can_draw, folded
from leastways.report.rendering import render
from leastways.report.terminal import plan_panel, schema_table, summary_table
from leastways.report.totals import SimulatedTotals, Totals

__all__ = [
    "INK",
    "ONE",
    "STYLE",
    "TWO",
    "SimulatedTotals",
    "Totals",
    "audit_body",
    "audit_html",
    "audit_style",
    "can_draw",
    "folded",
    "plan_panel",
    "render",
    "schema_table",
    "summary_table",
    "write_audit",
    "write_report",
]
