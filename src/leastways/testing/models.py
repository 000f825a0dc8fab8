"""The contract of models and model adapters: ``check_model(model, frame, target)``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leastways.errors import LeastwaysError, ModelError
from leastways.models import QueryCounter, as_model, check_labels_seen, disagreement


def check_model(
    model: Any, frame: pd.DataFrame, target: Any = 1, tolerance: float = 1e-6, threshold: float = 0.5
) -> None:
    """Raise AssertionError, with what is wrong, unless `Recourse` can use a model on rows like these.

    A model must give one probability per row, within [0, 1], that depends neither on the other rows evaluated with it
    nor on their order. If it also has `predict`, that must accept the rows whose probability does (at the default
    threshold).

    Parameters
    ----------
    model
        As in `Recourse`: an estimator, a function, or an adapter with ``probability(frame)``.
    frame
        Raw rows, at least two.
    target
        The label that is accepted. One that the model does not know is a `SettingError`, as in `Recourse`.
    tolerance
        Difference up to which two probabilities of a row count as equal.
    threshold
        As in `Recourse`; one below the model's own cut-off is a `SettingError`.

    Examples
    --------
    >>> import pandas as pd
    >>> import leastways as lw
    >>> rows = pd.DataFrame({"income": [10, 20, 30]})
    >>> lw.testing.check_model(lambda frame: frame["income"] / 40, rows)
    >>> lw.testing.check_model(lambda frame: frame["income"].rank(pct=True), rows)
    Traceback (most recent call last):
    AssertionError: a row's probability depends on the other rows
    """
    assert len(frame) >= 2, "give at least two rows to check with"
    bound = as_model(model, target, threshold=threshold)
    try:
        whole = np.asarray(bound.probability(frame.copy()), dtype=np.float64)
        assert whole.shape == (len(frame),), f"expected one probability per row, got shape {whole.shape}"
        assert np.isfinite(whole).all(), "a probability is not a finite number"
        whole = QueryCounter(bound).evaluate(frame)  # as `Recourse` does
    except ModelError as error:
        raise AssertionError(str(error)) from error
    except (AssertionError, LeastwaysError):
        raise
    except Exception as error:
        raise AssertionError(f"the model raised {type(error).__name__}: {error}") from error
    order = np.random.default_rng(0).permutation(len(frame))
    shuffled = np.asarray(bound.probability(frame.iloc[order].copy()))
    assert np.allclose(shuffled, whole[order], rtol=0, atol=tolerance), (
        "a row's probability depends on the order of rows"
    )
    one = np.asarray(bound.probability(frame.iloc[[0]].copy()))
    assert np.allclose(one, whole[:1], rtol=0, atol=tolerance), "a row's probability depends on the other rows"
    renumbered = frame.copy().set_axis(range(1000, 1000 + len(frame)), axis=0)
    moved = np.asarray(bound.probability(renumbered))
    assert np.allclose(moved, whole, rtol=0, atol=tolerance), "the answer depends on the index"
    differs = disagreement(bound, threshold, frame)
    assert not differs, differs
    check_labels_seen(bound, len(frame))
