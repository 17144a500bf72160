"""The spider of every catalogue that is HTML alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers import arguments, failures
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError
from crawlers.html.datasets import HTMLDatasets
from crawlers.html.links import canonical
from crawlers.html.links import dataset_id as identified
from crawlers.html.walk import HTMLWalk
from crawlers.index import listing, scope
from crawlers.mapping.html import missing
from crawlers.moment import now
from crawlers.safety import inside, strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.html.links import Link
    from crawlers.index import Held
    from crawlers.items import Dataset

SOURCES = ("html", "schema_org", "rdf", "schema_org+html", "rdf+html")
"""The ``metadata_source`` of a record that began with a page."""
_GONE = (404, 410)


class HTMLSpider(HTMLDatasets):
    """A catalogue of HTML pages, read by a rules file.

    #. Write the rules, or let `scrapy learn` do it; try them with `scrapy try`.
    #. ``scrapy crawl html -a rules=FILE``; or inherit from this class in a module of its own in ``spiders/``, and set
       ``name`` and ``rules``.

    With ``-a since=last`` a dataset's page is asked for only if it has changed, by its ETag, its Last-Modified or its
    sitemap's date. What a whole listing lacks is asked for by itself, and withdrawn when it is not there either.
    """

    asks_again_by_address = True  # so the addresses of pages are stored as they are
    arguments: ClassVar[dict[str, Argument]] = HTMLWalk.arguments | {
        "since": Argument(
            help="last: only pages that have changed since they were read last.", parse=arguments.choice("last")
        ),
    }

    # What has not changed

    def dataset_request(self, link: Link, modified: str | None = None) -> Iterator[Request]:
        known = self.opened_index().get("dataset", link.id, None) if self.args["since"] else None
        there = known is not None and known.status != "withdrawn"
        stamp = self.known_by(known.file, known.metadata_modified) if known and there else ""
        dated, _, validator = stamp.partition(" ") if stamp.startswith("lastmod=") else ("", "", stamp)
        if modified and dated == f"lastmod={modified}":
            self.still_there(link.id)
            return
        for request in super().dataset_request(link, modified):
            yield _conditional(request, validator) if validator else request

    def known_by(self, file: str, stamp: str | None) -> str:
        """What the page on disk is known by; nothing when the document is not there, or not what these rules read."""
        try:
            document = strict_json.loads(inside.read(self.folder, file))
        except (OSError, ValueError):
            return ""
        known = (stamp or "").rpartition("#")[0]
        return known if stamp == self.stamp(known, document) else ""

    @property
    def folder(self) -> Path:
        return self.opened_index().folder

    def parse_dataset(
        self, response: Response, dataset_id: str, modified: str | None = None
    ) -> Iterator[Dataset | Request]:
        if response.status == 304:
            self.still_there(dataset_id)
        else:
            yield from super().parse_dataset(response, dataset_id, modified)

    def still_there(self, dataset_id: str) -> None:
        """What this run wrote before it was killed is no less new for being found unchanged now."""
        index = self.opened_index()
        known = index.get("dataset", dataset_id, None)
        if known:
            index.put("dataset", dataset_id, None, replace(known, seen=now("milliseconds")))
        written = known is not None and known.run == self.records.job.state.get("run")
        self.records.end(("dataset", dataset_id, None), known.status if known and written else "unchanged")

    # What is gone

    def list_complete(self) -> Iterator[Request]:
        known, gone = 0, []
        for known, held in enumerate(self.known(), 1):  # noqa: B007  # how many there are
            if not self.records.is_planned("dataset", held.dataset_id):
                gone.append(held)
        if self.is_too_much(len(gone), known):
            return
        self.whole_listing()
        for held in gone:
            if self.is_another(str(held.metadata_url), held.dataset_id):
                self.withdraw(held.dataset_id, str(held.metadata_url))
            else:
                yield self.gone_request(held)

    def known(self) -> Iterator[Held]:
        """The datasets on disk that are this catalogue's: another may be in the same folder."""
        for held in self.opened_index().held():
            own = f"#{self.owner}." in (held.metadata_modified or "")
            if own and held.metadata_url and held.metadata_source in SOURCES:
                yield held

    def is_another(self, url: str, dataset_id: str) -> bool:
        """Whether an address is that of a dataset that is listed, by another id."""
        now = identified(canonical(url, self.site.links.drop), self.site)
        return now != dataset_id and self.records.is_planned("dataset", now)

    def gone_request(self, held: Held) -> Request:
        url = str(held.metadata_url)
        return self.page_request(url, held.dataset_id, self.parse_gone, self.gone_failed, dont_cache=True)

    def parse_gone(self, response: Response, dataset_id: str) -> None:
        """A page that still says what a dataset is: it is not gone, listed or not."""
        if self.is_another(response.url, dataset_id):
            self.withdraw(dataset_id, response.url)
            return
        try:
            found, link = self.read(response, dataset_id)
        except AnswerError as error:
            if error.kind == "missing_field":
                self.withdraw_later(dataset_id, response.url)
            else:
                self.not_confirmed(dataset_id, error, response.request, response.status)
            return
        if not link and not found.get("flaws") and missing(found, self.site):
            self.withdraw_later(dataset_id, response.url)

    def withdraw_later(self, dataset_id: str, url: str) -> None:
        """Something answers in its place, which may be a night's maintenance: the next whole listing decides."""
        known = self.opened_index().get("dataset", dataset_id, None)
        last = self.opened_index().last_complete(listing(scope(self.name, self.given)))
        if known and last and known.seen < last:
            self.withdraw(dataset_id, url)
        else:
            self.logger.info("%s is gone; if the next whole listing lacks it too, it is withdrawn", url)

    def gone_failed(self, failure: Failure) -> None:
        request, status = failures.request(failure), failures.status(failure)
        dataset_id = request.cb_kwargs["dataset_id"]
        if isinstance(failure.value, HttpError) and status in _GONE:
            self.withdraw(dataset_id, request.url)
        else:
            self.not_confirmed(dataset_id, failures.of(failure), request, status)

    def not_confirmed(self, dataset_id: str, error: AnswerError, request: Any, status: int | None) -> None:
        message = f"the dataset is no longer listed, and its page does not say that it is gone: {error}"
        self.failed("fetch", AnswerError(error.kind, message), request, http_status=status, dataset_id=dataset_id)


def _conditional(request: Request, validator: str) -> Request:
    """Asks for the page on the condition that it is not the one on disk."""
    name = "If-None-Match" if validator.endswith('"') else "If-Modified-Since"
    meta = {**request.meta, "handle_httpstatus_list": [304], "dont_cache": True}
    return request.replace(headers={**request.headers, name: validator}, meta=meta)
