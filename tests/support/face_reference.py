"""FACE's graph once more, slow and plain: dicts and loops over pairs of rows, paths by Bellman and Ford."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from leastways.schema import Feature, Schema

Point = tuple[int, ...]


def place(feature: Feature, value: Any) -> int:
    """The grid point nearest to a value; of two as near, the lower."""
    if not feature.numeric:
        return feature.values.index(value)
    return min(range(len(feature.values)), key=lambda i: (abs(feature.array[i] - value), i))


def points_of(schema: Schema, frame: pd.DataFrame) -> list[Point]:
    """Every row as grid points."""
    return [
        tuple(place(f, value) for f, value in zip(schema.features, row, strict=True))
        for row in frame[list(schema.names)].itertuples(index=False)
    ]


def distance(schema: Schema, a: Point, b: Point, groups: bool = True) -> float:
    """The schema's distance; infinite between groups with other fixed features."""
    total = 0.0
    for f, i, j in zip(schema.features, a, b, strict=True):
        if f.direction == "fixed" and groups and i != j:
            return math.inf
        if f.numeric:
            total += abs(f.array[i] - f.array[j]) / (f.range or 1.0)
        elif f.ordered:
            total += abs(i - j) / max(len(f.values) - 1, 1)
        else:
            total += float(i != j)
    return round(total, 9)


def may_step(schema: Schema, a: Point, b: Point) -> bool:
    """Whether a step breaks neither a direction nor a fixed feature."""
    for f, i, j in zip(schema.features, a, b, strict=True):
        if {"fixed": i != j, "up": j < i, "down": j > i, "any": False}[f.direction]:
            return False
    return True


def path_costs(
    schema: Schema, frame: pd.DataFrame, person: pd.DataFrame, kind: str, neighbors: int, radius: float | None
) -> dict[Point, float]:
    """The cost of the cheapest path from a person to every distinct training row that can be reached."""
    rows = points_of(schema, frame)
    points = sorted(set(rows))
    me = points_of(schema, person)[0]
    near = {a: sorted(distance(schema, a, b) for b in points if b != a) for a in points}
    near = {a: [d for d in lengths if d < math.inf] for a, lengths in near.items()}
    kth = [lengths[min(neighbors, len(lengths)) - 1] for lengths in near.values() if lengths]
    width = float(np.median(kth)) if kth else 1.0
    if kind == "eps" and radius is None:
        radius = (
            max(width, 1.0) if any(f.kind == "category" and f.direction != "fixed" for f in schema.features) else width
        )

    def density(x: Point) -> float:
        kernels = [math.exp(-0.5 * (distance(schema, x, y, groups=False) / width) ** 2) for y in rows]
        return max(sum(kernels) / len(rows), 1.0 / len(rows))

    def kth_of(lengths: list[float]) -> float:
        return lengths[neighbors - 1] if len(lengths) >= neighbors else math.inf

    reach = {a: kth_of(lengths) for a, lengths in near.items()}
    mine = kth_of(sorted(d for b in points if 0 < (d := distance(schema, me, b)) < math.inf))
    steep = {x: -math.log(density(x)) for x in {*points, me}}
    edges: list[tuple[Any, Point, float]] = []
    for a, key, limit in [(me, "me", mine), *((a, a, reach[a]) for a in points)]:
        for b in points:
            d = distance(schema, a, b)
            joined = (
                d <= radius if radius is not None else (d <= limit or d < reach[b] or (key != "me" and d <= reach[b]))
            )
            if d < math.inf and joined and may_step(schema, a, b) and not (key != "me" and a == b):
                edges.append((key, b, d * 0.5 * (steep[a] + steep[b])))
    costs: dict[Any, float] = {"me": 0.0}
    for _ in range(len(points) + 1):
        for a, b, weight in edges:
            if a in costs and costs[a] + weight < costs.get(b, math.inf):
                costs[b] = costs[a] + weight
    del costs["me"]
    return costs
