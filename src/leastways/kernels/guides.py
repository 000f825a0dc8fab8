"""What guided search keeps for each person, and the memory of states it has asked about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import lean, wrapping
from leastways.kernels.random import GOLDEN, mix64


class Parts(NamedTuple):
    """Which parts of guided search are on; all of them, but to measure what each is worth."""

    first_moves: bool  # begin with single moves
    aim: bool  # at samples that are badly served; else at any
    surrogate: bool  # guess what the model would say, and solve on the guess
    steps: bool  # around accepted states, and exploration, beside what the guess proposes
    gains: bool  # ask first where an answer would lower the objective most; else where a yes is likeliest
    easing: bool  # ask in the end whether smaller changes would do
    swaps: bool  # choose the options greedily and then by exact swaps; else greedily alone


class Guides(NamedTuple):
    """What guided search knows of each person."""

    parts: Parts

    stream: NDArray[np.uint64]  # [P]
    alive: NDArray[np.bool_]  # [P]
    rounds: NDArray[np.int64]  # [P]
    window: NDArray[np.int64]  # [P] which window of the samples is next
    now: NDArray[np.float64]  # [P] present log-odds against the threshold
    n_asked: NDArray[np.int64]  # [P]
    asked: NDArray[np.int32]  # [P, B, F]
    odds: NDArray[np.float64]  # [P, B] answers as log-odds against the threshold
    told: NDArray[np.float64]  # [P, B] what the shared surrogate says of them, as a change from the present
    probability: NDArray[np.float64]  # [P, B]
    n_valid: NDArray[np.int64]  # [P]
    valid: NDArray[np.int32]  # [P, B] which of the asked were accepted and are permitted
    seen: NDArray[np.uint64]  # [P, H] hashes of asked states, open addressing, 0 is empty
    lowest: NDArray[np.float64]  # [P, M] cheapest accepted so far, on the objective's scale
    columns: NDArray[np.int64]  # [F + 1] where each feature's columns of the person's own surrogate begin
    normal: NDArray[np.float64]  # [P, D, D]
    moment: NDArray[np.float64]  # [P, D]
    own_lift: NDArray[np.float64]  # [P, V] what a move adds to the log-odds, by the person's own surrogate
    lift: NDArray[np.float64]  # [P, V] the same with the shared surrogate's share
    spread: NDArray[np.float64]  # [P] how far the guess is off, in log-odds


class Scratch(NamedTuple):
    """Room for one person's round."""

    codes: NDArray[np.int32]  # [C + 1, F]
    costs: NDArray[np.float64]  # [C, S] rough costs under a window of the samples, enough to rank candidates
    value: NDArray[np.float64]  # [C]
    chance: NDArray[np.float64]  # [C] guessed chance of acceptance
    lowest: NDArray[np.float64]  # [S]
    fresh: NDArray[np.uint64]  # [H] hashes of this round's candidates
    need: NDArray[np.float64]  # [S] running sum of how badly samples are served
    row: NDArray[np.float64]  # [M]
    factor: NDArray[np.float64]  # [D, D]
    used: NDArray[np.int64]  # [D]
    weights: NDArray[np.float64]  # [D]
    places: NDArray[np.int64]  # [2 F]
    values: NDArray[np.float64]  # [2 F]
    hidden: NDArray[np.float64]  # [hidden units of the shared surrogate]


@wrapping
def state_hash(codes: NDArray[np.int32]) -> np.uint64:
    """Return a hash of a state that is never 0."""
    h = GOLDEN
    for f in range(codes.shape[0]):
        h = mix64(h ^ (np.uint64(codes[f]) + np.uint64(f + 1) * GOLDEN))
    return h | np.uint64(1)


@lean
def is_new(seen: NDArray[np.uint64], h: np.uint64, enter: bool) -> bool:
    """Whether a hash is not in the table [H, a power of two]; enters it if asked to."""
    last = seen.shape[0] - 1
    place = np.int64(h >> np.uint64(1)) & last
    while seen[place] != np.uint64(0):
        if seen[place] == h:
            return False
        place = (place + 1) & last
    if enter:
        seen[place] = h
    return True


@lean
def enter_seen(g: Guides, people: NDArray[np.int64], codes: NDArray[np.int32], new: NDArray[np.bool_]) -> None:
    """Enter states (codes [R, F]) as asked; new [R] is written: which of them were not in before."""
    for r in range(people.shape[0]):
        new[r] = is_new(g.seen[people[r]], state_hash(codes[r]), True)
