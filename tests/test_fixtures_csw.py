"""Answers of real catalogue services, where they are at hand: what each holds, and what of its records is read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from lxml import etree
from scrapy.http import Request, XmlResponse

from crawlers.exceptions import AnswerError
from crawlers.kinds.csw import answers
from crawlers.kinds.csw.answers import ServiceError, catalogue_id, is_service, results
from crawlers.kinds.csw.dialect import Ask, GetRecords
from crawlers.kinds.csw.schemas import candidates
from crawlers.listing.crawl import Limits
from crawlers.listing.walk import Walk
from crawlers.records import xml
from tests.conftest import Crawl, options, scrapy
from tests.portal.csw import CSW, GEODCAT, ISO, XML, Catalogue, question
from tests.site import Answer, Site

REAL = Path(__file__).parents[2] / "shared" / "answers" / "csw"

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the shared answers are not at hand")


def answer(name):
    return XmlResponse(
        "https://example.org/csw", body=(REAL / name).read_bytes(), request=Request("https://example.org")
    )


def items(found):
    known = {"source": "s", "url": "https://example.org/csw"}
    return [xml.dataset(element, **known) for element in found.elements if not is_service(element)]


ANSWERS = {
    "2.0.2-getrecords-dc-geonetwork.xml": (1, 1, 1, ["World Land Cover Himalayas 2015"]),
    "2.0.2-getrecords-iso-small.xml": (3, 3, 2, ["Mean sea surface temperature 2000-2025"]),
    "geoide-iso19139-single.xml": (1, 1, 1, ["Plan local d'urbanisme de la commune de Combles"]),
    "geonetwork-geodcatap-page-1.xml": (6, 2, 2, ["INSEE - Part des ménages présents depuis 5 ans ou plus dans"]),
    "geonetwork-geodcatap-page-3.xml": (6, 2, 2, ["Communes en état de catastrophe naturelle au 30 novembre 2023"]),
    "geonetwork-geodcatap-page-5.xml": (6, 2, 2, ["Territoires d'exercice de la compétence"]),
    "geonetwork-iso19139-page-1.xml": (6, 2, 2, ["Plan local d'urbanisme de la commune de Cartigny"]),
    "geonetwork-iso19139-page-3.xml": (6, 2, 2, ["Table contenant les générateurs surfaciques liés aux"]),
    "geonetwork-iso19139-page-5.xml": (6, 2, 2, ["Plan local d'urbanisme de la commune de Combles"]),
    "pycsw-2.0.2-getrecords-iso19115-3.xml": (4, 4, 3, ["3D geological model of the Otway and Torquay Basin 2011"]),
    "pycsw-2.0.2-getrecords-service.xml": (1, 1, 0, []),
    "pycsw3b-2.0.2-dc-page1.xml": (500, 3, 3, ["Ethiopia: Land Cover"]),
    "pycsw3b-2.0.2-hits.xml": (500, 0, 0, []),
    "pycsw3b-2.0.2-startposition-too-high.xml": (500, 0, 0, []),
    "terria-iso-page1.xml": (230, 100, 100, ["Percent Occurrence Tidal Currant Exceeds 1.0 m/s"]),
    "terria-iso-page2.xml": (230, 100, 100, ["(Month 04) April Mean Direction of the Maximum"]),
    "terria-iso-page3-last.xml": (230, 30, 29, ["(Month 12) December Mean Direction of the"]),
}
"""How many records the server says it has, how many came, how many of them are datasets, and the first one's title."""


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_holds(name):
    found, (matched, received, count, titles) = results(answer(name), 100), ANSWERS[name]
    datasets = items(found)
    assert (found.matched, found.received, len(datasets)) == (matched, received, count)
    assert [item.title[: len(title)] for item, title in zip(datasets, titles, strict=False)] == titles
    assert all(item.id and item.id != "https://example.org/csw" and item.document for item in datasets)
    assert len({item.id for item in datasets}) == count


def dialect():
    args, stats = {"schema": None, "language": None}, SimpleNamespace(stats=None)
    index = SimpleNamespace(documents=SimpleNamespace(held=lambda: ()))
    crawl = SimpleNamespace(source="s", args=args, limits=Limits(), crawler=stats, opened_index=lambda: index)
    return GetRecords(crawl, "https://example.org/csw")


def page(name, **ask):
    uri = candidates("2.0.2")[0]
    walk = Walk(ask=Ask(endpoint="https://example.org/csw", uris=(uri,), uri=uri, **ask), pages=1, rows=100, most=100)
    return dialect().read(answer(name), walk)


def test_a_position_behind_the_end_leads_nowhere():
    found = page("pycsw3b-2.0.2-startposition-too-high.xml", start=9999)
    assert (found.next, found.came, found.total) == (None, 0, 500)


def test_an_answer_with_fewer_records_than_it_counts():
    found = page("geonetwork-geodcatap-page-1.xml")
    assert (found.next.start, found.came, found.total, len(found.entries)) == (3, 2, 6, 2)
    names = [catalogue_id(element) for element in results(answer("geonetwork-geodcatap-page-1.xml"), 100).elements]
    assert names == ["04bcec79-5b25-4b16-b635-73115f7456e4", "06367a09-096c-4db6-a122-52469176d619"]


@pytest.mark.parametrize(
    ("name", "about", "message"),
    [
        (
            "pycsw3b-2.0.2-unknown-outputschema.xml",
            "outputschema",
            "the server answered: Invalid outputSchema parameter value: http://www.w3.org/ns/dcat#",
        ),
        (
            "pycsw-3.0-exception-invalid-request.xml",
            "request",
            "the server answered: Invalid value for request: GetCapabilities-foo",
        ),
        ("terria-getdomain.xml", "getdomainresponse", "the answer has no search results, but GetDomainResponse"),
        ("pycsw-2.0.2-capabilities.xml", "capabilities", "the answer has no search results, but Capabilities"),
    ],
)
def test_an_answer_without_records_is_an_error(name, about, message):
    with pytest.raises(ServiceError) as caught:
        results(answer(name), 100)
    assert about in caught.value.about.replace("|", " ").split()
    assert (caught.value.kind, str(caught.value).partition(" (Invalid")[0]) == ("refused", message)


@pytest.mark.parametrize(
    ("version", "uris", "sort"),
    [
        ("2.0.2", ["http://www.isotc211.org/2005/gmd", "http://www.opengis.net/cat/csw/2.0.2"], "apiso:Identifier"),
        ("3.0", ["http://www.opengis.net/cat/csw/3.0"], "apiso:Identifier"),
    ],
)
def test_capabilities(version, uris, sort):
    root = xml.root(answer(f"pycsw-{version}-capabilities.xml"))
    found = answers.capabilities(root)
    assert answers.is_csw(root)
    here = dialect().begun(Ask(endpoint="x"), found)
    assert (here.version.startswith(version), list(here.uris)) == (True, uris)
    assert (here.sort, here.modified) == (("dc:identifier", sort), ("dct:modified", "apiso:Modified"))


def test_an_answer_of_something_else_is_no_csw():
    assert not answers.is_csw(xml.parse(b"<ows:Capabilities xmlns:ows='http://www.opengis.net/wms'/>"))
    assert answers.is_csw(xml.root(answer("terria-iso-page1.xml")))
    assert not answers.is_csw(xml.root(answer("terria-getdomain.xml")))
    with pytest.raises(AnswerError):
        results(SimpleNamespace(body=b"no XML at all", headers={}, request=None, url="x", meta={}), 10)


WALKS = {
    "terria": (("terria-iso-page1.xml", "terria-iso-page2.xml", "terria-iso-page3-last.xml"), 229),
    "geodcatap": (tuple(f"geonetwork-geodcatap-page-{number}.xml" for number in (1, 3, 5)), 6),
    "iso19139": (tuple(f"geonetwork-iso19139-page-{number}.xml" for number in (1, 3, 5)), 6),
}
SCHEMAS = {"terria": CSW["2.0.2"], "geodcatap": GEODCAT, "iso19139": ISO}


def served(names, start):
    """The recorded page, with the records of all of them that begin at a position: as many as the first page has."""
    pages = [etree.fromstring((REAL / name).read_bytes()) for name in names]
    found = [element for page in pages for element in page.find("{*}SearchResults") if isinstance(element.tag, str)]
    results_ = pages[0].find("{*}SearchResults")
    count = len(results_)
    for element in results_:
        results_.remove(element)
    results_.extend(found[start - 1 : start - 1 + count])
    return etree.tostring(pages[0])


@pytest.mark.parametrize("name", WALKS)
def test_a_crawl_of_recorded_records_is_whole(output, name):
    pages, count = WALKS[name]
    server = Catalogue([], schemas=(SCHEMAS[name],))

    def answering(asked):
        found = question(asked) if asked.path.startswith("/csw") else None
        refusal = server.refusal(found) if found else server(asked)
        return refusal or Answer(served(pages, found.start), headers=XML)

    with Site(answering) as site:
        ran = scrapy("crawl", "csw", *options(output, {}, url=f"{site.url}/csw"))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (done.report["listed"], done.report["evidence"]) == (count, {"datasets": "total"}), done.log[-1500:]
    assert len(done.manifest) == count
    odd = [one["error"] for one in done.flaws if "has its west east of its east" not in one["error"]]
    assert (done.code, done.errors, odd) == (0, [], []), "the boxes of those records are the wrong way round"
