"""The command as a process of its own: real exit codes, real streams, a real interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import leastways
from tests.support.command_line import SMALL

COMMAND = [sys.executable, "-m", "leastways"]


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, cwd=cwd, timeout=120, check=False)


def files(bank: Path, model: str) -> list[str]:
    names = {"schema": "schema.yaml", "data": "train.csv", "people": "people.csv"}
    given = [part for option, name in names.items() for part in (f"--{option}", str(bank / name))]
    return ["recommend", "--model", model, *given, "--index", "id"]


def test_version_and_wrong_usage_exit_codes() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"leastways {leastways.__version__}\n", "")
    assert run("recomend").returncode == 2
    assert run("explain").returncode == 2


def test_python_m_leastways_is_the_command() -> None:
    command = [sys.executable, "-m", "leastways", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"leastways {leastways.__version__}\n", "")
    usage = subprocess.run([*command[:-1], "--help"], capture_output=True, text=True, timeout=60, check=False).stdout
    assert "leastways [OPTIONS] COMMAND" in usage


@pytest.mark.parametrize(
    ("command", "not_needed"),
    [
        ("schema infer train.csv -t approved -o {out}/s.yaml", "numba sklearn leastways.search leastways.costs"),
        ("explain {plans} --person {person}", "numba sklearn leastways.search leastways.costs leastways.report"),
        (
            "recommend --model bank_rule:approve --schema schema.yaml --data train.csv --people people.csv --index id "
            "--options 3 --budget 60 --n-costs 20 --out {out}/plans.json",
            "leastways.server leastways.batch leastways.study leastways.audit leastways.evaluation matplotlib torch",
        ),
    ],
)
def test_a_command_loads_only_what_it_needs(
    bank: Path, plans_file: Path, tmp_path: Path, command: str, not_needed: str
) -> None:
    person = leastways.RecoursePlans.from_json(plans_file).summary.index[0]
    words = [word.format(out=tmp_path, plans=plans_file, person=person) for word in command.split()]
    code = (
        "import sys\nfrom leastways.cli import app\n"
        f"app({words!r}, standalone_mode=False)\n"
        f"found = set({not_needed.split()!r}) & set(sys.modules)\nassert not found, found\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=bank, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, leastways.cli\n"
        "heavy = {'pandas', 'numpy', 'numba', 'sklearn', 'scipy', 'matplotlib', 'yaml'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_exit_codes_and_streams_of_a_process(bank: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "plans.json")
    done = run(*files(bank, "bank_rule:approve"), "--out", out, *SMALL, "--json", cwd=bank)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["people"] == 12
    assert done.stderr == ""
    failed = run(*files(bank, "bank_rule:broken"), "--out", str(tmp_path / "q.json"), *SMALL, cwd=bank)
    assert failed.returncode == 3
    assert failed.stderr.startswith("Error: ")
    assert "Traceback" not in failed.stderr


def test_an_ascii_terminal_gets_the_message(bank: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "explain", str(tmp_path / "nö.json"), "--person", "1"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert b"Error: there is no file" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_exits_with_130_and_writes_nothing(bank: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    (tmp_path / "slow_rule.py").write_text(
        f"import pathlib, time\ndef approve(frame):\n    pathlib.Path({str(started)!r}).touch()\n    time.sleep(60)\n"
    )
    out = tmp_path / "plans.json"
    command = [*COMMAND, *files(bank, "slow_rule:approve"), "--out", str(out), *SMALL]
    with subprocess.Popen(  # with Ctrl-C in force, also where the suite runs in the background, which ignores it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        args=command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(600):
            if started.exists():
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted" in said
    assert "Traceback" not in said
    assert not out.exists()


NOISY = """\
import os
from bank_rule import approve as quiet
print("loaded")

def approve(frame):
    print("asked in Python")
    os.write(1, b"asked below Python\\n")
    return quiet(frame)
"""


@pytest.mark.parametrize("many", [False, True])
def test_what_a_model_prints_goes_to_stderr(bank: Path, tmp_path: Path, many: bool) -> None:
    """Nor does one that is asked in processes that work for us."""
    for name, text in (("noisy.py", NOISY), ("bank_rule.py", (bank / "bank_rule.py").read_text())):
        (tmp_path / name).write_text(text)
    people = ["--people", str(bank / "people.parquet")] if many else []
    out = ["--out", "plans", "--workers", "2"] if many else ["--out", "plans.json"]
    command = [*files(bank, "noisy:approve"), *people, *out, *SMALL, "--json"]
    done = run(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["people"] == 12
    assert all(line in done.stderr for line in ("loaded", "asked in Python", "asked below Python"))
