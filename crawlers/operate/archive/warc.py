"""`scrapy archive warc`: captures as WARC 1.1 (ISO 28500:2017), for the tools of web archives.

What is stored is a file, not a conversation: content and transfer encodings were undone when it was downloaded. The
records are made of the status, the headers and that file; the first record of each file describes that.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from datetime import UTC, datetime
from http.client import responses
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from uuid import NAMESPACE_URL, uuid5

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawlers.exceptions import ArchiveError
from crawlers.operate.archive.holdings import StoredFile
from crawlers.operate.archive.inventory import pruned, stored
from crawlers.operate.archive.retrieval import check_free
from crawlers.operate.console import print_error
from crawlers.records.moment import moment, now, written
from crawlers.safety.redact import one_line, safe_line
from crawlers.store.export.output import target
from crawlers.store.figures.formatting import number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from crawlers.items import Capture
    from crawlers.operate.archive.holdings import Holdings

GAP = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
REQUESTS = (
    "Request records have the headers as they were sent, without cookies, credentials and bodies; earlier versions of "
    "the software did not note them."
)
NOTE = (
    "Response records are reconstructed: the status and the headers as they were recorded, and the file as it is "
    "stored, after content and transfer encodings were undone. Content-Encoding, Transfer-Encoding and Content-Length "
    "as the server sent them are in X-Archive-Orig-*. " + REQUESTS
)
_ENCODINGS = ("content-encoding", "transfer-encoding", "content-length")
_LONGEST = 16_000  # characters of a header's value or an address
_IN_ADDRESSES = "%/:=&?~#+!$,;'@()*[]-._"
_IN_HEADERS = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_ABOUT = (
    *("source", "run", "dataset_id", "resource_id", "title", "format", "url", "origin", "request_type", "state"),
    *("status", "error", "reason", "http_status", "found_type", "finding", "size", "sha256", "md5", "kept_at"),
)
_WRITTEN = "CREATE TEMP TABLE IF NOT EXISTS in_warc (sha256 TEXT PRIMARY KEY, address TEXT, date TEXT) WITHOUT ROWID"


def warc(holdings: Holdings, names: list[str], opts: argparse.Namespace) -> int:
    """Write the captures that some names mean, or all, as a WARC file; return the exit code.

    Raises:
        ArchiveError: nothing has one of the names, or the file can't be written.
        DamagedError: a file in the store is damaged.
    """
    if opts.output is None:
        raise ArchiveError("Name the file to write: -o x.warc.gz, or - for standard output.")
    path = None if str(opts.output) == "-" else opts.output
    check_free([path] if path else [], force=opts.force)
    captures = holdings.captures(names or holdings.archives)
    with target(path) as file:
        records = Records(file, gzip=path is None or path.suffix == ".gz", agent=agent(holdings))
        records.begin(path.name if path else "", now("milliseconds"))
        count, gaps = _write_all(holdings, records, captures)
    if path:
        print(f"{path}: {number(count)} captures, {number(gaps)} gaps.")
    return GAP if gaps else 0


def agent(holdings: Holdings) -> str:
    """Return the name and the version of this program."""
    return f"{holdings.settings['BOT_NAME']} {holdings.settings['VERSION']}"


def _write_all(holdings: Holdings, records: Records, captures: Iterable[Capture]) -> tuple[int, int]:
    """Write the records of captures; return how many captures and how many missing files there were."""
    holdings.db.execute(_WRITTEN)
    outcomes = Counter(_write(holdings, records, found) for found in captures)
    return outcomes.total(), outcomes[False]


def _write(holdings: Holdings, records: Records, found: Capture) -> bool:
    """Write the records of a capture; return ``False`` if its file should be there and is not."""
    if found.state not in ("kept", "unchanged") or not found.sha256 or not found.http_status:
        records.metadata(found)
        return True
    before = next(holdings.rows("SELECT address, date FROM in_warc WHERE sha256 = ?", (found.sha256,)), None)
    if before:
        records.metadata(found, records.revisit(found, before["address"], before["date"]))
        return True
    blob = stored(holdings.blobs, found.sha256)
    if blob is None:
        removed = pruned(holdings, found.sha256)
        records.metadata(found, note=removed or "The file is missing in the store.")
        if not removed:
            print_error(f"missing: {found.sha256}, the file of {safe_line(found.url, _LONGEST)}")
        return removed is not None
    records.metadata(found, records.response(found, StoredFile(holdings.blobs, found.sha256), blob.bytes))
    address = {"sha256": found.sha256, "address": answered(found), "date": date(found.time)}
    holdings.db.execute("INSERT INTO in_warc VALUES (:sha256, :address, :date)", address)
    return True


class _Writer(WARCWriter):  # type: ignore[misc]  # it has no types
    """Writes a body as it is read: its digest is known, and warcio would read it once more for another."""

    def ensure_digest(self, record: Any, block: bool = True, payload: bool = True) -> None:
        """Leave the digests as they are."""


class Records:
    """Writes captures as the records of a WARC file; a body is streamed.

    Args:
        file: the file; it needs no position.
        gzip: whether each record is compressed.
        agent: the program, for the first record.
    """

    def __init__(self, file: IO[bytes] | io.RawIOBase, *, gzip: bool, agent: str) -> None:
        self.writer = _Writer(file, gzip=gzip, warc_version="1.1")
        self.agent = agent

    def begin(self, name: str, time: str, note: str = NOTE) -> None:
        """Write the record that describes the file.

        Args:
            name: the file's name, or nothing.
            time: the first capture's.
            note: how its records were made.
        """
        about = {
            "software": self.agent,
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "description": note,
        }
        headers = {"WARC-Record-ID": _id(name, time, "warcinfo"), "WARC-Date": time}
        self._fields("", "warcinfo", headers | ({"WARC-Filename": name} if name else {}), about.items())

    def response(self, found: Capture, file: StoredFile, size: int) -> str:
        """Write a file with the headers that came with it; return the record's id.

        Raises:
            DamagedError: the file is damaged; the record is then not whole.
        """
        headers = self._headers(found, "response") | {"WARC-Payload-Digest": f"sha256:{found.sha256}"}
        record = self.writer.create_warc_record(
            *(answered(found), "response"),
            payload=file,
            length=size,
            warc_headers_dict=headers,
            http_headers=_http_headers(found, size),
        )
        try:
            self.writer.write_record(record)
        finally:
            file.close()
        return headers["WARC-Record-ID"]

    def revisit(self, found: Capture, address: str, time: str) -> str:
        """Write a look that found a file of another record, by its address and date; return the record's id."""
        headers = self._headers(found, "revisit")
        digest = f"sha256:{found.sha256}"
        record = self.writer.create_revisit_record(
            answered(found), digest, address, time, http_headers=_http_headers(found), warc_headers_dict=headers
        )
        self.writer.write_record(record)
        return headers["WARC-Record-ID"]

    def metadata(self, found: Capture, concurrent: str | None = None, note: str | None = None, **more: str) -> None:
        """Write what the catalogue and the crawl know of a look, and its request: all there is if it brought nothing.

        Args:
            concurrent: the id of the record of the same look.
            note: a remark about it.
            more: further fields.
        """
        headers = self._headers(found, "metadata")
        if concurrent:
            headers["WARC-Concurrent-To"] = concurrent
        fields = [(name, getattr(found, name)) for name in _ABOUT]
        fields += [("redirected_to", address) for address in found.redirects]
        if concurrent is None:
            fields += [("http-header", ": ".join(pair)) for pair in found.headers]
        self._fields(answered(found), "metadata", headers, [*fields, ("note", note), *more.items()])
        if found.method:
            self._request(found, found.method, concurrent or headers["WARC-Record-ID"])

    def _request(self, found: Capture, method: str, concurrent: str) -> None:
        """Write the request of a look.

        Args:
            concurrent: the id of the record of its answer.
        """
        address = answered(found)
        parts = urlsplit(address)
        path = f"{parts.path or '/'}{'?' if '?' in address else ''}{parts.query}"
        sent = [(_header(name), _header(value)) for name, value in found.request_headers]
        sent = sent if any(name.lower() == "host" for name, _ in sent) else [("Host", parts.netloc), *sent]
        record = self.writer.create_warc_record(
            *(address, "request"),
            warc_headers_dict=self._headers(found, "request") | {"WARC-Concurrent-To": concurrent},
            http_headers=StatusAndHeaders(f"{_header(method)} {path} HTTP/1.1", sent, is_http_request=True),
        )
        self.writer.write_record(record)

    def _headers(self, found: Capture, kind: str) -> dict[str, str]:
        key = (found.source, found.dataset_id, found.resource_id, found.url, found.run, kind)
        return {"WARC-Record-ID": _id(*key), "WARC-Date": date(found.time)}

    def _fields(self, address: str, kind: str, headers: dict[str, str], fields: Iterable[tuple[str, Any]]) -> None:
        """Write a record of named fields (application/warc-fields)."""
        lines = (f"{name}: {one_line(value, _LONGEST)}\r\n" for name, value in fields if value not in (None, ""))
        body = "".join(lines).encode(errors="replace")
        headers["WARC-Block-Digest"] = f"sha256:{hashlib.sha256(body).hexdigest()}"
        record = self.writer.create_warc_record(
            address, kind, payload=io.BytesIO(body), length=len(body), warc_headers_dict=headers
        )
        self.writer.write_record(record)


def answered(found: Capture) -> str:
    """Return the address that answered, in ASCII: it may be behind redirects."""
    address = found.redirects[-1] if found.redirects else found.url
    return quote(one_line(address, _LONGEST), safe=_IN_ADDRESSES, errors="replace")


def date(time: str | None) -> str:
    """Return a moment as WARC has it.

    >>> date("2026-11-20T03:00:00Z"), date("yesterday")
    ('2026-11-20T03:00:00.000Z', '1970-01-01T00:00:00.000Z')
    """
    return written(moment(time) or _EPOCH, "milliseconds")


def _http_headers(found: Capture, size: int | None = None) -> StatusAndHeaders:
    """Return the status and the headers of an answer; of a body without its encodings, if its size is given."""
    pairs = [(_header(name), _header(value)) for name, value in found.headers]
    pairs = [(f"X-Archive-Orig-{name}" if name.lower() in _ENCODINGS else name, value) for name, value in pairs]
    pairs += [("Content-Length", str(size))] if size is not None else []
    status = f"{found.http_status} {responses.get(found.http_status or 0, '')}".rstrip()
    return StatusAndHeaders(status, pairs, protocol="HTTP/1.1")


def _header(text: str) -> str:
    """Return a header's name or value in ASCII, on one line."""
    return quote(one_line(text, _LONGEST), safe=_IN_HEADERS, errors="replace")


def _id(*key: object) -> str:
    """Return the same id for the same record each time."""
    return f"<urn:uuid:{uuid5(NAMESPACE_URL, json.dumps(key))}>"
