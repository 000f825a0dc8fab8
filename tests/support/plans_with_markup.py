"""Plans to report on, with labels and values that a careless page would take for markup."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import leastways as lw

NASTY = '<b>pay & "perks"</b>'
JOB = "<script>alert('x')</script>"


def frame(rows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "pay": rng.integers(10, 60, rows),
            "job": rng.choice([JOB, "cook & co", "[bold]clerk[/bold]"], rows),
            "late": rng.integers(0, 5, rows),
        },
        index=[f"p<{n}>" for n in range(rows)],
    )


def chance(rows: pd.DataFrame) -> Any:
    score = rows["pay"] / 15.0 - rows["late"] - (rows["job"] == JOB)
    return 1 / (1 + np.exp(-(score - 1.5)))


def schema() -> lw.Schema:
    settings = {"pay": {"label": NASTY, "unit": "$a$"}, "late": {"direction": "down", "label": "$1 fees_{in x"}}
    return lw.Schema.infer(frame()).update(settings)


@cache
def plans() -> lw.RecoursePlans:
    """Some with options, some accepted already, one with a row that cannot be used."""
    people = frame().astype({"pay": float})
    people.iloc[3, 0] = np.nan
    recourse = lw.Recourse(chance, schema(), n_options=3, budget=80, n_costs=30)
    return recourse.fit(frame()).recommend(people)


@cache
def truth() -> lw.SimulatedPeople:
    return lw.simulate_people(frame(), schema(), frame())


@cache
def nobody() -> lw.RecoursePlans:
    """Plans of people who are all accepted."""
    return (
        lw.Recourse(lambda rows: np.ones(len(rows)), schema(), n_options=3, budget=80, n_costs=30)
        .fit(frame())
        .recommend(frame())
    )


@cache
def mixed() -> lw.RecoursePlans:
    """Two people each who are accepted, for whom there is no way, and who have options, one after the other."""
    accepted, hopeless, torn = "cook & co", JOB, "[bold]clerk[/bold]"
    rules = {"job": {"direction": "fixed"}, "pay": {"direction": "up"}}

    def verdict(rows: pd.DataFrame) -> Any:
        return (rows["job"] == accepted) | ((rows["job"] == torn) & (rows["pay"] > 40))

    people = frame(6).assign(pay=[20, 59, 20, 30, 20, 30], job=[accepted, hopeless, torn] * 2, late=[1, 0, 1, 1, 1, 1])
    recourse = lw.Recourse(verdict, schema().update(rules), n_options=3, budget=80, n_costs=30)
    return recourse.fit(frame()).recommend(people)


@cache
def hopeless() -> lw.RecoursePlans:
    """Plans of people whom the model hardly ever accepts, and never within what they can change."""
    recourse = lw.Recourse(chance, schema(), n_options=3, budget=80, n_costs=30, threshold=0.9999)
    return recourse.fit(frame()).recommend(frame())
