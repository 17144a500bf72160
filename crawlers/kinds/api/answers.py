"""What a page of a listing holds, by its declaration. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crawlers.exceptions import AnswerError
from crawlers.kinds.api.declaration import Header
from crawlers.safety import strict_json
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    from crawlers.kinds.api.declaration import Declaration, Listing, Sought

Headers = Mapping[str, str]
"""The headers of an answer, by their names in small letters."""
NONE: Headers = {}
_SHOWN = 200
_LONGEST = 64 * 1024


def records(page: Any, listing: Listing) -> list[Any] | None:
    """Return the records of a page; ``None`` if it has no list where they should be."""
    found = listing.records.find(page)
    return found if isinstance(found, list) else None


def total(page: Any, wanted: Sought | None, headers: Headers = NONE) -> int | None:
    """Return how many records there are in all; ``None`` if that is unknown. It may be a text, or 20.0."""
    found = _found(page, wanted, headers)
    if isinstance(found, float) and found.is_integer() and found < 1e15:
        found = int(found)
    if isinstance(found, str) and re.fullmatch(r"\s*[0-9]{1,15}\s*", found):
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def text(page: Any, wanted: Sought | None, headers: Headers = NONE) -> str | None:
    """Return a text or a number that an answer has, as a text: a link, a token."""
    found = _found(page, wanted, headers)
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return str(found).strip() or None


def _found(page: Any, wanted: Sought | None, headers: Headers) -> Any:
    if wanted is None:
        return None
    return wanted.find(headers) if isinstance(wanted, Header) else wanted.find(page)


def headers(response: Any) -> Headers:
    """Return the headers of an answer, by their names in small letters."""
    return {str(name).lower(): value for name, value in response.headers.to_unicode_dict().items()}


def worded(error: AnswerError, body: bytes, listing: Listing) -> AnswerError:
    """Return an error with what the body of the refusal says."""
    try:
        page = strict_json.loads(body[:_LONGEST])
    except ValueError:
        return error
    found = refusal(page, listing) if listing.error is not None else None
    message = page.get("message") if isinstance(page, dict) else None
    said = envelope_error(page) or found or (f"it says {message[:_SHOWN]!r}" if isinstance(message, str) else None)
    return AnswerError(error.kind, f"{error}: {said}") if said else error


def refusal(page: Any, listing: Listing) -> str | None:
    """Return what a page says is wrong; ``None`` if it is a good one."""
    said = listing.error.find(page) if listing.error else None
    if said not in (None, "", [], {}, False):
        return f"it says {str(said)[:_SHOWN]!r}"
    if listing.ok is not None and listing.ok.find(page) is not True:
        return f"it is not ok: {listing.ok.text}"
    return None


def envelope_error(page: Any) -> str | None:
    """Return what an answer says that is nothing but an error, as Socrata, Elasticsearch and many others write it.

    >>> envelope_error({"error": True, "message": "no such domain"}), envelope_error({"error": None, "results": []})
    ("it says 'no such domain'", None)
    """
    said = page.get("error") if isinstance(page, dict) else None
    if not said:
        return None
    causes = said.get("root_cause") if isinstance(said, dict) else None
    cause = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else said
    words = (cause.get("reason") or cause.get("message")) if isinstance(cause, dict) else None
    told = words or page.get("message") or said
    return f"it says {str(told)[:200]!r}"


def collections(content: Any, declaration: Declaration, root: str) -> list[str]:
    """Return the addresses of the collections that a server has, each a portal of its own.

    Args:
        content: the JSON of its list of collections.
        root: the server's address.
    """
    expression = declaration.recognise.collections
    found = expression.find(content) if expression else None
    names = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    return [f"{root}/collections/{quote(name, safe=':')}" for name in names]


def choice(addresses: list[str], declaration: Declaration) -> str:
    """Return the sentence that asks for one of a server's collections; without a full stop."""
    count = f"{len(addresses)} {'collection' if len(addresses) == 1 else 'collections'}"
    asks = "name it" if len(addresses) == 1 else "name one of them"
    what = f"this is the root of a server, which has {count} of {declaration.title}"
    return one_line(f"{what}: {asks}: {', '.join(addresses[:10])}", 1000)
