"""`serve --example`, `keys`, `replay` and `erase` on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.command_line import document, run

pytest.importorskip("sqlalchemy")

from leastways.costs import Preferences
from leastways.recourse import Recourse
from leastways.server import Applicant, read_config
from tests.support.loan_service import BANK, LABELLED, SMALL, pipeline, serve, states, write_shop


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def ids(file: Path) -> list[str]:
    recourse = Recourse(pipeline(), BANK, **SMALL).fit(LABELLED)
    with serve(file, recourse) as service:
        people = [Applicant(row, reference=f"case {i}") for i, row in enumerate(states(4))]
        return [issued.answer.id for issued in service.answer(people)]


def test_keys_are_made_listed_and_revoked(file: Path) -> None:
    assert "There are no keys" in run("keys", "list", "-c", file).stdout
    made = run("keys", "create", "-c", file, "--name", "loan desk", "--scope", "read", "--scope", "apply")
    assert made.exit_code == 0
    key = made.stdout.strip()
    found = re.fullmatch(r"lw_([0-9a-f]{12})_[\w-]{43}", key)
    assert found is not None
    listed = document(run("keys", "list", "-c", file, "--json"))["keys"]
    assert [(k["id"], k["name"], k["scopes"], k["revoked"]) for k in listed] == [
        (found[1], "loan desk", "apply, read", "")
    ]
    assert key.split("_", 2)[2] not in json.dumps(listed)
    assert run("keys", "revoke", found[1], "-c", file).exit_code == 0
    assert document(run("keys", "list", "-c", file, "--json"))["keys"][0]["revoked"]
    wrong = run("keys", "create", "-c", file, "--name", "x", "--scope", "aply")
    assert wrong.exit_code == 2
    assert "Did you mean 'apply'" in wrong.stderr
    assert run("keys", "revoke", "nobody", "-c", file).exit_code == 2


def test_replay_reports_what_differs(file: Path, ids: list[str]) -> None:
    result = run("replay", ids[0], "-c", file)
    assert result.exit_code == 0
    assert result.stdout == f"Answer {ids[0]}: the same, byte for byte.\n"
    assert document(run("replay", ids[1], "-c", file, "--json"))["same"] is True
    missing = run("replay", "nothing", "-c", file)
    assert (missing.exit_code, "there is no answer 'nothing'" in missing.stderr) == (2, True)

    from sqlalchemy import text

    from leastways.server.database import open_engine

    engine = open_engine(read_config(file).database)
    with engine.begin() as connection:
        changed = 'UPDATE answers SET plan = replace(plan, \'"status":"found"\', \'"status":"partial"\') WHERE id = :id'
        assert connection.execute(text(changed), {"id": ids[1]}).rowcount == 1
    engine.dispose()
    differs = run("replay", ids[1], "-c", file)
    assert differs.exit_code == 4
    assert "/status: recorded 'partial', comes out as 'found'" in differs.stdout


def test_erase_by_id_reference_and_age(file: Path, ids: list[str]) -> None:
    assert run("erase", ids[2], "-c", file).stdout == "Erased 1 person.\n"
    again = run("erase", ids[2], "-c", file)
    assert (again.stdout, "not found" in again.stderr) == ("Erased 0 people.\n", True)
    assert document(run("erase", "--reference", "case 3", "-c", file, "--json")) == {"erased": 1}
    assert run("erase", "--older-than", "1", "-c", file).stdout == "Erased 0 people.\n"
    both = run("erase", ids[0], "--reference", "case 0", "-c", file)
    assert (both.exit_code, "by one of" in both.stderr) == (2, True)
    assert run("erase", "-c", file).exit_code == 2


@pytest.mark.parametrize("days", [800_000, 10**14])  # before the first year there is, beyond what a date can hold
def test_erase_older_than_all_dates_erases_no_person(file: Path, ids: list[str], days: int) -> None:
    result = run("erase", "--older-than", str(days), "-c", file)
    assert (result.exit_code, result.stdout) == (0, "Erased 0 people.\n")


def test_two_answers_of_one_person_erase_one_person(file: Path) -> None:
    with serve(file, Recourse(pipeline(), BANK, **SMALL).fit(LABELLED)) as service:
        issued = service.answer([Applicant(states(1)[0])])[0]
        again = service.refine(issued.token, Preferences(editable=["income"]))
    result = run("erase", issued.answer.id, again.id, "-c", file)
    assert (result.stdout, "not found" in result.stderr) == ("Erased 1 person.\n", False)


def test_the_example_can_be_served(tmp_path: Path) -> None:
    made = run("serve", "--example", tmp_path / "shop")
    assert made.exit_code == 0
    assert "Next: leastways serve" in made.stdout
    config = read_config(tmp_path / "shop" / "service.yaml")
    assert Path(config.model).is_file()
    again = run("serve", "--example", tmp_path / "shop")
    assert (again.exit_code, "is there already" in again.stderr) == (2, True)


def test_serve_without_a_config_names_the_example(tmp_path: Path) -> None:
    result = run("serve", "--config", tmp_path / "service.yaml")
    assert (result.exit_code, "serve --example" in result.stderr) == (2, True)
