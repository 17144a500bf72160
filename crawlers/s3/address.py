"""Addresses of buckets, ``s3://bucket/prefix``; obstore is not imported for them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from urllib.parse import urlsplit

from crawlers.exceptions import OutputError
from crawlers.safety.inside import is_inside

_SCHEME = "s3:"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def is_address(location: object, setting: str) -> bool:
    """Return whether a setting names a bucket rather than a folder.

    Args:
        setting: the setting, for messages.

    Raises:
        OutputError: it names something else: the address is not repeated, for it may have a password.

    >>> is_address("s3://bucket/prefix", "OUTPUT_DIR"), is_address("S3:bucket", "OUTPUT_DIR"), is_address("s3", "")
    (True, True, False)
    """
    text = str(location or "")
    if text.lower().startswith(_SCHEME):
        return True
    if "://" in text:
        raise OutputError(f"{setting} must be a folder or s3://bucket/prefix.")
    return False


def parse(location: str, setting: str) -> tuple[str, str]:
    """Return bucket and prefix; what is wrong is not repeated, for it may have a password.

    Args:
        setting: the setting that has the address, for messages.

    Raises:
        OutputError: it is not the address of a bucket.
    """
    try:
        parts = urlsplit(location)
    except ValueError:
        parts = urlsplit("")
    prefix = parts.path.strip("/")
    if not _BUCKET.fullmatch(parts.netloc) or parts.query or parts.fragment or (prefix and not is_inside(prefix)):
        raise OutputError(f"{setting} is no s3://bucket/prefix: only small letters, digits, - and . name a bucket.")
    return parts.netloc, prefix


def need(setting: str, *packages: str) -> None:
    """Check that packages are installed.

    Raises:
        OutputError: they are not; the message says how to install them.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        names = " and ".join(missing)
        raise OutputError(f"{setting} is in S3, which needs {names}: pip install 'catalogue-crawlers[s3]'.")
