"""Options that a person would call the same way: one, and others that ask more of the same things.

Where preferences are known well, a set of options holds near twins: savings of 10,000, of 11,000, of 12,000. All are
good answers, but whoever reads them needs only the first. They are shown as one way, with what it is the easiest for
counted together: a share of cases in which the cheapest option is one of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leastways.plans import RecourseOption
from leastways.plans.wording import differs
from leastways.schema import Feature, Schema


@dataclass(frozen=True)
class Way:
    """An option, and those that ask at least as much everywhere."""

    option: RecourseOption
    more: tuple[RecourseOption, ...]

    @property
    def best_for(self) -> float:
        """The share of cases in which one of these is the cheapest."""
        return min(1.0, math.fsum(o.best_for for o in (self.option, *self.more)))


def ways(schema: Schema, state: Mapping[str, Any], options: Sequence[RecourseOption]) -> list[Way]:
    """Put options together into ways, in the order of what they cost this person; unknown costs last."""
    ordered = sorted(options, key=lambda o: (math.isnan(o.expected_cost), o.expected_cost, o.number))
    least = [o for o in ordered if not any(_asks_more(schema, state, than=other, option=o) for other in ordered)]
    more: dict[int, list[RecourseOption]] = {o.number: [] for o in least}
    for option in ordered:
        if option.number not in more:
            home = next(o for o in least if _asks_more(schema, state, than=o, option=option))
            more[home.number].append(option)
    return [Way(o, tuple(more[o.number])) for o in least]


def _asks_more(schema: Schema, state: Mapping[str, Any], than: RecourseOption, option: RecourseOption) -> bool:
    """Whether an option asks at least as much as another of every feature, and is not the same."""
    pairs = [(f, state[f.name], than.values[f.name], option.values[f.name]) for f in schema.features]
    if not any(differs(f, less, much) for f, _, less, much in pairs):
        return than.number < option.number  # the same state twice: the first stands for both
    return all(_on_the_way(f, now, less, much) for f, now, less, much in pairs)


def _on_the_way(feature: Feature, now: Any, less: Any, much: Any) -> bool:
    """Whether whoever goes from `now` to `much` passes `less`."""
    if not differs(feature, now, less) or not differs(feature, less, much):
        return True
    if not feature.ordered:
        return False
    a, b, c = (feature.values.index(v) if not feature.numeric else float(v) for v in (now, less, much))
    return a < b < c or a > b > c
