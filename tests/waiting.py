"""Waiting for something that another process does: for as long as it takes on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

HANG = 600
"""Seconds after which a test says that something hangs. No test passes or fails by how fast anything is."""


def until(happened: Callable[[], Any], *, unless: Callable[[], Any] = lambda: False) -> Any:
    """Wait until something happened; return what it gave, or what it gives once it can happen no more.

    Args:
        unless: whether it can happen no more: a process has ended.

    Raises:
        AssertionError: neither came about within `HANG` seconds.
    """
    deadline = time.monotonic() + HANG
    while time.monotonic() < deadline:
        over = unless()
        found = happened()
        if found or over:
            return found
        time.sleep(0.02)
    raise AssertionError("it hangs")
