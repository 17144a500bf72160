"""Which addresses an archive looks at, each once: those of files, and what else the metadata of datasets state."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from w3lib.url import safe_url_string

from crawlers.archive.links import leads_somewhere
from crawlers.archive.services import service
from crawlers.exceptions import ArgumentError
from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.records.moment import moment
from crawlers.safety.addresses import without_dots
from crawlers.safety.names import ARCHIVE_OF
from crawlers.safety.redact import without_logins
from crawlers.safety.resolver import no_host
from crawlers.store.index import catch_up
from crawlers.store.index.columns import ADDRESS, storable
from crawlers.store.index.database import connect
from crawlers.store.index.documents import UNREADABLE, item
from crawlers.store.index.documents import left_out as unread
from crawlers.store.index.index import sources_in
from crawlers.store.index.known import Held

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from crawlers.items import Capture

WHATS = ("resources", "pages", "documentation", "all")
"""What an archive may look at."""
MARK = "@"
"""What the resource_id of a capture begins with whose address is no resource's: ``@page-1f2e3d4c``."""
ANY = "address"
"""The request_type of such a capture: whatever comes is kept, a page too."""

_MENTIONED = "metadata"  # what an address is of that is no field's own
_MOST = 10_000  # addresses of a dataset
_STATED = re.compile(
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
RETRIES = 3
"""Runs in a row that ask for a failed file again; after that it is asked for each week."""
WEEK = timedelta(days=7)

_PAGE = 500
_CURRENT = """
FROM resources r JOIN datasets d ON d.source = r.source AND d.dataset_id = r.dataset_id
WHERE r.source = :of AND NOT d.withdrawn
"""
_TARGETS = f"""
CREATE TEMP TABLE targets AS
SELECT json_group_array(json(subject)) AS subjects FROM (
    SELECT json_array(r.dataset_id, r.resource_id, coalesce(r.url, r.stated_url, ''), r.title, r.format) AS subject,
        address(coalesce(r.url, r.stated_url, ''), r.format) AS asked,
        row_number() OVER (ORDER BY d.id, r.position) AS place
    {_CURRENT} AND {{chosen}} ORDER BY place
) GROUP BY asked ORDER BY min(place)
"""  # noqa: S608  # the names are this module's
_SOME = "SELECT rowid, subjects FROM targets WHERE rowid > ? ORDER BY rowid LIMIT ?"
_LEFT_OUT = """
SELECT sum(max(0, resources - :kept)) FROM datasets d WHERE source = :of AND NOT withdrawn AND {chosen}
"""
_ANY = f"SELECT 1 {_CURRENT} AND {{chosen}} LIMIT 1"
_ANY_DATASET = "SELECT 1 FROM datasets d WHERE d.source = :of AND NOT d.withdrawn AND {chosen} LIMIT 1"

_NO_ADDRESS = (
    (re.compile(r"<"), "it is HTML"),
    (re.compile(r"(?i:[a-z]:[\\/]|\\\\|file:)"), "it names a file on somebody's computer"),
    (re.compile(r"(?i:https?:)(?!//)"), "two slashes are missing behind http: or https:"),
    (re.compile(r"//|(?i:www\.|localhost\b)|[\w-]+(?:\.[\w-]+)+(?::\d+)?/"), "http: or https: is missing before it"),
    (re.compile(r"/|\.\./|#|\?"), "it lacks the name of the host"),
    (re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*:)"), "it is a text"),
)
"""How what is no address begins, and what is wrong with it."""


class Subject(NamedTuple):
    """A resource whose file is looked at.

    Args:
        url: the address as the catalogue, or the page, has it.
    """

    dataset_id: str
    resource_id: str
    url: str
    title: str | None
    format: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The resources that the user wants.

    Args:
        source: the source whose files are archived.
        dataset: the id or the name of a dataset.
        publisher: the name of a publisher, in any case.
        formats: formats in upper case.
        what: one of `WHATS`.
    """

    source: str
    dataset: str | None = None
    publisher: str | None = None
    formats: Collection[str] = ()
    what: str = "resources"

    @property
    def has_resources(self) -> bool:
        """Whether the files of resources are looked at."""
        return self.what in ("resources", "all")

    @property
    def is_all(self) -> bool:
        """Whether nothing is left out."""
        return not (self.dataset or self.publisher or self.formats)

    @property
    def of_datasets(self) -> str:
        """The choice of datasets in SQL, with the names of `values`."""
        found = {
            ":dataset IN (d.dataset_id, d.name)": self.dataset,
            "casefold(d.publisher) = casefold(:publisher)": self.publisher,
        }
        return " AND ".join(condition for condition, wanted in found.items() if wanted) or "true"

    @property
    def condition(self) -> str:
        """The choice in SQL, with the names of `values`."""
        of_format = " AND upper(r.format) IN (SELECT value FROM json_each(:formats))" if self.formats else ""
        return self.of_datasets + of_format

    @property
    def values(self) -> dict[str, Any]:
        """The values of the condition's names."""
        formats = json.dumps(list(self.formats))
        return {"of": self.source, "dataset": self.dataset, "publisher": self.publisher, "formats": formats}


def check(output: Path, source: str) -> None:
    """Bring the index up to date with a source.

    Raises:
        ArgumentError: there is no such source in OUTPUT_DIR.
        OutputError: there is no index that can be read.
    """
    known = [name for name in sources_in(output) if not name.startswith(ARCHIVE_OF)]
    if source not in known:
        names = f": it has {', '.join(known[:10])}" if known else ", and no other either"
        raise ArgumentError(f"-a of={source}: {output} has no source of that name{names}. Crawl it first.")
    catch_up(output, named=[source])


def targets(
    output: Path, choice: Choice, lost: Callable[[str], None], *, is_check: bool = False
) -> Iterator[list[Subject]]:
    """Yield the chosen resources, those whose files one request asks for together, in the order of the first.

    They are copied first: the index is written while they are read. What else datasets state follows; while that is
    read, nothing is yielded now and then, so that others have their turn.

    Args:
        lost: called with a sentence for each document that can't be read.
        is_check: whether each address is asked for itself, an API's too.
    """
    with closing(_opened(output)) as db:
        db.create_function("address", 2, partial(_address, is_check=is_check), deterministic=True)
        db.execute(_TARGETS.format(chosen=choice.condition if choice.has_resources else "false"), choice.values)
        if choice.what != "resources":
            yield from ([] for _ in _collect(db, output / choice.source, choice, lost))
        last = 0
        while rows := db.execute(_SOME, (last, _PAGE)).fetchall():
            last = rows[-1]["rowid"]
            for _, text in rows:
                subjects = json.loads(text)
                yield [Subject(*subject) for subject in (without_logins(subjects) if "@" in text else subjects)]


def _opened(output: Path) -> sqlite3.Connection:
    db = connect(output)
    db.create_function("casefold", 1, lambda text: text and text.casefold(), deterministic=True)
    return db


def _address(url: str, format: str | None, *, is_check: bool) -> str:  # noqa: A002  # DCAT's word
    """Return the address that is asked for, and what is expected there: of an API, its capabilities."""
    try:
        asked = requestable(url)
        api = None if is_check else service(asked, format)
        return f"{safe_url_string(api.addresses[0] if api else asked)} {(format or '').upper()}"
    except ValueError:
        return url


def left_out(output: Path, choice: Choice, kept: int) -> int:
    """Return how many resources of the chosen datasets are not in the index: it keeps some number of each."""
    with closing(_opened(output)) as db:
        query = _LEFT_OUT.format(chosen=choice.of_datasets)
        return int(db.execute(query, choice.values | {"kept": kept}).fetchone()[0] or 0)


def check_choice(output: Path, choice: Choice) -> None:
    """
    Raises:
        ArgumentError: the user chooses resources, and there are none such.
    """
    if choice.is_all:
        return
    with closing(_opened(output)) as db:
        query = _ANY if choice.what == "resources" else _ANY_DATASET
        if db.execute(query.format(chosen=choice.condition), choice.values).fetchone() is None:
            wanted = {"dataset": choice.dataset, "publisher": choice.publisher, "format": ",".join(choice.formats)}
            kind = "resource" if choice.what == "resources" else "dataset"
            words = " ".join(f"-a {name}={value}" for name, value in wanted.items() if value)
            raise ArgumentError(f"{words}: the source {choice.source} has no such {kind}; see `scrapy search`.")


class AddressError(ValueError):
    """An address can't be requested; its text says what is wrong with it.

    Args:
        cause: one of `crawlers.archive.findings.CAUSES`.
    """

    def __init__(self, message: str, cause: str = "invalid_address") -> None:
        super().__init__(message)
        self.cause = cause


@lru_cache(maxsize=256)  # a look needs that of its address three times
def requestable(url: str) -> str:
    """Return an address as it is requested, as browsers read it: the one judge of what catalogues and hosts give.

    Redirects, which the downloader follows, are judged by `crawlers.safety.resolver.PossibleHosts`.

    Raises:
        AddressError: it can't be.

    >>> requestable(" http://a.org/x?time=09:30 "), requestable("http://a.org/http://b.org/")
    ('http://a.org/x?time=09:30', 'http://a.org/http://b.org/')
    >>> requestable("https://a.org/x/../y/./z?u=/../b"), requestable("https://a.org#top")
    ('https://a.org/y/z?u=/../b', 'https://a.org')
    """
    text = url.strip().lstrip("\ufeff\u200b").lstrip()
    if not text:
        raise AddressError("the catalogue gives no address")
    _check_length(text)
    wrong = next((sentence for pattern, sentence in _NO_ADDRESS if pattern.match(text)), None)
    if wrong:
        raise AddressError(f"what the catalogue gives is no address: {wrong}")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise AddressError(f"the address is invalid ({error})") from None
    if parts.scheme not in ("http", "https"):
        raise AddressError(f"only http and https are asked, not {parts.scheme}:", "unsupported_scheme")
    if not host or port == 0:
        raise AddressError(f"the address is invalid (its {'port is 0' if host else 'host is missing'})")
    if parts.username is not None:
        raise AddressError("the address has a user name, which is sent to nobody", "credentials")
    _check_host(host)
    try:
        sent = safe_url_string(text)
    except UnicodeError:
        raise AddressError("the address is invalid (it has half a character)") from None
    except ValueError as error:  # a backslash ends the name of a host here
        raise AddressError(f"the address is invalid ({error})") from None
    _check_length(sent)
    address = text.partition("#")[0]  # an empty query stays: it is another address
    return address.replace(parts.path, without_dots(parts.path), 1)


def _check_length(url: str) -> None:
    if len(url) > ADDRESS:
        raise AddressError(f"the address has more than {ADDRESS} characters, so it is not asked", "too_long")


def _check_host(host: str) -> None:
    """
    Raises:
        AddressError: no host can have that name, or has one that ends in .invalid: RFC 6761.
    """
    if wrong := no_host(host):
        raise AddressError(f"the address is invalid (its host {wrong})")
    if host.removesuffix(".").endswith(".invalid"):
        raise AddressError("the address is invalid (no host has a name that ends in .invalid)")


def is_fresh(last: Capture | None, now: datetime, most: timedelta) -> bool:
    """Return whether the last answer's headers say that the file need not be asked for yet.

    Args:
        most: how long that is believed, whatever they promise.
    """
    if last is None or not last.sha256 or last.state not in ("kept", "unchanged"):
        return False
    until, looked = moment(last.fresh_until), moment(last.time)
    return until is not None and looked is not None and now < until and now - looked < most


def is_put_off(last: Capture | None, now: datetime) -> bool:
    """Return whether a file failed so often that it is asked for once a week only."""
    if last is None or last.failure_count <= RETRIES:
        return False
    looked = moment(last.time)
    return looked is not None and now < looked + WEEK


def utc() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


# What else datasets state: pages, documentation, or any address at all


def _collect(db: sqlite3.Connection, folder: Path, choice: Choice, lost: Callable[[str], None]) -> Iterator[None]:
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
                lost(unread(folder, held, error))
                continue
            if len(found) == _MOST:
                lost(f"{folder.name}: of {held.file}, only {_MOST:,} addresses are looked at.")
            subjects = [
                (held.dataset_id, _subject(kind, url), storable(url), title and storable(title))
                for url, (kind, title) in found.items()
            ]
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
        for match in _STATED.finditer(_unescaped(value)):  # a text of JSON or XML may be HTML
            url = _without_sentence(match[0][: ADDRESS + 1])  # the judge of addresses refuses longer ones
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
