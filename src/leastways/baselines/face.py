"""FACE: accepted training rows that are connected to a person by short paths through dense regions.

R. Poyiadzi, K. Sokol, R. Santos-Rodriguez, T. De Bie, P. Flach: FACE: Feasible and Actionable Counterfactual
Explanations. AIES 2020, arXiv:1909.09369. Training rows are the nodes of a graph. Near rows are joined by an edge whose
weight is its length times -log density; edges that are not permitted are removed. The options are the training rows at
the ends of the shortest paths that the model accepts with enough confidence and that lie in dense enough regions.

Deviations from the published method:

- The person need not be a training row: they are joined to the graph by the rule that joined the rows.
- There are N options instead of one: the N nearest targets by path cost, as in the recourse-set paper's comparison.
- Rows are put on the schema's grid and equal ones merged, because options consist of grid values.
- The distance is the schema's (difference over range, 0 or 1 for categories, summed), as columns are of mixed types.
- Neighbours are searched among points with the same fixed features: all other edges would be removed again.
- The density is a kernel estimate for both graphs. The paper's estimates for its k-NN and epsilon graphs are coarser
  and depend on the number of dimensions, which mixed columns do not have; their -log can be negative. Here the estimate
  is a share of the largest possible density, so its -log is never negative.
- The density of an edge is that of its two ends (their mean -log), not of its middle: there is no state in the middle
  between two categories.
- The density threshold is a rank among the training rows, because densities have no familiar scale.
- Targets are evaluated in the order of path cost, no more than needed, instead of all training rows beforehand:
  queries are counted per person.
- An epsilon graph is capped (see `Face.neighbors`), and a large table is sampled (`Face.max_points`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra
from sklearn.neighbors import NearestNeighbors

from leastways._validation import check_choice, check_count, check_number
from leastways.errors import SettingError
from leastways.feasibility import permitted_states
from leastways.schema import Encoded, Schema
from leastways.search import Account, Background, Chosen, Problem, Questions

_ARCS_AT_A_TIME = 10_000_000  # walked between two checks of the deadline
_MOST_AT_A_TIME = 64  # people
_DECIMALS = 9  # distances are compared after rounding: the last bits depend on the order of a sum
LEAST_LENGTH = 1e-9  # arcs of length 0 would be missing from a sparse matrix
_BLOCK_CELLS = 4_000_000  # cells of a distance matrix in memory at once
_KDE_POINTS = 5_000  # in a density estimate, which computes as many distances per point


@dataclass(frozen=True)
class Face:
    """Find accepted training rows along short, dense paths (FACE, Poyiadzi et al. 2020).

    Parameters
    ----------
    graph
        `knn` joins two points if either is among the nearest of the other, `eps` if they are within a radius.
    neighbors
        Number of nearest points to join (`knn`). For `eps` it sets the radius, if none is given, and at most four times
        as many are joined to a point.
    radius
        Largest distance of joined points (`eps`), in units of one feature's range. None for the median distance of
        points to their `neighbors`-th neighbour, and at least 1 if unordered categories can change: a change of a
        category has length 1, so a smaller radius would permit none.
    confidence
        Least probability of a target; None for the threshold.
    density
        Share of the training points that are less dense than every target.
    max_points
        Largest number of distinct rows to use; of more, so many are drawn by the seed, frequent rows more likely.

    Examples
    --------
    >>> import leastways as lw
    >>> lw.Face(neighbors=100).graph
    'knn'
    >>> lw.Face(radius=0.5)
    Traceback (most recent call last):
    leastways.errors.SettingError: radius=0.5 is for graph="eps"; a "knn" graph has none.

    Used as ``lw.Recourse(model, schema, lw.Face())``, or by name: ``"face-knn"``, ``"face-eps"``.
    """

    graph: Literal["knn", "eps"] = "knn"
    neighbors: int = 50
    radius: float | None = None
    confidence: float | None = None
    density: float = 0.05
    max_points: int = 30_000

    def __post_init__(self) -> None:
        check_choice("graph", self.graph, ("knn", "eps"))
        check_count("neighbors", self.neighbors)
        check_count("max_points", self.max_points, least=2)
        check_number("density", self.density, 0, 1)
        if self.confidence is not None:
            check_number("confidence", self.confidence, 0, 1)
        if self.radius is not None:
            if self.graph == "knn":
                raise SettingError(f'radius={self.radius!r} is for graph="eps"; a "knn" graph has none.')
            check_number("radius", self.radius, 0, 1e6)

    def prepare(self, background: Background) -> PreparedFace:
        """Return the method with the graph of training rows, which all people share."""
        schema = background.schema
        graph = build_graph(
            schema, background.rows, self.graph, self.neighbors, self.radius, self.max_points, background.seed
        )
        least = float(np.quantile(graph.dense, self.density))
        return PreparedFace(schema, graph, graph.dense >= least, self.confidence)


@dataclass(frozen=True, eq=False)
class PreparedFace:
    """FACE with its graph."""

    schema: Schema
    graph: PointGraph
    dense_enough: NDArray[np.bool_]  # [n]
    confidence: float | None

    def start(self, problem: Problem) -> FaceRun:
        """Begin a search for a chunk of people."""
        return FaceRun(self, problem)


class FaceRun:
    """A search that walks the graph for a few people at a time, and evaluates targets in order of path cost."""

    def __init__(self, face: PreparedFace, problem: Problem) -> None:
        P, N, F = problem.n_people, problem.n_options, problem.people.shape[1]
        self.face, self.problem = face, problem
        self.present = grid_codes(face.schema, problem.people)  # [P, F] codes in the schema's grid
        self.now = range(0)  # people who are being searched for
        self.targets: dict[int, NDArray[np.int32]] = {}  # their states to evaluate, in order, [T, F]
        self.reached = np.zeros(P, np.int64)  # points at the end of a path
        self.suitable = np.zeros(P, np.int64)  # of these: permitted as an option, and dense enough
        self.asked = np.zeros(P, np.int64)
        self.found = Chosen.none(P, N, F)
        self.reasons: dict[int, str] = {}
        self.batch = N
        self.at_a_time = max(1, min(_MOST_AT_A_TIME, _ARCS_AT_A_TIME // (face.graph.arcs.nnz + 1)))

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Return the next targets, twice as many in each round; continue with the next people when these are done."""
        while True:
            parts = [self._next_targets(p, int(left[p])) for p in self.now]
            sizes = [len(part) for part in parts]
            if any(sizes):
                self.batch *= 2
                return Questions(np.repeat(np.arange(self.now.start, self.now.stop), sizes), np.concatenate(parts))
            if not left[self.now.stop :].any() or self.problem.out_of_time():
                return Questions(np.empty(0, np.int64), np.empty((0, self.present.shape[1]), np.int32))
            self._next_people()

    def _next_targets(self, p: int, left: int) -> NDArray[np.int32]:
        """Return one person's next states to evaluate; none if they have enough options."""
        size = min(left, self.batch) if self.found.n[p] < self.problem.n_options else 0
        return self.targets[p][self.asked[p] : self.asked[p] + size]

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Keep the first accepted targets in order of path cost."""
        sure = self.face.confidence
        rows = np.flatnonzero(accepted if sure is None else accepted & (probability >= sure))
        people = questions.people[rows]
        rank = np.arange(len(rows)) - np.searchsorted(people, people) + self.found.n[people]
        kept = rank < self.problem.n_options
        rows, people, rank = rows[kept], people[kept], rank[kept]
        self.found.codes[people, rank] = questions.codes[rows]
        self.found.probability[people, rank] = probability[rows]
        self.found.n[:] += np.bincount(people, minlength=len(self.asked))
        self.asked += np.bincount(questions.people, minlength=len(self.asked))
        self._note_reasons()

    def chosen(self) -> Chosen:
        """Return the accepted targets so far, by path cost."""
        return self.found.copy()

    def account(self) -> Account:
        """Return the reasons for too few options, and the people whose search did not begin in time."""
        P = self.problem.n_people
        pending = (np.arange(P) >= self.now.stop) & self.problem.out_of_time()
        return Account(np.zeros(P, np.int64), dict(self.reasons), pending)

    def _next_people(self) -> None:
        """Walk the graph for the next few people, and put their targets in order."""
        self.now = range(self.now.stop, min(self.now.stop + self.at_a_time, self.problem.n_people))
        self.batch = self.problem.n_options
        attached = self.face.graph.attach(self.present[self.now.start : self.now.stop])
        costs, _ = self.face.graph.walk(attached)
        self.targets = {p: self._ordered_targets(p, costs[i], attached[[i]]) for i, p in enumerate(self.now)}
        self._note_reasons()

    def _ordered_targets(self, p: int, costs: NDArray[np.float64], attached: csr_array) -> NDArray[np.int32]:
        """Return the suitable states for a person, [T, F], by path cost, as many as the budget suffices for."""
        graph, space = self.face.graph, self.problem.samples.space
        points = np.flatnonzero(np.isfinite(costs))
        codes = in_grid_of(graph.codes[points], space.start[p], self.problem.people.inserted_at[p], self.present[p])
        values_fit, fits = np.empty(len(points), np.bool_), np.empty(len(points), np.bool_)
        permitted_states(space, p, codes, values_fit, fits)
        if not values_fit.all():  # a person's own ranges hold for the whole path
            permitted = np.ones(graph.n_points, np.bool_)
            permitted[points[~values_fit]] = False
            costs = graph.walk(attached, permitted)[0][0]
        ends = np.isfinite(costs[points]) & (codes != space.start[p]).any(axis=1)
        fits &= ends & self.face.dense_enough[points]
        self.reached[p], self.suitable[p] = ends.sum(), fits.sum()
        order = np.argsort(costs[points[fits]], kind="stable")[: self.problem.budget]
        return codes[fits][order]

    def _note_reasons(self) -> None:
        """Note why people without further targets have fewer options than wanted."""
        for p in self.now:
            n, asked, suitable = int(self.found.n[p]), int(self.asked[p]), int(self.suitable[p])
            if n >= self.problem.n_options or asked < len(self.targets[p]):
                continue
            if not self.reached[p]:
                self.reasons[p] = (
                    "no training row can be reached from this person by permitted steps between neighbours"
                )
            elif not suitable:
                self.reasons[p] = (
                    f"none of the {self.reached[p]} training rows within reach is permitted and dense enough"
                )
            else:
                spent = (
                    f"the budget ended before the other {suitable - asked}" if asked < suitable else "there are no more"
                )
                self.reasons[p] = f"of {asked} training rows within reach the model accepts {n or 'none'}; {spent}"


@dataclass(frozen=True)
class Space:
    """Scales and directions of a schema's features: the space in which training rows are points.

    Points have values of the schema's grid, as options do. A value between two grid points counts as the nearer one, a
    person's own value too. Where an option has the grid point nearest to the person's own value, it keeps the own
    value; so "the same grid point" always means "no change".
    """

    ordered: NDArray[np.bool_]  # [F] numbers and ordered categories
    sense: NDArray[np.int8]  # [F] 1: only up, -1: only down, 0: either way
    fixed: NDArray[np.bool_]  # [F]
    grids: tuple[NDArray[np.float64], ...]  # each feature's grid, scaled to [0, 1]; positions for categories

    @classmethod
    def of(cls, schema: Schema) -> Space:
        """Return the space of a schema."""
        features = schema.features
        return cls(
            ordered=np.array([f.ordered for f in features]),
            sense=np.array([{"up": 1, "down": -1}.get(f.direction, 0) for f in features], dtype=np.int8),
            fixed=np.array([f.direction == "fixed" for f in features]),
            grids=tuple(
                (f.array - f.array[0]) / (f.range or 1.0)
                if f.numeric
                else np.arange(len(f.values)) / (max(len(f.values) - 1, 1) if f.ordered else 1.0)
                for f in features
            ),
        )

    def coordinates(self, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the coordinates of grid codes, [R, F]."""
        return np.stack([grid[codes[:, f]] for f, grid in enumerate(self.grids)], axis=1)

    def distances(self, a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the distances [A, B] of points: per feature, difference over range, or 0 or 1 for categories; summed.

        Infinite where a fixed feature differs. Feature by feature, so that a distance does not depend on how many
        are computed together.
        """
        at, to = self.coordinates(a), self.coordinates(b)
        out = np.zeros((len(a), len(b)))
        for f in range(len(self.grids)):
            if self.ordered[f] and not self.fixed[f]:
                out += np.abs(at[:, f, None] - to[None, :, f])
            else:
                out += np.where(a[:, f, None] != b[None, :, f], np.inf if self.fixed[f] else 1.0, 0.0)
        return rounded(out)

    def one_way(self, a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether the step from each point of `a` to the same row of `b` respects all directions; shapes [R, F]."""
        fine = np.ones(len(a), np.bool_)
        for f in np.flatnonzero(self.sense):
            fine &= (b[:, f] >= a[:, f]) if self.sense[f] > 0 else (b[:, f] <= a[:, f])
        for f in np.flatnonzero(self.fixed):
            fine &= a[:, f] == b[:, f]
        return fine


def rounded(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round distances, so that equal ones do not depend on the order of summation."""
    return np.round(distances, _DECIMALS)


def grid_codes(schema: Schema, rows: Encoded) -> NDArray[np.int32]:
    """Return the nearest grid point of every value, [R, F]."""
    out = rows.codes.copy()
    for f, feature in enumerate(schema.features):
        if not feature.open:
            continue
        out[rows.missing[:, f], f] = 0  # a missing value never changes: any code will do
        at = np.flatnonzero((rows.inserted_at[:, f] >= 0) & ~rows.missing[:, f])
        if not feature.numeric:
            continue
        own, above = rows.own[at, f], np.minimum(rows.inserted_at[at, f], len(feature.array) - 1)
        below = np.maximum(rows.inserted_at[at, f] - 1, 0)
        lower = own - feature.array[below] <= feature.array[above] - own
        out[at, f] = np.where(lower, below, above)
    return out


def in_grid_of(
    points: NDArray[np.int32],  # [R, F] codes in the schema's grid
    start: NDArray[np.int32],  # [F] the person, in their own grid
    inserted_at: NDArray[np.int32],  # [F]
    present: NDArray[np.int32],  # [F] the person, in the schema's grid
) -> NDArray[np.int32]:
    """Return points as codes of one person's own grid, [R, F]."""
    shifted = points + ((inserted_at >= 0) & (points >= inserted_at))
    return np.where(points == present, start, shifted).astype(np.int32)


@dataclass(frozen=True)
class Density:
    """A kernel density estimate as a share of the largest possible density; at least that of a single row."""

    space: Space
    codes: NDArray[np.int32]  # [R, F] points in the sum
    weight: NDArray[np.float64]  # [R] their shares of rows, summing to 1
    bandwidth: float
    floor: float

    def at(self, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the density at some points, [Q]; a different fixed feature has distance 1, as a category."""
        space = replace(self.space, fixed=np.zeros_like(self.space.fixed))
        size = max(1, _BLOCK_CELLS // max(1, len(self.codes)))
        out = np.empty(len(codes))
        for first in range(0, len(codes), size):
            part = slice(first, first + size)
            near = space.distances(codes[part], self.codes)
            out[part] = (np.exp(-0.5 * (near / self.bandwidth) ** 2) * self.weight).sum(axis=1)
        return np.clip(out, self.floor, 1.0)


@dataclass(frozen=True)
class PointGraph:
    """Distinct training rows as nodes, permitted steps between neighbours as arcs."""

    space: Space
    codes: NDArray[np.int32]  # [n, F] codes in the schema's grid
    rows: NDArray[np.int64]  # [n] training rows at each point
    density: Density
    dense: NDArray[np.float64]  # [n] density at each point
    arcs: csr_array  # [n, n] weights
    most: int  # neighbours of a point, at most
    radius: float  # largest distance of a neighbour
    reach: NDArray[np.float64]  # [n] whatever is nearer to a point than this, and within `radius`, is a neighbour

    @property
    def n_points(self) -> int:
        """Number of nodes."""
        return len(self.codes)

    def step_costs(
        self, lengths: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the weights of steps between densities a and b: length times the mean -log density of both ends."""
        return np.maximum(lengths, LEAST_LENGTH) * np.maximum(-0.5 * (np.log(a) + np.log(b)), LEAST_LENGTH)

    def attach(self, people: NDArray[np.int32]) -> csr_array:
        """Return the arcs from people (grid codes [P, F]) to points, [P, n], by the rule that made the graph."""
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
        self, attached: csr_array, permitted: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the path costs from people to points, [P, n], and each point's predecessor.

        A predecessor is -9999 for none, and n + p for person p. Paths use only `permitted` points [n].
        """
        n, P = self.n_points, attached.shape[0]
        data = np.concatenate([self.arcs.data, attached.data])
        to = np.concatenate([self.arcs.indices, attached.indices])
        if permitted is not None:
            data = np.where(permitted[to], data, np.inf)
        first = np.concatenate([self.arcs.indptr, self.arcs.indptr[-1] + attached.indptr[1:]])
        # 32-bit indices: SciPy's dijkstra before 1.15 takes no others
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
    """Return a density estimate from all points, or from a sample."""
    some = np.arange(len(codes))
    if len(codes) > _KDE_POINTS:
        some = np.sort(draw.choice(len(codes), _KDE_POINTS, replace=False))
    return Density(space, codes[some], counts[some] / counts[some].sum(), bandwidth, 1.0 / counts.sum())


def _points(
    schema: Schema, rows: Encoded, max_points: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], np.random.Generator]:
    """Return distinct rows with their counts; of more than `max_points`, a sample weighted by counts."""
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
    return max(float(np.median(known)), LEAST_LENGTH) if len(known) else 1.0


def _neighbours(space: Space, codes: NDArray[np.int32], most: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distances and indices of the nearest points, [n, at most `most`]; infinite in other groups.

    Points that differ in a fixed feature are in different groups and never joined. An extra coordinate sets groups
    farther apart than any points of one group, so that one search serves all of them.
    """
    F = codes.shape[1]
    most = min(most, len(codes) - 1)
    if most < 1:
        return np.zeros((len(codes), 0)), np.zeros((len(codes), 0), np.int64)
    group = np.unique(codes[:, space.fixed], axis=0, return_inverse=True)[1].ravel()
    parts: list[Any] = [(group * (F + 1.0))[:, None]]
    coordinates = space.coordinates(codes)
    for f in np.flatnonzero(~space.fixed):
        if space.ordered[f]:
            parts.append(coordinates[:, f, None])
        else:  # two categories differ in two of these columns, by half a unit in each
            parts.append(0.5 * (codes[:, f, None] == np.arange(len(space.grids[f]))))
    search = NearestNeighbors(n_neighbors=most, metric="manhattan", algorithm="kd_tree").fit(np.hstack(parts))
    lengths, neighbour = search.kneighbors()
    lengths = np.where(lengths > F + 0.5, np.inf, np.maximum(rounded(lengths), LEAST_LENGTH))
    return lengths, neighbour.astype(np.int64)


def _joined(graph: PointGraph, lengths: NDArray[np.float64], neighbour: NDArray[np.int64]) -> PointGraph:
    """Return the graph with weighted arcs between neighbours, where the step respects all directions."""
    n = graph.n_points
    near = (lengths <= graph.radius) & np.isfinite(lengths)
    found = csr_array((lengths[near], (np.nonzero(near)[0], neighbour[near])), shape=(n, n))
    both: coo_array = found.maximum(found.T).tocoo()
    a, b = both.row, both.col
    fine = graph.space.one_way(graph.codes[a], graph.codes[b])
    a, b, length = a[fine], b[fine], both.data[fine]
    arcs = csr_array((graph.step_costs(length, graph.dense[a], graph.dense[b]), (a, b)), shape=(n, n))
    return replace(graph, arcs=arcs)
