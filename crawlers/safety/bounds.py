"""How much one answer may hold, counted in its bytes before anything is built of it.

Bytes alone bound no memory: 35 KB of gzip are 24 million empty lists, and a list takes twenty times its three bytes. So
each reader counts first. A count never comes out too low; it may come out too high, and is then taken exactly.
"""

from __future__ import annotations

import re
from typing import BinaryIO, NamedTuple

from crawlers.exceptions import AnswerError


class Bound(NamedTuple):
    """What one answer may hold at most.

    Args:
        where: the subject of the error's sentence.
        what: what is counted.
        most: how many there may be.
        size: the bytes that allow one more; 0 if none do.
    """

    where: str
    what: str
    most: int
    size: int = 0

    def check(self, count: int, size: int = 0) -> None:
        """
        Args:
            size: the bytes that have them.

        Raises:
            AnswerError: ``too_large``.
        """
        most = self.most + (size // self.size if self.size else 0)
        if count > most:
            raise AnswerError("too_large", f"{self.where} has more than {most:,} {self.what}: it is not read")


JSON = Bound("the JSON", "values", 1_000_000, 24)
"""Objects, lists and what is in them. A page of 1,000 CKAN datasets in 60 MB has some 2,400,000, of 24 bytes each."""
TERMS = Bound("the JSON-LD", "terms of nodes of several types", 10_000, 50)
"""Counted once for each set of types. DCAT-AP 3 has 300 terms in all, of at most 100 bytes."""
NESTED = Bound("a text", "values", 250_000)
"""Of JSON that a record has as a text, such as an outline; a text with more is left as it is."""
POSITIONS = Bound("a shape", "positions", 50_000)
"""What a place's shape has at most, in whatever notation."""
GML = Bound("a shape", "tags and attributes", 100_000)
XML = Bound("the XML", "tags and attributes", 800_000)
"""A page of 100 ISO records in five languages has up to 600,000."""
SECTIONS = Bound("the XML", "comments and CDATA sections", 100_000, 200)
ENTITIES = Bound("the XML", "entities", 500_000)
"""Besides XML's own five and characters. These and sections are replaced one by one before the XML is read."""
RECORD = Bound("the record", "elements and texts", 200_000)
HTML = Bound("the page", "tags and attributes", 500_000)
STATEMENTS = Bound("the dataset's RDF", "statements", 120_000)
"""The largest dataset known has 8,327 resources, some 80,000 statements."""
ENTRIES = Bound("a list of a record", "entries", 50_000)
"""The document keeps all of them, the item has the first ones. The longest known has 34,866 keywords."""
LINKS = Bound("the folder", "links", 100_000)
SITEMAP = Bound("the sitemap", "addresses", 250_000)
"""Five times what the protocol allows."""
RECORDS = Bound("the answer", "records", 25_000)

_NOT_JSON = bytes(set(range(256)) - set(b",[{"))
_NOT_OUTLINE = bytes(set(range(256)) - set(b'{}[]",NI'))
_NOT_ESCAPED = bytes(set(_NOT_OUTLINE) - set(b"\\/bfnrtu"))  # nor an escape's second character
_STRING = re.compile(rb'"[^"]*"')
_NOT_MARKUP = bytes(set(range(256)) - set(b"<="))
_SHORTEST_TAG = 3
USUAL = rb"""(?x:
    amp; | lt; | gt; | quot; | apos;
    | \#(?: [1-9][0-9]{0,3} | [1-46-9][0-9]{4} | 5[0-4][0-9]{3} | 1[0-9]{5} );
    | \#x0{0,3}(?: [1-9A-Fa-f][0-9A-Fa-f]{0,2} | (?:[1-9A-CEFa-cef][0-9A-Fa-f]|[Dd][0-7])[0-9A-Fa-f]{2} );
    | \#x0{0,3}[1-9A-Fa-f][0-9A-Fa-f]{4};
)"""
"""The references of nearly all XML, behind their ``&``, as a regular expression: XML's own five, and characters."""
_ENTITY = re.compile(rb"&(?!%b)" % USUAL)
_CHUNK = 1 << 20


def check_json(text: bytes | str, bound: Bound = JSON) -> None:
    """Check how many values a JSON text has: each stands behind a comma or an opening bracket.

    Raises:
        AnswerError: ``too_large``.

    >>> check_json(b'[[], [1, "a, b"], {"c": {}}]', Bound("it", "values", 8))
    >>> check_json(b'[[], [1, "a, b"], {"c": {}}]', Bound("it", "values", 7))
    Traceback (most recent call last):
    ...
    crawlers.exceptions.AnswerError: it has more than 7 values: it is not read
    """
    if len(text) <= bound.most:
        return
    body = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if len(body.translate(None, _NOT_JSON)) > bound.most:
        marks = outline(body)
        bound.check(sum(map(marks.count, (b",", b"[", b"{"))), len(body))


def outline(body: bytes) -> bytes:
    """Return the brackets, the commas, and the first letters of NaN and Infinity outside strings, in fast steps."""
    kept = body.translate(None, _NOT_ESCAPED)
    if b"\\" in kept:
        kept = kept.replace(b"\\\\", b"").replace(b'\\"', b"")
    return _STRING.sub(b"", kept.translate(None, _NOT_OUTLINE).replace(b'""', b""))


def check_sections(file: BinaryIO, *, and_entities: bool) -> None:
    """Check how many comments and CDATA sections an XML file has.

    Args:
        and_entities: whether its entities are bounded, too.

    Raises:
        AnswerError: ``too_large``.

    """
    file.seek(0)
    sections = entities = size = 0
    while chunk := file.read(_CHUNK):
        sections += chunk.count(b"!") and chunk.count(b"<!")  # a byte is found many times as fast as two
        entities += and_entities and chunk.count(b"&") and len(_ENTITY.findall(chunk))
        size += len(chunk)
        ENTITIES.check(entities)
    SECTIONS.check(sections, size)


def check_markup(text: bytes, bound: Bound = XML) -> None:
    """Check how many tags and attributes XML or HTML has: as many as ``<`` and ``=``, and a text is between two tags.

    Raises:
        AnswerError: ``too_large``.

    >>> check_markup(b'<a b="c">d<e/></a>', Bound("it", "tags and attributes", 3))
    Traceback (most recent call last):
    ...
    crawlers.exceptions.AnswerError: it has more than 3 tags and attributes: it is not read
    """
    if len(text) > _SHORTEST_TAG * bound.most:
        bound.check(len(text.translate(None, _NOT_MARKUP)))
