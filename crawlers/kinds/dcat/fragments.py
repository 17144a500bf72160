"""What a page says of a dataset that another page lists, or describes as well: it waits until all pages have come."""

from __future__ import annotations

import hashlib
from contextlib import closing
from functools import cached_property
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.description import contradicts, joined
from crawlers.rdf import formats
from crawlers.rdf.document import document, graph_of
from crawlers.rdf.namespaces import DCT
from crawlers.resume.records import EXCLUDED, listed_by
from crawlers.safety import inside, strict_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlers.kinds.dcat.page import RDFPage, Record
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals
    from crawlers.rdf.terms import Graph, Node

_REMEMBERED = "described in parts"
_MAX_REMEMBERED = 10_000
_MAX_PARTS = 100
"""Parts of one description; each is compared with all before it."""


class Fragments:
    """Mentions, and parts of descriptions, in the ledger: no memory grows with them.

    A page may describe a dataset in passing, beside a list that lacks it. If no page lists it, it is kept as the
    longest such description has it. Pages may each have a part of a description: those join the document that the first
    of them became. Of a dataset that had parts in the last crawl, the first waits, too: its document is written once.

    Args:
        withdrawals: remember texts from crawl to crawl.
        make: makes a page of RDF.

    Attributes:
        key: stands for a request as what lists the mentions.
    """

    key: ClassVar[str] = "mentioned 0"

    def __init__(self, crawl: Crawl, withdrawals: Withdrawals, make: Callable[..., RDFPage]) -> None:
        self.crawl, self.withdrawals, self.make = crawl, withdrawals, make

    @cached_property
    def known(self) -> frozenset[str]:
        """The datasets that had parts in the last crawl; none if a limit may keep a crawl from their other pages."""
        return frozenset(() if self.crawl.limits.is_set else self.withdrawals.recall(_REMEMBERED) or ())

    def mention(self, record: Record, address: str, by: str) -> None:
        """Keep a description in passing.

        Args:
            address: the page's.
            by: the key of its request.

        Raises:
            AnswerError: it is too large.
            ValueError: it is nested too deep to be written.
        """
        self._keep("mentions", by, record.key, address, record.item().document)

    def note(self, record: Record, identity: str, written: Any) -> None:
        """Note the description that a page has of a dataset that it lists, to tell others from it."""
        self.crawl.seen(record.key, list_name="descriptions", listed_by=f"{_digest(written)} {identity}")

    def first(self, record: Record, identity: str, address: str, by: str) -> None:
        """Keep the first part of a description back; it raises what `mention` does."""
        written = record.item().document
        self.note(record, identity, written)
        self._keep("parts", by, record.key, identity, 0, address, written)

    def later(self, record: Record, address: str, by: str) -> bool:
        """Keep what a later page says of a dataset; return whether that is something else.

        It raises what `mention` does.
        """
        known = listed_by(self.crawl.records, record.key, "descriptions") if record.iri else None
        digest, _, identity = (known or "").partition(" ")
        written = record.item().document if known else None
        if not known or _digest(written) == digest:
            return False
        self._keep("parts", by, record.key, identity, 1, address, written)
        return True

    def _keep(self, name: str, by: str, *held: Any) -> None:
        self.crawl.seen(strict_json.dumps(held).decode(), list_name=name, listed_by=by)

    # When the pages have ended

    def unlisted(self) -> Iterator[tuple[RDFPage, Record, str]]:
        """Yield the mentions that no page lists, each with its page's address; of several, the longest."""
        every = map(strict_json.loads, self.crawl.records.listed("mentions"))
        for iri, found in groupby(every, itemgetter(0)):
            if listed_by(self.crawl.records, iri, "nodes") in {None, Fragments.key}:
                _, address, written = max(found, key=lambda one: len(strict_json.dumps(one)))
                with closing(self.make(BytesIO(), formats.TURTLE, address)) as page:
                    yield page, page.held(written, iri), address

    def joined(self) -> Iterator[tuple[RDFPage, Record, str, str, bool]]:
        """Yield the datasets that have parts: page, record, id, the page's address, whether parts may be missing."""
        every, names = map(strict_json.loads, self.crawl.records.listed("parts")), set[str]()
        is_short = self.crawl.run_state.walks.is_short
        for (iri, identity), found in groupby(every, itemgetter(0, 1)):
            whole, address = self._written(identity)
            count = 0
            for _, _, is_later, url, written in found:
                part = graph_of(written)
                if not is_later:
                    whole, address = part, url
                    continue
                try:
                    whole, count = _with(whole if count < _MAX_PARTS else None, part, iri), count + 1
                except AnswerError as error:
                    self._tell(error, identity, part.get(iri, {}))
            if count and len(names) < _MAX_REMEMBERED:
                names.add(iri)
            if whole is not None:
                with closing(self.make(BytesIO(), formats.TURTLE, address)) as page:
                    yield page, page.held(document(whole, iri), iri), identity, address, is_short and not count
        if not self.crawl.limits.is_set:
            self.withdrawals.remember(_REMEMBERED, sorted(names.union(self.known if is_short else ())) or None)

    def _written(self, identity: str) -> tuple[Graph | None, str]:
        """Return the description that is on disk, if it can be read, and its page's address."""
        index = self.crawl.opened_index()
        known = index.documents.get("dataset", identity, None)
        try:
            found = graph_of(strict_json.loads(inside.read(index.folder, known.file))) if known else None
        except (OSError, ValueError):
            found = None
        return found, str(known and known.metadata_url)

    def _tell(self, error: AnswerError, identity: str, said: Node) -> None:
        """Report what a page says and is not kept; what has a date was edited meanwhile, and comes next time."""
        if DCT + "modified" not in said and not self.crawl.records.is_listed(identity, EXCLUDED):
            error = AnswerError(error.kind, f"{error}: what one of them says is not kept")
            self.crawl.failed("list", error, dataset_id=identity)


def _with(whole: Graph | None, part: Graph, iri: str) -> Graph:
    """Return a description with a part of it.

    Args:
        whole: what is known of it; ``None`` if it was not kept, or has too many parts.

    Raises:
        AnswerError: the part is another version (duplicate_id), or too long (too_large).
    """
    if whole is None or contradicts(whole, part, iri):
        raise AnswerError("duplicate_id", f"{iri} is described on several pages in other ways")
    return joined(whole, part)


def _digest(written: Any) -> str:
    return hashlib.sha256(strict_json.dumps(written)).hexdigest()[:32]
