"""Text from elsewhere, on one line."""

from __future__ import annotations

from crawlers.safety.redact import redact


def one_line(text: object, longest: int = 300) -> str:
    r"""A text that forges nothing: no control characters, no line breaks, nothing that turns its direction.

    >>> one_line("Côte d'Ivoire\r\nBcc: all@example.org\u202e \x1b[31m")
    "Côte d'Ivoire Bcc: all@example.org [31m"
    """
    found = "" if text is None else str(text)[: 4 * longest]
    found = redact(" ".join("".join(one if one.isprintable() else " " for one in found).split()))
    return found if len(found) <= longest else f"{found[: longest - 1]}…"
