"""A folder that a run wrote, read back as plans: a person's, some people's, or all that memory has room for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leastways.errors import DataError, listed
from leastways.plans import FIGURES, SUMMARY, RecoursePlans
from leastways.population.folder import read_manifest
from leastways.population.tables import PERSON, ROW, arrow
from leastways.schema import Feature, Schema


def read_plans(folder: str | Path, people: Iterable[Any] | None = None) -> RecoursePlans:
    """Read plans that `recommend_files` wrote: of the people with these labels, or of all.

    A value that could not be used is missing in `people`; the reason names it. Labels must be unique among those read.
    """
    parts = list(_parts(Path(folder), None if people is None else list(people)))
    manifest = read_manifest(Path(folder))
    schema = Schema.from_yaml(manifest["schema"])
    settings = manifest["config"]["settings"]
    pa = arrow()
    persons, options = (pa.concat_tables([part[i] for part in parts]) for i in (0, 1))
    index = pd.Index(persons[PERSON].to_pylist(), name=manifest["input"]["index"] or None)
    if index.has_duplicates:
        twice = index[index.duplicated()].unique().tolist()
        raise DataError(f"labels occur twice or more in {str(folder)!r}: {listed(twice)}; read the files themselves.")
    state = pd.DataFrame({f.name: _column(f, persons[f.name]) for f in schema.features}, index=index)
    summary = persons.select(list(SUMMARY)).to_pandas().set_axis(index, axis=0)
    summary = summary.astype({"status": "str", "reason": "str"})
    table = pd.DataFrame(
        {
            "person": pd.Index(options[PERSON].to_pylist(), dtype=index.dtype),
            "option": options["option"].to_numpy(),
            **{f.name: _column(f, options[f.name]) for f in schema.features},
            **{name: options[name].to_numpy() for name in FIGURES},
        }
    )
    failed = pd.DataFrame({"person": index[:0], "error": pd.Series([], dtype="str"), **_nothing(schema)})
    return RecoursePlans(schema, state, summary, table, failed, settings)


def _parts(folder: Path, labels: list[Any] | None) -> Iterator[tuple[Any, Any]]:
    """Yield the tables of each part, less the people not asked for."""
    arrow()
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    manifest = read_manifest(folder)
    if not manifest["finished"]:
        raise DataError(f"the run in {str(folder)!r} is not finished; continue it with --resume (resume=True).")
    found = 0
    for part in manifest["parts"]:
        people = pq.read_table(folder / part["files"]["people"]["name"])
        if labels is not None:
            wanted = arrow().array(labels)
            people = people.filter(pc.is_in(people[PERSON], value_set=wanted.cast(people[PERSON].type)))
        if labels is not None and not len(people):
            continue
        found += len(people)
        options = pq.read_table(folder / part["files"]["options"]["name"])
        if labels is not None:
            options = options.filter(pc.is_in(options[ROW], value_set=people[ROW].combine_chunks()))
        yield people, options
    if not found:
        raise DataError(f"nobody in {str(folder)!r} is labelled {listed(labels or [])}.")


def _column(feature: Feature, column: Any) -> Any:
    """Return a column as the schema's table has it; with gaps, as objects."""
    values = column.to_numpy(zero_copy_only=False) if hasattr(column, "to_numpy") else np.asarray(column)
    gaps = column.null_count > 0
    if not feature.numeric:
        texts = {str(value): value for value in feature.values}
        own = [None if v is None else texts.get(str(v), v) for v in column.to_pylist()]
        return pd.Series(own, dtype=object).array if gaps else feature.to_column(_objects(own))
    if gaps:
        return pd.Series([None if v is None else v for v in column.to_pylist()], dtype=object).array
    return feature.to_column(values.astype(np.float64))


def _objects(values: list[Any]) -> np.ndarray[Any, np.dtype[np.object_]]:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _nothing(schema: Schema) -> dict[str, Any]:
    return schema.decode_columns(np.empty((0, len(schema.features)), np.int32))
