"""What a page says of a dataset that another page lists, or describes as well: it waits until all pages have come."""

from __future__ import annotations

import hashlib
from contextlib import closing
from functools import cached_property
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from scrapy import Request

from crawlers.components.ledger import EXCLUDED
from crawlers.exceptions import AnswerError
from crawlers.records.rdf import formats
from crawlers.records.rdf.document import document, graph_of
from crawlers.records.rdf.graphs import Order
from crawlers.records.rdf.terms import DCT, TYPE, is_blank
from crawlers.safety import strict_json
from crawlers.store import folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlers.kinds.dcat.page import PageRecord, RDFPage
    from crawlers.listing.crawl import Crawl
    from crawlers.records.rdf.terms import Graph, Term
    from crawlers.store.index import Known

    Said = dict[tuple[str, str], set[tuple[object, ...]]]

_FIRST, _SEVERAL, _JOINED = "descriptions", "described again", "joined"
_MENTIONS, _UNCLAIMED, _TORN = "mentions", "unclaimed", "torn"
_HELD, _LISTED, _UNLISTED = range(3)
_MOST = 64 << 10
"""Bytes of a description that waits; of a longer one, what another page says is not joined."""
_MOST_PARTS = 100
"""Parts of one description; each is compared with all before it."""
_REMEMBERED, _MOST_REMEMBERED = "described in parts", 10_000


class DelayedDataset(NamedTuple):
    """A dataset that waited for other pages.

    Args:
        page: makes its item.
        record: it, as all pages together describe it.
        identity: its id.
        address: the page that described it.
        is_torn: whether some page could not be read whole.
    """

    page: RDFPage
    record: PageRecord
    identity: str
    address: str
    is_torn: bool


class _Whole(NamedTuple):
    """What pages say of a dataset.

    Args:
        whole: the description; ``None`` if it can't be told.
        address: the page that it waited from.
        is_one: whether one page says it all.
        is_all: whether all that the pages say is in it.
        is_edited: whether a part that is not in it is that of another day.
    """

    whole: Graph | None
    address: str
    is_one: bool
    is_all: bool
    is_edited: bool


class Elsewhere:
    """The descriptions that wait until all pages have come, in the ledger: no memory grows with them.

    A page may describe a dataset in passing, beside a list that lacks it. If no page lists it, it is kept as the
    longest such description has it. Pages may each have a part of a description: those are joined. A dataset that was
    described in parts by the last crawl waits from its first part on: so its document is written once.

    Args:
        make: makes a page of RDF.

    Attributes:
        key: stands for a request as what lists the mentions.
    """

    key: ClassVar[str] = "mentioned 0"

    def __init__(self, crawl: Crawl, make: Callable[..., RDFPage]) -> None:
        self.crawl, self.make = crawl, make
        self.has_unclaimed: bool | None = None  # to be looked up
        self.is_joined = False

    @cached_property
    def known(self) -> frozenset[str]:
        """The datasets that the last crawl found described in parts, with an ``!`` if the parts contradicted."""
        found = folder.recall(self.crawl.opened_index().folder, _REMEMBERED)
        return frozenset(one for one in found if isinstance(one, str)) if isinstance(found, list) else frozenset()

    def mention(self, record: PageRecord, address: str, by: str) -> None:
        """Note a description in passing.

        Args:
            address: the page's.
            by: the key of the request whose answer has it.

        Raises:
            AnswerError: it is too large.
            ValueError: it is nested too deep to be written.
        """
        held = [record.key, address, record.item().document]
        self._see(_MENTIONS, held, by)
        if not record.is_named and len(strict_json.dumps(held)) <= _MOST:
            self._see(_SEVERAL, [record.key, _UNLISTED, "", address, held[2]], by)
            self.crawl.seen(record.key, list_name=_UNCLAIMED, listed_by=by)
            self.has_unclaimed = True

    def first(self, record: PageRecord, identity: str, written: Any, address: str, by: str, *, may_wait: bool) -> bool:
        """Note a dataset's first description; return whether it waits, because another page has, or had, more of it.

        Args:
            written: its document.
            may_wait: whether it was read whole.
        """
        body = strict_json.dumps(written)
        digest = hashlib.sha256(body).hexdigest()
        self.crawl.seen(record.key, list_name=_FIRST, listed_by=f"{digest} {identity}")
        name = _name(record.key) if self.known else ""
        is_in_parts = name in self.known or f"!{name}" in self.known
        if not (may_wait and record.iri and (is_in_parts or self._is_unclaimed(record.key))) or len(body) > _MOST:
            return False
        self._see(_SEVERAL, [record.key, _HELD, identity, address, written], by)
        return True

    def _is_unclaimed(self, iri: str) -> bool:
        """Return whether a page had a part of a description that belongs to no list of its own."""
        if self.has_unclaimed is None:
            self.has_unclaimed = self.crawl.records.count(_UNCLAIMED) > 0
        return self.has_unclaimed and self.crawl.records.is_listed(iri, _UNCLAIMED)

    def later(self, record: PageRecord, address: str, by: str) -> bool:
        """Note what a later page says of a dataset otherwise; return whether it does so for the first time.

        One with a date of its own may have been edited meanwhile, unless it can be joined.
        """
        digest, _, identity = (self.crawl.records.listed_by(record.key, _FIRST) or "").partition(" ")
        if not digest or record.iri is None:
            return False
        written: Any = record.item().document
        body = strict_json.dumps(written)
        if hashlib.sha256(body).hexdigest() == digest:
            return False
        kept = written if len(body) <= _MOST else None
        self._see(_SEVERAL, [record.key, _LISTED, identity, address, kept], by)
        if not self.crawl.seen(record.key, list_name="told", listed_by=by):
            return False
        first = self._first(record.key, digest, self._known(identity)) if "modified" in written else None
        return "modified" not in written or (first is not None and joined(first, graph_of(written)) is not None)

    def note_torn(self, address: str, by: str) -> None:
        """Note that a page could not be read whole."""
        self.crawl.seen(address, list_name=_TORN, listed_by=by)

    def unlisted(self) -> Iterator[DelayedDataset]:
        """Yield those that no page lists; of several descriptions, the longest."""
        every = map(strict_json.loads, self.crawl.records.listed(_MENTIONS))
        for iri, found in groupby(every, itemgetter(0)):
            if self.crawl.records.listed_by(iri, "nodes") in {None, Elsewhere.key}:
                _, address, written = max(found, key=lambda one: len(strict_json.dumps(one)))
                yield from self._found(iri, "", address, graph_of(written))

    def joined(self) -> Iterator[DelayedDataset]:
        """Yield those of which several pages say something; report what can't be joined."""
        if self.is_joined:  # a limit was reached after that
            return
        self.is_joined = True
        every, names = map(strict_json.loads, self.crawl.records.listed(_SEVERAL)), set[str]()
        for iri, rows in groupby(every, itemgetter(0)):
            digest, _, identity = (self.crawl.records.listed_by(iri, _FIRST) or "").partition(" ")
            if not identity:  # no page lists it
                continue
            known = self._known(identity)
            first = self._first(iri, digest, known)
            found = self._whole(iri, identity, first, rows)
            is_repeated = self.crawl.records.is_listed(iri, _JOINED)  # after a kill, which may have parted its files
            if not (found.is_one and found.is_all and not is_repeated) and len(names) < _MOST_REMEMBERED:
                names.add(f"{'' if found.is_all else '!'}{_name(iri)}")
            if found.whole is not None and (found.whole is not first or is_repeated):
                self.crawl.seen(iri, list_name=_JOINED, listed_by=None)
                address = found.address or str(known and known.metadata_url)
                yield from self._found(iri, identity, address, found.whole, is_edited=found.is_edited)
        self._remember(names)

    def _whole(self, iri: str, identity: str, whole: Graph | None, rows: Iterator[list[Any]]) -> _Whole:
        """Return what pages say of a dataset together; report, once, what contradicts.

        Args:
            whole: its first description, if that is on disk; else it is the first of the rows, or was not kept.
        """
        address, is_one, is_all, is_edited = "", True, True, False
        is_told = self.crawl.records.is_listed(identity, EXCLUDED)
        for number, (_, place, _, where, written) in enumerate(rows):
            part = None if written is None or number > _MOST_PARTS else graph_of(written)
            if place == _HELD:
                whole, address = part, where
                continue
            both = None if whole is None or part is None else joined(whole, part)
            if both is not None:
                is_one, whole = is_one and both is whole, both
            elif place == _LISTED and whole and part and _is_newer(part, whole, iri):
                is_one, whole, address = False, part, where
            elif place == _LISTED:
                is_all = False
                if _name(iri) in self.known and _is_edited(whole, part, iri):  # its parts were one the last time
                    is_edited = True
                elif not is_told:
                    is_told = True
                    message = f"{iri} is described on several pages: what {where} says of it is not kept"
                    self.crawl.failed("list", AnswerError("duplicate_id", message), Request(where), dataset_id=identity)
        return _Whole(whole, address, is_one, is_all, is_edited)

    def _remember(self, names: set[str]) -> None:
        """Remember what is described in parts; what a crawl that lacks some did not see stays known."""
        if self._is_short() or self._is_torn():
            told = {name.removeprefix("!") for name in names}
            names |= {name for name in self.known if name.removeprefix("!") not in told}
        if names != self.known:
            try:
                folder.remember(self.crawl.opened_index().folder, _REMEMBERED, sorted(names) or None)
            except OSError as error:
                message = "%s can't be written (%s): the next crawl writes datasets that are described in parts twice"
                self.crawl.logger.warning(message, folder.MEMORY, error.strerror)

    def _is_short(self) -> bool:
        """Return whether pages are missing, or behind the user's limit."""
        return self.crawl.run_state.is_limited or self.crawl.run_state.walks.is_short

    def _is_torn(self) -> bool:
        return self.crawl.records.count(_TORN) > 0

    def _found(
        self, iri: str, identity: str, address: str, said: Graph, *, is_edited: bool = False
    ) -> Iterator[DelayedDataset]:
        """Yield a dataset as it is described; as it is on disk, if parts are missing and that says more.

        Args:
            is_edited: whether a part is that of another day, and is not in the description.
        """
        with closing(self.make(BytesIO(), formats.TURTLE, address)) as page:
            record = page.held(document(said, iri), iri)
            identity = identity or record.id or ""
            known = self._known(identity)
            before = self._on_disk(known) if is_edited or self._is_short() else None
            if known and before and not is_part(before, said):
                record, address = page.held(document(before, iri), iri), known.metadata_url or address
            yield DelayedDataset(page, record, identity, address, self._is_torn())

    def _first(self, iri: str, digest: str, known: Known | None) -> Graph | None:
        """Return a dataset's first description, which this crawl wrote, maybe joined already before a kill.

        Nothing is joined to one that is too long to wait: each crawl would write both.
        """
        if known and known.sha256 == digest:
            return self._on_disk(known) if known.bytes <= _MOST else None
        return self._on_disk(known) if self.crawl.records.is_listed(iri, _JOINED) else None

    def _known(self, identity: str) -> Known | None:
        return self.crawl.opened_index().documents.get("dataset", identity, None) if identity else None

    def _on_disk(self, known: Known | None) -> Graph | None:
        found = strict_json.of_file(self.crawl.opened_index().folder, known.file) if known else None
        return graph_of(found) if isinstance(found, dict) else None

    def _see(self, name: str, row: list[Any], by: str) -> None:
        self.crawl.seen(strict_json.dumps(row).decode(), list_name=name, listed_by=by)


def _name(iri: str) -> str:
    """Return what is remembered of a dataset: no more, however long its IRI is."""
    return hashlib.sha256(iri.encode(errors="surrogatepass")).hexdigest()[:32]


def _is_edited(whole: Graph | None, part: Graph | None, iri: str) -> bool:
    """Return whether a description has the date of another day: it comes again with the next crawl."""
    before, now = ((each or {}).get(iri, {}).get(DCT + "modified") for each in (whole, part))
    return before is not None and now is not None and now != before


# Two descriptions of a dataset as one


def is_part(description: Graph, whole: Graph) -> bool:
    """Return whether another description of the same dataset says all that a description says.

    >>> title = {"http://a.org/1": {"http://a.org/title": ["http://a.org/a"]}}
    >>> is_part(title, title), is_part({"http://a.org/1": {}}, title), is_part(title, {"http://a.org/1": {}})
    (True, True, False)
    """
    return _is_within(_said(description), _said(whole))


def _is_newer(description: Graph, other: Graph, iri: str) -> bool:
    """Return whether a description is a later version of another: of a later date, and with all of its properties."""
    said = [each.get(iri, {}).get(DCT + "modified", ()) for each in (other, description)]
    before, now = (max((str(getattr(date, "value", date)) for date in dates), default="") for dates in said)
    return before < now and _said(other).keys() <= _said(description).keys()


def joined(first: Graph, second: Graph) -> Graph | None:
    """Return two descriptions of a dataset as one; ``None`` if they contradict each other, as two versions of it do.

    One may say all that the other says, and more; else each has properties of its own, and none that both have differs.
    """
    known, said = _said(first), _said(second)
    if _is_within(said, known):
        return first
    if _is_within(known, said):
        return second
    if any(known.get(place, values) != values and place[1] != TYPE for place, values in said.items()):
        return None
    found = {subject: dict(node) for subject, node in first.items()}
    names = {blank: f"{blank}-{len(first)}" for blank in _blanks(second)}
    waiting, met = [place for place in said if place not in known or place[1] == TYPE], set[str]()
    for subject, name in waiting:  # it grows by the blank nodes that are named
        values = second[subject][name]
        into = found.setdefault(names.get(subject, subject), {})
        into[name] = [*dict.fromkeys((*into.get(name, ()), *(_renamed(value, names) for value in values)))]
        for blank in names.keys() & {value for value in values if isinstance(value, str)} - met:
            met.add(blank)
            waiting += [(blank, each) for each in second.get(blank, ())]
    return found


def _is_within(said: Said, known: Said) -> bool:
    return all(values <= known.get(place, set()) for place, values in said.items())


def _said(description: Graph) -> Said:
    """Return the values by named node and property; a blank node is what it says."""
    order = Order(description, dict.fromkeys(_blanks(description), 1))
    return {
        (subject, name): set(map(order.rank, values))
        for subject, node in description.items()
        if not is_blank(subject)
        for name, values in node.items()
    }


def _blanks(description: Graph) -> set[str]:
    """Return the blank nodes, also those of which nothing is said."""
    values = (value for node in description.values() for each in node.values() for value in each)
    return {str(blank) for blank in (*description, *values) if is_blank(blank)}


def _renamed(value: Term, names: dict[str, str]) -> Term:
    return names.get(value, value) if isinstance(value, str) else value
