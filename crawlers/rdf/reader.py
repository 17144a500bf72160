"""Reads triples from bytes of any serialisation as a stream, and reports what can't be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import pyoxigraph

from crawlers.rdf.graphs import XSD_STRING
from crawlers.rdf.guards import Guard, TextGuard, XMLGuard
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.rdf.formats import Format
    from crawlers.rdf.terms import Triple

MAX_FAULTS = 100
"""Errors after which the rest of a file is not read."""

_GUARDS = {"text": TextGuard, "xml": XMLGuard}


@dataclass(slots=True)
class Fault:
    """A place of a file that can't be read.

    Args:
        message: one sentence.
        subjects: the subjects described there, the nearest first: the last one before the error, the last one that has
            an IRI, and the first one behind it. The parser does not report whose statement is lost; it is often one of
            these.
    """

    message: str
    subjects: list[str] = field(default_factory=list)


class Reader:
    """Reads one file.

    A syntax error costs the statement that has it; reading continues behind it if the serialisation allows that.

    Args:
        base: the address that relative IRIs are resolved against.

    Attributes:
        faults: the errors met so far.
        reached: the last subject that was read, and the last one that has an IRI.
        ended: whether the file was read to its end, or given up.
    """

    def __init__(self, file: BinaryIO, format_: Format, base: str) -> None:
        self.faults: list[Fault] = []
        self.reached = ("", "")
        self.ended = False
        guard = _GUARDS.get(format_.family)
        self.stream = guard(file) if guard else file
        stream: Any = self.stream
        self.quads = pyoxigraph.parse(stream, format_.parser, base_iri=base, lenient=True)

    @property
    def size(self) -> int:
        """The number of bytes that were read so far."""
        return self.stream.given if isinstance(self.stream, Guard) else self.stream.tell()

    def __iter__(self) -> Iterator[Triple]:
        """Yield the triples; names of graphs are dropped, because a statement counts in whichever graph it is.

        Raises:
            AnswerError: a guard refuses the rest of the file.
        """
        yield from self._up_to_an_error()
        while not self.ended:
            triples = self._up_to_an_error()
            for triple in triples:
                self.faults[-1].subjects.append(triple[0])
                yield triple
                yield from triples

    def _up_to_an_error(self) -> Iterator[Triple]:
        try:
            yield from self._triples()
        except SyntaxError as error:
            self._add(str(error)[:500])
            if len(self.faults) >= MAX_FAULTS:
                self._stop(f"after {MAX_FAULTS} errors the rest is not read")
        except MemoryError as error:  # a text of over 16 MiB, not the machine's memory
            self._stop(f"a statement is too long, and what follows is not read: {error}")
        else:
            self.ended = True

    def _add(self, message: str) -> None:
        self.faults.append(Fault(message, list(dict.fromkeys(filter(None, self.reached)))))

    def _stop(self, message: str) -> None:
        self._add(message)
        self.ended = True

    def _triples(self) -> Iterator[Triple]:
        blank, named, literal = pyoxigraph.BlankNode, pyoxigraph.NamedNode, pyoxigraph.Literal
        name, iri = self.reached
        try:
            for subject, predicate, value, _ in self.quads:
                if type(subject) is blank:
                    name = str(subject)
                else:
                    name = iri = subject.value
                kind = type(value)
                if kind is literal:
                    language, datatype = value.language, None
                    if language is None and (datatype := value.datatype.value) == XSD_STRING:
                        datatype = None
                    yield name, predicate.value, Literal(value.value, language, datatype)
                elif kind is named:
                    yield name, predicate.value, value.value
                elif kind is blank:
                    yield name, predicate.value, str(value)
        finally:
            self.reached = (name, iri)
