"""Catalogues that publish DCAT, as RDF of any serialisation or as data.json."""

from crawlers.kind import Kind

KIND = Kind(
    name="dcat",
    title="DCAT catalogue",
    spider="crawlers.kinds.dcat.spider:DCAT",
    address="url",
    is_at_root=False,
    example="https://example.org/catalog.ttl",
    readers={"rdf": "crawlers.kinds.dcat.reader:rdf", "data_json": "crawlers.kinds.dcat.reader:pod"},
    triples={"rdf": "crawlers.kinds.dcat.reader:triples"},
    find_reader="crawlers.kinds.dcat.reader:taught",
    detector="crawlers.kinds.dcat.detection:DCATDetector",
    template="spider.tmpl",
)
