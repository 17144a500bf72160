"""The bundled JSON-LD contexts: every term as released, the right release for each address, and undefined keys."""

from __future__ import annotations

import hashlib
import json

import pyoxigraph
import pytest

from crawlers.records.rdf import jsonld
from crawlers.records.rdf.terms import DCAT, DCT
from tests.conftest import ROOT, Crawl, options, scrapy
from tests.site import Answer, Site

RELEASED = ROOT.parent / "shared" / "semic"
CONTEXTS = ROOT / "crawlers" / "records" / "rdf" / "contexts"
SEMIC = "https://semiceu.github.io/DCAT-AP/"
AP_3_0_0, AP_3_0_1 = (f"{SEMIC}releases/{release}/context/dcat-ap.jsonld" for release in ("3.0.0", "3.0.1"))
HVD = f"{SEMIC}releases/3.0.0-hvd/context/hvd.jsonld"
EXAMPLES = "https://semiceu.github.io/uri.semic.eu-generated/DCAT-AP/releases/3.0.0/html/examples/context.jsonld"
US_3 = "https://raw.githubusercontent.com/DOI-DO/dcat-us/main/context/dcat-us-3.0.jsonld"
POD = "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld"

RELEASES = {  # the file as released, how many terms it has, and the beginning of their hash
    "dcat-ap-3.0.0": ("dcat-ap-3.0.0.context.jsonld", 172, "b2bb452520f2"),
    "dcat-ap-3.0.0-examples": ("dcat-ap-3.0.0.examples-context.jsonld", 46, "cdf3098d0fce"),
    "dcat-ap-3.0.1": ("dcat-ap-3.0.1.context.jsonld", 172, "7093a9cc4001"),
    "dcat-ap-hvd-3.0.0": ("hvd-3.0.0.context.jsonld", 36, "51b9162e23ff"),
    "dcat-us-3": ("dcat-us-3.0.context.jsonld", 368, "f4ba83528d5a"),
}
ADDRESSES = {
    AP_3_0_0: "dcat-ap-3.0.0",
    AP_3_0_1: "dcat-ap-3.0.1",
    HVD: "dcat-ap-hvd-3.0.0",
    EXAMPLES: "dcat-ap-3.0.0-examples",
    US_3: "dcat-us-3",
    US_3.replace("main", "refs/heads/main"): "dcat-us-3",
    "https://github.com/SEMICeu/DCAT-AP/raw/refs/heads/master/releases/3.0.1/context/dcat-ap.jsonld": "dcat-ap-3.0.1",
    "https://raw.githubusercontent.com/SEMICeu/DCAT-AP/master/releases/3.0.0/context/dcat-ap.jsonld": "dcat-ap-3.0.0",
    "https://cdn.jsdelivr.net/gh/SEMICeu/DCAT-AP@master/releases/3.0.0/context/dcat-ap.jsonld": "dcat-ap-3.0.0",
    SEMIC + "releases/3.0.0-draft/context/dcat-ap.jsonld": "dcat-ap-3.0.0",
    SEMIC + "drafts/latest/context/dcat-ap.jsonld": "dcat-ap-3.0.1",
    SEMIC + "drafts/3.0.1-hvd/context/hvd.jsonld": "dcat-ap-hvd-3.0.0",
    SEMIC + "releases/2.2.0-hvd/context/hvd.jsonld": "dcat-ap-2",
    SEMIC + "releases/2.2.0/context/dcat-ap.jsonld": "dcat-ap-2",
    "https://raw.githubusercontent.com/SEMICeu/DCAT-AP/master/releases/1.1/dcat-ap_1.1.jsonld": "dcat-ap-2",
    "https://github.com/SEMICeu/DCAT-AP/raw/master/releases/2.1.1/dcat-ap_2.1.1.jsonld": "dcat-ap-2",
    POD.replace("https", "http"): "pod-1.1",
    "https://resources.data.gov/schemas/dcat-us/v1.1/schema/catalog.jsonld": "pod-1.1",
    "HTTPS://Schema.org": "schema.org",
    **{
        f"{scheme}://{host}schema.org{path}": "schema.org"
        for scheme in ("http", "https")
        for host in ("", "www.")
        for path in ("", "/", "/docs/jsonldcontext.jsonld", "/docs/jsonldcontext.json", "/#")
    },
    "https://www.w3.org/ns/hydra/core": "hydra",
    "http://www.w3.org/ns/dcat3.jsonld": "dcat",
}

Terms = dict[tuple[str, str], tuple[str, ...]]


def terms(context: dict) -> Terms:
    """What each term of each class means, with whole IRIs: its property, type, container, and its values' base."""
    prefixes = {**jsonld.context("dcat"), **context}

    def iri(name: str) -> str:
        prefix, colon, rest = name.partition(":")
        is_known = colon and not rest.startswith("//") and isinstance(prefixes.get(prefix), str)
        return iri(prefixes[prefix]) + rest if is_known else name

    def meaning(term) -> tuple[str, ...]:
        term = {"@id": term} if isinstance(term, str) else term
        container = term.get("@container", [])
        written = [container] if isinstance(container, str) else sorted(container)
        base = term.get("@context", {}).get("@base", "") if "@type" in term else ""
        return iri(term["@id"]), iri(term.get("@type", "")), " ".join(written), base

    found = {("", name): meaning(term) for name, term in context.items() if not name.startswith("@")}
    for class_, term in context.items():
        if isinstance(term, dict) and "@type" not in term:
            found |= {(class_, name): meaning(scoped) for name, scoped in term.get("@context", {}).items()}
    return found


def ours(name: str) -> dict:
    return json.loads((CONTEXTS / f"{name}.jsonld").read_bytes())["@context"]


def added(name: str, released: Terms) -> Terms:
    """The terms that the release lacks: the prefixes of its own names, without which no processor takes it."""
    begun = {name.partition(":")[0] for _, name in released if ":" in name}
    return {key: meaning for key, meaning in terms(ours(name)).items() if key not in released and key[1] not in begun}


@pytest.mark.skipif(not RELEASED.exists(), reason="the files as released are not here")
@pytest.mark.parametrize("name", RELEASES)
def test_every_term_is_as_released(name):
    released = terms(json.loads((RELEASED / RELEASES[name][0]).read_bytes())["@context"])
    written = terms(ours(name))
    assert {key: written.get(key) for key in released} == released
    assert added(name, released) == {}


@pytest.mark.parametrize("name", RELEASES)
def test_no_term_is_lost_or_changed(name):
    """The same, where the files as released are not at hand."""
    _, count, digest = RELEASES[name]
    capitals = {("", prefix) for prefix in ("Dcat", "Dct", "Eli", "Foaf", "Rdfs", "Skos", "Vcard", "Xsd")}
    written = sorted(item for item in terms(ours(name)).items() if item[0] not in capitals)
    assert (len(written), hashlib.sha256(json.dumps(written).encode()).hexdigest()[:12]) == (count, digest)


@pytest.mark.parametrize("url", ADDRESSES)
def test_an_address_has_its_release(url):
    written = json.loads(jsonld.local(json.dumps({"@context": url}).encode()))["@context"]
    assert ours(ADDRESSES[url]).items() <= written.items()


@pytest.mark.parametrize("path", sorted(CONTEXTS.iterdir()), ids=lambda path: path.stem)
def test_each_term_of_a_context_is_a_full_address(path):
    """A prefix that is nowhere declared would make an address of its own, silently."""
    names = ["dcat", path.stem] if path.stem.startswith("dcat") else [path.stem]
    as_released = {("foaf:Document", "creators"), ("", "creators")}  # dc:creator, without a prefix dc
    for key, (iri, type_, *_) in terms(jsonld.context(*dict.fromkeys(names))).items():
        assert all(part.startswith(("http", "@")) for part in (iri, type_) if part) or key in as_released, key


def triples(document, address="https://base.org/") -> set[tuple[str, str]]:
    body = jsonld.local(json.dumps(document).encode())
    quads = pyoxigraph.parse(body, pyoxigraph.RdfFormat.JSON_LD, base_iri=address, lenient=True)
    return {(quad.predicate.value, str(quad.object)) for quad in quads}


def test_a_class_has_its_own_terms():
    document = {
        "@context": US_3,
        "@type": "dcat:Dataset",
        "accrualPeriodicity": "annual",
        "contactPoint": [{"@type": "vcard:Kind", "title": "Chief"}],
        "distribution": [{"@type": "dcat:Distribution", "mediaType": "text/csv"}],
        "otherIdentifier": [{"@type": "adms:Identifier", "version": "2"}],
    }
    assert triples(document) >= {
        (DCT + "accrualPeriodicity", "<http://purl.org/cld/freq/annual>"),
        ("http://www.w3.org/2006/vcard/ns#title", '"Chief"'),
        (DCAT + "mediaType", "<https://www.iana.org/assignments/media-types/text/csv>"),
        (DCT + "version", '"2"'),
    }


def test_a_node_without_a_type_has_the_terms_of_all_classes():
    assert triples({"@context": US_3, "restrictionNote": "no", "title": "T"}) == {
        ("http://data.resources.gov/ontology/dcat-us#restrictionNote", '"no"'),
        (DCT + "title", '"T"'),
    }


@pytest.mark.parametrize("listed", [False, True])
def test_an_undefined_key_has_the_context_s_address(listed):
    context = [AP_3_0_1, {"mine": DCT + "title"}] if listed else AP_3_0_1
    assert (f"{AP_3_0_1}#colour", '"red"') in triples({"@context": context, "colour": "red"})


def test_an_undefined_key_has_the_iri_that_the_document_gives_it():
    document = {"@context": [{"@vocab": "https://a.org/terms#"}, AP_3_0_1], "colour": "red"}
    assert triples(document) == {("https://a.org/terms#colour", '"red"')}


def test_a_context_without_undefined_keys_gives_none():
    assert triples({"@context": POD, "colour": "red"}) == {(DCAT + "colour", '"red"')}


# A whole crawl


def crawled(output, document, feed) -> Crawl:
    headers = {"Content-Type": "application/ld+json"}
    with Site(lambda asked: Answer(json.dumps(document).encode(), headers=headers)) as site:
        ran = scrapy("crawl", "dcat", *options(output, {}, url=f"{site.url}/catalog.jsonld"), "-O", str(feed))
    return Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")


def test_a_catalogue_of_dcat_ap_3_0_0(output, tmp_path):
    """Its terms have the name of their class: with another context there are no titles and no resources."""
    feed = tmp_path / "datasets.jsonl"
    crawl = crawled(
        output,
        {
            "@context": AP_3_0_0,
            "@type": "Catalogue",
            "Catalogue.dataset": {
                "@id": "https://data.example.org/1",
                "@type": "Dataset",
                "Dataset.title": {"@value": "Rain", "@language": "en"},
                "Dataset.frequency": {"@id": "http://publications.europa.eu/resource/authority/frequency/DAILY"},
                "Dataset.colour": "red",
                "Dataset.datasetDistribution": [
                    {
                        "@id": "https://data.example.org/1.csv",
                        "@type": "Distribution",
                        "Distribution.accessUrl": {"@id": "https://data.example.org/1.csv"},
                    }
                ],
            },
        },
        feed,
    )
    [item] = map(json.loads, feed.read_text().splitlines())
    assert (item["title"], item["frequency"], len(item["resources"])) == ("Rain", "DAILY", 1)
    [document] = crawl.documents().values()
    assert document[f"{AP_3_0_0}#Dataset.colour"] == "red"
    [flaw] = crawl.flaws
    assert (flaw["kind"], flaw["field"], flaw["dataset_id"]) == (
        *("unreadable_statement", "@context"),
        "https://data.example.org/1",
    )
    assert f"{AP_3_0_0} does not define 'Dataset.colour': what that says is only in the document." in flaw["error"]


def test_a_member_of_a_series_has_the_terms_of_both_its_types(output, tmp_path):
    """As in SEMIC's examples: with the terms of one type there is no title, and the context is said to lack it."""
    feed = tmp_path / "datasets.jsonl"
    document = {
        "@context": EXAMPLES,
        "@graph": [
            {
                "@id": f"https://data.example.org/{year}",
                "@type": ["Dataset", "DatasetMemberOfADatasetSeries"],
                "title": {"en": f"Budget {year}", "de": f"Haushalt {year}"},
                "inSeries": "https://data.example.org/series",
                "previous": f"https://data.example.org/{year - 1}",
            }
            for year in (2019, 2020)
        ],
    }
    crawl = crawled(output, document, feed)
    assert [json.loads(line)["title"] for line in feed.read_text().splitlines()] == ["Budget 2019", "Budget 2020"]
    titles = [{each["@language"] for each in one["title"]} for one in crawl.documents().values()]
    series = {(one["inSeries"], len(one["dcat:prev"])) for one in crawl.documents().values()}
    assert (titles, series) == ([{"de", "en"}] * 2, {("https://data.example.org/series", 1)})
    assert crawl.flaws == []
