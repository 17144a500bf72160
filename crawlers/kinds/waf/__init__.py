"""Web-accessible folders: directory listings of a web server, in which each file is a record."""

from crawlers.kind import Kind

KIND = Kind(
    name="waf",
    title="Web-accessible folder",
    spider="crawlers.kinds.waf.spider:WAF",
    address="url",
    example="https://example.org/metadata/",
    readers=dict.fromkeys(
        ("iso19139", "iso19115_3", "rdf_xml", "datacite", "dublin_core"), "crawlers.records.xml:read"
    ),
    triples={"rdf_xml": "crawlers.records.xml:triples"},
    detector="crawlers.kinds.waf.folder:WAFDetector",
    template="spider.tmpl",
)
