"""Read and write files: tables (CSV, Parquet), strict JSON and YAML, and files that are replaced in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastways._lazy import lazy_names
from leastways.io.files import OutputFile, check_folder, draft_of, make_folder, write_text
from leastways.io.strict import canonical_json, is_finite_number, json_of, json_type, read_json, yaml_of

if TYPE_CHECKING:
    from leastways.io.tables import (
        CSV,
        PARQUET,
        ColumnType,
        category_of,
        check_index,
        csv_index,
        csv_lines,
        may_hold_none,
        number_of,
        read_table,
        typed_column,
        with_nan,
    )

__all__ = [
    "CSV",
    "PARQUET",
    "ColumnType",
    "OutputFile",
    "canonical_json",
    "category_of",
    "check_folder",
    "check_index",
    "csv_index",
    "csv_lines",
    "draft_of",
    "is_finite_number",
    "json_of",
    "json_type",
    "make_folder",
    "may_hold_none",
    "number_of",
    "read_json",
    "read_table",
    "typed_column",
    "with_nan",
    "write_text",
    "yaml_of",
]


# What reads tables loads pandas, and so loads on first use.
__getattr__ = lazy_names(
    __name__,
    {
        "tables": (
            "CSV",
            "PARQUET",
            "ColumnType",
            "category_of",
            "check_index",
            "csv_index",
            "csv_lines",
            "may_hold_none",
            "number_of",
            "read_table",
            "typed_column",
            "with_nan",
        )
    },
)
