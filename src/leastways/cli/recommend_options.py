"""The options of `leastways recommend`, one by one, in the groups in which the help shows them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

_file: Any = partial(typer.Option, rich_help_panel="Files")
_search: Any = partial(typer.Option, rich_help_panel="Search")
_wish: Any = partial(typer.Option, rich_help_panel="What all these people told us")
_many: Any = partial(typer.Option, rich_help_panel="Many people: with --out FOLDER")

ModelName: TypeAlias = Annotated[
    str, _file(help="A .onnx or .skops file, or module:object, importable from this folder.")
]
SchemaFile: TypeAlias = Annotated[Path, _file(help="The schema file (see: leastways schema infer).")]
Data: TypeAlias = Annotated[Path, _file(help="The training table: .csv or .parquet.")]
PeopleFile: TypeAlias = Annotated[
    Path, _file(help="The people, a row each: .csv or .parquet; with --out FOLDER also a folder of them.")
]
Out: TypeAlias = Annotated[
    Path,
    _file(
        "--out",
        "-o",
        help="Where plans go: .json has everything, .csv and .parquet a row per option. A name without an ending is a "
        "folder, for any number of people.",
    ),
]
ReportFile: TypeAlias = Annotated[Path | None, _file(metavar="FILE.html", help="Also write a report to read.")]
Index: TypeAlias = Annotated[str | None, _file(metavar="COLUMN", help="The column with the people's labels.")]
Force: TypeAlias = Annotated[bool, _file("--force", help="Replace existing files.")]
Trust: TypeAlias = Annotated[
    bool, _file("--trust", help="Load a pickle, or a .skops file with unknown types: it can run any code.")
]

Method: TypeAlias = Annotated[
    str,
    _search(
        help="guided, cols, pcols, ls or random; published methods to compare with: ar, face-knn, face-eps, "
        "dice-random, dice-genetic, dice-kdtree, or dice for a torch model."
    ),
]
Options: TypeAlias = Annotated[int, _search(help="Options per person, at most.")]
Budget: TypeAlias = Annotated[int, _search(help="Rows per person that the model is asked about, at most.")]
Costs: TypeAlias = Annotated[
    int,
    _search("--n-costs", "--costs", help="Cost functions drawn per person (n_costs in Python)."),
]
Objective: TypeAlias = Annotated[
    str,
    _search(
        help="What a set of options is chosen by: emc (expected least cost) or satisfaction (share served cheaply)."
    ),
]
SatisfiedBelow: TypeAlias = Annotated[
    float, _search(help="With --objective satisfaction: an option serves a cost function if it costs less than this.")
]
UncoveredCost: TypeAlias = Annotated[
    float, _search(help="What a cost function counts in the objective if no option serves it.")
]
TimeLimit: TypeAlias = Annotated[
    float | None,
    _search(
        metavar="SECONDS",
        help="Stop searching after this long and keep what was found; people cut short get the status partial. With "
        "--out FOLDER: how long a chunk of people may take before its worker counts as hanging.",
    ),
]
Distill: TypeAlias = Annotated[
    int,
    _search(
        metavar="ROWS",
        help="Ask about this many rows once, for everyone together (such as 5000); a budget of 20 then goes far.",
    ),
]
Distribution: TypeAlias = Annotated[str, _search(help="Which costs are plausible: mix, linear or percentile.")]
Seed: TypeAlias = Annotated[int, _search(help="Same seed, same plans.")]
YesLabel: TypeAlias = Annotated[
    str, _search(help="The wanted answer, as the model labels it; not the name of a column.")
]
Certify: TypeAlias = Annotated[
    bool,
    _search(
        "--certify",
        help="Also prove how far each plan can be from the best; asks about up to 20,000 more rows per person. A .json "
        "file and the report have room for it.",
    ),
]
Threshold: TypeAlias = Annotated[float, _search(help="The lowest probability that is a yes.")]

Workers: TypeAlias = Annotated[int | None, _many(help="Number of processes; as many as there are cores if left out.")]
Cluster: TypeAlias = Annotated[
    str | None, _many(metavar="ADDRESS", help="Work on a Dask cluster, such as tcp://scheduler:8786.")
]
Resume: TypeAlias = Annotated[bool, _many("--resume", help="Continue the run in this folder where it was cut short.")]
Dedup: TypeAlias = Annotated[bool, _many("--dedup", help="Solve people who have the same values only once.")]
PeoplePerPart: TypeAlias = Annotated[int | None, _many(metavar="N", help="People per output file; 10,000 if left out.")]
LogFile: TypeAlias = Annotated[
    Path | None,
    _many(
        "--log",
        metavar="FILE",
        help="Where to log what happens, as lines of JSON; log.jsonl in the folder if left out.",
    ),
]
AuditBy: TypeAlias = Annotated[
    list[str] | None,
    _many(
        "--audit-by",
        metavar="COLUMN",
        help="At the end, compare groups by this column, as `leastways audit` does; the report is in FOLDER/audit. "
        "Repeat it.",
    ),
]

Editable: TypeAlias = Annotated[
    list[str] | None,
    _wish(metavar="FEATURE", help="A feature they would change; all that are not named stay. Repeat it."),
]
Lock: TypeAlias = Annotated[
    list[str] | None,
    _wish(metavar="FEATURE", help="A feature they would not change; of the others nothing is said. Repeat it."),
]
Score: TypeAlias = Annotated[
    list[str] | None,
    _wish(metavar="FEATURE=SHARE", help="How willing they are to change it; all shares add up to 1. Repeat it."),
]
Accepted: TypeAlias = Annotated[
    list[str] | None,
    _wish("--range", metavar="FEATURE=LOW:HIGH", help="Values they accept (for categories FEATURE=a,b). Repeat it."),
]
Alpha: TypeAlias = Annotated[
    float | None, _wish(help="How they count a change: by steps (1), by percentiles (0), or in between.")
]
