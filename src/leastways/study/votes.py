"""From single answers to a verdict per item: counts of votes, the majority, and who agrees with whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._extras import require
from leastways.study.folder import NO_PREFERENCE, Study

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Votes:
    """How often each answer was given, by item."""

    items: tuple[str, ...]
    preferred: Counts  # [items, 3] first method, second method, no preference
    reasonable: Counts  # [2 methods, items, 2] yes, no

    @classmethod
    def count(cls, study: Study, answers: pd.DataFrame) -> Votes:
        """Count checked answers."""
        items = tuple(study.people)
        choices = (*study.methods, NO_PREFERENCE)
        chosen = answers[answers["question"] == "preferred"]
        judged = answers[answers["question"] == "reasonable"]
        reasonable = [_counts(judged[judged["about"] == method], items, ("yes", "no")) for method in study.methods]
        return cls(items, _counts(chosen, items, choices), np.stack(reasonable))


def _counts(answers: pd.DataFrame, items: tuple[str, ...], values: tuple[str, ...]) -> Counts:
    """Return how often each value was given to each item, [items, values]."""
    out = np.zeros((len(items), len(values)), np.int64)
    rows, columns = (
        pd.Index(known).get_indexer(pd.Index(answers[name])) for name, known in (("item", items), ("answer", values))
    )
    np.add.at(out, (rows, columns), 1)
    return out


def majority_preferred(votes: Counts) -> NDArray[np.int64]:
    """Return the choice with the most votes, [items]: 0, 1, or 2 for no preference; -1 where nobody voted.

    A tie at the top is no preference, as in the paper: one vote for each of the three is no verdict for anybody.
    """
    most = votes.max(axis=1)
    tied = (votes == most[:, None]).sum(axis=1) > 1
    verdict = np.where(tied, 2, votes.argmax(axis=1))
    return np.where(most > 0, verdict, -1).astype(np.int64)


def majority_yes(votes: Counts) -> NDArray[np.int64]:
    """Return 1 where more than half said yes, else 0, and -1 where nobody answered; [..., items]."""
    yes, total = votes[..., 0], votes.sum(axis=-1)
    return np.where(total > 0, (2 * yes > total).astype(np.int64), -1)


def fleiss_kappa(votes: Counts, per_item: int) -> float:
    """Return Fleiss' kappa over the items that have all their votes; NaN where it is undefined.

    It is undefined for fewer than two votes an item, and where all votes are the same: chance would agree as well.
    """
    full = votes[votes.sum(axis=1) == per_item]
    if per_item < 2 or (full.sum(axis=0) > 0).sum() < 2:
        return float("nan")
    agreement = require("statsmodels.stats.inter_rater", "study", "Fleiss' kappa")
    return float(agreement.fleiss_kappa(full, method="fleiss"))
