"""Run one cell: search, judge by hidden functions, and write down a row for each person."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import leastways as lw
from experiments.config import Cell
from experiments.methods import NEEDS_GRADIENTS, ORACLE, method_of
from experiments.places import Place, chosen_people, place
from experiments.shift import shifted_rows
from experiments.study import compared

_HIDDEN = 1000  # seeds of hidden functions start here: a search never uses them
_ORACLE_COST = 30.0  # beyond the cost of any state of these sets: the oracle looks for the least cost of all


class Outcome(NamedTuple):
    """What came of a cell: a row a person, and what it took."""

    rows: pd.DataFrame
    facts: dict[str, Any]


def run_cell(cell: Cell) -> Outcome:
    """Run a cell in this process."""
    where = place(cell.data, cell.model, cell.rows)
    people = chosen_people(where, cell.people)
    truth = hidden_functions(cell, where, people)
    if cell.method == ORACLE:
        return _oracle(where, truth, people)
    if cell.design == "study":
        return _study(cell, where, truth, people)
    found = _searched(cell.search)
    plans = found.plans
    facts = {
        "fit_seconds": found.fit_seconds,
        "seconds": found.seconds,
        "people": len(people),
        "queries": int(plans.summary["queries"].sum()),
        "method_settings": plans.settings["method"],
        "model_path": plans.settings["model_path"],
    }
    if cell.design == "shift":
        return Outcome(shifted_rows(plans, recourse(cell)[0], where, people, cell.seed), facts)
    rows = _judged(plans, truth, where, people)
    if cell.design == "examples":
        facts["examples"] = _told(plans, truth, people)
    return Outcome(rows, facts)


class _Searched(NamedTuple):
    plans: lw.RecoursePlans
    fit_seconds: float
    seconds: float


@lru_cache(maxsize=1)
def _searched(cell: Cell) -> _Searched:
    """Search once for cells that differ only in who judges; the runner hands them out together."""
    people = chosen_people(place(cell.data, cell.model, cell.rows), cell.people)
    rec, fit_seconds = recourse(cell)
    began = time.perf_counter()
    plans = rec.recommend(people)
    return _Searched(plans, fit_seconds, time.perf_counter() - began)


def _study(cell: Cell, where: Place, truth: lw.SimulatedPeople, people: pd.DataFrame) -> Outcome:
    """Let two methods find options for the same people, and simulated annotators choose."""
    began = time.perf_counter()
    plans = {name: recourse(replace(cell, method=name))[0].recommend(people) for name in cell.method.split(":")}
    seconds = time.perf_counter() - began
    queries = sum(int(p.summary["queries"].sum()) for p in plans.values())
    rows, facts = compared(plans, truth, cell.seed)
    return Outcome(rows, {"seconds": seconds, "people": len(people), "queries": queries, **facts})


def recourse(cell: Cell) -> tuple[lw.Recourse, float]:
    """Return the fitted search of a cell, and the seconds fitting took."""
    rec, seconds = _fitted(cell.data, cell.model, cell.rows, cell.method, cell.search_alpha, cell.seed)
    return rec.set_params(n_options=cell.n_options, budget=cell.budget, n_costs=cell.n_costs), seconds


@lru_cache(maxsize=8)
def _fitted(
    data: str, model: str, rows: int | None, method: str, alpha: float | None, seed: int
) -> tuple[lw.Recourse, float]:
    """Fit once for cells that differ only in how much is asked for: some methods build a graph of all rows."""
    where = place(data, model, rows)
    rec = lw.Recourse(
        where.differentiable() if method in NEEDS_GRADIENTS else where.model,
        where.schema,
        method_of(method),
        target=where.target,
        costs=_costs(alpha),
        random_state=seed,
    )
    began = time.perf_counter()
    rec.fit(where.frame)
    return rec, time.perf_counter() - began


def hidden_functions(cell: Cell, where: Place, people: pd.DataFrame) -> lw.SimulatedPeople:
    """Draw what the people of a cell are judged by; no method sees it."""
    seed = _HIDDEN + cell.seed
    return lw.simulate_people(people, where.schema, where.frame, costs=_costs(cell.person_alpha), random_state=seed)


def _costs(alpha: float | None) -> lw.CostDistribution:
    return lw.CostDistribution() if alpha is None else lw.CostDistribution(alpha=alpha)


def _judged(plans: lw.RecoursePlans, truth: lw.SimulatedPeople, where: Place, people: pd.DataFrame) -> pd.DataFrame:
    measures = lw.evaluation.evaluate_people(plans, truth).drop(columns="satisfied")
    told = plans.summary.loc[measures.index, ["status", "n_options", "queries"]]
    return _with_groups(measures.join(told), where, people)


def _oracle(where: Place, truth: lw.SimulatedPeople, people: pd.DataFrame) -> Outcome:
    began = time.perf_counter()
    found = lw.evaluation.oracle_people(where.model, truth, target=where.target, max_cost=_ORACLE_COST)
    seconds = time.perf_counter() - began
    exact = found["status"].isin(["exact", "none_exists"])
    if not exact.all():
        raise RuntimeError(f"the oracle is not exact for {int((~exact).sum())} people: {set(found['status'])}.")
    rows = pd.DataFrame({"min_cost": found["cost"], "status": found["status"], "queries": found["queries"]})
    facts = {"seconds": seconds, "people": len(people), "queries": int(found["queries"].sum())}
    return Outcome(_with_groups(rows, where, people), facts)


def _with_groups(rows: pd.DataFrame, where: Place, people: pd.DataFrame) -> pd.DataFrame:
    groups = people.loc[rows.index, list(where.data.protected)].astype(str)
    return rows.join(groups.add_prefix("group_")).rename_axis("person").reset_index()


def _told(plans: lw.RecoursePlans, truth: lw.SimulatedPeople, people: pd.DataFrame) -> list[dict[str, Any]]:
    """Tell of each person as the paper's table of examples does: state, what they would edit, options and costs."""
    costs = truth.option_costs(plans)
    out = []
    for label in people.index:
        wishes = truth.preferences.get(label)
        mine = np.flatnonzero((plans.options["person"] == label).to_numpy())
        order = mine[np.argsort(costs[mine], kind="stable")]
        state = people.loc[label]
        out.append(
            {
                "person": str(label),
                "state": {name: str(state[name]) for name in people.columns},
                "scores": {} if wishes is None else {k: round(float(v), 3) for k, v in (wishes.scores or {}).items()},
                "options": [_option(plans, int(row), state, float(costs[row])) for row in order],
            }
        )
    return out


def _option(plans: lw.RecoursePlans, row: int, state: Any, cost: float) -> dict[str, Any]:
    option = plans.options.iloc[row]
    changes = {n: [str(state[n]), str(option[n])] for n in plans.schema.names if str(option[n]) != str(state[n])}
    return {"changes": changes, "cost": None if np.isinf(cost) else round(cost, 3)}
