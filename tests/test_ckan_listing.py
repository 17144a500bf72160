"""The listing of a CKAN portal as its dialect says it: what is asked for, what an answer holds, what may help."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import TextResponse
from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.ecosystem.ckan_extensions import CKANExtensions
from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.dialect import MOST_ALONE, Ask, Packages, Refusal, by_offset, of_failure, refused
from crawlers.kinds.ckan.query import Query
from crawlers.kinds.ckan.spider import CKAN
from crawlers.listing import ladder
from crawlers.listing.crawl import Limits
from crawlers.listing.evidence import Taken, after, decide
from crawlers.listing.walk import Walk, restored
from tests.portal import odd
from tests.portal.odd import OddPortal
from tests.site import Answer, Site, listing, result
from tests.walked import answers_of, path, response, walk

PORTAL = "https://data.example.org"


class Crawl:
    """What a dialect needs of a crawl."""

    api: api.API

    def __init__(self, rows: int = 1000, **limits: int) -> None:
        self.args, self.limits = {"rows": rows}, Limits(**limits)
        self.errors: list[Any] = []
        self.known: set[str] = set()

    def seen(self, name: str, **_: Any) -> bool:
        is_new = name not in self.known
        self.known.add(name)
        return is_new

    def failed(self, *about: Any, **subject: Any) -> None:
        self.errors.append((about, subject))


def packages(query: Query | None = None, crawl: Crawl | None = None) -> Packages:
    crawl = crawl or Crawl()
    crawl.api = api.API(PORTAL, query or Query())
    return Packages(crawl)  # type: ignore[arg-type]


def asked(walk: Walk[Ask], query: Query | None = None) -> dict[str, Any]:
    return walk.ask.parameters(query or Query(), walk.rows or 0)


def answer(*ids: str, count: Any = None, status: int = 200, **more: Any) -> TextResponse:
    records = [{"id": one} | more for one in ids]
    body = json.dumps({"success": True, "result": {"count": count, "results": records}}).encode()
    return TextResponse(PORTAL, status=status, body=body, request=Request(PORTAL))


def begun(rows: int = 2, **ask: Any) -> Walk[Ask]:
    return Walk(ask=Ask(**ask), rows=rows, most=rows)


def behind(dialect: Packages, here: Walk[Ask], response: TextResponse) -> tuple[Walk[Ask], str]:
    """Return the walk behind an answer, and whether it goes on."""
    page = dialect.read(response, here)
    assert page.came is not None
    entries = [*page.entries]
    digest = ",".join(str(entry.id) for entry in entries)
    taken = Taken(came=page.came, new=len(entries), digest=digest)
    page.came = taken.came
    there = after(here, page, taken, dialect.traits)
    follows = decide(there, page, taken, dialect.traits)
    return replace(there, ask=page.next) if follows == "follow" and page.next else there, follows


# What is asked for


def test_the_next_page_begins_behind_the_last_id() -> None:
    dialect = packages()
    assert "fq" not in asked(begun())
    later, follows = behind(dialect, begun(), answer("a", "b", count=5))
    assert (later.ask, later.came, later.total, later.largest, follows) == (Ask(last="b"), 2, 5, 2, "follow")
    found = asked(later, Query(q="rain", organization="who"))
    assert found["fq"] == "+id:{b TO *] +organization:who"
    assert (found["q"], found["sort"], found["rows"], "start" in found) == ("rain", "id asc", 2, False)


def test_an_id_is_no_query_of_its_own() -> None:
    assert asked(begun(last='a"] OR id:*'))["fq"] == '+id:{a\\"\\]\\ OR\\ id\\:\\* TO *]'


def test_a_portal_whose_ids_do_not_ascend_is_paged_by_offset() -> None:
    dialect = packages()
    first, _ = behind(dialect, begun(), answer("b", "a", count=5))
    assert asked(first)["start"] == first.ask.start == 2
    second, _ = behind(dialect, first, answer("d", "c", count=4))
    assert (second.ask.start, second.has_moved) == (4, True), "the count changed: records may have been missed"
    assert not behind(dialect, first, answer("d", "c", count=5))[0].has_moved


def test_a_count_is_asked_for_without_records_and_without_a_place() -> None:
    here = begun(100, last="z", alone="no")
    count = packages().count(here)
    assert count is not None
    found = count.parameters(Query(tag="rain"), 100)
    assert (found["rows"], found["fq"], "fl" in found) == (0, "+tags:rain", False)
    found = replace(count, count="behind").parameters(Query(tag="rain"), 100)
    assert (found["rows"], found["fq"]) == (0, "+id:{0 TO *] +tags:rain"), "as pages are asked for"


def test_no_more_is_asked_for_than_the_user_wants() -> None:
    dialect = packages(crawl=Crawl(rows=1000, datasets=7))
    assert asked(dialect.first())["rows"] == 7
    assert "rows=2" in dialect.request(replace(dialect.first(), listed=5)).url


def test_a_walk_and_the_one_that_it_is_for_are_plain_data() -> None:
    short = begun(7, last="x")
    ids = begun(7, fields="id", instead_of=short.plain())
    again = restored(json.loads(json.dumps(ids.plain())), Ask)
    assert (again, restored(again.ask.instead_of or {}, Ask)) == (ids, short)
    assert by_offset(ids.ask) == Ask(fields="id", start=0)


# What an answer holds


def test_a_page_has_each_id_once_and_keeps_what_has_none() -> None:
    body = (
        b'{"success": true, "result": {"count": "9", "results": [{"id": "a"}, {"id": "a"}, {"id": 7}, {"id": ""}, 3]}}'
    )
    page = packages().read(TextResponse(PORTAL, body=body, request=Request(PORTAL)), begun(9))
    assert ([entry.id for entry in page.entries], page.came, page.behind) == (["a", None, None, None], 4, None)
    for wrong in (b'{"count": 9}', b'{"count": 9, "results": {}}'):
        with pytest.raises(AnswerError, match="without the results") as found:
            api.packages(TextResponse(PORTAL, body=b'{"success": true, "result": ' + wrong + b"}"))
        assert found.value.kind == "refused"


def test_half_a_character_is_no_id() -> None:
    assert api.identity({"id": "\ud800"}) is None


@pytest.mark.parametrize(
    ("ids", "last", "ascend"),
    [("bc", "a", True), ("bc", None, True), ("bc", "b", False), ("cb", None, False), ("", "a", True)],
)
def test_whether_ids_ascend(ids: str, last: str | None, ascend: bool) -> None:
    """Nothing follows an empty page; the last id again is a page that is known."""
    here, dialect = begun(9, last=last), packages()
    if last is not None and not ascend:
        with pytest.raises(AnswerError, match="does not page by id"):
            dialect.read(answer(*ids, count=9), here)
    else:
        page = dialect.read(answer(*ids, count=9), here)
        assert page.next is not None
        assert (page.next.start is None) is ascend


def test_which_page_is_the_last() -> None:
    dialect = packages()
    first, later = begun(3), replace(begun(3, last="c"), came=3, listed=3, largest=3, first="x", total=9, counted=9)
    assert behind(dialect, first, answer(count=9))[1] == "end", "an empty one, whatever is counted"
    assert behind(dialect, first, answer("a", "b", count=2))[1] == "end"
    assert behind(dialect, first, answer("a", "b", count=9))[1] == "follow", "the portal gives no more at once"
    assert behind(dialect, first, answer("a", "b", "c", count=2))[1] == "follow", "more than were left: counts lie"
    ended = replace(later, total=4, counted=4)
    assert behind(dialect, ended, answer("d", count=1))[1] == "end"
    assert behind(dialect, later, answer("d", count=4))[1] == "follow"
    by_number = replace(begun(3, start=3), came=3, listed=3, largest=3, first="x", total=4)
    assert behind(dialect, by_number, answer("d", count=4))[1] == "end"
    assert behind(dialect, by_number, answer("d", count=5))[1] == "follow"
    assert behind(dialect, first, answer("a"))[1] == "follow", "nothing is counted"
    assert behind(dialect, replace(later, total=None), answer("d"))[1] == "follow"
    assert behind(dialect, replace(later, total=None), answer())[1] == "end"


def test_deleted_datasets_and_drafts_are_listed_and_not_there() -> None:
    states = {"a": None, "b": "deleted", "c": "draft", "d": "Hesse"}
    records = [{"id": one, "state": state} for one, state in states.items()]
    body = json.dumps({"success": True, "result": {"count": 9, "results": [*records, {"state": "deleted"}]}}).encode()
    page = packages().read(TextResponse(PORTAL, body=body, request=Request(PORTAL)), begun(5))
    assert ([entry.id for entry in page.entries], page.came, page.apart) == (["a", "d", None], 5, 2)


@pytest.mark.parametrize(
    ("fields", "records", "is_whole"),
    [
        ("stamps", {"id": "a", "title": "A"}, True),
        ("stamps", {"id": "a"}, False),
        ("stamps", {"id": "a", "metadata_modified": "2026"}, None),
        ("id", {"id": "a"}, None),
    ],
)
def test_what_a_page_of_ids_may_be(fields: Any, records: dict[str, Any], is_whole: bool | None) -> None:
    dialect = packages()
    here = dialect.walk(Ask(fields=fields))
    try:
        dialect.read(answer("a", count=1, **records), here)
    except AnswerError as error:
        found = dialect.fault(error, None, here)
        assert (found.is_no_list, found.is_whole, found.is_of_question) == (True, is_whole, True)
    else:
        assert is_whole is None
    assert dialect.read(answer(count=0), here).came == 0, "a page without records lacks no stamps"


# Why a page did not come


def fault(kind: str = "http", status: int | None = None, *, spoken: bool = False, first: bool = True) -> Refusal:
    return Refusal(AnswerError(kind, "no"), status, is_spoken=spoken, is_first=first)


def test_what_a_refusal_means() -> None:
    for status in (304, 404, 409):
        assert fault(status=status).is_final, status
    for other in (408, 429, 500, None):
        assert not fault(status=other).is_final, other
    assert fault(status=404).is_lasting
    assert fault(status=410).is_lasting
    assert not fault(status=403).is_lasting
    assert not fault("blocked", 404).is_lasting
    assert fault(status=404).is_elsewhere
    assert fault("not_json").is_elsewhere
    assert not fault(status=404, spoken=True).is_elsewhere, "CKAN itself has answered"
    assert not fault(status=500).is_elsewhere
    assert not fault("refused", 200, spoken=True).is_of_question, "one record may be the reason"


@pytest.mark.parametrize(
    ("error", "status", "is_post"),
    [
        ({"__type": "Bad Request", "message": "Actions are asked for by POST"}, 400, True),
        ("No request body data", 400, True),
        ("no", 405, True),
        ({"__type": "Search Query Error", "message": "Cannot parse"}, 400, False),
    ],
)
def test_a_portal_that_says_in_an_envelope_that_it_wants_post(error: Any, status: int, is_post: bool) -> None:
    body = json.dumps({"success": False, "error": error}).encode()
    response = TextResponse(PORTAL, status=status, body=body, request=Request(PORTAL))
    found = refused(AnswerError("http", f"HTTP {status}"), response, is_first=True)
    there = ladder.climbed(begun(), found, packages())
    assert (there is not None and there.ask.variant == 1) is is_post


def failure(status: int, body: bytes, **headers: str) -> Any:
    return SimpleNamespace(value=HttpError(TextResponse(PORTAL, status=status, body=body, headers=headers)))


def test_a_refusal_has_the_words_and_the_time_of_the_portal() -> None:
    words = b'{"success": false, "error": {"__type": "Search Query Error", "message": "no such field"}}'
    found = of_failure(failure(409, words, Date="Sun, 01 Nov 2026 06:00:00 GMT"))
    assert (found.error.kind, found.status, found.is_spoken) == ("http", 409, True)
    assert "no such field" in str(found.error)
    assert found.date == "Sun, 01 Nov 2026 06:00:00 GMT"
    plain = of_failure(failure(500, b"<h1>Error</h1>"))
    assert (str(plain.error), plain.is_spoken, plain.date) == ("HTTP 500 Internal Server Error", False, None)
    lost = of_failure(SimpleNamespace(value=AnswerError("timeout", "no answer in time")))  # type: ignore[arg-type]
    assert (lost.error.kind, lost.status, lost.is_spoken) == ("timeout", None, False)


# What is tried then


def climbed(here: Walk[Ask], found: Refusal) -> list[Walk[Ask]]:
    """Return all that is tried, one thing after another, if nothing helps."""
    dialect, tried = packages(), []
    while there := ladder.climbed(here, found, dialect):
        tried.append(there)
        here = there
    return tried


def test_another_way_is_tried_on_the_first_page_only() -> None:
    assert [one.ask for one in climbed(begun(10), fault(status=404))] == [Ask(variant=one) for one in (1, 2, 3)]
    assert climbed(begun(10), fault("blocked", 404)) == []
    assert climbed(begun(10), fault(status=429)) == [], "which was waited for"
    later = replace(begun(10, last="j"), pages=1, came=10)
    tried = climbed(later, fault(status=404, first=False))
    assert [one.ask for one in tried] == [Ask(last="j", start=10)], "a portal that does not know the query by id"
    assert climbed(later, fault(status=304, first=False)) == []


def test_less_is_asked_for_until_a_record_is_passed_over() -> None:
    later = replace(begun(1000, last="j"), pages=1, came=10)
    tried = climbed(later, fault(status=500, first=False))
    assert [(one.rows, bool(one.ask.alone), one.ask.start) for one in tried] == [
        (100, False, None),
        (10, False, None),
        (1, False, None),
        (1, True, None),
        (1, False, 10),  # nor is its id to be had
    ]
    again = climbed(later, fault("truncated", 200, first=False))
    assert [one.most for one in again] == [1000, 100, 10, 1, 1000, 1000], "the record breaks its page, not the size"
    assert [one.tried[-1] for one in again] == ["again", "smaller", "smaller", "smaller", "id_alone", "offset"]
    many = replace(begun(1, last="j", passed=MOST_ALONE), pages=1, came=10)
    assert [one.ask.start for one in climbed(many, fault(status=500, first=False))] == [10]
    assert climbed(replace(many, ask=Ask(start=10)), fault(status=500, first=False)) == []


def test_a_record_that_can_not_be_had_is_passed_over_by_its_id_alone() -> None:
    crawl = Crawl()
    dialect = packages(crawl=crawl)
    here = replace(begun(1, last="c", alone="HTTP 500"), came=3, listed=3, pages=3, first="x", counted=9, total=9)
    assert asked(here)["fl"] == "id"
    page = dialect.read(answer("d", count=6), here)
    assert (page.next, page.behind) == (Ask(last="d", passed=1), 6)
    [entry] = page.entries
    assert [*dialect.items(answer(), entry, 0, here, 0)] == []
    [((stage, error, _), subject)] = crawl.errors
    assert (stage, str(error)) == ("list", "the portal can't give this dataset's record: HTTP 500")
    assert subject == {"dataset_id": "d", "missing": "dataset"}
    assert dialect.read(answer("e", count=5), replace(here, ask=page.next)).next == Ask(last="e")
    assert dialect.read(answer(count=0), here).next is None


def test_the_first_refusal_is_reported() -> None:
    """It says more than those of the variants that nobody has."""
    dialect, here = packages(), begun()
    first = dialect.fault(AnswerError("not_json", "no JSON"), None, here)
    last = dialect.fault(AnswerError("http", "HTTP 404"), TextResponse(PORTAL, status=404), here)
    assert dialect.reported(last, here) == first
    assert dialect.reported(fault("blocked", 403), here).error.kind == "blocked"
    assert dialect.reported(last, replace(here, pages=1)) == last
    dialect.read(answer("a", count=1), here)
    assert dialect.reported(last, here) == last, "of another list, after a variant was found"
    other = packages()
    found = other.fault(AnswerError("http", "HTTP 404"), TextResponse(PORTAL, status=404), here)
    assert "HTTP 404: CKAN's package_search is not there. DKAN 1," in str(other.reported(found, here).error)


# When fewer came than there are


def test_when_a_number_is_asked_for() -> None:
    dialect = packages()
    whole = replace(begun(), total=5, listed=5, came=5, pages=1)
    assert not dialect.is_doubtful(whole)
    assert dialect.is_doubtful(replace(whole, listed=4))
    assert not dialect.is_doubtful(replace(whole, listed=4, stale=2)), "pages repeat"
    assert not dialect.is_doubtful(replace(whole, total=None)), "nothing was promised"
    nothing = replace(begun(), total=0, pages=1)
    assert dialect.is_doubtful(nothing), "a whole portal without a dataset"
    assert not packages(Query(q="x")).is_doubtful(nothing)
    assert not dialect.is_doubtful(replace(nothing, ask=Ask(since="2026")))
    doubted = replace(whole, contradiction="two counts")
    assert dialect.is_doubtful(doubted)
    assert not dialect.is_doubtful(replace(doubted, ask=Ask(count="all"))), "which has been asked for"


def test_a_number_is_asked_for_in_two_ways_if_pages_count_differently() -> None:
    dialect = packages()
    doubted = replace(
        begun(last="z"), contradiction="two", came=3, listed=3, purpose="count", ask=Ask(last="z", count="all")
    )
    first = dialect.read(answer(count=200), doubted)
    assert (first.total, first.next) == (200, Ask(last="z", count="behind", counted=200))
    assert first.next is not None
    second = replace(doubted, ask=first.next)
    assert dialect.read(answer(count=199), second).contradiction == ""
    differs = dialect.read(answer(count=20), second)
    assert (differs.total, differs.contradiction) == (
        200,
        "it counts 200 datasets, and 20 behind an id: it answers two questions, and neither list is whole",
    )
    certain = replace(doubted, contradiction="")
    assert dialect.read(answer(count=200), certain).next is None


def test_an_empty_first_page_is_not_believed_alone() -> None:
    here = replace(begun(), purpose="count", ask=Ask(count="all"))
    assert packages().read(answer(count=40), here).next == Ask()
    assert packages().read(answer(count=0), here).next is None


def test_the_list_is_read_again_by_offset() -> None:
    dialect = packages()
    assert dialect.laps(begun(last="z", count="all")) == [Ask(start=0)]
    assert dialect.laps(begun(start=40)) == [], "as it was read"
    assert dialect.laps(replace(begun(start=40), has_moved=True)) == [Ask(start=0)]


def test_what_is_missed_by_offset_because_the_catalogue_moved_is_found_by_a_second_look(tmp_path: Any) -> None:
    """A deleted record shifts all behind it, and one slips to a page that has been read."""
    records = [{"id": f"id{number:03}", "title": "T", "resources": []} for number in range(30)]
    searches = []

    def portal(one: Any) -> Answer:
        if one.action == "package_show":
            return result(next(record for record in records if record["id"] == one.id))
        searches.append(one.path)
        if len(searches) == 2:
            del records[0]
        start, rows = int(one.parameters.get("start", 0)), min(int(one.parameters["rows"]), 10)
        ordered = sorted(records, key=lambda record: record["id"][::-1])
        return result({"count": len(records), "results": ordered[start : start + rows]})

    with Site(portal) as site:
        done = walk(CKAN, answers_of(site), tmp_path, {"CONFIRM_MAX": 1000}, portal=PORTAL)
    assert (done.errors, len(done.items), done.evidence) == ([], 30, {"datasets": "total"})
    assert done.ids()[-1] == "id029"


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("oddity", ["dropsome", "empty_second", "uneven", "ignores_case"])
def test_a_kill_between_any_two_answers_loses_nothing(tmp_path: Any, oddity: str, is_late: bool) -> None:
    """Pages by id and by offset, the number, all ids, questions about many and about one: each answer is read twice."""
    requests, twice = 1, 0
    while twice < requests:
        twice += 1
        site, folder = OddPortal(oddity), tmp_path / str(twice)
        folder.mkdir()
        done = walk(
            CKAN, answers_of_odd(site), folder, {"CONFIRM_MAX": 1000}, twice=twice, is_late=is_late, portal=PORTAL
        )
        assert (done.judged, done.ids()) == (("complete", 40, 40), site.ids()), twice
        requests = len(done.asked)
    assert requests > 4


def answers_of_odd(site: OddPortal) -> Any:
    def answers(request: Request) -> Any:
        given = site.answer(odd.Request.read(request.method, path(request), request.body))
        return response(request, given.body, given.status, given.headers)

    return answers


# The ecosystem's listings


@pytest.mark.parametrize("first", ["empty", "others", "refused"])
def test_the_filter_that_finds_the_packages_of_a_type_is_found_and_kept(tmp_path: Any, first: str) -> None:
    """It is the third that this catalogue knows; later pages go on with it."""
    records = [{"id": f"e{number}", "name": f"e{number}", "type": "extension"} for number in range(3)]

    def catalogue(one: Any) -> Answer:
        if "dataset_type:extension" not in one.parameters.get("fq", ""):
            if first == "refused":
                return Answer(json.dumps({"success": False, "error": {"__type": "Search Query Error"}}).encode(), 409)
            return listing() if first == "empty" else listing({"id": "x", "type": "dataset"})
        left = [
            record
            for record in records
            if "id:{" not in one.parameters["fq"] or one.parameters["fq"] < f"+id:{{{record['id']}"
        ]
        return result({"count": len(left), "results": left[:2]})

    with Site(catalogue) as site:
        changes = {"GITHUB_API": "https://api.example.org", "GITHUB_HOST": "github.com", "GITHUB_TOKEN_ENV": "NO_TOKEN"}
        done = walk(CKANExtensions, answers_of(site), tmp_path, changes, catalogue=PORTAL)
    assert (done.errors, done.evidence["datasets"], len(site.asked)) == ([], "total", 4)
    assert done.spider.run_state.listed == 3
