"""Plans for readers: tables for a terminal, pictures, and one HTML file that needs nothing else."""

from leastways.report.html import write_report
from leastways.report.plots import can_draw
from leastways.report.tables import plan_panel, schema_table, summary_table
from leastways.report.totals import Totals

__all__ = ["Totals", "can_draw", "plan_panel", "schema_table", "summary_table", "write_report"]
