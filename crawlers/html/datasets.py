"""Datasets' pages -> items."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from scrapy import Request

from crawlers import failures
from crawlers.exceptions import AnswerError
from crawlers.html import rdf
from crawlers.html.answer import page_of
from crawlers.html.links import canonical, chosen, has_no_id
from crawlers.html.sitemaps import HTMLSitemaps
from crawlers.mapping.html import dataset, document, missing
from crawlers.moment import now
from crawlers.rdf.formats import ACCEPT
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.html.links import Link
    from crawlers.items import Dataset
    from crawlers.signals import Stage


class HTMLDatasets(HTMLSitemaps):
    """The part of `HTMLSpider` that reads the datasets' pages."""

    @property
    def encoding(self) -> str | None:
        return super().encoding or self.site.encoding

    def dataset_request(self, link: Link, modified: str | None = None) -> Iterator[Request]:
        request = self.page_request(link.url, link.id, self.parse_dataset, self.dataset_failed)
        yield request.replace(cb_kwargs={**request.cb_kwargs, "modified": modified}) if modified else request

    def page_request(self, url: str, dataset_id: str, callback: Any, errback: Any, **meta: Any) -> Request:
        """The request for a dataset's page."""
        if "datasets" in self.site.browser:
            meta["browser"] = {"kind": None, "times": 0}
        return Request(url, callback=callback, errback=errback, cb_kwargs={"dataset_id": dataset_id}, meta=meta)

    def dataset_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        dataset_id = request.cb_kwargs["dataset_id"]
        status = failures.status(failure)
        self.failed(
            "fetch", failures.of(failure), request, http_status=status, dataset_id=dataset_id, missing="dataset"
        )

    def parse_dataset(
        self, response: Response, dataset_id: str, modified: str | None = None
    ) -> Iterator[Dataset | Request]:
        try:
            found, link = self.read(response, dataset_id)
        except AnswerError as error:
            self.not_read(error, response.request, dataset_id, response.status)
            return
        about: dict[str, Any] = {"dataset_id": dataset_id, "found": found, "validator": validator(response, modified)}
        own = link and self.noticed(link, list_name="rdf", by=dataset_id)  # of several pages' RDF it is the catalogue
        if link and own:
            about["validator"] = ""  # the page's, which says nothing of its RDF
            yield self.rdf_request(link, about)
        else:
            yield from self.guarded(self.items(response.request, **about), response, {"id": dataset_id})

    def read(self, response: Response, dataset_id: str) -> tuple[dict[str, Any], str | None]:
        """What a dataset's page says, and where its RDF is.

        Raises:
            AnswerError: it is no page, or it leads elsewhere: to the listing, to a login.
        """
        if self.is_elsewhere(response, dataset_id):
            raise AnswerError("missing_field", f"the dataset's page leads to {response.url}, which is no dataset")
        page = page_of(response)
        found = document(page, self.site)
        wanted = self.site.rdf or "schema_org" not in found
        return found, rdf.link(page, self.site) if wanted else None

    def is_elsewhere(self, response: Response, dataset_id: str) -> bool:
        """Whether a redirect led to the listing, to no dataset's address, or to where another dataset's led."""
        if "redirect_urls" not in response.meta:
            return False
        here = canonical(response.url, self.site.links.drop)
        if here in {canonical(one, self.site.links.drop) for one in self.site.start}:
            return True
        if self.site.links.id or self.site.links.pattern:
            return not chosen([here], self.site) or has_no_id(here, self.site)
        return not self.noticed(here, list_name="landed", by=dataset_id)

    def not_read(self, error: AnswerError, request: Request | None, dataset_id: str, status: int | None = None) -> None:
        self.failed("parse", error, request, http_status=status, dataset_id=dataset_id, missing="dataset")

    # The RDF behind a page

    def rdf_request(self, link: str, about: dict[str, Any]) -> Request:
        return Request(
            link,
            headers={"Accept": ACCEPT},
            callback=self.parse_rdf,
            errback=self.rdf_failed,
            cb_kwargs=about,
            meta={"spool": True},
            priority=1,
        )

    async def parse_rdf(self, response: Response, **about: Any) -> AsyncIterator[Dataset]:
        most = self.crawler.settings.getint("JSON_MAXSIZE")
        try:
            described = await rdf.description(
                response, about["found"], source=self.source, most_json=most, of_many=bool(self.site.rdf)
            )
        except AnswerError as error:
            for item in self.without_rdf("parse", error, response.request, None, about):
                yield item
            return
        if described:
            about["found"]["rdf"] = described
        for item in self.guarded(self.items(response.request, **about), response, {"id": about["dataset_id"]}):
            yield item

    def rdf_failed(self, failure: Failure) -> Iterator[Dataset]:
        request, status = failures.request(failure), failures.status(failure)
        yield from self.without_rdf("fetch", failures.of(failure), request, status, request.cb_kwargs)

    def without_rdf(
        self, stage: Stage, error: AnswerError, request: Request | None, status: int | None, about: dict[str, Any]
    ) -> Iterator[Dataset]:
        """A document that is on disk stays as it is; without one, what the page itself says is kept."""
        known = self.opened_index().get("dataset", about["dataset_id"], None)
        kept = known is not None and known.status != "withdrawn"
        subject = {"dataset_id": about["dataset_id"], "missing": "dataset" if kept else None}
        self.failed(stage, error, request, http_status=status, **subject)
        if not kept:
            yield from self.items(request, **about)

    # The item

    def items(
        self, request: Request | None, *, dataset_id: str, found: dict[str, Any], validator: str
    ) -> Iterator[Dataset]:
        lacking = missing(found, self.site)
        if lacking:
            message = f"{found['url']} has no {' and no '.join(lacking)}, so it is not kept: look at the rules"
            self.not_read(AnswerError("missing_field", message), request, dataset_id)
            return
        item = dataset(found, source=self.source, id=dataset_id)
        item.name = _slug(found["url"], dataset_id)
        item.metadata_url = found["url"]
        item.metadata_modified = self.stamp(validator, found)
        item.retrieved = now()
        self.crawler.stats.inc_value("catalogue/resources", len(item.resources))
        yield item

    def stamp(self, validator: str, found: dict[str, Any]) -> str:
        """What the page is known by, whose it is, and a digest of what these rules found on it."""
        read = hashlib.sha256(self.site.digest.encode() + strict_json.dumps(found)).hexdigest()[:16]
        return f"{validator}#{self.owner}.{read}"

    @cached_property
    def owner(self) -> str:
        """What tells this catalogue's documents from another's in the same folder, however its rules change."""
        return hashlib.sha256("\n".join(sorted(self.site.start)).encode()).hexdigest()[:8]


def _slug(url: str, dataset_id: str) -> str | None:
    """The readable end of an address, for the file's name.

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
    """What tells a later crawl whether the page has changed: its sitemap's date, its ETag or Last-Modified, or ""."""
    values = [(response.headers.get(name) or b"").decode("latin-1").strip() for name in ("ETag", "Last-Modified")]
    return (f"lastmod={modified} " if modified and _is_past(modified) else "") + next(filter(None, values), "")


def _is_past(day: str) -> bool:
    """Whether a day is over everywhere: what changes again on the same day has the same date."""
    over = (datetime.now(UTC) - timedelta(days=2)).date().isoformat()
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d[^\s#]{0,30}", day)) and day[:10] < over
