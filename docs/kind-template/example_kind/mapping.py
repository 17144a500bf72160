"""Maps a record to an item: pure, without Scrapy and without requests."""

from __future__ import annotations

from typing import Any

from crawlers.items import Dataset, Flaw, Resource
from crawlers.records import values


def dataset(record: dict[str, Any], *, source: str) -> Dataset:
    """Return the item of a record; what can't be read is in ``flaws``, and the record is kept all the same."""
    item = Dataset(source=source, id=str(record["id"]), document=record)
    item.title, item.description = record.get("title"), record.get("summary")
    item.modified = values.date(str(record.get("updated") or ""))
    if record.get("updated") and item.modified is None:
        item.flaws.append(Flaw(f"updated {record['updated']!r} is no date", "updated"))
    item.resources = [_resource(file, item.id) for file in record.get("files") or []]
    return item


def _resource(file: dict[str, Any], dataset_id: str) -> Resource:
    address = values.url(str(file.get("url") or ""))
    return Resource(id=str(file["id"]), dataset_id=dataset_id, title=file.get("title"), url=address)


def read(document: dict[str, Any], source: str, dataset_id: str, _url: str) -> Dataset:
    """Return the item of a document on disk: `scrapy reindex`, `search` and `export` read it again."""
    if str(document.get("id")) != dataset_id:
        raise ValueError(f"it is not the record of {dataset_id}")
    return dataset(document, source=source)
