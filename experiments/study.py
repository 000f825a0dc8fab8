"""The human study with simulated annotators, who answer as the hidden cost functions say.

No human answered here. What it shows: whether people who know their own costs would choose as the paper's annotators
did, by the same forms, votes and tests.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import leastways as lw
from leastways.study import Study, analyse_study, collect_answers, create_study

PEOPLE, ANNOTATORS = 100, 3
_NOISE = 0.1  # answers given at random
_MARGIN = 0.02  # costs closer than this leave no preference


def compared(
    plans: dict[str, lw.RecoursePlans], truth: lw.SimulatedPeople, seed: int
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Hold the study of two methods; return what each person's options cost, and what came of the votes."""
    (one, first), (other, second) = plans.items()
    costs = pd.DataFrame({one: truth.min_costs(first), other: truth.min_costs(second)}, index=first.summary.index)
    with TemporaryDirectory() as folder:
        study = create_study(
            first,
            second,
            Path(folder) / "study",
            methods=(one, other),
            n_people=min(PEOPLE, len(costs)),
            annotators=ANNOTATORS,
            profiles=truth,
            random_state=seed,
        )
        answers = Path(folder) / "answers"
        answers.mkdir()
        for annotator in study.annotators:
            given = simulated_answers(study, annotator, costs, _NOISE, _MARGIN, seed)
            text = json.dumps(document(study, annotator, given))
            (answers / f"answers-{annotator}.json").write_text(text, encoding="utf-8")
        result = analyse_study(collect_answers(study, answers))
    return costs.rename_axis("person").reset_index(), {"study": result.to_dict()}


def simulated_answers(
    study: Study, annotator: str, costs: pd.DataFrame, noise: float, margin: float, seed: int
) -> list[dict[str, Any]]:
    """Answer as the person would: the set whose cheapest option is cheaper by what it costs them (`costs`: by method).

    Within `margin` there is no preference; a set is reasonable if it has an option below cost 1. Each answer is
    replaced by a random one with probability `noise`.
    """
    draw = np.random.default_rng([seed, *annotator.encode()])
    answers = []
    for item in study.tasks[annotator]:
        mine: Any = costs.loc[study.people[item]]
        a, b = (float(mine[study.method_shown(annotator, item, side)]) for side in "AB")
        close = a == b or abs(a - b) <= margin
        said = {
            "prefer": "none" if close else ("A" if a < b else "B"),
            "reasonable_A": "yes" if a < 1 else "no",
            "reasonable_B": "yes" if b < 1 else "no",
        }
        for question in said:
            if draw.random() < noise:
                said[question] = str(draw.choice(["A", "B", "none"] if question == "prefer" else ["yes", "no"]))
        answers.append({"item": item, **said})
    return answers


def document(study: Study, annotator: str, answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a form saves."""
    return {
        "format": "leastways study answers",
        "version": 1,
        "study": study.id,
        "annotator": annotator,
        "form": study.checksums[annotator],
        "saved": "2024-05-01T12:00:00.000Z",
        "answers": answers,
    }
