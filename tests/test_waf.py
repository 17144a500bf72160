"""Web-accessible folders: listings of several servers, and the records in them."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import sqlite3
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from urllib.parse import urljoin, urlsplit

import pytest
from scrapy.http import HtmlResponse, Request, Response

from crawlers import settings
from crawlers.components.spool import SpooledResponse
from crawlers.exceptions import AnswerError
from crawlers.kinds.waf.folder import Bucket, WAFDetector, entries
from crawlers.kinds.waf.records import opened
from crawlers.kinds.waf.spider import WAF, Folders
from crawlers.operate.sources.detect import Detection
from crawlers.records.xml import record
from tests.conftest import Crawl, options, scrapy
from tests.site import Answer, Site
from tests.test_batches import named
from tests.walked import answers_of, walk

ROOT = "https://example.org/meta/"
APACHE = """<html><head><title>Index of /meta</title></head><body><h1>Index of /meta</h1><table>
<tr><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th></tr>
<tr><td><a href="/">Parent Directory</a></td></tr>%s</table></body></html>"""
NGINX = """<html><head><title>Index of /meta/sub/</title></head>
<body><hr><pre><a href="../">../</a>
%s</pre></body></html>"""
IIS = """<html><head><title>example.org - /meta/</title></head><body><H1>example.org - /meta/</H1><hr><pre>
<A HREF="/">[To Parent Directory]</A><br><br>
 6/17/2021 12:20 PM        &lt;dir&gt; <A HREF="/meta/sub">sub</A><br>
 6/17/2021 12:20 PM   1718 <A HREF="/meta/A.XML">A.XML</A>
</pre></body></html>"""

PYTHON = """<!DOCTYPE HTML><html lang="en"><head><meta charset="utf-8"><title>Directory listing for /meta/</title>
</head><body><h1>Directory listing for /meta/</h1><hr><ul>
<li><a href="sub/">sub/</a></li><li><a href="away.xml">away.xml@</a></li><li><a href="n%%20m.xml">n m.xml</a></li>
%s</ul><hr></body></html>"""
CADDY = """<!DOCTYPE html><html><head><title>meta</title><style>.wrapper { max-width: 1200px; }</style></head>
<body onload="initPage()"><header><div class="wrapper"><div class="breadcrumbs">Folder Path</div>
<h1><a href="../">/</a><a href="">meta</a>/</h1></div></header><div class="wrapper"><main><div class="listing">
<a href="?layout=grid">Grid</a><table aria-describedby="summary"><thead><tr>
<th><a href="?sort=namedirfirst&order=desc">x</a> <a href="?sort=size&order=asc">Size</a></th></tr></thead><tbody>
<tr><td><a href=".."><span class="go-up">Up</span></a></td></tr>
<tr class="file"><td><a href="./sub/"><svg></svg><span class="name">sub</span></a></td></tr>
<tr class="file"><td><a href="./a.xml"><span class="name">a.xml</span></a></td><td class="timestamp">
<time datetime="2026-01-02T15:04:05Z">01/02/2026 03:04:05 PM +00:00</time></td></tr>%s</tbody></table></div>
</main></div>
<footer>Served with <a rel="noopener noreferrer" href="https://caddyserver.com">Caddy</a></footer></body></html>"""
S3 = "http://s3.amazonaws.com/doc/2006-03-01/"


def bucket(*keys, more="", prefixes=(), namespace=S3):
    """A page of a bucket's listing, as ListObjects and ListObjectsV2 give it."""
    contents = "".join(f"<Contents><Key>{key}</Key><Size>7</Size></Contents>" for key in keys)
    below = "".join(f"<CommonPrefixes><Prefix>{one}</Prefix></CommonPrefixes>" for one in prefixes)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="{namespace}"><Name>open</Name><Prefix/>'
        f"<MaxKeys>1000</MaxKeys>{more or '<IsTruncated>false</IsTruncated>'}{contents}{below}</ListBucketResult>"
    )


def page(text, url=ROOT):
    return HtmlResponse(url, body=text.encode(), headers={"Content-Type": "text/html"})


def links(*names):
    return "".join(f'<tr><td><a href="{name}">{name}</a></td><td>2024-11-07 15:00</td></tr>' for name in names)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (APACHE % links("a.xml", "sub/", "a.zip", "a.xml#top"), ["a.xml", "sub/"]),
        (NGINX % links("b.TTL", "c.jsonld", "d.rdf", "e.html"), ["b.TTL", "c.jsonld", "d.rdf"]),
        (IIS, ["sub/", "A.XML"]),
        (PYTHON % "", ["sub/", "away.xml", "n%20m.xml"]),
        (CADDY % "", ["sub/", "a.xml"]),
        (APACHE % links("https://elsewhere.example/x.xml", "/other/x.xml", "../x.xml", "%2e%2e/x.xml", "//x/"), []),
        (APACHE % links("./", "../meta/", "?C=D;O=A", "?N=D", "javascript:x()", "http://[/x.xml"), []),
        ("<base href='/meta/sub/'>" + APACHE % links("a.xml"), ["sub/a.xml"]),
    ],
)
def test_links_below_the_start_address(text, found):
    below = [one for one in entries(page(text), ROOT) if one.what != "left"]
    assert [one.address.removeprefix(ROOT) for one in below] == found
    assert all((one.what == "folder") == one.address.endswith("/") for one in below)


def shown(*names):
    """Links that show another text than their address: the two are parted by a blank."""
    return "".join("<a href='{}'>{}</a> 2024-11-07 15:00".format(*name.split(" ", 1)) for name in names)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            links("get?id=5", "get.php?id=5", "sub/?x=1", "v1.2?id=5"),
            ["get?id=5", "get.php?id=5", "sub/?x=1", "v1.2?id=5"],
        ),
        (links("/list?page=2", "/x/y.rdf", "//b.org/z.ttl.gz"), ["/x/y.rdf", "//b.org/z.ttl.gz"]),
        (shown("/data/other/ other/", "//b.org/x/long-name/ long-n..>", "http://example.org/data/ data"), []),
        (links("/index.php?page=contact", "/?p=12", "/login?start=/meta/", "/en?from=de", "/contact/"), []),
        (links("README?raw=1", "get.php?file=photo.jpg", "index.php?page=about"), []),
        (links("photo.jpg?size=l", "a.zip?download=1", "b.html?x=1", "readme", "c.xml", "sub/"), []),
        (links("?C=N;O=D", "./?sort=name", "#top", "mailto:a@b.org", "/", "../", "https://example.org/"), []),
        (shown("/about/ About us", "/ Home", "/meta/ meta", "//b.org/ b.org", "//b.org/?page=2 more", "/?q=1 x"), []),
    ],
)
def test_what_is_seen_and_not_followed(text, left):
    found = [one.address for one in entries(page(APACHE % text), ROOT) if one.what == "left"]
    assert found == [urljoin(ROOT, one) for one in left]


def test_a_parent_is_no_folder_that_is_left():
    below = page(APACHE % shown("/meta/ meta", "/other/ other"), f"{ROOT}sub/")
    assert [*entries(below, f"{ROOT}sub/")] == []


@pytest.mark.parametrize("link", ["?page=2", "?cursor=abc", "list?start=10", "index.php?page=2&limit=5"])
def test_a_page_of_a_listing_is_followed(link):
    assert [one.what for one in entries(page(APACHE % links(link)), ROOT)] == ["page"]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        (APACHE % links("a.xml"), True),
        (NGINX % links("a/"), True),
        (IIS, True),
        (PYTHON % "", True),
        (CADDY % "", True),
        (bucket("a.xml"), True),
        (bucket("a.zip", prefixes=["meta/"]), True),
        (bucket("a.xml", namespace="http://doc.s3.amazonaws.com/2006-03-01"), True),
        (bucket("a.zip"), False),
        (f"<html>{bucket('a.xml')}</html>", False),
        (APACHE % links("photo.jpg"), False),
        ("<html><title>Our data</title><a href='a.xml'>A</a>", False),
    ],
)
def test_what_is_recognised(text, is_found):
    assert (WAFDetector().recognise(page(text)) is not None) == is_found


OPEN = "https://open.s3.example.org/"
CUT = "<IsTruncated>true</IsTruncated>"


@pytest.mark.parametrize(
    ("url", "text", "found"),
    [
        (OPEN, bucket("meta/a.xml", "meta/", "b c+d.ttl", "e.zip"), ["record meta/a.xml", "record b%20c%2Bd.ttl"]),
        (OPEN, bucket("a.xml", "a.xml.gz", "b.xml.gz"), ["record a.xml", "record b.xml.gz"]),
        (OPEN, bucket("../a.xml", "./b.xml"), ["left ../a.xml", "left ./b.xml"]),
        (f"{OPEN}?delimiter=/", bucket(prefixes=["m & n/"]), ["folder ?delimiter=/&prefix=m%20%26%20n/"]),
        (OPEN, bucket("m+n%2Fa.xml", more="<EncodingType>url</EncodingType>"), ["record m%20n/a.xml"]),
        (
            f"{OPEN}?prefix=m/",
            bucket("m/a.xml", "m/b.zip", more=CUT),
            ["record m/a.xml", "page ?prefix=m/&marker=m/b.zip"],
        ),
        (f"{OPEN}?marker=a", bucket("b.zip", more=f"{CUT}<NextMarker>c</NextMarker>"), ["page ?marker=c"]),
        (f"{OPEN}?marker=b.zip", bucket("b.zip", more=CUT), ["left ?marker=b.zip"]),
        (OPEN, bucket(more=CUT), ["left "]),
        (
            f"{OPEN}?list-type=2&start-after=a",
            bucket(more=f"{CUT}<NextContinuationToken>x/y=</NextContinuationToken>"),
            ["page ?list-type=2&continuation-token=x/y%3D"],
        ),
    ],
)
def test_the_listing_of_a_bucket(url, text, found):
    listed = Bucket(Response(url, body=text.encode()))
    assert listed.root == OPEN
    assert [f"{one.what} {one.address.removeprefix(OPEN)}" for one in listed.entries()] == found


def test_a_bucket_in_a_path():
    listed = Bucket(Response("https://s3.example.org/my.bucket?prefix=a", body=bucket("a/b.xml").encode()))
    assert [one.address for one in listed.entries()] == ["https://s3.example.org/my.bucket/a/b.xml"]


def test_a_bucket_is_crawled_page_by_page(tmp_path):
    """Also folder by folder; what is left after the last page is nothing."""
    files = {f"/meta/m/{name}.xml": iso(name) for name in "abc"}
    for name in ("flat", "ending"):
        (tmp_path / name).mkdir()
    cut = f"{CUT}<NextMarker>m/b.xml</NextMarker>"
    flat = {"/meta/": bucket("m/a.xml", "m/b.xml", more=cut), "/meta/?marker=m/b.xml": bucket("m/c.xml")}
    done, asked = walked(flat | files, tmp_path / "flat")
    assert (done.judged, done.errors, sorted(asked)) == (("complete", 3, 3), [], sorted(flat | files))
    ending = {"/meta/": bucket("m/a.xml", more=cut), "/meta/?marker=m/b.xml": bucket("m/c.xml", more=CUT)}
    done, _ = walked(ending | files | {"/meta/?marker=m/c.xml": 500}, tmp_path / "ending")
    assert done.judged[0] == "incomplete"


def test_a_folder_of_the_server_in_python(tmp_path, output):
    """The listing is what http.server really writes."""
    folder = tmp_path / "served/meta/sub"
    folder.mkdir(parents=True)
    (folder.parent / "a b.xml").write_text(DUBLIN_CORE.format(title="A", id="a-1"))
    (folder / "c.ttl").write_text(TURTLE)
    (folder / "photo.jpg").touch()
    handler = partial(Quiet, directory=folder.parents[1])
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            done = crawled(SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}"), output)
        finally:
            server.shutdown()
    assert (done.code, done.report["verdict"], done.report["listed"]) == (0, "complete", 3)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_a_folder_is_found_before_the_rdf_in_it():
    detection = Detection(ROOT)
    running = detection.run()
    next(running)
    with suppress(StopIteration):
        running.send(page(APACHE % links("a.ttl")))
        while True:
            running.send(page("<html>"))
    assert [(one.kind, one.address) for one in detection.found] == [("waf", ROOT)]


DUBLIN_CORE = """<?xml version="1.0"?>
<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>{title}</dc:title><dc:identifier>{id}</dc:identifier><dc:subject>water</dc:subject><dc:subject>soil</dc:subject>
<dc:description>What it is.</dc:description><dc:publisher>Amt</dc:publisher><dc:date>2020-03</dc:date>
<dc:language>de</dc:language><dc:rights>CC-BY-4.0</dc:rights></oai_dc:dc>"""
CSW = """<csw:GetRecordByIdResponse xmlns:csw="http://www.opengis.net/cat/csw/2.0.2"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dct="http://purl.org/dc/terms/"><csw:Record>
<dc:identifier>csw-1</dc:identifier><dc:title xml:lang="fr">Eaux</dc:title><dct:abstract>Un jeu.</dct:abstract>
<dct:modified>2021-05-06</dct:modified><dct:references scheme="WWW:DOWNLOAD">https://example.org/a.zip</dct:references>
<dc:URI name="Carte">https://example.org/wms</dc:URI></csw:Record></csw:GetRecordByIdResponse>"""
FGDC = "<metadata><idinfo><citation/></idinfo></metadata>"
ISO = """<gmd:MD_Metadata xmlns:gmd="http://www.isotc211.org/2005/gmd" xmlns:gco="http://www.isotc211.org/2005/gco">
<gmd:fileIdentifier><gco:CharacterString>iso-1</gco:CharacterString></gmd:fileIdentifier>
<gmd:identificationInfo><gmd:MD_DataIdentification><gmd:citation><gmd:CI_Citation><gmd:title>
<gco:CharacterString>Soils</gco:CharacterString></gmd:title></gmd:CI_Citation></gmd:citation>
</gmd:MD_DataIdentification></gmd:identificationInfo></gmd:MD_Metadata>"""
TURTLE = """@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
<https://example.org/d/1> a dcat:Dataset ; dct:title "One" .
<https://example.org/d/2> a dcat:Dataset ; dct:title "Two" ."""
FILES = {
    "/meta/": APACHE
    % links("a.xml", "b.ttl", "away.xml", "iso.xml", "fgdc.xml", "sub/", "x.zip", "https://away.invalid/"),
    "/meta/a.xml": DUBLIN_CORE.format(title="A", id="a-1"),
    "/meta/b.ttl": TURTLE,
    "/meta/iso.xml": ISO,
    "/meta/fgdc.xml": FGDC,
    "/meta/sub/": NGINX % links("c.xml", "copy.xml", "other.xml", "deep/"),
    "/meta/sub/c.xml": CSW,
    "/meta/sub/copy.xml": DUBLIN_CORE.format(title="A", id="a-1"),
    "/meta/sub/other.xml": DUBLIN_CORE.format(title="Another", id="a-1"),
    "/meta/sub/deep/": NGINX % "",
}


def answers(files, folder_type="text/html", **headers_of_all):
    def answer(asked):
        path = urlsplit(asked.path).path
        suffix = path.rpartition(".")[2]
        media_type = f"text/{suffix.replace('ttl', 'turtle')}" if "." in path else folder_type
        headers = {"Content-Type": media_type, **headers_of_all}
        return Answer(files[path].encode(), headers=headers) if path in files else Answer(b"", 404, headers)

    return answer


def crawled(site, output, given=None, **settings):
    ran = scrapy("crawl", "waf", *options(output, settings, url=f"{site.url}/meta/", **(given or {})))
    return Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")


def test_a_folder_with_all_that_can_be_in_it(output):
    with Site(answers(FILES)) as site:
        done = crawled(site, output)
        asked = {one.path for one in site.asked} - {"/robots.txt"}
    assert asked == (FILES.keys() | {"/meta/away.xml"})
    assert done.code == 3
    told = {(urlsplit(one["url"]).path, one["stage"], one["kind"]) for one in done.errors}
    assert {one[2] for one in told} == {"http", "unsupported", "duplicate_id"}
    assert {one for one in told if one[2] != "duplicate_id"} == {
        ("/meta/away.xml", "fetch", "http"),
        ("/meta/fgdc.xml", "parse", "unsupported"),
    }
    assert len(done.errors) == 3  # a copy is no error, another record of the same name is
    sources = {line["dataset_id"]: line["metadata_source"] for line in done.manifest}
    rdf = {f"https://example.org/d/{number}": "rdf" for number in (1, 2)}
    assert sources == {"a-1": "dublin_core", "csw-1": "dublin_core", "iso-1": "iso19139", **rdf}
    assert (done.report["listed"], done.report["counts"]["new"]) == (5, 5)
    assert done.report["expected"] == 7, "the file that is away and the one in FGDC may have a dataset each"
    written = {line["dataset_id"]: done.folder / line["metadata_file"] for line in done.manifest}
    assert "<dc:title" in written["csw-1"].read_text()


def test_a_whole_folder_is_complete_and_what_is_gone_twice_is_withdrawn(output):
    files = {path: text for path, text in FILES.items() if path in ("/meta/", "/meta/b.ttl", "/meta/a.xml")}
    with Site(answers(files | {"/meta/": APACHE % links("a.xml", "b.ttl")})) as site:
        done = crawled(site, output)
        assert (done.code, done.report["verdict"], done.report["evidence"]) == (0, "complete", {"folders": "file"})
        site.answer = answers(files | {"/meta/": APACHE % links("b.ttl")})
        once = crawled(site, output, SHRINK_LIMIT="0.5")
        assert (once.code, once.report["counts"]["withdrawn"]) == (0, 0)
        twice = crawled(site, output, SHRINK_LIMIT="0.5")
    assert (twice.code, twice.report["counts"]["withdrawn"]) == (0, 1)
    assert twice.manifest[-1]["dataset_id"] == "a-1"


def test_a_limit_and_a_page_that_is_no_listing(output):
    with Site(answers(FILES)) as site:
        ran = scrapy("crawl", "waf", *options(output, {}, url=f"{site.url}/meta/", max_datasets="1", source="few"))
        assert (ran.returncode, len([one for one in site.asked if one.path.endswith((".xml", ".ttl"))])) == (0, 1)
    with Site(answers({"/meta/": "<html><p>Welcome</html>"})) as site:
        done = crawled(site, output)
    assert (done.code, done.kinds()) == (4, [("list", "unproven")])


@pytest.mark.parametrize("folder_type", ["text/plain", "application/json", "application/octet-stream"])
def test_a_listing_whose_header_is_wrong_is_read(output, folder_type):
    files = {"/meta/": APACHE % links("b.ttl"), "/meta/b.ttl": TURTLE}
    with Site(answers(files, folder_type)) as site:
        done = crawled(site, output)
    assert (done.code, done.report["verdict"], done.report["listed"]) == (0, "complete", 2)


def test_an_answer_that_only_contains_the_words_of_a_listing_is_none(output):
    with Site(answers({"/meta/": json.dumps({"page": APACHE % links("b.ttl")})}, "application/json")) as site:
        done = crawled(site, output)
    assert (done.code, done.kinds()) == (4, [("list", "unproven")])


def with_resources(name, *addresses):
    links_to = "".join(f"<dct:references>{address}</dct:references>" for address in addresses)
    return f"""<r xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dct="http://purl.org/dc/terms/">
        <dc:title>{name}</dc:title><dc:identifier>{name}</dc:identifier>{links_to}</r>"""


@pytest.mark.parametrize(
    ("limit", "kept", "verdict"),
    [("1", 1, "partial"), ("2", 1, "partial"), ("3", 2, "partial"), ("5", 3, "complete"), ("6", 3, "complete")],
)
def test_a_limit_of_resources(output, limit, kept, verdict):
    addresses = ["https://example.org/1.csv", "https://example.org/2.csv"]
    files = {f"/meta/{name}.xml": with_resources(name, *addresses) for name in "abc"}
    with Site(answers(files | {"/meta/": APACHE % links("a.xml", "b.xml", "c.xml")})) as site:
        done = crawled(site, output, {"max_resources": limit}, SHRINK_LIMIT="1")
    assert (done.code, done.report["verdict"], len(done.manifest)) == (0, verdict, kept)
    assert not done.errors
    with closing(sqlite3.connect(output / "index.sqlite")) as db:  # the one that reaches the limit is kept whole
        assert db.execute("SELECT count(*) FROM resources").fetchone() == (2 * kept,)


RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:dcat="http://www.w3.org/ns/dcat#" xmlns:dct="http://purl.org/dc/terms/">{}</rdf:RDF>"""


def in_rdf(*names, bad=()):
    """Return a file of RDF; a statement of some of its datasets can't be read."""
    text = """<dcat:Dataset rdf:about="https://a.org/{0}"><dct:title>{0}</dct:title>{2}
        <dcat:distribution>{1}</dcat:distribution></dcat:Dataset>"""
    file = '<dcat:Distribution><dcat:accessURL rdf:resource="{}.csv"/></dcat:Distribution>'
    wrong = '<dct:license rdf:resource="http://a.org/l">x</dct:license>'
    return RDF_XML.format("".join(text.format(one, file.format(one), wrong if one in bad else "") for one in names))


@pytest.mark.parametrize(("limit", "told"), [("1", ["a"]), (None, ["a", "c"])])
def test_a_statement_behind_a_limit_is_neither_flaw_nor_error(tmp_path, limit, told):
    files = {"/meta/": APACHE % links("a.rdf"), "/meta/a.rdf": in_rdf(*"abc", bad="ac")}
    with Site(answers(files)) as site:
        given = {"max_resources": limit} if limit else {}
        done = walk(WAF, answers_of(site), tmp_path, url=f"{site.url}/meta/", **given)
    found = [(one.kind, one.dataset_id.removeprefix("https://a.org/")) for one in done.errors]
    assert found == [("invalid_rdf", one) for one in told]


def read(response):
    return list(asyncio.run(opened(response, source="s", most=1000, most_json=1000))[0])


@pytest.mark.parametrize(("names", "kind"), [("a", "unreadable_statement"), ("ab", "invalid_rdf")])
def test_what_is_only_a_flaw_does_not_keep_a_document_from_being_replaced(names, kind):
    """A file of one dataset has no list that would name a lost one, and needs none."""
    request = Request("https://example.org/meta/a.rdf")
    response = Response(request.url, body=in_rdf(*names, bad="a").encode(), request=request)

    dataset, *_, error = read(response)
    assert (error.kind, error.dataset_id, dataset.torn) == (kind, dataset.id, kind == "invalid_rdf")
    assert [flaw.kind for flaw in dataset.flaws] == ["unreadable_statement"] * dataset.torn


@pytest.mark.parametrize(
    ("around", "kind"),
    [
        ("<d1> a dcat:Dataset ; dct:title 'one' . {} <y> a dcat:Distribution .", "invalid_rdf"),
        ("<d1> a dcat:Dataset ; dct:title 'one' . {} <d1> dct:identifier 'd1' .", "unreadable_statement"),
    ],
)
def test_a_lost_statement_of_turtle_may_be_a_whole_dataset(around, kind):
    """It is not where the same subject stands on both sides of it."""
    prefixes = "@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .\n"
    request = Request("https://example.org/meta/a.ttl")
    body = (prefixes + around.format("<d2> == a dcat:Dataset .")).encode()
    response = Response(request.url, body=body, headers={"Content-Type": "text/turtle"}, request=request)

    dataset, error = read(response)
    assert (error.kind, dataset.torn) == (kind, kind == "invalid_rdf")


def test_an_answer_of_the_cache_is_no_second_listing(output, tmp_path):
    cache = {"HTTPCACHE_ENABLED": "1", "HTTPCACHE_DIR": str(tmp_path / "cache"), "SHRINK_LIMIT": "0.5"}
    files = {path: FILES[path] for path in ("/meta/a.xml", "/meta/b.ttl")}
    with Site(answers(files | {"/meta/": APACHE % links("a.xml", "b.ttl")})) as site:
        crawled(site, output)
        less = files | {"/meta/": APACHE % links("b.ttl")}
        site.answer = answers(less, **{"Cache-Control": "max-age=600"})
        assert [crawled(site, output, **cache).report["counts"]["withdrawn"] for _ in range(3)] == [0, 0, 0]
        assert crawled(site, output, SHRINK_LIMIT="0.5").report["counts"]["withdrawn"] == 1


def test_the_encoding_that_the_user_says_is_that_of_dublin_core(output):
    body = DUBLIN_CORE.format(title="Списък", id="a").replace('<?xml version="1.0"?>\n', "").encode("cp1251")

    def answer(asked):
        found = answers({"/meta/": APACHE % links("a.xml")})(asked)
        return Answer(body, headers={"Content-Type": "text/xml"}) if asked.path == "/meta/a.xml" else found

    with Site(answer) as site:
        done = crawled(site, output, {"encoding": "windows-1251"})
    assert (done.code, [line["dataset_title"] for line in done.manifest]) == (0, ["Списък"])


@pytest.mark.parametrize(
    ("name", "body"), [("a.xml", f"<?xml version='1.0' encoding='utf-8'?>{ISO}"), ("b.ttl", TURTLE)]
)
def test_records_in_another_encoding_than_they_say_are_read_and_told(name, body):
    body = body.replace("Soils", "Größe").replace("One", "Größe").encode("latin-1")
    request = Request(f"https://example.org/meta/{name}")
    response = Response(request.url, body=body, request=request, headers={"Content-Type": "text/plain; charset=utf-8"})
    first = read(response)[0]
    assert first.title == "Größe"
    assert first.flaws[-1] == "Its encoding is not the declared one, and was guessed (cp1252): set `encoding`."


def iso(name, title="Soils", scope=""):
    level = f'<gmd:hierarchyLevel><gmd:MD_ScopeCode codeListValue="{scope}"/></gmd:hierarchyLevel>' if scope else ""
    body = ISO.replace("iso-1", name).replace("Soils", title)
    return body.replace("<gmd:identificationInfo>", f"{level}<gmd:identificationInfo>")


def folder(**files):
    found = {f"/meta/{name}.xml": body for name, body in files.items()}
    return found | {"/meta/": APACHE % links(*(f"{name}.xml" for name in files))}


def test_a_file_with_several_records_keeps_those_that_can_be_read(output):
    several = "<all>" + iso("a") + iso("b", scope="model") + iso("c", scope="service") + "</all>"
    with Site(answers(folder(all=several))) as site:
        done = crawled(site, output)
    assert (done.code, done.report["verdict"], done.kinds()) == (0, "complete", [])
    assert sorted(line["dataset_id"] for line in done.manifest) == ["a"]
    assert "'catalogue/not_datasets': 2" in done.log


def test_a_record_in_rdf_without_an_identifier_does_not_hide_the_others(output):
    nameless = TURTLE + ' [] a dcat:Dataset ; dct:title "Nameless" . [] a dcat:Dataset ; dct:title "Another" .'
    with Site(answers({"/meta/": APACHE % links("b.ttl"), "/meta/b.ttl": nameless})) as site:
        done = crawled(site, output)
    assert (done.code, done.kinds(), len(done.manifest)) == (3, [("parse", "missing_id")] * 2, 2)


def test_a_file_that_is_renamed_is_the_same_dataset(output):
    with Site(answers(folder(old=iso("{GUID-1}")))) as site:
        assert crawled(site, output).code == 0
        site.answer = answers(folder(new=iso("{GUID-1}")))
        done = crawled(site, output)
    assert (done.code, done.report["counts"]["unchanged"], done.report["counts"]["new"]) == (0, 1, 0)
    assert [line["dataset_id"] for line in done.manifest] == ["GUID-1"]


class BrokenMapping:
    """An extension with which the mapping of ISO records fails."""

    def __init__(self):
        def fail(*_, **__):
            raise RuntimeError("it was called")

        record.FORMATS = (record.FORMATS[0]._replace(map=fail), *record.FORMATS[1:])


def test_the_second_crawl_maps_no_record_that_is_unchanged(output):
    known = {named(one): place for one, place in settings.EXTENSIONS.items()}
    broken = {"EXTENSIONS": json.dumps(known | {f"{__name__}.BrokenMapping": 0})}
    with Site(answers(folder(a=iso("a"), b=iso("b")))) as site:
        assert crawled(site, output).code == 0
        done = crawled(site, output, **broken)
        assert (done.code, done.report["counts"]["unchanged"]) == (0, 2)
        site.answer = answers(folder(a=iso("a"), b=iso("b", "Sand")))
        done = crawled(site, output, **broken)
    assert (done.code, done.kinds(), done.report["counts"]["unchanged"]) == (3, [("parse", "bug")], 1)


def test_a_file_that_cannot_be_read_may_be_any_dataset(output):
    with Site(answers(folder(a=iso("a"), b=iso("b")))) as site:
        assert crawled(site, output).code == 0
        site.answer = answers(folder(a=iso("a"), b="<broken"))
        for _ in range(3):
            done = crawled(site, output, SHRINK_LIMIT="1")
            assert (done.code, done.report["counts"]["withdrawn"]) == (3, 0)
            assert (done.report["expected"], done.report["listed"]) == (2, 1)


def listing(*names):
    rows = "".join(f'<a href="{name}">{name}</a> 2024-01-01 10:00 1k\n' for name in names)
    return f"<html><head><title>Index of /meta</title></head><body><h1>Index of /x</h1><pre>{rows}</pre></body></html>"


def by_address(found):
    """Answer by path and query; what is not in the table has the answer of its path."""

    def answer(asked):
        path = asked.path.partition("?")[0]
        body = found.get(asked.path, found.get(path, found.get(path.rpartition("/")[2])))
        headers = {"Content-Type": "text/xml" if path.endswith(".xml") else "text/html"}
        return Answer((body or "").encode(), 200 if body else 404, headers)

    return answer


def test_a_record_with_a_query_and_the_pages_of_a_listing_are_read(output):
    first = listing("?C=N;O=D", "?sort=size&order=asc", "a.xml", "b.xml?v=2", "?page=1", "?page=2")
    found = {"/meta/": first, "/meta/?page=2": listing("c.xml", "?page=1"), "/meta/?page=1": first}
    found |= {f"/meta/{name}.xml": iso(name) for name in "abc"}
    with Site(by_address(found)) as site:
        done = crawled(site, output)
        asked = sorted(one.path for one in site.asked)
    assert (done.code, done.report["verdict"], done.report["listed"]) == (0, "complete", 3)
    assert "/meta/b.xml?v=2" in asked
    assert not [path for path in asked if "C=N" in path or "sort=" in path]


@pytest.mark.parametrize(
    "link", ["?view=more", "?dir=sub", "sub/?x=1", "get.php?file=b.xml", "get?id=5", "sub/?page=2"]
)
def test_a_link_that_nobody_knows_may_hide_records(output, link):
    with Site(by_address({"/meta/": listing("a.xml", link), "a.xml": iso("a")})) as site:
        done = crawled(site, output)
    assert (done.report["verdict"], done.kinds(), len(done.manifest)) == ("incomplete", [("list", "unproven")], 1)
    assert link in done.errors[0]["error"]


@pytest.mark.parametrize(
    ("names", "ended", "told"),
    [
        (["a.xml", "{0}/out/c.xml", "../up.xml", "/out/c.xml"], (3, "incomplete", 1), "names 2 addresses"),
        (["/out/c.xml", "https://away.invalid/x.xml"], (4, "failed", 0), "names 2 addresses"),
    ],
)
def test_records_that_a_listing_links_outside_are_counted(output, names, ended, told):
    pages = {"/meta/a.xml": iso("a")}
    with Site(answers(pages)) as site:
        pages["/meta/"] = APACHE % links(*(name.format(site.url) for name in names))
        done = crawled(site, output)
        assert {one.path for one in site.asked} <= {"/robots.txt", "/meta/", "/meta/a.xml"}
    assert (done.code, done.report["verdict"], len(done.manifest)) == ended
    (error,) = done.errors
    assert (error["stage"], error["kind"]) == ("list", "unproven")
    assert f"{told} that were not followed, such as {site.url}/out/c.xml" in error["error"]


def test_a_listing_that_came_in_part_is_no_evidence(output):
    def answer(asked):
        given = answers({"/meta/": APACHE % links("a.xml"), "/meta/a.xml": iso("a")})(asked)
        return replace(given, status=206) if asked.path == "/meta/" else given

    with Site(answer) as site:
        done = crawled(site, output)
    assert (done.code, done.kinds(), done.report["evidence"]) == (4, [("list", "truncated")], {})


def test_links_of_a_folder_to_itself_are_followed_once(output):
    def answer(asked):
        body = listing("me/", "you/", "a.xml") if asked.path.endswith("/") else iso("a")
        return Answer(body.encode(), headers={"Content-Type": "text/html" if asked.path.endswith("/") else "text/xml"})

    with Site(answer) as site:
        done = crawled(site, output)
        assert len([one for one in site.asked if one.path.endswith("/")]) == 3
    assert (done.code, done.report["verdict"], len(done.manifest)) == (0, "complete", 1)


def test_a_folder_with_the_names_of_the_one_above_is_read_if_no_times_show_that_it_is_the_same(output):
    files = {"/meta/": NGINX % links("a.xml", "sub/").replace("2024-11-07 15:00", "")}
    files |= {"/meta/sub/": files["/meta/"], "/meta/sub/sub/": NGINX % ""}
    files |= {"/meta/a.xml": iso("a"), "/meta/sub/a.xml": iso("b")}
    with Site(answers(files)) as site:
        done = crawled(site, output)
    assert (done.report["verdict"], len(done.manifest)) == ("complete", 2)


def test_an_address_without_a_slash_is_a_folder(output):
    found = {
        "/w": listing("w/a.xml", "/secret/"),
        "/w/a.xml": iso("a"),
        "/secret/": listing("b.xml"),
        "b.xml": iso("b"),
    }
    with Site(by_address(found)) as site:
        ran = scrapy("crawl", "waf", *options(output, {}, url=f"{site.url}/w"))
        assert ran.returncode == 0
        assert {one.path for one in site.asked} == {"/robots.txt", "/w", "/w/a.xml"}


def test_records_that_describe_no_data_are_counted(output):
    catalogue = (
        '<gfc:FC_FeatureCatalogue xmlns:gfc="http://www.isotc211.org/2005/gfc"><gfc:name/></gfc:FC_FeatureCatalogue>'
    )
    files = {"a": iso("a"), "s": iso("s", scope="service"), "m": iso("m", scope="featureCatalogue"), "f": catalogue}
    with Site(answers(folder(**files))) as site:
        done = crawled(site, output)
    assert (done.code, done.report["verdict"], done.kinds(), len(done.manifest)) == (0, "complete", [], 1)
    assert "'catalogue/not_datasets': 3" in done.log


def test_two_records_of_one_file_are_told_apart_from_those_of_two_files(output):
    several = "<all>" + iso("a") + iso("a", "Sand") + iso("", "One") + iso("", "Two") + "</all>"
    with Site(answers(folder(all=several))) as site:
        done = crawled(site, output)
    assert sorted(one["kind"] for one in done.errors) == ["duplicate_id", "missing_id"]
    told = {one["kind"]: one["error"] for one in done.errors}
    assert told["duplicate_id"].startswith("the same file has")
    assert told["missing_id"].startswith("a file has several records without an identifier")
    assert len(done.manifest) == 2


def test_a_document_of_xml_has_no_logins(output):
    files = {"/meta/a.xml": with_resources("a", "ftp://me:hunter22@a.org/1.csv?a&amp;b", "https://a.org/me@a.csv")}
    with Site(answers(files | {"/meta/": APACHE % links("a.xml")})) as site:
        done = crawled(site, output)
    (line,) = done.manifest
    body = (done.folder / line["metadata_file"]).read_text()
    assert "<dct:references>ftp://a.org/1.csv?a&amp;b</dct:references>" in body
    assert "<dct:references>https://a.org/me@a.csv</dct:references>" in body
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        found = {url for (url,) in db.execute("SELECT url FROM resources")}
    assert found == {"ftp://a.org/1.csv?a&b", "https://a.org/me@a.csv"}


# The tree


def walked(files, folder, **given):
    """Walk a folder without the loopback; a status is an answer without a body."""

    def answer(asked):
        body = files.get(asked.path, 404)
        body = body.pop(0) if isinstance(body, list) else body
        if isinstance(body, int):
            return Answer(b"", body)
        media_type = "text/html" if asked.path.endswith("/") else "application/octet-stream"
        body = body.encode() if isinstance(body, str) else body
        return Answer(body, headers={"Content-Type": "text/turtle" if ".ttl" in asked.path else media_type})

    with Site(answer) as site:
        done = walk(WAF, answers_of(site), folder, url=f"{site.url}/meta/", **given)
        return done, [one.path for one in site.asked]


DEEP = {
    "/meta/": listing("a.xml", "sub/", "b.xml", "other/"),
    "/meta/sub/": listing("c.xml", "deep/", "?C=N", "../"),
    "/meta/other/": listing("two.ttl") + "<p>of others</p>",
    "/meta/sub/deep/": listing("d.xml", "e.xml") + "<p>below</p>",
    "/meta/other/two.ttl": TURTLE,
    **{f"/meta/{path}.xml": iso(path[-1]) for path in ("a", "b", "sub/c", "sub/deep/d", "sub/deep/e")},
}


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("twice", range(len(DEEP) + 1))
def test_a_kill_between_any_two_answers_loses_nothing(tmp_path, twice, is_late):
    done, asked = walked(DEEP, tmp_path, twice=twice, is_late=is_late)
    ids = sorted([*"abcde", "https://example.org/d/1", "https://example.org/d/2"])
    assert sorted(set(done.ids())) == ids
    assert (done.evidence, done.judged) == ({"folders": "file"}, ("complete", 7, 7))
    assert set(asked) == set(DEEP)


@pytest.mark.parametrize("limit", [{}, {"max_datasets": "8"}])
@pytest.mark.parametrize("twice", range(1, len(DEEP) + 1))
def test_a_kill_and_then_an_answer_in_part_lose_nothing(tmp_path, twice, limit):
    """The file is asked for once more, by another step; what it named before the kill is its own still."""
    done, asked = walked(DEEP, tmp_path, twice=twice, again=lambda response: response.replace(status=206), **limit)
    assert (len(set(done.ids())), done.evidence, done.judged) == (7, {"folders": "file"}, ("complete", 7, 7))
    assert set(asked) == set(DEEP)


def test_a_crawl_that_was_stopped_goes_on_in_its_jobdir(output, tmp_path):
    with Site(answers(DEEP)) as site:
        job = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": "1"}
        assert crawled(site, output, CLOSESPIDER_PAGECOUNT="4", **job).report["verdict"] == "partial"
        done = crawled(site, output, **job)
        asked = [one.path for one in site.asked if one.path != "/robots.txt"]
    assert (done.code, done.report["resumed"]) == (0, True)
    assert (done.report["listed"], done.report["evidence"], len(done.manifest)) == (7, {"folders": "file"}, 7)
    assert sorted(asked) == sorted(DEEP)


@pytest.mark.parametrize("twice", range(5))
def test_a_limit_asks_for_no_more_than_it_needs(tmp_path, twice):
    done, asked = walked(DEEP, tmp_path, max_datasets="2", twice=twice)
    assert (sorted(set(done.ids())), done.judged) == (["a", "b"], ("partial", None, 2))
    assert asked == ["/meta/", "/meta/a.xml", "/meta/b.xml"]


def test_a_listing_that_breaks_off_is_asked_for_again(tmp_path):
    done, _ = walked(DEEP | {"/meta/sub/": [206, DEEP["/meta/sub/"]]}, tmp_path)
    assert done.judged == ("complete", 7, 7)
    done, _ = walked(DEEP | {"/meta/sub/": [206, 206]}, tmp_path)
    assert (done.evidence, done.judged, done.kinds()) == ({}, ("incomplete", None, 4), {"truncated": 1})


LOGIN = """<!doctype html><title>Log in</title><form><input type="password"></form>
<a href="/meta/help/">Help</a> <a href="/meta/terms/">Terms</a>"""


@pytest.mark.parametrize(
    "page", ["<p>Welcome</p>", LOGIN, "<h1>Are you a robot?</h1>", "{}"], ids=["no links", "login", "robot", "JSON"]
)
@pytest.mark.parametrize("limit", [{}, {"max_datasets": "8"}], ids=["all", "limit"])
def test_a_page_for_people_in_place_of_a_folder_is_asked_for_once_more(tmp_path, page, limit):
    done, asked = walked(DEEP | {"/meta/sub/": [page, DEEP["/meta/sub/"]]}, tmp_path, **limit)
    assert (done.judged, done.errors, len(asked)) == (("complete", 7, 7), [], len(DEEP) + 1)
    done, asked = walked(DEEP | {"/meta/sub/": page}, tmp_path, **limit)
    assert (done.judged[0], done.kinds(), asked.count("/meta/sub/")) == ("incomplete", {"unproven": 1}, 2)
    assert len(asked) == len(DEEP) + 1 - 4, "nothing below it is asked for"


def test_a_first_page_with_folders_may_have_a_form_for_a_login(tmp_path):
    form = '<h2>Sign in</h2><form><input type="password"></form><a href="/meta/sub/">sub</a>'
    files = {"/meta/": form} | {path: body for path, body in DEEP.items() if path.startswith("/meta/sub/")}
    done, asked = walked(files, tmp_path)
    assert (done.judged, done.errors, sorted(asked)) == (("complete", 3, 3), [], sorted(files))


def test_an_address_that_is_no_folder_is_asked_for_once(tmp_path):
    done, asked = walked({"/meta/": "<p>Welcome</p>"}, tmp_path)
    assert (done.kinds(), len(asked)) == ({"unproven": 1}, 1)


@pytest.mark.parametrize(
    ("name", "cut", "whole"),
    [
        ("a.xml", iso("a")[:-40], iso("a")),
        ("a.xml.gz", gzip.compress(iso("a").encode())[:-9], gzip.compress(iso("a").encode())),
    ],
)
def test_a_record_that_is_cut_is_asked_for_once_more(tmp_path, name, cut, whole):
    place, listed = f"/meta/{name}", {"/meta/": listing(name)}
    done, _ = walked(listed | {place: [cut, whole]}, tmp_path)
    assert (done.judged, done.ids(), done.errors) == (("complete", 1, 1), ["a"], [])
    done, asked = walked(listed | {place: cut}, tmp_path)
    assert (done.judged, len(done.errors), asked[1:]) == (("incomplete", 1, 0), 1, [place, place])


@pytest.mark.parametrize(("place", "number"), [("/meta/sub/", 4), ("/meta/b.xml", 6)])
def test_what_does_not_come_is_told_once(tmp_path, place, number):
    """A folder may have had anything, and a record is one."""
    done, _ = walked(DEEP | {place: 500}, tmp_path)
    [error] = done.errors
    assert (error.url.endswith(place), error.kind, error.http_status, error.attempts) == (True, "http", 500, 1)
    is_record = place.endswith(".xml")
    assert (error.stage, done.evidence) == (("fetch", {"folders": "file"}) if is_record else ("list", {}))
    assert done.judged == ("incomplete", 7 if is_record else None, number)


def test_a_folder_too_deep_is_told(tmp_path):
    files = {f"/meta/{'x/' * depth}": listing("x/") + f"<p>{depth}</p>" for depth in range(13)}
    done, asked = walked(files, tmp_path)
    assert (len(asked), done.kinds(), done.evidence) == (11, {"trap": 1}, {})


@pytest.mark.parametrize("again", [None, lambda response: response.replace(status=206)])
@pytest.mark.parametrize(("most", "kinds"), [(3, set()), (2, {"trap"})])
def test_a_folder_that_is_named_again_after_a_kill_counts_once(tmp_path, monkeypatch, most, kinds, again):
    monkeypatch.setattr(Folders, "most", most)
    files = {f"/meta/{one}": listing() + one for one in ("a/", "b/", "c/")}
    done, asked = walked(files | {"/meta/": listing("a/", "b/", "c/")}, tmp_path, twice=1, again=again)
    assert (done.kinds().keys(), len(asked)) == (kinds, most + 1 + (again is not None))


@pytest.mark.parametrize("name", ["a.xml.gz", "b.ttl.gz", "plain.xml.gz"])
def test_a_gzipped_record_is_read(tmp_path, name):
    """Also one that the server has unpacked, though its name stays."""
    body = (TURTLE if "ttl" in name else iso("a")).encode()
    body = body if "plain" in name else gzip.compress(body)
    done, asked = walked({"/meta/": listing(name), f"/meta/{name}": body}, tmp_path)
    assert (done.judged[0], len(done.items), done.errors) == ("complete", 1 + ("ttl" in name), [])
    assert done.items[0].metadata_url.endswith(name)
    done, asked = walked(
        {
            "/meta/": listing(name, name[:-3]),
            f"/meta/{name[:-3]}": gzip.decompress(body) if body[:1] == b"\x1f" else body,
        },
        tmp_path,
    )
    assert (done.judged[0], asked) == ("complete", ["/meta/", f"/meta/{name[:-3]}"])


@pytest.mark.parametrize(("body", "kind"), [(TURTLE.encode(), None), (gzip.compress(os.urandom(8 << 20)), "too_large")])
def test_a_gzipped_file_is_never_in_memory_as_a_whole(body, kind):
    """Neither one that came unpacked, nor one that is larger than what it may be unpacked to."""
    parts = []

    class Reader(io.BytesIO):
        def read(self, size=-1):
            parts.append(found := super().read(size))
            return found

    body += b"\n" * (4 << 20)
    file = SimpleNamespace(open=lambda: Reader(body), size=len(body))
    response = SpooledResponse(f"{ROOT}a.ttl.gz", file=file, received=1, request=Request(f"{ROOT}a.ttl.gz"))

    async def read():
        found, close = await opened(response, source="x", most=1 << 20, most_json=1)
        list(found)
        close()

    with pytest.raises(AnswerError) if kind else nullcontext() as told:
        asyncio.run(read())
    assert kind is None or told.value.kind == kind
    assert max(map(len, parts)) < 2 << 20
    assert kind is None or sum(map(len, parts)) < 2 << 20


@pytest.mark.parametrize(
    ("body", "kind"),
    [(gzip.compress(b"<a>" + bytes(3 << 20)), "too_large"), (gzip.compress(ISO.encode())[:-9], "truncated")],
)
def test_a_bomb_and_a_cut_file_are_told(tmp_path, body, kind):
    done, _ = walked(
        {"/meta/": listing("a.xml.gz"), "/meta/a.xml.gz": body}, tmp_path, changes={"DOWNLOAD_MAXSIZE": 1 << 20}
    )
    assert (done.kinds(), done.judged) == ({kind: 1}, ("incomplete", 1, 0))
