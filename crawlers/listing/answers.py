"""What portals answer, whatever their headers say: JSON, and what a spider does not read.

A robot check, a page and a broken text are other errors than "no JSON". A feed, a sitemap, a service and a login are
named, with what to use instead.
"""

from __future__ import annotations

import io
import re
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from w3lib.encoding import http_content_type_encoding

from crawlers.components.politeness.failures import challenge
from crawlers.exceptions import AnswerError
from crawlers.records.tables import toml_table
from crawlers.safety import strict_json
from crawlers.safety.text import decoded, is_utf8, of_page

if TYPE_CHECKING:
    from scrapy.http import Response

_PARTIAL = 206


def json_document(response: Response, max_size: int | None = None) -> Any:
    """Return the JSON of an answer.

    Args:
        max_size: the largest that is read, in bytes; by default any.

    Raises:
        AnswerError: it is a robot check (blocked), larger than that (too_large), or no JSON (not_json, truncated).
    """
    check = challenge(response)
    if check:
        raise AnswerError("blocked", check)
    body = _first_bytes(response, max_size)
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
        other = other_answer(response, "JSON")
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


def check_whole(response: Response) -> None:
    """
    Raises:
        AnswerError: the answer is a part of what was asked for.
    """
    unit = (response.headers.get("Content-Range") or b"bytes").split()[0]
    if response.status == _PARTIAL and unit.lower() == b"bytes":  # else a page of records, as PostgREST's
        raise AnswerError("truncated", "the answer is a part, as it says itself (HTTP 206)")


# Answers that a spider does not read

_HEAD = 64 << 10  # bytes of an answer that are looked at; a JSON answer is read whole up to the second length
_JSON = 1 << 20
_SKIPPED = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!doctype[^>\[]*>)++", re.DOTALL | re.IGNORECASE)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_PASSWORD = re.compile(r"""<input\b[^>]*\btype\s*=\s*["']?password\b""", re.IGNORECASE)
_HEADINGS = re.compile(r"<(?:title|h1|h2|legend)\b[^>]*>([^<]{0,200})", re.IGNORECASE)


def other_answer(response: Response, wanted: str = "", *, spider: str = "") -> str | None:
    """Return what an answer is, and what to use instead, as a sentence without a full stop; ``None`` if it is unknown.

    Args:
        response: the answer.
        wanted: what it should have been; may be left out.
        spider: the spider that asks: an answer for which it would be the one to use is none of these.

    >>> from scrapy.http import TextResponse
    >>> other_answer(TextResponse("https://a.org/oai?verb=Identify", body=b"<?xml version='1.0'?><OAI-PMH/>"))
    'this is an answer of OAI-PMH: use scrapy crawl oai -a url=https://a.org/oai'
    >>> other_answer(TextResponse("https://a.org/", body=b"<p>Hello</p>"))
    """
    body = _first_bytes(response, _JSON)
    begin = body[:_HEAD].decode("utf-16" if body[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace")
    begin = begin[found.end() :] if (found := _SKIPPED.match(begin)) else begin
    known = _of_xml(begin) if begin[:1] == "<" else _of_json(body) if begin[:1] == "{" else None
    if not known and begin[:1] == "<":
        known = _of_html(response, body)
    if not known or f"scrapy crawl {spider} " in known[1]:
        return None
    what = f"{known[0]}, not {wanted}" if wanted else known[0]
    return f"this is {what}: {known[1].format_map(_places(response.url))}"


@cache
def _table() -> dict[str, dict[str, list[str]]]:
    return toml_table("crawlers", "listing/other_answers.toml")


def _first_bytes(response: Response, most: int | None) -> bytes:
    """Return the body of an answer, but for what is behind one byte more than `most`."""
    end = None if most is None else most + 1
    if opened := getattr(response, "open", None):  # a SpooledResponse, which most kinds need not import
        with opened() as file:
            return bytes(file.read(end))
    return response.body[:end]


def _of_xml(begin: str) -> list[str] | None:
    root = _ROOT.match(begin)
    for mark, known in _table()["xml"].items() if root else ():
        name, _, other = mark.partition(" ")
        if root and root[1].lower() == name and other in begin[:2000].lower():
            return known
    return None


def _of_json(body: bytes) -> list[str] | None:
    try:
        content: Any = strict_json.loads(body) if len(body) <= _JSON else None
    except (ValueError, RecursionError):
        return None
    for mark, known in _table()["json"].items() if isinstance(content, dict) else ():
        key, _, other = mark.partition(" ")
        if key in content and (not other or other in content or content[key] == other):
            return known
    return None


def _of_html(response: Response, body: bytes) -> list[str] | None:
    """Return what an HTML page is by its title, headings and address: an error, or, with a password, a login."""
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    page = of_page(body, content_type).text
    headings = " ".join(_HEADINGS.findall(page))
    said = {"error": headings, "login": f"{urlsplit(response.url).path} {headings}" if _PASSWORD.search(page) else ""}
    known = (_table()[name] for name in said if any(word in said[name].casefold() for word in _table()[name]["words"]))
    return next((one["page"] for one in known), None)


def _places(url: str) -> dict[str, str]:
    """
    >>> _places("https://a.org/b/c.xml?d=1")
    {'url': 'https://a.org/b/c.xml', 'folder': 'https://a.org/b/', 'site': 'https://a.org'}
    """
    bare = url.partition("#")[0].partition("?")[0]
    parts = urlsplit(bare)
    site = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    folder = parts.path[: parts.path.rfind("/") + 1] or "/"
    return {"url": site + parts.path, "folder": site + folder, "site": site}
