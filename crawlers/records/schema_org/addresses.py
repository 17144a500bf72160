"""Addresses of a page and of what it describes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin

from crawlers.records.addresses import absolute

if TYPE_CHECKING:
    from lxml.html import HtmlElement

LINKS = ("@id", "url", "contentUrl", "embedUrl")
"""Properties whose texts are addresses and nothing else."""

_MAYBE_LINKS = ("sameAs", "license", "mainEntityOfPage", "isBasedOn")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|_:|www\.|.*\s", re.DOTALL)
_RELATIVE = re.compile(r"\.{0,2}/|[#?]")


def base(root: HtmlElement, url: str) -> str:
    """Return the address that relative links of a page are resolved against."""
    given = next((each.get("href") for each in root.iter("base") if each.get("href")), None)
    return (absolute(given, url) if given else None) or url


def resolved(name: str, text: str, base: str) -> str:
    """Return a property's text, as an absolute address if it is a relative one.

    >>> resolved("url", "b?c", "https://example.org/a/"), resolved("@id", "#data", "https://example.org/a")
    ('https://example.org/a/b?c', 'https://example.org/a#data')
    >>> resolved("license", "CC-BY", "https://example.org/"), resolved("url", "www.example.org", "https://a.org/")
    ('CC-BY', 'www.example.org')
    """
    text = text.strip()
    link = name in LINKS and text and not _ABSOLUTE.match(text)
    if link or (name in _MAYBE_LINKS and _RELATIVE.match(text)):
        return joined(base, text)
    return text


def joined(base: str, text: str) -> str:
    try:
        return urljoin(base, text)
    except ValueError:
        return text


def bare(address: str) -> str:
    """Return a key of an address: without scheme, fragment or last slash, the host in lower case.

    >>> bare("http://Example.org/a%20b/#top"), bare("https://example.org")
    ('example.org/a b', 'example.org')
    """
    host, _, path = address.strip().partition("#")[0].partition("://")[2].partition("/")
    return f"{host.lower()}/{unquote(path)}".rstrip("/")


def named(record: dict[str, Any], *names: str) -> list[str]:
    """Return the addresses under these properties, as texts or as objects that have one."""
    values = [each for name in names for each in _listed(record.get(name))]
    given = [each.get("@id") or each.get("url") if isinstance(each, dict) else each for each in values]
    return [each for each in given if isinstance(each, str) and "://" in each]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
