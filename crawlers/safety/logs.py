"""What may stand in a log and on a terminal: no credentials, and nothing that acts on the terminal or forges a line."""

from __future__ import annotations

import codecs
import io
import logging
import re
import unicodedata
from typing import TYPE_CHECKING, Any, Self, TextIO

from scrapy import signals

from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Buffer


_FORMATTER = logging.Formatter()


class Redact(logging.Filter):
    """A logging filter that redacts messages and tracebacks, and indents their further lines: none is forged."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _indented(redact(record.getMessage())), None
        if record.exc_info:
            record.exc_text = _indented(redact(_FORMATTER.formatException(record.exc_info)))
        return True


def _indented(text: str) -> str:
    return shown(text).replace("\n", "\n    ")


class RedactedLogs:
    """The extension that puts `Redact` on every handler of the root logger."""

    def __init__(self, crawler: Crawler) -> None:
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self) -> None:
        for handler in logging.root.handlers:
            if not any(isinstance(one, Redact) for one in handler.filters):
                handler.addFilter(Redact())


# Text of others on a terminal: what would act on it is shown as an escape, and does nothing

_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))  # controls, bidi overrides, halves of surrogates, separators
_KEPT = "\n\t\u200c\u200d"  # all the same: the last two are joiners, in Persian, Hindi and emoji
_COLOUR = re.compile(r"(\x1b\[(?:0|1|(?:1;)?3[0-7])m)")
"""The escape sequences of this project's own lines; in the text of others they change a colour at most."""


def shown(text: str) -> str:
    r"""Return a text that does nothing to a terminal but colour it.

    >>> print(shown("a\x9b2J\u202eb \x1b[2J"))
    a\u009b2J\u202eb \u001b[2J
    >>> shown("\x1b[31mred\x1b[0m")
    '\x1b[31mred\x1b[0m'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(part if _COLOUR.fullmatch(part) else "".join(map(_shown, part)) for part in _COLOUR.split(text))


def _shown(letter: str) -> str:
    if letter in _KEPT or unicodedata.category(letter) not in _UNSEEN:
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


class Terminal:
    """A text stream to a terminal on which nothing acts that is written; the rest is the stream's."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.buffer = TerminalBytes(stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        self.stream.write(shown(text.replace("\r\n", "\n")))
        return len(text)


class TerminalBytes(io.BufferedIOBase):
    """The same for what is written as UTF-8."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def write(self, body: Buffer) -> int:
        self.stream.write(shown(self.decoder.decode(bytes(body)).replace("\r\n", "\n")))
        return len(bytes(body))

    def flush(self) -> None:
        self.stream.flush()
