"""The entities that a DTD declares, expanded within limits: no bomb goes off here."""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 1000  # HTML's own are 253
_LONGEST = 4096  # namespaces, names, a licence's sentence
_DEEPEST = 16

_REFERENCE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);|#)([^&;\s]+);")
_QUOTES = str.maketrans({'"': "&quot;", "'": "&apos;"})
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


class Entities:
    """What entities stand for, as it may stand in text and in attributes; XML's own five never change."""

    def __init__(self) -> None:
        self._declared: dict[str, str] = {}
        self._expanded: dict[str, str] = {}

    def declare(self, name: str, value: str | None) -> None:
        """Expat tells the first declaration. What points elsewhere (``None``) is never read, and stands for nothing."""
        self._declared[name] = value or ""
        if len(self._declared) > _MOST:
            raise AnswerError("unsafe_xml", f"the XML's DTD declares more than {_MOST} entities")

    def check(self) -> None:
        """Expands all that is declared: a bomb is refused even when nothing sets it off."""
        for name in self._declared:
            self._expand(name, ())

    def text(self, name: str) -> str | None:
        """Return what an entity stands for: its declaration, else HTML's meaning; ``None`` when it is unknown.

        >>> Entities().text("eacute"), Entities().text("LT"), Entities().text("nobody")
        ('é', '&lt;', None)
        """
        if name not in self._declared:
            character = html5.get(f"{name};")
            return character.translate(_MARKUP) if character else None
        text = self._expand(name, ())
        if "<" in text:
            raise AnswerError("unsafe_xml", f"the XML's entity {name} stands for markup, not for text")
        return text.translate(_QUOTES)

    def _expand(self, name: str, path: tuple[str, ...]) -> str:
        if name in path or len(path) > _DEEPEST:
            raise AnswerError("unsafe_xml", f"the XML's entity {name} is nested in itself, or too deep")
        if name not in self._expanded:
            length, parts = 0, []
            for part in self._parts(self._declared[name], (*path, name)):
                length += len(part)
                if length > _LONGEST:
                    raise AnswerError("unsafe_xml", f"the XML's entity {name} stands for over {_LONGEST} characters")
                parts.append(part)
            self._expanded[name] = "".join(parts)
        return self._expanded[name]

    def _parts(self, value: str, path: tuple[str, ...]) -> Iterator[str]:
        at = 0
        for reference in _REFERENCE.finditer(value):
            yield value[at : reference.start()]
            name = reference[1]
            yield self._expand(name, path) if name in self._declared else self.text(name) or reference[0]
            at = reference.end()
        yield value[at:]
