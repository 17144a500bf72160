"""Make the pictures of the README and the docs from a real harvest: ``make pictures``.

Ten catalogues of the tests are harvested for eight nights, by a clock that faketime sets back. The first night runs
on a pseudo-terminal, which is recorded; then Chromium takes the dashboard.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from playwright.sync_api import sync_playwright
from scrapy.settings import Settings

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from crawlers.components.browser import executables  # noqa: E402
from tests.ten import LATER, Ten  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
CELL, LINE, MARGIN = 8, 19, 16
"""The width of a character, the height of a line, and what is around the text, in pixels."""
LONGEST_PAUSE = 0.6
HARVEST = ["scrapy", "harvest", "--all", "--parallel", "4"]
NIGHTS = 8
GONE = 3
"""The day on which a dataset is removed."""
ESCAPE = re.compile(r"\x1b\[(?:\d*;)?(\d*)m")
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}
STYLE = """
  text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre }
  .line { animation: appear 0s both }
  @keyframes appear { from { visibility: hidden } to { visibility: visible } }
  @media (prefers-reduced-motion: reduce) { .line { animation: none } }
"""


@dataclass(frozen=True)
class Line:
    """A line of a terminal, and the seconds from the start until it was there."""

    seconds: float
    text: str


def record(command: list[str], environment: dict[str, str], days: int) -> list[Line]:
    """Run a command on a pseudo-terminal, some days ago; return the lines that it showed."""
    ours, theirs = os.openpty()
    began = time.monotonic()
    lines = [Line(0, f"$ {' '.join(command)}")]
    started = ["faketime", "-f", f"-{days}d", sys.executable, "-m", *command]
    with subprocess.Popen(started, cwd=ROOT, env=environment, stdout=theirs, stderr=subprocess.DEVNULL):
        os.close(theirs)
        with (
            os.fdopen(ours, encoding="utf-8") as shown,
            suppress(OSError),
        ):  # how Linux says that the other end is closed
            lines.extend(Line(time.monotonic() - began, line.rstrip("\n")) for line in shown)
    return lines


def animated(lines: list[Line]) -> str:
    """Return a recording as SVG: each line appears when it came, but no pause is longer than LONGEST_PAUSE."""
    pauses = (later.seconds - line.seconds for line, later in pairwise(lines))
    moments = accumulate((min(pause, LONGEST_PAUSE) for pause in pauses), initial=1.0)
    width = max(len(ESCAPE.sub("", line.text)) for line in lines) * CELL + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    texts = (
        f'<text class="line" x="{MARGIN}" y="{MARGIN + LINE * (row + 0.7):.1f}" style="animation-delay: {moment:.2f}s">'
        f"{spans(line.text)}</text>\n"
        for row, (line, moment) in enumerate(zip(lines, moments, strict=True))
    )
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    ground = '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n{ground}\n{"".join(texts)}</svg>\n'
    )


def spans(text: str) -> str:
    """Return a line with its colours, which a terminal gets as escape sequences."""
    first, *parts = re.split(ESCAPE, text)
    coloured = (
        f'<tspan fill="{COLOURS[code]}">{html.escape(part)}</tspan>' if code in COLOURS else html.escape(part)
        for code, part in zip(parts[::2], parts[1::2], strict=True)
    )
    return html.escape(first) + "".join(coloured)


@contextmanager
def dashboard(environment: dict[str, str]) -> Iterator[str]:
    """Run the dashboard; give its address."""
    command = [sys.executable, "-m", "scrapy", "dashboard", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().split()[0]
        process.terminate()


def photograph(address: str) -> None:
    """Take the dashboard's first screen, light and dark."""
    with sync_playwright() as playwright:
        sandbox = [] if os.getuid() else ["--no-sandbox"]
        path = executables.executable(Settings())
        browser = playwright.chromium.launch(executable_path=path, args=[*sandbox, "--disable-dev-shm-usage"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
            page.goto(address)
            page.screenshot(path=PICTURES / f"dashboard-{scheme}.png")
        browser.close()


def pass_day(ten: Ten, day: int) -> None:
    """Let some catalogues add datasets, and most change one."""
    ten.change()
    for portal in (ten.river, ten.aid)[: 1 + day % 2]:
        added = portal.change(add=4 + 3 * day)["added"]
        portal.change(edit={name: {"metadata_modified": LATER} for name in added})
    for catalogue in (ten.ministry, ten.region):
        catalogue.add()
    if day == GONE:
        ten.region.remove("d0010")


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    environment = {**os.environ, "CRAWLERS_HOME": str(folder), "TERM": "xterm-256color"}
    try:
        with Ten(folder) as ten:
            for day in range(NIGHTS):
                lines = record(HARVEST, environment, NIGHTS - 1 - day)
                if day == 0:
                    (PICTURES / "harvest.svg").write_text(animated(lines), encoding="utf-8")
                pass_day(ten, day)
        with dashboard(environment) as address:
            photograph(address)
    finally:
        shutil.rmtree(folder)
    for path in sorted(PICTURES.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
