"""What may stand in a log: no credentials, and no control characters that a portal sent."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from scrapy import signals

from crawlers.safety.redact import redact
from crawlers.safety.terminal import shown

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

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
