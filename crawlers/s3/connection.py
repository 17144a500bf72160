"""The connection to a bucket; credentials and endpoint come from the environment only."""

from __future__ import annotations

import errno
import os
import re
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from obstore.exceptions import BaseError
from obstore.store import HTTPStore, S3Store

from crawlers.exceptions import OutputError

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

STATUS = re.compile(r"status code: (\d{3}[\w -]*)")
REPEATED = re.compile(r"after \d+ retries")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_REASONS = (
    ("<Code>NoSuchBucket<", errno.EIO, "there is no such bucket; make it, or correct {setting}"),
    ("<Code>RequestTimeTooSkewed<", errno.EACCES, "this machine's clock differs from the server's; set it by NTP"),
    ("status code: 403", errno.EACCES, "access is denied{code}; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ("(os error 28)", errno.ENOSPC, "the disk is full"),
    ("(os error 13)", errno.EACCES, "it can't be written; check who may write there"),
    ("(os error 30)", errno.EROFS, "it can only be read"),
    ("redirect without LOCATION", errno.EIO, "the bucket is in another region; correct AWS_REGION"),
    ("status code: 5", errno.EAGAIN, "the server answered {status}{code}"),
    ("status code: 429", errno.EAGAIN, "the server answered {status}{code}"),
    ("status code: ", errno.EIO, "the server answered {status}{code}"),
    ("TimedOut", errno.EAGAIN, "no answer came within {seconds:g} seconds"),
    ("kind: Connect", errno.EAGAIN, "the server can't be reached; check AWS_ENDPOINT_URL"),
    ("", errno.EAGAIN, "the connection broke before the answer came"),
)
"""What a text of obstore contains, the error number (EAGAIN: it may pass), and what it means; the first one counts."""
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_SENT = (*_KEYS, "AWS_SESSION_TOKEN", "AWS_TOKEN", *_REGIONS)
"""What goes into headers."""
_PRINTABLE = re.compile(r"[!-~]*")
_ENDPOINT = re.compile(r"(?ai)https?://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?(?:/[\w./~-]*)?")
_NUMBERED = re.compile(r"(?ai)(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?")  # a URL takes it for an IPv4 address


class Patience(NamedTuple):
    """How long the server may take.

    Args:
        timeout: seconds for a request; a few MiB are sent or received in one.
        retries: of a request that fails with a server's error or for which the connection breaks.
        pause: seconds before the first of them, doubled each time.
    """

    timeout: float = 60.0
    retries: int = 5
    pause: float = 0.5


def connected(bucket: str, prefix: str, patience: Patience, setting: str) -> S3Store:
    """Return a bucket; no request is made.

    Args:
        prefix: of all keys; may be empty.
        setting: the setting that names the bucket, for messages.

    Raises:
        OutputError: the environment has no credentials, or its endpoint can't be used.
    """
    _check_environment(setting)
    client: ClientConfig = {"timeout": timedelta(seconds=patience.timeout)}
    endpoint = _endpoint()
    if _is_loopback(endpoint):
        client["allow_http"] = True
    elif endpoint.lower().startswith("http:") and os.environ.get("AWS_ALLOW_HTTP", "").lower() != "true":
        raise OutputError("AWS_ENDPOINT_URL is not encrypted: use https://, or set AWS_ALLOW_HTTP=true.")
    retry: RetryConfig = {
        "max_retries": patience.retries,
        "retry_timeout": timedelta(seconds=3 * patience.timeout),
        "backoff": {"init_backoff": timedelta(seconds=patience.pause), "max_backoff": timedelta(seconds=15), "base": 2},
    }
    try:
        return S3Store(
            bucket, prefix=prefix or None, disable_bulk_delete=True, client_options=client, retry_config=retry
        )
    except (BaseError, ValueError) as error:
        raise OutputError(f"S3 can't be used: {str(error).partition(chr(10))[0]}") from None


def delta_options(patience: Patience) -> dict[str, str]:
    """Return the options of delta-rs for a bucket for which `connected` has checked the environment."""
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"  # else it asks the cloud's address of metadata for keys
    found = {
        "timeout": f"{patience.timeout:g}s",
        "max_retries": str(patience.retries),
        "retry_timeout": f"{3 * patience.timeout:g}s",
        "backoff_config.init_backoff": f"{1000 * patience.pause:g}ms",
        "backoff_config.max_backoff": "15s",
    }
    return found | ({"AWS_ALLOW_HTTP": "true"} if _endpoint().lower().startswith("http:") else {})


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_DELTA = (
    (re.compile(r"non-2xx status code\s+\W*\s*(\d{3})"), r"status code: \1"),
    (re.compile(r"client error \(Connect\)"), "kind: Connect"),
    (re.compile(r"operation timed out|TimedOut"), "TimedOut"),
    (re.compile(r"HTTP error"), "HTTP error"),
)
"""How delta-rs says what obstore says otherwise."""


def is_answer(error: Exception) -> bool:
    """Return whether an error of delta-rs tells what a server answered, or that it did not."""
    text = _plain(error)
    is_missing = "(os error 2)" in text or ("status code: 404" in text and "NoSuchBucket" not in text)
    if is_missing or "status code: 416" in text:  # a file is gone, or shorter than the table says
        return False
    return any(sign in text for sign in ("status code: ", "kind: Connect", "TimedOut", "HTTP error", "(os error "))


def _plain(error: Exception) -> str:
    """Return the text of an error as obstore would write it."""
    text = _COLOUR.sub("", str(error))
    for pattern, plain in _DELTA:
        text = pattern.sub(plain, text)
    return text


def failure(error: Exception, location: str, setting: str, timeout: float) -> OSError:
    """Return an error of obstore or delta-rs as one sentence; their own texts are of many lines.

    Args:
        location: the bucket, as messages name it.
        setting: the setting that names it.
        timeout: seconds that a request may take.
    """
    text = _plain(error)
    status, code = STATUS.search(text), _CODE.search(text)
    number, why = next((number, why) for sign, number, why in _REASONS if sign in text)
    words = {
        "setting": setting,
        "status": status and status[1].strip(),
        "code": f" ({code[1]})" if code else "",
        "seconds": timeout,
    }
    return OSError(number, f"{location}: {why.format(**words)}.")


def server_time(timeout: float) -> float | None:
    """Return the server's time, in seconds since 1970 and to the second; ``None`` if it does not say.

    The request has no credentials: every answer is dated, a refusal too.
    """
    region = next((os.environ[name] for name in _REGIONS if os.environ.get(name)), "us-east-1")
    request = Request(_endpoint() or f"https://s3.{region}.amazonaws.com", method="HEAD")  # noqa: S310 -- http(s), as checked
    try:
        with urlopen(request, timeout=timeout) as answer:  # noqa: S310
            dated = answer.headers.get("Date")
    except HTTPError as error:
        dated = error.headers.get("Date")
        error.close()
    except (OSError, HTTPException, ValueError):
        return None
    try:
        return parsedate_to_datetime(dated or "").timestamp()
    except ValueError:
        return None


def _check_environment(setting: str) -> None:
    """Check what obstore reads in the environment, and would panic at.

    Raises:
        OutputError: something is missing or wrong; it is not repeated, for it may be a secret.
    """
    for name in (*_SENT, *_ENDPOINTS, "AWS_ALLOW_HTTP"):
        if os.environ.get(name) == "":  # as GitHub passes a secret that is not set; obstore would send it
            del os.environ[name]
    missing = [name for name in _KEYS if not os.environ.get(name)]
    if missing:
        raise OutputError(f"{setting} is in S3, but the environment has no {' and no '.join(missing)}.")
    for name in _SENT:
        if not _PRINTABLE.fullmatch(os.environ.get(name, "")):
            raise OutputError(f"{name} in the environment has a line's end, a blank or another such sign: correct it.")
    for name in _ENDPOINTS:
        if name in os.environ and not _is_endpoint(os.environ[name]):
            raise OutputError(f"{name} in the environment is not https://host or http://host:port: correct it.")


def _is_endpoint(text: str) -> bool:
    """
    >>> [_is_endpoint(text) for text in ("https://s3.example.org/storage", "http://[::1]:8333", "localhost:8333")]
    [True, True, False]
    """
    found = _ENDPOINT.fullmatch(text)
    return found is not None and 0 < int(found[2] or 1) < 65536 and _is_host(found[1])


def _is_host(name: str) -> bool:
    """Return whether a URL can have this host; obstore panics later at punycode that is none."""
    try:
        HTTPStore.from_url(f"https://{name}")
        if name.startswith("["):
            IPv6Address(name[1:-1])
        elif _NUMBERED.fullmatch(name):
            IPv4Address(name)
    except ValueError:
        return False
    return True


def _endpoint() -> str:
    return next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")


def _is_loopback(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
