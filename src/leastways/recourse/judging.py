"""How a search gets its answers: from a table of the model's encoder where that is the same, else from frames."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from leastways.errors import ModelError
from leastways.models import QueryMeter
from leastways.models.shortcut import Shortcut
from leastways.models.tabulated import TabulatedPeople
from leastways.schema import Encoded, Schema
from leastways.search import Chosen, Questions

Answers = tuple[NDArray[np.float64], dict[int, ModelError]]


@dataclass
class Judging:
    """Asks the model about people and their options by the fastest way that is sure to be right."""

    schema: Schema
    meter: QueryMeter
    shortcut: Shortcut
    trouble: str = field(init=False, default="")

    @classmethod
    def start(cls, schema: Schema, meter: QueryMeter, kept: Shortcut | None) -> Judging:
        """Take up the shortcut that an earlier call found, or look for one."""
        return cls(schema, meter, Shortcut.find(meter.model, schema, kept))

    def of(self, people: Encoded) -> JudgedPeople:
        """Get ready to judge a chunk of people."""
        found = self.shortcut.people(people)
        table = self.shortcut.table
        if isinstance(found, str) and table is not None and table.is_stale():
            self.shortcut = Shortcut.find(self.meter.model, self.schema)
            found = self.shortcut.people(people)
        if isinstance(found, str):
            self.trouble = self.trouble or found
            return JudgedPeople(self.schema, self.meter, people, None)
        return JudgedPeople(self.schema, self.meter, people, found)

    def note_misjudged(self) -> None:
        """Note that the table was wrong about somebody's options."""
        self.trouble = self.trouble or "the encoder does not treat each column by itself in some people's options"

    def settings(self) -> dict[str, int | str]:
        """Return what a plan records of how the model was asked."""
        trouble = self.trouble or self.shortcut.reason
        return {
            "model_path": f"plain: {trouble}" if trouble else "tabulated",
            "model_setup_rows": self.shortcut.setup_rows,
        }


@dataclass(frozen=True)
class JudgedPeople:
    """A chunk of people, and their table if there is one."""

    schema: Schema
    meter: QueryMeter
    people: Encoded
    table: TabulatedPeople | None

    def take(self, rows: NDArray[np.intp]) -> JudgedPeople:
        """Return some of the people."""
        table = None if self.table is None else self.table.take(rows)
        return JudgedPeople(self.schema, self.meter, self.people.take(rows), table)

    def plain(self) -> JudgedPeople:
        """Return the same people without their table."""
        return replace(self, table=None)

    def misjudged(self, chosen: Chosen) -> NDArray[np.intp]:
        """Return the people of whose options the encoder makes something else than the table says."""
        who, option = np.nonzero(np.arange(chosen.codes.shape[1]) < chosen.n[:, None])
        if self.table is None or not len(who):
            return np.empty(0, np.intp)
        codes = chosen.codes[who, option]
        return np.unique(who[self.table.differs(codes, who, self.schema.decode(codes, self.people, who))])

    def now(self) -> Answers:
        """Judge the people as they are."""
        everyone = np.arange(len(self.people))
        values = self._by_table(Questions(everyone, self.people.codes))
        if values is None:
            return self.meter.judge_by_group(self.schema.decode(self.people), everyone)
        return values, {}

    def __call__(self, questions: Questions) -> Answers:
        """Judge states: P(target) of each row, and the people on whose rows the model failed."""
        values = self._by_table(questions)
        if values is None:
            frame = self.schema.decode(questions.codes, self.people, questions.people)
            return self.meter.judge_by_group(frame, questions.people)
        return values, {}

    def _by_table(self, questions: Questions) -> NDArray[np.float64] | None:
        table, (who, codes) = self.table, questions
        return None if table is None else self.meter.judge_by_shortcut(lambda: table.probability(codes, who), len(who))
