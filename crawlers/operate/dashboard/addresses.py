"""The address of each page and its parameters, the pages of a long list, and whether a page is renewed.

Names and ids from portals are quoted, so that they cannot lead elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from flask import request

from crawlers.records.moment import moment
from crawlers.records.moment import name as compact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crawlers.store.runs import Run


def source(name: str) -> str:
    """
    >>> source("geo.admin.ch")
    '/sources/geo.admin.ch'
    """
    return f"/sources/{_segment(name)}"


def dataset(source_name: str, dataset_id: str) -> str:
    """Return the address of a dataset: its id is in the path, or in the query if a browser would change the path.

    >>> dataset("hdx", "a/b?c")
    '/sources/hdx/datasets/a/b%3Fc'
    >>> dataset("hdx", "../x")
    '/sources/hdx/datasets?id=..%2Fx'
    """
    if _is_in_path(dataset_id):
        return f"{source(source_name)}/datasets/{quote(dataset_id, safe='/')}"
    return f"{source(source_name)}/datasets?{urlencode({'id': dataset_id})}"


def profile(source_name: str, profile_id: str) -> str:
    """Return the address of a profile, as that of a dataset.

    >>> profile("ckan_extensions", "ckan/ckanext-dcat")
    '/sources/ckan_extensions/profiles/ckan/ckanext-dcat'
    """
    if _is_in_path(profile_id):
        return f"{source(source_name)}/profiles/{quote(profile_id, safe='/')}"
    return f"{source(source_name)}/profiles?{urlencode({'id': profile_id})}"


def versions(source_name: str, dataset_id: str, **words: str | None) -> str:
    """Return the address of a dataset's versions, or of what differs between two of them.

    Args:
        words: its parameters: ``after`` is the version that is compared, ``before`` the one that it is compared with.

    >>> versions("hdx", "a/b"), versions("hdx", "../x", after="2026-11-20T03:00:00.000Z")
    ('/sources/hdx/versions/a/b', '/sources/hdx/versions?id=..%2Fx&after=2026-11-20T03%3A00%3A00.000Z')
    """
    if _is_in_path(dataset_id):
        return here(f"{source(source_name)}/versions/{quote(dataset_id, safe='/')}", **words)
    return here(f"{source(source_name)}/versions", id=dataset_id, **words)


def version(source_name: str, dataset_id: str, sha256: str = "", **words: str | int | None) -> str:
    """Return the address of the bytes of a version, or of the list of all versions.

    >>> version("hdx", "a/b", "ab12"), version("hdx", "a", limit=5)
    ('/api/versions/hdx/ab12?id=a%2Fb', '/api/versions/hdx?id=a&limit=5')
    """
    path = f"/api/versions/{_segment(source_name)}" + (f"/{_segment(sha256)}" if sha256 else "")
    return here(path, id=dataset_id, **words)


def quality(source_name: str, publisher: str | None = None, *, is_stated: bool = True) -> str:
    """Return the address of the page about the quality of a source, or of one of its publishers.

    Args:
        is_stated: false for the datasets that name no publisher.
    """
    return here(f"{source(source_name)}/quality", publisher=publisher, stated=None if is_stated else "no")


def run(source_name: str, name: str) -> str:
    """
    >>> run("hdx", "20261120T030000Z")
    '/runs/hdx/20261120T030000Z'
    """
    return f"/runs/{_segment(source_name)}/{_segment(name)}"


def file(row: Mapping[str, Any]) -> str | None:
    """Return the address of a file that is held, by its capture; ``None`` if none is.

    >>> held = {"sha256": "ab", "kept_at": "2026-11-20T03:00:05.250Z", "name": "flood", "extension": "csv"}
    >>> file(held | {"resource_id": "a/b"})
    '/archive/20261120T030005Z/a%2Fb/flood.csv'
    >>> file(held | {"resource_id": "../x"})
    '/archive/20261120T030005Z?id=..%2Fx&name=flood.csv'
    """
    kept_at = moment(row["kept_at"])
    if not row["sha256"] or not kept_at:
        return None
    named, resource_id = file_name(row["name"], row["extension"]), row["resource_id"]
    if _is_in_path(resource_id) and _is_in_path(named):
        return f"/archive/{compact(kept_at)}/{_segment(resource_id)}/{_segment(named)}"
    return here(f"/archive/{compact(kept_at)}", id=resource_id, name=named)


def file_name(name: str | None, extension: str | None) -> str:
    """
    >>> file_name("flood", "csv"), file_name(None, None)
    ('flood.csv', 'file')
    """
    return f"{name or 'file'}.{extension}" if extension else name or "file"


def here(path: str, **words: str | int | None) -> str:
    """Return the address of a page with a query of the values that are not empty.

    >>> here("/search", q="flood & rain", source=None, page=2)
    '/search?q=flood+%26+rain&page=2'
    """
    given = {name: value for name, value in words.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def _is_in_path(name: str) -> bool:
    """Return whether a browser leaves a name as it is in a path."""
    return all(part not in ("", ".", "..") for part in name.split("/"))


def _segment(name: str) -> str:
    return quote(name, safe="")


LAST_PAGE = 100
_LONGEST = 300  # characters


def text(query: Mapping[str, str], name: str, longest: int = _LONGEST) -> str:
    r"""Return a parameter on one line, not too long; "" if there is none.

    >>> text({"q": " flood\x00\nafg "}, "q")
    'flood afg'
    """
    value = query.get(name, "")[:longest]
    return " ".join("".join(letter if letter.isprintable() else " " for letter in value).split())


def page_number(query: Mapping[str, str]) -> int:
    """Return the number of the page, from 1; the first for what is not a number, at most the last.

    >>> page_number({"page": "7"}), page_number({"page": "abc"}), page_number({"page": "9" * 9})
    (7, 1, 100)
    """
    value = query.get("page", "")
    return min(max(int(value), 1), LAST_PAGE) if value.isascii() and value.isdigit() and len(value) < 10 else 1


@dataclass(frozen=True, slots=True)
class Paging:
    """A page of a long list.

    Args:
        path: the path of its address.
        words: its parameters, without ``page``.
        number: the number of the page, from 1.
        more: whether another page follows.
    """

    path: str
    words: dict[str, str]
    number: int
    more: bool

    @property
    def previous(self) -> str | None:
        """The address of the page before."""
        return self._at(self.number - 1) if self.number > 1 else None

    @property
    def next(self) -> str | None:
        """The address of the page after."""
        return self._at(self.number + 1) if self.more and self.number < LAST_PAGE else None

    @property
    def ends_here(self) -> bool:
        """Whether more rows follow that no page shows: a narrower search finds them."""
        return self.more and self.number >= LAST_PAGE

    def _at(self, number: int) -> str:
        return here(self.path, **self.words, page=number if number > 1 else None)


def some(rows: Iterable[Any], number: int, size: int) -> tuple[list[Any], bool]:
    """Return the rows of a page, and whether there are more.

    >>> some("abcdefg", 2, 3)
    (['d', 'e', 'f'], True)
    """
    found = list(islice(rows, (number - 1) * size, number * size + 1))
    return found[:size], len(found) > size


LIVE = 5
"""Seconds after which the figures of running crawls are renewed."""


def live(runs: Iterable[Run]) -> dict[str, int | str]:
    """Return what base.html needs to renew a page: nothing if no crawl runs, or if the reader stopped that.

    Without scripts, the browser reloads the page, less often.

    Args:
        runs: the runs that the page shows.
    """
    words = request.args.to_dict()
    if words.get("live") == "no" or not any(run.state == "running" for run in runs):
        return {}
    return {"live": LIVE, "still": here(quote(request.path), **words | {"live": "no"})}
