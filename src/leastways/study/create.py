"""Create a study: choose people, balance who evaluates whom, and write a form per annotator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways import __version__
from leastways._messages import listed
from leastways._validation import check_count, check_seed
from leastways.errors import DataError, SettingError
from leastways.io import check_folder
from leastways.plans import RecoursePlans
from leastways.study.folder import NO_PREFERENCE, Study, checksum, refuse_another_study, write_study
from leastways.study.form import Item, Sheet, form_html, make_items, sheet_content
from leastways.study.people import Comparable, Profiles, comparable_people, draw_people, profile_to_json, profiles_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def create_study(
    first: RecoursePlans,
    second: RecoursePlans,
    folder: str | Path,
    *,
    methods: tuple[str, str],
    n_people: int | None = None,
    annotators: int | Sequence[str] = 3,
    per_item: int = 3,
    profiles: Profiles = None,
    n_options: int | None = None,
    title: str = "Which options would you choose?",
    random_state: int = 0,
) -> Study:
    """Make a blind comparison of two methods by human annotators, as a folder of forms that need no server.

    Parameters
    ----------
    first, second
        What two methods offer the same people, by the same schema. People who were accepted already, whose row could
        not be used, or whom neither method offers anything are left out, and counted in `Study.left_out`.
    folder
        Where to make the study: a new or an empty folder. One with another study in it is refused.
    methods
        Their names. They are not in the forms.
    n_people
        Number of people, drawn at random; None for all who can be compared.
    annotators
        How many, or their names (letters, digits, hyphens), which name the forms.
    per_item
        Annotators per person. Each has an equal number of people, or one more.
    profiles
        The stated preferences of each person that annotators see: simulated people (`lw.simulate_people`), whose hidden
        editable features and scores are shown, or `Preferences` for all or by label. People without one are left out.
    n_options
        Options shown of each set, at most: the first ones of the plan. They appear in an order that follows from the
        options alone, fewest changes first. None for all.
    title
        The heading of the forms.
    random_state
        Seed of all random draws: people, who evaluates whom, which method is A.

    """
    folder = Path(folder)
    check_folder(folder, "a study")
    seed, names = check_seed(random_state), _annotators(annotators)
    methods = _check_methods(methods)
    if n_options is not None:
        check_count("n_options", n_options)
    check_count("per_item", per_item)
    usable = comparable_people(first, second)
    stated = profiles_of(profiles, first.schema, usable.people)
    if profiles is not None:
        usable = _with_profiles(usable, [label in stated for label in usable.people.tolist()])
    people = draw_people(usable.people, _how_many(n_people, usable), seed)
    if len(people) * int(per_item) < len(names):
        raise SettingError(
            f"{len(people)} people with {per_item} annotations each leave some of {len(names)} annotators without work."
        )
    items = make_items((first, second), people, stated, n_options)
    design = make_design(len(items), len(names), per_item, seed)
    setup = _Setup(folder, (first, second), methods, names, per_item, seed, title, usable.left_out)
    return _write(setup, items, design)


@dataclass(frozen=True)
class _Setup:
    """Settings of a study besides its items and its design."""

    folder: Path
    plans: tuple[RecoursePlans, RecoursePlans]
    methods: tuple[str, str]
    annotators: tuple[str, ...]
    per_item: int
    seed: int
    title: str
    left_out: dict[str, int]


def _write(setup: _Setup, items: tuple[Item, ...], design: Design) -> Study:
    """Write the forms, the manifest and the key; the study's id is a checksum of their content."""
    dealt = list(zip(setup.annotators, design.tasks, design.first, strict=True))
    sheets = {name: tuple(Sheet(items[i], *_sides(items[i], int(a[i]))) for i in task) for name, task, a in dealt}
    content = {name: [sheet_content(sheet) for sheet in its] for name, its in sheets.items()}
    plans = {m: checksum(p.to_json()) for m, p in zip(setup.methods, setup.plans, strict=True)}
    people = {item.id: item.person for item in items}
    named_by = [setup.methods, setup.per_item, setup.seed, setup.title, people, plans, content]
    study_id = checksum(named_by)[:16]
    refuse_another_study(setup.folder, study_id)
    study = Study(
        folder=setup.folder,
        id=study_id,
        methods=setup.methods,
        annotators=setup.annotators,
        per_item=setup.per_item,
        seed=setup.seed,
        people=people,
        tasks={name: tuple(sheet.item.id for sheet in its) for name, its in sheets.items()},
        shown_first={name: {items[i].id: setup.methods[a[i]] for i in task} for name, task, a in dealt},
        checksums={name: checksum([study_id, name, content[name]]) for name in setup.annotators},
        left_out=setup.left_out,
    )
    details = {
        "title": setup.title,
        "made_by": f"leastways {__version__}",
        "items": [{"id": i.id, "person": i.person, "profile": profile_to_json(i.profile)} for i in items],
        "plan_checksums": plans,
        "schema": setup.plans[0].schema.to_yaml(),
    }
    pages = {name: form_html(setup.title, study_id, name, study.checksums[name], its) for name, its in sheets.items()}
    write_study(study, details, pages)
    return study


def _sides(item: Item, first: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the sets shown as A and B."""
    return item.sets[first], item.sets[1 - first]


def _with_profiles(usable: Comparable, has_one: Sequence[bool]) -> Comparable:
    mask = np.array(has_one, np.bool_)
    people: pd.Index[Any] = usable.people[mask]
    without = {"no profile is known": int((~mask).sum())} if not mask.all() else {}
    return Comparable(people, usable.left_out | without)


def _how_many(wanted: int | None, usable: Comparable) -> int:
    """Return how many people to draw; raise if too few can be compared, with the reasons."""
    there = len(usable.people)
    why = "; ".join(f"{reason}: {n}" for reason, n in usable.left_out.items())
    left = f" Left out: {why}." if why else ""
    if there == 0:
        raise DataError(f"there is no person on whom the two methods can be compared.{left}")
    if wanted is None:
        return there
    check_count("n_people", wanted)
    if wanted > there:
        raise SettingError(f"n_people is {wanted}, but the methods can be compared on {there} people only.{left}")
    return wanted


def _annotators(given: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        check_count("annotators", given)
        return tuple(f"annotator-{n + 1:0{len(str(given))}}" for n in range(int(given)))
    if isinstance(given, str | bool) or not isinstance(given, Sequence) or not given:
        raise SettingError(f"annotators must be a number or a list of names, not {given!r}.")
    for name in given:
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise SettingError(
                f"an annotator cannot be called {name!r}: names are up to 40 letters a to z, digits, hyphens and "
                "underscores, because they name files."
            )
    if len({name.lower() for name in given}) < len(given):
        raise SettingError(f"annotators are named twice (capital letters do not count): {listed(list(given), 20)}.")
    return tuple(given)


def _check_methods(methods: Sequence[str]) -> tuple[str, str]:
    if isinstance(methods, str) or len(methods) != 2 or not all(isinstance(m, str) and m.strip() for m in methods):
        raise SettingError(f"methods must be two names, not {methods!r}.")
    if methods[0] == methods[1]:
        raise SettingError(f"the two methods need different names, not {methods[0]!r} twice.")
    if NO_PREFERENCE in methods:
        raise SettingError(f"a method cannot be called {NO_PREFERENCE!r}: that is an answer.")
    return methods[0], methods[1]


@dataclass(frozen=True)
class Design:
    """Which annotator evaluates which items, and which method is shown as A, by index.

    Every item has the same number of annotators, and annotators have equally many items, or one more. Each
    method is shown as A half of the time, but for one, to each annotator and also over the judgements of each item: a
    preference for the first set then favours neither method.
    """

    tasks: tuple[NDArray[np.intp], ...]  # per annotator: items in the order in which they are shown
    first: NDArray[np.int8]  # [annotators, items] which method (0 or 1) is shown as A; -1: not their item


def make_design(n_items: int, n_annotators: int, per_item: int, seed: int) -> Design:
    """Assign items to annotators, and methods to the sides A and B, balanced and at random."""
    if not 1 <= per_item <= n_annotators:
        raise SettingError(
            f"annotations per item must be from 1 to the number of annotators ({n_annotators}), not {per_item!r}."
        )
    draw = np.random.default_rng(np.random.SeedSequence([seed, 0x57D1]))
    assigned = deal_items(n_items, n_annotators, per_item, draw)
    first = deal_sides(assigned, draw)
    tasks = tuple(draw.permutation(np.flatnonzero(row)) for row in assigned)
    return Design(tasks, first)


def deal_items(n_items: int, n_annotators: int, per_item: int, draw: np.random.Generator) -> NDArray[np.bool_]:
    """Assign each item to the annotators with the fewest so far, ties at random; [annotators, items].

    No two annotators ever differ by more than one item. Random ties mix the pairs of annotators.
    """
    assigned = np.zeros((n_annotators, n_items), np.bool_)
    load = np.zeros(n_annotators)
    for item in range(n_items):
        chosen = np.lexsort((draw.random(n_annotators), load))[:per_item]
        assigned[chosen, item] = True
        load[chosen] += 1
    return assigned


def deal_sides(assigned: NDArray[np.bool_], draw: np.random.Generator) -> NDArray[np.int8]:
    """Choose the method shown as A in every judgement, balanced by annotator and by item at once.

    Judgements are edges between annotators and items. With a helper at either end that takes up what is odd, every
    node has an even number of edges, so a walk over unused edges ends where it began, and after an even number of
    steps, because it goes to and fro. Methods that take turns along it are then in balance at every node.
    """
    n_annotators, n_items = assigned.shape
    edges = np.zeros((n_annotators + 1, n_items + 1), np.bool_)
    edges[:-1, :-1] = assigned
    edges[-1, :-1] = assigned.sum(axis=0) % 2
    edges[:-1, -1] = assigned.sum(axis=1) % 2
    edges[-1, -1] = edges[-1].sum() % 2
    first = np.full(edges.shape, -1, np.int8)
    while edges.any():
        method = int(draw.integers(2))
        row = start = int(draw.choice(np.flatnonzero(edges.any(axis=1))))
        while edges[row].any():
            column = int(draw.choice(np.flatnonzero(edges[row])))
            edges[row, column], first[row, column] = False, method
            row = int(draw.choice(np.flatnonzero(edges[:, column])))
            edges[row, column], first[row, column] = False, 1 - method
        if row != start:
            raise RuntimeError("a walk over judgements did not return to where it began")
    return first[:-1, :-1]
