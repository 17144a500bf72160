"""Atom feeds (RFC 4287) of what changed in datasets, and of what a search finds: of the dashboard and of commands."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from lxml import etree
from markupsafe import Markup

from crawlers.operate.report import difference
from crawlers.operate.report.report import cut, inert
from crawlers.records.markup import as_text
from crawlers.records.moment import moment, written

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from crawlers.store.difference import Difference
    from crawlers.store.figures.changes import Kept, Row
    from crawlers.store.index.known import Key
    from crawlers.store.index.search import Found

TYPE = "application/atom+xml"
_NAMESPACE = "http://www.w3.org/2005/Atom"
_IDS = uuid.UUID("6f0a5d5c-52c4-5d2f-9a44-0f6d1f0b4c11")  # never another one: readers would show all entries again
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BEGINNING = "1970-01-01T00:00:00Z"
_SENTENCES = {
    "new": "A new dataset.",
    "updated": "The record changed.",
    "withdrawn": "The catalogue no longer has it; its last version is kept.",
    "restored": "The catalogue has it again.",
}
_REST = {4: "-01-01", 7: "-01"}
"""What a year and a month lack to be a day."""
_CHANGES, _LINES = 40, 200  # of an entry; the page that it links has more


@dataclass(frozen=True, slots=True)
class Feed:
    """What a feed says of itself.

    Args:
        of: what it is of, in words that never change: ``source``, then its name. Its id is made of them.
        title: for people.
        updated: when the newest change was written, in UTC; ``None`` if there is none.
        here: the feed's own address, if it has one; a path leads to where the feed came from.
        page: the address of the page that shows the same, if there is one.
    """

    of: Sequence[str]
    title: str
    updated: str | None = None
    here: str | None = None
    page: str | None = None

    @property
    def id(self) -> str:
        return identity("feed", *self.of)


@dataclass(frozen=True, slots=True)
class Entry:
    """A change of a dataset.

    Args:
        source: the dataset's.
        key: the document's: kind, dataset id, resource id or "".
        time: when it was written, in UTC, as its line in the manifest has it.
        status: new, updated, withdrawn or restored; "" of a dataset that a search found.
        title: the dataset's; its id if it has none.
        fields: which fields changed; ``None`` if that is not known.
        publisher: the dataset's.
        about: the beginning of its description; shown of a new one.
        difference: from the version before; ``None`` if there is none, or the bytes of one are not kept.
        reason: why it was withdrawn, or why there is no difference.
        page: the address of a page about it, if there is one.
    """

    source: str
    key: Key
    time: str
    status: str
    title: str
    fields: Sequence[str] | None = None
    publisher: str | None = None
    about: str | None = None
    difference: Difference | None = None
    reason: str | None = None
    page: str | None = None

    @property
    def id(self) -> str:
        """Its id, whatever its source is called by now; that of a dataset that was found never changes."""
        return identity(*self.key, self.time, self.status) if self.status else identity(self.source, *self.key)


def entry_of(db: sqlite3.Connection, kept: Kept, change: Row, page: str | None = None) -> Entry:
    """Return the entry of a change.

    Args:
        db: the index.
        kept: the former versions.
        change: as `crawlers.store.figures.changes.changes` yields it.
        page: the address of a page about it, if there is one.
    """
    found = kept.compared(db, change)
    return Entry(
        source=change["source"],
        key=("dataset", change["dataset_id"], ""),
        time=change["time"],
        status=change["status"],
        title=change["title"] or change["name"] or change["dataset_id"],
        fields=change["fields"],
        publisher=change["publisher"],
        about=change["about"],
        difference=found.difference,
        reason=found.reason,
        page=page,
    )


def entry_of_found(found: Found, page: str | None = None) -> Entry:
    """Return the entry of a dataset that a search found.

    Args:
        page: the address of a page about it, if there is one.
    """
    return Entry(
        source=found.source,
        key=("dataset", found.dataset_id, ""),
        time=(found.modified or "") + _REST.get(len(found.modified or ""), ""),
        status="",
        title=found.title or found.name or found.dataset_id,
        publisher=found.publisher,
        about=found.snippet,
        page=page,
    )


def identity(*words: str) -> str:
    """Return the id that words have, now and later (RFC 9562, version 5).

    >>> identity("feed", "source", "hdx")
    'urn:uuid:fb8944fb-a775-5ea0-adb9-d7a7fa99b412'
    """
    return uuid.uuid5(_IDS, "\0".join(words).encode("utf-8", "replace").decode()).urn


def write(file: IO[bytes], feed: Feed, entries: Iterable[Entry]) -> None:
    """Write a feed, one entry after another.

    Args:
        file: takes UTF-8.
        feed: what it says of itself.
        entries: the newest first.
    """
    with etree.xmlfile(file, encoding="utf-8") as xml:
        xml.write_declaration()
        with xml.element(_name("feed"), nsmap={None: _NAMESPACE}):
            _write(xml, "id", feed.id)
            _write(xml, "title", _line(feed.title))
            _write(xml, "updated", _moment(feed.updated))
            _write(xml, "generator", "Catalogue crawlers")
            with xml.element(_name("author")):
                _write(xml, "name", "Catalogue crawlers")
            for rel, address, kind in (("self", feed.here, TYPE), ("alternate", feed.page, "text/html")):
                if address:
                    _write(xml, "link", rel=rel, type=kind, href=address)
            for entry in entries:
                _write_entry(xml, entry)
    file.write(b"\n")


def _write_entry(xml: etree._IncrementalFileWriter, entry: Entry) -> None:
    fields = f" ({', '.join(entry.fields)})" if entry.fields else ""
    with xml.element(_name("entry")):
        _write(xml, "id", entry.id)
        status = f"{entry.status.capitalize()}: " if entry.status else ""
        _write(xml, "title", _line(f"{status}{cut(entry.title, 200)}{fields}"))
        _write(xml, "updated", _moment(entry.time))
        with xml.element(_name("author")):
            _write(xml, "name", _line(entry.publisher or entry.source))
        if entry.status:
            _write(xml, "category", term=_line(entry.status))
        if entry.page:
            _write(xml, "link", rel="alternate", type="text/html", href=entry.page)
        _write(xml, "content", _content(entry), type="html")


def _content(entry: Entry) -> Markup:
    """Return what a reader of feeds shows: HTML without scripts, styles and pictures, whatever a portal wrote."""
    said = [_SENTENCES.get(entry.status, f"It is {entry.status}.")] if entry.status else []
    said += [entry.reason] if entry.reason else []
    if entry.status in {"new", ""} and entry.about:
        said.append(cut(as_text(entry.about), 1_000))
    html = Markup("").join(Markup("<p>{}</p>").format(inert(text)) for text in said)
    html += Markup("<p>{}</p>").format(inert(f"{entry.source}, {entry.key[1]}, {entry.time}"))
    return html + difference.as_html(entry.difference, changes=_CHANGES, lines=_LINES) if entry.difference else html


def _write(xml: etree._IncrementalFileWriter, name: str, text: str = "", **attributes: str) -> None:
    with xml.element(_name(name), {each: _valid(value) for each, value in attributes.items()}):
        xml.write(_valid(text))


def _name(name: str) -> str:
    return f"{{{_NAMESPACE}}}{name}"


def _moment(text: str | None) -> str:
    """Return a moment as RFC 3339 has it: of a feed without entries, and of a line that no crawl wrote, the first."""
    found = moment(text)
    return written(found, "milliseconds") if found else _BEGINNING


def _line(text: str) -> str:
    return cut(text, 400) or "–"


def _valid(text: str) -> str:
    """Return a text without what XML 1.0 can't hold: control characters, halves of pairs, U+FFFE."""
    return _NOT_IN_XML.sub("", str(text))
