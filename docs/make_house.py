"""Draw the rooms of the package and their imports into docs/images/house.svg: ``python docs/make_house.py``.

Rooms stand in the order in which they may import each other, from the first (top) to the last. An arc on the right goes
from a room down to each room that imports it; its weight grows with the number of modules that do. Only the standard
library is needed.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "leastways"
PICTURE = ROOT / "docs" / "images" / "house.svg"
ROW, TOP, LEFT, WIDTH = 30, 78, 30, 300
INK, PALE, BLUE = "#222222", "#9a9a9a", "#0b5394"
SHARED = "shared"  # private modules of the package itself, and errors: used by every room
SUBJECTS = {
    SHARED: "errors, messages, validation, randomness",
    "io": "files, tables, strict JSON and YAML",
    "schema": "features, rules, raw values and codes",
    "models": "libraries, thresholds, counted queries",
    "feasibility": "states a person may be offered",
    "costs": "preferences, beliefs, cost samples",
    "search": "methods, the budget loop",
    "baselines": "published methods",
    "plans": "options as frames, JSON and text",
    "recourse": "the facade",
    "evaluation": "measures, simulated people, oracle",
    "audit": "comparison of groups",
    "datasets": "embedded data and loaders",
    "report": "tables, pictures, HTML",
    "study": "preference studies",
    "batch": "many people, many processes",
    "server": "HTTP service, database, pages",
    "testing": "contract checks for users",
    "cli": "commands",
}


def order_of_rooms() -> list[str]:
    """Return the folders of the package in the order that tests/test_rooms.py demands."""
    tree = ast.parse((ROOT / "tests" / "test_rooms.py").read_text(encoding="utf-8"))
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "ROOMS"
    ]
    return [SHARED, *(room for room in ast.literal_eval(values[0]) if (SOURCE / room).is_dir())]


def room_of(name: str, rooms: list[str]) -> str | None:
    """Return the room of a dotted module name, or None for other packages and the package itself."""
    parts = name.split(".")
    if parts[0] != "leastways" or len(parts) < 2:
        return None
    if parts[1] in rooms:
        return parts[1]
    return SHARED if (SOURCE / f"{parts[1]}.py").exists() else None


def imported_names(path: Path) -> list[str]:
    """Return the dotted names that a file imports at its top level; imports inside functions are left out."""
    names = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "leastways":
            names += [f"leastways.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return names


def read_house(rooms: list[str]) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Return the number of modules in each room, and the number that import one room in another."""
    modules: Counter[str] = Counter()
    arrows: Counter[tuple[str, str]] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE).parts
        own = inside[0] if len(inside) > 1 else SHARED
        if inside[0] in ("__init__.py", "__main__.py"):
            continue
        modules[own] += 1
        used = {room_of(name, rooms) for name in imported_names(path)} - {own, None}
        arrows.update((own, str(room)) for room in used)
    return modules, arrows


def draw(rooms: list[str], modules: Counter[str], arrows: Counter[tuple[str, str]]) -> str:
    """Return the picture as SVG."""
    height = TOP + ROW * len(rooms) + 10
    edge = LEFT + WIDTH
    middle = {room: TOP + ROW * k + 12 for k, room in enumerate(rooms)}
    total = sum(modules.values())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 {height}" width="660" height="{height}" '
        f'font-family="DejaVu Sans, Arial, sans-serif" fill="{INK}">',
        "<title>The rooms of leastways and their imports</title>",
        f'<rect width="660" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="26" font-size="15" font-weight="bold">The rooms of leastways: {total} modules</text>',
        f'<text x="{LEFT}" y="46" font-size="11.5" fill="#555555">A line leaves a room on the right and ends with an '
        "arrow at a room below that imports it;</text>",
        f'<text x="{LEFT}" y="62" font-size="11.5" fill="#555555">the more modules import it, the darker the line. '
        f"Imports of “{SHARED}” (all rooms) are left out.</text>",
        f'<defs><marker id="tip" markerWidth="7" markerHeight="7" refX="5.5" refY="3" orient="auto" '
        f'markerUnits="userSpaceOnUse">'
        f'<path d="M0,0 L6,3 L0,6 z" fill="{BLUE}"/></marker></defs>',
    ]
    for (user, used), count in sorted(arrows.items(), key=lambda item: item[1]):
        if used == SHARED:
            continue
        begin, end = middle[used] + 4, middle[user] - 4
        far = edge + 18 + 23 * (rooms.index(user) - rooms.index(used))
        parts.append(
            f'<path d="M{edge},{begin} C{far},{begin} {far},{end} {edge + 3},{end}" fill="none" stroke="{BLUE}" '
            f'stroke-width="{0.7 + 0.12 * min(count, 13):.2f}" stroke-opacity="{0.25 + 0.05 * min(count, 13):.2f}" '
            f'marker-end="url(#tip)"><title>{user} imports {used} in {count} modules</title></path>'
        )
    for room in rooms:
        y = middle[room]
        parts += [
            f'<rect x="{LEFT}" y="{y - 12}" width="{WIDTH}" height="24" rx="3" fill="#f3f6fa" stroke="{PALE}"/>',
            f'<text x="{LEFT + 8}" y="{y + 4}" font-size="11.5" font-weight="bold">{room}</text>',
            f'<text x="{LEFT + 84}" y="{y + 4}" font-size="9" fill="#444444">{SUBJECTS[room]}</text>',
            f'<text x="{edge - 8}" y="{y + 4}" font-size="11" text-anchor="end">{modules[room]}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Write the picture."""
    rooms = order_of_rooms()
    modules, arrows = read_house(rooms)
    PICTURE.write_text(draw(rooms, modules, arrows), encoding="utf-8")


if __name__ == "__main__":
    main()
