"""Where the browser may go: to the spider's hosts, at the addresses that the project's rules allow.

Names are resolved once, by the project's resolver, and pinned: the browser resolves none itself, so that no page,
redirect or second answer of a DNS server leads anywhere else.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exceptions import CannotResolveHostError, IgnoreRequest

from crawlers.exceptions import AnswerError
from crawlers.safety.addresses import PORTS
from crawlers.safety.resolver import IPV4, ForbiddenAddressError, Host, PublicOnlyResolver, is_named, is_public, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = ("document", "stylesheet", "script", "xhr", "fetch", "preflight")
"""What is loaded, by Playwright's names; stylesheets, because they hide buttons."""

_NAME = re.compile(r"[a-z0-9_.-]{1,253}\Z")


class ForeignHostError(AnswerError, IgnoreRequest):
    """The browser was led to a host that is none of the spider's ``allowed_domains``; nothing was sent there."""

    def __init__(self, url: str) -> None:
        super().__init__("offsite", f"the page leads to {url}, which is on no host of this catalogue")


@dataclass(frozen=True, slots=True)
class Guard:
    """
    Args:
        addresses: of each host that may be requested; ``None`` if the name cannot be resolved.
        named: the hosts that may be private.
        public: the hosts that the user named, and that have had a public address.
    """

    addresses: dict[str, str | None]
    named: set[Host] = field(default_factory=set)
    public: set[str] = field(default_factory=set)

    def check(self, url: str) -> None:
        """
        Raises:
            ForeignHostError: it is no web address, or its host is not one of the spider's.
            ForbiddenAddressError: its host has an address that is not public, and the user did not name the host.
            CannotResolveHostError: the name cannot be resolved.
        """
        host, port = place(url)
        literal = spelled(host)
        if port and literal and not self._may(host, port, literal):
            raise ForbiddenAddressError(host, port, literal)
        if not port or host not in self.addresses:
            raise ForeignHostError(url)
        address = self.addresses[host]
        if address is None:
            raise CannotResolveHostError(host)
        if not self._may(host, port, address):
            raise ForbiddenAddressError(host, port, address, was_public=host in self.public)

    def allows(self, url: str, kind: str) -> bool:
        """Return whether a page may request it; what never leaves the browser is always allowed."""
        if url.startswith(("data:", "blob:", "about:blank", "about:srcdoc")):
            return True
        try:
            self.check(url)
        except (ForeignHostError, ForbiddenAddressError, CannotResolveHostError):
            return False
        return kind in KINDS

    def _may(self, host: str, port: int, address: str) -> bool:
        return is_public(address) or is_named(self.named, host, port)

    def pins(self) -> str:
        """Return the value of Chromium's ``--host-resolver-rules``.

        >>> Guard({"a.example": "8.8.8.8", "intranet": "10.0.0.7", "b.example": None}, {("intranet", 8080)}).pins()
        'MAP a.example 8.8.8.8, MAP intranet:8080 10.0.0.7, MAP * ~NOTFOUND'
        """
        rules: list[str] = []
        for host, address in self.addresses.items():
            if address is None:
                continue
            if is_public(address) or (host, None) in self.named:
                rules.append(f"MAP {host} {_bracketed(address)}")
                continue
            ports = sorted(port for named, port in self.named if named == host and port)
            rules += [f"MAP {_bracketed(host)}:{port} {_bracketed(address)}" for port in ports]
        return ", ".join([*rules, "MAP * ~NOTFOUND"])


def place(url: str) -> tuple[str, int]:
    """Return host and port; port 0 if the scheme is not http or https.

    >>> place("https://Example.org/x"), place("ftp://example.org"), place("http://[")
    (('example.org', 443), ('example.org', 0), ('', 0))
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", 0
    standard = PORTS.get(parts.scheme, 0)
    return parts.hostname or "", (port or standard) if standard else 0


def hosts(names: Iterable[str]) -> list[str]:
    """Return the hosts among ``allowed_domains`` as addresses write them, each once.

    >>> hosts(["Daten.Example", "münchen.example", "10.0.0.7:8080", "a b", "::1", "example"])
    ['daten.example', 'xn--mnchen-3ya.example', '10.0.0.7', '::1', 'example']
    """
    return list(dict.fromkeys(filter(None, map(_host, names))))


def _host(name: str) -> str | None:
    if name.count(":") > 1:
        return spelled(name.strip("[]"))
    name = name.partition(":")[0].strip().lower()
    try:
        name = name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return None
    return name if _NAME.match(name) else None


async def resolved(names: Iterable[str], *, port: int = 0) -> Guard:
    """Return the guard for these hosts, their names resolved as Scrapy's are."""
    from twisted.internet import reactor  # noqa: PLC0415 -- importing it installs it

    ours, resolver = PublicOnlyResolver.installed(), reactor.nameResolver
    unchecked = ours.original_resolver if ours else resolver  # what ours would refuse is reported here
    found: dict[str, str | None] = {}
    for host in hosts(names):
        literal = spelled(host)
        addresses = [literal] if literal else await _Addresses(unchecked, host, port).all
        if ours:
            ours.note(host, addresses)
        private = (address for address in addresses if not is_public(address))
        found[host] = next(private, addresses[0] if addresses else None)
    return Guard(found, ours.private, ours.public) if ours else Guard(found)


class _Addresses:
    """Receives the IPv4 addresses of a name."""

    def __init__(self, resolver: Any, host: str, port: int) -> None:
        self.found: list[str] = []
        self.all: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        resolver.resolveHostName(self, host, port, IPV4)

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        pass

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        self.found.append(str(ip_address(address.host.partition("%")[0])))

    def resolutionComplete(self) -> None:  # noqa: N802
        if not self.all.done():
            self.all.set_result(self.found)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
