"""Until when an answer need not be asked for again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


def fresh_until(headers: Iterable[list[str]], now: datetime) -> str | None:  # noqa: ARG001
    """Return the moment; ``None`` if it is to be asked for."""
    return None
