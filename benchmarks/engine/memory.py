"""Peak memory of a fresh process: bounded by the chunk, not by the number of people."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.engine import probe
from benchmarks.engine.sizes import Size
from benchmarks.engine.store import Rows
from benchmarks.engine.tables import Table, verdict
from benchmarks.engine.task import Task

BUDGET = 200
CHUNK_MIB = 100  # the search tables of a chunk, as `Recourse` sizes it; without chunks they grow with every person


def tasks(size: Size, seeds: int) -> Iterator[Task]:
    """A process for few people, and one for many."""
    for n in size.memory_people:
        settings = {"people": n, "budget": BUDGET, **size.settings("n_costs")}
        yield Task(
            f"{n} people",
            settings,
            lambda n=n: probe.ask("memory", str(n), str(BUDGET), str(size.n_costs)),  # type: ignore[misc]
        )


def tables(rows: Rows) -> list[Table]:
    """Show both, and what the further people added."""
    done = [(row["settings"]["people"], row["result"]) for row in rows.values() if row["status"] == "ok"]
    lines = []
    for n, r in done:
        peaks = [f"{r[k]:.0f}" for k in ("after_import", "before", "peak", "plans")]
        lines.append([f"{n:,} people", *peaks, "", "", "-"])
    if len(done) == 2:
        (few, small), (many, large) = done
        more = large["peak"] - small["peak"]
        each = 1024 * more / (many - few)
        plans = large["plans"] - small["plans"]
        alone = 1024 * small["search_tables_per_person"]
        lines.append(
            [
                "difference",
                "",
                "",
                f"{more:.0f}",
                f"{plans:.0f}",
                f"{each:.1f} (search tables: {alone:,.0f})",
                f"<= {CHUNK_MIB} more",
                verdict(more <= CHUNK_MIB),
            ]
        )
    columns = ("", "after import", "before recommend", "peak", "of it the plans", "KiB a further person")
    note = (
        "MiB of resident memory in a fresh process; guided search on generated people, B 200, 12 features. Bounded by "
        f"the chunk means: the further people together need less than one more chunk ({CHUNK_MIB} MiB of search "
        "tables). The plans themselves grow with people; they are what was asked for."
    )
    return [Table("Memory", (*columns, "target", "verdict"), lines, note)]
