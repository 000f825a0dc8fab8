"""The plans of many people together: as tables, as JSON, and one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leastways._messages import listed, nearest
from leastways._templates import render
from leastways._values import plain, value_or_none
from leastways.errors import DataError
from leastways.plans.plan import CERTIFICATE, Certificate, NearestMiss, RecourseOption, RecoursePlan, no_certificates
from leastways.plans.serialize import document_from_json, document_to_json, frame_from_json, frame_to_json
from leastways.plans.wording import STATUSES, changes_of
from leastways.schema import Schema

FIGURES = ("probability", "expected_cost", "best_for")  # columns of `options` beside person, option and features
SUMMARY = ("status", "n_options", "covered", "emc", "satisfied", "queries", "probability", "reason")
_TABLES = ("people", "summary", "options", "failed_rows")
_IF_ANY = ("certificates", "nearest_misses")  # tables that a file has only if they hold something
_FORMAT, _VERSION = "leastways plans", 1
_SHOWN = 10  # people in a notebook's summary


def _no_misses(schema: Schema) -> pd.DataFrame:
    """Return an empty table of nearest misses."""
    return pd.DataFrame(columns=pd.Index(("person", *schema.names, "probability")), dtype=object)


def no_failed_rows(schema: Schema, labels: pd.Index[Any]) -> pd.DataFrame:
    """Return an empty table of rows on which the model failed, with the dtype of the people's index."""
    heads = {"person": labels[:0], "error": pd.Series([], dtype="str")}
    nothing = schema.decode_columns(np.empty((0, len(schema.features)), np.int32))
    return pd.DataFrame(heads | nothing, copy=False)


class RecoursePlans:
    """The plans of many people. Look one up by its label: ``plans[label]``.

    `Recourse.recommend` returns them. Their parameters are the attributes.

    Attributes
    ----------
    options : DataFrame
        A row per option: person, option, every feature's new value, probability, expected_cost (mean over the cost
        samples that can reach it), best_for (share of samples for which it is the cheapest).
    summary : DataFrame
        A row per person, with the people's index: status, n_options, covered, emc (mean cost over covered samples),
        satisfied (share of samples under 1), queries (rows the model evaluated), probability (now), reason. Covered,
        emc and satisfied are NaN for people for whom no search was made.
    people : DataFrame
        The people as they were given.
    failed_rows : DataFrame
        Rows on which the model failed: person, error, the features.
    settings : dict
        How the plans were made.
    nearest_misses : DataFrame
        A row per person without options whose nearest miss is known: person, every feature's value, probability.
    certificates : DataFrame
        A row per certified person: the attributes of `Certificate`. Empty until `Recourse.certify` fills it.

    Examples
    --------
    >>> import leastways as lw
    >>> credit = lw.datasets.load_credit()
    >>> refused = credit.people[credit.model(credit.people) < 0.5].head(2)
    >>> recourse = lw.Recourse(credit.model, credit.schema(), n_options=2, budget=60, n_costs=30).fit(credit.train)
    >>> plans = recourse.recommend(refused)
    >>> plans
    RecoursePlans(2 people: 2 found)
    >>> [len(plan.options) for plan in plans]
    [2, 2]
    >>> plans.summary["queries"].tolist()
    [60, 58]
    >>> lw.RecoursePlans.from_json(plans.to_json()) == plans
    True
    """

    def __init__(
        self,
        schema: Schema,
        people: pd.DataFrame,
        summary: pd.DataFrame,
        options: pd.DataFrame,
        failed_rows: pd.DataFrame,
        settings: Mapping[str, Any],
        certificates: pd.DataFrame | None = None,
        nearest_misses: pd.DataFrame | None = None,
    ) -> None:
        self.schema = schema
        self.people = people
        self.summary = summary
        self.options = options
        self.failed_rows = failed_rows
        self.settings = dict(settings)
        self.certificates = no_certificates(people.index) if certificates is None else certificates
        self.nearest_misses = _no_misses(schema) if nearest_misses is None else nearest_misses

    def __len__(self) -> int:
        return len(self.summary)

    def __iter__(self) -> Iterator[RecoursePlan]:
        return (self[label] for label in self.summary.index)

    def __contains__(self, label: object) -> bool:
        return label in self.summary.index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecoursePlans):
            return NotImplemented
        same = (getattr(self, name).equals(getattr(other, name)) for name in (*_TABLES, *_IF_ANY))
        return self.schema == other.schema and self.settings == other.settings and all(same)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = self.summary["status"].value_counts()
        return f"RecoursePlans({len(self)} people: {', '.join(f'{n} {s}' for s, n in counts.items())})"

    def _repr_html_(self) -> str:
        """Return the head of the summary as HTML, which notebooks show."""
        first = self.summary.head(_SHOWN)
        table = first.to_html(float_format="{:.3g}".format)
        return render("plans.html", "plans", title=repr(self), summary=table, n_people=len(self), n_shown=_SHOWN)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """The options as changes, a row per changed feature: person, option, feature, from, to."""
        places = self.people.index.get_indexer(pd.Index(self.options["person"]))
        parts = []
        for f, feature in enumerate(self.schema.features):
            before = self.people[feature.name].to_numpy(dtype=object)[places]
            after = self.options[feature.name].to_numpy(dtype=object)
            gone = pd.isna(before) & pd.isna(after)  # missing before and after: no change
            rows = np.flatnonzero(np.where(gone, False, before) != np.where(gone, False, after))
            if feature.numeric:  # not those that are the same number in a shorter float
                one, other = (feature.as_held(x[rows].astype(np.float64)) for x in (before, after))
                rows = rows[one != other]
            parts.append(
                pd.DataFrame(
                    {
                        "row": rows,
                        "place": f,
                        "feature": feature.name,
                        "from": pd.Series(before[rows], dtype=object),
                        "to": pd.Series(after[rows], dtype=object),
                    }
                )
            )
        long = pd.concat(parts, ignore_index=True).sort_values(["row", "place"], ignore_index=True)
        heads = self.options[["person", "option"]].iloc[long["row"]].reset_index(drop=True)
        return pd.concat([heads, long[["feature", "from", "to"]]], axis=1)

    @cached_property
    def _option_rows(self) -> dict[Any, Any]:
        return dict(self.options.groupby("person", sort=False, observed=True).indices)

    @cached_property
    def _miss_rows(self) -> dict[Any, int]:
        return {label: row for row, label in enumerate(self.nearest_misses["person"].tolist())}

    @cached_property
    def _columns(self) -> dict[str, dict[str, list[Any]]]:
        """The tables' columns as lists, which are much faster to index than tables."""
        tables = {name: getattr(self, name) for name in ("people", "summary", "options", "nearest_misses")}
        return {name: {str(n): table[n].tolist() for n in table.columns} for name, table in tables.items()}

    def _record(self, table: str, row: int) -> dict[str, Any]:
        return {name: column[row] for name, column in self._columns[table].items()}

    def __getitem__(self, label: Any) -> RecoursePlan:
        if label not in self.summary.index:
            known = self.summary.index.tolist()
            raise KeyError(f"there is no person {label!r}; known: {listed(known)}.{nearest(label, known)}")
        place: Any = self.summary.index.get_loc(label)
        row = self._record("summary", place)
        state = {name: value_or_none(value) for name, value in self._record("people", place).items()}
        mine = self._option_rows.get(label, ())
        options = tuple(self._option(self._record("options", option), state) for option in mine)
        return RecoursePlan(
            person=plain(label),
            status=row["status"],
            reason=row["reason"],
            state=state,
            probability=float(row["probability"]),
            options=options,
            covered=float(row["covered"]),
            emc=float(row["emc"]),
            satisfied=float(row["satisfied"]),
            queries=int(row["queries"]),
            certificate=self._certificate(label),
            nearest_miss=self._nearest_miss(label, state),
        )

    def _nearest_miss(self, label: Any, state: Mapping[str, Any]) -> NearestMiss | None:
        if label not in self._miss_rows:
            return None
        record = self._record("nearest_misses", self._miss_rows[label])
        values = {n: value_or_none(record[n]) for n in self.schema.names}
        return NearestMiss(values, changes_of(self.schema, state, values), float(record["probability"]))

    def _certificate(self, label: Any) -> Certificate | None:
        if label not in self.certificates.index:
            return None
        place: Any = self.certificates.index.get_loc(label)
        figures: dict[str, Any] = {name: plain(self.certificates[name].iloc[place]) for name in CERTIFICATE}
        return Certificate(**figures)

    def with_certificates(self, certificates: pd.DataFrame) -> RecoursePlans:
        """Return the same plans with these certificates; those of other people are kept."""
        kept = self.certificates[~self.certificates.index.isin(certificates.index)]
        both = pd.concat([part for part in (kept, certificates) if len(part)] or [certificates])
        ordered = both.loc[self.summary.index[self.summary.index.isin(both.index)]]
        tables = (self.people, self.summary, self.options, self.failed_rows)
        return RecoursePlans(self.schema, *tables, self.settings, ordered, self.nearest_misses)

    def _option(self, record: Mapping[Any, Any], state: Mapping[str, Any]) -> RecourseOption:
        values = {n: value_or_none(record[n]) for n in self.schema.names}
        return RecourseOption(
            int(record["option"]),
            values,
            changes_of(self.schema, state, values),
            float(record["probability"]),
            float(record["expected_cost"]),
            float(record["best_for"]),
        )

    def to_table(self) -> pd.DataFrame:
        """Return one flat table for files: a row per option, and a row for each person without any."""
        head = self.summary[["status", "reason"]].rename_axis("person").reset_index()
        whole = {n: "Int64" for n in self.options.columns[1:] if pd.api.types.is_integer_dtype(self.options[n].dtype)}
        return head.merge(self.options.astype(whole), on="person", how="left")

    def to_json(self, path: str | Path | None = None) -> str:
        """Write everything as versioned JSON, to a file if a path is given; `from_json` brings back equal plans.

        One exception: a value that JSON has no form for (a list, say), in a row that could not be used, is written as
        text, and is read as text.
        """
        names = [*_TABLES, *(n for n in _IF_ANY if len(getattr(self, n)))]
        head = {"format": _FORMAT, "version": _VERSION, "settings": self.settings, "schema": self.schema.to_yaml()}
        tables = {name: frame_to_json(getattr(self, name)) for name in names}
        return document_to_json(head | tables, path)

    @classmethod
    def from_json(cls, source: str | Path) -> RecoursePlans:
        """Read plans from a JSON file, or from JSON text."""
        data, where = document_from_json(source, _FORMAT, _VERSION, "leastways plans")
        try:
            names = [*_TABLES, *(n for n in _IF_ANY if n in data)]
            frames = {n: frame_from_json(data[n]) for n in names}
            schema = Schema.from_yaml(data["schema"])
            _check_frames(schema, frames)
            return cls(schema, settings=data["settings"], **frames)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{where} is damaged: {type(error).__name__}: {error}") from error


def _check_frames(schema: Schema, frames: Mapping[str, pd.DataFrame]) -> None:
    """Raise ValueError if tables of a file lack a column, or are not of the same people (a file edited by hand)."""
    needed = {"people": schema.names, "summary": SUMMARY, "options": ("person", "option", *schema.names, *FIGURES)}
    for name, columns in needed.items():
        lacking = [column for column in columns if column not in frames[name].columns]
        if lacking:
            raise ValueError(f"{name} lacks {listed(lacking)}")
    people, summary = frames["people"].index, frames["summary"].index
    if not people.equals(summary):
        raise ValueError(f"people has {len(people)} rows and summary {len(summary)}, or they name other people")
    strange = [status for status in frames["summary"]["status"].unique().tolist() if status not in STATUSES]
    if strange:
        raise ValueError(f"summary has the status {listed(strange)}; allowed: {listed(list(STATUSES))}")
    unknown = pd.Index(frames["options"]["person"].unique()).difference(people, sort=False)
    if len(unknown):
        raise ValueError(f"options has people who are not among people: {listed(unknown.tolist())}")
