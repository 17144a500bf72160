"""The address of each page; names and ids from portals are quoted, so that they cannot lead elsewhere."""

from __future__ import annotations

from urllib.parse import quote, urlencode


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
    if all(part not in ("", ".", "..") for part in dataset_id.split("/")):
        return f"{source(source_name)}/datasets/{quote(dataset_id, safe='/')}"
    return f"{source(source_name)}/datasets?{urlencode({'id': dataset_id})}"


def run(source_name: str, name: str) -> str:
    """
    >>> run("hdx", "20261120T030000Z")
    '/runs/hdx/20261120T030000Z'
    """
    return f"/runs/{_segment(source_name)}/{_segment(name)}"


def here(path: str, **words: str | int | None) -> str:
    """Return the address of a page with a query of the values that are not empty.

    >>> here("/search", q="flood & rain", source=None, page=2)
    '/search?q=flood+%26+rain&page=2'
    """
    given = {name: value for name, value in words.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def _segment(name: str) -> str:
    return quote(name, safe="")
