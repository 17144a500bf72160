"""Catalogues with a JSON API of any kind: a declaration says where its records are, and what of them is what."""

from crawlers.kind import Kind

KIND = Kind(
    name="api",
    title="JSON API",
    spider="crawlers.kinds.api.spider:API",
    address="portal",
    example="https://data.example.org",
    detector="crawlers.kinds.api.detection:APIDetector",
    template="spider.tmpl",
    find_reader="crawlers.kinds.api.mapping:reader",
    find_volatile="crawlers.kinds.api.mapping:volatile",
)
