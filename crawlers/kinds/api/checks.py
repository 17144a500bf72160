"""The checks of a portal that a declaration may name: each reads the portal's page, and refuses what is not its own."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from crawlers.exceptions import AnswerError
from crawlers.kinds.api.query import inside
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.http import Response

_SITE = re.compile(r"window\.__SITE\s*=\s*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_LONGEST = 8 * 1024 * 1024
_OF_ANY_ITEM = ("type", "typekeywords", "access")
"""What a scope may ask for and items of the whole world have."""


class UncheckedError(AnswerError):
    """The refusal of a portal whose check could not be made."""

    def __init__(self, reason: str) -> None:
        message = f"{reason}, so it is unknown whether the API lists the portal's own datasets or those of others"
        advice = "if you know that they are its own, copy the declaration to catalogues/kinds/ without check"
        super().__init__("refused", f"{message}. Try again later; {advice}")


def arcgis_scope(response: Response) -> None:
    """Refuse an ArcGIS Hub site whose catalogue is not limited: its API then lists the items of the whole world.

    The page has the site's item as JSON, in which ``catalogV2.scopes.item`` says what belongs to the catalogue.

    Raises:
        AnswerError: the scope is empty, or the page does not say what the site's catalogue is.
    """
    site = _site(response.body[:_LONGEST].decode("utf-8", "replace"))
    if site is None:
        raise UncheckedError("the site's page has no readable window.__SITE")
    catalogues = list(_under(site, "catalogV2"))
    if not catalogues and not any(_texts(list(_under(site, "groups")))):
        raise UncheckedError("window.__SITE of the site's page does not say what its catalogue is (catalogV2)")
    for catalogue in catalogues:
        scopes = catalogue.get("scopes") if isinstance(catalogue, dict) else None
        scope = scopes.get("item") if isinstance(scopes, dict) else None
        rules = [each for several in _under(scope, "predicates") if isinstance(several, list) for each in several]
        asked = [each for rule in rules if isinstance(rule, dict) for each in rule.items()]
        if not any(any(_texts(value)) for name, value in asked if name.lower() not in _OF_ANY_ITEM):
            message = "the site's catalogue has no scope (catalogV2.scopes.item is empty), so that its API lists all "
            raise AnswerError("refused", f"{message}items of ArcGIS: ask who runs the site for its groups")


def _site(page: str) -> Any:
    """Return what a page has in ``window.__SITE``: an object, or a text that is one, percent-encoded or not."""
    begin = _SITE.search(page)
    if begin is None:
        return None
    try:
        if text := _TEXT.match(page, begin.end()):
            return strict_json.loads(unquote(json.loads(text[0])))
        return json.JSONDecoder().raw_decode(page, begin.end())[0]
    except (ValueError, RecursionError):
        return None


def _under(value: Any, name: str) -> Iterator[Any]:
    """Yield what stands under a name, anywhere in JSON."""
    return (each[name] for each in inside(value) if isinstance(each, dict) and name in each)


def _texts(value: Any) -> Iterator[Any]:
    return (each for each in inside(value) if each and not isinstance(each, dict | list))


CHECKS: dict[str, Callable[[Response], None]] = {"arcgis-scope": arcgis_scope}
