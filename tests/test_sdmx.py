"""SDMX services: one answer lists all dataflows; whole crawls, judged by the folder they leave."""

from __future__ import annotations

import gzip

import pytest
from scrapy.http import Response

from crawlers.kinds.sdmx.dialect import dataflows
from crawlers.kinds.sdmx.mapping import address_of, dataset, list_address
from crawlers.records import xml
from tests.conftest import Crawl, options, scrapy
from tests.site import Answer, Site

MESSAGE = """<?xml version="1.0" encoding="UTF-8"?>
<m:Structure xmlns:m="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message"
 xmlns:s="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure"
 xmlns:c="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common">
<m:Header><m:ID>1</m:ID></m:Header><m:Structures><s:Dataflows>{}</s:Dataflows></m:Structures></m:Structure>"""
FLOW = """<s:Dataflow id="{name}" agencyID="ESTAT" version="{version}" isFinal="true"><c:Annotations>
<c:Annotation><c:AnnotationTitle>2026-10-01T11:00:00+0200</c:AnnotationTitle><c:AnnotationType>UPDATE_DATA</c:AnnotationType>
</c:Annotation><c:Annotation><c:AnnotationTitle>1975</c:AnnotationTitle>
<c:AnnotationType>OBS_PERIOD_OVERALL_OLDEST</c:AnnotationType></c:Annotation>
<c:Annotation><c:AnnotationTitle>2025</c:AnnotationTitle>
<c:AnnotationType>OBS_PERIOD_OVERALL_LATEST</c:AnnotationType></c:Annotation></c:Annotations>
<c:Name xml:lang="de">Tabelle {name}</c:Name><c:Name xml:lang="en">Table {name}</c:Name>
<c:Description xml:lang="en">What it is.</c:Description></s:Dataflow>"""

ERROR = "<m:Error xmlns:m='http://sdmx.org/message'><m:ErrorMessage><Text>No</Text></m:ErrorMessage></m:Error>"


def flows(count, version="1.0"):
    return "".join(FLOW.format(name=f"T{number}", version=version) for number in range(count))


@pytest.fixture
def crawled(output):
    """Crawls a service that gives an answer, always at one address."""
    with Site(lambda asked: Answer()) as site:

        def run(body, status=200, settings=None, **arguments):
            answer = Answer(b"" if callable(body) else body.encode(), status, {"Content-Type": "application/xml"})
            given = body if callable(body) else lambda: answer
            site.answer = lambda asked: given() if asked.path.startswith("/sdmx") else Answer(status=404)
            site.asked.clear()
            words = options(output, settings or {}, url=f"{site.url}/sdmx/2.1/dataflow/all/all/latest", **arguments)
            ran = scrapy("crawl", "sdmx", *words)
            done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
            done.asked = [one.path for one in site.asked if one.path != "/robots.txt"]
            return done

        yield run


@pytest.mark.slow
def test_all_dataflows_come_with_one_request(crawled):
    done = crawled(MESSAGE.format(flows(25)))
    assert (done.code, done.report["verdict"], done.report["listed"]) == (0, "complete", 25)
    assert done.report["evidence"] == {"datasets": "file"}
    assert done.asked == ["/sdmx/2.1/dataflow/all/all/latest?detail=full&references=none"]
    assert {line["dataset_id"] for line in done.manifest} == {f"ESTAT:T{number}" for number in range(25)}
    assert {line["metadata_source"] for line in done.manifest} == {"sdmx"}
    document = (done.folder / done.manifest[0]["metadata_file"]).read_bytes()
    assert xml.parse(document).get("id") == "T0"


def test_an_answer_in_another_encoding_than_it_says_is_read_and_told():
    body, flaws = MESSAGE.format(flows(1)).replace("Tabelle", "Größe der Straßen"), []
    [name] = [
        each.findtext("{*}Name") for each in dataflows(Response("https://a.org/", body=body.encode("latin-1")), flaws)
    ]
    assert name == "Größe der Straßen T0"
    assert flaws == ["Its encoding is not the declared one, and was guessed (cp1252): set `encoding`."]


def test_a_new_version_is_the_same_dataset(crawled):
    crawled(MESSAGE.format(flows(5)))
    done = crawled(MESSAGE.format(flows(5, version="2.0")))
    assert (done.report["counts"]["updated"], done.report["counts"]["new"]) == (5, 0)


def test_what_is_gone_twice_is_withdrawn(crawled):
    crawled(MESSAGE.format(flows(25)))
    for expected in (0, 1):
        done = crawled(MESSAGE.format(flows(24)), settings={"SHRINK_LIMIT": "0.1"})
        assert (done.code, done.report["counts"]["withdrawn"]) == (0, expected)


def test_an_answer_that_goes_through_a_file_is_the_same(crawled):
    done = crawled(MESSAGE.format(flows(300)), settings={"SPOOL_ABOVE": "1000"})
    assert (done.code, done.report["listed"]) == (0, 300)


def test_limits(crawled):
    done = crawled(MESSAGE.format(flows(25)), max_datasets="7")
    assert (done.code, done.report["verdict"], len(done.manifest)) == (0, "partial", 7)


def test_an_answer_that_breaks_off_keeps_what_came(crawled):
    whole = MESSAGE.format(flows(25))
    done = crawled(whole[: len(whole) * 4 // 5])
    assert (done.code, done.kinds()) == (3, [("list", "truncated")])
    assert 15 < len(done.manifest) < 25


def cut_at(number, body, packed=None):
    """Return answers of which the first ones, as many as given, break off."""
    whole = body.encode() if packed is None else packed(body.encode())
    headers = {"Content-Type": "application/xml"} | ({} if packed is None else {"Content-Encoding": "gzip"})
    lengths = iter([len(whole) * 4 // 5] * number)
    return lambda: Answer(whole[: next(lengths, None)], 200, headers)


@pytest.mark.parametrize("packed", [None, gzip.compress], ids=["XML", "gzip"])
@pytest.mark.parametrize("settings", [{}, {"SPOOL_ABOVE": "1000"}], ids=["memory", "file"])
def test_an_answer_that_breaks_off_once_is_asked_for_again(crawled, packed, settings):
    answers = cut_at(1, MESSAGE.format(flows(25)), packed)
    done = crawled(answers, settings=settings | {"RETRY_TIMES": "0"})
    assert (done.code, done.report["verdict"], done.report["listed"], done.errors) == (0, "complete", 25, [])
    assert len(done.asked) == 2


def test_an_answer_that_says_that_it_is_a_part_is_not_asked_for_again(crawled):
    done = crawled(MESSAGE.format(flows(2)).replace("<s:Dataflows>", '<s:Dataflows isPartial="true">'))
    assert len(done.asked) == 1


FOOTER = """<f:Footer xmlns:f="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message/footer">
<f:Message code="{code}" severity="{severity}"><c:Text>2 of 900 dataflows</c:Text></f:Message></f:Footer>"""


@pytest.mark.parametrize(("code", "severity"), [("510", "Warning"), ("413", "Information"), ("500", "Error")])
def test_an_answer_that_says_it_was_cut_is_incomplete(crawled, code, severity):
    footer = FOOTER.format(code=code, severity=severity)
    done = crawled(MESSAGE.format(flows(2)).replace("</m:Structure>", f"{footer}</m:Structure>"))
    assert (done.code, done.kinds(), len(done.manifest)) == (3, [("list", "truncated")], 2)
    assert "2 of 900 dataflows" in done.errors[0]["error"]


def test_an_answer_that_says_it_is_partial_is_incomplete(crawled):
    done = crawled(MESSAGE.format(flows(2)).replace("<s:Dataflows>", '<s:Dataflows isPartial="true">'))
    assert (done.code, done.kinds(), len(done.manifest)) == (3, [("list", "truncated")], 2)


def test_a_footer_that_says_something_else_is_no_error(crawled):
    footer = FOOTER.format(code="0", severity="Information")
    done = crawled(MESSAGE.format(flows(2)).replace("</m:Structure>", f"{footer}</m:Structure>"))
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", [])


@pytest.mark.parametrize("versions", [("1.9", "1.10"), ("1.10", "1.9"), ("1.10", "1.10.0-draft", "1.2")])
def test_the_latest_of_all_versions_is_kept(crawled, versions):
    done = crawled(MESSAGE.format("".join(FLOW.format(name="T", version=version) for version in versions)))
    assert (done.code, len(done.manifest)) == (0, 1)
    document = (done.folder / done.manifest[0]["metadata_file"]).read_bytes()
    assert xml.parse(document).get("version") == ("1.10.0-draft" if len(versions) > 2 else "1.10")


def test_a_reference_to_a_dataflow_is_no_dataflow(crawled):
    reference = '<s:Constraints><s:X><s:Dataflow><Ref id="T0" agencyID="ESTAT"/></s:Dataflow></s:X></s:Constraints>'
    done = crawled(MESSAGE.format(flows(2)).replace("</m:Structures>", f"{reference}</m:Structures>"))
    assert (done.code, done.report["listed"], done.errors) == (0, 2, [])


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (MESSAGE.format(""), 200, "no_datasets"),
        ("<html><body>Welcome</body></html>", 200, "refused"),
        (ERROR, 200, "refused"),
        ("no XML at all", 200, "truncated"),
        ('<!DOCTYPE x [<!ENTITY d SYSTEM "file:///etc/passwd">]><x>&d;</x>', 200, "refused"),
        ("gone", 404, "http"),
    ],
)
def test_what_is_no_list_of_dataflows(crawled, body, status, kind):
    done = crawled(body, status)
    assert (done.code, done.kinds()) == (4, [("list", kind)])


def test_a_dataflow_without_an_agency_is_an_error(crawled):
    done = crawled(MESSAGE.format(flows(2) + '<s:Dataflow id="x"/>'))
    assert (done.code, done.kinds(), len(done.manifest)) == (3, [("list", "missing_id")], 2)


EUROSTAT = "https://ec.europa.eu/eurostat/api/dissemination/sdmx/2.1"


@pytest.mark.parametrize(
    ("root", "addresses"),
    [
        (EUROSTAT, [f"{EUROSTAT}/data/ESTAT,T1", f"{EUROSTAT}/data/ESTAT,T1?format=SDMX-CSV"]),
        ("https://example.org/rest", ["https://example.org/rest/data/ESTAT,T1"]),
        ("https://example.org/sdmx/3.0", ["https://example.org/sdmx/3.0/data/dataflow/ESTAT/T1/~"]),
    ],
)
def test_the_fields_of_a_dataflow(root, addresses):
    element = xml.parse(MESSAGE.format(FLOW.format(name="T1", version="1.0")).encode()).find(".//{*}Dataflow")
    item = dataset(element, source="s", url=address_of("ESTAT:T1", root))
    assert (item.id, item.title, item.description, item.version) == ("ESTAT:T1", "Table T1", "What it is.", "1.0")
    assert (item.modified, item.temporal.start, item.temporal.end) == ("2026-10-01T11:00:00+02:00", "1975", "2025")
    assert [resource.url for resource in item.resources] == addresses
    assert list_address(root).startswith(f"{root}/")
