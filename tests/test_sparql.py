"""SPARQL endpoints: whole crawls of one on the loopback, and all that it may answer."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from pyoxigraph import Literal, NamedNode
from scrapy.http import TextResponse

from crawlers.exceptions import AnswerError
from crawlers.kinds.sparql import answers, queries
from crawlers.kinds.sparql.descriptions import Descriptions
from crawlers.kinds.sparql.queries import Endpoint as Where
from crawlers.kinds.sparql.spider import SPARQL
from crawlers.listing.batches import Batch
from crawlers.listing.dialect import Fault as Why
from crawlers.records.rdf.reader import Fault
from tests import forked
from tests.conftest import FAST, ROOT, Crawl, command, load, options, scrapy
from tests.portal.sparql import DATA, DCAT, DCT, GRAPH, A, Endpoint, iri
from tests.waiting import until
from tests.walked import answers_of, response, walk


def crawled(endpoint, output, given=None, **settings):
    given = {"rows": "20", "batch": "10", **(given or {})}
    ran = scrapy("crawl", "sparql", *options(output, {"RETRY_TIMES": "0", **settings}, url=endpoint.endpoint, **given))
    assert "Traceback" not in ran.stderr, ran.stderr
    return Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")


def ids(done):
    return sorted(line["dataset_id"] for line in done.manifest)


ALL = [iri(number) for number in range(45)]


def is_complete(done, count=45):
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", []), done.log
    assert (done.report["expected"], done.report["listed"], done.report["counts"]["new"]) == (count, count, count)
    assert done.report["evidence"] == {"datasets": "total"}


# Whole crawls


def test_all_datasets_with_what_belongs_to_them(output):
    with Endpoint(45) as endpoint:
        done = crawled(endpoint, output)
        assert {one.method for one in endpoint.asked if "robots" not in one.path} == {"POST"}
    is_complete(done)
    assert ids(done) == ALL
    assert len(endpoint.queries("SELECT DISTINCT")) == 4, "three pages, and an empty one"
    assert len(endpoint.queries("CONSTRUCT")) == 5
    document = next(one for one in done.documents().values() if one["@id"] == iri(3))
    assert document["title"] == {"@language": "en", "@value": "Dataset 3"}
    assert document["distribution"]["downloadURL"] == f"{DATA}/3.csv"
    assert "checksumValue" in str(document), "a blank node, two steps away"
    assert document["publisher"]["foaf:name" if "foaf:name" in document["publisher"] else "name"] == "Office"
    assert "Dataset 4" not in str(document), "another dataset is only named"
    assert {line["metadata_source"] for line in done.manifest} == {"rdf"}


def test_the_iri_is_the_identity_and_documents_are_read_again(output):
    with Endpoint(3) as endpoint:
        crawled(endpoint, output)
    assert command("reindex", f"-sOUTPUT_DIR={output}").returncode == 0
    ran = command("export", "--format", "csv", "-o", "-", f"-sOUTPUT_DIR={output}")
    assert iri(2) in ran.stdout
    assert "id-2" in ran.stdout, "the publisher's own identifier is kept"


@pytest.mark.parametrize("given", [{"graph": GRAPH}, {"graph": "any"}])
def test_a_named_graph(output, given):
    with Endpoint(45, graph=GRAPH) as endpoint:
        is_complete(crawled(endpoint, output, given))


def test_nothing_in_the_default_graph_is_no_empty_catalogue(output):
    with Endpoint(45, graph=GRAPH) as endpoint:
        done = crawled(endpoint, output)
    assert done.kinds() == [("list", "no_datasets")]
    assert "-a graph=any" in done.errors[0]["error"]
    assert done.code != 0


@pytest.mark.parametrize(
    ("switches", "given"),
    [
        ({"max_rows": 10}, {"batch": "1"}),
        ({"sorted_limit": 10}, {"rows": "500"}),
        ({"max_values": 3}, {}),
        ({"faults": {"no_post"}}, {}),
        ({"faults": {"no_construct"}}, {}),
        ({"faults": {"anytime"}}, {}),
        ({"faults": {"partial"}}, {}),
    ],
)
def test_what_an_endpoint_cuts_or_refuses_is_asked_for_otherwise(output, switches, given):
    with Endpoint(45, **switches) as endpoint:
        done = crawled(endpoint, output, given)
    is_complete(done)
    assert ids(done) == ALL
    for document in done.documents().values():
        assert document["distribution"]["downloadURL"].endswith(".csv")


def test_an_answer_of_as_many_triples_as_an_endpoint_gives_is_halved(output, monkeypatch):
    """120 datasets have 1,000 triples and more: the answer to the first batch is cut at exactly 1,000."""
    with Endpoint(120, max_rows=1000) as endpoint:
        done = crawled(endpoint, output, {"rows": "120", "batch": "120"})
        assert len(endpoint.queries("CONSTRUCT")) > 1
    is_complete(done, 120)
    for document in done.documents().values():
        assert "checksumValue" in str(document)


def many_files(endpoint, datasets, files):
    for number in range(datasets):
        for part in range(files):
            file = NamedNode(f"{iri(number)}/f{part:02}")
            endpoint.add(NamedNode(iri(number)), NamedNode(f"{DCAT}distribution"), file)
            endpoint.add(file, NamedNode(f"{DCAT}downloadURL"), NamedNode(f"{DATA}/{number}-{part}.csv"))


@pytest.mark.slow
@pytest.mark.parametrize("switches", [{"max_rows": 1300}, {"sorted_triples": 1300}, {"sorted_triples": 333}])
def test_an_answer_cut_at_any_number_of_triples_is_halved(output, switches):
    with Endpoint(50, **switches) as endpoint:
        many_files(endpoint, 50, 60)
        done = crawled(endpoint, output, {"batch": "50", "rows": "50"})
        assert len(endpoint.queries("SELECT (COUNT(*)")) < 5, "the limit is learned"
    is_complete(done, 50)
    for document in done.documents().values():
        assert len(document["distribution"]) == 61


def test_a_description_larger_than_any_answer_is_an_error(output):
    with Endpoint(5, sorted_triples=300) as endpoint:
        many_files(endpoint, 1, 200)
        done = crawled(endpoint, output)
    assert (done.code, done.kinds()) == (3, [("fetch", "truncated")])
    assert [line["dataset_id"] for line in done.errors] == [iri(0)]
    assert len(ids(done)) == 4


def test_whole_answers_are_seldom_counted(output):
    with Endpoint(300) as endpoint:
        one_by_one = {"CONCURRENT_REQUESTS": "1"}
        is_complete(crawled(endpoint, output, {"rows": "300", "batch": "30"}, **one_by_one), 300)
        assert len(endpoint.queries("CONSTRUCT")) == 10 + 2
        assert len(endpoint.queries("SELECT (COUNT(*)")) == 2


def test_a_cut_answer_of_an_endpoint_that_does_not_count(output):
    with Endpoint(50, sorted_triples=1300, faults={"no_count"}) as endpoint:
        many_files(endpoint, 50, 60)
        done = crawled(endpoint, output, {"batch": "50", "rows": "50"})
    assert (done.code, done.errors) == (0, [])
    for document in done.documents().values():
        assert len(document["distribution"]) == 61


@pytest.mark.parametrize(("faults", "kind"), [((), "count_mismatch"), (("no_count",), "unproven")])
def test_an_order_of_its_own_leaves_datasets_out(output, faults, kind):
    with Endpoint(0, faults={"collation", *faults}) as endpoint:
        for number in range(60):
            name = f"{DATA}/dataset/{'Az'[number % 2]}{'aB'[number // 2 % 2]}{number:04d}"
            endpoint.add(NamedNode(name), A, NamedNode(f"{DCAT}Dataset"))
            endpoint.add(NamedNode(name), NamedNode(f"{DCT}title"), Literal("so"))
        done = crawled(endpoint, output, {"rows": "20"})
    assert (done.code, done.report["verdict"], done.kinds()) == (3, "incomplete", [("list", kind)])


@pytest.mark.parametrize(
    ("faults", "blanks", "kinds"),
    [
        ({"no_blank_count"}, 0, []),
        ({"no_blank_count"}, 2, [("list", "missing_id")]),
        ({"no_count"}, 2, [("list", "missing_id")]),
        ({"no_blanks"}, 0, [("list", "http")]),
    ],
)
def test_blank_nodes_that_are_not_counted(output, faults, blanks, kinds):
    with Endpoint(5, blanks=blanks, faults=faults) as endpoint:
        done = crawled(endpoint, output)
    assert done.kinds() == kinds
    assert (done.report["verdict"] == "complete") == (not kinds)


def test_a_total_that_is_not_reached(output):
    with Endpoint(45, faults={"short_count"}) as endpoint:
        done = crawled(endpoint, output)
    assert (done.code, done.kinds()) == (3, [("list", "count_mismatch")])
    assert len(ids(done)) == 45


def test_an_endpoint_that_does_not_count(output):
    with Endpoint(45, faults={"no_count"}) as endpoint:
        done = crawled(endpoint, output)
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", [])
    assert done.report["evidence"] == {"datasets": "pager"}


def test_an_endpoint_that_ignores_where_a_page_begins_is_no_endless_loop(output):
    with Endpoint(45, faults={"ignores_filter"}) as endpoint:
        done = crawled(endpoint, output)
    assert (done.code, done.kinds()) == (3, [("list", "paging")])


def test_what_has_no_iri_that_can_be_asked_for_is_an_error(output):
    with Endpoint(5, blanks=3, faults={"odd_iri"}) as endpoint:
        done = crawled(endpoint, output)
    assert done.code == 3
    assert sorted(done.kinds()) == [("list", "missing_id"), ("list", "missing_id")]
    told = " ".join(sorted(line["error"] for line in done.errors))
    assert "3 datasets have no IRI" in told
    assert "a b> . } #" in told
    assert not [query for query in endpoint.queries("CONSTRUCT") if "a b>" in query]
    assert len(ids(done)) == 5


@pytest.mark.parametrize(("faults", "kind"), [({"html"}, "not_json"), ({"html_page"}, "not_json")])
def test_html_is_no_answer(output, faults, kind):
    with Endpoint(45, faults=faults) as endpoint:
        done = crawled(endpoint, output)
        assert len(endpoint.asked) < 12
    assert done.code == 4
    assert done.kinds()[-1] == ("list", kind)
    assert not done.manifest if (done.folder / "manifest.jsonl").exists() else True


def test_one_dataset_that_breaks_the_endpoint_loses_itself_alone(output):
    with Endpoint(45, faults={"poison"}) as endpoint:
        done = crawled(endpoint, output)
    assert (done.code, done.kinds()) == (3, [("fetch", "http")])
    assert [line["dataset_id"] for line in done.errors] == [iri(7)]
    assert ids(done) == [one for one in ALL if one != iri(7)]


@pytest.mark.parametrize("poisoned", [0, 1, 2, 9])
def test_a_dataset_that_breaks_the_first_batch_changes_the_form_of_none_else(tmp_path, poisoned):
    """It is refused in the endpoint's words before any CONSTRUCT was answered; by DESCRIBE, it comes."""

    def refuses(_, query):
        return failing(400) if query.startswith("CONSTRUCT") and f"<{iri(poisoned)}>" in query else None

    endpoint = Endpoint(45)
    done, _ = listed(endpoint, tmp_path, refuses)
    assert (done.ids(), done.evidence, done.errors) == (ALL, {"datasets": "total"}, [])
    described = endpoint.queries("DESCRIBE")
    assert [query.count("/dataset/") for query in described] == [1]
    assert f"<{iri(poisoned)}>" in described[0]


def test_an_endpoint_that_answers_no_construct_is_soon_asked_otherwise(tmp_path):
    endpoint = Endpoint(45, faults={"no_construct"})
    done, _ = listed(endpoint, tmp_path, lambda *_: None)
    assert (done.ids(), done.errors) == (ALL, [])
    refused = len(endpoint.queries("CONSTRUCT"))
    assert refused <= 7, "the first batch, two alone, and the batches that were asked for meanwhile"


def test_an_endpoint_without_descriptions_is_not_asked_for_each(output):
    with Endpoint(300, faults={"no_descriptions"}) as endpoint:
        done = crawled(endpoint, output, {"rows": "300"})
        assert len(endpoint.queries("CONSTRUCT")) < 150, "30 batches, and what is asked for again"
    assert done.code != 0
    assert {line["kind"] for line in done.errors} == {"undescribed"}
    assert len({line["dataset_id"] for line in done.errors}) == len(done.errors) == 300


def test_what_was_repaired_in_a_description_is_told_and_is_no_evidence():
    """An answer with less than the endpoint counts was cut, whatever was repaired in it."""
    told = []
    spider = SimpleNamespace(failed=lambda _, error, *__, **about: told.append((error.kind, *about.values())))
    faults = [Fault("attributes without a namespace are left out: x", is_passed=True, is_repaired=True)]
    about = {"owner": lambda _: None, "costs_a_statement": lambda _: True, "close": lambda: None}
    page = SimpleNamespace(reader=SimpleNamespace(count=9), faults=faults, misread=["U+FFFD stands for it."], **about)
    descriptions = Descriptions(spider, Where(DATA), 10)
    with pytest.raises(AnswerError, match="10"):
        descriptions.check(Batch(way={"form": "construct", "least": 10}), page)
    descriptions.check(Batch(way={"form": "construct", "least": 9}), page)
    descriptions.told(page, None)
    assert told == [("repaired_text",), ("unreadable_statement", None)]


def test_a_limit(output):
    with Endpoint(45) as endpoint:
        done = crawled(endpoint, output, {"max_datasets": "7"})
    assert (done.code, done.report["verdict"], len(ids(done))) == (0, "partial", 7)
    refused = scrapy("crawl", "sparql", "-a", f"url={endpoint.endpoint}", "-a", "max_resources=7")
    assert refused.returncode == 1


def test_only_what_changed_and_what_has_no_date(output):
    with Endpoint(5) as endpoint:
        for number, modified in enumerate(("2026-01-01", "2026-11-01", "2026-11-01T08:00:00Z", "1.10.2026")):
            endpoint.put(number, modified=modified)
        done = crawled(endpoint, output, {"since": "2026-11-01T06:00:00Z"})
    assert (done.kinds(), [flaw["kind"] for flaw in done.flaws]) == ([], ["unreadable_value"]), "no ISO date is a flaw"
    assert ids(done) == [iri(number) for number in (1, 2, 3, 4)], "a day, a time, no ISO date, none at all"


def test_what_is_gone_twice_is_withdrawn_and_what_changed_is_updated(output):
    with Endpoint(45) as endpoint:
        crawled(endpoint, output)
        endpoint.remove(40)
        endpoint.put(2, title="New")
        once = crawled(endpoint, output, SHRINK_LIMIT="0.5")
        assert (once.code, once.report["counts"]["withdrawn"], once.report["counts"]["updated"]) == (0, 0, 1)
        twice = crawled(endpoint, output, SHRINK_LIMIT="0.5")
        assert (twice.report["counts"]["withdrawn"], twice.report["counts"]["unchanged"]) == (1, 44)
        endpoint.put(40)
        assert crawled(endpoint, output).report["counts"]["restored"] == 1


def test_a_failed_listing_withdraws_nothing(output):
    with Endpoint(45) as endpoint:
        crawled(endpoint, output)
        endpoint.remove(40)
        endpoint.faults = {"short_count"}
        for _ in range(3):
            done = crawled(endpoint, output, SHRINK_LIMIT="0.5")
        assert (done.code, done.report["counts"]["withdrawn"]) == (3, 0)


def test_killed_and_resumed(output, tmp_path):
    with Endpoint(120) as endpoint:
        given = {"rows": "20", "batch": "5"}
        whole = crawled(endpoint, tmp_path / "whole", given)
        job = {"JOBDIR": str(tmp_path / "job"), "RETRY_TIMES": "0"}
        for _ in range(3):
            before = len(endpoint.asked)
            words = options(output, {**job, "REQUESTS_PER_SECOND": "40"}, url=endpoint.endpoint, **given)
            killed = forked.Popen(
                [sys.executable, "-m", "scrapy", "crawl", "sparql", *words],
                cwd=ROOT,
                stderr=subprocess.PIPE,
                text=True,
            )
            until(lambda: len(endpoint.asked) > before + 8, unless=lambda: killed.poll() is not None)  # noqa: B023
            killed.send_signal(signal.SIGKILL)
            killed.communicate()
        done = crawled(endpoint, output, given, **job)
    is_complete(done, 120)
    assert done.report["resumed"]
    assert ids(done) == ids(whole)
    assert done.documents() == whole.documents()


@pytest.mark.parametrize(("graph", "given"), [(None, {}), (GRAPH, {"graph": "any"})])
def test_added_and_validated(tmp_path, graph, given):
    settings = {"SOURCES_FILE": tmp_path / "sources.toml", "OUTPUT_DIR": tmp_path / "output", **FAST}
    chosen = [f"-s{name}={value}" for name, value in settings.items()]
    with Endpoint(45, graph=graph) as endpoint:
        added = scrapy("sources", "add", "mine", endpoint.endpoint, *chosen)
        assert added.returncode == 0, added.stderr
        assert load(tmp_path / "sources.toml")["mine"].arguments == {"url": endpoint.endpoint, **given}
        validated = scrapy("sources", "validate", "mine", *chosen)
    assert validated.returncode == 0, validated.stderr
    assert "mine: partial, 20 of 45 datasets crawled" in validated.stdout


def test_an_endpoint_without_datasets_is_not_added(tmp_path):
    with Endpoint(0) as endpoint:
        ran = scrapy(
            "sources", "add", "mine", "sparql", endpoint.endpoint, f"-sSOURCES_FILE={tmp_path / 'sources.toml'}"
        )
    assert ran.returncode == 1
    assert "SPARQL, without dcat:Dataset" in ran.stdout


# What the list does


def listed(endpoint, folder, change=lambda number, query: None):
    """Walks the spider through an endpoint in this process; ``change`` returns what comes in place of an answer.

    Args:
        change: gets the number of the request, from 1, and its query.
    """
    asked = []

    def answers(request):
        body = request.body.decode()
        asked.append(parse_qs(body or urlsplit(request.url).query)["query"][0])
        given = change(len(asked), asked[-1])
        return given(request) if given else answers_of(endpoint)(request)

    with endpoint:
        done = walk(SPARQL, answers, folder, url=endpoint.endpoint, rows="20", batch="50")
    return done, [query for query in asked if query.startswith("SELECT DISTINCT")]


def failing(status=500, body=b"timeout", **headers):
    return lambda request: response(request, body, status, headers)


def test_a_page_that_is_refused_once_the_total_is_met_is_the_end(tmp_path):
    """Only the empty one behind the last IRI is refused."""
    last = iri(44)
    refused = lambda _, query: failing() if last in query and "LIMIT" in query else None  # noqa: E731
    done, _ = listed(Endpoint(45), tmp_path, refused)
    assert (done.ids(), done.evidence, done.errors) == (ALL, {"datasets": "total"}, [])


@pytest.mark.parametrize(
    "fault",
    [
        failing(),
        failing(400),
        failing(206, b"{}"),
        failing(200, b'{"results": {"bindings": [', **{"Content-Type": "application/json"}),
        failing(200, b'{"results": {"bindings": []}}', **{"X-SQL-State": "S1TAT", "Content-Type": "application/json"}),
        failing(200, b"<html>busy</html>", **{"Content-Type": "text/html"}),
    ],
)
def test_each_fault_of_a_page_is_met_by_smaller_ones(tmp_path, fault):
    done, pages = listed(
        Endpoint(45), tmp_path, lambda _, query: fault if "LIMIT 20" in query and iri(19) in query else None
    )
    assert (done.ids(), done.evidence, done.errors) == (ALL, {"datasets": "total"}, [])
    assert len(pages) <= 7


def test_an_endpoint_that_takes_get_alone_is_asked_for_fewer_where_an_address_is_too_long(tmp_path):
    """POST was refused when the list began: it is no way for the descriptions."""
    endpoint = Endpoint(45, faults={"no_post"})
    done, _ = listed(endpoint, tmp_path, lambda _, query: failing(414) if query.count("/dataset/") > 3 else None)
    assert (done.ids(), done.evidence, done.errors) == (ALL, {"datasets": "total"}, [])
    assert [one.method for one in endpoint.asked].count("POST") == 1


def test_a_construct_that_was_answered_and_cut_shows_that_the_form_is_known():
    """So one refusal of another batch does not change the form of all."""
    page = SimpleNamespace(reader=SimpleNamespace(count=9), faults=[], close=lambda: None)

    async def read(_):
        return page

    descriptions = Descriptions(SimpleNamespace(), Where(DATA), 10)
    descriptions.page = read
    batch = Batch(ids=("a", "b"), way={"form": "construct", "least": 10})
    with pytest.raises(AnswerError, match="10"):
        asyncio.run(descriptions.found(TextResponse(DATA), batch))
    refused = Why(AnswerError("http", "HTTP 400"), 400, is_of_page=True)
    assert not descriptions.may_describe(batch, refused)


def test_a_host_that_is_closed_is_asked_once(tmp_path):
    done, pages = listed(Endpoint(45), tmp_path, lambda _, query: failing(429) if f'"{iri(19)}"' in query else None)
    assert (done.evidence, done.kinds(), len(pages)) == ({}, {"http": 1}, 2)


def test_datasets_that_go_while_others_are_listed_are_counted_again(tmp_path):
    endpoint = Endpoint(45)
    done, _ = listed(endpoint, tmp_path, lambda number, _: endpoint.remove(44) if number == 3 else None)
    assert (len(done.ids()), done.evidence, done.errors) == (44, {"datasets": "total"}, [])


def test_datasets_that_come_while_others_are_listed_are_no_contradiction(tmp_path):
    endpoint = Endpoint(45)
    done, _ = listed(endpoint, tmp_path, lambda number, _: endpoint.put(45) if number == 3 else None)
    assert (len(done.ids()), done.evidence, done.errors) == (46, {"datasets": "pager"}, [])


# Queries and answers


@pytest.mark.parametrize("text", ['"', "\\", 'a" || "" = "', "a\nb", "\\u0022", "a\x00b", "}} DROP ALL", "'''"])
def test_a_cursor_is_nothing_but_a_text(text):
    from pyoxigraph import Store  # noqa: PLC0415

    found = list(Store().query(f"SELECT ?x WHERE {{ BIND({queries.text(text)} AS ?x) }}"))
    assert [row["x"].value for row in found] == [text.replace("\x00", "")]


@pytest.mark.parametrize(
    "iri",
    ["https://a.org/a b", "https://a.org/<", 'https://a.org/"', "https://a.org/{}", "a|b:", "x^", "`:", "rel", ""],
)
def test_an_iri_that_no_query_names(iri):
    assert not queries.is_usable(iri)
    assert not queries.is_usable(f"https://a.org/{'a' * 5000}")


@pytest.mark.parametrize(
    ("body", "headers", "kind"),
    [
        (b"<html>", {}, "not_json"),
        (b"", {}, "not_json"),
        (b"[" * 100_000, {}, "not_json"),
        (b'{"results": {"bindings": [{"d": {"type": "uri", "value": "x"}}', {}, "not_json"),
        (b'{"results": {"bindings": [{"d": "x"}]}}', {}, "not_json"),
        (b'{"results": {"bindings": [{"d": {"type": "uri", "value": 7}}]}}', {}, "not_json"),
        (b'{"results": {"bindings": {}}}', {}, ""),
        (b'{"results": {"bindings": []}}', {"X-SQL-State": "S1TAT"}, "truncated"),
    ],
)
def test_what_is_no_table(body, headers, kind):
    answer = TextResponse(DATA, body=body, headers=headers)
    if not kind:
        assert answers.values(answer, "d") == []
        return
    with pytest.raises(AnswerError) as raised:
        answers.values(answer, "d")
    assert raised.value.kind == kind


@pytest.mark.parametrize("value", ["-1", "1.5", "", "²", "many"])
def test_a_count_is_a_number(value):
    body = f'{{"results": {{"bindings": [{{"n": {{"type": "literal", "value": "{value}"}}}}]}}}}'
    with pytest.raises(AnswerError):
        answers.number(TextResponse(DATA, body=body.encode()))
