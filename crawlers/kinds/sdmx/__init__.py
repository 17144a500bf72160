"""SDMX services: the dataflows that Eurostat and other statistical offices list at one address."""

from crawlers.kind import Kind

KIND = Kind(
    name="sdmx",
    title="SDMX service",
    spider="crawlers.kinds.sdmx.spider:SDMX",
    address="url",
    is_at_root=False,
    example="https://example.org/sdmx/2.1",
    readers={"sdmx": "crawlers.kinds.sdmx.mapping:read"},
    detector="crawlers.kinds.sdmx.detection:SDMXDetector",
    template="spider.tmpl",
)
