"""Methods by the names that configs use."""

from __future__ import annotations

from typing import Any

import leastways as lw
from experiments.whole_sets import WholeSets

# As in the paper: any value of any feature is proposed, and gains are counted as its table does.
_PAPER: dict[str, Any] = {
    "cols-paper": lw.COLS(gain="paper", proposals="paper"),
    "pcols-paper": lw.PCOLS(gain="paper", proposals="paper"),
    "random-paper": lw.RandomSearch(proposals="paper"),
    "ls-emc-paper": lw.LocalSearch(objective="emc", proposals="paper"),
    "ls-sparsity-paper": lw.LocalSearch(objective="sparsity", proposals="paper"),
    "ls-proximity-paper": lw.LocalSearch(objective="proximity", proposals="paper"),
    "ls-diversity-paper": lw.LocalSearch(objective="diversity", proposals="paper"),
}
# The same with exact gains, and proposals that respect what a person may change.
_OURS: dict[str, Any] = {
    "ls-emc": lw.LocalSearch(objective="emc"),
    "ls-sparsity": lw.LocalSearch(objective="sparsity"),
    "ls-proximity": lw.LocalSearch(objective="proximity"),
    "ls-diversity": lw.LocalSearch(objective="diversity"),
}
# Guided search with one part off. The stored cells know the rounds that shrink changes as "easing".
_PARTS: dict[str, Any] = {
    f"guided-no-{part.replace('_', '-')}": lw.Guided(without=(part,))
    for part in ("first_moves", "aim", "surrogate", "steps", "gains", "swaps")
} | {"guided-no-easing": lw.Guided(without=("shrink",))}
# The paper's searches with the paper's sets, to show what its measures of sets tell of.
_WHOLE: dict[str, Any] = {
    "random-whole": WholeSets("random"),
    "ls-emc-whole": WholeSets("emc"),
    "ls-sparsity-whole": WholeSets("sparsity"),
    "ls-proximity-whole": WholeSets("proximity"),
    "ls-diversity-whole": WholeSets("diversity"),
    "cols-whole": WholeSets("cols"),
    "cols-whole-released": WholeSets("cols", released=True),
    "pcols-whole": WholeSets("cols", runs=5),
    "pcols-whole-released": WholeSets("cols", runs=5, released=True),
    "cols-whole-released-two": WholeSets("cols", released=True, exactly_two=True),
    "ls-emc-whole-two": WholeSets("emc", exactly_two=True),
}
# DICE as dice-ml begins it: beside the person.
_DICE: dict[str, Any] = {"dice-near": lw.Dice(begin="near")}
_METHODS = _PAPER | _OURS | _PARTS | _WHOLE | _DICE

NEEDS_GRADIENTS = ("dice", "dice-near")
ORACLE = "oracle"

# The row of the paper's tables that a method belongs to.
PAPER_ROW = {
    "dice": "DICE",
    "face-eps": "Face-Eps",
    "face-knn": "Face-Knn",
    "ar": "Act. Recourse",
    "random-paper": "Random",
    "cols-paper": "COLS",
    "pcols-paper": "P-COLS",
}

# The same method with the paper's sets.
WHOLE_OF = {f"{name}-paper": f"{name}-whole" for name in ("random", "cols", "pcols")} | {
    f"ls-{objective}-paper": f"ls-{objective}-whole" for objective in ("emc", "sparsity", "proximity", "diversity")
}
# What `run --own` leaves out: published methods, comparisons with them, and the paper's sets.
NOT_OWN = ("dice", "dice-near", "dice-genetic", "face-eps", "face-knn", "ar", "cols-paper:ar", "guided:ar", *_WHOLE)


def method_of(name: str) -> Any:
    """Return what `Recourse` takes as its method."""
    return _METHODS.get(name, name)
