"""Plans by kernels of every kind. Run as a program where nothing is compiled yet, it keeps what newly made code gives.

`make kernels` does so before the suite: then the suite need not compile everything once more to compare with it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from leastways.kernels.guided import ask_guided
from tests.recourse.bank import TRAIN, recourse, refused

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "plans-of-new-kernels.json"


def everything() -> str:
    """Plans by kernels of every kind, as text."""
    people = refused(8)
    rec = recourse(random_state=5, budget=20)
    shared = rec.fit(TRAIN, distill=300).recommend(people)
    aims: list[dict[str, Any]] = [{}, {"objective": "satisfaction", "satisfied_below": 0.3}, {"method": "cols"}]
    plans = [recourse(random_state=5, **aim).recommend(people) for aim in aims]
    return "|".join(p.to_json() for p in [shared, *plans])


def sources() -> str:
    """Return a checksum of all that the plans depend on."""
    files = [*sorted((ROOT / "src").rglob("*.py")), ROOT / "tests" / "recourse" / "bank.py", Path(__file__)]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def kept() -> str | None:
    """Return what newly compiled code gave, if that was kept and is of these very sources."""
    if not KEPT.exists():
        return None
    data = json.loads(KEPT.read_text(encoding="utf-8"))
    return str(data["plans"]) if data["sources"] == sources() else None


if __name__ == "__main__":
    text = everything()
    if ask_guided.stats.cache_misses and not ask_guided.stats.cache_hits:  # type: ignore[attr-defined]
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps({"sources": sources(), "plans": text}), encoding="utf-8")
