"""Where something may go unencrypted: to addresses that are not public."""

from __future__ import annotations

import socket

from crawlers.safety.resolver import is_public, spelled


def is_private(host: str) -> bool:
    """Whether no address of a host is public; a name that can't be resolved leads nowhere.

    >>> is_private("127.0.0.1"), is_private("::1"), is_private("8.8.8.8")
    (True, True, False)
    """
    literal = spelled(host)
    return not any(map(is_public, [literal] if literal else _addresses(host)))


def _addresses(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]).partition("%")[0] for *_, address in found]
