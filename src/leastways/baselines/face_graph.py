"""The graph that FACE walks on: points, arcs between neighbours, weights by length and density. Made once for all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra
from sklearn.neighbors import NearestNeighbors

from leastways.baselines.face_points import LEAST, Density, Space, grid_codes, rounded
from leastways.schema import Encoded, Schema

_KDE_POINTS = 5_000  # a density estimate needs no more, and costs as many distances per point


@dataclass(frozen=True)
class PointGraph:
    """Distinct training rows as nodes, permitted steps between neighbours as arcs."""

    space: Space
    codes: NDArray[np.int32]  # [n, F] places in the schema's grid
    rows: NDArray[np.int64]  # [n] training rows at each point
    density: Density
    dense: NDArray[np.float64]  # [n] density at each point
    arcs: csr_array  # [n, n] weights
    most: int  # neighbours that a point looks for
    radius: float  # how far it looks
    reach: NDArray[np.float64]  # [n] who is nearer than this is a point's neighbour, as far as `radius` goes

    @property
    def n_points(self) -> int:
        """Nodes of the graph."""
        return len(self.codes)

    def step_costs(
        self, lengths: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Weigh steps between places of density a and b: length times the mean -log density of the two ends."""
        return np.maximum(lengths, LEAST) * np.maximum(-0.5 * (np.log(a) + np.log(b)), LEAST)

    def attach(self, people: NDArray[np.int32]) -> csr_array:
        """Return each person's arcs to points, [P, n], by the rule that made the graph; people as grid codes [P, F]."""
        lengths = self.space.distances(people, self.codes)
        at_hand = lengths <= self.radius
        others = np.where(at_hand & (lengths > 0), lengths, np.inf)
        nearest = np.argsort(others, axis=1, kind="stable")[:, : self.most]
        chosen = np.zeros_like(at_hand)
        np.put_along_axis(chosen, nearest, True, axis=1)
        chosen |= (lengths < self.reach) | (lengths == 0)
        person, point = np.nonzero(chosen & at_hand)
        fine = self.space.one_way(people[person], self.codes[point])
        person, point = person[fine], point[fine]
        weights = self.step_costs(lengths[person, point], self.density.at(people)[person], self.dense[point])
        return csr_array((weights, (person, point)), shape=lengths.shape)

    def walk(
        self, attached: csr_array, open_to: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the path costs from people to points, [P, n], and each point's predecessor: -9999 for none, n + p
        for person p. Points that are not `open_to` [n] a person are not walked through.
        """
        n, P = self.n_points, attached.shape[0]
        data = np.concatenate([self.arcs.data, attached.data])
        to = np.concatenate([self.arcs.indices, attached.indices])
        if open_to is not None:
            data = np.where(open_to[to], data, np.inf)
        first = np.concatenate([self.arcs.indptr, self.arcs.indptr[-1] + attached.indptr[1:]])
        # short indices: dijkstra of SciPy before 1.15 takes no others
        whole = csr_array((data, to.astype(np.int32), first.astype(np.int32)), shape=(n + P, n + P))
        costs, before = dijkstra(whole, directed=True, indices=np.arange(n, n + P), return_predecessors=True)
        return costs[:, :n], before[:, :n]


def build_graph(
    schema: Schema, rows: Encoded, kind: str, neighbors: int, radius: float | None, max_points: int, seed: int
) -> PointGraph:
    """Merge training rows into points and join neighbours.

    In a "knn" graph two points are joined if either is among the `neighbors` nearest of the other. In an "eps" graph
    they are joined if they are no farther apart than `radius` and either is among the 4 * `neighbors` nearest of the
    other, which bounds the memory.
    """
    space = Space.of(schema)
    codes, counts, draw = _points(schema, rows, max_points, seed)
    most = neighbors if kind == "knn" else 4 * neighbors
    lengths, neighbour = _neighbours(space, codes, most)
    typical = _typical(lengths, neighbors)
    if kind == "knn":
        radius = np.inf
    elif radius is None:
        radius = max(typical, 1.0) if (~space.ordered & ~space.fixed).any() else typical
    density = _density(space, codes, counts, typical, draw)
    graph = PointGraph(
        space=space,
        codes=codes,
        rows=counts,
        density=density,
        dense=density.at(codes),
        arcs=csr_array((len(codes), len(codes))),
        most=most,
        radius=radius,
        reach=lengths[:, -1] if lengths.shape[1] == most else np.full(len(codes), np.inf),
    )
    return _joined(graph, lengths, neighbour)


def _density(
    space: Space,
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    bandwidth: float,
    draw: np.random.Generator,
) -> Density:
    """Estimate the density from all points, or from enough of them."""
    some = np.arange(len(codes))
    if len(codes) > _KDE_POINTS:
        some = np.sort(draw.choice(len(codes), _KDE_POINTS, replace=False))
    return Density(space, codes[some], counts[some] / counts[some].sum(), bandwidth, 1.0 / counts.sum())


def _points(
    schema: Schema, rows: Encoded, max_points: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], np.random.Generator]:
    """Merge equal rows; of more than `max_points` take some, as likely as they have rows."""
    codes, counts = np.unique(grid_codes(schema, rows), axis=0, return_counts=True)
    draw = np.random.default_rng(seed)
    if len(codes) > max_points:
        some = np.sort(draw.choice(len(codes), max_points, replace=False, p=counts / counts.sum()))
        codes, counts = codes[some], counts[some]
    return np.ascontiguousarray(codes, dtype=np.int32), counts.astype(np.int64), draw


def _typical(lengths: NDArray[np.float64], neighbors: int) -> float:
    """Return the median distance to a point's `neighbors`-th neighbour, or to its last if it has fewer."""
    if not lengths.shape[1]:
        return 1.0
    known = np.where(np.isfinite(lengths), lengths, -np.inf)[:, :neighbors].max(axis=1)
    known = known[known > 0]
    return max(float(np.median(known)), LEAST) if len(known) else 1.0


def _neighbours(space: Space, codes: NDArray[np.int32], most: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return distances to the nearest points and which they are, [n, at most `most`]; infinite to other groups.

    Points that differ in a fixed feature can never be joined. A coordinate of their own keeps them farther apart than
    any that may be, so one search serves all groups.
    """
    F = codes.shape[1]
    most = min(most, len(codes) - 1)
    if most < 1:
        return np.zeros((len(codes), 0)), np.zeros((len(codes), 0), np.int64)
    group = np.unique(codes[:, space.fixed], axis=0, return_inverse=True)[1].ravel()
    parts: list[Any] = [(group * (F + 1.0))[:, None]]
    places = space.places(codes)
    for f in np.flatnonzero(~space.fixed):
        if space.ordered[f]:
            parts.append(places[:, f, None])
        else:  # two categories differ in two of these columns: half a unit in each
            parts.append(0.5 * (codes[:, f, None] == np.arange(len(space.grids[f]))))
    search = NearestNeighbors(n_neighbors=most, metric="manhattan", algorithm="kd_tree").fit(np.hstack(parts))
    lengths, neighbour = search.kneighbors()
    lengths = np.where(lengths > F + 0.5, np.inf, np.maximum(rounded(lengths), LEAST))
    return lengths, neighbour.astype(np.int64)


def _joined(graph: PointGraph, lengths: NDArray[np.float64], neighbour: NDArray[np.int64]) -> PointGraph:
    """Join neighbours by weighted arcs, without those that go against a direction."""
    n = graph.n_points
    near = (lengths <= graph.radius) & np.isfinite(lengths)
    found = csr_array((lengths[near], (np.nonzero(near)[0], neighbour[near])), shape=(n, n))
    both: coo_array = found.maximum(found.T).tocoo()
    a, b = both.row, both.col
    fine = graph.space.one_way(graph.codes[a], graph.codes[b])
    a, b, length = a[fine], b[fine], both.data[fine]
    arcs = csr_array((graph.step_costs(length, graph.dense[a], graph.dense[b]), (a, b)), shape=(n, n))
    return replace(graph, arcs=arcs)
