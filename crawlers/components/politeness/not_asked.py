"""Requests that this crawler does not make, or not again, because a host does not want them."""

from __future__ import annotations

from typing import ClassVar

from scrapy.exceptions import IgnoreRequest


class NotAsked(IgnoreRequest):
    """The root of this package's exceptions: its text is one sentence for the user.

    Attributes:
        kind: what it is in one word.
    """

    kind: ClassVar[str]
