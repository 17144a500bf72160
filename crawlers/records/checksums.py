"""Checksums: the algorithm by name, by prefix or by length."""

from __future__ import annotations

import re

from crawlers.items import Checksum

_LENGTHS = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
_VALUE = re.compile(r"(?:([a-z0-9-]{1,20}):)?([0-9a-f]{8,256})", re.IGNORECASE)


def checksum(text: str | None, algorithm: str | None = None) -> Checksum | None:
    """Return a checksum in hexadecimal; ``None`` for ETags and all else.

    ``algorithm`` is a name (``SHA-256``) or SPDX's URI of it. It must fit the value's length.

    >>> checksum("62c3691f2558c7788f1c4fb923c0ad60")
    Checksum(algorithm='md5', value='62c3691f2558c7788f1c4fb923c0ad60')
    >>> checksum("sha1:6F1E452320DAFBE9A5304AC77ED7A4FF79BFAFC3").algorithm
    'sha1'
    >>> checksum('W/"90a921cdd859fbbdfa5fa70a59009bab"'), checksum("cbf43926"), checksum("ab" * 16, "sha1")
    (None, None, None)
    >>> checksum("cbf43926", "crc32").algorithm
    'crc32'
    """
    found = _VALUE.fullmatch(text.strip()) if text else None
    if not found:
        return None
    value = found[2].lower()
    by_length = _LENGTHS.get(len(value), "")
    name = _name(algorithm or found[1]) or by_length
    fits = name == by_length or name not in _LENGTHS.values()
    return Checksum(algorithm=name, value=value) if name and fits else None


def _name(algorithm: str | None) -> str:
    bare = algorithm and algorithm.replace("#", "/").replace("_", "/").rpartition("/")[2]
    return bare.lower().replace("-", "")[:20] if bare else ""
