"""Where requests may go: to public addresses, and to the hosts that the user named.

A portal chooses addresses too, by its redirects, its links and its DNS: they must not lead into the network that the
crawl runs in. What is checked is the address that is connected to: no name and no spelling of an address gets round it.
"""

from __future__ import annotations

import logging
import re
import socket
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy import signals
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest
from scrapy.resolver import CachingHostnameResolver
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.address import IPv4Address

from crawlers.exceptions import AnswerError
from crawlers.safety.addresses import PORTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from twisted.internet.interfaces import IAddress, IResolutionReceiver

logger = logging.getLogger(__name__)

Host = tuple[str, int | None]
"""A name or an address, and a port; ``None`` for any port."""

IPV4: Any = (IPv4Address,)
_IN_NO_HOST = re.compile(r"%20|[^\w.-]")
_NEVER = (ip_network("2002::/16"), ip_network("fec0::/10"))  # 6to4 wraps any IPv4 address; site-local


class ForbiddenAddressError(AnswerError, IgnoreRequest):
    """A request leads to an address that is not public, and not the user's; raised by `PublicOnly`.

    Args:
        was_public: whether the user named the host, which has had a public address.

    Attributes:
        host, port: what was asked, which a redirect may have led to.
    """

    def __init__(self, host: str, port: int, address: str, *, was_public: bool = False) -> None:
        self.host, self.port = host, port
        why = "though it has had a public address" if was_public else "and is no host that you named"
        super().__init__(
            "forbidden_address",
            f"{host}:{port} leads to {address}, which is not public, {why} "
            f"(-s ALLOWED_PRIVATE_HOSTS={host}:{port} would allow it)",
        )


def is_public(address: str) -> bool:
    """
    >>> [is_public(one) for one in ("8.8.8.8", "169.254.169.254", "100.64.0.1", "224.0.0.1", "::ffff:10.0.0.1")]
    [True, False, False, False, False]
    """
    ip = ip_address(address)
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or any(ip in network for network in _NEVER))


def spelled(host: str) -> str | None:
    """Return the IP address that a host is, in any spelling; ``None`` if it is a name.

    >>> [spelled(host) for host in ("2130706433", "0x7f.1", "::1", "example.org")]
    ['127.0.0.1', '127.0.0.1', '::1', None]
    """
    try:
        return str(ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None


def _host(url: str) -> Host:
    """
    >>> _host("https://example.org/x"), _host("//Intranet:8080"), _host("//10.0.0.1")
    (('example.org', 443), ('intranet', 8080), ('10.0.0.1', None))
    """
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or PORTS.get(parts.scheme)


class PublicOnlyResolver(CachingHostnameResolver):
    """TWISTED_DNS_RESOLVER: gives the IPv4 addresses of a name if requests may go to each of them, else none.

    Twisted's client takes no reason for that: `PublicOnly` finds it in ``refused``.

    Attributes:
        named: the portals, which may be private as long as they have not been public: the owner of a public name may
            give it a private address later. Filled by `PublicOnly`; one set for all the crawls of a process.
        allowed: the hosts that may be private whenever they like.
        public: the portals that have had a public address.
        listeners: called with a portal when its first public address is seen.
        timeout: seconds until a name without an answer has no address: DNS_TIMEOUT.
    """

    def __init__(self, reactor: Any, cache_size: int, timeout: float = 60.0) -> None:
        super().__init__(reactor, cache_size)
        self.timeout = timeout
        self.named: set[Host] = set()
        self.allowed: set[Host] = set()
        self.public: set[str] = set()
        self.listeners: list[Callable[[str], None]] = []
        self.refused: LocalCache[str, str] = LocalCache(limit=1000)

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> Self:
        found = super().from_crawler(crawler, reactor)
        found.timeout = crawler.settings.getfloat("DNS_TIMEOUT")
        return found

    @classmethod
    def installed(cls) -> Self | None:
        """Return the one that this process resolves names by, if it does."""
        from twisted.internet import reactor  # noqa: PLC0415 -- importing it installs it

        found = getattr(reactor, "nameResolver", None)
        return found if isinstance(found, cls) else None

    def resolveHostName(  # noqa: N802
        self,
        resolutionReceiver: IResolutionReceiver,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> Any:
        checked: Any = _Checked(resolutionReceiver, self, portNumber)
        return super().resolveHostName(checked, hostName, portNumber, IPV4, transportSemantics)

    def allows(self, host: str, port: int, addresses: Sequence[str]) -> bool:
        """Return whether a host that has these addresses may be connected to, and remember what is refused."""
        self.note(host, addresses)
        private = next((address for address in addresses if not is_public(address)), None)
        if private is None or is_named(self.private, host, port):
            return True
        self.refused[host] = private
        return False

    def note(self, host: str, addresses: Sequence[str]) -> None:
        """Remember whether a portal has a public address."""
        is_portal = host not in self.public and any(host == name for name, _ in self.named)
        if is_portal and any(map(is_public, addresses)):
            self.public.add(host)
            for listener in self.listeners:
                listener(host)

    @property
    def private(self) -> set[Host]:
        """The hosts that may be private now."""
        return self.allowed | {one for one in self.named if one[0] not in self.public}


class _Checked:
    """Passes on the addresses of a name if the resolver allows all of them."""

    def __init__(self, receiver: Any, resolver: PublicOnlyResolver, port: int) -> None:
        self.receiver = receiver
        self.resolver = resolver
        self.port = port
        self.addresses: list[Any] = []
        self.has_ended = False

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        self.host = resolution.name.lower()
        self.late = self.resolver.reactor.callLater(self.resolver.timeout, self.resolutionComplete)
        self.receiver.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        self.addresses.append(address)

    def resolutionComplete(self) -> None:  # noqa: N802
        if self.has_ended:  # the answer came too late
            return
        self.has_ended = True
        if self.late.active():
            self.late.cancel()
        if self.resolver.allows(self.host, self.port, [address.host for address in self.addresses]):
            for address in self.addresses:
                self.receiver.addressResolved(address)
        self.receiver.resolutionComplete()


def is_named(named: set[Host], host: str, port: int) -> bool:
    return (host, port) in named or (host, None) in named


@lru_cache(maxsize=4096)
def no_host(name: str) -> str | None:
    """Return why no host can have a name, in words that follow "its host": RFC 1123; ``None`` if one can.

    >>> no_host("a b.org"), no_host("a" * 64 + ".org"), no_host("m\u00fcnchen.de"), no_host("::1")
    ('has a space in it', 'has an empty part, or one that is too long', None, None)
    """
    try:
        name = name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError:
        return "is a name that no host can have"
    if odd := sorted(set(_IN_NO_HOST.findall(name))) if ":" not in name else []:
        return f"has {' and '.join('a space' if one in (' ', '%20') else repr(one) for one in odd[:3])} in it"
    labels = name.removesuffix(".").split(".")
    is_possible = len(name) <= 253 and all(0 < len(label) <= 63 for label in labels)
    return None if is_possible else "has an empty part, or one that is too long"


class ImpossibleHostError(AnswerError, IgnoreRequest):
    """No host can have the name in an address; raised by `PossibleHosts`."""


class PossibleHosts:
    """The downloader middleware that asks for no name that no host can have: a resolver takes a minute for some."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:  # noqa: ARG003
        return cls()

    def process_request(self, request: Request) -> None:
        host = urlparse_cached(request).hostname
        if host and (wrong := no_host(host)):
            raise ImpossibleHostError("dns", f"the host name can't be resolved: it {wrong}")


class PublicOnly:
    """The downloader middleware that tells the resolver which hosts the user named, and says what was refused.

    Named are the host and port of the spider's ``portal`` and ``start_urls``, as long as they have had no public
    address, and PORTAL_MAY_BE_PRIVATE is not False; those of ALLOWED_PRIVATE_HOSTS (``["intranet.example.org",
    "10.0.0.7:8080"]``); and the proxies of the environment. A proxy resolves names itself: behind one, only addresses
    that stand in the URL are checked.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.named = {_host(f"//{one}") for one in crawler.settings.getlist("ALLOWED_PRIVATE_HOSTS")}
        self.allowed = set(self.named)
        self.may_name_private = crawler.settings.getbool("PORTAL_MAY_BE_PRIVATE", True)
        self.resolver: PublicOnlyResolver | None = None
        self.proxies = set(_proxies()) if crawler.settings.getbool("HTTPPROXY_ENABLED") else set()
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self, spider: Spider) -> None:
        urls = (getattr(spider, "portal", None), *getattr(spider, "start_urls", ()))
        self.named |= {_host(url) for url in urls if url and self.may_name_private}
        self.resolver = PublicOnlyResolver.installed()
        if self.resolver:
            self.resolver.named |= self.named
            self.resolver.allowed |= self.allowed | self.proxies
        else:
            logger.warning("TWISTED_DNS_RESOLVER is not PublicOnlyResolver: names may lead to private addresses")

    def process_request(self, request: Request) -> None:
        host, port = _asked(request)
        address = spelled(host)
        if address and not is_public(address) and not is_named(self.named, host, port):
            raise self._refusal(host, port, address)

    def process_exception(self, request: Request, exception: Exception) -> None:
        host, port = _asked(request)
        if self.resolver and isinstance(exception, CannotResolveHostError) and host in self.resolver.refused:
            raise self._refusal(host, port, self.resolver.refused[host]) from exception

    def _refusal(self, host: str, port: int, address: str) -> ForbiddenAddressError:
        """Log the refusal: Scrapy does not log an IgnoreRequest without an errback."""
        was_public = self.resolver is not None and is_named(self.named, host, port)  # else it would not be refused
        error = ForbiddenAddressError(host, port, address, was_public=was_public)
        logger.warning("%s", error)
        return error


def _asked(request: Request) -> tuple[str, int]:
    parts = urlparse_cached(request)
    return parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)


def _proxies() -> Iterable[Host]:
    """Port 0: for a tunnel, Twisted asks for the proxy's name without its port."""
    for url in getproxies().values():
        host, port = _host(url if "//" in url else f"//{url}")
        yield from ((host, port or 80), (host, 0))
