"""What can be wrong with an answer that is spooled; what Scrapy would raise, with this project's kind and sentence."""

from __future__ import annotations

from scrapy.exceptions import DownloadCancelledError, ResponseDataLossError

from crawlers.exceptions import AnswerError


class TooLarge(AnswerError, DownloadCancelledError):  # noqa: N818
    """The answer has more bytes than SPOOL_MAXSIZE, sent or unpacked; raised by the download handler, not retried."""

    def __init__(self, largest: int, how: str = "") -> None:
        super().__init__("too_large", f"the answer is larger than SPOOL_MAXSIZE ({largest} bytes){how}")


class HeadersTooLarge(AnswerError, DownloadCancelledError):  # noqa: N818
    """The answer's headers are too large; raised by the download handler, not retried."""

    def __init__(self, largest: int) -> None:
        super().__init__(
            "too_large", f"the answer's headers are larger than {largest} bytes, or one of them has no end"
        )


class NotUnpacked(AnswerError, ResponseDataLossError):  # noqa: N818
    """The answer's content encoding can't be undone: it is broken, or breaks off; raised by the handler, retried."""

    def __init__(self, reason: str) -> None:
        super().__init__("truncated", f"the answer can't be unpacked ({reason})")
