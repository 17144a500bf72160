"""What goes wrong in a browser, as the exceptions that Scrapy's retries and `crawlers.failures` know."""

from __future__ import annotations

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)

from crawlers.exceptions import AnswerError, CrawlersError

_KNOWN: tuple[tuple[str, type[Exception]], ...] = (
    ("ERR_NAME_NOT_RESOLVED", CannotResolveHostError),
    ("ERR_CONNECTION_REFUSED", DownloadConnectionRefusedError),
    ("ERR_TIMED_OUT", DownloadTimeoutError),
    ("ERR_CONNECTION_TIMED_OUT", DownloadTimeoutError),
    ("ERR_CONTENT_LENGTH_MISMATCH", ResponseDataLossError),
    ("ERR_INCOMPLETE_CHUNKED_ENCODING", ResponseDataLossError),
)
"""https://source.chromium.org/chromium/chromium/src/+/main:net/base/net_error_list.h"""


_OWN = (
    *("ERR_ABORTED", "ERR_BLOCKED_BY", "ERR_NAME_NOT_RESOLVED", "ERR_FILE_NOT_FOUND", "ERR_INVALID_URL"),
    *("ERR_UNKNOWN_URL_SCHEME", "ERR_DISALLOWED_URL_SCHEME", "ERR_UNSAFE_PORT", "ERR_TOO_MANY_REDIRECTS"),
)
"""What the guard, or the page itself, is the cause of: only names that are pinned are resolved."""


class BrowserError(CrawlersError):
    """There is no browser, or no Playwright to drive it; raised by `enable`, before any request."""


class ForeignHostError(AnswerError, IgnoreRequest):
    """The browser was led to a host that is none of the spider's ``allowed_domains``; nothing was sent there."""

    def __init__(self, url: str) -> None:
        super().__init__("offsite", f"the page leads to {url}, which is on no host of this catalogue")


def is_the_networks(failure: str) -> bool:
    """Whether something failed that the guard and the page had no part in, so that it may come the next time.

    >>> is_the_networks("net::ERR_CONNECTION_RESET"), is_the_networks("net::ERR_BLOCKED_BY_CLIENT")
    (True, False)
    """
    return failure.startswith("net::") and not failure.removeprefix("net::").startswith(_OWN)


def of(message: str) -> Exception:
    r"""What Playwright says of a failed load.

    >>> of("Page.goto: net::ERR_CONNECTION_REFUSED at http://x/\nCall log: ...")
    DownloadConnectionRefusedError('net::ERR_CONNECTION_REFUSED at http://x/')
    >>> of("Page.content: Target crashed")
    DownloadFailedError('Target crashed')
    """
    first = message.strip().partition("\n")[0].removeprefix("Error: ")
    head, _, rest = first.partition(": ")
    sentence = rest if "." in head and " " not in head else first
    for code, known in _KNOWN:
        if f"net::{code}" in sentence:
            return known(sentence)
    return DownloadFailedError(sentence)
