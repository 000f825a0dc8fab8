"""Whether a model may be asked by table, found out once and kept for as long as the model stays the same."""

from __future__ import annotations

from dataclasses import dataclass, replace

from leastways.models.base import Model, Split, split_of
from leastways.models.columns import NotColumnWise
from leastways.models.tabulated import Tabulated, TabulatedPeople
from leastways.schema import Encoded, Schema


@dataclass(frozen=True)
class Shortcut:
    """A model's table, or the reason why it has none."""

    schema: Schema
    split: Split | None
    table: Tabulated | None
    reason: str
    setup_rows: int  # rows the model was asked about to find out

    @classmethod
    def find(cls, model: Model, schema: Schema, kept: Shortcut | None = None) -> Shortcut:
        """Find out, or return what is `kept` from before if it is about the same model and schema."""
        split = split_of(model)
        if split is None:
            return cls(schema, None, None, "the model does not part into an encoder and a decision", 0)
        if kept is not None and kept._is_about(split, schema):
            # The halves are the present ones: what was kept may have been asked for another class.
            return replace(kept, split=split, table=None if kept.table is None else replace(kept.table, split=split))
        try:
            table = Tabulated.build(model, split, schema)
        except NotColumnWise as reason:
            return cls(schema, split, None, str(reason), reason.asked)
        return cls(schema, split, table, "", table.setup_rows)

    def people(self, people: Encoded) -> TabulatedPeople | None:
        """Return the table in the grids of some people; it says whom it holds for."""
        return None if self.table is None else self.table.of(people)

    def _is_about(self, split: Split, schema: Schema) -> bool:
        """Whether nothing was replaced since: not the model, nor, by fitting again, what is in it."""
        old, new = (() if self.split is None else self.split.parts), split.parts
        same = len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))
        return same and bool(new) and self.schema is schema
