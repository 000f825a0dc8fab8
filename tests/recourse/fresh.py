"""Plans by kernels of every kind. Run as a program where nothing is compiled yet, it keeps what newly made code gives.

CI does so before the suite (`make bare-kernels`): then the suite need not compile everything once more to compare with
it. It needs nothing but the core.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
import scipy
import sklearn
from numpy.typing import NDArray

import leastways as lw
from leastways.search.guided.candidate_kernels import ask_guided

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "plans-of-new-kernels.json"


def chance(frame: pd.DataFrame) -> NDArray[np.float64]:
    """A bank's model, in a few operations that every processor does alike."""
    x = frame["monthly_income"].to_numpy(np.float64) / 4000 + frame["savings"].to_numpy(np.float64) / 40_000
    x = x + 0.25 * (frame["housing"] == "own").to_numpy(np.float64) - frame["late_payments"].to_numpy(np.float64) / 8
    return np.clip(x / 1.6, 0.0, 1.0)


def everything() -> str:
    """Plans by kernels of every kind, as text."""
    credit = lw.datasets.load_credit(n=400)
    people = credit.people[chance(credit.people) < 0.5].head(8)
    quick: dict[str, Any] = {"n_options": 3, "n_costs": 40, "budget": 60, "random_state": 5}
    runs: list[tuple[dict[str, Any], int]] = [
        ({"budget": 20}, 300),
        ({}, 0),
        ({"objective": "satisfaction", "satisfied_below": 0.3}, 0),
        ({"method": "cols"}, 0),
    ]
    texts = []
    for settings, distill in runs:
        rec = lw.Recourse(chance, credit.schema(), **(quick | settings)).fit(credit.train, distill=distill)
        plans = rec.recommend(people)
        assert (plans.summary["status"] == "found").any()
        texts.append(plans.to_json())
    return "|".join(texts)


def sources() -> str:
    """Return a checksum of all that the plans, as text, depend on."""
    files = [*sorted((ROOT / "src").rglob("*.py")), Path(__file__)]
    releases = " ".join(f"{package.__name__} {package.__version__}" for package in (numba, np, pd, scipy, sklearn))
    return hashlib.sha256(b"\0".join([releases.encode(), *(file.read_bytes() for file in files)])).hexdigest()


def kept() -> str | None:
    """Return what newly compiled code gave, if that was kept and is of these very sources and packages."""
    if not KEPT.exists():
        return None
    data = json.loads(KEPT.read_text(encoding="utf-8"))
    return str(data["plans"]) if data["sources"] == sources() else None


if __name__ == "__main__":
    text = everything()
    if ask_guided.stats.cache_misses and not ask_guided.stats.cache_hits:  # type: ignore[attr-defined]
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps({"sources": sources(), "plans": text}), encoding="utf-8")
