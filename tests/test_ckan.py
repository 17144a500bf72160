"""How CKAN is asked and what its answers mean, piece by piece: no crawl, no network."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import TextResponse

from crawlers.components.ledger import Records
from crawlers.exceptions import AnswerError
from crawlers.items import Dataset, Resource
from crawlers.kinds.ckan import api, incremental
from crawlers.kinds.ckan.dialect import Ask
from crawlers.kinds.ckan.incremental import is_same_stamp
from crawlers.kinds.ckan.query import Query, among, filter_query, required, search
from crawlers.kinds.ckan.questions import ById
from crawlers.kinds.ckan.spider import CKAN
from crawlers.listing import since
from crawlers.listing.batches import Batch
from crawlers.listing.crawl import RunState, flat
from crawlers.listing.dialect import Fault
from crawlers.listing.walk import Walk
from crawlers.safety import strict_json
from crawlers.store.index import Index, Known
from crawlers.store.index.reports import sees_all
from tests.portal import data
from tests.portal import search as solr
from tests.portal.catalogue import Dataset as Package

URL = "https://example.org/api/3/action/package_show?id=a"
DENIED = {"__type": "Authorization Error", "message": "Access denied: User not authorized to read package a"}
NOT_FOUND = {"__type": "Not Found Error", "message": "Not found"}


def answer(content, status=200, *, meta=None):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return TextResponse(URL, status=status, body=body, request=Request(URL, meta=meta or {}))


def refused(error, status):
    return answer({"success": False, "error": error}, status)


# What became of a dataset


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (refused(NOT_FOUND, 404), "not found"),
        (refused(DENIED, 403), "no longer public"),
        (answer({"success": True, "result": {"id": "a", "state": "deleted"}}), "deleted"),
        (answer({"success": True, "result": {"id": "a", "state": "draft"}}), "no longer public"),
        (answer({"success": True, "result": {"id": "a", "state": "active"}}), None),
        (answer({"success": True, "result": {"id": "a"}}), None),
        (refused("database is down", 404), None),
        (refused({"message": "Not found"}, 404), None),
        (refused({"__type": ["Not Found Error"]}, 404), None),
        (refused(DENIED, 503), None),
        (answer(b"<html>Not Found Error</html>", 404), None),
        (answer([NOT_FOUND], 404), None),
        (answer({"success": False, "error": NOT_FOUND}, 404, meta={"redirect_urls": [URL]}), None),
    ],
)
def test_what_became_of_a_dataset(response, reason):
    assert api.absence(response) == reason


@pytest.mark.parametrize(
    ("has_token", "said", "reason"),
    [
        (False, None, "no longer public"),
        (True, "accepted", "no longer public"),
        (True, "unknown", None),
        (True, "refused", None),
    ],
)
def test_private_datasets_only_look_gone_to_a_token_that_may_have_expired(has_token, said, reason):
    spider = CKAN(portal="https://example.org")
    spider.api.query = Query(private=has_token)
    spider.run_state = RunState(access=said)
    assert spider.gone.reason(refused(DENIED, 403)) == reason
    assert spider.gone.reason(refused(NOT_FOUND, 404)) == "not found"


# The question


PACKAGES = [
    Package({**package, "license_id": terms, "score": score})
    for package, terms, score in zip(
        data.packages(40, 1),
        ["cc-by", "odc-odbl", "cc-zero", ""] * 10,
        ["a b", 'say "x"', "x:y", "plain"] * 10,
        strict=True,
    )
]


def with_license(*names):
    return lambda package: package["license_id"] in names


def without_license(*names):
    return lambda package: package["license_id"] not in names


@pytest.mark.parametrize(
    ("fq", "is_wanted"),
    [
        ("license_id:cc-by", with_license("cc-by")),
        ("license_id:cc-by OR license_id:odc-odbl", with_license("cc-by", "odc-odbl")),
        ("license_id:cc-by || license_id:odc-odbl", with_license("cc-by", "odc-odbl")),
        ("license_id:(cc-by OR odc-odbl)", with_license("cc-by", "odc-odbl")),
        ("+license_id:cc-by", with_license("cc-by")),
        ("+license_id:cc-by OR license_id:odc-odbl", with_license("cc-by", "odc-odbl")),
        ("license_id:cc-by license_id:odc-odbl", with_license()),
        ("license_id:cc-by AND license_id:odc-odbl", with_license()),
        ("license_id:cc-by && license_id:cc*", with_license("cc-by")),
        ("-license_id:cc-by", without_license("cc-by")),
        ("!license_id:cc-by", without_license("cc-by")),
        ("NOT license_id:cc-by", without_license("cc-by")),
        ("-license_id:cc-by -license_id:odc-odbl", without_license("cc-by", "odc-odbl")),
        ("NOT license_id:cc-by AND NOT license_id:odc-odbl", without_license("cc-by", "odc-odbl")),
        ("-license_id:cc-by OR -license_id:odc-odbl", without_license("cc-by", "odc-odbl")),
        ("-(license_id:cc-by OR license_id:odc-odbl)", without_license("cc-by", "odc-odbl")),
        ("-license_id:(cc-by OR odc-odbl)", without_license("cc-by", "odc-odbl")),
        ("*:* -license_id:cc-by", without_license("cc-by")),
        ("license_id:cc* AND NOT license_id:cc-zero", with_license("cc-by")),
        ("NOT license_id:cc-zero AND license_id:cc*", with_license("cc-by")),
        ("license_id:cc* !license_id:cc-zero", with_license("cc-by")),
        ("license_id:[* TO cc-by]", with_license("cc-by", "")),
        ("license_id:{cc-by TO cc-zero] OR license_id:odc*", with_license("cc-zero", "odc-odbl")),
        ("-license_id:[cc TO cd]", without_license("cc-by", "cc-zero")),
        ("license_id:cc*", with_license("cc-by", "cc-zero")),
        ('score:"a b" OR score:x\\:y', lambda package: package["score"] in ("a b", "x:y")),
        ('-score:"say \\"x\\""', lambda package: package["score"] != 'say "x"'),
        ('score:"cc OR (" OR license_id:cc-by', with_license("cc-by")),
    ],
)
def test_every_page_asks_what_the_user_asks(fq, is_wanted):
    """Solr reads the clauses as one query, behind CKAN's own: an OR beside that would be a wish."""
    wanted = [package.id for package in PACKAGES if is_wanted(package.package)]
    first, *_ = sorted(wanted) or ["0"]
    for ask, expected in ((Ask(), wanted), (Ask(last=first), set(wanted) - {first})):
        asked = ask.parameters(Query(fq=filter_query(fq)), 9)["fq"]
        found = solr.parse(f"+capacity:public {asked} +state:active")
        assert {package.id for package in PACKAGES if found(package)} == set(expected), asked
    among_some = Query(fq=fq, organization="x", tag="y z").clauses()
    assert [clause[0] for clause in among_some] == ["+"] * 3


@pytest.mark.parametrize(
    ("clause", "excludes"),
    [
        ("-a:b^2", True),
        ("-a:b~2 -c", True),
        ("-title:/x(y|z)/", True),
        ("-filter(a:b)", True),
        ("-a:b /* and not c:d */", True),
        ("- a:b", False),  # a sign before a blank is a word
        ("a-b", False),
        ("filter(-a:b)", False),
        ('-d:{"a}" TO "b]"]', True),
        ("organization:x or -organization:y", False),
        ("-a\u00a0b", True),  # Solr's blanks are few: this one is a letter to it
        ("-a\u2028b\x0bc", True),
        ("-a\u3000-b\t!c\rNOT\nd", True),
        ("-a\u3000b", False),
    ],
)
def test_a_clause_that_only_excludes_begins_with_everything(clause, excludes):
    assert required(clause) == (f"+(*:* {clause})" if excludes else f"+({clause})")


@pytest.mark.parametrize(
    ("fq", "why"),
    [
        ("{!term f=tags}rain", r"that CKAN takes: it has local parameters, \{!...\}"),
        ("tags:a {!lucene}b", r"that CKAN takes: it has local parameters, \{!...\}"),
        ('_query_:"{!lucene}x"', r"that CKAN takes: it has local parameters, \{!...\}"),
        ('_query_:"{\\!lucene}x"', r"that CKAN takes: it has local parameters, \{!...\}"),
        ("(a:b", "a parenthesis is missing"),
        ("a:b) OR (c:d", "a parenthesis is missing"),
        ("title:[unclosed", r"breaks off at '\[unclosed'"),
        ('title:"unclosed', "breaks off at"),
    ],
)
def test_a_filter_that_would_be_another_question_is_refused(fq, why):
    with pytest.raises(ValueError, match=why):
        filter_query(fq)
    with pytest.raises(ValueError, match="a search that CKAN takes"):
        search("{!dismax}x")
    assert search('title:(rain "a') == 'title:(rain "a', "what people type into a search box may be anything else"


@pytest.mark.parametrize("name", ["-x", "OR", "AND", "NOT", "a:b", "x*"])
def test_the_name_of_an_organization_is_no_syntax(name):
    assert Query(organization=name, tag=name).clauses() == [f'+organization:"{name}"', f'+tags:"{name}"']
    assert Query(group="a-b_c", tag="or").clauses() == ["+groups:a-b_c", "+tags:or"]


@pytest.mark.parametrize(
    ("query", "moves"),
    [
        (Query(fq="metadata_modified:[NOW-30DAYS TO *]"), True),
        (Query(q="metadata_modified:[* TO NOW/DAY]"), True),
        (Query(q="know", fq="title:NOWHERE", organization="NOW"), False),
        (Query(fq="metadata_modified:[* TO 2026-02-01T00:00:00Z]"), True),
        (Query(q="rain", fq=r'-(title:a OR last\_modified : "2026-02-01T00:00:00Z")'), True),
        (Query(fq="views_recent:[5 TO *]"), True),
        (Query(q="+total_res_downloads:[5 TO *]"), True),
        (Query(fq="res_extras_download_count:5"), True),
        (Query(q="download_count", fq="metadata_created:[2026-02-01T00:00:00Z TO *]", tag="views_total"), False),
    ],
)
def test_a_filter_that_lets_a_record_go_unedited(query, moves):
    assert query.moves is moves


# How a portal is asked


def test_a_question_too_long_for_an_address_goes_into_a_body():
    """The request line has the method and the version, too: gunicorn takes 4,094 bytes of it."""
    way = api.ApiVariant("https://example.org/api/3/action")
    short = way.request("package_search", among([f"{number:036}" for number in range(60)], Query()))
    long = way.request("package_search", among(["x" * 100] * 100, Query(private=True)))
    assert (short.method, len(short.url) <= 3500) == ("GET", True)
    assert (long.method, long.url, json.loads(long.body)["include_private"]) == (
        "POST",
        "https://example.org/api/3/action/package_search",
        "true",
    )


class Some(ById):
    """Batches of ids, of which it keeps what it is left with."""

    batch_list = "some"

    def __init__(self, ids):
        records = SimpleNamespace(behind=lambda last, _, count: [one for one in ids if one > last][:count])
        super().__init__(SimpleNamespace(records=records, api=api.API("https://example.org", Query())))

    def leave(self, ids):
        raise AssertionError(ids)

    def batches_done(self, batch):
        yield "done"


def asked_in(some, refuses):
    """Ask for all batches of a server; return each request with its ids, and what became of the last."""
    found, (request,) = [], some.ask_batch(Batch(about={"variant": 0}))
    while request != "done":
        batch = Batch.restored(request.cb_kwargs["batch"])
        found.append((request.method, len(batch.ids)))
        status = refuses(request)
        fault = Fault(AnswerError("http", f"HTTP {status}"), status)
        (request,) = some.ask_batch(batch.instead(fault) if status else batch.behind(len(batch.ids)))
    return found


IDS = [f"00000000-0000-4000-8000-{number:012}" for number in range(97)]


def test_as_many_are_asked_for_at_once_as_an_address_may_name():
    some = Some(IDS)
    assert asked_in(some, lambda _: None) == [("GET", 74), ("GET", 23)]
    [request] = some.ask_batch(Batch(about={"variant": 0}))
    assert 3400 < len(request.url) <= 3500


@pytest.mark.parametrize("status", [400, 414])
def test_a_server_that_takes_shorter_addresses_is_asked_in_smaller_batches(status):
    """The batches behind the first that came are as small: none is refused again."""
    some = Some(IDS)
    asked = asked_in(some, lambda request: status if len(request.url) > 2000 else None)
    assert asked == [("GET", 74), ("GET", 37), ("GET", 37), ("GET", 23)]


def test_a_server_that_takes_no_such_address_is_asked_by_post():
    some = Some(IDS)
    asked = asked_in(some, lambda request: 414 if request.method == "GET" else None)
    assert asked == [("GET", 74), ("GET", 37), ("POST", 97)]


def test_an_integer_of_5000_digits_spoils_nothing():
    body = b'{"digits": ' + b"7" * 5000 + b', "n": 12, "x": NaN}'
    assert strict_json.loads(body) == {"digits": "7" * 5000, "n": 12, "x": None}
    with pytest.raises(ValueError, match="Expecting"):
        strict_json.loads(body[:-1])


# Stamps


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("2026-11-01T06:00:00.925999", "2026-11-01T06:00:00.925Z", True),
        ("2026-11-01T06:00:00", "2026-11-01T06:00:00Z", True),
        ("2026-11-01T06:00:00.9", "2026-11-01T06:00:00.901Z", False),
        ("last Tuesday", "last Tuesday", True),
        ("last Tuesday", "2026-11-01T06:00:00Z", False),
        (None, "2026-11-01T06:00:00Z", False),
        (None, None, False),
    ],
)
def test_stamps_of_records_and_of_the_search_index(one, other, is_same):
    assert is_same_stamp(one, other) is is_same


@pytest.mark.parametrize(("changed", "is_cheaper"), [(3000, False), (3001, True), (0, False)])
def test_the_whole_catalogue_is_listed_when_that_is_fewer_requests(changed, is_cheaper):
    whole = Walk(ask=Ask(), listed=29_001, largest=1000)
    assert incremental.is_cheaper_whole(changed, whole) is is_cheaper


@pytest.mark.parametrize(
    ("begun", "days", "is_recent"),
    [("2026-01-01T00:00:00.000Z", 7, False), ("2026-01-01T00:00:00.000Z", 1e300, True), (None, 7, False)],
)
def test_how_recent_a_full_listing_is(begun, days, is_recent):
    assert since._is_recent(begun, days) is is_recent
    assert not since._is_recent("2199-01-01T00:00:00.000Z", days), "told by a clock that was ahead"


def test_how_far_a_portals_clock_is_from_ours():
    assert incremental._distance("Sun, 01 Nov 2020 06:00:00 GMT").days > 1000
    assert not incremental._distance("yesterday")
    assert not incremental._distance(None)


@pytest.mark.parametrize(
    ("base", "newest", "begun"),
    [
        ("2026-11-20T06:00:00.000Z", "2026-11-20T05:00:00.123", "2026-11-20T04:00:00Z"),
        ("2199-11-20T06:00:00.000Z", "2026-11-20T05:00:00", "2026-11-20T04:00:00Z"),  # a run with our clock ahead
        ("2026-11-20T06:00:00.000Z", "2199-01-01T00:00:00", "2026-11-20T05:00:00Z"),
        ("2026-11-20T06:00:00.000Z", None, "2026-11-20T05:00:00Z"),
    ],
)
def test_where_a_window_begins(base, newest, begun):
    spider = CKAN(portal="https://example.org")
    spider.opened_index = lambda: SimpleNamespace(documents=SimpleNamespace(newest_stamp=lambda: newest))
    spider.run_state = RunState(since=base)
    spider.run_state.walks = SimpleNamespace(begin=lambda *_: True, end=lambda *_: None)
    assert spider.dialect.window(1, None) == Walk(ask=Ask(variant=1, since=begun), rows=1000, most=1000)


def test_a_filter_sees_a_part():
    assert sees_all({"level": "both", "since": "last"})
    assert not sees_all({"organization": "x"})
    assert not sees_all({"set": "x"})


# Exports that are missing


def test_a_dataset_without_its_newest_export_is_known(tmp_path):
    index = Index(tmp_path, "town")

    def put(kind, dataset_id, resource_id, stamp, run="20261101T000000Z"):
        seen = "2026-11-01T00:00:00.000Z"
        known = Known("f", "0", 1, stamp, "new", run, seen)
        item = Dataset(source="town", id=dataset_id, resources=[Resource(id="r", dataset_id=dataset_id)])
        index.put(kind, dataset_id, resource_id, known, item=item if kind == "dataset" else None, time=seen)

    for name in ("has", "lacks", "old", "behind"):
        put("dataset", name, None, "2026", run="20261102T000000Z-2" if name == "behind" else "20261101T000000Z")
    for name, stamp in (("has", "2026"), ("old", "2025"), ("behind", "2026")):
        put("resource_metadata", name, "r", stamp)
    put("dataset_metadata", "has", None, "2026")
    index.flush()
    ids = ["has", "lacks", "old", "behind", "unknown"]
    assert index.without_exports(ids, ["resource"]) == {"lacks", "old", "behind"}
    assert index.without_exports(["has", "lacks"], ["dataset", "resource"]) == {"lacks"}
    assert index.without_exports(ids, ()) == set()
    assert index.documents.newest_stamp() == "2026"
    index.close()


# Withdrawals


def test_what_is_gone_is_found_a_part_at_a_time(monkeypatch):
    """Other work goes on meanwhile, and no list of all ids is made."""
    monkeypatch.setattr("crawlers.listing.crawl.TURN", 0)
    spider = CKAN(portal="https://example.org")
    known, gone, parts, turns = 100_000, [], [], 0
    spider.gone.known = lambda: (f"{number:06}" for number in range(known))
    spider.seen = lambda dataset_id, **_: gone.append(dataset_id)
    spider.run_state = RunState()
    spider.withdrawals.mark_if_renamed = lambda dataset_id: False
    spider.withdrawals.is_to_ask = lambda **_: parts.append((spider.withdrawals.gone, spider.withdrawals.known))
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE listed (dataset_id TEXT, list TEXT, PRIMARY KEY (dataset_id, list))")
    there = ((f"{number:06}", "datasets") for number in range(known) if number % 1000)
    db.executemany("INSERT INTO listed VALUES (?, ?)", there)
    spider.records = Records.__new__(Records)
    spider.records.job = SimpleNamespace(db=db)

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def scan():
        other = asyncio.create_task(others())
        found = [one async for one in flat(spider.gone.find(Walk(ask=Ask())))]
        other.cancel()
        return found

    assert asyncio.run(scan()) == []
    assert (len(gone), parts, turns >= known // 500) == (100, [(100, known)], True)
