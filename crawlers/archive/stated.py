"""The addresses that the metadata of datasets state beside those of files: pages, documentation, or any at all."""

from __future__ import annotations

import hashlib
import re
from html import unescape
from typing import TYPE_CHECKING, Any

from crawlers.archive.links import leads_somewhere
from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.store.index.columns import ADDRESS as ADDRESS_LENGTH
from crawlers.store.index.documents import UNREADABLE, item, left_out
from crawlers.store.index.known import Held

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from crawlers.archive.targets import Choice

WHATS = ("resources", "pages", "documentation", "all")
"""What an archive may look at."""
MARK = "@"
"""What the resource_id of a capture begins with whose address is no resource's: ``@page-1f2e3d4c``."""
ADDRESS = "address"
"""The request_type of such a capture: whatever comes is kept, a page too."""

_MENTIONED = "metadata"  # what an address is of that is no field's own
_PAGE = 500  # datasets read in one query
_MOST = 10_000  # addresses of a dataset
_ADDRESS = re.compile(
    r"https?://(?=[^\s/?#]*?\.\w|\[|localhost\b)"
    r"(?:(?![,;]https?://)[^\s\"'<>\\^`{|}\x00-\x20“”„«»‹›。，、）】\u200b])++",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:amp|quot|apos|lt|gt|#\d{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)  # each with its semicolon
_AT_THE_END = ".,;:!?*_"  # of a sentence, or of Markdown
_BRACKETS = {")": "(", "]": "["}
_TABLE = "CREATE TEMP TABLE stated (place INTEGER PRIMARY KEY, dataset_id, resource_id, url, title)"
_DOCUMENTS = """
SELECT d.id, o.dataset_id, o.file, o.last_seen, o.metadata_source, o.metadata_url, o.metadata_modified, o.renamed_from
FROM datasets d JOIN documents o ON o.source = d.source AND o.kind = 'dataset' AND o.dataset_id = d.dataset_id
WHERE d.source = :of AND NOT d.withdrawn AND {chosen} AND d.id > :last ORDER BY d.id LIMIT :most
"""
_TOGETHER = """
INSERT INTO targets SELECT json_group_array(json(subject)) FROM (
    SELECT json_array(dataset_id, resource_id, url, title, NULL) AS subject, address(url, NULL) AS asked, place
    FROM stated WHERE NOT EXISTS (
        SELECT 1 FROM resources r WHERE r.source = :of AND r.dataset_id = stated.dataset_id AND r.url = stated.url
        AND stated.resource_id GLOB :mentioned
    ) ORDER BY place
) GROUP BY asked ORDER BY min(place)
"""


def collect(db: sqlite3.Connection, folder: Path, choice: Choice, lost: Callable[[str], None]) -> Iterator[None]:
    """Add what the chosen datasets state to the table ``targets``; yield after each, so that others have their turn.

    Args:
        db: the index, with the function ``address``.
        folder: the source's.
        lost: called with a sentence for each document that can't be read, or has too many addresses.
    """
    db.execute(_TABLE)
    query, last = _DOCUMENTS.format(chosen=choice.of_datasets), -1
    while rows := db.execute(query, choice.values | {"last": last, "most": _PAGE}).fetchall():
        last = rows[-1][0]
        for row in rows:
            held = Held(*row[1:])
            try:
                found = addresses(item(folder, held.dataset_id, held), choice.what)
            except UNREADABLE as error:
                lost(left_out(folder, held, error))
                continue
            if len(found) == _MOST:
                lost(f"{folder.name}: of {held.file}, only {_MOST:,} addresses are looked at.")
            subjects = [(held.dataset_id, _subject(kind, url), url, title) for url, (kind, title) in found.items()]
            db.executemany("INSERT INTO stated (dataset_id, resource_id, url, title) VALUES (?, ?, ?, ?)", subjects)
            yield
    db.execute(_TOGETHER, choice.values | {"mentioned": f"{MARK}{_MENTIONED}-*"})


def _subject(kind: str, url: str) -> str:
    return f"{MARK}{kind}-{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def addresses(dataset: Dataset, what: str) -> dict[str, tuple[str, str | None]]:
    """Return the addresses that a dataset's metadata state: of each, what it is of, and a title.

    Args:
        what: pages, documentation or all; those of resources' files are among all.

    >>> from crawlers.items import Dataset
    >>> about = Dataset(source="x", id="1", title="Wells", landing_page="https://a.org/1")
    >>> about.documentation, about.document = ["https://a.org/doc"], {"notes": "See (https://b.org/x_(y)), or ftp://c."}
    >>> addresses(about, "pages")
    {'https://a.org/1': ('page', 'Wells')}
    >>> [*addresses(about, "all")]
    ['https://a.org/1', 'https://a.org/doc', 'https://b.org/x_(y)']
    >>> html = '&lt;a href=&quot;https://c.org?a=1&amp;b&quot;&gt; “http://localhost:1/f”'
    >>> about.document = [html, "https://d.org,https://e.org; http://thing", "见https://g.org/x。 https://[::1]/\u200b"]
    >>> " ".join(list(addresses(about, "all"))[2:])
    'https://c.org?a=1&b http://localhost:1/f https://d.org https://e.org https://g.org/x https://[::1]/'
    >>> addresses(Dataset(source="x", id="1", document={"landingPage": "www.a.org/1"}), "pages")
    {'www.a.org/1': ('page', None)}
    """
    documented = [*dataset.documentation, *(url for one in dataset.resources for url in one.documentation)]
    listed = [("page", _page(dataset), dataset.title)] if what in ("pages", "all") else []
    listed += [("documentation", url, None) for url in documented] if what in ("documentation", "all") else []
    listed += [(_MENTIONED, url, None) for url in _in_text(dataset.document)] if what == "all" else []
    found: dict[str, tuple[str, str | None]] = {}
    for kind, url, title in listed:
        if url and len(found) < _MOST:
            found.setdefault(url, (kind, title))
    return found


def _page(dataset: Dataset) -> str | None:
    """Return the address of a dataset's page, or what its record gives in place of one, which the judge refuses."""
    record = dataset.document if isinstance(dataset.document, dict) else {}
    given = (record.get(name) for name in specs(Dataset)["landing_page"].names("data_json"))
    return dataset.landing_page or next((text for text in given if isinstance(text, str)), None)


def _in_text(value: Any) -> Iterator[str]:
    """Yield the addresses in the texts of a document, but for those that only name a term of a vocabulary.

    >>> [len(url) for url in _in_text(["https://a.org/" + "x" * 9_000])]
    [8001]
    """
    if isinstance(value, bytes):
        value = _unescaped(value.decode("utf-8", "replace"))
    if isinstance(value, str):
        for match in _ADDRESS.finditer(_unescaped(value)):  # a text of JSON or XML may be HTML
            url = _without_sentence(match[0][: ADDRESS_LENGTH + 1])  # the judge of addresses refuses longer ones
            if leads_somewhere(url):
                yield url
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _in_text(one)


def _unescaped(text: str) -> str:
    """
    >>> _unescaped("?a=1&amp;b=2&copy=3")
    '?a=1&b=2&copy=3'
    """
    return _ENTITY.sub(lambda entity: unescape(entity[0]), text) if "&" in text else text


def _without_sentence(url: str) -> str:
    """Return an address without what belongs to the sentence that it stands in.

    >>> _without_sentence("https://a.org/x)."), _without_sentence("https://a.org/x_(y)")
    ('https://a.org/x', 'https://a.org/x_(y)')
    """
    end, unopened = len(url), {close: url.count(close) - url.count(begin) for close, begin in _BRACKETS.items()}
    while (last := url[end - 1]) in _AT_THE_END or unopened.get(last, 0) > 0:
        end -= 1
        if last in unopened:
            unopened[last] -= 1
    return url[:end]
