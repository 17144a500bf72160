"""Datasets' pages -> items."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.html import own_fields
from crawlers.kinds.html.answer import page_of
from crawlers.kinds.html.links import canonical, chosen, has_no_id
from crawlers.kinds.html.mapping import dataset, document, missing
from crawlers.kinds.html.rdf import LinkedRDF
from crawlers.kinds.html.rdf import link as rdf_link
from crawlers.records.moment import now
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.html.links import Link
    from crawlers.kinds.html.rules import Rules
    from crawlers.listing.crawl import Crawl


class DatasetPages:
    """Requests and reads the datasets' pages; with ``since=last`` only those that have changed.

    The spider has it as an attribute: its callbacks are stored so.

    Args:
        own: the fields that the spider's class says in Python.
    """

    def __init__(self, crawl: Crawl, site: Rules, own: own_fields.Methods) -> None:
        self.crawl, self.site, self.own = crawl, site, own
        self.linked_rdf = LinkedRDF(crawl, site, self.items)

    # Requests

    def requests(self, link: Link, modified: str | None = None) -> Iterator[Request]:
        """Yield the request for a dataset's page, unless its sitemap's date shows that it has not changed.

        Args:
            modified: the day its page last changed, if the listing states it.
        """
        known = self.crawl.opened_index().documents.get("dataset", link.id, None) if self.crawl.args["since"] else None
        is_there = known is not None and known.status != "withdrawn"
        stamp = self._valid_stamp(known.file, known.metadata_modified) if known and is_there else ""
        dated, _, validator = stamp.partition(" ") if stamp.startswith("lastmod=") else ("", "", stamp)
        if modified and dated == f"lastmod={modified}":
            self._settle_unchanged(link.id)
            return
        request = self.request(link.url, link.id, self.parse_dataset, self.dataset_failed)
        if modified:
            request = request.replace(cb_kwargs={**request.cb_kwargs, "modified": modified})
        yield _conditional(request, validator) if validator else request

    def request(self, url: str, dataset_id: str, callback: Any, errback: Any, **meta: Any) -> Request:
        """Return the request for a dataset's page."""
        if "datasets" in self.site.browser:
            meta["browser"] = {"kind": None, "times": 0}
        return Request(url, callback=callback, errback=errback, cb_kwargs={"dataset_id": dataset_id}, meta=meta)

    def dataset_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        subject = {"dataset_id": request.cb_kwargs["dataset_id"], "missing": "dataset"}
        error, status = failures.from_failure(failure), failures.status(failure)
        self.crawl.failed("fetch", error, request, http_status=status, **subject)

    # What has not changed

    def _valid_stamp(self, file: str, stamp: str | None) -> str:
        """Return what identifies the version of the page on disk; "" if the file is gone, or other rules read it."""
        document, known = strict_json.of_file(self.crawl.opened_index().folder, file), (stamp or "").rpartition("#")[0]
        return known if stamp == self._stamp(known, document) else ""

    def _settle_unchanged(self, dataset_id: str) -> None:
        """Count a dataset as unchanged; what this run itself wrote before it was killed keeps its status."""
        index, records = self.crawl.opened_index(), self.crawl.records
        known = index.documents.get("dataset", dataset_id, None)
        if known:
            index.put("dataset", dataset_id, None, replace(known, seen=now("milliseconds")))
        is_written = known is not None and known.run == records.job.state.get("run")
        records.settle(("dataset", dataset_id, None), known.status if known and is_written else "unchanged")

    # Answers

    def parse_dataset(
        self, response: Response, dataset_id: str, modified: str | None = None
    ) -> Iterator[Dataset | Request]:
        if response.status == 304:
            self._settle_unchanged(dataset_id)
            return
        yield from self.crawl.guarded(self._read(response, dataset_id, modified), response, {"id": dataset_id})

    def _read(self, response: Response, dataset_id: str, modified: str | None) -> Iterator[Dataset | Request]:
        try:
            found, link = self.read(response, dataset_id)
        except AnswerError as error:
            _report_unread(self.crawl, error, response.request, dataset_id, response.status)
            return
        about: dict[str, Any] = {"dataset_id": dataset_id, "found": found, "validator": validator(response, modified)}
        if link and self.crawl.seen(link, list_name="rdf", listed_by=dataset_id):  # several pages' RDF: the catalogue's
            about["validator"] = ""  # it would be the page's, not its RDF's
            yield self.linked_rdf.request(link, about)
        else:
            yield from self.items(response.request, **about)

    def read(self, response: Response, dataset_id: str) -> tuple[dict[str, Any], str | None]:
        """Return the document of a dataset's page, and the address of its RDF.

        Raises:
            AnswerError: it is not an HTML page, or it redirects elsewhere: to the listing, to a login.
        """
        if self._is_elsewhere(response, dataset_id):
            raise AnswerError("missing_field", f"the dataset's page leads to {response.url}, which is no dataset")
        page = page_of(response)
        found = document(page, self.site)
        found["fields"] |= own_fields.read(self.own, page)
        needs_rdf = self.site.rdf or found.keys().isdisjoint(("schema_org", "rdf"))
        return found, rdf_link(page, self.site) if needs_rdf else None

    def _is_elsewhere(self, response: Response, dataset_id: str) -> bool:
        """Return whether a redirect led to the listing, to no dataset's address, or to another dataset's page."""
        if "redirect_urls" not in response.meta:
            return False
        here = canonical(response.url, self.site.links.drop)
        if here in {canonical(start, self.site.links.drop) for start in self.site.start}:
            return True
        if self.site.links.id or self.site.links.pattern:
            return not chosen([here], self.site) or has_no_id(here, self.site)
        return not self.crawl.seen(here, list_name="landed", listed_by=dataset_id)

    # The item

    def items(
        self, request: Request | None, *, dataset_id: str, found: dict[str, Any], validator: str
    ) -> Iterator[Dataset]:
        """Yield the item of a page's document; report a page that lacks a required field."""
        lacking = missing(found, self.site)
        if lacking:
            message = f"{found['url']} has no {' and no '.join(lacking)}, so it is not kept: look at the rules"
            _report_unread(self.crawl, AnswerError("missing_field", message), request, dataset_id)
            return
        item = dataset(found, source=self.crawl.source, id=dataset_id)
        item.name = _slug(found["url"], dataset_id)
        item.metadata_url = found["url"]
        item.metadata_modified = self._stamp(validator, found)
        item.retrieved = now()
        self.crawl.run_state.resources += len(item.resources)
        yield item

    def _stamp(self, validator: str, found: dict[str, Any]) -> str:
        """Return what identifies a page's version: its validator, the catalogue, a digest of what the rules found."""
        read = hashlib.sha256(self.site.digest.encode() + strict_json.dumps(found)).hexdigest()[:16]
        return f"{validator}#{self.owner}.{read}"

    @cached_property
    def owner(self) -> str:
        """What tells this catalogue's documents from another's in the same folder, however its rules change."""
        return hashlib.sha256("\n".join(sorted(self.site.start)).encode()).hexdigest()[:8]


def _report_unread(
    crawl: Crawl, error: AnswerError, request: Request | None, dataset_id: str, status: int | None = None
) -> None:
    crawl.failed("parse", error, request, http_status=status, dataset_id=dataset_id, missing="dataset")


def _conditional(request: Request, validator: str) -> Request:
    """Return the request on the condition that the page differs from the version on disk."""
    name = "If-None-Match" if validator.endswith('"') else "If-Modified-Since"
    meta = {**request.meta, "handle_httpstatus_list": [304], "dont_cache": True}
    return request.replace(headers={**request.headers, name: validator}, meta=meta)


def _slug(url: str, dataset_id: str) -> str | None:
    """Return the readable end of an address, for the file's name.

    >>> _slug("https://example.org/d/Street-trees.html", "https://example.org/d/street-trees.html")
    'Street-trees'
    >>> _slug("https://example.org/view.aspx?id=7", "7"), _slug("https://example.org/d/7", "7")
    (None, None)
    """
    parts = urlsplit(url)
    end = unquote(parts.path.rstrip("/").rpartition("/")[2]).partition(";")[0]
    name = re.sub(r"\.(s?html?|php|aspx?|jsp|do)$", "", end)
    return name if name and name != dataset_id and not parts.query else None


def validator(response: Response, modified: str | None) -> str:
    """Return what shows a later crawl whether the page has changed: sitemap's date, ETag or Last-Modified, or ""."""
    values = [(response.headers.get(name) or b"").decode("latin-1").strip() for name in ("ETag", "Last-Modified")]
    return (f"lastmod={modified} " if modified and _is_past(modified) else "") + next(filter(None, values), "")


def _is_past(day: str) -> bool:
    """Return whether a day is over everywhere: what changes again on the same day has the same date."""
    over = (datetime.now(UTC) - timedelta(days=2)).date().isoformat()
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d[^\s#]{0,30}", day)) and day[:10] < over
