"""The schema: the features of a table, the rules across them, and the encoding of tables as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways._templates import render
from leastways.errors import DataError, SchemaError
from leastways.schema import validation as checks
from leastways.schema import yaml as files
from leastways.schema.encoding import Codes, Encoded, decode_column, encode_column, encode_relative
from leastways.schema.feature import Feature
from leastways.schema.inference import infer_features
from leastways.schema.rules import Rule, as_rules


@dataclass(frozen=True)
class Schema:
    """The features of a table, how each may change, and which combinations are permitted.

    Parameters
    ----------
    features
        The columns, in the order of the table.
    target
        The column that the model predicts; tables of people may lack it.
    rules
        Rules across features: `IfThen`, `Forbidden`, `Linked`, `AtMost`, or types of your own. Rules that contradict
        each other, or name an unknown feature or value, raise `SchemaError`.

    Examples
    --------
    >>> from leastways import AtMost, Feature, Schema
    >>> schema = Schema((Feature("hours", "integer", (20, 30, 40), dtype="int64"),), rules=(AtMost(1),))
    >>> print(schema)
    Schema of 1 features, 1 rules
      hours: integer, any, a whole number from 20 to 40
    """

    features: tuple[Feature, ...]
    target: str | None = None
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features:
            raise SchemaError("a schema needs at least one feature.")
        names = [f.name for f in self.features]
        if len(set(names)) != len(names):
            raise SchemaError(f"feature names must be unique: {listed(names, 40)}.")
        object.__setattr__(self, "rules", as_rules(self.rules, self.by_name))
        from leastways.feasibility import check_consistent  # late: only there is known what a rule demands of a state

        check_consistent(self.rules, self.by_name)

    @classmethod
    def infer(
        cls, frame: pd.DataFrame, target: str | None = None, *, rules: Sequence[Rule | Mapping[str, Any]] = ()
    ) -> Schema:
        """Return the schema of a training table: kinds and grids from its data, all directions `any`.

        Integers take every value between the smallest and the largest (more than 1,000 of them: a quantile grid),
        reals at most 100 quantile points. A pandas categorical keeps its categories, in order if it is ordered; those
        that do not occur are excluded. Everything else becomes a category of the values that occur, without order.
        Set directions with `update`. A warning names texts that differ only by case or blanks ("Paris", "PARIS"),
        which are separate categories, and numbers written as text ("35%"), whose order is lost.

        Parameters
        ----------
        frame
            The training table.
        target
            The column that the model predicts, which is no feature.
        rules
            Rules across features.

        Returns
        -------
        Schema
            A feature for each column but the target.

        Raises
        ------
        SchemaError
            If columns cannot be features; the message names all of them.

        Examples
        --------
        >>> import pandas as pd
        >>> train = pd.DataFrame({"age": [20, 24], "plan": ["a", "b"], "approved": [0, 1]})
        >>> Schema.infer(train, target="approved").names
        ('age', 'plan')
        """
        checks.check_is_frame(frame)
        if frame.empty:
            raise DataError("Schema.infer needs a DataFrame with at least one row.")
        if target is not None and target not in frame.columns:
            raise SchemaError(f"there is no target column {target!r}." + nearest(target, frame.columns))
        columns = [c for c in frame.columns if c != target]
        doubled = frame.columns[frame.columns.duplicated()].tolist()
        if doubled:
            raise SchemaError(f"columns occur twice: {listed(doubled)}.")
        odd = [c for c in columns if not isinstance(c, str)]
        if odd:
            raise SchemaError(f"column names must be text; got {listed(odd)}.")
        return cls(infer_features(frame, columns), target, rules)  # type: ignore[arg-type]

    def update(
        self,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        /,
        *,
        rules: Sequence[Rule | Mapping[str, Any]] | None = None,
        **features: Mapping[str, Any],
    ) -> Schema:
        """Return a schema with some features changed.

        With a `step` but no `min`, the points between the ends of a grid are multiples of the step; both ends are
        always points of it.

        Parameters
        ----------
        settings, features
            Settings by feature: direction, order, kind, values, grid, min, max, step, label, unit, missing, excluded,
            valid_range. A feature whose name is not a valid Python name goes into the mapping:
            ``update({"hours-per-week": {"direction": "up"}})``.
        rules
            Rules that replace the present ones.

        Returns
        -------
        Schema
            The new schema; this one stays as it is.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = Schema.infer(pd.DataFrame({"age": [20, 24], "plan": ["a", "b"]}))
        >>> schema.update(age={"direction": "up"}).by_name["age"].direction
        'up'
        """
        if settings is not None and not isinstance(settings, Mapping):
            raise SchemaError(f"update takes a mapping from features to settings, or names, not {settings!r:.100}.")
        wanted = {**(settings or {}), **features}
        for name in wanted:
            if name not in self.by_name:
                raise SchemaError(
                    f"there is no feature {name!r}; the schema has {listed(self.names, 40)}."
                    + nearest(name, self.names)
                )
        new = tuple(f.updated(wanted[f.name]) if f.name in wanted else f for f in self.features)
        return Schema(new, self.target, self.rules if rules is None else rules)  # type: ignore[arg-type]

    @cached_property
    def by_name(self) -> dict[str, Feature]:
        """Features by their name."""
        return {f.name: f for f in self.features}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(f.name for f in self.features)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The first slot of each feature in a cost table, and the number of slots at the end, [F + 1]."""
        return np.concatenate([[0], np.cumsum([f.n_slots for f in self.features])]).astype(np.int64)

    @cached_property
    def draws(self) -> NDArray[np.int64]:
        """The random draw that each slot of a cost table uses, [V].

        The last slot of a gapless grid serves only people with a number beyond its ends. Such slots come after all
        others, so that other people's draws do not depend on them.
        """
        rare = np.concatenate([np.arange(f.n_slots) == _rare_slot(f) for f in self.features])
        return np.argsort(np.argsort(rare, kind="stable"), kind="stable").astype(np.int64)

    def position(self, name: str) -> int:
        """Return a feature's position among the features."""
        if name not in self.by_name:
            raise SchemaError(f"there is no feature {name!r}." + nearest(name, self.names))
        return self.names.index(name)

    def problems(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the values that do not fit (row, column, value, problem); raise if the columns do not fit."""
        return checks.problems_of(checks.check_columns(frame, self.features, self.target), self.features)

    def validate(self, frame: pd.DataFrame) -> None:
        """Raise `DataError` if the table does not fit, naming column, row, value and what is allowed."""
        problems = self.problems(frame)
        if len(problems):
            checks.raise_problems(problems)

    def encode(self, frame: pd.DataFrame) -> Encoded:
        """Check a table and return it as codes."""
        self.validate(frame)
        return self.encode_checked(frame)

    def encode_checked(self, frame: pd.DataFrame) -> Encoded:
        """Return a table that is known to fit as codes."""
        columns = [encode_column(f, frame[f.name]) for f in self.features]
        codes, at, own = (np.stack(parts, axis=1) for parts in zip(*columns, strict=True))
        return Encoded(codes, at, own, frame.index)

    def decode(
        self,
        codes: Encoded | Codes,
        people: Encoded | None = None,
        rows: NDArray[np.intp] | None = None,
        index: pd.Index[Any] | None = None,
    ) -> pd.DataFrame:
        """Return codes as a table with the original dtypes, categories and index.

        Parameters
        ----------
        codes
            What `encode` returned, or an array [rows, features] of codes.
        people
            The people in whose grids an array of codes is; None for codes without own values.
        rows
            For options: the position in `people` of each row's person.
        index
            Labels of the rows of the result.

        Returns
        -------
        DataFrame
            ``schema.decode(schema.encode(frame))`` equals ``frame``.
        """
        if isinstance(codes, Encoded):
            people, index = codes, codes.index
            codes = codes.codes
        return pd.DataFrame(self.decode_columns(codes, people, rows), index=index, copy=False)

    def decode_columns(
        self, codes: Codes, people: Encoded | None = None, rows: NDArray[np.intp] | None = None
    ) -> dict[str, Any]:
        """Return codes as columns of the original dtypes by name, as `decode` puts them into a table.

        Without people, codes are positions in the grid, and the one after its end is a missing value.
        """
        codes = np.asarray(codes, dtype=np.int32, order="F")
        columns: dict[str, Any] = {}
        for i, f in enumerate(self.features):
            if people is None and f.missing:
                end = np.full(len(codes), len(f.values), dtype=np.int32)
                columns[f.name] = decode_column(f, codes[:, i], end, np.full(len(codes), np.nan))
            elif people is None or not (people.inserted_at[:, i] >= 0).any():
                columns[f.name] = f.held.take(codes[:, i])
            else:
                at, own = people.inserted_at[:, i], people.own[:, i]
                at, own = (at, own) if rows is None else (at[rows], own[rows])
                columns[f.name] = decode_column(f, codes[:, i], at, own)
        return columns

    def encode_options(self, frame: pd.DataFrame, people: Encoded, rows: NDArray[np.intp]) -> Codes:
        """Encode option states in the grids of the people they are for; -1 where a value is in no grid."""
        at, own = people.inserted_at[rows], people.own[rows]
        return np.stack(
            [encode_relative(f, frame[f.name], at[:, i], own[:, i]) for i, f in enumerate(self.features)],
            axis=1,
        )

    def to_yaml(self, path: str | Path | None = None) -> str:
        """Return the schema as commented YAML, and write it to a file if a path is given.

        Examples
        --------
        >>> from leastways import Feature, Schema
        >>> schema = Schema((Feature("hours", "integer", (20, 21, 22), dtype="int64"),))
        >>> Schema.from_yaml(schema.to_yaml()) == schema
        True
        """
        text = files.to_text(self.features, self.target, self.rules)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @classmethod
    def from_yaml(cls, source: str | Path) -> Schema:
        """Read a schema from a YAML file, or from YAML text, which is any text with a line break."""
        is_text = isinstance(source, str) and "\n" in source
        text, where = (str(source), "schema text") if is_text else (files.read_path(source), f"schema {str(source)!r}")
        features, target, rules = files.read_text(text, where)
        return cls(tuple(features), target, rules)

    def __str__(self) -> str:
        rows = (
            f"  {f.name}: {f.kind}, {f.direction}, {f.allowed_text()}{f.valid_range_text()}{f.excluded_text()}"
            for f in self.features
        )
        return "\n".join([f"Schema of {len(self.features)} features, {len(self.rules)} rules", *rows])

    def _repr_html_(self) -> str:
        """Return the schema as HTML, which notebooks show."""
        return schema_html(self)


def _rare_slot(feature: Feature) -> int:
    """Return the slot of a gapless grid that only people with a number beyond its ends use; -1 if there is none."""
    return len(feature.values) if feature.numeric and feature.gapless and not feature.missing else -1


_MOVES = {"any": "either way", "up": "only up", "down": "only down", "fixed": "never"}


def schema_html(schema: Schema) -> str:
    """Return the features as a table, and the rules as a list."""
    rows = [
        (f.name, f.kind, _MOVES[f.direction], f.allowed_text() + f.valid_range_text() + f.excluded_text())
        for f in schema.features
    ]
    title = f"{len(schema.features)} features" + (f", target {schema.target!r}" if schema.target else "")
    rules = [rule.words(schema.by_name) for rule in schema.rules]
    return render("schema.html", "schema", title=title, rows=rows, rules=rules)
