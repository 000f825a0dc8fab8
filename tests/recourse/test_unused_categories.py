"""Categories that no training row has: nobody is led there, and encoders that do not know them stay fast."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from leastways.batch.parts import grid_rows
from leastways.errors import SchemaError
from leastways.evaluation import oracle
from leastways.models import TorchModel
from leastways.recourse import Recourse
from leastways.schema import Schema
from leastways.search import COLS
from tests.support.mixed_table import PEOPLE, TRAIN, Whole, Y, encoder

SCHOOL = pd.CategoricalDtype(["none", "low", "mid", "top", "higher"], ordered=True)  # of which low, mid, top occur
WIDE = TRAIN.astype({"school": SCHOOL})
SCHEMA = Schema.infer(WIDE)
STRICT = make_pipeline(encoder(), LogisticRegression(max_iter=1000)).fit(WIDE, Y)  # refuses categories it has not seen


def recourse(model: object, method: str | COLS = "guided") -> Recourse:
    return Recourse(model, SCHEMA, method, n_options=3, budget=80, n_costs=40).fit(WIDE)


def test_encoder_refuses_unused_categories() -> None:
    with pytest.raises(ValueError, match="unknown categor"):
        STRICT.predict(WIDE.assign(school=pd.Categorical(["higher"] * len(WIDE), dtype=SCHOOL)))


def _with_gaps() -> Pipeline:
    """A model whose encoder makes a gap of what it does not know."""
    lenient = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    return make_pipeline(encoder().set_params(ordinal=lenient), LogisticRegression(max_iter=1000)).fit(WIDE, Y)


@pytest.mark.parametrize("model", [STRICT, _with_gaps()], ids=["strict", "gaps"])
@pytest.mark.parametrize("method", ["guided", COLS(proposals="paper")], ids=["guided", "paper"])
def test_plans_equal_those_by_frames_and_avoid_unused_categories(model: Pipeline, method: str | COLS) -> None:
    people = PEOPLE.astype({"school": SCHOOL})
    fast, slow = recourse(model, method).recommend(people), recourse(Whole(model, 1), method).recommend(people)
    assert fast.settings["model_path"] == "tabulated"
    assert slow.settings["model_path"].startswith("plain")
    for name in ("summary", "options", "failed_rows"):
        pd.testing.assert_frame_equal(getattr(fast, name), getattr(slow, name), check_exact=True)
    assert not len(fast.failed_rows)
    assert len(fast.options)
    assert set(fast.options["school"]) <= {"low", "mid", "top"}


def test_person_in_an_unused_category_does_not_affect_the_others() -> None:
    people = PEOPLE.astype({"school": SCHOOL})
    people.loc["p0", "school"] = "higher"
    plans = recourse(STRICT).recommend(people)
    assert "plain for 1 person" in plans.settings["model_path"]
    assert plans.summary["status"].iloc[0] == "invalid_input"
    assert "unknown categor" in plans.summary["reason"].iloc[0]
    others = recourse(STRICT).recommend(people.iloc[1:])
    pd.testing.assert_frame_equal(plans.summary.iloc[1:], others.summary)


@pytest.mark.parametrize("method", ["guided", "ar", "face-knn"])
def test_values_that_an_encoder_knows_are_tabulated_beside_those_it_refuses(method: str) -> None:
    """A person's present value may be an excluded value of any feature."""
    schema = SCHEMA.update(job={"excluded": ["cook"]}, age={"excluded": [20, 33, 34]})
    people = PEOPLE.astype({"school": SCHOOL})
    assert (people["job"] == "cook").any()
    plans = Recourse(STRICT, schema, method, n_options=3, budget=80, n_costs=40).fit(WIDE).recommend(people)
    assert plans.settings["model_path"] == "tabulated"
    assert set(plans.summary["status"]) <= {"found", "none_found", "already_positive"}
    assert {"found", "already_positive"} <= set(plans.summary["status"])


def test_gradients_pass_such_an_encoder() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("dice_ml")
    torch.manual_seed(0)
    fitted = encoder().fit(WIDE)
    width = fitted.transform(WIDE).shape[1]
    module = torch.nn.Sequential(torch.nn.Linear(width, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    model = TorchModel(module, lambda frame: fitted.transform(frame).astype(np.float32))
    rec = Recourse(model, SCHEMA, "dice", n_options=2, budget=60, n_costs=20, threshold=0.5).fit(WIDE)
    plans = rec.recommend(PEOPLE.astype({"school": SCHOOL}).head(4))
    assert not len(plans.failed_rows)
    assert set(plans.options["school"]) <= {"low", "mid", "top"}


def test_another_model_is_noticed_when_a_run_of_many_people_goes_on() -> None:
    cities = [f"c{i}" for i in range(60)]
    frame = WIDE.assign(
        **{name: pd.Categorical(np.array(cities)[np.arange(len(WIDE)) % 2], cities) for name in ("a", "b")}
    )
    rows = grid_rows(Schema.infer(frame), 64)
    assert set(rows["a"]) == set(rows["b"]) == {"c0", "c1"}


def test_oracle_never_uses_unused_categories() -> None:
    """Excluded values are not used even where their stated cost is 0 and that of the permitted value is high."""
    person = PEOPLE.astype({"school": SCHOOL}).query("school == 'low'").head(1)
    told = {"school": {"higher": 0.0, "none": 0.0, "mid": 0.9}}
    found = oracle(lambda frame: (frame["school"] != "low").to_numpy(float), SCHEMA, person, told)
    assert found.cost == 0.9
    assert found.state is not None
    assert found.state["school"] == "mid"


def test_excluded_categories_are_shown() -> None:
    assert "'higher'; excluded: 'none', 'higher'" in str(SCHEMA)
    assert "; excluded: " in SCHEMA._repr_html_()
    with pytest.raises(SchemaError, match="leaves out 'none', 'higher', which the column knows"):
        SCHEMA.update(school={"order": ["low", "mid", "top"]})


def test_unused_categories_can_be_offered_by_request() -> None:
    schema = SCHEMA.update(school={"excluded": []})
    assert schema.by_name["school"].excluded == ()
