"""The contract every model adapter must keep. Run your own through it: ``check_model(model, frame, target)``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leastways.errors import LeastwaysError
from leastways.models import as_model


def check_model(model: Any, frame: pd.DataFrame, target: Any = 1, tolerance: float = 1e-6) -> None:
    """Raise AssertionError, with what is wrong, unless a model can be used by `Recourse` on rows like these.

    (A target that the model does not know is a `SettingError`, as for `Recourse`.)

    It must give one probability per row, within [0, 1]; the same for a row whatever its company and order (up to
    `tolerance`), and it must leave the frame as it was.
    """
    assert len(frame) >= 2, "give at least two rows to check with"
    judge = as_model(model, target)
    before = frame.copy(deep=True)
    try:
        whole = np.asarray(judge.probability(frame.copy()), dtype=np.float64)
    except LeastwaysError:
        raise
    except Exception as error:
        raise AssertionError(f"the model raised {type(error).__name__}: {error}") from error
    assert whole.shape == (len(frame),), f"expected one probability per row, got shape {whole.shape}"
    assert np.isfinite(whole).all(), "a probability is not a finite number"
    assert ((whole >= -1e-6) & (whole <= 1 + 1e-6)).all(), "a probability lies outside [0, 1]"
    lent = frame.copy()
    judge.probability(lent)
    assert frame.equals(before), "the model changed the frame it was given"
    order = np.random.default_rng(0).permutation(len(frame))
    shuffled = np.asarray(judge.probability(frame.iloc[order].copy()))
    assert np.allclose(shuffled, whole[order], atol=tolerance), "a row's probability depends on the order of rows"
    one = np.asarray(judge.probability(frame.iloc[[0]].copy()))
    assert np.allclose(one, whole[:1], atol=tolerance), "a row's probability depends on the other rows"
    renumbered = frame.copy().set_axis(range(1000, 1000 + len(frame)), axis=0)
    assert np.allclose(judge.probability(renumbered), whole, atol=tolerance), "the answer depends on the index"
