"""The browser's executable: the Chromium that the user names, Playwright's own, or the system's."""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import CrawlersError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_FOLDERS = {"darwin": "Library/Caches/ms-playwright", "win32": "AppData/Local/ms-playwright"}
_FILES = (
    *("chromium-{}/chrome-linux*/chrome", "chromium-{}/chrome-mac*/*.app/Contents/MacOS/*"),
    *("chromium-{}/chrome-win*/chrome.exe", "chromium_headless_shell-{}/chrome-*/*headless*shell*"),
)


class BrowserError(CrawlersError):
    """No browser is installed, or no Playwright to drive it; raised by `enable`, before any request."""


def check_driver() -> None:
    """
    Raises:
        BrowserError: scrapy-playwright is not installed.
    """
    if find_spec("scrapy_playwright") is None or find_spec("playwright") is None:
        raise BrowserError(
            "These rules need a browser, and scrapy-playwright, which drives it, is not installed: "
            "pip install 'catalogue-crawlers[browser]'."
        )


def executable(settings: BaseSettings) -> str:
    """
    Raises:
        BrowserError: BROWSER_EXECUTABLE cannot be run, or there is no Chromium on this machine.
    """
    chosen = settings.get("BROWSER_EXECUTABLE")
    if chosen:
        path = shutil.which(str(chosen))
        if path is None:
            raise BrowserError(f"BROWSER_EXECUTABLE is {chosen}, which is no program that can be run.")
        return path
    for found in (*_playwrights(), *(shutil.which(name) for name in NAMES)):
        if found:
            return found
    raise BrowserError(
        "These rules need a browser, and there is none on this machine: `playwright install chromium` or "
        "`apt-get install chromium` gets one, and -s BROWSER_EXECUTABLE=PATH names one that is elsewhere."
    )


def _playwrights() -> Iterator[str]:
    """Yield the installed Chromiums of Playwright, which names them itself only once it runs."""
    revision = _revision()
    folder = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / _FOLDERS.get(
        sys.platform, ".cache/ms-playwright"
    )
    for pattern in _FILES if revision else ():
        for path in sorted(Path(folder).glob(pattern.format(revision))):
            if path.is_file() and os.access(path, os.X_OK):
                yield str(path)


def _revision() -> str | None:
    """Return the revision that the installed Playwright drives: others may not understand it."""
    spec = find_spec("playwright")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        try:
            known = json.loads(Path(folder, "driver/package/browsers.json").read_bytes())["browsers"]
        except (OSError, ValueError, KeyError):
            continue
        return next((str(browser["revision"]) for browser in known if browser["name"] == "chromium"), None)
    return None
