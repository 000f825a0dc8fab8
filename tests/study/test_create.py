"""Making a study: who is in it, what is told, what is kept from the annotators, and where it may be written."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastways as lw
from leastways.errors import DataError, LeastwaysError, PreferenceError, SettingError
from leastways.study import Study, create_study
from leastways.study.create import make_design
from leastways.study.form import options_in_words
from leastways.study.people import comparable_people, draw_people, stated_preferences
from tests.plans.made import OPTIONS, PEOPLE, SCHEMA, SUMMARY
from tests.plans.made import plans as made

NAMES = ("zebrafinch", "quokka")


def two(**changes: Any) -> tuple[lw.RecoursePlans, lw.RecoursePlans]:
    return made(), made(**changes)


def make(folder: Path, *, n: int = 2, **changes: Any) -> Study:
    settings: dict[str, Any] = {"methods": NAMES, "annotators": n, "per_item": n} | changes
    return create_study(*two(options=OPTIONS.iloc[[1]].assign(option=1)), folder, **settings)


def test_people_who_cannot_be_compared_are_left_out_with_a_reason() -> None:
    found = comparable_people(*two())
    assert found.people.tolist() == ["ann", "cy"]
    assert found.left_out == {"their row could not be used": 1, "the model accepts them already": 1}
    nothing = made(options=OPTIONS[:2], summary=SUMMARY.assign(n_options=[2, 0, 0, 0]))
    assert comparable_people(nothing, nothing).left_out["no option from either method"] == 1
    fewer = {"people": PEOPLE[:2], "summary": SUMMARY[:2], "options": OPTIONS[:2]}
    assert comparable_people(*two(**fewer)).left_out["in one of the two plans only"] == 2
    status = ["found", "already_positive", "already_positive", "invalid_input"]  # one model accepts cy, the other not
    found = comparable_people(*two(options=OPTIONS[:2], summary=SUMMARY.assign(status=status, n_options=[2, 0, 0, 0])))
    assert found.people.tolist() == ["ann"]
    assert found.left_out["the model accepts them already"] == 2


def test_mismatched_plans_are_refused() -> None:
    with pytest.raises(DataError, match="different schemas"):
        comparable_people(*two(schema=SCHEMA.update(debt={"unit": "EUR"})))
    with pytest.raises(DataError, match="'monthly_hours' of person 'ann' is 20 in one and 21 in the other"):
        comparable_people(*two(people=PEOPLE.assign(monthly_hours=[21, 30, 40, 50])))
    with pytest.raises(DataError, match="different people: 'job'"):
        comparable_people(*two(people=PEOPLE.assign(job=pd.Categorical(["née", "nurse", "cook", "nurse"]))))
    other = pd.Index(["x", "y", "z", "w"], name="customer")
    with pytest.raises(DataError, match="share no person"):
        comparable_people(*two(people=PEOPLE.set_axis(other), summary=SUMMARY.set_axis(other)))


def test_values_missing_in_both_plans_are_equal() -> None:
    gaps: dict[str, Any] = {
        "debt": np.array([np.nan, 1.25, 9.0, 3.0], dtype=np.float32),
        "job": pd.Categorical([None, "nurse", "cook", "nurse"], ["nurse", "cook", "née"]),
    }
    schema = lw.Schema(tuple(replace(f, missing=f.name in gaps) for f in SCHEMA.features))
    options = OPTIONS.assign(**{name: OPTIONS[name].mask(OPTIONS["person"] == "ann") for name in gaps})
    whole, missing = (made(schema=schema, options=options, people=p) for p in (PEOPLE, PEOPLE.assign(**gaps)))
    assert comparable_people(missing, missing).people.tolist() == ["ann", "cy"]
    with pytest.raises(DataError, match=r"'debt' of person 'ann' is nan in one and 0\.5 in the other"):
        comparable_people(missing, whole)


def test_folder_holds_the_study_and_its_forms(tmp_path: Path) -> None:
    study = make(tmp_path / "study", random_state=5)
    assert Study.read(tmp_path / "study") == study
    assert sorted(p.name for p in (tmp_path / "study" / "forms").iterdir()) == ["annotator-1.html", "annotator-2.html"]
    manifest = json.loads((tmp_path / "study" / "study.json").read_text())
    assert manifest["seed"] == 5
    assert manifest["methods"] == list(NAMES)
    assert lw.Schema.from_yaml(manifest["schema"]) == SCHEMA
    assert set(study.people.values()) == {"ann", "cy"}
    assert study.n_judgements == 4


def test_same_study_may_be_rewritten_and_another_is_refused(tmp_path: Path) -> None:
    first, again = make(tmp_path / "a"), make(tmp_path / "b")
    assert first.id == again.id
    for name in ("study.json", "key.json", "forms/annotator-1.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert make(tmp_path / "a").id == first.id  # the same study may be written again
    for change in ({"random_state": 1}, {"title": "Other"}, {"methods": ("a", "b")}, {"n_options": 1}, {"n": 1}):
        with pytest.raises(SettingError, match="holds another study"):
            make(tmp_path / "a", **change)
    assert Study.read(tmp_path / "a") == first


def test_plans_that_differ_in_what_is_not_shown_are_another_study(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"methods": NAMES, "annotators": 1, "per_item": 1}
    create_study(*two(), tmp_path / "a", **settings)
    with pytest.raises(SettingError, match="holds another study"):
        create_study(*two(options=OPTIONS.assign(expected_cost=0.5)), tmp_path / "a", **settings)


def test_n_people_may_equal_the_number_of_comparable_people(tmp_path: Path) -> None:
    assert set(make(tmp_path / "study", n_people=2).people.values()) == {"ann", "cy"}


def test_unusable_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious")
    for name, match in (("full", "holds other files"), ("full/thesis.txt", "is a file"), ("no/where", "no folder")):
        with pytest.raises(SettingError, match=match):
            make(tmp_path / name)
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_forms_do_not_reveal_the_methods(tmp_path: Path) -> None:
    profile = lw.Preferences(scores={"monthly_hours": 0.75, "debt": 0.25})
    study = make(tmp_path / "study", profiles=profile, random_state=987654)
    key = json.loads((tmp_path / "study" / "key.json").read_text())
    assert set(key["shown_first"]["annotator-1"].values()) <= set(NAMES)
    for name in study.annotators:
        page = study.form(name).read_text()
        for secret in (*NAMES, "987654", "0.875", "probab", "cost", "COLS", "best_for", "ann<", "http:", "https:"):
            assert secret not in page.replace("http-equiv", ""), secret
        assert "raise working hours from 20\N{NO-BREAK SPACE}h to 30\N{NO-BREAK SPACE}h" in page


def test_forms_show_the_sets_where_the_key_says_they_are(tmp_path: Path) -> None:
    """Answers are unblinded by the key alone: with a differing form they would count for the other method."""
    plans = dict(zip(NAMES, two(options=OPTIONS.iloc[[1]].assign(option=1)), strict=True))
    first = set()
    for seed in range(4):
        study = make(tmp_path / str(seed), random_state=seed)
        for who in study.annotators:
            page = unescape(study.form(who).read_text())
            for item, person in study.people.items():
                shown = page.split(f'data-item="{item}"')[1].split('class="questions"')[0]
                sets = shown.split('<section class="set">')[1:]
                for side, text in zip("AB", sets, strict=True):
                    method = study.method_shown(who, item, side)
                    words = options_in_words(plans[method][person].options, SCHEMA)
                    assert f"<h3>Set {side}</h3>" in text
                    assert re.findall("<li>([^<]+)</li>", text) == [change for option in words for change in option]
                first.add(study.method_shown(who, item, "A"))
    assert first == set(NAMES)


def test_order_of_options_does_not_depend_on_the_method() -> None:
    plan = made()["ann"]
    forward, backward = (options_in_words(o, SCHEMA) for o in (plan.options, plan.options[::-1]))
    assert forward == backward
    assert [len(option) for option in forward] == [1, 2]


def test_drawn_people_do_not_depend_on_order(tmp_path: Path) -> None:
    chosen = {make(tmp_path / str(s), n=1, n_people=1, random_state=s).people["item-1"] for s in range(12)}
    assert chosen == {"ann", "cy"}
    labels = pd.Index([f"p{n}" for n in range(30)])
    drawn = draw_people(labels, 10, 3)
    assert drawn == draw_people(labels[::-1], 10, 3)
    assert drawn != sorted(drawn)  # nor in the order of the table


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"n_people": 3}, r"compared on 2 people only. Left out: their row could not be used: 1"),
        ({"n_people": 0}, "n_people must be a whole number of 1 or more, not 0"),
        ({"n_options": 0}, "n_options"),
        ({"per_item": 3}, r"from 1 to the number of annotators \(2\), not 3"),
        ({"annotators": 9, "per_item": 1}, "leave some of 9 annotators without work"),
        ({"annotators": 0}, "annotators must be a whole number"),
        ({"annotators": "ann"}, "a number or a list of names, not 'ann'"),
        ({"annotators": ["../ann", "bob"]}, "cannot be called '../ann'"),
        ({"annotators": ["Ann", "ann"]}, "named twice"),
        ({"methods": ("a", "a")}, "different names"),
        ({"methods": ("a", "")}, "two names"),
        ({"methods": ("a", "no preference")}, "that is an answer"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_invalid_settings_are_refused(tmp_path: Path, settings: dict[str, Any], match: str) -> None:
    with pytest.raises(SettingError, match=match):
        make(tmp_path / "study", **settings)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("profiles", "match"),
    [
        (lw.Preferences(costs={"monthly_hours": {30: 0.5}}), "has cost tables"),
        (lw.Preferences(alpha=0.5), "has nothing that a form could show"),
        (lw.Preferences(locked=["monthly_hours", "debt", "job", "owner"]), "profile of 'ann' locks everything"),
        (lw.Preferences(editable=["nothing"]), "nothing"),
        ({"ann": 3}, "profile of 'ann' must be a Preferences object"),
        ("all", "profiles must be"),
        ({"bob": lw.Preferences(editable=["debt"])}, "no person on whom .* no profile is known: 2"),
    ],
)
def test_unusable_profiles_are_refused(tmp_path: Path, profiles: Any, match: str) -> None:
    with pytest.raises(LeastwaysError, match=match) as caught:
        make(tmp_path / "study", profiles=profiles)
    assert isinstance(caught.value, PreferenceError | DataError)


def test_simulated_people_of_another_schema_are_refused(tmp_path: Path) -> None:
    nothing: Any = None
    with pytest.raises(DataError, match="plans and simulated people have different schemas"):
        make(tmp_path / "s", profiles=lw.SimulatedPeople(SCHEMA.update(debt={"unit": "EUR"}), nothing, nothing))


def test_people_without_a_profile_are_left_out(tmp_path: Path) -> None:
    study = make(tmp_path / "study", profiles={"ann": lw.Preferences(editable=["debt"])})
    assert list(study.people.values()) == ["ann"]
    assert study.left_out["no profile is known"] == 1


def test_stated_preferences_in_words() -> None:
    ranges = {"monthly_hours": (None, 40), "job": ["née", "cook"], "debt": {"min": 0.5, "max": 3}}
    said = lw.Preferences(scores={"monthly_hours": 0.25, "job": 0.75, "debt": 0.0}, ranges=ranges)
    preferences = stated_preferences(SCHEMA, said)
    assert [(w.wording, w.score, w.limits) for w in preferences] == [
        ("job", 0.75, "only née or cook"),
        ("working hours", 0.25, "at most 40 h"),
        ("debt", 0.0, "at least 0.5 and at most 3"),
    ]
    assert all(w.score is None for w in stated_preferences(SCHEMA, lw.Preferences(editable=["debt", "job"])))
    assert len(stated_preferences(SCHEMA, lw.Preferences(ranges=ranges))) == len(SCHEMA.features)
    assert "job" not in {w.wording for w in stated_preferences(SCHEMA, lw.Preferences(locked=["job"]))}


def test_empty_set_of_options_is_stated(tmp_path: Path) -> None:
    nothing = made(options=OPTIONS[:2], summary=SUMMARY.assign(n_options=np.array([2, 0, 0, 0])))
    study = create_study(made(), nothing, tmp_path / "s", methods=NAMES, annotators=1, per_item=1)
    assert study.form("annotator-1").read_text().count("No option was found: this set is empty.") == 1


def test_damaged_studies_are_refused(tmp_path: Path) -> None:
    study = make(tmp_path / "study")
    manifest, key = (tmp_path / "study" / name for name in ("study.json", "key.json"))
    good = {path: path.read_text() for path in (manifest, key)}
    damages = [
        (manifest, "{", "cannot read"),
        (manifest, "[]", "does not hold a leastways study"),
        (manifest, good[manifest].replace('"version": 1', '"version": 9'), "version 9"),
        (manifest, good[manifest].replace('"tasks"', '"task"'), "damaged: KeyError"),
        (key, good[key].replace(study.id, "other"), "not the key of this study"),
        (key, good[manifest], "does not hold a leastways study key"),
        (key, None, "there is no file"),
    ]
    for path, text, match in damages:
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
        with pytest.raises(DataError, match=match):
            Study.read(tmp_path / "study")
        path.write_text(good[path])
    assert Study.read(tmp_path / "study") == study


NUMBERS = st.integers(1, 7).flatmap(lambda m: st.tuples(st.just(m), st.integers(1, m)))


@given(n_items=st.integers(1, 40), numbers=NUMBERS, seed=st.integers(0, 2**40))
def test_design_is_balanced_by_annotator_and_item(n_items: int, numbers: tuple[int, int], seed: int) -> None:
    n_annotators, per_item = numbers
    design = make_design(n_items, n_annotators, per_item, seed)
    judged = design.first >= 0
    assert (judged.sum(axis=0) == per_item).all()
    assert np.ptp(judged.sum(axis=1)) <= 1
    for row, task in zip(judged, design.tasks, strict=True):
        assert sorted(task.tolist()) == np.flatnonzero(row).tolist()
    lead = (design.first == 0).astype(int) - (design.first == 1)
    assert (abs(lead.sum(axis=0)) <= 1).all()
    assert (abs(lead.sum(axis=1)) <= 1).all()


def test_design_depends_on_the_seed() -> None:
    one, same, other = (make_design(30, 4, 3, seed) for seed in (1, 1, 2))
    assert (one.first == same.first).all()
    assert all((a == b).all() for a, b in zip(one.tasks, same.tasks, strict=True))
    assert (one.first != other.first).any()


def test_order_and_sides_are_random() -> None:
    shown_first = np.array([make_design(10, 3, 3, seed).first for seed in range(400)])  # [seeds, annotators, items]
    assert abs((shown_first == 0).mean(axis=0) - 0.5).max() < 0.12  # 4.8 standard errors
    begins = np.array([make_design(10, 3, 3, seed).tasks[0][0] for seed in range(400)])
    assert np.bincount(begins, minlength=10).min() > 15


def test_every_pair_of_annotators_shares_items() -> None:
    judged = make_design(60, 6, 3, 0).first >= 0
    together = judged.astype(int) @ judged.T.astype(int)
    assert (together > 0).all()


@pytest.mark.parametrize("per_item", [0, 4, -1])
def test_impossible_designs_are_refused(per_item: int) -> None:
    with pytest.raises(SettingError, match=r"from 1 to the number of annotators \(3\)"):
        make_design(5, 3, per_item, 0)
