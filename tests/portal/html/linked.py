"""The families that say what a dataset is in structured data too."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize

from tests.portal.dcat import DCAT, FOAF, said
from tests.portal.html.catalogue import HTMLCatalogue, Visit
from tests.portal.html.data import Entry, text
from tests.portal.html.tables import SpanishTable
from tests.site import Answer

FORMATS = {"ttl": (RdfFormat.TURTLE, "text/turtle"), "rdf": (RdfFormat.RDF_XML, "application/rdf+xml")}


class SchemaOrg(HTMLCatalogue):
    """Every other dataset is in JSON-LD, without its publisher, which the page names; the others in microdata."""

    start = "/datasets"
    detail = "/datasets/{}"
    language: ClassVar[str] = "en"

    def number(self, visit: Visit) -> int | None:
        if visit.path == self.start:
            return 1
        number = visit.path.removeprefix(f"{self.start}/page/")
        return int(number) if number.isdigit() else None

    def dataset_id(self, visit: Visit) -> str | None:
        return None if "/page/" in visit.path else super().dataset_id(visit)

    def link(self, number: int) -> str:
        return f"{self.start}/page/{number}"

    def listing(self, number: int, visit: Visit) -> str:
        cards = "".join(
            f'<article class="card"><a href="{href}"><h3>{text(words)}</h3></a></article>'
            for href, words, _ in self.links(number)
        )
        return f'<h1>{len(self.listed())} datasets</h1>{cards}<div class="pages">Page {number} of {self.last}</div>'

    def head(self, entry: Entry) -> str:
        if entry.number % 2:
            return ""
        record = json.dumps(self.record(entry), ensure_ascii=False).replace("<", "\\u003c")
        return f'<script type="application/ld+json">{record}</script>'

    def record(self, entry: Entry) -> dict[str, Any]:
        files = [
            {
                "@type": "DataDownload",
                "name": file.title,
                "encodingFormat": file.format,
                "contentUrl": self.url + file.path,
            }
            for file in entry.files
        ]
        named = {} if self.faults.get("missing_title") == self.key(entry) else {"name": entry.title}
        return {
            "@context": "https://schema.org/",
            "@type": "Dataset",
            **named,
            "description": entry.description,
            "license": entry.licence.uri,
            "keywords": entry.keywords,
            "dateModified": entry.modified.isoformat(),
            "distribution": files,
        }

    def detailed(self, entry: Entry) -> str:
        if entry.number % 2:
            return f'<div itemscope itemtype="https://schema.org/Dataset">{self.microdata(entry)}</div>'
        return f"<h1>{self.title(entry)}</h1><p><b>Publisher:</b> {text(entry.publisher)}</p>"

    def microdata(self, entry: Entry) -> str:
        keywords = "".join(f'<span itemprop="keywords">{text(word)}</span> ' for word in entry.keywords)
        files = "".join(
            '<li itemprop="distribution" itemscope itemtype="https://schema.org/DataDownload">'
            f'<a itemprop="contentUrl" href="{file.path}"><span itemprop="name">{text(file.title)}</span></a>'
            f'<meta itemprop="encodingFormat" content="{file.format}"></li>'
            for file in entry.files
        )
        return (
            f'<h1 itemprop="name">{self.title(entry)}</h1><p itemprop="description">{text(entry.description)}</p>'
            f'<a itemprop="license" href="{entry.licence.uri}">{entry.licence.name}</a>'
            '<div itemprop="publisher" itemscope itemtype="https://schema.org/Organization">'
            f'<span itemprop="name">{text(entry.publisher)}</span></div>{keywords}'
            f'<time itemprop="dateModified" datetime="{entry.modified}">recently</time><ul>{files}</ul>'
        )


class RDFLink(SpanishTable):
    """
    Args:
        by: how a dataset's page leads to its RDF: ``a``, a link for people to RDF/XML; ``alternate``, a ``link`` to
            Turtle; ``whole``, such a link to the RDF of the catalogue, the same on every page.
    """

    def __init__(self, datasets: int = 25, *, by: str = "a", **keywords: Any) -> None:
        super().__init__(datasets, **keywords)
        self.by = by

    def head(self, entry: Entry) -> str:
        place = "/catalogo.ttl" if self.by == "whole" else f"/rdf/{entry.id}.ttl"
        return "" if self.by == "a" else f'<link rel="alternate" type="text/turtle" href="{place}">'

    def detailed(self, entry: Entry) -> str:
        link = f'<a class="rdf" href="/rdf/{entry.id}.rdf">RDF</a>' if self.by == "a" else ""
        return f"<h1>{self.title(entry)}</h1>{link}"

    def other(self, visit: Visit) -> Answer:
        name, _, suffix = visit.path.rpartition("/")[2].partition(".")
        if suffix not in FORMATS or (name != "catalogo" and name not in self.entries):
            return super().other(visit)
        entries = self.listed() if name == "catalogo" else [self.entries[name]]
        form, media_type = FORMATS[suffix]
        body = serialize([triple for entry in entries for triple in self.triples(entry)], format=form) or b""
        return Answer(body, 200, {"Content-Type": media_type})

    def triples(self, entry: Entry) -> list[Triple]:
        node, agent = NamedNode(self.url + self.href(entry)), NamedNode(f"{self.url}/org/{entry.number % 4}")
        triples = [
            *said(node, A=f"{DCAT}Dataset", dct_title=Literal(entry.title, language="de"), dct_identifier=entry.id),
            *said(node, dct_license=NamedNode(entry.licence.uri), dct_publisher=agent),
            *said(node, dct_modified=entry.modified.isoformat()),
            *said(agent, A=f"{FOAF}Organization", foaf_name=entry.publisher),
            *(triple for word in entry.keywords for triple in said(node, dcat_keyword=word)),
        ]
        for file in entry.files:
            part = NamedNode(self.url + file.path + "#file")
            triples += said(node, dcat_distribution=part)
            triples += said(part, A=f"{DCAT}Distribution", dct_title=file.title, dct_format=file.format)
            triples += said(part, dcat_downloadURL=NamedNode(self.url + file.path))
        return triples
