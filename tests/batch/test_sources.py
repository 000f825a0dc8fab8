"""Reading people: what is refused before any work, what is isolated, and that nothing else changes a value."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways._fingerprint import file_print
from leastways.batch import read_plans
from leastways.batch.parts import parts_of
from leastways.batch.sources import survey
from leastways.errors import DataError, SettingError
from tests.batch.crowd import everybody_once, fitted, people, prints, run, tables, write
from tests.recourse.bank import SCHEMA


def folder_of(path: Path, pieces: list[pd.DataFrame], suffix: str = ".parquet") -> Path:
    path.mkdir()
    for place, piece in enumerate(pieces):
        file = path / f"{place:03d}{suffix}"
        piece.to_parquet(file) if suffix == ".parquet" else piece.to_csv(file)
    return path


def test_a_folder_is_read_in_the_order_of_names(unbroken: Path, tmp_path: Path) -> None:
    crowd = people()
    source = folder_of(tmp_path / "in", [crowd.iloc[:5], crowd.iloc[5:6], crowd.iloc[6:40], crowd.iloc[40:]])
    (source / "_SUCCESS").touch()
    (source / ".crc").touch()
    run(fitted(), source, tmp_path / "out")
    assert {k: v for k, v in prints(tmp_path / "out").items() if "parquet" in k} == {
        k: v for k, v in prints(unbroken).items() if "parquet" in k
    }


@pytest.mark.parametrize("many", [False, True])
def test_csv_is_read_line_by_line(unbroken: Path, tmp_path: Path, many: bool) -> None:
    crowd = people()
    if many:
        source = folder_of(tmp_path / "in", [crowd.iloc[:20], crowd.iloc[20:]], ".csv")
    else:
        source = tmp_path / "people.csv"
        crowd.to_csv(source)
    run(fitted(), source, tmp_path / "out", index="customer")
    everybody_once(tmp_path / "out")
    for found, wanted in zip(tables(tmp_path / "out"), tables(unbroken), strict=True):
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
    crowd = people().set_axis(index, axis=0)
    run(fitted(), write(tmp_path / "people.parquet", crowd), tmp_path / "out")
    everybody_once(tmp_path / "out", wanted)


def test_a_column_of_labels_and_labels_that_occur_twice(tmp_path: Path) -> None:
    crowd = people().reset_index(drop=True).assign(name=["a", "b"] * 24)
    run(fitted(), write(tmp_path / "people.parquet", crowd), tmp_path / "out", index="name")
    everybody_once(tmp_path / "out", ["a", "b"] * 24)
    with pytest.raises(DataError, match="labels occur twice"):
        read_plans(tmp_path / "out")
    by_row, wanted = read_plans(tmp_path / "out", repeated="row"), fitted().recommend(crowd[list(SCHEMA.names)])
    pd.testing.assert_frame_equal(by_row.options, wanted.options)
    pd.testing.assert_frame_equal(by_row.summary, wanted.summary.rename_axis("row"), check_index_type=False)
    assert read_plans(tmp_path / "out", ["b"], repeated="row").summary.index.tolist() == list(range(1, 48, 2))
    with pytest.raises(SettingError, match="repeated must be one of"):
        read_plans(tmp_path / "out", repeated="no")
    with pytest.raises(DataError, match=r"no column 'nam' for --index\. Did you mean 'name'"):
        survey(tmp_path / "people.parquet", SCHEMA, "nam")


def test_two_columns_of_labels(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(people().head(3))
    pq.write_table(table.append_column("customer", pa.array([1, 2, 3])), tmp_path / "people.parquet")
    for index in (None, "customer"):
        with pytest.raises(DataError, match="the column 'customer', which holds the labels, twice or more"):
            survey(tmp_path / "people.parquet", SCHEMA, index)


def test_labels_of_csv_files(tmp_path: Path) -> None:
    crowd = people().reset_index(drop=True)
    for number, texts in enumerate((["7", "8"], ["07", "8"], ["", "8"])):
        path = tmp_path / f"{number}.csv"
        crowd.head(2).assign(id=texts)[["id", *crowd.columns]].to_csv(path, index=False)
    assert [part.labels.to_pylist() for n in range(3) for part in read(tmp_path / f"{n}.csv", "id")] == [
        [7, 8],
        ["07", "8"],
        [None, 8],
    ]


def test_labels_that_are_numbers_in_one_file_only(tmp_path: Path) -> None:
    crowd = people().reset_index(drop=True).head(2)
    source = folder_of(tmp_path / "in", [crowd.set_axis([7, 8], axis=0), crowd.set_axis(["x", "9"], axis=0)], ".csv")
    assert [part.labels.to_pylist() for part in read(source)] == [["7", "8", "x", "9"]]


def read(path: Path, index: str | None = None, size: int = 1000, done: tuple[int, ...] = ()) -> list[Any]:
    return list(parts_of(survey(path, SCHEMA, index), size, done, None))


@pytest.mark.parametrize("done", [(), (0,), (1,), (0, 1), (2,), (0, 2)])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_parts_that_are_done_are_not_read(
    tmp_path: Path, kind: str, done: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leastways.batch.sources.BATCH", 6)
    crowd = people()
    path = tmp_path / f"people.{kind}"
    write(path, crowd, rows=7) if kind == "parquet" else crowd.to_csv(path)
    found = read(path, "customer", 20, done)
    assert [part.number for part in found] == [n for n in range(3) if n not in done]
    for part in found:
        wanted = crowd.iloc[part.number * 20 : part.number * 20 + 20]
        assert part.labels.to_pylist() == wanted.index.tolist()
        pd.testing.assert_frame_equal(part.frame, wanted.reset_index(drop=True), check_dtype=kind == "parquet")


def test_memory_is_that_of_a_batch(tmp_path: Path) -> None:
    """A file of one large row group is not read at once: what arrow holds stays far below the file."""
    import pyarrow as pa

    draw = np.random.default_rng(0)
    n = 1_200_000
    wide = people().iloc[draw.integers(0, 48, n)].reset_index(drop=True)
    wide["income"] = draw.gamma(3.0, 800.0, n)
    path = write(tmp_path / "people.parquet", wide, rows=n)
    whole = pa.Table.from_pandas(wide).nbytes
    gc.collect()
    before, most = pa.total_allocated_bytes(), 0
    for block in survey(path, SCHEMA, None).blocks():
        most = max(most, pa.total_allocated_bytes() - before)
        assert block.rows <= 4096
    assert 0 < most < whole / 4, f"{most} of {whole}"


def damaged(path: Path, column: str, group: int) -> Path:
    """Overwrite the pages of one column of one row group."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    place = file.schema_arrow.names.index(column)
    chunk = file.metadata.row_group(group).column(place)
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[begin : begin + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(bytes(content))
    return path


@pytest.mark.parametrize("column", ["income", "customer"])
def test_a_damaged_row_group_costs_its_own_people_only(unbroken: Path, tmp_path: Path, column: str) -> None:
    source = damaged(write(tmp_path / "people.parquet"), column, 2)  # people 20 to 29, across two parts
    result = run(fitted(), source, tmp_path / "out")
    labels = people().index.tolist()
    if column == "customer":
        labels[20:30] = [None] * 10
    found, wanted = everybody_once(tmp_path / "out", labels), tables(unbroken)[0]
    lost = found["row"].between(20, 29)
    assert set(found.loc[lost, "status"]) == {"invalid_input"}
    assert found.loc[lost, "reason"].str.contains("row group 2 of 'people.parquet' is damaged").all()
    pd.testing.assert_frame_equal(found[~lost], wanted[~lost], check_dtype=False)
    assert result.totals.statuses["invalid_input"] == (lost | (wanted["status"] == "invalid_input")).sum()


def test_a_whole_part_that_cannot_be_read(tmp_path: Path) -> None:
    source = damaged(write(tmp_path / "people.parquet", rows=16), "income", 1)
    run(fitted(), source, tmp_path / "out")
    found = everybody_once(tmp_path / "out")
    assert found["reason"].str.contains("row group 1").sum() == 16
    assert found["reason"].iloc[16:32].str.contains("row group 1").all()


def test_refused_by_name_before_any_work(tmp_path: Path) -> None:
    crowd = people()
    cases: list[tuple[str, Any, str]] = []

    def case(name: str, make: Any, message: str) -> None:
        cases.append((name, make, message))

    def truncated(folder: Path) -> None:
        content = (folder / "000.parquet").read_bytes()
        (folder / "001.parquet").write_bytes(content[: len(content) // 2])

    case("truncated", truncated, r"cannot read .*001\.parquet' as Parquet")
    case("text", lambda f: (f / "001.parquet").write_text("hello"), r"cannot read .*001\.parquet' as Parquet")
    case("types", lambda f: write(f / "001.parquet", crowd.astype({"age": float})), r"'age' is double in '001\.parq")
    case("columns", lambda f: write(f / "001.parquet", crowd.drop(columns="age")), r"001\.parquet.*missing.*'age'")
    case("more", lambda f: write(f / "001.parquet", crowd.assign(b=1)), r"001\.parquet.*unknown columns: 'b'")
    case("words", lambda f: write(f / "001.parquet", crowd.astype({"age": str})), r"001\.parquet.*'age' holds str")
    case("kinds", lambda f: (f / "b.txt").write_text(""), r"other files beside '000\.parquet': 'b\.txt'")
    for name, make, message in cases:
        folder = folder_of(tmp_path / name, [crowd])
        make(folder)
        with pytest.raises(DataError, match=message):
            run(fitted(), folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_csv_refused_by_name(tmp_path: Path) -> None:
    crowd = people().reset_index(drop=True)
    good = tmp_path / "good.csv"
    crowd.to_csv(good, index=False)
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


def test_a_file_that_changes_under_our_hands(tmp_path: Path) -> None:
    path = write(tmp_path / "people.parquet")
    blocks = survey(path, SCHEMA, None).blocks()
    next(blocks)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="was changed while it was being read"):
        list(blocks)


def test_rows_that_cannot_be_used(unbroken: Path, tmp_path: Path) -> None:
    """They get the reasons that they get from `recommend`, also where all of a chunk are wrong in the same way."""
    crowd = people().astype({"age": object, "school": object})
    crowd.iloc[3, 0] = None
    crowd.iloc[5, 2] = "hihg"
    crowd.loc[crowd.index[16:32], "school"] = "unheard of"
    crowd["age"] = crowd["age"].astype("Int64")
    source = write(tmp_path / "people.parquet", crowd)
    run(fitted(), source, tmp_path / "out")
    found = everybody_once(tmp_path / "out").set_index("person")
    wanted = fitted().recommend(crowd).summary
    assert found["status"].tolist() == wanted["status"].tolist()
    assert found["reason"].tolist() == wanted["reason"].tolist()
    assert "Did you mean 'high'" in str(found.loc["p5", "reason"])
    assert found["age"].isna().loc["p3"]
    assert found["age"].loc[["p4"]].tolist() == crowd["age"].loc[["p4"]].tolist()


def test_a_value_as_long_as_a_letter(tmp_path: Path) -> None:
    crowd = people().head(2)
    crowd.iloc[0, 2] = "x" * 100_000
    run(fitted(), write(tmp_path / "people.parquet", crowd), tmp_path / "out")
    reason = everybody_once(tmp_path / "out", ["p0", "p1"])["reason"].iloc[0]
    assert "xxx… (100,002 characters) is not a known category" in reason
    assert len(reason) < 500


@pytest.mark.parametrize("column", ["school", "customer"])
def test_texts_that_are_not_utf8_cost_their_own_rows_only(unbroken: Path, tmp_path: Path, column: str) -> None:
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
    found, wanted = everybody_once(tmp_path / "out", labels), tables(unbroken)[0]
    assert found["status"].iloc[21] == "invalid_input"
    assert "this row of 'people.parquet' cannot be read" in found["reason"].iloc[21]
    rest = found["row"] != 21
    pd.testing.assert_frame_equal(found[rest], wanted[rest], check_dtype=False)


def test_columns_that_can_hold_nothing_of_the_kind(tmp_path: Path) -> None:
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
def test_an_index_of_pandas_beside_the_labels(tmp_path: Path, suffix: str) -> None:
    """Left over from a frame of which some rows were kept: no feature, and no fault."""
    crowd = people().reset_index().drop(index=[1, 4])
    path = tmp_path / f"people{suffix}"
    crowd.to_parquet(path) if suffix == ".parquet" else crowd.to_csv(path)
    (part,) = read(path, "customer")
    assert part.labels.to_pylist() == crowd["customer"].tolist()
    assert part.frame.columns.tolist() == list(SCHEMA.names)


@pytest.mark.parametrize("first", [0, 1])
def test_an_index_of_pandas_in_one_file_only(tmp_path: Path, first: int) -> None:
    crowd = people().reset_index(drop=True)
    pieces = [crowd.iloc[:20], crowd.iloc[[21, 25, 30]]]
    with pytest.raises(DataError, match=r"labelled by '__index_level_0__'.* only one of '000\.parquet'"):
        survey(folder_of(tmp_path / "in", [pieces[first], pieces[1 - first]]), SCHEMA, None)


def test_people_in_a_folder_below_are_not_passed_over(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "in", [people()])
    (source / "sex=f").mkdir()
    with pytest.raises(DataError, match="holds another folder, 'sex=f'"):
        run(fitted(), source, tmp_path / "out")


def test_the_log_is_not_written_into_the_people(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    people().to_csv(path)
    before = path.read_bytes()
    with pytest.raises(DataError, match="the log cannot be written"):
        run(fitted(), path, tmp_path / "out", index="customer", log=path)
    assert path.read_bytes() == before
    assert not (tmp_path / "out").exists()


def test_a_file_that_changes_while_it_is_looked_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "people.parquet")

    def grown(file: Path) -> str:
        write(file, people(60))
        return file_print(file)

    monkeypatch.setattr("leastways.batch.sources.file_print", grown)
    with pytest.raises(DataError, match="was changed while"):
        survey(path, SCHEMA, None)


def test_a_file_that_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.csv"
    people().to_csv(path)
    parts = parts_of(survey(path, SCHEMA, "customer"), 20, (), None)

    def cut_off(*_: Any) -> Any:
        path.write_text("")
        return iter(())

    monkeypatch.setattr("leastways.batch.sources.CsvFile.blocks", cut_off)
    with pytest.raises(DataError, match="was changed while"):
        list(parts)
