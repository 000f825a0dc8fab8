"""Plans of two methods for the same people, and annotators who follow the hidden cost functions of those people."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

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


def document(study: Study, annotator: str, answers: list[dict[str, Any]]) -> dict[str, Any]:
    """What a form saves."""
    return {
        "format": "leastways study answers",
        "version": 1,
        "study": study.id,
        "annotator": annotator,
        "form": study.checksums[annotator],
        "saved": "2024-05-01T12:00:00.000Z",
        "answers": answers,
    }


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
    """Answer as the person would: the set whose cheapest option is cheaper under their hidden cost function.

    Within `margin` there is no preference; a set is reasonable if it has an option below cost 1. Each answer is
    replaced by a random one with probability `noise`.
    """
    draw = np.random.default_rng([seed, *annotator.encode()])
    costs = {
        name: dict(zip(p.summary.index.tolist(), truth().min_costs(p).tolist(), strict=True))
        for name, p in offered.items()
    }
    answers = []
    for item in study.tasks[annotator]:
        a, b = (costs[study.method_shown(annotator, item, side)][study.people[item]] for side in "AB")
        close = a == b or abs(a - b) <= margin
        given = {
            "prefer": "none" if close else ("A" if a < b else "B"),
            "reasonable_A": "yes" if a < 1 else "no",
            "reasonable_B": "yes" if b < 1 else "no",
        }
        for question in given:
            if draw.random() < noise:
                given[question] = str(draw.choice(["A", "B", "none"] if question == "prefer" else ["yes", "no"]))
        answers.append({"item": item, **given})
    return answers


def answered(study: Study, offered: dict[str, lw.RecoursePlans], folder: Path, **how: Any) -> Path:
    """Let all annotators of a study answer; returns the folder with their files."""
    for annotator in study.annotators:
        save(study, annotator, simulated_answers(study, annotator, offered, **how), folder)
    return folder
