"""Duplicate groups: the same results with fewer searches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastways as lw
from leastways.batch import read_manifest, read_plans
from leastways.batch.deduplication import _KEYS, _hashes
from leastways.batch.manifest import RunFolder
from tests.support.applicant_files import (
    check_each_person_once,
    checksums,
    events,
    fitted,
    people,
    run,
    tables,
    write_people,
)


@pytest.mark.parametrize("size", [16, 4])  # 4: people of one part belong to groups of several
def test_duplicates_are_solved_once(tmp_path: Path, size: int) -> None:
    draw = np.random.default_rng(0)
    applicants = people().iloc[draw.integers(0, 9, 60)]
    applicants = applicants.set_axis([f"q{i}" for i in range(60)], axis=0)
    source = write_people(tmp_path / "people.parquet", applicants)
    once = run(fitted(), source, tmp_path / "once", dedup=True, people_per_part=size)
    each = run(fitted(), source, tmp_path / "each", people_per_part=size)
    check_each_person_once(tmp_path / "once", applicants.index.tolist())
    assert each.solved == 60
    assert once.solved == len(applicants.drop_duplicates()) <= 9  # also where they are in different parts
    assert not (tmp_path / "once" / "duplicates").exists()
    assert replace(once.totals, queries=each.totals.queries) == each.totals
    first_of_each = ~applicants.reset_index(drop=True).duplicated()
    queries = tables(tmp_path / "each")[0]["queries"]
    assert (once.totals.queries, each.totals.queries) == (queries[first_of_each].sum(), queries.sum())
    for found, wanted in zip(tables(tmp_path / "once"), tables(tmp_path / "each"), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


def test_interrupted_deduplication_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted while groups are solved, and while people get their results; some rows are unusable."""
    applicants = people().iloc[np.random.default_rng(0).integers(0, 30, 100)]
    applicants = applicants.set_axis([f"q{i}" for i in range(100)], axis=0).astype({"income": object})
    applicants.loc[["q7", "q60"], "income"] = "1,000"
    applicants.loc["q61", "income"] = 1000.0
    applicants.astype({"income": "str"}).to_csv(tmp_path / "people.csv", index_label="customer")
    source = tmp_path / "people.csv"
    whole = run(fitted(), source, tmp_path / "whole", dedup=True, index="customer")
    assert whole.solved == len(applicants.astype({"income": "str"}).drop_duplicates())
    each = run(fitted(), source, tmp_path / "each", index="customer")
    assert replace(whole.totals, queries=each.totals.queries) == each.totals
    for found, wanted in zip(tables(tmp_path / "whole"), tables(tmp_path / "each"), strict=True):
        pd.testing.assert_frame_equal(found, wanted)
    write, left = RunFolder.write, [1]

    def cut(self: RunFolder, *arguments: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return write(self, *arguments)

    monkeypatch.setattr(RunFolder, "write", cut)
    out = tmp_path / "out"
    for more in (1, 1, 2):  # parts that are written until the next interruption: of groups, then of people
        left[0] = more
        with pytest.raises(KeyboardInterrupt):
            run(fitted(), source, out, dedup=True, index="customer", resume=True)
    assert read_manifest(out / "duplicates")["finished"]
    damaged = out / "duplicates" / "people" / "part-000001.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")  # that part of the groups is made again
    assert not read_manifest(out)["finished"]
    left[0] = 1000
    result = run(fitted(), source, out, dedup=True, index="customer", resume=True)
    assert result.solved == whole.solved
    assert checksums(out) == checksums(tmp_path / "whole")
    assert events(out).count("interrupted") == 3


def test_groups_do_not_depend_on_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single unusable value changes the dtype of its whole block or part."""
    monkeypatch.setattr("leastways.batch.sources.BATCH", 6)
    applicants = people().iloc[[0, 1, 2] * 10].set_axis([f"q{i}" for i in range(30)], axis=0).astype({"age": object})
    applicants.loc["q20", "age"] = "old"
    applicants.loc["q21", "age"] = 2**60
    applicants.to_csv(tmp_path / "people.csv", index_label="customer")
    once = run(fitted(), tmp_path / "people.csv", tmp_path / "once", dedup=True, index="customer")
    each = run(fitted(), tmp_path / "people.csv", tmp_path / "each", index="customer")
    assert (once.solved, each.solved) == (5, 30)
    for found, wanted in zip(tables(tmp_path / "once"), tables(tmp_path / "each"), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_large_numbers_beside_missing_values_are_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """In a column with missing values, integers become floats, which cannot represent all large ones."""
    monkeypatch.setattr("leastways.batch.sources.BATCH", 6)
    applicants = people().iloc[[0, 1, 2] * 10].set_axis([f"q{i}" for i in range(30)], axis=0).astype({"age": "Int64"})
    applicants.loc["q3", "age"] = applicants.loc["q21", "age"] = 2**53 + 1
    applicants.loc["q4", "age"] = 2**53
    applicants.loc["q13", "age"] = pd.NA
    source = tmp_path / f"people.{suffix}"
    if suffix == "csv":
        applicants.rename_axis("customer").to_csv(source)
    else:  # as other programs write it: pandas would note that the column is its own Int64
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pandas(applicants.rename_axis("customer")).replace_schema_metadata(None), source)
    once = run(fitted(), source, tmp_path / "once", dedup=True, index="customer", people_per_part=30)
    each = run(fitted(), source, tmp_path / "each", index="customer")
    assert (once.solved, each.solved) == (6, 30)
    for found, wanted in zip(tables(tmp_path / "once"), tables(tmp_path / "each"), strict=True):
        pd.testing.assert_frame_equal(found, wanted)
    reasons = check_each_person_once(tmp_path / "once", applicants.index.tolist())["reason"]
    assert all(str(2**53 + 1) in reasons[row] for row in (3, 21))


def test_people_with_other_preferences_are_no_duplicates(tmp_path: Path) -> None:
    applicants = people().iloc[[0] * 6].set_axis(list("abcdef"), axis=0)
    preferences = {"a": lw.Preferences(editable=["income"]), "b": lw.Preferences(editable=["income"])}
    preferences |= {"c": lw.Preferences(editable=["school"]), "f": lw.Preferences(editable=["nothing"])}
    source = write_people(tmp_path / "people.parquet", applicants)
    result = run(fitted(), source, tmp_path / "out", preferences=preferences, dedup=True)
    assert result.solved == 4
    found = read_plans(tmp_path / "out")
    wanted = fitted().recommend(applicants, preferences)
    pd.testing.assert_frame_equal(found.options, wanted.options)
    pd.testing.assert_frame_equal(found.summary, wanted.summary)
    assert found.summary.loc["f", "status"] == "invalid_input"


def test_the_two_hashes_of_a_value_are_independent() -> None:
    """Otherwise a collision in one would be one in both. Zero and negative zero have the same hash."""
    numbers = pd.Series([0.0, -0.0, 1.5, 2.0])
    one, other = (_hashes(numbers, key) for key in _KEYS)
    assert (one != other).all()
    assert one[0] == one[1]
    assert (_hashes(numbers.astype(object), _KEYS[0]) == one).all()
