"""A catalogue whose RDF is not DCAT: sea charts in words of their own, on the loopback."""

from tests.site import Answer, Asked, Site

DATA = "https://harbour.example.org"
PREFIXES = f"""@prefix ex: <{DATA}/ns#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix schema: <https://schema.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@base <{DATA}/> .
"""
ATLAS = """
<atlas> a schema:Collection ; schema:hasPart {parts} ; ex:office <office> ; schema:about "All of it, in one long text" .
<office> a ex:Office ; ex:called "Port Authority"@en, "Hafenamt"@de ; ex:mail <mailto:charts@harbour.example.org> .
<series> a dcat:Dataset ; dct:title "Charts of the Elbe" ; dct:description "Not one of the charts" .
"""
CHART = """
<chart/{n}> a ex:Chart ; ex:number "HH-{n}" ; ex:name "Karte {n}"@de, "Chart {n}"@en ; dct:title "c{n}.tif" ;
    ex:printed "2024-03-{day:02}"^^xsd:date ; dct:issued "soon" ; dct:isPartOf <series> ;
    dcat:keyword "chart" ; dct:license "CC-BY-4.0" ; ex:asks [ ex:called "Desk {n}" ; ex:mail "desk{n}@example.org" ] .
<note/{n}> ex:about <chart/{n}> ; ex:word "tides", "buoys" ; ex:secret "of the note" .
<file/{n}.csv> ex:chart <chart/{n}> ; ex:kind "CSV" ; ex:bytes 1200 .
"""
RULES = f"""[rdf]
class = "ex:Chart"

[rdf.prefixes]
ex = "{DATA}/ns#"

[rdf.fields]
identifier = "ex:number"
title = ["ex:headline", "ex:name"]
issued = "ex:printed"
description = "^schema:hasPart/schema:about"
publisher = {{ each = "^schema:hasPart/ex:office", name = "ex:called", email = "ex:mail" }}
contacts = {{ each = "ex:asks", name = "ex:called", email = "ex:mail" }}
keywords = "^ex:about/<{DATA}/ns#word>"
version_notes = "dct:isPartOf/dct:title"

[rdf.resources]
each = "^ex:chart"
title = "ex:kind"
format = "ex:kind"
size = "ex:bytes"
"""


class Harbour(Site):
    """Charts 1, 2, ... in one Turtle file.

        with Harbour(3) as harbour:
            crawl("dcat", url=harbour.address, rules="catalogues/harbour.toml")

    Args:
        charts: how many.
    """

    def __init__(self, charts: int = 3) -> None:
        super().__init__(self.reply)
        self.charts = charts
        self.address = f"{self.url}/charts.ttl"

    def reply(self, asked: Asked) -> Answer:
        if asked.path != "/charts.ttl":
            return Answer(b"", 404)
        return Answer(self.text().encode(), headers={"Content-Type": "text/turtle"})

    def text(self) -> str:
        numbers = range(1, self.charts + 1)
        parts = ", ".join(f"<chart/{n}>" for n in numbers)
        charts = "".join(CHART.format(n=n, day=n % 28 + 1) for n in numbers)
        return PREFIXES + ATLAS.format(parts=parts) + charts
