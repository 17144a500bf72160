"""Catalogues whose API answers /datasets.json?page=N with {"total": 25, "datasets": [...]}."""

from crawlers.kind import Kind

KIND = Kind(
    name="example",
    title="Example catalogue",
    spider="example_kind.spider:Example",
    address="url",
    example="https://data.example.org",
    readers={"example": "example_kind.mapping:read"},
    detector="example_kind.detection:ExampleDetector",
    template="spider.tmpl",
)
