"""ISO 19139 and 19115-3 records into items: each rule of docs/iso.md, in both vocabularies, and what may break it."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from crawlers.exceptions import AnswerError
from crawlers.items import Agent, License, Period, Place
from crawlers.records import xml
from crawlers.records.xml import iso

URL = "https://example.org/record.xml"
GMD = """<gmd:MD_Metadata xmlns:gmd="http://www.isotc211.org/2005/gmd" xmlns:gco="http://www.isotc211.org/2005/gco"
 xmlns:gmx="http://www.isotc211.org/2005/gmx" xmlns:srv="http://www.isotc211.org/2005/srv"
 xmlns:gml="http://www.opengis.net/gml/3.2" xmlns:old="http://www.opengis.net/gml"
 xmlns:xlink="http://www.w3.org/1999/xlink">%s</gmd:MD_Metadata>"""
MDB = """<mdb:MD_Metadata xmlns:mdb="http://standards.iso.org/iso/19115/-3/mdb/2.0"
 xmlns:cit="http://standards.iso.org/iso/19115/-3/cit/2.0" xmlns:mcc="http://standards.iso.org/iso/19115/-3/mcc/1.0"
 xmlns:mri="http://standards.iso.org/iso/19115/-3/mri/1.0" xmlns:gco="http://standards.iso.org/iso/19115/-3/gco/1.0"
 xmlns:mco="http://standards.iso.org/iso/19115/-3/mco/1.0" xmlns:gcx="http://standards.iso.org/iso/19115/-3/gcx/1.0"
 xmlns:lan="http://standards.iso.org/iso/19115/-3/lan/1.0" xmlns:gex="http://standards.iso.org/iso/19115/-3/gex/1.0"
 xmlns:mrd="http://standards.iso.org/iso/19115/-3/mrd/1.0" xmlns:mmi="http://standards.iso.org/iso/19115/-3/mmi/1.0"
 xmlns:mdq="http://standards.iso.org/iso/19157/-2/mdq/1.0" xmlns:mrl="http://standards.iso.org/iso/19115/-3/mrl/2.0"
 xmlns:gml="http://www.opengis.net/gml/3.2" xmlns:xlink="http://www.w3.org/1999/xlink">%s</mdb:MD_Metadata>"""


def text(name, value, prefix="gmd"):
    return f"<{prefix}:{name}><gco:CharacterString>{value}</gco:CharacterString></{prefix}:{name}>"


def anchor(name, href, value="", prefix="gmd", anchors="gmx"):
    return f'<{prefix}:{name}><{anchors}:Anchor xlink:href="{href}">{value}</{anchors}:Anchor></{prefix}:{name}>'


def code(name, value, prefix="gmd"):
    return f'<{prefix}:{name}><{prefix}:Code codeList="x" codeListValue="{value}"/></{prefix}:{name}>'


def in_(path, inner, prefix="gmd"):
    """The inner text below the elements that a path names."""
    for name in reversed(path.split("/")):
        tag = name if ":" in name else f"{prefix}:{name}"
        inner = f"<{tag}>{inner}</{tag}>"
    return inner


def dated(what, value):
    return in_("date/CI_Date", f"<gmd:date><gco:Date>{value}</gco:Date></gmd:date>{code('dateType', what)}")


def about(inner="", citation="", more=""):
    """A record of a dataset: what its identification and its citation have, and what stands beside them."""
    cited = in_("citation/CI_Citation", text("title", "Soils") + citation)
    return GMD % (text("fileIdentifier", "s-1") + in_("identificationInfo/MD_DataIdentification", cited + inner) + more)


def link(url, *, protocol="", function="", name="", description=""):
    parts = f"<gmd:linkage><gmd:URL>{url.replace('&', '&amp;')}</gmd:URL></gmd:linkage>"
    parts += text("protocol", protocol) + text("name", name) + text("description", description)
    return in_("onLine/CI_OnlineResource", parts + (code("function", function) if function else ""))


def distributed(*links, size="", formats=""):
    size = f"<gmd:transferSize><gco:Real>{size}</gco:Real></gmd:transferSize>" if size else ""
    options = in_("transferOptions/MD_DigitalTransferOptions", size + "".join(links))
    return about(more=in_("distributionInfo/MD_Distribution", formats + options))


def party(name, role, *, email="", person="", url=""):
    contact = in_("address/CI_Address", text("electronicMailAddress", email)) if email else ""
    contact += in_("onlineResource/CI_OnlineResource/linkage/URL", url) if url else ""
    who = (text("organisationName", name) if name else "") + (text("individualName", person) if person else "")
    return in_("CI_ResponsibleParty", who + in_("contactInfo/CI_Contact", contact) + code("role", role))


def box(west, south, east, north):
    sides = {"westBoundLongitude": west, "eastBoundLongitude": east}
    sides |= {"southBoundLatitude": south, "northBoundLatitude": north}
    decimals = "".join(in_(f"{name}/gco:Decimal", str(value)) for name, value in sides.items())
    return in_("extent/EX_Extent/geographicElement/EX_GeographicBoundingBox", decimals)


def timed(inner, extent="gmd:extent"):
    return in_(f"{extent}/gmd:EX_Extent/gmd:temporalElement/gmd:EX_TemporalExtent/gmd:extent", inner)


def mapped(body, **given):
    return xml.dataset(xml.parse(body.encode()), source="s", url=URL, **given)


# Which record it is


def test_the_id_is_the_records_own():
    assert mapped(about()).id == "s-1"
    assert mapped(about().replace("s-1", "{A-b}")).id == "A-b"
    assert mapped(about().replace("s-1", " ")).id == URL
    assert mapped(about(), id="other").id == "other"


def test_an_id_of_the_protocol_is_that_of_the_resources_too():
    item = mapped(distributed(link("https://example.org/a.csv")), id="other")
    assert [each.dataset_id for each in item.resources] == ["other"]


@pytest.mark.parametrize("root", ["gmi:MI_Metadata", "che:CHE_MD_Metadata", "my:MD_Metadata"])
def test_a_profile_has_a_root_of_its_own(root):
    body = about().replace("gmd:MD_Metadata xmlns", f'{root} xmlns:{root.partition(":")[0]}="urn:profile" xmlns')
    item = mapped(body.replace("/gmd:MD_Metadata", f"/{root}"))
    assert (item.id, item.title, item.metadata_source) == ("s-1", "Soils", "iso19139")


def test_elements_of_a_profile_are_read_by_their_local_names():
    body = about().replace("gmd:MD_DataIdentification", "x:X_DataIdentification")
    assert mapped(body.replace("xmlns:gmd", 'xmlns:x="urn:profile" xmlns:gmd')).title == "Soils"


@pytest.mark.parametrize("namespace", ["urn:unknown", "http://www.isotc211.org/2005/gmd2", ""])
def test_a_vocabulary_that_is_unknown_is_not_guessed(namespace):
    with pytest.raises(AnswerError, match="unknown namespace") as refused:
        mapped(about().replace("http://www.isotc211.org/2005/gmd", namespace or "urn:empty"))
    assert refused.value.kind == "unsupported"


@pytest.mark.parametrize(
    ("codes", "scope"), [((), "dataset"), (("service",), "service"), (("series", "dataset"), "series")]
)
def test_what_a_record_is_about(codes, scope):
    levels = "".join(code("hierarchyLevel", each) for each in codes)
    root = xml.parse(about(more=levels).encode())
    assert (iso.scope(root), xml.scope(root)) == (scope, scope)
    assert mapped(about(more=levels)).title == "Soils"


@pytest.mark.parametrize("what", ["model", "software", "featureCatalogue"])
def test_a_record_that_describes_no_data_is_unsupported(what):
    with pytest.raises(AnswerError, match=what) as refused:
        mapped(about(more=code("hierarchyLevel", what)))
    assert refused.value.kind == "unsupported"
    with pytest.raises(AnswerError, match=what):
        xml.lazily(xml.parse(about(more=code("hierarchyLevel", what)).encode()), source="s", url=URL)
    assert mapped(about(more=code("hierarchyLevel", what) + code("hierarchyLevel", "dataset"))).title == "Soils"


# Identifiers, texts, dates


@pytest.mark.parametrize(
    ("identifiers", "identifier", "uri"),
    [
        ([text("code", "a-1")], "a-1", None),
        ([text("code", "https://example.org/a")], "https://example.org/a", "https://example.org/a"),
        ([anchor("code", "https://example.org/a", "a")], "https://example.org/a", "https://example.org/a"),
        ([text("code", "a") + text("codeSpace", "https://example.org/")], *["https://example.org/a"] * 2),
        ([text("code", "a") + text("codeSpace", "org/")], "a", None),
        ([text("code", "https://a.org/1") + text("codeSpace", "x")], "https://a.org/1", "https://a.org/1"),
        ([text("code", "a"), text("code", "https://example.org/a")], "a", "https://example.org/a"),
        ([text("code", "") + text("codeSpace", "doi.org")], None, None),
    ],
)
def test_identifiers(identifiers, identifier, uri):
    item = mapped(about(citation="".join(in_("identifier/MD_Identifier", each) for each in identifiers)))
    assert (item.id, item.identifier, item.uri) == ("s-1", identifier, uri)


def test_the_address_of_the_data_is_its_uri():
    assert mapped(about(more=text("dataSetURI", "https://example.org/d"))).uri == "https://example.org/d"


def test_dates_by_their_type():
    item = mapped(about(citation=dated("creation", "1999") + dated("publication", "2020-03") + dated("revision", 2022)))
    assert (item.issued, item.modified) == ("2020-03", "2022")
    item = mapped(
        about(citation=dated("creation", "1999") + dated("revision", "2021") + dated("revision", "2022-05-06"))
    )
    assert (item.issued, item.modified) == ("1999", "2022-05-06")
    item = mapped(about(citation=dated("publication", "lately") + dated("revision", "2999-01-01")))
    assert (item.issued, item.modified) == (None, None)
    assert item.flaws == ["issued 'lately' is no date", "modified '2999-01-01' is in the future"]


def test_the_stamp_is_the_records_own_letter_for_letter():
    item = mapped(about(more=in_("dateStamp/gco:DateTime", "2020-03-04T05:06:07.1+02:00")))
    assert (item.metadata_modified, item.modified) == ("2020-03-04T05:06:07.1+02:00", None)


def test_what_is_nil_is_absent():
    nil = '<gmd:edition gco:nilReason="missing"><gco:CharacterString>unknown</gco:CharacterString></gmd:edition>'
    assert mapped(about(citation=nil)).version is None
    assert mapped(about(citation=text("edition", "3"))).version == "3"


def test_texts():
    long = "One.\n\nTwo &lt;b&gt;bold&lt;/b&gt;"
    item = mapped(about(text("abstract", long) + text("purpose", "To know.")))
    assert item.description.split() == ["One.", "Two", "**bold**"]
    assert mapped(about(text("purpose", "To know."))).description == "To know."
    assert mapped(about().replace("Soils", "Soils \n  of\tthe land")).title == "Soils of the land"
    assert mapped(about().replace("Soils", "")).flaws == ["the record has no title"]


def locale(id_, language):
    return f'<gmd:locale><gmd:PT_Locale id="{id_}">{code("languageCode", language)}</gmd:PT_Locale></gmd:locale>'


def translated(name, own, **others):
    free = "".join(
        f'<gmd:textGroup><gmd:LocalisedCharacterString locale="#{id_}">{value}</gmd:LocalisedCharacterString>'
        "</gmd:textGroup>"
        for id_, value in others.items()
    )
    return in_(name, f"<gco:CharacterString>{own}</gco:CharacterString>" + in_("PT_FreeText", free))


@pytest.mark.parametrize(
    ("language", "title"), [(None, "Böden"), ("fr", "Sols"), ("it-CH", "Suoli"), ("de", "Böden"), ("ja", "Böden")]
)
def test_translations(language, title):
    more = locale("FR", "fre") + locale("L2", "ita")
    body = about(more=more).replace(text("title", "Soils"), translated("title", "Böden", FR="Sols", L2="Suoli"))
    assert mapped(body, language=language).title == title


def test_a_text_that_is_only_translated():
    body = about().replace(text("title", "Soils"), translated("title", "", FR="Sols", DE="Böden"))
    assert (mapped(body).title, mapped(body, language="de").title) == ("Sols", "Böden")


def test_languages_of_the_data_else_of_the_record():
    own = text("language", "eng; CAN") + code("language", "fre") + code("language", "fra") + text("language", "Deutsch")
    assert mapped(about(own, more=code("language", "ita"))).languages == ["en", "fr", "de"]
    assert mapped(about(more=code("language", "ita"))).languages == ["it"]


# Parties


def test_publisher_by_role():
    contacts = {role: in_("pointOfContact", party(role.title(), role)) for role in ("owner", "publisher", "custodian")}
    assert mapped(about("".join(contacts.values()))).publisher == Agent(name="Publisher", role="publisher")
    assert mapped(about(contacts["custodian"] + contacts["owner"])).publisher == Agent(name="Owner", role="publisher")
    assert mapped(about(contacts["custodian"])).publisher == Agent(name="Custodian", role="publisher")
    cited = in_("citedResponsibleParty", party("Cited", "publisher"))
    assert mapped(about(contacts["owner"], citation=cited)).publisher == Agent(name="Cited", role="publisher")
    assert mapped(about(more=in_("contact", party("Office", "pointOfContact")))).publisher is None


def test_contacts_are_all_kept():
    one, two = party("A", "author", email="a@example.org"), party("", "author", person="B. C.", url="https://b.example")
    distributor = in_("distributionInfo/MD_Distribution/distributor/MD_Distributor/distributorContact", party("D", "x"))
    of_a_format = in_("distributionInfo/MD_Distribution/distributionFormat/MD_Format", in_("name/gco:X", "SHP"))
    of_a_format += in_(
        "distributionInfo/MD_Distribution/distributionFormat/MD_Format/formatDistributor/MD_Distributor"
        "/distributorContact",
        party("Maker of the format", "publisher"),
    )
    inner = in_("pointOfContact", one) + in_("pointOfContact", two) + in_("pointOfContact", one)
    item = mapped(about(inner, more=in_("contact", party("M", "pointOfContact")) + distributor + of_a_format))
    assert item.contacts == [
        Agent(name="A", email="a@example.org", role="creator"),
        Agent(name="B. C.", url="https://b.example", role="creator"),
        Agent(name="M", role="contact"),
        Agent(name="D", role="x"),
    ]


# Keywords, themes, standards


def keywords(*words, thesaurus="", kind=""):
    named = in_("thesaurusName/CI_Citation", thesaurus) if thesaurus else ""
    inner = "".join(words) + (code("type", kind) if kind else "") + named
    return in_("descriptiveKeywords/MD_Keywords", inner)


def test_keywords_and_places():
    item = mapped(about(keywords(text("keyword", "soil, clay"), text("keyword", " "), text("keyword", "soil, clay"))))
    assert item.keywords == ["soil, clay"]
    item = mapped(about(keywords(text("keyword", "rain; snow"), text("keyword", "one, two, three, four"))))
    assert item.keywords == ["rain", "snow", "one", "two", "three", "four"]
    item = mapped(about(keywords(text("keyword", "Elbe"), kind="place") + keywords(text("keyword", "Elbe"))))
    assert (item.keywords, item.spatial) == (["Elbe"], [Place(name="Elbe")])


@pytest.mark.parametrize(
    ("inner", "themes"),
    [
        (keywords(text("keyword", "Bodennutzung"), thesaurus=text("title", "GEMET - INSPIRE themes, version 1.0")),
         ["Bodennutzung", "INSPIRE"]),
        (keywords(anchor("keyword", "http://inspire.ec.europa.eu/theme/lu")), ["INSPIRE", "Land use"]),
        (keywords(anchor("keyword", "http://data.europa.eu/bna/c_ac64a52d", "Géospatiales")), ["Géospatiales", "hvd"]),
        (keywords(text("keyword", "Mobility"), thesaurus=text("title", "High-value dataset categories")),
         ["hvd", "Mobility"]),
        (in_("topicCategory/MD_TopicCategoryCode", "farming\n oceans"), ["Farming", "Oceans"]),
        (in_("topicCategory/MD_TopicCategoryCode", "environment_Nature"), ["Environment"]),
        (in_("topicCategory/MD_TopicCategoryCode", "mars"),
         ["http://inspire.ec.europa.eu/metadata-codelist/TopicCategory/mars"]),
        (keywords(text("keyword", "soil"), thesaurus=text("title", "GEMET - Concepts, version 2.4")), []),
    ],
)  # fmt: skip
def test_themes(inner, themes):
    assert mapped(about(inner)).themes == themes


def conformity(passed, title):
    result = in_("specification/CI_Citation", title) + in_("pass/gco:Boolean", passed)
    return in_("dataQualityInfo/DQ_DataQuality/report/DQ_DomainConsistency/result/DQ_ConformanceResult", result)


def test_only_what_passed_is_conformity():
    more = conformity("true", text("title", "A")) + conformity("false", text("title", "B"))
    more += conformity("", text("title", "C")) + conformity("1", anchor("title", "https://example.org/d", "D"))
    assert mapped(about(more=more)).conforms_to == ["A", "https://example.org/d"]


def test_provenance():
    more = in_("dataQualityInfo/DQ_DataQuality/lineage/LI_Lineage", text("statement", "Measured."))
    assert mapped(about(more=more)).provenance == "Measured."


@pytest.mark.parametrize(
    ("word", "found"),
    [
        *(("continual", "CONT"), ("daily", "DAILY"), ("weekly", "WEEKLY"), ("fortnightly", "BIWEEKLY")),
        *(("semimonthly", "MONTHLY_2"), ("monthly", "MONTHLY"), ("quarterly", "QUARTERLY")),
        *(("biannually", "ANNUAL_2"), ("annually", "ANNUAL"), ("biennially", "BIENNIAL")),
        *(("asNeeded", "AS_NEEDED"), ("irregular", "IRREG"), ("notPlanned", "NOT_PLANNED")),
        *(("unknown", "UNKNOWN"), ("periodic", "OTHER"), ("whenever", None)),
    ],
)
def test_frequencies(word, found):
    inner = in_("resourceMaintenance/MD_MaintenanceInformation", code("maintenanceAndUpdateFrequency", word))
    assert mapped(about(inner)).frequency == found


def test_a_frequency_of_the_publishers_own():
    inner = in_("resourceMaintenance/X/userDefinedMaintenanceFrequency/TM_PeriodDuration", "P1Y")
    assert mapped(about(inner)).frequency == "ANNUAL"


# Terms


def legal(*limits, use=(), access=(), both=()):
    found = "".join(in_("resourceConstraints/MD_Constraints", limit) for limit in limits)
    names = (("useConstraints",), ("accessConstraints",), ("accessConstraints", "useConstraints"))
    for codes, others in zip(names, (use, access, both), strict=True):
        inner = "".join(code(each, "otherRestrictions") for each in codes) + "".join(others)
        found += in_("resourceConstraints/MD_LegalConstraints", inner) if others else ""
    return found


def other(value):
    return text("otherConstraints", value)


CODES = "http://inspire.ec.europa.eu/metadata-codelist"
CC_BY = "https://creativecommons.org/licenses/by/4.0/"
DL_DE = '{ "id": "dl-by-de/2.0", "url": "https://www.govdata.de/dl-de/by-2-0", "quelle": "Amt" }'


@pytest.mark.parametrize(
    ("inner", "id_", "uri"),
    [
        (legal(use=[anchor("otherConstraints", CC_BY, "Frei")]), "CC-BY-4.0", CC_BY),
        (legal(use=[other("Frei nach " + CC_BY + ".")]), "CC-BY-4.0", CC_BY),
        (legal(use=[other("Nennung: Amt"), other(DL_DE)]), "DL-DE-BY-2.0", "https://www.govdata.de/dl-de/by-2-0"),
        (legal(use=[anchor("otherConstraints", "https://example.org/terms", "T")]), None, "https://example.org/terms"),
        (legal(text("useLimitation", "Licence: " + CC_BY)), "CC-BY-4.0", CC_BY),
        (legal(text("useLimitation", "cc-by-4.0"), use=[other("Nennung")]), "CC-BY-4.0", None),
        (legal(both=[other(CC_BY)]), "CC-BY-4.0", CC_BY),
        (legal(text("useLimitation", "Licence Ouverte: https://e.org/lo")), None, "https://e.org/lo"),
        (legal(text("useLimitation", "Not for navigation. Licence: " + CC_BY)), "CC-BY-4.0", CC_BY),
        (legal(use=[other("This is NOT under " + CC_BY)]), None, None),
    ],
)
def test_licences(inner, id_, uri):
    found = mapped(about(inner)).license
    assert (found.id, found.uri) == (id_, uri)


@pytest.mark.parametrize(
    ("inner", "license_", "rights"),
    [
        (legal(use=[other("Only on Sundays")]), License(title="Only on Sundays"), None),
        (legal(text("useLimitation", "Not for navigation")), None, "Not for navigation"),
        (legal(text("useLimitation", "None")), None, None),
        (legal(text("useLimitation", "Not to be used for navigation. See https://example.org/disclaimer")),
         None, "Not to be used for navigation. See https://example.org/disclaimer"),
        (legal(text("useLimitation", "This is NOT under " + CC_BY)), None, "This is NOT under " + CC_BY),
        (legal(use=[anchor("otherConstraints", f"{CODES}/ConditionsApplyingToAccessAndUse/noConditionsApply", "No")]),
         None, "No"),
        (legal(use=[other("conditionsUnknown")]), None, "conditionsUnknown"),
        (in_("resourceConstraints/MD_SecurityConstraints", code("classification", "restricted")), None, "restricted"),
        (in_("resourceConstraints/MD_SecurityConstraints", code("classification", "unclassified")), None, None),
    ],
)  # fmt: skip
def test_what_is_no_licence(inner, license_, rights):
    item = mapped(about(inner))
    assert (item.license, item.rights) == (license_, rights)


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        (
            legal(access=[anchor("otherConstraints", f"{CODES}/LimitationsOnPublicAccess/noLimitations", "Free")]),
            "PUBLIC",
        ),
        (
            legal(both=[anchor("otherConstraints", f"{CODES}/LimitationsOnPublicAccess/noLimitations", "Free")]),
            "PUBLIC",
        ),
        (legal(access=[other("noLimitations")]), "PUBLIC"),
        (legal(access=[anchor("otherConstraints", f"{CODES}/LimitationsOnPublicAccess/x_1e", "Art. 13")]), "Art. 13"),
        (legal(access=[other("On request"), other("For staff")]), "On request\n\nFor staff"),
        (legal(use=[other("Free")]), None),
    ],
)
def test_access_rights(inner, found):
    assert mapped(about(inner)).access_rights == found


# Extents


def test_boxes():
    assert [each.geometry["type"] for each in mapped(about(box(1, 2, 3, 4) * 2)).spatial] == ["Polygon"]
    one, two = mapped(about(box(1, 2, 3, 4) + box("5,5", "6", "7", "8"))).spatial
    assert one.geometry["coordinates"] == [[[1.0, 2.0], [3.0, 2.0], [3.0, 4.0], [1.0, 4.0], [1.0, 2.0]]]
    assert two.geometry["coordinates"][0][0] == [5.5, 6.0]
    assert mapped(about(box(1, 4, 3, 2))).spatial == [one], "south and north swapped"
    assert mapped(about(box(5, 5, 5, 5))).spatial[0].geometry == {"type": "Point", "coordinates": [5.0, 5.0]}


def test_a_box_across_the_antimeridian_is_two_polygons():
    found = mapped(about(box(170, -10, -170, 10))).spatial[0].geometry
    assert found["type"] == "MultiPolygon"
    pacific = mapped(about(box(100, -40, -70, 40))).spatial[0].geometry
    assert pacific["type"] == "MultiPolygon"
    assert sorted(polygon[0][0] for polygon in found["coordinates"]) == [[-180.0, -10.0], [170.0, -10.0]]


@pytest.mark.parametrize(
    ("sides", "fault"),
    [
        ((0, 0, 0, 0), "is 0 on all sides"),
        ((3.28, 49, 1.31, 50), "has its west east of its east"),
        ((1, 100, 3, 110), "sides are swapped"),
        ((200, 1, 300, 2), "sides are swapped"),
        ((1, 2, 3, "north"), "is not four numbers"),
        (("nan", 2, 3, 4), "is not four numbers"),
        ((1, 2, 3, ""), "is not four numbers"),
        (("1e999", 2, 3, 4), "is not four numbers"),
    ],
)
def test_boxes_that_are_wrong_are_flaws(sides, fault):
    item = mapped(about(box(*sides)))
    assert item.spatial == []
    assert fault in item.flaws[0]


def test_what_a_box_leaves_out_is_no_place():
    inside = box(1, 2, 3, 4).replace("<gmd:west", in_("extentTypeCode/gco:Boolean", "false") + "<gmd:west")
    assert mapped(about(inside)).spatial == []


def test_places_by_their_code():
    path = "extent/EX_Extent/geographicElement/EX_GeographicDescription/geographicIdentifier/MD_Identifier"
    assert mapped(about(in_(path, text("code", "Graz")))).spatial == [Place(name="Graz")]
    named = mapped(about(in_(path, anchor("code", "https://example.org/graz", "Graz")))).spatial
    assert named == [Place(name="Graz", uri="https://example.org/graz")]


def spanned(start, end, gml="gml"):
    return f"<{gml}:TimePeriod>{start}{end}</{gml}:TimePeriod>"


BEGIN, END = "<gml:beginPosition>2010</gml:beginPosition>", "<gml:endPosition>2012-05</gml:endPosition>"
OLD = "<old:beginPosition>2001-02-03</old:beginPosition>"
NOW = '<gml:endPosition indeterminatePosition="now"/>'
UNKNOWN = '<gml:beginPosition indeterminatePosition="unknown">unknown</gml:beginPosition>'
INSTANT = "<gml:TimeInstant><gml:timePosition>2015-06</gml:timePosition></gml:TimeInstant>"


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        (timed(spanned(BEGIN, END)), Period(start="2010", end="2012-05")),
        (timed(spanned(BEGIN, END), "srv:extent"), Period(start="2010", end="2012-05")),
        (timed(spanned(BEGIN, NOW)), Period(start="2010")),
        (timed(spanned(UNKNOWN, END)), Period(end="2012-05")),
        (timed(spanned(OLD, "", "old")), Period(start="2001-02-03")),
        (timed(INSTANT), Period(start="2015-06", end="2015-06")),
        (timed(spanned(f"<gml:begin>{INSTANT}</gml:begin>", "")), Period(start="2015-06")),
        (timed(spanned(BEGIN, END)) + timed(INSTANT), Period(start="2010", end="2015-06")),
        (timed(spanned(BEGIN, NOW)) + timed(INSTANT), Period(start="2010")),
    ],
)
def test_periods(inner, found):
    item = mapped(about(inner))
    assert (item.temporal, item.flaws) == (found, [])


def test_periods_that_are_wrong_are_flaws():
    start = "<gml:beginPosition>in spring</gml:beginPosition>"
    item = mapped(about(timed(spanned(start, "")) + timed(spanned(BEGIN, END.replace("2012", "2001")))))
    assert item.temporal is None
    assert item.flaws == [
        "the period's beginPosition 'in spring' is no date",
        "the period from 2010 to 2001-05 ends before it starts",
    ]


# Links


@pytest.mark.parametrize(
    ("given", "format_"),
    [
        (link("https://example.org/x", function="download"), None),
        (link("https://example.org/x", function="offlineAccess"), None),
        (link("https://example.org/x", function="order"), None),
        (link("https://example.org/ows", protocol="OGC:WMS"), "WMS"),
        (link("https://example.org/ows", protocol="OGC:WMS-1.1.1-http-get-map"), "WMS"),
        (link("https://example.org/ows", protocol="OGC Web Map Service"), "WMS"),
        (link("https://example.org/ows", protocol="OGC Web Feature Service"), "WFS"),
        (link("https://example.org/a.zip", protocol="WWW:DOWNLOAD-1.0-http--download"), "ZIP"),
        (link("https://example.org/rest", protocol="ESRI:REST"), "ESRI REST"),
        (link("https://example.org/a", protocol="FILE:GEO"), None),
        (link("https://example.org/feed", protocol="INSPIRE Atom"), "ATOM"),
        (link("https://example.org/a", protocol="DB:POSTGIS"), None),
        (link("https://example.org/?SERVICE=WFS&request=GetCapabilities"), "WFS"),
        (link("https://example.org/x?service=wms"), "WMS"),
        (link("https://example.org/data.CSV?v=2#top"), "CSV"),
        (link("https://example.org/data.gpkg", protocol="WWW:LINK-1.0-http--link"), "GPKG"),
    ],
)
def test_links_that_are_resources(given, format_):
    item = mapped(distributed(given))
    assert [each.format for each in item.resources] == [format_]
    assert item.landing_page is None


@pytest.mark.parametrize(
    "given",
    [
        link("https://example.org/x"),
        link("https://example.org/x", protocol="WWW:LINK-1.0-http--link"),
        link("https://example.org/x", protocol="WWW:LINK", function="information"),
        link("https://example.org/x", function="browsing"),
        link("https://example.org/x", function="search"),
    ],
)
def test_links_that_are_pages(given):
    item = mapped(distributed(given, link("https://example.org/second")))
    assert (item.resources, item.landing_page) == ([], "https://example.org/x")


@pytest.mark.parametrize(
    ("address", "function", "protocol"),
    [
        ("https://e.org/meta.xml", "completeMetadata", ""),
        ("https://e.org/readme.txt", "information", "WWW:LINK"),
        ("https://e.org/page.html", "information", "WWW:DOWNLOAD-1.0-http--download"),
        ("https://e.org/find.csv", "search", ""),
    ],
)
def test_a_file_that_tells_of_the_data_is_no_resource(address, function, protocol):
    item = mapped(distributed(link(address, function=function, protocol=protocol)))
    assert (item.resources, item.landing_page) == ([], address)


def test_an_address_without_a_scheme_is_read_and_a_path_is_none():
    item = mapped(distributed(link("www.a.org/x.zip"), link("//server/x.shp")))
    assert [each.url for each in item.resources] == ["http://www.a.org/x.zip"]
    assert not item.flaws


def test_a_page_is_preferred_to_what_does_not_say_what_it_is():
    links = (link("https://e.org/m", function="completeMetadata"), link("https://e.org/x"))
    page = link("https://e.org/p", protocol="WWW:LINK-1.0-http--link")
    assert mapped(distributed(*links, page)).landing_page == "https://e.org/p"
    assert mapped(distributed(*links)).landing_page == "https://e.org/x"
    assert mapped(distributed(links[0])).landing_page == "https://e.org/m"


def test_links_that_are_neither():
    item = mapped(
        distributed(link("javascript:x()"), link(""), link("https://example.org/t.png", protocol="image/png"))
    )
    assert (item.resources, item.landing_page) == ([], None)


def test_a_resource():
    shapes = in_("distributionFormat/MD_Format", text("name", "ESRI Shapefile"))
    given = link("https://example.org/a.zip", function="download", name="Shapes", description="All of them")
    [found] = mapped(distributed(given, size="1,5", formats=shapes)).resources
    assert (found.title, found.description, found.size) == ("Shapes", "All of them", 1_500_000)
    assert (found.url, found.download_url) == ("https://example.org/a.zip", "https://example.org/a.zip")
    assert found.format == "ESRI Shapefile"


def test_a_format_by_its_media_type():
    media_type = "https://www.iana.org/assignments/media-types/application/gml+xml"
    gml = in_("distributionFormat/MD_Format", anchor("name", media_type))
    [zipped, table] = mapped(
        distributed(link("https://e.org/a.zip"), link("https://e.org/a.csv"), formats=gml)
    ).resources
    assert (zipped.format, zipped.media_type) == ("GML", "application/gml+xml")
    assert (table.format, table.media_type) == ("CSV", None)


def test_one_of_several_formats_is_not_guessed():
    formats = "".join(in_("distributionFormat/MD_Format", text("name", name)) for name in ("SHP", "DXF"))
    [found] = mapped(distributed(link("https://example.org/x", function="download"), formats=formats)).resources
    assert found.format is None


def test_the_size_of_several_links_is_not_that_of_each():
    item = mapped(distributed(link("https://example.org/a.csv"), link("https://example.org/b.csv"), size="3"))
    assert [each.size for each in item.resources] == [None, None]


def test_the_id_of_a_resource_is_its_address_and_its_name():
    first, second = link("https://example.org/a.csv", name="A"), link("https://example.org/a.csv", name="B")
    ids = [each.id for each in mapped(distributed(first, second)).resources]
    assert len(set(ids)) == 2
    assert [each.id for each in mapped(distributed(second, first)).resources] == ids[::-1]
    assert [each.id for each in mapped(distributed(first, first)).resources] == ids[:1]
    other_protocol = link("https://example.org/a.csv", name="A", protocol="WWW:DOWNLOAD")
    assert [each.id for each in mapped(distributed(first, other_protocol)).resources] == [ids[0], f"{ids[0]}-2"]


def test_the_addresses_of_a_service():
    operations = "".join(
        in_("srv:containsOperations/srv:SV_OperationMetadata/srv:connectPoint/CI_OnlineResource/linkage/URL", url)
        for url in ("https://example.org/ows?service=wfs", "https://example.org/ows?service=wfs", "https://e.org/b")
    )
    body = about(operations, more=code("hierarchyLevel", "service"))
    item = mapped(body.replace("gmd:MD_DataIdentification", "srv:SV_ServiceIdentification"))
    assert [(each.url, each.format) for each in item.resources] == [
        ("https://example.org/ows?service=wfs", "WFS"),
        ("https://e.org/b", None),
    ]


# 19115-3


def mdb(name, inner, prefix="mdb"):
    return in_(name, inner, prefix)


def test_a_record_of_19115_3():
    made = mdb("metadataIdentifier/mcc:MD_Identifier", text("code", "m-1", "mcc"))
    made += mdb("defaultLocale/lan:PT_Locale", code("language", "eng", "lan"))
    for what, when in (("creation", "2001"), ("revision", "2020-01-02T03:04:05")):
        made += mdb("dateInfo/cit:CI_Date", in_("cit:date/gco:DateTime", when) + code("dateType", what, "cit"))
    made += mdb("metadataScope/mdb:MD_MetadataScope", code("resourceScope", "series", "mdb"))
    citation = text("title", "Soils", "cit") + text("edition", "2", "cit")
    citation += in_("identifier/mcc:MD_Identifier", anchor("code", "https://e.org/1", "1", "mcc", "gcx"), "cit")
    citation += in_("date/CI_Date", in_("date/gco:Date", "2019", "cit") + code("dateType", "publication", "cit"), "cit")
    person = in_("individual/CI_Individual", text("name", "B", "cit"), "cit")
    mail = in_("contactInfo/CI_Contact/address/CI_Address", text("electronicMailAddress", "a@e.org", "cit"), "cit")
    body = in_("party/CI_Organisation", text("name", "Amt", "cit") + mail + person, "cit") + code(
        "role", "owner", "cit"
    )
    inner = in_("mri:citation/cit:CI_Citation", citation) + text("abstract", "What", "mri")
    inner += in_("mri:pointOfContact/cit:CI_Responsibility", body)
    inner += in_("mri:descriptiveKeywords/mri:MD_Keywords", text("keyword", "clay", "mri"))
    inner += in_("mri:topicCategory/mri:MD_TopicCategoryCode", "farming")
    inner += in_("mri:defaultLocale/lan:PT_Locale", code("language", "ger", "lan"))
    reference = text("title", "CC BY 4.0", "cit") + in_(
        "onlineResource/CI_OnlineResource", text("linkage", CC_BY, "cit"), "cit"
    )
    legal_ = code("useConstraints", "license", "mco") + in_("mco:reference/cit:CI_Citation", reference)
    inner += in_("mri:resourceConstraints/mco:MD_LegalConstraints", legal_)
    sides = zip(
        ("westBoundLongitude", "eastBoundLongitude", "southBoundLatitude", "northBoundLatitude"), "1324", strict=True
    )
    corners = "".join(in_(f"gex:{name}/gco:Decimal", value) for name, value in sides)
    inner += in_("mri:extent/gex:EX_Extent/gex:geographicElement/gex:EX_GeographicBoundingBox", corners)
    inner += in_("mri:extent/gex:EX_Extent/gex:temporalElement/gex:EX_TemporalExtent/gex:extent", spanned(BEGIN, END))
    upkeep = code("maintenanceAndUpdateFrequency", "annually", "mmi")
    inner += in_("mri:resourceMaintenance/mmi:MD_MaintenanceInformation", upkeep)
    made += mdb("identificationInfo/mri:MD_DataIdentification", inner)
    online = text("linkage", "https://e.org/ows", "cit") + text("protocol", "OGC:WFS", "cit") + text("name", "n", "cit")
    options = in_("transferOptions/MD_DigitalTransferOptions/onLine/cit:CI_OnlineResource", online, "mrd")
    made += mdb("distributionInfo/mrd:MD_Distribution", options)
    made += mdb("resourceLineage/mrl:LI_Lineage", text("statement", "Dug.", "mrl"))
    result = in_("mdq:specification/cit:CI_Citation", text("title", "S", "cit")) + in_("mdq:pass/gco:Boolean", "true")
    made += mdb("dataQualityInfo/mdq:DQ_DataQuality/mdq:report/mdq:X/mdq:result/mdq:DQ_ConformanceResult", result)
    item = mapped(MDB % made)
    assert (item.id, item.metadata_source, item.metadata_modified) == ("m-1", "iso19115_3", "2020-01-02T03:04:05")
    assert (item.title, item.description, item.version, item.issued) == ("Soils", "What", "2", "2019")
    assert (item.identifier, item.uri, item.languages) == ("https://e.org/1", "https://e.org/1", ["de"])
    assert item.contacts == [Agent(name="Amt", email="a@e.org", role="owner")]
    assert item.publisher == Agent(name="Amt", email="a@e.org", role="publisher")
    assert (item.keywords, item.themes, item.frequency) == (["clay"], ["Farming"], "ANNUAL")
    assert (item.license.id, item.license.uri, item.temporal) == (
        "CC-BY-4.0",
        CC_BY,
        Period(start="2010", end="2012-05"),
    )
    assert item.spatial[0].geometry["coordinates"][0][2] == [3.0, 4.0]
    assert [(each.title, each.format) for each in item.resources] == [("n", "WFS")]
    assert (item.provenance, item.conforms_to, item.flaws) == ("Dug.", ["S"], [])
    assert xml.scope(xml.parse((MDB % made).encode())) == "series"


# Documents


def test_a_document_is_the_element():
    wrapped = f'<csw:SearchResults xmlns:csw="urn:csw">{about()} tail</csw:SearchResults>'
    item = mapped(wrapped)
    assert item.document.startswith(b"<?xml version='1.0' encoding='utf-8'?>\n<gmd:MD_Metadata ")
    assert item.document.endswith(b"</gmd:MD_Metadata>\n")
    assert mapped(wrapped).document == item.document
    again = xml.read(item.document, "s", item.id, URL)
    assert asdict(again) == asdict(item)


def test_a_document_has_only_the_namespaces_that_it_uses():
    def wrapped(namespaces):
        typed = '<gmd:x xsi:type="g:T" a="b"/>'
        inner = about(more=typed)
        return (
            f'<r xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:g="urn:g?a&amp;b" {namespaces}>{inner}</r>'
        )

    first, second = (mapped(wrapped(f'xmlns:n{number}="urn:n{number}"')).document for number in (1, 2))
    assert first == second
    assert b"urn:n" not in first
    root = xml.parse(first)
    assert root.nsmap["g"] == "urn:g?a&b"


def test_a_text_that_is_not_in_its_encoding_is_a_flaw_that_names_the_remedy():
    body = '<?xml version="1.0" encoding="UTF-8"?>' + about().replace("Soils", "B\u00f6den")
    sound = mapped(body)
    assert (sound.title, sound.flaws) == ("B\u00f6den", [])
    answer: list[str] = []
    guessed = xml.dataset(xml.parse(body.encode("latin-1"), flaws=answer), source="s", url=URL)
    assert (guessed.title, guessed.flaws, len(answer)) == ("B\u00f6den", [], 1)  # the answer's flaw is not the record's
    root = xml.parse(body.encode("latin-1").replace(b"\xf6", b"\x81"))
    for given in (xml.dataset, xml.lazily):
        [flaw] = given(root, source="s", url=URL).flaws
        assert "-a encoding=" in flaw
    again = xml.parse(body.encode("latin-1"), encoding="windows-1252")
    assert xml.dataset(again, source="s", url=URL).flaws == []


def test_a_lazy_record_maps_nothing_but_its_id_and_its_stamp(monkeypatch):
    root = xml.parse(about(more=in_("dateStamp/gco:Date", "2020")).encode())
    item = xml.lazily(root, source="s", url=URL, metadata_url=URL)
    known = (item.id, item.name, item.title, item.metadata_modified, item.metadata_source, item.metadata_url)
    assert (*known, item.document[:2]) == ("s-1", None, "Soils", "2020", "iso19139", URL, b"<?")
    assert not item.is_mapped
    whole = xml.dataset(root, source="s", url=URL)
    whole.metadata_url = URL
    assert item == whole
    assert item.is_mapped


def test_a_lazy_record_of_another_format_is_mapped_at_once():
    body = (
        b'<dc xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>T</dc:title><dc:identifier>d</dc:identifier></dc>'
    )
    item = xml.lazily(xml.parse(body), source="s", url=URL, metadata_url=URL)
    assert (item.id, item.title, item.metadata_url, item.is_mapped) == ("d", "T", URL, True)


# What is hostile


def test_entities_never_reach_the_record():
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">%s]>'
    more = "".join(f'<!ENTITY c{n} "{"&b;" * 50}">' for n in range(3)) + '<!ENTITY x SYSTEM "file:///etc/passwd">'
    with pytest.raises(AnswerError) as refused:
        mapped(bomb % more + about().replace("Soils", "&c0;" * 200_000))
    assert refused.value.kind == "unsafe_xml"
    outside = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + about().replace("Soils", "Soils &x;")
    try:
        assert "root:" not in (mapped(outside).title or "")
    except AnswerError as error:
        assert error.kind == "unsafe_xml"  # noqa: PT017


def test_thousands_of_keywords_links_boxes_and_flaws():
    many = range(3_000)
    words = keywords(*(text("keyword", f"k{n}") for n in many))
    boxes = "".join(box(0, 0, 0, 0) + box(n % 100, 0, n % 100 + 1, 1) for n in many)
    body = distributed(*(link(f"https://example.org/{n}.csv") for n in many)).replace(
        "</gmd:MD_DataIdentification>", f"{words}{boxes}</gmd:MD_DataIdentification>"
    )
    item = mapped(body)
    assert (len(item.keywords), len(item.resources), len(item.spatial)) == (3_000, 3_000, 100)
    assert len(item.flaws) <= 21


def test_a_huge_text_and_deep_nesting():
    long = "soil " * 400_000
    assert len(mapped(about(text("abstract", long))).description) > 900_000
    deep = "<gmd:extent>" * 200 + "</gmd:extent>" * 200
    assert mapped(about(deep)).title == "Soils"
    with pytest.raises(AnswerError):
        mapped(about("<gmd:extent>" * 5_000 + "</gmd:extent>" * 5_000))


def test_elements_where_texts_should_be():
    odd = "<gmd:abstract><gmd:a><gmd:b>no text</gmd:b></gmd:a></gmd:abstract><gmd:topicCategory/><gmd:language/>"
    odd += "<gmd:pointOfContact/><gmd:descriptiveKeywords/><gmd:resourceConstraints/><gmd:extent/>"
    item = mapped(about(odd))
    assert (item.description, item.contacts, item.keywords, item.flaws) == (None, [], [], [])
    empty = mapped(GMD % "<gmd:fileIdentifier/>")
    assert (empty.id, empty.flaws) == (URL, ["the record has no title"])
