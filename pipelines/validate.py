"""The first pipeline: drops what cannot be kept, and reports what could not be read."""

from __future__ import annotations

from scrapy.exceptions import DropItem

from crawlers import signals
from crawlers.items import Dataset
from pipelines.base import Item, Pipeline


class Validate(Pipeline):
    """Drops an item without an id or a document; reports a dataset's flaws in one error line, and keeps it."""

    def process_item(self, item: Item) -> Item:
        """Return the item if it can be kept.

        Raises:
            DropItem: it has no id or no document.
        """
        if not (item.id if isinstance(item, Dataset) else item.dataset_id):
            raise DropItem("the record has no id")
        if item.document is None:
            raise DropItem("the record has no document")
        item.metadata_url = self.address(item.metadata_url)
        if isinstance(item, Dataset) and item.flaws:
            self.error_log.record_failed(_flawed(item))
        return item


def _flawed(item: Dataset) -> signals.Failed:
    return signals.Failed(
        stage="parse",
        kind="invalid_record",
        error="; ".join(item.flaws),
        url=item.metadata_url,
        dataset_id=item.id,
        dataset_name=item.name,
        dataset_title=item.title,
    )
