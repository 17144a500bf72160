"""The names that people see of archived files: nothing in them comes from a portal unchecked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slugify import slugify

from crawlers.safety.names import safe

if TYPE_CHECKING:
    from crawlers.items import Capture

_LONGEST = 80
_EXTENSION = re.compile(r"[a-z0-9]{1,10}(?:\.[a-z0-9]{1,10})?")


def file_name(kept: Capture) -> str:
    """Return a readable name for a file: a slug and the extension that was found.

    >>> from crawlers.items import Capture
    >>> about = {"source": "archive-of-x", "dataset_id": "d", "resource_id": "r", "url": "http://example.org/"}
    >>> file_name(Capture(**about, name="../../Wells 2026", extension="csv"))
    'wells-2026.csv'
    >>> file_name(Capture(**about, name="..", extension="csv/../x"))
    'r'
    """
    name = slugify((kept.name or "")[:1000], max_length=_LONGEST, backend="text-unidecode")
    extension = (kept.extension or "").lower()
    dotted = f".{extension}" if _EXTENSION.fullmatch(extension) else ""
    return (name or safe(kept.resource_id)) + dotted


class FileNames:
    """Gives files of one folder different names."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def take(self, kept: Capture) -> str:
        """Return the readable name of a file; a number is added to one that is taken."""
        name = file_name(kept)
        stem, dot, extension = name.partition(".")
        number = 1
        while name in self.taken:
            number += 1
            name = f"{stem}-{number}{dot}{extension}"
        self.taken.add(name)
        return name
