"""One file of answers: read, compared with the study, and every fault in it named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from leastways._messages import listed, nearest
from leastways.errors import DataError
from leastways.io.strict_json import json_of
from leastways.study.folder import Study
from leastways.study.form import ANSWERS_FORMAT, ANSWERS_VERSION

Kind = Literal[
    "unreadable file",
    "other study",
    "unknown annotator",
    "other form",
    "unknown item",
    "bad answer",
    "repeated",
    "contradiction",
    "missing",
]
QUESTIONS: dict[str, tuple[str, ...]] = {
    "prefer": ("A", "B", "none"),
    "reasonable_A": ("yes", "no"),
    "reasonable_B": ("yes", "no"),
}


@dataclass(frozen=True)
class Problem:
    """Something wrong with the answers: where, what, and what became of it."""

    kind: Kind
    detail: str
    files: tuple[str, ...] = ()
    annotator: str = ""
    item: str = ""


@dataclass(frozen=True)
class Answer:
    """One answer as it was given, still blind."""

    file: str
    annotator: str
    item: str
    question: str
    value: str


def read_answers(path: Path, study: Study, name: str) -> tuple[list[Answer], list[Problem]]:
    """Return the answers of a file that can be used, and what is wrong with the others; `name` stands for the file."""
    try:
        data = _document(path)
    except DataError as error:
        return [], [Problem("unreadable file", f"{error} Nothing of it is used.", (name,))]
    who = str(data.get("annotator"))
    problem = _wrong_sender(data, who, study)
    if problem is not None:
        return [], [Problem(problem[0], f"{problem[1]} Nothing of the file is used.", (name,), who)]
    answers: list[Answer] = []
    problems: list[Problem] = []
    for entry in data["answers"]:
        for found in _entry(entry, name, who, study):
            if isinstance(found, Answer):
                answers.append(found)
            else:
                problems.append(found)
    return answers, problems


def _document(path: Path) -> Mapping[str, Any]:
    try:
        data = json_of(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # text that is not UTF-8, or not JSON
        raise DataError(f"is not valid JSON: {error}.") from error
    if not isinstance(data, dict) or data.get("format") != ANSWERS_FORMAT:
        raise DataError("does not hold the answers of a study.")
    if data.get("version") != ANSWERS_VERSION:
        raise DataError(f"has version {data.get('version')!r}; this release reads {ANSWERS_VERSION}.")
    if not isinstance(data.get("answers"), list):
        raise DataError("is damaged: it has no list of answers.")
    return data


def _wrong_sender(data: Mapping[str, Any], who: str, study: Study) -> tuple[Kind, str] | None:
    if data.get("study") != study.id:
        return "other study", f"belongs to study {data.get('study')!r}, not to {study.id!r}."
    if who not in study.annotators:
        return "unknown annotator", (
            f"{who!r} is not an annotator of this study; known: {listed(study.annotators)}."
            + nearest(who, study.annotators)
        )
    if data.get("form") != study.checksums[who]:
        return "other form", f"was filled in on a form that differs from the one made for {who!r}."
    return None


def _entry(entry: object, file: str, who: str, study: Study) -> Iterator[Answer | Problem]:
    """Check the answers about one person; a question left open is missing, not wrong."""
    if not isinstance(entry, dict) or not isinstance(entry.get("item"), str):
        yield Problem("bad answer", f"an entry is not an answer: {_short(entry)}. It is not used.", (file,), who)
        return
    item = entry["item"]
    if item not in study.shown_first[who]:
        why = "was not given to this annotator" if item in study.people else "is not in this study"
        yield Problem("unknown item", f"the item {why}; the answer is not used.", (file,), who, item)
        return
    for question, allowed in QUESTIONS.items():
        value = entry.get(question)
        if isinstance(value, str) and value in allowed:
            yield Answer(file, who, item, question, value)
        elif value is not None:
            detail = f"{question} is {_short(value)}, not one of {', '.join(allowed)}; it is not used."
            yield Problem("bad answer", detail, (file,), who, item)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
