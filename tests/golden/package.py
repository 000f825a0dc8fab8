"""The only file that knows the package's names: it makes objects from plain words, and plain records of results.

The keys of the stored files are chosen here: when something public is renamed, this file changes, no stored one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import leastways as lw
from leastways.datasets.paper import CodedColumn, PaperNetwork, ScaledColumn
from tests.golden import data, models

Plans = lw.RecoursePlans
SURROGATE = ("columns", "centre", "scale", "inner", "bias", "outer")
RULES = {"if then": lw.IfThen, "forbidden": lw.Forbidden, "linked": lw.Linked, "at most": lw.AtMost}
METHODS = {
    "guided": lw.Guided,
    "cols": lw.COLS,
    "pcols": lw.PCOLS,
    "ls": lw.LocalSearch,
    "random": lw.RandomSearch,
    "face": lw.Face,
    "ar": lw.ActionableRecourse,
    "dice": lw.Dice,
}
STATUSES = {
    "found": "found",
    "partial": "partial",
    "none_exists": "none exists",
    "none_found": "none found",
    "already_positive": "already accepted",
    "invalid_input": "unusable",
}
COUNTS = {  # the package's key -> the key here
    "model_calls": "model calls",
    "model_rows": "model rows",
    "model_failed_rows": "failed rows",
    "distill_rows": "distill rows",
    "model_setup_rows": "setup rows",
}
FIGURES = {"covered": "covered", "emc": "mean cost", "satisfied": "satisfied", "probability": "probability"}
OPTION_FIGURES = {"probability": "probability", "expected_cost": "cost", "best_for": "cheapest for"}
CERTIFICATE = {
    "bound": "bound",
    "objective": "objective",
    "gap": "gap",
    "relative_gap": "relative gap",
    "solved": "solved",
}


def schema(changes: Mapping[str, Mapping[str, Any]], rules: Iterable[tuple[Any, ...]]) -> lw.Schema:
    """Return the schema of the stored cases, every field given."""
    features = []
    for name, entry in data.features(changes).items():
        values = entry["values"]
        dtype = {int: "int64", float: "float64", str: "object"}[type(values[0])]
        features.append(
            lw.Feature(
                name=name,
                kind=entry["kind"],
                values=values,
                direction=entry.get("direction", "any"),
                dtype=dtype,
                label=entry.get("label", ""),
                unit=entry.get("unit", ""),
                missing=entry.get("missing", False),
                excluded=entry.get("excluded", ()),
                valid_range=entry.get("range", (None, None)),
            )
        )
    return lw.Schema(tuple(features), None, tuple(RULES[kind](*said) for kind, *said in rules))


def model(name: str) -> Any:
    """Return a model by its name: those that are the package's own classes are made here."""
    if name == "network":
        return paper_network()
    if name == "all of":
        return lw.AllOf([models.model("logistic"), models.formula], thresholds=[0.625, 0.5])
    if name == "all of encoders":
        return lw.AllOf([models.model("logistic"), models.model("forest")], thresholds=None)
    return models.model(name)


def paper_network() -> PaperNetwork:
    """Return the paper's network on this table."""
    stored = {name: np.array(part) for name, part in models.stored("networks")["paper"].items()}
    numbers = {"age": 64, "income": 64, "hours": 64, "rate": 4, "savings": 8192}
    categories = {name: entry["values"] for name, entry in data.FEATURES.items() if name not in numbers}
    scaled = [ScaledColumn(name, 0.0, float(high)) for name, high in numbers.items()]
    coded = [CodedColumn(name, {v: k for k, v in enumerate(values)}) for name, values in categories.items()]
    return PaperNetwork((*scaled, *coded), **stored)


def preferences(said: Mapping[str, Any]) -> lw.Preferences:
    """Return what a person prefers."""
    return lw.Preferences(**said)


def method(name: str, settings: Mapping[str, Any]) -> Any:
    """Return a searcher with its settings."""
    return METHODS[name](**settings)


def recourse(the_model: Any, the_schema: lw.Schema, the_method: Any, settings: Mapping[str, Any]) -> lw.Recourse:
    """Return the facade with every setting given."""
    named = dict(settings)
    named["costs"] = lw.CostDistribution(alpha=named.pop("alpha"), noise_std=named.pop("noise"))
    return lw.Recourse(model=the_model, schema=the_schema, method=the_method, **named)


def certify(the_recourse: lw.Recourse, plans: Plans, said: Any, rows: int) -> Plans:
    """Return plans with certificates."""
    return the_recourse.certify(plans, people=None, preferences=said, max_queries=rows, progress=False)


def preferences_of(said: Any, label: Any) -> lw.Preferences | None:
    """Return what one person prefers, of what `all_preferences` returned."""
    if isinstance(said, Mapping):
        return said.get(label)
    return said if isinstance(said, lw.Preferences) else None


def put_surrogate(the_recourse: lw.Recourse, name: str) -> None:
    """Replace a fitted surrogate by a stored one: the optimiser's last digits depend on the processor's libraries."""
    fitted = the_recourse.distilled_
    assert fitted is not None
    stored = models.stored("surrogates")[name]
    arrays = {part: np.array(stored[part], like.dtype) for part, like in _surrogate(fitted).items()}
    net = fitted.net._replace(doubt=float(stored["doubt"]), **arrays)
    the_recourse.distilled_ = replace(fitted, net=net)


def surrogate_record(the_recourse: lw.Recourse) -> dict[str, Any]:
    """Return a fitted surrogate as it is stored."""
    fitted = the_recourse.distilled_
    assert fitted is not None
    return {part: values.tolist() for part, values in _surrogate(fitted).items()} | {"doubt": float(fitted.net.doubt)}


def _surrogate(fitted: Any) -> dict[str, Any]:
    return {part: np.asarray(getattr(fitted.net, part)) for part in SURROGATE}


def plans_record(plans: lw.RecoursePlans) -> dict[str, Any]:
    """Return everything numeric in some plans, floats as exact text."""
    counts = {ours: plain(plans.settings[theirs]) for theirs, ours in COUNTS.items() if theirs in plans.settings}
    people = {str(plan.person): _person(plans, plan) for plan in plans}
    failed = [[plain(value) for value in row] for row in plans.failed_rows.drop(columns="error").to_numpy(dtype=object)]
    record = {"counts": counts, "people": people}
    return record | ({"failed on": failed} if failed else {})


def _person(plans: lw.RecoursePlans, plan: lw.RecoursePlan) -> dict[str, Any]:
    row = plans.summary.loc[plan.person]
    record: dict[str, Any] = {"status": STATUSES[plan.status], "queries": plain(row["queries"])}
    assert plain(row["n_options"]) == len(plan.options)
    record |= {ours: plain(row[theirs]) for theirs, ours in FIGURES.items()}
    record["options"] = [
        {
            "values": [plain(option.values[f.name]) for f in plans.schema.features],
            "places": [place(f, plan.state[f.name], option.values[f.name]) for f in plans.schema.features],
            "changes": [[c.feature, plain(c.before), plain(c.after)] for c in option.changes],
            **{ours: plain(getattr(option, theirs)) for theirs, ours in OPTION_FIGURES.items()},
        }
        for option in plan.options
    ]
    if plan.nearest_miss is not None:
        miss = plan.nearest_miss
        values = [plain(miss.values[f.name]) for f in plans.schema.features]
        record["nearest miss"] = {"values": values, "probability": plain(miss.probability)}
    if plan.certificate is not None:
        record["certificate"] = {ours: plain(getattr(plan.certificate, theirs)) for theirs, ours in CERTIFICATE.items()}
        record["certificate"]["queries"] = plan.certificate.queries
    return record


def place(feature: lw.Feature, before: Any, after: Any) -> int:
    """Return the place of a value in the feature's grid; -1: the person's own stays, whether in the grid or not."""
    stays = (pd.isna(before) and pd.isna(after)) or before == after
    return -1 if stays else feature.values.index(after)


def plain(value: Any) -> Any:
    """Return a value as JSON holds it exactly: floats as hexadecimal text."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, bool | int | str) or value is None:
        return value
    raise TypeError(f"{value!r} is no plain value")


def plain_array(values: Any) -> Any:
    """Return an array as nested lists of plain values."""
    array = np.asarray(values)
    return [plain_array(row) for row in array] if array.ndim > 1 else [plain(value) for value in array.tolist()]


def all_preferences(by_label: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return nothing, one for all, or a mapping from label to preferences."""
    if not by_label:
        return None
    if "all" in by_label:
        return preferences(by_label["all"])
    return {label: preferences(said) for label, said in by_label.items()}


def simulated(people: pd.DataFrame, the_schema: lw.Schema, train: pd.DataFrame) -> lw.SimulatedPeople:
    """Draw a hidden cost function for each person."""
    costs = lw.CostDistribution(alpha=None, noise_std=0.01)
    return lw.simulate_people(people, the_schema, train, costs=costs, preferences=None, random_state=3)


def evaluation_record(
    plans: lw.RecoursePlans, people: pd.DataFrame, the_schema: lw.Schema, train: pd.DataFrame
) -> dict[str, Any]:
    """Return the measures of some plans under hidden costs, over all people and by person."""
    usable = plans.summary.index[plans.summary["status"] != "invalid_input"]
    truth = simulated(people.loc[usable], the_schema, train)
    hidden = {
        str(label): {
            "editable": list(said.editable or ()),
            "scores": [plain(v) for v in (said.scores or {}).values()],
            "alpha": plain(said.alpha),
        }
        for label, said in dict(truth.preferences).items()
    }
    measures = lw.evaluate(plans, truth, k=0.5).iloc[0]
    each = lw.evaluation.evaluate_people(plans, truth, k=0.5)
    columns = ("min_cost", "satisfied", "diversity", "proximity", "sparsity", "validity")
    return {
        "hidden": hidden,
        "option costs": plain_array(truth.option_costs(plans)),
        "least costs": plain_array(truth.min_costs(plans)),
        "measures": [plain(value) for value in measures.to_list()],
        "measures by person": {str(label): [plain(row[c]) for c in columns] for label, row in each.iterrows()},
    }


ORACLE = {
    "exact": "exact",
    "none_exists": "none exists",
    "bounded": "bounded",
    "already_positive": "already accepted",
    "model_failed": "model failed",
}


def _oracle(result: lw.OracleResult) -> dict[str, Any]:
    record = {"status": ORACLE[result.status], "cost": plain(result.cost), "bound": plain(result.bound)}
    state = None if result.state is None else [plain(value) for value in result.state.values()]
    return record | {"state": state, "queries": result.queries, "calls": result.calls}


def oracle_record(model: Any, people: pd.DataFrame, the_schema: lw.Schema, train: pd.DataFrame) -> dict[str, Any]:
    """Return each person's cheapest state under hidden costs, one by one and all together."""
    truth = simulated(people, the_schema, train)
    rest: dict[str, Any] = {"target": 1, "threshold": 0.5, "max_cost": float("inf")}
    single = {
        str(label): _oracle(lw.oracle(model, the_schema, people.loc[[label]], truth, max_queries=1500, **rest))
        for label in people.index
    }
    table = lw.evaluation.oracle_people(model, truth, max_queries=60, progress=False, **rest)
    columns = ("cost", "bound", "queries")
    together = {
        str(label): [ORACLE[str(row["status"])], *(plain(row[c]) for c in columns)] for label, row in table.iterrows()
    }
    return {"oracle": single, "oracle, few rows": together}


def stated_oracle_record(model: Any, person: pd.DataFrame, the_schema: lw.Schema) -> dict[str, Any]:
    """Return the cheapest state of a person under a table of costs and under a function."""
    table = {"income": {k: abs(k - 30) / 64 for k in range(10, 92, 2)}, "job": {"manual": 0.5, "own firm": 0.25}}

    def cost(feature: str, before: Any, after: Any) -> float:
        if feature == "rate":
            return abs(float(after) - float(before)) / 8
        return 0.375 if feature == "education" else float("inf")

    rest: dict[str, Any] = {"target": 1, "threshold": 0.5, "max_cost": 3.0, "max_queries": 2000}
    return {
        "table": _oracle(lw.oracle(model, the_schema, person, table, **rest)),
        "function": _oracle(lw.oracle(model, the_schema, person, cost, **rest)),
    }


def editable_record(recourse: lw.Recourse, people: pd.DataFrame, said: Any) -> list[Any]:
    """Return which features each cost sample can change, as a text of 0 and 1 for each sample."""
    samples = recourse.belief(people, said).editable
    return [["".join("01"[int(flag)] for flag in row) for row in person] for person in samples]
