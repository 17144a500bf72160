"""`scrapy archive bag --each`: a bag for each dataset, where each file is in it, and pages to browse.

A bag is <source>/datasets/<id>.zip; <id>.json beside it says where in the zip file the bytes of each file begin, so
that one range of bytes is enough to get it; <id>.html shows that. What is there as it should be is not written again.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from crawlers.exceptions import ArchiveError, DamagedError
from crawlers.operate.archive.bag import GAP, pack, write
from crawlers.operate.console import print_error
from crawlers.operate.jinja import templates
from crawlers.operate.place import place_of
from crawlers.safety import strict_json
from crawlers.safety.names import ARCHIVE_OF, safe
from crawlers.safety.redact import safe_line
from crawlers.store.figures.formatting import number, size

if TYPE_CHECKING:
    import argparse

    from jinja2 import Environment

    from crawlers.operate.archive.holdings import Holdings
    from crawlers.operate.place import Place

_FORMAT = 1  # of <id>.json: a bag of another one is written again
_PAGE = 500  # bags on a page
_LONGEST = 300  # characters of a title
_DATASETS = """
SELECT found.dataset_id, d.title, (
    SELECT sha256 FROM documents o WHERE o.source = :source AND o.kind = 'dataset' AND o.dataset_id = found.dataset_id
) AS document, count(c.time) AS looks, max(c.time) AS newest
FROM (
    SELECT dataset_id FROM documents WHERE source = :source AND kind = 'dataset'
    UNION SELECT dataset_id FROM captures WHERE source = :archive
) found
LEFT JOIN datasets d ON d.source = :source AND d.dataset_id = found.dataset_id
LEFT JOIN captures c ON c.source = :archive AND c.dataset_id = found.dataset_id
GROUP BY found.dataset_id ORDER BY found.dataset_id
"""


class Shown(NamedTuple):
    """A bag in a list.

    Args:
        stem: the name of its files, without suffix.
        files: linked files that are in it.
    """

    dataset_id: str
    title: str
    stem: str
    bytes: int
    files: int
    gaps: int


def bag(holdings: Holdings, names: list[str], opts: argparse.Namespace) -> int:
    """Write the bag of some datasets, or with ``--each`` one of each dataset; return the exit code.

    Raises:
        ArchiveError: an option is missing, there is no such dataset or archive, or the place can't be written into.
        OutputError: the place is neither a folder nor the address of a bucket.
        DamagedError: a file in the store is damaged.
    """
    if not (opts.each or opts.to):
        return write(holdings, names, opts)
    if not (opts.each and opts.to) or opts.to == "-" or opts.output:
        raise ArchiveError("scrapy archive bag takes -o FILE for one bag, or --each --to FOLDER for one per dataset.")
    place = place_of(opts.to, "--to", holdings.settings["SPOOL_DIR"])
    chosen = list(dict.fromkeys(map(holdings.archive, names))) or holdings.archives
    has_gaps = [_Collection(holdings, place, archive, force=opts.force).write() for archive in chosen]
    sources = [one.removeprefix(ARCHIVE_OF) for one in holdings.archives]
    listed = [one for one in sources if place.read(f"{safe(one)}/index.html") is not None]
    place.write("index.html", _page("collection", sources=[(one, safe(one)) for one in listed]))
    return GAP if any(has_gaps) else 0


class _Collection:
    """The bags of one archive.

    Args:
        force: whether those that are there as they should be are written again.
    """

    def __init__(self, holdings: Holdings, place: Place, archive: str, *, force: bool) -> None:
        self.holdings, self.place, self.archive, self.force = holdings, place, archive, force
        self.source = archive.removeprefix(ARCHIVE_OF)
        self.below = safe(self.source)
        self.written = 0

    def write(self) -> bool:
        """Write the bags and their pages; return whether something is not in them."""
        rows = list(self.holdings.rows(_DATASETS, {"source": self.source, "archive": self.archive}))
        shown, damaged = [], 0
        for row in rows:
            try:
                shown.append(self._bag(row))
            except DamagedError as error:
                damaged += 1
                print_error(f"no bag of {safe_line(row['dataset_id'])}: {error}")
                if earlier := self._written(self._stem(row)):
                    shown.append(self._shown(row, earlier))
        self._list(shown)
        gaps = sum(one.gaps for one in shown)
        same = len(shown) - self.written
        counts = f"{number(self.written)} bags written, {number(same)} as they were, {number(gaps)} gaps"
        print(f"{self.place.name}/{self.below}: {counts}{f', {number(damaged)} damaged' if damaged else ''}.")
        return bool(gaps or damaged)

    def _bag(self, row: Any) -> Shown:
        """Write a bag unless it is there as it should be.

        Raises:
            DamagedError: a file in the store is damaged.
        """
        dataset_id = str(row["dataset_id"])
        stem, title = self._stem(row), self._title(row)
        state = [_FORMAT, row["document"], row["looks"], row["newest"], title]
        index = None if self.force else self._written(stem)
        if index is None or index.get("state") != state or index["gaps"]:  # which may be filled now
            with self.place.open(f"{stem}.zip") as file:
                packed = pack(self.holdings, file, safe(dataset_id), [(self.archive, dataset_id)])
                length = file.tell()
            files = [one._asdict() for one in packed.entries]
            index = {"source": self.source, "dataset_id": dataset_id, "title": title, "state": state}
            index |= {"bag": f"{safe(dataset_id)}.zip", "bytes": length, "gaps": packed.gaps, "files": files}
            self.place.write(f"{stem}.html", _page("bag", bag=index, root="../../"))
            self.place.write(f"{stem}.json", strict_json.dumps(index))  # the last one: the bag is whole
            self.written += 1
            for gap in packed.gaps:
                print_error(f"not in the bag of {safe_line(dataset_id)}: {gap}")
        return self._shown(row, index)

    def _stem(self, row: Any) -> str:
        return f"{self.below}/datasets/{safe(str(row['dataset_id']))}"

    def _title(self, row: Any) -> str:
        return safe_line(row["title"] or row["dataset_id"], _LONGEST)

    def _shown(self, row: Any, index: dict[str, Any]) -> Shown:
        dataset_id, linked = str(row["dataset_id"]), sum(one.get("url") is not None for one in index["files"])
        return Shown(dataset_id, self._title(row), safe(dataset_id), index["bytes"], linked, len(index["gaps"]))

    def _written(self, stem: str) -> dict[str, Any] | None:
        """Return what is written of a bag; ``None`` unless all of it is there."""
        found: Any = None
        with suppress(ValueError):
            found = strict_json.loads(self.place.read(f"{stem}.json") or b"null")
        lists = [found.get("files"), found.get("gaps")] if isinstance(found, dict) else [None]
        if not all(isinstance(one, list) for one in lists) or not all(isinstance(one, dict) for one in found["files"]):
            return None
        is_whole = found.get("bytes") == self.place.size(f"{stem}.zip") is not None
        return found if is_whole and self.place.size(f"{stem}.html") is not None else None

    def _list(self, shown: list[Shown]) -> None:
        """Write the list of the bags: for programs as lines of JSON, for people as pages."""
        with self.place.open(f"{self.below}/bags.jsonl") as file:
            for one in shown:
                file.write(strict_json.line(one._asdict()))
        pages = max(1, -(-len(shown) // _PAGE))
        for page in range(pages):
            some = shown[page * _PAGE : (page + 1) * _PAGE]
            about = {"source": self.source, "bags": some, "count": len(shown), "page": page, "pages": pages}
            self.place.write(f"{self.below}/{_page_name(page)}", _page("list", **about, root="../"))


def _page_name(page: int) -> str:
    """
    >>> _page_name(0), _page_name(1)
    ('index.html', 'page-2.html')
    """
    return f"page-{page + 1}.html" if page else "index.html"


def _page(name: str, **values: Any) -> bytes:
    known = {"root": "", "page_name": _page_name}
    return _templates().get_template(f"{name}.html").render(known | values).encode("utf-8", "replace")


@cache
def _templates() -> Environment:
    made = templates("crawlers.operate.archive")
    made.filters.update(size=size, number=number, web=lambda text: urlsplit(text).scheme in ("http", "https"))
    return made
