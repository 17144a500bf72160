"""Which files an archive looks at: what the current resources of a source link, each address once."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

from crawlers.archive.services import service
from crawlers.exceptions import ArgumentError
from crawlers.store.index import catch_up
from crawlers.store.index.catch_up import sources_in
from crawlers.store.index.description import SHORT
from crawlers.store.index.reader import connect
from crawlers.values.moment import moment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
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
_LEFT_OUT = "SELECT sum(max(0, resources - ?)) FROM datasets WHERE source = ? AND NOT withdrawn"


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
    """

    source: str
    dataset: str | None = None
    publisher: str | None = None
    formats: Collection[str] = ()

    @property
    def is_all(self) -> bool:
        """Whether nothing is left out."""
        return not (self.dataset or self.publisher or self.formats)

    @property
    def condition(self) -> str:
        """The choice in SQL, with the names of `values`."""
        found = {
            ":dataset IN (d.dataset_id, d.name)": self.dataset,
            "lower(d.publisher) = lower(:publisher)": self.publisher,
            "upper(r.format) IN (SELECT value FROM json_each(:formats))": self.formats,
        }
        return " AND ".join(condition for condition, wanted in found.items() if wanted) or "true"

    @property
    def values(self) -> dict[str, str | None]:
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


def targets(output: Path, choice: Choice) -> Iterator[list[Subject]]:
    """Yield the chosen resources, those whose files one request asks for together, in the order of the first.

    They are copied first: the index is written while they are read.
    """
    with closing(connect(output)) as db:
        db.create_function("address", 2, _address, deterministic=True)
        db.execute(_TARGETS.format(chosen=choice.condition), choice.values)
        last = 0
        while rows := db.execute(_SOME, (last, _PAGE)).fetchall():
            last = rows[-1]["rowid"]
            for _, subjects in rows:
                yield [Subject(*subject) for subject in json.loads(subjects)]


def _address(url: str, format: str | None) -> str:  # noqa: A002  # DCAT's word
    """Return the address that is asked for: of an API, that of its capabilities."""
    try:
        asked = requestable(url)
    except ValueError:
        return url
    api = service(asked, format)
    return canonicalize_url(api.addresses[0] if api else asked)


def left_out(output: Path, source: str, kept: int) -> int:
    """Return how many resources of a source are not in the index: it keeps some number of each dataset."""
    with closing(connect(output)) as db:
        return int(db.execute(_LEFT_OUT, (kept, source)).fetchone()[0] or 0)


def requestable(url: str) -> str:
    """Return an address as it can be requested, as browsers read it.

    Raises:
        ValueError: it can't be; the text says why, and begins with "unsupported" for a scheme other than HTTP.

    >>> requestable(" http://a.org/x?time=09:30 "), requestable("http://a.org/http://b.org/")
    ('http://a.org/x?time=09:30', 'http://a.org/http://b.org/')
    """
    text = url.strip()
    if not text:
        raise ValueError("the catalogue gives no address")
    if len(text) >= SHORT:
        raise ValueError(f"the address has {SHORT} characters or more, and the index keeps no more of it")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"the address is invalid ({error})") from None
    if parts.scheme not in ("http", "https"):
        what = f"scheme {parts.scheme}:" if parts.scheme else "address without a scheme"
        raise ValueError(f"unsupported {what}; only http and https are requested")
    if not host or port == 0:
        raise ValueError("the address is invalid (it has no host)")
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
