"""What groups are asked to change, and who is left without any recourse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from leastways.audit.figures import Figures
from leastways.audit.groups import Grouping
from leastways.plans import STATUSES, RecoursePlans


def change_table(plans: RecoursePlans, grouping: Grouping) -> pd.DataFrame:
    """Return a row per group and feature that any option changes.

    `people`: share of the people with options of whom at least one option asks it; `options`: share of the group's
    options that ask it. Features that may never change are left out.
    """
    features = [f.name for f in plans.schema.features if f.direction != "fixed"]
    G, F = len(grouping.parts), len(features)
    of_option = grouping.codes[plans.summary.index.get_indexer(pd.Index(plans.options["person"]))]
    has = plans.summary["n_options"].to_numpy() > 0
    n_people = np.bincount(grouping.codes[has], minlength=G)
    n_options = np.bincount(of_option, minlength=G)
    changes = plans.changes
    changes = changes[changes["feature"].isin(features)]
    who = plans.summary.index.get_indexer(pd.Index(changes["person"]))
    what = pd.Index(features).get_indexer(pd.Index(changes["feature"]))
    asked = np.bincount(grouping.codes[who] * F + what, minlength=G * F).reshape(G, F)
    once = np.unique(who * F + what)  # each person and feature
    people = np.bincount(grouping.codes[once // F] * F + once % F, minlength=G * F).reshape(G, F)
    keys = pd.MultiIndex.from_product(
        [[grouping.name], grouping.groups, features], names=["grouping", "group", "feature"]
    )
    with np.errstate(invalid="ignore"):
        shares = {"people": people / n_people[:, None], "options": asked / n_options[:, None]}
    return pd.DataFrame({name: share.ravel() for name, share in shares.items()}, index=keys)


def unserved_table(plans: RecoursePlans, figures: Figures, groupings: Sequence[Grouping]) -> pd.DataFrame:
    """Return the refused people without an option, with their groups, the status and the reason."""
    summary = plans.summary
    rows = figures.places[(summary["n_options"].to_numpy()[figures.places] == 0)]
    columns = {
        f"{g.name} (group)" if g.name in ("person", "status", "reason") else g.name: pd.Series(
            np.array(g.groups, dtype=object)[g.codes[rows]], dtype="str"
        )
        for g in groupings
        if len(g.columns) == 1
    }
    status = summary["status"].iloc[rows].tolist()
    reasons = [text or STATUSES[s] for text, s in zip(summary["reason"].iloc[rows].tolist(), status, strict=True)]
    table = pd.DataFrame(
        {**columns, "status": pd.Series(status, dtype="str"), "reason": pd.Series(reasons, dtype="str")}
    )
    return table.set_axis(summary.index[rows].rename("person"), axis=0)
