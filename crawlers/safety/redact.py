"""Text without credentials, and without the control characters that a portal sent."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

_SHORTEST = 8  # characters; a shorter one may be an ordinary word
_OWN: set[str] = set()
_USER = re.compile(r"(?<=://)[^/\s]+@")
_SECRET = re.compile(
    r"(?i)((?:[\w-]*(?:api[_-]?key|token|secret|signature|credential|passw(?:or)?d|pwd|accesskeyid)|\bauth(?:orization)?)"
    r"['\"]?\s*(?!:\s+(?:it|is|are|was|has|must|may|can|not|no|the|this|that|an?)\s)"  # a sentence about the secret
    r"[:=]\s*(?:[\['\"]|b(?=['\"]))*(?:(?:Bearer|Basic|Token)\s+)?)[^&\s'\",]+"
)
_MARKS = ("key", "token", "secret", "nature", "cred", "pass", "pwd", "auth")
"""A text without any of these has nothing for `_SECRET`, which tries every word of it; none has an i, for Turkish."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def hide(secret: str) -> None:
    """Remove this secret from all that is written, logged or sent from now on.

    Args:
        secret: of eight characters at least; a shorter one is ignored.
    """
    if len(secret) >= _SHORTEST:
        _OWN.update((secret, quote(secret, safe=""), json.dumps(secret)[1:-1]))


def hidden(body: bytes) -> bytes:
    """Return bytes without the secrets given to `hide`."""
    for secret in _OWN:
        body = body.replace(secret.encode(), b"***")
    return body


def redact(text: str) -> str:
    r"""Return a text without credentials, and with its control characters spelled out.

    >>> redact("GET https://me:secret@example.org:8000/?token=abc&q=1 \x1b[31m")
    'GET https://***@example.org:8000/?token=***&q=1 \\x1b[31m'
    """
    for secret in _OWN:
        text = text.replace(secret, "***")
    text = _USER.sub("***@", text) if "@" in text else text
    folded = text.casefold()
    if any(mark in folded for mark in _MARKS):
        text = _SECRET.sub(r"\1***", text)
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
