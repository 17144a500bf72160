"""Sitemaps in every form that the protocol has, and what comes in their place."""

from __future__ import annotations

import gzip
from time import process_time

import pytest

from crawlers.exceptions import AnswerError
from crawlers.kinds.html import sitemaps
from crawlers.kinds.html.sitemaps import parts, read

URL = "https://example.org/maps/sitemap.xml"
A, B = "https://example.org/set/a", "https://example.org/set/b"
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
URLSET = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset {SPACE} xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:image="http://example.org/image">
  <url>
    <loc> {A} </loc><lastmod>2026-03-01T10:00:00+02:00</lastmod><priority>0.5</priority>
    <xhtml:link rel="alternate" hreflang="de" href="https://example.org/de/set/a"/>
    <image:image><image:loc>https://example.org/a.png</image:loc></image:image>
  </url>
  <url><loc>{B}</loc><lastmod>last week</lastmod></url>
  <url><loc>{A}</loc></url>
</urlset>"""
PAGES = [(A, "2026-03-01T10:00:00+02:00"), (B, None)]
INDEX = f"<sitemapindex {SPACE}><sitemap><loc>one.xml.gz</loc><lastmod>2026</lastmod></sitemap></sitemapindex>"


@pytest.mark.parametrize(
    "body",
    [
        URLSET.encode(),
        b"\xef\xbb\xbf \n" + URLSET.partition("?>")[2].encode(),
        gzip.compress(URLSET.encode(), mtime=0),
        gzip.compress(URLSET[:300].encode(), mtime=0) + gzip.compress(URLSET[300:].encode(), mtime=0),
        gzip.compress(URLSET.encode(), mtime=0) + b"\x00" * 100,
        URLSET.replace(SPACE, "").encode(),
        URLSET.replace(SPACE, SPACE.replace("0.9", "0.84")).encode(),
        URLSET.replace("UTF-8", "UTF-16").encode("utf-16"),
        URLSET.replace("UTF-8", "ISO-8859-1").encode("latin-1"),
        URLSET.replace(f"<loc>{B}</loc>", f"<loc><!-- b --><![CDATA[{B}]]></loc>").encode(),
        URLSET.replace("<urlset ", "<s:urlset xmlns:s='x' ").replace("</urlset>", "</s:urlset>").encode(),
    ],
)
def test_a_sitemap_in_every_form(body):
    found = read(body, URL)
    assert (found.pages, found.sitemaps, found.flaws) == (PAGES, [], [])


def test_an_index_leads_to_further_sitemaps():
    found = read(INDEX.encode(), URL)
    assert (found.pages, found.sitemaps) == ([], ["https://example.org/maps/one.xml.gz"])


def test_addresses_are_relative_and_escaped():
    found = read(b"<urlset><url><loc>/set?a=1&amp;b=2</loc></url><url><loc>c d#e</loc></url></urlset>", URL)
    assert [address for address, _ in found.pages] == [
        "https://example.org/set?a=1&b=2",
        "https://example.org/maps/c d",
    ]


def test_an_ampersand_that_is_not_escaped_is_the_character():
    found = read(b"<urlset><url><loc>/set?a=1&b=2</loc></url></urlset>", URL)
    assert found.pages == [("https://example.org/set?a=1&b=2", None)]
    assert not found.flaws


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\n\n"])
def test_a_text_sitemap(ends):
    found = read(f"\ufeff{A}{ends} {B} {ends}{A}".encode(), URL)
    assert (found.pages, found.flaws) == ([(A, None), (B, None)], [])
    assert read(f"{A}\nset/b\n".encode(), URL).pages == [(A, None)]
    assert read(f"{A}\nset/b\n".encode(), URL).flaws == ["1 lines of the sitemap are not addresses"]


def test_nothing_listed_is_no_mistake():
    assert read(f"<urlset {SPACE}/>".encode(), URL) == sitemaps.Sitemap()
    assert read(b"", URL) == sitemaps.Sitemap()


def test_an_entry_without_an_address_is_a_flaw():
    found = read(
        b"<urlset><url><lastmod>2026</lastmod></url><url><loc>mailto:a</loc></url><url><loc>/b</loc></url></urlset>",
        URL,
    )
    assert found.pages == [("https://example.org/b", None)]
    assert found.flaws == ["'' is not the address of a page", "'mailto:a' is not the address of a page"]


CUT = URLSET[: URLSET.index("last week")]


@pytest.mark.parametrize(
    "body", [CUT.encode(), gzip.compress(CUT.encode(), mtime=0), gzip.compress(URLSET.encode(), mtime=0)[:-20]]
)
def test_what_breaks_off_gives_what_came_and_a_flaw(body):
    found = read(body, URL)
    assert found.pages[:1] == PAGES[:1]
    assert found.flaws


def test_a_gzip_file_that_breaks_off_is_a_flaw():
    assert "the gzip file breaks off" in read(gzip.compress(URLSET.encode())[:-2], URL).flaws


def test_a_gzip_file_that_is_damaged_is_a_flaw():
    body = bytearray(gzip.compress(URLSET.encode() + b"<!-- -->" * 100))
    body[-6] ^= 255
    assert "damaged" in read(bytes(body), URL).flaws[0]


BOMB = "<!DOCTYPE urlset [" + "".join(
    f'<!ENTITY a{at} "{f"&a{at - 1};" * 10 if at else "x" * 100}">' for at in range(9)
)
WRONG = [
    (b"<!doctype html><html><body>Not found</body></html>", "not_sitemap"),
    (b"\n<HTML><urlset>", "not_sitemap"),
    (b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"></html>', "not_sitemap"),
    (b"<rss><channel/></rss>", "not_sitemap"),
    (b"<", "not_sitemap"),
    (b"<1>", "not_sitemap"),
    (b'{"a": 1}', "not_sitemap"),
    (b"no such page\n", "not_sitemap"),
    (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not_sitemap"),
    (b"<urlset>" + b"<a>" * 100_000, "not_sitemap"),
    (f"{BOMB}]><urlset><url><loc>/&a8;</loc></url></urlset>".encode(), "unsafe_xml"),
    (gzip.compress(b"<urlset>" + b" " * (sitemaps.SITEMAP_MAXSIZE + 1), 1, mtime=0), "too_large"),
]


@pytest.mark.parametrize(("body", "kind"), WRONG)
def test_what_is_no_sitemap(body, kind):
    with pytest.raises(AnswerError) as raised:
        read(body, URL)
    assert raised.value.kind == kind


def test_a_file_is_not_read_from_elsewhere():
    body = f'<!DOCTYPE urlset [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset><url><loc>{A}?&e;</loc></url></urlset>'
    assert "root" not in str(read(body.encode(), URL))


@pytest.mark.slow
def test_large_and_hostile_sitemaps_are_done_with_in_seconds():
    begun = process_time()
    entries = b"".join(b"<url><loc>/set/%d</loc></url>" % number for number in range(30_000))
    assert len(read(gzip.compress(b"<urlset>" + entries + b"</urlset>"), URL).pages) == 30_000
    assert len(read(b"<urlset>" + b"<url><loc>mailto:</loc></url>" * 30_000 + b"</urlset>", URL).flaws) == 5
    long = read(b"<urlset><url><loc>/" + b"a" * 20_000_000 + b"</loc></url></urlset>", URL)
    assert (long.pages, len(long.flaws)) == ([], 1)
    bomb = gzip.compress(gzip.compress(bytes(100_000_000), 1))
    with pytest.raises(AnswerError):
        read(bomb, URL)
    assert process_time() - begun < 30


def test_a_large_sitemap_comes_in_pieces():
    entries = b"".join(b"<url><loc>/set/%d</loc></url>" % number for number in range(20_000))
    sizes = [len(part.pages) for part in parts(gzip.compress(b"<urlset>" + entries + b"</urlset>"), URL)]
    assert sum(sizes) == 20_000
    assert max(sizes) < 3_000
