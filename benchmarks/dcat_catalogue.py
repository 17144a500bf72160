"""Writes a DCAT catalogue as rich as real ones: about 50 triples a dataset, in the manner of DCAT-AP 3.

    python benchmarks/dcat_catalogue.py 10000 rdf nested > catalog.rdf

- nested: each dataset with all that belongs to it, as portals write it.
- scattered: all datasets, then all distributions, then the agents, contacts, periods and places of all of them.

The same arguments give the same bytes, and both layouts of all formats the same graph. Nothing is held in memory.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Protocol
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIXES = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
BASE = "https://data.example.org"
CATALOGUE = f"{BASE}/catalog"
AUTHORITY = "http://publications.europa.eu/resource/authority"
IANA = "https://www.iana.org/assignments/media-types"
LICENCE = "https://creativecommons.org/licenses/by/4.0/"
AGENTS = 97
DISTRIBUTIONS = (2, 2, 2, 3, 2, 2, 2, 2, 4, 2)
FILES = (("CSV", "csv", "text/csv"), ("JSON", "json", "application/json"), ("SHP", "zip", "application/zip"))
THEMES = ("AGRI", "ECON", "EDUC", "ENER", "ENVI", "GOVE", "HEAL", "INTR", "JUST", "REGI", "SOCI", "TECH", "TRAN")
FREQUENCIES = ("ANNUAL", "MONTHLY", "WEEKLY", "DAILY", "QUARTERLY", "IRREG", "UNKNOWN")
TEXT = (
    "water quality measuring stations rivers & lakes of the district with monthly values since the survey began, "
    "noise map roads bridges traffic counts per hour (estimated) school registers pupils <classes> teachers budget "
    "plan income expenditure climate rainfall temperature wind Gemeinden Flächennutzung Straßen Übersicht Bezirk "
    'population age sex household "census" tract boundary cadastre buildings heights energy use solar potential '
    "forest inventory species protected areas air emission ozone health clinics beds election results polling "
    "données ouvertes équipements communes résumé tourism overnight stays labour market wages prices"
)
WORDS = list(dict.fromkeys(TEXT.split()))


@dataclass(frozen=True, slots=True)
class Literal:
    """With a ``kind`` like ``@en`` or ``xsd:date``."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    iri: str


@dataclass(slots=True)
class Node:
    """What is described: ``name`` is an IRI, a label like ``_:contact7``, or nothing."""

    name: str
    type: str
    properties: list[tuple[str, Value]] = field(default_factory=list)


Value = Literal | Resource | Node


def dataset(number: int, *, labelled: bool) -> Node:
    """
    Args:
        labelled: that blank nodes have labels, and so may stand elsewhere.
    """
    random, iri = Random(number), iri_of(number)

    def blank(kind: str) -> str:
        return f"_:{kind}{number}" if labelled else ""

    properties = [
        *texts(random, number),
        ("dct:publisher", agent(number % AGENTS)),
        ("dcat:contactPoint", contact(number, blank("contact"))),
        ("dct:temporal", period(random, blank("period"))),
        ("dct:spatial", place(random, blank("place"))),
        ("dct:issued", Literal(date(random, 2014), "xsd:date")),
        ("dct:modified", Literal(f"{date(random, 2022)}T04:05:06Z", "xsd:dateTime")),
        ("dct:accrualPeriodicity", Resource(f"{AUTHORITY}/frequency/{random.choice(FREQUENCIES)}")),
        ("dcat:landingPage", Resource(f"{iri}.html")),
    ]
    for nth in range(DISTRIBUTIONS[number % len(DISTRIBUTIONS)]):
        one = distribution(random, f"{iri}/distribution/{nth}", nth, blank("checksum"))
        properties.append(("dcat:distribution", one))
    return Node(iri, "dcat:Dataset", properties)


def iri_of(number: int) -> str:
    return f"{BASE}/dataset/{number:08}-open-data"


def texts(random: Random, number: int) -> Iterator[tuple[str, Value]]:
    title = text(random, 60)
    yield "dct:identifier", Literal(f"{number:08}-open-data")
    yield "dct:title", Literal(title, "@en")
    yield "dct:title", Literal(f"Datensatz: {title}", "@de")
    yield "dct:description", Literal(text(random, random.randrange(100, 1340)), "@en")
    for word in random.sample(WORDS[:24], 5):
        yield "dcat:keyword", Literal(f"{word} {number % 89}", "@en")
    for theme in random.sample(THEMES, 2):
        yield "dcat:theme", Resource(f"{AUTHORITY}/data-theme/{theme}")


def period(random: Random, name: str) -> Node:
    start, end = (Literal(date(random, year), "xsd:date") for year in (2001, 2013))
    return Node(name, "dct:PeriodOfTime", [("dcat:startDate", start), ("dcat:endDate", end)])


def place(random: Random, name: str) -> Node:
    return Node(name, "dct:Location", [("dcat:bbox", Literal(polygon(random), "geo:wktLiteral"))])


def distribution(random: Random, iri: str, nth: int, checksum: str) -> Node:
    """The first says more of itself."""
    name, suffix, media_type = FILES[nth % len(FILES)]
    node = Node(
        iri,
        "dcat:Distribution",
        [
            ("dct:title", Literal(f"{name}: {text(random, 24)}", "@en")),
            ("dcat:accessURL", Resource(f"{iri}.html")),
            ("dct:format", Resource(f"{AUTHORITY}/file-type/{name}")),
            ("dcat:mediaType", Resource(f"{IANA}/{media_type}")),
            ("dcat:byteSize", Literal(str(random.randrange(10**7)), "xsd:nonNegativeInteger")),
            ("dct:license", Resource(LICENCE)),
        ],
    )
    if not nth:
        digest = Literal(random.randbytes(20).hex(), "xsd:hexBinary")
        algorithm = Resource(f"{PREFIXES['spdx']}checksumAlgorithm_sha1")
        sums: list[tuple[str, Value]] = [("spdx:algorithm", algorithm), ("spdx:checksumValue", digest)]
        node.properties += [
            ("dcat:downloadURL", Resource(f"{iri}/data.{suffix}")),
            ("dct:modified", Literal(date(random, 2023), "xsd:date")),
            ("spdx:checksum", Node(checksum, "spdx:Checksum", sums)),
        ]
    return node


def agent(number: int) -> Node:
    homepage = Resource(f"{BASE}/organization/{number}.html")
    name = Literal(f"Département of Open Data & Statistics {number}")
    return Node(f"{BASE}/organization/{number}", "foaf:Agent", [("foaf:name", name), ("foaf:homepage", homepage)])


def contact(number: int, name: str) -> Node:
    mail = Resource(f"mailto:desk{number % 500}@example.org")
    return Node(name, "vcard:Kind", [("vcard:fn", Literal(f"Desk {number % 500}")), ("vcard:hasEmail", mail)])


def text(random: Random, length: int) -> str:
    words = random.choices(WORDS, k=length // 7)
    return " ".join(words).capitalize()


def date(random: Random, since: int) -> str:
    return f"{since + random.randrange(3)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"


def polygon(random: Random) -> str:
    west, south = random.randrange(-170, 160), random.randrange(-80, 70)
    east, north = west + random.randrange(1, 9), south + random.randrange(1, 9)
    return f"POLYGON(({west} {north},{east} {north},{east} {south},{west} {south},{west} {north}))"


def scattered(datasets: int) -> Iterator[Node]:
    """Every node on its own: each of the three times all datasets are made anew."""
    sections = ({"dcat:Dataset"}, {"dcat:Distribution", "spdx:Checksum"})
    for section in sections:
        yield from (node for number in range(datasets) for node in parts(number) if node.type in section)
    seen = set.union(*sections)
    for number in range(datasets):
        rest = (node for node in parts(number) if node.type not in seen)
        yield from (node for node in rest if node.type != "foaf:Agent" or number < AGENTS)


def parts(number: int) -> Iterator[Node]:
    waiting = [dataset(number, labelled=True)]
    while waiting:
        node = waiting.pop(0)
        waiting += [value for _, value in node.properties if isinstance(value, Node)]
        yield node


def apart(node: Node) -> Node:
    """With the names of the nodes in it."""
    named = ((name, Resource(value.name) if isinstance(value, Node) else value) for name, value in node.properties)
    return Node(node.name, node.type, list(named))


def full(name: str) -> str:
    prefix, _, rest = name.partition(":")
    return PREFIXES[prefix] + rest


class Format(Protocol):
    def nested(self, datasets: int) -> Iterator[str]: ...
    def scattered(self, datasets: int) -> Iterator[str]: ...


class RDFXML:
    head = (
        '<?xml version="1.0" encoding="utf-8"?>\n<rdf:RDF\n'
        + "".join(f'  xmlns:{prefix}="{iri}"\n' for prefix, iri in PREFIXES.items())
        + f'>\n<dcat:Catalog rdf:about="{CATALOGUE}">\n  <dct:title xml:lang="en">Open data</dct:title>\n'
    )

    def nested(self, datasets: int) -> Iterator[str]:
        yield self.head
        for number in range(datasets):
            node = self.element(dataset(number, labelled=False), "    ")
            yield f"  <dcat:dataset>\n{node}  </dcat:dataset>\n"
        yield "</dcat:Catalog>\n</rdf:RDF>\n"

    def scattered(self, datasets: int) -> Iterator[str]:
        yield self.head
        yield from (f'  <dcat:dataset rdf:resource="{iri}"/>\n' for iri in map(iri_of, range(datasets)))
        yield "</dcat:Catalog>\n"
        yield from (self.element(apart(node), "") for node in scattered(datasets))
        yield "</rdf:RDF>\n"

    def element(self, node: Node, indent: str) -> str:
        about = f" {self.reference('about', node.name)}" if node.name else ""
        inner = "".join(self.property(name, value, indent + "  ") for name, value in node.properties)
        return f"{indent}<{node.type}{about}>\n{inner}{indent}</{node.type}>\n"

    def property(self, name: str, value: Value, indent: str) -> str:
        if isinstance(value, Node):
            return f"{indent}<{name}>\n{self.element(value, indent + '  ')}{indent}</{name}>\n"
        if isinstance(value, Resource):
            return f"{indent}<{name} {self.reference('resource', value.iri)}/>\n"
        return f"{indent}<{name}{self.kind(value.kind)}>{escape(value.text)}</{name}>\n"

    def reference(self, attribute: str, name: str) -> str:
        return f'rdf:nodeID="{name[2:]}"' if name.startswith("_:") else f"rdf:{attribute}={quoteattr(name)}"

    def kind(self, kind: str) -> str:
        if not kind:
            return ""
        return f' xml:lang="{kind[1:]}"' if kind.startswith("@") else f' rdf:datatype="{full(kind)}"'


class Turtle:
    def nested(self, datasets: int) -> Iterator[str]:
        yield from self.head(datasets)
        for number in range(datasets):
            yield from self.statements(dataset(number, labelled=False))

    def scattered(self, datasets: int) -> Iterator[str]:
        yield from self.head(datasets)
        for node in scattered(datasets):
            yield from self.statements(apart(node))

    def head(self, datasets: int) -> Iterator[str]:
        yield from (f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in PREFIXES.items())
        yield f'\n<{CATALOGUE}> a dcat:Catalog ;\n    dct:title "Open data"@en'
        yield from (f" ;\n    dcat:dataset <{iri}>" for iri in map(iri_of, range(datasets)))
        yield " .\n\n"

    def statements(self, node: Node) -> Iterator[str]:
        yield f"{self.reference(node.name)} {self.predicates(node, '    ')} .\n\n"
        for _, value in node.properties:
            if isinstance(value, Node) and value.name:
                yield from self.statements(value)

    def predicates(self, node: Node, indent: str) -> str:
        values = (f"{name} {self.value(value, indent)}" for name, value in node.properties)
        return f" ;\n{indent}".join((f"a {node.type}", *values))

    def value(self, value: Value, indent: str) -> str:
        if isinstance(value, Node):
            return self.reference(value.name) if value.name else f"[ {self.predicates(value, indent + '    ')} ]"
        if isinstance(value, Resource):
            return self.reference(value.iri)
        kind = f"^^{value.kind}" if value.kind[:1] not in {"", "@"} else value.kind
        return json.dumps(value.text, ensure_ascii=False) + kind

    def reference(self, name: str) -> str:
        return name if name.startswith("_:") else f"<{name}>"


class JSONLD:
    head = f'{{"@context": {json.dumps(PREFIXES)},\n'
    title = '"@id": "%s", "@type": "dcat:Catalog", "dct:title": {"@value": "Open data", "@language": "en"},\n'

    def nested(self, datasets: int) -> Iterator[str]:
        yield self.head + self.title % CATALOGUE + '"dcat:dataset": [\n'
        yield from lines(json.dumps(self.node(dataset(one, labelled=False)), indent=1) for one in range(datasets))
        yield "]}\n"

    def scattered(self, datasets: int) -> Iterator[str]:
        yield self.head + '"@graph": [{' + self.title % CATALOGUE + '"dcat:dataset": [\n'
        yield from lines(json.dumps({"@id": iri}) for iri in map(iri_of, range(datasets)))
        yield "]},\n"
        yield from lines(json.dumps(self.node(apart(node)), indent=1) for node in scattered(datasets))
        yield "]}\n"

    def node(self, node: Node) -> dict[str, Any]:
        values: dict[str, list[Any]] = defaultdict(list)
        for name, value in node.properties:
            values[name].append(self.value(value))
        named = {"@id": node.name} if node.name else {}
        return {**named, "@type": node.type, **{name: v if len(v) > 1 else v[0] for name, v in values.items()}}

    def value(self, value: Value) -> Any:
        if isinstance(value, Node):
            return self.node(value)
        if isinstance(value, Resource):
            return {"@id": value.iri}
        if not value.kind:
            return value.text
        key, kind = ("@language", value.kind[1:]) if value.kind.startswith("@") else ("@type", value.kind)
        return {"@value": value.text, key: kind}


def lines(values: Iterator[str]) -> Iterator[str]:
    """With a comma between them, and none after the last."""
    yield next(values, "")
    yield from (f",\n{value}" for value in values)


FORMATS: dict[str, Format] = {"rdf": RDFXML(), "ttl": Turtle(), "jsonld": JSONLD()}
LAYOUTS = ("nested", "scattered")


def write(path: Path, datasets: int, form: str, layout: str) -> Path:
    pieces = FORMATS[form].nested(datasets) if layout == "nested" else FORMATS[form].scattered(datasets)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)
    return path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=int)
    parser.add_argument("format", choices=FORMATS)
    parser.add_argument("layout", choices=LAYOUTS)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    write(Path("/dev/stdout"), options.datasets, options.format, options.layout)


if __name__ == "__main__":
    main()
