"""What a spider knows after a request about a file: the captures, one for each resource that links the address."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from functools import wraps
from typing import TYPE_CHECKING, Any, TypedDict

from scrapy.exceptions import CloseSpider

from crawlers.archive import findings
from crawlers.archive.download import RANGE, UNTRUSTED
from crawlers.archive.freshness import fresh_until
from crawlers.archive.names import readable
from crawlers.archive.targets import AddressError, Subject, utc
from crawlers.items import Capture
from crawlers.safety.redact import one_line, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.http import Headers, Response

    from crawlers.archive.download import FileResponse
    from crawlers.archive.findings import Finding

logger = logging.getLogger(__name__)

NOT_TRUSTED = "certificate not trusted"
_HEADERS = 16 * 1024  # bytes of an answer's headers that a capture has
_SECRET = (
    *("set-cookie", "set-cookie2", "www-authenticate", "proxy-authenticate"),
    *("cookie", "authorization", "proxy-authorization"),
)


class Asked(TypedDict):
    """What a request is about; travels with it as JSON.

    Attributes:
        subjects: the resources whose file it is, each as the list of a `Subject`'s fields.
        origin: the page that links it, if the catalogue links only that page.
        request_type: as `Capture` has it.
    """

    subjects: list[list[str | None]]
    origin: str | None
    request_type: str


def leaves_a_capture(
    callback: Callable[..., Iterator[Any] | AsyncIterator[Any]],
) -> Callable[..., AsyncIterator[Any]]:
    """Return a callback of an object that has `Looks`, which leaves a capture of the file whatever happens in it.

    Args:
        callback: called with an answer or a failure, and with what was asked.
    """

    @wraps(callback)
    async def answered(self: Any, answer: Any, asked: Asked, **more: Any) -> AsyncIterator[Any]:
        looks: Looks = self.looks
        try:
            found = callback(self, answer, asked, **more)
            if isinstance(found, AsyncIterator):
                async for one in found:
                    yield one
            else:
                for one in found:
                    yield one
        except CloseSpider:
            raise
        except AddressError as error:
            for one in looks.unasked(asked, error):
                yield one
        except Exception as error:  # a file without a capture would be missing silently
            logger.exception("A file is kept in no state, and asked for again in the next run: please report this")
            for one in looks.failed_here(asked, error):
                yield one

    return answered


class Looks:
    """Makes the captures of an archive.

    Args:
        source: the archive's name.
        mode: archive or check.
    """

    def __init__(self, source: str, mode: str) -> None:
        self.source = source
        self.mode = mode

    def captures(
        self, asked: Asked, meaning: Finding, response: Response | None = None, **given: Any
    ) -> Iterator[Capture]:
        """Yield a capture for each resource whose file was asked for.

        Args:
            asked: what the request was about.
            meaning: what was found.
            response: the answer, if there was one.
            given: more fields of the captures.
        """
        known = {"request_type": asked["request_type"], "origin": asked["origin"], "error": meaning.error}
        untrusted = response.request.meta.get(UNTRUSTED) if response is not None and response.request else None
        if untrusted:
            found = (given.get("finding"), f"{NOT_TRUSTED}: {untrusted}")
            given["finding"] = "; ".join(filter(None, found))
        known |= _answer(response) if response is not None else {}
        disposition = header(response, "Content-Disposition") if response is not None else None
        for dataset_id, resource_id, url, title, format_ in asked["subjects"]:
            yield Capture(
                source=self.source,
                dataset_id=str(dataset_id),
                resource_id=str(resource_id),
                url=str(url),
                title=title,
                format=format_,
                mode=self.mode,  # type: ignore[arg-type]
                state=meaning.state,
                status=meaning.status,
                is_broken=meaning.is_broken,
                name=readable(response.url if response is not None else str(url), disposition, title),
                **(known | given),
            )

    def unasked(self, asked: Asked, error: AddressError) -> Iterator[Capture]:
        """Yield the captures of an address that can't be asked."""
        yield from self.captures(asked, findings.CAUSES[error.cause], reason=str(error))

    def failed_here(self, asked: Asked, error: Exception) -> Iterator[Capture]:
        """Yield the captures of a file whose answer this project's own code could not deal with."""
        reason = f"this project's own code failed ({one_line(f'{type(error).__name__}: {error}')[:200]})"
        yield from self.captures(asked, findings.CAUSES["bug"], reason=redact(reason))

    def kept(self, asked: Asked, response: FileResponse, **seen: Any) -> Iterator[Capture]:
        """Yield the captures of a file that came whole."""
        file = response.file
        assert file is not None  # noqa: S101  # the caller has looked into it
        for capture in self.captures(asked, findings.CAUSES["kept"], response, **seen):
            capture.sha256, capture.md5, capture.size, capture.body = file.sha256, file.md5, file.size, file
            capture.fresh_until = _fresh_until(capture)
            yield capture

    def not_modified(self, asked: Asked, response: Response, held: Capture) -> Iterator[Capture]:
        """Yield the captures of a file that is still the one we hold."""
        for capture in self.captures(asked, findings.CAUSES["unchanged"], response):
            given = (capture.etag, capture.last_modified)
            for name in ("media_type", *findings.OF_THE_BLOB):
                setattr(capture, name, getattr(held, name))
            capture.etag, capture.last_modified = given[0] or held.etag, given[1] or held.last_modified
            capture.fresh_until = _fresh_until(capture)
            yield capture

    def too_large(self, asked: Asked, response: Response, limit: int) -> Iterator[Capture]:
        """Yield the captures of a file that is not taken, with its size as the server declares it."""
        size = getattr(response, "declared_size", None)
        what = f"{size} bytes, more" if size else "more bytes"
        reason = f"the file has {what} than ARCHIVE_MAX_SIZE ({limit}), so it is not kept"
        yield from self.captures(asked, findings.CAUSES["too_large"], response, reason=reason, size=size)


def asked_about(subjects: list[Subject], origin: str | None = None, request_type: str = "file") -> Asked:
    """Return what a request is about."""
    return Asked(subjects=[list(subject) for subject in subjects], origin=origin, request_type=request_type)


def subjects_of(asked: Asked) -> list[Subject]:
    """Return the resources that a request is about."""
    return [Subject(*subject) for subject in asked["subjects"]]  # type: ignore[arg-type]


def redirects(request: Request | None, url: str) -> list[str]:
    """Return the addresses that the first one led to, the last of them the one that answered."""
    before = request.meta.get("redirect_urls", []) if request else []
    return [*before[1:], url] if before else []


def header(response: Response, name: str) -> str | None:
    """Return the value of a header."""
    value = response.headers.get(name)
    return value.decode("latin-1") if value else None


def length(response: Response) -> int | None:
    """Return the Content-Length, if it is a number."""
    text = header(response, "Content-Length") or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _fresh_until(capture: Capture) -> str | None:
    """Return the moment until which a file is fresh; a redirect may lead elsewhere at any time."""
    return None if capture.redirects else fresh_until(capture.headers, utc())


def _pairs(headers: Headers) -> list[list[str]]:
    """Return headers as pairs, without secrets and beyond a size."""
    found: list[list[str]] = []
    left = _HEADERS
    for name, values in headers.items():
        for value in values:
            left -= len(name) + len(value)
            if left >= 0 and name.decode("latin-1").lower() not in _SECRET:
                found.append([name.decode("latin-1"), value.decode("latin-1")])
    return found


def _sent(request: Request | None) -> dict[str, Any]:
    """Return what a capture has of the request that was answered."""
    if request is None:
        return {}
    ranged = [list(pair) for pair in request.meta.get(RANGE, {}).items()]
    return {"method": request.method, "request_headers": _pairs(request.headers) + ranged}


def _answer(response: Response) -> dict[str, Any]:
    """Return what a capture has of an answer."""
    content_type = header(response, "Content-Type") or ""
    return {
        "http_status": response.status,
        "redirects": redirects(response.request, response.url),
        "headers": _pairs(response.headers),
        **_sent(response.request),
        "media_type": content_type.partition(";")[0].strip().lower() or None,
        "etag": header(response, "ETag"),
        "last_modified": header(response, "Last-Modified"),
    }
