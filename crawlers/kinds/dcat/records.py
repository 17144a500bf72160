"""The records of a page as items: each dataset once, and an error line for what can't be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError
from crawlers.items import Flaw
from crawlers.kinds.dcat.walk_state import request_key
from crawlers.listing.crawl import remembering
from crawlers.safety import inside, strict_json
from crawlers.values.moment import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.kinds.dcat.page import Page, Record
    from crawlers.kinds.dcat.walk_state import Place
    from crawlers.listing.crawl import Crawl

MAX_NAMELESS = 1000
"""Records of a page without an id: no error line for each of millions."""
_LOST = Flaw("it lacks what the document on disk has, and a part of the file can't be read", "", "unreadable_statement")
_STEP = 10  # records between two moments in which their number is published


class PageRecords:
    """Makes items of the records of a page.

    Args:
        crawl: whose ledger says which datasets are known.
        catalogue: the catalogue's address.
        page: the page.
        response: the answer that has it.
        after: the place behind it, which counts its records.
    """

    def __init__(self, crawl: Crawl, catalogue: str, page: Page, response: Response, after: Place) -> None:
        self.crawl = crawl
        self.catalogue = catalogue
        self.page = page
        self.response = response
        self.after = after
        self.by = request_key(response, after)

    def items(self, record: Record) -> Iterator[Dataset]:
        """Count a record, and yield its item unless the record is known."""
        after, listing = self.after, self.after.listing
        listing.is_empty = False
        key = record.key or f"{self.response.url} {record.what}"
        is_new_here = not listing.branch or self.crawl.seen(key, list_name=listing.name, listed_by=self.by)
        if not self.crawl.seen(key, list_name="nodes", listed_by=self.by):
            is_another_catalogues = is_new_here and bool(listing.branch)
            listing.counted += is_another_catalogues
            listing.has_repeats |= not is_another_catalogues
            return
        after.listed += 1
        listing.counted += 1
        listing.stale = 0
        if after.listed % _STEP == 0:
            self.count()
        for item in self.crawl.guarded(self._item(record), self.response, {"id": record.id}):
            if self.crawl.limits.resources:  # else the record need not be mapped
                after.resources += len(item.resources)
            yield item

    def count(self) -> None:
        """Publish how many records were listed so far."""
        self.crawl.run_state.count_listed(self.after.listed)

    def report_faults(self) -> None:
        """Report what of the page could not be read, or had to be guessed; nothing that may lie behind a limit."""
        request, is_limited = self.response.request, self.crawl.run_state.is_limited
        for sentence in self.page.misread:
            self.crawl.failed("parse", AnswerError("repaired_text", sentence), request)
        for fault in self.page.faults:
            owner, is_flaw = self.page.owner(fault), self.page.costs_a_statement(fault)
            if is_limited and not (owner and self.crawl.records.is_planned("dataset", owner)):
                continue
            self.after.listing.has_gaps |= not is_flaw
            kind = "unreadable_statement" if is_flaw else "invalid_rdf"
            self.crawl.failed("parse", AnswerError(kind, fault.message), request, dataset_id=owner)

    def _item(self, record: Record) -> Iterator[Dataset]:
        """Yield the item, or report why the record is not kept.

        Raises:
            AnswerError: too many records of the page have no id; the rest of it is not read.
        """
        if record.id is None:
            self.page.nameless += 1
            if self.page.nameless > MAX_NAMELESS:
                message = f"more than {MAX_NAMELESS} records have no identifier: the rest of the page is not read"
                raise AnswerError("missing_id", message)
            self._report("missing_id", f"{record.what} has no identifier, so it is not kept")
            return
        with remembering(self.crawl):
            is_first = self.page.is_first(record.id)
        if not (is_first and self.crawl.expect("dataset", record.id, listed_by=self.by)):
            message = f"{record.what} has the identifier of another dataset, so it is not kept"
            self._report("duplicate_id", message, record.id)
            return
        try:
            dataset = record.item()
        except AnswerError as error:
            subject = {"dataset_id": record.id, "missing": "dataset"}
            self.crawl.failed("parse", error, self.response.request, **subject)
            return
        if self.page.is_torn and not dataset.torn and self._has_lost(dataset):
            dataset.torn = True
            dataset.flaws.append(_LOST)
        dataset.metadata_source = self.page.source
        # Withdrawals look at the catalogue's own pages: another catalogue that those name may be gone itself
        is_own_page = self.after.way == "page" and not self.after.listing.branch
        dataset.metadata_url = self.response.url if is_own_page else self.catalogue
        dataset.retrieved = now()
        yield dataset

    def _report(self, kind: str, message: str, dataset_id: str | None = None) -> None:
        self.crawl.failed("list", AnswerError(kind, message), self.response.request, dataset_id=dataset_id)

    def _has_lost(self, dataset: Dataset) -> bool:
        """Return whether the document on disk has statements that the new one lacks."""
        index = self.crawl.opened_index()
        known = index.documents.get("dataset", dataset.id, None)
        try:
            before = strict_json.loads(inside.read(index.folder, known.file)) if known else None
        except (OSError, ValueError):  # it will be written again
            return False
        return bool(before) and self.page.has_lost(dataset.document, before)
