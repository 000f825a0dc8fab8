from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways.datasets.paper import PaperNetwork
from leastways.errors import DataError
from leastways.models import as_model
from tests.support.public_data_files import write_network

COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "op": "minmax", "min": 20, "max": 70},
    {"name": "job", "op": "integer_code", "map": {"office": 0, "other": 1, "sales": 2}},
    {"name": "gain", "op": "integer_code", "map": {"0": 0, "1": 1}},
]


@pytest.fixture
def network(tmp_path: Path) -> PaperNetwork:
    write_network(tmp_path, COLUMNS)
    return PaperNetwork.load(tmp_path)


def people(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "gain": rng.choice(["0", "1"], n),
            "age": rng.integers(20, 71, n),
            "other": 0,
            "job": rng.choice(["office", "other", "sales"], n),
        }
    )


def slow_twin(network: PaperNetwork, frame: pd.DataFrame) -> list[float]:
    """One row at a time, in double precision, as the formula is written."""
    out = []
    for row in frame.to_dict("records"):
        x = [(row["age"] - 20) / 50, COLUMNS[1]["map"][row["job"]], COLUMNS[2]["map"][row["gain"]]]
        hidden = np.maximum(network.W1.astype(float) @ np.array(x) + network.b1, 0)
        e = np.exp(network.W2.astype(float) @ hidden + network.b2)
        out.append(float(e[1] / e.sum()))
    return out


def test_network_agrees_with_plain_numpy(network: PaperNetwork) -> None:
    frame = people(2500)
    assert np.allclose(network(frame), slow_twin(network, frame), rtol=0, atol=1e-6)


def test_torch_model_agrees(network: PaperNetwork) -> None:
    pytest.importorskip("torch")
    frame = people(300)
    twin = as_model(network.torch_model(), 1)
    np.testing.assert_allclose(twin.probability(frame), network(frame), rtol=0, atol=1e-12)
    np.testing.assert_allclose(as_model(network.torch_model(), 0).probability(frame), 1 - network(frame), atol=1e-12)


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
def test_any_text_dtype_is_encoded(network: PaperNetwork, dtype: str) -> None:
    frame = people(300)
    assert np.array_equal(network(frame.astype({"job": dtype, "gain": dtype})), network(frame))


def test_category_order_does_not_matter(network: PaperNetwork) -> None:
    frame = people(300)
    kind = pd.CategoricalDtype(["never seen", "sales", "other", "office"])
    assert np.array_equal(network(frame.astype({"job": kind})), network(frame))


def test_capital_levels_may_be_numbers(network: PaperNetwork) -> None:
    frame = people(50)
    assert np.array_equal(network(frame.astype({"gain": "int64"})), network(frame))


def test_zero_rows_and_one_row(network: PaperNetwork) -> None:
    frame = people(5)
    assert network(frame.iloc[:0]).shape == (0,)
    assert np.allclose(network(frame.iloc[[2]]), network(frame)[2], rtol=0, atol=1e-7)


def test_network_is_picklable(network: PaperNetwork) -> None:
    frame = people(20)
    assert np.array_equal(pickle.loads(pickle.dumps(network))(frame), network(frame))


def test_unreadable_values_are_named(network: PaperNetwork) -> None:
    frame = people(5)
    with pytest.raises(DataError, match="column 'job' holds 'pilot'; allowed: 'office', 'other', 'sales'"):
        network(frame.assign(job="pilot"))
    with pytest.raises(DataError, match="column 'age' has missing values"):
        network(frame.assign(age=np.nan))
    with pytest.raises(DataError, match="column 'job' holds nan"):
        network(frame.assign(job=pd.Series(["sales", None, "sales", "sales", "sales"])))
    with pytest.raises(DataError, match=r"column 'gain' is missing. Did you mean 'gains'"):
        network(frame.rename(columns={"gain": "gains"}))


def test_weights_and_encoding_must_belong_together(tmp_path: Path) -> None:
    write_network(tmp_path, COLUMNS, inputs=4)
    with pytest.raises(DataError, match=r"takes 4 columns, encoding.json lists 3"):
        PaperNetwork.load(tmp_path)
    (tmp_path / "encoding.json").write_text('{"columns": [{"name": "age", "op": "log"}]}')
    with pytest.raises(DataError, match="column 'age' has an unknown op 'log'"):
        PaperNetwork.load(tmp_path)
