"""What a declaration requests for each record: it is put into the record before that is kept."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.api import answers
from crawlers.kinds.api.expressions import Template
from crawlers.kinds.api.mapping import Reading
from crawlers.records.addresses import absolute
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.api.declaration import Follow
    from crawlers.kinds.api.query import APICrawl

    Output = Iterator[Dataset | Request]

_MOST_PAGES = 100
_MOST_RECORDS = 10_000
"""Resources of one record; see `crawlers.kinds.api.mapping`."""


class Followed:
    """Completes records, one request after another; what a request carries is plain data, so it survives a kill.

    A dataset with the stamp of its document on disk is not requested again: what was put into that is taken.
    """

    def __init__(self, crawl: APICrawl) -> None:
        self.crawl, self.query = crawl, crawl.query
        self.wanted = crawl.query.declaration.follow

    def complete(self, response: Response, record: Reading, allowed: int | None) -> Output:
        """Yield the item of a record, or the request for what it lacks.

        Args:
            allowed: how many of its resources the user's limit leaves; ``None`` for all.
        """
        item = self.crawl.item(record, allowed)
        if stored := self.stored(item):
            yield self.item({**record.record, **stored}, allowed)
        else:
            yield from self.next(response.url, {"record": record.record, "place": 0, "allowed": allowed})

    def item(self, record: dict[str, Any], allowed: int | None) -> Dataset:
        """Return the item of a record into which something was put."""
        return self.crawl.item(Reading(record, self.query.declaration), allowed)

    def stored(self, item: Dataset) -> dict[str, Any] | None:
        """Return what earlier crawls put into the document on disk, if its stamp is the record's."""
        documents = self.crawl.opened_index().documents
        known = documents.get("dataset", item.id, None)
        is_same = known and item.metadata_modified and known.metadata_modified == item.metadata_modified
        if not known or not is_same or known.status == "withdrawn" or not documents.is_intact(known):
            return None
        document = strict_json.of_file(documents.folder, known.file)
        names = [one.into for one in self.wanted if self.address(one, item.document, self.query.portal)]
        is_complete = isinstance(document, dict) and all(name in document for name in names)
        return {name: document[name] for name in names} if is_complete else None

    def next(self, url: str, asked: dict[str, Any]) -> Output:
        """Yield the next request that a record needs, or its item if it needs none.

        Args:
            url: of the last answer, to which addresses in the record are relative.
            asked: the record, and the place of the next of `wanted`.
        """
        for place in range(asked["place"], len(self.wanted)):
            address = self.address(self.wanted[place], asked["record"], url)
            if address:
                yield from self.ask(address, asked | {"place": place, "found": [], "pages": 0, "known": []})
                return
        yield self.item(asked["record"], asked["allowed"])

    def address(self, wanted: Follow, record: Any, url: str) -> str | None:
        return detail_address(wanted, Reading(record, self.query.declaration), self.query.portal, url)

    def ask(self, address: str, asked: dict[str, Any]) -> Output:
        """Yield the request for an address; the item as it is if that is at a host that is not the catalogue's."""
        try:
            self.query.check_host(address)
        except AnswerError as error:
            yield from self.lacking(error, None, None, asked)
            return
        yield Request(
            address,
            self.parse,
            errback=self.failed,
            headers=self.query.headers(),
            cb_kwargs={"asked": asked},
            priority=1,  # before the next page of the listing, so that few records wait
            dont_filter=True,
        )

    def parse(self, response: Response, asked: dict[str, Any]) -> Output:
        wanted = self.wanted[asked["place"]]
        try:
            document = self.crawl.document(response)
            found = detail(wanted, document)
            link = self.link(wanted, document, response)
            known = _known(asked, response.url, found, link)
        except AnswerError as error:
            yield from self.lacking(error, response.request, response.status, asked)
            return
        parts = found if isinstance(found, list) else [found]
        asked = asked | {"found": [*asked["found"], *parts], "pages": asked["pages"] + 1, "known": known}
        if link:
            yield from self.ask(link, asked)
            return
        value = asked["found"] if isinstance(found, list) else found
        record = asked["record"] | {wanted.into: value}
        yield from self.next(response.url, asked | {"record": record, "place": asked["place"] + 1})

    def link(self, wanted: Follow, document: Any, response: Response) -> str | None:
        """Return the address of the answer's next page; ``None`` if there is none.

        Raises:
            AnswerError: it can not be requested.
        """
        text = answers.text(document, wanted.next)
        found = absolute(text, response.url) if text else None
        if text and not found:
            raise AnswerError("paging", f"the link to the next page is not an address: {text[:200]!r}")
        return found

    def failed(self, failure: Failure) -> Output:
        request = failures.request(failure)
        error, response = failures.from_failure(failure), getattr(failure.value, "response", None)
        if response is not None and error.kind == "http":
            error = answers.worded(error, response.body, self.query.listing)
        yield from self.lacking(error, request, failures.status(failure), request.cb_kwargs["asked"])

    def lacking(self, error: AnswerError, request: Request | None, status: int | None, asked: dict[str, Any]) -> Output:
        """Report what a record lacks, and yield it: it replaces no document, and the next crawl requests it again."""
        record, wanted = asked["record"], self.wanted[asked["place"]]
        item = self.item(record, asked["allowed"])
        about = AnswerError(error.kind, f"{wanted.into} of the dataset can't be read: {error}")
        self.crawl.failed("fetch", about, request, http_status=status, dataset_id=item.id, dataset_title=item.title)
        item.metadata_modified, item.torn = None, True
        yield item


def detail_address(wanted: Follow, record: Reading, portal: str, url: str) -> str | None:
    """Return the address of what a record lacks; ``None`` if it needs nothing.

    Args:
        url: of the answer that has the record, to which addresses in it are relative.
    """
    if wanted.when and not wanted.when.find(record.record):
        return None
    if isinstance(wanted.url, Template):
        return wanted.url.address(record.names(portal))
    found = answers.text(record.record, wanted.url)
    return absolute(found, url) if found else None


def detail(wanted: Follow, document: Any) -> Any:
    """Return what is wanted of an answer.

    Raises:
        AnswerError: it is not there.
    """
    found = wanted.records.find(document)
    if found is None:
        raise AnswerError("refused", f"the answer has nothing at {wanted.records.text}")
    return found


def _known(asked: dict[str, Any], url: str, found: Any, link: str | None) -> list[str]:
    """Return digests of the addresses and the pages that have come for a record.

    Args:
        found: what the page has.
        link: the next page; ``None`` if this is the last.

    Raises:
        AnswerError: the next page, or this one, has come before; or there are more than any record has.
    """
    count = len(asked["found"]) + (len(found) if isinstance(found, list) else 1)
    here = [_digest(url), _digest(found)]
    if link is None:
        return []
    if _digest(link) in {*asked["known"], *here} or here[1] in asked["known"]:
        raise AnswerError("paging", f"the same pages come again after {asked['pages'] + 1}: {link[:200]}")
    if asked["pages"] + 1 >= _MOST_PAGES or count >= _MOST_RECORDS:
        message = f"after {asked['pages'] + 1} pages with {count} records there is still a next one: {link[:200]}"
        raise AnswerError("paging", message)
    return [*asked["known"], *here]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
