"""Text from elsewhere, on one line."""

from __future__ import annotations

from crawlers.safety.redact import redact


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
