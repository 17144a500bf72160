"""Programs that some tests run and Python does not bring; a test whose program is missing is skipped, and says so.

`.ci/run` installs them all.
"""

from __future__ import annotations

import shutil

import pytest
from scrapy.settings import Settings

from crawlers.components.browser import executables
from crawlers.components.browser.executables import BrowserError

PACKAGES = {
    "bash": "bash",
    "chromium": "chromium",
    "initdb": "postgresql",
    "nginx": "nginx-light",
    "npm": "npm",
    "setpriv": "util-linux",
    "systemd-analyze": "systemd",
}
"""Debian's package of each."""


def need(program: str, *, found: bool | None = None) -> None:
    """Skip the test that runs if a program is missing, or the file that it brings."""
    if not (shutil.which(program) if found is None else found):
        pytest.skip(_missing(program))


def needs(program: str, *, found: bool | None = None) -> pytest.MarkDecorator:
    """Return the mark of a test that is skipped where a program is missing."""
    is_found = shutil.which(program) if found is None else found
    return pytest.mark.skipif(not is_found, reason=_missing(program))


def has_browser() -> bool:
    """Return whether a crawl would find a browser here."""
    try:
        return bool(executables.executable(Settings()))
    except BrowserError:
        return False


def _missing(program: str) -> str:
    return f"{program} is missing. On Debian: apt-get install {PACKAGES[program]}"
