"""Whether the portal accepts the API token: CKAN ignores one that it does not know, without a word."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.cursor import Cursor
from crawlers.listing.confirmation import flat
from crawlers.politeness import failures

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.ckan.listing import Found
    from crawlers.kinds.ckan.spider import CKANSpider

_REFUSED = (
    "the portal does not accept the API token in {name}: it is wrong, expired or revoked. Private datasets are missing "
    "and nothing is withdrawn. Make a new token on your page of the portal, or unset {name}"
)


class Access:
    """Asks the portal once, when a list is complete or some of it is to be asked for, whether it accepts the token.

    ``am_following_dataset`` needs a user, and no right of the user's: CKAN answers true or false to an accepted token,
    and 403 to any other. It needs a dataset that exists, so a listed one is used that has a record.
    """

    def __init__(self, spider: CKANSpider) -> None:
        self.spider = spider

    @property
    def is_refused(self) -> bool:
        """Whether the portal has said that it does not accept the token."""
        return self.spider.run_state.access == "refused"

    @property
    def is_accepted(self) -> bool:
        """Whether the portal has said that it accepts the token."""
        return self.spider.run_state.access == "accepted"

    def question(self, after: Cursor) -> Request | None:
        """Return the request that asks; ``None`` without a token, after an answer, or where nothing was listed."""
        if not self.spider.has_token or self.spider.run_state.access is not None:
            return None
        records, name = self.spider.records, Cursor(**after.instead_of).name if after.instead_of else after.name
        listed = list(islice(records.listed(name, without="changed"), 1)) or records.behind("", name, 1)
        if not listed:
            return None
        return self.spider.variants[after.variant].request(
            "am_following_dataset",
            {"id": listed[0]},
            callback=self.parse,
            errback=self.failed,
            cb_kwargs={"cursor": after.plain()},
            meta={"dont_cache": True},
            priority=1,
        )

    def parse(self, response: Response, cursor: dict[str, Any]) -> AsyncIterator[Found]:
        return self.settle(response, cursor)

    def failed(self, failure: Failure) -> AsyncIterator[Found]:
        response = failure.value.response if isinstance(failure.value, HttpError) else None
        return self.settle(response, failures.request(failure).cb_kwargs["cursor"])

    def settle(self, response: Response | None, cursor: dict[str, Any]) -> AsyncIterator[Found]:
        """Note the answer, and continue with what waited for it."""
        spider, answer = self.spider, _meaning(response)
        spider.run_state.access = answer
        if answer == "refused" and response is not None:
            message = _REFUSED.format(name=spider.crawler.settings["API_TOKEN_ENV"])
            spider.failed("start", AnswerError("refused", message), response.request, http_status=response.status)
        elif answer == "unknown":
            spider.logger.warning("%s does not say whether it accepts the API token", spider.portal)
        after = Cursor(**cursor)
        return flat(spider.ghosts.explain(after)) if after.instead_of else spider.list_complete(after)


def _meaning(response: Response | None) -> str:
    """Return what an answer says of the token: accepted, refused or unknown."""
    if response is None:
        return "unknown"
    if api.denies(response):
        return "refused"
    return "accepted" if api.succeeds(response) else "unknown"
