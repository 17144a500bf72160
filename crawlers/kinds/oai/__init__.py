"""OAI-PMH 2.0: repositories whose records are listed by ListRecords, page by page."""

from crawlers.kind import Kind

KIND = Kind(
    name="oai",
    title="OAI-PMH repository",
    spider="crawlers.kinds.oai.spider:OAI",
    address="url",
    is_at_root=False,
    example="https://example.org/oai",
    readers=dict.fromkeys(
        ("iso19139", "iso19115_3", "rdf_xml", "datacite", "dublin_core", "xml"), "crawlers.records.xml:read"
    ),
    triples={"rdf_xml": "crawlers.records.xml:triples"},
    detector="crawlers.kinds.oai.detection:OAIDetector",
    template="spider.tmpl",
)
