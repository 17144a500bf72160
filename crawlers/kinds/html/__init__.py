"""HTML catalogues: listings walked and dataset pages read by the rules of `crawlers.kinds.html.rules`."""

from crawlers.kind import Kind

KIND = Kind(
    name="html",
    title="HTML catalogue",
    spider="crawlers.kinds.html.spider:HTML",
    address="rules",
    example="catalogues/example.toml",
    takes_file=True,
    readers=dict.fromkeys(("html", "schema_org", "schema_org+html", "rdf+html"), "crawlers.kinds.html.mapping:read"),
    triples={"rdf+html": "crawlers.kinds.dcat.reader:triples"},
    detector="crawlers.kinds.html.detection:HTMLDetector",
)
