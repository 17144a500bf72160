"""What the addresses of datasets have in common: what distinguishes them from others, and the part that is the id."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import re2

from crawlers.operate.learn.texts import escaped

if TYPE_CHECKING:
    from collections.abc import Callable

_SUFFIX = re.compile(r"(\.[A-Za-z]{2,5})$")
_IDS = ("[a-z0-9]{4}-[a-z0-9]{4}", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[0-9a-f]{32}(?:_[0-9]+)?", "[0-9]+")
"""What ids look like: Socrata's, UUIDs, ArcGIS's, numbers."""
_NUMBERED = re.compile(r"([0-9]+)[-_.][^/]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Shape:
    """
    Args:
        pattern: RE2; what all the addresses match.
        id: the same, with the id as its group.
    """

    pattern: str
    id: str


def shape(addresses: list[str]) -> Shape | None:
    r"""Return what addresses have in common; the id of a single address is its last part.

    >>> shape(["https://a.org/dataset/x", "https://a.org/dataset/y"]).id
    '/dataset/([^/?#]+)'
    >>> shape(["https://a.org/d.aspx?id=7", "https://a.org/d.aspx?id=8"]).id
    '/d\\.aspx\\?(?:[^#]*&)?id=([^&#]+)'
    >>> shape(["https://a.org/data/12-roads.html", "https://a.org/data/13-rivers.html"]).id
    '/data/([0-9]+)[-_.]'
    """
    if not addresses:
        return None
    return _by_query(addresses) or _by_path(addresses)


def alike(addresses: list[str], known: list[str]) -> list[str]:
    """Return the addresses that are built like the known ones, or else like most.

    The first part of the path counts, unless most differ in it: Socrata has a dataset's category there.

    >>> alike(["https://a.org/d/1", "https://a.org/d/2", "https://a.org/help"], [])
    ['https://a.org/d/1', 'https://a.org/d/2']
    >>> len(alike([f"https://a.org/{each}/name/abcd-1234" for each in ("Parks", "Roads", "Water", "Waste")], []))
    4
    """
    found = _built_alike(addresses, known, _build)
    if 3 * len(found) > 2 * len(addresses):
        return found
    return _built_alike(addresses, known, lambda address: (*_build(address)[:2], *_build(address)[3:]))


def _built_alike(addresses: list[str], known: list[str], build: Callable[[str], tuple[object, ...]]) -> list[str]:
    built = {address: build(address) for address in addresses}
    known_builds = [built[item] for item in known if item in built]
    frequent = Counter(known_builds or built.values()).most_common(1)
    return [address for address in addresses if frequent and built[address] == frequent[0][0]]


def _build(address: str) -> tuple[object, ...]:
    """Return the host, how deep the path is, its first part, and the query's names."""
    parts = urlsplit(address)
    path = [part for part in parts.path.split("/") if part]
    names = frozenset(name for name, _ in parse_qsl(parts.query))
    return parts.netloc, len(path), path[0] if path and (len(path) > 1 or names) else "", names


def _by_query(addresses: list[str]) -> Shape | None:
    parts = [urlsplit(address) for address in addresses]
    if len({part.path for part in parts}) > 1:
        return None
    queries = [dict(parse_qsl(part.query)) for part in parts]
    names = [name for name in queries[0] if all(name in query for query in queries)]
    if len(queries) > 1:
        names = [name for name in names if len({query[name] for query in queries}) == len(queries)]
    if not names:
        return None
    name = min(
        names, key=lambda item: (item.lower() not in ("id", "uuid", "dataset", "slug"), "id" not in item.lower())
    )
    start = rf"{escaped(parts[0].path)}\?(?:[^#]*&)?{escaped(name)}="
    return Shape(f"{start}[^&#]+", f"{start}([^&#]+)")


def _by_path(addresses: list[str]) -> Shape | None:
    paths = [[part for part in urlsplit(address).path.split("/") if part] for address in addresses]
    if not all(paths):
        return None
    common = _common(paths)
    start = "".join(f"/{escaped(part)}" for part in common) or "^[a-z]+://[^/]+"
    rest = [path[len(common) :] for path in paths]
    if any(len(item) > 1 for item in rest):
        return _deep(start, rest)
    last = [item[0] for item in rest]
    if all(_NUMBERED.match(item) for item in last) and len({_NUMBERED.match(item)[1] for item in last}) == len(last):  # type: ignore[index]
        return Shape(f"{start}/[0-9]+[-_.]", f"{start}/([0-9]+)[-_.]")
    suffix = _suffix(last)
    part = "[^/?#]+?" if suffix else "[^/?#]+"
    return Shape(f"{start}/{part}{suffix or '/?$'}", f"{start}/({part}){suffix}")


def _deep(start: str, rest: list[list[str]]) -> Shape:
    """Return a shape whose id is everything that differs; of ids that look like one, these alone.

    >>> shape([f"https://a.org/{each}/name/abcd-123{number}" for number, each in enumerate(("Parks", "Roads"))]).id
    '^[a-z]+://[^/]+/[^/?#]+/[^/?#]+/([a-z0-9]{4}-[a-z0-9]{4})'
    >>> shape(["https://a.org/datasets/a::b/about", "https://a.org/maps/c::d/about"]).id
    '^[a-z]+://[^/]+/([^/?#]+/[^/?#]+)/about'
    """
    same = len({len(item) for item in rest}) == 1
    last = {item[-1] for item in rest}
    if same and len(last) == 1 < len(rest):
        inner, end = "/".join(["[^/?#]+"] * (len(rest[0]) - 1)), escaped(last.pop())
        return Shape(f"{start}/{inner}/{end}/?$", f"{start}/({inner})/{end}")
    look = next((each for each in _IDS if all(re.fullmatch(each, item) for item in last)), None)
    if same and look and len(last) == len(rest):
        inner = "/".join(["[^/?#]+"] * (len(rest[0]) - 1))
        return Shape(f"{start}/{inner}/{look}/?$", f"{start}/{inner}/({look})")
    inner = "/".join(["[^/?#]+"] * len(rest[0])) if same else "[^?#]+"
    return Shape(f"{start}/{inner}/?$", f"{start}/({inner})")


def _common(paths: list[list[str]]) -> list[str]:
    """Return the parts that all paths begin with, without the last part."""
    shortest = min(map(len, paths)) - 1
    found: list[str] = []
    for parts in zip(*(path[:shortest] for path in paths), strict=True):
        if len(set(parts)) > 1:
            break
        found.append(parts[0])
    return found


def _suffix(last: list[str]) -> str:
    found = {match[1] if (match := _SUFFIX.search(item)) else "" for item in last}
    return f"{escaped(found.pop())}$" if len(found) == 1 and "" not in found else ""


def matches(pattern: str, address: str) -> bool:
    return bool(re2.search(pattern, address))
