"""Spider arguments: declared by a spider class, checked and parsed before any request.

arguments = CatalogueSpider.arguments | {"organization": Argument(help="Only this organisation's.")}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from w3lib.url import safe_url_string

from crawlers.exceptions import ArgumentError, hint
from crawlers.safety.redact import redact
from crawlers.safety.text import codec

_PAGES = re.compile(r"/(organization|group|showcase|harvest|user|about|stats)(/.*)?$")
_FILE = re.compile(r"/[^/]*\.[A-Za-z0-9]{2,8}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One ``-a name=value``.

    Args:
        help: one sentence for `scrapy catalogues` and the docs.
        parse: text -> value; raises ValueError that names what it takes: "a whole number, 1 or more".
        default: the text used if the argument is not given.
    """

    help: str
    parse: Callable[[str], Any] = str
    default: str | None = None


def positive(text: str) -> int:
    """
    >>> positive("50")
    50
    """
    if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < 1:
        raise ValueError("a whole number, 1 or more")
    return int(text)


def choice(*values: str) -> Callable[[str], str]:
    """
    >>> choice("dataset", "both")("both")
    'both'
    """

    def parse(text: str) -> str:
        if text not in values:
            raise ValueError("one of " + ", ".join(values))
        return text

    return parse


def text(value: str) -> str:
    if not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def portal(value: str) -> str:
    """Return the root of a portal as it is requested: scheme, host and path, without the API's own path.

    >>> portal("https://example.org/data/api/3/action/"), portal("HTTPS://Example.org/données")
    ('https://example.org/data', 'https://example.org/donn%C3%A9es')
    """
    expected = "an http(s) address such as https://demo.ckan.org, without user, password or query"
    parts = _address(value, expected)
    if parts.query:
        raise ValueError(expected)
    path = re.sub(r"/(api(/[123])?(/action(/\w+)?)?|dataset(/.*)?)?/*$", "", parts.path)
    return safe_url_string(f"{parts.scheme}://{parts.netloc}{path}")


def folder(url: str) -> str:
    """Return the path of a portal, given any of its pages or files.

    >>> folder("https://example.org/opendata/dataset/rivers"), folder("https://example.org/data/catalog.ttl")
    ('/opendata', '/data')
    """
    parts = urlsplit(url)
    path = _PAGES.sub("", _FILE.sub("", parts.path))
    return urlsplit(portal(parts._replace(path=path, query="", fragment="").geturl())).path


def is_within(address: str, other: str) -> bool:
    """Return whether an address is in the folder of another one of its host, as `folder` has them.

    >>> is_within("https://a.org/data/catalog.ttl", "https://a.org/data/dataset/rivers")
    True
    >>> is_within("https://a.org/catalog.ttl", "https://a.org/data/"), is_within("https://b.org/", "https://a.org/")
    (False, False)
    """
    return urlsplit(address).netloc == urlsplit(other).netloc and f"{folder(address)}/".startswith(f"{folder(other)}/")


def url(value: str) -> str:
    """Return an address unchanged, for catalogues without a root.

    >>> url(" https://example.org/catalog.ttl?page=1#here ")
    'https://example.org/catalog.ttl?page=1'
    """
    parts = _address(value, "an http(s) address such as https://example.org/catalog.ttl, without user or password")
    return parts._replace(fragment="").geturl()


def _address(value: str, expected: str) -> SplitResult:
    try:
        parts = urlsplit(value.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(expected) from None
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.password:
        raise ValueError(expected)
    return parts


def language(value: str) -> str:
    """
    >>> language("pt-BR")
    'pt-BR'
    """
    if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}", value):
        raise ValueError("a language tag such as en, fr or pt-BR")
    return value


LANGUAGE = Argument(help="The language of titles and descriptions where there are several: fr, de.", parse=language)


def encoding(value: str) -> str:
    """
    >>> encoding("windows-1251")
    'windows-1251'
    """
    if codec(value) is None:
        raise ValueError("an encoding of texts such as windows-1251, iso-8859-2 or shift_jis")
    return value


def parse(spider: str, declared: Mapping[str, Argument], given: Mapping[str, str]) -> dict[str, Any]:
    """Return the value of every declared argument, ``None`` if it is not given and has no default.

    Names that start with ``_`` are Scrapyd's own and pass.

    Raises:
        ArgumentError: a name is unknown or a value malformed; the message names the valid ones.
    """
    for name in given:
        if name not in declared and not name.startswith("_"):
            raise ArgumentError(_unknown(spider, name, declared))
    return {name: _value(spider, name, one, given.get(name, one.default)) for name, one in declared.items()}


def _unknown(spider: str, name: str, declared: Mapping[str, Argument]) -> str:
    return f"spider {spider} has no argument {name!r}.{hint(name, declared)} It takes: {', '.join(sorted(declared))}."


def _value(spider: str, name: str, argument: Argument, given: str | None) -> Any:
    if given is None:
        return None
    try:
        return argument.parse(given)
    except ValueError as error:
        raise ArgumentError(f"spider {spider}: {name}={redact(given[:200])!r} is not {error}.") from None
