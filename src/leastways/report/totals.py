"""The figures over all people that every form of the report shows: one place, so that they never differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from leastways.plans import NOT_SEARCHED, STATUSES, RecoursePlans

if TYPE_CHECKING:
    from leastways.evaluation import SimulatedPeople

COST_MEANING = "0 is no effort, 1 as much as the largest change of one single thing"


@dataclass(frozen=True)
class Totals:
    """What came of some people, in figures. Shares lie in [0, 1]; means are over the people in need, NaN if none."""

    people: int
    in_need: int  # refused by the model, and with a row that can be used
    with_options: int
    statuses: dict[str, int]
    options: float  # per person
    covered: float  # share of the plausible preferences that some option serves
    satisfied: float  # share of the plausible preferences for which an option costs less than 1
    cost: float  # of the cheapest option, over the preferences that one serves
    queries: int  # rows that the model was asked about, in all

    @classmethod
    def of(cls, plans: RecoursePlans) -> Totals:
        """Sum up plans."""
        summary = plans.summary
        need = summary[~summary["status"].isin(NOT_SEARCHED)]
        counts = summary["status"].value_counts()
        return cls(
            people=len(summary),
            in_need=len(need),
            with_options=int((summary["n_options"] > 0).sum()),
            statuses={status: int(counts[status]) for status in STATUSES if status in counts.index},
            options=_mean(need["n_options"].to_numpy(dtype=np.float64)),
            covered=_mean(need["covered"].to_numpy(dtype=np.float64)),
            satisfied=_mean(need["satisfied"].to_numpy(dtype=np.float64)),
            cost=_mean(need["emc"].dropna().to_numpy(dtype=np.float64)),
            queries=int(summary["queries"].sum()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON can hold them: None where one is undefined."""
        return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in asdict(self).items()}

    def rows(self) -> list[tuple[str, str]]:
        """Return what and how much, in words, in the order of a reader's questions."""
        statuses = [(f"  {status}: {STATUSES[status]}", str(n)) for status, n in self.statuses.items()]
        return [
            ("People", str(self.people)),
            *statuses,
            ("Options per person", _number(self.options, ".1f")),
            ("Plausible preferences that an option serves", percent(self.covered)),
            ("Plausible preferences with an option below cost 1", percent(self.satisfied)),
            ("Cost of the cheapest option (1: the most one change can cost)", _number(self.cost, ".2f")),
            ("Rows the model was asked about", f"{self.queries:,}"),
        ]


@dataclass(frozen=True)
class SimulatedTotals:
    """The same plans, judged by simulated people whose hidden costs no search saw."""

    people: int
    satisfied: float  # FS@1: share of them with an option that costs them less than 1
    covered: float  # Cov: share of them with an option they can reach
    cost: float  # PAC: mean cost of their cheapest option

    @classmethod
    def of(cls, plans: RecoursePlans, truth: SimulatedPeople) -> SimulatedTotals:
        """Ask the simulated people; nobody in need, nothing to judge."""
        if plans.summary["status"].isin(NOT_SEARCHED).all():
            return cls(0, float("nan"), float("nan"), float("nan"))
        from leastways.evaluation import evaluate

        row = evaluate(plans, truth).iloc[0]
        return cls(int(row["people"]), row["FS@1"] / 100, row["Cov"] / 100, float(row["PAC"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures under the paper's names, None where one is undefined."""
        named = {"FS@1": self.satisfied, "Cov": self.covered, "PAC": self.cost}
        figures = {k: None if np.isnan(v) else float(v) for k, v in named.items()}
        return {"people": self.people, **figures}

    def rows(self) -> list[tuple[str, str]]:
        """Return what and how much, in words."""
        return [
            ("Simulated people, each with a hidden cost function", str(self.people)),
            ("FS@1: have an option that costs them less than 1", percent(self.satisfied)),
            ("Cov: have an option that they can take at all", percent(self.covered)),
            ("PAC: what their cheapest option costs, on average", _number(self.cost, ".2f")),
        ]


def percent(share: float) -> str:
    """Write a share as a reader expects it; a dash where it is undefined."""
    return "–" if np.isnan(share) else f"{share:.0%}"


def _number(value: float, form: str) -> str:
    return "–" if np.isnan(value) else format(value, form)


def _mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    return float(values.mean()) if len(values) else float("nan")
