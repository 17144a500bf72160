"""`scrapy learn` and `scrapy try` as a user types them, against a small catalogue on the loopback."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from html import escape
from threading import Event
from urllib.parse import parse_qs, urlsplit

import pytest

from crawlers.kinds.html.rules import load, loads
from tests import forked
from tests.conftest import FAST, ROOT, scrapy
from tests.layouts.layouts import LAYOUTS
from tests.layouts.records import record
from tests.site import Answer, Site
from tests.waiting import HANG

DL = next(one for one in LAYOUTS if one.name == "dl")
RECORDS = {one.slug: one for one in (record(number, "en") for number in range(12))}
HTML = {"Content-Type": "text/html; charset=utf-8"}
PER_PAGE = 5


def listing(number: int, per_page: int = PER_PAGE) -> str:
    """A page of the listing, with a menu, a facet and a pager."""
    slugs = list(RECORDS)
    shown = slugs[number * per_page : (number + 1) * per_page]
    rows = "".join(
        f'<article class="result"><h3><a href="/datasets/{slug}">{escape(RECORDS[slug].title)}</a></h3>'
        f'<a class="more" href="/datasets/{slug}">more</a></article>'
        for slug in shown
    )
    more = f'<a href="/datasets?page={number + 1}">next</a>' if (number + 1) * per_page < len(slugs) else ""
    return (
        '<html><body><nav><a href="/">Home</a><a href="/about">About</a><a href="/news">News</a></nav>'
        f'<ul class="facets"><li><a href="/datasets?tag=a">a</a></li><li><a href="/datasets?tag=b">b</a></li></ul>'
        f'{rows}<div class="pager"><b>{number + 1}</b> {more}</div></body></html>'
    )


def catalogue(asked) -> Answer:
    parts = urlsplit(asked.path)
    if parts.path == "/robots.txt":
        return Answer(b"User-agent: *\nDisallow: /private\n", headers={"Content-Type": "text/plain"})
    if parts.path == "/datasets":
        return Answer(listing(int(parse_qs(parts.query).get("page", ["0"])[0])).encode(), headers=HTML)
    slug = parts.path.rpartition("/")[2]
    if slug in RECORDS:
        return Answer(DL.render(RECORDS[slug]).encode(), headers=HTML)
    if parts.path == "/app":
        return Answer(b"<html><body><div id=app></div><script>render()</script></body></html>", headers=HTML)
    if parts.path == "/private":
        return Answer(b"<h1>secret</h1>", headers=HTML)
    return Answer(b"%PDF", headers={"Content-Type": "application/pdf"}) if parts.path == "/pdf" else Answer(b"", 404)


@pytest.fixture
def site():
    with Site(catalogue) as started:
        yield started


@pytest.fixture
def run(tmp_path):
    """Runs a command; what it says must have no traceback."""

    def started(command, *words, code=0):
        settings = [f"-s{name}={value}" for name, value in {**FAST, "OUTPUT_DIR": tmp_path / "output"}.items()]
        ran = scrapy(command, *map(str, words), *settings)
        assert "Traceback" not in ran.stderr
        assert ran.returncode == code, ran.stderr
        return ran

    return started


def page(site, number: int) -> str:
    return f"{site.url}/datasets/{list(RECORDS)[number]}"


@pytest.fixture
def values():
    sample = RECORDS[next(iter(RECORDS))]
    seen = {"title": sample.title, "license": sample.license, "issued": sample.issued}
    return [word for name, value in seen.items() for word in ("--value", f"{name}={value}")]


@pytest.fixture
def learned(site, run, values, tmp_path):
    """A rules file learned from two pages and a listing."""
    path = tmp_path / "catalogues" / "x.toml"
    address = site.url + "/datasets"
    ran = run(
        "learn",
        page(site, 0),
        *values,
        "--label",
        "publisher=Publisher",
        "--more",
        page(site, 1),
        "--list",
        address,
        "-o",
        path,
    )
    return path, ran


# learn


def test_learned_from_a_page_and_a_listing(site, learned):
    path, ran = learned
    rules = load(path)
    assert {"title", "issued", "publisher", "license"} < {rule.name for rule in rules.fields}
    assert rules.resources
    assert rules.start == (site.url + "/datasets",)
    assert (rules.links.id, rules.paging.kind) == ("/datasets/([^/?#]+)", "next")
    meaningful = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    assert len(meaningful) <= 24
    assert "5 links on" in ran.stdout
    assert "the second page has 5 links that the first has not" in ran.stdout


def test_all_is_asked_for_in_one_crawl(site, learned):
    asked = [one.path for one in site.asked]
    assert sorted(asked) == sorted(
        ["/robots.txt", urlsplit(page(site, 0)).path, urlsplit(page(site, 1)).path, "/datasets", "/datasets?page=1"]
    )
    assert all("catalogue-crawlers" in one.headers["User-Agent"] for one in site.asked)


def test_the_report_says_what_each_rule_gives_and_how_sure_it_is(learned):
    lines = learned[1].stdout.splitlines()
    title = next(number for number, line in enumerate(lines) if line.startswith("title "))
    assert re.fullmatch(r"title +(8|9)[0-9] %  css h1; found on 1 of 1 other pages", lines[title])
    assert [line.split(None, 1)[1] for line in lines[title + 1 : title + 3]] == [
        RECORDS[slug].title for slug in list(RECORDS)[:2]
    ]


def test_nothing_is_written_but_the_file(learned, tmp_path):
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["x.toml"]


def test_standard_output(site, run, values):
    for more in ([], ["-o", "-"]):
        ran = run("learn", page(site, 0), *values, *more)
        assert loads(ran.stdout).fields
        assert "One page was seen" in ran.stderr


def test_a_saved_page(run, values, tmp_path):
    path = tmp_path / "saved.html"
    path.write_text("<!-- saved from url=(0031)https://data.example.org/datasets/a -->" + DL.render(record(0, "en")))
    ran = run("learn", path, *values, "--browser")
    assert (loads(ran.stdout).start, *loads(ran.stdout).browser) == (("https://data.example.org/",),)
    assert "browser has loaded" not in ran.stderr
    path.write_bytes(
        "<link rel=canonical href='https://a:b@data.example.org/'><meta charset=latin1><h1>Δέντρα δρόμων</h1>".encode(
            "iso-8859-7"
        )
    )
    ran = run("learn", path, "--encoding", "iso-8859-7")
    assert loads(ran.stdout).encoding == "iso-8859-7"
    assert "Δέντρα δρόμων" in ran.stderr


def test_a_saved_listing(run, values, tmp_path):
    page_, list_ = tmp_path / "page.html", tmp_path / "list.html"
    page_.write_text(
        f'<base href="https://data.example.org/datasets/{next(iter(RECORDS))}">' + DL.render(record(0, "en"))
    )
    list_.write_text("<!-- saved from url=(0033)https://data.example.org/datasets -->" + listing(0))
    rules = loads(run("learn", page_, *values, "--list", list_).stdout)
    assert (rules.start, rules.links.id) == (("https://data.example.org/datasets",), "/datasets/([^/?#]+)")


def test_without_a_value_labels_alone_tell(site, run):
    ran = run("learn", page(site, 0))
    assert "or --without license" in ran.stderr
    assert {"title", "license", "publisher", "issued", "keywords"} <= {rule.name for rule in loads(ran.stdout).fields}


def test_a_file_is_overwritten_by_force_only(site, run, values, tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("mine")
    ran = run("learn", page(site, 0), *values, "-o", path, code=1)
    assert (ran.stderr.strip(), path.read_text()) == (f"{path} exists: --force overwrites it.", "mine")
    assert not site.asked
    run("learn", page(site, 0), *values, "-o", path, "--force")
    assert load(path).fields


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "words", "told"),
    [
        ("/datasets/ds-1000", ["--value", "licence=x"], "There is no field 'licence'. Did you mean license?"),
        ("/datasets/ds-1000", ["--value", "title"], "--value 'title' is not FIELD=TEXT"),
        ("/datasets/ds-1000", ["--value", "title=Street treez 2009 and more"], "The nearest texts there: Street trees"),
        ("/datasets/ds-1000", ["--value", "license=MIT"], "'MIT' is not on"),
        ("/datasets/ds-1000", ["--label", "license=Lisence"], "The nearest labels there: License"),
        ("/datasets/ds-1000", ["--value", "resource.url=https://a.org/x.csv"], "is not on"),
        ("/datasets/ds-1000", ["--label", "resource.url=CSV"], "labels are of datasets"),
        ("/datasets/ds-1000", ["--label", "license=A", "--label", "license=B"], "--label license is given twice"),
        ("/datasets/ds-1000", ["--value", "license=MIT", "--without", "license"], "--without license contradicts"),
        ("/app", [], "/app is empty"),
        ("/app", ["--value", "title=x"], 'it may need browser = "datasets"'),
        ("/gone", [], "/gone is not available: HTTP 404 Not Found."),
        ("/pdf", [], "what came is no HTML page (Content-Type 'application/pdf')"),
        ("/private", [], "robots.txt of 127.0.0.1"),
    ],
)
def test_what_can_not_be_learned_is_told_in_a_sentence(site, run, path, words, told):
    ran = run("learn", site.url + path, *words, code=1)
    assert told in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not ran.stdout


def test_a_listing_without_links(site, run, values):
    ran = run("learn", page(site, 0), *values, "--list", site.url + "/app", code=1)
    assert "has no links that could lead to datasets" in ran.stderr


def test_a_file_that_is_not_there(run):
    ran = run("learn", "nowhere.html", code=1)
    assert (
        ran.stderr.strip()
        == "nowhere.html is neither an http(s) address nor a readable file: No such file or directory."
    )


@pytest.mark.parametrize("address", ["http://[::1", "https://", "https://example.org:99999/"])
def test_an_address_that_is_none(run, tmp_path, address):
    rules = tmp_path / "x.toml"
    rules.write_text("start = 'https://example.org/'\n[links]\ncss = 'a'\n[fields]\ntitle = 'h1'\n")
    for words in (["learn", address], ["learn", address, "--browser"], ["try", rules, address]):
        assert run(*words, code=1).stderr.strip() == f"{address} is not a valid address."


@pytest.mark.parametrize("body", [b"PK\x03\x04zip", b"%PDF-1.7", b"\x1f\x8bgz", b"<h1>T</h1>\x00\x01"])
def test_a_saved_file_that_is_no_page(run, tmp_path, body):
    path = tmp_path / "saved"
    path.write_bytes(body)
    assert run("learn", path, code=1).stderr.strip() == f"{path} is not an HTML page: it contains binary data."


def test_a_saved_listing_that_does_not_say_where_it_is_from(run, values, tmp_path):
    page_, list_ = tmp_path / "page.html", tmp_path / "list.html"
    page_.write_text(DL.render(record(0, "en")))
    list_.write_text(listing(0))
    ran = run("learn", page_, *values, "--list", list_)
    assert 'start = "https://example.org/list.html" # to do: the address of the listing' in ran.stdout


def test_an_output_without_a_name(run):
    assert run("learn", "x.html", "-o", "", code=1).stderr.strip() == "-o needs a file name."


def test_one_interrupt_ends_a_page_that_does_not_come(tmp_path):
    asked = Event()

    def slow(one) -> Answer:
        if one.path == "/robots.txt":
            return Answer(b"", 404)
        asked.set()
        ended.wait(HANG)
        return Answer(b"late", headers=HTML)

    ended = Event()
    with Site(slow) as site:
        command = [sys.executable, "-m", "scrapy", "learn", site.url + "/d", "-sREQUESTS_PER_SECOND=0"]
        ran = forked.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        assert asked.wait(HANG)
        ran.send_signal(signal.SIGINT)
        try:
            said = ran.communicate(timeout=HANG)[1]
        finally:
            ended.set()
            ran.kill()
    assert said.strip() == f"{site.url}/d is not available: the crawl ended before it was loaded."
    assert ran.returncode == 1


def test_another_private_host_is_not_asked(run, values, tmp_path):
    """What the user types may be private; where a page leads to may not."""
    other = Site(catalogue)
    with (
        other,
        Site(
            lambda asked: Answer(
                status=302, headers={"Location": other.url.replace("127.0.0.1", "localhost") + asked.path}
            )
        ) as site,
    ):
        ran = run("learn", site.url + "/datasets/ds-1000", *values, code=1)
    assert "is not available" in ran.stderr
    assert not [one for one in other.asked if one.path != "/robots.txt"]


# try


def test_try_shows_each_field(site, run, learned):
    ran = run("try", learned[0], page(site, 2))
    assert RECORDS[list(RECORDS)[2]].title in ran.stdout
    assert "by css h1, 100 % sure" in ran.stdout
    assert "\x1b" not in ran.stdout


def test_a_page_does_not_steer_the_terminal(run, learned, tmp_path):
    path = tmp_path / "saved.html"
    path.write_text("<h1>Trees &#27;[2J</h1><dl><dt>Publisher</dt><dd>\x1b]0;x\x07</dd></dl>")
    assert "\x1b" not in run("try", learned[0], path).stdout
    ran = run("learn", path)
    assert "\x1b" not in ran.stdout + ran.stderr


def test_try_for_programs(site, run, learned):
    [found] = json.loads(run("try", "--json", learned[0], page(site, 2)).stdout)
    truth = RECORDS[list(RECORDS)[2]]
    assert found["fields"]["title"]["value"] == truth.title
    assert found["fields"]["issued"]["value"] == truth.issued
    assert found["missing"] == []


def test_try_shows_the_links_of_a_listing(site, run, learned):
    [found] = json.loads(run("try", "--json", learned[0]).stdout)
    assert [one["id"] for one in found["links"]] == list(RECORDS)[:PER_PAGE]
    assert found["next"] == site.url + "/datasets?page=1"
    [last] = json.loads(run("try", "--json", "--list", learned[0], site.url + "/datasets?page=2").stdout)
    assert (len(last["links"]), last["next"]) == (2, None)
    assert "next page       none, by next" in run("try", "--list", learned[0], site.url + "/datasets?page=2").stdout


def test_try_of_a_saved_page(run, learned, tmp_path):
    path = tmp_path / "saved.html"
    path.write_text(DL.render(record(5, "en")))
    assert record(5, "en").title in run("try", learned[0], path).stdout


def test_what_is_required_and_missing(site, run, learned):
    ran = run("try", learned[0], site.url + "/app", code=3)
    assert "title           missing, and required" in ran.stdout
    ran = run("try", "--list", learned[0], site.url + "/app", code=3)
    assert "no link to a dataset" in ran.stdout


def test_missing_is_red_on_a_terminal(site, learned):
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "scrapy", "try", str(learned[0]), site.url + "/app", "-sREQUESTS_PER_SECOND=0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    forked.run(command, cwd=ROOT, env=environment, stdout=slave, stderr=subprocess.DEVNULL, check=False, timeout=HANG)
    os.close(slave)
    shown = os.read(master, 10_000).decode()
    os.close(master)
    assert "\x1b[1;31mmissing, and required\x1b[0m" in shown


@pytest.mark.parametrize(
    ("rules", "told"),
    [("no.toml", "can't be read: No such file or directory."), ("bad.toml", "start is missing")],
)
def test_rules_that_are_none(run, tmp_path, rules, told):
    (tmp_path / "bad.toml").write_text("[links]\n")
    ran = run("try", tmp_path / rules, "https://example.org/", code=1)
    assert told in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("learn",), "error: name one dataset's page"),
        (("learn", "--titel", "x"), "error: there is no option --titel."),
        (("try",), "error: name a rules file"),
        (("try", "x.toml", "--lsit"), "error: there is no option --lsit. Did you mean --list?"),
    ],
)
def test_a_mistyped_command(run, words, told):
    assert told in run(*words, code=2).stderr


def test_more_takes_all_that_follows_it(run):
    assert (
        "--more takes all addresses that follow: put the page before it"
        in run("learn", "--more", "a", "b", code=2).stderr
    )
