"""A document on disk, as text: of the index's own word, below its source's folder, and no more than a page can show."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from crawlers.report.text import inert
from crawlers.safety import inside

if TYPE_CHECKING:
    from pathlib import Path

MOST = 200_000  # bytes


@dataclass(frozen=True, slots=True)
class Document:
    """
    Args:
        text: escaped, each line without what would act on the rest of a page.
        bytes: of the whole file.
    """

    text: Markup
    bytes: int

    @property
    def cut(self) -> bool:
        return self.bytes > MOST


def read(folder: Path, file: str) -> Document | None:
    """A file of a source's folder; `None` when it is not there, can't be read, or is not below that folder."""
    try:
        with inside.opened(folder, file) as opened:
            body = opened.read(MOST)
            size = os.fstat(opened.fileno()).st_size
    except OSError:
        return None
    return Document(lines(body.decode("utf-8", "replace")), size)


def lines(text: str) -> Markup:
    r"""
    >>> lines('{\n  "title": "<b>\u202e"\n}')
    Markup('{\n  &#34;title&#34;: &#34;&lt;b&gt;&#34;\n}')
    """
    return Markup("\n").join(escape(inert(line)) for line in text.split("\n"))
