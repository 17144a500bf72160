"""The records of a page as entries of a list and as items: each dataset once, an error line for what can't be kept."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.items import Flaw
from crawlers.kinds.dcat.page import identified
from crawlers.listing.crawl import remembering
from crawlers.listing.walk import Entry
from crawlers.records.moment import now
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.kinds.dcat.elsewhere import DelayedDataset, Elsewhere
    from crawlers.kinds.dcat.page import CataloguePage, PageRecord
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.walk import Walk

MAX_NAMELESS = 1000
"""Records of a page without an id: no error line for each of millions."""
_LOST = Flaw("it lacks what the document on disk has, and a part of the file can't be read", "", "unreadable_statement")
_STEP = 10  # records between two moments in which their number is published


class PageRecords:
    """Makes entries and items of the records of a page.

    Args:
        crawl: whose ledger says which datasets are known.
        page: the page.
        response: the answer that has it.
        walk: where the reading of its list stands before it.
        address: where its datasets are said to come from.
        elsewhere: takes what waits for other pages; ``None`` if there are none.
        is_torn: whether another page, of which it has a part, could not be read whole.

    Attributes:
        count: how many records the page has.
        new: how many of them no other page had.
        apart: how many are known from another list.
        has_repeats: whether the page has a dataset that another page of its list had.
        has_others: whether the page describes a dataset otherwise than an earlier one, which was reported.
        is_limited: whether the user wants no more.
        fault: why the rest of the page is not read.
    """

    def __init__(
        self,
        crawl: Crawl,
        page: CataloguePage,
        response: Response,
        walk: Walk[Any],
        elsewhere: Elsewhere | None,
        *,
        address: str,
        is_torn: bool = False,
    ) -> None:
        self.crawl, self.page, self.response, self.walk, self.elsewhere = crawl, page, response, walk, elsewhere
        self.address, self.is_torn = address, is_torn
        self.by = walk.key
        self.earlier, self.resources = walk.earlier + walk.listed, walk.resources
        self.count = self.new = self.apart = self.nameless = 0
        self.has_repeats = self.has_others = self.is_limited = False
        self.fault: AnswerError | None = None
        self.told: set[str] = set()

    def entries(self) -> Iterator[Entry]:
        """Yield the page's records, up to the user's limit; then count what is left to count, and report faults."""
        with remembering(self.crawl):
            for record in self.page.records():
                self.is_limited = self.is_enough()
                if self.is_limited:
                    break
                if record.is_mention and self._waits(record):
                    continue
                entry = self.entry(record)
                if self.fault:
                    break
                if entry:
                    yield entry
            if self.page.faults and self.elsewhere:
                self.elsewhere.note_torn(self.address, self.by)
        self.publish()
        self.report_faults()

    def is_enough(self) -> bool:
        """Return whether the user wants no more."""
        return self.crawl.limits.is_reached(datasets=self.earlier + self.new, resources=self.resources)

    def publish(self) -> None:
        """Publish how many records were listed so far."""
        self.crawl.run_state.count_listed(self.earlier + self.new)

    def outside(self, record: PageRecord) -> Iterator[Dataset]:
        """Yield the item of a record that no list has, unless it is known."""
        known = self.new
        entry = self.entry(record)
        if entry and self.new > known:
            if entry.id is not None:
                self.crawl.seen(entry.id, list_name=self.walk.name, listed_by=self.by)
                self.crawl.expect("dataset", entry.id, listed_by=self.by)
            yield from self.crawl.guarded(entry.reading(), self.response, entry.record)
        self.publish()

    def entry(self, record: PageRecord) -> Entry | None:
        """Return a record as an entry of the list, with the id under which it is kept.

        Of a known one that is the id which it has here, to tell pages apart; ``None`` if it had another one before.
        """
        self.count += 1
        key = record.key or f"{self.response.url} {record.what}"
        if not self.crawl.seen(key, list_name="nodes", listed_by=self.by):
            is_by_iri = record.iri and self.crawl.records.is_listed(record.iri, "by iri")
            identity = record.iri if is_by_iri else record.id
            self._count_known(record, key, identity)
            is_planned = identity is not None and self.crawl.records.is_planned("dataset", identity)
            return Entry(identity, {}) if is_planned else None
        self.new += 1
        if self.new % _STEP == 0:
            self.publish()
        identity, read, resources = self._identity(record), None, 0
        if self.crawl.limits.resources:  # else the record need not be mapped
            with suppress(Exception):  # which `item` reports
                read = record.item()
                resources = len(read.resources)
                self.resources += resources
        subject = {"id": record.id, "title": record.title, "key": key}
        return Entry(identity, subject, resources, partial(self.item, record, identity, read))

    def _waits(self, record: PageRecord) -> bool:
        """Return whether a dataset that is described in passing waits for the list of another page."""
        if self.page.faults or self.elsewhere is None:  # it may lack something
            return False
        with suppress(AnswerError, ValueError):
            self.elsewhere.mention(record, self.response.url, self.by)
            return True
        return False

    def _identity(self, record: PageRecord) -> str | None:
        """Return a new record's id: its IRI if its identifier is that of another dataset; ``None`` if both are."""
        if record.id is None:
            self.nameless += 1
            if self.nameless > MAX_NAMELESS:
                message = f"more than {MAX_NAMELESS} records have no identifier: the rest of the page is not read"
                self.fault = AnswerError("missing_id", message)
            return None
        for identity in dict.fromkeys(filter(None, (record.id, record.iri))):
            if self.page.is_first(identity) and self._is_free(identity):
                if identity != record.id:
                    self.crawl.seen(identity, list_name="by iri", listed_by=self.by)
                if self.crawl.limits.is_set:
                    self.told.add(identity)
                return identity
        return None

    def _is_free(self, identity: str) -> bool:
        """Return whether no other request's answer has a dataset of that id."""
        if not self.crawl.records.is_planned("dataset", identity):
            return True
        return self.crawl.records.listed_by(identity, self.walk.name) == self.by

    def _count_known(self, record: PageRecord, key: str, identity: str | None) -> None:
        """Count a record that another page had: of the same list, or of another one."""
        by = self.crawl.records.listed_by(key, "nodes") or ""
        if by.rpartition(" ")[0] == self.walk.name:
            self.has_repeats = True
            if self.walk.lap == 1 and self.elsewhere:
                with suppress(AnswerError, ValueError):
                    self.has_others |= self.elsewhere.later(record, self.address, self.by)
        elif identity and self.crawl.records.listed_by(identity, self.walk.name) in {None, self.by}:
            self.apart += 1

    # Items

    def item(self, record: PageRecord, identity: str | None, read: Dataset | None = None) -> Iterator[Dataset]:
        """Yield a record's item, or report why it is not kept.

        Args:
            read: the item, if it was made before.
        """
        if record.id is None:
            self._report("missing_id", f"{record.what} has no identifier, so it is not kept", None, record.title)
            return
        if identity is None:
            message = f"{record.what} has the identifier of another dataset, so it is not kept"
            self._report("duplicate_id", message, record.id, record.title)
            return
        try:
            dataset = read or record.item()
        except AnswerError as error:
            subject = {"dataset_id": identity, "missing": "dataset"}
            self.crawl.failed("parse", error, self.response.request, **subject)
            return
        if identity != record.id:
            identified(dataset, identity)
        if self._goes_on(record, identity, dataset):
            return
        if (self.is_torn or self.page.is_torn) and not dataset.torn and self._has_lost(dataset):
            dataset.torn = True
            dataset.flaws.append(_LOST)
        dataset.metadata_source = self.page.source
        dataset.metadata_url = self.address
        dataset.retrieved = now()
        yield dataset

    def _goes_on(self, record: PageRecord, identity: str, dataset: Dataset) -> bool:
        """Return whether a record waits, because its description may go on on another page."""
        if self.elsewhere is None:
            return False
        with suppress(ValueError):  # nested too deep, which is reported when it is written
            given = record, identity, dataset.document, self.address, self.by
            return self.elsewhere.first(*given, may_wait=not dataset.torn)
        return False

    def found(self, found: DelayedDataset) -> Iterator[Dataset]:
        """Yield the item of a dataset that waited for other pages, as they describe it."""
        yield from self.crawl.guarded(self.item(found.record, found.identity), self.response, {"id": found.identity})

    def _report(self, kind: str, message: str, dataset_id: str | None, title: str | None = None) -> None:
        subject = {"dataset_id": dataset_id, "dataset_title": title}
        self.crawl.failed("list", AnswerError(kind, message), self.response.request, **subject)

    def _has_lost(self, dataset: Dataset) -> bool:
        """Return whether the document on disk has statements that the new one lacks."""
        index = self.crawl.opened_index()
        known = index.documents.get("dataset", dataset.id, None)
        before = strict_json.of_file(index.folder, known.file) if known else None  # else it will be written again
        return bool(before) and self.page.has_lost(dataset.document, before)

    # Faults

    def report_faults(self) -> None:
        """Report what of the page could not be read, or had to be guessed; nothing that may lie behind a limit."""
        request = self.response.request
        for sentence in self.page.misread:
            self.crawl.failed("parse", AnswerError("repaired_text", sentence), request)
        for fault in self.page.faults:
            owner, is_flaw = self.page.owner(fault), self.page.costs_a_statement(fault)
            if self.is_limited and owner not in self.told:
                continue
            kind = "unreadable_statement" if is_flaw else "invalid_rdf"
            self.crawl.failed("parse", AnswerError(kind, fault.message), request, dataset_id=owner)

    @property
    def gaps(self) -> int:
        """How many faults may have cost more than a statement of a dataset."""
        return sum(not self.page.costs_a_statement(fault) for fault in self.page.faults)
