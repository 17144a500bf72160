"""CKAN's action API: the ways a portal may want to be asked, and what it answers."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from scrapy import Request
from w3lib.encoding import http_content_type_encoding

from crawlers.exceptions import AnswerError
from crawlers.politeness.blocked import challenge
from crawlers.safety import strict_json
from crawlers.safety.text import decoded, is_utf8

if TYPE_CHECKING:
    from scrapy.http import Response

_LOCALE = re.compile(r"/[a-z]{2}([_-][A-Za-z]{2,4})?$")


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask.

    Args:
        url: where the actions are: https://example.org/api/3/action.
        post: whether parameters go in a JSON body; most portals take them in the address.
    """

    url: str
    post: bool = False

    def request(self, action: str, parameters: dict[str, Any], **keywords: Any) -> Request:
        """
        >>> Way("https://example.org/api/3/action").request("package_show", {"id": "a b"}).url
        'https://example.org/api/3/action/package_show?id=a+b'
        """
        headers = {"Accept": "application/json"}
        if not self.post:
            return Request(f"{self.url}/{action}?{urlencode(parameters)}", headers=headers, **keywords)
        headers["Content-Type"] = "application/json"
        body = json.dumps(parameters)
        return Request(f"{self.url}/{action}", method="POST", headers=headers, body=body, **keywords)


def ways(portal: str) -> list[Way]:
    """Every way that is worth a try, the usual one first.

    Old CKAN wants POST or /api/action, and a locale in the portal's address ("/de") may not reach the API.
    """
    roots = [portal, *([_LOCALE.sub("", portal)] if _LOCALE.search(portal) else [])]
    urls = [root + path for root in roots for path in ("/api/3/action", "/api/action")]
    return [Way(url, post) for url in urls for post in (False, True)]


def document(response: Response) -> Any:
    """The JSON of an answer.

    Raises:
        AnswerError: it is a robot check (blocked), or no JSON (not_json).
    """
    check = challenge(response)
    if check:
        raise AnswerError("blocked", check)
    try:
        return strict_json.loads(_readable(response))
    except ValueError as error:
        if response.body.lstrip()[:1] in (b"{", b"["):
            message = f"the JSON of {len(response.body)} bytes breaks off or is broken: {error}"
            raise AnswerError("truncated", message) from None
        kind = (response.headers.get("Content-Type") or b"nothing").decode("latin-1").split(";")[0]
        raise AnswerError("not_json", f"{len(response.body)} bytes of {kind} came instead of JSON") from None


def _readable(response: Response) -> bytes | str:
    """Return the JSON of an answer: UTF-8 (RFC 8259, 8.1), unless it is not and the header names what it is.

    Raises:
        ValueError: it is in no encoding that is known.
    """
    given = response.meta.get("encoding") if response.request else None
    if not given and is_utf8(io.BytesIO(response.body)):
        return response.body
    charset = http_content_type_encoding((response.headers.get("Content-Type") or b"").decode("latin-1"))
    found = decoded(response.body, charset, given=given, is_utf8=True)
    if found.flaw:
        raise ValueError(found.flaw)
    return found.text


def result(response: Response) -> dict[str, Any]:
    """The ``result`` of an action's answer, an object.

    Raises:
        AnswerError: as `document`, or `success` is false whatever the HTTP status, or there is no result (refused).
    """
    answer = document(response)
    if not isinstance(answer, dict):
        raise AnswerError("refused", f"the portal answered {str(answer)[:200]!r}, not a result")
    if answer.get("success") is not True:
        raise AnswerError("refused", f"the portal answered success: false ({_message(answer.get('error'))})")
    found = answer.get("result")
    if not isinstance(found, dict):
        raise AnswerError("refused", "the portal answered success, and no result")
    return found


def refusal(response: Response) -> str | None:
    """What CKAN says in its own envelope when it refuses; ``None`` when the answer is none of CKAN's refusals."""
    try:
        answer = strict_json.loads(response.body)
    except ValueError:
        return None
    if isinstance(answer, dict) and answer.get("success") is False:
        return _message(answer.get("error"))
    return None


def not_found(response: Response) -> bool:
    """Whether the portal says that what was asked for is not there; an HTML page, as any proxy gives, does not."""
    said = refusal(response)
    if said is None or challenge(response) or (response.request and "redirect_urls" in response.request.meta):
        return False
    return response.status in (404, 410) or said.startswith("Not Found Error")


def _message(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)[:200]
    return ": ".join(str(error[name])[:200] for name in ("__type", "message") if error.get(name)) or str(error)[:200]
