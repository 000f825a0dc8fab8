"""Least-cost ways to a yes: recourse for people whom a model refused, when what things cost them is unknown.

>>> import leastways as lw
>>> schema = lw.Schema.infer(train, target="approved")                        # doctest: +SKIP
>>> plans = lw.Recourse(model, schema).fit(train).recommend(people)           # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leastways._lazy import lazy_names

if TYPE_CHECKING:
    from leastways import audit, batch, datasets, evaluation, report, study, testing
    from leastways.baselines import ActionableRecourse, Dice, Face
    from leastways.costs import Belief, CostDistribution, Preferences
    from leastways.errors import (
        DataError,
        LeastwaysError,
        MissingExtraError,
        ModelError,
        PreferenceError,
        SchemaError,
        SearcherError,
        SettingError,
    )
    from leastways.evaluation import OracleResult, SimulatedPeople, evaluate, oracle, simulate_people
    from leastways.models import AllOf, OnnxModel, TorchModel, load_model
    from leastways.plans import Certificate, NearestMiss, RecourseOption, RecoursePlan, RecoursePlans
    from leastways.recourse import Recourse
    from leastways.schema import AtMost, Feature, Forbidden, IfThen, Linked, Schema
    from leastways.search import COLS, PCOLS, Guided, LocalSearch, RandomSearch, Searcher, register_searcher

__version__ = "0.1.0"

# Where each public name lives. They load on first use, so that `import leastways` costs next to nothing.
_HOMES = {
    "baselines": ("ActionableRecourse", "Dice", "Face"),
    "costs": ("Belief", "CostDistribution", "Preferences"),
    "errors": (
        "DataError",
        "LeastwaysError",
        "MissingExtraError",
        "ModelError",
        "PreferenceError",
        "SchemaError",
        "SearcherError",
        "SettingError",
    ),
    "evaluation": ("OracleResult", "SimulatedPeople", "evaluate", "oracle", "simulate_people"),
    "models": ("AllOf", "OnnxModel", "TorchModel", "load_model"),
    "plans": ("Certificate", "NearestMiss", "RecourseOption", "RecoursePlan", "RecoursePlans"),
    "recourse": ("Recourse",),
    "schema": ("AtMost", "Feature", "Forbidden", "IfThen", "Linked", "Schema"),
    "search": ("COLS", "PCOLS", "Guided", "LocalSearch", "RandomSearch", "Searcher", "register_searcher"),
}
_ROOMS = ("audit", "datasets", "evaluation", "batch", "report", "study", "testing")

__all__ = [
    "COLS",
    "PCOLS",
    "ActionableRecourse",
    "AllOf",
    "AtMost",
    "Belief",
    "Certificate",
    "CostDistribution",
    "DataError",
    "Dice",
    "Face",
    "Feature",
    "Forbidden",
    "Guided",
    "IfThen",
    "LeastwaysError",
    "Linked",
    "LocalSearch",
    "MissingExtraError",
    "ModelError",
    "NearestMiss",
    "OnnxModel",
    "OracleResult",
    "PreferenceError",
    "Preferences",
    "RandomSearch",
    "Recourse",
    "RecourseOption",
    "RecoursePlan",
    "RecoursePlans",
    "Schema",
    "SchemaError",
    "Searcher",
    "SearcherError",
    "SettingError",
    "SimulatedPeople",
    "TorchModel",
    "__version__",
    "audit",
    "batch",
    "datasets",
    "evaluate",
    "evaluation",
    "load_model",
    "oracle",
    "register_searcher",
    "report",
    "simulate_people",
    "study",
    "testing",
]


_public_name = lazy_names(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    return import_module(f"leastways.{name}") if name in _ROOMS else _public_name(name)


def __dir__() -> list[str]:
    return sorted(__all__)
