"""What a notebook shows of plans: everything the text says, and no value taken for markup."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

from leastways.plans import CERTIFICATE, Change, NearestMiss
from tests.plans.made import plans
from tests.support.html_page import Page
from tests.support.plans_with_markup import JOB, NASTY
from tests.support.plans_with_markup import plans as nasty_plans


def test_plan_of_one_person_is_shown() -> None:
    page = Page(plans()["ann"]._repr_html_())
    for words in (
        "Person ann: at least one option was found (chance of a yes now: 25%).",
        "raise working hours from 20 h to 30 h",
        "change job from cook to née",
        "At least one option is possible under 88% of the simulated preferences",
    ):
        assert words in page.words
    assert [tag for tag, _ in page.tags].count("tr") == 3  # the head, and two options
    assert "–" in page.words  # an option that nobody can take has no cost
    assert "inf" not in page.words


def test_plan_without_options_is_shown() -> None:
    change = Change("debt", 3.0, 1.25, "lower debt from 3 to 1.25")
    plan = dataclasses.replace(plans()["dée"], nearest_miss=NearestMiss({}, (change,), 0.4375))
    page = Page(plan._repr_html_())
    assert "column 'debt': bad" in page.words
    assert "The nearest miss: with these changes the chance is 44%." in page.words
    assert "lower debt from 3 to 1.25" in page.words
    assert "table" not in {tag for tag, _ in page.tags}
    assert "nan" not in page.words


def test_certificate_is_shown() -> None:
    figures = pd.DataFrame([dict(zip(CERTIFICATE, (0.125, 0.25, 0.125, 0.5, 1.0, 9), strict=True))], index=["ann"])
    assert "(gap 0.12)" in Page(plans().with_certificates(figures)["ann"]._repr_html_()).words


def test_plans_of_many_people_are_shown() -> None:
    page = Page(nasty_plans()._repr_html_())
    assert repr(nasty_plans()) in page.words
    assert "The first 10 of 40 people." in page.words
    assert [tag for tag, _ in page.tags].count("tr") == 11
    assert "The first" not in Page(plans()._repr_html_()).words


def test_values_are_escaped() -> None:
    labels = nasty_plans().options["person"].unique()
    pages = [Page(nasty_plans()[label]._repr_html_()) for label in labels]
    assert all(not {"script", "b"} & {tag for tag, _ in page.tags} for page in pages)
    words = "".join(page.words for page in pages)
    assert JOB in words
    assert NASTY in words
    assert "p<0>" in Page(nasty_plans()._repr_html_()).words


def test_figures_are_rounded() -> None:
    assert "0.8333333" not in plans(summary=plans().summary.assign(covered=np.float64(5 / 6)))._repr_html_()
