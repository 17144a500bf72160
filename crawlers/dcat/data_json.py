"""A data.json, of DCAT-US 1.1 or 3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.dcat.page import Page, Record, digest
from crawlers.mapping import data_json
from crawlers.rdf.reader import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Dataset


class DataJSONPage(Page):
    source = "data_json"

    def __init__(self, content: Any, faults: list[str], *, name: str) -> None:
        super().__init__()
        self.faults = [Fault(message) for message in faults]
        self.content, self.name = content, name
        self.ids: set[str] = set()

    def records(self) -> Iterator[Record]:
        return map(self._record, data_json.records(self.content))

    def _record(self, entry: data_json.Entry) -> Record:
        if not isinstance(entry.value, dict):
            return Record("", None, f"{entry.place}, which is no object,", lambda: self._item({}, ""))
        identifier, title = data_json.identity(entry.value), entry.value.get("title")
        what = f"{entry.place}, {title[:100]!r}," if isinstance(title, str) else entry.place
        key = digest(identifier, entry.value) if identifier else ""
        return Record(key, identifier, what, lambda: self._item(entry.value, identifier or ""))

    def _item(self, record: dict[str, Any], identifier: str) -> Dataset:
        return data_json.dataset(record, source=self.name, id=identifier)

    def catalogues(self) -> Iterator[str]:
        """Yield the catalogues that are only named, by their addresses."""
        return data_json.linked_catalogues(self.content)

    def is_first(self, identifier: str) -> bool:
        new = identifier not in self.ids
        self.ids.add(identifier)
        return new
