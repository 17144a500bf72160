"""JSON-LD in a process of its own, with a limit of memory and of time.

pyoxigraph reads a document of JSON-LD as a whole: it takes ten times its size, heeds no signal meanwhile, and copies
all of a context for each node that has one of its own, so that 700 KB take half a minute.
"""

from __future__ import annotations

import io
import marshal
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import chain
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING, Any, BinaryIO

from crawlers.exceptions import AnswerError
from crawlers.records.rdf import formats
from crawlers.records.rdf.guards import GRACE, SLOWEST
from crawlers.records.rdf.jsonld import local
from crawlers.records.rdf.reader import Fault, Reader
from crawlers.records.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.records.rdf.formats import Format
    from crawlers.records.rdf.terms import Triple

LARGE = 8 << 20
"""Bytes from which on a document is read apart: it takes half a second."""
SCOPED = 100_000
"""The same where a context is inside of another, or of a node."""
_MEMORY = 256 << 20, 20  # bytes that the process may have, and for each byte of the document
_PATIENCE = 0.05  # seconds for which this process waits at once
_COMMAND = "import sys; sys.path[:] = sys.argv[2:]; from crawlers.records.rdf.apart import main; main(int(sys.argv[1]))"
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


def reader(file: BinaryIO, format_: Format, base: str) -> Reader | ReaderApart:
    """Return the reader of a file: of JSON-LD that is large, or whose contexts may take their time, one apart.

    Raises:
        AnswerError: as `crawlers.records.rdf.jsonld.local`.
    """
    if format_.family != "json":
        return Reader(file, format_, base)
    body, misread = file.read(), list[str]()
    is_local = len(body) <= LARGE
    if is_local:
        body = local(body, misread)
    if len(body) > LARGE or (len(body) > SCOPED and body.count(b'"@context"') > 1):
        return ReaderApart(body, format_, base, misread, is_local=is_local)
    found = Reader(io.BytesIO(body), format_, base)
    found.misread = misread
    return found


class ReaderApart:
    """What a `Reader` is, for the process that only takes the triples.

    Args:
        is_local: whether the document has its contexts already (see `crawlers.records.rdf.jsonld.local`).
    """

    def __init__(self, body: bytes, format_: Format, base: str, misread: list[str], *, is_local: bool = False) -> None:
        self.body = body
        self.is_local = is_local
        self.size = len(body)
        self.is_cut = format_ is formats.JSON_LD_UP_TO_AN_ERROR
        self.base = base
        self.faults: list[Fault] = []
        self.misread = misread
        self.count = 0

    def batches(self) -> Iterator[list[Triple]]:
        """Yield the triples some at a time, and nothing whenever the other process lets this one wait.

        Raises:
            AnswerError: the document can't be read, or takes too much memory or time (``too_large``).
        """
        here, there = Pipe(duplex=False)
        with here, there:
            process = subprocess.Popen(  # noqa: S603 -- this program itself
                [sys.executable, "-I", "-c", _COMMAND, str(there.fileno()), *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                start_new_session=True,  # Ctrl-C is not for it
            )
            there.close()
            try:
                with suppress(BrokenPipeError):  # why it has ended is found out below
                    self._send(process.stdin)
                yield from self._received(here, process)
            finally:
                process.kill()
                process.wait()

    def _send(self, to: Any) -> None:
        with to:
            marshal.dump((self.is_cut, self.is_local, self.base, *limits(self.size)), to)
            to.write(self.body)
        self.body = b""

    def _received(self, here: Connection, process: subprocess.Popen[bytes]) -> Iterator[list[Triple]]:
        while True:
            if not here.poll(_PATIENCE):
                yield []
                continue
            try:
                kind, *content = marshal.loads(here.recv_bytes())  # noqa: S302  # our own process wrote it
            except EOFError:
                raise _ended(process.wait(), self.size) from None
            if kind == "end":
                self.misread += content[0]
                return
            if kind == "error":
                raise AnswerError(*content)
            yield self._triples(*content)

    def _triples(self, triples: list[Any], faults: list[tuple[str, list[str], bool]]) -> list[Triple]:
        for number, (message, subjects, is_passed) in enumerate(faults):
            if number == len(self.faults):
                self.faults.append(Fault(message))
            self.faults[number].is_passed = is_passed
            known = self.faults[number].subjects
            known += [subject for subject in subjects if subject not in known]
        self.count += len(triples)
        new = tuple.__new__
        return [(name, at, value if type(value) is str else new(Literal, value)) for name, at, value in triples]


def limits(size: int) -> tuple[int, int]:
    """Return the bytes of memory and the seconds of the processor that a document of this size may take."""
    return _MEMORY[0] + _MEMORY[1] * size, int(GRACE + size / SLOWEST)


def _ended(code: int, size: int) -> AnswerError:
    """Return why the other process has ended before its work was done."""
    memory, seconds = limits(size)
    if code == -signal.SIGXCPU:
        what = f"more than {seconds} s of the processor"
    elif code < 0 or code == _NO_MEMORY:
        what = f"more than {memory >> 20:,} MiB of memory"
    else:
        return AnswerError("bug", f"the process that reads the JSON-LD ended with exit code {code}")
    advice = "try the catalogue's RDF/XML or Turtle"
    return AnswerError("too_large", f"to read the {size:,} bytes of JSON-LD takes {what}: it is not read; {advice}")


# In the other process

_NO_MEMORY = 12  # an exit code that Python has no use for


def main(to: int) -> None:
    """Send what the document has that comes from the standard input; end with this process's parent.

    Args:
        to: the file descriptor to write to.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 -- the process that starts this one need not have it

        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    is_cut, is_local, base, memory, seconds = marshal.load(sys.stdin.buffer)  # noqa: S302
    body = sys.stdin.buffer.read()
    for what, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
        _, allowed = resource.getrlimit(what)  # the crawl itself may be limited, too
        resource.setrlimit(what, (most if allowed == resource.RLIM_INFINITY else min(most, allowed), allowed))
    with Connection(to, readable=False) as there:
        try:
            format_ = formats.JSON_LD_UP_TO_AN_ERROR if is_cut else formats.JSON_LD
            for message in _messages(body, format_, base, is_local=is_local):
                there.send_bytes(marshal.dumps(message))
        except MemoryError:
            sys.exit(_NO_MEMORY)
        except AnswerError as error:
            there.send_bytes(marshal.dumps(("error", error.kind, str(error))))


def _messages(body: bytes, format_: Format, base: str, *, is_local: bool) -> Iterator[tuple[Any, ...]]:
    misread: list[str] = []
    found = Reader(io.BytesIO(body if is_local else local(body, misread)), format_, base)
    for batch in chain(found.batches(), [[]]):  # what is at the end may be a fault
        plain = [(name, at, value if type(value) is str else tuple(value)) for name, at, value in batch]
        yield "triples", plain, [(fault.message, fault.subjects, fault.is_passed) for fault in found.faults]
    yield "end", misread
