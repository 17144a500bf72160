"""The links of a listing, and the canonical form of an address.

An address that identifies a dataset must be the same on each run, or the dataset would be withdrawn and another one
added: what differs from visit to visit is dropped, and so is what makes no difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus, urlsplit, urlunsplit

from w3lib.url import canonicalize_url

from crawlers.kinds.html.rules import compiled
from crawlers.safety import bounds
from crawlers.safety.addresses import PORTS, without_dots
from crawlers.safety.text import UTF8, codec, widened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from urllib.parse import SplitResult

    from crawlers.kinds.html.rules import Rules
    from crawlers.records.html_page import Page


_LOOPBACK = "localhost"
_LOOPBACKS = frozenset((_LOOPBACK, "127.0.0.1", "::1"))
_SESSION = re.compile(
    r"phpsessid|j?session_?id|aspsessionid\w*|asp\.net_sessionid|cfid|cftoken|zenid|osc?sid|utm_\w+"
    r"|fbclid|gclid|dclid|msclkid|mc_[ce]id|_ga|_gl",
    re.IGNORECASE,
)
_PERHAPS_SESSION = re.compile("sid|s|session", re.IGNORECASE)
_TOKEN = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9,]{20,128}")
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sessionid)=[^/;]*", re.IGNORECASE)
_COOKIELESS = re.compile(r"/(?:\([A-Z]\([A-Za-z0-9_-]{1,200}\)\)|\((?:[A-Z]\([A-Za-z0-9_-]{1,200}\)){1,5}\))(?=/)")
_PERCENT = re.compile(r"%(?:([0-9A-Fa-f]{2}))?")
_UNWRITABLE = re.compile(r"""[^A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+""")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """
    Args:
        url: canonical; it is the address that is requested.
        id: the dataset's; its address if ``links.id`` is not given, or does not match.
    """

    url: str
    id: str


def dataset_links(page: Page, rules: Rules) -> list[Link]:
    """Return the links to datasets, in the page's order, each address once.

    Two addresses with the same id are both kept: one page cannot show whether they are one dataset.
    """
    return chosen(_addresses(page, rules.links.xpath), rules, charset(page))


def chosen(addresses: Iterable[str], rules: Rules, encoding: str = "utf-8") -> list[Link]:
    """Return the addresses, for example of a sitemap, that match ``links.pattern``."""
    pattern = rules.links.pattern
    urls = dict.fromkeys(canonical(address, rules.links.drop, encoding) for address in addresses)
    return [Link(url, dataset_id(url, rules)) for url in urls if pattern is None or compiled(pattern).search(url)]


def follow_links(page: Page, rules: Rules) -> list[str]:
    """Return the addresses of further listings, canonical, each once."""
    if rules.links.follow is None:
        return []
    found = _addresses(page, rules.links.follow)
    return list(dict.fromkeys(canonical(item, rules.links.drop, charset(page)) for item in found))


def foreign(links: Iterable[Link], rules: Rules) -> tuple[list[Link], list[Link]]:
    """Return the links to the hosts of the rules, and those that lead elsewhere."""
    own: list[Link] = []
    others: list[Link] = []
    for link in links:
        (own if rules.follows(link.url) else others).append(link)
    return own, others


def dataset_id(url: str, rules: Rules) -> str:
    """Return what ``links.id`` finds in a canonical address: its first group, or all of the match.

    Without a match the address itself is the id, its parameters in order: to Scrapy, too, addresses that differ only
    in that are the same.
    """
    found = compiled(rules.links.id).search(url) if rules.links.id else None
    return str((found and (found[1] if found.re.groups else found[0])) or canonicalize_url(url))


def has_no_id(url: str, rules: Rules) -> bool:
    """Return whether ``links.id`` finds none in a canonical address."""
    return bool(rules.links.id) and not compiled(rules.links.id).search(url)


# Addresses


def canonical(url: str, drop: Iterable[str] = (), encoding: str = "utf-8") -> str:
    """Return an absolute address in the project's one notation.

    Scheme and host are lower case; default port, user, fragment, dot segments, session ids, the parameters of visits
    and those of ``drop`` are removed. Percent-encoding is that of RFC 3986, 6.2.2, with no meaning changed; the
    query keeps its order. ``sid``, ``s`` and ``session`` are session ids only where the value looks like one.

    Args:
        encoding: of the page; browsers use it for unescaped characters of a query.

    >>> canonical("HTTP://Data.Example.org:80/a/../b%7ec;jsessionid=0A1?q=caf%c3%a9&PHPSESSID=x&utm_source=y&p=2#top")
    'http://data.example.org/b~c?q=caf%C3%A9&p=2'
    >>> canonical("https://example.org?Sid=17&view=a b&v=1", drop=("v",))
    'https://example.org/?Sid=17&view=a%20b'
    """
    parts = urlsplit(url)
    path = _COOKIELESS.sub("", _PATH_SESSION.sub("", parts.path.replace("\\", "/")))
    query = "&".join(_kept(parts.query, frozenset(drop)))
    scheme, name = parts.scheme.lower(), parts.hostname or ""
    host = f"[{name}]" if ":" in name else _ascii(name)
    host = host if parts.port in (None, PORTS.get(scheme)) else f"{host}:{parts.port}"
    return urlunsplit((scheme, host, without_dots(_written(path, "utf-8")) or "/", _written(query, encoding), ""))


def at_home(url: str, here: str) -> str:
    """Return an address of a page's own host as the page's own spells it: www, http or https, ``localhost``.

    What a proxy stands before calls itself ``localhost``.

    Args:
        here: the page's own address.

    >>> at_home("http://www.a.org/l?p=2", "https://a.org/l"), at_home("http://localhost:80/l?p=2", "https://a.org/l")
    ('https://a.org/l?p=2', 'https://a.org/l?p=2')
    >>> at_home("http://localhost:81/l", "http://127.0.0.1:81/"), at_home("http://localhost:81/l", "http://127.0.0.1:80/")
    ('http://127.0.0.1:81/l', 'http://localhost:81/l')
    >>> at_home("https://b.a.org/l", "https://a.org/l"), at_home("https://a.org:81/l", "https://a.org/l")
    ('https://b.a.org/l', 'https://a.org:81/l')
    """
    there, own = urlsplit(url), urlsplit(here)
    (name, port), (own_name, own_port) = _place(there), _place(own)
    is_own = (name, port) == (own_name, own_port) or (name == _LOOPBACK != own_name)
    return urlunsplit(there._replace(scheme=own.scheme, netloc=own.netloc)) if is_own else url


def _place(parts: SplitResult) -> tuple[str, int | None]:
    """Return a host without what makes no difference, and its port, if that is no usual one."""
    name = (parts.hostname or "").removeprefix("www.")
    return _LOOPBACK if name in _LOOPBACKS else name, None if parts.port in PORTS.values() else parts.port


@lru_cache(maxsize=1024)
def _ascii(name: str) -> str:
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return name


def _kept(query: str, drop: frozenset[str]) -> Iterator[str]:
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        name = unquote_plus(name)
        is_session = _SESSION.fullmatch(name) or (_PERHAPS_SESSION.fullmatch(name) and _TOKEN.fullmatch(value))
        if pair and name not in drop and not is_session:
            yield pair


def _written(part: str, encoding: str) -> str:
    part = _PERCENT.sub(_percent, part) if "%" in part else part
    return _UNWRITABLE.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode(encoding, "xmlcharrefreplace")), part
    )


def _percent(found: re.Match[str]) -> str:
    if found[1] is None:
        return "%25"
    letter = chr(int(found[1], 16))
    return letter if letter in _UNRESERVED else found[0].upper()


# Pages


def charset(page: Page) -> str:
    """Return the encoding that a page came in, else the one it declares; UTF-8 if that is unknown."""
    if page.encoding:
        return widened(codec(page.encoding) or UTF8)
    declared = [*page.find("//meta/@charset"), *page.find("//meta[@http-equiv]/@content")]
    for value in declared[:20]:
        found = _CHARSET.search(value[:200] if "=" in value else f"charset={value[:100]}")
        if found and (name := codec(found[1])):
            return widened(name)
    return UTF8


def _addresses(page: Page, xpath: str | None) -> Iterator[str]:
    for number, href in enumerate(_hrefs(page, xpath), 1):
        bounds.RECORDS.check(number)
        if (address := page.absolute(href.replace("\\", "/"))) is not None:
            yield address


def _hrefs(page: Page, xpath: str | None) -> Iterator[str]:
    """Yield the links that the XPath finds, texts that are addresses, and all links within other elements."""
    for item in outermost(page.find(xpath or "//*[@href][self::a or self::area]")):
        if isinstance(item, str):
            yield item
        elif item.get("href") is not None:
            yield item.get("href")
        else:
            yield from (link.get("href") for link in item.iter("a", "area") if link.get("href") is not None)


def outermost(found: Iterable[Any]) -> Iterator[Any]:
    """Yield what an XPath found, without elements that are within another found element."""
    found = [item for item in found if not isinstance(item, (float, bool))]
    waiting = {item for item in found if not isinstance(item, str)}
    for item in found:
        if isinstance(item, str):
            yield item
        elif item in waiting:
            yield item
            waiting.difference_update(item.iter())
