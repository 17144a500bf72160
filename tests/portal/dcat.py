"""A DCAT catalogue on the loopback, in every serialisation, with every paging, and with what goes wrong at such."""

import gzip
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import formatdate, parsedate_to_datetime
from math import ceil
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from tests.site import Answer, Asked, Site

DATA = "https://data.example.org"
DCAT, DCT = "http://www.w3.org/ns/dcat#", "http://purl.org/dc/terms/"
FOAF, HYDRA = "http://xmlns.com/foaf/0.1/", "http://www.w3.org/ns/hydra/core#"
VCARD, XSD = "http://www.w3.org/2006/vcard/ns#", "http://www.w3.org/2001/XMLSchema#"
A = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
PREFIXES = {"dcat": DCAT, "dct": DCT, "foaf": FOAF, "hydra": HYDRA, "vcard": VCARD}
AGENT = NamedNode(f"{DATA}/organization")
GRAPH = NamedNode(f"{DATA}/graph")
CATALOGUE = NamedNode(f"{DATA}/catalogue")
REMOTE_CONTEXT = "https://contexts.example.org/unknown.jsonld"
EPOCH = 1_780_000_000  # of the first Last-Modified
PER_PAGE = 100

SERIALISATIONS = {
    "rdf": (RdfFormat.RDF_XML, "catalog.rdf", "application/rdf+xml"),
    "ttl": (RdfFormat.TURTLE, "catalog.ttl", "text/turtle"),
    "nt": (RdfFormat.N_TRIPLES, "catalog.nt", "application/n-triples"),
    "nq": (RdfFormat.N_QUADS, "catalog.nq", "application/n-quads"),
    "trig": (RdfFormat.TRIG, "catalog.trig", "application/trig"),
    "n3": (RdfFormat.N3, "catalog.n3", "text/n3"),
    "jsonld": (RdfFormat.JSON_LD, "catalog.jsonld", "application/ld+json"),
    "data.json": (None, "data.json", "application/json"),
}
PAGINGS = ("none", "hydra", "paged", "link", "ckan")
FAULTS = (
    *("loop", "self", "ignores_page", "repeat_content", "endless", "duplicates", "nameless", "titleless"),
    *("http_500", "cut", "syntax_error", "slow", "html", "negotiates", "wrong_type", "gzip", "remote_context"),
    *("etag", "etag_lies", "edited"),
)


@dataclass(frozen=True)
class Entry:
    """A dataset as it stands.

    Args:
        node: what its IRI ends with; ``None`` for a blank node.
        id: its dct:identifier, if it has one.
    """

    node: str | None
    id: str | None
    titled: bool = True
    revision: int = 1

    @property
    def iri(self) -> str:
        return f"{DATA}/dataset/{self.node}"

    @property
    def title(self) -> str:
        return f"Dataset {self.node or 'without a name'}, revision {self.revision}"


class Catalogue(Site):
    """A catalogue of datasets d0000, d0001 ... with two distributions each, an agent of all and a contact of its own.

        with Catalogue(250, paging="hydra", faults={"http_500": "2:1", "loop": ""}) as catalogue:
            crawl("dcat", url=catalogue.address)
            catalogue.change("d0007")

    Args:
        paging: ``none``; ``hydra``, a PartialCollectionView; ``paged``, a PagedCollection as ckanext-dcat's; ``link``,
            a header; ``ckan``, ?page=N that nothing says. Behind the last page is 404 with hydra and link, an empty
            page with paged and ckan, and the same file as ever with none.
        relative: the links to other pages, as they stand in the body.
        literal: the links are text. As a rule they are with ``paged`` only.
        totals: hydra:totalItems is given.
        path: where it is, instead of catalog.rdf and the like.
        faults: may be changed while it runs.

            ``loop``, ``self``: the last page's next is the first page, or itself. ``ignores_page``: every page is
            the first. ``repeat_content``: the second is. ``endless=new|same``: there is always a next page, of
            datasets never seen, or of the first page's. ``duplicates``, ``nameless``, ``titleless``: one more dataset
            on the first page, with the first one's identifier, or blank without any, or without title.
            ``http_500=page:times``, ``cut=page:times``. ``syntax_error=page``: in its middle. ``slow=seconds``: in the
            middle of every page. ``html``: / is a page that links to the catalogue, ``html=a`` by an ``a`` only,
            ``html=none`` not at all. ``negotiates``: it is HTML for all who do not ask for its type.
            ``wrong_type=type``. ``gzip``. ``remote_context``: of the JSON-LD. ``etag``: ETag and Last-Modified.
            ``etag_lies=changes|stays``: an ETag that is always another, or never. ``edited=page``: when it is asked
            for, the last dataset is edited, and is the first from then on; ``paged`` knows ``modified_since``.

    Attributes:
        asked: every request so far.
    """

    def __init__(
        self,
        datasets: int = 10,
        *,
        per_page: int = PER_PAGE,
        serialisation: str = "rdf",
        paging: str = "none",
        relative: bool = False,
        literal: bool | None = None,
        totals: bool = True,
        path: str = "",
        faults: Mapping[str, object] = {},
    ) -> None:
        super().__init__(self.reply)
        assert paging in PAGINGS, paging
        assert set(faults) <= set(FAULTS), faults
        self.format, name, self.type = SERIALISATIONS[serialisation]
        self.address = f"{self.url}/{path or name}"
        self.paging, self.relative, self.totals = paging, relative, totals
        self.literal = paging == "paged" if literal is None else literal
        self.per_page = per_page
        self.faults = {fault: str(value) for fault, value in faults.items()}
        self.failed: Counter[tuple[str, int]] = Counter()
        self.revision = 0
        self.entries = {str(entry.id): entry for entry in map(numbered, range(datasets))}
        self.made = datasets

    # What a test does

    def ids(self) -> list[str]:
        return list(self.entries)

    def change(self, identifier: str) -> None:
        entry = self.entries[identifier]
        self.entries[identifier] = replace(entry, revision=entry.revision + 1)
        self.revision += 1

    def remove(self, identifier: str) -> None:
        del self.entries[identifier]
        self.revision += 1

    def add(self) -> str:
        """Its id; it is the last of all."""
        identifier = f"d{self.made:04}"
        self.entries[identifier] = numbered(self.made)
        self.made += 1
        self.revision += 1
        return identifier

    def pages(self) -> list[int]:
        """Which pages were asked for, in order."""
        path = urlsplit(self.address).path
        return [page_number(asked) for asked in self.asked if urlsplit(asked.path).path == path]

    # What it answers

    def reply(self, asked: Asked) -> Answer:
        path, number = urlsplit(asked.path).path, page_number(asked)
        if path == "/" and "html" in self.faults:
            return Answer(self.html(), headers={"Content-Type": "text/html; charset=utf-8"})
        ends = self.paging in ("hydra", "link") and "ignores_page" not in self.faults
        if path != urlsplit(self.address).path or (ends and number > self.last):
            return Answer(b"<h1>Not found</h1>", 404, {"Content-Type": "text/html"})
        if "negotiates" in self.faults and self.type not in asked.headers.get("Accept", ""):
            return Answer(b"<h1>Open data</h1>", headers={"Content-Type": "text/html", "Vary": "Accept"})
        if self.fails("edited", number):
            last = list(self.entries)[-1]
            self.entries = {last: self.entries.pop(last), **self.entries}
            self.change(last)
        if self.fails("http_500", number):
            return Answer(b"<h1>Server error</h1>", 500, {"Content-Type": "text/html"})
        return self.page(number, asked)

    def page(self, number: int, asked: Asked) -> Answer:
        shown = self.shown(number)
        edited = self.paging == "paged" and "modified_since" in asked.path
        body = self.edited() if edited else self.body(shown)
        headers = {"Content-Type": self.faults.get("wrong_type", self.type), **self.validators(body)}
        if self.paging == "link" and (following := self.following(shown)):
            headers["Link"] = f'<{self.link(1)}>; rel="first", <{self.link(following)}>; rel="next"'
        if unchanged(asked, headers):
            return Answer(status=304, headers=headers)
        if self.faults.get("syntax_error") == str(number):
            body = broken(body)
        if "gzip" in self.faults:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        middle = len(body) // 2
        if self.fails("cut", number):
            return Answer(cut(body[:middle]), headers=headers)
        return Answer(self.slowly(body[:middle], body[middle:]) if "slow" in self.faults else body, headers=headers)

    def shown(self, number: int) -> int:
        """The page that is given for a page: one file is the same whatever its query."""
        repeats = number == 2 and "repeat_content" in self.faults
        return 1 if repeats or self.paging == "none" or "ignores_page" in self.faults else number

    def fails(self, fault: str, number: int) -> bool:
        page, _, times = self.faults.get(fault, "").partition(":")
        if page != str(number) or self.failed[fault, number] >= int(times or 1):
            return False
        self.failed[fault, number] += 1
        return True

    def slowly(self, *parts: bytes) -> Iterator[bytes]:
        for part in parts:
            yield part
            time.sleep(float(self.faults["slow"] or 1) / len(parts))

    def validators(self, body: bytes) -> dict[str, str]:
        """Content may change without them, and they without it, where they lie."""
        lie = self.faults.get("etag_lies")
        if lie is None and "etag" not in self.faults:
            return {}
        tags = {"changes": str(len(self.asked)), "stays": "the same"}
        tag = tags[lie] if lie else hashlib.sha256(body).hexdigest()[:16]
        at = {"changes": len(self.asked), "stays": 0}[lie] if lie else self.revision
        return {"ETag": f'"{tag}"', "Last-Modified": formatdate(EPOCH + at, usegmt=True)}

    def html(self) -> bytes:
        alternate = f'<link rel="alternate" type="{self.type}" href="{self.address}">'
        head = {"": alternate}.get(self.faults["html"], "")
        body = {"a": f'<a href="{urlsplit(self.address).path}">The catalogue</a>'}.get(self.faults["html"], "")
        return f"<!doctype html><html><head><title>Open data</title>{head}</head><body>{body}</body></html>".encode()

    # What is on a page

    @property
    def last(self) -> int:
        if "endless" in self.faults:
            return 10**9
        return 1 if self.paging == "none" else max(1, ceil(len(self.entries) / self.per_page))

    def link(self, number: int) -> str:
        return f"{'' if self.relative else self.address}?page={number}"

    def following(self, number: int) -> int | None:
        """The page that a page says is next."""
        if number < self.last:
            return number + 1
        if number > self.last or not {"loop", "self"} & self.faults.keys():
            return None
        return 1 if "loop" in self.faults else number

    def on_page(self, number: int) -> list[Entry]:
        entries = list(self.entries.values())
        if self.paging == "none":
            return entries + self.extra()
        start = (number - 1) * self.per_page
        if "endless" in self.faults:
            new = self.faults["endless"] != "same"
            return [numbered(one) for one in range(start, start + self.per_page)] if new else entries[: self.per_page]
        return entries[start : start + self.per_page] + (self.extra() if number == 1 else [])

    def extra(self) -> list[Entry]:
        extra = {
            "duplicates": Entry("another", next(iter(self.ids()), None)),
            "nameless": Entry(None, None),
            "titleless": Entry("titleless", "titleless", titled=False),
        }
        return [entry for fault, entry in extra.items() if fault in self.faults]

    def body(self, number: int) -> bytes:
        if not self.format:
            return json.dumps(data_json(self.on_page(number)), indent=2).encode()
        body = serialised([*catalogue(self.on_page(number)), *self.links(number)], self.format)
        if self.relative:
            body = body.replace(f"{self.address}?page=".encode(), b"?page=")
        if "remote_context" in self.faults:
            body = b'{"@context": "%s", "@graph": %s}' % (REMOTE_CONTEXT.encode(), body)
        return body

    def edited(self) -> bytes:
        assert self.format
        return serialised([*catalogue([one for one in self.entries.values() if one.revision > 1])], self.format)

    def links(self, number: int) -> Iterator[Triple]:
        """What a page says of the others."""
        if self.paging not in ("hydra", "paged"):
            return
        view = NamedNode(f"{self.address}?page={number}")
        pages = {"first": 1, "last": self.last, "previous": number - 1, "next": self.following(number)}
        links = {name: f"{self.address}?page={page}" for name, page in pages.items() if page}
        if self.paging == "hydra":
            yield from said(CATALOGUE, A=f"{HYDRA}Collection", hydra_view=view)
            yield from said(view, A=f"{HYDRA}PartialCollectionView")
        else:
            yield from said(view, A=f"{HYDRA}PagedCollection", hydra_itemsPerPage=self.per_page)
            links |= {f"{name}Page": link for name, link in links.items()}
        if self.totals:
            yield from said(CATALOGUE if self.paging == "hydra" else view, hydra_totalItems=len(self.entries))
        for name, link in links.items():
            yield Triple(view, NamedNode(HYDRA + name), Literal(link) if self.literal else NamedNode(link))


def serialised(triples: list[Triple], form: RdfFormat) -> bytes:
    """In a graph that has a name, where that is possible and usual."""
    named = form in (RdfFormat.N_QUADS, RdfFormat.TRIG)
    statements = [Quad(one.subject, one.predicate, one.object, GRAPH) for one in triples] if named else triples
    return serialize(statements, format=form, prefixes=PREFIXES) or b""


def numbered(number: int) -> Entry:
    return Entry(f"d{number:04}", f"d{number:04}")


def page_number(asked: Asked) -> int:
    return int(parse_qs(urlsplit(asked.path).query).get("page", ["1"])[0])


def unchanged(asked: Asked, headers: dict[str, str]) -> bool:
    if "ETag" not in headers:
        return False
    if tags := asked.headers.get("If-None-Match"):
        return headers["ETag"] in tags
    since = asked.headers.get("If-Modified-Since")
    modified = parsedate_to_datetime(headers["Last-Modified"])
    return since is not None and parsedate_to_datetime(since) >= modified


def broken(body: bytes) -> bytes:
    """With what is no RDF in any serialisation, at the end of a statement in the middle."""
    at = body.find(b"\n", len(body) // 2) if b"\n" in body.strip() else body.find(b"}", len(body) // 2)
    return body[:at] + b"\n<<<< ]]] }} ;; oops &\n" + body[at:]


def cut(part: bytes) -> Iterator[bytes]:
    yield part
    raise ConnectionError


def catalogue(entries: Sequence[Entry]) -> Iterator[Triple]:
    yield from said(CATALOGUE, A=f"{DCAT}Catalog", dct_title=Literal("Open data", language="en"))
    for entry in entries:
        yield from dataset(entry)
    if entries:
        yield from said(AGENT, A=f"{FOAF}Organization", foaf_name="The agent of all")


def dataset(entry: Entry) -> Iterator[Triple]:
    node = NamedNode(entry.iri) if entry.node else BlankNode("nameless")
    contact = BlankNode(f"contact-{entry.node or 'nameless'}")
    files = [NamedNode(f"{entry.iri}/{suffix}") for suffix in ("csv", "json")]
    yield Triple(CATALOGUE, NamedNode(f"{DCAT}dataset"), node)
    yield from said(node, A=f"{DCAT}Dataset", dct_publisher=AGENT, dcat_contactPoint=contact, dct_identifier=entry.id)
    yield from said(node, dct_title=Literal(entry.title, language="en") if entry.titled else None)
    yield from said(node, dct_modified=Literal(day(entry), datatype=NamedNode(f"{XSD}date")))
    for file in files:
        yield from said(node, dcat_distribution=file)
    yield from said(contact, A=f"{VCARD}Kind", vcard_fn=f"The desk of {entry.node}")
    for file, suffix in zip(files, ("csv", "json"), strict=True):
        yield from said(file, A=f"{DCAT}Distribution", dct_title=f"As {suffix}", dct_format=suffix)
        yield from said(file, dcat_downloadURL=NamedNode(f"{entry.iri}.{suffix}"))


def said(node: NamedNode | BlankNode, **values: Any) -> Iterator[Triple]:
    """The triples of a node, by ``prefix_name``; ``A`` is its type, ``None`` says nothing."""
    for name, value in values.items():
        prefix, _, rest = name.partition("_")
        if name == "A":
            yield Triple(node, A, NamedNode(value))
        elif value is not None:
            known = isinstance(value, NamedNode | BlankNode | Literal)
            yield Triple(node, NamedNode(PREFIXES[prefix] + rest), value if known else Literal(value))


def day(entry: Entry) -> str:
    return f"2026-01-{entry.revision:02}"


def data_json(entries: Sequence[Entry]) -> dict[str, Any]:
    schema = "https://project-open-data.cio.gov/v1.1/schema"
    return {"@type": "dcat:Catalog", "conformsTo": schema, "dataset": [record(entry) for entry in entries]}


def record(entry: Entry) -> dict[str, Any]:
    files = (("csv", "text/csv"), ("json", "application/json"))
    fields = {
        "@type": "dcat:Dataset",
        "identifier": entry.id,
        "title": entry.title if entry.titled else None,
        "description": "A dataset that nobody has measured.",
        "keyword": ["test"],
        "modified": day(entry),
        "accessLevel": "public",
        "publisher": {"@type": "org:Organization", "name": "The agent of all"},
        "contactPoint": {"fn": f"The desk of {entry.node}", "hasEmail": "mailto:desk@example.org"},
        "distribution": [{"downloadURL": f"{entry.iri}.{suffix}", "mediaType": kind} for suffix, kind in files],
    }
    return {name: value for name, value in fields.items() if value is not None}
