"""The JSON APIs of catalogue software on the loopback: the fields of real answers, made-up values, and what goes wrong.

``API("opendatasoft", 250, traps={"window"})`` answers as such a portal with 250 datasets would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tests.site import Answer, Asked, Site

BASE = datetime(2020, 1, 1, tzinfo=UTC)
WINDOW = 300
TRAPS = (
    "window",  # more than WINDOW records are refused
    "clamped",  # the total is never more than WINDOW
    "equal",  # all stamps are the same
    "undated",  # every tenth record has no stamp
    "blank",  # titles are blank
    "repeats",  # pages behind the last one repeat it
    "ignores",  # the parameters of pages are ignored
    "lost",  # a record is counted and never listed
    "uncounted",  # there is no total
    "caps",  # a page has 7 records, whatever is requested
    "poison",  # a page of more than 25 records fails if it has record 130
    "lethal",  # any page fails that has record 130
    "ended",  # an empty page comes before the total is reached
    "dead_token",  # the first token is no longer accepted
    "error",  # errors come with HTTP 200
    "touched",  # a record is changed while it is listed, and is then the first
    "shifted",  # a record is removed while it is listed: the others move up, and another is added
    "html",  # the second page is HTML, once
    "away",  # the next page is at another host
)


def stamp(number: int) -> str:
    return (BASE + timedelta(hours=number)).isoformat()


def milliseconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


@dataclass
class Entry:
    """A dataset as it stands."""

    number: int
    modified: str | None

    @property
    def id(self) -> str:
        return f"d-{self.number:05d}"


class Page(NamedTuple):
    """
    Args:
        start: how many records are before it.
        more: whether others follow.
    """

    entries: list[Entry]
    total: int | None
    start: int
    size: int
    more: bool


@dataclass
class API:
    """
    Attributes:
        files: how many resources a dataset of a udata portal has.
        details: the records that a udata portal gives at their own addresses, by id; ``None`` if it gives none.
        entries: the datasets in the order in which they are listed.
    """

    kind: str
    count: int = 250
    traps: frozenset[str] = frozenset()
    files: int = 1
    details: dict[str, Any] | None = None
    entries: list[Entry] = field(init=False)
    pages: int = 0

    def __post_init__(self) -> None:
        assert set(self.traps) <= set(TRAPS)
        self.traps = frozenset(self.traps)
        self.entries = [Entry(number, self.modified(number)) for number in range(self.count)]
        if self.software.newest_first:
            self.entries.sort(key=lambda each: (each.modified or "", each.number), reverse=True)
        self.site = Site(self.answer)

    def modified(self, number: int) -> str | None:
        if "undated" in self.traps and number % 10 == 0:
            return None
        return stamp(0 if "equal" in self.traps else number)

    @property
    def software(self) -> Software:
        return SOFTWARE[self.kind]

    @property
    def url(self) -> str:
        return self.site.url

    @property
    def portal(self) -> str:
        return self.url + self.software.root

    def __enter__(self) -> Self:
        self.site.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.site.__exit__()

    @property
    def asked(self) -> list[Asked]:
        """What was asked of the listing."""
        return [one for one in self.site.asked if self.is_listing(one)]

    def is_listing(self, asked: Asked) -> bool:
        path = urlsplit(asked.path).path
        return path == self.software.path or (
            self.software.path.endswith("search/") and path.startswith(self.software.path)
        )

    # Answers

    def answer(self, asked: Asked) -> Answer:
        path = urlsplit(asked.path).path
        if path == "/robots.txt":
            return Answer(b"", 404)
        if self.details is not None and path.startswith("/api/1/datasets/") and not self.is_listing(asked):
            record = self.details.get(path.rstrip("/").rpartition("/")[2])
            return Answer(json.dumps(record).encode()) if record else Answer(b"{}", 404)
        if not self.is_listing(asked):
            return self.software.other(self, asked) if self.software.other else Answer(b"{}", 404)
        self.pages += 1
        if "html" in self.traps and self.pages == 2:
            return Answer(b"<html><h1>Sorry</h1></html>", headers={"Content-Type": "text/html"})
        start, size, wanted = self.software.read(self, asked)
        if start is None:
            return self.refusal("the token has expired")
        return self.listed(start, size, [each for each in self.entries if wanted(each)], asked)

    def listed(self, start: int, size: int, entries: list[Entry], asked: Asked) -> Answer:
        total, size = len(entries), min(size, self.software.most)
        size = 7 if "caps" in self.traps else size
        start = 0 if "ignores" in self.traps else start
        if "window" in self.traps and start + size > WINDOW:
            return self.refusal("the result window is too large")
        if "repeats" in self.traps and start >= total:
            start = max(total - size, 0)
        part = entries[start : start + size]
        broken = any(each.number == 130 for each in part)
        if broken and ("lethal" in self.traps or ("poison" in self.traps and size > 25)):
            return Answer(b'{"message": "null pointer"}', 500)
        if "ended" in self.traps and start >= 100:
            part = []
        more = bool(part) and start + len(part) < total
        part = [each for each in part if "lost" not in self.traps or each.number != 77]
        total = min(total, WINDOW) if "clamped" in self.traps else total
        page = Page(part, None if "uncounted" in self.traps else total, start, size, more)
        self.change()
        return Answer(json.dumps(self.software.page(self, page, asked)).encode())

    def change(self) -> None:
        """Change the catalogue behind the first page."""
        if self.pages == 1 and "touched" in self.traps:
            entry = self.entries.pop(150)
            entry.modified = datetime.now(UTC).isoformat()
            self.entries.insert(0, entry)
        if self.pages == 1 and "shifted" in self.traps:
            del self.entries[10]
            self.entries.append(Entry(self.count, stamp(self.count)))

    def refusal(self, message: str) -> Answer:
        error = {"error": True, "error_code": "X", "status": "ERROR", "message": message}
        return Answer(json.dumps(error).encode(), 200 if "error" in self.traps else 400)

    def record(self, entry: Entry) -> dict[str, Any]:
        title = "   " if "blank" in self.traps else f"Dataset {entry.number}"
        return self.software.record(self, entry, title)

    def records(self, page: Page) -> list[dict[str, Any]]:
        return [self.record(entry) for entry in page.entries]

    def link(self, asked: Asked, **changes: Any) -> str:
        """The address that was asked with other parameters."""
        parts = urlsplit(asked.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True)) | {
            name: str(each) for name, each in changes.items()
        }
        host = "http://away.invalid" if "away" in self.traps else ""
        return f"{host}{parts.path}?{urlencode(query)}"


Wanted = Callable[[Entry], bool]
Question = tuple[int | None, int, Wanted]


@dataclass(frozen=True)
class Software:
    """
    Args:
        path: of the listing.
        read: what a request asks for.
        page: the answer's JSON.
        record: one dataset's.
        root: the portal's own path.
        most: records of a page.
        newest_first: whether the last changed are listed first.
        other: answers what is no listing.
    """

    path: str
    read: Callable[[API, Asked], Question]
    page: Callable[[API, Page, Asked], Any]
    record: Callable[[API, Entry, str], dict[str, Any]]
    root: str = ""
    most: int = 1000
    newest_first: bool = False
    other: Callable[[API, Asked], Answer] | None = None


def everything(_: Entry) -> bool:
    return True


def condition(text: str) -> Wanted:
    """A filter by stamp, in any of the notations: all parts must be true."""
    tests: list[Wanted] = []
    for operator, value in re.findall(
        r"(?:modified|updated|created|changeDate)\s*(<=|>=|:\[)\s*(?:date')?([^\s'\]]+)", text
    ):
        edge = datetime.fromtimestamp(int(value) / 1000, UTC) if value.isdigit() else datetime.fromisoformat(value)
        tests.append(_test(operator, edge))
    if "modified is null" in text:
        tests.append(lambda each: each.modified is None)
    return lambda each: all(test(each) for test in tests)


def _test(operator: str, edge: datetime) -> Wanted:
    def test(each: Entry) -> bool:
        if each.modified is None:
            return False
        moment = datetime.fromisoformat(each.modified)
        return moment <= edge if operator == "<=" else moment >= edge

    return test


def by_offset(param: str, size: str, default: int, filter_: str = "where") -> Callable[[API, Asked], Question]:
    def read(_: API, asked: Asked) -> Question:
        given = asked.parameters
        start, count = int(given.get(param, 0)), int(given.get(size, default))
        return start, count, condition(given.get(filter_, ""))

    return read


def by_page(param: str, size: str, default: int, filter_: str = "q") -> Callable[[API, Asked], Question]:
    def read(api: API, asked: Asked) -> Question:
        given = asked.parameters
        count = 7 if "caps" in api.traps else int(given.get(size, default))
        return (int(given.get(param, 1)) - 1) * count, count, condition(given.get(filter_, ""))

    return read


def by_token(param: str, size: str, default: int) -> Callable[[API, Asked], Question]:
    def read(api: API, asked: Asked) -> Question:
        given = asked.parameters
        token = given.get(param, "t-0")
        if "dead_token" in api.traps and token == "t-100" and api.pages < 4:
            return None, 0, everything
        return int(token.removeprefix("t-")), int(given.get(size, default)), everything

    return read


# Opendatasoft


def ods_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    address = f"{api.url}/files/{entry.id}"
    return {
        "visibility": "domain",
        "dataset_id": entry.id,
        "dataset_uid": f"da_{entry.number}",
        "has_records": True,
        "features": ["analyze", "geo"],
        "attachments": [
            {"id": "note", "title": "Note.pdf", "mimetype": "application/pdf", "url": f"{address}/note.pdf"}
        ],
        "alternative_exports": [],
        "data_visible": True,
        "fields": [{"name": "height", "label": "Height", "type": "double", "description": None, "annotations": {}}],
        "metas": {
            "dcat": {
                "created": "2019-05-02T00:00:00+00:00",
                "issued": None,
                "creator": "City",
                "accrualperiodicity": None,
            },
            "default": {
                "title": title,
                "description": f"<p>What <b>{entry.id}</b> is.</p>",
                "theme": ["Environment"],
                "keyword": ["trees", "Trees", "soil"],
                "license": "CC BY 4.0",
                "license_url": "https://creativecommons.org/licenses/by/4.0/",
                "language": "en",
                "metadata_languages": ["en"],
                "modified": entry.modified,
                "data_processed": entry.modified,
                "metadata_processed": entry.modified,
                "publisher": "City of Example",
                "records_count": 12,
                "attributions": None,
                "federated": False,
            },
        },
    }


def ods_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    return {"total_count": page.total, "results": api.records(page)}


def ods1_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    metas: dict[str, Any] = {
        "title": title,
        "modified": entry.modified,
        "publisher": "City",
        "description": f"What {entry.id} is.",
        "keyword": ["trees"],
        "language": "en",
    }
    metas |= {"license": "CC BY 4.0", "metadata_processed": entry.modified, "data_processed": entry.modified}
    record: dict[str, Any] = {
        "datasetid": entry.id,
        "metas": metas,
        "has_records": True,
        "attachments": [],
        "features": [],
    }
    return record | {"fields": [], "interop_metas": {"dcat": {"created": stamp(0)}}, "data_visible": True}


def ods1_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    parameters = {"rows": page.size, "start": page.start, "format": "json", "timezone": "UTC"}
    return {"nhits": page.total, "parameters": parameters, "datasets": api.records(page)}


# Socrata


def four(entry: Entry) -> str:
    text = f"{entry.number:08d}"
    return f"{text[:4]}-{text[4:]}"


def socrata_read(api: API, asked: Asked) -> Question:
    given, last = asked.parameters, -1
    if scroll := given.get("scroll_id"):
        last = int(scroll.replace("-", ""))
    start = next((place for place, each in enumerate(api.entries) if each.number > last), len(api.entries))
    return start, int(given.get("limit", 100)), everything


def socrata_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    return {
        "resource": {
            "id": four(entry),
            "name": title,
            "description": f"What {entry.id} is.",
            "attribution": "Transport Agency",
            "type": "dataset",
            "createdAt": stamp(0),
            "updatedAt": entry.modified,
            "metadata_updated_at": entry.modified,
            "data_updated_at": entry.modified,
            "columns_name": ["Count"],
            "columns_field_name": ["count"],
            "columns_datatype": ["Number"],
            "parent_fxf": [],
            "provenance": "official",
        },
        "classification": {"categories": ["x"], "tags": ["y"], "domain_category": "Transport", "domain_tags": ["cars"]},
        "metadata": {"domain": urlsplit(api.url).netloc, "license": "Public Domain"},
        "permalink": f"{api.url}/d/{four(entry)}",
        "link": f"{api.url}/Transport/x/{four(entry)}",
        "owner": {"id": "aaaa-bbbb", "display_name": "Jo"},
    }


def socrata_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    return {"results": api.records(page), "resultSetSize": page.total, "timings": {"serviceMillis": 2}, "warnings": []}


# ArcGIS Hub

SITE = {"catalogV2": {"scopes": {"item": {"filters": [{"predicates": [{"group": ["a1"]}]}]}}}}
WORLD = {"catalogV2": {"scopes": {"item": {"targetEntity": "item", "filters": [{"predicates": [{}]}]}}}}


def hub_read(_: API, asked: Asked) -> Question:
    given = asked.parameters
    return int(given.get("startindex", 1)) - 1, int(given.get("limit", 10)), condition(given.get("filter", ""))


def hub_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    properties = {
        "id": entry.id,
        "title": title,
        "name": f"Dataset_{entry.number}",
        "type": "Feature Service",
        "typeKeywords": ["ArcGIS Server"],
        "snippet": "In short.",
        "description": f"<div>What {entry.id} is.</div>",
        "tags": ["trees"],
        "categories": ["/Categories/Environment"],
        "license": "CC-BY-4.0",
        "licenseInfo": "<p>Name us.</p>",
        "access": "public",
        "accessInformation": "City",
        "culture": "en-us",
        "created": milliseconds(stamp(0)),
        "modified": milliseconds(entry.modified) if entry.modified else None,
        "owner": "GIS",
        "orgId": "AbC",
        "source": "City of Example",
        "url": f"https://services.example.org/{entry.id}/FeatureServer",
        "size": -1,
    }
    box = {"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 4], [1, 2]]]}
    links = [{"rel": "self", "type": "application/geo+json", "href": f"{api.url}/items/{entry.id}"}]
    return {"id": entry.id, "type": "Feature", "geometry": box, "properties": properties, "time": None, "links": links}


def feature_page(api: API, page: Page, asked: Asked) -> dict[str, Any]:
    links = [{"rel": "self", "type": "application/json", "href": api.url + asked.path}]
    if page.more:
        links.append({"rel": "next", "href": api.link(asked, startindex=page.start + len(page.entries) + 1)})
    found = {"type": "FeatureCollection", "features": api.records(page), "links": links, "numberReturned": page.size}
    return found if page.total is None else found | {"numberMatched": page.total}


def hub_other(api: API, _: Asked) -> Answer:
    site = WORLD if "ignores" in api.traps else SITE
    text = json.dumps(quote(json.dumps(site)))
    return Answer(f"<script>window.__SITE={text};</script>".encode(), headers={"Content-Type": "text/html"})


# udata


def udata_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    file: dict[str, Any] = {
        "id": f"r-{entry.number}",
        "title": "File",
        "url": f"https://files.example.org/{entry.id}.csv",
        "format": "csv",
    }
    file |= {"mime": "text/csv", "filesize": 12, "checksum": {"type": "sha1", "value": "a" * 40}, "type": "main"}
    file |= {"created_at": stamp(0), "last_modified": entry.modified, "latest": f"{api.url}/r/{entry.id}"}
    record: dict[str, Any] = {
        "id": f"{entry.number:024x}",
        "title": title,
        "acronym": None,
        "slug": entry.id,
        "description": f"What {entry.id} is.",
        "created_at": stamp(entry.number),
        "last_modified": entry.modified,
        "last_update": entry.modified,
        "deleted": None,
        "archived": None,
        "private": False,
        "tags": ["trees"],
        "resources": [file | {"id": f"r-{entry.number}-{each}"} for each in range(api.files)],
        "frequency": "monthly",
        "organization": {"name": "City", "uri": f"{api.url}/o", "page": f"{api.url}/o", "class": "Organization"},
        "owner": None,
        "temporal_coverage": {"start": "2019-01-01", "end": "2020-12-31"},
        "spatial": {"geom": None, "zones": ["country:fr"], "granularity": "other"},
        "license": "lov2",
        "uri": f"{api.url}/datasets/{entry.id}",
        "page": f"{api.url}/datasets/{entry.id}",
        "harvest": None,
        "contact_points": [],
    }
    if api.kind == "udata-v2":
        href = f"{api.url}/files/{entry.number}?page=1"
        record["resources"] = {"rel": "subsection", "href": href, "type": "GET", "total": 2}
    return record


def udata_page(api: API, page: Page, asked: Asked) -> dict[str, Any]:
    number = page.start // max(page.size, 1) + 1
    following = api.link(asked, page=number + 1) if page.more else None
    found = {"data": api.records(page), "page": number, "page_size": page.size, "next_page": following}
    return found | {"total": page.total, "previous_page": None}


def udata_files(api: API, asked: Asked) -> Answer:
    """The resources of a dataset, two pages of one."""
    number, page = int(asked.action), int(asked.parameters["page"])
    file: dict[str, Any] = {
        "id": f"r-{number}-{page}",
        "title": f"File {page}",
        "url": f"https://files.example.org/{number}-{page}.csv",
    }
    file |= {"format": "csv", "mime": "text/csv", "filesize": 12, "checksum": None, "created_at": stamp(0)}
    following = f"{api.url}/files/{number}?page=2" if page == 1 else None
    return Answer(json.dumps({"data": [file], "next_page": following, "total": 2, "page": page}).encode())


# DKAN


def dkan_record(_: API, entry: Entry, title: str) -> dict[str, Any]:
    data = {"@type": "dcat:Distribution", "downloadURL": f"https://files.example.org/{entry.id}.csv", "format": "csv"}
    return {
        "@type": "dcat:Dataset",
        "accessLevel": "public",
        "accrualPeriodicity": "R/P1Y",
        "contactPoint": {"fn": "Jo", "hasEmail": "mailto:jo@example.org"},
        "description": f"What {entry.id} is.",
        "distribution": [
            {"identifier": f"r-{entry.number}", "data": data | {"mediaType": "text/csv", "title": "File"}}
        ],
        "identifier": entry.id,
        "issued": "2017-08-01",
        "keyword": [{"identifier": "k", "data": "trees"}],
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "modified": "2019-06-06",
        "%modified": entry.modified,
        "publisher": {"identifier": "p", "data": {"@type": "org:Organization", "name": "City"}},
        "theme": [{"identifier": "t", "data": "Health"}],
        "temporal": "1995-01-01/2017-12-31",
        "title": title,
    }


# Dataverse


def dataverse_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    return {
        "name": title,
        "type": "dataset",
        "url": f"https://doi.org/10.5072/{entry.id}",
        "global_id": f"doi:10.5072/{entry.id}",
        "description": f"<p>What {entry.id} is.</p>",
        "published_at": stamp(entry.number),
        "publisher": "Example Dataverse",
        "identifier_of_dataverse": "example",
        "name_of_dataverse": "Example",
        "subjects": ["Other"],
        "keywords": ["trees"],
        "fileCount": 1,
        "versionId": entry.number,
        "versionState": "RELEASED",
        "majorVersion": 1,
        "minorVersion": 0,
        "createdAt": stamp(entry.number),
        "updatedAt": entry.modified,
        "contacts": [{"name": "Jo", "affiliation": "City"}],
        "authors": ["Doe, Jo"],
    }


def dataverse_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    data = {"q": "*", "total_count": page.total, "start": page.start, "items": api.records(page)}
    return {"status": "OK", "data": data | {"spelling_alternatives": {}, "count_in_response": len(page.entries)}}


def dataverse_files(_: API, asked: Asked) -> Answer:
    number = int(asked.parameters["persistentId"].rpartition("-")[2])
    checksum = {"type": "MD5", "value": "b" * 32}
    file = {"id": number, "contentType": "text/csv", "filesize": 7, "checksum": checksum, "creationDate": "2020-01-02"}
    answer = {"label": f"{number}.csv", "description": "A file.", "restricted": False, "dataFile": file}
    return Answer(json.dumps({"status": "OK", "data": [answer]}).encode())


# InvenioRDM and Zenodo


def zenodo_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    file = {"key": "a.csv", "size": 4, "type": "csv", "checksum": f"md5:{'c' * 32}", "bucket": "b"}
    metadata = {
        "title": title,
        "description": f"<p>What {entry.id} is.</p>",
        "creators": [{"name": "Doe, Jo", "affiliation": "City", "orcid": "0000-0000-0000-0001"}],
        "keywords": ["trees"],
        "language": "eng",
        "license": {"id": "CC-BY-4.0"},
        "publication_date": "2020-03",
        "access_right": "open",
        "resource_type": {"title": "Dataset", "type": "dataset"},
    }
    return {
        "id": 10_000_000 + entry.number,
        "conceptrecid": str(20_000_000 + entry.number),
        "conceptdoi": f"10.5072/zenodo.{20_000_000 + entry.number}",
        "doi": f"10.5072/zenodo.{10_000_000 + entry.number}",
        "created": entry.modified,
        "updated": entry.modified,
        "files": [file | {"links": {"self": f"{api.url}/files/{entry.id}/a.csv"}}],
        "links": {"self": f"{api.url}/api/records/{entry.number}", "html": f"{api.url}/record/{entry.number}"},
        "metadata": metadata,
        "owners": [1],
        "revision": 1,
        "stats": {"downloads": 1.0},
    }


def rdm_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    file = {"checksum": f"md5:{'d' * 32}", "size": 5, "mimetype": "text/csv", "key": "a.csv"}
    return {
        "id": f"v-{entry.number}",
        "parent": {"id": f"c-{entry.number}"},
        "pids": {"doi": {"identifier": f"10.5072/{entry.id}", "provider": "datacite", "client": "x"}},
        "created": entry.modified,
        "updated": entry.modified,
        "access": {"record": "public", "files": "public", "status": "open"},
        "files": {
            "enabled": True,
            "entries": {"a.csv": file | {"links": {"content": f"{api.url}/f/{entry.id}/a.csv"}}},
        },
        "links": {"self": f"{api.url}/api/records/{entry.id}", "self_html": f"{api.url}/records/{entry.id}"},
        "metadata": {
            "resource_type": {"id": "dataset"},
            "creators": [{"person_or_org": {"name": "Doe, Jo", "type": "personal"}}],
            "title": title,
            "publisher": "City",
            "publication_date": "2018/2020-09",
            "subjects": [{"subject": "trees"}],
            "languages": [{"id": "eng"}],
            "rights": [{"id": "cc-by-4.0", "title": {"en": "CC BY 4.0"}, "props": {"url": "https://example.org/by"}}],
            "description": f"<p>What {entry.id} is.</p>",
        },
    }


def hits_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    return {"hits": {"hits": api.records(page), "total": page.total}, "aggregations": {}, "links": {"self": api.url}}


# STAC and OGC API Records


def collection(api: API, entry: Entry, title: str) -> dict[str, Any]:
    return {
        "stac_version": "1.0.0",
        "type": "Collection",
        "id": entry.id,
        "title": title,
        "description": f"What {entry.id} is.",
        "license": "CC-BY-4.0",
        "keywords": ["trees"],
        "updated": entry.modified,
        "providers": [{"name": "City", "roles": ["producer"], "url": "https://example.org"}],
        "extent": {"spatial": {"bbox": [[-180, -90, 180, 90]]}, "temporal": {"interval": [[stamp(0), None]]}},
        "summaries": {"platform": ["x"]},
        "assets": {
            "table": {"href": f"{api.url}/{entry.id}.csv", "type": "text/csv", "title": "Table", "roles": ["data"]}
        },
        "links": [{"rel": "self", "href": f"{api.url}/collections/{entry.id}", "type": "application/json"}],
    }


def stac_page(api: API, page: Page, asked: Asked) -> dict[str, Any]:
    links: list[dict[str, str]] = [{"rel": "root", "href": api.url}]
    if page.more:
        links.append({"rel": "next", "method": "GET", "href": api.link(asked, token=f"t-{page.start + page.size}")})
    found = {"collections": api.records(page), "links": links, "numberReturned": len(page.entries)}
    return found if page.total is None else found | {"numberMatched": page.total}


def ogc_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    properties = {
        "type": "dataset",
        "title": title,
        "description": f"What {entry.id} is.",
        "updated": entry.modified,
        "language": "eng",
        "license": "CC-BY-4.0",
        "keywords": ["trees"],
        "themes": [{"concepts": [{"id": "society"}], "scheme": "x"}],
        "contacts": [{"name": "Jo", "organization": "City", "roles": ["publisher"], "emails": [{"value": "a@b.org"}]}],
    }
    link = {"href": f"{api.url}/{entry.id}.zip", "name": "File", "protocol": "WWW:DOWNLOAD", "rel": None}
    box = {"type": "Point", "coordinates": [1, 2]}
    found = {"id": entry.id, "type": "Feature", "geometry": box, "properties": properties, "links": [link]}
    return found | {"time": {"date": "2025-04-13"}}


# Magda


def magda_record(_: API, entry: Entry, title: str) -> dict[str, Any]:
    strings = {
        "title": title,
        "description": f"What {entry.id} is.",
        "issued": "2015-12-21T22:19:54Z",
        "modified": entry.modified,
        "keywords": ["trees"],
        "languages": ["English"],
        "publisher": "City",
        "spatial": "Graz",
        "temporal": {"start": "2015-12-21", "end": ""},
        "themes": [],
        "accrualPeriodicity": "monthly",
        "contactPoint": "jo@example.org",
        "landingPage": f"https://example.org/{entry.id}",
    }
    file = {"title": "File", "downloadURL": f"https://files.example.org/{entry.id}.csv", "format": "CSV"}
    aspects = {"dcat-distribution-strings": file | {"license": "CC BY", "mediaType": "text/csv"}}
    parts = {"distributions": [{"id": f"r-{entry.number}", "name": "File", "aspects": aspects}]}
    source = {"id": "x", "name": "example.org", "type": "ckan-dataset", "url": f"https://example.org/api/{entry.id}"}
    found = {"dcat-dataset-strings": strings, "dataset-distributions": parts, "source": source}
    return {"id": entry.id, "name": title, "aspects": found, "sourceTag": "x", "tenantId": 0}


def magda_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    found = {"hasMore": page.more, "records": api.records(page)}
    return found | {"nextPageToken": f"t-{page.start + len(page.entries)}"} if page.more else found


def magda_other(api: API, asked: Asked) -> Answer:
    is_count = urlsplit(asked.path).path.endswith("/count") and "uncounted" not in api.traps
    return Answer(json.dumps({"count": len(api.entries)}).encode()) if is_count else Answer(b"{}", 404)


# GeoNetwork


def geonetwork_read(api: API, asked: Asked) -> Question:
    body = json.loads(asked.body)
    after = body.get("search_after")
    start = 0
    if after:
        start = next((place + 1 for place, each in enumerate(api.entries) if each.id == after[0]), len(api.entries))
    return start, body["size"], condition(body["query"]["query_string"]["query"])


def geonetwork_record(_: API, entry: Entry, title: str) -> dict[str, Any]:
    source = {
        "uuid": entry.id,
        "metadataIdentifier": entry.id,
        "resourceTitleObject": {"default": title, "langeng": title},
        "resourceAbstractObject": {"default": f"What {entry.id} is."},
        "resourceType": ["dataset"],
        "resourceDate": [{"date": stamp(0), "type": "creation"}],
        "resourceLanguage": ["eng"],
        "resourceIdentifier": [{"code": f"https://example.org/{entry.id}", "codeSpace": "", "link": ""}],
        "dateStamp": entry.modified,
        "changeDate": entry.modified,
        "contactForResource": [{"organisationObject": {"default": "City"}, "role": "owner", "email": "a@b.org"}],
        "tag": [{"default": "trees"}],
        "link": [{"protocol": "OGC:WMS", "urlObject": {"default": f"https://example.org/{entry.id}/wms"}, "hash": "h"}],
    }
    return {"_index": "gn", "_id": entry.id, "_score": None, "_source": source, "sort": [entry.id], "view": True}


def geonetwork_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    total = {"value": page.total, "relation": "eq"}
    hits = {"total": total, "max_score": None, "hits": api.records(page)}
    return {"took": 3, "timed_out": False, "_shards": {"total": 1, "failed": 0}, "hits": hits}


# hub-search


def hub_search_record(_: API, entry: Entry, title: str) -> dict[str, Any]:
    file = {"id": f"r-{entry.number}", "access_url": [f"https://example.org/{entry.id}"], "title": {"en": "File"}}
    return {
        "id": entry.id,
        "resource": f"https://example.org/set/{entry.id}",
        "title": {"en": title, "de": f"Datensatz {entry.number}"},
        "description": {"en": f"What {entry.id} is."},
        "distributions": [file | {"format": {"id": "CSV", "label": "CSV"}, "byte_size": "45"}],
        "keywords": [{"id": "trees", "label": "trees"}],
        "publisher": {"type": "Organization", "name": "City", "resource": "https://example.org/city"},
        "categories": [{"id": "envi", "label": {"en": "Environment"}}],
        "issued": stamp(0),
        "modified": entry.modified,
        "languages": ["en"],
    }


def hub_search_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    token = f"t-{page.start + len(page.entries)}"
    return {"result": {"index": "dataset", "count": page.total, "results": api.records(page), "scrollId": token}}


# DataCite, GeoNode, World Bank: after their documentation and code


def datacite_record(_: API, entry: Entry, title: str) -> dict[str, Any]:
    attributes = {
        "doi": f"10.5072/{entry.id}",
        "titles": [{"title": title}],
        "descriptions": [{"description": f"What {entry.id} is.", "descriptionType": "Abstract"}],
        "publisher": "City",
        "publicationYear": 2020,
        "url": f"https://example.org/{entry.id}",
        "contentUrl": f"https://files.example.org/{entry.id}.csv",
        "creators": [{"name": "Doe, Jo"}],
        "dates": [{"date": "2020-02-03", "dateType": "Issued"}],
        "rightsList": [{"rights": "CC BY 4.0", "rightsIdentifier": "cc-by-4.0"}],
        "updated": entry.modified,
    }
    return {"id": attributes["doi"], "type": "dois", "attributes": attributes}


def datacite_page(api: API, page: Page, asked: Asked) -> dict[str, Any]:
    token = {"page[cursor]": f"t-{page.start + len(page.entries)}"}
    links = {"self": api.url + asked.path} | ({"next": api.url + api.link(asked, **token)} if page.more else {})
    return {"data": api.records(page), "meta": {"total": page.total}, "links": links}


def datacite_read(api: API, asked: Asked) -> Question:
    start = asked.parameters["page[cursor]"].removeprefix("t-")
    size = int(asked.parameters.get("page[size]", 25))
    return (0 if start == "1" else int(start)), size, condition(asked.parameters.get("query", ""))


def geonode_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    return {
        "pk": str(entry.number),
        "uuid": f"uuid-{entry.number}",
        "alternate": f"geonode:{entry.id}",
        "title": title,
        "raw_abstract": f"What {entry.id} is.",
        "detail_url": f"{api.url}/catalogue/#/dataset/{entry.number}",
        "date": stamp(0),
        "last_updated": entry.modified,
        "attribution": "City",
        "keywords": [{"name": "trees", "slug": "trees"}],
        "language": "eng",
        "license": {"identifier": "cc-by-4.0"},
        "links": [{"name": "CSV", "url": f"{api.url}/{entry.id}.csv", "extension": "csv", "mime": "text/csv"}],
    }


def geonode_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    number = page.start // max(page.size, 1) + 1
    return {"links": {"next": None}, "total": page.total, "page": number, "datasets": api.records(page)}


def worldbank_record(_: API, entry: Entry, title: str) -> dict[str, Any]:
    found = {"dataset_id": entry.number, "dataset_unique_id": f"{entry.number:07d}", "name": title}
    return found | {"last_updated_date": entry.modified}


def worldbank_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    return {"count": page.total, "data": api.records(page)}


def worldbank_view(_: API, asked: Asked) -> Answer:
    number = asked.parameters["dataset_unique_id"]
    file = {"resource_unique_id": f"R{number}", "name": "File", "url": f"https://files.example.org/{number}.csv"}
    view = {"name": f"Dataset {int(number)}", "identification": {"description": "What d- is."}, "source": "City"}
    return Answer(json.dumps(view | {"Resources": [file | {"format": "CSV"}]}).encode())


def dkan1_record(api: API, entry: Entry, title: str) -> dict[str, Any]:
    return {
        "id": entry.id,
        "name": f"dataset-{entry.number}",
        "title": title,
        "notes": f"<p>What {entry.id} is.</p>",
        "url": f"{api.url}/?q=dataset/dataset-{entry.number}",
        "maintainer": "City",
        "maintainer_email": "city@example.org",
        "license_title": "http://creativecommons.org/licenses/by/4.0",
        "metadata_created": "Tue, 03/14/2017 - 10:20",
        "metadata_modified": entry.modified,
        "revision_timestamp": entry.modified,
        "groups": [{"title": "City"}],
        "tags": [{"id": "1", "name": "trees"}],
        "resources": [
            {
                "id": f"{entry.id}-1",
                "name": "File",
                "url": f"{api.url}/{entry.id}.csv",
                "format": "csv",
                "size": "12.3 KB",
            }
        ],
    }


def dkan1_page(api: API, page: Page, _: Asked) -> dict[str, Any]:
    return {"help": "x", "success": True, "result": [api.records(page)]}


def dkan1_list(api: API, asked: Asked) -> Answer:
    if asked.action != "package_list":
        return Answer(b"", 404)
    return Answer(json.dumps({"help": "x", "success": True, "result": [each.id for each in api.entries]}).encode())


ZENODO = {"read": by_page("page", "size", 10), "page": hits_page, "most": 25}
SOFTWARE = {
    "opendatasoft": Software(
        "/api/explore/v2.1/catalog/datasets",
        *(by_offset("offset", "limit", 10), ods_page, ods_record),
        most=100,
        newest_first=True,
    ),
    "opendatasoft-v1": Software("/api/datasets/1.0/search/", by_offset("start", "rows", 10), ods1_page, ods1_record),
    "socrata": Software("/api/catalog/v1", socrata_read, socrata_page, socrata_record),
    "arcgis-hub": Software(
        "/api/search/v1/collections/dataset/items",
        *(hub_read, feature_page, hub_record),
        most=100,
        newest_first=True,
        other=hub_other,
    ),
    "udata": Software("/api/1/datasets/", by_page("page", "page_size", 20), udata_page, udata_record),
    "udata-v2": Software(
        "/api/2/datasets/", by_page("page", "page_size", 20), udata_page, udata_record, other=udata_files
    ),
    "dkan": Software(
        "/api/1/metastore/schemas/dataset/items",
        *(lambda *_: (0, 10**6, everything), lambda api, page, _: api.records(page), dkan_record),
        most=10**6,
    ),
    "dkan1": Software(
        "/api/3/action/current_package_list_with_resources",
        *(by_offset("offset", "limit", 10), dkan1_page, dkan1_record),
        other=dkan1_list,
    ),
    "dataverse": Software(
        "/api/search", by_offset("start", "per_page", 10), dataverse_page, dataverse_record, other=dataverse_files
    ),
    "zenodo": Software("/api/records", record=zenodo_record, **ZENODO),  # type: ignore[arg-type]
    "invenio-rdm": Software("/api/records", record=rdm_record, **ZENODO),  # type: ignore[arg-type]
    "stac": Software("/stac/collections", by_token("token", "limit", 10), stac_page, collection, root="/stac"),
    "ogc-records": Software("/collections/main/items", hub_read, feature_page, ogc_record, root="/collections/main"),
    "magda": Software(
        "/api/v0/registry/records", by_token("pageToken", "limit", 10), magda_page, magda_record, other=magda_other
    ),
    "geonetwork": Software("/srv/api/search/records/_search", geonetwork_read, geonetwork_page, geonetwork_record),
    "datacite-rest": Software("/dois", datacite_read, datacite_page, datacite_record),
    "geonode": Software("/api/v2/datasets", by_page("page", "page_size", 10), geonode_page, geonode_record),
    "worldbank": Software(
        "/ddhxext/DatasetList", by_offset("$skip", "$top", 10), worldbank_page, worldbank_record, other=worldbank_view
    ),
    "eu-hub-search": Software(
        "/api/hub/search/", by_token("scrollId", "limit", 10), hub_search_page, hub_search_record
    ),
}


def ids(entries: Iterable[Entry]) -> set[str]:
    return {each.id for each in entries}
