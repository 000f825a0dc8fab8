"""Totals over all people, as every form of the report shows them."""

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
    """Totals over people's plans. Shares are in [0, 1]; means are over the people in need, NaN if there are none."""

    people: int
    in_need: int  # refused by the model, and with a row that can be used
    with_options: int
    statuses: dict[str, int]
    options: float  # per person
    covered: float  # share of the cost samples under which some option is possible
    satisfied: float  # share of the cost samples under which an option costs less than 1
    cost: float  # of the cheapest option, over the cost samples under which one is possible
    queries: int  # rows evaluated by the model, in all

    @classmethod
    def of(cls, plans: RecoursePlans) -> Totals:
        """Return the totals of plans."""
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
        """Return the figures for JSON, None where one is undefined."""
        return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in asdict(self).items()}

    def rows(self) -> list[tuple[str, str]]:
        """Return pairs of a description and a value, as text."""
        statuses = [(f"  {status}: {STATUSES[status]}", str(n)) for status, n in self.statuses.items()]
        return [
            ("People", str(self.people)),
            *statuses,
            ("Options per person", _number(self.options, ".1f")),
            ("Simulated preferences with a possible option", percent(self.covered)),
            ("Simulated preferences with an option below cost 1", percent(self.satisfied)),
            ("Cost of the cheapest option (1: the most one change can cost)", _number(self.cost, ".2f")),
            ("Rows evaluated by the model", f"{self.queries:,}"),
        ]


@dataclass(frozen=True)
class SimulatedTotals:
    """The same plans measured on simulated people, whose hidden costs no search saw."""

    people: int
    satisfied: float  # FS@1: share of them with an option that costs them less than 1
    covered: float  # Cov: share of them with a possible option
    cost: float  # PAC: mean cost of their cheapest option

    @classmethod
    def of(cls, plans: RecoursePlans, truth: SimulatedPeople) -> SimulatedTotals:
        """Evaluate plans on simulated people; NaN where no person is in need."""
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
        """Return pairs of a description and a value, as text."""
        return [
            ("Simulated people, each with a hidden cost function", str(self.people)),
            ("FS@1: have an option that costs them less than 1", percent(self.satisfied)),
            ("Cov: have an option that they can take at all", percent(self.covered)),
            ("PAC: what their cheapest option costs, on average", _number(self.cost, ".2f")),
        ]


def percent(share: float) -> str:
    """Return a share as a percentage, or a dash where it is undefined."""
    return "–" if np.isnan(share) else f"{share:.0%}"


def _number(value: float, form: str) -> str:
    return "–" if np.isnan(value) else format(value, form)


def _mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    return float(values.mean()) if len(values) else float("nan")
