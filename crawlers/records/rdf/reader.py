"""Reads triples from bytes of any serialisation as a stream, and reports what can't be read."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from itertools import chain, islice
from sys import intern
from typing import TYPE_CHECKING, Any, BinaryIO

import pyoxigraph

from crawlers.records.rdf.graphs import XSD_STRING
from crawlers.records.rdf.guards import Guard, TextGuard, XMLGuard
from crawlers.records.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.records.rdf.formats import Format
    from crawlers.records.rdf.terms import Triple

_BATCH = 1000  # triples
_MANY = 1_000  # properties and datatypes, whose texts are kept: one for all triples
_BLOCK = 1 << 17  # bytes: the parser asks for two thousand at a time, which costs a call of Python's each
MAX_FAULTS = 100
"""Errors after which the rest of a file is not read."""

_PASSED = re.compile(r"Unexpected (text|node)|No value found for rdf:XMLLiteral|at \d+\.\.\d+: unrecognized entity")
"""The errors in RDF/XML that cost a statement only. Of any other, pyoxigraph takes the end of the element for that of
the element around it: whose the statements behind it are, and in which language, is not known."""
_GUARDS = {"text": TextGuard, "xml": XMLGuard}


@dataclass(slots=True)
class Fault:
    """A place of a file that can't be read.

    Args:
        message: one sentence.
        subjects: the subjects described there, the nearest first: the last one before the error, the last one that has
            an IRI, and the first one behind it. The parser does not report whose statement is lost; it is often one of
            these.
        is_passed: whether reading went on behind it, so that it costs a statement only.
        is_within: whether that statement is of a subject which other statements have, so that no subject is lost.
        is_repaired: whether it was read after all, and no subject lacks anything; then it has no subjects.
    """

    message: str
    subjects: list[str] = field(default_factory=list)
    is_passed: bool = False
    is_within: bool = False
    is_repaired: bool = False


class Reader:
    """Reads one file.

    A syntax error costs the statement that has it; reading continues behind it if the serialisation allows that.

    Args:
        base: the address that relative IRIs are resolved against.

    Attributes:
        faults: the errors met so far.
        misread: what is in another encoding than it should be, as sentences.
        is_astray: whether elements of the RDF/XML may be taken for another's from here on.
        reached: the last subject that was read, and the last one that has an IRI.
        count: how many triples were read so far.
        ended: whether the file was read to its end, or given up.
    """

    def __init__(self, file: BinaryIO, format_: Format, base: str) -> None:
        self.faults: list[Fault] = []
        self.misread: list[str] = []
        self.is_astray = False
        self.reached = ("", "")
        self.count = 0
        self.ended = False
        self.known: dict[pyoxigraph.NamedNode, str] = {}
        guard = _GUARDS.get(format_.family)
        self.stream = guard(file) if guard else file
        stream: Any = io.BufferedReader(self.stream, _BLOCK) if isinstance(self.stream, Guard) else file
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
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[list[Triple]]:
        """Yield the triples some at a time: what precedes an error before it is reported.

        Raises:
            AnswerError: a guard refuses the rest of the file.
        """
        is_behind_fault = False
        while not self.ended:
            batch: list[Triple] = []
            error: SyntaxError | MemoryError | None = None
            try:
                self._fill(batch)
            except (SyntaxError, MemoryError) as found:
                error, self.ended = found, False
            if batch and is_behind_fault:
                latest = self.faults[-1]
                latest.is_within |= latest.subjects[:1] == [batch[0][0]]
                latest.subjects.append(batch[0][0])
                for fault in [] if self.is_astray else self.faults:
                    fault.is_passed = True
            self.count += len(batch)
            is_behind_fault = bool(error) or (is_behind_fault and not batch)
            yield batch
            if error:
                self._report(error)
        is_told = any(not fault.is_passed for fault in self.faults)
        if isinstance(self.stream, XMLGuard) and self.stream.breaks_off and not is_told:
            self._add(f"the XML breaks off after {self.stream.given} bytes: its root element has no end")
        if left_out := getattr(self.stream, "left_out", None):
            sentence = f"attributes without a namespace are left out: {', '.join(left_out)}"
            self.faults.append(Fault(sentence, is_passed=True, is_repaired=True))

    def _report(self, error: SyntaxError | MemoryError) -> None:
        if isinstance(error, MemoryError):  # a text of over 16 MiB, not the machine's memory
            self._stop(f"a statement is too long, and what follows is not read: {error}")
            return
        self._add(str(error)[:500])
        if isinstance(self.stream, XMLGuard):
            self.faults[-1].is_within = bool(_PASSED.match(str(error)))
            self.is_astray |= not self.faults[-1].is_within
        if len(self.faults) >= MAX_FAULTS:
            self._stop(f"after {MAX_FAULTS} errors the rest is not read")

    def _add(self, message: str) -> None:
        self.faults.append(Fault(message, list(dict.fromkeys(filter(None, self.reached)))))

    def _stop(self, message: str) -> None:
        self._add(message)
        self.ended = True

    def _fill(self, batch: list[Triple]) -> None:
        """Read some triples; those before an error are in the batch."""
        blank, named, literal = pyoxigraph.BlankNode, pyoxigraph.NamedNode, pyoxigraph.Literal
        known = self.known = {} if len(self.known) > _MANY else self.known
        last, (name, iri) = None, self.reached
        self.ended = True
        try:
            for quad in islice(self.quads, _BATCH):
                self.ended = False
                subject, predicate, value = quad.subject, quad.predicate, quad.object
                if subject != last:  # else it keeps its text, which is then found faster
                    last = subject
                    if type(subject) is blank:
                        name = str(subject)
                    else:
                        name = iri = subject.value
                if (property_ := known.get(predicate)) is None:
                    known[predicate] = property_ = predicate.value
                kind = type(value)
                if kind is literal:
                    batch.append((name, property_, _literal(value, known)))
                elif kind is named:
                    batch.append((name, property_, value.value))
                elif kind is blank:
                    batch.append((name, property_, str(value)))
        finally:
            self.reached = (name, iri)


def _literal(value: pyoxigraph.Literal, known: dict[pyoxigraph.NamedNode, str]) -> Literal:
    """Return a literal; `known` has the texts of datatypes."""
    new = tuple.__new__  # twice as fast as Literal(...)
    if (language := value.language) is not None:
        return new(Literal, (value.value, intern(language), None))
    if (datatype := known.get(value.datatype)) is None:
        known[value.datatype] = datatype = value.datatype.value
    return new(Literal, (value.value, None, None if datatype == XSD_STRING else datatype))
