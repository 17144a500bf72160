"""The first pipeline: drops what cannot be kept."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

from crawlers.safety.redact import without_logins
from pipelines.base import Batch, Item, Pipeline, key

if TYPE_CHECKING:
    from collections.abc import Callable


class Validate(Pipeline):
    """Drops an item without an id or a document."""

    def process_batch(self, batch: Batch) -> None:
        """Let items that cannot be kept leave the batch."""
        address = cache(self.address)  # the records of a page have one
        batch.each(lambda item: self._check(item, address))

    def _check(self, item: Item, address: Callable[[str | None], str | None]) -> None:
        _, dataset_id, resource_id = key(item)
        if not dataset_id:
            raise DropItem("the record has no id")
        if not _is_text(dataset_id + resource_id):
            raise DropItem("the record's id has half a character, which no file can be named by")
        if without_logins([dataset_id, resource_id]) != [dataset_id, resource_id]:
            raise DropItem("the record's id has a user name and a password, which are not stored")
        if item.document is None:
            raise DropItem("the record has no document")
        item.metadata_url = address(item.metadata_url)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
