"""What came instead of a catalogue, where that is something known: in one sentence, with what to ask for instead."""

from __future__ import annotations

import re
from typing import Any

from crawlers.rdf.formats import beginning

_ROOT = re.compile(r"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_DCAT_OF_CSW = (
    "GeoNetwork gives DCAT at /srv/eng/rdf.search, pycsw with outputSchema=http://www.w3.org/ns/dcat#, "
    "others at an address of their own"
)
_CONSTRUCT = "ask the endpoint with CONSTRUCT or DESCRIBE instead of SELECT: that gives RDF"
_RDF = "look for the portal's RDF or data.json"
_XML = {
    "feed": ("an Atom feed", _RDF),
    "rss": ("an RSS feed", _RDF),
    "urlset": ("a sitemap", "scrapy crawl html reads sitemaps and the pages they name, by rules"),
    "sitemapindex": ("a sitemap index", "scrapy crawl html reads sitemaps and the pages they name, by rules"),
    "sparql": ("a SPARQL result", _CONSTRUCT),
    "md_metadata": ("an ISO 19115 record", _DCAT_OF_CSW),
    "mi_metadata": ("an ISO 19115 record", _DCAT_OF_CSW),
    "getrecordsresponse": ("a list of records of a CSW", _DCAT_OF_CSW),
    "getrecordbyidresponse": ("a record of a CSW", _DCAT_OF_CSW),
    "capabilities": ("the capabilities of an OGC service, such as a CSW", _DCAT_OF_CSW),
    "wms_capabilities": ("the capabilities of a WMS", _RDF),
    "wfs_capabilities": ("the capabilities of a WFS", _RDF),
    "exceptionreport": ("an error of an OGC service", _DCAT_OF_CSW),
    "oai-pmh": ("an answer by OAI-PMH", _RDF),
}


def xml(head: bytes) -> str | None:
    """Return what XML is that is no RDF, and what to do; ``None`` if it is nothing known.

    Args:
        head: its first bytes.

    >>> xml(b"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'>")
    "this is an Atom feed, not a catalogue: look for the portal's RDF or data.json"
    >>> xml(b"<rdf:RDF xmlns:rdf='x'>")
    """
    root = _ROOT.match(beginning(head))
    known = _XML.get(root[1].lower()) if root else None
    return _sentence(*known) if known else None


def json(content: Any) -> str | None:
    """Return what a JSON value is that is neither JSON-LD nor a data.json, and what to do.

    >>> json({"head": {"vars": []}, "results": {"bindings": []}}).partition(":")[0]
    'this is a SPARQL result, not a catalogue'
    """
    if not isinstance(content, dict):
        return None
    if isinstance(content.get("results"), dict) and "bindings" in content["results"]:
        return _sentence("a SPARQL result", _CONSTRUCT)
    if isinstance(content.get("success"), bool) and content.keys() & {"result", "error"}:
        return _sentence("an answer of CKAN's API", "scrapy crawl ckan -a portal= takes the portal's address")
    if content.get("type") == "FeatureCollection":
        return _sentence("GeoJSON", _RDF)
    return None


def _sentence(what: str, advice: str) -> str:
    return f"this is {what}, not a catalogue: {advice}"
