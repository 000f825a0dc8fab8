"""The contract every model adapter must keep. Run your own through it: ``check_model(model, frame, target)``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leastways.errors import LeastwaysError, ModelError
from leastways.models import QueryCounter, as_model, check_labels_seen, disagreement


def check_model(
    model: Any, frame: pd.DataFrame, target: Any = 1, tolerance: float = 1e-6, threshold: float = 0.5
) -> None:
    """Raise AssertionError, with what is wrong, unless a model can be used by `Recourse` on rows like these.

    (A target that the model does not know is a `SettingError`, as for `Recourse`; so is a threshold below the model's
    own cut-off.)

    It must give one probability per row, within [0, 1], and the same one whatever other rows are asked with it and in
    whatever order (up to `tolerance`). If it also has `predict`, that must say yes where the probability does (at the
    default threshold).
    """
    assert len(frame) >= 2, "give at least two rows to check with"
    judge = as_model(model, target, threshold=threshold)
    try:
        whole = np.asarray(judge.probability(frame.copy()), dtype=np.float64)
        assert whole.shape == (len(frame),), f"expected one probability per row, got shape {whole.shape}"
        assert np.isfinite(whole).all(), "a probability is not a finite number"
        whole = QueryCounter(judge).evaluate(frame)  # as `Recourse` asks
    except ModelError as error:
        raise AssertionError(str(error)) from error
    except (AssertionError, LeastwaysError):
        raise
    except Exception as error:
        raise AssertionError(f"the model raised {type(error).__name__}: {error}") from error
    order = np.random.default_rng(0).permutation(len(frame))
    shuffled = np.asarray(judge.probability(frame.iloc[order].copy()))
    assert np.allclose(shuffled, whole[order], rtol=0, atol=tolerance), (
        "a row's probability depends on the order of rows"
    )
    one = np.asarray(judge.probability(frame.iloc[[0]].copy()))
    assert np.allclose(one, whole[:1], rtol=0, atol=tolerance), "a row's probability depends on the other rows"
    renumbered = frame.copy().set_axis(range(1000, 1000 + len(frame)), axis=0)
    moved = np.asarray(judge.probability(renumbered))
    assert np.allclose(moved, whole, rtol=0, atol=tolerance), "the answer depends on the index"
    differs = disagreement(judge, threshold, frame)
    assert not differs, differs
    check_labels_seen(judge, len(frame))
