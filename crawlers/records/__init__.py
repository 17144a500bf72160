"""What a record says: bytes or dicts of every vocabulary in, fields of the items out; no Scrapy, no network."""
