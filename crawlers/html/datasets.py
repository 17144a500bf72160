"""Datasets' pages -> items."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from scrapy import Request

from crawlers import failures
from crawlers.exceptions import AnswerError
from crawlers.html import rdf
from crawlers.html.answer import page_of
from crawlers.html.links import canonical
from crawlers.html.walk import HTMLWalk
from crawlers.mapping.html import dataset, document, missing
from crawlers.rdf.formats import ACCEPT
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset


class HTMLDatasets(HTMLWalk):
    """The part of `HTMLSpider` that reads the datasets' pages."""

    def parse_dataset(self, response: Response, dataset_id: str) -> Iterator[Dataset | Request]:
        try:
            found, link = self.read(response)
        except AnswerError as error:
            self.not_read(error, response.request, dataset_id, response.status)
            return
        about: dict[str, Any] = {"dataset_id": dataset_id, "found": found, "validator": validator(response)}
        own = link and self.noticed(link, list_name="rdf", by=dataset_id)  # of several pages' RDF it is the catalogue
        if link and own:
            yield self.rdf_request(link, about)
        else:
            yield from self.guarded(self.items(response.request, **about), response, {"id": dataset_id})

    def read(self, response: Response) -> tuple[dict[str, Any], str | None]:
        """What a dataset's page says, and where its RDF is.

        Raises:
            AnswerError: it is no page, or the listing came instead.
        """
        if self.is_listing(response):
            raise AnswerError("missing_field", "the dataset's page leads back to the listing")
        page = page_of(response)
        found = document(page, self.site)
        wanted = self.site.rdf or "schema_org" not in found
        return found, rdf.link(page, self.site) if wanted else None

    def is_listing(self, response: Response) -> bool:
        if "redirect_urls" not in response.meta:
            return False
        drop = self.site.links.drop
        return canonical(response.url, drop) in {canonical(one, drop) for one in self.site.start}

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

    def parse_rdf(self, response: Response, **about: Any) -> Iterator[Dataset]:
        most = self.crawler.settings.getint("JSON_MAXSIZE")
        try:
            described = rdf.description(
                response, about["found"]["url"], source=self.source, most_json=most, of_many=bool(self.site.rdf)
            )
        except AnswerError as error:
            self.failed("parse", error, response.request, dataset_id=about["dataset_id"])
            described = None
        if described:
            about["found"]["rdf"] = described
        yield from self.guarded(self.items(response.request, **about), response, {"id": about["dataset_id"]})

    def rdf_failed(self, failure: Failure) -> Iterator[Dataset]:
        """What the page itself says is kept."""
        request = failures.request(failure)
        dataset_id = request.cb_kwargs["dataset_id"]
        status = failures.status(failure)
        self.failed("fetch", failures.of(failure), request, http_status=status, dataset_id=dataset_id)
        yield from self.items(request, **request.cb_kwargs)

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
        item.retrieved = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        self.crawler.stats.inc_value("catalogue/resources", len(item.resources))
        yield item

    def stamp(self, validator: str, found: dict[str, Any]) -> str:
        """The page's ETag or Last-Modified, and a digest of what these rules found on it."""
        read = hashlib.sha256(self.site.digest.encode() + strict_json.dumps(found)).hexdigest()[:16]
        return f"{validator}#{read}"


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


def validator(response: Response) -> str:
    """The header by which a later crawl may ask whether the page has changed; "" when it has none."""
    for name in ("ETag", "Last-Modified"):
        value = (response.headers.get(name) or b"").decode("latin-1").strip()
        if value:
            return value
    return ""
