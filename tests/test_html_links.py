"""The links of a listing, and addresses that are the same on each run."""

from __future__ import annotations

from time import process_time

import pytest

from crawlers.kinds.html.links import Link, canonical, charset, chosen, dataset_id, dataset_links, follow_links, foreign
from crawlers.kinds.html.rules import loads
from crawlers.kinds.html.totals import number, total
from crawlers.records.html_page import Page

URL = "https://data.example.org/list/"
LISTING = """
<nav><a href="/about">About</a></nav><dl><dt>Datasets found:</dt><dd>77</dd></dl>
<ul id="all">
  <li><h2><a href="../dataset/b?utm_source=list">B</a></h2> <a href="/dataset/b#files">files</a></li>
  <li><h2><a href="/dataset/a%7e1;jsessionid=AB12">A</a></h2></li>
  <li><map><area href="//data.example.org/dataset/c"></map> <a href="mailto:x@example.org">mail</a> <a>none</a></li>
  <li><a href="https://elsewhere.example.com/dataset/d">D</a></li>
</ul>
<p class="found" data-all="6">1 - 4 of 1.234 datasets</p>
<ul class="groups"><li><a href="/group/x">X</a><li><a href="/group/y?sid=0123456789abcdef0123">Y</a>
<li><a href="/group/x">X</a></ul>
"""
BASE = "https://data.example.org/dataset/"


def rules(links: str, more: str = ""):
    return loads(f'start = "{URL}"\n{more}\n[links]\n{links}\n[fields]\ntitle = "h1"\n')


def urls(links: str, html: str = LISTING, url: str = URL) -> list[str]:
    return [link.url for link in dataset_links(Page(html, url), rules(links))]


FOUR = [BASE + "b", BASE + "a~1", BASE + "c", "https://elsewhere.example.com/dataset/d"]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ('css = "#all h2 a"', FOUR[:2]),
        ('css = "#all li"', FOUR),
        ('css = "#all, #all li, #all a"', FOUR),
        ("xpath = \"//ul[@id='all']//h2/a/@href\"", FOUR[:2]),
        ('pattern = "/dataset/"', FOUR),
        ('pattern = "org/dataset/[^/]+$"', FOUR[:3]),
        ('css = "#all"\npattern = "~"', FOUR[1:2]),
        ('css = "p.nowhere"', []),
        ('xpath = "count(//a)"', []),
    ],
)
def test_the_links_that_rules_find(links, expected):
    assert urls(links) == expected


def test_links_are_against_the_base_and_slashes_are_slashes():
    html = '<base href="/portal/"><a href="sets\\one.html">1</a><a href=" two.html\n">2</a><a href="\\a\\..\\b">3</a>'
    assert urls('css = "a"', html) == [
        "https://data.example.org/portal/sets/one.html",
        "https://data.example.org/portal/two.html",
        "https://data.example.org/b",
    ]


def test_links_elsewhere_are_told_apart():
    found = dataset_links(Page(LISTING, URL), rules('css = "#all li"'))
    own, others = foreign(found, rules('css = "a"'))
    assert [link.url for link in own] == FOUR[:3]
    assert [link.url for link in others] == FOUR[3:]
    assert foreign(found, rules('css = "a"', 'hosts = ["Elsewhere.example.com"]')) == (found, [])


def test_a_host_of_other_letters_is_the_one_it_is_written_as():
    given = loads('start = "https://datos.españa.example/"\n[links]\ncss = "a"\n[fields]\ntitle = "h1"\n')
    found = dataset_links(Page('<a href="/dataset/1">', "https://datos.españa.example/"), given)
    assert foreign(found, given) == ([Link(*["https://datos.xn--espaa-rta.example/dataset/1"] * 2)], [])


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("/dataset/([^/?]+)", BASE + "a?x=1", "a"),
        ("[0-9]+$", BASE + "a/17", "17"),
        ("id=([0-9]+)|set/([a-z]+)", BASE + "a", BASE + "a"),  # the first group is empty
        ("/record/([0-9]+)", BASE + "a", BASE + "a"),
    ],
)
def test_ids(pattern, url, expected):
    assert dataset_id(url, rules(f"css = 'a'\nid = '{pattern}'")) == expected


def test_without_a_pattern_the_address_is_the_id():
    assert dataset_links(Page('<a href="/x">', URL), rules('css = "a"')) == [Link(*["https://data.example.org/x"] * 2)]


def test_addresses_with_one_id_are_both_there():
    html = '<a href="/dataset/1/de">1</a><a href="/dataset/1/en">1</a>'
    found = dataset_links(Page(html, URL), rules("css = 'a'\nid = '/dataset/([0-9]+)'"))
    assert [(link.url[-2:], link.id) for link in found] == [("de", "1"), ("en", "1")]


def test_addresses_from_elsewhere_are_chosen_by_the_pattern():
    found = chosen([BASE + "a", BASE + "a#x", URL, BASE + "b"], rules("pattern = '/dataset/'\nid = '[^/]+$'"))
    assert found == [Link(BASE + "a", "a"), Link(BASE + "b", "b")]


def test_further_listings():
    page = Page(LISTING, URL)
    assert follow_links(page, rules("css = 'h2 a'\nfollow = '.groups a'")) == [
        "https://data.example.org/group/x",
        "https://data.example.org/group/y",
    ]
    assert follow_links(page, rules("css = 'h2 a'")) == []


# Addresses

ALIKE = [
    ("HTTPS://EXAMPLE.org:443/a", "https://example.org/a"),
    ("http://example.org:80", "http://example.org/"),
    ("http://example.org:8080/", "http://example.org:8080/"),
    ("https://user:secret@example.org/a", "https://example.org/a"),
    ("https://[2001:DB8::1]:444/a", "https://[2001:db8::1]:444/a"),
    ("https://example.org/a#b", "https://example.org/a"),
    ("https://example.org/a/../b/./c", "https://example.org/b/c"),
    ("https://example.org/../..", "https://example.org/"),
    ("https://example.org/%7Ea/%e4%bd%a0", "https://example.org/~a/%E4%BD%A0"),
    ("https://example.org/你 好", "https://example.org/%E4%BD%A0%20%E5%A5%BD"),
    ("https://example.org/100%", "https://example.org/100%25"),
    ("https://example.org/a%2fb", "https://example.org/a%2Fb"),
    ("https://example.org/a;jsessionid=1F.node2?x=1", "https://example.org/a?x=1"),
    ("https://example.org/a;JSESSIONID=1F/b;v=1", "https://example.org/a/b;v=1"),
    ("https://example.org/(S(lit3py55t21z5v55vlm25s55))/list.aspx", "https://example.org/list.aspx"),
    ("https://example.org/(A(aa)S(bb1))/list.aspx", "https://example.org/list.aspx"),
    ("https://example.org/a?PHPSESSID=1&x=1", "https://example.org/a?x=1"),
    ("https://example.org/a?x=1&jsessionid=1", "https://example.org/a?x=1"),
    ("https://example.org/a?ASPSESSIONIDQQ=1&CFID=1&CFTOKEN=2&sessionid=3", "https://example.org/a"),
    ("https://example.org/a?utm_source=a&utm_campaign=b&fbclid=c&gclid=d&x=1", "https://example.org/a?x=1"),
    ("https://example.org/a?sid=0123456789abcdef0123456789abcdef", "https://example.org/a"),
    ("https://example.org/a?&x=1&&y=2&", "https://example.org/a?x=1&y=2"),
    ("https://example.org/a?", "https://example.org/a"),
    ("https://example.org/a?lang=de&x=1", "https://example.org/a?x=1"),
    ("https://example.org/a?view%5Ball%5D=1&x=1", "https://example.org/a?x=1"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_one_address_for_what_is_one(one, other):
    assert canonical(one, ("lang", "view[all]")) == other
    assert canonical(other, ("lang", "view[all]")) == other


DIFFERENT = [
    ("/a", "/a/"),
    ("/a", "/A"),
    ("/a//b", "/a/b"),
    ("/a%2Fb", "/a/b"),
    ("/a%3Fb", "/a?b"),
    ("/a?x=1&y=2", "/a?y=2&x=1"),
    ("/a?x", "/a?x="),
    ("/a?x=1%26y=2", "/a?x=1&y=2"),
    ("/a?x=a+b", "/a?x=a%2Bb"),
    ("/a?x=1", "/a?x=2"),
    ("/a?x=1&x=2", "/a?x=2"),
    ("/a?sid=17", "/a?sid=18"),
    ("/a?s=roads", "/a?s=rivers"),
    ("/a?session=2019", "/a?session=2020"),
    ("/a?sid=5b6e3c1a-0f0b-4f43-9d2c-1a2b3c4d5e6f", "/a?sid=5b6e3c1a-0f0b-4f43-9d2c-1a2b3c4d5e60"),
    ("/a;v=1", "/a;v=2"),
    ("/a(S)/b", "/a/b"),
    ("/(S)/b", "/b"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_addresses_stay_different(one, other):
    assert canonical("https://example.org" + one) != canonical("https://example.org" + other)


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ('<meta charset="ISO-8859-1">', "?q=Poblaci%F3n"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">', "?q=Poblaci%F3n"),
        ('<meta charset="utf-8">', "?q=Poblaci%C3%B3n"),
        ('<meta charset="rot13"><meta charset="no-such-thing">', "?q=Poblaci%C3%B3n"),
        ("", "?q=Poblaci%C3%B3n"),
    ],
)
def test_a_raw_query_is_written_in_the_pages_encoding(meta, expected):
    html = f'<head>{meta}</head><a href="/set/Población?q=Población">'
    assert urls('css = "a"', html) == ["https://data.example.org/set/Poblaci%C3%B3n" + expected]


def test_encodings_that_forms_are_not_written_in():
    assert charset(Page('<meta charset="utf-16le">', URL)) == "utf-8"
    assert charset(Page('<meta charset="shift_jis">', URL)) == "shift_jis"


# Totals

NUMBERS = [
    ("1.234 Datensätze", 1234),
    ("1 234 jeux de données", 1234),
    ("1\u202f234\u202f567", 1234567),
    ("Found 1,234 datasets", 1234),
    ("12'345", 12345),
    ("12’345", 12345),
    ("1,23,456", 123456),
    ("305", 305),
    ("0 results", 0),
    ("共 12,345 个数据集", 12345),
    ("१२३", 123),
    ("Results 1-20 of 305", 305),
    ("1 – 20 von 1.305", 1305),
    ("1 bis 20 von 305 Treffern", 305),
    ("305 results (1 to 20)", 305),
    ("Page 1 of 16", None),
    ("305 datasets, 2019", None),
    ("2.5 million", None),
    ("no datasets", None),
    ("1" * 13, None),
    ("", None),
]


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_numbers_in_texts(text, expected):
    assert number(text) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('"p.found"', 1234),
        ('{ css = "p.found", attr = "data-all" }', 6),
        ('{ css = "p.found", regex = "- ([0-9]+) of" }', 4),
        ('{ xpath = "//p/@data-all" }', 6),
        ('{ css = "p.found", regex = "nothing" }', None),
        ('"p.lost"', None),
        ('{ label = "Datasets found" }', 77),
        ('{ label = "Datasets lost" }', None),
        ('{ css = "nav, p.found" }', 1234),
    ],
)
def test_the_total(rule, expected):
    assert total(Page(LISTING, URL), rules(f"css = 'a'\ntotal = {rule}")) == expected


def test_without_a_rule_there_is_no_total():
    assert total(Page(LISTING, URL), rules('css = "a"')) is None


# Hostile pages


@pytest.mark.slow
def test_thousands_of_links_and_depth_are_read_in_seconds():
    many = "".join(f'<a href="/dataset/{one}?PHPSESSID={one}&x=%7e">x</a>' for one in range(24_000))
    deep = "<div>" * 1500 + many
    begun = process_time()
    assert len(urls('css = "div"', deep)) == 24_000
    assert len(urls('css = "a"', "<a href='/x?" + "&a=%e4" * 150_000 + "'>")) == 1
    assert number("1." * 100_000) is None
    assert canonical("https://example.org/" + "../" * 60_000 + ";jsessionid" * 30_000)
    assert process_time() - begun < 15
