"""RDFa as HTML has it, and pages of it that are to take too much time or memory."""

from __future__ import annotations

import time

import pytest

from crawlers.kinds.html.mapping import Page, dataset, document, rdfa
from crawlers.kinds.html.rules import loads
from crawlers.records.rdf.terms import DCT, Graph

URL = "https://a.org/d/1"
RULES = loads("start = 'https://a.org/'\n[links]\ncss = 'a'\n[fields]\ntitle = 'title'\n")
DATASET = "<div typeof='dcat:Dataset' about='/d/1'><b property='dct:title'>Rivers</b>"
NEVER_ENDING = "its RDFa is too long: the rest is left out"


def length(graph: Graph) -> int:
    terms = (each for node in graph.values() for name, values in node.items() for each in (name, *values))
    return sum(len(each if isinstance(each, str) else each.value) for each in terms)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("html", "is_everything"),
    [
        ("<div property='dct:description'>" * 1_000 + "a b " * 250_000 + "</div>" * 1_000, False),
        ("<div property='dct:description'>" * 1_000 + "<i></i>" * 100_000 + "</div>" * 1_000, False),
        (f"<div rel='{' '.join(f'dct:r{n}' for n in range(8_000))}'>" + "<i about='#a' typeof=x></i>" * 2_000, False),
        (f"<i vocab='http://a.org/{'v' * 90_000}' property='{'a b c ' * 15_000}'>x</i>" * 5, True),
        (f"<i prefix='{'a' * 100_000}' property='dct:title'>x</i>", True),
        (f"<i prefix='x: http://a.org/{'v' * 90_000}' property='{'x:y ' * 20_000}'>x</i>" * 5, True),
        (f"<base href='/{'b' * 90_000}/'>" + "<a property='dct:relation' href='a'>x</a>" * 5_000, True),
    ],
    ids=["nested texts", "nested elements", "rel", "vocab", "prefixes", "prefix", "base"],
)
def test_a_page_that_says_much_with_little(html: str, is_everything: bool) -> None:
    page = Page(f"<html><title>T</title><body>{DATASET}{html}", URL)
    begun = time.process_time()
    found = rdfa.described(page)
    assert time.process_time() - begun < 15
    assert found
    assert found.is_everything is is_everything
    assert length(found.graph) < 10_500_000


def test_prefixes_are_not_copied_without_end() -> None:
    html = "".join(f"<div prefix='{' '.join(f'p{n}q{m}: h' for m in range(100))}'>" for n in range(1_000))
    begun = time.process_time()
    rdfa.triples(Page(f"<body>{html}{'<i></i></div>' * 1_000}", URL))
    assert time.process_time() - begun < 3


def test_what_is_left_out_is_a_flaw() -> None:
    page = Page(f"<body>{DATASET}{'<div property=dct:description>' * 300}{'a b ' * 250_000}", URL)
    item = dataset(document(page, RULES), source="s", id="1")
    assert (item.title, item.flaws) == ("Rivers", [NEVER_ENDING])


def test_a_word_of_htmls_own_beside_a_property_is_no_rel() -> None:
    """HTML+RDFa, 3.1: most links to licences are written so."""
    page = Page("<a property='dct:license' rel='license nofollow' href='/by'>CC BY</a>", URL)
    assert rdfa.triples(page)[0] == {URL: {DCT + "license": ["https://a.org/by"]}}
    page = Page("<a property='dct:title' rel='dct:license nofollow' href='/by'>CC BY</a>", URL)
    found = rdfa.triples(page)[0][URL]
    assert (found[DCT + "title"][0].value, found[DCT + "license"]) == ("CC BY", ["https://a.org/by"])


@pytest.mark.parametrize("where", ["html", "head", "body"])
def test_the_whole_of_a_page_speaks_of_the_page(where: str) -> None:
    tags = {
        each: f"<{each} typeof='dcat:Dataset'>" if each == where else f"<{each}>" for each in ("html", "head", "body")
    }
    meta, html = "<meta property='dct:identifier' content='R-1'>", "<h1 property='dct:title'>Rivers</h1>"
    found = rdfa.described(Page(f"{tags['html']}{tags['head']}{meta}</head>{tags['body']}{html}", URL))
    assert found
    assert found.name == URL
    assert {DCT + "identifier", DCT + "title"} <= found.graph[URL].keys()
