"""Triples out of bytes of any serialisation, one after another, with whatever is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import pyoxigraph

from crawlers.rdf.guards import TextGuard, XMLGuard
from crawlers.rdf.terms import XSD_STRING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.rdf.formats import Format
    from crawlers.rdf.terms import Triple

MOST_FAULTS = 100
"""Errors after which the rest of a file is not read."""

_GUARDS = {"text": TextGuard, "xml": XMLGuard}


class Reader:
    """Reads one file.

    A syntax error ends the statement it stands in, and no more, where the serialisation can go on behind it.

    Args:
        base: the address that relative IRIs are resolved against.

    Attributes:
        faults: a sentence for each error met so far.
    """

    def __init__(self, file: BinaryIO, format_: Format, base: str) -> None:
        self.faults: list[str] = []
        guard = _GUARDS.get(format_.family)
        stream: Any = guard(file) if guard else file
        self.quads = pyoxigraph.parse(stream, format_.parser, base_iri=base, lenient=True)

    def __iter__(self) -> Iterator[Triple]:
        """Graph names are left out: what a catalogue says counts in whichever graph it says it.

        Raises:
            AnswerError: the file is not read on.
        """
        while True:
            try:
                yield from self._triples()
            except SyntaxError as error:
                self.faults.append(str(error)[:500])
                if len(self.faults) >= MOST_FAULTS:
                    self.faults.append(f"after {MOST_FAULTS} errors the rest is not read")
                    return
            except MemoryError as error:  # a text of over 16 MiB, not the machine's memory
                self.faults.append(f"a statement is too long, and what follows is not read: {error}")
                return
            else:
                return

    def _triples(self) -> Iterator[Triple]:
        blank, named, literal = pyoxigraph.BlankNode, pyoxigraph.NamedNode, pyoxigraph.Literal
        for subject, predicate, value, _ in self.quads:
            kind = type(value)
            if kind is literal:
                language, datatype = value.language, None
                if language is None and (datatype := value.datatype.value) == XSD_STRING:
                    datatype = None
                yield _name(subject, blank), predicate.value, Literal(value.value, language, datatype)
            elif kind is named:
                yield _name(subject, blank), predicate.value, value.value
            elif kind is blank:
                yield _name(subject, blank), predicate.value, str(value)


def _name(subject: Any, blank: type) -> str:
    return str(subject) if type(subject) is blank else subject.value
