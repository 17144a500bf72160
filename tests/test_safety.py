"""Hostile portals: where they may not lead a crawl, and what they may not make it spend or say."""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import json
import logging
import os
import re
import socket
import subprocess
import sys
import time
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import CannotResolveHostError, NotConfigured
from scrapy.utils.test import get_crawler
from twisted.internet._resolver import GAIResolver
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock

from crawlers.safety import resolver as resolver_module
from crawlers.safety.logs import Redact, Terminal
from crawlers.safety.redact import has_login, redact, without_logins, writable
from crawlers.safety.resolver import ForbiddenAddressError, PublicOnly, PublicOnlyResolver, is_public, spelled
from crawlers.safety.tokens import ApiToken
from crawlers.store.index import scope
from tests.conftest import ROOT, Crawl, command, json_lines, options, scrapy
from tests.site import Answer, Site, listing, redirect, result

SECRET = "s3cr3t-t0ken"


def site_of(export, *, ids=("one",), host="127.0.0.1"):
    """A portal that lists datasets, and answers as told when it is asked for one of them."""
    records = [{"id": one, "resources": []} for one in ids]
    known = {"package_search": listing(*records), "am_following_dataset": result(False)}
    return Site(lambda asked: known.get(asked.action) or export(asked), host)


# A process between, because a child's peak begins with the size of the process that started it.
PEAK = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
spent = resource.getrusage(resource.RUSAGE_CHILDREN)
print(spent.ru_utime + spent.ru_stime, spent.ru_maxrss)
sys.exit(code)
"""


def measured(output, site, **settings):
    """A crawl's exit code, log, seconds of processor time and megabytes."""
    words = options(output, settings, portal=site.url, level="dataset")
    command = [sys.executable, "-c", PEAK, sys.executable, "-m", "scrapy", "crawl", "ckan", *words]
    crawl = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    seconds, kibibytes = crawl.stdout.split()
    return crawl.returncode, crawl.stderr, float(seconds), int(kibibytes) / 1024


def errors(output):
    return json_lines(output / "127.0.0.1" / "errors.jsonl")


# Where requests may go

SPELLINGS = (
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "LocalHost", "0.0.0.0"),
    *("[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"),
)
ELSEWHERE = (
    "169.254.169.254/latest/meta-data",
    "10.0.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "[fe80::1]",
    "[2002:7f00:1::]",
)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "224.0.0.1",
        ),
        *(
            "255.255.255.255",
            "240.0.0.1",
            "198.18.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
        ),
        *(
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "2002:7f00:1::",
            "fe80::1",
            "fc00::1",
            "fec0::1",
            "ff02::1",
        ),
        *("2001:db8::1", "2001::1", "100::1"),
    ],
)
def test_an_address_that_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "151.101.1.1", "::ffff:8.8.8.8", "2606:4700::1111"])
def test_an_address_that_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.0.0.1", "017700000001"])
def test_an_address_is_known_in_any_spelling(host):
    assert spelled(host) == "127.0.0.1"


@pytest.mark.parametrize("host", ["example.org", "deadbeef.example", "a.1", "", "xn--mnchen-3ya.de"])
def test_a_name_is_no_address(host):
    assert spelled(host) is None


def test_only_a_host_that_was_refused_is_called_so():
    """Any other failure of a connection stays what it is."""
    only = PublicOnly(get_crawler(settings_dict={"HTTPPROXY_ENABLED": False}))
    only.resolver = SimpleNamespace(refused={"inner.example": "10.0.0.7"})
    inner, outer = Request("http://inner.example/"), Request("http://outer.example/")
    assert only.process_exception(inner, TimeoutError()) is None
    assert only.process_exception(outer, CannotResolveHostError()) is None
    with pytest.raises(ForbiddenAddressError, match=r"^inner\.example:80 leads to 10\.0\.0\.7, which is not public"):
        only.process_exception(inner, CannotResolveHostError())


@pytest.fixture
def resolver():
    made = PublicOnlyResolver(SimpleNamespace(nameResolver=None), 0)
    made.named = {("intranet", 80), ("portal.example", 80)}
    made.allowed = {("both.example", None)}
    return made


def test_a_portal_does_not_become_private(resolver):
    """DNS rebinding: who has a public name may give it another address while the crawl goes on."""
    assert resolver.allows("intranet", 80, ["10.0.0.1"])
    assert resolver.allows("intranet", 80, ["10.0.0.2"])
    assert resolver.allows("portal.example", 80, ["8.8.8.8"])
    assert not resolver.allows("portal.example", 80, ["127.0.0.1"])
    assert resolver.refused["portal.example"] == "127.0.0.1"
    assert all(resolver.allows("both.example", 1, [address]) for address in ("8.8.8.8", "10.0.0.1"))
    assert not resolver.allows("intranet", 81, ["10.0.0.1"])


@pytest.mark.parametrize("addresses", [["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"]])
def test_an_answer_with_a_public_and_a_private_address_is_refused(resolver, addresses):
    assert not resolver.allows("portal.example", 80, addresses)
    assert not resolver.allows("elsewhere.example", 80, addresses)
    assert resolver.refused["elsewhere.example"] == "10.0.0.1"
    assert resolver.allows("both.example", 80, addresses)
    assert not resolver.allows("portal.example", 80, ["10.0.0.1"]), "it has had a public one"


def test_a_portal_is_told_once_to_be_public(resolver):
    resolver.listeners.append((heard := []).append)
    for host, addresses in (
        *(("portal.example", ["8.8.8.8"]), ("portal.example", ["8.8.4.4"]), ("elsewhere.example", ["8.8.8.8"])),
        ("intranet", ["10.0.0.1"]),
    ):
        resolver.allows(host, 80, addresses)
    assert heard == ["portal.example"]


class Names(PublicOnlyResolver):
    """Resolves the names of the environment; addresses that begin with 127.0.1. are public to it."""

    def __init__(self, *given):
        super().__init__(*given)
        known, true = json.loads(os.environ["NAMES"]), resolver_module.is_public
        resolver_module.is_public = lambda address: address.startswith("127.0.1.") or true(address)

        def answer(host, port, *_):
            if host not in known:
                raise socket.gaierror
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[host]]

        self.original_resolver = GAIResolver(self.reactor, getaddrinfo=answer)


@pytest.fixture
def named(crawl, monkeypatch):
    """Crawls a portal by its name, which has these addresses now."""

    def run(port, *addresses, **settings):
        monkeypatch.setenv("NAMES", json.dumps({"portal.example": addresses}))
        settings |= {"TWISTED_DNS_RESOLVER": f"{__name__}.Names"}
        portal = SimpleNamespace(url=f"http://portal.example:{port}")
        return crawl("ckan", portal, settings=settings, source="named")

    return run


def test_a_portal_that_was_public_in_an_earlier_run_may_not_be_private_tonight(named, output):
    with site_of(None, host="0.0.0.0") as site:
        assert named(site.port, "127.0.1.1").code == 0
        assert json.loads((output / "named" / "memory.json").read_bytes())["public"] == ["portal.example"]
        asked = len(site.asked)
        moved = named(site.port, "127.0.0.2")
        assert (moved.code, moved.kinds(), len(site.asked)) == (4, [("list", "forbidden_address")], asked)
        host = f"portal.example:{site.port}"
        assert moved.errors[0]["error"] == (
            f"{host} leads to 127.0.0.2, which is not public, though it has had a public address "
            f"(-s ALLOWED_PRIVATE_HOSTS={host} would allow it)"
        )
        assert named(site.port, "127.0.0.2", ALLOWED_PRIVATE_HOSTS=host).code == 0
        mixed = named(site.port, "127.0.1.1", "127.0.0.2")
        assert (mixed.code, mixed.errors[-1]["error"]) == (4, moved.errors[0]["error"])


def test_a_portal_that_was_never_public_may_be_private(named, output):
    with site_of(None, host="0.0.0.0") as site:
        assert [named(site.port, address).code for address in ("127.0.0.2", "127.0.0.3")] == [0, 0]
        assert not (output / "named" / "memory.json").exists()


def test_a_portal_must_be_public_where_that_is_wanted(named, crawl):
    with site_of(None, host="0.0.0.0") as site:
        for done in (
            named(site.port, "127.0.0.2", PORTAL_MAY_BE_PRIVATE="False"),
            crawl("ckan", site, settings={"PORTAL_MAY_BE_PRIVATE": "False"}, source="spelled"),
        ):
            assert (done.code, done.kinds(), site.asked) == (4, [("list", "forbidden_address")], [])
            assert "is no host that you named" in done.errors[0]["error"]
        allowed = {"PORTAL_MAY_BE_PRIVATE": "False", "ALLOWED_PRIVATE_HOSTS": f"portal.example:{site.port}"}
        assert named(site.port, "127.0.0.2", **allowed).code == 0


def test_a_name_without_an_answer_has_no_address_after_a_time():
    clock, told = Clock(), []
    asked = []
    clock.nameResolver = SimpleNamespace(resolveHostName=lambda receiver, name, *_: asked.append((receiver, name)))
    resolver = PublicOnlyResolver(clock, 0, timeout=5.0)
    heard = SimpleNamespace(
        resolutionBegan=lambda _: None, addressResolved=told.append, resolutionComplete=lambda: told.append("the end")
    )
    resolver.resolveHostName(heard, "slow.example", 80)
    ((receiver, name),) = asked
    receiver.resolutionBegan(SimpleNamespace(name=name))
    clock.advance(5)
    assert told == ["the end"]
    receiver.addressResolved(IPv4Address("TCP", "8.8.8.8", 80))
    receiver.resolutionComplete()
    assert told == ["the end"], "it is too late"


def test_a_redirect_into_the_private_network_is_refused(crawl):
    with Site(lambda _: result({})) as inside:
        hosts = [f"{one}:{inside.port}/{number}" for number, one in enumerate(SPELLINGS)] + list(ELSEWHERE)
        ids = [f"id{number:02}" for number in range(len(hosts))]
        with site_of(lambda asked: redirect(f"http://{hosts[ids.index(asked.id)]}"), ids=ids) as site:
            done = crawl("ckan", site, level="dataset")
    assert inside.asked == []
    assert {error["dataset_id"]: error["kind"] for error in done.errors} == dict.fromkeys(ids, "forbidden_address")
    assert all(error["attempts"] == 1 for error in done.errors), "it is not tried again"
    assert "is no host that you named" in done.errors[0]["error"]
    assert (done.code, done.report["verdict"], "Traceback" in done.log) == (3, "incomplete", False)


@pytest.mark.parametrize(
    "settings",
    [
        {"ALLOWED_PRIVATE_HOSTS": "localhost:{port}"},
        {"ALLOWED_PRIVATE_HOSTS": "localhost"},
        {"TWISTED_DNS_RESOLVER": "scrapy.resolver.CachingThreadedResolver"},
    ],
    ids=["named with its port", "named", "without the defence"],
)
def test_a_redirect_into_the_private_network_is_followed_when_that_is_wanted(crawl, settings):
    with (
        Site(lambda _: result({"id": "one"})) as inside,
        site_of(lambda _: redirect(f"http://localhost:{inside.port}/")) as site,
    ):
        settings = {name: value.format(port=inside.port) for name, value in settings.items()}
        done = crawl("ckan", site, level="dataset", settings=settings)
    assert (done.code, [asked.path for asked in inside.asked if asked.path != "/robots.txt"]) == (0, ["/"])


def test_a_named_port_opens_no_other(crawl):
    with Site(lambda _: result({})) as inside, site_of(lambda _: redirect(f"http://localhost:{inside.port}/")) as site:
        done = crawl("ckan", site, level="dataset", settings={"ALLOWED_PRIVATE_HOSTS": f"localhost:{site.port}"})
    assert (inside.asked, done.kinds()) == ([], [("fetch", "forbidden_address")])


@pytest.mark.parametrize("location", ["file:///etc/passwd", "data:,root:", "ftp://127.0.0.1/", "gopher://127.0.0.1/"])
def test_a_redirect_to_something_that_is_no_web_page(crawl, location, output):
    with site_of(lambda _: redirect(location)) as site:
        done = crawl("ckan", site, level="dataset")
    assert (done.code, done.kinds(), done.errors[0]["http_status"]) == (3, [("fetch", "http")], 302)
    assert not any(b"root:" in path.read_bytes() for path in output.rglob("*") if path.is_file())


def test_a_portal_must_be_a_web_address(crawl):
    done = crawl("ckan", type("File", (), {"url": "file:///etc/passwd"}))
    assert (done.code, done.lines[-1].startswith("spider ckan: portal='file:///etc/passwd' is not")) == (1, True)


def test_redirects_without_end(crawl):
    numbers = itertools.count()
    with site_of(lambda _: redirect(f"/api/3/action/package_show?id=one&n={next(numbers)}")) as site:
        done = crawl("ckan", site, level="dataset")
    assert (done.code, done.kinds(), len(site.asked)) == (3, [("fetch", "ignored")], 1 + 11)


def test_a_proxy_of_the_environment_is_used_and_is_a_host_the_user_named(crawl, monkeypatch):
    with Site(lambda asked: result({"count": 0, "results": []})) as proxy:
        monkeypatch.setenv("http_proxy", f"http://localhost:{proxy.port}")
        done = crawl("ckan", type("Elsewhere", (), {"url": "http://portal.invalid"}), source="127.0.0.1")
        assert (done.code, proxy.asked[0].path.split("?")[0]) == (
            0,
            "http://portal.invalid/api/3/action/package_search",
        )


# Credentials


def everything(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_token_goes_to_the_portal_and_stays_there(crawl, monkeypatch, tmp_path):
    monkeypatch.setenv("CKAN_API_TOKEN", SECRET)
    failures = iter([True, True])
    with Site(lambda _: result({"id": "one"})) as elsewhere:

        def export(_):
            return (
                Answer(status=503)
                if next(failures, False)
                else redirect(f"{elsewhere.url}/api/3/action/package_show?id=one")
            )

        with site_of(export) as site:
            settings = {
                "ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{elsewhere.port}",
                "JOBDIR": str(tmp_path / "job"),
                "HTTPCACHE_ENABLED": "1",
                "HTTPCACHE_ALWAYS_STORE": "1",
                "HTTPCACHE_DIR": str(tmp_path / "cache"),
                "LOG_LEVEL": "DEBUG",
            }
            done = crawl("ckan", site, level="dataset", settings=settings)
    assert done.code == 0
    assert [asked.headers["Authorization"] for asked in site.asked] == [SECRET] * 5
    assert [asked.headers["Authorization"] for asked in elsewhere.asked] == [None]
    assert SECRET.encode() not in everything(tmp_path) + done.log.encode()
    assert "unencrypted" in done.log


SECRETS = (
    "api_key APIKEY my-api-key token x_TOKEN secret signature credential password passwd pwd AccessKeyId auth "
    "authorization to\u212aen \u017fecret s\u0131gnature CREDENT\u0130AL"
).split()


@pytest.mark.parametrize("text", ["?{}=abc123", "'{}': [b'abc123']", "{}: Bearer abc123"])
def test_every_name_of_a_secret_is_known_in_any_letters(text):
    assert [name for name in SECRETS if "abc123" in redact(text.format(name))] == []


@pytest.mark.parametrize(
    "text",
    [
        "CKAN_API_TOKEN: it is wrong",
        "The API token: no portal takes it",
        "'token': the portal's",
        "X-API-Key: not given",
    ],
)
def test_a_sentence_about_a_secret_stays_as_it_is(text):
    assert redact(text) == text


def test_a_token_that_a_portal_repeats_is_stored_nowhere(crawl, monkeypatch, tmp_path):
    """In a record, in an error, in an address; the token has a character that addresses and JSON spell otherwise."""
    token = 'a"long/' + SECRET
    monkeypatch.setenv("CKAN_API_TOKEN", token)
    record = {"id": "one", "title": f"You are {token}", "resources": []}

    def answer(asked):
        if asked.action == "package_search":
            return listing(record, {"id": "two", "resources": []})
        if asked.id == "two":
            return Answer(json.dumps({"success": False, "error": {"message": f"{token} may not"}}).encode(), status=409)
        if "for=" in asked.path:
            return result(record)
        return redirect(f"/api/3/action/package_show?id=one&for={quote(token, safe='')}")

    with Site(answer) as site:
        settings = {"HTTPCACHE_ENABLED": "1", "HTTPCACHE_ALWAYS_STORE": "1", "HTTPCACHE_DIR": str(tmp_path / "cache")}
        more = ("-O", str(tmp_path / "feed.jsonl"), "-s", "LOG_LEVEL=DEBUG")
        done = crawl("ckan", site, level="both", settings=settings, more=more)
    assert (done.code, len(done.manifest), len(done.errors)) == (3, 3, 1), done.log
    assert {"You are ***"} < {document.get("title") for document in done.documents().values()}
    assert "for=***" in done.manifest[-1]["metadata_url"]
    kept = everything(tmp_path / "output") + (tmp_path / "feed.jsonl").read_bytes() + done.log.encode()
    assert [form for form in (SECRET, quote(token, safe="")) if form.encode() in kept] == []


def test_a_line_of_the_log_is_redacted_and_written():
    record = logging.makeLogRecord({"msg": "%s\n\x1b[31m2026", "args": ("http://me:secret@a.org/",)})
    assert Redact().filter(record)
    assert "secret" not in record.getMessage()
    assert "\x1b" not in record.getMessage()
    assert record.getMessage().splitlines()[1].startswith("    "), "no line is forged"


def test_a_terminal_takes_all_that_is_written_and_shows_what_is_harmless():
    shown = io.StringIO()
    terminal = Terminal(shown)
    assert terminal.write("\x07title\n") == 7
    assert terminal.buffer.write("é\x1b]0;\r\n".encode()) == 8
    assert shown.getvalue() == "\\u0007title\né\\u001b]0;\n"
    print("more", end="", file=terminal, flush=True)
    assert terminal.getvalue().endswith("more"), "the rest is the stream's"


def test_credentials_in_addresses_are_stored_nowhere(tmp_path):
    """And the run is known again by its arguments without them."""
    page = b"<c> a <http://www.w3.org/ns/dcat#Catalog> ; <http://www.w3.org/ns/dcat#dataset> <http://x.test/a> ."
    page += b"<http://x.test/a> a <http://www.w3.org/ns/dcat#Dataset> ; <http://purl.org/dc/terms/title> 'A' ."
    with Site(lambda _: Answer(page, headers={"Content-Type": "text/turtle"})) as site:
        url = f"{site.url}/c.ttl?api_key={SECRET}"
        ran = scrapy("crawl", "dcat", *options(tmp_path, {"LOG_LEVEL": "DEBUG"}, url=url, source="town"))
    done = Crawl(ran.returncode, ran.stderr, tmp_path / "town")
    assert (done.code, done.manifest[0]["metadata_url"]) == (0, f"{site.url}/c.ttl?api_key=***"), done.log
    assert done.report["arguments"]["url"] == f"{site.url}/c.ttl?api_key=***"
    assert scope("dcat", {"url": url}) == scope("dcat", done.report["arguments"])
    assert SECRET.encode() not in everything(tmp_path) + done.log.encode()


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        *(("https://me:secret@a.org/x", "https://a.org/x"), ("ftp://me:secret@a.org:21", "ftp://a.org:21")),
        *(("postgresql://me:@a.org/x", "postgresql://a.org/x"), ("https://:secret@a.org", "https://a.org")),
        *(
            ("https://me@b.org:secret@a.org/?q=@", "https://a.org/?q=@"),
            ("https://me:s@cr:t@a.org#x", "https://a.org#x"),
        ),
        *(("https://mé:s%40crét@a.org", "https://a.org"), ("https://me:secret@[::1]:80/", "https://[::1]:80/")),
        ("'http://me:secret@a.org/', see http://me:secret@b.org", "'http://a.org/', see http://b.org"),
        ("ftp://DOM\\nme:secret@a.org/x", "ftp://a.org/x"),
        ("see ftp://DOM\\nme:s\\#c?t@a.org/x?y=@z\nme:x@a.org", "see ftp://a.org/x?y=@z\nme:x@a.org"),
        ("smb://dom;me:secret@a.org", "smb://a.org"),
        ("see ftp://me:sécret!$'(*;=@a.org now", "see ftp://a.org now"),
        ("ftp://me@a.org:secret@ftp.a.org/x, see ftp://me@a.org:secret@b.org", "ftp://ftp.a.org/x, see ftp://b.org"),
        *(("https://me:s,e)c]r密t@a.org/x", "https://a.org/x"), ("https://me:se?c#ret@a.org/x@y", "https://a.org/x@y")),
    ],
)
def test_a_user_and_a_password_are_cut_from_an_address(text, cut):
    assert without_logins(text) == cut
    assert without_logins([{"a": [text], text: 1}]) == [{"a": [cut], cut: 1}]
    body = json.dumps({"url": text}, ensure_ascii=False).encode()
    assert has_login(body)
    assert json.loads(writable(body)) == {"url": cut}


@pytest.mark.parametrize(
    "text",
    [
        *("https://a.org/me:secret@b", "https://a.org?me:secret@b", "https://a.org#me:secret@b", "mailto:me@a.org"),
        *("https://a.org:80/, me@a.org", "https://a.org:80 me@a.org", 'https://a.org:80", "me@a.org', "://", "@"),
        *("https://me@a.org/", "https://a.org:8080/@x", "ssh://git@a.org:22/x", "see http://a.org:80\nme@a.org"),
        *("https://a.org:80?x=@y", "https://a.org:#me@b", "https://a.org:80,me@a.org", "https://a.org;mailto:me@a.org"),
        *("資料來源網址http://a.org聯絡電話:02-1234信箱me@a.org", "http://a.org聯絡電話:02-1234信箱me@a.org"),
        *("Quelle: https://www.a.org,Mail:me@a.org", "(https://a.org):me@b.org", "[x](https://a.org):me@b.org"),
        *("see http://a.org\nMail:me@a.org", "http://a.org\r\nTel.:1\tme@a.org", "https://a.org—E-Mail:me@a.org"),
        "see http://a.org:密me@b.org or http://b.org:x, me@b.org",
        *("Web: https://www.a.org;Mail:me@a.org", "https://www.a.org;correo:me@a.org", "資料http://a.org:信箱me@a.org"),
        *(
            "see https://www.a.org-Kontakt:me@a.org now",
            "Fonte:https://b.a.org.Contato:me@a.org",
        ),
    ],
)
def test_nothing_else_is_cut(text):
    body = json.dumps({"url": text, text: [text]}, ensure_ascii=False).encode()
    assert writable(body) == body
    assert not has_login(body)
    assert without_logins(text) == text


@pytest.mark.parametrize(
    "part", [b"@", b"://", b"://a:", b"/@", b"://x@:", b"://" + b":" * 999, b":@", b"://a:b,@", b"://a:,?@b"]
)
def test_a_long_document_is_searched_in_one_pass(part):
    body = part * (16 * 1024 * 1024 // len(part))
    begin = time.process_time()
    writable(body)
    assert time.process_time() - begin < 6  # it is half a second; squared, it would be an hour


def test_logins_of_a_portals_addresses_are_stored_nowhere(crawl, tmp_path):
    """Nor are they in a feed or in the log; every other byte of the record stays."""
    address = "https://me:hunter22@files.example.org/a.csv"
    resource = {"id": "r", "url": address, "name": f"from {address}", "description": "Café"}
    record = {"id": "one", "title": f"A {address}", "notes": "a@b.org", "url": address, "resources": [resource]}
    flawed = record | {"id": "two", "resources": [resource | {"size": f"{address} bytes", "created": address}]}

    def answer(asked):
        if asked.action == "package_search":
            return listing(record, flawed)
        failed = {"success": False, "error": {"message": f"see {address}"}}
        return result(record) if asked.id == "one" else Answer(json.dumps(failed).encode(), status=409)

    with Site(answer) as site:
        feed = tmp_path / "feed.jsonl"
        more = ("-O", str(feed), "-s", "LOG_LEVEL=DEBUG", "-s", f"JOBDIR={tmp_path / 'job'}")
        done = crawl("ckan", site, level="dataset", more=more)
        assert (done.code, done.report["counts"]["new"]) == (3, 3), done.log
        again = crawl("ckan", site, level="dataset", more=("-s", f"JOBDIR={tmp_path / 'job2'}"))
    assert again.report["counts"]["unchanged"] == 3
    (export,) = done.documents("dataset_metadata").values()
    listed = next(one for one in done.documents().values() if one["id"] == "one")
    clean = json.loads(json.dumps(record).replace("me:hunter22@", ""))
    assert (listed, export) == (clean, clean)
    assert json_lines(feed)[0]["resources"][0]["url"] == "https://files.example.org/a.csv"
    kept = everything(tmp_path / "output") + feed.read_bytes() + done.log.encode()
    assert b"hunter22" not in kept


def test_a_redirect_and_a_next_page_are_asked_for_without_their_login(tmp_path):
    """No server would get it, and the sentence about the address that can't be requested would have it."""
    page = """<a> a <http://www.w3.org/ns/dcat#Dataset>; <http://purl.org/dc/terms/title> "A".
        <> <http://www.w3.org/ns/hydra/core#nextPage> <{}>."""

    def answer(asked):
        login = f"http://me:hunter22@127.0.0.1:{site.port}"
        if asked.path == "/c.ttl":
            return redirect(f"{login}/1.ttl")
        last = page.replace("<a>", "<b>").partition("<>")[0]
        body = page.format(f"{login}/2.ttl") if asked.path == "/1.ttl" else last
        return Answer(body.encode(), headers={"Content-Type": "text/turtle"})

    with Site(answer) as site:
        words = options(tmp_path / "output", {"ROBOTSTXT_OBEY": "True"}, url=f"{site.url}/c.ttl")
        ran = scrapy("crawl", "dcat", *words, "-s", "LOG_LEVEL=DEBUG")
    done = Crawl(ran.returncode, ran.stderr, tmp_path / "output" / "127.0.0.1")
    assert (done.code, done.report["counts"]["new"], done.errors) == (0, 2, []), done.log
    assert b"hunter22" not in everything(tmp_path) + done.log.encode() + ran.stdout.encode()
    assert all("Authorization" not in asked.headers for asked in site.asked)


def test_a_redirect_that_can_not_be_requested_is_told_without_its_address(crawl):
    with site_of(lambda _: redirect("http://me:hunter22#x@127.0.0.1/")) as site:
        done = crawl("ckan", site, level="dataset", more=("-s", "LOG_LEVEL=DEBUG"))
    assert [one["error"] for one in done.errors] == ["the redirect's address is invalid"]
    assert b"hunter22" not in everything(done.folder.parent) + done.log.encode()


def test_a_dataset_whose_id_has_a_login_is_not_kept(crawl):
    """Its id would be another one in the index than in the manifest."""
    ids = ("https://me:hunter22@a.org/1", "https://a.org/me:hunter22@1")
    with site_of(None, ids=ids) as site:
        done = crawl("ckan", site)
        again = crawl("ckan", site)
    assert (done.code, done.ids(), again.code) == (3, [ids[1]], 3)
    error = "the record's id has a user name and a password, which are not stored"
    assert [(one["kind"], one["dataset_id"], one["error"]) for one in done.errors[:1]] == [
        ("invalid_record", "https://a.org/1", error)
    ]


@pytest.mark.parametrize("stamps", [{}, {"metadata_modified": "2026-11-20T00:00:00"}], ids=["no stamp", "a stamp"])
def test_a_stored_document_with_a_login_is_written_again_when_it_is_read(crawl, stamps):
    """Earlier versions kept it, in the index and in exports, too."""
    record = {"id": "one", "title": "One", "url": "https://me:hunter22@a.org", "resources": []} | stamps
    with Site(lambda asked: listing(record)) as site:
        done = crawl("ckan", site)
        (path,) = (done.folder / "datasets").iterdir()
        body = path.read_bytes().replace(b"https://", b"https://me:hunter22@")
        path.write_bytes(body)
        line = done.manifest[0] | {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        (done.folder / "manifest.jsonl").write_text(json.dumps(line) + "\n")
        assert command("reindex", f"-sOUTPUT_DIR={done.folder.parent}").returncode == 0
        assert b"hunter22" not in (done.folder.parent / "index.sqlite").read_bytes()
        exported = command("export", "--format", "csv", f"-sOUTPUT_DIR={done.folder.parent}").stdout
        assert "https://a.org" in exported
        assert "hunter22" not in exported
        again = crawl("ckan", site)
    assert (again.report["counts"]["updated"], again.documents()[path.name]["url"]) == (1, "https://a.org")


def middleware(monkeypatch, portal, token=SECRET):
    monkeypatch.setenv("CKAN_API_TOKEN", token)
    sender = ApiToken(get_crawler(settings_dict={"API_TOKEN_ENV": "CKAN_API_TOKEN"}))
    sender.spider_opened(type("Portal", (Spider,), {"name": "portal", "portal": portal})())
    return sender


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://example.org/",
            "https://example.org:444/",
            "https://www.example.org/",
            "https://example.org.evil.test/",
        ),
        *("https://example.org@evil.test/", "https://evil.test/?https://example.org", "http://example.org:443/"),
    ],
)
def test_a_token_is_taken_from_a_request_to_another_origin(monkeypatch, url):
    sender = middleware(monkeypatch, "https://example.org/data")
    request = Request("https://example.org:443/x")
    sender.process_request(request)
    assert request.headers["Authorization"] == SECRET.encode()
    moved = request.replace(url=url)
    sender.process_request(moved)
    assert "Authorization" not in moved.headers


def test_a_token_is_on_no_request_that_is_not_under_way(monkeypatch):
    sender = middleware(monkeypatch, "https://example.org")
    request = Request("https://example.org/x")
    sender.process_request(request)
    sender.process_exception(request, OSError())
    assert "Authorization" not in request.headers


def test_no_token_no_middleware(monkeypatch):
    with pytest.raises(NotConfigured):
        middleware(monkeypatch, "https://example.org", token=" ")


def test_a_token_is_no_way_to_write_headers(crawl, monkeypatch):
    monkeypatch.setenv("CKAN_API_TOKEN", "abc\r\nX-Injected: 1")
    with site_of(lambda _: result({})) as site:
        done = crawl("ckan", site)
    assert (done.code, site.asked) == (1, [])
    assert done.lines[-1] == "CKAN_API_TOKEN has characters in it that no API token has"


# What an answer may cost


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip"])
def test_a_decompression_bomb(output, encoding):
    bomb = gzip.compress(bytes(200_000_000), 1)
    bomb = gzip.compress(bomb) if "," in encoding else bomb
    with site_of(lambda _: Answer(bomb, headers={"Content-Encoding": encoding})) as site:
        code, _, seconds, megabytes = measured(output, site)
    assert (code, [error["dataset_id"] for error in errors(output)]) == (3, ["one"])
    assert errors(output)[0]["kind"] == "too_large"
    assert (seconds < 20, megabytes < 300) == (True, True), (seconds, megabytes)


@pytest.mark.slow
def test_a_body_without_end(output):
    part = b" " * 100_000
    with site_of(lambda _: Answer(itertools.repeat(part))) as site:
        code, _, seconds, megabytes = measured(output, site, RETRY_TIMES="0")
    assert (code, errors(output)[0]["kind"]) == (3, "too_large")
    assert (seconds < 30, megabytes < 300) == (True, True), (seconds, megabytes)


@pytest.mark.slow
def test_a_body_that_drips(output):
    def drops():
        while True:
            time.sleep(0.1)
            yield b" "

    with site_of(lambda _: Answer(drops())) as site:
        code, _, seconds, _ = measured(output, site, RETRY_TIMES="0", DOWNLOAD_TIMEOUT="2")
    assert (code, errors(output)[0]["kind"], seconds < 20) == (3, "timeout", True)


@pytest.mark.slow
def test_an_answer_nested_too_deep(output):
    deep = b'{"success": true, "result": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    with site_of(lambda _: Answer(deep)) as site:
        code, log, _, _ = measured(output, site)
    assert (code, errors(output)[0]["kind"], "Traceback" in log) == (3, "truncated", False)
    assert "nested too deep" in errors(output)[0]["error"]


def test_a_record_nested_too_deep_costs_no_other(output):
    deep = '{"id": "two", "extras": ' + "[" * 10_000 + "]" * 10_000 + "}"
    body = (
        f'{{"success": true, "result": {{"count": 3, "results": [{{"id": "one"}}, {deep}, {{"id": "zoo"}}]}}}}'.encode()
    )
    with Site(lambda _: Answer(body)) as site:
        code, log, _, _ = measured(output, site)
    assert (code, "Traceback" in log) in ((3, False), (4, False))
    assert errors(output)


@pytest.mark.slow
def test_a_record_of_34866_tags_and_8327_resources(output):
    record = {
        "id": "one",
        "tags": [{"name": f"tag {number}"} for number in range(34_866)],
        "resources": [{"id": f"r{number}", "url": f"https://example.org/{number}.csv"} for number in range(8_327)],
    }
    with Site(lambda asked: listing(record) if asked.action == "package_search" else result(record)) as site:
        code, _, seconds, megabytes = measured(output, site)
    document = json.loads(next((output / "127.0.0.1" / "datasets").iterdir()).read_bytes())
    assert (code, document) == (0, record)
    assert (seconds < 20, megabytes < 300) == (True, True), (seconds, megabytes)


# What a portal may say


def test_what_a_portal_says_forges_no_log_line_and_drives_no_terminal(crawl):
    forged = "gone\r\n2026-01-01 00:00:00 [root] CRITICAL: forged\x1b[31m\x9b\u2028"
    body = json.dumps({"success": False, "error": {"__type": "x", "message": forged}}).encode()
    with Site(lambda asked: Answer(body, status=200 if "/3/" in asked.path else 404)) as site:
        done = crawl("ckan", site, settings={"LOG_LEVEL": "DEBUG"})
    assert done.code == 4
    assert "forged" in done.log
    assert not re.search("[\x1b\x9b\u2028\r]", done.log)
    assert not re.search("^2026-01-01", done.log, re.MULTILINE)


def test_an_id_writes_no_header(crawl):
    evil = "x\r\nX-Injected: 1\r\n\r\nGET /injected HTTP/1.1\r\n"
    with site_of(lambda asked: result({"id": asked.id}), ids=(evil,)) as site:
        done = crawl("ckan", site, level="dataset")
    assert (done.code, len(site.asked), site.asked[1].id) == (0, 2, evil)
    assert site.asked[1].headers["X-Injected"] is None
