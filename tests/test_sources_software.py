"""What the software of a catalogue is: by its address, its page, its headers, or none of them; what proves nothing."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from scrapy.http import HtmlResponse, TextResponse

from crawlers.exceptions import AnswerError
from crawlers.operate.sources.detect import MOST, Detection, RefusalError
from tests.conftest import FAST, command, load, scrapy
from tests.site import Answer as Reply
from tests.site import Site

PORTAL = "https://data.example.org"
NOT_THERE = AnswerError("http", "HTTP 404 Not Found")
ODS = {"total_count": 3, "results": [{"dataset_id": "a", "dataset_uid": "da_1"}]}
UDATA = {"id": "x", "title": "T", "metrics": {"datasets": 3}}
HUB = {"type": "FeatureCollection", "numberMatched": 7, "features": [{"properties": {"orgId": "o"}}]}
SOCRATA = {
    "resultSetSize": 9,
    "results": [{"resource": {"id": "abcd-1234"}, "metadata": {"domain": "data.example.org"}}],
}
RECORD = {"hits": {"hits": [{"id": "1", "parent": {"id": "p"}}], "total": 1}}
STAC = {"stac_version": "1.0.0", "conformsTo": ["x"], "links": []}
STATIC = {"stac_version": "1.0.0", "type": "Catalog", "links": [{"rel": "child", "href": "a/collection.json"}]}
MAGDA = {"records": [{"id": "ds-1", "aspects": {}}], "hasMore": False}
MAGDA["records"][0]["aspects"] = {"dcat-dataset-strings": {}}
CSW = '<csw:Capabilities xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" version="2.0.2"/>'
OAI = '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><error code="badVerb">x</error></OAI-PMH>'
SDMX = (
    '<mes:Structure xmlns:mes="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message"><mes:Structures>'
    "<Dataflows><Dataflow"  # its beginning: the list is large
)
OPENDATASOFT, UDATA_SITE = "/api/explore/v2.1/catalog/datasets?limit=1", "/api/1/site/"
HUB_ITEMS = "/api/search/v1/collections/dataset/items?limit=1"
DISCOVERY = "/api/catalog/v1?domains=data.example.org&search_context=data.example.org&limit=1"


def page(body="", url=PORTAL, **headers):
    text = f"<!doctype html><html><body>{body}</body></html>"
    return HtmlResponse(url, headers={"Content-Type": "text/html", **headers}, body=text.encode())


def answer(content, url=PORTAL):
    text = content if isinstance(content, str) else json.dumps(content)
    kind = "application/xml" if text.startswith("<") else "application/json"
    return TextResponse(url, headers={"Content-Type": kind}, body=text.encode())


def detected(url, answers, *kinds, **given):
    """What is found, which addresses were asked for, and the detection."""
    detection = Detection(url, kinds or None, given)
    running, asked = detection.run(), []
    try:
        address = next(running)
        while True:
            asked.append(address)
            address = running.send(answers.get(address, NOT_THERE))
    except StopIteration as end:
        assert len(asked) == len(set(asked)) <= MOST
        return end.value, asked, detection


def software(found):
    return [(one.kind, one.arguments.get("kind"), one.address) for one in found]


# Each by what hints at it


@pytest.mark.parametrize(
    ("url", "first", "probe", "content", "kind", "root"),
    [
        ("https://x.opendatasoft.com/pages/home/", page(), OPENDATASOFT, ODS, "opendatasoft", ""),
        (f"{PORTAL}/explore/dataset/trees/", page(), OPENDATASOFT, ODS, "opendatasoft", ""),
        (f"{PORTAL}/pages/home/", page("<script src=/ods-widgets.js>"), OPENDATASOFT, ODS, "opendatasoft", ""),
        (f"{PORTAL}/fr/x", page(**{"X-Socrata-Region": "aws"}), DISCOVERY, SOCRATA, "socrata", ""),
        (f"{PORTAL}/browse?tags=x", page(), DISCOVERY, SOCRATA, "socrata", ""),
        (f"{PORTAL}/d/abcd-1234", NOT_THERE, DISCOVERY, SOCRATA, "socrata", ""),
        (f"{PORTAL}/pages/x", page("<script>window.__SITE=1"), HUB_ITEMS, HUB, "arcgis-hub", ""),
        ("https://x.hub.arcgis.com/search", page(), HUB_ITEMS, HUB, "arcgis-hub", ""),
        (f"{PORTAL}/api/1/datasets/", NOT_THERE, UDATA_SITE, UDATA, "udata", ""),
        (f"{PORTAL}/datasets/x", page("<link href=/api/1/swagger.json>"), UDATA_SITE, UDATA, "udata", ""),
        (
            *(f"{PORTAL}/x", page("<p>DKAN</p>", **{"X-Generator": "Drupal 10"}), "/api/1/metastore/schemas"),
            *({"dataset": {"title": "x"}, "distribution": {"title": "y"}}, "dkan", ""),
        ),
        (
            *(f"{PORTAL}/dataset.xhtml?persistentId=doi:1", page(), "/api/info/version"),
            *({"status": "OK", "data": {"version": "6.1"}}, "dataverse", ""),
        ),
        (f"{PORTAL}/records/a1b2c", page(), "/api/records?size=1", RECORD, "invenio-rdm", ""),
        (
            *("https://zenodo.org/communities/x", page(), "/api/records?size=1"),
            *({"hits": {"hits": [{"conceptrecid": "1"}]}}, "zenodo", ""),
        ),
        (
            *(f"{PORTAL}/geonetwork/srv/fre/catalog.search", page(), "/geonetwork/srv/api/site"),
            *({"system/platform/name": "geonetwork", "system/platform/version": "4.2.1"}, "geonetwork", "/geonetwork"),
        ),
        (
            *(f"{PORTAL}/geonetwork/", page("GeoNetwork"), "/geonetwork/srv/api/site"),
            *({"system/platform/name": "geonetwork", "system/platform/version": "4.2.1"}, "geonetwork", "/geonetwork"),
        ),
        (
            *("https://data.europa.eu/en", page(), "/api/hub/search/search?limit=0&filter=dataset"),
            *({"result": {"count": 7}}, "eu-hub-search", ""),
        ),
        (
            *(f"{PORTAL}/dataset/ds-1", page(), "/api/v0/registry/records?aspect=dcat-dataset-strings&limit=1"),
            *(MAGDA, "magda", ""),
        ),
    ],
)
def test_a_hint_and_a_proof(url, first, probe, content, kind, root):  # noqa: PLR0917
    host = f"https://{urlsplit(url).netloc}"
    first = first if isinstance(first, AnswerError) else first.replace(url=url)
    found, _, detection = detected(url, {url: first, host + probe: answer(content, host + probe)})
    assert software(found) == [("api", kind, host + root)], detection.notes


@pytest.mark.parametrize(
    ("probe", "content", "kind"),
    [
        (OPENDATASOFT, ODS, "opendatasoft"),
        (UDATA_SITE, UDATA, "udata"),
        (DISCOVERY, SOCRATA, "socrata"),
        (HUB_ITEMS, HUB, "arcgis-hub"),
    ],
)
@pytest.mark.parametrize("first", [page("Welcome"), NOT_THERE, page("Welcome").replace(status=200)])
def test_the_common_ones_need_no_hint(probe, content, kind, first):
    found, _, _ = detected(PORTAL, {PORTAL: first, PORTAL + probe: answer(content)})
    assert software(found) == [("api", kind, PORTAL)]


def test_the_other_doors_are_named():
    found, _, _ = detected(PORTAL, {PORTAL: page(), PORTAL + OPENDATASOFT: answer(ODS)})
    assert f"{PORTAL}/api/explore/v2.1/catalog/exports" in found[0].note
    assert "other ids" in found[0].note


@pytest.mark.parametrize(
    ("url", "content", "kind"),
    [
        (f"{PORTAL}/stac/v1/", STAC, "stac"),
        (f"{PORTAL}/catalog.json", STATIC, "stac-static"),
        (f"{PORTAL}/collections/main?f=json", {"id": "main", "itemType": "record", "links": []}, "ogc-records"),
    ],
)
def test_what_the_address_itself_is(url, content, kind):
    found, asked, _ = detected(url, {url: answer(content, url)})
    assert software(found)[0] == ("api", kind, url.partition("?")[0].rstrip("/"))
    assert len(asked) <= 4


def test_a_landing_page_of_ogc_leads_to_its_collections_of_records():
    landing = {"title": "x", "links": [{"rel": "data", "href": "x"}]}
    collections = {"collections": [{"id": "roads", "itemType": "feature"}, {"id": "a:main", "itemType": "record"}]}
    answers = {f"{PORTAL}/ogc": answer(landing, f"{PORTAL}/ogc")}
    answers[f"{PORTAL}/ogc/collections?f=json"] = answer(collections)
    found, _, _ = detected(f"{PORTAL}/ogc", answers)
    assert software(found) == [("api", "ogc-records", f"{PORTAL}/ogc/collections/a:main")]


def test_a_dkan_1_is_known_by_its_actions():
    record = {"id": "a", "title": "x", "resources": []}
    listed = "/api/3/action/current_package_list_with_resources?limit=1"
    answers = {PORTAL: page("<p>Powered by DKAN</p>"), PORTAL + listed: answer({"success": True, "result": [[record]]})}
    found, asked, _ = detected(PORTAL, answers)
    assert software(found)[0] == ("api", "dkan1", PORTAL)
    assert found[0].note.endswith(f"{PORTAL}/data.json")
    assert len(asked) <= MOST


def test_one_of_several_collections_has_to_be_named():
    landing = {"title": "x", "links": [{"rel": "data", "href": "x"}]}
    collections = {"collections": [{"id": name, "itemType": "record"} for name in ("a", "b")]}
    answers = {f"{PORTAL}/ogc": answer(landing, f"{PORTAL}/ogc")}
    answers[f"{PORTAL}/ogc/collections?f=json"] = answer(collections)
    found, asked, detection = detected(f"{PORTAL}/ogc", answers)
    assert not found
    assert not [address for address in asked if address.endswith(".ttl")]
    both = f"{PORTAL}/ogc/collections/a, {PORTAL}/ogc/collections/b"
    assert detection.choice.endswith(f"has 2 collections of OGC API Records: name one of them: {both}")


def test_features_are_no_records():
    url = f"{PORTAL}/collections/roads"
    content = {"id": "roads", "itemType": "feature", "links": [{"rel": "items", "href": "x"}]}
    assert not detected(url, {url: answer(content, url)})[0]


@pytest.mark.parametrize(
    ("url", "probe", "address"),
    [
        ("/csw", "/csw?service=CSW&request=GetCapabilities", "/csw"),
        ("/x?service=CSW&map=1", "/x?map=1&service=CSW&request=GetCapabilities", "/x?map=1"),
        (
            *("/geonetwork/srv/fre/catalog.search", "/geonetwork/srv/eng/csw?service=CSW&request=GetCapabilities"),
            *("/geonetwork/srv/eng/csw",),
        ),
        ("/csw?request=GetCapabilities&service=CSW", "/csw?request=GetCapabilities&service=CSW", "/csw"),
    ],
)
def test_a_catalogue_service(url, probe, address):
    answers = {PORTAL + probe: answer(CSW, PORTAL + probe)}
    found, _, _ = detected(PORTAL + url, answers if PORTAL + url in answers else {PORTAL + url: page(), **answers})
    assert software(found) == [("csw", None, PORTAL + address)]


@pytest.mark.parametrize(
    ("link", "content", "kind", "address"),
    [
        ("/some/csw?service=CSW&amp;request=GetCapabilities", CSW, "csw", "/some/csw"),
        ("/oai?verb=Identify", OAI, "oai", "/oai"),
    ],
)
def test_a_page_that_links_to_its_service(link, content, kind, address):
    url, home = f"{PORTAL}/about/data", page(f'<a href="/x">x</a> <a href="{link}">Service</a>', f"{PORTAL}/about/data")
    probe = PORTAL + address + {"csw": "?service=CSW&request=GetCapabilities", "oai": "?verb=Identify"}[kind]
    found, _, _ = detected(url, {url: home, probe: answer(content, probe)})
    assert software(found) == [(kind, None, PORTAL + address)]
    assert (kind, None, PORTAL + address) not in software(detected(url, {url: home})[0]), "only with a proof"


def test_a_geonetwork_of_version_3_is_harvested_by_csw():
    url, site = f"{PORTAL}/geonetwork/srv/eng/catalog.search", f"{PORTAL}/geonetwork/srv/api/site"
    csw = f"{PORTAL}/geonetwork/srv/eng/csw?service=CSW&request=GetCapabilities"
    old = {"system/platform/name": "geonetwork", "system/platform/version": "3.12.4"}
    found, _, _ = detected(url, {url: page(url=url), site: answer(old), csw: answer(CSW)})
    assert [one.kind for one in found] == ["csw"]


def test_usual_places_of_a_service_that_is_named():
    csw = f"{PORTAL}/geonetwork/srv/eng/csw?service=CSW&request=GetCapabilities"
    found, _, _ = detected(PORTAL, {PORTAL: page(), csw: answer(CSW)}, "csw")
    assert software(found) == [("csw", None, f"{PORTAL}/geonetwork/srv/eng/csw")]


@pytest.mark.parametrize(
    ("body", "graph"), [('{"boolean": true}', {}), ("<sparql xmlns='http://www.w3.org/2005/sparql-results#'>", {})]
)
@pytest.mark.parametrize("url", ["/sparql", "/virtuoso/sparql?query=x", "/SPARQL/"])
def test_a_sparql_endpoint(url, body, graph):
    body = body if body.startswith("{") else f"{body}<head/><boolean>true</boolean></sparql>"
    root = PORTAL + url.partition("?")[0]

    class Endpoint(dict):
        def get(self, address, default):
            asks = parse_qs(urlsplit(address).query).get("query", [""])[0].startswith("ASK { ?d")
            return answer(body) if asks and address.startswith(root) else default

    found, _, _ = detected(PORTAL + url, Endpoint())
    assert [(one.kind, one.address, dict(one.arguments)) for one in found] == [("sparql", root, graph)]


@pytest.mark.parametrize(
    ("url", "probe", "address"),
    [
        ("/oai2d", "/oai2d?verb=Identify", "/oai2d"),
        ("/ws/oai/provider", "/ws/oai/provider?verb=Identify", "/ws/oai/provider"),
        ("/x?mode=oaipmh&verb=ListSets", "/x?mode=oaipmh&verb=Identify", "/x?mode=oaipmh"),
        ("/oai?verb=Identify", "/oai?verb=Identify", "/oai"),
    ],
)
@pytest.mark.parametrize("status", [200, 422])
def test_a_repository(url, probe, address, status):
    reply = answer(OAI, PORTAL + probe).replace(status=status)
    reply = reply if status == 200 else RefusalError(AnswerError("http", "HTTP 422 x"), reply)
    answers = {PORTAL + url: page(), PORTAL + probe: reply}
    assert software(detected(PORTAL + url, answers)[0]) == [("oai", None, PORTAL + address)]


@pytest.mark.parametrize("url", ["/sdmx/2.1", "/sdmx/2.1/dataflow/all/all/latest", "/sdmx/2.1/data/x"])
def test_an_sdmx_service(url):
    listed = f"{PORTAL}/sdmx/2.1/dataflow/all/all/latest?detail=full&references=none"
    found, _, _ = detected(PORTAL + url, {PORTAL + url: page(), listed: answer(SDMX)})
    assert software(found) == [("sdmx", None, f"{PORTAL}/sdmx/2.1")]


# What proves nothing


LOGIN = page("<form>Log in")


@pytest.mark.parametrize("content", [[], {}, "text", None, {"total_count": 3}, {"results": []}, [[[]]] * 3])
def test_other_json_proves_nothing(content):
    assert detected(PORTAL, {PORTAL: page(), PORTAL + OPENDATASOFT: answer(content)})[0][0].kind == "html"


def test_an_answer_about_another_portal_proves_nothing():
    foreign = json.loads(json.dumps(SOCRATA).replace("data.example.org", "data.elsewhere.org"))
    assert detected(PORTAL, {PORTAL: page(), PORTAL + DISCOVERY: answer(foreign)})[0][0].kind == "html"


@pytest.mark.parametrize("body", [b"", b"{" * 100_000, b"[" * 100_000, b'{"a": ', b"\xff\xfe{", b"null"])
def test_hostile_answers_prove_nothing(body):
    class Anywhere(dict):
        def get(self, address, default):
            return page() if address == PORTAL else TextResponse(address, body=body)

    found, asked, _ = detected(PORTAL, Anywhere())
    assert [one.kind for one in found] == ["html"]
    assert len(asked) <= MOST


def test_a_login_page_everywhere_proves_nothing():
    class Anywhere(dict):
        def get(self, address, default):
            return LOGIN.replace(url=address)

    for url in (PORTAL, f"{PORTAL}/csw", f"{PORTAL}/sparql", f"{PORTAL}/oai", f"{PORTAL}/stac", f"{PORTAL}/d/x"):
        found, _, _ = detected(url, Anywhere())
        assert [one.kind for one in found] == ["html"], url


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("url", ["/explore/", "/csw", "/sparql", "/browse"])
def test_a_probe_that_is_busy_leaves_open_what_is_there(url, status):
    class Busy(dict):
        def get(self, address, default):
            if address == PORTAL + url:
                return page(url=address)
            is_ckan = "package_search" in address
            reply = TextResponse(address, status=status)
            return NOT_THERE if is_ckan else RefusalError(AnswerError("http", f"HTTP {status} x"), reply)

    found, _, detection = detected(PORTAL + url, Busy())
    assert not found
    assert detection.unclear


def test_a_forbidden_probe_is_no_proof_and_no_doubt():
    reply = RefusalError(AnswerError("http", "HTTP 403 Forbidden"), TextResponse(PORTAL, status=403))
    found, _, _ = detected(PORTAL, {PORTAL: page(), PORTAL + OPENDATASOFT: reply})
    assert [one.kind for one in found] == ["html"]


def test_a_hub_without_a_scope_is_not_the_portals_own():
    site = 'window.__SITE={"item": {"data": {"catalogV2": {"scopes": {"item": {}}}}}};'
    answers = {PORTAL: page(f"<script>{site}</script>"), PORTAL + HUB_ITEMS: answer(HUB)}
    found, _, detection = detected(PORTAL, answers)
    assert [one.kind for one in found] == ["html"]
    assert any("has no scope" in text for _, text in detection.notes)


# CKAN and DCAT are found as before


def test_ckan_goes_before_any_software():
    search = f"{PORTAL}/api/3/action/package_search?rows=0"
    ckan = answer({"success": True, "result": {"count": 7, "results": []}})
    answers = {PORTAL: page("window.__SITE="), search: ckan, PORTAL + HUB_ITEMS: answer(HUB)}
    found, asked, _ = detected(PORTAL, answers)
    assert [one.kind for one in found] == ["ckan"]
    assert len(asked) == 2


@pytest.mark.parametrize("name", ["catalog.ttl", "data.json"])
def test_a_file_at_a_host_without_hints(name):
    turtle = b"@prefix dcat: <http://www.w3.org/ns/dcat#> ."
    body = {"catalog.ttl": turtle, "data.json": b'{"conformsTo": "x", "dataset": []}'}[name]
    answers = {PORTAL: page(), f"{PORTAL}/{name}": TextResponse(PORTAL, body=body)}
    assert [one.kind for one in detected(PORTAL, answers)[0]] == ["dcat"]


@pytest.mark.parametrize("name", ["catalog.rdf", "catalog.xml", "catalog.jsonld"])
@pytest.mark.parametrize(("url", "text"), [(PORTAL, "Our data as RDF"), (f"{PORTAL}/en", "Welcome")])
def test_the_other_files_where_the_page_speaks_of_them_or_below_a_path(name, url, text):
    body = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="http://www.w3.org/ns/dcat#"/>'
    if name == "catalog.jsonld":
        body = b'{"@context": {"dcat": "http://www.w3.org/ns/dcat#"}, "@graph": [{"@type": "dcat:Dataset"}]}'
    answers = {url: page(text, url), f"{url}/{name}": TextResponse(PORTAL, body=body)}
    found, _, _ = detected(url, answers)
    is_within_eight = url == PORTAL or name == "catalog.rdf"
    assert [one.kind for one in found] == ["dcat" if is_within_eight else "html"]


# Software that the user names


@pytest.mark.parametrize(
    ("name", "probe", "content"), [("opendatasoft", OPENDATASOFT, ODS), ("udata", UDATA_SITE, UDATA)]
)
def test_only_the_software_that_is_named(name, probe, content):
    found, asked, _ = detected(
        f"{PORTAL}/x", {f"{PORTAL}/x": page(), PORTAL + probe: answer(content)}, "api", kind=name
    )
    assert software(found) == [("api", name, PORTAL)]
    assert {urlsplit(one).path for one in asked[1:]} == {f"/x{urlsplit(probe).path}", urlsplit(probe).path}


def test_a_portal_of_another_software_is_not_what_is_named():
    answers = {PORTAL: page(), PORTAL + OPENDATASOFT: answer(ODS)}
    assert not detected(PORTAL, answers, "api", kind="udata")[0]


# The command, against sites


class Pages(Site):
    """A site of a few paths, each with its JSON, XML or HTML; all others are missing."""

    def __init__(self, pages):
        super().__init__(self.answered)
        self.pages = {path: value if isinstance(value, str) else json.dumps(value) for path, value in pages.items()}

    def answered(self, asked):
        path = asked.path.partition("?")[0]
        text = self.pages.get(asked.path) or self.pages.get(path)
        if text is None:
            return Reply(b"<html>Not found</html>", 404, {"Content-Type": "text/html"})
        text = text.replace("HOST", urlsplit(self.url).netloc)
        kind = (
            "text/html" if text.startswith("<!doctype") else "application/xml" if text[0] == "<" else "application/json"
        )
        return Reply(text.encode(), headers={"Content-Type": kind})


@pytest.fixture
def sources(tmp_path):
    given = {"SOURCES_FILE": tmp_path / "sources.toml", "OUTPUT_DIR": tmp_path / "output", **FAST}

    def run(*words):
        start = scrapy if words[:1] in (("add",), ("validate",)) else command  # these crawl
        ran = start("sources", *map(str, words), *(f"-s{name}={value}" for name, value in given.items()))
        assert "Traceback" not in ran.stderr
        return ran

    return run


HOME = "<!doctype html><html><body>Welcome</body></html>"
EPRINTS = '<!doctype html><html><head><meta name="generator" content="EPrints 3.4.5"></head></html>'
DSPACE = '<!doctype html><html><head><meta name="Generator" content="DSpace 7.6"></head><ds-app></ds-app></html>'
AT_HOST = {
    "opendatasoft": {"/api/explore/v2.1/catalog/datasets": ODS},
    "udata": {"/api/1/site/": UDATA},
    "socrata": {
        "/api/catalog/v1": {
            "resultSetSize": 1,
            "results": [{"resource": {"id": "abcd-1234"}, "metadata": {"domain": "HOST"}}],
        }
    },
    "arcgis-hub": {"/api/search/v1/collections/dataset/items": HUB},
}


@pytest.mark.parametrize("name", AT_HOST)
def test_a_portal_is_added_with_its_software(sources, tmp_path, name):
    with Pages({"/": HOME, **AT_HOST[name]}) as site:
        ran = sources("add", "new", site.url)
        asked = [one for one in site.asked if one.path != "/robots.txt"]
    assert ran.returncode == 0, ran.stderr + ran.stdout
    source = load(tmp_path / "sources.toml")["new"]
    assert (source.spider, source.arguments) == ("api", {"portal": site.url, "kind": name})
    assert len(asked) <= MOST
    assert "It has other doors, whose records have other ids" in ran.stdout


@pytest.mark.parametrize(
    ("words", "pages", "spider", "arguments"),
    [
        (["/stac/v1"], {"/stac/v1": STAC}, "api", {"portal": "/stac/v1", "kind": "stac"}),
        (["/catalog.json"], {"/catalog.json": STATIC}, "api", {"portal": "/catalog.json", "kind": "stac-static"}),
        (["/records/a1"], {"/api/records": RECORD}, "api", {"portal": "", "kind": "invenio-rdm"}),
        (["/csw"], {"/csw": CSW}, "csw", {"url": "/csw"}),
        (["csw", ""], {"/": HOME, "/geonetwork/srv/eng/csw": CSW}, "csw", {"url": "/geonetwork/srv/eng/csw"}),
        (["/oai"], {"/oai": OAI}, "oai", {"url": "/oai"}),
        (["oai", "/x"], {"/x": OAI}, "oai", {"url": "/x"}),
        (["/"], {"/": EPRINTS, "/cgi/oai2": OAI}, "oai", {"url": "/cgi/oai2"}),
        (["/id/eprint/7/"], {"/cgi/oai2": OAI}, "oai", {"url": "/cgi/oai2"}),
        (["/home"], {"/home": DSPACE, "/server/oai/request": OAI}, "oai", {"url": "/server/oai/request"}),
        (["/xmlui/handle/1/2"], {"/oai/request": OAI}, "oai", {"url": "/oai/request"}),
        (["/repo/xmlui/handle/1/2"], {"/repo/oai/request": OAI}, "oai", {"url": "/repo/oai/request"}),
        (["/repo/xmlui/"], {"/oai/request": OAI}, "oai", {"url": "/oai/request"}),
        (["oai", ""], {"/": HOME, "/oai/request": OAI}, "oai", {"url": "/oai/request"}),
        (["/sdmx/2.1"], {"/sdmx/2.1/dataflow/all/all/latest": SDMX}, "sdmx", {"url": "/sdmx/2.1"}),
        (["sdmx", "/api"], {"/api/dataflow/all/all/latest": SDMX}, "sdmx", {"url": "/api"}),
        (["/sparql"], {"/sparql": {"head": {}, "boolean": True}}, "sparql", {"url": "/sparql"}),
        (
            ["api", "/x", "-akind=udata", "--yes"],
            {"/x": HOME, **AT_HOST["udata"]},
            "api",
            {"portal": "", "kind": "udata"},
        ),
        (["api", "/x", "-akind=udata-v2"], {"/x": HOME}, "api", {"portal": "/x", "kind": "udata-v2"}),
        (["api", "", "-akind=dkan", "--force"], {}, "api", {"portal": "", "kind": "dkan"}),
        (["sparql", "/q"], {"/q": {"head": {}, "boolean": True}}, "sparql", {"url": "/q"}),
    ],
)
def test_a_catalogue_is_added(sources, tmp_path, words, pages, spider, arguments):  # noqa: PLR0917
    with Pages(pages) as site:
        given = [f"{site.url}{word}" if word == "" or word.startswith("/") else word for word in words]
        ran = sources("add", "new", *given)
        asked = [one for one in site.asked if one.path != "/robots.txt"]
    assert ran.returncode == 0, ran.stderr + ran.stdout
    source = load(tmp_path / "sources.toml")["new"]
    expected = {name: value if name == "kind" else f"{site.url}{value}" for name, value in arguments.items()}
    assert (source.spider, source.arguments) == (spider, expected)
    assert len(asked) <= MOST


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["api", "", "-akind=opendata"], "There is no declaration 'opendata'"),
        (["api", "", "-akind=udata"], "is nothing that spider api harvests"),
        (["api", ""], "is nothing that spider api harvests"),
        (["csw", ""], "is nothing that spider csw harvests"),
        (["sdmx", ""], "is nothing that spider sdmx harvests"),
        (["oai", ""], "is nothing that spider oai harvests"),
        (["sparql", ""], "is nothing that spider sparql harvests"),
        (["sparql", "/sparql", "-agraph=a b"], "graph"),
        (["api", "", "-akinds=udata"], "no argument 'kinds'"),
        (["csw", "", "-aschema=iso"], "schema"),
    ],
)
def test_what_is_not_there_or_not_an_argument_is_not_added(sources, tmp_path, words, says):
    with Pages({"/": HOME, "/sparql": HOME}) as site:
        ran = sources("add", "new", *(f"{site.url}{one}" if one == "" or one[0] == "/" else one for one in words))
        assert len(site.asked) <= MOST + 1
    assert ran.returncode == 1
    assert says in ran.stderr
    assert not (tmp_path / "sources.toml").exists()
