"""The portal that is written to: CKAN's actions, one at a time, through the crawl's own downloader."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import CloseSpider
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.response import response_status_message

from crawlers.components.politeness import failures
from crawlers.components.politeness.failures import NotAsked
from crawlers.components.politeness.pace import Stopping
from crawlers.components.scrapy_internals import is_closing
from crawlers.exceptions import AnswerError, RefusedWriteError, UnclearWriteError
from crawlers.kinds.ckan import api

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlers.publish.record import Record, Schema

WRITES = (
    *("package_create", "package_patch", "package_update", "package_delete"),
    *("resource_create", "resource_patch", "resource_update", "resource_delete"),
    *("datastore_create", "datastore_upsert", "datastore_delete"),
)
"""The actions that get the write token, and no others."""
_READ_HEADERS = {
    "Accept": "application/json",
    "Cache-Control": "no-cache",
}  # a cache would give what was before a write
_WRITE_HEADERS = {"Accept": "application/json", "Content-Type": "application/json"}
_WRITE_META = {"dont_retry": True, "dont_redirect": True}
"""A write is not repeated blindly: it may have been done. A redirected one would take the token elsewhere."""


def write_addresses(portal: str) -> list[str]:
    """Return the addresses of a portal's write actions."""
    return [f"{portal}/api/3/action/{action}" for action in WRITES]


def is_stopping(crawler: Crawler) -> bool:
    """Return whether the run is being stopped, or has ended: nothing more can be sent."""
    return is_closing(crawler) or crawler.engine.spider is None


class Portal:
    """A CKAN portal.

    Attributes:
        resources: the ids of the resources that were asked for by dataset and name.
    """

    def __init__(self, crawler: Crawler, url: str) -> None:
        self.crawler = crawler
        self.url = url
        self.resources: dict[tuple[str, str], str] = {}
        self.api = api.ApiVariant(f"{url}/api/3/action")

    async def read(self, action: str, parameters: Mapping[str, Any]) -> Record | None:
        """Return the result of an action that reads; ``None`` if CKAN does not know the record, or does not show it.

        Args:
            parameters: lists and objects among them are sent as JSON.

        Raises:
            AnswerError: no result came, after all retries.
            CloseSpider: the run is being stopped; so says `write`, too.
        """
        simple = {name: value if isinstance(value, str) else json.dumps(value) for name, value in parameters.items()}
        request = self.api.request(action, simple, callback=NO_CALLBACK, dont_filter=True)
        request.headers.update(_READ_HEADERS)
        response = await self._download(request)
        if api.absence(response):
            return None
        if response.status >= 500:
            raise failures.from_status(response)
        return api.result(response)

    async def schema(self, kind: str) -> Schema:
        """Return the schema of the records of a type, as ckanext-scheming says; empty if the portal does not have it.

        Raises:
            AnswerError: the portal does not answer.
        """
        try:
            answer = await self.read("scheming_dataset_schema_show", {"type": kind})
        except AnswerError as error:
            if error.kind != "refused":
                raise
            answer = None
        declared, found = (answer or {}).get("dataset_fields"), {}
        for one in declared if isinstance(declared, list) else ():
            if isinstance(one, dict):
                choices = one.get("choices")
                among = choices if isinstance(choices, list) else []
                found[str(one.get("field_name"))] = [each.get("value") for each in among if isinstance(each, dict)]
        return found

    async def write(self, action: str, body: Mapping[str, Any]) -> None:
        """Do a write, once.

        Raises:
            RefusedWriteError: the portal refuses it.
            UnclearWriteError: it may have been done or not.
            AnswerError: it was not sent: the host is blocked, say.
        """
        url = f"{self.api.url}/{action}"
        about: dict[str, Any] = {"headers": _WRITE_HEADERS, "body": json.dumps(body), "meta": dict(_WRITE_META)}
        request = Request(url, NO_CALLBACK, method="POST", dont_filter=True, **about)
        try:
            response = await self._download(request)
        except UnsentError as error:
            raise AnswerError(error.kind, str(error)) from None
        except AnswerError as error:
            raise UnclearWriteError(error.kind, str(error)) from None
        _check_written(response)

    async def _download(self, request: Request) -> Response:
        """
        Raises:
            UnsentError: the request was not sent.
            AnswerError: no answer came.
            CloseSpider: the run is being stopped.
        """
        if is_stopping(self.crawler):
            raise CloseSpider("shutdown")
        try:
            return await self.crawler.engine.download_async(request)
        except Stopping:
            raise CloseSpider("shutdown") from None
        except NotAsked as error:
            raise UnsentError(error.kind, str(error)) from None
        except failures.FAILURES as error:
            raise failures.from_error(error) from None


class UnsentError(AnswerError):
    """A request was not sent, or refused before anything was done: the host is blocked, or asks to wait for hours."""


def _check_written(response: Response) -> None:
    if response.status < 300 and api.succeeds(response):
        return
    if 300 <= response.status < 400:
        to = (response.headers.get("Location") or b"").decode("latin-1")
        message = (
            f"the portal redirects writes to {to[:200]}: publish --to the address it means, for a POST is not sent on"
        )
        raise RefusedWriteError("http", message, response.status)
    words = api.refusal(response) if response.status < 500 and response.status != 429 else None
    if words:
        message = f"HTTP {response_status_message(response.status)}: {words}"
        raise RefusedWriteError("refused", message, response.status)
    error = failures.from_status(response)
    if 400 <= response.status < 500 and response.status not in (408, 429):
        raise RefusedWriteError(error.kind, str(error), response.status)
    if response.status < 300:
        raise UnclearWriteError("not_json", f"HTTP {response.status}, and no answer of CKAN's", response.status)
    raise UnclearWriteError(error.kind, str(error), response.status)
