"""FACE: options that a person reaches over dense paths of training rows.

R. Poyiadzi, K. Sokol, R. Santos-Rodriguez, T. De Bie, P. Flach: FACE: Feasible and Actionable Counterfactual
Explanations. AIES 2020, arXiv:1909.09369. Training rows are the nodes of a graph, near ones are joined, an edge weighs
its length times -log density, edges that no one can walk are removed. Options are those training rows that the model
accepts with enough confidence, that lie densely enough, and to which the shortest paths lead.

Deviations from the published method:

- The person need not be a training row: they are joined to the graph by the rule that joined the rows.
- Many options instead of one: the N nearest targets by path cost, as in the comparison of the recourse-set paper.
- Rows are put on the schema's grid and equal ones merged, because options are made of grid values.
- Distance is the schema's (difference over range, 0 or 1 for categories, summed), since columns are of mixed kinds.
- Neighbours are looked for among points with the same fixed features: all other edges would be removed again.
- Density is a kernel estimate for both graphs. The paper has cruder ones for its k-NN and epsilon graphs, in powers of
  the number of dimensions, whose -log can be negative; mixed columns have no such number. The estimate is a share of
  the largest possible density, so that -log of it is never negative.
- The density along an edge is taken from its two ends (their mean -log) instead of its middle: between two categories
  there is no middle that anyone could be in.
- The density threshold is a rank among the training rows, because densities have no scale a user would know.
- The model is asked about targets in the order of path cost, and no further than needed, instead of about all rows
  beforehand: rows judged are counted per person.
- An epsilon graph is capped (see `Face.neighbors`), and a large table is sampled (`Face.max_points`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from leastways._validation import check_choice, check_count, check_number
from leastways.baselines.face_graph import PointGraph, build_graph
from leastways.baselines.face_points import grid_codes, in_grid_of
from leastways.errors import SettingError
from leastways.kernels.permitted import permitted_states
from leastways.schema import Schema
from leastways.search.protocol import Account, Background, Chosen, Problem, Questions
from leastways.search.registry import register_searcher

_ARCS_AT_A_TIME = 10_000_000  # walked between two looks at the clock
_MOST_AT_A_TIME = 64  # people


@dataclass(frozen=True)
class Face:
    """Lead people to accepted training rows over dense paths (FACE, Poyiadzi et al. 2020).

    Parameters
    ----------
    graph
        `knn` joins points of which either is among the nearest of the other, `eps` points within a radius.
    neighbors
        The nearest so many are joined (`knn`). For `eps` it sets the radius, if none is given, and at most four times
        as many are joined to a point.
    radius
        For `eps`: the largest distance of joined points, in units of one feature's range; None for the median distance
        of points to their `neighbors`-th neighbour, and no less than 1 if there are categories without order to be
        changed: their distance is 1, and with a smaller radius no one could ever change them.
    confidence
        The least probability of a target; None for the threshold by which the model accepts.
    density
        Targets must lie more densely than this share of the training points.
    max_points
        Of a table with more distinct rows, so many are taken at random (by the seed; common rows more likely).
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
        """Build the graph that all people share."""
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
    """Walks the graph for a few people at a time, and asks about what they reach in order of path cost."""

    def __init__(self, face: PreparedFace, problem: Problem) -> None:
        P, N, F = problem.n_people, problem.n_options, problem.people.shape[1]
        self.face, self.problem = face, problem
        self.stands_at = grid_codes(face.schema, problem.people)  # [P, F]
        self.now = range(0)  # people who are being asked for
        self.targets: dict[int, NDArray[np.int32]] = {}  # theirs: states to ask about, in order, [T, F]
        self.reached = np.zeros(P, np.int64)  # points that a path leads to
        self.suitable = np.zeros(P, np.int64)  # of these: permitted as an option, and dense enough
        self.asked = np.zeros(P, np.int64)
        self.found = Chosen.none(P, N, F)
        self.reasons: dict[int, str] = {}
        self.batch = N
        self.at_a_time = max(1, min(_MOST_AT_A_TIME, _ARCS_AT_A_TIME // (face.graph.arcs.nnz + 1)))

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Ask about the next targets, twice as many each round; go on to the next people when these are done."""
        while True:
            parts = [self._next_targets(p, int(left[p])) for p in self.now]
            sizes = [len(part) for part in parts]
            if any(sizes):
                self.batch *= 2
                return Questions(np.repeat(np.arange(self.now.start, self.now.stop), sizes), np.concatenate(parts))
            if not left[self.now.stop :].any() or self.problem.out_of_time():
                return Questions(np.empty(0, np.int64), np.empty((0, self.stands_at.shape[1]), np.int32))
            self._go_on()

    def _next_targets(self, p: int, left: int) -> NDArray[np.int32]:
        """Return the states to ask about next for one person; none if they have enough."""
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
        """Say why people got fewer options than asked for, and whose turn did not come in time."""
        P = self.problem.n_people
        waiting = (np.arange(P) >= self.now.stop) & self.problem.out_of_time()
        return Account(np.zeros(P, np.int64), dict(self.reasons), waiting)

    def _go_on(self) -> None:
        """Walk the graph for the next few people, and line up what they reach."""
        self.now = range(self.now.stop, min(self.now.stop + self.at_a_time, self.problem.n_people))
        self.batch = self.problem.n_options
        attached = self.face.graph.attach(self.stands_at[self.now.start : self.now.stop])
        costs, _ = self.face.graph.walk(attached)
        self.targets = {p: self._line_up(p, costs[i], attached[[i]]) for i, p in enumerate(self.now)}
        self._note_reasons()

    def _line_up(self, p: int, costs: NDArray[np.float64], attached: csr_array) -> NDArray[np.int32]:
        """Return the states that may be offered to a person, by path cost, as many as may be asked about."""
        graph, (t, rules) = self.face.graph, (self.problem.samples.tables, self.problem.samples.rules)
        points = np.flatnonzero(np.isfinite(costs))
        codes = in_grid_of(graph.codes[points], t.start[p], self.problem.people.inserted_at[p], self.stands_at[p])
        values_fit, fits = np.empty(len(points), np.bool_), np.empty(len(points), np.bool_)
        permitted_states(rules, t.allowed[p], t.offsets, p, t.start[p], codes, values_fit, fits)
        if not values_fit.all():  # a person with limits of their own, who does not walk through what they rule out
            open_to = np.ones(graph.n_points, np.bool_)
            open_to[points[~values_fit]] = False
            costs = graph.walk(attached, open_to)[0][0]
        ends = np.isfinite(costs[points]) & (codes != t.start[p]).any(axis=1)
        fits &= ends & self.face.dense_enough[points]
        self.reached[p], self.suitable[p] = ends.sum(), fits.sum()
        order = np.argsort(costs[points[fits]], kind="stable")[: self.problem.budget]
        return codes[fits][order]

    def _note_reasons(self) -> None:
        """Say of those who have nothing more to ask about why they have fewer options than wanted."""
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


register_searcher("face-knn", Face)
register_searcher("face-eps", partial(Face, graph="eps"))
