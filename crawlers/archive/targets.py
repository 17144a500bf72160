"""Which files an archive looks at: what the current resources of a source link, each address once."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from w3lib.url import safe_url_string

from crawlers.archive.services import service
from crawlers.archive.stated import collect
from crawlers.exceptions import ArgumentError
from crawlers.records.addresses import no_host, without_dots
from crawlers.records.moment import moment
from crawlers.safety.redact import without_logins
from crawlers.store.index import catch_up
from crawlers.store.index.columns import ADDRESS
from crawlers.store.index.database import connect
from crawlers.store.index.index import sources_in

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from crawlers.items import Capture

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
        what: one of `crawlers.archive.stated.WHATS`.
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
    known = [name for name in sources_in(output) if not name.startswith("archive-of-")]
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
            yield from ([] for _ in collect(db, output / choice.source, choice, lost))
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
        _check_length(safe_url_string(text))
    except UnicodeError:
        raise AddressError("the address is invalid (it has half a character)") from None
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
