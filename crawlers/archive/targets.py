"""Which files an archive looks at: what the current resources of a source link, each address once."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

from crawlers.archive.findings import INVALID, NOT_SURE, NOT_TAKEN, Finding
from crawlers.archive.services import service
from crawlers.archive.stated import collect
from crawlers.exceptions import ArgumentError
from crawlers.records.moment import moment
from crawlers.safety.redact import without_logins
from crawlers.store.index import catch_up
from crawlers.store.index.columns import SHORT
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
    SELECT json_array(r.dataset_id, r.resource_id, coalesce(r.url, ''), r.title, r.format) AS subject,
        address(coalesce(r.url, ''), r.format) AS asked, row_number() OVER (ORDER BY d.id, r.position) AS place
    {_CURRENT} AND {{chosen}} ORDER BY place
) GROUP BY asked ORDER BY min(place)
"""  # noqa: S608  # the names are this module's
_SOME = "SELECT rowid, subjects FROM targets WHERE rowid > ? ORDER BY rowid LIMIT ?"
_LEFT_OUT = """
SELECT sum(max(0, resources - :kept)) FROM datasets d WHERE source = :of AND NOT withdrawn AND {chosen}
"""
_ANY = f"SELECT 1 {_CURRENT} AND {{chosen}} LIMIT 1"
_ANY_DATASET = "SELECT 1 FROM datasets d WHERE d.source = :of AND NOT d.withdrawn AND {chosen} LIMIT 1"


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
        return f"{canonicalize_url(api.addresses[0] if api else asked)} {(format or '').upper()}"
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
    """An address can't be requested.

    Args:
        word: the kind of failure, for the capture.
        meaning: what that means for the file.
    """

    def __init__(self, message: str, word: str = "invalid_address", meaning: Finding = INVALID) -> None:
        super().__init__(message)
        self.word, self.meaning = word, meaning


def requestable(url: str) -> str:
    """Return an address as it can be requested, as browsers read it.

    Raises:
        AddressError: it can't be.

    >>> requestable(" http://a.org/x?time=09:30 "), requestable("http://a.org/http://b.org/")
    ('http://a.org/x?time=09:30', 'http://a.org/http://b.org/')
    """
    text = url.strip()
    if not text:
        raise AddressError("the catalogue gives no address")
    if len(text) >= SHORT:
        message = f"the address has {SHORT} characters or more, and the index keeps no more of it"
        raise AddressError(message, "too_large", NOT_SURE)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise AddressError(f"the address is invalid ({error})") from None
    if parts.scheme not in ("http", "https"):
        what = f"scheme {parts.scheme}:" if parts.scheme else "address without a scheme"
        raise AddressError(f"unsupported {what}; only http and https are requested", "unsupported_scheme")
    if not host or port == 0:
        raise AddressError("the address is invalid (it has no host)")
    if parts.username is not None:
        raise AddressError("the address has a user name, which is sent to nobody", "credentials", NOT_TAKEN)
    return text


def is_fresh(last: Capture | None, now: datetime) -> bool:
    """Return whether the last answer's headers say that the file need not be asked for yet."""
    until = moment(last.fresh_until) if last and last.sha256 and last.state in ("kept", "unchanged") else None
    return until is not None and until > now


def is_put_off(last: Capture | None, now: datetime) -> bool:
    """Return whether a file failed so often that it is asked for once a week only."""
    if last is None or last.failure_count <= RETRIES:
        return False
    looked = moment(last.time)
    return looked is not None and now < looked + WEEK


def utc() -> datetime:
    """Return the time."""
    return datetime.now(UTC)
