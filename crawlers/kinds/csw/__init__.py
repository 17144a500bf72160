"""Catalogue services (CSW 2.0.2 and 3.0): the GetRecords requests of GeoNetwork, pycsw, GeoServer, Esri and deegree."""

from crawlers.kind import Kind

KIND = Kind(
    name="csw",
    title="CSW catalogue service",
    spider="crawlers.kinds.csw.spider:CSW",
    address="url",
    is_at_root=False,
    example="https://example.org/geonetwork/srv/eng/csw",
    readers=dict.fromkeys(("iso19139", "iso19115_3", "rdf_xml", "dublin_core", "xml"), "crawlers.records.xml:read"),
    triples={"rdf_xml": "crawlers.records.xml:triples"},
    detector="crawlers.kinds.csw.detection:CSWDetector",
    template="spider.tmpl",
)
