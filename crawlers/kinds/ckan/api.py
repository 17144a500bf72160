"""CKAN's action API: the variants that portals have of it, and what they answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from scrapy import Request

from crawlers.components.politeness.failures import challenge
from crawlers.exceptions import AnswerError
from crawlers.listing.answers import json_document, readable
from crawlers.safety import bounds, strict_json

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kinds.ckan.query import Query
    from crawlers.signals import Reason

_LOCALE = re.compile(r"/[a-z]{2}([_-][A-Za-z]{2,4})?$")
LONGEST = 3500  # bytes of an address: gunicorn takes request lines of 4,094
_ABSENT: dict[Any, Reason] = {"Not Found Error": "not found", "Authorization Error": "no longer public"}
_STATES: dict[Any, Reason] = {"deleted": "deleted", "draft": "no longer public"}


@dataclass(frozen=True, slots=True)
class ApiVariant:
    """A variant of the API: where it is, and how it takes parameters.

    Args:
        url: where the actions are: https://example.org/api/3/action.
        post: whether parameters go in a JSON body; most portals take them in the address.
    """

    url: str
    post: bool = False

    def address(self, action: str, parameters: dict[str, Any]) -> str:
        """Return the address of an action, if its parameters are in that."""
        return f"{self.url}/{action}?{urlencode(parameters)}"

    def request(self, action: str, parameters: dict[str, Any], **keywords: Any) -> Request:
        """Return the request for an action; a query too long for an address goes into a body, which CKAN accepts, too.

        >>> ApiVariant("https://example.org/api/3/action").request("package_show", {"id": "a b"}).url
        'https://example.org/api/3/action/package_show?id=a+b'
        """
        headers = {"Accept": "application/json"}
        address = self.address(action, parameters)
        if not self.post and len(address) <= LONGEST:
            return Request(address, headers=headers, **keywords)
        headers["Content-Type"] = "application/json"
        body = json.dumps(parameters)
        return Request(f"{self.url}/{action}", method="POST", headers=headers, body=body, **keywords)


def variants(portal: str) -> list[ApiVariant]:
    """Return every variant that is worth a try, the usual one first.

    Old CKAN requires POST or /api/action, and a locale in the portal's address ("/de") may not reach the API.
    """
    roots = [portal, *([_LOCALE.sub("", portal)] if _LOCALE.search(portal) else [])]
    urls = [root + path for root in roots for path in ("/api/3/action", "/api/action")]
    return [ApiVariant(url, post) for url in urls for post in (False, True)]


@dataclass(slots=True)
class API:
    """A portal's API, and what its user asks for.

    Args:
        portal: the portal's root.
        query: the user's filters.

    Attributes:
        variants: what is worth a try; what is asked for later carries the index of the one that the portal answers to.
    """

    portal: str
    query: Query
    variants: list[ApiVariant] = field(init=False)

    def __post_init__(self) -> None:
        self.variants = variants(self.portal)

    @property
    def has_token(self) -> bool:
        """Whether requests to the portal carry an API token."""
        return self.query.private


def result(response: Response) -> dict[str, Any]:
    """Return the ``result`` of an action's answer, an object.

    Raises:
        AnswerError: as `any_result`, or it is no object (refused).
    """
    found = any_result(response)
    if not isinstance(found, dict):
        raise AnswerError("refused", "the portal answered success, and no result")
    return found


def any_result(response: Response) -> Any:
    """Return the ``result`` of an action's answer, of any type; ``None`` if it has none.

    Raises:
        AnswerError: as `document`, or `success` is false whatever the HTTP status (refused).
    """
    answer = json_document(response)
    if not isinstance(answer, dict):
        raise AnswerError("refused", f"the portal answered {str(answer)[:200]!r}, not a result")
    if answer.get("success") is not True:
        raise AnswerError("refused", f"the portal answered success: false ({_message(answer.get('error'))})")
    return answer.get("result")


def packages(response: Response) -> tuple[list[Any], int | None]:
    """Return the records of package_search's answer, each id once, and how many datasets it counts.

    Duplicates are no sign that there is nothing else.

    Raises:
        AnswerError: it is not a page of a listing.
    """
    found = result(response)
    records, count = found.get("results"), found.get("count")
    if not isinstance(records, list):
        raise AnswerError("refused", "the portal answered without the results of a package_search")
    bounds.RECORDS.check(len(records))
    once: dict[object, Any] = {}
    for record in records:
        once.setdefault(identity(record) or object(), record)
    return [*once.values()], count if isinstance(count, int) else None


def identity(record: Any) -> str | None:
    """Return a record's id; ``None`` if it has none that can be requested."""
    identifier = record.get("id") if isinstance(record, dict) else None
    if not isinstance(identifier, str) or not identifier:
        return None
    try:
        identifier.encode()
    except UnicodeEncodeError:  # half a character: no address and no file can be made of it
        return None
    return identifier


def stamp(record: Any) -> str | None:
    """Return when the portal says that a record was changed last; ``None`` if it does not say."""
    found = record.get("metadata_modified") if isinstance(record, dict) else None
    return found if isinstance(found, str) and found else None


def resources(record: Any) -> int:
    """Return how many resources a record lists."""
    found = record.get("resources") if isinstance(record, dict) else None
    return len(found) if isinstance(found, list) else 0


def refusal(response: Response) -> str | None:
    """Return what CKAN says in its own envelope when it refuses; ``None`` if CKAN does not refuse."""
    answer = _envelope(response)
    return _message(answer.get("error")) if answer.get("success") is False else None


def absence(response: Response) -> Reason | None:
    """Return why a dataset is gone, by package_show's answer; ``None`` if that does not say that it is gone.

    CKAN answers 404 `Not Found Error` for what it does not know, 403 `Authorization Error` for a dataset that is
    deleted or private, and the record with its ``state`` to a user who may see that. A proxy's page, an error
    without a ``__type`` and the answer at another address mean nothing.
    """
    if challenge(response) or (response.request and "redirect_urls" in response.request.meta):
        return None
    answer = _envelope(response)
    if answer.get("success") is True:
        return _STATES.get(_word(answer.get("result"), "state"))
    if answer.get("success") is not False or response.status >= 500:
        return None
    return _ABSENT.get(_word(answer.get("error"), "__type"))


def is_there(record: Any) -> bool:
    """Return whether a record is of a dataset that people may see: some extensions list deleted ones and drafts."""
    return _word(record, "state") not in _STATES


def date(response: Response) -> str | None:
    """Return the portal's time, from the answer's ``Date`` header."""
    header = response.headers.get("Date")
    return header.decode("latin-1") if header else None


def succeeds(response: Response) -> bool:
    """Return whether CKAN did what was requested, whatever the result is."""
    return _envelope(response).get("success") is True


def denies(response: Response) -> bool:
    """Return whether CKAN says that the user may not do this."""
    return absence(response) == "no longer public"


def _envelope(response: Response) -> dict[str, Any]:
    """Return an action's answer as an object; empty if it is none."""
    try:
        answer = strict_json.loads(readable(response, response.body))
    except (ValueError, AnswerError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _word(found: Any, name: str) -> str | None:
    word = found.get(name) if isinstance(found, dict) else None
    return word if isinstance(word, str) else None


def _message(error: Any) -> str:
    """Return CKAN's words: the type, the message, and what is wrong with which field."""
    if not isinstance(error, dict):
        return str(error)[:200]
    named = [str(error[name])[:200] for name in ("__type", "message") if error.get(name)]
    fields = [f"{name}: {_reasons(what)}" for name, what in error.items() if name not in ("__type", "message")]
    return ": ".join([*named, *([", ".join(fields)[:500]] if fields else [])]) or str(error)[:200]


def _reasons(what: Any) -> str:
    return "; ".join(map(str, what)) if isinstance(what, list) else str(what)
