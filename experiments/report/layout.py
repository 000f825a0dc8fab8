"""What a page is made of, and how it is written as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path


@dataclass(frozen=True)
class Table:
    """Texts in rows; a line break within a cell sets what follows it smaller."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        """Return it as a Markdown table."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        body = "\n".join("| " + " | ".join(cell.replace("\n", "<br>") for cell in line) + " |" for line in lines)
        return f"**{self.title}**\n\n{body}\n" + (f"\n{self.note}\n" if self.note else "")

    def html(self) -> str:
        """Return it as an HTML table."""
        head = "".join(f"<th>{escape(c)}</th>" for c in self.columns)
        rows = "".join("<tr>" + "".join(f"<td>{_small(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        note = f"<p class=note>{escape(self.note)}</p>" if self.note else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<figure><figcaption>{escape(self.title)}</figcaption><div class=wide>{table}</div>{note}</figure>"


@dataclass(frozen=True)
class Figure:
    """A drawing, kept as files of one name: vector and PNG."""

    name: str
    title: str
    svg: str
    png: bytes

    def write(self, folder: Path) -> None:
        """Write both files."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.svg").write_text(self.svg, encoding="utf-8")
        (folder / f"{self.name}.png").write_bytes(self.png)

    def markdown(self) -> str:
        """Return the picture's place in a Markdown page."""
        return f"![{self.title}](figures/{self.name}.png)\n\n*{self.title}* ([vector](figures/{self.name}.svg))\n"

    def html(self) -> str:
        """Return it whole, for a page that stands alone."""
        drawing = self.svg[self.svg.index("<svg") :]
        return f"<figure>{drawing}<figcaption>{escape(self.title)}</figcaption></figure>"


@dataclass(frozen=True)
class Section:
    """One experiment: what was asked, and what came out."""

    id: str
    question: str
    where: str
    parts: Sequence[Table | Figure | str] = field(default_factory=tuple)

    def markdown(self) -> str:
        """Return the section as Markdown."""
        source = f"In the paper: {self.where}." if self.where else "Not in the paper."
        parts = [part if isinstance(part, str) else part.markdown() for part in self.parts]
        return "\n".join([f"## {self.id}: {self.question}\n", f"{source}\n", *(f"{part}\n" for part in parts)])

    def html(self) -> str:
        """Return the section as HTML."""
        source = f"In the paper: {self.where}." if self.where else "Not in the paper."
        parts = [f"<p>{escape(part)}</p>" if isinstance(part, str) else part.html() for part in self.parts]
        head = f"<h2>{escape(self.question)}</h2><p>{escape(source)}</p>"
        return f"<section id={escape(self.id)}>{head}{''.join(parts)}</section>"


def _small(text: str) -> str:
    first, *rest = text.split("\n")
    return escape(first) + "".join(f"<br><small>{escape(line)}</small>" for line in rest)
