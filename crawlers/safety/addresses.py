"""Web addresses as pages write them."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_IN_PATH = re.compile(
    r";(?:jsessionid|phpsessid|sessionid)=[^/;?#]*|/\([A-Z]\([A-Za-z0-9_-]{8,200}\)\)(?=/)", re.IGNORECASE
)
_IN_QUERY = re.compile(
    r"(?<=[?&])(?:phpsessid|jsessionid|aspsessionid\w{0,40}|asp\.net_sessionid|cfid|cftoken)=[^&#]*(?:&|(?=#)|$)",
    re.IGNORECASE,
)
_HREF = re.compile(rb"""\bhref\s{0,5}=\s{0,5}["']?([^"'<>\s]{1,1000})""", re.IGNORECASE)
_LINK = re.compile(r'<([^<>]*)>\s*((?:;\s*[\w*-]+\s*(?:=\s*(?:"[^"]*"|[^\s;,"]*))?\s*)*)')
_REL = re.compile(r""";\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))""", re.IGNORECASE)
_LEFT = re.compile(r"[?&](?=#|$)")
PORTS = {"http": 80, "https": 443}
"""The port of an address that names none, by its scheme."""


def absolute(target: str, *here: str) -> str | None:
    """Return an address resolved against the page's, and its ``<base>``; ``None`` where it can't be requested.

    >>> absolute(" b.ttl#top", "https://example.org/a/", "c/")
    'https://example.org/a/c/b.ttl'
    >>> absolute("mailto:a@b.org", "https://example.org/"), absolute("http://[bad", ""), absolute("http://a:99999/", "")
    (None, None, None)
    """
    address = ""
    try:
        for part in (*here, target.strip()):
            address = urljoin(address, part)
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return address.partition("#")[0] if usable else None


def host(address: str) -> str:
    """Return an address's host, with its port where it is not the default one; empty where there is none.

    >>> host("https://Data.example.org/ckan"), host("http://127.0.0.1:8000"), host("http:/a"), host("http://[a")
    ('data.example.org', '127.0.0.1:8000', '', '')
    """
    try:
        parts = urlsplit(address)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return name if port in (None, PORTS.get(parts.scheme)) else f"{name}:{port}"


def without_dots(path: str) -> str:
    """Return a path without its parts ``.`` and ``..``, however they are written: RFC 3986, 5.2.4.

    >>> without_dots("/a/./b/%2E%2e/../c/."), without_dots("/../a//b"), without_dots("")
    ('/c/', '/a//b', '')
    """
    if "/." not in path and "/%2" not in path:
        return path
    kept: list[str] = []
    dots = ""
    for part in path.split("/"):
        dots = part.lower().replace("%2e", ".")
        if dots not in (".", ".."):
            kept.append(part)
        elif dots == ".." and len(kept) > 1:
            kept.pop()
    return "/".join([*kept, ""] if dots in (".", "..") else kept)


def linked(page: bytes, url: str) -> Iterator[str]:
    """Yield the addresses on the page's own host that it links to, each once; the page may be anything.

    >>> list(linked(b'<a href="/csw?a=1&amp;b=2">x</a> <a href=//other.org/>y</a>', "https://a.org/x"))
    ['https://a.org/csw?a=1&b=2']
    """
    found = (absolute(unescape(match[1].decode("utf-8", "replace")), url) for match in _HREF.finditer(page))
    yield from dict.fromkeys(address for address in found if address and host(address) == host(url))


def related(headers: Iterable[str], rel: str) -> str | None:
    """Return the address with a relation in headers ``Link`` (RFC 8288), as it stands there.

    >>> related(['<a?p=1>; rel="first prev", <a?p=3>; title="x"; rel=next'], "next"), related(["<a>"], "next")
    ('a?p=3', None)
    """
    for header in headers:
        for target, parameters in _LINK.findall(header[:10_000]):
            found = _REL.search(parameters)
            if found and rel in (found[1] or found[2]).lower().split():
                return str(target)
    return None


def without_session(address: str) -> str:
    """Return an address without the ids of sessions, which differ on each visit and make no difference.

    >>> without_session("https://a.org/b;jsessionid=1F?x=1&PHPSESSID=2&y=3"), without_session("https://a.org/?cfid=1&cftoken=2")
    ('https://a.org/b?x=1&y=3', 'https://a.org/')
    >>> without_session("https://a.org/(S(abcdefgh12))/b?x=1&jsessionid=2#c"), without_session("https://a.org/?sid=1")
    ('https://a.org/b?x=1#c', 'https://a.org/?sid=1')
    """
    address = _IN_PATH.sub("", address)
    found = _IN_QUERY.sub("", address) if "?" in address else address
    return address if found == address else _LEFT.sub("", found, count=1)
