"""Web-accessible folders: directory listings of a web server, in which each file is a record."""

from crawlers.kind import Kind

KIND = Kind(
    name="waf",
    title="Web-accessible folder",
    spider="crawlers.kinds.waf.generic:WAF",
    address="url",
    example="https://example.org/metadata/",
    readers={"dublin_core": "crawlers.kinds.dcat.reader:rdf"},  # its documents are RDF
    detector="crawlers.kinds.waf.detection:WAFDetector",
    template="spider.tmpl",
)
