"""Who belongs where: columns, bins, what is missing, intersections, references."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastways.audit.groups import NOT_STATED, Grouping, groupings_of, references_of, value_groups
from leastways.errors import DataError, SettingError
from tests.support.audited_plans import SCHEMA

PEOPLE = pd.DataFrame(
    {
        "sex": ["male", "female", "male", "male"],
        "age": [19, 25, 39, 60],
        "pay": [1, 2, 1, 2],
    },
    index=["a", "b", "c", "d"],
)
EXTRA = pd.DataFrame(
    {
        "origin": ["north", None, "south", "north"],
        "citizen": [True, False, True, True],
        "size": pd.Categorical(["S", "L", "M", "S"], ["S", "M", "L"], ordered=True),
        "a:b": [1.0, 2.0, np.nan, 1.0],
        "income": [0.5, 1.5, 2.5, 3.5],
    },
    index=["a", "b", "c", "d"],
)


def one(by: str, groups: pd.DataFrame | None = None) -> Grouping:
    (found,) = groupings_of(PEOPLE, SCHEMA, by, groups)
    return found


def sorted_into(grouping: Grouping) -> list[str]:
    return [grouping.groups[code] for code in grouping.codes]


def test_categories_keep_the_order_of_the_schema() -> None:
    found = one("sex")
    assert found.name == "sex"
    assert found.groups == ("female", "male")
    assert sorted_into(found) == ["male", "female", "male", "male"]


def test_bin_includes_its_lower_bound() -> None:
    found = one("age:25,60")
    assert found.groups == ("below 25", "25 to below 60", "60 and above")
    assert sorted_into(found) == ["below 25", "25 to below 60", "25 to below 60", "60 and above"]
    assert one("age:10").groups == ("10 and above",)  # bins that nobody is in are left out


def test_few_numbers_are_groups_and_many_are_quartiles() -> None:
    assert one("pay").groups == ("1", "2")
    many = pd.DataFrame({"x": np.arange(100.0)})
    (found,) = groupings_of(many, SCHEMA, "x")
    assert found.groups == ("below 25", "25 to below 50", "50 to below 75", "75 and above")
    assert np.bincount(found.codes).tolist() == [25] * 4


def test_six_numbers_are_still_few() -> None:
    for n, groups in ((6, ("0", "1", "2", "3", "4", "5")), (7, ())):
        numbers = pd.DataFrame({"x": [*range(n), 0, 1]})
        assert value_groups(numbers["x"]) == groups
        (found,) = groupings_of(numbers, SCHEMA, "x")
        assert (found.groups == groups) == (n == 6)


def test_most_at_the_minimum_gives_two_bins() -> None:
    """Most people have no capital gain: the quartiles are all 0."""
    gains = pd.DataFrame({"gain": [0] * 92 + list(range(100, 900, 100))})
    (found,) = groupings_of(gains, SCHEMA, "gain")
    assert found.groups == ("below 100", "100 and above")
    assert np.bincount(found.codes).tolist() == [92, 8]


def test_bounds_are_written_in_full() -> None:
    pay = pd.DataFrame({"pay": np.arange(100) * 12345.0 + 1e6})
    assert groupings_of(pay, SCHEMA, "pay")[0].groups[0] == "below 1,308,625"
    close = pd.DataFrame({"x": 1 + np.arange(100) * 1e-9})
    assert len(set(groupings_of(close, SCHEMA, "x")[0].groups)) == 4


def test_large_bounds_share_one_format() -> None:
    wide = pd.DataFrame({"pay": np.linspace(900_000.25, 1_100_000.75, 100)})
    lower, middle, upper, top = groupings_of(wide, SCHEMA, "pay")[0].groups
    assert lower == "below 950,505"
    assert middle == "950,505 to below 1,001,011"
    assert (upper, top) == ("1,001,011 to below 1,051,516", "1,051,516 and above")


@pytest.mark.parametrize(
    ("bounds", "texts"),
    [
        ([994_514.3, 1_048_576.5], ["994,514", "1,048,576"]),
        ([1_000_000.1, 1_000_000.3], ["1,000,000.1", "1,000,000.3"]),
        ([0.25, 1.5, 20, 1_234.5678], ["0.25", "1.5", "20", "1,234.57"]),
        ([-2.5, 0, 0.000123456789], ["-2.5", "0", "0.000123457"]),
        ([1e-9, 5.0], ["1e-09", "5e+00"]),
        ([0.5, 2e15], ["5e-01", "2e+15"]),
        ([2e15, 2e15 + 1], ["2e+15", "2.000000000000001e+15"]),
    ],
)
def test_bounds_have_enough_digits_to_differ(bounds: list[float], texts: list[str]) -> None:
    people = pd.DataFrame({"x": [bounds[0] - 1, *bounds]})
    (found,) = groupings_of(people, SCHEMA, f"x:{','.join(map(repr, bounds))}")
    assert [name.split()[0] for name in found.groups[1:]] == texts
    assert found.groups[0] == f"below {texts[0]}"


def test_values_with_equal_text_are_one_group() -> None:
    mixed = [True, 1, "1", 1.0, np.int64(1), False, 0, "True", 1.5, "1.5", None]
    (found,) = groupings_of(pd.DataFrame({"x": pd.Series(mixed, dtype=object)}), SCHEMA, "x")
    assert sorted_into(found) == ["True", "1", "1", "1", "1", "False", "0", "True", "1.5", "1.5", NOT_STATED]
    assert found.groups == ("0", "1", "1.5", "False", "True", NOT_STATED)
    assert references_of([found], np.ones(11, np.bool_), {"x": 1.0}) == [1]
    assert references_of([found], np.ones(11, np.bool_), {"x": True}) == [4]


def test_unusable_rows_may_hold_any_value() -> None:
    odd = pd.DataFrame({"sex": pd.Series(["male", ["male", "female"], None, "male"], dtype=object)})
    (found,) = groupings_of(odd, SCHEMA, "sex")
    assert sorted_into(found) == ["male", "['male', 'female']", NOT_STATED, "male"]


@given(st.lists(st.one_of(st.none(), st.sampled_from([0.0, 1.0]), st.floats(-1e6, 1e6)), min_size=1, max_size=60))
def test_bins_partition_the_numbers(values: list[float | None]) -> None:
    column = np.array([np.nan if v is None else v for v in values])
    (found,) = groupings_of(pd.DataFrame({"x": column}), SCHEMA, "x")
    assert len(found.codes) == len(values)
    for code in range(len(found.groups)):
        inside = column[found.codes == code]
        assert len(inside)
        assert np.isnan(inside).all() == (found.groups[code] == NOT_STATED)
    known = [column[found.codes == code] for code, name in enumerate(found.groups) if name != NOT_STATED]
    if not found.groups[0].lstrip("-").replace(".", "").isdigit():  # bins rise
        assert all(a.max() <= b.min() for a, b in pairwise(known))


def test_groups_may_come_from_a_separate_table() -> None:
    origin = one("origin", EXTRA)
    assert origin.groups == ("north", "south", NOT_STATED)
    assert sorted_into(origin) == ["north", NOT_STATED, "south", "north"]
    assert one("citizen", EXTRA).groups == ("False", "True")
    assert one("size", EXTRA).groups == ("S", "M", "L")
    assert one("a:b", EXTRA).groups == ("1", "2", NOT_STATED)  # a colon may be part of a name
    assert sorted_into(one("income:1,3", EXTRA))[0] == "below 1"
    shuffled = EXTRA.loc[["d", "b", "a", "c"]]
    assert sorted_into(one("origin", shuffled)) == sorted_into(origin)


def test_intersections_are_the_combinations_that_occur() -> None:
    found = groupings_of(PEOPLE, SCHEMA, ["sex", "age:30"])
    assert [g.name for g in found] == ["sex", "age", "sex × age"]
    assert found[2].groups == ("female × below 30", "male × below 30", "male × 30 and above")
    assert sorted_into(found[2])[1] == "female × below 30"
    three = groupings_of(PEOPLE, SCHEMA, ["sex", "age:30", "pay"])
    assert [g.name for g in three] == ["sex", "age", "pay", "sex × age", "sex × pay", "age × pay", "sex × age × pay"]


def test_reference_is_the_named_or_the_largest_group() -> None:
    found = groupings_of(PEOPLE, SCHEMA, ["sex", "age:30"])
    everybody = np.ones(4, np.bool_)
    assert references_of(found, everybody, None) == [1, 0, 2]
    assert references_of(found, everybody, {"sex": "female"}) == [0, 0, 0]
    assert references_of(found, everybody, {"sex": "male", "age": "below 30"}) == [1, 0, 1]
    nobody_male = np.array([False, True, False, False])
    assert references_of(found, nobody_male, None) == [0, 0, 0]
    with pytest.raises(SettingError, match="no person in group 'male' of 'sex' was refused"):
        references_of(found, nobody_male, {"sex": "male"})


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ([], "names no column"),
        (["sex", "sex"], "names a column twice: 'sex'"),
        (["age", "age:30"], "twice"),
        ("sx", r"no column 'sx'; there are: 'sex', 'age', 'pay'\. Did you mean 'sex'"),
        ("agee:30", "no column 'agee'.*Did you mean 'age'"),
        ("sex:1,2", "'sex' does not hold numbers"),
        ("age:40,30", "rising numbers.*age:25,40,60"),
        ("age:forty", "rising numbers"),
        ("age:nan", "rising numbers"),
        ("age:30,30", "rising numbers"),
    ],
)
def test_invalid_columns_are_refused(by: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        groupings_of(PEOPLE, SCHEMA, by)


def test_too_many_groups_are_refused() -> None:
    many = pd.DataFrame({"name": [f"n{i}" for i in range(60)]})
    with pytest.raises(SettingError, match="'name' has 60 different values, more than 50"):
        groupings_of(many, SCHEMA, "name")
    assert len(groupings_of(many.iloc[:50], SCHEMA, "name")[0].groups) == 50
    with pytest.raises(SettingError, match="'name' has 51 different values"):
        groupings_of(many.iloc[:51], SCHEMA, "name")


def test_invalid_group_tables_are_refused() -> None:
    with pytest.raises(DataError, match="lacks 'a'"):
        groupings_of(PEOPLE, SCHEMA, "origin", EXTRA.iloc[1:])
    with pytest.raises(DataError, match="twice or more: 'b'"):
        groupings_of(PEOPLE, SCHEMA, "origin", EXTRA.loc[["a", "b", "b", "c", "d"]])
    wrong: Any = {"origin": [1]}
    with pytest.raises(DataError, match="must be a DataFrame"):
        groupings_of(PEOPLE, SCHEMA, "origin", wrong)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ({"age": "old"}, "'age'.*not grouped by; by has: 'sex'"),
        ({"sex": "mal"}, "'sex' has no group 'mal'; it has: 'female', 'male'.*Did you mean 'male'"),
    ],
)
def test_invalid_references_are_refused(reference: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        references_of(groupings_of(PEOPLE, SCHEMA, "sex"), np.ones(4, np.bool_), reference)


def test_reference_must_be_a_mapping() -> None:
    wrong: Any = "male"
    with pytest.raises(SettingError, match=r"must map a column to a group.*not 'male'"):
        references_of(groupings_of(PEOPLE, SCHEMA, "sex"), np.ones(4, np.bool_), wrong)
