"""DataCite records: each field, whatever the kernel, and values that nobody should write."""

from __future__ import annotations

import pytest

from crawlers.exceptions import AnswerError
from crawlers.items import Agent, Period
from crawlers.records import xml

KERNELS = ["http://datacite.org/schema/kernel-2.2", "http://datacite.org/schema/kernel-3"]
KERNELS += ["http://datacite.org/schema/kernel-4", "https://schema.datacite.org/meta/kernel-4.5"]
FULL = """
<identifier identifierType="DOI">10.5072/Elbe(1)</identifier>
<creators><creator><creatorName>Meyer, Ada</creatorName><nameIdentifier nameIdentifierScheme="ORCID">
https://orcid.org/0000-0002-1825-0097</nameIdentifier></creator><creator><creatorName>Amt</creatorName></creator></creators>
<titles><title titleType="Subtitle">Part one</title><title xml:lang="de">Die Elbe</title>
<title xml:lang="en">The Elbe</title></titles><publisher xml:lang="de">Wasseramt</publisher>
<publicationYear>2020</publicationYear><subjects><subject>water, river</subject><subject>soil</subject></subjects>
<contributors><contributor contributorType="ContactPerson"><contributorName>Desk</contributorName></contributor>
<contributor contributorType="DataCollector"><contributorName>Team</contributorName></contributor></contributors>
<dates><date dateType="Issued">2020-03-01</date><date dateType="Updated">2021-05</date>
<date dateType="Updated">2021-04-30</date><date dateType="Collected">2010/2012-06</date></dates>
<language>de</language><resourceType resourceTypeGeneral="Dataset"/><version>1.2</version>
<alternateIdentifiers><alternateIdentifier alternateIdentifierType="x">1</alternateIdentifier></alternateIdentifiers>
<sizes><size>1024 bytes</size></sizes><formats><format>text/csv</format></formats>
<rightsList><rights rightsURI="info:eu-repo/semantics/openAccess"/><rights>Ask us first.</rights>
<rights rightsURI="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</rights></rightsList>
<descriptions><description descriptionType="Methods">By boat.</description>
<description descriptionType="Abstract">&lt;p&gt;A &lt;b&gt;river&lt;/b&gt;.&lt;/p&gt;</description></descriptions>
<geoLocations><geoLocation><geoLocationPlace>Elbe</geoLocationPlace><geoLocationBox>
<westBoundLongitude>9</westBoundLongitude><eastBoundLongitude>12</eastBoundLongitude>
<southBoundLatitude>51</southBoundLatitude><northBoundLatitude>54</northBoundLatitude></geoLocationBox></geoLocation>
<geoLocation><geoLocationPoint><pointLongitude>10</pointLongitude><pointLatitude>53.5</pointLatitude></geoLocationPoint>
</geoLocation><geoLocation><geoLocationPolygon>
<polygonPoint><pointLongitude>1</pointLongitude><pointLatitude>2</pointLatitude></polygonPoint>
<polygonPoint><pointLongitude>3</pointLongitude><pointLatitude>2</pointLatitude></polygonPoint>
<polygonPoint><pointLongitude>3</pointLongitude><pointLatitude>4</pointLatitude></polygonPoint>
<polygonPoint><pointLongitude>1</pointLongitude><pointLatitude>2</pointLatitude></polygonPoint>
</geoLocationPolygon></geoLocation></geoLocations>
"""


def item(inside, kernel=KERNELS[2], **given):
    text = f'<resource xmlns="{kernel}">{inside}</resource>'
    return xml.dataset(xml.parse(text.encode()), source="s", url="https://example.org/1", **given)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_field_of_every_kernel(kernel):
    found = item(FULL, kernel)
    assert (found.metadata_source, found.id, found.identifier) == ("datacite", "10.5072/Elbe(1)", "10.5072/Elbe(1)")
    assert found.uri == found.landing_page == "https://doi.org/10.5072/Elbe(1)"
    assert (found.title, found.description, found.provenance) == ("Die Elbe", "A **river**.", "By boat.")
    assert (found.issued, found.modified, found.version) == ("2020-03-01", "2021-05", "1.2")
    assert found.temporal == Period(start="2010", end="2012-06")
    assert found.publisher == Agent(name="Wasseramt", role="publisher")
    assert [(agent.name, agent.role) for agent in found.contacts] == [
        *(("Meyer, Ada", "creator"), ("Amt", "creator"), ("Desk", "contact"), ("Team", "dataCollector"))
    ]
    assert found.contacts[0].uri == "https://orcid.org/0000-0002-1825-0097"
    assert (found.keywords, found.languages) == (["water, river", "soil"], ["de"])
    assert (found.license.id, found.access_rights, found.rights) == ("CC-BY-4.0", "PUBLIC", "Ask us first.")
    assert [place.name for place in found.spatial] == ["Elbe", None, None]
    assert [place.geometry["type"] for place in found.spatial] == ["Polygon", "Point", "Polygon"]
    assert found.spatial[0].geometry["coordinates"][0][0] == [9.0, 51.0]
    [resource] = found.resources
    assert (resource.format, resource.media_type, resource.size) == ("CSV", "text/csv", 1024)
    assert resource.url == found.landing_page
    assert found.flaws == []


def test_the_language_that_is_preferred():
    assert item(FULL, language="en").title == "The Elbe"


def test_the_wrapper_of_oai_datacite():
    text = f"""<oai_datacite xmlns="http://schema.datacite.org/oai/oai-1.1/"><schemaVersion>4</schemaVersion><payload>
        <resource xmlns="{KERNELS[2]}">{FULL}</resource></payload></oai_datacite>"""
    found = xml.dataset(xml.parse(text.encode()), source="s", url="https://example.org/1", id="oai:1")
    assert (found.id, found.title, found.resources[0].dataset_id) == ("oai:1", "Die Elbe", "oai:1")
    assert b"schemaVersion" not in found.document


def test_places_of_old_kernels_are_texts_with_the_latitude_first():
    text = "<geoLocations><geoLocation><geoLocationPoint>53.5 10</geoLocationPoint></geoLocation>"
    text += "<geoLocation><geoLocationBox>51 9 54 12</geoLocationBox></geoLocation></geoLocations>"
    point, box = item(text, KERNELS[1]).spatial
    assert point.geometry == {"type": "Point", "coordinates": [10, 53.5]}
    assert box.geometry["coordinates"][0][0] == [9.0, 51.0]


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ('<identifier identifierType="DOI">https://doi.org/10.5072/A</identifier>', "identifier", "10.5072/A"),
        ('<identifier identifierType="URL">https://example.org/a</identifier>', "uri", "https://example.org/a"),
        ('<identifier identifierType="Handle">11/22</identifier>', "uri", None),
        ("<identifier/>", "id", "https://example.org/1"),
        ("<publicationYear>soon</publicationYear>", "issued", None),
        ("<publicationYear>0000</publicationYear>", "issued", None),
        ('<dates><date dateType="Issued">last week</date></dates>', "issued", None),
        ('<dates><date dateType="Collected">/</date></dates>', "temporal", None),
        ("<language>Klingonese</language>", "languages", []),
        ("<titles><title> </title></titles>", "title", None),
        ("<publisher/>", "publisher", None),
        ("<rightsList><rights rightsURI='javascript:x()'/></rightsList>", "license", None),
        ("<formats><format>text/csv</format></formats>", "resources", []),
        ("<geoLocations><geoLocation/></geoLocations>", "spatial", []),
    ],
)
def test_a_value_that_can_not_be_read_leaves_its_field_empty(text, field, value):
    assert getattr(item(text), field) == value


@pytest.mark.parametrize(
    "shape",
    [
        "<geoLocationPoint>x y</geoLocationPoint>",
        "<geoLocationPoint><pointLongitude>1e999</pointLongitude><pointLatitude>NaN</pointLatitude></geoLocationPoint>",
        "<geoLocationPoint><pointLongitude>500</pointLongitude><pointLatitude>2</pointLatitude></geoLocationPoint>",
        "<geoLocationBox>1 2 3</geoLocationBox>",
        "<geoLocationPolygon><polygonPoint/></geoLocationPolygon>",
    ],
)
def test_a_shape_that_is_not_on_earth_is_a_flaw(shape):
    found = item(f"<geoLocations><geoLocation>{shape}</geoLocation></geoLocations>")
    assert (found.spatial, len(found.flaws)) == ([], 1)


@pytest.mark.parametrize("part", ["", "<geoLocationPlace/>", "<geoLocationBox/>", "<geoLocationPolygon/>"])
def test_an_empty_place_is_no_flaw(part):
    found = item(f"<geoLocations><geoLocation>{part}</geoLocation></geoLocations>")
    assert (found.spatial, found.flaws) == ([], [])


RELATED = """<relatedItems><relatedItem><creators><creator><creatorName>Foreign</creatorName></creator></creators>
<titles><title>Book</title></titles><publicationYear>1950</publicationYear><publisher>Other</publisher>
<contributors><contributor contributorType="Editor"><contributorName>Ed</contributorName></contributor></contributors>
</relatedItem></relatedItems>"""


def test_a_related_item_is_not_the_dataset():
    alone, found = item("<titles/>"), item(f"{RELATED}<titles/>")
    for name in ("title", "issued", "publisher", "contacts"):
        assert getattr(found, name) == getattr(alone, name)


def test_the_end_of_an_embargo_is_not_when_it_was_issued():
    dates = '<dates><date dateType="Available">2999-01-01</date></dates>'
    found = item(f"<publicationYear>2020</publicationYear>{dates}")
    assert (found.issued, found.flaws) == ("2020", ["the date '2999-01-01' of type Available is in the future"])
    assert item(dates).issued is None


@pytest.mark.parametrize(
    ("uri", "value"),
    [
        ("info:eu-repo/semantics/embargoedAccess", "RESTRICTED"),
        ("http://purl.org/coar/access_right/c_abf2", "PUBLIC"),
        ("info:eu-repo/semantics/otherAccess", "otherAccess"),
    ],
)
def test_access_rights_have_the_words_of_other_formats(uri, value):
    assert item(f'<rightsList><rights rightsURI="{uri}"/></rightsList>').access_rights == value


def test_many_of_everything_is_bounded():
    place = "<geoLocation><geoLocationPoint>53.5 {}</geoLocationPoint></geoLocation>"
    places = "".join(place.format(number / 100) for number in range(5000))
    found = item(f"<geoLocations>{places}</geoLocations><subjects>{'<subject>a</subject>' * 5000}</subjects>")
    assert len(found.spatial) == 1000
    assert found.keywords == ["a"]


def test_another_resource_is_not_datacite():
    text = b'<resource xmlns="http://datacite.org.example.com/"><title>x</title></resource>'
    with pytest.raises(AnswerError):
        xml.dataset(xml.parse(text), source="s", url="https://example.org/1")
