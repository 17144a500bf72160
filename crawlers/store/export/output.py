"""What an export is made of: the formats of `scrapy export` by name, the datasets on disk, and the target."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from crawlers.exceptions import DamagedSourceError, ExportError, hint
from crawlers.items import Dataset
from crawlers.store.index import Index
from crawlers.store.index.documents import UNREADABLE, item, left_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def _write(datasets: Iterable[Dataset], output: IO[bytes], *, module: str, function: str, **given: Any) -> None:
    """Import a writer when it is used: a table needs no RDF."""
    getattr(import_module(f"crawlers.store.export.{module}"), function)(datasets, output, **given)


WRITERS: dict[str, Callable[..., None]] = {
    name: partial(_write, module=module, function=function)
    for name, module, function in (
        ("dcat", "dcat", "rdf_xml"),
        ("jsonld", "dcat", "json_ld"),
        ("ttl", "dcat", "turtle"),
        ("dcat-us", "dcat", "dcat_us"),
        ("csv", "tables", "write_csv"),
        ("parquet", "tables", "write_parquet"),
        ("croissant", "croissant", "write"),
    )
}
PROFILES = {"dcat": "dcat-ap", "jsonld": "dcat-ap", "ttl": "dcat-ap", "dcat-us": "dcat-us"}
"""The profile of each format that is DCAT; its writers take ``scores``, see `crawlers.store.export.dcat.catalogues`."""
BINARY = ("parquet",)
"""What no terminal shows."""


def held_sources(output: Path, named: Sequence[str] = ()) -> list[str]:
    """Return the sources in OUTPUT_DIR, or only those that are named.

    Raises:
        ExportError: OUTPUT_DIR has no source, or none of that name.
    """
    found = sorted(path.parent.name for path in output.glob("[!.]*/manifest.jsonl"))
    if not found:
        raise ExportError(f"{output} holds no source: crawl one first, or name another folder with -s OUTPUT_DIR=.")
    unknown = next((name for name in named if name not in found), None)
    if unknown is not None:
        meant = hint(unknown, found)
        raise ExportError(f"{output} holds no source {unknown!r}.{meant} There are: {', '.join(found)}.")
    return list(dict.fromkeys(named)) or found


def held_items(output: Path, sources: Sequence[str], lost: Callable[[str], None]) -> Iterator[Dataset]:
    """Yield the datasets that are not withdrawn, by source and id; each document on disk is mapped again.

    Args:
        lost: called with a sentence for each document, and each source, that cannot be read; the others follow.
    """
    for source in sources:
        try:
            index = Index(output, source)
        except DamagedSourceError as error:
            lost(str(error))
            continue
        try:
            for held in index.documents.held():
                try:
                    yield item(index.folder, held.dataset_id, held)
                except UNREADABLE as error:
                    lost(left_out(index.folder, held, error))
        finally:
            index.close()


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_STREAMS = ("/dev/", "/proc/")  # /dev/stdout is a link, perhaps to a file that a shell has opened


@contextmanager
def target(path: Path | None) -> Iterator[IO[bytes]]:
    """Open the target of an export.

    Args:
        path: a regular file is written beside itself and renamed at the end, also behind a symbolic link, which stays;
            a pipe or a device is written into. ``None`` for standard output.

    Raises:
        ExportError: it cannot be written, or the path names no file.
    """
    if path and not path.name:  # "", "." or "/"
        raise ExportError("-o names no file: give one, or - for standard output.")
    try:
        if path is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with path.open("wb") if _is_stream(path) else _renamed(path.resolve()) as file:
                yield file
    except BrokenPipeError:  # the reader has read enough
        raise
    except OSError as error:
        raise ExportError(f"{path or 'standard output'} can't be written: {error.strerror or error}.") from None


def _is_stream(path: Path) -> bool:
    """Return whether a path must be written into and never replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or os.path.abspath(path).startswith(_STREAMS)  # noqa: PTH100


@contextmanager
def _renamed(path: Path) -> Iterator[IO[bytes]]:
    scratch = path.with_name(f".{path.name}.writing")
    scratch.unlink(missing_ok=True)  # of a killed export, or planted
    try:
        with os.fdopen(os.open(scratch, _NEW, 0o666), "wb") as file:
            yield file
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
