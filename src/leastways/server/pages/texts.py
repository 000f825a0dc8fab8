"""Texts of the pages, one file a language; and features, values and changes in a language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Any

from leastways._messages import listed, nearest
from leastways._values import is_missing, plain
from leastways.errors import SettingError
from leastways.io import yaml_of
from leastways.plans import differs, value_text
from leastways.schema import Feature, Schema

FOLDER = Path(__file__).parent / "texts"
FIRST = "en"  # for visitors who want none of the available languages
_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
_FEATURE_KEYS = ("label", "unit", "values")


@dataclass(frozen=True)
class FeatureWords:
    """Words of a language for a feature, its unit and its categories; left out, the schema's words are used."""

    label: str = ""
    unit: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Catalogue:
    """The texts of one language."""

    language: str
    texts: Mapping[str, str]
    features: Mapping[str, FeatureWords] = field(default_factory=dict)

    def __call__(self, key: str, **values: object) -> str:
        """Return a text with its placeholders filled in."""
        return self.texts[key].format(**values)

    def count(self, key: str, n: int, **values: object) -> str:
        """Return the text for one, or for any other number."""
        return self(f"{key}.{'one' if n == 1 else 'other'}", n=n, **values)

    def number(self, text: str) -> str:
        """Write a number, given in Python's format with commas and a point, in the format of this language."""
        swap = {",": self("number.thousands"), ".": self("number.decimal")}
        return "".join(swap.get(letter, letter) for letter in text)

    def read(self, text: str) -> float:
        """Read a number in the format of this language, with or without groups of thousands; else raise ValueError.

        "10.000" is ten in English and ten thousand in German.
        """
        thousands, decimal = self("number.thousands"), self("number.decimal")
        text = "".join(text.split()).replace("\u2212", "-")  # spaces may separate thousands in any language
        grouped = rf"[+-]?\d{{1,3}}({re.escape(thousands)}\d{{3}})+({re.escape(decimal)}\d*)?"
        if thousands and re.fullmatch(grouped, text):
            text = text.replace(thousands, "")
        return float(text.replace(decimal, "."))

    def percent(self, share: float, digits: int = 0) -> str:
        """Write a share as a percentage."""
        return self("number.percent", n=self.number(f"{100 * share:.{digits}f}"))

    def day(self, day: date) -> str:
        """Write a day."""
        return self("number.date", day=f"{day:%d}", month=f"{day:%m}", year=f"{day:%Y}")

    def listing(self, items: list[str]) -> str:
        """Join words: a, b and c."""
        if len(items) < 2:
            return "".join(items)
        return self("number.and", first=", ".join(items[:-1]), last=items[-1])

    @cached_property
    def name(self) -> str:
        """The name of the language in itself."""
        return self("language.name")


class Languages:
    """The catalogues of the package, with the texts that an operator's folder adds or replaces."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.by_code = {path.stem: _read(path) for path in sorted(FOLDER.glob("*.yaml"))}
        for path in sorted(Path(folder).glob("*.yaml")) if folder is not None else ():
            self.by_code[path.stem] = self._with(_read(path), path)

    def __iter__(self) -> Iterator[Catalogue]:
        return iter(self.by_code.values())

    def _with(self, added: Catalogue, path: Path) -> Catalogue:
        """Return a language of the operator's folder: checked, and completed from the package's texts if it has any."""
        known = self.by_code[FIRST].texts
        base = self.by_code.get(added.language)
        for key, text in added.texts.items():
            if key not in known:
                raise SettingError(f"texts {str(path)!r}: there is no text {key!r}." + nearest(key, known))
            if placeholders(text) - placeholders(known[key]):
                allowed = listed(sorted(placeholders(known[key]))) or "none"
                raise SettingError(f"texts {str(path)!r}: {key!r} has placeholders it cannot have; allowed: {allowed}.")
        missing = [] if base is not None else [key for key in known if key not in added.texts]
        if missing:
            raise SettingError(f"texts {str(path)!r}: these texts are missing: {listed(missing, 12)}.")
        texts = {**(base.texts if base else {}), **added.texts}
        return Catalogue(added.language, texts, {**(base.features if base else {}), **added.features})

    def choose(self, wanted: str | None, accept_language: str = "") -> Catalogue:
        """Return the language that a visitor chose, else the best one of their browser, else English."""
        if wanted in self.by_code:
            return self.by_code[str(wanted)]
        for code in _accepted(accept_language):
            for candidate in (code, code.partition("-")[0]):
                if candidate in self.by_code:
                    return self.by_code[candidate]
        return self.by_code[FIRST]


def placeholders(text: str) -> set[str]:
    """Return the names of a text's placeholders."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def _accepted(header: str) -> list[str]:
    """Return the languages of an Accept-Language header by preference; malformed parts are skipped."""
    asked: list[tuple[float, str]] = []
    for part in header[:500].split(","):
        code, _, weight = part.strip().partition(";q=")
        try:
            asked.append((float(weight) if weight else 1.0, code.strip().lower()))
        except ValueError:
            continue
    return [code for weight, code in sorted(asked, key=lambda pair: -pair[0]) if weight > 0]


def _read(path: Path) -> Catalogue:
    """Read one file: nested keys are joined by dots; `features` is kept apart."""
    where = f"texts {str(path)!r}"
    if not _CODE.fullmatch(path.stem):
        raise SettingError(f"{where}: a file is named by its language, such as de.yaml or pt-BR.yaml.")
    try:
        data = yaml_of(path.read_text(encoding="utf-8")) or {}
    except ValueError as error:
        raise SettingError(f"{where} is not valid YAML: {error}") from error
    if not isinstance(data, dict):
        raise SettingError(f"{where}: expected keys with texts, not {type(data).__name__}.")
    features = _features(data.pop("features", None) or {}, where)
    return Catalogue(path.stem, dict(_flat(data, where)), features)


def _flat(data: Mapping[Any, Any], where: str, prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, where, f"{name}.")
        elif isinstance(value, str):
            yield name, value.strip()
        else:
            raise SettingError(f"{where}: {name!r} must be a text, not {value!r}; put it in quotes.")


def _features(data: Any, where: str) -> dict[str, FeatureWords]:
    if not isinstance(data, Mapping):
        raise SettingError(f"{where}: features must map a feature's name to its label, unit and values, not {data!r}.")
    out = {}
    for name, words in data.items():
        if not isinstance(words, Mapping):
            raise SettingError(f"{where}: feature {name!r} must have a label, a unit or values, not {words!r}.")
        unknown = [key for key in words if key not in _FEATURE_KEYS]
        if unknown:
            raise SettingError(
                f"{where}: feature {name!r}: unknown key {unknown[0]!r}; allowed: {', '.join(_FEATURE_KEYS)}."
            )
        values = {str(value): str(text) for value, text in (words.get("values") or {}).items()}
        out[str(name)] = FeatureWords(str(words.get("label", "")), str(words.get("unit", "")), values)
    return out


_THIN = "\u00a0"  # a number and its unit stay on one line
_PERCENT = "%"


@dataclass(frozen=True)
class ChangeView:
    """A change in words: feature, from, to, and the difference of numbers."""

    feature: str
    label: str
    before: str
    after: str
    difference: str


@dataclass(frozen=True)
class Words:
    """Words features, values and changes in one language."""

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
        """Return one change in words."""
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
        """Return every difference between two states in words, in the schema's order."""
        return [
            self.change(f, before[f.name], after[f.name])
            for f in self.schema.features
            if differs(f, before[f.name], after[f.name])
        ]
