"""`service.yaml`: read and checked key by key, and a commented example of it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from leastways._messages import nearest
from leastways.errors import SettingError
from leastways.io import yaml_of
from leastways.models import MODEL_FILES

_PATHS = ("schema", "data", "texts")
_NAMES = ("groups", "allowed_hosts")


@dataclass(frozen=True)
class Limits:
    """Limits on the size, number and duration of requests."""

    body_bytes: int = 4_000_000  # a request's body
    rows: int = 10_000  # people in one request
    inline_rows: int = 20  # people answered directly; more become a job
    pending_people: int = 400  # people of pending requests; more are refused with 503
    pending_jobs: int = 50  # unfinished jobs; more are refused with 503
    requests_per_second: float = 100.0  # by key, or by address without one
    burst: int = 200  # requests that may come at once before the rate counts
    request_seconds: float = 30.0  # from a whole request to its answer
    body_seconds: float = 20.0  # for a body to arrive
    refinements: int = 1000  # answers of one person; then the latest one stays
    grace_seconds: float = 20.0  # for running requests, when asked to stop


@dataclass(frozen=True)
class ServiceConfig:
    """The content of `service.yaml`. Paths are relative to the file."""

    model: str
    schema: Path
    data: Path
    trust: bool = False
    target: Any = 1
    threshold: float = 0.5
    n_options: int = 5
    budget: int = 200
    n_costs: int = 1000
    seed: int = 0
    distill: int = 0
    threads: int | None = None
    database: str = "leastways.db"
    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    require_keys: bool = False
    retention_days: int | None = 365
    groups: tuple[str, ...] = ()
    title: str = "Ways to a yes"
    texts: Path | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def on_loopback(self) -> bool:
        """Return whether only this machine can reach the service."""
        return is_loopback(self.host)

    @property
    def keys_required(self) -> bool:
        """Return whether every request needs an API key."""
        return self.require_keys or not self.on_loopback

    def settings(self) -> dict[str, Any]:
        """Return the settings of `Recourse`, which decide the plans."""
        names = ("n_options", "budget", "n_costs", "target", "threshold")
        return {name: getattr(self, name) for name in names} | {"random_state": self.seed}


def is_loopback(host: str) -> bool:
    """Return whether a host address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_config(path: str | Path, **changes: Any) -> ServiceConfig:
    """Read and check a service's file; `changes`, from the command line, override it."""
    path = Path(path)
    if not path.is_file():
        raise SettingError(f"there is no file {str(path)!r}. `leastways serve --example` writes one to start from.")
    try:
        data = yaml_of(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SettingError(f"{str(path)!r} is not valid YAML: {error}") from error
    if not isinstance(data, Mapping):
        raise SettingError(f"{str(path)!r} must hold keys such as 'model: model.skops'.")
    return config_from_dict({**data, **changes}, str(path), path.resolve().parent)


def config_from_dict(data: Mapping[str, Any], where: str, folder: Path) -> ServiceConfig:
    """Check every key and value, and make paths absolute."""
    known = {f.name for f in fields(ServiceConfig)}
    _known_keys(data, known, where)
    for f in fields(ServiceConfig):
        if f.name not in data and f.default is MISSING and f.default_factory is MISSING:
            raise SettingError(f"{where}: {f.name!r} is missing. `leastways serve --example` shows what goes there.")
    values = {key: _checked(key, value, where) for key, value in data.items() if key != "limits"}
    for key in _PATHS:
        if values.get(key) is not None:
            values[key] = _existing(folder / values[key], key, where)
            if key == "texts" and not values[key].is_dir():
                raise SettingError(f"{where}: texts must be a folder, which {str(values[key])!r} is not.")
    values["model"] = _model(values["model"], folder)
    values["database"] = database_url(values.get("database", "leastways.db"), folder)
    config = ServiceConfig(**values, limits=_limits(data.get("limits"), where))
    if config.budget < config.n_options:
        raise SettingError(f"{where}: budget {config.budget} is smaller than n_options {config.n_options}.")
    return config


def database_url(text: str, folder: Path) -> str:
    """Return the URL of a database: SQLite in a file beside the config, or PostgreSQL."""
    if text.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        return "postgresql+psycopg://" + text.split("://", 1)[1]
    if "://" in text and not text.startswith("sqlite:///"):
        kind = text.split("://", 1)[0]
        raise SettingError(f"database: {kind!r} is not supported; allowed: a file's path, sqlite:/// or postgresql://.")
    file = text.removeprefix("sqlite:///")
    if not file or file == ":memory:":
        raise SettingError("database: answers must outlast the process; name a file or a PostgreSQL URL.")
    return f"sqlite:///{(folder / file).as_posix()}"


def _model(name: str, folder: Path) -> str:
    """Make a model file's path absolute; 'module:object' stays as it is."""
    is_file = Path(name).suffix.lower() in MODEL_FILES
    return name if ":" in name and not is_file else str(folder / name)


def _existing(path: Path, key: str, where: str) -> Path:
    if not path.exists():
        beside = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        raise SettingError(f"{where}: {key}: there is no {str(path)!r}.{nearest(path.name, beside)}")
    return path


def _limits(data: object, where: str) -> Limits:
    if data is None:
        return Limits()
    if not isinstance(data, Mapping):
        raise SettingError(f"{where}: limits must hold keys such as 'rows: 1000', not {data!r}.")
    _known_keys(data, {f.name for f in fields(Limits)}, f"{where}: limits")
    whole = {f.name for f in fields(Limits) if isinstance(f.default, int)}
    for key, value in data.items():
        _check_number(f"limits: {key}", value, where, whole=key in whole, above=0)
    return Limits(**data)


def _known_keys(data: Mapping[Any, Any], known: set[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise SettingError(f"{where}: unknown key {key!r}; known: {', '.join(sorted(known))}.{nearest(key, known)}")


_NUMBERS: dict[str, tuple[bool, float, float | None]] = {  # key: whole, least, most
    "threshold": (False, 0, 1),
    "n_options": (True, 1, None),
    "budget": (True, 1, None),
    "n_costs": (True, 1, None),
    "seed": (True, 0, None),
    "distill": (True, 0, None),
    "threads": (True, 1, 64),
    "port": (True, 0, 65535),
    "retention_days": (True, 1, None),
}
_MAY_BE_NULL = ("threads", "retention_days", "public_url", "texts")


def _checked(key: str, value: Any, where: str) -> Any:
    """Return the value of a key, checked, or raise an error that says what is allowed."""
    if value is None and key in _MAY_BE_NULL:
        return None
    if key in _NUMBERS:
        whole, least, most = _NUMBERS[key]
        _check_number(key, value, where, whole, least=least, most=most)
        return value
    if key in ("trust", "require_keys"):
        if not isinstance(value, bool):
            raise SettingError(f"{where}: {key} must be true or false, not {value!r}.")
        return value
    if key in _NAMES:
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            raise SettingError(f"{where}: {key} must be a list of names, not {value!r}.")
        twice = next((name for name in value if value.count(name) > 1), None)
        if twice is not None:
            raise SettingError(f"{where}: {key} names {twice!r} twice.")
        return tuple(value)
    if key == "target":
        if not isinstance(value, str | int | float):
            raise SettingError(f"{where}: target must be a label (a text, a number, true or false), not {value!r}.")
        return value
    if not isinstance(value, str) or not value:
        raise SettingError(f"{where}: {key} must be a text, not {value!r}.")
    return _address(value, where) if key == "public_url" else value


def _address(text: str, where: str) -> str:
    """Return an address for links to begin with, without a trailing slash."""
    odd = "?" in text or "#" in text or any(c.isspace() or not c.isprintable() for c in text)
    try:
        parts = urlsplit(text)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        fine = fine and (parts.port is None or parts.port > 0)
    except ValueError:  # a port that is no number, half of an IPv6 address
        fine = False
    if odd or not fine:
        shown = re.sub("(?<=//).*@|^[^/]*@|(?<=:/)[^/].*@", "***@", text)  # keep passwords out of logs
        raise SettingError(
            f"{where}: public_url must be an http or https address with the name of a host, such as "
            f"https://recourse.example.org, and without user, query (?) or fragment (#), not {shown!r}."
        )
    return text.rstrip("/")


def _check_number(
    key: str,
    value: Any,
    where: str,
    whole: bool,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
) -> None:
    kind = "a whole number" if whole else "a number"
    bounds = [f"above {above:g}"] if above is not None else []
    bounds += [f"of at least {least:g}"] if least is not None else []
    bounds += [f"at most {most:g}"] if most is not None else []
    fine = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    fine = fine and (above is None or value > above) and (least is None or value >= least)
    if not fine or (most is not None and value > most):
        raise SettingError(f"{where}: {key} must be {kind} {' and '.join(bounds)}, not {value!r}.")


EXAMPLE = """\
# What `leastways serve --config service.yaml` reads. Paths are relative to this file.

# The model that decides, on raw rows: a .skops or .onnx file, or 'module:object'.
model: model.skops
# true: load a .pkl or .joblib file, or types that skops does not know. Loading such a file runs code in it.
trust: false
# What each column is and in which direction it may change: `leastways schema infer` writes a first one.
schema: schema.yaml
# The table that costs are fitted on: .csv or .parquet.
data: train.csv
# The label of acceptance, and the lowest probability of it that counts as accepted.
target: 1
threshold: 0.5

# How options are found. Every answer records these; `leastways replay` uses the recorded values.
n_options: 5
budget: 200
n_costs: 1000
seed: 0
distill: 0
# Searches at the same time; null: one for each core, at most 4.
threads: null

# Where answers are recorded: a file for SQLite, or postgresql://user:password@host/name.
database: leastways.db
# After so many days a person and all their answers are erased; null: never.
retention_days: 365
# Attributes that only the audit uses and the model does not see; callers send them under "groups".
groups: []

# Who can reach it. Any host but loopback needs API keys (`leastways keys create`) and, for 0.0.0.0 or ::, the names
# under which callers know the service.
host: 127.0.0.1
port: 8000
# require_keys: true
# allowed_hosts: [recourse.example.org]
# The outside address, http or https; links begin with it. Without user, query or fragment.
# public_url: https://recourse.example.org
title: Ways to a yes
# A folder with texts, languages or a style sheet of your own for the pages.
# texts: texts

limits:
  body_bytes: 4000000        # a request's body
  rows: 10000                # people in one request
  inline_rows: 20            # people answered directly; more become a job
  pending_people: 400        # people of pending requests; more get 503 with Retry-After
  pending_jobs: 50           # unfinished jobs
  requests_per_second: 100   # by key, or by address without one; more get 429
  burst: 200                 # requests that may come at once
  request_seconds: 30        # from a request to its answer; then 504, and nothing is stored
  body_seconds: 20           # for a body to arrive
  refinements: 1000          # answers of one person; then the latest one stays
  grace_seconds: 20          # for running requests, when asked to stop
"""
