"""What a person told us is honoured exactly, or refused with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import percentileofscore

from leastways._random import keys_of_rows
from leastways.costs import CostDistribution, CostModel, CostSamples, Preferences
from leastways.costs.kernels import fill_row
from leastways.errors import PreferenceError
from leastways.recourse import Recourse
from leastways.schema import Schema

draw = np.random.default_rng(1)
TRAIN = pd.DataFrame(
    {
        "hours": draw.integers(10, 61, 300),
        "savings": draw.gamma(2.0, 900.0, 300).round(2),
        "school": draw.choice(["none", "mid", "high"], 300),
        "job": draw.choice(["cook", "clerk", "nurse"], 300),
        "sex": draw.choice(["f", "m"], 300),
    }
)
SCHEMA = Schema.infer(TRAIN).update(
    hours={"direction": "any"},
    savings={"direction": "up"},
    school={"order": ["none", "mid", "high"]},
    sex={"direction": "fixed"},
)
OPEN = ("hours", "savings", "school", "job")


def score(frame: pd.DataFrame) -> NDArray[np.float64]:
    """A model that everything can sway."""
    jobs = frame["job"].map({"cook": 0.0, "clerk": 0.4, "nurse": 0.8}).astype(float)
    schools = frame["school"].map({"none": 0.0, "mid": 0.4, "high": 0.8}).astype(float)
    x = frame["hours"] / 40 + frame["savings"] / 3000 + jobs + schools - 2.2
    return np.asarray(1 / (1 + np.exp(-3 * x)), dtype=np.float64)


PEOPLE = TRAIN[score(TRAIN) < 0.4].head(12)


def sample(preferences: Preferences | None, people: pd.DataFrame = PEOPLE, n: int = 200, **costs: Any) -> CostSamples:
    model = CostModel.fit(SCHEMA, CostDistribution(**costs), TRAIN)
    encoded = SCHEMA.encode(people)
    return model.sample(encoded, keys_of_rows(encoded.content(), 0), n, [preferences] * len(encoded))


def costs_of(samples: CostSamples, p: int, name: str) -> dict[Any, NDArray[np.float64]]:
    """Return the costs of every value of a feature for one person, by value."""
    t, f = samples.tables, SCHEMA.position(name)
    feature, out = SCHEMA.features[f], {}
    for j in range(t.space.used[p, f]):
        fill_row(t, p, f, j)
        level = t.space.levels[p, t.space.offsets[f] + j]
        out[level if feature.numeric else feature.values[int(level)]] = t.cache.cells[
            t.cache.place[p, t.space.offsets[f] + j]
        ].copy()
    return out


@given(st.sets(st.sampled_from(OPEN), min_size=1), st.none() | st.floats(0, 1))
@settings(max_examples=25)
def test_editable_and_alpha_are_used_in_every_sample(editable: set[str], alpha: float | None) -> None:
    t = sample(Preferences(editable=sorted(editable), alpha=alpha)).tables
    drawn = ~np.isnan(t.draws.scores.swapaxes(1, 2))
    expected = np.array([name in editable for name in SCHEMA.names])
    assert (drawn == expected).all()
    np.testing.assert_allclose(np.nansum(t.draws.scores.swapaxes(1, 2), axis=2), 1.0)
    assert (t.draws.alpha == alpha).all() if alpha is not None else np.ptp(t.draws.alpha) > 0.9


@given(st.sets(st.sampled_from(OPEN), max_size=len(OPEN) - 1))
@settings(max_examples=25)
def test_locking_a_feature_does_not_affect_the_others(locked: set[str]) -> None:
    """The rest is drawn as if the locked features were fixed: uniform subset sizes, each feature equally often."""
    rest = [SCHEMA.position(name) for name in OPEN if name not in locked]
    t = sample(Preferences(locked=sorted(locked)), n=400).tables
    drawn = ~np.isnan(t.draws.scores.swapaxes(1, 2))  # [people, functions, features]
    assert not np.delete(drawn, rest, axis=2).any()
    sizes = np.bincount(drawn.sum(axis=2).ravel(), minlength=len(rest) + 1) / drawn[..., 0].size
    np.testing.assert_allclose(sizes, [0, *[1 / len(rest)] * len(rest)], atol=0.05)
    np.testing.assert_allclose(drawn[..., rest].mean(axis=(0, 1)), (len(rest) + 1) / 2 / len(rest), atol=0.05)
    for name in locked:
        f = SCHEMA.position(name)
        assert (
            t.space.allowed[:, t.space.offsets[f] : t.space.offsets[f + 1]].sum(axis=1) == 1
        ).all()  # their own value


def test_locked_features_never_change() -> None:
    rec = Recourse(score, SCHEMA, n_options=3, budget=60, n_costs=50).fit(TRAIN)
    plans = rec.recommend(PEOPLE, Preferences(locked=["savings", "job"]))
    assert set(plans.changes["feature"]) == {"hours", "school"}
    closed = rec.recommend(PEOPLE, Preferences(locked=OPEN))
    assert (closed.summary["status"] == "none_exists").all()


@given(st.dictionaries(st.sampled_from(OPEN), st.floats(0.01, 1), min_size=1))
@settings(max_examples=25)
def test_scores_are_used_as_given(weights: dict[str, float]) -> None:
    scores = {name: w / sum(weights.values()) for name, w in weights.items()}
    t = sample(Preferences(scores=scores)).tables
    for f, name in enumerate(SCHEMA.names):
        if name in scores:
            assert (t.draws.scores.swapaxes(1, 2)[:, :, f] == scores[name]).all()
        else:
            assert np.isnan(t.draws.scores.swapaxes(1, 2)[:, :, f]).all()


def test_an_editable_feature_without_a_score_has_score_zero() -> None:
    t = sample(Preferences(editable=["hours", "job"], scores={"hours": 1.0})).tables
    assert (t.draws.scores.swapaxes(1, 2)[:, :, SCHEMA.position("job")] == 0).all()
    assert (t.draws.scores.swapaxes(1, 2)[:, :, SCHEMA.position("hours")] == 1).all()


def test_costs_follow_the_scores_and_alpha_given() -> None:
    """Against the formula of the method, without noise."""
    said = Preferences(scores={"hours": 0.3, "savings": 0.7}, alpha=1.0)
    samples = sample(said, noise_std=0.0)
    for p, hours in enumerate(PEOPLE["hours"]):
        for value, cost in costs_of(samples, p, "hours").items():
            steps = (value - hours) / (60 - hours) if value > hours else (hours - value) / (hours - 10)
            np.testing.assert_allclose(cost, 0.7 * steps, atol=1e-12)


def test_percentile_costs_follow_the_fitted_data() -> None:
    """Mean rank for numbers, cumulative share in the declared order for ordinals."""
    samples = sample(Preferences(scores={"hours": 0.3, "school": 0.7}, alpha=0.0), noise_std=0.0)
    share = TRAIN["school"].value_counts(normalize=True)[["none", "mid", "high"]].cumsum()
    for p, (hours, school) in enumerate(zip(PEOPLE["hours"], PEOPLE["school"], strict=True)):
        for value, cost in costs_of(samples, p, "school").items():
            np.testing.assert_allclose(cost, 0.3 * abs(share[value] - share[school]), atol=1e-12)
        for value, cost in costs_of(samples, p, "hours").items():
            ranks = [percentileofscore(TRAIN["hours"], x, kind="rank") / 100 for x in (value, hours)]
            np.testing.assert_allclose(cost, 0.7 * abs(ranks[0] - ranks[1]), atol=1e-12)


def test_feature_with_stated_costs_is_editable_beside_the_scored_ones() -> None:
    samples = sample(Preferences(scores={"hours": 1.0}, costs={"job": {"nurse": 0.5, "cook": 0.5, "clerk": 0.5}}))
    t = samples.tables
    jobs = slice(t.space.offsets[SCHEMA.position("job")], t.space.offsets[SCHEMA.position("job") + 1])
    assert t.space.allowed[:, jobs].all()
    assert not t.space.allowed[:, t.space.offsets[SCHEMA.position("school")] :][:, :3].all()


def test_features_that_are_not_editable_have_infinite_cost() -> None:
    samples = sample(Preferences(editable=["hours"]))
    for p in range(len(PEOPLE)):
        for name in ("savings", "school", "job", "sex"):
            present = PEOPLE[name].iloc[p]
            assert all(
                (cost == (0 if v == present else np.inf)).all() for v, cost in costs_of(samples, p, name).items()
            )


@pytest.mark.parametrize(
    ("ranges", "inside"),
    [
        ({"hours": (20, 40)}, lambda v: 20 <= v <= 40),
        ({"hours": (None, 40)}, lambda v: v <= 40),
        ({"hours": {"min": 35}}, lambda v: v >= 35),
        ({"hours": [30, 50]}, lambda v: v in (30, 50)),
        ({"hours": 45}, lambda v: v == 45),
    ],
)
def test_ranges_limit_numbers(ranges: dict[str, Any], inside: Any) -> None:
    samples = sample(Preferences(editable=["hours"], ranges=ranges))
    for p, present in enumerate(PEOPLE["hours"]):
        for value, cost in costs_of(samples, p, "hours").items():
            assert np.isfinite(cost).all() == (inside(value) or value == present)


def test_ranges_limit_categories() -> None:
    samples = sample(Preferences(editable=["job", "school"], ranges={"job": ["nurse"], "school": {"none", "mid"}}))
    for p in range(len(PEOPLE)):
        jobs, schools = costs_of(samples, p, "job"), costs_of(samples, p, "school")
        assert {v for v, c in jobs.items() if np.isfinite(c).all()} == {"nurse", PEOPLE["job"].iloc[p]}
        assert {v for v, c in schools.items() if np.isfinite(c).all()} == {"none", "mid", PEOPLE["school"].iloc[p]}


def test_cost_table_replaces_the_sampled_costs() -> None:
    table = {"cook": 0.9, "clerk": 0.25, "nurse": np.inf}
    samples = sample(Preferences(costs={"job": table}))
    for p, present in enumerate(PEOPLE["job"]):
        for value, cost in costs_of(samples, p, "job").items():
            assert (cost == (0 if value == present else table[value])).all()
        assert np.isinf(costs_of(samples, p, "hours")[60]).any()  # the others are drawn as ever
        assert np.isfinite(costs_of(samples, p, "hours")[60]).any()


def test_a_full_cost_table_is_read_from_the_present_value_to_the_future_one() -> None:
    jobs = ["cook", "clerk", "nurse"]
    table = pd.DataFrame([[0, 0.1, 0.2], [0.3, 0, 0.4], [0.5, np.inf, 0]], index=jobs, columns=jobs)
    samples = sample(Preferences(costs={"job": table}))
    for p, present in enumerate(PEOPLE["job"]):
        for value, cost in costs_of(samples, p, "job").items():
            assert (cost == table.loc[present, value]).all()


def test_cost_table_of_numbers_forbids_the_values_it_omits() -> None:
    samples = sample(Preferences(editable=["hours", "job"], costs={"hours": {40: 0.5, 45.0: 0.0}}))
    for p, present in enumerate(PEOPLE["hours"]):
        costs = costs_of(samples, p, "hours")
        finite = {v: c[0] for v, c in costs.items() if np.isfinite(c).all()}
        assert finite == {40: 0.5, 45: 0.0} | {present: 0.0}


def test_all_preferences_can_be_combined() -> None:
    said = Preferences(
        editable=["hours", "savings", "job"],
        scores={"hours": 0.25, "savings": 0.75},
        alpha=0.0,
        ranges={"hours": (10, 45)},
        costs={"job": {"nurse": 0.125}},
    )
    samples = sample(said)
    t = samples.tables
    assert (t.draws.alpha == 0).all()
    assert (t.draws.scores.swapaxes(1, 2)[0, :, :2] == [0.25, 0.75]).all()
    hours, jobs = costs_of(samples, 0, "hours"), costs_of(samples, 0, "job")
    assert max(v for v, c in hours.items() if np.isfinite(c).all()) == max(45, PEOPLE["hours"].iloc[0])
    assert (jobs["nurse"] == 0.125).all()
    assert np.isinf(costs_of(samples, 0, "school")["high"]).all() or PEOPLE["school"].iloc[0] == "high"


def test_people_with_and_without_preferences_share_a_table() -> None:
    """Preferences of one person do not affect the next."""
    encoded = SCHEMA.encode(PEOPLE)
    model = CostModel.fit(SCHEMA, CostDistribution(), TRAIN)
    keys = keys_of_rows(encoded.content(), 0)
    said = Preferences(editable=["hours"], alpha=0.5)
    mixed = model.sample(encoded, keys, 50, [said, None] * 6).tables
    alone = model.sample(encoded, keys, 50, [None] * 12).tables
    np.testing.assert_array_equal(mixed.draws.scores.swapaxes(1, 2)[1::2], alone.draws.scores.swapaxes(1, 2)[1::2])
    np.testing.assert_array_equal(mixed.draws.alpha[1::2], alone.draws.alpha[1::2])
    assert (mixed.draws.alpha[::2] == 0.5).all()


def recommend(said: Preferences | dict[Any, Preferences]) -> Any:
    rec = Recourse(score, SCHEMA, n_options=4, budget=150, n_costs=60)
    return rec.fit(TRAIN).recommend(PEOPLE, preferences=said)


def test_options_stay_within_what_a_person_accepts() -> None:
    plans = recommend(Preferences(editable=["hours", "job"], ranges={"hours": (15, 55)}))
    assert set(plans.summary["status"]) >= {"found"}
    assert set(plans.changes["feature"]) <= {"hours", "job"}
    hours = plans.changes[plans.changes["feature"] == "hours"]["to"].astype(int)
    assert hours.between(15, 55).all()


def test_a_cheap_move_that_a_person_names_is_taken() -> None:
    """Savings up to 9,000 at cost 0: every option uses them, and all samples are served at no cost."""
    target = SCHEMA.by_name["savings"].values[-1]
    plans = recommend(Preferences(editable=["savings"], costs={"savings": {target: 0.0}}))
    assert (plans.summary["emc"] == 0).all()
    np.testing.assert_allclose(plans.summary["covered"], 1.0)
    assert (plans.options["savings"] == target).all()


def test_preferences_by_person() -> None:
    first, second = PEOPLE.index[:2]
    plans = recommend({first: Preferences(editable=["hours"]), second: Preferences(editable=["job"])})
    changed = plans.changes.groupby("person")["feature"].agg(set)
    assert changed.get(first, set()) <= {"hours"}
    assert changed.get(second, set()) <= {"job"}
    assert any(len(changed[p]) > 1 for p in PEOPLE.index[2:] if p in changed)


MISTAKES: list[tuple[Preferences, str]] = [
    (Preferences(editable=["hour"]), "editable names 'hour', which is no feature. Did you mean 'hours'?"),
    (Preferences(editable=["sex"]), "editable names 'sex', which is fixed. Open to change: 'hours', 'savings'"),
    (Preferences(editable=[]), "editable is empty"),
    (Preferences(editable="hours"), "editable must be a list of features, not 'hours'"),
    (Preferences(editable=5), "editable must be a list of features, not 5"),  # type: ignore[arg-type]
    (Preferences(editable=[["hours"]]), "which is no feature"),  # type: ignore[list-item]
    (Preferences(locked="hours"), "locked must be a list of features, not 'hours'"),
    (Preferences(locked=None), "locked must be a list of features, not None"),  # type: ignore[arg-type]
    (Preferences(locked={"job": False}), "locked must be a list of features, not {'job': False}"),  # type: ignore[arg-type]
    (Preferences(editable={"job": True}), "editable must be a list of features"),  # type: ignore[arg-type]
    (Preferences(locked=["sex"]), "locked names 'sex', which is fixed"),
    (Preferences(locked=["huors"]), "Did you mean 'hours'"),
    (Preferences(locked=["job"], editable=["hours", "job"]), "'job' is locked, but is editable too"),
    (Preferences(locked=["job"], scores={"job": 1.0}), "'job' is locked, but has a score too"),
    (Preferences(locked=["job"], costs={"job": {"cook": 0.5}}), "'job' is locked, but has costs too"),
    (Preferences(scores={"hours": 0.7, "job": 0.2}), "scores must sum to 1; these sum to 0.9"),
    (Preferences(scores={"sex": 1.0}), "scores names 'sex', which is fixed"),
    (Preferences(scores={"hours": 1.5, "job": -0.5}), "the score of 'hours' must be a number from 0 to 1, not 1.5"),
    (Preferences(scores={"hours": True}), "the score of 'hours' must be a number from 0 to 1, not True"),
    (Preferences(scores={"hours": float("nan")}), "must be a number from 0 to 1, not nan"),
    (Preferences(scores={}), "scores must sum to 1; these sum to 0"),
    (Preferences(scores=[1.0]), "scores must be a mapping from feature"),  # type: ignore[arg-type]
    (Preferences(editable=["job"], scores={"hours": 1.0}), "'hours' has a score but is not among the editable"),
    (Preferences(alpha=1.5), "alpha must be a number from 0 to 1, not 1.5"),
    (Preferences(alpha="half"), "alpha must be a number from 0 to 1, not 'half'"),  # type: ignore[arg-type]
    (Preferences(ranges={"hours": (50, 20)}), "the range of 'hours' runs from 50 down to 20"),
    (Preferences(ranges={"hours": (200, 300)}), "no point of the grid of 'hours' lies in (200, 300); allowed: a whole"),
    (Preferences(ranges={"hours": (20.2, 20.8)}), "no point of the grid of 'hours'"),
    (Preferences(ranges={"job": ("cook", "nurse")}), "'job' is not a number, so list the values"),
    (Preferences(ranges={"job": ["cok"]}), "'cok' is not a value of 'job'; allowed: one of 'clerk', 'cook', 'nurse'"),
    (Preferences(ranges={"sex": ["f"]}), "ranges names 'sex', which is fixed"),
    (Preferences(ranges=None), "ranges must be a mapping"),  # type: ignore[arg-type]
    (Preferences(costs={"job": {"cok": 0.5}}), "the cost table of 'job' names 'cok'; allowed"),
    (Preferences(costs={"job": {"cook": 1.5}}), "the cost table of 'job': 'cook' costs 1.5; costs lie in [0, 1]"),
    (Preferences(costs={"job": {"cook": np.nan}}), "'cook' costs nan"),
    (Preferences(costs={"job": {"cook": "dear"}}), "'cook' costs 'dear'"),
    (Preferences(costs={"job": [0.5]}), "must be a mapping from value to cost or a DataFrame"),
    (Preferences(costs={"hours": {999: 0.5}}), "names 999; allowed: a whole number from 10 to 60"),
    (Preferences(costs={"sex": {"f": 0.5}}), "costs names 'sex', which is fixed"),
    (Preferences(editable=["hours"], costs={"job": {"cook": 0.5}}), "costs are given for 'job', which is not among"),
    (Preferences(costs={"job": pd.DataFrame({"cook": [2.0]}, ["nurse"])}), "'nurse' to 'cook' costs 2.0"),
    (Preferences(costs={"job": pd.DataFrame({"cook": [0, 0]}, ["cook", "cook"])}), "has a row twice: 'cook'"),
]


@pytest.mark.parametrize(("said", "message"), MISTAKES, ids=[m for _, m in MISTAKES])
def test_invalid_preferences_are_named(said: Preferences, message: str) -> None:
    with pytest.raises(PreferenceError) as caught:
        said.check(SCHEMA)
    assert message in str(caught.value)


def test_a_cost_table_must_fit_the_person() -> None:
    table = Preferences(costs={"job": pd.DataFrame({"cook": [0.5]}, ["cook"])})
    table.check_person(SCHEMA, {"job": "cook"})
    with pytest.raises(PreferenceError, match="'job' has no row for the present value 'nurse'; it has 'cook'"):
        table.check_person(SCHEMA, {"job": "nurse"})
    off_grid = Preferences(costs={"savings": {1234.5: 0.5}})
    with pytest.raises(PreferenceError, match=r"names 1234.5, which is not on its grid.*the nearest point is 1\d\d\d"):
        off_grid.check_person(SCHEMA, {"savings": 50.0})


def test_a_person_may_name_their_own_value() -> None:
    own = PEOPLE["savings"].iloc[0]
    said = Preferences(costs={"savings": {own: 0.0, SCHEMA.by_name["savings"].values[-1]: 0.5}})
    said.check(SCHEMA)
    said.check_person(SCHEMA, {"savings": own})
