"""``scrapy search``: the datasets on disk that contain the words, the most relevant first."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import IndexUnreadableError, hint
from crawlers.operate.strict_command import ProjectCommand
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    import sqlite3

    from crawlers.store.index.search import Found, Results

_WIDEST = 200  # characters of a title


class Command(ProjectCommand):
    """Exit code: 0 even if nothing is found, 1 if there is no index or no such source, 3 if a source can't be read."""

    takes = "[--source SOURCE] [--limit N] [--json] [--withdrawn] word ..."
    summary = "Find datasets on disk by words"
    description = "Every word must occur. '\"river basin\"' is a phrase; rain* finds rains and rainfall."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--source", metavar="SOURCE", help="only datasets of this source")
        parser.add_argument("--limit", type=_number, default=20, metavar="N", help="maximum of results; default: 20")
        parser.add_argument("--json", action="store_true", help="as JSON")
        parser.add_argument("--withdrawn", action="store_true", help="also datasets that the portals no longer have")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        output = self.path("OUTPUT_DIR")
        self.catch_up([opts.source] if opts.source else None)
        found = _search(output, " ".join(args), opts)
        if opts.json:
            rows = [_described(one, output) for one in found.rows]
            print(json.dumps({"total": found.total, "datasets": rows}, indent=2))
        else:
            _print(found, " ".join(args), output)
            if self.is_damaged:
                print("Sources that can't be read are left out, or shown as they were.")


def _number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError("a whole number from 1 to 10000")
    return int(text)


def _search(output: Path, words: str, opts: argparse.Namespace) -> Results:
    from crawlers.store.index.database import connect, readable
    from crawlers.store.index.search import search

    with readable(output), closing(connect(output)) as db:
        if opts.source is not None:
            _check(db, output, opts.source)
        return search(db, words, source=opts.source, limit=opts.limit, withdrawn=opts.withdrawn)


def _check(db: sqlite3.Connection, output: Path, source: str) -> None:
    sources = [row[0] for row in db.execute("SELECT source FROM sources ORDER BY 1")]
    if source not in sources:
        meant = hint(source, sources)
        raise IndexUnreadableError(f"{output} holds no source {source!r}.{meant} There are: {', '.join(sources)}.")


def _described(found: Found, output: Path) -> dict[str, Any]:
    return asdict(found) | {"file": f"{output}/{found.source}/{found.file}"}


def _print(found: Results, words: str, output: Path) -> None:
    for rank, one in enumerate(found.rows, 1):
        print(f"{rank:>3}  {one_line(one.title or one.name or one.dataset_id, _WIDEST)}")
        about = [one.source, one.dataset_id, one.publisher, (one.modified or "")[:10], ", ".join(one.formats)]
        about += ["withdrawn"] if one.withdrawn else []
        print("     " + " | ".join(one_line(part, _WIDEST) for part in about if part))
        print(f"     {one_line(f'{output}/{one.source}/{one.file}', 5_000)}")
    print(_total(found, one_line(words, _WIDEST)))


def _total(found: Results, words: str) -> str:
    from crawlers.store.figures.formatting import counted
    from crawlers.store.index.search import RANKED

    if not found.total:
        return f"No dataset has: {words}" if words else "Name the words to find: scrapy search flood afg"
    shown = len(found.rows)
    which = "" if shown == found.total else f"; showing the first {shown}"
    order = ", the newest first" if which and found.total > RANKED else ""
    return f"{counted(found.total, 'dataset')} {'has' if found.total == 1 else 'have'}: {words}{which}{order}"
