"""`scrapy dashboard` as a user runs it, on a free port, and what a browser or a program asks it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lxml import html

from tests import forked
from tests.waiting import HANG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask.testing import FlaskClient
    from werkzeug.test import TestResponse

HERE = "http://127.0.0.1:8710"
ROOT = Path(__file__).parent.parent


@contextmanager
def dashboard(
    output: Path, *more: str, forks: bool = False, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`scrapy dashboard` on a free port: its address and its process; ``forks``: what it starts is forked, too."""
    words = ("dashboard", "--port", "0", "-s", f"OUTPUT_DIR={output}", *more)
    process = forked.Popen(
        [sys.executable, "-W", "error", "-m", "scrapy", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        forks=forks,
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield line.split()[0], process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=HANG)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def json(self) -> Any:
        assert self.headers["Content-Type"] == "application/json"
        return json.loads(self.text)


def ask(url: str, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    """What a dashboard answers; a header's underscores are hyphens."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=HANG)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read().decode())
    finally:
        connection.close()


# In the test's own process


def get(browser: FlaskClient, path: str, status: int = 200, **headers: str) -> TestResponse:
    given = {name.replace("_", "-"): text for name, text in headers.items()}
    answer = browser.get(path, base_url=HERE, headers=given)
    assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:2000]}"
    return answer


def page(browser: FlaskClient, path: str, status: int = 200) -> html.HtmlElement:
    return html.document_fromstring(get(browser, path, status).text)


def text(element: html.HtmlElement) -> str:
    for one in element.xpath("//style"):
        one.getparent().remove(one)
    return " ".join(" ".join(element.itertext()).split())
