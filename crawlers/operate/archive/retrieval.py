"""`scrapy archive get`: writes the file that is held, or was held at a date, and says where it came from."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import ArchiveError, DamagedError
from crawlers.operate.archive.file_names import FileNames
from crawlers.operate.archive.holdings import CHUNK, StoredFile, unknown
from crawlers.operate.archive.inventory import pruned
from crawlers.operate.console import print_error
from crawlers.records.moment import end, written
from crawlers.safety.redact import safe_line
from crawlers.store.export.output import target
from crawlers.store.figures.formatting import date, size

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from crawlers.items import Capture
    from crawlers.operate.archive.holdings import Held, Holdings

GAP = 3
_LONGEST = 5_000  # characters of an address on the terminal


def get(holdings: Holdings, names: list[str], opts: argparse.Namespace) -> int:
    """Write the files that a name means; return the exit code.

    Raises:
        ArchiveError: nothing has that name, nothing of it is held, or a file can't be written.
        DamagedError: the only file is damaged.
    """
    found = list(holdings.held(names[0], _moment(opts.at)))
    held = [one for one in found if one.kept]
    if opts.output and not opts.output.is_dir() and len({one.kept.sha256 for one in held if one.kept}) == 1:
        held = held[:1]  # many resources may link one address
    _check(names[0], found, opts.at)
    paths = _paths(held, opts.output)
    check_free([path for path in paths if path], force=opts.force)
    code = 0
    for one, path in zip(held, paths, strict=True):
        code = _written(holdings, one, path, is_only=len(held) == 1) or code
    for one in found:
        if one.kept is None:
            code = GAP
            print_error(f"not held: {_line(one.last.url)} ({why(one.last)})")
    return code


def _moment(text: str | None) -> str | None:
    """Return the moment that ``--at`` means: the end of a day, in UTC, since several sources may have a file.

    Raises:
        ArchiveError: it is neither a date nor a time with its offset.

    >>> _moment("2026-11-20"), _moment("2026-11-20T10:00:00+01:00")
    ('2026-11-20T23:59:59.999Z', '2026-11-20T09:00:00.000Z')
    """
    try:
        return None if text is None else written(end(text), "milliseconds")
    except ValueError as error:
        raise ArchiveError(f"--at {error}.") from None


def _check(name: str, found: list[Held], at: str | None) -> None:
    """
    Raises:
        ArchiveError: nothing was found, or nothing is held of it.
    """
    when = f" at {at}" if at else ""
    if not found:
        raise unknown(name, when)
    if not any(one.kept for one in found):
        raise ArchiveError(f"No file of {name!r} is held{when}: {why(found[0].last)}")


def why(last: Capture) -> str:
    """Return why a file is not held."""
    return safe_line(last.reason or last.error or last.state.replace("_", " "), 500)


def _paths(held: list[Held], output: Path | None) -> list[Path | None]:
    """Return where each file goes; ``None`` for standard output.

    Raises:
        ArchiveError: there are several files and one name.
    """
    if output and not output.is_dir():
        if len(held) > 1:
            raise ArchiveError(f"{len(held)} files are meant: name one of their resources, or a folder with -o.")
        return [None if str(output) == "-" else output]
    taken = FileNames()
    return [(output or Path()) / taken.take(one.kept) for one in held if one.kept]


def check_free(paths: list[Path], *, force: bool) -> None:
    """
    Raises:
        ArchiveError: a file exists that would be overwritten.
    """
    taken = next((path for path in paths if path.is_file()), None)
    if taken and not force:
        raise ArchiveError(f"{taken} exists: --force overwrites it.")


def _written(holdings: Holdings, found: Held, path: Path | None, *, is_only: bool) -> int:
    """Write a file, and print what is known of it; return the exit code.

    Raises:
        DamagedError: it is damaged, and it is the only one.
    """
    kept = found.kept
    assert kept is not None  # noqa: S101  # the caller's choice
    try:
        _write(holdings, str(kept.sha256), path)
    except DamagedError as error:
        removed = pruned(holdings, str(kept.sha256))
        if removed and is_only:
            raise ArchiveError(f"That file is not held any more: {removed}.") from None
        if is_only:
            raise
        print_error(f"{error} It is the file of {_line(kept.url)}.")
        return GAP
    _print_origin(found.last, kept, path, sys.stdout if path else sys.stderr)
    return 0


def _write(holdings: Holdings, sha256: str, path: Path | None) -> None:
    file = StoredFile(holdings.blobs, sha256)
    try:
        with target(path) as into:
            shutil.copyfileobj(file, into, CHUNK)
    finally:
        file.close()


def _print_origin(last: Capture, kept: Capture, path: Path | None, stream: TextIO) -> None:
    address = kept.redirects[-1] if kept.redirects else kept.url
    media_type = _line(kept.found_type or kept.media_type or "type not known")
    lines = [
        f"{path or 'standard output'}: {size(kept.size)}, {media_type}",
        f"  SHA-256    {kept.sha256}, checked",
        f"  came from  {_line(address)}",
        f"  on         {date(kept.kept_at or kept.time)} UTC, run {_line(kept.run)} of {_line(kept.source)}",
    ]
    lines += [f"  linked as  {_line(kept.url)}"] if address != kept.url else []
    lines += [f"  found on   {_line(kept.origin)}"] if kept.origin else []
    lines += [f"  confirmed  {date(last.last_success)} UTC"] if last.last_success else []
    lines += [f"  last look  {_line(last.state.replace('_', ' '))}: {why(last)}"] if last.is_broken is not False else []
    print("\n".join(lines), file=stream)


def _line(text: str | None) -> str:
    return safe_line(text, _LONGEST)
