"""Marks what is on disk already, by its source's own stamp: nothing of it is written again."""

from __future__ import annotations

from dataclasses import replace

from crawlers.items import Stored
from pipelines.base import Item, Pipeline, reference


class Unchanged(Pipeline):
    """Sets ``stored`` of an item whose document is on disk under its name, with the stamp it has now."""

    def process_item(self, item: Item) -> Item:
        known = self.index.current(*reference(item), item.metadata_modified, self.file(item))
        if known:
            self.index.put(*reference(item), replace(known, seen=self.report.started))
            item.stored = Stored(file=known.file, status="unchanged", sha256=known.sha256, bytes=known.bytes)
        return item
