"""Reading people: what is refused before any work, what is isolated, and that no value changes."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways._fingerprint import file_fingerprint
from leastways.batch import read_plans
from leastways.batch.sources import survey
from leastways.errors import DataError, SettingError
from tests.support.applicant_files import (
    check_each_person_once,
    checksums,
    damage,
    fitted,
    people,
    read_parts,
    run,
    tables,
    write_people,
)
from tests.support.bank_people import SCHEMA


def folder_of(path: Path, pieces: list[pd.DataFrame], suffix: str = ".parquet") -> Path:
    path.mkdir()
    for place, piece in enumerate(pieces):
        file = path / f"{place:03d}{suffix}"
        piece.to_parquet(file) if suffix == ".parquet" else piece.to_csv(file)
    return path


def test_folder_is_read_in_the_order_of_names(uninterrupted: Path, tmp_path: Path) -> None:
    frame = people()
    source = folder_of(tmp_path / "in", [frame.iloc[:5], frame.iloc[5:6], frame.iloc[6:40], frame.iloc[40:]])
    (source / "_SUCCESS").touch()
    (source / ".crc").touch()
    run(fitted(), source, tmp_path / "out")
    assert {k: v for k, v in checksums(tmp_path / "out").items() if "parquet" in k} == {
        k: v for k, v in checksums(uninterrupted).items() if "parquet" in k
    }


@pytest.mark.parametrize("many", [False, True])
def test_csv_gives_the_same_results_as_parquet(uninterrupted: Path, tmp_path: Path, many: bool) -> None:
    frame = people()
    if many:
        source = folder_of(tmp_path / "in", [frame.iloc[:20], frame.iloc[20:]], ".csv")
    else:
        source = tmp_path / "people.csv"
        frame.to_csv(source)
    run(fitted(), source, tmp_path / "out", index="customer")
    check_each_person_once(tmp_path / "out")
    for found, wanted in zip(tables(tmp_path / "out"), tables(uninterrupted), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


LABELS: list[tuple[Any, Any]] = [
    (range(48), list(range(48))),
    (range(100, 148), list(range(100, 148))),
    ([7 * i for i in range(48)], [7 * i for i in range(48)]),
    ([0.5 + i for i in range(48)], [0.5 + i for i in range(48)]),
]


@pytest.mark.parametrize(("labels", "wanted"), LABELS, ids=["numbers", "counted", "others", "reals"])
def test_labels_are_kept(tmp_path: Path, labels: Any, wanted: list[Any]) -> None:
    index = pd.RangeIndex(labels.start, labels.stop) if isinstance(labels, range) else pd.Index(labels)
    frame = people().set_axis(index, axis=0)
    run(fitted(), write_people(tmp_path / "people.parquet", frame), tmp_path / "out")
    check_each_person_once(tmp_path / "out", wanted)


def test_labels_may_be_repeated_and_come_from_a_column(tmp_path: Path) -> None:
    frame = people().reset_index(drop=True).assign(name=["a", "b"] * 24)
    run(fitted(), write_people(tmp_path / "people.parquet", frame), tmp_path / "out", index="name")
    check_each_person_once(tmp_path / "out", ["a", "b"] * 24)
    with pytest.raises(DataError, match="labels occur twice"):
        read_plans(tmp_path / "out")
    by_row, wanted = read_plans(tmp_path / "out", repeated="row"), fitted().recommend(frame[list(SCHEMA.names)])
    pd.testing.assert_frame_equal(by_row.options, wanted.options)
    pd.testing.assert_frame_equal(by_row.summary, wanted.summary.rename_axis("row"), check_index_type=False)
    assert read_plans(tmp_path / "out", ["b"], repeated="row").summary.index.tolist() == list(range(1, 48, 2))
    with pytest.raises(SettingError, match="repeated must be one of"):
        read_plans(tmp_path / "out", repeated="no")
    with pytest.raises(DataError, match=r"no column 'nam' for --index\. Did you mean 'name'"):
        survey(tmp_path / "people.parquet", SCHEMA, "nam")


def test_two_columns_of_labels_are_an_error(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(people().head(3))
    pq.write_table(table.append_column("customer", pa.array([1, 2, 3])), tmp_path / "people.parquet")
    for index in (None, "customer"):
        with pytest.raises(DataError, match="the column 'customer', which holds the labels, twice or more"):
            survey(tmp_path / "people.parquet", SCHEMA, index)


def test_labels_of_csv_files_are_numbers_only_if_all_are(tmp_path: Path) -> None:
    frame = people().reset_index(drop=True)
    for number, texts in enumerate((["7", "8"], ["07", "8"], ["", "8"])):
        path = tmp_path / f"{number}.csv"
        frame.head(2).assign(id=texts)[["id", *frame.columns]].to_csv(path, index=False)
    assert [part.labels.to_pylist() for n in range(3) for part in read_parts(tmp_path / f"{n}.csv", "id")] == [
        [7, 8],
        ["07", "8"],
        [None, 8],
    ]


def test_labels_that_are_numbers_in_one_file_only_are_text(tmp_path: Path) -> None:
    frame = people().reset_index(drop=True).head(2)
    source = folder_of(tmp_path / "in", [frame.set_axis([7, 8], axis=0), frame.set_axis(["x", "9"], axis=0)], ".csv")
    assert [part.labels.to_pylist() for part in read_parts(source)] == [["7", "8", "x", "9"]]


def test_large_row_group_is_not_read_at_once(tmp_path: Path) -> None:
    """The memory that Arrow holds stays far below the size of a file with one large row group."""
    import pyarrow as pa

    draw = np.random.default_rng(0)
    n = 500_000
    wide = people().iloc[draw.integers(0, 48, n)].reset_index(drop=True)
    wide["income"] = draw.gamma(3.0, 800.0, n)
    path = write_people(tmp_path / "people.parquet", wide, rows=n)
    whole = pa.Table.from_pandas(wide).nbytes
    gc.collect()
    before, most = pa.total_allocated_bytes(), 0
    for block in survey(path, SCHEMA, None).blocks():
        most = max(most, pa.total_allocated_bytes() - before)
        assert block.rows <= 4096
    assert 0 < most < whole / 4, f"{most} of {whole}"


@pytest.mark.parametrize("column", ["income", "customer"])
def test_damaged_row_group_affects_its_own_people_alone(uninterrupted: Path, tmp_path: Path, column: str) -> None:
    source = damage(write_people(tmp_path / "people.parquet"), column, 2)  # people 20 to 29, across two parts
    result = run(fitted(), source, tmp_path / "out")
    labels = people().index.tolist()
    if column == "customer":
        labels[20:30] = [None] * 10
    found, wanted = check_each_person_once(tmp_path / "out", labels), tables(uninterrupted)[0]
    lost = found["row"].between(20, 29)
    assert set(found.loc[lost, "status"]) == {"invalid_input"}
    assert found.loc[lost, "reason"].str.contains("row group 2 of 'people.parquet' is damaged").all()
    pd.testing.assert_frame_equal(found[~lost], wanted[~lost], check_dtype=False)
    assert result.totals.statuses["invalid_input"] == (lost | (wanted["status"] == "invalid_input")).sum()


def test_unfit_files_are_refused_by_name_before_any_work(tmp_path: Path) -> None:
    frame = people()
    cases: list[tuple[str, Any, str]] = []

    def case(name: str, make: Any, message: str) -> None:
        cases.append((name, make, message))

    def truncated(folder: Path) -> None:
        content = (folder / "000.parquet").read_bytes()
        (folder / "001.parquet").write_bytes(content[: len(content) // 2])

    case("truncated", truncated, r"cannot read .*001\.parquet' as Parquet")
    case("text", lambda f: (f / "001.parquet").write_text("hello"), r"cannot read .*001\.parquet' as Parquet")
    case(
        "types",
        lambda f: write_people(f / "001.parquet", frame.astype({"age": float})),
        r"'age' is double in '001\.parq",
    )
    case(
        "columns",
        lambda f: write_people(f / "001.parquet", frame.drop(columns="age")),
        r"001\.parquet.*missing.*'age'",
    )
    case("more", lambda f: write_people(f / "001.parquet", frame.assign(b=1)), r"001\.parquet.*unknown columns: 'b'")
    case(
        "words",
        lambda f: write_people(f / "001.parquet", frame.astype({"age": str})),
        r"001\.parquet.*'age' holds str",
    )
    case("others", lambda f: (f / "b.txt").write_text(""), r"other files beside '000\.parquet': 'b\.txt'")
    for name, make, message in cases:
        folder = folder_of(tmp_path / name, [frame])
        make(folder)
        with pytest.raises(DataError, match=message):
            run(fitted(), folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unfit_csv_files_are_refused_by_name(tmp_path: Path) -> None:
    frame = people().reset_index(drop=True)
    good = tmp_path / "good.csv"
    frame.to_csv(good, index=False)
    lines = good.read_text().splitlines()
    cases = {
        "latin.csv": ("\n".join([*lines, "30,1000,mid,Büro,f"]).encode("latin-1"), "not UTF-8"),
        "long.csv": ("\n".join([*lines, lines[1] + ",1,2"]).encode(), "line 50: 7 fields"),
        "short.csv": ("\n".join([*lines, lines[1].rpartition(",")[0]]).encode(), r"short\.csv', line 50: 4 fields"),
        "quote.csv": ("\n".join([*lines, '"open']).encode(), r"quote\.csv', line 50: .* not closed"),
        "none.csv": (lines[0].encode(), "has no rows"),
        "empty.csv": (b"", "is empty"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message):
            run(fitted(), tmp_path / name, tmp_path / "out")
    with pytest.raises(DataError, match=r"no file or folder .*god\.csv'. Did you mean 'good\.csv'"):
        run(fitted(), tmp_path / "god.csv", tmp_path / "out")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(DataError, match=r"holds no \.parquet or \.csv"):
        run(fitted(), tmp_path / "nothing", tmp_path / "out")
    (tmp_path / "people.xlsx").touch()
    with pytest.raises(DataError, match="cannot tell how to read"):
        run(fitted(), tmp_path / "people.xlsx", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_file_that_changes_while_read_is_an_error(tmp_path: Path) -> None:
    path = write_people(tmp_path / "people.parquet")
    blocks = survey(path, SCHEMA, None).blocks()
    next(blocks)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="was changed while it was being read"):
        list(blocks)


@pytest.mark.parametrize("column", ["school", "customer"])
def test_texts_that_are_not_utf8_affect_their_own_rows_alone(uninterrupted: Path, tmp_path: Path, column: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(people().reset_index(), preserve_index=False)
    texts = [text.encode() for text in table[column].to_pylist()]
    texts[21] = "Grün".encode("latin-1")
    table = table.set_column(table.column_names.index(column), column, pa.array(texts).view(pa.string()))
    pq.write_table(table, tmp_path / "people.parquet")
    run(fitted(), tmp_path / "people.parquet", tmp_path / "out", index="customer")
    labels = people().index.tolist()
    if column == "customer":
        labels[21] = None
    found, wanted = check_each_person_once(tmp_path / "out", labels), tables(uninterrupted)[0]
    assert found["status"].iloc[21] == "invalid_input"
    assert "this row of 'people.parquet' cannot be read" in found["reason"].iloc[21]
    rest = found["row"] != 21
    pd.testing.assert_frame_equal(found[rest], wanted[rest], check_dtype=False)


def test_columns_of_unfit_types_are_errors(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(people().reset_index(), preserve_index=False).replace_schema_metadata(None)
    n = len(table)
    cases = [
        ("school", pa.array([0] * n, pa.timestamp("s")), "'school' holds timestamp"),
        ("school", pa.array([b"mid"] * n), "'school' holds binary"),
        ("income", pa.array(["1"] * n), "'income' holds string"),
        ("customer", pa.array([[1]] * n), "labels in column 'customer' are list"),
    ]
    for name, column, message in cases:
        pq.write_table(table.set_column(table.column_names.index(name), name, column), tmp_path / "people.parquet")
        with pytest.raises(DataError, match=message):
            survey(tmp_path / "people.parquet", SCHEMA, "customer")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_unnamed_pandas_index_beside_the_labels_is_ignored(tmp_path: Path, suffix: str) -> None:
    """It is left over from a frame of which some rows were kept, and no feature."""
    frame = people().reset_index().drop(index=[1, 4])
    path = tmp_path / f"people{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path)
    (part,) = read_parts(path, "customer")
    assert part.labels.to_pylist() == frame["customer"].tolist()
    assert part.frame.columns.tolist() == list(SCHEMA.names)


@pytest.mark.parametrize("first", [0, 1])
def test_unnamed_pandas_index_in_one_file_only_is_an_error(tmp_path: Path, first: int) -> None:
    frame = people().reset_index(drop=True)
    pieces = [frame.iloc[:20], frame.iloc[[21, 25, 30]]]
    with pytest.raises(DataError, match=r"labelled by '__index_level_0__'.* only one of '000\.parquet'"):
        survey(folder_of(tmp_path / "in", [pieces[first], pieces[1 - first]]), SCHEMA, None)


def test_folder_inside_the_folder_is_an_error(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "in", [people()])
    (source / "sex=f").mkdir()
    with pytest.raises(DataError, match="holds another folder, 'sex=f'"):
        run(fitted(), source, tmp_path / "out")


def test_file_that_changes_while_surveyed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_people(tmp_path / "people.parquet")

    def grown(file: Path) -> str:
        write_people(file, people(60))
        return file_fingerprint(file)

    monkeypatch.setattr("leastways.batch.sources.file_fingerprint", grown)
    with pytest.raises(DataError, match="was changed while"):
        survey(path, SCHEMA, None)
