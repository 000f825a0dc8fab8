"""The stored decisions: what each case pins, by name. Each names every setting, so that no default can move it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from tests.golden import data, package
from tests.golden.own_searcher import FirstStates

SETTINGS: dict[str, Any] = {
    "n_options": 3,
    "budget": 40,
    "n_costs": 24,
    "target": 1,
    "threshold": 0.5,
    "alpha": None,  # the costs' weight of linear against percentile: drawn
    "noise": 0.01,  # the costs' standard deviation
    "uncovered_cost": 1.5,
    "objective": "emc",
    "satisfied_below": 1.0,
    "time_limit": None,
    "random_state": 7,
}
GUIDED = ("guided", {"without": ()})
COLS = ("cols", {"gain": "exact", "proposals": "actionable"})
FACE = {"graph": "knn", "neighbors": 12, "radius": None, "confidence": None, "density": 0.05, "max_points": 30_000}
AR = {
    "linear": "exact",
    "quantile": "mid",
    "enumeration": "subsets",
    "surrogate_rows": 30,
    "max_programs": 12,
    "solver_seconds": 60.0,
}
DICE = dict.fromkeys(
    (
        *("begin", "proximity_weight", "diversity_weight", "categorical_penalty", "sparsity_weight"),
        *("learning_rate", "min_iter", "max_iter", "sample_size"),
    )
)

Said = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """A run on a few applicants."""

    model: str = "formula"
    method: Said | Any = GUIDED
    people: str = "a b c"
    settings: Mapping[str, Any] = field(default_factory=dict)
    preferences: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by label; "all": for all of them
    features: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rules: Sequence[tuple[Any, ...]] = ()
    distill: int = 0  # rows; the fitted surrogate is then replaced by the stored one of this name, see `package`
    surrogate: str = ""
    certificate_rows: int = 0  # 0: no certificates
    then: Callable[[Run], dict[str, Any]] | None = None
    interpreted: bool = True  # whether its run is short enough, and its libraries' as well, to be made interpreted

    def run(self) -> Run:
        """Fit and recommend."""
        return Run(self)

    def record(self) -> dict[str, Any]:
        """Return what is stored."""
        run = self.run()
        record = package.plans_record(run.final())
        return record if self.then is None else record | self.then(run)


class Run:
    """A case that was run: its parts, for what follows."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.settings = SETTINGS | dict(case.settings)
        self.people = data.applicants(case.people)
        self.schema = package.schema(case.features, case.rules)
        self.model = package.model(case.model)
        self.recourse = self.new()
        self.preferences = package.all_preferences(case.preferences)
        self.plans = self.recourse.recommend(self.people, self.preferences)

    def final(self) -> package.Plans:
        """Return the plans, with certificates if the case wants them."""
        rows = self.case.certificate_rows
        return package.certify(self.recourse, self.plans, self.preferences, rows) if rows else self.plans

    def new(self, **changes: Any) -> Any:
        """Return a fitted `Recourse`, with some settings changed."""
        method = self.case.method
        searcher = package.method(*method) if isinstance(method, tuple) else method()
        recourse = package.recourse(self.model, self.schema, searcher, self.settings | changes)
        recourse.fit(data.train(), distill=self.case.distill)
        if self.case.surrogate:
            package.put_surrogate(recourse, self.case.surrogate)
        return recourse


def warm_started(run: Run) -> dict[str, Any]:
    """Recommend again with fewer rows, beginning with the plans."""
    later = run.new(budget=12, random_state=11)
    return {"warm": package.plans_record(later.recommend(run.people, run.preferences, warm_start=run.plans))}


def evaluated(run: Run) -> dict[str, Any]:
    """Evaluate the plans under hidden costs."""
    return package.evaluation_record(run.plans, run.people, run.schema, data.train())


def exact(run: Run) -> dict[str, Any]:
    """Find each person's cheapest state under hidden costs."""
    return package.oracle_record(run.model, run.people, run.schema, data.train())


def exact_for_stated_costs(run: Run) -> dict[str, Any]:
    """Find the cheapest state of the first person under costs by table and by function."""
    return package.stated_oracle_record(run.model, run.people.iloc[:1], run.schema)


def editable(run: Run) -> dict[str, Any]:
    """Record which features each cost sample can change."""
    return {"editable": package.editable_record(run.recourse, run.people, run.preferences)}


IF_THEN = ("if then", {"education": ["college", "master"]}, {"hours": (None, 30)})
FORBIDDEN = ("forbidden", {"job": ["own firm"], "hours": (45, None)})
LINKED = ("linked", "education", "age", 2.0, 1.0)
AT_MOST = ("at most", 2)
INCOME_COSTS = {income: (income - 10) / 100 for income in range(34, 92, 2)}
CLOSED = {name: {"direction": "fixed"} for name in ("age", "hours", "rate", "savings", "education", "job")}

GUIDED_CASES = {
    "guided": Case(people="a b c d e rich"),
    "guided, one option": Case(settings={"n_options": 1}),
    "guided, ten options": Case(people="a b", settings={"n_options": 10, "budget": 60}),
    "guided, budget of 3": Case(settings={"budget": 3}),
    "guided, budget of 10": Case(settings={"budget": 10}),
    "guided, another seed": Case(settings={"random_state": 2}),
    "guided, threshold of 0.75": Case(settings={"threshold": 0.75}),
    "guided, satisfaction": Case(settings={"objective": "satisfaction", "satisfied_below": 0.25}),
    "guided, low uncovered cost": Case(settings={"uncovered_cost": 0.5}),
    "guided, linear costs": Case(settings={"alpha": 1.0}),
    "guided, percentile costs": Case(settings={"alpha": 0.0}),
    "guided, no noise": Case(settings={"noise": 0.0}),
    "guided, strong noise": Case(settings={"noise": 0.2}),
    "guided, larger": Case(people="b own", settings={"n_costs": 100, "budget": 120, "n_options": 6}),
    "guided, sixty costs": Case(people="a b", settings={"n_costs": 60}),
    "guided, seven costs": Case(settings={"n_costs": 7}),
    **{
        f"guided without {part}": Case(people="a b", method=("guided", {"without": (part,)}))
        for part in ("first_moves", "aim", "surrogate", "steps", "gains", "swaps")
    },
    "guided without easing": Case(people="a b", method=("guided", {"without": ("shrink",)})),  # its former name
}
OTHER_METHODS = {
    "cols": Case(method=COLS, people="a b c d"),
    "cols, as in the paper": Case(method=("cols", {"gain": "paper", "proposals": "paper"}), settings={"budget": 60}),
    "cols, gain of the paper": Case(method=("cols", {"gain": "paper", "proposals": "actionable"})),
    "cols, proposals of the paper": Case(method=("cols", {"gain": "exact", "proposals": "paper"})),
    "cols, satisfaction": Case(method=COLS, settings={"objective": "satisfaction", "satisfied_below": 0.25}),
    "cols, ten options": Case(method=COLS, people="b d", settings={"n_options": 10, "budget": 60}),
    "pcols": Case(method=("pcols", {"runs": 3, "gain": "exact", "proposals": "actionable"})),
    "pcols, as in the paper": Case(method=("pcols", {"runs": 5, "gain": "paper", "proposals": "paper"})),
    **{
        f"ls, {objective}": Case(method=("ls", {"objective": objective, "proposals": "actionable"}))
        for objective in ("emc", "sparsity", "proximity", "diversity")
    },
    "ls, proposals of the paper": Case(method=("ls", {"objective": "emc", "proposals": "paper"})),
    "random": Case(method=("random", {"proposals": "actionable"})),
    "random, as in the paper": Case(method=("random", {"proposals": "paper"})),
    "an own searcher": Case(method=FirstStates, people="a b own gap", settings={"budget": 150}),
}
BASELINES = {
    "face, neighbours": Case(method=("face", FACE), people="a b c d"),
    "face, radius": Case(method=("face", FACE | {"graph": "eps", "radius": 1.25})),
    "face, confident": Case(method=("face", FACE | {"confidence": 0.7, "density": 0.02})),
    "actionable recourse, exact": Case("logistic", ("ar", AR)),
    "actionable recourse, share at or below": Case("logistic", ("ar", AR | {"quantile": "cdf"})),
    "actionable recourse, disjoint": Case("logistic", ("ar", AR | {"enumeration": "disjoint"})),
    "actionable recourse, local": Case(method=("ar", AR | {"linear": "local"}), people="a e", settings={"budget": 60}),
    "dice, random": Case(method=("dice", DICE | {"method": "random", "sample_size": 60}), interpreted=False),
    "dice, genetic": Case(
        method=(
            "dice",
            DICE | {"method": "genetic", "proximity_weight": 0.2, "sparsity_weight": 0.2, "max_iter": 5},
        ),
        people="a b",
        settings={"budget": 200},
        interpreted=False,
    ),
    "dice, tree": Case(method=("dice", DICE | {"method": "kdtree", "sparsity_weight": 0.1}), interpreted=False),
}
MODELS = {
    **{
        f"model: {name}": Case(name)
        for name in ("logistic", "network", "perceptron", "forest", "boosted", "histograms", "xgboost", "lightgbm")
    },
    "model: labels": Case("labels", settings={"target": "good"}),
    "model: few probabilities": Case("stump", people="a b c e"),
    "model: all of two, with thresholds": Case("all of"),
    "model: all of two with encoders": Case("all of encoders"),
    "model: network, cols": Case("network", COLS),
    "model: forest, cols": Case("forest", COLS),
}
RULES = {
    "rule: if then": Case(rules=(IF_THEN,)),
    "rule: forbidden": Case(rules=(FORBIDDEN,), people="a b c e"),
    "rule: linked": Case(rules=(LINKED,)),
    "rule: at most": Case(rules=(("at most", 1),)),
    "rules: all, guided": Case(rules=(IF_THEN, FORBIDDEN, LINKED, AT_MOST), people="a b c d own"),
    "rules: all, cols": Case(method=COLS, rules=(IF_THEN, FORBIDDEN, LINKED, AT_MOST)),
    "rules: all, random": Case(method=("random", {"proposals": "actionable"}), rules=(IF_THEN, FORBIDDEN, LINKED)),
    "rules: all, actionable recourse": Case("logistic", ("ar", AR), rules=(IF_THEN, FORBIDDEN, LINKED, AT_MOST)),
    "rule: forbidden, face": Case(method=("face", FACE), rules=(FORBIDDEN,), people="a b c d"),
    "rule that people break": Case(rules=(("if then", {"job": ["manual"]}, {"hours": (25, None)}),), people="a d"),
}
PREFERENCES = {
    "preferences: editable": Case(preferences={"all": {"editable": ["income", "hours"]}}),
    "preferences: locked": Case(preferences={"all": {"locked": ["income", "savings"]}}),
    "preferences: ranges": Case(
        preferences={"all": {"ranges": {"income": (20, 44), "job": ["office"], "savings": (None, 4000.0)}}}
    ),
    "preferences: scores": Case(preferences={"all": {"scores": {"income": 0.5, "rate": 0.3, "savings": 0.2}}}),
    "preferences: scores of the editable": Case(
        preferences={"all": {"editable": ["income", "rate"], "scores": {"income": 0.25, "rate": 0.75}}}
    ),
    "preferences: alpha": Case(preferences={"all": {"alpha": 0.75}}),
    "preferences: a cost table": Case(
        people="a b",
        preferences={"all": {"costs": {"income": INCOME_COSTS, "job": {"office": 0.0}}}},
    ),
    "preferences: costs alone": Case(
        people="a b",
        preferences={
            "all": {
                "editable": ["income", "education"],
                "costs": {
                    "income": {50: 0.25, 60: 0.5, 80: 1.0},
                    "education": {"college": 0.5, "master": inf},
                },
            }
        },
    ),
    "preferences: each their own": Case(
        people="a b own",
        preferences={
            "a": {"editable": ["income", "rate", "savings"], "alpha": 0.5},
            "own": {"locked": ["job"], "ranges": {"hours": (30, 50)}},
        },
    ),
    "preferences: one feature": Case(preferences={"all": {"editable": ["income"]}}, people="a d"),
    "preferences: everything, cols": Case(
        method=COLS,
        preferences={
            "all": {
                "editable": ["income", "rate", "job"],
                "scores": {"income": 0.5, "rate": 0.25, "job": 0.25},
                "alpha": 0.25,
                "ranges": {"rate": (2.0, None)},
                "costs": {"job": {"office": 0.125, "own firm": 0.5, "manual": 0.25}},
            }
        },
    ),
    "preferences: editable samples": Case(
        people="a own", settings={"n_costs": 12}, preferences={"a": {"locked": ["income"]}}, then=editable
    ),
}
STATES = {
    "own numbers beside the grids": Case(people="own beyond", settings={"n_costs": 30}),
    "own numbers, cols": Case(method=COLS, people="own beyond"),
    "own numbers, tabulated model": Case("logistic", people="own beyond", settings={"threshold": 0.75}),
    "a missing value": Case(people="gap a"),
    "a missing value, cols": Case(method=COLS, people="gap"),
    "an excluded value": Case(people="f"),
    "unusable rows": Case(people="nowhere a young"),
    "only unusable rows": Case(people="nowhere"),
    "already accepted": Case(people="rich a e"),
    "none exists": Case(features=CLOSED, people="a d f", model="refusing", settings={"budget": 60}),
    "none exists, range": Case("refusing", features=CLOSED, preferences={"all": {"ranges": {"income": (None, 40)}}}),
    "none found": Case("refusing", people="a b", settings={"budget": 20}),
    "none found, cols": Case("refusing", COLS, people="a b"),
    "none found, nearest miss": Case(people="d f", settings={"budget": 4}),
    "no time": Case(people="a b", settings={"time_limit": 1e-9}),
    "the model fails on some": Case("failing", people="a b c", settings={"budget": 60}),
    "a fixed feature": Case(features={"income": {"direction": "fixed"}}, people="a e own"),
}
MORE = {
    "certified": Case(people="a b c rich", certificate_rows=400, settings={"n_costs": 12}),
    "certified with few rows": Case(people="a b", certificate_rows=15, settings={"n_costs": 12}),
    "certified, none found": Case("refusing", people="a", certificate_rows=15, settings={"n_costs": 8, "budget": 10}),
    "certified, rules": Case(people="a b", rules=(LINKED, AT_MOST), certificate_rows=400, settings={"n_costs": 8}),
    "certified, satisfaction": Case(
        people="a", certificate_rows=400, settings={"n_costs": 8, "objective": "satisfaction", "satisfied_below": 0.5}
    ),
    "certified, own numbers and preferences": Case(
        people="own", preferences={"all": {"locked": ["age"]}}, certificate_rows=400, settings={"n_costs": 8}
    ),
    "warm start": Case(people="a b c", then=warm_started),
    "warm start, rules": Case(people="a own", rules=(LINKED, AT_MOST), then=warm_started),
    "distilled": Case("formula", distill=120, surrogate="formula", settings={"budget": 20}),
    "distilled, tabulated model": Case(
        "logistic", distill=120, surrogate="logistic", settings={"budget": 20, "threshold": 0.75}
    ),
    "evaluated": Case(people="a b c d rich nowhere", then=evaluated),
    "evaluated, cols": Case(method=COLS, people="a own gap", then=evaluated),
    "oracle": Case(people="a c own", then=exact, settings={"n_costs": 4, "budget": 4}),
    "oracle, rules": Case(people="a b", rules=(IF_THEN, LINKED), then=exact, settings={"n_costs": 4, "budget": 4}),
    "oracle, stated costs": Case(people="b", then=exact_for_stated_costs, settings={"n_costs": 4, "budget": 4}),
}
CASES: dict[str, Case] = {
    **GUIDED_CASES,
    **OTHER_METHODS,
    **BASELINES,
    **MODELS,
    **RULES,
    **PREFERENCES,
    **STATES,
    **MORE,
}
