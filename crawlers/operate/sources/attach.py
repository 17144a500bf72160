"""``scrapy sources attach``: datasets on disk get the ids that the source has now, and keep their documents.

A document is copied to its new name. Then the manifest gets two lines: ``new`` for the new id, with ``renamed_from``,
and ``withdrawn`` for the old one, with ``renamed_to``, as of a crawl that finds another id. After a kill the same
command does the rest.
"""

from __future__ import annotations

import csv
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from crawlers.exceptions import OutputError, SourcesError
from crawlers.operate.console import MISTAKE, print_error
from crawlers.operate.sources.file import Call
from crawlers.operate.sources.folders import Places, idle
from crawlers.records import moment
from crawlers.safety import inside, strict_json
from crawlers.safety.names import safe
from crawlers.safety.redact import one_line
from crawlers.store import lines
from crawlers.store.figures.formatting import counted
from crawlers.store.index.index import catch_up
from crawlers.store.index.manifest import FILE
from crawlers.store.lines import JSONLines

Key = tuple[str, str | None]
"""Kind and resource id: a document within its dataset."""

_KINDS = ("dataset", "dataset_metadata", "resource_metadata")
_DATASET = ("dataset", None)
_COLUMNS = ("local", "remote")
_SHOWN = 20  # mistakes
_LONGEST_ID = 1000  # characters
_LONGEST_NAME = 255  # bytes


class Row(NamedTuple):
    """A row of the CSV file."""

    number: int
    local: str
    remote: str


def attach(call: Call) -> int:
    """Give datasets the ids of a CSV file with the columns ``local``, on disk, and ``remote``, at the source now."""
    name, file = call.names
    found, mistakes = call.file.read()
    call.file.check([name], {**found, **mistakes})
    place = Places.named(name, *call.folders)
    rows = _rows(Path(file))
    try:
        with idle([place]):
            manifest = Manifest(place.folder, rows)
            wrong = list(_mistakes(manifest, rows))
            for sentence in wrong[:_SHOWN]:
                print_error(f"{file}, {one_line(sentence, 500)}")
            if len(wrong) > _SHOWN:
                print_error(f"{file}: {counted(len(wrong) - _SHOWN, 'more mistake')}.")
            if wrong:
                print_error("Nothing was changed.")
                return MISTAKE
            documents = _attach(manifest, rows)
        catch_up(call.output, print_error, [name])
    except OSError as error:
        raise SourcesError(f"{place.folder}: {error.strerror} ({error.filename}).") from None
    except OutputError as error:
        raise SourcesError(f"The ids are attached, and the index is behind: {error}") from None
    print(f"[{name}]: {counted(len(rows), 'dataset')} attached, {counted(documents, 'document')} renamed.")
    return 0


def _rows(path: Path) -> list[Row]:
    """Return the rows of the CSV file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            if not set(_COLUMNS) <= set(reader.fieldnames or ()):
                raise SourcesError(f"{path} needs a header with the columns local,remote.")
            return [Row(reader.line_num, *((row[name] or "").strip() for name in _COLUMNS)) for row in reader]
    except OSError as error:
        raise SourcesError(f"{path} can't be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourcesError(f"{path} can't be read as CSV in UTF-8: {error}.") from None


class Manifest:
    """What a source's manifest says of the datasets in a CSV file.

    Attributes:
        last: the last line of each of their documents, by the dataset's id.
        attached: the documents that got a new id, as the new id and the old one.

    Raises:
        OSError: it can't be read.
    """

    def __init__(self, folder: Path, rows: Sequence[Row]) -> None:
        self.folder = folder
        self.last: dict[str, dict[Key, dict[str, Any]]] = defaultdict(dict)
        self.attached: set[tuple[Key, str, str]] = set()
        mentioned = {one for row in rows for one in (row.local, row.remote)}
        for _, text in lines.read(folder, FILE):
            entry = lines.entry(text)
            if entry and _is_line(entry) and entry["dataset_id"] in mentioned:
                key = entry["kind"], entry.get("resource_id")
                self.last[entry["dataset_id"]][key] = entry
                if isinstance(before := entry.get("renamed_from"), str):
                    self.attached.add((key, entry["dataset_id"], before))

    def is_attached(self, key: Key, row: Row) -> bool:
        """Return whether a document has its new id already."""
        return (key, row.remote, row.local) in self.attached

    def current(self, row: Row) -> dict[Key, dict[str, Any]]:
        """Return the last lines of the documents that have the old id and are not withdrawn."""
        documents = self.last.get(row.local, {})
        return {key: line for key, line in documents.items() if line.get("status") != "withdrawn"}

    def body(self, line: dict[str, Any]) -> bytes:
        """Return the document of a line.

        Raises:
            OSError: it is missing, or not the one that was written.
        """
        body = inside.read(self.folder, line["metadata_file"])
        if hashlib.sha256(body).hexdigest() != line["sha256"]:
            raise OSError(0, "its SHA-256 is not the one in manifest.jsonl", line["metadata_file"])
        return body


def _is_line(entry: dict[str, Any]) -> bool:
    """Return whether a crawl can have written a line, of a document of a dataset."""
    texts = (entry.get(name) for name in ("kind", "dataset_id", "metadata_file", "sha256"))
    is_text = all(isinstance(text, str) for text in texts) and isinstance(entry.get("resource_id"), str | None)
    return is_text and entry["kind"] in _KINDS


def _mistakes(manifest: Manifest, rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for each row that can't be attached."""
    counts = Counter(one for row in rows for one in (row.local, row.remote))
    for row in rows:
        for column, value in zip(_COLUMNS, row[1:], strict=True):
            if not value or len(value) > _LONGEST_ID or not value.isprintable():
                yield f"line {row.number}: {column} is not an id of 1 to {_LONGEST_ID} printable characters."
                break
            if counts[value] > 1:
                yield f"line {row.number}: {value!r} occurs more than once."
                break
        else:
            yield from (f"line {row.number}: {why}" for why in _obstacle(manifest, row))


def _obstacle(manifest: Manifest, row: Row) -> Iterator[str]:
    """Yield why a row can't be attached, if it can't."""
    local, remote = (manifest.last.get(one, {}).get(_DATASET) for one in row[1:])
    if local is None:
        yield f"there is no dataset {row.local!r} on disk."
    elif local.get("status") == "withdrawn" and local.get("renamed_to") != row.remote:
        yield f"the dataset {row.local!r} is withdrawn."
    elif remote is not None and not manifest.is_attached(_DATASET, row):
        yield f"a dataset {row.remote!r} is on disk already."
    else:
        for line in manifest.current(row).values():
            try:
                manifest.body(line)
            except OSError as error:
                yield f"{line['metadata_file']} can't be read: {error.strerror}."


def _attach(manifest: Manifest, rows: Sequence[Row]) -> int:
    """Copy the documents, and write the lines; return how many documents got another id."""
    stamp = {"run": moment.name(), "time": moment.now("milliseconds")}
    found = {row: manifest.current(row) for row in rows}
    with inside.Writer(manifest.folder) as writer:
        for row, documents in found.items():
            for line in documents.values():
                writer.write(_renamed(line["metadata_file"], row), manifest.body(line))
    lines = JSONLines(manifest.folder / FILE)
    try:
        for row, documents in found.items():
            new = (one for key, line in documents.items() for one in _lines(manifest, row, key, line))
            lines.extend(strict_json.line(one | stamp) for one in new)
    finally:
        lines.close()
    return sum(map(len, found.values()))


def _renamed(file: str, row: Row) -> str:
    """Return the name of a document under the new id.

    >>> _renamed("datasets/old__the-rivers.json", Row(2, "old", "new"))
    'datasets/new__the-rivers.json'
    """
    path = PurePosixPath(file)
    rest = path.stem.removeprefix(safe(row.local)) if path.stem.startswith(safe(row.local)) else ""
    stem = f"{safe(row.remote)}{rest}"[: _LONGEST_NAME - len(path.suffix)]
    return str(path.with_name(f"{stem}{path.suffix}"))


def _lines(manifest: Manifest, row: Row, key: Key, line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the lines that a document lacks: that of its new id, then that of the old one."""
    plain = {name: value for name, value in line.items() if name not in ("reason", "renamed_from", "renamed_to")}
    if not manifest.is_attached(key, row):
        file = _renamed(line["metadata_file"], row)
        new = {"dataset_id": row.remote, "metadata_file": file, "status": "new", "renamed_from": row.local}
        yield plain | new
    yield plain | {"metadata_source": None, "status": "withdrawn", "reason": "renamed", "renamed_to": row.remote}
