"""What an address is: of every kind of catalogue, of wrong and dead addresses, and of hostile ones."""

from __future__ import annotations

import gzip
import json
import time
from urllib.parse import urlsplit

import pytest
from scrapy.http import HtmlResponse, TextResponse

from crawlers import kind
from crawlers.causes import ADVICE
from crawlers.components.politeness.robots import Rules
from crawlers.exceptions import AnswerError
from crawlers.operate.sources.add import chosen_arguments, chosen_spider
from crawlers.operate.sources.detect import HEAD, MOST, Detection, RefusalError
from crawlers.operate.sources.learn_rules import learned
from crawlers.operate.sources.source import project
from tests.conftest import FAST, load, scrapy
from tests.portal.dcat import Catalogue
from tests.portal.html.families import BROWSER, PLAIN
from tests.portal.portal import Portal
from tests.site import Answer, Site, redirect
from tests.terminal import answered

HTML = {"Content-Type": "text/html; charset=utf-8"}
NOT_THERE = AnswerError("http", "HTTP 404 Not Found")
PORTAL = "https://data.example.org"


# Pure: answers in, findings out


def ckan(count=7):
    return TextResponse(PORTAL, body=json.dumps({"success": True, "result": {"count": count, "results": []}}).encode())


def html(body="", url=PORTAL, head=""):
    text = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
    return HtmlResponse(url, headers=HTML, body=text.encode())


def turtle(url):
    return TextResponse(
        url, headers={"Content-Type": "text/turtle"}, body=b"@prefix dcat: <http://www.w3.org/ns/dcat#> ."
    )


def drained(running, *answers):
    """What a generator of addresses returns when all but its first get 404; and the addresses."""
    given, asked = iter(answers), []
    try:
        asked.append(next(running))
        while True:
            asked.append(running.send(next(given, NOT_THERE)))
    except StopIteration as end:
        return end.value, asked


def detected(url, answers, *kinds):
    """What is found, and which addresses were asked for."""
    detection = Detection(url, kinds) if kinds else Detection(url)
    running, asked = detection.run(), []
    try:
        address = next(running)
        while True:
            asked.append(address)
            address = running.send(answers.get(address, NOT_THERE))
    except StopIteration as end:
        return end.value, asked


SEARCH = "/api/3/action/package_search?rows=0"


@pytest.mark.parametrize(
    ("url", "root"),
    [
        (f"{PORTAL}/", PORTAL),
        (f"{PORTAL}/dataset/some-rivers", PORTAL),
        (f"{PORTAL}/dataset?q=rivers&page=2", PORTAL),
        (f"{PORTAL}/opendata/dataset/some-rivers", f"{PORTAL}/opendata"),
        (f"{PORTAL}/opendata", f"{PORTAL}/opendata"),
        (f"{PORTAL}/organization/rivers", PORTAL),
        (f"{PORTAL}/fr/dataset/rivers", PORTAL),
        (f"{PORTAL}/api/3/action/package_show?id=x", PORTAL),
        (f"{PORTAL}/api/3", PORTAL),
        (f"{PORTAL}/catalog.ttl", PORTAL),
        (f"{PORTAL}/somewhere/else", PORTAL),
    ],
)
def test_ckan_by_any_of_its_addresses(url, root):
    found, asked = detected(url, {f"{root}{SEARCH}": ckan()})
    assert [(one.kind, one.address) for one in found] == [("ckan", root)]
    assert "7 datasets" in found[0].reason
    assert len(asked) <= 4


def test_ckan_where_its_pages_say_it_is():
    page = html('<body data-site-root="https://data.example.org/data/">')
    answers = {f"{PORTAL}/en/news": page.replace(url=f"{PORTAL}/en/news"), f"{PORTAL}/data{SEARCH}": ckan()}
    found, asked = detected(f"{PORTAL}/en/news", answers)
    assert found[0].address == f"{PORTAL}/data"
    assert len(asked) == 2


def test_a_page_can_not_lead_from_https_to_http():
    """Behind a proxy that does TLS, CKAN often takes its own address for an http one."""
    page = html('<body data-site-root="http://data.example.org/katalog/">')
    answers = {PORTAL: page, f"{PORTAL}/katalog{SEARCH}": ckan()}
    found, asked = detected(PORTAL, answers)
    assert found[0].address == f"{PORTAL}/katalog"
    assert {urlsplit(one).scheme for one in asked} == {"https"}


def test_a_page_can_not_send_the_probe_to_another_host():
    page = html('<body data-site-root="https://internal.example/">')
    _, asked = detected(PORTAL, {PORTAL: page})
    assert {urlsplit(one).netloc for one in asked} == {"data.example.org"}


@pytest.mark.parametrize(
    "answer",
    [
        b'{"success": true, "result": {"count": "7", "results": []}}',
        b'{"success": true, "result": {"count": -1, "results": []}}',
        b'{"success": true, "result": {"count": true, "results": []}}',
        b'{"success": false, "error": {"message": "no"}}',
        b'{"success": true, "result": []}',
        b'{"success": true}',
        b"[" * 100_000,
        b"{}",
        b"",
        b"\xff\xfe",
        b"%PDF-1.4",
    ],
)
def test_what_is_no_answer_of_ckan(answer):
    found, _ = detected(PORTAL, {f"{PORTAL}{SEARCH}": TextResponse(PORTAL, body=answer)})
    assert not found


def test_ckan_goes_before_rdf_which_is_said_too():
    url = f"{PORTAL}/catalog.ttl"
    found, asked = detected(url, {url: turtle(url), f"{PORTAL}{SEARCH}": ckan()})
    assert [(one.kind, one.address) for one in found] == [("ckan", PORTAL), ("dcat", url)]
    assert len(asked) == 2


def test_rdf_goes_before_data_json():
    answers = {f"{PORTAL}{path}": turtle(f"{PORTAL}{path}") for path in ("/catalog.ttl", "/data.json")}
    found, _ = detected(PORTAL, {PORTAL: html(), **answers})
    assert found[0].address == f"{PORTAL}/catalog.ttl"


def test_rdf_that_the_page_links_to_goes_before_the_usual_places():
    page = html(head='<link rel="alternate" type="text/turtle" href="/feeds/all.ttl">')
    answers = {f"{PORTAL}{path}": turtle(f"{PORTAL}{path}") for path in ("/catalog.ttl", "/feeds/all.ttl")}
    found, _ = detected(PORTAL, {PORTAL: page, **answers})
    assert found[0].address == f"{PORTAL}/feeds/all.ttl"


def test_a_page_that_leads_to_several_files_says_so():
    links = "".join(f'<link rel="alternate" type="text/turtle" href="/{name}.ttl">' for name in "ab")
    detection = Detection(PORTAL)
    _, asked = drained(detection.run(), html(head=links))
    assert "links to 2 files" in detection.choice
    assert not [address for address in asked if address.endswith(".ttl")]


@pytest.mark.parametrize(
    ("kinds", "found"), [((), "ckan"), (("ckan",), "ckan"), (("dcat",), "dcat"), (("html",), "html")]
)
def test_only_what_the_named_spider_harvests(kinds, found):
    answers = {PORTAL: html(), f"{PORTAL}{SEARCH}": ckan(), f"{PORTAL}/catalog.ttl": turtle(f"{PORTAL}/catalog.ttl")}
    assert detected(PORTAL, answers, *kinds)[0][0].kind == found


@pytest.mark.parametrize("kind", ["dns", "connection", "timeout", "blocked", "forbidden_address"])
def test_a_host_that_is_not_to_be_had_is_asked_no_more(kind):
    found, asked = detected(PORTAL, {PORTAL: AnswerError(kind, "no")})
    assert not found
    assert asked == [PORTAL]


@pytest.mark.parametrize("name", [*kind.registered()])
def test_a_host_whose_robots_txt_is_not_to_be_had_is_asked_no_more(name):
    refusal = Rules(failure="connection refused").refusal("data.example.org", PORTAL, "")
    assert detected(PORTAL, {PORTAL: AnswerError("robots", refusal)}, name) == ([], [PORTAL])


def refused(status, body=b""):
    answer = TextResponse(f"{PORTAL}{SEARCH}", status=status, body=body)
    return RefusalError(AnswerError("http", f"HTTP {status} Whatever"), answer)


DENIED = b'{"help": "x", "success": false, "error": {"__type": "Authorization Error", "message": "Access denied"}}'


@pytest.mark.parametrize(
    "answer",
    [
        *(refused(429), refused(503), refused(403, DENIED)),
        *(TextResponse(PORTAL, body=DENIED), AnswerError("timeout", "no")),
    ],
)
def test_nothing_follows_from_an_api_that_is_busy_or_closed(answer):
    url, file = f"{PORTAL}/dataset", f"{PORTAL}/catalog.ttl"
    answers = {url: html(url=url), f"{PORTAL}{SEARCH}": answer, file: turtle(file)}
    found, asked = detected(url, answers)
    assert (found, asked) == ([], [url, f"{PORTAL}{SEARCH}"])
    assert detected(url, answers, "html")[0][0].kind == "html"
    assert detected(file, answers)[0][0].kind == "dcat"


@pytest.mark.parametrize("answer", [refused(403, b"<html>"), refused(404), refused(410), NOT_THERE])
def test_an_api_that_is_not_there(answer):
    found, _ = detected(PORTAL, {PORTAL: html(), f"{PORTAL}{SEARCH}": answer})
    assert [one.kind for one in found] == ["html"]


def test_a_catalogue_that_is_busy_is_not_harvested_as_pages():
    assert detected(PORTAL, {PORTAL: html(), f"{PORTAL}/catalog.ttl": refused(502)})[0] == []
    answers = {f"{PORTAL}/c.ttl": refused(503), f"{PORTAL}/catalog.ttl": turtle(f"{PORTAL}/catalog.ttl")}
    assert detected(f"{PORTAL}/c.ttl", answers)[0] == []
    assert detected(f"{PORTAL}/c.ttl", {f"{PORTAL}{SEARCH}": ckan(), **answers})[0][0].kind == "ckan"


@pytest.mark.parametrize("url", ["/opendata/", "/opendata", "/opendata/dataset/x", "/opendata/catalogue.ttl"])
@pytest.mark.parametrize("name", ["catalog.ttl", "data.json"])
def test_dcat_below_a_path_goes_before_the_hosts(url, name):
    body = {"catalog.ttl": turtle(PORTAL).body, "data.json": b'{"conformsTo": "x", "dataset": []}'}[name]
    answers = {f"{PORTAL}{path}/{name}": TextResponse(PORTAL, body=body) for path in ("", "/opendata")}
    found, asked = detected(f"{PORTAL}{url}", {f"{PORTAL}{url}": html(url=f"{PORTAL}{url}"), **answers})
    assert [one.address for one in found] == [f"{PORTAL}/opendata/{name}"]
    assert len(asked) <= MOST


def test_a_mistyped_address_leads_to_what_the_host_has():
    data_json = TextResponse(
        PORTAL, body=b'{"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": []}'
    )
    found, _ = detected(f"{PORTAL}/dta.json", {f"{PORTAL}/data.json": data_json})
    assert [(one.kind, one.address) for one in found] == [("dcat", f"{PORTAL}/data.json")]


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ('<script type="application/ld+json">{"@type": "Dataset"}</script>', "an HTML page with schema.org's datasets"),
        ('<script type="application/ld+json">{"@type" : ["DataCatalog"]}</script>', "with schema.org's datasets"),
        ('<div itemscope itemtype="https://schema.org/Dataset">', "with schema.org's datasets"),
        ('<script type="application/ld+json">{"@type": "WebSite"}</script>', "it is an HTML page"),
    ],
)
def test_html_with_structured_data_and_without(page, says):
    [found], _ = detected(PORTAL, {PORTAL: html(page)})
    assert found.kind == "html"
    assert found.reason.endswith(says)


def test_few_requests_whatever_comes():
    page = html('<body data-site-root="/a/b">', head='<link rel="alternate" type="text/turtle" href="/x.ttl">')
    url = f"{PORTAL}/x/y/de/dataset/z"
    found, asked = detected(url, {url: page.replace(url=url)})
    assert len(asked) == len(set(asked)) == MOST
    detection = Detection(url)
    drained(detection.run(), page.replace(url=url))
    assert sum("8 requests are enough" in line for line in detection.lines()) == 1
    assert [one.kind for one in found] == ["html"]


def test_a_data_json_of_which_only_the_head_came():
    body = b'{"conformsTo": "x", "dataset": [' + b'{"identifier": "a", "title": "A"},' * 50
    found, _ = detected(f"{PORTAL}/data.json", {f"{PORTAL}/data.json": TextResponse(f"{PORTAL}/data.json", body=body)})
    assert found[0].reason == "it is a data.json"


def test_an_address_that_leads_to_another_host_is_told():
    detection = Detection("https://short.example/x")
    drained(detection.run(), html(url=f"{PORTAL}/datasets"))
    assert any(f"add {PORTAL}/datasets" in says for _, says in detection.notes)


def test_what_was_named_is_kept_when_it_redirects():
    url = "https://data.example.org/catalog.ttl"
    found, _ = detected(url, {url: turtle("https://store.example/catalog.ttl?signature=x")})
    assert found[0].address == url


def test_a_listing_can_not_send_the_probe_to_another_host():
    rows = "".join(f'<li><a href="https://inside.example/dataset/{name}">{name}</a></li>' for name in "abcdef")
    said, asked = drained(learned(html(f"<ul>{rows}</ul>", url=f"{PORTAL}/datasets")))
    assert asked == []
    assert said.rules is None


def test_a_service_is_named_with_the_command_of_its_api():
    said, _ = drained(learned(html('<script src="/socrata.js"></script>', url=f"{PORTAL}/browse")))
    assert said.advice.endswith(f"scrapy crawl api -a kind=socrata -a portal={PORTAL}")


def test_a_sitemap_can_not_send_the_probe_to_another_host():
    index = "<sitemapindex><sitemap><loc>https://inside.example/s.xml</loc></sitemap></sitemapindex>"
    _, asked = drained(learned(html(url=f"{PORTAL}/")), TextResponse(PORTAL, body=index.encode()))
    assert asked == [f"{PORTAL}/sitemap.xml"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        b'{"@type": "Dataset"' * 15_000,
        b"schema.org Dataset " * 30_000,
        b"<html>" + b'{"@type":' * 60_000,
        b"<html>" + b"<a href=x.ttl>" * 15_000,
        b"<html>" + b'data-site-root="' * 30_000,
        b"<html>" + b"<div>" * 30_000,
        b"@prefix " * 60_000,
        b"\x00" * HEAD,
        b"<?xml version='1.0'?><!DOCTYPE a [" + b"<!ENTITY b 'c'>" * 15_000,
    ],
)
@pytest.mark.parametrize("content_type", ["text/html", "application/json", "text/turtle"])
def test_hostile_answers_take_no_time(body, content_type):
    begin = time.process_time()
    answer = TextResponse(PORTAL, headers={"Content-Type": content_type}, body=body[:HEAD])
    found, asked = detected(PORTAL, {PORTAL: answer})
    for one in found:
        if one.page is not None:
            drained(learned(one.page))
    assert time.process_time() - begin < 10
    assert len(asked) <= MOST


def test_the_spider_of_the_very_catalogue():
    hdx = "https://data.humdata.org"
    [found], _ = detected(f"{hdx}/organization/ocha", {f"{hdx}{SEARCH}": ckan()})
    known = project()
    assert chosen_spider(found, known) == "hdx"
    assert chosen_arguments(found, f"{hdx}/organization/ocha", known.spiders["hdx"]) == {"organization": "ocha"}
    assert chosen_arguments(found, hdx, known.spiders["ckan"]) == {"portal": hdx}


# The command, against catalogues


@pytest.fixture
def add(tmp_path):
    """``add(address, *words)``: what it said, and the source that was written."""

    def run(*words, code=0):
        rules = tmp_path / "rules.toml"
        given = {"SOURCES_FILE": tmp_path / "sources.toml", "OUTPUT_DIR": tmp_path / "output", **FAST}
        settings = [f"-s{name}={value}" for name, value in given.items()]
        ran = scrapy("sources", "add", "new", *map(str, words), "--rules", str(rules), *settings)
        assert "Traceback" not in ran.stderr
        assert ran.returncode == code, ran.stderr + ran.stdout
        if code:
            assert not (tmp_path / "sources.toml").exists()
            assert not rules.exists()
            return ran, None
        return ran, load(tmp_path / "sources.toml")["new"]

    return run


def test_a_ckan_portal(add):
    with Portal(12) as portal:
        ran, source = add(f"{portal.url}/dataset/rivers")
        assert portal.requests() <= 4
    assert (source.spider, source.arguments, source.enabled) == ("ckan", {"portal": portal.url}, True)
    assert "CKAN, 12 datasets" in ran.stdout


def test_a_ckan_portal_below_a_path(add):
    with Portal(12, prefix="/opendata") as portal:
        _, source = add(f"{portal.url}/dataset/rivers")
    assert source.arguments == {"portal": portal.url}


def test_a_portal_for_the_spider_that_was_named(add):
    with Portal(12) as portal:
        _, source = add("hdx", portal.url, "-a", "level=both", "--schedule", "weekly", "--contact", "them@example.org")
    assert (source.spider, source.arguments) == ("hdx", {"portal": portal.url, "level": "both"})
    assert (source.schedule.text, source.contact) == ("weekly", "them@example.org")


@pytest.mark.parametrize("serialisation", ["rdf", "ttl", "nt", "nq", "trig", "n3", "jsonld", "data.json"])
def test_dcat_in_every_serialisation(add, serialisation):
    with Catalogue(5, serialisation=serialisation) as catalogue:
        _, source = add(catalogue.address)
        assert len(catalogue.asked) <= 4
    assert (source.spider, source.arguments) == ("dcat", {"url": catalogue.address})


@pytest.mark.parametrize("kind", ["", "a"])
def test_a_page_that_leads_to_rdf(add, kind):
    with Catalogue(5, faults={"html": kind}) as catalogue:
        _, source = add(catalogue.url)
    assert (source.spider, source.arguments) == ("dcat", {"url": catalogue.address})


def test_a_large_catalogue_of_which_the_head_is_enough(add):
    line = b'<https://a.org/%d> <http://purl.org/dc/terms/title> "A dataset" .\n'
    sent = []

    def body():
        yield b"<https://a.org/0> a <http://www.w3.org/ns/dcat#Dataset> .\n"
        for number in range(1_000):
            sent.append(number)
            yield (line % number) * 1_000

    def answer(asked):
        is_file = asked.path == "/catalog.ttl"
        return Answer(body(), headers={"Content-Type": "text/turtle"}) if is_file else Answer(b"", 404)

    with Site(answer) as site:
        ran, _ = add(f"{site.url}/catalog.ttl")
    assert "DCAT in Turtle" in ran.stdout
    assert len(sent) < 300  # some is on its way when that is enough


def test_html_whose_rules_are_learned(add, tmp_path):
    with PLAIN["drupal"](25) as catalogue:
        ran, source = add(catalogue.address)
        assert len(catalogue.asked) <= MOST + 5  # robots.txt, and four to learn from
    assert (source.spider, source.enabled) == ("html", True)
    assert source.arguments == {"rules": str(tmp_path / "rules.toml")}
    assert "has the learned rules: 10 links" in ran.stdout
    assert "next = true" in (tmp_path / "rules.toml").read_text()


def test_html_whose_datasets_are_in_a_sitemap(add, tmp_path):
    with PLAIN["sitemap"](25) as catalogue:
        _, source = add(catalogue.address)
    assert source.enabled
    assert f'sitemap = "{catalogue.url}/sitemap.xml"' in (tmp_path / "rules.toml").read_text()


@pytest.mark.parametrize(
    ("family", "says"), [("schema_org", "no pager was found"), ("rdf_link", "nothing but a title")]
)
def test_html_whose_rules_are_to_be_looked_at(add, tmp_path, family, says):
    with PLAIN[family](25) as catalogue:
        ran, source = add(catalogue.address)
    assert not source.enabled
    assert says in ran.stdout
    assert (tmp_path / "rules.toml").exists()


def test_html_of_scripts(add, tmp_path):
    with BROWSER["js_pager"](25) as catalogue:
        ran, source = add(catalogue.address)
    assert not source.enabled
    assert f"scrapy learn PAGE --list {catalogue.address} --browser -o" in ran.stdout
    assert not (tmp_path / "rules.toml").exists()


@pytest.mark.parametrize(
    ("words", "status", "body", "says"),
    [
        ((), 503, b"away", "so nothing is added: try again later. Or name the spider: scrapy sources add new SPIDER"),
        (("ckan",), 403, DENIED, "so nothing is added: try again later. --force writes the table"),
    ],
)
def test_html_before_an_api_that_is_busy(add, words, status, body, says):
    rows = "".join(f'<li><a href="/dataset/d{one}">Dataset {one}</a></li>' for one in range(12))

    def answer(asked):
        if "/api/" in asked.path:
            return Answer(body, status, {"Content-Type": "application/json"})
        return Answer(f"<html><body><h1>Datasets</h1><ul>{rows}</ul></body></html>".encode(), headers=HTML)

    with Site(answer) as site:
        ran, _ = add(*words, f"{site.url}/dataset", code=1)
    assert says in ran.stderr


RDF_LINKS = "".join(f'<li><a href="{name}.ttl">{name}</a></li>' for name in ("rivers", "lakes"))


def host(files):
    """A host with these pages, by path; those of text are HTML."""

    def answer(asked):
        found = files.get(asked.path.partition("?")[0])
        if found is None or isinstance(found, Answer):
            return found or Answer(b"", 404)
        is_rdf = asked.path.endswith(".ttl")
        return Answer(found.encode(), headers={"Content-Type": "text/turtle"} if is_rdf else HTML)

    return Site(answer)


CATALOGUE = "<c> a <http://www.w3.org/ns/dcat#Catalog> ."


def test_a_page_that_links_to_several_files_stops_with_a_sentence(add):
    page = f"<html><body><h1>Catalogues</h1><ul>{RDF_LINKS}</ul></body></html>"
    with host({"/a/b/page.html": page, "/catalog.ttl": CATALOGUE, "/a/b/lakes.ttl": CATALOGUE}) as site:
        ran, _ = add(f"{site.url}/a/b/page.html", code=1)
        says = f"the HTML page links to 2 files: name one of them: {site.url}/a/b/lakes.ttl, {site.url}/a/b/rivers.ttl"
        assert f"Nothing is added. {site.url}/a/b/page.html: {says}." in ran.stderr
        _, source = add(f"{site.url}/a/b/lakes.ttl")
    assert source.arguments == {"url": f"{site.url}/a/b/lakes.ttl"}


ABOVE = {
    "a file of the host": ({"/catalog.ttl": CATALOGUE}, "/catalog.ttl"),
    "a CKAN of the host": ({"/api/3/action/package_search": Answer(ckan().body)}, ""),
}


@pytest.mark.parametrize("name", ABOVE)
def test_what_is_above_the_address_is_not_taken_without_asking(add, name):
    files, found = ABOVE[name]
    with host({"/a/b/page.html": "<html><body><p>Our maps</p></body></html>"} | files) as site:
        typed = f"{site.url}/a/b/page.html"
        ran, _ = add(typed, code=1)
        assert (
            f"{site.url}{found} is not below {typed}, and nothing there leads to it: it may be another catalogue. "
            f"To take it: scrapy sources add new {site.url}{found}, or add --yes."
        ) in ran.stderr
        _, source = add(typed, "--yes")
    assert site.url + found in source.arguments.values()


@pytest.mark.parametrize(("answer", "is_added"), [("n\n", False), ("y\n", True)])
def test_a_terminal_is_asked_whether_to_take_what_is_above(tmp_path, answer, is_added):
    file = tmp_path / "sources.toml"
    settings = {"SOURCES_FILE": file, "OUTPUT_DIR": tmp_path / "output", **FAST}
    with host({"/a/page.html": "<html><body>Our maps</body></html>", "/catalog.ttl": CATALOGUE}) as site:
        words = [f"{site.url}/a/page.html", *(f"-s{name}={value}" for name, value in settings.items())]
        code, shown = answered(answer, ["sources", "add", "new", *words])
    assert (code, file.exists()) == (0, is_added)
    assert "it may be another catalogue. Take it? [y/N]" in shown


LED = {
    "a page of CKAN": ('<meta name="generator" content="ckan 2.10.1">', {}),
    "where CKAN says that it is": ('<body data-site-root="{url}/">', {}),
    "a redirect": ("", {"/old": redirect("/")}),
}


@pytest.mark.parametrize("name", LED)
def test_what_a_page_leads_to_is_taken(add, name):
    page, more = LED[name]
    files = {"/api/3/action/package_search": Answer(ckan().body)} | more
    with host(files) as site:
        page = f"<html>{page.format(url=site.url)}<body>Welcome</body></html>"
        files |= {"/pages/about.html": page, "/": page}
        _, source = add(f"{site.url}/{'old' if more else 'pages/about.html'}")
    assert source.arguments == {"portal": site.url}


CHALLENGES = {
    "of Cloudflare": Answer(b"<title>Just a moment...</title>", 403, HTML | {"cf-mitigated": "challenge"}),
    "of AWS": Answer(b"<html><body>Human Verification</body></html>", 202, HTML | {"x-amzn-waf-action": "challenge"}),
    "with HTTP 200": Answer(b"<html><body>Solve this <b>captcha</b> to go on</body></html>", 200, HTML),
}


@pytest.mark.parametrize("name", CHALLENGES)
@pytest.mark.parametrize("words", [(), ("ckan",), ("html",)])
def test_a_robot_check_is_told_as_such(add, name, words):
    with Site(lambda asked: Answer(b"", 404) if asked.path == "/robots.txt" else CHALLENGES[name]) as site:
        ran, _ = add(*words, f"{site.url}/data", code=1)
        assert len(site.asked) <= 2
    assert f"Nothing is added. {site.url}/data: a " in ran.stderr
    assert ADVICE["blocked"] in ran.stderr


def test_a_page_with_a_form_that_has_a_captcha_is_a_page():
    page = html('<script src="recaptcha.js"></script>' + "".join(f'<a href="/{n}">{n}</a>' for n in range(9)))
    found, _ = detected(PORTAL, {PORTAL: page, f"{PORTAL}{SEARCH}": ckan()})
    assert found[0].kind == "ckan"


def test_html_of_one_dataset(add):
    with PLAIN["schema_org"](25) as catalogue:
        ran, source = add(catalogue.url + "/datasets/ds-0000")
    assert not source.enabled
    assert f"scrapy learn {catalogue.url}/datasets/ds-0000 --list LISTING" in ran.stdout


def test_a_spider_that_does_not_fit(add):
    with Catalogue(3) as catalogue:
        ran, _ = add("hdx", catalogue.address, code=1)
        assert "nothing that spider hdx harvests" in ran.stderr
        _, source = add("hdx", catalogue.address, "--force")
    assert (source.spider, source.arguments) == ("hdx", {"portal": catalogue.address})


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://127.0.0.1:9/", "is not available"),
        ("http://nothing.invalid/", "is not available"),
        ("ftp://example.org/", "is not an http(s) address"),
        ("http://[::1/", "is not an http(s) address"),
        ("data.example.org", "is not an http(s) address"),
        ("http://me:secret@127.0.0.1:9/", "is not an http(s) address"),
    ],
)
def test_wrong_and_dead_addresses(add, address, says):
    ran, _ = add(address, code=1)
    assert says in ran.stderr
    assert "secret" not in ran.stderr + ran.stdout


def test_robots_are_obeyed(add):
    with PLAIN["drupal"](25, faults={"robots": "/"}) as catalogue:
        ran, _ = add(catalogue.address, code=1)
        assert {asked.path.partition("?")[0] for asked in catalogue.asked} <= {
            *("/robots.txt", "/api/3/action/package_search", f"{catalogue.start}/api/3/action/package_search"),
        }
    assert "disallows" in ran.stdout


def _away(asked):
    return redirect("http://169.254.169.254/latest/meta-data/")


def _loop(asked):
    return redirect(f"{asked.path}x")


def _bomb(asked):
    headers = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
    return Answer(gzip.compress(b"<html>" + b" " * 200_000_000, 1), headers=headers)


def _escapes(asked):
    return Answer(b"<html>", headers={"Content-Type": "application/\x9b31mpdf"})


def _challenge(asked):
    return Answer(b"<title>Just a moment...</title>", 403, {"Content-Type": "text/html", "cf-mitigated": "challenge"})


@pytest.mark.slow
@pytest.mark.parametrize("answer", [_away, _loop, _bomb, _escapes, _challenge])
def test_hostile_hosts(add, answer, tmp_path):
    with Site(answer) as site:
        ran = scrapy(
            *("sources", "add", "new", site.url, "-s", f"SOURCES_FILE={tmp_path / 's.toml'}"),
            *("--rules", str(tmp_path / "r.toml"), *(f"-s{name}={value}" for name, value in FAST.items())),
        )
        assert len(site.asked) <= 200
    assert ran.returncode in (0, 1)
    assert "Traceback" not in ran.stderr
    assert not {"\x1b", "\x9b"} & set(ran.stdout + ran.stderr)
