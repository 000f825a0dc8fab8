"""Write the reference pages from the code itself: ``python docs/make_reference.py``.

Signatures, docstrings and the options of the command line are read off the package, so the pages cannot drift; a test
fails where a committed page differs from what this script makes.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import typer
from typer.models import ArgumentInfo

import leastways as lw
from leastways.cli import app
from leastways.cli.console import EXIT_CODES

FOLDER = Path(__file__).parent / "reference"
WIDTH = 100
NOTE = "<!-- Made by docs/make_reference.py. Do not edit: change the docstring, then run the script. -->"
GROUPS: dict[str, tuple[str, ...]] = {
    "Recourse and plans": ("Recourse", "RecoursePlans", "RecoursePlan", "RecourseOption", "NearestMiss", "Certificate"),
    "Schema and rules": ("Schema", "Feature", "IfThen", "Forbidden", "Linked", "AtMost"),
    "Costs and preferences": ("Preferences", "Belief", "CostDistribution"),
    "Models": ("AllOf", "TorchModel", "OnnxModel", "load_model"),
    "Search methods": ("COLS", "PCOLS", "Guided", "LocalSearch", "RandomSearch", "Searcher", "register_searcher"),
    "Published methods to compare with": ("ActionableRecourse", "Dice", "Face"),
    "Evaluation": ("simulate_people", "SimulatedPeople", "evaluate", "oracle", "OracleResult", "evaluation"),
    "Fairness audits": ("audit",),
    "Reports": ("report",),
    "Preference studies": ("study",),
    "Many people": ("batch",),
    "Data sets": ("datasets",),
    "Checks for your own parts": ("testing",),
    "Errors": (
        "LeastwaysError",
        "SchemaError",
        "DataError",
        "PreferenceError",
        "SettingError",
        "ModelError",
        "SearcherError",
        "MissingExtraError",
    ),
}
# For parts of a user's own: public names that are imported from the room that they extend.
EXTENSIONS: dict[str, tuple[str, ...]] = {
    "leastways.schema": ("Rule", "register_rule"),
    "leastways.feasibility": ("compiles", "Constraints", "Grids", "Link"),
    "leastways.models": ("Library", "register_library"),
}
# Public to the other rooms of the package, of no use to a reader.
HIDDEN = {
    "audit": (
        *("CROSS", "HIGHER", "LOWER", "MEASURES", "NOT_STATED", "REFERENCE", "SAME", "TOO_FEW"),
        *("basis", "findings", "group_text", "group_texts", "groupings_of", "lead", "measure_name", "p_text"),
        *("points_text", "range_text", "ratio_text", "separation", "value_groups", "value_text"),
    ),
    "batch": ("groups_done", "people_done", "read_manifest"),
    "report": ("INK", "ONE", "STYLE", "TWO", "SimulatedTotals", "audit_body", "audit_style", "folded", "render"),
    "study": (
        *("MAX_PROBLEMS", "Profiles", "comparable_people", "problems_table", "remarks", "result_tables"),
        *("save_plot", "verdict"),
    ),
    "Schema": ("offsets", "draws", "position", "encode_checked", "encode_options"),
    "Feature": (
        "whole",
        "n_slots",
        "column_dtype",
        "number_dtype",
        "short_float",
        "array",
        "as_held",
        "held",
        "to_column",
        "index",
        "open",
        "gapless",
        "offered",
        "column_of",
        "with_gaps",
        "range",
        "updated",
    ),
    "RecoursePlans": ("with_certificates",),
    "Certificate": ("of",),
    "AllOf": ("bind",),
    "TorchModel": ("bind", "scores"),
    "OnnxModel": ("bind", "session"),
    "Preferences": ("check_person", "editable_features"),
    "SimulatedPeople": ("index", "positions", "check_states"),
    "IfThen": ("to_dict",),
    "Forbidden": ("to_dict",),
    "Linked": ("to_dict",),
    "AtMost": ("to_dict",),
    "CostDistribution": ("of",),
    "Totals": ("to_dict", "rows"),
    "Share": ("of_counts",),
    "Difference": ("of_pairs",),
}


def api_page() -> str:
    """Return the page with every public name."""
    named = {name for names in GROUPS.values() for name in names}
    missing = set(lw.__all__) - named - {"__version__"}
    if missing or named - set(lw.__all__):
        raise SystemExit(f"put these names into GROUPS, or take them out: {missing ^ (named - set(lw.__all__))}")
    lines = [
        NOTE,
        "",
        "# Reference: the Python API",
        "",
        "Every public name, as `import leastways as lw` gives it. `lw.__version__` is the version.",
        "",
    ]
    for title, names in GROUPS.items():
        lines += [f"## {title}", ""]
        for name in names:
            value = getattr(lw, name)
            lines += _module(value, f"lw.{name}") if isinstance(value, ModuleType) else _entry(value, f"lw.{name}")
    lines += ["## Extensions", "", "These names are imported from their modules.", ""]
    for module, names in EXTENSIONS.items():
        for name in names:
            lines += _entry(getattr(import_module(module), name), f"{module}.{name}")
    return "\n".join(lines).rstrip() + "\n"


def _module(module: ModuleType, name: str) -> list[str]:
    lines = [f"### {name}", "", *_prose(inspect.getdoc(module)), ""]
    for member in module.__all__:
        if member not in lw.__all__ and member not in HIDDEN.get(name.removeprefix("lw."), ()):
            value = getattr(module, member)
            lines += _entry(value, f"{name}.{member}", level="####") if callable(value) else _constant(name, member)
    return lines


def _constant(home: str, name: str) -> list[str]:
    return [f"#### {home}.{name}", "", "The checks that the suite runs, one function each.", ""]


def _entry(value: Any, name: str, level: str = "###") -> list[str]:
    """Return heading, signature, what the docstring says, and the public methods."""
    lines = [f"{level} {name}", ""]
    is_error = isinstance(value, type) and issubclass(value, Exception)
    is_protocol = bool(getattr(value, "_is_protocol", False))
    if not is_error and not is_protocol:
        lines += ["```py", _signature(value, name), "```", ""]
    if is_error:
        kinds = [base.__name__ for base in value.__bases__]
        lines += [f"A kind of {' and '.join(f'`{kind}`' for kind in kinds)}.", ""]
    lines += [*_prose(inspect.getdoc(value)), ""]
    if isinstance(value, type) and not is_error:
        members = list(_members(value))
        if members:
            lines += ["Methods and properties:", "", *members, ""]
    return lines


def _members(cls: type) -> Iterator[str]:
    """Describe public methods and properties, a bullet each."""
    for name, raw in vars(cls).items():
        if name.startswith("_") or name in HIDDEN.get(cls.__name__, ()):
            continue
        if isinstance(raw, property | cached_property):
            yield f"- `.{name}`: {_first(inspect.getdoc(raw))}"
        elif isinstance(raw, classmethod | staticmethod) or inspect.isfunction(raw):
            doc = inspect.getdoc(raw) or ""
            yield f"- `.{_signature(getattr(cls, name), name, flat=True)}`: {_first(doc)}"
            _, *sections = _SECTION.split(doc)
            if sections and sections[0] == "Parameters":
                yield from (f"  {bullet}" for bullet in _bullets(sections[1]))


def _signature(value: Any, name: str, flat: bool = False) -> str:
    signature = inspect.signature(value)
    parts = []
    kind: Any = None
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if kind is parameter.POSITIONAL_ONLY and parameter.kind is not parameter.POSITIONAL_ONLY:
            parts.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and kind not in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL):
            parts.append("*")
        kind = parameter.kind
        parts.append(_parameter(parameter))
    returns = signature.return_annotation
    end = f" -> {_type(returns)}" if returns not in (inspect.Signature.empty, None, "None") else ""
    line = f"{name}({', '.join(parts)}){end}"
    if flat or len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _parameter(parameter: inspect.Parameter) -> str:
    text = f"**{parameter.name}" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {_type(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return text
    if "factory" in repr(parameter.default):
        return f"{text} = {'()' if 'Sequence' in text else '{}'}"
    default = repr(parameter.default).replace("'", '"')
    return f"{text} = {default}"


def _type(annotation: Any) -> str:
    annotation = getattr(annotation, "__forward_arg__", annotation)  # fields of a NamedTuple
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


_SECTION = re.compile(r"^(Parameters|Attributes|Returns|Raises|Examples)\n-+\n", re.MULTILINE)


def _prose(doc: str | None) -> list[str]:
    """Turn a docstring into Markdown: its paragraphs, then parameters and attributes as bullets."""
    head, *rest = _SECTION.split(doc or "")
    lines = _markdown(head).splitlines()
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        if title == "Examples":
            continue
        bullets, _, after = body.partition("\n\n")
        lines += ["", f"{title}:", "", *_bullets(bullets)]
        if after.strip():
            lines += ["", *_markdown(after).splitlines()]
    return lines


def _bullets(body: str) -> Iterator[str]:
    for item in re.split(r"\n(?=\S)", body.strip()):
        name, _, text = item.partition("\n")
        name = name.partition(" : ")[0]
        names = ", ".join(f"`{part.strip()}`" for part in name.split(","))
        yield f"- {names}: {_markdown(' '.join(text.split()))}"


def _markdown(text: str) -> str:
    return text.strip().replace("``", "`")


def _first(doc: str | None) -> str:
    """Return a docstring's first paragraph in one line."""
    return _markdown(" ".join((doc or "").partition("\n\n")[0].split()))


def cli_page() -> str:
    """Return the page with every command and option."""
    lines = [
        NOTE,
        "",
        "# Reference: the command line",
        "",
        "Every command also takes `-h` or `--help`, which fingerprints what is said here.",
        "",
        "## Exit codes",
        "",
    ]
    codes = EXIT_CODES.removeprefix("Exit codes: ").rstrip(".").split(" · ")
    lines += [f"- `{code.partition(' ')[0]}`: {code.partition(' ')[2]}" for code in codes]
    lines += [""]
    for name, function in _commands(app, "leastways"):
        lines += [f"## {name}", "", *_help(inspect.getdoc(function) or ""), *_options(function)]
    return "\n".join(lines).rstrip() + "\n"


def _commands(group: typer.Typer, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield a group's own function, its commands and its sub-groups, each with its full name."""
    if group.registered_callback is not None and group.registered_callback.callback is not None:
        yield name, group.registered_callback.callback
    for command in group.registered_commands:
        if command.callback is not None:
            yield f"{name} {command.name or command.callback.__name__}", command.callback
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            yield from _commands(inner.typer_instance, f"{name} {inner.name}")


def _help(text: str) -> Iterator[str]:
    """Turn a help text into Markdown; a block that keeps its lines becomes a code block."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.splitlines()
        if lines[0].strip() == "\b":
            yield from (lines[1].strip(), "", "```bash")
            yield from inspect.cleandoc("\n".join(lines[2:])).splitlines()
            yield from ("```", "")
        else:
            yield from (" ".join(paragraph.split()), "")


def _options(function: Callable[..., Any]) -> list[str]:
    """Return the tables of a command's arguments and options, by the panels of the help."""
    hints = get_type_hints(function, include_extras=True)
    panels: dict[str, list[str]] = {}
    for parameter in inspect.signature(function).parameters.values():
        plain, info = get_args(hints[parameter.name])[:2]
        row = f"| {_names(parameter.name, plain, info)} | {_default(parameter, info)} | {_cell(info.help or '')} |"
        panels.setdefault(info.rich_help_panel or "", []).append(row)
    lines: list[str] = []
    for panel, rows in panels.items():
        lines += [f"**{panel}**", ""] if panel else []
        lines += ["| option | default | meaning |", "|---|---|---|", *rows, ""]
    return lines


def _names(name: str, plain: Any, info: Any) -> str:
    kinds = {int: "INTEGER", float: "NUMBER", Path: "FILE", str: "TEXT"}
    kind = next((kinds[t] for t in (plain, *get_args(plain)) if t in kinds), "")
    if isinstance(info, ArgumentInfo):
        return f"`{info.metavar or name.upper()}`"
    value = "" if plain is bool else f" {info.metavar or kind}"
    # within Annotated, typer keeps the first name given to Option where a default would stand
    first = (info.default,) if isinstance(info.default, str) else ()
    names = (*first, *(info.param_decls or ())) or (f"--{name.replace('_', '-')}",)
    return ", ".join(f"`{option}{value}`" for option in names)


def _default(parameter: inspect.Parameter, info: Any) -> str:
    if isinstance(info.show_default, str):
        return info.show_default
    if parameter.default is parameter.empty:
        return "required"
    return "" if parameter.default is None or parameter.default is False else f"`{parameter.default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def service_page() -> str:
    """Return the page with every key of service.yaml."""
    from leastways.server import EXAMPLE

    return f"""{NOTE}

# Reference: service.yaml

What `leastways serve --config service.yaml` reads; `leastways serve --example DIR` writes it. The values here are the
defaults, except that `model`, `schema` and `data` have none, and keys in a comment are not set. An unknown key, or a
value that a key cannot have, is refused at the start, by name. See [serve](../how-to/serve.md).

```yaml
{EXAMPLE.rstrip()}
```
"""


def http_page() -> str:
    """Return the page of the HTTP API, from the OpenAPI document of a service on the embedded loans."""
    document = _openapi()
    lines = [
        NOTE,
        "",
        "# Reference: the HTTP API",
        "",
        "As `GET /v1/openapi.json` of a running service describes it, which also lists the features of its model, "
        "what each may be, and the preferences that fit them. Keys, limits and errors: [serve](../how-to/serve.md).",
        "",
    ]
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            lines += [f"## {method.upper()} {path}", "", said["description"], "", *_http_inputs(said)]
            lines += ["| status | body | meaning |", "|---|---|---|"]
            lines += [
                f"| {code} | {_http_body(r)} | {r['description']} |" for code, r in sorted(said["responses"].items())
            ]
            lines += [""]
    lines += ["# Bodies", ""]
    for name, part in sorted(document["components"]["schemas"].items()):
        lines += [f"## {name}", "", part.get("description", ""), "", "| field | type | meaning |", "|---|---|---|"]
        needed = part.get("required", [])
        for field, of in part["properties"].items():
            optional = "" if field in needed else " (optional)"
            lines.append(f"| `{field}` | {_http_type(of)}{optional} | {_cell(of.get('description', ''))} |")
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _openapi() -> dict[str, Any]:
    import tempfile

    from leastways.server import Service, ServiceConfig, create_app

    credit = lw.datasets.load_credit()
    schema = credit.schema()
    recourse = lw.Recourse(lambda frame: frame["age"] / 100, schema).fit(credit.train)
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/reference.db"
        config = ServiceConfig("model", Path("schema"), Path("data"), database=database)
        with Service(config, recourse, {"model": "", "schema": "", "data": ""}) as service:
            return create_app(service).openapi()


def _http_inputs(said: dict[str, Any]) -> list[str]:
    """Return what a route takes: parameters, and the name of the body."""
    lines = []
    for given in said.get("parameters", []):
        kind, optional = _http_type(given["schema"]), "" if given.get("required") else ", optional"
        lines.append(f"- `{given['name']}` ({given['in']}, {kind}{optional}): {given.get('description', '')}")
    body = said.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return [*lines, *([f"- body: {_http_type(body)}"] if body else []), *([""] if lines or body else [])]


def _http_body(response: dict[str, Any]) -> str:
    content = next(iter(response.get("content", {}).values()), None)
    return "" if content is None else _http_type(content["schema"])


def _http_type(schema: dict[str, Any]) -> str:
    """Say a JSON Schema in a few words, with links to the bodies it refers to."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    kinds = schema.get("anyOf")
    if kinds:
        return " or ".join(_http_type(kind) for kind in kinds)
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "any")
    named = " or ".join(kind) if isinstance(kind, list) else kind
    return f"list of {_http_type(schema['items'])}" if kind == "array" else named


PAGES: dict[str, Callable[[], str]] = {
    "api.md": api_page,
    "cli.md": cli_page,
    "service-yaml.md": service_page,
    "http.md": http_page,
}

if __name__ == "__main__":
    for page, make in PAGES.items():
        (FOLDER / page).write_text(make(), encoding="utf-8")
        sys.stdout.write(f"docs/reference/{page}\n")
