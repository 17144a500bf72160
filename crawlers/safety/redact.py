"""Text from elsewhere without credentials and control characters, and on one line where it has to be."""

from __future__ import annotations

import json
import re
from typing import Any
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


def _logins(backslash: str, letters: str, end: str) -> str:
    r"""Return the expression of a login behind ``://``, which is its first group; it takes one pass.

    RFC 3986, 3.2.1, and what people write: letters that should be encoded, ``DOMAIN\user``, a mail address as the user,
    ``?`` and ``#``. A number is a port. A user has no bracket, comma or letter beyond Latin: text around an address
    does. A password has them only if nothing but the rest of the address follows, which `_is_login` judges.

    Args:
        backslash: as the text spells it.
        letters: a class of Latin ones.
        end: what ends a value.
    """
    plain = rf"(?:[\w!$%&'(*+.:;=\[^`{{|~{letters}-]++|{backslash})*+@"
    marked = plain.replace("[", "[?#", 1)
    whole = rf"(?:[^\x00-\x20\"<>/\\@]++|{backslash})*+@(?=(?:[^\x00-\x20\"<>\\@]++|{backslash})*+{end})"
    user = rf"(?:[\w.~%+$;{letters}-]++|{backslash})*+(?:@[\w.-]++)?"
    return rf"(://)({user})(?<!(?i:mailto)):(?!\d*[/?#,;)\]])(?:(?:{plain})+|{marked}|({whole}))"


_IN_BYTES = r"\x80-\xbf\xc3-\xc9"  # of the same letters in UTF-8
_LOGINS = re.compile(_logins(r"\\", r"\u00c0-\u024f", r"\s*\Z"), re.ASCII)
_LOGINS_IN_JSON = re.compile(_logins(r"\\\\", _IN_BYTES, r"\s*\"").encode())
_LOGINS_IN_XML = re.compile(_logins(r"\\", _IN_BYTES, r"\s*(?:[\"<]|\Z)").encode())
_USER_IN_BYTES = re.compile(rb"://[^/@]*+@")
_BEGIN = re.compile(r"\A\s*[a-z][a-z0-9+.-]*+\Z", re.ASCII | re.IGNORECASE)
_BEGIN_IN_BYTES = re.compile(rb"(?:\A|[\">])\s*[a-z][a-z0-9+.-]*+\Z", re.IGNORECASE)
_BEFORE = 40  # characters in which the beginning of a value is looked for


def _is_login(found: re.Match[Any]) -> bool:
    """Return whether what has the form of a login is one, and no text behind an address: ``://www.a.org;Mail:me@``."""
    user, is_whole = found[2], found[3] is not None
    text = user.decode("utf-8", "replace") if isinstance(user, bytes) else user
    if text[:4].lower() == "www.":
        return False
    if not (is_whole or ";" in text or text.count(".") > 1):
        return True
    begin = _BEGIN_IN_BYTES if isinstance(user, bytes) else _BEGIN
    return begin.search(found.string, max(0, found.start() - _BEFORE), found.start()) is not None


def _cut(found: re.Match[Any]) -> Any:
    return found[1] if _is_login(found) else found[0]


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


def has_login(body: bytes) -> bool:
    """Return whether an address in it has ``user:password@``."""
    return _may_have_login(body) and any(map(_is_login, _of(body).finditer(body)))


def _of(body: bytes) -> re.Pattern[bytes]:
    return _LOGINS_IN_JSON if body[:1] in b'{["' else _LOGINS_IN_XML


def _may_have_login(body: bytes) -> bool:
    """Return whether the expression, which takes forty times as long, is worth it: nearly all documents end here."""
    return b"@" in body and _USER_IN_BYTES.search(body) is not None


def writable(body: bytes) -> bytes:
    """Return bytes as they may be stored: without the secrets given to `hide`, and without logins.

    >>> writable(b'{"url": "ftp://me:secret@example.org/a.csv", "email": "me@example.org"}')
    b'{"url": "ftp://example.org/a.csv", "email": "me@example.org"}'
    """
    body = hidden(body)
    return _of(body).sub(_cut, body) if _may_have_login(body) else body


def without_logins(value: Any) -> Any:
    """Return a text, or the texts of lists and dicts, without the ``user:password@`` of addresses.

    >>> without_logins(["ftp://me:secret@example.org/a.csv", None])
    ['ftp://example.org/a.csv', None]
    """
    if isinstance(value, str):
        return _LOGINS.sub(_cut, value) if "@" in value else value
    if isinstance(value, list):
        return [without_logins(one) for one in value]
    if isinstance(value, dict):
        return {without_logins(name): without_logins(one) for name, one in value.items()}
    return value


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


def one_line(text: object, longest: int = 300) -> str:
    r"""Return a text that can forge nothing: no control characters, no line breaks, nothing that turns its direction.

    >>> one_line("Côte d'Ivoire\r\nBcc: all@example.org\u202e \x1b[31m")
    "Côte d'Ivoire Bcc: all@example.org [31m"
    """
    words = "" if text is None else " ".join(str(text)[: 4 * longest].split())
    found = "".join(filter(str.isprintable, words))
    return found if len(found) <= longest else f"{found[: longest - 1]}…"


def safe_line(text: object, longest: int = 300) -> str:
    r"""Return such a text without credentials, for logs.

    >>> safe_line("GET https://example.org/?token=ab\x07cd")
    'GET https://example.org/?token=***'
    """
    return redact(one_line(text, longest))
