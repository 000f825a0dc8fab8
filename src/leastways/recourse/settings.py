"""What a `Recourse` is set to: whether it can be used, how a plan records it, and how many people go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastways._fingerprint import setting_text
from leastways._messages import listed, plain
from leastways._validation import check_choice, check_count, check_number, check_seed, check_threshold
from leastways.costs import CostDistribution
from leastways.errors import SchemaError, SettingError
from leastways.plans import FIGURES, SUMMARY
from leastways.schema import Schema
from leastways.search import Guided, as_searcher

if TYPE_CHECKING:
    from leastways.recourse.recourse import Recourse

_CHUNK_BYTES = 100 * 2**20  # small enough to stay in the cache, large enough for few model calls
_ROWS_TOUCHED = 250  # rows of a person's cost table that a long search looks at


def check_settings(recourse: Recourse) -> None:
    """Raise where a setting has a value it cannot have, alone or beside the others."""
    if not isinstance(recourse.schema, Schema):
        raise SchemaError(f"schema must be a leastways Schema, not {type(recourse.schema).__name__}.")
    clash = sorted({"person", "option", *FIGURES, *SUMMARY} & set(recourse.schema.names))
    if clash:
        raise SchemaError(f"columns {listed(clash)} have names that the tables of a plan use; rename them.")
    check_count("n_options", recourse.n_options)
    check_count("n_costs", recourse.n_costs)
    check_count("budget", recourse.budget)
    if recourse.budget < recourse.n_options:
        raise SettingError(
            f"budget {recourse.budget} is smaller than n_options {recourse.n_options}: each option has to be asked "
            "about at least once. Raise the budget or ask for fewer options."
        )
    check_threshold(recourse.threshold)
    check_number("uncovered_cost", recourse.uncovered_cost, 0, 1e6)
    check_choice("objective", recourse.objective, ("emc", "satisfaction"))
    check_number("satisfied_below", recourse.satisfied_below, 0, 1e6)
    if recourse.time_limit is not None:
        check_number("time_limit", recourse.time_limit, 0, 1e9)
    check_seed(recourse.random_state)
    as_searcher(recourse.method)
    CostDistribution.of(recourse.costs)


def settings_of(recourse: Recourse) -> dict[str, Any]:
    """Return what a plan records of how it was made."""
    numbers = {
        name: plain(getattr(recourse, name))
        for name in ("n_options", "budget", "n_costs", "threshold", "uncovered_cost", "random_state")
    }
    aim = {"objective": recourse.objective, "satisfied_below": plain(recourse.satisfied_below)}
    limit = {} if recourse.time_limit is None else {"time_limit": plain(recourse.time_limit)}
    searcher, distilled, target = as_searcher(recourse.method), recourse.distilled_, plain(recourse.target)
    learned = {} if distilled is None or not isinstance(searcher, Guided) else {"distill_rows": distilled.queries}
    return {
        **numbers,
        **aim,
        **limit,
        **learned,
        "method": setting_text(searcher),
        "costs": repr(CostDistribution.of(recourse.costs)),
        "target": target if isinstance(target, str | int | float) else repr(target),
    }


def chunk_size(recourse: Recourse) -> int:
    """Return how many people are searched for together: as many as their tables leave memory for."""
    searcher = as_searcher(recourse.method)
    n_costs, n_options, budget = int(recourse.n_costs), int(recourse.n_options), int(recourse.budget)
    sets = 8 * n_costs * (int(getattr(searcher, "runs", 1)) + 1) * (n_options + 4)
    cells = 8 * n_costs * min(int(recourse.schema.offsets[-1]), _ROWS_TOUCHED)
    learned = 0
    if isinstance(searcher, Guided):  # the answers, and the regression on them
        columns = sum(2 if f.ordered else len(f.values) for f in recourse.schema.features if f.direction != "fixed")
        learned = budget * (4 * len(recourse.schema.features) + 60) + 8 * columns**2
    each = recourse.cost_model_.bytes_per_person(n_costs) + sets + cells + learned
    return max(1, int(_CHUNK_BYTES // each))
