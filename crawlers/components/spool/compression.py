"""Scrapy's decompression, which holds what each of several encodings unpacks to; here no more than the last one's."""

from __future__ import annotations

import struct
from itertools import chain
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware

from crawlers.components.spool.encoding import ERRORS, Encoding
from crawlers.components.spool.errors import NotUnpacked
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterable

_OF_GZIP = (OSError, EOFError, struct.error)


class BoundedCompression(HttpCompressionMiddleware):
    """Scrapy's HttpCompressionMiddleware; encodings on top of each other are undone together, a little at a time."""

    def _handle_encoding(self, body: bytes, content_encoding: list[bytes], max_size: int) -> tuple[bytes, list[bytes]]:
        undoing, staying = self._split_encodings(content_encoding)
        if len(undoing) < 2:
            try:
                return super()._handle_encoding(body, content_encoding, max_size)
            except (*ERRORS, *_OF_GZIP) as error:
                raise NotUnpacked(f"{undoing[0].decode()}: {error}") from error
        return unpacked([body], undoing, max_size), staying


def unpacked(body: Iterable[bytes], encodings: list[bytes], largest: int) -> bytes:
    """Undo several encodings.

    Args:
        body: in parts.
        encodings: the last one first.
        largest: maximum bytes of the unpacked body; 0 = no limit.

    Raises:
        AnswerError: there are more (too_large), or the encodings can't be undone (truncated).
    """
    encoding, found = Encoding(encodings), bytearray()
    for part in chain.from_iterable(map(encoding.decode, body)):
        found += part
        if largest and len(found) > largest:
            raise AnswerError(
                "too_large", f"the answer is larger than DOWNLOAD_MAXSIZE ({largest} bytes) when unpacked"
            )
    encoding.end()
    return bytes(found)
