"""Write the measured figures as tables, into docs/scale.md between two marks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.engine.tables import verdict

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
BEGIN, END = "<!-- figures of benchmarks.batch -->", "<!-- end of figures -->"
_MEMORY_MORE = 200  # MiB that many more people may add


def markdown(content: dict[str, Any]) -> str:
    """Return all tables for which there are rows."""
    rows = {key: row for key, row in content["parts"].get("batch", {}).items() if row["status"] == "ok"}
    failed = {key: row for key, row in content["parts"].get("batch", {}).items() if row["status"] == "failed"}
    machine = content["machine"]
    busy = [row["load"] for row in rows.values()]
    lines = [
        f"Made by `python -m benchmarks.batch` on {machine['processor']}, {machine['cores']} cores, Python "
        f"{machine['python']}; load average before each row from {min(busy, default=0):.1f} to "
        f"{max(busy, default=0):.1f} (above 1, the machine was doing other work, and speeds are lower than they could "
        "be)."
        if rows
        else "Nothing has been measured yet.",
        "",
        *_speed(rows),
        *_sizes(rows),
        *_growth(rows),
    ]
    lines += [f"Not made: {key}: {row['error']}" for key, row in failed.items()]
    return "\n".join(lines).rstrip() + "\n"


def _of(rows: dict[str, Any], what: str, workers: int | None = None) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    found = [(row["settings"], row["result"]) for row in rows.values() if row["settings"]["what"] == what]
    return [(s, r) for s, r in found if workers is None or s["workers"] == workers]


def _speed(rows: dict[str, Any]) -> Iterable[str]:
    """Yield the table of people per second, compared with one process."""
    lines = []
    for setting, base in _of(rows, "plain"):
        n = setting["people"]
        lines.append(f"| `recommend`, one process | {n:,} | {base['people_per_second']:.0f} | | | |")
        pool = 0.0
        for what in ("files", "dask"):
            for own, result in _of(rows, what):
                if own["people"] != n or own["budget"] != setting["budget"]:
                    continue
                speed, workers = result["people_per_second_started"], own["workers"]
                efficiency = speed / (workers * base["people_per_second"])
                outside = result["share_outside"]
                pool = speed if what == "files" and workers == 2 else pool
                against = 1 - speed / pool if what == "dask" and pool else None
                target = f">= 85 %: {verdict(efficiency >= 0.85)}, <= 15 % outside: {verdict(outside <= 0.15)}"
                if against is not None:
                    word = "slower" if against > 0 else "quicker"
                    target = f"{abs(against):.0%} {word} than processes; <= 10 % slower: {verdict(against <= 0.10)}"
                name = f"Dask, {workers} workers" if what == "dask" else f"folder, {workers} process(es)"
                lines.append(f"| {name} | {n:,} | {speed:.0f} | {efficiency:.0%} | {outside:.0%} | {target} |")
    if not lines:
        return []
    head = "| run | people | people/s | of one process times workers | wall time outside search and model | target |"
    return ["#### Speed", "", head, "|---|---|---|---|---|---|", *lines, ""]


def _sizes(rows: dict[str, Any]) -> Iterable[str]:
    """Yield the table of runs by number of people: time, memory, bytes, queries."""
    found = sorted(((s, r) for s, r in _of(rows, "files")), key=lambda pair: (pair[0]["workers"], pair[0]["people"]))
    if not found:
        return []
    lines = []
    for setting, r in found:
        one = _per_person(setting, r)
        lines.append(
            f"| {setting['people']:,} | {setting['workers']} | {r['seconds']:.0f} | {r['starting']:.0f} | "
            f"{one['worker']:.2f} | {one['driver']:.3f} | {one['queries']:.0f} | {one['bytes in']:.0f} | "
            f"{one['bytes out']:.0f} | {r['bytes_out'] / 1e6:,.1f} | {r['peak_driver']:.0f} | {r['peak_all']:.0f} |"
        )
    head = (
        "| people | processes | seconds | of them starting | worker core-ms a person | driver core-ms a person "
        "| queries a person | bytes in a person | bytes out a person | MB out | MiB, driver | MiB, all |"
    )
    out = ["#### Sizes", "", head, "|" + "---|" * 12, *lines, ""]
    same = [(s["people"], r["peak_driver"]) for s, r in found if s["workers"] == 2]
    if len(same) > 1:
        (few, small), (many, large) = same[0], same[-1]
        more = large - small
        out += [
            f"From {few:,} to {many:,} people the driver's peak grows by {more:.0f} MiB "
            f"(at most {_MEMORY_MORE}: {verdict(more <= _MEMORY_MORE)}).",
            "",
        ]
    return out


def _per_person(setting: dict[str, Any], result: dict[str, Any]) -> dict[str, float]:
    """Return the cost of one person: core-milliseconds of a worker and of the driver, queries, bytes."""
    n = setting["people"]
    return {
        "worker": 1000 * setting["workers"] / result["people_per_second_started"],
        "driver": 1000 * result["driving"] / n,
        "queries": result["queries"] / n,
        "bytes in": result["bytes_in"] / n,
        "bytes out": result["bytes_out"] / n,
    }


def _growth(rows: dict[str, Any]) -> Iterable[str]:
    """Yield predictions: of the largest run by the smallest, and of up to a billion people by the largest."""
    found = sorted(_of(rows, "files", workers=2), key=lambda pair: int(pair[0]["people"]))
    if len(found) < 2:
        return []
    (few, small), (many, large) = found[0], found[-1]
    estimate, true = _per_person(few, small), _per_person(many, large)
    head = f"| for {many['people']:,} people | by the run of {few['people']:,} | measured | off by |"
    out = ["#### Growth", "", head, "|---|---|---|---|"]
    for name, word, unit in (
        ("worker", "worker core-seconds", 1e3),
        ("driver", "driver core-seconds", 1e3),
        ("queries", "model queries", 1),
        ("bytes in", "bytes in", 1),
        ("bytes out", "bytes out", 1),
    ):
        estimated, measured = (one[name] * many["people"] / unit for one in (estimate, true))
        out.append(f"| {word} | {estimated:,.0f} | {measured:,.0f} | {measured / estimated - 1:+.0%} |")
    columns = [10**exponent for exponent in (6, 7, 8, 9)]
    out += ["", "| by the largest run, for | " + " | ".join(f"{n:,}" for n in columns) + " |", "|---|" + "---|" * 4]
    for name, word, unit in (
        ("worker", "worker core-hours", 3.6e6),
        ("driver", "driver core-hours", 3.6e6),
        ("queries", "million model queries", 1e6),
        ("bytes in", "GB read, twice", 1e9),
        ("bytes out", "GB written", 1e9),
    ):
        out.append(f"| {word} | " + " | ".join(f"{true[name] * n / unit:,.1f}" for n in columns) + " |")
    busy = true["worker"] / true["driver"]
    rate = 1000 / true["worker"]
    return [
        *out,
        "",
        f"A worker serves {rate:.0f} people and asks {rate * true['queries']:,.0f} rows of the model a second. The "
        f"driver is busy all the time from about {busy:,.0f} workers on, so that a billion people take "
        f"{true['driver'] * 1e9 / 3.6e6:,.0f} hours at least with one driver.",
        "",
    ]


def put_into_page(text: str, page: Path = PAGE) -> None:
    """Replace the text between the marks."""
    content = page.read_text(encoding="utf-8")
    before, rest = content.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
