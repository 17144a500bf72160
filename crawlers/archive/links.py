"""The links of an HTML page that lead to data, the most likely first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from crawlers.records.formats import eu_file_type, media_type
from crawlers.records.html_page import Page, tidy
from crawlers.records.tables import toml_table
from crawlers.safety.addresses import without_session
from crawlers.safety.text import of_page

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_PAGE = 10 * 1024 * 1024  # bytes; what follows is not read
_LONGEST = 8192  # characters of an address
_MOST = 10_000  # links of a page
_MOST_ABOVE = 40  # elements above a link
_TEXTS = 20  # pieces of a link's text
_XPATH = (
    "//*[(self::a or self::area or (self::link and @type)) and @href or (self::iframe or self::embed) and @src"
    " or self::object and @data]"
)
_REFRESH = "//meta[@http-equiv and @content]"
_REFRESHED = re.compile(
    r"""\s*(\d{0,9})[\d.]{0,9}\s*[;,]\s*(?:url\s*=\s*)?(?:"([^"]*)"|'([^']*)'|(\S.*))""", re.IGNORECASE | re.DOTALL
)
_MENUS = frozenset(("nav", "footer", "header", "aside"))
_MENU = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|footer|header|sidebar|breadcrumbs?|cookie)(?:$|[\s_-])", re.IGNORECASE
)
_SUFFIX = re.compile(r"[^/]\.([a-z0-9]{1,8})$")
_WORD = re.compile(r"[A-Za-z0-9.]{2,12}")


@dataclass(frozen=True, slots=True)
class Link:
    """
    Args:
        url: absolute, without its fragment.
        text: the link's, in one line; its title if it has none.
        score: how likely it leads to data.
    """

    url: str
    text: str
    score: int


def data_links(body: bytes, url: str, encoding: str | None = None, limit: int | None = None) -> list[Link]:
    """Return the links of a page that lead to data: those to the page's own site first, then by their score.

    A score adds up the suffix of the address or the format that a parameter of it names, the attributes ``download``
    and ``type``, the format that the text names, words such as "download", and where the link stands: what is in a
    menu comes last. No address comes twice; the page's own is left out.

    Args:
        body: the page; 10 MB of it are read.
        url: the page's.
        encoding: that its header declares.
        limit: the number of links, at most.
    """
    found = of_page(body[:_LONGEST_PAGE], f"text/html; charset={encoding}" if encoding else "text/html")
    page = Page(found.text, url, found.encoding)
    best: dict[str, Link] = {}
    for link in _links(page):
        key = without_session(link.url)
        if key != without_session(url.partition("#")[0]) and link.score > best.get(key, _NONE).score:
            best[key] = link
    ranked = sorted(best.values(), key=lambda link: (not _is_same_site(link.url, url), -link.score))
    return ranked[:limit]


_NONE = Link("", "", -1)


def _links(page: Page) -> Iterator[Link]:
    """Yield the links that have enough points."""
    for element in page.find(_XPATH, limit=_MOST):
        target = element.get("href") or element.get("src") or element.get("data") or ""
        address = page.absolute(target) if len(target) <= _LONGEST else None
        score = _score(element, address) if address else 0
        if address and score >= _table()["least"]:
            in_menu = _table()["navigation"] if _is_in_a_menu(element) else 0
            yield Link(address, _text(element), max(score + in_menu, 0))
    for element in page.find(_REFRESH, limit=5):
        found = refreshed(element.get("content"))
        address = page.absolute(found[1]) if found else None
        if address:
            yield Link(address, "", _table()["least"] + _of_address(address))


def refreshed(text: str) -> tuple[int, str] | None:
    """Return the seconds after which a Refresh leads elsewhere, and where: the HTML standard, 4.2.5.3.

    >>> refreshed("0.5; URL='/a b.csv' "), refreshed("1800,/login"), refreshed("5")
    ((0, '/a b.csv'), (1800, '/login'), None)
    """
    found = _REFRESHED.match(text[:_LONGEST])
    return (int(found[1] or 0), (found[2] or found[3] or found[4] or "").strip()) if found else None


def _score(element: Any, address: str) -> int:
    table = _table()
    suffix = _suffix(address)
    if (suffix in table["never"] and element.get("download") is None) or _is_for_people(address):
        return 0
    text = f"{_text(element)} {element.get('title') or ''}"[:400]
    points = _of_address(address)
    points += table["attribute"] if element.get("download") is not None else 0
    points += table["typed"] if _names_data(media_type((element.get("type") or "")[:100])) else 0
    points += table["named"] if any(map(_names_data, _WORD.findall(text))) else 0
    shown = f"{text} {element.get('class') or ''} {urlsplit(address).path}"[:2000].casefold()
    return points + (int(table["word"]) if _words().search(shown) else 0)


def _is_for_people(address: str) -> bool:
    """Return whether an address is a login's or a social network's, whatever its link says.

    >>> _is_for_people("https://a.org/user/login/?next=/x.csv"), _is_for_people("https://www.facebook.com/x?format=csv")
    (True, True)
    >>> _is_for_people("https://a.org/register.csv"), _is_for_people("https://a.org/register/7")
    (False, False)
    """
    host, path = _host(address), urlsplit(without_session(address)).path
    last = path.rstrip("/").rpartition("/")[2].partition(".")[0].lower()
    is_login = last in _table()["logins"] and not _of_address(address)
    return is_login or any(f".{host}".endswith(f".{network}") for network in _table()["networks"])


def _of_address(address: str) -> int:
    """Return the points of the best format that an address names.

    >>> _of_address("https://a.org/x.csv?v=1"), _of_address("https://a.org/x/exports/csv"), _of_address("https://a.org/x?format=xlsx")
    (60, 60, 60)
    """
    parts = urlsplit(address)
    formats = _table()["formats"]
    named = [value for name, value in islice(parse_qsl(parts.query), 50) if name.lower() in _table()["parameters"]]
    names = [_suffix(address), parts.path.rstrip("/").rpartition("/")[2], *named]
    return max(int(formats.get(_format(name), 0)) for name in names)


def _format(name: str) -> str:
    """Return a format's name in the table of points: a media type and "application/geo+json" have theirs, too."""
    name = name.lower()
    if name in _table()["formats"]:
        return name
    known = eu_file_type(name) if "/" in name else None
    return known.code.lower() if known else name


def _suffix(address: str) -> str:
    found = _SUFFIX.search(unquote(urlsplit(without_session(address)).path[-200:]).lower())
    return found[1] if found else ""


def _names_data(name: str | None) -> bool:
    """
    >>> _names_data("CSV"), _names_data("text/csv"), _names_data("text/html"), _names_data("the")
    (True, True, False, False)
    """
    known = eu_file_type(name)
    return known is not None and known.code.lower() in _table()["formats"]


def _text(element: Any) -> str:
    text = tidy("".join(islice(element.itertext(), _TEXTS))[:2000])
    return (text or tidy((element.get("title") or element.get("aria-label") or "")[:400]))[:200]


def _is_in_a_menu(element: Any) -> bool:
    for above in islice(element.iterancestors(), _MOST_ABOVE):
        if above.tag in _MENUS or above.get("role") in ("navigation", "contentinfo", "banner"):
            return True
        if above.tag not in ("html", "body", "main") and _MENU.search(
            f"{above.get('class') or ''} {above.get('id') or ''}"[:200]
        ):
            return True
    return False


def leads_somewhere(url: str) -> bool:
    """Return whether there may be something at an address, which is no name of a term that only looks like one.

    >>> leads_somewhere("http://www.w3.org/ns/dcat#Dataset"), leads_somewhere("https://a.org/about")
    (False, True)
    """
    return not url.lower().partition("://")[2].removeprefix("www.").startswith(tuple(_table()["terms"]))


def _is_same_site(address: str, page: str) -> bool:
    """Return whether two addresses are of one host, or of hosts below the same domain.

    >>> _is_same_site("https://files.a.org/x", "https://www.a.org/"), _is_same_site("https://b.org/", "https://a.org/")
    (True, False)
    """
    one, other = (_host(text) for text in (address, page))
    if one == other or one.endswith(f".{other}") or other.endswith(f".{one}"):
        return True
    above = one.partition(".")[2]
    if one[-1:].isdigit():
        return False  # an IP address
    return above.count(".") >= 1 and above == other.partition(".")[2]


def _host(address: str) -> str:
    return (urlsplit(address).hostname or "").removeprefix("www.")


@cache
def _words() -> re.Pattern[str]:
    return re.compile(f"(?<![a-z])(?:{'|'.join(map(re.escape, _table()['words']))})")


@cache
def _table() -> dict[str, Any]:
    return toml_table(__package__, "links.toml")
