"""How soon the options follow an answer on the person's page: ``python -m benchmarks.pages``.

Starts `leastways demo --serve` in a process of its own, opens people's pages in headless Chromium, moves sliders and
locks, and takes the time in the browser: from the input event to the frame in which the new options are painted. The
pause that makes a dragged slider one question (60 ms) is in it. Needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

_MEASURE = """(name) => new Promise((done) => {
    const field = document.getElementsByName(name)[0];
    document.addEventListener("followed", () => requestAnimationFrame(() => requestAnimationFrame(
        () => done([performance.now() - began, performance.getEntriesByType("resource").at(-1).duration]))),
        { once: true });
    if (field.type === "checkbox") field.checked = !field.checked;
    else field.value = String((Number(field.value) + 1) % 5);
    const began = performance.now();
    field.dispatchEvent(new Event("input", { bubbles: true }));
})"""


def main(people: int, moves: int) -> None:
    command = [sys.executable, "-m", "leastways", "demo", "--serve", "--port", "0", "--no-open", "--json"]
    server = subprocess.Popen([*command, "--people", str(people)], stdout=subprocess.PIPE, text=True)
    try:
        links = _links(server)
        waits = np.array(_measure(links, moves))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    for name, times in (("answer to painted options", waits[:, 0]), ("of that, the request", waits[:, 1])):
        low, middle, high = np.percentile(times, [50, 95, 99])
        print(
            f"{name:28} median {low:4.0f} ms   p95 {middle:4.0f} ms   p99 {high:4.0f} ms   most {times.max():4.0f} ms"
        )
    print(f"{len(waits)} answers of {people} people; within 300 ms: {(waits[:, 0] < 300).mean():.1%}")


def _links(server: subprocess.Popen[str]) -> list[str]:
    assert server.stdout is not None
    text = ""
    for line in server.stdout:
        text += line
        if line.startswith("}"):
            return list(json.loads(text)["people"].values())
    raise RuntimeError("the demo ended before it served")


def _measure(links: list[str], moves: int) -> list[list[float]]:
    waits: list[list[float]] = []
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for place, link in enumerate(links):
            page: Any = browser.new_page()
            page.goto(link)
            names = page.eval_on_selector_all("#preferences input[name$=-ease]", "all => all.map(one => one.name)")
            for move in range(moves):
                name = names[(place + move) % len(names)]
                if move % 4 == 3:
                    name = name.replace("-ease", "-lock")
                waits.append(page.evaluate(_MEASURE, name))
            page.close()
        browser.close()
    return waits


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--moves", type=int, default=12, help="changed answers per person")
    said = parser.parse_args()
    main(said.people, said.moves)
