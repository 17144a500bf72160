"""HTML catalogues that answer oddly: what is missing is told, and nothing is taken for gone that is not."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from crawlers import kind
from tests.conftest import Crawl, options, scrapy
from tests.site import Answer, Site, redirect

TURTLE = """@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
<https://a.org/x> a dcat:Dataset ; dct:title "{title}" ; dct:identifier "x" .{end}"""


class Pages(Site):
    """A site of a few pages: ``pages["/list"] = links(1, 2, following="/list2")``; any ``/d/N`` is dataset N.

    Attributes:
        pages: what is at a path, query and all, instead: an answer, or the body of a page.
    """

    def __init__(self, pages=None) -> None:
        super().__init__(self.reply)
        self.pages: dict[str, Answer | str] = dict(pages or {})

    def reply(self, asked) -> Answer:
        page = self.pages.get(asked.path)
        if page is None and (found := re.fullmatch(r"/d/(\d+)(?:\?.*)?", asked.path)):
            page = f"<h1>Dataset {found[1]}</h1>"
        if page is None:
            return Answer(b"", status=404)
        return page if isinstance(page, Answer) else html(page)

    def counts(self) -> Counter[str]:
        return Counter(asked.path for asked in self.asked)


def html(body: str, status: int = 200, **headers: str) -> Answer:
    content = f"<html><body>{body}</body></html>".encode()
    return Answer(content, status=status, headers={"Content-Type": "text/html; charset=utf-8", **headers})


def links(*numbers: int, following: str | None = None, query: str = "", more: str = "") -> str:
    found = "".join(f'<li><a href="/d/{number}{query}">{number}</a></li>' for number in numbers)
    return f"<ul>{found}</ul>{more}" + (f'<a rel="next" href="{following}">next</a>' if following else "")


@pytest.fixture
def harvest(output, tmp_path):
    """Crawls a site: ``harvest(site, 'paging = { query = "page" }', fields="...", since="last")``.

    Where the listing is one page, the rules say so.
    """

    def run(site: Site, *lines: str, start: str = "/list", settings=None, name: str = "rules", **arguments) -> Crawl:
        rules = tmp_path / f"{name}.toml"
        head = "" if any(line.startswith("start") for line in lines) else f'start = "{site.url}{start}"'
        parts = [line.replace("{url}", site.url) for line in lines]
        if not any("paging" in line for line in lines) and "next" not in str(site.pages.get(start, "next")):
            parts.insert(0, "paging = { next = false }")
        if not any(line.startswith("links") for line in lines):
            parts.append("links = { css = 'li a', id = '/d/([0-9]+)' }")
        if not any("[fields]" in line for line in lines):
            parts.append('[fields]\ntitle = "h1"')
        rules.write_text("\n".join([head, *parts]), encoding="utf-8")
        ran = scrapy(
            "crawl", "html", *options(output, {"SHRINK_LIMIT": "1", **(settings or {})}, rules=str(rules), **arguments)
        )
        return Crawl(ran.returncode, ran.stderr, output / arguments.get("source", "127.0.0.1"))

    return run


def judged(crawl: Crawl):
    return crawl.report["verdict"], len(crawl.documents()), crawl.kinds()


# Listings


def test_letters_that_only_the_header_explains(harvest):
    page = "<ul><li><a href='/d/1?q=\xe9'>1</a></li></ul><a rel='next' href='/list?q=\xe9'>next</a>".encode("cp1252")
    last = html(links(2))
    with Pages({"/list": Answer(page, headers={"Content-Type": "text/html; charset=windows-1252"})}) as site:
        site.pages["/list?q=%E9"] = last
        assert judged(harvest(site)) == ("complete", 2, [])
        assert site.counts()["/d/1?q=%E9"] == 1


def test_sitemaps_that_name_sitemaps_for_ever(harvest):
    class Endless(Pages):
        def reply(self, asked) -> Answer:
            number = re.search(r"/s(\d+)", asked.path)
            if not number:
                return super().reply(asked)
            loc = f"<sitemap><loc>{self.url}/s{int(number[1]) + 1}.xml</loc></sitemap>"
            space = "http://www.sitemaps.org/schemas/sitemap/0.9"
            return Answer(
                f'<sitemapindex xmlns="{space}">{loc}</sitemapindex>'.encode(), headers={"Content-Type": "text/xml"}
            )

    with Endless() as site:
        crawl = harvest(site, 'paging = { sitemap = "/s1.xml" }', "links = { pattern = '/d/' }")
        assert (crawl.report["verdict"], crawl.kinds()) == ("failed", [("list", "trap")])
        assert len(site.asked) < 10


SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def sitemap(*numbers: int) -> Answer:
    rows = "".join(f"<url><loc>/d/{number}</loc></url>" for number in numbers)
    return Answer(f"<urlset {SPACE}>{rows}</urlset>".encode(), headers={"Content-Type": "text/xml"})


def index(*addresses: str) -> Answer:
    rows = "".join(f"<sitemap><loc>{address}</loc></sitemap>" for address in addresses)
    return Answer(f"<sitemapindex {SPACE}>{rows}</sitemapindex>".encode(), headers={"Content-Type": "text/xml"})


BY_SITEMAP = ("paging = { sitemap = true }", "links = { pattern = '/d/', id = '/d/([0-9]+)' }")


def test_sitemaps_that_robots_txt_names(harvest):
    """There is none at the usual place; one that is elsewhere is told, and what it lists is not taken for gone."""
    named = b"Sitemap: /a.xml\nSitemap: /b.xml\nSitemap: /c.xml\n"
    with Pages({"/robots.txt": Answer(named, headers={"Content-Type": "text/plain"}), "/a.xml": sitemap(1, 2)}) as site:
        site.pages |= {"/b.xml": index("/d.xml"), "/d.xml": sitemap(2, 3), "/c.xml": sitemap(4)}
        whole = harvest(site, *BY_SITEMAP)
        assert judged(whole) == ("complete", 4, [])
        site.pages["/c.xml"] = index("https://other.example/c.xml")
        site.pages["/d/4"] = Answer(b"", status=404)
        crawl = harvest(site, *BY_SITEMAP)
    assert judged(crawl) == ("incomplete", 4, [("list", "offsite")])
    assert "https://other.example/c.xml" in crawl.errors[0]["error"]
    assert {line["status"] for line in crawl.manifest} == {"new"}


def test_a_limit_stops_an_index_of_sitemaps(harvest):
    with Pages({f"/s{number}.xml": sitemap(2 * number, 2 * number + 1) for number in range(1, 30)}) as site:
        site.pages["/sitemap.xml"] = index(*(f"/s{number}.xml" for number in range(1, 30)))
        assert judged(harvest(site, *BY_SITEMAP, max_datasets="5"))[:2] == ("partial", 5)
    assert sum(".xml" in path for path in site.counts()) == 4


# Limits


def test_a_limit_within_a_page(harvest):
    with Pages({"/list": links(*range(1, 11))}) as site:
        assert judged(harvest(site, max_datasets="4")) == ("partial", 4, [])


def test_a_limit_in_a_sitemap(harvest):
    with Pages() as site:
        locs = "".join(f"<url><loc>{site.url}/d/{number}</loc></url>" for number in range(1, 7))
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        site.pages["/sitemap.xml"] = Answer(
            f'<urlset xmlns="{space}">{locs}</urlset>'.encode(), headers={"Content-Type": "text/xml"}
        )
        rules = ("paging = { sitemap = true }", "links = { pattern = '/d/', id = '/d/([0-9]+)' }")
        assert judged(harvest(site, *rules)) == ("complete", 6, [])
        assert judged(harvest(site, *rules, max_datasets="2"))[0] == "partial"


# Datasets' pages


def test_a_login_overwrites_nothing(harvest):
    with Pages({"/list": links(1, 2, 3), "/login": "<h1>Please log in</h1>"}) as site:
        whole = harvest(site).documents()
        for number in (1, 2, 3):
            site.pages[f"/d/{number}"] = redirect("/login")
        crawl = harvest(site)
    assert crawl.documents() == whole
    assert set(crawl.kinds()) == {("parse", "missing_field")}


def test_rdf_that_breaks_off(harvest):
    alternate = '<link rel="alternate" type="text/turtle" href="/d/1.ttl"><h1>Dataset 1</h1>'
    broken = TURTLE.format(title="Other", end=" <broken")
    with Pages({"/list": links(1), "/d/1": alternate}) as site:
        site.pages["/d/1.ttl"] = Answer(broken.encode(), headers={"Content-Type": "text/turtle"})
        first, again = harvest(site), harvest(site)
        assert judged(first) == judged(again) == ("complete", 1, [])
        assert [(flaw["kind"], flaw["field"]) for flaw in again.flaws] == [("unreadable_statement", "rdf")]
        site.pages["/d/1.ttl"] = Answer(status=404)
        absent = harvest(site)
        assert absent.kinds() == [("fetch", "http")]
        assert [flaw["status"] for flaw in absent.flaws] == ["new"], "it was not read, so it stands"
        site.pages["/d/1.ttl"] = Answer(
            TURTLE.format(title="Dataset 1", end="").encode(), headers={"Content-Type": "text/turtle"}
        )
        whole = harvest(site)
        assert (whole.report["verdict"], whole.flaws[-1]["status"]) == ("complete", "gone")
        site.pages["/d/1.ttl"] = Answer(broken.encode(), headers={"Content-Type": "text/turtle"})
        torn = harvest(site)
        assert judged(torn) == ("incomplete", 1, [("fetch", "http"), ("parse", "invalid_rdf")]), (
            "the document on disk has more"
        )


def test_rdf_of_another_dataset(harvest):
    """Two pages link to one file: it is neither's, whichever answers first."""
    page = '<link rel="alternate" type="text/turtle" href="/catalog.ttl"><h1>Dataset {}</h1>'
    with Pages({"/list": links(1, 2), "/d/1": page.format(1), "/d/2": page.format(2)}) as site:
        rdf = TURTLE.format(title="The catalogue's only one", end="")
        site.pages["/catalog.ttl"] = Answer(rdf.encode(), headers={"Content-Type": "text/turtle"})
        crawl = harvest(site)
    assert judged(crawl) == ("complete", 2, [])
    assert {line["metadata_source"] for line in crawl.manifest} == {"html"}


OWN = """@prefix ex: <https://a.org/ns#> . @prefix dct: <http://purl.org/dc/terms/> .
<{url}> a ex:{type} ; ex:name "Chart {n}" ; ex:office [ ex:called "Port" ] ; dct:license <https://a.org/terms> ."""
RULES = """[rdf]
link = "RDF"
class = "ex:Chart"
prefixes = { ex = "https://a.org/ns#" }
[rdf.fields]
title = "ex:name"
publisher = { each = "ex:office", name = "ex:called" }
[fields]
keywords = { css = "b" }
title = { css = "h1", required = false }
"""


def test_rdf_that_is_not_dcat_is_read_as_the_rules_say(harvest):
    """1: as they say. 2: of another address. 3: of the page, in words that they do not say. 4: the file of page 1."""
    page = '<p>Sea charts <b>sea</b> <a href="/rdf/{}">RDF</a></p>'
    with Pages({"/list": links(1, 2, 3, 4)}) as site:
        for n, (file, about, type_) in {
            1: (1, 1, "Chart"),
            2: (2, 9, "Chart"),
            3: (3, 3, "Map"),
            4: (1, 1, ""),
        }.items():
            site.pages[f"/d/{n}"] = page.format(file) + (f"<h1>Chart {n}</h1>" if n > 1 else "")
            if type_:
                text = OWN.format(url=f"{site.url}/d/{about}", type=type_, n=about)
                site.pages[f"/rdf/{n}"] = Answer(text.encode(), headers={"Content-Type": "text/turtle"})
        links_ = "links = { css = 'li a', id = '/d/([0-9]+)' }"
        crawl = harvest(site, links_, RULES, settings={"CONCURRENT_REQUESTS": "1"})
    assert judged(crawl) == ("complete", 4, [])
    lines = {line["dataset_id"]: line for line in crawl.manifest}
    documents = {n: json.loads((crawl.folder / line["metadata_file"]).read_text()) for n, line in lines.items()}
    assert {n: line["metadata_source"] for n, line in lines.items()} == dict.fromkeys("34", "html") | dict.fromkeys(
        "12", "rdf+html"
    )
    assert sorted(n for n, document in documents.items() if "rdf" in document) == ["1", "2", "3"]
    assert documents["3"]["rdf"]["https://a.org/ns#name"] == "Chart 3"
    told = {flaw["dataset_id"]: flaw["error"].partition(": ")[0] for flaw in crawl.flaws}
    assert told == {
        "2": "the RDF of the page names another address, and is kept as its only dataset",
        "3": "the RDF of the page calls it no dataset, and is kept as it is",
        "4": "the RDF that the page links to is that of another page, too",
    }
    item = kind.reader("rdf+html")(documents["1"], "rules", "1", "")
    assert (item.title, item.publisher.name, item.keywords) == ("Chart 1", "Port", ["sea"]), "a document says how"
    assert item.license.uri == "https://a.org/terms", "what the rules do not say is read as ever"
    assert kind.triples(documents["1"], "rdf+html", "") is None, "exports take the item, which is DCAT"
    assert kind.reader("html")(documents["3"], "rules", "3", "").license is None


def test_rdf_that_fails_leaves_the_document_as_it_is(harvest):
    page = '<link rel="alternate" type="text/turtle" href="/d/1.ttl"><h1>Dataset 1</h1>'
    with Pages({"/list": links(1), "/d/1": html(page, ETag='"1"')}) as site:
        rdf = Answer(TURTLE.format(title="Dataset 1", end="").encode(), headers={"Content-Type": "text/turtle"})
        site.pages["/d/1.ttl"] = rdf
        whole = harvest(site)
        assert [line["metadata_source"] for line in whole.manifest] in (["rdf"], ["rdf+html"])
        site.pages["/d/1.ttl"] = Answer(status=404)
        failed = harvest(site)
        assert (failed.report["verdict"], failed.documents()) == ("incomplete", whole.documents())
        site.pages["/d/1.ttl"] = rdf
        site.asked.clear()
        again = harvest(site, since="last")
    assert (again.report["verdict"], again.documents()) == ("complete", whole.documents())
    assert site.counts()["/d/1.ttl"] == 1, "the page's ETag says nothing of its RDF"


def test_an_alternate_elsewhere_is_left_alone(harvest):
    page = '<link rel="alternate" type="text/turtle" href="https://other.example/d.ttl"><h1>Dataset 1</h1>'
    with Pages({"/list": links(1), "/d/1": page}) as site:
        assert judged(harvest(site)) == ("complete", 1, [])


def test_cookies_where_the_rules_say_so(harvest):
    class Session(Pages):
        def reply(self, asked) -> Answer:
            if asked.path != "/list" and "seen=yes" not in (asked.headers["Cookie"] or ""):
                return html("<p>Your session has ended.</p>")
            answer = super().reply(asked)
            return Answer(answer.body, answer.status, {**answer.headers, "Set-Cookie": "seen=yes; Path=/"})

    with Session({"/list": links(1, following="/list2"), "/list2": links(2)}) as site:
        assert judged(harvest(site, "cookies = true")) == ("complete", 2, [])
        assert judged(harvest(site, source="without"))[0] == "incomplete"


def test_further_hosts(harvest):
    listed = '<ul><li><a href="http://localhost:{}/d/1">1</a></li></ul>'
    with Pages() as site:
        site.pages["/list"] = listed.format(site.port)
        allowed = {"ALLOWED_PRIVATE_HOSTS": f"localhost:{site.port}"}
        assert judged(harvest(site, 'hosts = ["localhost"]', settings=allowed)) == ("complete", 1, [])
        assert judged(harvest(site, settings=allowed, source="strict"))[2] == [
            ("list", "offsite"),
            ("list", "no_datasets"),
        ]


def test_max_resources(harvest):
    """Pages that are under way are read all the same; the listing does not go on."""
    files = "<h1>Dataset</h1><p><a href='/f/1.csv'>a</a></p><p><a href='/f/2.csv'>b</a></p>"
    pages = {f"/list{number or ''}": links(number + 1, following=f"/list{number + 1}") for number in range(20)}
    rules = ("links = { css = 'li a', id = '/d/([0-9]+)' }", '[fields]\ntitle = "h1"\n[resources]\ncss = "p"')
    with Pages({**pages, **{f"/d/{number}": files for number in range(30)}}) as site:
        crawl = harvest(site, *rules, max_resources="4", settings={"CONCURRENT_REQUESTS": "1"})
    assert crawl.report["verdict"] == "partial"
    assert 2 <= len(crawl.documents()) <= 5


def test_a_sitemap_s_date_and_the_page_s_own(harvest):
    moment = "Fri, 02 Jan 2026 10:00:00 GMT"

    class Dated(Pages):
        def reply(self, asked) -> Answer:
            if asked.headers["If-Modified-Since"] == moment:
                return Answer(status=304)
            answer = super().reply(asked)
            return Answer(answer.body, answer.status, {**answer.headers, "Last-Modified": moment})

    def sitemap(day: str) -> Answer:
        space, loc = "http://www.sitemaps.org/schemas/sitemap/0.9", f"{site.url}/d/1"
        body = f'<urlset xmlns="{space}"><url><loc>{loc}</loc><lastmod>{day}</lastmod></url></urlset>'
        return Answer(body.encode(), headers={"Content-Type": "text/xml"})

    with Dated() as site:
        rules = ("paging = { sitemap = true }", "links = { pattern = '/d/', id = '/d/([0-9]+)' }")
        site.pages["/sitemap.xml"] = sitemap("2026-01-02")
        harvest(site, *rules)
        same = harvest(site, *rules, since="last")
        assert (judged(same), site.counts()["/d/1"]) == (("complete", 1, []), 1)
        site.pages["/sitemap.xml"] = sitemap("2026-01-03")
        later = harvest(site, *rules, since="last")
        assert (judged(later), later.report["counts"]["unchanged"]) == (("complete", 1, []), 1)
        assert site.asked[-1].headers["If-Modified-Since"] == moment


# What is gone


def test_a_renamed_dataset_is_one(harvest):
    rules = "links = { css = 'li a' }"
    with Pages({"/list": links(1, 2)}) as site:
        harvest(site, rules)
        site.pages["/list"] = links(1, 3)
        site.pages["/d/2"] = redirect("/d/3")
        crawl = harvest(site, rules)
    assert sorted(line["status"] for line in crawl.manifest) == ["new", "new", "new", "withdrawn"]
    assert [line["dataset_title"] for line in crawl.manifest if line["status"] == "withdrawn"] == ["Dataset 2"]


def test_other_ids_leave_no_datasets_behind(harvest):
    with Pages({"/list": links(1, 2)}) as site:
        harvest(site, "links = { css = 'li a' }")
        crawl = harvest(site, "links = { css = 'li a', id = '/d/([0-9]+)' }")
    assert Counter(line["status"] for line in crawl.manifest) == {"new": 4, "withdrawn": 2}
    assert crawl.report["verdict"] == "complete"


def test_two_catalogues_in_one_folder(harvest):
    """What one of them does not list is not gone."""
    pages = {"/list": links(1, 2), "/other": '<ul><li><a href="/e/3">3</a></li></ul>', "/e/3": "<h2>Dataset 3</h2>"}
    with Pages(pages) as site:
        harvest(site, name="one")
        crawl = harvest(site, "links = { css = 'li a' }", '[fields]\ntitle = "h2"', start="/other", name="two")
    assert [line["status"] for line in crawl.manifest] == ["new", "new", "new"]


def test_a_night_of_maintenance_withdraws_nothing(harvest):
    with Pages({"/list": links(1, 2)}) as site:
        harvest(site)
        site.pages["/list"], site.pages["/d/2"] = links(1), "<p>back soon</p>"
        crawl = harvest(site)
        assert Counter(line["status"] for line in crawl.manifest) == {"new": 2}
        site.pages["/list"] = links(1, 2)
        del site.pages["/d/2"]
        assert judged(harvest(site)) == ("complete", 2, [])


def test_a_site_without_its_pages_withdraws_nothing(harvest):
    """The page of what it lists is not there either."""
    with Pages({"/list": links(1, 2, 3)}) as site:
        harvest(site)
        site.pages |= {"/list": links(1, 2), **{f"/d/{number}": Answer(b"", status=404) for number in (1, 2, 3)}}
        crawl = harvest(site)
    assert (crawl.code, crawl.report["counts"]["withdrawn"]) == (3, 0)
    message = "1 dataset is no longer listed, and nothing is withdrawn: the portal does not give one either"
    assert next(line["error"] for line in crawl.errors if line["stage"] == "list").startswith(message)


# Rules


def test_a_source_is_a_folder_s_name(harvest, output):
    with Pages({"/list": links(1)}) as site:
        ran = harvest(site, 'source = "../evil"')
    assert (ran.code, "source = '../evil' in the rules is not a folder name" in ran.log) == (1, True)
    assert not list(output.parent.rglob("manifest.jsonl"))
