"""Who judges what, and in which order: balanced, random, and the same again from the same seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastways.errors import SettingError


@dataclass(frozen=True)
class Design:
    """A plan of the whole study, by places in the lists of annotators and items.

    Every item is judged by the same number of annotators, and annotators judge equally many items, but for one. Each
    method is shown as A half of the time, but for one, to each annotator and also over the judgements of each item: a
    liking for the first set then favours neither method.
    """

    tasks: tuple[NDArray[np.intp], ...]  # per annotator: items in the order in which they are shown
    first: NDArray[np.int8]  # [annotators, items] which method (0 or 1) is shown as A; -1: not judged by them


def make_design(n_items: int, n_annotators: int, per_item: int, seed: int) -> Design:
    """Deal items to annotators, and methods to the sides A and B."""
    if not 1 <= per_item <= n_annotators:
        raise SettingError(
            f"annotations per item must be from 1 to the number of annotators ({n_annotators}), not {per_item!r}."
        )
    draw = np.random.default_rng(np.random.SeedSequence([seed, 0x57D1]))
    judged = deal_items(n_items, n_annotators, per_item, draw)
    first = deal_sides(judged, draw)
    tasks = tuple(draw.permutation(np.flatnonzero(row)) for row in judged)
    return Design(tasks, first)


def deal_items(n_items: int, n_annotators: int, per_item: int, draw: np.random.Generator) -> NDArray[np.bool_]:
    """Give each item to the annotators who have the fewest so far, ties by lot; [annotators, items].

    No two annotators ever differ by more than one item. The lots mix who judges together with whom.
    """
    judged = np.zeros((n_annotators, n_items), np.bool_)
    load = np.zeros(n_annotators)
    for item in range(n_items):
        chosen = np.lexsort((draw.random(n_annotators), load))[:per_item]
        judged[chosen, item] = True
        load[chosen] += 1
    return judged


def deal_sides(judged: NDArray[np.bool_], draw: np.random.Generator) -> NDArray[np.int8]:
    """Choose the method shown as A in every judgement, balanced by annotator and by item at once.

    Judgements are edges between annotators and items. With a helper at either end that takes up what is odd, every
    node has an even number of edges, so a walk over unused edges ends where it began, and after an even number of
    steps, because it goes to and fro. Methods that take turns along it are then in balance at every node.
    """
    n_annotators, n_items = judged.shape
    edges = np.zeros((n_annotators + 1, n_items + 1), np.bool_)
    edges[:-1, :-1] = judged
    edges[-1, :-1] = judged.sum(axis=0) % 2
    edges[:-1, -1] = judged.sum(axis=1) % 2
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
