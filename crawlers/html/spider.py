"""The spider of every catalogue that is HTML alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers import arguments, failures
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError
from crawlers.html.datasets import HTMLDatasets
from crawlers.html.walk import HTMLWalk
from crawlers.mapping.html import missing
from crawlers.safety import strict_json

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

    arguments: ClassVar[dict[str, Argument]] = HTMLWalk.arguments | {
        "since": Argument(
            help="last: only pages that have changed since they were read last.", parse=arguments.choice("last")
        ),
    }

    # What has not changed

    def dataset_request(self, link: Link, modified: str | None = None) -> Iterator[Request]:
        """
        Args:
            modified: the day the page last changed, if the listing says so.
        """
        known = self.opened_index().get("dataset", link.id, None) if self.args["since"] else None
        validator = (
            self.known_by(known.file, known.metadata_modified) if known and known.status != "withdrawn" else None
        )
        if known and validator is not None and modified and modified[:10] < known.seen[:10]:
            self.records.end(("dataset", link.id, None), "unchanged")
            return
        for request in super().dataset_request(link):
            yield _conditional(request, validator) if validator else request

    def known_by(self, file: str, stamp: str | None) -> str | None:
        """What the page on disk is known by; ``None`` when the document is not there, or not what these rules read."""
        try:
            document = strict_json.loads((self.folder / file).read_bytes())
        except (OSError, ValueError):
            return None
        known = (stamp or "").rpartition("#")[0]
        return known if stamp == self.stamp(known, document) else None

    @property
    def folder(self) -> Path:
        return self.opened_index().folder

    def parse_dataset(self, response: Response, dataset_id: str) -> Iterator[Dataset | Request]:
        if response.status == 304:
            self.records.end(("dataset", dataset_id, None), "unchanged")
        else:
            yield from super().parse_dataset(response, dataset_id)

    # What is gone

    def list_complete(self) -> Iterator[Request]:
        gone = [held for held in self.known() if not self.records.is_planned("dataset", held.dataset_id)]
        if not self.is_too_much(len(gone), sum(1 for _ in self.known())):
            self.whole_listing()
            for held in gone:
                yield self.gone_request(held)

    def known(self) -> Iterator[Held]:
        """The datasets on disk that are this catalogue's: another may be in the same folder."""
        for held in self.opened_index().held():
            if held.metadata_source in SOURCES and held.metadata_url and self.site.follows(held.metadata_url):
                yield held

    def gone_request(self, held: Held) -> Request:
        url = str(held.metadata_url)
        return self.page_request(url, held.dataset_id, self.parse_gone, self.gone_failed, dont_cache=True)

    def parse_gone(self, response: Response, dataset_id: str) -> None:
        """A page that still says what a dataset is: it is not gone, listed or not."""
        try:
            found, link = self.read(response)
        except AnswerError as error:
            if error.kind == "missing_field":
                self.withdraw(dataset_id, response.url)
            else:
                self.not_confirmed(dataset_id, error, response.request, response.status)
            return
        if not link and missing(found, self.site):
            self.withdraw(dataset_id, response.url)

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
