"""`scrapy archive bag`: datasets with their files and their provenance as one BagIt bag (RFC 8493) in a zip file.

All is streamed: a payload file goes from the store into the zip while it is hashed; the manifests follow.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import zipfile
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from scrapy.exporters import PythonItemExporter

from crawlers.exceptions import ArchiveError
from crawlers.operate.archive.file_names import FileNames
from crawlers.operate.archive.holdings import CHUNK, StoredFile
from crawlers.operate.archive.inventory import stored
from crawlers.operate.archive.retrieval import check_free, why
from crawlers.operate.archive.warc import REQUESTS, Records, agent, answered, date
from crawlers.operate.console import print_error
from crawlers.safety import inside, strict_json
from crawlers.safety.names import ARCHIVE_OF, safe
from crawlers.safety.redact import one_line, safe_line
from crawlers.store.export.output import target
from crawlers.store.figures.formatting import number
from crawlers.store.index.captures import line
from crawlers.store.index.documents import UNREADABLE, item, left_out
from crawlers.store.index.known import Held

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from crawlers.items import Capture
    from crawlers.operate.archive.holdings import Holdings

GAP = 3
_LONGEST = 5_000  # characters of a line
_THEN = (1980, 1, 1, 0, 0, 0)  # the first date that a zip file can have: the same bag has the same bytes
_NOTE = (
    "The headers of the answers that brought the files of this bag, without bodies: revisit records whose payload is "
    "the file that the metadata record beside each of them names. " + REQUESTS
)
_DOCUMENT = """
SELECT dataset_id, file, last_seen, metadata_source, metadata_url, metadata_modified, renamed_from FROM documents
WHERE source = ? AND kind = 'dataset' AND dataset_id = ?
"""
_TITLE = "SELECT title FROM datasets WHERE source = ? AND dataset_id = ?"


def write(holdings: Holdings, names: list[str], opts: argparse.Namespace) -> int:
    """Write one bag of some datasets; return the exit code.

    Raises:
        ArchiveError: there is no such dataset, or the file can't be written.
        DamagedError: a file in the store is damaged.
    """
    if not names or opts.output is None:
        example = "-o x.zip, or - for standard output" if names else "scrapy archive bag DATASET -o x.zip"
        raise ArchiveError(f"Name {'the file to write' if names else 'a dataset'}: {example}.")
    path = None if str(opts.output) == "-" else opts.output
    check_free([path] if path else [], force=opts.force)
    datasets = list(dict.fromkeys(found for name in names for found in holdings.datasets(name)))
    with target(path) as file:
        packed = pack(holdings, file, safe(path.stem) if path else "bag", datasets)
    for gap in packed.gaps:
        print_error(f"not in the bag: {gap}")
    if path:
        print(f"{path}: {number(len(packed.payload))} files, {number(len(packed.gaps))} gaps.")
    return GAP if packed.gaps else 0


def pack(holdings: Holdings, file: IO[bytes], name: str, datasets: list[tuple[str, str]]) -> Bag:
    """Write a bag into a file; return what it has.

    Args:
        name: the folder of the bag in it.
        datasets: the archive and the id of each.

    Raises:
        DamagedError: a file in the store is damaged.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as into:
        packed = Bag(into, name)
        for archive, dataset_id in datasets:
            below = "data/" if len(datasets) == 1 else f"data/{safe(archive)}__{safe(dataset_id)}/"
            _Packing(holdings, packed, archive, dataset_id, below).pack()
        packed.finish(agent(holdings))
    return packed


class Entry(NamedTuple):
    """A file in the zip file of a bag.

    Args:
        path: in the bag.
        offset: where its bytes begin in the zip file.
        compressed: the number of these bytes, in the form of RFC 1951 (raw deflate).
        bytes: the number of bytes of the file itself.
        url: where it came from, if it is a linked file.
    """

    path: str
    offset: int
    compressed: int
    bytes: int
    sha256: str
    url: str | None = None


class Bag:
    """Writes a bag into a zip file.

    Args:
        into: the zip file.
        name: the folder of the bag in it.

    Attributes:
        payload: the SHA-256 of each payload file, by its path.
        gaps: a line for each thing that is not in the bag.
        about: the lines of bag-info.txt, as pairs.
        entries: the files in the zip file, in their order.
        came_from: the address of each linked file, by its path.
    """

    def __init__(self, into: zipfile.ZipFile, name: str) -> None:
        self.into = into
        self.name = name
        self.payload: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self.gaps: list[str] = []
        self.about: list[tuple[str, str]] = []
        self.entries: list[Entry] = []
        self.came_from: dict[str, str] = {}
        self.volume = 0
        self._tag("bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")

    @contextmanager
    def open(self, path: str, size: int | None = None) -> Iterator[_Hashing]:
        """Open a payload file for writing.

        Args:
            path: where it is in the bag.
            size: its bytes, if they are known.
        """
        with self._entry(path, size) as file:
            yield file
        self.payload[path] = file.digest.hexdigest()
        self.volume += file.size

    def finish(self, software: str) -> None:
        """Write the gaps, bag-info.txt and the manifests."""
        if self.gaps:
            self._tag("gaps.txt", "".join(f"{gap}\n" for gap in self.gaps))
        oxum = f"{self.volume}.{len(self.payload)}"
        about = [("Bag-Software-Agent", software), ("Payload-Oxum", oxum), ("Gaps", str(len(self.gaps))), *self.about]
        self._tag("bag-info.txt", "".join(f"{name}: {one_line(value, _LONGEST)}\n" for name, value in about))
        self._tag("manifest-sha256.txt", _manifest(self.payload))
        self._tag("tagmanifest-sha256.txt", _manifest(self.tags))

    def _tag(self, path: str, text: str) -> None:
        body = text.encode()
        with self._entry(path, len(body)) as file:
            file.write(body)
        self.tags[path] = file.digest.hexdigest()

    @contextmanager
    def _entry(self, path: str, size: int | None) -> Iterator[_Hashing]:
        entry = zipfile.ZipInfo(f"{self.name}/{path}", _THEN)
        entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        entry.file_size = size or 0
        with self.into.open(entry, "w", force_zip64=size is None) as file:
            assert self.into.fp is not None  # noqa: S101  # it is open
            offset, hashing = self.into.fp.tell(), _Hashing(file)
            yield hashing
        sizes = (offset, entry.compress_size, hashing.size)
        self.entries.append(Entry(path, *sizes, hashing.digest.hexdigest(), self.came_from.get(path)))


class _Hashing(io.RawIOBase):
    """Passes bytes on, and hashes them."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.digest = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, chunk: Any) -> int:
        """Write bytes, and hash them."""
        self.digest.update(chunk)
        self.size += len(chunk)
        return self.file.write(chunk)


def _manifest(hashes: dict[str, str]) -> str:
    return "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(hashes.items()))


class _Packing:
    """Packs one dataset.

    Args:
        archive: the source of its captures.
        below: the folder in the bag, with a slash at its end.
    """

    def __init__(self, holdings: Holdings, packed: Bag, archive: str, dataset_id: str, below: str) -> None:
        self.holdings, self.packed = holdings, packed
        self.archive, self.dataset_id, self.below = archive, dataset_id, below
        self.source = archive.removeprefix(ARCHIVE_OF)
        self.places: dict[str, str] = {}

    def pack(self) -> None:
        """Write the files, the document, the item, the captures and the headers."""
        title = next(self.holdings.rows(_TITLE, (self.source, self.dataset_id)), None)
        self.packed.about += [("External-Identifier", self.dataset_id)]
        self.packed.about += [("External-Description", title[0])] if title and title[0] else []
        self.packed.about += [("Internal-Sender-Identifier", self.archive)]
        self._pack_files()
        self._pack_document()
        with self.packed.open(f"{self.below}captures.jsonl") as file:
            for found in self.holdings.captures_of(self.archive, self.dataset_id):
                file.write(strict_json.line(line(found)))
        self._pack_headers()

    def _pack_files(self) -> None:
        names = FileNames()
        for one in self.holdings.held_of(self.archive, self.dataset_id):
            blob = stored(self.holdings.blobs, str(one.kept.sha256)) if one.kept else None
            if one.kept is None or blob is None:
                reason = "the file is missing in the store" if one.kept else why(one.last)
                self.packed.gaps.append(f"{safe_line(one.last.url, _LONGEST)}  {reason}")
                continue
            path = f"{self.below}files/{names.take(one.kept)}"
            self.packed.came_from[path] = answered(one.kept)
            self._pack_file(one.kept, path, blob.bytes)

    def _pack_file(self, kept: Capture, path: str, size: int) -> None:
        stream = StoredFile(self.holdings.blobs, str(kept.sha256))
        try:
            with self.packed.open(path, size) as file:
                shutil.copyfileobj(stream, file, CHUNK)
        finally:
            stream.close()
        self.places.setdefault(str(kept.sha256), path)

    def _pack_document(self) -> None:
        row = next(self.holdings.rows(_DOCUMENT, (self.source, self.dataset_id)), None)
        if row is None:
            self.packed.gaps.append(f"the document of {safe_line(self.dataset_id)}  {self.source} has none")
            return
        known, folder = Held(*row), self.holdings.output / self.source
        try:
            body = inside.read(folder, known.file)
            found = item(folder, known.dataset_id, known)
        except UNREADABLE as error:
            self.packed.gaps.append(safe_line(left_out(folder, known, error), _LONGEST))
            return
        exporter = PythonItemExporter(fields_to_export=self.holdings.settings.getlist("FEED_EXPORT_FIELDS"))
        suffix = PurePosixPath(known.file).suffix
        for name, content in (
            (f"dataset{suffix}", body),
            ("item.json", strict_json.dumps(exporter.export_item(found))),
        ):
            with self.packed.open(self.below + name, len(content)) as file:
                file.write(content)

    def _pack_headers(self) -> None:
        """Write the answers' headers as WARC records; one whose file is not in the bag is described only."""
        with self.packed.open(f"{self.below}headers.warc") as file:
            records = Records(file, gzip=False, agent=agent(self.holdings))
            records.begin("headers.warc", self._newest(), _NOTE)
            for found in self.holdings.captures_of(self.archive, self.dataset_id):
                place = self.places.get(str(found.sha256))
                if place and found.http_status and found.state in ("kept", "unchanged"):
                    concurrent = records.revisit(found, answered(found), date(found.kept_at or found.time))
                    records.metadata(found, concurrent, file=place)
                else:
                    records.metadata(found)

    def _newest(self) -> str:
        """Return the time of the newest capture: the same bag has the same bytes."""
        query = "SELECT max(time) FROM captures WHERE source = ? AND dataset_id = ?"
        return date(next(self.holdings.rows(query, (self.archive, self.dataset_id)))[0])
