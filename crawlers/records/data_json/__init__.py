"""data.json, of Project Open Data 1.0 and 1.1 (DCAT-US 1.1) and of DCAT-US 3.0: plain JSON, no context needed."""

from crawlers.records.data_json.catalogue import (
    Entry,
    identity,
    is_record,
    linked_catalogues,
    recognised,
    records,
    up_to_an_error,
)
from crawlers.records.data_json.item import dataset

__all__ = ["Entry", "dataset", "identity", "is_record", "linked_catalogues", "recognised", "records", "up_to_an_error"]
