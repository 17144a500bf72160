"""Whether the portal accepts the API token: CKAN takes one that it does not know for none, and says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers import failures
from crawlers.ckan import api
from crawlers.ckan.lister import CKANLister
from crawlers.ckan.listing import Cursor
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ckan.lister import Found

_REFUSED = (
    "the portal does not accept the API token in {name}: it is wrong, expired or revoked. Private datasets are missing "
    "and nothing is withdrawn. Make a new token on your page of the portal, or unset {name}"
)


class CKANAccess(CKANLister):
    """The part of `CKANSpider` that knows whether the token is good.

    ``am_following_dataset`` needs a user, and no right of the user's: CKAN answers true or false to an accepted token,
    and 403 to any other. It needs a dataset that is there, so it is asked for when a list is complete, once.
    """

    def is_refused(self) -> bool:
        """Return whether the portal has said that it does not accept the token."""
        return bool(self.crawler.stats.get_value("catalogue/token") == "refused")

    def is_accepted(self) -> bool:
        """Return whether the portal has said that it accepts the token."""
        return bool(self.crawler.stats.get_value("catalogue/token") == "accepted")

    def needs_asking(self) -> bool:
        return self.has_token and self.crawler.stats.get_value("catalogue/token") is None

    def ask_about_token(self, after: Cursor) -> Request | None:
        """Return the question; ``None`` where nothing was listed."""
        listed = self.records.behind("", after.name, 1)
        if not listed:
            return None
        return self.ways[after.way].request(
            "am_following_dataset",
            {"id": listed[0]},
            callback=self.parse_token,
            errback=self.token_failed,
            cb_kwargs={"cursor": after.plain()},
            meta={"dont_cache": True},
            priority=1,
        )

    def parse_token(self, response: Response, cursor: dict[str, Any]) -> AsyncIterator[Found]:
        return self.settle_token(response, cursor)

    def token_failed(self, failure: Failure) -> AsyncIterator[Found]:
        response = failure.value.response if isinstance(failure.value, HttpError) else None
        return self.settle_token(response, failures.request(failure).cb_kwargs["cursor"])

    async def settle_token(self, response: Response | None, cursor: dict[str, Any]) -> AsyncIterator[Found]:
        """Take note of the answer, and go on with what waited for it."""
        said = self._answer(response)
        self.crawler.stats.set_value("catalogue/token", said)
        if said == "refused" and response is not None:
            message = _REFUSED.format(name=self.crawler.settings["API_TOKEN_ENV"])
            self.failed("start", AnswerError("refused", message), response.request, http_status=response.status)
        elif said == "unknown":
            self.logger.warning("%s does not say whether it accepts the API token", self.portal)
        async for found in self.list_complete(Cursor(**cursor)):
            yield found

    def _answer(self, response: Response | None) -> str:
        if response is None:
            return "unknown"
        if api.denies(response):
            return "refused"
        return "accepted" if api.succeeds(response) else "unknown"
