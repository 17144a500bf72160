"""Undoes content encodings while the bytes are received, a little at a time."""

from __future__ import annotations

import struct
import sys
import zlib
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import brotli  # type: ignore[import-untyped]
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import ResponseDataLossError

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


_PART = 256 * 1024
_SIP = 8 * 1024  # what is left of one is copied where a member ends, and a member may have 20 bytes
_DEEPEST = 2  # encodings on top of each other: a third would unpack a bomb's bomb
GZIP = b"\x1f\x8b"
_ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + number, 0x2A, 0x4D, 0x18]) for number in range(16)))
ERRORS = (zlib.error, brotli.error, zstd.ZstdError)
"""What the libraries raise of bytes that are not in the encoding."""


class NotUnpacked(AnswerError, ResponseDataLossError):  # noqa: N818
    """The answer's content encoding can't be undone: it is broken, or breaks off; raised by the handler, retried."""

    def __init__(self, reason: str) -> None:
        super().__init__("truncated", f"the answer can't be unpacked ({reason})")


class Decoder(Protocol):
    """Undoes one encoding.

    Attributes:
        whole: the bytes so far may be all there are.
    """

    whole: bool

    def decode(self, data: bytes) -> Iterator[bytes]: ...


class Member(Protocol):
    """What the standard library's decompressors have in common, but zlib's."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Inflate:
    """zlib's decompressor as a `Member`."""

    def __init__(self, wbits: int) -> None:
        self._zlib = zlib.decompressobj(wbits)
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        part = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        self.needs_input = not self._zlib.unconsumed_tail and len(part) < max_length
        return part

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data


class Members:
    """An encoding of members one after the other; what follows them and is none is left out, as browsers do.

    Args:
        new: makes what decompresses a member, from its first bytes.
        look: how many bytes tell what it is.
        magics: how a further member begins.
    """

    def __init__(self, new: Callable[[bytes], Member], look: int, magics: Sequence[bytes] = ()) -> None:
        self.whole = False
        self._new, self._look, self._magics = new, look, magics
        self._member: Member | None = None
        self._waiting = b""

    def decode(self, data: bytes) -> Iterator[bytes]:
        for place in range(0, len(data), _SIP):
            yield from self._sip(data[place : place + _SIP])

    def _sip(self, data: bytes) -> Iterator[bytes]:
        data, self._waiting = self._waiting + data, b""
        while data:
            if self._member is None:
                if len(data) < self._look:
                    self._waiting = data
                    return
                if self.whole and not data.startswith(tuple(self._magics)):
                    return
                self._member, self.whole = self._new(data), False
            yield self._member.decompress(data, _PART)
            while not (self._member.eof or self._member.needs_input):
                yield self._member.decompress(b"", _PART)
            if not self._member.eof:
                return
            data, self._member, self.whole = self._member.unused_data, None, True


class Brotli:
    """RFC 7932."""

    def __init__(self) -> None:
        self.whole = False
        self._brotli = brotli.Decompressor()

    def decode(self, data: bytes) -> Iterator[bytes]:
        part = self._brotli.process(data, output_buffer_limit=_PART)
        while part:
            yield part
            part = self._brotli.process(b"", output_buffer_limit=_PART)
        self.whole = self._brotli.is_finished()


def _deflate(data: bytes) -> Member:
    """With zlib's header, as the RFC has it, or without, as some servers do."""
    header = int.from_bytes(data[:2]) % 31 == 0 and data[0] & 15 == 8
    return Inflate(zlib.MAX_WBITS if header else -zlib.MAX_WBITS)


_gzip = partial(Members, lambda _: Inflate(16 + zlib.MAX_WBITS), 2, [GZIP])
_DECODERS: dict[bytes, Callable[[], Decoder]] = {
    b"gzip": _gzip,
    b"x-gzip": _gzip,
    b"deflate": partial(Members, _deflate, 2),
    b"br": Brotli,
    b"zstd": partial(Members, lambda _: zstd.ZstdDecompressor(), 4, _ZSTD),
}


def undone(values: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return what can be undone of ``Content-Encoding``, the last one first, and what stays.

    >>> undone([b"x-secret, gzip", b"BR"])
    ([b'br', b'gzip'], [b'x-secret'])
    >>> undone([b"gzip, identity"])
    ([], [b'gzip', b'identity'])
    """
    staying = [one.strip().lower() for value in values for one in value.split(b",")]
    undoing = []
    while staying and staying[-1] in _DECODERS:
        undoing.append(staying.pop())
    return undoing, staying


class Encoding:
    """Undoes the encodings of one body, in that order.

    Raises:
        NotUnpacked: the bytes are not in the stated encoding; here, by `decode` and by `end`.
    """

    def __init__(self, names: Sequence[bytes]) -> None:
        if len(names) > _DEEPEST:
            raise NotUnpacked(f"{len(names)} encodings on top of each other")
        self._names = b", ".join(names).decode()
        self._decoders = [_DECODERS[name]() for name in names]

    def decode(self, data: bytes) -> Iterator[bytes]:
        parts: Iterable[bytes] = (data,)
        for decoder in self._decoders:
            parts = chain.from_iterable(map(decoder.decode, parts))
        try:
            yield from parts
        except ERRORS as error:
            raise NotUnpacked(f"{self._names}: {error}") from error

    def end(self) -> None:
        if not all(decoder.whole for decoder in self._decoders):
            raise NotUnpacked(f"{self._names}: it breaks off")


_OF_GZIP = (OSError, EOFError, struct.error)


class BoundedCompression(HttpCompressionMiddleware):
    """Scrapy's HttpCompressionMiddleware; encodings on top of each other are undone together, a little at a time.

    Scrapy's holds what each of them unpacks to.
    """

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
