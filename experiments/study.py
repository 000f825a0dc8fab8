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
            text = json.dumps(_document(study, annotator, costs, seed))
            (answers / f"answers-{annotator}.json").write_text(text, encoding="utf-8")
        result = analyse_study(collect_answers(study, answers))
    return costs.rename_axis("person").reset_index(), {"study": result.to_dict()}


def _document(study: Study, annotator: str, costs: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Answer a form, in the format in which it saves answers."""
    draw = np.random.default_rng([seed, *annotator.encode()])
    answers = []
    for item in study.tasks[annotator]:
        a, b = (float(costs.at[study.people[item], study.method_shown(annotator, item, side)]) for side in "AB")  # type: ignore[arg-type]
        close = a == b or abs(a - b) <= _MARGIN
        said = {
            "prefer": "none" if close else ("A" if a < b else "B"),
            "reasonable_A": "yes" if a < 1 else "no",
            "reasonable_B": "yes" if b < 1 else "no",
        }
        for question in said:
            if draw.random() < _NOISE:
                said[question] = str(draw.choice(["A", "B", "none"] if question == "prefer" else ["yes", "no"]))
        answers.append({"item": item, **said})
    return {
        "format": "leastways study answers",
        "version": 1,
        "study": study.id,
        "annotator": annotator,
        "form": study.checksums[annotator],
        "saved": "",
        "answers": answers,
    }
