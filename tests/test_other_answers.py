"""What is no catalogue is named, with what to use instead: by each spider that may meet it, and by `sources add`."""

from __future__ import annotations

import pytest
from scrapy.http import HtmlResponse, TextResponse

from crawlers.kind import registered
from crawlers.kinds.dcat.spider import DCAT
from crawlers.listing import answers
from crawlers.listing.answers import other_answer
from tests.conftest import FAST, Crawl, options, scrapy
from tests.site import Answer, Site
from tests.walked import answers_of, walk

XML, HTML, JSON = "text/xml", "text/html", "application/json"
ADD = "sources add NAME"
LOGIN = b"<!doctype html><html><head><title>Anmelden</title></head><body><input type='password' name='p'></body></html>"
ANSWERS = {  # the content type, the body, what it is, and what to use
    "atom": (
        "application/atom+xml",
        b"<feed xmlns='http://www.w3.org/2005/Atom'/>",
        "an Atom feed",
        "sources add NAME",
    ),
    "rss": (XML, b"<?xml version='1.0'?>\n<!-- x --><rss version='2.0'/>", "an RSS feed", ADD),
    "sitemap": (XML, b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>", "a sitemap", "paging.sitemap"),
    "sitemap index": (XML, b"<sitemapindex/>", "a sitemap index", "paging.sitemap"),
    "sparql": (
        XML,
        b"<sparql xmlns='http://www.w3.org/2005/sparql-results#'/>",
        "a SPARQL result",
        "crawl sparql -a url=",
    ),
    "sparql json": (
        JSON,
        b'{"head": {"vars": []}, "results": {"bindings": []}}',
        "a SPARQL result",
        "crawl sparql -a url=",
    ),
    "iso": (
        XML,
        b"<gmd:MD_Metadata xmlns:gmd='http://www.isotc211.org/2005/gmd'/>",
        "an ISO 19115 record",
        "crawl waf -a url=",
    ),
    "csw": (
        XML,
        b"<csw:Capabilities xmlns:csw='http://www.opengis.net/cat/csw/2.0.2'/>",
        "the capabilities of a CSW",
        "crawl csw",
    ),
    "wms": (XML, b"<WMS_Capabilities version='1.3.0'/>", "the capabilities of a WMS", ADD),
    "oai": (
        XML,
        b"<OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/'/>",
        "an answer of OAI-PMH",
        "crawl oai -a url=",
    ),
    "ckan": (JSON, b'{"help": "h", "success": true, "result": []}', "an answer of CKAN's API", "crawl ckan"),
    "geojson": (JSON, b'{"type": "FeatureCollection", "features": []}', "GeoJSON", ADD),
    "login": (HTML, LOGIN, "a page with a login", "use an address that needs none"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_named(name):
    content_type, body, what, use = ANSWERS[name]
    kind = HtmlResponse if content_type == HTML else TextResponse
    said = other_answer(kind("https://a.org/b/c?d=e", headers={"Content-Type": content_type}, body=body)) or ""
    assert said.startswith(f"this is {what}: use ")
    assert use in said
    assert "?d=e" not in said
    assert "{" not in said


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<p>Hello</p>",
        b"<html><title>Data</title><form><input type=password></form></html>",
        b"<html><title>Login</title></html>",
        b"{",
        b'{"a": 1}',
        b"[" * 10_000,
        b'{"a":' * 10_000,
        b"\xff\xfe<",
        b"<?xml" + b" " * 70_000,
    ],
    ids=range(10),
)
def test_any_other_answer_is_not(body):
    assert other_answer(TextResponse("https://a.org/", body=body)) is None


def test_a_command_names_a_spider_that_there_is():
    table = answers._table()
    uses = [use for part in ("xml", "json") for _, use in table[part].values()]
    spiders = {use.split("scrapy crawl ")[1].split()[0] for use in uses if "scrapy crawl " in use}
    assert spiders <= registered().keys()
    for use in uses:
        use.format(url="", folder="", site="")


def test_the_spider_of_the_kind_is_not_told_to_use_itself():
    response = TextResponse("https://a.org/sparql", body=ANSWERS["sparql"][1])
    assert other_answer(response, spider="sparql") is None


# Whole crawls


def crawled(output, name: str, spider: str, **arguments: str) -> Crawl:
    content_type, body, *_ = ANSWERS[name]
    with Site(lambda asked: Answer(body, headers={"Content-Type": content_type})) as site:
        given = {key: value.replace("{site}", site.url) for key, value in arguments.items()}
        settings = {"ROBOTSTXT_OBEY": "False"}
        ran = scrapy("crawl", spider, *options(output, settings, **given))
    [folder] = [path.parent for path in output.glob("*/errors.jsonl")]
    return Crawl(ran.returncode, ran.stderr, folder)


def told(crawl: Crawl, name: str) -> bool:
    _, _, what, use = ANSWERS[name]
    assert crawl.report["verdict"] in ("failed", "incomplete")
    return any(f"this is {what}, not " in error["error"] and use in error["error"] for error in crawl.errors)


@pytest.mark.parametrize("name", ANSWERS)
def test_dcat_names_it(tmp_path, name):
    content_type, body, what, use = ANSWERS[name]
    with Site(lambda _: Answer(body, headers={"Content-Type": content_type})) as site:
        done = walk(DCAT, answers_of(site), tmp_path, None, url=f"{site.url}/c")
    [error] = done.errors
    assert f"this is {what}, not a catalogue: " in error.error
    assert use in error.error
    assert (error.kind, done.judged[0], done.items) == ("not_rdf", "incomplete", [])


@pytest.mark.parametrize("name", ["sitemap", "login"])
def test_a_crawl_of_dcat_names_it(output, name):
    assert told(crawled(output, name, "dcat", url="{site}/c"), name)


@pytest.mark.parametrize("name", ["csw", "login"])
def test_api_names_it(output, name):
    arguments = {"kind": "opendatasoft"} | {"portal": "{site}"}
    assert told(crawled(output, name, "api", **arguments), name)


@pytest.mark.parametrize("name", ["sitemap", "sparql json", "login"])
def test_html_names_it(output, tmp_path, name):
    content_type, body, *_ = ANSWERS[name]
    with Site(lambda _: Answer(body, headers={"Content-Type": content_type})) as site:
        rules = tmp_path / "town.toml"
        rules.write_text(f'start = ["{site.url}/list"]\n[links]\ncss = ".dataset"\n[fields]\ntitle = "h1"\n')
        ran = scrapy("crawl", "html", *options(output, {"ROBOTSTXT_OBEY": "False"}, rules=str(rules)))
    [folder] = [path.parent for path in output.glob("*/errors.jsonl")]
    assert told(Crawl(ran.returncode, ran.stderr, folder), name)


@pytest.mark.parametrize("name", ["sitemap", "iso", "login"])
def test_sources_add_names_it(tmp_path, name):
    content_type, body, what, use = ANSWERS[name]

    def answer(asked):
        is_it = asked.path == "/c"
        return Answer(body if is_it else b"", 200 if is_it else 404, headers={"Content-Type": content_type})

    with Site(answer) as site:
        settings = {"SOURCES_FILE": str(tmp_path / "sources.toml"), **FAST}
        words = [word for item in settings.items() for word in ("-s", "=".join(item))]
        ran = scrapy("sources", "add", "new", f"{site.url}/c", "--rules", str(tmp_path / "rules.toml"), *words)
    assert ran.returncode == 1
    assert f"this is {what}: use" in ran.stderr
    assert use in ran.stderr
    assert not (tmp_path / "sources.toml").exists()
