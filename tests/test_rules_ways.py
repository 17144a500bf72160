"""What rules can say: several ways for a field, defaults, feeds as listings, fields in Python, pages kept as tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from crawlers.exceptions import RulesError
from crawlers.kinds.html.answer import html_of
from crawlers.kinds.html.mapping import Page, dataset, document
from crawlers.kinds.html.rules import loads
from tests.conftest import ROOT, Crawl, options, scrapy
from tests.site import Answer, Site

HTML = {"Content-Type": "text/html; charset=utf-8"}
START = 'start = "{url}/feed"\n[links]\ncss = "li a"\nid = "/d/([0-9]+)"\n'
FIELDS = """[fields]
title = "h1"
license = [{ label = "Lizenz" }, "a[rel=license]", { css = ".none", default = "CC-BY-4.0" }]
publisher = { label = "Stelle", default = "Stadt" }
"""
RULES = START + FIELDS
PAGES = {
    "1": "<h1>Trees</h1><dl><dt>Lizenz</dt><dd>CC0-1.0</dd><dt>Stelle</dt><dd>Amt</dd></dl>",
    "2": '<h1>Roads</h1><a rel="license" href="https://example.org/l">ODbL-1.0</a>',
    "3": "<h1>Rain</h1>",
}
ATOM = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE feed [<!ENTITY who "the &quot;town&quot;">]>
<feed xmlns="http://www.w3.org/2005/Atom"><title>Data of &who;</title>{next}{entries}</feed>"""
ENTRY = '<entry><title>No. {0}</title><link rel="self" href="/x"/><link href="/d/{0}"/></entry>'
RSS = '<rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom"><channel>{next}{entries}</channel></rss>'
ITEM = "<item><title>No. {0}</title><guid>{1}/d/{0}</guid></item>"


def town(feed: str):
    """A town whose listing is a feed of two pages."""

    def answer(asked) -> Answer:
        path, page = asked.path.partition("?")[0], asked.parameters.get("page", "1")
        if path == "/feed":
            here = f"http://{asked.headers['Host']}"
            entry, around, kind = (ENTRY, ATOM, "atom") if feed == "atom" else (ITEM, RSS, "rss")
            prefix = "" if feed == "atom" else "a:"
            more = f'<{prefix}link rel="next" href="/feed?page=2"/>' if page == "1" else ""
            numbers = "12" if page == "1" else "3"
            body = around.format(next=more, entries="".join(entry.format(one, here) for one in numbers))
            return Answer(body.encode(), headers={"Content-Type": f"application/{kind}+xml"})
        number = path.rpartition("/")[2]
        if number in PAGES:
            return Answer(f"<html><body>{PAGES[number]}</body></html>".encode(), headers=HTML)
        return Answer(b"", 404, HTML)

    return answer


def crawled(folder: Path, feed: str, rules: str = RULES) -> Crawl:
    with Site(town(feed)) as site:
        (folder / "town.toml").write_text(rules.replace("{url}", site.url))
        words = options(folder / "output", {}, rules=str(folder / "town.toml"), source="town")
        ran = scrapy("crawl", "html", *words, "-O", str(folder / "items.jsonl"))
    return Crawl(ran.returncode, ran.stderr, folder / "output" / "town")


def items(folder: Path) -> dict[str, dict]:
    found = map(json.loads, (folder / "items.jsonl").read_text().splitlines())
    return {item["id"]: item for item in found}


@pytest.mark.parametrize("feed", ["atom", "rss"])
def test_a_feed_is_a_listing_and_a_field_has_several_ways(tmp_path, feed):
    done = crawled(tmp_path, feed)
    assert (done.code, done.errors, done.report["verdict"]) == (0, [], "complete"), done.log
    found = items(tmp_path)
    assert {key: item["license"]["id"] for key, item in found.items()} == {
        "1": "CC0-1.0",
        "2": "ODbL-1.0",
        "3": "CC-BY-4.0",
    }
    assert {key: item["publisher"]["name"] for key, item in found.items()} == {"1": "Amt", "2": "Stadt", "3": "Stadt"}
    (rain,) = (one for one in done.documents().values() if one["url"].endswith("/d/3"))
    assert rain["fields"]["license"]["by"] == "constant"


def test_a_feed_that_names_no_next_page_proves_nothing(tmp_path):
    only = "<rss><channel><item><link>/d/1</link></item></channel></rss>"
    page = html_of(only.encode(), "https://example.org/feed")
    assert 'href="https://example.org/d/1"' in page
    assert "next" not in page
    assert html_of(b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', "https://a.org/") is None
    assert html_of(b"<html><body>a <rss> of its own</body></html>", "https://a.org/") is None
    assert html_of(b"<feed xmlns='x'><totalResults>7</totalResults></feed>", "https://a.org/").count("7") == 1
    bomb = b'<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    bomb += b"<rss><channel><title>&b;</title></channel></rss>"
    assert len(html_of(bomb, "https://a.org/")) < 1000


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("title = []", "fields.title has 0 ways: a list has from 1 to 10."),
        ("title = [" + '"h1", ' * 11 + "]", "fields.title has 11 ways: a list has from 1 to 10."),
        ('title = ["h1", 7]', "fields.title[2] is neither a CSS selector nor a table"),
        ('title = [{ css = "h1", defualt = "x" }]', "fields.title[1].defualt is unknown. Did you mean default?"),
        ('title = [{ css = "h1", default = "x" }, "h2"]', "fields.title: only the last way has a default"),
    ],
)
def test_ways_that_are_none_are_a_sentence(field, sentence):
    with pytest.raises(RulesError) as raised:
        loads(START.replace("{url}", "https://example.org") + f"[fields]\n{field}\n")
    assert sentence in str(raised.value)


def test_a_link_has_one_way():
    with pytest.raises(RulesError, match=r"rdf has one way only"):
        loads('start = "https://example.org/"\nrdf = ["a.rdf", "a.xml"]\n[links]\ncss = "a"\n')


def test_an_unsure_way_gives_way_to_a_sure_one():
    """A label in the footer is less sure than what the next way finds in the main part."""
    rules = loads(
        START.replace("{url}", "https://example.org")
        + '[fields]\ntitle = "h1"\nlicense = [{label = "Licence"}, ".l"]\n'
    )
    footer = "<footer><dl><dt>Licence</dt><dd>CC-BY-4.0</dd></dl></footer>"
    for main, expected in (('<p class="l">ODbL-1.0</p>', "ODbL-1.0"), ("", None)):
        page = Page(f"<body><main><h1>A</h1>{main}</main>{footer}</body>", "https://example.org/d/1")
        item = dataset(document(page, rules), source="a", id="1")
        assert (item.license and item.license.id) == expected


OWN = '''from crawlers.records.html_page import text
from crawlers.kinds.html.spider import HTMLSpider


class Town(HTMLSpider):
    """A town."""

    name, rules = "town", "{rules}"

    def field_{field}(self, page):
        return {value}
'''


def own(folder: Path, field: str, value: str) -> Crawl:
    (folder / "towns").mkdir()
    with Site(town("atom")) as site:
        (folder / "town.toml").write_text(RULES.replace("{url}", site.url))
        made = OWN.format(rules=folder / "town.toml", field=field, value=value)
        (folder / "towns" / "town.py").write_text(made)
        words = [
            "crawl",
            "town",
            *options(folder / "output", {"SPIDER_MODULES": "towns"}),
            "-O",
            f"{folder}/items.jsonl",
        ]
        program = f"import sys; sys.path.insert(0, {str(folder)!r}); from scrapy.cmdline import execute; execute()"
        command = [sys.executable, "-W", "error", "-c", program, *words]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return Crawl(ran.returncode, ran.stderr, folder / "output" / "town")


@pytest.mark.slow
def test_a_spider_says_a_field_in_python(tmp_path):
    done = own(tmp_path, "keywords", '[text(page.find("//h1")[0]).lower(), "town"] if page.url[-1] != "3" else None')
    assert (done.code, done.errors) == (0, []), done.log
    assert {key: item["keywords"] for key, item in items(tmp_path).items()} == {
        "1": ["trees", "town"],
        "2": ["roads", "town"],
        "3": [],
    }
    assert {item["license"]["id"] for item in items(tmp_path).values()} == {"CC0-1.0", "ODbL-1.0", "CC-BY-4.0"}
    (trees,) = (one for one in done.documents().values() if one["url"].endswith("/d/1"))
    assert trees["fields"]["keywords"] == {"value": ["trees", "town"], "by": "field_keywords", "confidence": 1.0}


@pytest.mark.slow
def test_a_method_that_breaks_costs_one_record(tmp_path):
    done = own(tmp_path, "title", '1 / (3 - int(page.url[-1])) and "x"')
    assert (done.code, done.kinds()[0]) == (3, ("parse", "bug"))
    assert "ZeroDivisionError" in done.errors[0]["error"]
    assert sorted(items(tmp_path)) == ["1", "2"]


@pytest.mark.slow
def test_a_method_of_no_field_is_a_sentence(tmp_path):
    done = own(tmp_path, "tilte", "None")
    assert done.code == 1
    assert "field_tilte: there is no field 'tilte'. Did you mean title?" in done.log
    assert "Traceback" not in done.log


@pytest.mark.slow
def test_pages_are_kept_as_tests(tmp_path):
    rules = tmp_path / "town.toml"
    with Site(town("atom")) as site:
        rules.write_text(RULES.replace("{url}", site.url))
        ran = scrapy("try", str(rules), "--check")
        assert (ran.returncode, ran.stderr.strip().splitlines()[-1]) == (
            1,
            f"{tmp_path}/town.tests has no saved page: `scrapy try {rules} URL --save` saves one.",
        )
        ran = scrapy("try", str(rules), f"{site.url}/feed", f"{site.url}/d/1", f"{site.url}/d/3", "--save")
        assert (ran.returncode, ran.stdout.count("Saved ")) == (0, 3), ran.stderr
    kept = sorted((tmp_path / "town.tests").iterdir())
    assert len(kept) == 6
    expected = json.loads(
        next(path for path in kept if path.name.startswith("d-1") and path.suffix == ".json").read_text()
    )
    assert expected["expected"] == {"title": "Trees", "license": "CC0-1.0", "publisher": "Amt"}
    ran = scrapy("try", str(rules), "--check")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "3 of 3 saved pages are as expected.")
    rules.write_text(rules.read_text().replace('"Lizenz"', '"Colour"').replace("li a", "h2"))
    ran = scrapy("try", str(rules), "--check")
    assert ran.returncode == 3
    assert 'license: "CC-BY-4.0", expected "CC0-1.0"' in ran.stdout
    assert "2 of 3 saved pages are as expected." in ran.stdout


def test_what_is_no_saved_page_is_a_sentence(tmp_path):
    rules = tmp_path / "town.toml"
    rules.write_text(RULES.replace("{url}", "https://example.org"))
    (tmp_path / "town.tests").mkdir()
    for content in ("{", "[]", '{"url": "https://example.org/"}'):
        (tmp_path / "town.tests" / "x.json").write_text(content)
        ran = scrapy("try", str(rules), "--check")
        assert ran.returncode == 1
        assert "x.json" in ran.stderr
        assert "Traceback" not in ran.stderr
    ran = scrapy("try", "dkan", "--check")
    assert (ran.returncode, "are for rules files" in ran.stderr) == (2, True)
