"""Catalogues that mean harm: whatever comes, the crawl ends, says why, and keeps to its folder.

They are crawled whole in a cage where memory, time or the disk is at stake, and walked through where words are.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zipfile

import pytest

from benchmarks import dcat_catalogue
from crawlers.causes import KINDS
from crawlers.kinds.dcat.spider import DCAT
from tests.cage import MIB, UNMEANT, Cage, kinds, lines
from tests.conftest import Crawl
from tests.site import Answer, Site, redirect
from tests.walked import Walked, response, walk

TURTLE, RDF_XML, JSON_LD, JSON = "text/turtle", "application/rdf+xml", "application/ld+json", "application/json"
SITE = "https://data.example.org"
FINE = f"{SITE}/fine"
PREFIXES = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "hydra": "http://www.w3.org/ns/hydra/core#",
}


@pytest.fixture
def cage(tmp_path) -> Cage:
    return Cage(tmp_path)


@pytest.fixture
def harvest(cage):
    """Crawls what a site of one answer gives: bytes, or a function that makes the parts of a large one."""

    def run(body, content_type=TURTLE, headers=None, **keywords) -> Crawl:
        headers = {"Content-Type": content_type, **(headers or {})}
        with Site(lambda _: Answer(body() if callable(body) else body, headers=headers)) as site:
            site.answer = without_robots(site.answer)
            return cage.crawl("dcat", url=f"{site.url}/catalogue", **keywords)

    return run


@pytest.fixture
def walked(tmp_path):
    """Walks through a site of one answer, without a crawl; nothing but that answer may be asked for."""

    def run(body: bytes, content_type: str = TURTLE) -> Walked:
        headers = {"Content-Type": content_type}
        done = walk(DCAT, lambda asked: response(asked, body, headers=headers), tmp_path, url=f"{SITE}/catalogue")
        assert [asked.url for asked in done.asked] == [f"{SITE}/catalogue"]
        assert done.kinds().keys() <= KINDS.keys() - UNMEANT, done.errors[:3]
        return done

    return run


def titled(done: Walked) -> list[str]:
    return sorted(item.title for item in done.items)


def without_robots(answer):
    return lambda asked: Answer(status=404) if asked.path == "/robots.txt" else answer(asked)


def ids(crawl: Crawl) -> list[str]:
    return sorted({line["dataset_id"] for line in lines(crawl, "manifest")})


def titles(crawl: Crawl) -> list[object]:
    found = [document["title"] for document in crawl.documents().values()]
    return sorted(one["@value"] if isinstance(one, dict) else one for one in found)


# What they are made of


def turtle(*parts: bytes) -> bytes:
    prefixes = b"".join(b"@prefix %s: <%s> .\n" % (name.encode(), iri.encode()) for name, iri in PREFIXES.items())
    return prefixes + record("fine") + b"".join(parts)


def record(name: str, more: str = "") -> bytes:
    iri = f"https://data.example.org/{name}"
    return f'<{iri}> a dcat:Dataset ; dct:identifier "{name}" ; dct:title "Title of {name}" {more} .\n'.encode()


def rdf_xml(*parts: str, dtd: str = "", declaration: str = '<?xml version="1.0"?>') -> bytes:
    namespaces = " ".join(f'xmlns:{name}="{iri}"' for name, iri in PREFIXES.items())
    return "".join((declaration, dtd, f"<rdf:RDF {namespaces}>", element("fine"), *parts, "</rdf:RDF>")).encode()


def element(name: str, more: str = "", title: str | None = None) -> str:
    text = f"Title of {name}" if title is None else title
    inside = f"<dct:identifier>{name}</dct:identifier><dct:title>{text}</dct:title>{more}"
    return f'<dcat:Dataset rdf:about="https://data.example.org/{name}">{inside}</dcat:Dataset>'


def json_ld(*nodes: object, context: object = PREFIXES) -> bytes:
    return json.dumps({"@context": context, "@graph": [node("fine"), *nodes]}).encode()


def node(name: str, **more: object) -> dict[str, object]:
    fields = {"@type": "dcat:Dataset", "dct:identifier": name, "dct:title": f"Title of {name}"}
    return {"@id": f"https://data.example.org/{name}", **fields, **more}


# Entities


def declared(**entities: str) -> str:
    declarations = (f'<!ENTITY {name} "{value}">' for name, value in entities.items())
    return f"<!DOCTYPE r [{''.join(declarations)}]>"


LAUGHS = declared(a0="ha" * 10, **{f"a{level}": f"&a{level - 1};" * 10 for level in range(1, 10)})
SQUARE = declared(a="a" * 4000)
PARAMETERS = (
    "<!DOCTYPE r [<!ENTITY % p0 'lol'>"
    + "".join(f"<!ENTITY % p{level} '" + f"&#37;p{level - 1};" * 10 + "'>" for level in range(1, 10))
    + "%p9;]>"
)
BOMBS = {
    "billion laughs": rdf_xml(element("2", title="&a9;"), dtd=LAUGHS),
    "billion laughs nobody asks for": rdf_xml(dtd=LAUGHS),
    "billion laughs in an attribute": rdf_xml('<dct:x dct:y="&a9;"/>', dtd=LAUGHS),
    "billion laughs in UTF-16": rdf_xml(dtd=LAUGHS).decode().encode("utf-16"),
    "billion laughs behind a comment": rdf_xml(dtd=f"<!-- {'<!DOCTYPE r>' * 100_000} -->{LAUGHS}"),
    "quadratic": rdf_xml(element("2", title="&a;" * 300_000), dtd=SQUARE),
    "in itself": rdf_xml(element("2", title="&a;"), dtd=declared(a="&b;", b="&a;")),
    "markup": rdf_xml("&a;", dtd=declared(a=element("2").replace('"', "'"))),
    "many": rdf_xml(dtd=declared(**{f"a{number}": "x" for number in range(5000)})),
    "a long DTD": rdf_xml(dtd=f"<!DOCTYPE r [{'<!ELEMENT a ANY>' * 100_000}]>"),
    "a DTD without end": rdf_xml(dtd="<!DOCTYPE r [" + "<!ELEMENT a ANY>" * 10),
    "a second DTD": rdf_xml(dtd=f"<!DOCTYPE r>{LAUGHS}"),
    "a DTD in the middle": rdf_xml(LAUGHS),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_entities_that_blow_up(walked, bomb):
    done = walked(BOMBS[bomb], RDF_XML)
    assert (done.kinds(), done.items) == ({"unsafe_xml": 1}, [])


@pytest.mark.parametrize("bomb", ["billion laughs", "quadratic", "a long DTD"])
def test_entities_that_blow_up_take_no_memory(harvest, bomb):
    crawl = harvest(BOMBS[bomb], RDF_XML, seconds=5, most=50)
    assert (crawl.code, kinds(crawl), ids(crawl)) == (4, {"unsafe_xml": 1}, [])


def test_parameter_entities_are_left_alone(harvest):
    crawl = harvest(rdf_xml(dtd=PARAMETERS), RDF_XML, seconds=5, most=50)
    assert kinds(crawl).keys() <= {"unsafe_xml"}
    assert ids(crawl) in ([], ["fine"])


def test_entities_that_are_common(harvest):
    dtd = declared(xsd="http://www.w3.org/2001/XMLSchema#", d="https://data.example.org/", who="Smith &#38;amp; &#169;")
    date = '<dct:issued rdf:datatype="&xsd;date">2020-02-03</dct:issued><dct:creator rdf:resource="&d;us"/>'
    title = "&who; &eacute;&lt;b&gt; <![CDATA[&who; <c>]]>"
    crawl = harvest(rdf_xml(element("2", date, title), dtd=dtd), RDF_XML)
    assert (crawl.code, ids(crawl)) == (0, ["2", "fine"])
    assert titles(crawl) == ["Smith & © é<b> &who; <c>", "Title of fine"]
    second = next(one for one in crawl.documents().values() if one["identifier"] == "2")
    assert "2020-02-03" in json.dumps(second["issued"])
    assert "https://data.example.org/us" in json.dumps(second)


POINTERS = {
    "external DTD": ('<!DOCTYPE r SYSTEM "{0}/a.dtd">', ""),
    "external entity": ('<!DOCTYPE r [<!ENTITY a SYSTEM "{0}/a.txt">]>', "<dct:description>&a;</dct:description>"),
    "external parameter entity": ('<!DOCTYPE r [<!ENTITY % a SYSTEM "{0}/a.dtd"> %a;]>', ""),
    "file": (
        '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        "<dct:description>[&a;]</dct:description>",
    ),
    "style sheet": ('<?xml-stylesheet href="{0}/a.xsl" type="text/xsl"?>', ""),
    "inclusion": ("", '<dct:x><i:include xmlns:i="http://www.w3.org/2001/XInclude" href="{0}/a.xml"/></dct:x>'),
}


@pytest.mark.parametrize("pointer", POINTERS)
def test_xml_that_points_elsewhere(harvest, pointer):
    with Site(lambda _: Answer(b"<!ENTITY a 'read'>")) as listener:
        dtd, more = (text.replace("{0}", listener.url) for text in POINTERS[pointer])
        crawl = harvest(rdf_xml(element("2", more), dtd=dtd), RDF_XML)
        assert listener.asked == []
    assert ids(crawl) == ["2", "fine"]
    assert "root:" not in json.dumps(crawl.documents())


# Encodings

ACCENTS = "Café – naïve"
LATIN = "Café naïve"
ENCODINGS = {
    "ISO-8859-1": ("<?xml version='1.0' encoding='ISO-8859-1'?>", "iso-8859-1", b"", RDF_XML, LATIN),
    "by its Content-Type": ("<?xml version='1.0'?>", "iso-8859-1", b"", f"{RDF_XML}; charset=iso-8859-1", LATIN),
    "Windows-1252": ("<?xml version='1.0' encoding='windows-1252'?>", "cp1252", b"", RDF_XML, ACCENTS),
    "a label that lies": ("<?xml version='1.0' encoding='ISO-8859-1'?>", "utf-8", b"", RDF_XML, ACCENTS),
    "UTF-8 with a mark": ("<?xml version='1.0'?>", "utf-8", codecs.BOM_UTF8, RDF_XML, ACCENTS),
    "UTF-16 LE": ("<?xml version='1.0' encoding='UTF-16'?>", "utf-16-le", codecs.BOM_UTF16_LE, RDF_XML, ACCENTS),
    "UTF-16 BE": ("<?xml version='1.0' encoding='UTF-16'?>", "utf-16-be", codecs.BOM_UTF16_BE, RDF_XML, ACCENTS),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_xml_in_any_encoding(walked, name):
    declaration, encoding, mark, content_type, title = ENCODINGS[name]
    body = rdf_xml(element("2", title=title), declaration=declaration).decode()
    done = walked(mark + body.encode(encoding), content_type)
    assert (titled(done), done.errors) == (sorted([title, "Title of fine"]), [])


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (rdf_xml(element("2", title=LATIN), declaration="<?xml version='1.0' encoding='UTF-8'?>"), RDF_XML),
        (turtle(record("2").replace(b"Title of 2", LATIN.encode())), TURTLE),
        (json.dumps(json.loads(json_ld(node("2", **{"dct:title": LATIN}))), ensure_ascii=False).encode(), JSON_LD),
    ],
    ids=["RDF/XML", "Turtle", "JSON-LD"],
)
def test_latin_1_that_says_it_is_utf8_is_read_and_told(walked, body, content_type):
    done = walked(body.decode().encode("latin-1"), f"{content_type}; charset=utf-8")
    assert titled(done) == sorted([LATIN, "Title of fine"])
    [flaw] = done.flaws
    assert (flaw.kind, flaw.dataset_id, done.errors) == ("repaired_text", None, [])
    assert flaw.error == "Its encoding is not the declared one, and was guessed (cp1252): set `encoding`."


def test_a_spooled_answer_in_another_encoding(harvest):
    declaration, encoding, mark, content_type, title = ENCODINGS["UTF-16 BE"]
    body = rdf_xml(element("2", title=title), declaration=declaration).decode()
    crawl = harvest(mark + body.encode(encoding), content_type, settings={"SPOOL_ABOVE": "100"})
    assert (crawl.code, titles(crawl)) == (0, sorted([title, "Title of fine"]))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (codecs.BOM_UTF8 + turtle(), TURTLE),
        (codecs.BOM_UTF8 + json_ld(), JSON_LD),
        (json_ld().decode().encode("utf-16"), JSON_LD),
        (codecs.BOM_UTF8 + b'{"dataset": [{"identifier": "fine", "title": "Title of fine"}]}', JSON),
    ],
    ids=["Turtle", "JSON-LD", "JSON-LD in UTF-16", "data.json"],
)
def test_byte_order_marks(walked, body, content_type):
    done = walked(body, content_type)
    assert (titled(done), done.errors) == (["Title of fine"], [])


# JSON-LD


def contexts(url: str) -> dict[str, bytes]:
    """Documents that name a context, each in another way."""
    scoped = {**PREFIXES, "x": {"@id": "dct:x", "@context": url}}
    return {
        "named": json_ld(context=url),
        "in a list": json_ld(context=[PREFIXES, url]),
        "in a node": json_ld({"@context": url, "@id": "a:b"}),
        "deep in a node": json_ld(node("2", **{"dct:relation": {"dct:x": [{"@context": [url]}]}})),
        "scoped": json_ld(context=scoped),
        "imported": json_ld(context={**PREFIXES, "@version": 1.1, "@import": url}),
        "with an escape in its key": json_ld(context=url).replace(b'"@context"', b'"\\u0040context"'),
        "with an escape in its value": json_ld(context=url).replace(b"http:", b"\\u0068ttp:"),
        "named by a known name and more": json_ld(context=["https://schema.org", url]),
        "twice": b'{"@context": {}, ' + json_ld(context=url)[1:],
    }


@pytest.mark.parametrize("way", contexts(""))
def test_a_remote_context_is_told(walked, way):
    done = walked(contexts("http://other.example.org/context.jsonld")[way], JSON_LD)
    assert done.kinds().keys() & {"remote_context", "invalid_rdf"}


@pytest.mark.parametrize("way", ["named", "imported"])
def test_a_remote_context_is_not_asked_for(harvest, way):
    with Site(lambda _: Answer(json.dumps({"@context": PREFIXES}).encode())) as listener:
        crawl = harvest(contexts(f"{listener.url}/context.jsonld")[way], JSON_LD)
        assert listener.asked == []
    assert crawl.code in (3, 4)
    assert kinds(crawl).keys() & {"remote_context", "invalid_rdf"}


KNOWN = {
    "schema.org": {
        "@context": ["https://schema.org/", PREFIXES],
        "@graph": [{"@type": "WebSite", "name": "noise"}, {"@type": "Organization", "url": "x"}, node("fine")],
    },
    "DCAT-AP": {
        "@context": "https://semiceu.github.io/DCAT-AP/releases/3.0.0/context/dcat-ap.jsonld",
        "@type": "Dataset",
        "@id": FINE,
        "title": "Title of fine",
        "identifier": "fine",
    },
    "POD": {
        "@context": "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld",
        "@type": "dcat:Catalog",
        "conformsTo": "https://project-open-data.cio.gov/v1.1/schema",
        "dataset": [{"@type": "dcat:Dataset", "identifier": "fine", "title": "Title of fine"}],
    },
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_contexts_need_no_request(walked, name):
    done = walked(json.dumps(KNOWN[name]).encode(), JSON_LD)
    assert (done.errors, done.ids()) == ([], ["fine"])


# Paging


@pytest.fixture
def paged(cage):
    """Crawls pages: ``paged(lambda number: body)``, from /a/b/catalogue?page=1 on; gives the numbers asked for too."""

    def run(body, path="a/b/catalogue?page=1", **keywords) -> tuple[Crawl, list[str]]:
        def answer(asked):
            number = re.search("page=([0-9]+)", asked.path)
            found = body(int(number[1]) if number else 0)
            return found if isinstance(found, Answer) else Answer(found, headers={"Content-Type": TURTLE})

        with Site(without_robots(answer)) as site:
            crawl = cage.crawl("dcat", url=f"{site.url}/{path}", **keywords)
            return crawl, [asked.path for asked in site.asked if asked.path != "/robots.txt"]

    return run


def view(following: str, number: int | str = 1) -> bytes:
    return f"<?page={number}> hydra:next {json.dumps(following)} .\n".encode()


ENDLESS = {
    "the same datasets": lambda number: turtle(view(f"?page={number + 1}", number)),
    "nameless datasets": lambda number: turtle(view(f"?page={number + 1}", number), b"[] a dcat:Dataset ."),
    "no datasets": lambda number: turtle(view(f"?page={number + 1}", number)).replace(b"dcat:Dataset", b"dcat:Thing"),
    "new addresses": lambda number: turtle(view(f"?page={number + 1}&{number}=x", number)),
}


@pytest.mark.parametrize("pages", ENDLESS)
def test_pages_without_end(paged, pages):
    crawl, asked = paged(ENDLESS[pages])
    assert crawl.code in (3, 4)
    assert kinds(crawl)["paging"] == 1
    assert len(asked) <= 5


def test_new_datasets_without_end(paged):
    """Each of them is one that was asked for; memory does not grow with them."""
    crawl, asked = paged(
        lambda number: turtle(view(f"?page={number + 1}", number), *(record(f"{number}-{one}") for one in range(10))),
        max_datasets="600",
        most=30,
    )
    assert (crawl.report["verdict"], len(ids(crawl)), len(asked)) == ("partial", 600, 60)


@pytest.mark.parametrize(
    "following",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://2852039166/",
        "http://[::ffff:169.254.169.254]/",
        "{listener}/catalogue?page=2",
    ],
)
def test_a_next_page_on_another_private_host(paged, following):
    with Site(lambda _: Answer(turtle(record("secret")), headers={"Content-Type": TURTLE})) as listener:
        following = following.replace("{listener}", listener.url)
        crawl, asked = paged(lambda number: turtle(view(following)))
        assert listener.asked == []
    assert (crawl.code, kinds(crawl), ids(crawl)) == (3, {"forbidden_address": 1}, ["fine"])
    assert len(asked) == 1


@pytest.mark.parametrize(
    "following",
    ["file:///etc/passwd", "javascript:alert(1)", "http://127.0.0.1:99999/"],
)
def test_a_next_page_that_is_no_address(paged, following):
    """There may be more, so the listing is not complete."""
    crawl, asked = paged(lambda number: turtle(view(following)).replace(b"<?page=1>", b"<catalogue>"), "a/b/catalogue")
    assert (len(asked), ids(crawl)) == (1, ["fine"])
    assert (crawl.code, crawl.report["verdict"], kinds(crawl)) == (3, "incomplete", {"paging": 1})


def test_a_next_page_above(paged):
    crawl, asked = paged(
        lambda number: turtle(view("../../../../up?page=2")) if number == 1 else turtle(record("above"))
    )
    assert (crawl.code, ids(crawl)) == (0, ["above", "fine"])
    assert asked == ["/a/b/catalogue?page=1", "/up?page=2"]


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("http://169.254.169.254/", "forbidden_address"),
        ("{listener}/", "forbidden_address"),
        ("file:///etc/passwd", "http"),
        ("?page=2", "ignored"),
    ],
)
def test_a_page_that_redirects(paged, location, kind):
    with Site(lambda _: Answer(turtle(), headers={"Content-Type": TURTLE})) as listener:
        location = location.replace("{listener}", listener.url)
        crawl, _ = paged(lambda number: turtle(view("?page=2")) if number == 1 else redirect(location))
        assert listener.asked == []
    assert (crawl.code, kinds(crawl), ids(crawl)) == (3, {kind: 1}, ["fine"])


def test_relative_iris_after_a_redirect(paged):
    named = turtle(b"<x> a dcat:Dataset ; dct:title 'x' .")
    pages = {0: redirect("/other/place?page=2"), 2: named}
    crawl, _ = paged(lambda number: pages.get(number, Answer(status=404)), "catalogue")
    assert crawl.code == 0
    assert [one.partition("/other")[2] for one in ids(crawl)] == ["", "/x"]


# Size


def catalogue_of(size: int, form: str, datasets: list[int]):
    """The parts of a catalogue of at least that size; the number of its datasets is put into a list."""
    made = dcat_catalogue.FORMATS[form]
    sample = sum(len(piece.encode()) for piece in made.nested(200)) / 200
    datasets.append(int(size / sample) + 1)
    return lambda: (piece.encode() for piece in made.nested(datasets[0]))


@pytest.mark.slow
@pytest.mark.parametrize(("form", "content_type"), [("rdf", RDF_XML), ("ttl", TURTLE)])
def test_a_large_catalogue(harvest, form, content_type):
    """Of a twelfth of the size that the next test has: it is whole, and all of it is read."""
    datasets: list[int] = []
    crawl = harvest(
        catalogue_of(5 * MIB, form, datasets), content_type, settings={"SPOOL_ABOVE": str(MIB)}, seconds=30, most=100
    )
    assert (crawl.code, crawl.report["verdict"], kinds(crawl)) == (0, "complete", {})
    assert crawl.report["bytes"] > 4 * MIB
    assert len(ids(crawl)) == datasets[0] > 750


LARGE = {
    "comments in Turtle": (TURTLE, turtle(), b"# " + b"x" * 1000 + b"\n", record("last")),
    "a comment in XML": (RDF_XML, rdf_xml()[:-10] + b"<!--", b"x" * 1000, f"-->{element('last')}</rdf:RDF>".encode()),
    "a prolog": (RDF_XML, b"<!--", b"x" * 1000, b"-->" + rdf_xml(element("last"), declaration="")),
    "space in XML": (RDF_XML, rdf_xml()[:-10], b" " * 1000, f"{element('last')}</rdf:RDF>".encode()),
}


@pytest.mark.slow
@pytest.mark.parametrize("large", LARGE)
def test_70_mebibytes_of_nothing(harvest, large):
    content_type, head, middle, tail = LARGE[large]
    crawl = harvest(
        lambda: iter((head, *[middle * 1000] * 74, tail)),
        content_type,
        seconds=15,
        most=200 if "space" in large else 60,
    )
    assert (crawl.code, ids(crawl)) == (0, ["fine", "last"])
    assert crawl.report["bytes"] > 70 * MIB


LITERALS = {
    "Turtle": (
        TURTLE,
        turtle(b'<a> a dcat:Dataset ; dct:identifier "long" ; dct:title """'),
        b'""" .',
        60,
        ["fine", "long"],
        "a statement is too long",
    ),
    "RDF/XML": (
        RDF_XML,
        rdf_xml(element("long", title="|")).partition(b"|")[0],
        b"</dct:title></dcat:Dataset>",
        450,
        ["fine"],
        "more than DOCUMENT_MAXSIZE",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("serialisation", LITERALS)
def test_a_literal_of_100_megabytes(harvest, serialisation):
    content_type, head, tail, most, kept, told = LITERALS[serialisation]
    end = b"</rdf:RDF>" if content_type == RDF_XML else b""
    crawl = harvest(lambda: iter((head, *[b"x" * MIB] * 96, tail + end)), content_type, seconds=15, most=most)
    assert (crawl.code, ids(crawl)) == (3, kept)
    assert told in crawl.errors[0]["error"]
    assert all(path.stat().st_size < MIB for path in crawl.folder.glob("datasets/*fine*"))


VALUES = {
    "lists": lambda: (
        b'{"@context": {"x": {"@id": "a:x", "@container": "@list"}}, "@id": "a:b", "x": [%b]}'
        % b",".join([b"[]"] * 1_600_000)
    ),
    "numbers": lambda: b'{"@id": "a:b", "a:x": [{"@list": [%b]}]}' % b",".join([b"1"] * 2_400_000),
}


@pytest.mark.parametrize("values", VALUES)
def test_values_that_take_no_bytes(harvest, values):
    """Expanded, 4.8 MB of them would take a gigabyte."""
    crawl = harvest(VALUES[values](), JSON_LD, most=230)
    assert (crawl.code, kinds(crawl)) == (4, {"too_large": 1})
    assert "it is not read" in crawl.errors[0]["error"]


def test_json_above_its_limit(harvest):
    crawl = harvest(lambda: iter((b'{"@id": "', *[b"x" * MIB] * 101, b'"}')), JSON_LD, most=200)
    assert (crawl.code, kinds(crawl)) == (4, {"too_large": 1})


@pytest.mark.slow
@pytest.mark.parametrize("sent", ["plain", "gzip", "bomb"])
def test_more_than_may_be_spooled(harvest, sent):
    made = []

    def parts():
        for _ in range(4000):
            made.append(1)
            yield b"#" * MIB

    once = gzip.compress(b"#" * (200 if sent == "bomb" else 40) * MIB, 1)
    packed = gzip.compress(once) if sent == "bomb" else once
    names = {"plain": {}, "gzip": {"Content-Encoding": "gzip"}, "bomb": {"Content-Encoding": "gzip, gzip"}}
    body = parts if sent == "plain" else lambda: iter((packed,))
    limits = {"SPOOL_MAXSIZE": str(20 * MIB), "SPOOL_ABOVE": str(MIB)}
    crawl = harvest(body, TURTLE, names[sent], settings=limits, most=40)
    assert (crawl.code, kinds(crawl)) == (4, {"too_large": 1})
    assert "SPOOL_MAXSIZE (20971520 bytes)" in crawl.errors[0]["error"]
    assert len(made) < 100, "no more is taken"


@pytest.mark.slow
def test_a_page_of_links(harvest):
    page = b"<!doctype html><html>" + b'<a href="no.html">' * 300_000
    crawl = harvest(page, "text/html", most=200)
    assert (crawl.code, kinds(crawl)) == (4, {"not_rdf": 1})


# The disk


def test_a_disk_that_is_full_while_spooling(harvest):
    crawl = harvest(lambda: iter((turtle(), *[b"#" * MIB] * 20)), longest=4 * MIB, settings={"SPOOL_ABOVE": str(MIB)})
    assert (crawl.code, kinds(crawl)) == (4, {"disk": 1})
    assert "can't be kept in a temporary file (SPOOL_DIR): File too large" in crawl.errors[0]["error"]


def test_a_disk_that_is_full_while_reading(harvest):
    """What is a dataset is remembered in a temporary file, when there are many."""
    names = ", ".join(f"<https://data.example.org/a/rather/long/name/{number:09}>" for number in range(120_000))
    crawl = harvest(turtle(f"<c> a dcat:Catalog ; dcat:dataset {names} .".encode()), longest=4 * MIB)
    assert (crawl.code, crawl.report["finish_reason"], kinds(crawl)) == (4, "disk", {"disk": 1})


# Depth and breadth

DEEP = 20_000
TERMS = "<<( <a> <b> "
DEPTHS = {
    "triple terms": (TURTLE, lambda: turtle(f"<a> <b> {TERMS * DEEP} <c> {')>>' * DEEP} .".encode())),
    "triple terms without end": (TURTLE, lambda: turtle(f"<a> <b> {TERMS * DEEP}".encode())),
    "triple terms with comments": (
        TURTLE,
        lambda: turtle(f"<a> <b> {(TERMS + '# )>>' + chr(10)) * DEEP} <c> {' )>>' * DEEP} .".encode()),
    ),
    "triple terms in a graph": (
        "application/trig",
        lambda: turtle(f"<g> {{ <a> <b> {TERMS * DEEP} <c> {' )>>' * DEEP} }}".encode()),
    ),
    "triple terms in N-Triples": (
        "application/n-triples",
        lambda: b"<a:a> <a:b> " + b"<<( <a:a> <a:b> " * DEEP + b" <a:c> " + b" )>>" * DEEP + b" .\n",
    ),
    "triple terms in N3": ("text/n3", lambda: turtle(f"<a> <b> {TERMS * DEEP} <c> {' )>>' * DEEP} .".encode())),
    "JSON-LD": (
        JSON_LD,
        lambda: json_ld()[:-2] + b', {"dct:x": ' * 1 + b'{"dct:x": ' * 100_000 + b"1" + b"}" * 100_001 + b"]}",
    ),
    "data.json": (
        JSON,
        lambda: b'{"dataset": [{"identifier": "fine", "title": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
    ),
    "elements": (RDF_XML, lambda: rdf_xml("<dct:A><dct:b>" * 100_000 + "</dct:b></dct:A>" * 100_000)),
    "collections": (
        RDF_XML,
        lambda: rdf_xml('<dct:A><dct:b rdf:parseType="Collection">' * 50_000 + "</dct:b></dct:A>" * 50_000),
    ),
    "resources": (
        RDF_XML,
        lambda: rdf_xml("<dct:A>" + '<dct:b rdf:parseType="Resource">' * 100_000 + "</dct:b>" * 100_000 + "</dct:A>"),
    ),
    "attributes": (
        RDF_XML,
        lambda: rdf_xml("<dct:A " + " ".join(f'dct:a{one}="{one}"' for one in range(100_000)) + "/>"),
    ),
    "prefixes": (
        RDF_XML,
        lambda: rdf_xml("<dct:A " + " ".join(f'xmlns:a{one}="a:b"' for one in range(100_000)) + "/>"),
    ),
    "attributes with <": (
        RDF_XML,
        lambda: rdf_xml("<dct:A " + " ".join(f'dct:a{one}="<"' for one in range(200_000)) + "/>"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_what_is_too_deep_is_refused(harvest, depth):
    content_type, body = DEPTHS[depth]
    crawl = harvest(body(), content_type, seconds=6)
    assert crawl.code in (3, 4)
    assert kinds(crawl).keys() <= {"invalid_rdf", "not_json", "missing_id", "no_datasets"}
    assert sum(kinds(crawl).values()) < 3


STEEP = {
    "blank nodes": (b"[ dct:x " * 100_000, b" ]" * 100_000),
    "lists": (b"( " * 100_000, b" )" * 100_000),
    "reified triples": (b"<< " * DEEP + b"<a> <b>", b" >> <b> <c>" * (DEEP - 1) + b" >>"),
    "literals that look so": (b", ".join([b'"cout <<(a) /* <<( */"'] * 1000), b""),
}


@pytest.mark.slow
@pytest.mark.parametrize("steep", STEEP)
def test_what_is_deep_and_can_be_read(harvest, steep):
    opening, closing = STEEP[steep]
    crawl = harvest(
        turtle(b"<https://data.example.org/fine> dct:relation ", opening, b" <c>" if closing else b"", closing, b" .")
    )
    assert (crawl.code, kinds(crawl), ids(crawl)) == (0, {}, ["fine"])


CHAIN = "".join(f"_:b{one} dct:publisher _:b{one + 1} .\n" for one in range(100_000))
CIRCLE = "".join(f"_:b{one} dct:publisher _:b{(one + 1) % 1000} ; dct:creator _:b0 .\n" for one in range(1000))
LATTICE = "".join(f"_:b{one} dct:publisher _:b{one + 1} ; dct:creator _:b{one + 1} .\n" for one in range(200))
EVERYWHERE = "; dct:publisher _:b0 ; dct:spatial _:b0 ; dct:temporal _:b0 ; dcat:contactPoint _:b0 ; dct:license _:b0"
FILES = range(50_000)
BROAD = {
    "a chain": (record("2", "; dct:publisher _:b0"), CHAIN, "more than 50000 nodes"),
    "a circle": (record("2", EVERYWHERE), CIRCLE, None),
    "a lattice": (record("2", EVERYWHERE), LATTICE, None),
    "itself": (
        record("2", "; dct:hasPart <https://data.example.org/2> ; dct:publisher <https://data.example.org/2>"),
        "",
        None,
    ),
    "50,000 distributions": (
        record("2", "".join(f"; dcat:distribution <a:{one}> " for one in FILES)),
        "".join(f"<a:{one}> a dcat:Distribution ; dcat:downloadURL <http://a.org/{one}.csv> .\n" for one in FILES),
        "nodes with many or long texts are named",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("broad", BROAD)
def test_descriptions_without_end(harvest, broad):
    """They are cut off, and that is said."""
    dataset, rest, flaw = BROAD[broad]
    crawl = harvest(turtle(dataset, rest.encode()))
    assert ids(crawl) == ["2", "fine"]
    assert (crawl.code, crawl.errors, bool(crawl.flaws)) == (0, [], bool(flaw))
    assert not flaw or (crawl.flaws[0]["kind"], flaw in crawl.flaws[0]["error"]) == ("cut_value", True)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["Turtle", "data.json"])
def test_100_000_datasets_of_one_id(harvest, form):
    """A few of them, so that it does not take long."""
    name = '<https://data.example.org/{0}> a dcat:Dataset ; dct:identifier "same" ; dct:title "t" .\n'
    body = {
        "Turtle": turtle("".join(name.replace("{0}", str(one)) for one in range(3_000)).encode()),
        "data.json": json.dumps({"dataset": [{"identifier": "same", "title": "t"}] * 3_000}).encode(),
    }
    crawl = harvest(body[form], JSON if form == "data.json" else TURTLE)
    if form == "data.json":
        assert (crawl.code, ids(crawl), kinds(crawl)) == (3, ["same"], {"duplicate_id": 2_999})
    else:  # the others are known by their IRIs
        assert (crawl.code, len(ids(crawl)), kinds(crawl)) == (0, 3_001, {})


# Names

NAMES = [
    *(
        "../../x",
        "/etc/passwd",
        "..",
        ".",
        ".hidden",
        "a/b",
        "a\\b",
        "~root",
        "-rf",
        "$HOME",
        "a__b",
        "con",
        "|x",
        "%2e%2e",
    ),
    *(
        "x" * 10_240,
        "Case",
        "case",
        "CASE",
        "a\0b",
        "a\nb",
        "\u202etxt",
        "é" * 200,
        "sha256-" + "0" * 32,
        "\ufeff",
        "a b",
    ),
]


@pytest.mark.parametrize("form", ["Turtle", "data.json"])
def test_ids_that_are_paths(harvest, form):
    body = {
        "Turtle": turtle(
            *(record(f"n{at}").replace(f'"n{at}"'.encode(), json.dumps(name).encode()) for at, name in enumerate(NAMES))
        ),
        "data.json": json.dumps(
            {"dataset": [{"identifier": name, "title": "t"} for name in ("fine", *NAMES)]}
        ).encode(),
    }
    crawl = harvest(body[form], JSON if form == "data.json" else TURTLE)
    assert crawl.code in (0, 3)
    assert len(ids(crawl)) == len(list(crawl.folder.glob("datasets/*"))) >= len(NAMES)
    assert len({path.name.lower() for path in crawl.folder.glob("datasets/*")}) >= len(NAMES) - 2, "but for Case"


def test_titles_with_control_characters(harvest):
    title = r"\u0000\u001B]0;mine\u0007\u0085\u2028\u202E\uFFFE\n2026-01-01 ERROR: Traceback"
    crawl = harvest(
        turtle(f'<x\\u0020y> a dcat:Dataset ; dct:identifier "\\u001B[31m" ; dct:title "{title}" .'.encode())
    )
    assert crawl.code in (0, 3)
    assert len(ids(crawl)) == 2
    assert all(path.name.isascii() for path in crawl.folder.glob("datasets/*"))


ODD = ("a b", "a{b}c", "a|b^c`d", "a%zz", "http://[bad", "http://a:b:c/", "é", "#a#b", "\t")


def odd(serialisation: str) -> tuple[str, bytes]:
    """A dataset with each odd IRI in several places, and one with odd language tags."""
    iris = [iri for one in ODD for iri in (one, f"https://data.example.org/{one}")]
    tags = ("en_GB", "x", "de-", "EN", "zh-Hans-CN-x-private", "abcdefghij")
    if serialisation == "RDF/XML":
        links = "".join(f'<dcat:landingPage rdf:resource="{iri}"/>' for iri in iris)
        texts = "".join(f'<dct:description xml:lang="{tag}">{tag}</dct:description>' for tag in tags)
        return RDF_XML, rdf_xml(element("2", links), element("3", texts))
    if serialisation == "JSON-LD":
        texts = [{"@value": tag, "@language": tag} for tag in tags]
        linked = {"dcat:landingPage": [{"@id": iri} for iri in iris]}
        return JSON_LD, json_ld(node("2", **linked), node("3", **{"dct:description": texts}))
    links = "".join(f"; dcat:landingPage <{iri}> " for iri in iris)
    texts = "".join(f'; dct:description "{tag}"@{tag} ' for tag in ("en_GB", "x", "EN", "zh-Hans-CN-x-private"))
    return TURTLE, turtle(record("2", links), record("3", texts))


@pytest.mark.parametrize("serialisation", ["RDF/XML", "Turtle", "JSON-LD"])
def test_odd_iris_and_language_tags(walked, serialisation):
    content_type, body = odd(serialisation)
    done = walked(body, content_type)
    assert (done.ids(), done.errors) == (["2", "3", "fine"], [])
    assert titled(done) == ["Title of 2", "Title of 3", "Title of fine"]
    third = next(item.document for item in done.items if item.id == "3")
    assert "en" in json.dumps(third["description"])


# What is broken

GARBAGE = b"\n<<<< ]]] }} ;; oops & \x00\xff\xfe\n"
BROKEN = {
    "RDF/XML cut off": (RDF_XML, rdf_xml(element("2"))[:-60], {"invalid_rdf": 1}, ["fine"]),
    "RDF/XML with garbage": (RDF_XML, rdf_xml("<dct:A <b>", element("2")), None, ["fine"]),
    "Turtle with garbage": (TURTLE, turtle(GARBAGE, record("2")), None, ["fine"]),
    "Turtle cut off": (TURTLE, turtle(record("2"))[:-30], None, ["fine"]),
    "N-Triples with garbage": ("application/n-triples", b"<a:b> <a:c> <a:d> .\n" + GARBAGE * 500, None, []),
    "JSON-LD cut off": (JSON_LD, json_ld(node("2"))[:-40], None, None),
    "data.json cut off": (JSON, b'{"dataset": [{"identifier": "a", "title": "t"}, {"ident', None, None),
    "nothing": (TURTLE, b"", None, []),
    "NUL": (TURTLE, b"\0" * 100_000, None, []),
    "an image": ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 50, {"not_rdf": 1}, []),
    "a lone mark": (RDF_XML, codecs.BOM_UTF16_LE, None, []),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_broken(walked, broken):
    content_type, body, found, kept = BROKEN[broken]
    done = walked(body, content_type)
    assert 0 < len(done.errors) <= 103  # a hundred, that they end, and what is wrong with the text
    assert found is None or done.kinds() == found
    assert kept is None or kept == [one for one in done.ids() if one != "2"]


def test_a_crawl_of_what_is_broken_keeps_what_can_be_read(harvest):
    crawl = harvest(turtle(GARBAGE, record("2")))
    assert (crawl.code, "fine" in ids(crawl)) == (3, True)


WRONG = [
    None,
    True,
    5,
    -0.0,
    1e308,
    10**30,
    "",
    "x",
    [],
    {},
    [[]],
    [None],
    {"a": None},
    {"@id": 5},
    [{"name": []}],
    "\ud800",
]
FIELDS = (
    *("title", "description", "keyword", "modified", "issued", "publisher", "contactPoint", "license", "spatial"),
    *("temporal", "theme", "distribution", "accrualPeriodicity", "language", "landingPage", "conformsTo", "rights"),
    *("@type", "@id", "accessLevel", "bureauCode", "isPartOf", "references", "inSeries"),
)


def test_data_json_with_wrong_types(harvest):
    whole = dict.fromkeys(FIELDS, "x") | {"title": "t"}
    records = [
        whole | {"identifier": f"{field}-{at}", field: wrong} for field in FIELDS for at, wrong in enumerate(WRONG)
    ]
    nested = [
        {"identifier": f"in-{field}-{at}", "title": "t", "distribution": [{field: wrong}], "publisher": {"name": wrong}}
        for field in ("title", "format", "mediaType", "downloadURL", "accessURL", "conformsTo")
        for at, wrong in enumerate(WRONG)
    ]
    others = [{"identifier": wrong, "title": "t"} for wrong in WRONG]
    body = json.dumps({"conformsTo": 5, "@context": [], "dataset": [*records, *nested, *others, *WRONG]})
    crawl = harvest(body.encode(), JSON)
    assert crawl.code == 3
    assert {one["identifier"] for one in records + nested} <= set(ids(crawl)) | untitled(crawl)
    assert kinds(crawl).keys() <= {"invalid_record", "missing_id", "duplicate_id"}


def untitled(crawl: Crawl) -> set[str]:
    return {error["dataset_id"] for error in crawl.errors if error["kind"] == "invalid_record"}


def test_json_ld_with_wrong_types(harvest):
    wrong = [one for one in WRONG if one != {"@id": 5}]
    nodes = [
        node(f"{name}-{at}", **{name: value})
        for name in ("dct:title", "dcat:distribution", "dct:temporal", "dct:spatial")
        for at, value in enumerate(wrong)
    ]
    crawl = harvest(json_ld(*nodes), JSON_LD)
    assert crawl.code in (0, 3)
    assert kinds(crawl).keys() <= {"invalid_record", "invalid_rdf"}
    assert "fine" in ids(crawl)


NUMBERS = ("NaN", "-Infinity", "1e999", "9" * 4000, "-0")


def test_numbers_that_are_none(harvest):
    """They become null, and no document has them."""
    record = '{"identifier": "%d", "title": "t", "spatial": %s, "extra": [%s]}'
    records = [record % (at, number, number) for at, number in enumerate(NUMBERS)]
    crawl = harvest(f'{{"dataset": [{",".join(records)}]}}'.encode(), JSON)
    assert kinds(crawl).keys() <= {"invalid_record", "invalid_rdf", "not_json"}
    assert ids(crawl) == ["0", "1", "2", "3", "4"] or crawl.code == 4
    for path in crawl.folder.glob("datasets/*"):
        json.loads(path.read_bytes(), parse_constant=pytest.fail)


def test_numbers_that_are_none_in_json_ld(harvest):
    nodes = [node(f"n{at}", **{"dct:extent": f"|{at}|"}) for at in range(len(NUMBERS))]
    body = json_ld(*nodes).decode()
    for at, number in enumerate(NUMBERS):
        body = body.replace(f'"|{at}|"', number)
    crawl = harvest(body.encode(), JSON_LD)
    assert "fine" in ids(crawl)
    assert kinds(crawl).keys() <= {"invalid_record", "invalid_rdf"}


def test_a_great_many_records_that_are_none(harvest):
    """Their error lines take their time, and no more than that."""
    crawl = harvest(json.dumps({"dataset": [[], {}, 0, None] * 10_000}).encode(), JSON)
    assert (crawl.code, kinds(crawl).keys()) == (3, {"missing_id"})
    assert sum(kinds(crawl).values()) <= 40_000


# Zip files

DATASET = b"<http://a.org/1> a <http://www.w3.org/ns/dcat#Dataset> ; <http://purl.org/dc/terms/title> 'T' ."


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return made.getvalue()


def encrypted(body: bytes) -> bytes:
    """The file with the flag of a password, in both places."""
    for begin, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = body.index(begin) + place
        body = body[:at] + bytes([body[at] | 1]) + body[at + 1 :]
    return body


def lying(body: bytes) -> bytes:
    """The file whose list of files says to be of 4 GB."""
    at = body.rindex(b"PK\x05\x06") + 12
    return body[:at] + b"\xff\xff\xff\x7f" + body[at + 4 :]


ZIPS = {
    "several": (zipped({"a.ttl": DATASET, "b.rdf": b"<a/>"}), "not_rdf", "several files of RDF (a.ttl, b.rdf)"),
    "none": (zipped({"a.csv": b"1", "b.pdf": b"%PDF"}), "not_rdf", "a zip file without RDF: a.csv, b.pdf"),
    "no files": (zipped({"a/": b""}), "not_rdf", "it is empty"),
    "no name": (zipped({"QQ": DATASET}).replace(b"QQ", b"\0\0"), "not_rdf", "it is empty"),
    "no RDF inside": (zipped({"a": b"%PDF-1.4"}), "not_rdf", "in no known RDF format"),
    "password": (encrypted(zipped({"a.ttl": DATASET})), "not_rdf", "a.ttl in the zip file has a password"),
    "lzma": (zipped({"a.ttl": DATASET}, zipfile.ZIP_LZMA), "not_rdf", "is not packed by deflate"),
    "cut": (zipped({"a.ttl": DATASET})[:-30], "truncated", "the zip file can't be unpacked (File is not a zip file)"),
    "damaged": (zipped({"a.ttl": DATASET}).replace(b"PK\x01\x02", b"PK\x09\x02"), "truncated", "can't be unpacked"),
    "wrong sum": (zipped({"a.ttl": DATASET}, 0).replace(b"'T'", b"'U'"), "truncated", "Bad CRC-32"),
    "lying": (lying(zipped({"a.ttl": DATASET})), "truncated", "can't be unpacked"),
    "crowd": (zipped({f"{number:0>90}": b"" for number in range(9000)}), "too_large", "has too many files"),
}


@pytest.mark.parametrize("case", ZIPS)
def test_a_zip_file_that_means_harm_is_told(tmp_path, case):
    body, kind, words = ZIPS[case]
    answer = {"body": body, "headers": {"Content-Type": "application/zip"}}
    done = walk(DCAT, lambda asked: response(asked, **answer), tmp_path, url=f"{SITE}/catalogue")
    assert (done.ids(), done.kinds()) == ([], {kind: 1})
    assert len(done.asked) == (2 if kind == "truncated" else 1)
    assert words in done.errors[0].error


@pytest.mark.parametrize("name", ["../../../etc/passwd.ttl", "/etc/a.ttl", "C:\\a.ttl", "a\x1b[2J.ttl", "ü.TTL", "a"])
def test_a_name_in_a_zip_file_is_no_path(walked, name):
    assert walked(zipped({name: DATASET}), "application/zip").ids() == ["http://a.org/1"]


def test_a_zip_file_unpacks_to_no_more_than_may_be_spooled(tmp_path):
    answer = {"body": zipped({"a.nt": bytes(4 * MIB)}), "headers": {"Content-Type": "application/zip"}}
    most = {"SPOOL_MAXSIZE": str(2 * MIB)}
    done = walk(DCAT, lambda asked: response(asked, **answer), tmp_path, most, url=f"{SITE}/catalogue")
    assert done.kinds() == {"too_large": 1}
    assert "SPOOL_MAXSIZE (2097152 bytes)" in done.errors[0].error
