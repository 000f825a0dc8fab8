"""`service.yaml`: every mistake is named with its key and what is allowed; the example is what it says."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from leastways.errors import SettingError
from leastways.server import Limits, Service, ServiceConfig, read_config
from leastways.server.config import EXAMPLE, is_loopback
from tests.support.loan_service import write_shop


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("threshold", 2, "at least 0 and at most 1"),
        ("threshold", "high", "a number"),
        ("n_options", 0, "a whole number of at least 1"),
        ("n_options", 2.5, "a whole number"),
        ("budget", 1, "smaller than n_options"),
        ("n_costs", True, "a whole number"),
        ("seed", -1, "at least 0"),
        ("distill", -1, "at least 0"),
        ("threads", 0, "at least 1"),
        ("port", 70000, "at most 65535"),
        ("port", "80", "a whole number"),
        ("retention_days", 0, "at least 1"),
        ("trust", "yes please", "true or false"),
        ("require_keys", 1, "true or false"),
        ("groups", "region", "a list of names"),
        ("groups", [1], "a list of names"),
        ("groups", ["region", "language", "region"], "names 'region' twice"),
        ("texts", "schema.yaml", "must be a folder"),
        ("allowed_hosts", "bank.example", "a list of names"),
        ("target", None, "a label"),
        ("title", 3, "a text"),
        ("host", None, "a text"),
        ("schema", "shcema.yaml", "Did you mean"),
        ("data", "nothing.csv", "there is no"),
        ("database", "mysql://bank", "'mysql' is not supported"),
        ("database", ":memory:", "must outlast"),
        ("limits", 3, "must hold keys"),
        ("limits", {"row": 3}, "Did you mean 'rows'"),
        ("limits", {"rows": 0}, "above 0"),
        ("limits", {"rows": 1.5}, "a whole number"),
        ("tresh", 1, "unknown key 'tresh'"),
    ],
)
def test_every_wrong_setting_is_named(shop: Path, key: str, value: Any, allowed: str) -> None:
    with pytest.raises(SettingError) as error:
        read_config(shop, **{key: value})
    assert allowed in str(error.value)
    assert key in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "recourse.example.org",
        "recourse.example.org:8000",
        "//recourse.example.org",
        "ftp://recourse.example.org",
        "https://",
        "https://:8000",
        "https:///p",
        "https://recourse.example.org/?a=1",
        "https://recourse.example.org?",
        "https://recourse.example.org#top",
        "https://recourse.example.org:port",
        "https://recourse.example.org:0",
        "https://[::1",
        "https://recourse example.org",
        "https://recourse.example.org\n",
        "https://desk@recourse.example.org",
    ],
)
def test_an_invalid_public_url_is_refused(shop: Path, url: str) -> None:
    with pytest.raises(SettingError, match="public_url must be an http or https address") as error:
        read_config(shop, public_url=url)
    assert "https://recourse.example.org," in str(error.value)


@pytest.mark.parametrize("start", ["https://", "https:/", ""])
def test_a_password_in_a_public_url_is_not_repeated(shop: Path, start: str) -> None:
    with pytest.raises(SettingError, match=rf"{start}\*\*\*@recourse\.example\.org") as error:
        read_config(shop, public_url=f"{start}desk:s3cret@recourse.example.org")
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://recourse.example.org", "https://recourse.example.org"),
        ("https://recourse.example.org/", "https://recourse.example.org"),
        ("http://bank.example:8080/recourse/", "http://bank.example:8080/recourse"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("https://[2001:db8::1]:443", "https://[2001:db8::1]:443"),
        (None, None),
    ],
)
def test_a_public_url_loses_its_trailing_slash(shop: Path, url: str | None, kept: str | None) -> None:
    assert read_config(shop, public_url=url).public_url == kept


@pytest.mark.parametrize("key", ["model", "schema", "data"])
def test_required_keys_are_named_when_missing(shop: Path, tmp_path: Path, key: str) -> None:
    data = yaml.safe_load(shop.read_text())
    del data[key]
    file = tmp_path / "service.yaml"
    file.write_text(yaml.safe_dump(data))
    with pytest.raises(SettingError, match=f"'{key}' is missing"):
        read_config(file)


def test_files_that_do_not_exist_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="serve --example"):
        read_config(tmp_path / "service.yaml")
    (tmp_path / "service.yaml").write_text("model: [")
    with pytest.raises(SettingError, match="not valid YAML"):
        read_config(tmp_path / "service.yaml")
    (tmp_path / "service.yaml").write_text("[" * 200_000)
    with pytest.raises(SettingError, match=r"service\.yaml.*nested too deeply"):
        read_config(tmp_path / "service.yaml")
    (tmp_path / "service.yaml").write_text("budget: 20\nmodel: m.onnx\nbudget: 200\n")
    with pytest.raises(SettingError, match="the key 'budget' occurs twice"):
        read_config(tmp_path / "service.yaml")
    (tmp_path / "service.yaml").write_text("just words")
    with pytest.raises(SettingError, match="must hold keys"):
        read_config(tmp_path / "service.yaml")


def test_paths_are_relative_to_the_file(shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    config = read_config(shop)
    assert config.schema == shop.parent / "schema.yaml"
    assert config.model == str(shop.parent / "model.skops")
    assert config.database == f"sqlite:///{shop.parent}/leastways.db"
    assert read_config(shop, model="bank.rules:approve").model == "bank.rules:approve"
    assert read_config(shop, database="postgres://u@h/d").database == "postgresql+psycopg://u@h/d"


def test_the_example_has_every_key_and_the_defaults(tmp_path: Path) -> None:
    write_shop(tmp_path)
    (tmp_path / "service.yaml").write_text(EXAMPLE)
    config = read_config(tmp_path / "service.yaml")
    for field in fields(ServiceConfig):
        assert field.name in EXAMPLE or field.name == "texts"
        if field.name not in ("model", "schema", "data", "database", "limits"):
            assert getattr(config, field.name) == field.default, field.name
    assert config.limits == Limits()
    assert set(yaml.safe_load(EXAMPLE)["limits"]) == {f.name for f in fields(Limits)}


def test_a_group_that_is_a_feature_is_refused(shop: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="sex"):
        Service.open(read_config(shop, groups=["sex"], database=str(tmp_path / "d.db")))


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("127.9.9.9", True),
        ("0.0.0.0", False),
        ("::", False),
        ("bank.example", False),
    ],
)
def test_loopback_addresses_are_recognised(host: str, here: bool) -> None:
    assert is_loopback(host) == here


def test_a_service_opens_from_its_files(shop: Path, tmp_path: Path) -> None:
    from leastways.server import Applicant
    from tests.support.loan_service import states

    with Service.open(read_config(shop, database=str(tmp_path / "d.db"))) as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
        assert issued.answer.plan.options
        assert len(service.origin.fingerprints["model"]) == 64
