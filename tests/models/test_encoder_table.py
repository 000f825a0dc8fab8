"""An encoder table gives what the encoder gives; encoders that cannot be tabulated are found, with a reason."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import __version__ as sklearn_text
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leastways.models import as_model, encoder_table
from leastways.models.base import Split
from leastways.models.encoder_table import FastPath, FastPeople, bits
from leastways.schema import Schema
from tests.support.mixed_table import NUMBERS, PEOPLE, SCHEMA, TRAIN, Whole, Y, encoder

NUMERIC = Schema.infer(TRAIN[NUMBERS]).update(income={"min": 0, "max": 12_000, "step": 500})
sklearn_version = tuple(int(number) for number in sklearn_text.split(".")[:2])
LOGISTIC = make_pipeline(encoder(), LogisticRegression(max_iter=1000)).fit(TRAIN, Y)


def table_of(model: Any, schema: Schema = SCHEMA, people: pd.DataFrame = PEOPLE) -> FastPeople | str:
    """The table, if it holds for all, or why it does not."""
    fast_path = FastPath.find(as_model(model, 1), schema)
    table = fast_path.people(schema.encode(people[list(schema.names)]))
    if table is None:
        return fast_path.reason
    return table if table.held.all() else table.reason


class Halves:
    """A made-up model with a given encoder and a fixed linear decision."""

    def __init__(self, encode: Callable[[pd.DataFrame], Any]) -> None:
        self.encode = encode
        self.frames = 0

    def decide(self, array: Any) -> NDArray[np.float64]:
        """A logistic function of the mean of a row."""
        return np.asarray(1 / (1 + np.exp(-array.mean(axis=1, dtype=np.float64) / 1000)))

    def probability(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Both halves."""
        self.frames += 1
        return self.decide(np.asarray(self.encode(frame)))

    def split(self) -> Split:
        """The halves."""
        return Split(self.encode, (self.decide,), (self,))


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**16), st.integers(1, 12), st.booleans())
def test_gathered_rows_are_the_encoder_s(seed: int, n_people: int, sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    people = SCHEMA.encode(PEOPLE.iloc[rng.permutation(len(PEOPLE))[:n_people]])
    columns = encoder(sparse).fit(TRAIN)
    table = FastPath.find(Halves(lambda frame: dense(columns.transform(frame))), SCHEMA).people(people)
    assert isinstance(table, FastPeople), table
    who = rng.integers(0, n_people, 50)
    used = np.array([len(f.values) for f in SCHEMA.features]) + (people.inserted_at[who] >= 0)
    codes = (rng.random(used.shape) * used).astype(np.int32)
    codes = np.where(rng.random(codes.shape) < 0.3, people.codes[who], codes)
    wanted = dense(columns.transform(SCHEMA.decode(codes, people, who)))
    assert np.array_equal(bits(table.gather(codes, who)), bits(wanted))


def dense(encoded: Any) -> NDArray[Any]:
    return np.asarray(encoded.toarray() if hasattr(encoded, "toarray") else encoded)


def test_blocks_of_people_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide encoders: not all people are encoded at once, and the result is the same."""
    whole = table_of(LOGISTIC)
    monkeypatch.setattr(encoder_table, "_CELLS", 300)
    parts = table_of(LOGISTIC)
    assert isinstance(whole, FastPeople)
    assert isinstance(parts, FastPeople)
    assert np.array_equal(bits(whole.own), bits(parts.own))


def test_own_values_between_grid_points_are_kept() -> None:
    table = table_of(LOGISTIC)
    assert isinstance(table, FastPeople)
    people = SCHEMA.encode(PEOPLE)
    assert (people.inserted_at >= 0).any(axis=1).all()
    now = table.probability(people.codes, np.arange(len(PEOPLE)))
    assert np.array_equal(now, LOGISTIC.predict_proba(SCHEMA.decode(people))[:, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64, np.bool_])
def test_numbers_may_have_any_dtype(dtype: Any) -> None:
    def encode(frame: pd.DataFrame) -> NDArray[Any]:
        return np.stack([frame["age"] > 30, frame["job"] == "cook", frame["age"] < 50], axis=1).astype(dtype)

    table = table_of(Halves(encode))
    assert isinstance(table, FastPeople), table
    people = SCHEMA.encode(PEOPLE)
    rows = table.gather(people.codes, np.arange(len(PEOPLE)))
    assert rows.dtype == dtype
    assert np.array_equal(rows, encode(SCHEMA.decode(people)))


def test_encoded_rows_may_have_several_axes() -> None:
    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        return np.asarray(frame[NUMBERS].to_numpy(dtype=np.float64)[:, :, None] * [1.0, 2.0])

    class Deep(Halves):
        def decide(self, array: Any) -> NDArray[np.float64]:
            return super().decide(array[:, :, 1])

    table = table_of(Deep(encode), NUMERIC)
    assert isinstance(table, FastPeople), table
    people = NUMERIC.encode(PEOPLE[NUMBERS])
    wanted = Deep(encode).probability(NUMERIC.decode(people))
    assert np.array_equal(table.probability(people.codes, np.arange(40)), wanted)


def two_columns(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(ratio=frame["income"] / (1 + frame["debt"]))


@pytest.mark.parametrize(
    "step",
    [
        PolynomialFeatures(2),
        PCA(2),
        Normalizer(),
        FunctionTransformer(two_columns),
        make_pipeline(StandardScaler(), PCA(3)),
    ],
    ids=["polynomial", "pca", "row norm", "ratio", "nested"],
)
def test_columns_that_combine_features_are_found(step: Any) -> None:
    model = make_pipeline(step, StandardScaler(), LogisticRegression()).fit(TRAIN[NUMBERS], Y)
    reason = table_of(model, NUMERIC)
    assert isinstance(reason, str)
    assert "several features" in reason


def test_an_interaction_that_the_first_row_hides_is_found() -> None:
    middle = {f.name: f.values[len(f.values) // 2] for f in NUMERIC.features}

    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        x = frame.to_numpy(dtype=np.float64)
        both = (frame["age"] != middle["age"]) & (frame["income"] != middle["income"])
        return np.asarray(x + both.to_numpy(dtype=np.float64)[:, None] * [0, 1, 0])

    reason = table_of(Halves(encode), NUMERIC)
    assert reason == "the encoder does not treat each column by itself"


def test_an_encoder_that_uses_other_rows_is_found() -> None:
    reason = table_of(Halves(lambda frame: frame.to_numpy(dtype=np.float64) - frame["age"].mean()), NUMERIC)
    assert isinstance(reason, str)


def test_an_encoder_with_a_memory_is_found() -> None:
    calls = iter(range(1000))
    reason = table_of(Halves(lambda frame: frame.to_numpy(dtype=np.float64) + next(calls)), NUMERIC)
    assert reason == "the encoder does not treat each column by itself"


def test_an_encoder_that_raises_on_the_grid_is_not_tabulated() -> None:
    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        if (frame["income"] > 11_000).any():
            raise OverflowError("nobody earns that")
        return frame.to_numpy(dtype=np.float64)

    assert table_of(Halves(encode), NUMERIC) == "the encoder raised OverflowError: nobody earns that"


def test_an_encoder_that_differs_between_grid_points_is_found() -> None:
    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        x = frame.to_numpy(dtype=np.float64)
        odd = frame["income"].to_numpy() % 500 != 0
        return np.column_stack([x, np.where(odd, x[:, 0], 0.0)])

    reason = table_of(Halves(encode), NUMERIC)
    assert reason == "the encoder treats some people's values differently from the grid's"
    on_grid = PEOPLE.assign(income=500.0)
    assert isinstance(table_of(Halves(encode), NUMERIC, on_grid), FastPeople)


@pytest.mark.parametrize(
    ("encode", "reason"),
    [
        (lambda frame: frame.to_numpy(dtype=object), "object, not plain numbers"),
        (lambda frame: frame, "DataFrame, not an array"),
        (lambda frame: frame["age"].to_numpy(), "returns shape"),
        (lambda frame: frame.iloc[1:].to_numpy(dtype=float), "rows for"),
        (lambda frame: np.where(frame > 40, np.nan, frame), "missing or too large"),
        (lambda frame: frame.to_numpy(dtype=float) * 1e300, "missing or too large"),
        (lambda frame: np.zeros((len(frame), 300_000), np.int8), "too wide"),
    ],
)
def test_unusable_outputs_are_refused(encode: Any, reason: str) -> None:
    with np.errstate(over="ignore"):
        told = table_of(Halves(encode), NUMERIC)
    assert isinstance(told, str)
    assert reason in told


def test_halves_that_do_not_make_the_model_are_not_used() -> None:
    class Liar(Halves):
        def probability(self, frame: pd.DataFrame) -> NDArray[np.float64]:
            return np.nextafter(super().probability(frame), 1.0)

    fast_path = FastPath.find(Liar(lambda frame: frame.to_numpy(dtype=float)), NUMERIC)
    assert "answers differently from the whole model" in fast_path.reason
    assert fast_path.setup_rows > 0


class Sums(Halves):
    """A model that offers two decisions, of which the first is a little off: by the last digit, of few rows."""

    def __init__(self, off: Callable[[Any], Any], encode: Callable[[pd.DataFrame], Any] | None = None) -> None:
        super().__init__(encode or (lambda frame: frame.to_numpy(dtype=float)))
        self.off = off

    def split(self) -> Split:
        """The decision that is off, and the right one."""
        return Split(self.encode, (self.nearly, self.decide), (self,))

    def nearly(self, array: Any) -> NDArray[np.float64]:
        right = self.decide(array)
        return np.where(self.off(array), np.nextafter(right, 1.0), right)


@pytest.mark.parametrize(
    "off",
    [
        lambda array: array[:, 1] % 500 != 0,  # none of the grid: a sum that is rounded there alone
        lambda array: np.arange(len(array)) >= len(array) // 4 * 4,  # those left over when rows are taken by fours
        lambda array: (np.arange(len(array)) >= len(array) // 8 * 8) & (len(array) > 8),
        lambda array: array.flags.c_contiguous & (len(array) > 1),
    ],
)
def test_decisions_wrong_on_few_rows_are_found(off: Any) -> None:
    model = Sums(off)
    table = table_of(model, NUMERIC)
    assert isinstance(table, FastPeople), table
    people = NUMERIC.encode(PEOPLE[NUMBERS])
    for rows in (1, 2, 3, 6, 11, 40):
        codes = people.codes[:rows]
        wanted = model.probability(NUMERIC.decode(codes, people, np.arange(rows)))
        assert np.array_equal(table.probability(codes, np.arange(rows)), wanted)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_decision_is_used_in_the_memory_order_in_which_it_is_right(order: str) -> None:
    model = Sums(lambda array: not array.flags[f"{order}_CONTIGUOUS"])
    assert model.encode(TRAIN[NUMBERS]).flags.f_contiguous  # so that this order is tried first
    fast_path = FastPath.find(model, NUMERIC)
    assert fast_path.model is not None
    assert (fast_path.model.decision, fast_path.model.order) == (0, order)


@pytest.mark.parametrize("warns", [False, True])
def test_encoders_that_know_the_grid_s_numbers_only_keep_the_table(warns: bool) -> None:
    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        if (frame["income"] % 500 != 0).any():
            if not warns:
                raise ValueError("unknown category")
            warnings.warn("unknown category", UserWarning, stacklevel=1)
        return frame.to_numpy(dtype=float)

    fast_path = FastPath.find(Sums(lambda array: False, encode), NUMERIC)
    assert fast_path.model is not None, fast_path.reason
    assert fast_path.model.decision == 0


CODED = pd.DataFrame({"age": TRAIN["age"] + 0.5, "grade": TRAIN["school"].cat.codes + 1.0, "debt": TRAIN["debt"]})


def hot_inside(handle_unknown: str) -> Any:
    """A pipeline in the last step of another, with categories written as numbers."""
    hot = make_column_transformer((OneHotEncoder(handle_unknown=handle_unknown), ["grade"]), remainder="passthrough")
    return make_pipeline(hot, DecisionTreeClassifier(max_depth=3, random_state=0))


@pytest.mark.parametrize("handle_unknown", ["error", "warn"])
@pytest.mark.parametrize(
    "wrap", [CalibratedClassifierCV, lambda inner: VotingClassifier([("a", inner)], voting="soft")]
)
def test_last_steps_that_know_the_grid_s_numbers_only_keep_the_table(wrap: Any, handle_unknown: str) -> None:
    if handle_unknown == "warn" and sklearn_version < (1, 6):
        pytest.skip("came with scikit-learn 1.6")
    model = wrap(hot_inside(handle_unknown)).fit(CODED, Y)
    schema = Schema.infer(CODED).update(grade={"kind": "real", "grid": [1.0, 2.0, 3.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # users are not told of rows of ours
        fast_path = FastPath.find(as_model(model, 1), schema)
    assert fast_path.model is not None, fast_path.reason
    assert fast_path.setup_rows >= 3 * 256  # on rows of no use, on the grid's, and by the decision


def test_a_model_that_raises_everywhere_gives_its_reason() -> None:
    class Broken(Halves):
        def probability(self, frame: pd.DataFrame) -> NDArray[np.float64]:
            raise OSError("disk on fire")

    fast_path = FastPath.find(Broken(lambda frame: frame.to_numpy(dtype=float)), NUMERIC)
    assert fast_path.reason == "the model raised OSError: disk on fire"


def test_grids_may_span_the_whole_float_range() -> None:
    schema = Schema.infer(TRAIN[NUMBERS]).update(income={"grid": [-1.7e308, 0.0, 1.7e308]})
    between = partial(np.isin, test_elements=[-170.0, 0.0, 170.0], invert=True)
    wide = Sums(lambda array: between(array[:, 1].round()), lambda frame: frame.to_numpy(dtype=float) / [1, 1e306, 1])
    fast_path = FastPath.find(wide, schema)
    assert fast_path.model is not None, fast_path.reason
    assert fast_path.model.decision == 1  # the first is right on the grid's numbers


def test_models_without_a_separate_encoder_are_not_evaluated() -> None:
    fast_path = FastPath.find(Whole(LOGISTIC), SCHEMA)
    assert (fast_path.model, fast_path.setup_rows) == (None, 0)
    assert "does not part" in fast_path.reason
    assert FastPath.find(as_model(lambda frame: np.zeros(len(frame)), 1), SCHEMA).model is None


def test_the_table_is_kept_until_the_model_is_fitted_again() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(TRAIN[NUMBERS], Y)
    first = FastPath.find(as_model(model, 1), NUMERIC)
    kept = FastPath.find(as_model(model, 1), NUMERIC, first)
    assert first.model is not None
    assert kept.model is not None
    assert kept.model.table is first.model.table
    model.fit(TRAIN[NUMBERS].iloc[:100], Y[:100])
    again = FastPath.find(as_model(model, 1), NUMERIC, first)
    assert again.model is not None
    assert again.model.table is not first.model.table


def test_another_target_needs_no_new_table() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(TRAIN[NUMBERS], Y)
    one = FastPath.find(as_model(model, 1), NUMERIC)
    zero = FastPath.find(as_model(model, 0), NUMERIC, one)
    people = NUMERIC.encode(PEOPLE[NUMBERS])
    table = zero.people(people)
    assert isinstance(table, FastPeople)
    answers = table.probability(people.codes, np.arange(len(PEOPLE)))
    assert np.array_equal(answers, model.predict_proba(PEOPLE[NUMBERS])[:, 0])


@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_a_row_that_the_encoder_refuses_affects_no_other_person(scale: float) -> None:
    """The others keep the table, whether or not they share a call with the refused row."""

    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        if (frame["income"] == 123.0).any():
            raise ValueError("not this one")
        return scale * frame.to_numpy(dtype=np.float64)

    bad = [0, 3, len(PEOPLE) - 1]
    people = PEOPLE[NUMBERS].assign(income=np.where(np.isin(np.arange(len(PEOPLE)), bad), 123.0, PEOPLE["income"]))
    table = FastPath.find(Halves(encode), NUMERIC).people(NUMERIC.encode(people))
    assert table is not None
    assert np.flatnonzero(~table.held).tolist() == bad
    assert table.reason == "ValueError from the encoder: not this one"
    rest = np.flatnonzero(table.held)
    encoded = NUMERIC.encode(people)
    assert np.array_equal(table.gather(encoded.codes[rest], rest), encode(people.iloc[rest]))


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 40), st.integers(0, 2**16))
def test_held_does_not_depend_on_the_rest_of_the_batch(modulus: int, seed: int) -> None:
    """An encoder that mixes two columns in some states."""

    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        x = frame.to_numpy(dtype=np.float64)
        mixed = (x[:, 0] + x[:, 1] // 1) % modulus == 1
        return np.column_stack([x, mixed & (x[:, 1] % 500 != 0)])  # on the grid nothing is mixed

    rng = np.random.default_rng(seed)
    people = PEOPLE[NUMBERS].iloc[rng.permutation(len(PEOPLE))[:12]]
    people = people.assign(income=np.where(rng.random(12) < 0.5, people["income"], people["income"] // 500 * 500))
    on_grid = people["income"] % 500 == 0
    fast_path = FastPath.find(Halves(encode), NUMERIC)
    encoded = NUMERIC.encode(people)
    together = fast_path.people(encoded)
    assert together is not None, fast_path.reason
    assert together.held[on_grid].all()
    if modulus == 2 and (~on_grid).sum() > 4:  # of few, the rows looked at may happen to show nothing
        assert not together.held.all()
    for place in range(len(people)):
        alone = fast_path.people(encoded.take(np.array([place])))
        assert alone is not None
        assert alone.held[0] == together.held[place]


def test_options_that_the_encoder_refuses_affect_no_others() -> None:
    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        if forbidden and (frame["debt"] == 7).any():
            raise ValueError("not seven")
        return frame.to_numpy(dtype=np.float64)

    forbidden = False
    people = NUMERIC.encode(PEOPLE[NUMBERS])
    table = FastPath.find(Halves(encode), NUMERIC).people(people)
    assert table is not None
    forbidden = True
    who = np.arange(len(PEOPLE))
    codes = people.codes.copy()
    codes[:, 2] = np.where(who % 5 == 2, 7, 3) - NUMERIC.features[2].values[0]
    frame = NUMERIC.decode(codes, people, who)
    assert np.array_equal(table.differs(codes, who, frame), frame["debt"] == 7)
