"""Show plans and audits: tables for a terminal, pictures, and HTML pages that are one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastways._lazy import lazy_names

if TYPE_CHECKING:
    from leastways.report.audit_pages import audit_body, audit_html, audit_style, write_audit
    from leastways.report.pages import write_report
    from leastways.report.plots import INK, ONE, STYLE, TWO, can_draw, folded
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
    "schema_table",
    "summary_table",
    "write_audit",
    "write_report",
]

__getattr__ = lazy_names(
    __name__,
    {
        "audit_pages": ("audit_body", "audit_html", "audit_style", "write_audit"),
        "pages": ("write_report",),
        "plots": ("INK", "ONE", "STYLE", "TWO", "can_draw", "folded"),
        "terminal": ("plan_panel", "schema_table", "summary_table"),
        "totals": ("SimulatedTotals", "Totals"),
    },
)
