"""Files that are written whole or not at all, to a place that was checked before the work began."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leastways._extras import require
from leastways.errors import SettingError
from leastways.io.files import draft_of

if TYPE_CHECKING:
    import pandas as pd

    from leastways.plans import RecoursePlans

PLAN_FILES = (".json", ".csv", ".parquet")


@dataclass(frozen=True)
class Target:
    """A place to write to that can be used."""

    path: Path

    @classmethod
    def check(cls, path: Path, suffixes: Sequence[str], force: bool, inputs: Iterable[Path] = ()) -> Target:
        """Raise now, before any work, where writing would fail later or destroy something."""
        if path.suffix.lower() not in suffixes:
            raise SettingError(f"cannot tell how to write {str(path)!r}: it must end in {', '.join(suffixes)}.")
        if path.suffix.lower() == ".parquet":
            require("pyarrow", "parquet", "Writing a Parquet file")
        folder = path.parent
        if not folder.is_dir():
            raise SettingError(f"there is no folder {str(folder)!r} to write {path.name!r} into.")
        if path.is_dir():
            raise SettingError(f"{str(path)!r} is a folder.")
        if any(other.exists() and path.exists() and path.samefile(other) for other in inputs):
            raise SettingError(f"{str(path)!r} is one of the files read; choose another name for the result.")
        if path.exists() and not force:
            raise SettingError(f"{str(path)!r} is there already; --force replaces it.")
        if not os.access(folder, os.W_OK):
            raise SettingError(f"the folder {str(folder)!r} cannot be written to.")
        return cls(path)

    def write(self, content: Callable[[Path], object]) -> None:
        """Let `content` write a file under a temporary name beside the target, then put it in place at once."""
        with draft_of(self.path) as draft:
            content(draft)

    def write_plans(self, plans: RecoursePlans) -> None:
        """Write plans: everything, as JSON; or the flat table of options, as CSV or Parquet."""
        suffix = self.path.suffix.lower()
        if suffix == ".json":
            self.write(plans.to_json)
        elif suffix == ".csv":
            self.write(lambda path: plans.to_table().to_csv(path, index=False, encoding="utf-8"))
        else:
            self.write(lambda path: _one_type_each(plans.to_table()).to_parquet(path, index=False))


def _one_type_each(table: pd.DataFrame) -> pd.DataFrame:
    """Write columns that mix types as text: Parquet knows one type per column."""
    from pandas.api.types import infer_dtype

    mixed = [n for n in table.columns if infer_dtype(table[n], skipna=True) in ("mixed", "mixed-integer")]
    return table.assign(**{n: table[n].map(str, na_action="ignore") for n in mixed})
