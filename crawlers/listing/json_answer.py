"""JSON as portals answer it, whatever their headers say; a robot check, a page and a broken text are other errors."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from w3lib.encoding import http_content_type_encoding

from crawlers.components.politeness.failures import challenge
from crawlers.exceptions import AnswerError
from crawlers.listing import other_answers
from crawlers.safety import strict_json
from crawlers.safety.text import decoded, is_utf8

if TYPE_CHECKING:
    from scrapy.http import Response


def document(response: Response, max_size: int | None = None) -> Any:
    """Return the JSON of an answer.

    Args:
        max_size: the largest that is read, in bytes; by default any.

    Raises:
        AnswerError: it is a robot check (blocked), larger than that (too_large), or no JSON (not_json, truncated).
    """
    check = challenge(response)
    if check:
        raise AnswerError("blocked", check)
    body = other_answers.first_bytes(response, max_size)
    if max_size is not None and len(body) > max_size:
        message = f"the JSON is read as a whole, and is larger than JSON_MAXSIZE ({max_size} bytes): raise that"
        raise AnswerError("too_large", message)
    try:
        return strict_json.loads(readable(response, body))
    except ValueError as error:
        if body.lstrip()[:1] in (b"{", b"["):
            message = f"the JSON of {len(body)} bytes breaks off or is broken: {error}"
            raise AnswerError("truncated", message) from None
        kind = (response.headers.get("Content-Type") or b"nothing").decode("latin-1").split(";")[0]
        other = other_answers.named(response, "JSON")
        raise AnswerError("not_json", other or f"{len(body)} bytes of {kind} came instead of JSON") from None


def readable(response: Response, body: bytes) -> bytes | str:
    """Return the JSON of a body: UTF-8 (RFC 8259, 8.1), unless it is not and the header names what it is.

    Raises:
        ValueError: its encoding is unknown.
    """
    if is_utf8(io.BytesIO(body)):
        return body
    given = response.meta.get("encoding") if response.request else None
    charset = http_content_type_encoding((response.headers.get("Content-Type") or b"").decode("latin-1"))
    found = decoded(body, charset, given=given, is_utf8=True)
    if found.flaw:
        raise ValueError(found.flaw)
    return found.text
