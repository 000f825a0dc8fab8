"""Features and values as a page says them: the schema's words and units, or a language's own for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leastways._messages import plain
from leastways._validation import is_missing
from leastways.plans.wording import differs, value_text
from leastways.schema import Feature, Schema
from leastways.server.pages.texts import Catalogue, FeatureWords

_THIN = "\u00a0"  # a number and its unit stay on one line
_PERCENT = "%"


@dataclass(frozen=True)
class ChangeView:
    """One thing to change: what, from, to, and by how much where that can be said."""

    feature: str
    label: str
    before: str
    after: str
    difference: str


@dataclass(frozen=True)
class Words:
    """Says features, values and changes in one language."""

    schema: Schema
    texts: Catalogue

    def _own(self, feature: Feature) -> FeatureWords:
        return self.texts.features.get(feature.name, FeatureWords())

    def label(self, feature: Feature) -> str:
        """Name a feature."""
        return self._own(feature).label or feature.wording

    def unit(self, feature: Feature) -> str:
        """Name its unit, if it has one."""
        return self._own(feature).unit or feature.unit

    def value(self, feature: Feature, value: Any, exact: bool = False) -> str:
        """Write a value with its unit."""
        value = plain(value)
        if is_missing(value):
            return self.texts("value.missing")
        if isinstance(value, bool):
            return self.texts("value.true" if value else "value.false")
        if not feature.numeric:
            own = self._own(feature).values.get(str(value))
            return own if own is not None else value_text(feature, value)
        number, unit = self._number(feature, value, exact), self.unit(feature)
        if unit == _PERCENT:
            return self.texts("number.percent", n=number)
        return number + (f"{_THIN}{unit}" if unit else "")

    def _number(self, feature: Feature, value: Any, exact: bool = False) -> str:
        text = value_text(feature, value, exact).removesuffix(f" {feature.unit}" if feature.unit else "")
        return self.texts.number(text)

    def change(self, feature: Feature, before: Any, after: Any) -> ChangeView:
        """Say one change."""
        old, new = self.value(feature, before, exact=True), self.value(feature, after, exact=True)
        return ChangeView(feature.name, self.label(feature), old, new, self._difference(feature, before, after))

    def _difference(self, feature: Feature, before: Any, after: Any) -> str:
        if not feature.numeric:
            return ""
        step = round(float(after) - float(before), 10)
        amount = self.value(feature, abs(step))
        if self.unit(feature) == _PERCENT:  # from 75 % to 55 % is not 20 % less
            one = "one" if abs(step) == 1 else "other"
            amount = self.texts(f"change.points.{one}", amount=self._number(feature, abs(step)))
        return self.texts("change.more" if step > 0 else "change.less", amount=amount)

    def changes(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ChangeView]:
        """Say everything that differs between two states, in the schema's order."""
        return [
            self.change(f, before[f.name], after[f.name])
            for f in self.schema.features
            if differs(f, before[f.name], after[f.name])
        ]
