"""``scrapy search``: the datasets on disk that have the words and pass the filters, the most relevant first."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import IndexUnreadableError, hint
from crawlers.operate.strict_command import ProjectCommand
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    import sqlite3

    from crawlers.store.index.search import Found, Results, Search

_WIDEST = 200  # characters of a title
_SORTS = ("relevance", "modified", "issued", "title")


class Command(ProjectCommand):
    """Exit code: 0 even if nothing is found, 1 if there is no index or no such source, 3 if a source can't be read."""

    takes = "[--source SOURCE] [--sort ORDER] [--limit N] [--facets] [--json|--csv|--atom] [--withdrawn] word ..."
    summary = "Find datasets on disk by words and filters"
    description = (
        "Every word must occur. '\"river basin\"' is a phrase; rain* finds rains and rainfall; 'format:CSV',"
        " 'publisher:\"River Office\"' and 'modified:>2025-01-31' are filters; a minus before one is what must not be."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--source", metavar="SOURCE", help="only datasets of this source")
        orders = ", ".join(_SORTS)
        parser.add_argument("--sort", choices=_SORTS, default="relevance", metavar="ORDER", help=f"{orders}")
        parser.add_argument("--limit", type=_number, default=20, metavar="N", help="maximum of results; default: 20")
        parser.add_argument("--facets", action="store_true", help="also how many have each format, publisher ...")
        several = parser.add_mutually_exclusive_group()
        several.add_argument("--json", action="store_true", help="as JSON")
        several.add_argument("--csv", action="store_true", help="as CSV")
        several.add_argument("--atom", action="store_true", help="as an Atom feed")
        parser.add_argument("--withdrawn", action="store_true", help="also datasets that the portals no longer have")

    def named(self, args: list[str], opts: argparse.Namespace) -> list[str]:
        source = getattr(opts, "source", None)
        return [source] if source else []

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.store.index.search import Search

        output = self.path("OUTPUT_DIR")
        asked = Search.read(" ".join(args), source=opts.source, sort=opts.sort, withdrawn=opts.withdrawn)
        self.catch_up([opts.source] if opts.source else None)
        found = _answer(output, asked, opts)
        if opts.json:
            rows = [_described(one, output) for one in found.rows]
            counts = {name: [count._asdict() for count in counts] for name, counts in found.facets.items()}
            said = {"total": found.total, "datasets": rows, "facets": counts, "counted": found.counted}
            print(json.dumps(said | {"some": found.is_some, "meant": found.meant}, indent=2))
        elif opts.csv:
            _write_csv(found, output)
        elif opts.atom:
            _write_atom(found, asked, self.settings["DASHBOARD_URL"])
        else:
            _print(found, asked, output)
            if self.is_damaged:
                print("Sources that can't be read are left out, or shown as they were.")


def _number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError("a whole number from 1 to 10000")
    return int(text)


def _answer(output: Path, asked: Search, opts: argparse.Namespace) -> Results:
    from crawlers.store.index.database import connect, readable
    from crawlers.store.index.search import Results

    with readable(output), closing(connect(output)) as db:
        if opts.source is not None:
            _check(db, output, opts.source)
        if not asked.text.strip():
            return Results()
        return asked.answer(db, limit=opts.limit, with_facets=opts.facets or opts.json)


def _check(db: sqlite3.Connection, output: Path, source: str) -> None:
    sources = [row[0] for row in db.execute("SELECT source FROM sources ORDER BY 1")]
    if source not in sources:
        meant = hint(source, sources)
        raise IndexUnreadableError(f"{output} holds no source {source!r}.{meant} There are: {', '.join(sources)}.")


def _described(found: Found, output: Path) -> dict[str, Any]:
    places = [place._asdict() for place in found.places]
    return asdict(found) | {"file": f"{output}/{found.source}/{found.file}", "places": places}


def _write_csv(found: Results, output: Path) -> None:
    import csv

    from crawlers.store.export.tables import cell

    names = ("source", "dataset_id", "title", "name", "publisher", "modified", "license", "formats", "file")
    table = csv.writer(sys.stdout, lineterminator="\n" if sys.stdout.isatty() else "\r\n")
    table.writerow((*names, "withdrawn", "places"))
    for one in found.rows:
        row = _described(one, output)
        joined = {"formats": " | ".join(one.formats), "places": " | ".join(place.source for place in one.places)}
        row |= joined | {"withdrawn": json.dumps(one.withdrawn)}
        table.writerow([" ".join(cell(row[name]).split()) for name in (*names, "withdrawn", "places")])


def _write_atom(found: Results, asked: Search, dashboard: str) -> None:
    from crawlers.operate import atom
    from crawlers.operate.dashboard import addresses

    root = (dashboard or "").rstrip("/")
    page = root + addresses.here("/search", q=asked.text) if root else None
    newest = max((one.modified or "" for one in found.rows), default="")
    feed = atom.Feed(["search", asked.text, asked.sort], f"Datasets: {asked.text}", newest or None, None, page)
    pages = (root + addresses.dataset(one.source, one.dataset_id) if root else None for one in found.rows)
    entries = (atom.entry_of_found(*pair) for pair in zip(found.rows, pages, strict=True))
    atom.write(sys.stdout.buffer, feed, entries)


def _print(found: Results, asked: Search, output: Path) -> None:
    from crawlers.store.index.facets import FACETS, said

    for rank, one in enumerate(found.rows, 1):
        print(f"{rank:>3}  {one_line(one.title or one.name or one.dataset_id, _WIDEST)}")
        about = [one.source, one.dataset_id, one.publisher, (one.modified or "")[:10], ", ".join(one.formats)]
        about += [f"also in {', '.join(dict.fromkeys(place.source for place in one.places))}"] if one.places else []
        about += ["withdrawn"] if one.withdrawn else []
        print("     " + " | ".join(one_line(part, _WIDEST) for part in about if part))
        print(f"     {one_line(f'{output}/{one.source}/{one.file}', 5_000)}")
    for name, counts in found.facets.items():
        shown = ", ".join(f"{one_line(count.value, 60)} {said(count.datasets)}" for count in counts)
        print(f"{FACETS[name].label}: {shown}")
    if found.facets and found.counted < found.total:
        print(f"These counts are of {found.counted:,} of the datasets.")
    print(_total(found, one_line(asked.text, _WIDEST), asked.sort))


def _total(found: Results, words: str, sort: str) -> str:
    from crawlers.store.figures.formatting import counted
    from crawlers.store.index.search import RANKED

    meant = f" Did you mean: {one_line(found.meant, _WIDEST)}" if found.meant else ""
    if not found.total:
        lacking = f"No dataset has: {words}" + ("." if meant else "")
        return f"{lacking}{meant}" if words else "Name the words to find: scrapy search flood afg"
    shown = len(found.rows)
    which = "" if shown == found.total else f"; showing the first {shown}"
    order = ", the newest first" if which and found.total > RANKED and sort == "relevance" else ""
    if found.is_some:
        one = "has some of them" if found.total == 1 else "have some of them, those with the rarest first"
        return f"No dataset has all of: {words}. {counted(found.total, 'dataset')} {one}{which}.{meant}"
    return f"{counted(found.total, 'dataset')} {'has' if found.total == 1 else 'have'}: {words}{which}{order}"
