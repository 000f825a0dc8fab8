"""Misspecified preferences: people whose editable features lie far from everything that was sampled.

The paper's design: draw subsets of features, give people a hidden function with exactly that subset editable, and
measure the distance of the subset, as a 0/1 vector, to the nearest one among the sampled functions of that person.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import leastways as lw

VECTORS = 500


def subsets(schema: lw.Schema, seed: int, n: int = VECTORS) -> NDArray[np.bool_]:
    """Draw subsets of the features that may change, [n, F]: each feature in or out, half and half, none empty."""
    free = np.array([feature.direction != "fixed" for feature in schema.features])
    draw = np.random.default_rng(7000 + seed)
    drawn = (draw.random((4 * n, len(free))) < 0.5) & free
    return np.asarray(drawn[drawn.any(axis=1)][:n])


def shifted_rows(
    plans: lw.RecoursePlans, rec: lw.Recourse, where: Any, people: pd.DataFrame, seed: int
) -> pd.DataFrame:
    """Judge each person under a share of the subsets: one row per person and subset, with its distance.

    Every person gets the same number of subsets, dealt in turn, so that all of them are used equally often.
    """
    vectors = subsets(where.schema, seed)
    each = max(1, min(len(vectors), 4 * len(vectors) // max(len(people), 1)))
    names = np.array(where.schema.names)
    sampled = rec.belief(people).editable
    parts = []
    for k in range(each):
        mine = (np.arange(len(people)) * each + k) % len(vectors)
        wishes = {
            label: lw.Preferences(editable=names[vectors[v]].tolist())
            for label, v in zip(people.index, mine, strict=True)
        }
        truth = lw.simulate_people(
            people, where.schema, where.frame, preferences=wishes, random_state=9000 + 100 * seed + k
        )
        apart = (sampled != vectors[mine][:, None, :]).sum(axis=2).min(axis=1)
        part = pd.DataFrame({"min_cost": truth.min_costs(plans), "distance": np.sqrt(apart), "subset": mine})
        parts.append(part.set_axis(people.index, axis=0).rename_axis("person").reset_index())
    return pd.concat(parts, ignore_index=True)
