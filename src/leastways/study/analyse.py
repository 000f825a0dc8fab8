"""Analyse a study: majority votes, shares with intervals, agreement, and tests."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import bisect
from scipy.stats import binomtest, norm

from leastways._extras import require
from leastways._messages import listed
from leastways.errors import DataError
from leastways.study.collect import ANSWERS_TABLE, COLUMNS, Collected
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
        rated = answers[answers["question"] == "reasonable"]
        reasonable = [_counts(rated[rated["about"] == method], items, ("yes", "no")) for method in study.methods]
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
    """Return the choice with the most votes, [items]: 0, 1, or 2 for no preference; -1 without votes.

    A tie at the top is no preference, as in the paper: one vote for each of the three is no verdict.
    """
    most = votes.max(axis=1)
    tied = (votes == most[:, None]).sum(axis=1) > 1
    verdict = np.where(tied, 2, votes.argmax(axis=1))
    return np.where(most > 0, verdict, -1).astype(np.int64)


def majority_yes(votes: Counts) -> NDArray[np.int64]:
    """Return the majority answer: 1 for yes, else 0, and -1 without answers; [..., items]."""
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


def paired_interval(for_first: int, for_second: int, of: int, level: float) -> tuple[float, float]:
    """Return Tango's score interval of the first share less the second.

    It holds every difference that a score test does not reject. The normal approximation around the difference that was
    seen has no width where all items speak for one method; this one is there what Wilson's interval says of the share.

    Parameters
    ----------
    for_first, for_second
        Items that speak for one method alone.
    of
        All items; those that speak for both or for neither count too.
    level
        How often it covers the true difference, about.

    References
    ----------
    T. Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample design",
    Statistics in Medicine 17 (1998), 891-908.
    """
    seen = (for_first - for_second) / of
    limit = float(norm.ppf(0.5 + level / 2))

    def beyond(difference: float) -> float:
        return abs(_score(difference, for_first, for_second, of)) - limit

    low = -1.0 if seen == -1 else float(bisect(beyond, -1.0, seen))
    high = 1.0 if seen == 1 else float(bisect(beyond, seen, 1.0))
    return low, high


def _score(difference: float, for_first: int, for_second: int, of: int) -> float:
    """Return the score statistic of the items under an assumed true difference, in standard errors."""
    off = for_first - for_second - of * difference
    # How probable it then is that an item speaks for the second alone, by maximum likelihood: the larger root of
    # a x^2 + b x + c.
    a = 2 * of
    b = (2 * of - for_first + for_second) * difference - for_first - for_second
    c = -for_second * difference * (1 - difference)
    second = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = of * (2 * second + difference * (1 - difference))
    if off == 0:
        return 0.0
    return off / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, off)


LEVEL = 0.95


@dataclass(frozen=True)
class Share:
    """A share of items, with its 95 % interval (Wilson's)."""

    count: int
    of: int
    share: float
    low: float
    high: float

    @classmethod
    def of_counts(cls, count: int, of: int) -> Share:
        """Return the share; NaN if the total is 0."""
        if of == 0:
            return cls(0, 0, math.nan, math.nan, math.nan)
        ends = binomtest(count, of).proportion_ci(LEVEL, method="wilson")
        return cls(count, of, count / of, float(ends.low), float(ends.high))


@dataclass(frozen=True)
class Difference:
    """The first method's share less the second's, with its 95 % interval, and the p-value of a test that is exact.

    Both shares are of the same items, and the interval takes that into account (Tango's score interval for paired
    shares). The p-value is two-sided: how probable so uneven a split would be if both methods were as good.
    """

    value: float
    low: float
    high: float
    p_value: float

    @classmethod
    def of_pairs(cls, for_first: int, for_second: int, of: int) -> Difference:
        """Compare the items that speak for one method alone with those that speak for the other alone.

        The test is the sign test; on pairs of yes and no it is McNemar's.
        """
        if of == 0:
            return cls(math.nan, math.nan, math.nan, math.nan)
        decided = for_first + for_second
        p_value = float(binomtest(for_first, decided).pvalue) if decided else 1.0
        return cls((for_first - for_second) / of, *paired_interval(for_first, for_second, of, LEVEL), p_value)


@dataclass(frozen=True)
class StudyResult:
    """Result of a study.

    Attributes
    ----------
    methods
        The two methods.
    preferred
        By method, and "no preference": the share of items of which it is the majority's choice.
    preference
        The difference between the methods' shares. Its p-value is the exact sign test on the majority votes, items
        without a preference left out.
    preference_kappa
        Fleiss' kappa of the single votes; 1: all agree, 0: no more than by chance, NaN: undefined.
    reasonable
        By method: the share of items for which more than half of the annotators found its options reasonable.
    reasonableness
        The difference between these. Its p-value is McNemar's exact test.
    reasonable_kappa
        Fleiss' kappa of the votes on what is reasonable.
    chose_a
        Of all single votes for a set: the share that went to set A. Far from a half, position had an effect.
    items : DataFrame
        A row per item: the votes, the majority's choice, and whether either method is reasonable.
    n_items, n_annotators, per_item, n_answers
        The size of the study, and how many answers there are.
    n_incomplete
        Items that lack some vote. Their verdict is by the votes they have; kappa leaves them out.
    n_without_votes
        Items without a vote on the preference. They do not count.
    """

    study: str
    methods: tuple[str, str]
    preferred: dict[str, Share]
    preference: Difference
    preference_kappa: float
    reasonable: dict[str, Share]
    reasonableness: Difference
    reasonable_kappa: float
    chose_a: Share
    items: pd.DataFrame
    n_items: int
    n_annotators: int
    per_item: int
    n_answers: int
    n_incomplete: int
    n_without_votes: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the table of items as JSON can hold it: None where a figure is undefined."""
        names = [name for name in self.__dataclass_fields__ if name != "items"]
        return {name: _plain(getattr(self, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, Share | Difference):
        value = asdict(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def analyse_study(collected: Collected | str | Path) -> StudyResult:
    """Take the majority vote on every item, and test the difference between the methods.

    Parameters
    ----------
    collected
        What `collect_answers` returned, or the folder of a study whose answers were collected and written.

    Fleiss' kappa needs statsmodels: ``pip install 'leastways[study]'``.
    """
    study, answers = (
        (collected.study, collected.answers) if isinstance(collected, Collected) else _read(Path(collected))
    )
    if answers.empty:
        raise DataError(f"there is no usable answer in study {study.id!r}, so there is nothing to analyse.")
    votes = Votes.count(study, answers)
    chosen, yes = majority_preferred(votes.preferred), majority_yes(votes.reasonable)
    counts = [int((chosen == choice).sum()) for choice in range(3)]
    both = (yes >= 0).all(axis=0)  # items on which both methods can be compared
    for_first, for_second = (int((both & (yes[m] == 1) & (yes[1 - m] == 0)).sum()) for m in (0, 1))
    given = np.stack([votes.preferred.sum(axis=1), *votes.reasonable.sum(axis=2)])  # [questions, items]
    full = (given == study.per_item).all(axis=0)
    sides = answers.loc[answers["question"] == "preferred", "shown_as"]
    return StudyResult(
        study=study.id,
        methods=study.methods,
        preferred={
            name: Share.of_counts(n, sum(counts))
            for name, n in zip((*study.methods, NO_PREFERENCE), counts, strict=True)
        },
        preference=Difference.of_pairs(counts[0], counts[1], sum(counts)),
        preference_kappa=fleiss_kappa(votes.preferred, study.per_item),
        reasonable={
            name: Share.of_counts(int((both & (yes[m] == 1)).sum()), int(both.sum()))
            for m, name in enumerate(study.methods)
        },
        reasonableness=Difference.of_pairs(for_first, for_second, int(both.sum())),
        reasonable_kappa=fleiss_kappa(np.concatenate(list(votes.reasonable)), study.per_item),
        chose_a=Share.of_counts(int((sides == "A").sum()), int(sides.isin(["A", "B"]).sum())),
        items=_items_table(study, votes, chosen, yes),
        n_items=len(votes.items),
        n_annotators=len(study.annotators),
        per_item=study.per_item,
        n_answers=len(answers),
        n_incomplete=int((~full).sum()),
        n_without_votes=int((chosen < 0).sum()),
    )


def _items_table(study: Study, votes: Votes, chosen: Any, yes: Any) -> pd.DataFrame:
    names = (*study.methods, NO_PREFERENCE)
    table = pd.DataFrame({"person": list(study.people.values())}, index=pd.Index(votes.items, name="item"))
    for place, name in enumerate(names):
        table[f"votes: {name}"] = votes.preferred[:, place]
    table["preferred"] = [names[c] if c >= 0 else "" for c in chosen]
    for place, name in enumerate(study.methods):
        table[f"reasonable: {name}"] = pd.array([None if y < 0 else bool(y) for y in yes[place]], dtype="boolean")
    return table


def _read(folder: Path) -> tuple[Study, pd.DataFrame]:
    """Read answers that were collected, and check that they are still this study's."""
    study, path = Study.read(folder), folder / ANSWERS_TABLE
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}; `leastways study collect` makes it.")
    try:
        answers = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:  # pandas' own errors on text that is no table are of this kind
        raise DataError(f"cannot read {str(path)!r}: {error}") from error
    if list(answers.columns) != list(COLUMNS):
        raise DataError(f"{str(path)!r} has other columns than {', '.join(COLUMNS)}; collect the answers again.")
    _check_answers(study, answers, path)
    if answers.duplicated(["annotator", "item", "question", "about"]).any():
        raise DataError(f"{str(path)!r} holds an answer twice; collect the answers again.")
    return study, answers


def _check_answers(study: Study, answers: pd.DataFrame, path: Path) -> None:
    """Raise if a table edited by hand has values that are impossible in this study."""
    prefers = answers["question"] == "preferred"
    known: list[tuple[str, Any, tuple[str, ...]]] = [
        ("annotator", slice(None), study.annotators),
        ("item", slice(None), tuple(study.people)),
        ("question", slice(None), ("preferred", "reasonable")),
        ("answer", prefers, (*study.methods, NO_PREFERENCE)),
        ("answer", ~prefers, ("yes", "no")),
        ("about", ~prefers, study.methods),
    ]
    for column, rows, allowed in known:
        values = answers.loc[rows, column]
        strange = values[~values.isin(allowed)]
        if len(strange):
            raise DataError(
                f"{str(path)!r}: {column} {strange.iloc[0]!r} is not of this study; known: {listed(allowed)}. "
                "Collect the answers again."
            )
