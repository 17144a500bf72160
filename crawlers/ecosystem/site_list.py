"""The portals that are visited, as a catalogue's packages, a CSV file or sources.toml have them.

Each is the fields of a `crawlers.items.Site` that are known before it is visited.
"""

from __future__ import annotations

import csv
import re
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlers import arguments
from crawlers.exceptions import ArgumentError
from crawlers.kinds.ckan.api import identity
from crawlers.records.countries import country, country_of_host
from crawlers.records.geometries import geometry
from crawlers.records.record import Record
from crawlers.store import sources_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.spiderloader import SpiderLoaderProtocol

    Listed = dict[str, Any]

_FILE = re.compile(r"\.(csv|geojson|json|pdf|rdf|ttl|xlsx?|xml|zip)$", re.IGNORECASE)
_LINK = re.compile(r"https?://[^\s<>\"'`()\[\]{}|\\^]{4,1000}", re.IGNORECASE)
_HOME = ("website", "homepage", "site_url", "portal_url")


# A catalogue's packages


def of_package(package: Any, url: str) -> Listed:
    """Return the portal that a package is about.

    Args:
        url: of the catalogue's answer.
    """
    record = Record(package)
    name = str(name_of(package))
    own = {"name": name, "title": record.text("title"), "url": address(record), "catalog_id": record.text("id")}
    return _listed(record, own) | {"metadata_source": "package_search", "metadata_url": url}


def name_of(package: Any) -> str | None:
    """Return the name of a package in the catalogue's addresses; ``None`` if it has none that can be in one."""
    return identity({"id": package.get("name")}) if isinstance(package, dict) else None


def address(record: Record) -> str | None:
    """Return where a package says that its portal is: by its url, its resources, its extras or its notes.

    >>> address(Record({"url": " ", "resources": [{"url": "http://a.org/x.csv"}, {"url": "data.b.org"}]}))
    'https://data.b.org'
    >>> address(Record({"url": "n/a", "notes": "The portal (https://c.org/data) of C."}))
    'https://c.org/data'
    """
    return next(filter(None, map(_requestable, _addresses(record))), None)


def _addresses(record: Record) -> Iterator[str]:
    yield record.text("url") or ""
    for resource in record.objects("resources"):
        url = resource.text("url") or ""
        if not _is_file(url):
            yield url
    yield from (record.text(name) or "" for name in _HOME)
    for link in _LINK.findall(record.text("notes") or ""):
        yield link.rstrip(".,;:!?*_")


def _is_file(url: str) -> bool:
    try:
        return bool(_FILE.search(urlsplit(url).path))
    except ValueError:  # no address at all
        return False


def _requestable(text: str) -> str | None:
    """Return an address as it can be requested; without a scheme it is taken for https."""
    text = text.strip()
    try:
        found = arguments.url(text if "://" in text else f"https://{text}")
    except ValueError:
        return None
    return found if is_host(urlsplit(found).hostname or "") else None


def is_host(name: str) -> bool:
    """Return whether a name can be looked up.

    >>> is_host("données.fr"), is_host("a%2fb.org"), is_host(f"{'a' * 64}.org"), is_host("localhost")
    (True, False, False, False)
    """
    try:
        asked = name.encode("idna").decode()
    except UnicodeError:
        return False
    return bool(re.search(r"[^.]\.[^.]|:", asked)) and not re.search(r"%|\.\.", asked)


# A file


def of_file(path: Path) -> list[Listed]:
    """Return the portals of a CSV file with the columns name and url; title, country, latitude, longitude are optional.

    Raises:
        ArgumentError: it can't be read, or a line has a mistake; the message names the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(_rows(csv.DictReader(file), path))
    except OSError as error:
        raise ArgumentError(f"{path} can't be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(f"{path} is not a CSV file in UTF-8: {error}.") from None


def _rows(reader: csv.DictReader[str], path: Path) -> Iterator[Listed]:
    for column in ("name", "url"):
        count = list(reader.fieldnames or ()).count(column)
        if count != 1:
            problem = f"has {count} columns {column}" if count else f"has no column {column}"
            raise ArgumentError(f"{path} {problem}: its first line names the columns, such as name,url, each once.")
    lines: dict[str, int] = {}
    for row in reader:
        where, name, url = f"{path}, line {reader.line_num}", (row["name"] or "").strip(), row["url"] or ""
        if not name:
            raise ArgumentError(f"{where}: the name is missing.")
        if lines.setdefault(name, reader.line_num) != reader.line_num:
            raise ArgumentError(f"{where}: line {lines[name]} has the name {name[:100]!r}, too.")
        found = _requestable(url)
        if found is None:
            raise ArgumentError(f"{where}: {url[:100]!r} is no web address.")
        record = Record({column: value for column, value in row.items() if column})
        yield _listed(record, {"name": name, "title": record.text("title"), "url": found})


# sources.toml


def of_sources(path: Path, spiders: SpiderLoaderProtocol) -> list[Listed]:
    """Return the portals of the sources in sources.toml that CKAN spiders crawl, without the disabled ones.

    Raises:
        SourcesError: the file can't be read, or is not TOML.
        ArgumentError: the address of a portal is none.
    """
    return list(_sources(path, spiders))


def _sources(path: Path, spiders: SpiderLoaderProtocol) -> Iterator[Listed]:
    for name, table in sources_file.tables(sources_file.text(path), path).items():
        spider = table.get("spider") if isinstance(table, dict) and table.get("enabled", True) else None
        loaded = spiders.load(spider) if spider in spiders.list() else None
        if getattr(loaded, "kind", "") != "ckan":
            continue
        given = table.get("arguments")
        url = (given.get("portal") if isinstance(given, dict) else None) or getattr(loaded, "portal", None)
        try:
            yield _listed(Record({}), {"name": name, "url": arguments.portal(str(url))})
        except ValueError as error:
            raise ArgumentError(f"{path}: [{name}]: portal={str(url)[:100]!r} is not {error}.") from None


# What is read of any


def _listed(record: Record, own: Listed) -> Listed:
    """Return the fields of a portal: those given, where it is, and its name as its id."""
    latitude, longitude = coordinates(record)
    found = record.read(country, "country_code", "country")
    if found is None and own["url"]:
        found = country_of_host(urlsplit(own["url"]).hostname or "")
    return {"id": own["name"], **own, "country": found, "latitude": latitude, "longitude": longitude}


def coordinates(record: Record) -> tuple[float | None, float | None]:
    """Return the latitude and the longitude of a record in degrees, or the centre of its ``spatial``.

    >>> coordinates(Record({"latitude": "51.5", "longitude": -0.1})), coordinates(Record({"spatial": "1,2,3,4"}))
    ((51.5, -0.1), (3.0, 2.0))
    >>> coordinates(Record({"latitude": 0, "longitude": 0})), coordinates(Record({"lat": "95", "lon": "1"}))
    ((None, None), (None, None))
    """
    latitude, longitude = record.read(_degrees, "latitude", "lat"), record.read(_degrees, "longitude", "lon", "lng")
    if latitude is None or longitude is None:
        latitude, longitude = _centre(record.value("spatial"))
    is_nowhere = (latitude, longitude) == (0, 0) or abs(latitude or 0) > 90
    return (None, None) if is_nowhere else (latitude, longitude)


def _degrees(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) and abs(found) <= 180 else None


def _centre(spatial: Any) -> tuple[float | None, float | None]:
    shape = geometry(spatial)
    if shape is None:
        return None, None
    longitudes, latitudes = zip(*_positions(shape["coordinates"]), strict=True)
    return round(sum((min(latitudes), max(latitudes))) / 2, 6), round(sum((min(longitudes), max(longitudes))) / 2, 6)


def _positions(coordinates: Any) -> Iterator[tuple[float, float]]:
    if isinstance(coordinates[0], list):
        for inner in coordinates:
            yield from _positions(inner)
    else:
        yield coordinates[0], coordinates[1]
