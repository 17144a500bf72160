"""What a failed request failed of, in one of `crawlers.causes.KINDS` and one sentence; and answers of bot checks."""

from __future__ import annotations

import gzip
import zlib
from traceback import walk_tb
from typing import TYPE_CHECKING, ClassVar

from scrapy.downloadermiddlewares.redirect import RedirectMiddleware
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.response import response_status_message

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure


class NotAsked(IgnoreRequest):
    """The root of this package's exceptions: its text is one sentence for the user.

    Attributes:
        kind: what it is in one word.
    """

    kind: ClassVar[str]


_KINDS: tuple[tuple[type[Exception], str, str], ...] = (
    (DownloadTimeoutError, "timeout", "no answer in time"),
    (CannotResolveHostError, "dns", "the host name can't be resolved"),
    (DownloadConnectionRefusedError, "connection", "the connection was refused"),
    (ResponseDataLossError, "truncated", "the connection ended before the whole answer had come"),
    (DownloadCancelledError, "too_large", "the answer is larger than DOWNLOAD_MAXSIZE"),
    (DownloadFailedError, "connection", "the connection failed"),
    (gzip.BadGzipFile, "truncated", "the answer can't be unpacked"),
    (zlib.error, "truncated", "the answer can't be unpacked"),
    (IgnoreRequest, "ignored", "the request was dropped"),
)

_WORDS = {
    "max redirections reached": "its redirects have no end, or more than REDIRECT_MAX_TIMES steps",
    "ParseError": "what came is not HTTP",
    "ConnectionLost": "the host broke it off",
    "ConnectionDone": "",
    "_DataLoss": "",
}
"""What Scrapy's words and Twisted's reasons mean."""

FAILURES: tuple[type[Exception], ...] = (AnswerError, *(known for known, _, _ in _KINDS))
"""What a download may raise, besides bugs."""
_MARKS = (b"not a robot", b"javascript is disabled", b"challenge-platform", b"captcha")
_HEADERS = ("x-amzn-waf-action", "cf-mitigated")
_PAGE_START = 64 * 1024


def from_failure(failure: Failure) -> AnswerError:
    """Return the failure as an exception with a ``kind`` and a human-readable sentence.

    Anything that is no known failure of a download is a bug, and keeps its own text.
    """
    return from_error(failure.value, getattr(failure, "request", None))


def from_error(error: BaseException | None, request: Request | None = None) -> AnswerError:
    """Return the same for an exception, and the request that raised it."""
    if isinstance(error, AnswerError):
        return error
    if isinstance(error, NotAsked):
        return AnswerError(error.kind, str(error))
    if isinstance(error, HttpError):
        return from_status(error.response)
    if isinstance(error, IgnoreRequest) and "DOWNLOAD_MAXSIZE" in str(error):  # so Scrapy refuses to decompress
        return AnswerError("too_large", "the answer is larger than DOWNLOAD_MAXSIZE when it is decompressed")
    for known, kind, sentence in _KINDS:
        if isinstance(error, known):
            detail = _detail(error)
            return AnswerError(kind, f"{sentence} ({detail})" if detail else sentence)
    found = _of_address(error, request) if isinstance(error, ValueError) else None
    return found or AnswerError("bug", f"{type(error).__name__}: {error}")


def _detail(error: Exception) -> str:
    """Return what an error says, in words: Scrapy puts Twisted's reasons into it as objects."""
    if isinstance(error, DownloadConnectionRefusedError):
        return ""
    reasons = [each.value for each in getattr(error.__cause__, "reasons", ())]
    if not reasons:
        return _WORDS.get(str(error), str(error))
    found = (_WORDS.get(type(each).__name__, _said(each)) for each in reasons)
    return "; ".join(dict.fromkeys(filter(None, found)))


def _said(error: BaseException) -> str:
    """Return an error's own text; OpenSSL's are lists of library, function and reason."""
    inner = error.args[0] if error.args else ""
    return "; ".join(str(each[-1]) for each in inner) if isinstance(inner, list) else str(error).rstrip(".")


def _of_address(error: ValueError, request: Request | None) -> AnswerError | None:
    """Return what is wrong with an address that can't be requested; ``None`` if the error is of something else."""
    makers = (frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__))
    if RedirectMiddleware.__module__ in makers or (request is not None and "redirect_urls" in request.meta):
        return AnswerError("http", "the redirect's address is invalid")  # the error names its parts
    if str(error).startswith("invalid hostname") or isinstance(error, UnicodeEncodeError):  # before it is asked for
        return AnswerError("dns", "the host name can't be resolved: it is none")
    return None


def from_status(response: Response) -> AnswerError:
    """Return an HTTP error: blocked if a firewall sent it, http otherwise."""
    check = challenge(response)
    if check:
        return AnswerError("blocked", check)
    part = next((f" {flag}" for flag in response.flags if flag.startswith("for ")), "")  # of a page in a browser
    return AnswerError("http", f"HTTP {response_status_message(response.status)}{part}")


def request(failure: Failure) -> Request:
    failed: Request = failure.request  # type: ignore[attr-defined]
    return failed


def status(failure: Failure) -> int | None:
    """Return the HTTP status of a failure, if it has one."""
    response = getattr(failure.value, "response", None)
    return getattr(response, "status", None)


def challenge(response: Response) -> str | None:
    """Return why the answer is a bot check instead of content; ``None`` if it is not one.

    AWS WAF challenges with 202 or 405 and ``x-amzn-waf-action``, Cloudflare with ``cf-mitigated``; others give a page.
    """
    for header in _HEADERS:
        if header in response.headers:
            return f"a firewall answered instead of the portal (HTTP {response.status}, {header})"
    if _is_html(response) and any(mark in _start(response).lower() for mark in _MARKS):
        return f"a robot check came instead of an answer (HTTP {response.status})"
    return None


def _is_html(response: Response) -> bool:
    content_type = (response.headers.get("Content-Type") or b"").lower()
    return b"html" in content_type or _start(response)[:256].lstrip().lower().startswith((b"<!doctype", b"<html"))


def _start(response: Response) -> bytes:
    """Return how its body begins, if that is on disk, too: such a response has a ``head``."""
    head: bytes = getattr(response, "head", response.body)
    return head[:_PAGE_START]
