"""Where the time of `recommend` goes, seen through public seams: the searcher, and the fitted cost model.

The searcher is wrapped, so what lies between an `ask` and its `tell` is the judging: decoding, the model, counting.
Cells of the cost tables are filled when first touched, so most of that work shows up in ask and tell, not in sampling.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

import pandas as pd

import leastways as lw

STAGES = ("sampling", "start", "ask", "judge", "tell", "choose", "rest")


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.asked_at = 0.0

    def time(self, stage: str, function: Any, *arguments: Any, **named: Any) -> Any:
        began = time.perf_counter()
        out = function(*arguments, **named)
        self.seconds[stage] += time.perf_counter() - began
        return out


class _Wrapped:
    """Anything that is not timed goes through to the object inside."""

    def __init__(self, inner: Any, clock: _Clock) -> None:
        self._inner, self._clock = inner, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Run(_Wrapped):
    def ask(self, left: Any) -> Any:
        questions = self._clock.time("ask", self._inner.ask, left)
        self._clock.asked_at = time.perf_counter()
        return questions

    def tell(self, *answers: Any) -> None:
        self._clock.seconds["judge"] += time.perf_counter() - self._clock.asked_at
        self._clock.time("tell", self._inner.tell, *answers)

    def chosen(self) -> Any:
        return self._clock.time("choose", self._inner.chosen)


class _Searcher(_Wrapped):
    def start(self, problem: Any) -> Any:
        return _Run(self._clock.time("start", self._inner.start, problem), self._clock)


class _Costs(_Wrapped):
    def sample(self, *arguments: Any, **named: Any) -> Any:
        return self._clock.time("sampling", self._inner.sample, *arguments, **named)


def shares(rec: lw.Recourse, people: pd.DataFrame) -> dict[str, float]:
    """Return the share of each stage in percent, and the total in seconds; `rec` is fitted, with a searcher."""
    clock = _Clock()
    costs = rec.cost_model_
    watched = lw.Recourse(**{**rec.get_params(deep=False), "method": _Searcher(rec.method, clock)})
    for name, value in vars(rec).items():
        if name.endswith("_"):  # what fit found out
            setattr(watched, name, value)
    watched.cost_model_ = _Costs(costs, clock)  # type: ignore[assignment]
    began = time.perf_counter()
    watched.recommend(people)
    total = time.perf_counter() - began
    clock.seconds["rest"] = total - sum(clock.seconds.values())
    return {"seconds": total, **{stage: 100 * clock.seconds[stage] / total for stage in STAGES}}
