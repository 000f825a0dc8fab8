"""Read plans back from a run folder: one person's, some people's, or all that fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._fingerprint import bytes_fingerprint
from leastways._messages import listed
from leastways._validation import check_choice, check_count, check_seed
from leastways.batch.manifest import whole_manifest
from leastways.batch.parts import PERSON, ROW
from leastways.batch.sources import arrow
from leastways.errors import DataError, SettingError
from leastways.plans import FIGURES, SUMMARY, RecoursePlans, no_failed_rows
from leastways.schema import Feature, Schema


def read_plans(
    folder: str | Path,
    people: Iterable[Any] | None = None,
    *,
    sample: int | None = None,
    random_state: int = 0,
    repeated: str = "error",
) -> RecoursePlans:
    """Read plans that `recommend_files` wrote: of people with given labels, of a random sample, or of all people.

    A value that could not be used is missing in the plans' `people`; the reason names it.

    Parameters
    ----------
    folder
        The folder of a finished run.
    people
        Their labels; one that is not in the run is an error.
    sample
        How many people to draw at random, each equally likely; all if there are no more than that.
    random_state
        Seed of the draw.
    repeated
        What to do if labels occur twice among those read, or are missing: "error", or "row" to label people by their
        rows in the input, counted from 0.

    Returns
    -------
    RecoursePlans
        Without nearest misses and failed rows, which a run folder does not keep.

    Examples
    --------
    >>> plans = lw.batch.read_plans("plans", people=[3004, 3019])  # doctest: +SKIP
    """
    check_choice("repeated", repeated, ("error", "row"))
    if people is not None and sample is not None:
        raise SettingError("give the labels of people, or how many to draw, not both.")
    if sample is not None:
        check_count("sample", sample)
    manifest = whole_manifest(Path(folder))
    drawn = None if sample is None else _drawn(int(manifest["input"]["rows"]), sample, random_state)
    parts = list(_parts(Path(folder), manifest, None if people is None else list(people), drawn))
    schema = Schema.from_yaml(manifest["schema"])
    settings = manifest["config"]["settings"]
    pa = arrow()
    persons, options = (pa.concat_tables([part[i] for part in parts]) for i in (0, 1))
    index, named_by = pd.Index(persons[PERSON].to_pylist(), name=manifest["input"]["index"] or None), PERSON
    if repeated == "row" and (index.has_duplicates or index.hasnans):
        index, named_by = pd.Index(persons[ROW].to_pylist(), name=ROW), ROW
    if index.has_duplicates:
        twice = index[index.duplicated()].unique().tolist()
        raise DataError(
            f"labels occur twice or more in {str(folder)!r}: {listed(twice)}; people can be labelled by their rows in "
            'the input instead, with read_plans(..., repeated="row").'
        )
    state = pd.DataFrame({f.name: _column(f, persons[f.name]) for f in schema.features}, index=index)
    summary = persons.select(list(SUMMARY)).to_pandas().set_axis(index, axis=0)
    summary = summary.astype({"status": "str", "reason": "str"})
    table = pd.DataFrame(
        {
            "person": pd.Index(options[named_by].to_pylist(), dtype=index.dtype),
            "option": options["option"].to_numpy(),
            **{f.name: _column(f, options[f.name]) for f in schema.features},
            **{name: options[name].to_numpy() for name in FIGURES},
        }
    )
    return RecoursePlans(schema, state, summary, table, no_failed_rows(schema, index), settings)


def _drawn(total: int, sample: int, random_state: int) -> NDArray[np.int64] | None:
    """Return the rows of `sample` people drawn at random, in order; None for all people."""
    if sample >= total:
        return None
    draw = np.random.default_rng(check_seed(random_state))
    return np.sort(draw.choice(total, sample, replace=False))


def _parts(
    folder: Path, manifest: Mapping[str, Any], labels: list[Any] | None, drawn: NDArray[np.int64] | None
) -> Iterator[tuple[Any, Any]]:
    """Yield the two tables of each part, reduced to the people with given labels or drawn rows."""
    arrow()
    import pyarrow.compute as pc

    if not manifest["finished"]:
        raise DataError(f"the run in {str(folder)!r} is not finished; continue it with --resume (resume=True).")
    found, missing = 0, {} if labels is None else _each_once(labels)
    for part in manifest["parts"]:
        people = _table(folder, part["files"]["people"])
        if labels is not None:
            label_type = people[PERSON].type
            known = _as_labels(labels, label_type)
            people = people.filter(pc.is_in(people[PERSON], value_set=arrow().array(list(known.values()), label_type)))
            met = set(people[PERSON].to_pylist())
            missing = {label: None for label in missing if known.get(label) not in met}
        if drawn is not None:
            first = part["first"]
            mine = drawn[np.searchsorted(drawn, first) : np.searchsorted(drawn, first + part["people"])]
            people = people.take(arrow().array(mine - first))
        all_of_part = len(people) == part["people"]
        if not len(people):
            continue
        found += len(people)
        options = _table(folder, part["files"]["options"])
        if not all_of_part:
            options = options.filter(pc.is_in(options[ROW], value_set=people[ROW].combine_chunks()))
        yield people, options
    if missing or not found:
        named = f" with the label {listed(list(missing))}" if missing else ""
        raise DataError(f"there is no person{named} in the run in {str(folder)!r}.")


def _each_once(labels: list[Any]) -> dict[Any, None]:
    """Return the distinct labels, in order; raise for values that cannot be labels."""
    try:
        return dict.fromkeys(labels)
    except TypeError:
        raise DataError(f"people must be labels, such as 3004 or 'a-17', not {labels!r:.200}.") from None


def _table(folder: Path, file: Mapping[str, Any]) -> Any:
    """Read a file of a part, and raise if its checksum differs."""
    pa = arrow()
    import pyarrow.parquet as pq

    path = folder / file["name"]
    try:
        content = path.read_bytes()
        if bytes_fingerprint(content) != file["sha256"]:
            raise OSError("it is not as it was written")
        return pq.read_table(pa.BufferReader(content))
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            f"cannot read {str(path)!r}: {error}. The run that wrote it makes it again with --resume (resume=True)."
        ) from error


def _as_labels(labels: Iterable[Any], label_type: Any) -> dict[Any, Any]:
    """Return labels cast to the column's type, by the label given: on a command line 7 and "7" are the same."""
    pa = arrow()
    known = {}
    for label in labels:
        with suppress(pa.ArrowException, OverflowError):  # then it is no label of this column
            known[label] = pa.scalar(label).cast(label_type).as_py()
    return known


def _column(feature: Feature, column: Any) -> Any:
    """Return a feature's column as the schema has it, or as objects if it has gaps that the schema excludes."""
    gaps = column.null_count > 0
    if feature.numeric and not gaps:
        return feature.to_column(column.to_numpy().astype(np.float64))
    own = column.to_pylist()
    if not feature.numeric:
        texts = {str(value): value for value in feature.values}
        own = [None if v is None else texts.get(str(v), v) for v in own]
    if gaps and not feature.missing:
        return pd.Series(own, dtype=object).array
    return feature.column_of(own)
