"""Split a table as the paper splits its non-binary sets: balanced classes, validation rows, and people.

Deviation from the paper: the 1,000 test people are drawn *without* replacement, and none of them is trained on. The
paper draws them with replacement, so that some people count twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._validation import check_seed
from leastways.errors import DataError

N_PEOPLE = 1000
VALIDATION_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Split:
    """The balanced rows and their three disjoint parts; an index is the row's position in the source file."""

    frame: pd.DataFrame
    train: pd.DataFrame
    validation: pd.DataFrame
    people: pd.DataFrame


def split_balanced(frame: pd.DataFrame, target: str, favourable: Any, random_state: int) -> Split:
    """Undersample the larger class, set a tenth aside, and draw people from the undesired class of the rest."""
    rng = np.random.Generator(np.random.PCG64(check_seed(random_state)))
    good = np.flatnonzero((frame[target] == favourable).to_numpy())
    bad = np.flatnonzero((frame[target] != favourable).to_numpy())
    size = min(len(good), len(bad))
    kept = np.sort(np.concatenate([_sample(good, size, rng), _sample(bad, size, rng)]))
    balanced = frame.iloc[kept]

    positions = np.arange(len(balanced))
    validation = _sample(positions, math.ceil(VALIDATION_SHARE * len(positions)), rng)
    rest = np.setdiff1d(positions, validation)
    undesired = rest[(balanced[target] != favourable).to_numpy()[rest]]
    if len(undesired) <= N_PEOPLE:
        raise DataError(
            f"{len(undesired)} rows of the undesired class are left after balancing; more than {N_PEOPLE} "
            "are needed. Is the file complete?"
        )
    people = _sample(undesired, N_PEOPLE, rng)
    return Split(
        frame=balanced,
        train=balanced.iloc[np.setdiff1d(rest, people)],
        validation=balanced.iloc[np.sort(validation)],
        people=balanced.iloc[np.sort(people)].drop(columns=target),
    )


def _sample(items: NDArray[np.intp], size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw `size` items without replacement, from plain uniforms: the same on every numpy version."""
    return items[np.argsort(rng.random(len(items)), kind="stable")[:size]]
