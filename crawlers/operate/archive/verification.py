"""`scrapy archive verify`: hashes what is stored again, and compares the store with what is known of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.exceptions import ArchiveError, DamagedError
from crawlers.operate.archive.holdings import StoredFile
from crawlers.operate.archive.inventory import UNREFERENCED, missing, stored, take_stock, users
from crawlers.operate.verification import DIFFERS, Progress, Verified, print_difference, print_table
from crawlers.safety.locks import is_crawled
from crawlers.safety.redact import safe_line
from crawlers.store.figures.formatting import counted, number, size

if TYPE_CHECKING:
    import argparse
    import sqlite3
    from collections.abc import Iterable

    from crawlers.operate.archive.holdings import Holdings

_LONGEST = 5_000  # characters of an address
_SAMPLE = re.compile(r"([0-9]{1,12})(%?)")
_CHOSEN = """
FROM stored WHERE :source IS NULL OR sha256 IN (SELECT sha256 FROM versions WHERE source = :source)
"""
_MEND = (
    "Delete a damaged file from the store: the next crawl that asks for it fetches it again, if the host still has it."
)
_BEING_CRAWLED = "An archive is being crawled: what is unreferenced may be a file whose capture is not written yet."
_PRUNE = "`scrapy archive prune` lists unreferenced files that are an hour old, and removes them with --yes."


def verify(holdings: Holdings, names: list[str], opts: argparse.Namespace) -> int:
    """Print what is damaged, missing and unreferenced; return the exit code.

    Raises:
        ArchiveError: there is no such archive, or the store can't be read.
    """
    source = holdings.archive(names[0]) if names else None
    sample = _sample(opts.sample)
    take_stock(holdings)
    absent = _print_all("missing", missing(holdings, source))
    damaged = _hash(holdings, source, sample)
    loose = 0 if source or holdings.damaged else _print_all("unreferenced", holdings.rows(UNREFERENCED))
    held = next(holdings.rows(f"SELECT count(*), coalesce(sum(bytes), 0) {_CHOSEN}", {"source": source}))
    print_table([Verified(source or holdings.blobs.location, held[0], held[1], damaged, absent, loose)])
    if damaged:
        print(_MEND)
    is_busy = any(is_crawled(holdings.output / source) for source in holdings.archives)
    if loose:
        print(_BEING_CRAWLED if is_busy else _PRUNE)
    return DIFFERS if absent or damaged or (loose and not is_busy) else 0


def _sample(text: str | None) -> tuple[int, bool] | None:
    """Return a number, and whether it is a percentage.

    Raises:
        ArchiveError: it is neither a number nor a percentage.

    >>> _sample("100"), _sample("5%"), _sample(None)
    ((100, False), (5, True), None)
    """
    if text is None:
        return None
    found = _SAMPLE.fullmatch(text)
    if not found or not int(found[1]) or (found[2] and int(found[1]) > 100):
        raise ArchiveError(
            f"--sample {text!r} is neither a number of files, such as 100, nor a percentage, such as 5%."
        )
    return int(found[1]), bool(found[2])


def _print_all(word: str, rows: Iterable[sqlite3.Row]) -> int:
    """Print files, a line each; return how many they are."""
    count = 0
    for row in rows:
        print_difference(word, _described(row))
        count += 1
    return count


def _described(row: sqlite3.Row) -> str:
    parts = dict(row)
    about = [parts.get(name) for name in ("source", "dataset_id", "resource_id", "url")]
    about += [size(parts["bytes"])] if "bytes" in parts else []
    return "  ".join([parts["sha256"], *(safe_line(part, _LONGEST) for part in about if part)])


def _hash(holdings: Holdings, source: str | None, sample: tuple[int, bool] | None) -> int:
    """Hash the chosen files; print those that are damaged, and return their number."""
    where = {"source": source}
    total = next(holdings.rows(f"SELECT count(*) {_CHOSEN}", where))[0]
    count = total if sample is None else _share(total, *sample)
    order = "sha256" if sample is None else "random()"
    holdings.db.execute("DROP TABLE IF EXISTS temp.chosen")
    holdings.db.execute(
        f"CREATE TEMP TABLE chosen AS SELECT sha256, bytes {_CHOSEN} ORDER BY {order} LIMIT :count",
        where | {"count": count},
    )
    if sample:
        chosen = counted(count, "file")
        print(f"{chosen} of {number(total)} {'is' if count == 1 else 'are'} checked, chosen at random.")
    volume = next(holdings.rows("SELECT coalesce(sum(bytes), 0) FROM chosen"))[0]
    progress = Progress(count, volume, holdings.settings.getfloat("LOGSTATS_INTERVAL"))
    damaged = sum(_is_damaged(holdings, row, progress) for row in holdings.rows("SELECT * FROM chosen ORDER BY sha256"))
    progress.close()
    return damaged


def _share(total: int, amount: int, is_percentage: bool) -> int:
    """
    >>> _share(1000, 5, True), _share(3, 1, True), _share(10, 100, False)
    (50, 1, 10)
    """
    return -(-total * amount // 100) if is_percentage else min(total, amount)


def _is_damaged(holdings: Holdings, row: sqlite3.Row, progress: Progress) -> bool:
    """Read a file; print it if it is damaged.

    Raises:
        ArchiveError: the store can't be read.
    """
    try:
        file = StoredFile(holdings.blobs, row["sha256"])
        try:
            while chunk := file.read():
                progress.add(len(chunk))
        finally:
            file.close()
    except ArchiveError as error:
        if stored(holdings.blobs, row["sha256"]) is None:
            return False  # pruned meanwhile; missing ones are listed apart
        user = next(users(holdings, row["sha256"]), ("no capture has it",))
        about = "  ".join([_described(row), *(safe_line(part, _LONGEST) for part in user)])
        word = "damaged"
        if not isinstance(error, DamagedError):
            word, about = "unreadable", f"{about}  {safe_line(error, _LONGEST)}"
        progress.say(word, about)
        return True
    finally:
        progress.end_file()
    return False
