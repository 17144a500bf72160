"""Failures of a browser, as the exceptions that Scrapy's retries and `crawlers.components.politeness.failures` know."""

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


_NOT_NETWORK = (
    *("ERR_ABORTED", "ERR_BLOCKED_BY", "ERR_NAME_NOT_RESOLVED", "ERR_FILE_NOT_FOUND", "ERR_INVALID_URL"),
    *("ERR_UNKNOWN_URL_SCHEME", "ERR_DISALLOWED_URL_SCHEME", "ERR_UNSAFE_PORT", "ERR_TOO_MANY_REDIRECTS"),
)
"""Failures that the guard or the page itself causes: only names that are pinned are resolved."""


class BrowserError(CrawlersError):
    """No browser is installed, or no Playwright to drive it; raised by `enable`, before any request."""


class ForeignHostError(AnswerError, IgnoreRequest):
    """The browser was led to a host that is none of the spider's ``allowed_domains``; nothing was sent there."""

    def __init__(self, url: str) -> None:
        super().__init__("offsite", f"the page leads to {url}, which is on no host of this catalogue")


def is_network_failure(failure: str) -> bool:
    """Return whether the network failed, not the guard or the page, so that a retry may succeed.

    >>> is_network_failure("net::ERR_CONNECTION_RESET"), is_network_failure("net::ERR_BLOCKED_BY_CLIENT")
    (True, False)
    """
    return failure.startswith("net::") and not failure.removeprefix("net::").startswith(_NOT_NETWORK)


def from_message(message: str) -> Exception:
    r"""Return the exception for what Playwright reports of a failed load.

    >>> from_message("Page.goto: net::ERR_CONNECTION_REFUSED at http://x/\nCall log: ...")
    DownloadConnectionRefusedError('net::ERR_CONNECTION_REFUSED at http://x/')
    >>> from_message("Page.content: Target crashed")
    DownloadFailedError('Target crashed')
    """
    first = message.strip().partition("\n")[0].removeprefix("Error: ")
    head, _, rest = first.partition(": ")
    sentence = rest if "." in head and " " not in head else first
    for code, exception in _KNOWN:
        if f"net::{code}" in sentence:
            return exception(sentence)
    return DownloadFailedError(sentence)
