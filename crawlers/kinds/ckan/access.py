"""Whether the portal accepts the API token: CKAN ignores one that it does not know, without a word."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.dialect import Ask
from crawlers.listing.crawl import callback
from crawlers.listing.walk import Walk, restored

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.ckan.dialect import Output, PackageCrawl

_REFUSED = (
    "the portal does not accept the API token in {name}: it is wrong, expired or revoked. Private datasets are missing "
    "and nothing is withdrawn. Make a new token on your page of the portal, or unset {name}"
)


class Access:
    """Asks the portal once, when a list is complete or some of it is to be asked for, whether it accepts the token.

    ``am_following_dataset`` needs a user, and no right of the user's: CKAN answers true or false to an accepted token,
    and 403 to any other. It needs a dataset that exists, so a listed one is used that has a record.

    Args:
        then: yields what waited for the answer, behind a list.
    """

    def __init__(self, crawl: PackageCrawl, then: Callable[[Walk[Ask]], Output]) -> None:
        self.crawl = crawl
        self.then = then

    @property
    def is_refused(self) -> bool:
        """Whether the portal has said that it does not accept the token."""
        return self.crawl.run_state.access == "refused"

    @property
    def is_accepted(self) -> bool:
        """Whether the portal has said that it accepts the token."""
        return self.crawl.run_state.access == "accepted"

    def question(self, walk: Walk[Ask]) -> Request | None:
        """Return the request that asks; ``None`` without a token, after an answer, or where nothing was listed."""
        if not self.crawl.api.has_token or self.crawl.run_state.access is not None:
            return None
        records, name = self.crawl.records, "datasets" if walk.ask.instead_of else walk.name
        listed = list(islice(records.listed(name, without="changed"), 1)) or records.behind("", name, 1)
        if not listed:
            return None
        return self.crawl.api.variants[walk.ask.variant].request(
            "am_following_dataset",
            {"id": listed[0]},
            callback=self.parse,
            errback=self.failed,
            cb_kwargs={"walk": walk.plain()},
            meta={"dont_cache": True},
            priority=1,
        )

    @callback
    def parse(self, response: Response, walk: dict[str, Any]) -> Output:
        return self.settle(response, walk)

    @callback
    def failed(self, failure: Failure) -> Output:
        response = failure.value.response if isinstance(failure.value, HttpError) else None
        return self.settle(response, failures.request(failure).cb_kwargs["walk"])

    def settle(self, response: Response | None, walk: dict[str, Any]) -> Output:
        """Note the answer, and continue with what waited for it."""
        answer = _meaning(response)
        self.crawl.run_state.access = answer
        if answer == "refused" and response is not None:
            message = _REFUSED.format(name=self.crawl.crawler.settings["API_TOKEN_ENV"])
            self.crawl.failed("start", AnswerError("refused", message), response.request, http_status=response.status)
        elif answer == "unknown":
            self.crawl.logger.warning("%s does not say whether it accepts the API token", self.crawl.api.portal)
        return self.then(restored(walk, Ask))


def _meaning(response: Response | None) -> str:
    """Return what an answer says of the token: accepted, refused or unknown."""
    if response is None:
        return "unknown"
    if api.denies(response):
        return "refused"
    return "accepted" if api.succeeds(response) else "unknown"
