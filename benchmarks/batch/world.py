"""Make a model on the embedded data, and a file of any number of people whom it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leastways as lw
from leastways.datasets.credit import draw_applicants

BUDGET, COSTS, OPTIONS = 500, 100, 10
_BLOCK = 50_000  # applicants drawn at a time


def fitted(budget: int = BUDGET, n_costs: int = COSTS) -> lw.Recourse:
    """Return the search that is measured, with a logistic regression on the embedded loan data."""
    credit = lw.datasets.load_credit()
    text = [name for name in credit.X if credit.X[name].dtype.kind not in "iuf"]
    numbers = [name for name in credit.X if name not in text]
    encoder = make_column_transformer((OneHotEncoder(), text), (StandardScaler(), numbers))
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(credit.X, credit.y)
    rec = lw.Recourse(model, credit.schema(), n_options=OPTIONS, budget=budget, n_costs=n_costs)
    return rec.fit(credit.train)


def people_file(folder: Path, n: int, model: Any) -> Path:
    """Write `n` refused people as Parquet, drawn a block at a time; an existing file is used again."""
    path = folder / f"people-{n}.parquet"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    written, seed, sink = 0, 1, None
    while written < n:
        block = draw_applicants(_BLOCK, seed).drop(columns="approved")
        block = block[np.asarray(model.predict(block)) != 1].head(n - written)
        table = pa.Table.from_pandas(block, preserve_index=False)
        sink = sink or pq.ParquetWriter(draft, table.schema)
        sink.write_table(table.cast(sink.schema))
        written, seed = written + len(block), seed + 1
    assert sink is not None
    sink.close()
    draft.rename(path)
    return path


def first_people(path: Path, n: int) -> pd.DataFrame:
    """Return the first `n` people of a file."""
    frame: pd.DataFrame = next(pq.ParquetFile(path).iter_batches(n)).to_pandas()
    return frame
