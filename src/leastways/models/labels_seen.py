"""Labels a model gave, none of them the target: a slip in `target`, or a model that refuses everybody."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import pandas as pd

from leastways._messages import listed, nearest, plain
from leastways.errors import SettingError
from leastways.models.base import FloatArray, Model

_MANY = 20  # classes, at most, that a model is likely to have; more whole numbers are scores
_KEPT = 1000


@dataclass
class LabelsSeen:
    """The labels given so far, for as long as none of them is the target.

    It belongs to one adapter, and so to one call of `recommend`. Threads that share it only ever add to it.
    """

    target: Any = None
    found: bool = False
    labels: set[Any] = field(default_factory=set)

    def note(self, labels: pd.Series, target: object, same: FloatArray) -> None:
        """Note the labels of a call, of which `same` says where they are the target."""
        if self.found:
            return
        if (same == 1.0).any():
            self.found = True
        elif len(self.labels) < _KEPT:
            self.target = target
            self.labels.update(label for label in labels.dropna().tolist() if isinstance(label, str | Real))

    def trouble(self, people: int) -> str:
        """Return what to warn of, if anything; raise where `target` cannot be what the model calls a yes.

        A model may refuse everybody: that alone is no error. One person who gets one and the same label for whatever
        is asked is not worth a word either.
        """
        if self.found or not self.labels or (people == 1 and len(self.labels) == 1) or self._is_plain_no():
            return ""
        texts = [label for label in self.labels if isinstance(label, str)]
        if alike := [label for label in texts if _bare(label) == _bare(self.target)]:
            raise SettingError(
                f"target={self.target!r} was the label of no row; the model gives {listed(self._shown())}. "
                f"Did you mean {alike[0]!r}?"
            )
        scores = not texts and len(self.labels) > _MANY
        hint = (
            " These look like scores: pass what they decide, such as lambda frame: score(frame) >= 600."
            if scores
            else f"{nearest(self.target, texts)} If a yes has another label, pass it as target=."
        )
        text = f"target={self.target!r} was the label of no row; the model gives {listed(self._shown())}.{hint}"
        if scores and isinstance(self.target, Real) and not min(self.labels) <= self.target <= max(self.labels):
            raise SettingError(text)
        return text

    def _is_plain_no(self) -> bool:
        """Whether these are the usual two numbers, and the other one is the yes."""
        known = {*self.labels, self.target}
        return known <= {0, 1} or known <= {-1, 1}

    def _shown(self) -> list[Any]:
        return sorted(self.labels, key=lambda label: (isinstance(label, str), label))


def check_labels_seen(model: Model, people: int) -> None:
    """Warn, or raise, where a model gave labels to all it was asked about `people`, and never the target."""
    for seen in seen_by(model):
        if text := seen.trouble(people):
            warnings.warn(text, RuntimeWarning, stacklevel=3)


def seen_by(model: Model) -> tuple[LabelsSeen, ...]:
    """Return what a model's adapters keep of its labels."""
    kept = getattr(model, "labels_seen", ())
    return tuple(seen for seen in kept if isinstance(seen, LabelsSeen)) if isinstance(kept, tuple) else ()


def _bare(label: object) -> str:
    """Return a text without what people leave out or change when they type it: case, spaces, signs between words."""
    return re.sub(r"[\W_]+", "", str(plain(label))).casefold()
