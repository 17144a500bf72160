"""Text without credentials, and without the control characters that a portal sent."""

from __future__ import annotations

import re

_USER = re.compile(r"(?<=://)[^/\s]+@")
_SECRET = re.compile(
    r"(?i)((?:[\w-]*(?:api[_-]?key|token|secret|signature|credential|password|accesskeyid)|\bauth(?:orization)?)"
    r"['\"]?\s*[:=]\s*[\['\"b]*(?:(?:Bearer|Basic|Token)\s+)?)[^&\s'\",]+"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def redact(text: str) -> str:
    r"""
    >>> redact("GET https://me:secret@example.org:8000/?token=abc&q=1 \x1b[31m")
    'GET https://***@example.org:8000/?token=***&q=1 \\x1b[31m'
    """
    text = _SECRET.sub(r"\1***", _USER.sub("***@", text))
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
