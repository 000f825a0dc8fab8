"""Small programs in binary variables, solved by HiGHS.

By its own package: the copy inside scipy takes twice the time on programs this small, for want of settings to turn
heuristics off, and some versions of it print to standard output.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._extras import require

Floats = NDArray[np.float64]

_SETTINGS = {
    "output_flag": False,
    "parallel": "off",
    "mip_rel_gap": 0.0,  # to the optimum, not near it
    # What follows pays on large programs only.
    "presolve": "off",
    "mip_detect_symmetry": False,
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
}


class Answer(NamedTuple):
    """How it ended, and which variables are 1 in the optimum."""

    status: Literal["optimal", "none", "time"]
    ones: NDArray[np.intp]


def load_highs() -> Any:
    """Import the solver, or say how to install it."""
    return require("highspy", "baselines", "Actionable Recourse (method='ar')")


def minimise(cost: Floats, rows: Floats, low: Floats, high: Floats, seconds: float) -> Answer:
    """Minimise `cost` [n] over binary variables of which `rows` [m, n] lie between `low` and `high` [m]."""
    highspy = load_highs()
    n, m = len(cost), len(rows)
    solver = highspy.Highs()
    for name, value in _SETTINGS.items():
        solver.setOptionValue(name, value)
    solver.setOptionValue("time_limit", float(seconds))
    columns = np.arange(n, dtype=np.int32)
    solver.addVars(n, np.zeros(n), np.ones(n))
    solver.changeColsCost(n, columns, cost)
    solver.changeColsIntegrality(n, columns, np.ones(n, np.uint8))
    row, column = np.nonzero(rows)
    starts = np.searchsorted(row, np.arange(m)).astype(np.int32)
    solver.addRows(m, low, high, len(row), starts, column.astype(np.int32), rows[row, column])
    solver.run()
    ended = solver.getModelStatus()
    if ended == highspy.HighsModelStatus.kOptimal:
        return Answer("optimal", np.flatnonzero(np.array(solver.getSolution().col_value) > 0.5))
    nothing = np.empty(0, np.intp)
    return Answer("none" if ended == highspy.HighsModelStatus.kInfeasible else "time", nothing)
