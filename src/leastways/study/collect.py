"""Read answer files, check them against the study, and unblind the usable answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from leastways._messages import listed, nearest
from leastways.errors import DataError, SettingError
from leastways.io import json_of, write_text
from leastways.study.folder import ANSWERS, NO_PREFERENCE, Study
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
    """A problem with the answers: where, what, and its consequence."""

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
    """Return the usable answers of a file, and the faults of the others; `name` names the file in messages."""
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


ANSWERS_TABLE, PROBLEMS_TABLE = "answers.csv", "problems.csv"
COLUMNS = ("annotator", "item", "person", "question", "about", "answer", "shown_as", "file")
PROBLEM_COLUMNS = ("file", "annotator", "item", "problem", "detail")
HARMLESS = ("repeated",)  # the same answer twice: nothing is lost
_WORDS = {"prefer": "which set", "reasonable_A": "is A reasonable", "reasonable_B": "is B reasonable"}
_Place = tuple[str, str, str]  # annotator, item, question


@dataclass(frozen=True)
class Collected:
    """The answers of a study, unblinded, and the faults of the files received.

    Attributes
    ----------
    study
        The study.
    answers : DataFrame
        A row per usable answer: annotator, item, person, question ("preferred" or "reasonable"), about (the method, for
        "reasonable"), answer (a method or "no preference"; "yes" or "no"), shown_as (where the method stood for this
        annotator; of "preferred": the side chosen), file.
    problems : DataFrame
        A row per problem: file, annotator, item, problem, detail.
    """

    study: Study
    answers: pd.DataFrame
    problems: pd.DataFrame

    @property
    def complete(self) -> bool:
        """Whether every question has a usable answer, and no file or entry was unusable."""
        return bool(self.problems["problem"].isin(HARMLESS).all())

    @property
    def n_missing(self) -> int:
        """Questions without a usable answer."""
        return len(QUESTIONS) * self.study.n_judgements - len(self.answers)

    def write(self) -> tuple[Path, Path]:
        """Write answers.csv and problems.csv into the study's folder, and return their paths."""
        paths = (self.study.folder / ANSWERS_TABLE, self.study.folder / PROBLEMS_TABLE)
        for path, table in zip(paths, (self.answers, self.problems), strict=True):
            write_text(path, table.to_csv(index=False, lineterminator="\n"))
        return paths


def collect_answers(study: Study | str | Path, files: Iterable[str | Path] | str | Path | None = None) -> Collected:
    """Read answer files, check them against the study, and unblind the usable answers.

    Nothing is dropped silently. Files that cannot be read, of another study, from an unknown annotator or of a form
    that was changed, unknown items, impossible values, repeated, contradicting and missing answers are listed in
    `problems`. Of answers that agree one is kept; of answers that contradict each other none is, because it is not
    known which one was meant.

    Parameters
    ----------
    study
        What `create_study` returned, or its folder.
    files
        Answer files in any order; a folder stands for the .json files in it. Left out: the folder `answers` in the
        study's folder.
    """
    if not isinstance(study, Study):
        study = Study.read(study)
    answers: list[Answer] = []
    problems: list[Problem] = []
    paths = _paths(study, files)
    names = Counter(path.name for path in dict.fromkeys(paths))
    for path in paths:
        good, bad = read_answers(path, study, path.name if names[path.name] == 1 else str(path))
        answers += good
        problems += bad
    kept, clashes = _settle(answers)
    problems += clashes
    problems += _missing(study, kept, {(p.annotator, p.item) for p in clashes if p.kind == "contradiction"})
    return Collected(study, _answers_table(study, kept), _problems_table(problems))


def _paths(study: Study, files: Iterable[str | Path] | str | Path | None) -> list[Path]:
    if files is None:
        given = [study.folder / ANSWERS]
        if not given[0].is_dir():
            raise SettingError(f"no files are given, and there is no folder {str(given[0])!r} to look for them.")
    else:
        given = [Path(f) for f in ([files] if isinstance(files, str | Path) else files)]
    return [path for place in given for path in (sorted(place.glob("*.json")) if place.is_dir() else [place])]


def _settle(answers: Sequence[Answer]) -> tuple[dict[_Place, Answer], list[Problem]]:
    """Keep one answer per annotator, item and question; name those given more than once."""
    by_place: dict[_Place, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_place[answer.annotator, answer.item, answer.question].append(answer)
    kept: dict[_Place, Answer] = {}
    again: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    problems = []
    for (annotator, item, question), given in by_place.items():
        values = list(dict.fromkeys(answer.value for answer in given))
        if len(values) > 1:
            detail = f"{_WORDS[question]}: answered {' and '.join(values)}; none of them is used."
            problems.append(Problem("contradiction", detail, _files(given), annotator, item))
            continue
        kept[annotator, item, question] = given[0]
        if len(given) > 1:
            again[annotator, item] += given
    for (annotator, item), given in again.items():
        questions = ", ".join(_WORDS[q] for q in QUESTIONS if any(a.question == q for a in given))
        detail = f"the same answer more than once ({questions}); one is used."
        problems.append(Problem("repeated", detail, _files(given), annotator, item))
    return kept, problems


def _files(answers: Sequence[Answer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(answer.file for answer in answers))


def _missing(study: Study, kept: dict[_Place, Answer], clashing: set[tuple[str, str]]) -> list[Problem]:
    """Name every question without a usable answer; an annotator who sent none at all is one line."""
    silent = set(study.annotators) - {annotator for annotator, _, _ in kept}
    problems = []
    for annotator, items in study.tasks.items():
        if annotator in silent:
            detail = f"no usable answer to any of {len(items)} items."
            problems.append(Problem("missing", detail, (), annotator))
            continue
        for item in items:
            left = [_WORDS[q] for q in QUESTIONS if (annotator, item, q) not in kept]
            if left:
                why = " (see the contradiction)" if (annotator, item) in clashing else ""
                problems.append(Problem("missing", f"no usable answer: {', '.join(left)}{why}.", (), annotator, item))
    return problems


def _answers_table(study: Study, kept: dict[_Place, Answer]) -> pd.DataFrame:
    rows = []
    for annotator, items in study.tasks.items():
        for item in items:
            for question in QUESTIONS:
                answer = kept.get((annotator, item, question))
                if answer is not None:
                    rows.append((annotator, item, study.people[item], *_unblinded(study, answer), answer.file))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _unblinded(study: Study, answer: Answer) -> tuple[str, str, str, str]:
    """Return question, method asked about, answer, and the side on which the method was shown."""
    if answer.question == "prefer":
        if answer.value == "none":
            return "preferred", "", NO_PREFERENCE, ""
        return "preferred", "", study.method_shown(answer.annotator, answer.item, answer.value), answer.value
    side = answer.question[-1]
    return "reasonable", study.method_shown(answer.annotator, answer.item, side), answer.value, side


def _problems_table(problems: Sequence[Problem]) -> pd.DataFrame:
    rows = [("; ".join(p.files), p.annotator, p.item, p.kind, p.detail) for p in problems]
    return pd.DataFrame(rows, columns=list(PROBLEM_COLUMNS))
