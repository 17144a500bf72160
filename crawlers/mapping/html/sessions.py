"""Addresses without the ids of sessions, which differ on each visit and make no difference."""

from __future__ import annotations

import re

_IN_PATH = re.compile(
    r";(?:jsessionid|phpsessid|sessionid)=[^/;?#]*|/\([A-Z]\([A-Za-z0-9_-]{8,200}\)\)(?=/)", re.IGNORECASE
)
_IN_QUERY = re.compile(
    r"(?<=[?&])(?:phpsessid|jsessionid|aspsessionid\w{0,40}|asp\.net_sessionid|cfid|cftoken)=[^&#]*(?:&|(?=#)|$)",
    re.IGNORECASE,
)
_LEFT = re.compile(r"[?&](?=#|$)")


def without_session(address: str) -> str:
    """
    >>> without_session("https://a.org/b;jsessionid=1F?x=1&PHPSESSID=2&y=3"), without_session("https://a.org/?cfid=1&cftoken=2")
    ('https://a.org/b?x=1&y=3', 'https://a.org/')
    >>> without_session("https://a.org/(S(abcdefgh12))/b?x=1&jsessionid=2#c"), without_session("https://a.org/?sid=1")
    ('https://a.org/b?x=1#c', 'https://a.org/?sid=1')
    """
    address = _IN_PATH.sub("", address)
    found = _IN_QUERY.sub("", address) if "?" in address else address
    return address if found == address else _LEFT.sub("", found, count=1)
