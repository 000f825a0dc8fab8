"""Sentences about an audit: findings, warnings, and the parts of a gap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leastways.audit.comparison import ALPHA, HIGHER, LOWER, NOT_LARGE, REFERENCE, SLIGHTLY, TOO_FEW, UNSURE
from leastways.audit.groups import NOT_STATED

if TYPE_CHECKING:
    import pandas as pd

    from leastways.audit.audit import Audit

WORDED = ("coverage", "satisfied", "cost")  # measures in sentences; tables have all of them
SHARES = ("coverage", "satisfied")


def measure_name(audit: Audit, metric: str) -> str:
    """Return the name of a measure in a sentence or a heading."""
    names = {"satisfied": f"FS@{audit.settings['k']:g}", "options": "options offered", "queries": "queries"}
    return names.get(metric, metric)


def value_text(metric: str, value: float) -> str:
    """Return a measure as text, or a dash where it is undefined."""
    if np.isnan(value):
        return "–"
    if metric in SHARES:
        return f"{100 * value:.1f} %"
    return f"{value:,.2f}" if metric == "cost" else f"{value:,.1f}"


def range_text(metric: str, low: float, high: float) -> str:
    """Write an interval, without repeating the sign of a percentage."""
    return f"{value_text(metric, low).removesuffix(' %')} to {value_text(metric, high)}"


def ratio_text(value: float) -> str:
    """Write a ratio."""
    return "–" if np.isnan(value) else "∞" if np.isinf(value) else f"{value:.2f}"


def points_text(value: float) -> str:
    """Write a difference of shares, in percentage points with its sign."""
    return "–" if np.isnan(value) else f"{100 * value:+.1f}".replace("-", "−")


def p_text(p: float) -> str:
    """Write a p-value."""
    return "–" if np.isnan(p) else f"{p:.3f}" if p >= 0.001 else "below 0.001"


def basis(audit: Audit) -> str:
    """Describe the costs under which the options are measured."""
    if n := audit.settings["truths"]:
        functions = "one hidden cost function" if n == 1 else f"{n} hidden cost functions"
        return f"Measured by {functions} per person, which no search saw."
    return "Measured by the preferences that the search itself simulated, not by hidden cost functions."


def lead(audit: Audit) -> str:
    """Describe the people audited."""
    row = audit.overall.iloc[0]
    text = f"{int(row['refused']):,} refused people, by {', '.join(audit.groupings)}."
    apart = [
        f"{int(row[column]):,} {what}"
        for column, what in (("accepted", "whom the model accepts as they are"), ("unusable", "with an unusable row"))
        if row[column]
    ]
    return text + (f" Counted apart, in no rate: {' and '.join(apart)}." if apart else "")


def everybody(audit: Audit) -> str:
    """Return the figures of all refused people, in a sentence."""
    row = audit.overall.iloc[0]
    parts = [
        f"{measure_name(audit, m)} {value_text(m, row[m])} ({range_text(m, row[f'{m}_low'], row[f'{m}_high'])})"
        for m in WORDED
        if not np.isnan(row[m])
    ]
    return f"All people together: {', '.join(parts)}; {len(audit.unserved):,} people have no option at all."


def findings(audit: Audit) -> list[str]:
    """Return a sentence for each significant difference, or one stating that there is none."""
    outcomes = audit.ratios[audit.ratios.index.get_level_values("metric") != "queries"]
    large = outcomes[outcomes["note"].isin([LOWER, HIGHER])]
    small = outcomes[outcomes["note"].str.startswith(SLIGHTLY)]
    lines = [comparison(audit, keys, row) for keys, row in _records(large)]
    if len(small):
        few = "Small differences" if lines else "Only small differences"
        within = f"the whole interval of the ratio lies within {NOT_LARGE[0]:g} to {NOT_LARGE[1]:g}"
        lines.append(f"{few}, where {within}: {shortened_list([_brief(audit, *item) for item in _records(small)])}.")
    if lines:
        return lines
    if tested := int(outcomes["p"].notna().sum()):
        what = "comparisons of what people are offered"  # how many rows the search asked about is not among them
        return [f"None of {tested} {what} shows a difference that chance would not explain."]
    by_grouping = [(name, in_one_group(audit.grouping(name))) for name in audit.groupings]
    alone = [f"By {name}: {text}" for name, text in by_grouping if text]
    if len(alone) < len(audit.groupings):
        alone.append(f"No {'other ' if alone else ''}group is large enough to be compared with another.")
    return alone


def in_one_group(groups: pd.DataFrame) -> str:
    """Return a sentence where all refused people are in one group, else an empty string."""
    refused = groups["refused"]
    if int((refused > 0).sum()) != 1:
        return ""
    who = "all people are" if len(refused) == 1 else "all refused people are"
    return f"{who} in one group ({refused.idxmax()!r}), so there is nothing to compare."


def _brief(audit: Audit, keys: tuple[str, str, str], row: dict[str, Any]) -> str:
    """Name a group, a measure and a ratio."""
    return f"{keys[1]}, {measure_name(audit, keys[2])} {ratio_text(row['ratio'])} times {row['reference']}'s"


def comparison(audit: Audit, keys: tuple[str, str, str], row: dict[str, Any]) -> str:
    """Compare one group with its reference group in one measure, in a sentence."""
    grouping, group, metric = keys
    values = f"{value_text(metric, row['value'])} against {value_text(metric, row['reference_value'])}"
    text = f"{grouping}, {group}: {measure_name(audit, metric)} {values} of {row['reference']}"
    if np.isnan(row["ratio"]):
        return f"{text}: {row['note']}."
    ends = f"{ratio_text(row['low'])} to {ratio_text(row['high'])}"
    tested = "" if np.isnan(row["p_adjusted"]) else f", adjusted p {p_text(row['p_adjusted'])}"
    return f"{text}, ratio {ratio_text(row['ratio'])} ({ends}){tested}: {row['note']}."


def separation(audit: Audit) -> list[str]:
    """Return a sentence for each gap: the model's part and the search's."""
    if audit.oracle is None:
        return []
    references, notes = audit.settings["references"], audit.ratios["note"].to_dict()
    return [
        f"{grouping}, {group}: {measure_name(audit, metric)} {points_text(row['gap'])} points from "
        f"{references[grouping]}; the model's {_gap(row, 'model_gap')}, the search's {_gap(row, 'search_gap')}."
        for (grouping, group, metric), row in _records(audit.oracle)
        if group != references[grouping] and not np.isnan(row["gap"]) and notes[grouping, group, metric] != TOO_FEW
    ]


def _gap(row: dict[str, float], name: str) -> str:
    low, high = points_text(row[f"{name}_low"]), points_text(row[f"{name}_high"])
    return f"{points_text(row[name])} ({low} to {high})"


def text_of(audit: Audit) -> str:
    """Return the whole audit as text."""
    lines = [lead(audit), basis(audit), everybody(audit), "", "What differs", *_bullets(findings(audit))]
    for grouping in audit.groupings:
        reference = audit.settings["references"][grouping]
        people = int(audit.grouping(grouping)["refused"][reference])
        lines += ["", f"By {grouping} (reference: {reference}, {people:,} refused people)"]
        rows = audit.ratios[audit.ratios.index.get_level_values("grouping") == grouping]
        rows = rows[rows.index.get_level_values("metric").isin(WORDED) & (rows["note"] != REFERENCE)]
        refused = audit.grouping(grouping)["refused"]
        nobody = rows.index.get_level_values("group").isin(refused.index[refused == 0])
        few = (rows["note"] == TOO_FEW) | nobody
        told = (comparison(audit, keys, row).removeprefix(f"{grouping}, ") for keys, row in _records(rows[~few]))
        alone = in_one_group(audit.grouping(grouping))
        lines += _bullets([*told, *_too_small(audit, rows[few]), *([alone] if alone else [])])
    if audit.oracle is not None:
        lines += ["", "The model's part and the search's, in percentage points", *_bullets(separation(audit))]
    if audit.warnings:
        lines += ["", "Warnings", *_bullets(audit.warnings)]
    return "\n".join(lines)


def _too_small(audit: Audit, rows: pd.DataFrame) -> list[str]:
    """List groups that are too small to compare, in one line, with the measures concerned."""
    by_group: dict[str, list[str]] = {}
    for _, group, metric in rows.index.tolist():
        by_group.setdefault(group, []).append(measure_name(audit, metric))
    names = [
        group if len(metrics) == len(WORDED) else f"{group} ({', '.join(metrics)})"
        for group, metrics in by_group.items()
    ]
    return [f"{TOO_FEW} to compare: {shortened_list(names)}."] if names else []


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"  - {line}" for line in lines]


def _records(table: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    """Yield the rows of a table with their grouping, group and metric."""
    rows: list[dict[str, Any]] = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    return zip(table.index.tolist(), rows, strict=True)


def shortened_list(names: list[str], most: int = 8) -> str:
    """List names, the first ones where there are many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def warnings_of(
    by_group: pd.DataFrame, ratios: pd.DataFrame, unsettled: Mapping[str, int], settings: Mapping[str, Any]
) -> list[str]:
    """Return every warning, the most general first."""
    names = {"satisfied": f"FS@{settings['k']:g}"}
    return [
        *_what_is_missing(settings),
        *_columns_without_values(by_group),
        *_small_groups(by_group, settings["min_group"]),
        *_small_measures(by_group, ratios, names, settings["min_group"]),
        *_unsure(ratios, names),
        *_few_permutations(ratios, settings["permutations"]),
        *_cut_short(by_group),
        *_oracle_stopped(unsettled, names),
    ]


def _what_is_missing(settings: Mapping[str, Any]) -> Iterator[str]:
    if settings["truths"]:
        return
    yield (
        "There are no hidden cost functions (truth), so coverage, FS@1 and cost are the search's own figures, over "
        "the preferences that it simulated, and there is no curve of FS@k."
    )
    if settings["k"] != 1.0:
        yield f"FS@{settings['k']:g} is not known: plans only say what costs less than 1. Give truth for another k."


def _columns_without_values(by_group: pd.DataFrame) -> Iterator[str]:
    """Warn of columns without any value; most often they were joined by the wrong labels."""
    for grouping, groups in by_group.groupby(level="grouping", sort=False):
        if set(groups.index.get_level_values("group")) == {NOT_STATED}:
            yield f"By {grouping}: no person has a value in this column. If it was joined to them, check the labels."


def _small_groups(by_group: pd.DataFrame, least: int) -> Iterator[str]:
    small: dict[str, list[str]] = {}
    for (grouping, group), n in zip(by_group.index.tolist(), by_group["refused"].tolist(), strict=True):
        if n < least:
            small.setdefault(grouping, []).append(f"{group} ({n})")
    for grouping, names in small.items():
        yield f"By {grouping}: fewer than {least} refused people, too few to compare: {shortened_list(names)}."


def _small_measures(
    by_group: pd.DataFrame, ratios: pd.DataFrame, names: Mapping[str, str], least: int
) -> Iterator[str]:
    """Warn of measures over few people in groups that are large enough; only people with options have a cost."""
    refused = by_group["refused"].to_dict()
    few: dict[tuple[str, str], list[str]] = {}
    for (grouping, group, metric), n in zip(ratios.index.tolist(), ratios["people"].tolist(), strict=True):
        if metric in WORDED and 0 < n < least <= refused[grouping, group]:
            few.setdefault((grouping, names.get(metric, metric)), []).append(f"{group} ({n})")
    for (grouping, name), groups in few.items():
        yield f"By {grouping}: {name} is of fewer than {least} people, too few to compare: {shortened_list(groups)}."


def _unsure(ratios: pd.DataFrame, names: Mapping[str, str]) -> Iterator[str]:
    unsure: dict[str, dict[str, list[str]]] = {}
    for grouping, group, metric in ratios.index[ratios["note"] == UNSURE].tolist():
        if metric in WORDED:
            unsure.setdefault(grouping, {}).setdefault(names.get(metric, metric), []).append(group)
    for grouping, by_metric in unsure.items():
        parts = "; ".join(f"{name} of {shortened_list(groups)}" for name, groups in by_metric.items())
        yield f"By {grouping}: too few people to say whether these differ much from the reference group: {parts}."


def _few_permutations(ratios: pd.DataFrame, permutations: int) -> Iterator[str]:
    """Warn where the smallest p-value that the permutations allow is not significant after correction."""
    tests = int(ratios["p"].notna().groupby(level="metric").sum().max())
    least = 2 * tests / (permutations + 1)
    if least >= ALPHA:
        yield (
            f"With {permutations} permutations and {tests} comparisons of a metric no adjusted p-value can be below "
            f"{least:.2g}: take {int(4 * tests / ALPHA)} permutations or more."
        )


def _cut_short(by_group: pd.DataFrame) -> Iterator[str]:
    first = by_group.index.get_level_values("grouping") == by_group.index[0][0]
    if n := int(by_group["partial"][first].sum()):
        yield f"The search was shortened_list short for {n} people (status partial): groups may differ because of that."


def _oracle_stopped(unsettled: Mapping[str, int], names: Mapping[str, str]) -> Iterator[str]:
    for metric, n in unsettled.items():
        if n:
            yield (
                f"The oracle stopped before it was sure of {names.get(metric, metric)} in {n} cases (people times "
                "hidden cost functions); there the search's own result counts as the best possible, so the search "
                "may look better than it is."
            )
