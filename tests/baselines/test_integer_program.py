"""The integer program against exhaustive enumeration, on random small people with random rules."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways.baselines.integer_program import Found, Person, Program
from leastways.feasibility.kernels import RuleTables, meets_rules
from tests.support.small_searches import space_without_rules
from tests.support.small_worlds import seeds

Floats = NDArray[np.float64]


def random_person(draw: np.random.Generator, rules: bool) -> tuple[Person, Floats, Floats, float]:
    """Make a person with a grid, rules, what each slot costs and gains, and what is needed."""
    sizes = draw.integers(2, 5, draw.integers(2, 5))
    F, offsets = len(sizes), np.concatenate([[0], np.cumsum(sizes)])
    V = int(offsets[-1])
    start = (draw.random(F) * sizes).astype(np.int32)
    K, L = (int(draw.integers(0, 3)), int(draw.integers(0, 2))) if rules else (0, 0)
    space = space_without_rules(start[None], offsets)
    tables = RuleTables(
        literal=draw.random((K, F)) < 0.6,
        meets=draw.random((1, K, V)) < 0.5,
        link_feature=draw.integers(0, F, L),
        link_requires=draw.integers(0, F, L),
        link_by=draw.choice([-1.0, 1.0, 2.0], L),
        link_at_least=draw.choice([-1.0, 0.5, 1.0], L),
        max_changes=int(draw.integers(1, F + 1)) if rules else F,
    )
    allowed = draw.random(V) < 0.8
    allowed[offsets[:-1] + start] = True
    cost, gain = draw.gamma(1.0, 1.0, V) + 1e-4, draw.normal(0.3, 1.0, V)
    own = offsets[:-1] + start
    cost[own], gain[own] = 0.0, 0.0
    return Person(0, space._replace(allowed=allowed[None], rules=tables)), cost, gain, float(draw.uniform(0.1, 2.5))


def by_enumeration(person: Person, cost: Floats, gain: Floats, need: float) -> dict[tuple[int, ...], float]:
    """Return the least cost of every set of features that can do it, as the published method understands it."""
    rules, F = person.space.rules, len(person.start)
    spoken_of = {*np.flatnonzero(rules.literal.any(axis=0)), *rules.link_feature, *rules.link_requires}
    choices = []
    for f in range(F):
        slots = range(person.space.offsets[f], person.space.offsets[f + 1])
        helps = [v - person.space.offsets[f] for v in slots if person.allowed[v] and (f in spoken_of or gain[v] > 0)]
        choices.append(sorted({int(person.start[f]), *helps}))
    best: dict[tuple[int, ...], float] = {}
    for state in product(*choices):
        codes = np.array(state, dtype=np.int32)
        slots_of = person.space.offsets[:-1] + codes
        changed = tuple(int(f) for f in np.flatnonzero(codes != person.start))
        if not changed or gain[slots_of].sum() < need or not meets_rules(person.space, 0, codes):
            continue
        best[changed] = min(best.get(changed, np.inf), float(cost[slots_of].sum()))
    return best


def all_of(program: Program, disjoint: bool = False) -> list[Found]:
    found = []
    while (one := program.next(60.0, disjoint)).codes is not None:
        found.append(one)
    assert one.why == "none"
    return found


@settings(max_examples=60)
@given(seeds, st.booleans())
def test_options_are_those_of_enumeration(seed: int, rules: bool) -> None:
    person, cost, gain, need = random_person(np.random.default_rng(seed), rules)
    best = by_enumeration(person, cost, gain, need)
    found = all_of(Program.build(person, cost, gain, need))
    sets = [tuple(int(f) for f in np.flatnonzero(one.codes != person.start)) for one in found]
    assert len(set(sets)) == len(sets) == len(best)
    assert [one.cost for one in found] == pytest.approx([best[s] for s in sets], abs=1e-6)
    assert [one.cost for one in found] == pytest.approx(sorted(best.values()), abs=1e-6)  # never falling
    for one in found:
        assert one.codes is not None
        slots = person.space.offsets[:-1] + one.codes
        assert person.allowed[slots].all()
        assert gain[slots].sum() >= need
        assert meets_rules(person.space, 0, one.codes)


@settings(max_examples=25)
@given(seeds)
def test_disjoint_options_share_no_feature(seed: int) -> None:
    person, cost, gain, need = random_person(np.random.default_rng(seed), rules=False)
    best = by_enumeration(person, cost, gain, need)
    found = all_of(Program.build(person, cost, gain, need), disjoint=True)
    left = dict(best)
    for one in found:
        assert one.cost == pytest.approx(min(left.values()), abs=1e-6)
        changed = set(np.flatnonzero(one.codes != person.start))
        left = {s: c for s, c in left.items() if not changed & set(s)}
    assert not left


def test_running_out_of_time_leaves_the_program_unchanged() -> None:
    person, cost, gain, need = random_person(np.random.default_rng(5), rules=False)
    program = Program.build(person, cost, gain, min(need, 0.2))
    assert program.next(0.0) == Found(None, np.inf, "time")
    assert program.next(60.0).codes is not None


def test_program_without_moves_has_no_state() -> None:
    person, cost, gain, need = random_person(np.random.default_rng(1), rules=False)
    own = np.zeros(len(cost), np.bool_)
    own[person.space.offsets[:-1] + person.start] = True
    assert Program.build(person._replace(space=person.space._replace(allowed=own[None])), cost, gain, need).next(
        1.0
    ) == Found(None, np.inf, "none")
