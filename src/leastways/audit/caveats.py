"""What the figures of an audit cannot say, and why: a plain sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from leastways.audit.compare import ALPHA, UNSURE
from leastways.audit.groups import NOT_STATED
from leastways.audit.words import TOLD, cut


def warnings_of(
    by_group: pd.DataFrame, ratios: pd.DataFrame, unsettled: Mapping[str, int], settings: Mapping[str, Any]
) -> list[str]:
    """Return every warning, the most general first."""
    names = {"satisfied": f"FS@{settings['k']:g}"}
    return [
        *_what_is_missing(settings),
        *_nobody_has_a_value(by_group),
        *_small_groups(by_group, settings["min_group"]),
        *_few_concerned(by_group, ratios, names, settings["min_group"]),
        *_unsure(ratios, names),
        *_few_permutations(ratios, settings["permutations"]),
        *_cut_short(by_group),
        *_oracle_stopped(unsettled, names),
    ]


def _what_is_missing(settings: Mapping[str, Any]) -> Iterator[str]:
    if settings["truths"]:
        return
    yield (
        "There are no hidden cost functions to judge by (truth), so coverage, FS@1 and cost are the search's own "
        "figures, over the preferences that it drew, and there is no curve of FS@k."
    )
    if settings["k"] != 1.0:
        yield f"FS@{settings['k']:g} is not known: plans only say what costs less than 1. Give truth for another k."


def _nobody_has_a_value(by_group: pd.DataFrame) -> Iterator[str]:
    """Warn of columns that say nothing: most often they were joined to the people by other labels than theirs."""
    for grouping, groups in by_group.groupby(level="grouping", sort=False):
        if set(groups.index.get_level_values("group")) == {NOT_STATED}:
            yield f"By {grouping}: nobody has a value in this column. If it was joined to the people, check by what."


def _small_groups(by_group: pd.DataFrame, least: int) -> Iterator[str]:
    small: dict[str, list[str]] = {}
    for (grouping, group), n in zip(by_group.index.tolist(), by_group["refused"].tolist(), strict=True):
        if n < least:
            small.setdefault(grouping, []).append(f"{group} ({n})")
    for grouping, names in small.items():
        yield f"By {grouping}: fewer than {least} refused people, too few to say anything about: {cut(names)}."


def _few_concerned(by_group: pd.DataFrame, ratios: pd.DataFrame, names: Mapping[str, str], least: int) -> Iterator[str]:
    """Warn where there are enough refused people, but a measure is of few of them: a cost needs an option."""
    refused = by_group["refused"].to_dict()
    few: dict[tuple[str, str], list[str]] = {}
    for (grouping, group, metric), n in zip(ratios.index.tolist(), ratios["people"].tolist(), strict=True):
        if metric in TOLD and 0 < n < least <= refused[grouping, group]:
            few.setdefault((grouping, names.get(metric, metric)), []).append(f"{group} ({n})")
    for (grouping, name), groups in few.items():
        yield f"By {grouping}: {name} is of fewer than {least} people, too few to say anything about: {cut(groups)}."


def _unsure(ratios: pd.DataFrame, names: Mapping[str, str]) -> Iterator[str]:
    unsure: dict[str, dict[str, list[str]]] = {}
    for grouping, group, metric in ratios.index[ratios["note"] == UNSURE].tolist():
        if metric in TOLD:
            unsure.setdefault(grouping, {}).setdefault(names.get(metric, metric), []).append(group)
    for grouping, by_metric in unsure.items():
        parts = "; ".join(f"{name} of {cut(groups)}" for name, groups in by_metric.items())
        yield f"By {grouping}: too few people to say whether these differ much from the reference group: {parts}."


def _few_permutations(ratios: pd.DataFrame, permutations: int) -> Iterator[str]:
    """Warn where even the least p-value that so many permutations can give is lost in the correction."""
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
        yield f"The search was cut short for {n} people (status partial): groups may differ because of that."


def _oracle_stopped(unsettled: Mapping[str, int], names: Mapping[str, str]) -> Iterator[str]:
    for metric, n in unsettled.items():
        if n:
            yield (
                f"The oracle stopped before it was sure of {names.get(metric, metric)} in {n} cases (people times "
                "hidden cost functions); there the search's own result stands for the best possible, so the search "
                "may look better than it is."
            )
