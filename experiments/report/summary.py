"""Measures of cells, what sets one apart from another, and intervals: over seeds if there are several, else people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from experiments.config import Cell
from experiments.methods import ORACLE
from experiments.published import MEASURES
from experiments.store import Store

Found = Sequence[Mapping[str, Any]]
_SHARES = ("FS@1", "Cov")  # of people, which hidden functions decide: chance has a part in them, seen or not
_ROUNDING = 1e-9
_BY_PERSON = {"Div": "diversity", "Prox": "proximity", "Spars": "sparsity", "Val": "validity"}
# How a row tells of each setting that its method does not say; the seed is what is averaged over.
_TOLD = {
    "data": "{}",
    "model": "{}",
    "budget": "B {}",
    "n_options": "N {}",
    "n_costs": "M {}",
    "people": "{} people",
    "rows": "{} rows",
    "search_alpha": "sampled alpha {}",
    "person_alpha": "hidden alpha {}",
    "design": "{}",
}
_OF_A_SEARCH = ("budget", "n_options", "n_costs", "search_alpha")  # the oracle has no use for them


def measures(rows: pd.DataFrame) -> dict[str, Any]:
    """Return a cell's measures in percent (PAC as it is), and the standard error of each over people."""
    costs = rows["min_cost"].to_numpy(dtype=float)
    by_person = {"FS@1": 100.0 * (costs < 1.0), "Cov": 100.0 * np.isfinite(costs), "PAC": costs[np.isfinite(costs)]}
    for name, column in _BY_PERSON.items():
        if column in rows:
            by_person[name] = 100.0 * rows[column].dropna().to_numpy(dtype=float)
    means = {name: float(values.mean()) if len(values) else None for name, values in by_person.items()}
    errors = {
        name: float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
        for name, values in by_person.items()
    }
    return {"people": len(rows), "means": means, "errors": errors}


def collect_cells(cells: Iterable[Cell], store: Store) -> list[dict[str, Any]]:
    """Return the measures of the cells that were made, with their settings, what they took, and the oracle's FS@1."""
    made = [cell for cell in cells if store.has(cell)]
    oracles: dict[tuple[Any, ...], list[pd.DataFrame]] = {}
    for cell in made:
        if cell.method == ORACLE:
            oracles.setdefault(_judged_by(cell), []).append(store.rows(cell))
    out = []
    for cell in made:
        entry, rows = store.entry(cell), store.rows(cell)
        took = {
            "seconds_per_person": entry["seconds"] / max(entry["people"], 1),
            "queries_per_person": entry["queries"] / max(entry["people"], 1),
        }
        best = _oracle_on(rows, oracles.get(_judged_by(cell), []))
        out.append({"settings": dict(entry["settings"]), **took, **measures(rows), "oracle": best})
    return out


def _judged_by(cell: Cell) -> tuple[Any, ...]:
    """Return what the people and hidden functions of a cell come from, but for how many people there are."""
    return cell.data, cell.model, cell.rows, cell.seed, cell.person_alpha, cell.design


def _oracle_on(rows: pd.DataFrame, oracles: Sequence[pd.DataFrame]) -> float | None:
    """Return the oracle's FS@1 on the very people of a cell; None if it was not asked about all of them."""
    for oracle in oracles:
        if rows["person"].isin(oracle["person"]).all():
            mine = oracle["person"].isin(rows["person"])
            return 100.0 * float((oracle.loc[mine, "min_cost"] < 1.0).mean())
    return None


def share_of_oracle(found: Found) -> float | None:
    """Return FS@1 in percent of the oracle's on the same people and hidden functions; None where it has none."""
    best = [c["oracle"] for c in found if c["oracle"] is not None]
    if len(best) < len(found) or not sum(best):
        return None
    return float(100.0 * sum(c["means"]["FS@1"] for c in found) / sum(best))


def mean_of(found: Found, measure: str) -> tuple[float, float] | None:
    """Return the mean of a measure over seeds and half its 95 % interval; None if no cell has it.

    The half is NaN for a share that is the same in all seeds, or of nobody or everybody in the only one: that it did
    not vary does not make it certain.
    """
    values = [c["means"][measure] for c in found if c["means"].get(measure) is not None]
    if not values:
        return None
    if len(values) > 1:
        half = float(student.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    else:
        error = next(c["errors"].get(measure) for c in found if c["means"].get(measure) is not None)
        half = math.nan if error is None else 1.96 * error
    return float(np.mean(values)), math.nan if measure in _SHARES and half < _ROUNDING else half


def grouped(found: Found, *names: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Sort cells by some settings, in the order they come."""
    out: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for cell in found:
        out.setdefault(tuple(cell["settings"][name] for name in names), []).append(cell)
    return out


def configurations(found: Found, *axes: str, untold: Sequence[str] = ()) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Sort cells by every setting but the seed and `axes`: nothing else is ever averaged over, or drawn as one line.

    Each has a name: its method, and whatever differs between these cells, but for what is `untold` or an axis.
    """
    told = varying(found, *axes, *untold)
    sorted_out: dict[tuple[Any, ...], dict[tuple[Any, ...], Mapping[str, Any]]] = {}
    for cell in found:
        matters = _that_matter(cell["settings"])
        place = tuple((k, v) for k, v in matters.items() if k not in ("seed", *axes))
        # The oracle may have been listed with several budgets: it is the same oracle, and counts once a seed.
        once = (matters["seed"], *(matters.get(axis) for axis in axes))
        sorted_out.setdefault(place, {}).setdefault(once, cell)
    out = [list(cells.values()) for cells in sorted_out.values()]
    return [(name_of(cells[0]["settings"], told), cells) for cells in out]


def varying(found: Found, *but: str) -> list[str]:
    """Return the settings that differ between some cells, other than method and seed."""
    matter = [_that_matter(cell["settings"]) for cell in found]
    return [name for name in _TOLD if name not in but and len({m[name] for m in matter if name in m}) > 1]


def in_common(found: Found) -> str:
    """Say how much all these searches were given, where that is not said row by row."""
    searches = [c["settings"] for c in found if c["settings"]["method"] != ORACLE]
    same = [n for n in ("budget", "n_options", "n_costs") if len({s[n] for s in searches}) == 1]
    return f"All searches with {', '.join(_TOLD[n].format(searches[0][n]) for n in same)}." if same else ""


def name_of(settings: Mapping[str, Any], told: Sequence[str]) -> str:
    """Return a name for a configuration: its method, and these settings."""
    matters = _that_matter(settings)
    parts = [_TOLD[name].format(_worded(name, matters[name])) for name in told if name in matters]
    return " ".join([str(settings["method"]), *parts])


def _that_matter(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in settings.items() if settings["method"] != ORACLE or k not in _OF_A_SEARCH}


def _worded(name: str, value: Any) -> Any:
    if value is not None:
        return value
    return "drawn" if name.endswith("alpha") else "all"


def place_name(data: str, model: str) -> str:
    """Say which people a table or figure is about."""
    return f"{data}, the network published with the data" if model == "own" else f"{data}, {model} trained here"


def shown(value: tuple[float, float] | None, measure: str) -> str:
    """Show a mean with its interval."""
    if value is None:
        return "-"
    digits = 2 if measure == "PAC" else 1
    mean, half = value
    return f"{mean:.{digits}f}" + ("" if math.isnan(half) else f" ± {half:.{digits}f}")


__all__ = [
    "MEASURES",
    "Found",
    "collect_cells",
    "configurations",
    "grouped",
    "in_common",
    "mean_of",
    "measures",
    "name_of",
    "place_name",
    "share_of_oracle",
    "shown",
    "varying",
]
