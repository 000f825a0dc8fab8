"""The last rounds of guided search: nobody is asked for more where the search can find out that less would do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leastways as lw
from leastways.search import Questions
from leastways.search.guided.closing_kernels import smaller_code
from tests.support import reference_kernels as reference
from tests.support.small_worlds import evaluator_of, make_problem, make_world, seeds

CREDIT = lw.datasets.load_credit()
_TEXT = make_column_selector(dtype_exclude="number")
LOGISTIC = make_pipeline(
    make_column_transformer((OneHotEncoder(), _TEXT), remainder=StandardScaler()), LogisticRegression(max_iter=1000)
).fit(CREDIT.X, CREDIT.y)
REFUSED = CREDIT.people[LOGISTIC.predict(CREDIT.people) == 0].head(60)


def smaller_states(schema: lw.Schema, people: pd.DataFrame, options: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Every state that stops earlier than an option in one ordered feature; and which option each is of."""
    encoded = schema.encode(people)
    whose = encoded.index.get_indexer(pd.Index(options["person"]))
    codes = schema.encode_options(options, encoded, whose)
    rows, of = [], []
    for o, (option, p) in enumerate(zip(codes, whose, strict=True)):
        for f, feature in enumerate(schema.features):
            own, far = int(encoded.codes[p, f]), int(option[f])
            if feature.ordered and far != own:
                sign = 1 if far > own else -1
                for code in range(own + sign, far, sign):
                    rows.append(np.where(np.arange(len(option)) == f, code, option))
                    of.append(o)
    return schema.decode(np.array(rows, np.int32), encoded, whose[of]), np.array(of)


def share_too_large(method: Any, budget: int) -> float:
    """The share of options of which one change could be smaller, with all others as they are."""
    recourse = lw.Recourse(LOGISTIC, CREDIT.schema(), method, budget=budget, n_costs=300).fit(CREDIT.train)
    options = recourse.recommend(REFUSED).options
    frame, of = smaller_states(CREDIT.schema(), REFUSED, options)
    return len(set(of[LOGISTIC.predict(frame) == 1])) / len(options)


def test_options_of_a_smooth_model_are_as_small_as_can_be() -> None:
    assert share_too_large("guided", 200) < 0.03
    assert share_too_large(lw.Guided(without=("shrink",)), 200) > 0.1


@settings(max_examples=25)
@given(seeds, st.booleans())
def test_next_smaller_change_equals_the_reference_implementation(seed: int, rules: bool) -> None:
    world = make_world(seed % 50, rules=rules)
    people = world.refused().head(3)
    problem, encoded = make_problem(world, people, budget=60, seed=seed % 7)
    evaluate, run = evaluator_of(world, encoded), lw.Guided().start(problem)
    left = np.full(len(people), 60)
    t, g = problem.samples.tables, run.archive
    for _ in range(8):
        questions: Questions = run.ask(left)
        if not len(questions.people):
            break
        answer, _ = evaluate(questions)
        run.tell(questions, answer, answer >= 0.5)
        left -= np.bincount(questions.people, minlength=len(people))
    looked_at = 0
    for p in range(len(people)):
        for option in g.asked[p, g.valid[p, : g.n_valid[p]]]:
            for f in np.flatnonzero(t.space.ordered & (option != t.space.start[p])).tolist():
                for halve in (True, False):
                    mine = smaller_code(t, g, p, option, f, -1.3, halve)
                    assert mine == reference.smaller_code(t, g, p, option, f, -1.3, halve)
                    looked_at += mine >= 0
    assert looked_at or not g.n_valid.any() or not len(people)


@pytest.mark.parametrize("budget", [30, 100])
def test_shrunk_options_do_not_depend_on_the_other_people(budget: int) -> None:
    recourse = lw.Recourse(LOGISTIC, CREDIT.schema(), n_options=4, budget=budget, n_costs=100).fit(CREDIT.train)
    together = recourse.recommend(REFUSED.head(12))
    for label in REFUSED.index[:12]:
        alone = recourse.recommend(REFUSED.loc[[label]])
        assert alone[label].options == together[label].options
        assert alone.summary["queries"].tolist() == together.summary.loc[[label], "queries"].tolist()
