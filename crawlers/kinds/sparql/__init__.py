"""SPARQL endpoints: a catalogue's RDF, asked for by query, some datasets at a time."""

from crawlers.kind import Kind

KIND = Kind(
    name="sparql",
    title="SPARQL endpoint",
    spider="crawlers.kinds.sparql.spider:SPARQL",
    address="url",
    is_at_root=False,
    example="https://example.org/sparql",
    detector="crawlers.kinds.sparql.detection:SPARQLDetector",
    template="spider.tmpl",
)
