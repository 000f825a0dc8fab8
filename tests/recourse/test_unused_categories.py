"""Categories that no training row has: nobody is led there, and encoders that do not know them stay fast."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from leastways.recourse import Recourse
from leastways.schema import Schema
from tests.models.mixed import PEOPLE, TRAIN, Whole, Y, encoder

SCHOOL = pd.CategoricalDtype(["none", "low", "mid", "top", "higher"], ordered=True)  # of which low, mid, top occur
WIDE = TRAIN.astype({"school": SCHOOL})
SCHEMA = Schema.infer(WIDE)
STRICT = make_pipeline(encoder(), LogisticRegression(max_iter=1000)).fit(WIDE, Y)  # refuses categories it has not seen


def recourse(model: object) -> Recourse:
    return Recourse(model, SCHEMA, n_options=3, budget=80, n_costs=40).fit(WIDE)


def test_the_encoder_refuses_them() -> None:
    with pytest.raises(ValueError, match="unknown categor"):
        STRICT.predict(WIDE.assign(school=pd.Categorical(["higher"] * len(WIDE), dtype=SCHOOL)))


def _with_gaps() -> Pipeline:
    """A model whose encoder makes a gap of what it does not know."""
    lenient = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    return make_pipeline(encoder().set_params(ordinal=lenient), LogisticRegression(max_iter=1000)).fit(WIDE, Y)


@pytest.mark.parametrize("model", [STRICT, _with_gaps()], ids=["strict", "gaps"])
def test_plans_are_those_by_frames_and_lead_to_none_of_them(model: Pipeline) -> None:
    people = PEOPLE.astype({"school": SCHOOL})
    fast, slow = recourse(model).recommend(people), recourse(Whole(model, 1)).recommend(people)
    assert fast.settings["model_path"] == "tabulated"
    assert slow.settings["model_path"].startswith("plain")
    for name in ("summary", "options", "failed_rows"):
        pd.testing.assert_frame_equal(getattr(fast, name), getattr(slow, name), check_exact=True)
    assert not len(fast.failed_rows)
    assert len(fast.options)
    assert set(fast.options["school"]) <= {"low", "mid", "top"}


def test_somebody_in_one_of_them_costs_the_others_nothing() -> None:
    people = PEOPLE.astype({"school": SCHOOL})
    people.loc["p0", "school"] = "higher"
    plans = recourse(STRICT).recommend(people)
    assert "plain for 1 person" in plans.settings["model_path"]
    assert plans.summary["status"].iloc[0] == "invalid_input"
    assert "unknown categor" in plans.summary["reason"].iloc[0]
    others = recourse(STRICT).recommend(people.iloc[1:])
    pd.testing.assert_frame_equal(plans.summary.iloc[1:], others.summary)


def test_they_can_be_offered_where_a_user_says_so() -> None:
    schema = SCHEMA.update(school={"never": []})
    assert schema.by_name["school"].never == ()
