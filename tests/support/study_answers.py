"""Plans of two methods for the same people, and annotators who follow the hidden cost functions of those people."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from experiments.study import document
from experiments.study import simulated_answers as answers_by_cost

import leastways as lw
from leastways.study import Study

N_PEOPLE = 40


@cache
def credit() -> tuple[Any, lw.Schema, Any]:
    """The embedded loan data, its schema, and some people whom its model refuses."""
    data = lw.datasets.load_credit()
    assert data.model is not None
    return data, data.schema(), data.people[data.model(data.people) < 0.5].head(N_PEOPLE)


@cache
def plans(method: str = "guided", seed: int = 0) -> lw.RecoursePlans:
    data, schema, people = credit()
    recourse = lw.Recourse(data.model, schema, method, n_options=4, budget=150, n_costs=60, random_state=seed)
    return recourse.fit(data.train).recommend(people)


@cache
def truth() -> lw.SimulatedPeople:
    data, schema, people = credit()
    return lw.simulate_people(people, schema, data.train, random_state=3)


def save(study: Study, annotator: str, answers: list[dict[str, Any]], folder: Path, name: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / (name or f"answers-{annotator}.json")
    path.write_text(json.dumps(document(study, annotator, answers)), encoding="utf-8")
    return path


def simulated_answers(
    study: Study,
    annotator: str,
    offered: dict[str, lw.RecoursePlans],
    noise: float = 0.1,
    margin: float = 0.02,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Answer by the hidden cost functions of `truth`."""
    labels = next(iter(offered.values())).summary.index
    costs = pd.DataFrame({name: truth().min_costs(p) for name, p in offered.items()}, index=labels)
    return answers_by_cost(study, annotator, costs, noise, margin, seed)


def answered(study: Study, offered: dict[str, lw.RecoursePlans], folder: Path, **how: Any) -> Path:
    """Let all annotators of a study answer; returns the folder with their files."""
    for annotator in study.annotators:
        save(study, annotator, simulated_answers(study, annotator, offered, **how), folder)
    return folder
