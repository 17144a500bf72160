"""How listings go on: by links that say so in any language, by numbers, by addresses that are counted up."""

from __future__ import annotations

from time import process_time

import pytest

from crawlers.kinds.html import words
from crawlers.kinds.html.paging import counted, next_link, numbered_link
from crawlers.kinds.html.rules import Paging, loads
from crawlers.records.html_page import Page

URL = "https://example.org/list?page=2"


def paging(text: str = ""):
    """The paging of a rules file."""
    return loads(f'start = "{URL}"\n[links]\ncss = "a"\n[paging]\n{text}\n[fields]\ntitle = "h1"\n').paging


def following(html: str, rules: str = "", url: str = URL) -> str | None:
    address = next_link(Page(html, url), paging(rules))
    return address and address.removeprefix("https://example.org")


def numbered(html: str, number: int, rules: str = "numbers = true", url: str = URL) -> str | None:
    address = numbered_link(Page(html, url), paging(rules), number)
    return address and address.removeprefix("https://example.org")


# The next page

SAID = """Next;next page;NEXT »;Next 20 results;Weiter;weiter >;Nächste;Nächste Seite;zur nächsten Seite;Suivant
Page suivante
Siguiente;Página siguiente;Siguiente ›;Següent;Pàgina següent;Seguinte;Próxima;Próxima página;Successivo
Pagina successiva
Avanti;Prossima;Volgende;Volgende pagina;Næste;Næste side;Neste;Nästa;Nästa sida;Seuraava;Seuraava sivu;Järgmine;Nākamā
Kitas;Następna;Następna strona;Dalej;Další;Další stránka;Ďalšia;Naslednja;Sljedeća;Sledeća
Следећа;Следваща;Следваща страница
Следующая;Далее;Наступна;Следна;Következő;Következő oldal;Urmatoarea;Următoarea;Επόμενη;Επόμενη σελίδα;Sonraki
Sonraki sayfa
Hurrengoa;Nesaf;Næsta;التالي;الصفحة التالية;הבא;بعدی;अगला;ถัดไป;Trang sau;Tiếp theo;Berikutnya;下一页;下一頁
次へ;次のページ
다음;다음 페이지;Tjetra;Növbəti;შემდეგი;Naechste Seite;(Next);next (2/17);Seguente;Próximo;Go to next page;Siguientes"""


def test_next_in_every_language():
    html = '<a href="?page=1">1</a><a href="/x">Datasets</a><a href="?page=3">{}</a><a href="?page=9">Last</a>'
    assert [text for text in SAID.replace("\n", ";").split(";") if following(html.format(text)) != "/list?page=3"] == []


NOT_SAID = """Next event;Next steps;Previous;« prev;Zurück;Vorherige Seite;Letzte;Last »;Anterior;Precedente;Última
Older than 2010
Nest;Text;Beste;Weiterbildung;Weiterlesen;Avantgarde;Home;Contact;3;;Suivez-nous;Kita;上一页;前へ;Föregående;Следствие
Forrige;Poprzednia;Edellinen;‹;«;<<;<;←;Predchádzajúca;Sortieren;Siguenza;Nextcloud;Previous page;Trang trước"""


def test_what_does_not_say_next():
    html = '<a href="?page=3">{}</a>'
    assert [text for text in NOT_SAID.replace("\n", ";").split(";") if following(html.format(text)) is not None] == []


SIGNS = [
    ('<a href="?page=1">‹</a> <a href="?page=3">›</a> <a href="?page=9">»</a>', 3),
    ('<a href="?page=1">«</a> <a href="?page=3">»</a>', 3),
    ('<a href="?page=9">»</a> <a href="?page=3">&gt;</a>', 3),
    ('<a href="?page=3">→</a>', 3),
    ('<a href="?page=3">▶</a>', 3),
    ('<a href="?page=9">&gt;&gt;</a><a href="?page=3" aria-label="Next page">&gt;</a>', 3),
    ('<a href="?page=3" aria-label="Siguiente"><i class="x"></i></a>', 3),
    ('<a href="?page=3" title="Nächste Seite"><i></i></a>', 3),
    ('<a href="?page=3"><img src="n.gif" alt="Next"></a>', 3),
    ('<a href="?page=3"><svg><title>Next</title></svg></a>', 3),
    ('<a href="?page=3"><span class="visually-hidden">Next page</span><span aria-hidden="true">››</span></a>', 3),
    ('<a href="?page=9" title="Last page">›</a>', None),
    ('<li class="pager-next"><a href="?page=3"></a></li>', 3),
    ('<a href="?page=3"><i class="fa fa-chevron-right"></i></a>', 3),
    (
        '<a href="?page=3"><i class="fa fa-angle-right"></i></a> <a href="?p=1"><i class="fa-angle-left"></i></a>',
        3,
    ),
    ('<a class="next" href="?page=3">17</a>', None),
    ('<a href="/list?page=3" class="next page-numbers"></a>', 3),
    ('<map><area href="?page=3" alt="Next"></map>', 3),
]


@pytest.mark.parametrize(("html", "page"), SIGNS)
def test_signs_and_names_of_pictures(html, page):
    assert following(html) == (page and f"/list?page={page}")


OFF = [
    '<a href="?page=3" class="disabled">Next</a>',
    '<a href="?page=3" class="btn btn--disabled">Next</a>',
    '<li class="page-item disabled"><a href="?page=3">Next</a></li>',
    '<a href="?page=3" aria-disabled="true">Next</a>',
    '<a href="?page=3" disabled>Next</a>',
    '<a href="#">Next</a>',
    '<a href="">Next</a>',
    '<a href="#next">Next</a>',
    '<base href="/other/"><a href="#next">Next</a>',
    '<div class="disabled"><a class="disabled" href="?page=3">Next</a></div>',
    '<a href="?page=2">Next</a>',
    '<a href="/list?page=2#top">Next</a>',
    '<a href="javascript:void(0)">Next</a>',
    '<a href=" JavaScript:go(3)">Next</a>',
    '<a href="mailto:next@example.org">Next</a>',
    '<a href="http://[bad">Next</a>',
    '<a rel="next" href="?page=2">more</a>',
    "<a>Next</a>",
    "<span>Next</span>",
]


@pytest.mark.parametrize("html", OFF)
@pytest.mark.parametrize("rules", ["", 'next = "Next"', "next = { css = 'a' }"])
def test_links_that_are_switched_off(html, rules):
    assert following(html, rules) is None


FOUND = [
    # rel goes before words, and words before signs
    ('<head><link rel="next" href="?page=3"></head><a href="/x">Next</a>', "", "/list?page=3"),
    ('<link rel="prev" href="?page=1"><a rel="nofollow NEXT" href="?page=3">more</a>', "", "/list?page=3"),
    ('<link rel="stylesheet" href="next.css"><a href="?page=3">Next</a>', "", "/list?page=3"),
    ('<a href="/x">›</a><a href="?page=3">next</a>', "", "/list?page=3"),
    # the text that the rules name
    ('<a href="/x">Next</a><a href="?page=3">Mais antigos »</a>', 'next = "mais antigos"', "/list?page=3"),
    ('<a href="/x">Next</a><a href="?page=3">Show the next 20</a>', 'next = "Show the next 50"', "/list?page=3"),
    ('<a href="/x">&gt;&gt;</a><a href="?page=3">&gt;</a>', 'next = ">"', "/list?page=3"),
    ('<a href="/x">Nextly</a><a href="?page=3">Next</a>', 'next = "Next"', "/list?page=3"),
    ('<a href="/x">Next event</a>', 'next = "Next"', None),
    ('<a href="?page=3"><img alt="Avanti"></a>', 'next = "avanti"', "/list?page=3"),
    # the selector
    (
        '<a href="/x">Next</a><a class="older" href="?page=3">Previous posts</a>',
        "next = { css = '.older' }",
        "/list?page=3",
    ),
    ('<a href="/x">Next</a><li class="n"><a href="?page=3">more</a></li>', "next = { css = 'li.n' }", "/list?page=3"),
    ('<a href="?page=3"><img class="n" src="n.gif"></a>', "next = { css = 'img.n' }", "/list?page=3"),
    ('<a href="?page=3"><b><span class="n">go</span></b></a>', "next = { css = '.n' }", "/list?page=3"),
    ('<p class=n><a href="?page=1">‹</a><a href="?page=3">›</a></p>', "next = { css = '.n' }", "/list?page=3"),
    ('<p class=n><a href="?page=1">«</a><a href="?page=1">1</a></p>', "next = { css = '.n' }", None),
    ('<p class=n><a href="?page=1">Previous</a></p><a href="/x">Next</a>', "next = { css = '.n' }", None),
    ('<a class=n href="?page=2">a</a><a class=n href="?page=3">b</a>', "next = { css = '.n' }", "/list?page=3"),
    ('<a class=n href="?page=3">a</a>', "next = { xpath = '//a/@href' }", "/list?page=3"),
    ('<a class=n href="?page=2">a</a>', "next = { xpath = '//a/@href' }", None),
    ("<p>", "next = { xpath = 'count(//p)' }", None),
    # several that say so: the pager's, or the one with the page's own path, or none
    ('<a href="/x">Next</a><ul class="pagination"><a href="?page=3">Next</a></ul>', "", "/list?page=3"),
    ('<a href="/event/2">Next</a><a href="?page=3">Next</a>', "", "/list?page=3"),
    ('<p><a href="/set/1">Weiter</a><p><a href="/set/2">Weiter</a><p><a href="/set/3">Weiter</a>', "", None),
    ('<p><a href="/set/1">»</a><p><a href="/set/2">»</a>', "", None),
    ('<a href="?page=3">Next</a> <hr> <a href="?page=3">Next</a>', "", "/list?page=3"),
    ('<a href="/x">Next</a><ul class="pager"><a href="/list/3">Next</a></ul>', "", "/list/3"),
    ('<div class="n disabled"><a href="?page=3">Next</a></div>', "next = { css = '.n' }", None),
    ('<p class=n><a href="/all">All</a><a href="?page=3">Next</a></p>', "next = { css = '.n' }", "/list?page=3"),
    # backslashes, and another base
    ('<base href="/other/"><a href="sub\\3">Next</a>', "", "/other/sub/3"),
]


@pytest.mark.parametrize(("html", "rules", "expected"), FOUND)
def test_which_link_is_followed(html, rules, expected):
    assert following(html, rules) == expected


def test_words_are_there_for_many_languages():
    assert sum("next" in language for language in words.languages().values()) >= 30
    assert {"Load more", "Siguiente".lower(), "Mehr laden"} <= set(words.more())
    assert not [one for one in words._plain("next", "older") if one in words._plain("back", "newer") or not one]
    assert not [one for one in words._plain("back", "newer") if words.says_next(one)]


# Numbered pages


def pager(*numbers: str, address: str = "/list?page={}") -> str:
    """Links for the numbers; bare text for those with a star."""
    parts = (
        f"<b>{one[:-1]}</b>" if one.endswith("*") else f'<a href="{address.format(one)}">{one}</a>' for one in numbers
    )
    return " ".join(parts)


DAYS = pager(*map(str, range(1, 29)), address="/events?day=2026-01-{}")
FACETS = '<a href="?tag=7">3</a> <a href="?tag=12">2</a> <a href="?tag=30">4</a>'
NUMBERED = [
    (pager("2*", "3", "4"), 3, "/list?page=3"),
    (pager("1", "2*", "3"), 3, "/list?page=3"),
    (pager("1", "2*"), 3, None),
    (pager("2*", "3"), 3, "/list?page=3"),
    ('<a href="/list?page=3">3</a>', 3, None),
    ('<b>2</b> <a href="/tag?id=3">4</a>', 4, None),
    ('2 <a href="?page=3">3</a>', 3, "/list?page=3"),
    ('<a href="/list">1</a> <b>2</b> <a href="/list?page=3">3</a>', 3, "/list?page=3"),
    ('<li><a href="/list">1</a></li><li>2</li><li><a href="/list?start=40">3</a></li>', 3, "/list?start=40"),
    ('<a href="?start=0">1</a><a href="?start=20">2</a><a href="?start=40">3</a>', 3, "/list?start=40"),
    ('<a href="/list/p1.html">[1]</a><a href="/list/p3.html">[3]</a>', 3, "/list/p3.html"),
    ('<a href="?page=1" aria-label="Page 1">•</a><a href="?page=3" aria-label="Page 3">•</a>', 3, "/list?page=3"),
    ('<a href="?page=1"><span>Seite</span> 1</a><a href="?page=3">Seite 3</a>', 3, "/list?page=3"),
    ('<ul class="pagination"><a href="/a">1</a><a href="/c">3</a></ul>', 3, "/c"),
    (FACETS, 3, None),
    (FACETS + pager("1", "2*", "3"), 3, "/list?page=3"),
    (DAYS + pager("1", "2*", "3"), 3, "/list?page=3"),
    (f"<div class=calendar>{DAYS.replace('day=2026-01-', 'd=')}</div>" + pager("1", "2*", "3"), 3, "/list?page=3"),
    (pager("1", "2*", "3", address="/archive/{}") + f'<nav class="pager">{pager("1", "3")}</nav>', 3, "/list?page=3"),
    ('<a href="?page=3" class="disabled">3</a>' + pager("1", "4"), 3, None),
    # what the pager does not show
    (pager("1", "2*") + '<a href="?page=3">...</a>', 3, "/list?page=3"),
    ('<a href="?page=0">…</a>' + pager("1", "2*") + '<a href="?page=3">…</a>', 3, "/list?page=3"),
    ('<a href="?page=0">…</a>' + pager("1", "2*"), 3, None),
    (pager("1", "2*") + '<a href="?page=3">›</a>', 3, "/list?page=3"),
    (pager("1", "2*", "20") + '<a href="?page=30">…</a>', 3, None),
    (pager("1", "2*", "20") + '<a href="?page=3">Next</a>', 3, "/list?page=3"),
    (pager("1", "2*") + '<a class="disabled" href="?page=3">Next</a>', 3, None),
    ("", 3, None),
]


@pytest.mark.parametrize(("html", "number", "expected"), NUMBERED)
def test_numbered_links(html, number, expected):
    assert numbered(html, number) == expected


def test_a_numbered_pager_that_the_rules_name():
    html = (
        pager("1", "2*", "3", address="/other?page={}") + f'<p id="p">{pager("1", "2*", "3")}<a href="/n">Next</a></p>'
    )
    rules = "numbers = { css = '#p, #p a' }"
    assert numbered(html, 3, rules) == "/list?page=3"
    assert numbered(html, 4, rules) == "/n"
    assert numbered(html, 3, "numbers = { css = '#none' }") is None
    assert numbered(html, 3, "numbers = { xpath = '//a/@href' }") is None


# Addresses that are counted up


@pytest.mark.parametrize(
    ("start", "way", "index", "expected"),
    [
        ("https://example.org/l", {"query": "page"}, 0, "https://example.org/l"),
        ("https://example.org/l", {"query": "page"}, 1, "https://example.org/l?page=2"),
        ("https://example.org/l?page=", {"query": "page"}, 1, "https://example.org/l?page=2"),
        ("https://example.org/l?page=0", {"query": "page", "first": 0}, 3, "https://example.org/l?page=3"),
        (
            "https://example.org/l?a=%c3&page=1&b=a+b#c",
            {"query": "page"},
            1,
            "https://example.org/l?a=%c3&page=2&b=a+b",
        ),
        ("https://example.org/l?page=1&x=1&page=9", {"query": "page"}, 1, "https://example.org/l?page=2&x=1"),
        ("https://example.org/l?t%5Bp%5D=1&x", {"query": "t[p]"}, 1, "https://example.org/l?t%5Bp%5D=2&x"),
        ("https://example.org/l?x=1", {"query": "t[p]"}, 1, "https://example.org/l?x=1&t[p]=2"),
        ("https://example.org/l?x=1", {"query": "a&b"}, 1, "https://example.org/l?x=1&a%26b=2"),
        ("https://example.org/l", {"query": "from", "first": 0, "step": 25}, 2, "https://example.org/l?from=50"),
        ("https://example.org/l?q=1", {"address": "/l/{page}"}, 1, "https://example.org/l/2"),
        ("https://example.org/l/", {"address": "page/{page}/"}, 1, "https://example.org/l/page/2/"),
        ("https://example.org/l", {"address": "https://x.example/{page}/{page}"}, 1, "https://x.example/2/2"),
        ("https://example.org/l", {"address": "?u=%3Fpage%3D{page}"}, 1, "https://example.org/l?u=%3Fpage%3D2"),
    ],
)
def test_counted_addresses(start, way, index, expected):
    assert counted(start, Paging(kind="query" if "query" in way else "path", **way), index) == expected


# Hostile pages

HOSTILE = [
    "".join(f'<a href="?page={one}">{one}</a>' for one in range(30_000)),
    "".join(f'<a href="/{one}">word{chr(97 + one % 26)}{chr(97 + one // 26 % 26)} {one}</a>' for one in range(30_000)),
    "".join(f'<div><a href="?page={one}">' for one in range(1000)) + "<i>Next</i>" * 15_000,
    f'<div class="{"page " * 60_000}"><a href="?page=3" class="{"disabled-" * 60_000}x">{"next " * 60_000}</a>',
    f'<a href="?page={"1a" * 150_000}">1</a><a href="?page={"1a" * 150_000}2">2</a>',
]


@pytest.mark.slow
@pytest.mark.parametrize("html", HOSTILE, ids=["numbers", "words", "nested", "classes", "address"])
def test_hostile_pages_are_done_with_in_seconds(html):
    page = Page(html, URL)
    begun = process_time()
    next_link(page, Paging())
    next_link(page, Paging(text="Next"))
    next_link(page, Paging(xpath="//a | //div"))
    numbered_link(page, Paging(kind="numbers"), 50)
    numbered_link(page, Paging(kind="numbers", xpath="//div"), 200_000)
    assert process_time() - begun < 30
