"""Recorded answers of real repositories, where they are at hand: what is known of each file."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from scrapy.http import TextResponse

from crawlers.kinds.oai import spider
from crawlers.kinds.oai.answers import OAIError, page
from crawlers.kinds.oai.dialect import ListRecords, Question, ordered
from crawlers.listing import ladder
from crawlers.listing.walk import Walk
from crawlers.records import xml
from tests.walked import response, walk

REAL = Path(__file__).parents[2] / "shared" / "answers" / "oai-pmh"

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the recorded answers are not at hand")


def answer(name):
    body = (REAL / f"{name}.xml").read_bytes()
    return page(TextResponse("https://example.org/oai", body=body, headers={"Content-Type": "text/xml"}))


PAGES = {
    "pycsw-ListRecords_iso19139": (10, 0, 12, "11", "urn:uuid:19887a8a-f6b0-4a63-ae56-7fba0e17801f"),
    "sickle-ListIdentifiers": (2, 1, 4, "ListIdentifiers2.xml", "oai:test.example.com::1585310"),
    "sickle-ListIdentifiers2": (2, 1, None, "", "oai:test.example.com::1585310"),
    "sickle-ListRecords": (2, 1, 8, "ListRecords2.xml", "oai:test.example.com:1585310"),
    "sickle-ListRecords2": (2, 1, 8, "ListRecords3.xml", "oai:test.example.com:1585310"),
    "sickle-ListRecords3": (2, 1, 8, "ListRecords4.xml", "oai:test.example.com:1585310"),
    "sickle-ListRecords4": (2, 1, None, "", None),
    "zenodo-get_record-1": (1, 0, None, "", "oai:zenodo.org:10357859"),
    "zenodo-get_record-2": (1, 0, None, "", "oai:zenodo.org:10357859"),
    "zenodo-list_identifiers-0": (50, 0, 1_337_969, ".eJwljU1zgjAARP9LztrJB2J", "oai:zenodo.org:20565184"),
    "zenodo-list_identifiers-5": (3, 1, 8_084_640, ".eJyNzt1ugjAYgOF76bFZCit", "oai:zenodo.org:8435696"),
    "zenodo-list_identifiers-8": (3, 0, None, "", "oai:zenodo.org:8242804"),
    "zenodo-list_identifiers-9": (3, 0, 8_084_640, ".eJyNjkFvgjAYQP9Lz2YpWHW", "oai:zenodo.org:8433364"),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name):
    found = answer(name)
    records, deleted, size, token, first = PAGES[name]
    assert (len(found.records), sum(record.is_deleted for record in found.records)) == (records, deleted)
    assert (found.size, found.records[0].identifier) == (size, first)
    assert found.token.startswith(token)
    assert bool(found.token) == bool(token)


ERRORS = {
    "pycsw-GetRecord_bad_metadata_prefix": "badArgument",
    "pycsw-ListIdentifiers_missing_metadata_prefix": "badArgument",
    "pycsw-ListRecords_dc_bad_metadata_prefix": "badArgument",
    "pycsw-bad_verb": "badArgument",
    "sickle-badResumptionToken": "badResumptionToken",
    "sickle-cannotDisseminateFormat": "cannotDisseminateFormat",
    "sickle-noRecordsMatch": "noRecordsMatch",
    "sickle-noSetHierarchy": "noSetHierarchy",
    "zenodo-get_record-0": "badArgument",
    "zenodo-id_does_not_exist-0": "idDoesNotExist",
    "zenodo-list_metadata_formats-2": "idDoesNotExist",
    "zenodo-list_sets-1": "badResumptionToken",
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error(name):
    with pytest.raises(OAIError) as error:
        answer(name)
    assert error.value.code == ERRORS[name]


OTHERS = {
    *("pycsw-ListMetadataFormats", "pycsw-ListSets", "sickle-Identify", "sickle-ListSets"),
    *("zenodo-list_metadata_formats-0", "zenodo-list_metadata_formats-1", "zenodo-list_sets-0", "zenodo-list_sets-2"),
}


def test_each_file_is_looked_at():
    assert {path.stem for path in REAL.glob("*.xml")} == PAGES.keys() | ERRORS.keys() | OTHERS


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_other_verbs_have_no_records(name):
    assert answer(name).records == []


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("pycsw-ListMetadataFormats", ["datacite", "iso19139", "oai_dc"]),
        (
            "zenodo-list_metadata_formats-0",
            ["dcat", "oai_datacite", "oai_datacite4", "datacite", "datacite4", "oai_dc"],
        ),
    ],
)
def test_the_formats_that_are_read(name, formats):
    root = xml.parse((REAL / f"{name}.xml").read_bytes())
    assert ordered([element.text for element in root.iter("{*}metadataPrefix")]) == formats


def test_a_page_of_pycsw_is_continued_with_the_prefix_beside_the_token():
    here = Question(prefix="iso19139").behind(answer("pycsw-ListRecords_iso19139"))
    assert not here.is_dated  # its datestamps are empty, so windows would lose records
    with pytest.raises(OAIError) as error:
        answer("pycsw-ListIdentifiers_missing_metadata_prefix")
    dialect = ListRecords(None, None)
    there = ladder.climbed(Walk(ask=here, pages=1), dialect.fault(error.value, None, Walk(ask=here)), dialect)
    assert there.ask.parameters == {"resumptionToken": "11", "metadataPrefix": "iso19139"}


def test_four_pages_that_repeat_two_records_are_not_a_whole_list(tmp_path):
    names = iter(["sickle-Identify", "sickle-ListRecords", *(f"sickle-ListRecords{number}" for number in (2, 3, 4))])

    def answers(request):
        body = (REAL / f"{name}.xml").read_bytes() if (name := next(names, "")) else b""
        return response(request, body, 200 if name else 500, {"Content-Type": "text/xml"})

    done = walk(spider.OAI, answers, tmp_path, url="https://example.org/oai", prefix="oai_dc")
    assert (done.evidence, len(done.items), len(done.errors)) == ({}, 1, 1)
    assert done.errors[0].kind in ("paging", "http")


def test_a_large_repository_is_read_in_windows():
    here = Question(earliest="2014-02-03T14:41:33Z").behind(answer("zenodo-list_identifiers-0"))
    window = ladder.split(Walk(ask=here, total=1_337_969), ListRecords(Mock(**{"records.count.return_value": 0}), None))
    assert (window.ask.begin, window.ask.token, window.stated) == ("", "", 1_337_969)
    assert "2014-02-03" < window.ask.until < "2015"


@pytest.mark.parametrize(
    ("name", "source", "identifier"),
    [
        ("zenodo-get_record-1", "datacite", "10.5281/zenodo.10357859"),
        ("zenodo-get_record-2", "dublin_core", None),
    ],
)
def test_a_record_of_zenodo(name, source, identifier):
    [record] = answer(name).records
    item = xml.dataset(record.metadata, source="s", url="https://example.org/1", id=record.identifier)
    assert (item.metadata_source, item.id) == (source, "oai:zenodo.org:10357859")
    assert item.title == "Research Data Management Organiser (RDMO)"
    if identifier:
        assert (item.identifier, item.uri) == (identifier, f"https://doi.org/{identifier}")
        assert (item.publisher.name, item.issued, item.modified, item.version) == (
            *("Zenodo", "2023-12-11"),
            *("2023-12-11", "2.1.0"),
        )
        assert (item.license.id, item.access_rights) == ("Apache-2.0", "PUBLIC")
        assert len([agent for agent in item.contacts if agent.role == "creator"]) == 9
        assert item.contacts[0].uri == "https://orcid.org/0000-0002-5883-4273"
        assert item.description.startswith("RDMO 2.1.0 (Dec 11, 2023)")
        assert item.flaws == []
