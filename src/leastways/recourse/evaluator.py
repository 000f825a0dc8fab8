"""How states are evaluated: from a table of the model's encoder where that gives the same, else from frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.errors import ModelError
from leastways.models import FastPath, FastPeople, QueryCounter
from leastways.schema import Encoded, Schema
from leastways.search import Questions, SearchResult

Answers = tuple[NDArray[np.float64], dict[int, ModelError]]


@dataclass
class Evaluator:
    """Evaluates people and their options by the fastest way that is known to be right."""

    schema: Schema
    meter: QueryCounter
    fast_path: FastPath
    plain_people: int = field(init=False, default=0)  # people for whom the table does not hold
    trouble: str = field(init=False, default="")  # why

    @classmethod
    def start(cls, schema: Schema, meter: QueryCounter, kept: FastPath | None) -> Evaluator:
        """Use the encoder table of an earlier call if it is still valid, else look for one."""
        return cls(schema, meter, FastPath.find(meter.model, schema, kept))

    def of(self, people: Encoded) -> PeopleEvaluator:
        """Return the evaluator of a chunk of people."""
        table, found = self.fast_path.model, self.fast_path.people(people)
        if table is not None and found is not None and not found.held.all() and table.is_stale():
            self.fast_path = FastPath.find(self.meter.model, self.schema)
            found = self.fast_path.people(people)
        if found is not None:
            self._note_plain(int((~found.held).sum()), found.reason)
        return PeopleEvaluator(self.schema, self.meter, people, found)

    def note_wrongly_tabulated(self, people: int) -> None:
        """Note for how many people the table was wrong about an option."""
        self._note_plain(people, "the encoder does not treat each column by itself in some people's options")

    def _note_plain(self, people: int, why: str) -> None:
        if people:
            self.plain_people += people
            self.trouble = self.trouble or why

    def settings(self) -> dict[str, int | str]:
        """Return the settings that plans record about model evaluation."""
        path = f"plain: {self.fast_path.reason}" if self.fast_path.model is None else "tabulated"
        if self.plain_people:
            people = "1 person" if self.plain_people == 1 else f"{self.plain_people} people"
            path += f", but plain for {people}: {self.trouble}"
        return {"model_path": path, "model_setup_rows": self.fast_path.setup_rows}


@dataclass(frozen=True)
class PeopleEvaluator:
    """A chunk of people, and their table if there is one."""

    schema: Schema
    meter: QueryCounter
    people: Encoded
    table: FastPeople | None

    def take(self, rows: NDArray[np.intp]) -> PeopleEvaluator:
        """Return some of the people."""
        table = None if self.table is None else self.table.take(rows)
        return PeopleEvaluator(self.schema, self.meter, self.people.take(rows), table)

    def plain(self) -> PeopleEvaluator:
        """Return the same people without their table."""
        return replace(self, table=None)

    @property
    def by_table(self) -> NDArray[np.bool_]:
        """Mask of the people whose states the encoder table evaluates, [P]; the model evaluates the others."""
        return np.zeros(len(self.people), np.bool_) if self.table is None else self.table.held

    def wrongly_tabulated(self, result: SearchResult) -> NDArray[np.intp]:
        """Return the people whose options or nearest miss are encoded differently by encoder and table."""
        if self.table is None:
            return np.empty(0, np.intp)
        chosen, misses = result.chosen, result.misses
        offered = np.arange(chosen.codes.shape[1]) < chosen.n[:, None]
        who, option = np.nonzero(offered & self.by_table[:, None])
        missed = np.flatnonzero(misses.known & (chosen.n == 0) & self.by_table)
        codes = np.concatenate([chosen.codes[who, option], misses.codes[missed]])
        who = np.concatenate([who, missed])
        if not len(who):
            return np.empty(0, np.intp)
        return np.unique(who[self.table.differs(codes, who, self.schema.decode(codes, self.people, who))])

    def present(self) -> Answers:
        """Evaluate the present states."""
        all_people = np.arange(len(self.people))
        return self._evaluate(
            Questions(all_people, self.people.codes),
            lambda rows: self.schema.decode(self.people.take(rows)),
            named=True,
        )

    def __call__(self, questions: Questions) -> Answers:
        """Evaluate states: return P(target) of each row, and the people on whose rows the model failed."""
        who, codes = questions
        return self._evaluate(
            questions, lambda rows: self.schema.decode(codes[rows], self.people, who[rows]), named=False
        )

    def _evaluate(
        self, questions: Questions, frame_of: Callable[[NDArray[np.intp]], pd.DataFrame], named: bool
    ) -> Answers:
        """Evaluate by the table where it holds, and by frames elsewhere, or everywhere if the table gives no answer."""
        who, codes = questions
        fast = self.by_table[who]
        values, failures = np.empty(len(who)), dict[int, ModelError]()
        if self.table is not None and fast.any():
            by_table = partial(self.table.probability, codes[fast], who[fast])
            answers = self.meter.evaluate_by_table(by_table, int(fast.sum()))
            if answers is None:
                fast[:] = False
            else:
                values[fast] = answers
        slow = np.flatnonzero(~fast)
        if len(slow):
            values[slow], failures = self.meter.evaluate_by_group(frame_of(slow), who[slow], named)
        return values, failures
