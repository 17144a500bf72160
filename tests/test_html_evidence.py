"""When a crawl of HTML pages may be called complete: pagers of every layout, and what shows that one was followed."""

from __future__ import annotations

import random
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from crawlers.kinds.html import forms, unread
from crawlers.kinds.html.paging import cursor_link, ends_with_dots, letters, linked_pages, next_link
from crawlers.kinds.html.rules import Paging, loads
from crawlers.kinds.html.spider import HTML
from crawlers.records.html_page import Page
from tests.site import Answer
from tests.test_html_odd import Pages, harvest, html, judged, links
from tests.walked import Walked, path, response, walk

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

__all__ = ["harvest"]
URL = "https://example.org/list?page=2"
BASE = "https://example.org"


def starts(*names: str) -> str:
    return "start = [" + ", ".join(f'"{{url}}/{name}"' for name in names) + "]"


# Layouts


class Layouts(Pages):
    """Listings of 17 datasets each, eight on a page; every one turns its pages in another way."""

    def reply(self, asked) -> Answer:
        parts = urlsplit(asked.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        posted = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        listing = getattr(self, parts.path.strip("/").partition("/")[0] or "none", None)
        return html(listing(query, posted)) if listing and not parts.path.startswith("/d/") else super().reply(asked)

    def rows(self, base: int, page: int) -> str:
        return links(*range(base + 8 * (page - 1), min(base + 8 * page, base + 17)))

    def form(self, query, _) -> str:
        page = int(query.get("page", 1))
        return self.rows(100, page) + f'<form><input name=q value=x><select name="page">{options(page)}</select></form>'

    def jump(self, query, _) -> str:
        page = int(query.get("p", 1))
        chosen = options(page, "/jump?p={}", "{} of 3")
        return self.rows(200, page) + f'<select onchange="location.href=this.value">{chosen}</select>'

    def aspx(self, _, posted) -> str:
        page = int(posted.get("ddl", 1)) if posted.get("__EVENTTARGET") == "ctl$ddl" else 1
        script = "javascript:setTimeout('__doPostBack(\\'ctl$ddl\\',\\'\\')', 0)"
        state = '<input type=hidden name="__EVENTTARGET"><input type=hidden name="__EVENTARGUMENT">'
        select = f'<select name="ddl" onchange="{script}">{options(page)}</select>'
        return self.rows(300, page) + f'<form method=post action="/aspx">{state}{select}</form>'

    def older(self, query, _) -> str:
        """The words are in no list of words."""
        page = int(query.get("cursor", "c1")[1:])
        on = f'<a href="/older?cursor=c{page + 1}">Weiland</a>' if page < 3 else ""
        back = f'<a href="/older?cursor=c{page - 1}&amp;dir=up">Jüngst</a>' if page > 1 else ""
        return self.rows(400, page) + back + on

    def index(self, query, _) -> str:
        row = " ".join(f'<a href="/index?letter={one}">{one.upper()}</a>' for one in "abcdef")
        return row + self.lettered("abcdef".index(query.get("letter", "a")))

    def lettered(self, place: int) -> str:
        return links(*range(500 + 3 * place, 503 + 3 * place if place < 5 else 517))

    def piece(self, query, _) -> str:
        """What a script loads has no pager of its own."""
        page = int(query.get("page", 1))
        first = "".join(f'<a href="#page={one}" data-url="/piece?page={one}">{one}</a> ' for one in (2, 3))
        return self.rows(600, page) + ("" if "page" in query else f"<div class=pager>1 {first}</div>")


def options(page: int, value: str = "{}", text: str = "{}") -> str:
    return "".join(
        f'<option value="{value.format(one)}"{" selected" * (one == page)}>{text.format(one)}</option>'
        for one in range(1, 4)
    )


NAMES = ("form", "jump", "aspx", "older", "index", "piece")


def test_pagers_of_every_layout_are_followed_to_their_ends(harvest):
    with Layouts() as site:
        crawl = harvest(site, starts(*NAMES), "paging = { next = true }")
    assert judged(crawl) == ("complete", 17 * len(NAMES), [])
    listing = [asked.path for asked in site.asked if not asked.path.startswith(("/d/", "/robots"))]
    assert len(listing) == 5 * 3 + 6 + 1, "the index's first page is its first letter's too"


@pytest.mark.parametrize("damage", ["B\xe4ume", "\xc3\xa4\xc3\xb6 B\xe4ume"])
def test_a_letter_of_a_listing_that_can_not_be_read_hides_no_dataset(harvest, damage):
    class Damaged(Pages):
        def reply(self, asked) -> Answer:
            found = super().reply(asked)
            if not asked.path.startswith("/list"):
                return found
            body = found.body.replace(b"<body>", b"<body>" + damage.encode("latin-1"))
            return Answer(body, found.status, {"Content-Type": "text/html"})

    with Damaged({"/list": links(1, 2, following="/list?page=2"), "/list?page=2": links(3)}) as site:
        crawl = harvest(site, "paging = { next = true }")
    assert judged(crawl) == ("complete", 3, [])


# The end of a listing, in this process


class Shown(NamedTuple):
    """A page: what it links to, and what a browser says of it."""

    body: str
    turns: int | None = None
    end: str = ""
    idle: int = 0


@pytest.fixture
def walked(tmp_path, monkeypatch):
    """Walks listings in this process: ``walked({"/list": links(1)}, "{ next = true }")``; a list of pages is turned."""
    monkeypatch.setattr("crawlers.components.browser.enable", lambda _: None)

    def run(pages: dict[str, Any], paging: str, *lines: str, start: tuple[str, ...] = ("/list",), **more) -> Walked:
        found = [f"start = {[BASE + one for one in start]}", f"paging = {paging}", *lines]
        found += [] if any("links" in line for line in lines) else ["links = { css = 'li a', id = '/d/([0-9]+)' }"]
        (tmp_path / "rules.toml").write_text("\n".join([*found, '[fields]\ntitle = "h1"']))

        def answers(request: Request) -> Response:
            page = pages.get(path(request))
            if isinstance(page, list):
                page = page[min(request.meta["browser"]["times"], len(page) - 1)]
            if page is None and "/d/" in request.url:
                page = "<h1>One</h1>"
            status = page if isinstance(page, int) else 404 if page is None else 200
            shown = page if isinstance(page, Shown) else Shown(page if isinstance(page, str) else "")
            said = {"Page-Turns": shown.turns, "Page-End": shown.end or None, "Page-Idle": shown.idle or None}
            headers = {name: str(value) for name, value in said.items() if value is not None}
            content = f"<html><body>{shown.body}</body></html>".encode()
            return response(request, content, status, {"Content-Type": "text/html; charset=utf-8", **headers})

        return walk(HTML, answers, tmp_path, rules=str(tmp_path / "rules.toml"), **more)

    return run


def told(walked: Walked) -> tuple[set[str], list[str]]:
    """The evidence of its lists, and the kinds of its errors."""
    return set(walked.evidence.values()), [error.kind for error in walked.errors]


def turned(*rows: int, end: str = "gone", idle: int = 0) -> list[Shown]:
    """The pages of a browser, which has turned each once more; the last one shows why there is no other."""
    pages = [Shown(links(*range(sum(rows[:one]))), one - 1) for one in range(1, len(rows) + 1)]
    last = pages[-1]
    return [*pages, Shown(last.body, last.turns, end, idle)]


BROWSER = 'browser = "listing"'
ENDS_OF_TURNS = [
    ("button", turned(2, 2, end="gone"), "pager"),
    ("button", turned(2, end="gone"), None),
    ("buttons", turned(2, 2, end="disabled"), "pager"),
    ("button", turned(2, 2, end="unchanged"), None),
    ("button", turned(2, 2, end="unchanged", idle=3), "pager"),
    ("button", turned(2, end="unchanged", idle=3), None),
    ("scroll", turned(2, 2, end="unchanged"), "pager"),
    ("scroll", turned(2, end="unchanged"), None),
    ("script", turned(2, 2, end="false"), "pager"),
    ("script", turned(2, end="false"), None),
    ("script", turned(2, 2, end="unchanged"), None),
]


@pytest.mark.parametrize(("kind", "pages", "shown"), ENDS_OF_TURNS)
def test_what_a_browser_shows_at_the_end(walked, kind, pages, shown):
    text = '"return false"' if kind == "script" else "true"
    done = walked({"/list": pages}, f"{{ {kind} = {text} }}", BROWSER)
    assert told(done) == (({shown}, []) if shown else (set(), ["unproven"]))


def test_a_browser_that_turned_the_page_less_often_than_before(walked):
    pages = [*turned(2, 2, 2)[:-1], Shown(links(*range(6)), 1, "gone")]
    assert told(walked({"/list": pages}, "{ button = true }", BROWSER)) == (set(), ["paging"])


ENDS = [
    ({"/list": links(1, 2, following="/b"), "/b": links(3)}, "{ next = true }", "pager"),
    ({"/list": links(1, 2)}, "{ next = true }", "unproven"),
    ({"/list": links(1, 2)}, "{ next = false }", "rules"),
    ({"/list": links(1, 2), "/list?page=2": links(3)}, '{ query = "page" }', "short_page"),
    ({"/list": links(1, 2), "/list?page=2": links(3), "/list?page=3": links(3)}, '{ query = "page" }', "short_page"),
    ({"/list": links(1, 2)}, '{ query = "page" }', "paging"),
    ({"/list": links(1, 2), "/list?page=2": links(3, 4), "/list?page=3": 500}, '{ query = "page" }', "http"),
    ({"/list": links(1, 2), "/list?page=2": links(1, 2)}, '{ query = "page" }', "paging"),
    ({"/list": links(1, 2, following="/b"), "/b": links(1, 2)}, "{ next = true }", "paging"),
    ({"/list": links(1, 2, following="/b"), "/b": "none"}, "{ next = true }", "paging"),
    ({"/list": "none"}, "{ next = true }", "no_datasets"),
    ({"/list": "none"}, "{ next = false }", "no_datasets"),
    ({"/list": links(1, 2)}, '{ path = "/wrong/{page}" }', "paging"),
    ({"/list": links(1, 2) + "<div>" * 3000 + links(3)}, "{ next = false }", "truncated"),
]


@pytest.mark.parametrize(("pages", "paging", "shown"), ENDS)
def test_what_the_end_of_a_listing_shows(walked, pages, paging, shown):
    evidence, errors = told(walked(pages, paging))
    assert (errors or [*evidence]) == [shown]


AZ = "".join(f'<a href="/az/{one}">{one.upper()}</a>' for one in "abcdef")
AGAIN = links(3, 4, more='<div class="pager"><a href="/list?page=1">1</a> <b>2</b> <a href="/list?page=3">3</a></div>')
FULL = {page: links(*range(6 * page, 6 * page + 6)) for page in (1, 2, 3)}
ROUND = {page: links(page, page + 3, following=f"/list?page={page % 3 + 1}") for page in (1, 2, 3)}
TOTAL = '<p class="n">3</p>'
MENU = '<nav><a href="/list">All</a><a href="/c/1">One</a><a href="/c/2">Two</a></nav>'
OTHERS = "".join(f'<li><a href="https://other.example/{number}">x</a></li>' for number in range(300))
LISTINGS = {
    "a pager offers three pages, and the third is the second once more": (
        {"/list": links(1, 2, following="/list?page=2"), "/list?page=2": AGAIN, "/list?page=3": AGAIN},
        ("{ next = true }",),
        (["unproven"], 4, 1),
    ),
    "an index of the whole site is no pager": (
        {"/list": links(1, 2, more=AZ), **{f"/az/{one}": AZ for one in "abcdef"}},
        ("{ next = true }",),
        (["unproven"], 2, 1),
    ),
    "what stands on every page is no shift": (
        {"/list": links(1, 2, 9, following="/list?page=2"), "/list?page=2": links(3, 9)},
        ("{ next = true }",),
        (["pager"], 4, 2),
    ),
    "full counted pages that come again prove nothing": (
        {"/list": FULL[1], "/list?page=2": FULL[2], "/list?page=3": FULL[3], "/list?page=4": FULL[3]},
        ('{ query = "page" }',),
        (["paging"], 18, 1),
    ),
    "a pager that leads back to its first page, by another address, has ended": (
        {"/list": ROUND[1], **{f"/list?page={page}": body for page, body in ROUND.items()}},
        ("{ next = true }",),
        (["pager"], 6, 1),
    ),
    "behind a foreign page counted ones are read": (
        {
            "/list": links(1, 11),
            "/list?page=3": "<h1>504 Gateway Time-out</h1>",
            **{f"/list?page={page}": links(page, page + 10) for page in (2, 4)},
        },
        ('{ query = "page" }',),
        (["no_datasets", "paging"], 6, 1),
    ),
    "a parameter that is dropped still turns the page": (
        {"/list": links(1, 2, query="?page=1"), "/list?page=2": links(3, 4), "/list?page=3": "", "/list?page=4": ""},
        ('{ query = "page" }', "links = { css = 'li a', drop = ['page'] }"),
        (["short_page"], 4, 1),
    ),
    "teasers make the total full too early: no reason to leave a next page out": (
        {"/list": links(1, 2, 3, following="/list2", more=TOTAL), "/list2": links(4, more=TOTAL)},
        ("{ next = true }", "links = { css = 'li a', total = '.n' }"),
        (["count_mismatch"], 4, 1),
    ),
    "menus on every page lead nowhere new": (
        {"/list": links(1, more=MENU), "/c/1": links(2, more=MENU), "/c/2": links(3, more=MENU)},
        ("{ next = false }", "links = { css = 'li a', follow = 'nav a', depth = 1 }"),
        (["rules"], 3, 1),
    ),
    "addresses that differ in the order of parameters": (
        {"/list": '<li><a href="/d/1?a=1&b=2">1</a></li><li><a href="/d/1?b=2&a=1">1</a></li>'},
        ("{ next = false }", "links = { css = 'li a' }"),
        (["rules"], 1, 1),
    ),
    "many links to other hosts are one line": (
        {"/list": links(1) + OTHERS},
        ("{ next = false }",),
        (["offsite"], 1, 1),
    ),
}


@pytest.mark.parametrize(("pages", "rules", "shown"), LISTINGS.values(), ids=LISTINGS.keys())
def test_what_a_listing_gives_and_shows(walked, pages, rules, shown):
    done = walked(pages, *rules)
    evidence, errors = told(done)
    asked = [path(request) for request in done.asked]
    assert (errors or [*evidence], len(done.items), asked.count("/list")) == shown


def test_a_start_without_a_dataset_among_several(walked):
    pages = {"/list": links(1, 2), "/other": "down for maintenance"}
    done = walked(pages, "{ next = false }", start=("/list", "/other"))
    assert (told(done), len(done.items)) == (({"rules"}, ["no_datasets"]), 2)


def test_what_shows_nothing_is_incomplete(walked):
    """One page of several listings: each is told by itself, and the one that is short is none of them."""
    pages = {
        "/one": links(1, 2, 3),
        "/two": links(4, 5, following="/two?page=2"),
        "/two?page=2": links(6),
        "/short": links(7),
        "/more": links(8, 9, more='<div class="pager">1 <a href="#page=2">2</a> <a href="/more/3">5</a></div>'),
    }
    done = walked(pages, "{ next = true }", start=("/one", "/two", "/short", "/more"))
    assert (done.judged[0], len(done.items), done.kinds()) == ("incomplete", 9, {"unproven": 2})
    found = {urlsplit(error.url).path: error.error for error in done.errors}
    assert found.keys() == {"/one", "/more"}
    assert "next = false" in found["/one"]
    assert "offers page 5, and 1 was read" in found["/more"]


def test_a_counted_page_that_is_not_there(walked):
    """It is asked for once more, and the one behind it is, too."""
    pages = {"/list": links(1, 2), "/list?page=2": links(3, 4), "/list?page=4": links(7, 8)}
    done = walked(pages, '{ query = "page" }')
    asked = [path(request) for request in done.asked]
    assert (told(done), len(done.items)) == ((set(), ["paging"]), 6)
    assert [asked.count(f"/list?page={page}") for page in (3, 5, 6)] == [2, 2, 1]


def test_a_number_that_a_listing_prints_contradicts_next_links_that_end_early(walked):
    """Both list eighteen; one of them says that it has thirty."""
    listed = {
        f"/{name}?page={page}": printed(page, of) for name, of in (("ends", 30), ("all", 18)) for page in (1, 2, 3)
    }
    pages = {
        path: body + (f'<a rel="next" href="{path[:-1]}{int(path[-1]) + 1}">next</a>' if path[-1] < "3" else "")
        for path, body in listed.items()
    }
    done = walked(pages, "{ next = true }", start=("/ends?page=1", "/all?page=1"))
    assert (done.kinds(), len(done.items)) == ({"count_mismatch": 1}, 18)
    assert done.errors[0].error == f"{BASE}/ends?page=1 prints that it has 30 datasets, and listed 18"


def test_counted_pages_that_wrap_prove_nothing(walked):
    pages = {f"/list?page={page}": links(2 * (page % 3), 2 * (page % 3) + 1) for page in range(2, 9)}
    assert told(walked({"/list": links(2, 3), **pages}, '{ query = "page" }')) == (set(), ["paging"])


def test_a_pager_of_forms_that_wraps_has_ended(walked):
    state = "<input type=hidden name=__VIEWSTATE value=x>"
    on = "<a href=\"javascript:__doPostBack('n','')\">Next</a>"
    asked: list[str] = []

    class Posted(dict):
        def get(self, path, default=None):
            if path != "/list":
                return super().get(path, default)
            asked.append(path)
            at = 2 * ((len(asked) - 1) % 3)
            return f"<form method=post action=/list>{state}{links(at, at + 1)}{on}</form>"

    assert told(walked(Posted(), "{ postback = true }")) == ({"pager"}, [])
    assert len(asked) == 4


def test_one_page_beside_others(walked):
    pages = {"/a": links(1, 2, 3, following="/a2"), "/a2": links(4), "/b": links(5, 6), "/c": links(7, 8, 9)}
    done = walked(pages, "{ next = true }", start=("/a", "/b", "/c"))
    assert done.evidence == {f"{BASE}/a": "pager", f"{BASE}/b": "pager"}
    assert [error.url for error in done.errors] == [f"{BASE}/c"]
    assert "next = false" in done.errors[0].error


def test_a_list_of_lists_has_nothing_to_show(walked):
    """A dataset may be in two of them: each has as many as it says."""
    pages = {"/list": '<p><a href="/a">A</a> <a href="/b">B</a></p>', "/a": links(1, 2), "/b": links(2, 3)}
    pages |= {name: pages[name] + '<i class="n">2</i>' for name in ("/a", "/b")}
    rules = "links = { css = 'li a', id = '/d/([0-9]+)', follow = 'p a', total = '.n' }"
    done = walked(pages, "{ next = true }", rules)
    assert (done.evidence, done.errors) == ({f"{BASE}/a": "total", f"{BASE}/b": "total"}, [])
    assert done.judged == ("complete", 3, 3)


def test_lists_of_lists_end_at_a_depth(walked):
    pages = {f"/{one}": links(one) + f'<p><a href="/{one + 1}">on</a></p>' for one in range(1, 9)}
    done = walked(pages, "{ next = true }", "links = { css = 'li a', follow = 'p a', depth = 2 }", start=("/1",))
    assert (done.errors[0].kind, done.spider.run_state.is_cut_short) == ("trap", True)
    assert [path(request) for request in done.asked if "/d/" not in request.url] == ["/1", "/2", "/3"]


def test_a_limit_is_that_of_all_listings(walked):
    pages = {"/a": links(1, 2, 3), "/b": links(3, 4, 5)}
    done = walked(pages, "{ next = false }", start=("/a", "/b"), max_datasets="4")
    assert (done.spider.records.expected, done.spider.run_state.is_limited) == (4, True)


@pytest.mark.parametrize("twice", range(1, 5))
def test_an_answer_that_is_read_again_after_a_kill_changes_nothing(walked, twice):
    pages = {"/list": links(1, 2, following="/b"), "/b": links(3, 4, following="/c"), "/c": links(4, 5)}
    total = '<i class="n">5</i>'
    rules = "links = { css = 'li a', id = '/d/([0-9]+)', total = '.n' }"
    done = walked({name: body + total for name, body in pages.items()}, "{ next = true }", rules, twice=twice)
    assert (done.judged, told(done)) == (("complete", 5, 5), ({"total"}, []))


@pytest.mark.parametrize("twice", range(1, 6))
def test_a_kill_and_then_an_error_page_lose_no_listing_that_one_leads_to(walked, twice):
    """The page is asked for once more, by another step; the listings that it named before the kill are new still."""
    follow = '<p><a href="/sub">more</a></p>'
    pages = {"/list": links(1, following="/b"), "/b": links(2) + follow, "/sub": links(8, following="/sub2")}
    pages |= {"/sub2": links(9) + follow}
    rules = "links = { css = 'li a', id = '/d/([0-9]+)', follow = 'p a' }"

    def again(answer: Response) -> Response:
        is_later = path(answer.request) in ("/b", "/sub2")
        return answer.replace(body=b"<html><h1>504 Gateway Time-out</h1></html>") if is_later else answer

    done = walked(pages, "{ next = true }", rules, twice=twice, again=again)
    assert (done.judged, done.errors, len(set(done.ids()))) == (("complete", 4, 4), [], 4)
    assert done.evidence.keys() == {f"{BASE}/list", f"{BASE}/sub"}


# Pages that shift


def test_another_order_on_each_page(harvest):
    """24 rows, of fewer datasets."""
    random.seed(1)

    class Shuffled(Pages):
        def reply(self, asked) -> Answer:
            page = {"/list": 1, "/list?page=2": 2, "/list?page=3": 3}.get(asked.path)
            following = f"/list?page={page + 1}" if page and page < 3 else None
            return html(links(*random.sample(range(24), 8), following=following)) if page else super().reply(asked)

    with Shuffled() as site:
        crawl = harvest(site)
    assert (crawl.report["verdict"], crawl.kinds()) == ("incomplete", [("list", "paging")])
    assert "in another order" in crawl.errors[0]["error"]
    assert sum(asked.path.startswith("/list") for asked in site.asked) == 6


def test_a_dataset_that_comes_while_pages_are_read(harvest):
    """All others move down by one: the second look finds it, and all is there."""

    class Shifting(Pages):
        def reply(self, asked) -> Answer:
            page = {"/list": 1, "/list?page=2": 2}.get(asked.path)
            if page is None:
                return super().reply(asked)
            rows = list(range(5)) if len([one for one in self.asked if "/list" in one.path]) == 1 else [9, *range(5)]
            return html(links(*rows[3 * page - 3 : 3 * page], following="/list?page=2" if page == 1 else None))

    with Shifting() as site:
        assert judged(harvest(site)) == ("complete", 6, [])


# Counted pages


# What is a pager, and what is none


SELECTS = [
    ('<select name="page"><option>1<option selected>2<option>3</select>', 3),
    ('<div class="pagination"><select><option>Page 1<option selected>Page 2</select></div>', 2),
    ('<select onchange="this.form.submit()"><option>1-20<option selected>21-40<option>41-55</select>', 3),
    ('<select name="per_page"><option>10<option selected>20<option>50</select>', None),
    ('<select name="month"><option>1<option selected>2<option>3</select>', None),
    ('<select name="from"><option>1<option selected>2<option>3</select>', None),
    ('<select name="year" onchange="this.form.submit()"><option>2024<option selected>2025</select>', None),
    ('<select name="page"><option selected>1<option>2<option>3</select>', None),
    ('<select name="page"><option>1</select>', None),
]


@pytest.mark.parametrize(("text", "last"), SELECTS)
def test_selects(text, last):
    found = forms.dropdown(Page(text, URL), 2)
    assert (found and len(found.values)) == last


CHOICES = [
    ('<form action="/s"><input name=q value="a b"><select name=page>{}</select></form>', "/s?q=a+b&page=3"),
    ("<select name=page onchange=\"location.href='/l?p='+this.value\">{}</select>", "/l?p=3"),
    ('<select name=page onchange="go(this)">{}</select>', None),
]


@pytest.mark.parametrize(("text", "address"), CHOICES)
def test_what_a_select_asks_for(text, address):
    page = Page(text.format(options(2)), URL)
    found = forms.dropdown(page, 2)
    form = forms.turned(page, found, 3)
    assert (form and form.url.removeprefix("https://example.org")) == address
    assert forms.turned(page, found, 4) is None


CURSORS = [
    ('<a href="?page=2&amp;cursor=x">Weiland</a>', "", "/list?page=2&cursor=x"),
    ('<a href="?page=2&amp;sort=x">Titel</a>', "", None),
    ('<a href="?page=2&amp;per_page=50">Viele</a>', "", None),
    ('<a href="?after=x">Weiland</a><a href="?before=x">Jüngst</a>', "", None),
    ('<a href="?after=x">Weiland</a><a href="?before=x">Jüngst</a>', "Weiland", "/list?after=x"),
    ('<a href="?before=x">Jüngst</a>', "Weiland", None),
    ('<a href="?before=x">Neuere Einträge</a>', "", None),
    ('<a href="/list/before/17">Weiland</a>', "", "/list/before/17"),
    ('<a href="/other?cursor=x">Weiland</a>', "", None),
    ('<a href="?page=contact">Weiland</a>', "", None),
    ('<a class="btn load-more" href="?k=17">Weiland</a>', "", "/list?k=17"),
    ('<div class="calendar"><a href="?start=2026-01">Weiland</a></div>', "", None),
]


@pytest.mark.parametrize(("text", "said", "address"), CURSORS)
def test_links_by_their_shape(text, said, address):
    found = cursor_link(Page(text, URL), said)
    assert (found and found.address.removeprefix("https://example.org")) == address


@pytest.mark.parametrize("text", ["Ältere Einträge", "Older posts", "Plus anciens", "Starsze wpisy", "Äldre inlägg"])
def test_older_is_the_way_on(text):
    assert next_link(Page(f'<a href="?b=1">{text}</a><a href="?b=2">Neuere Einträge</a>', URL), Paging()) is not None


ROWS = [
    ("".join(f'<a href="/az/{one}.html">{one.upper()}</a>' for one in "abcdefgh"), 8),
    ("".join(f'<a href="?l=%C3%{one}">{two}</a>' for one, two in zip(("84", "96", "9C"), "ÄÖÜ", strict=True)), 0),
    ("".join(f'<a href="#{one}">{one}</a>' for one in "ABCDEFGH"), 0),
    ("".join(f'<a href="?x={at}">{one}</a>' for at, one in enumerate("ABCDEFGH")), 0),
]


@pytest.mark.parametrize(("text", "count"), ROWS)
def test_rows_of_letters(text, count):
    assert len(letters(Page(text, URL))) == count


def test_pages_that_a_pager_offers():
    assert (
        max(linked_pages(Page('<a href="?page=1">1</a> 2 <a href="?page=3">3</a> <a href="?page=17">17</a>', URL)))
        == 17
    )
    assert linked_pages(Page('<a href="?tag=7">3</a> <a href="?tag=12">4</a>', URL)) == {}
    assert linked_pages(Page('<a href="/2019">2019</a> <b>2020</b> <a href="/2021">2021</a>', URL)) == {}, "an archive"
    assert linked_pages(Page('<a href="?size=10">10</a> <a href="?size=20">20</a>', URL)) == {}


# A pager that ends with dots

ONE, TWO = '<a href="?page=1">1</a> ', '<a href="?page=2">2</a> '
DOTS = [
    (f"<p class=pager>{ONE}<b>2</b> …</p>", True),
    (f"<p>{ONE}<b>2</b> <span>...</span> <i>30 datasets</i></p>", True),
    (f"<ul><li>{ONE}</li><li class=active>2</li><li class=disabled><a href='#'>[…]</a></li><li>Next</li></ul>", True),
    (f"<div class=pagination><p>{ONE}{TWO}<b>3</b></p><i>…</i></div>", True),
    (f"<p class=pager>{ONE}{TWO}, …</p><ul><li>A</li></ul><p class=pager>{ONE}{TWO}, …</p>", True),
    (f'<p class=pager>{ONE}<b>2</b> … <a href="?page=9">9</a></p>', False),
    (f"<p class=pager>{ONE}{TWO} … <b>9</b></p>", False),
    (f"<ul class=pager><li>{ONE}</li><li>…</li><li>9 <span>(current)</span></li></ul>", False),
    (f"<p class=pager>… {TWO}<b>3</b></p>", False),
    (f"<p class=pager>{ONE}<b>2</b></p><p>…</p>", False),
    ("<p>A <a href='/a'>…</a> …</p>", False),
]


@pytest.mark.parametrize(("text", "is_open"), DOTS)
def test_dots_at_the_end_of_a_pager(text, is_open):
    assert ends_with_dots(Page(text, "https://example.org/list?page=3")) is is_open


def numbered(path: str, shown: str, *rows: int) -> str:
    """A page with links to pages 1, 2 and 3, and what stands behind them."""
    return links(*rows) + "<p class=pager>" + "".join(f'<a href="{path.format(n)}">{n}</a>' for n in (1, 2, 3)) + shown


def window(*ends: str, path: str = "/list?page={}", behind: str = " …", **more: str | int) -> dict[str, Any]:
    """Pages of two rows, all with links to the first three, and what the numbers behind those give."""
    pages: dict[str, Any] = {path.format(n): numbered(path, behind, 2 * n, 2 * n + 1) for n in (1, 2, 3, 4, 5)}
    pages |= {path.format(6 + place): end for place, end in enumerate(ends)}
    return {"/list": pages[path.format(1)], **pages, **more}


EMPTY = numbered("/list?page={}", " …")
BEYOND = [
    (window(EMPTY, EMPTY), ({"short_page"}, [], 10)),
    (window(numbered("/list?page={}", "")), ({"short_page"}, [], 10)),
    (window("", ""), ({"short_page"}, [], 10)),
    (window(), ({"short_page"}, [], 10)),
    (window(links(12, 13), links(12, 13)), (set(), ["paging"], 12)),
    (window(numbered("/list?page={}", " …", 12), numbered("/list?page={}", " …", 12)), ({"pager"}, [], 11)),
    (window(*[numbered("/list?page={}", " …", 2, 3)] * 3), (set(), ["paging"], 10)),
    (window(500, 500), (set(), ["http"] * 2, 10)),
    (window("", links(14, 15), "", ""), (set(), ["paging"], 12)),
    (window(path="/list?k=x{}y7"), ({"short_page"}, [], 10)),
    (window(path="/list/00{}"), (set(), ["unproven"], 6)),
    (
        window(behind="", **{f"/list?page={n}": numbered("/list?page={}", "", 2 * n) for n in (4, 5)}),
        ({"pager"}, [], 6),
    ),
    (window(behind="<i>Page 3 of 5</i>"), ({"pager"}, [], 10)),
    (window(behind="<i>Page 3 of 7</i>"), (set(), ["unproven"], 10)),
    (window(behind=' … <a href="/list?page=5">5</a>'), ({"pager"}, [], 10)),
    (window(EMPTY, EMPTY, behind=' … <a href="/list?page=9">9</a>'), (set(), ["unproven"], 10)),
]


@pytest.mark.parametrize(("way", "pages", "expected"), [*(("next", *each) for each in BEYOND), ("numbers", *BEYOND[0])])
def test_a_pager_that_ends_with_dots_is_counted_up(walked, way, pages, expected):
    done = walked(pages, f"{{ {way} = true }}")
    assert (*told(done), len(done.items)) == expected


def test_dots_behind_links_that_can_not_be_counted_up_contradict(walked):
    pages = {f"/{name}": links(place) + PLACES for place, name in enumerate("acd")}
    done = walked(pages, "{ next = true }", start=("/a",))
    assert told(done) == (set(), ["unproven"])
    assert 'goes on with "…", and 3 were read' in done.errors[0].error


PLACES = '<p class="pager"><a href="/a">1</a> <a href="/c">2</a> <a href="/d">3</a> …</p>'


# What contradicts, and what was never tried


def printed(page: int, of: int = 30, name: str = "list") -> str:
    """A page of six rows that prints how many there are."""
    rows = range(6 * page - 6, min(6 * page, of))
    return f"<p>{rows[0] + 1}–{rows[-1] + 1} of {of} datasets</p>" + links(*rows)


class Posting(Pages):
    """A GridView of five pages; the arguments of its links name the page."""

    def reply(self, asked) -> Answer:
        if not asked.path.startswith("/list"):
            return super().reply(asked)
        posted = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        page = int(posted.get("__EVENTARGUMENT", "Page$1").removeprefix("Page$"))
        shown = [
            f"<td>{one}</td>"
            if one == page
            else f"<td><a href=\"javascript:__doPostBack('g','Page${one}')\">{one}</a></td>"
            for one in range(1, 6)
        ]
        hidden = "<input type=hidden name=__VIEWSTATE value=x>"
        pager = f"<table><tr>{''.join(shown)}</tr></table>"
        return html(f"<form method=post action=/list>{hidden}{links(2 * page, 2 * page + 1)}{pager}</form>")


class Buttons(Pages):
    """A listing of three pages; a form's button leads to the next one, which must be posted."""

    def reply(self, asked) -> Answer:
        if asked.path != "/list":
            return super().reply(asked)
        page = int(parse_qs(asked.body.decode()).get("page", ["1"])[0])
        hidden = f"<input type=hidden name=page value={page + 1}><input type=hidden name=token value=é>"
        form = f"<form method=post action=/list>{hidden}<button>Next</button></form>" if page < 3 else ""
        return html("<form action=/list><input name=q><button>Next</button></form>" + links(page, page + 3) + form)


def test_a_button_that_posts_a_form_turns_the_page(harvest):
    with Buttons() as site:
        assert judged(harvest(site, "paging = { next = true }")) == ("complete", 6, [])


GET = '<form action="/list"><input type=hidden name=page value={}>{}</form>'


@pytest.mark.parametrize(
    ("way", "control", "read"),
    [
        ("true", GET.format(2, "<button>Next</button>"), 3),
        ("true", GET.format(2, "<input type=submit value='Page suivante'>"), 3),
        ("true", '<form><button name=page value="1">1</button><button name=page value="2">2</button></form>', 3),
        ('"Onward"', GET.format(2, "<input name=q value=a><button>Onward</button>").replace("q", "x"), 3),
        ('{ css = "#on" }', GET.format(2, "<button id=on>x</button>"), 3),
        ("true", f'<a rel=next href="{BASE.replace("://", "://www.")}/list?page=2">on</a>', 3),
        ("true", f'<a rel=next href="{BASE.replace("https", "http")}/list?page=2">on</a>', 3),
        ("true", '<a rel=next href="http://localhost:8080/list?page=2">on</a>', 3),
        ("true", GET.format(2, "<input name=email><button>Next</button>"), 2),
        ("true", GET.format(2, "<button>Next</button>").replace("/list", "/subscribe"), 2),
        ("true", GET.format(2, "<button disabled>Next</button>"), 2),
        ("true", '<a rel=next href="https://other.example/list?page=2">on</a>', 2),
    ],
)
def test_a_button_of_a_form_or_another_spelling_of_the_host_leads_on(walked, way, control, read):
    done = walked(
        {
            "/list": links(1, 2, more=control),
            "/list?page=2": links(3),
            "/list?page=2&x=a": links(3),
            "/list?page=2&email=": links(3),
            "/subscribe?page=2": links(3),
        },
        f"{{ next = {way} }}",
    )
    assert len(done.ids()) == read


def test_a_form_that_leads_back_proves_no_end(walked):
    """As the server does whose session has expired."""
    more = "<form method=post action='/list?page={}'><button>Next</button></form>"
    pages = {
        "/list": links(1, 2, more=more.format(2)),
        "/list?page=2": links(3, 4, more=more.format(3)),
        "/list?page=3": links(1, 2, more=more.format(2)),
    }
    done = walked(pages, "{ next = true }")
    assert told(done) == (set(), ["unproven"])
    assert "leads back" in done.errors[0].error


def test_the_number_of_page_2_turns_all_pages_of_forms(harvest):
    with Posting() as site:
        assert judged(harvest(site, 'paging = { postback = "2" }')) == ("complete", 10, [])


def test_pages_of_forms_that_are_offered_and_not_read_contradict(harvest):
    with Posting() as site:
        crawl = harvest(site, """paging = { postback = { xpath = "//a[.='2']" } }""")
    assert judged(crawl) == ("incomplete", 4, [("list", "unproven")])
    assert "offers page 5, and 2 were read" in crawl.errors[0]["error"]


# What was seen at the end and not followed

PRESSED = [
    "<button>Load more</button>",
    "<button type=button onclick='more()'>Next</button>",
    '<div class=more><a href="javascript:void(0)" onclick="more()">Show more</a></div>',
    "<div role=button tabindex=0>Mehr laden</div>",
    "<table><tr><td colspan=2><button aria-label='Load more'><svg></svg></button></td></tr></table>",
    "<p>Showing 1 to 3</p><div><span>Loading...</span><button>Load more</button></div>",
    '<p class=pager><a href="/list">1</a> <b>2</b></p><script>x()</script><button>Load more</button>',
    "<form method=post action=/list><select name=n><option selected>5</select><button>Next</button></form>",
]


@pytest.mark.parametrize("control", PRESSED)
def test_what_would_load_more_and_nobody_presses_contradicts(walked, control):
    done = walked(two_pages(links(3, more=control)), "{ next = true }")
    assert told(done) == (set(), ["unproven"])
    assert "page 2" in done.errors[0].error
    assert "nobody pressed" in done.errors[0].error


def test_a_single_page_that_would_load_more_is_not_whole_because_it_is_short(walked):
    pages = {"/a": links(1, 2, 3, following="/a2"), "/a2": links(4), "/b": links(5, more="<button>Load more</button>")}
    done = walked(pages, "{ next = true }", start=("/a", "/b"))
    assert (done.evidence, [error.url for error in done.errors]) == ({f"{BASE}/a": "pager"}, [f"{BASE}/b"])


DEAD = [
    '<a href="#">Next ›</a>',
    '<p class=pager><a href="/list">Prev</a> <a class="off" href="#">Next</a></p>',
    '<p class=pager><a href="/list">Prev</a> <button class="page-link" tabindex="-1">Next</button></p>',
    '<a href="#" onclick="return false;">»</a>',
    "<table><tr><td colspan=2><button aria-label='Next page'><svg></svg></button></td></tr></table>",
    "<button title=Next>x</button>",
]


@pytest.mark.parametrize("control", DEAD)
def test_a_next_that_leads_nowhere_is_the_end_of_a_pager_that_worked_and_a_doubt_where_none_did(walked, control):
    assert told(walked(two_pages(links(3, more=control)), "{ next = true }")) == ({"pager"}, [])
    pages = {
        "/a": links(1, 2, 3, following="/a2"),
        "/a2": links(4),
        "/b": links(5, more=control.replace("/list", "/b")),
    }
    done = walked(pages, "{ next = true }", start=("/a", "/b"))
    assert (done.evidence, [error.url for error in done.errors]) == ({f"{BASE}/a": "pager"}, [f"{BASE}/b"])


def test_a_page_that_scrolls_and_then_has_a_button(walked):
    rows = turned(2, 2, end="unchanged")
    rows = [*rows[:-1], rows[-1]._replace(body=rows[-1].body + "<button>Load more</button>")]
    assert told(walked({"/list": rows}, "{ scroll = true }", BROWSER)) == (set(), ["unproven"])


QUIET = [
    "<button disabled>Load more</button>",
    '<a href="#" aria-disabled="true">Next</a>',
    '<p class=pager><span class="disabled"><a href="#">Next</a></span></p>',
    "<button hidden>Load more</button>",
    '<div style="display: none"><button>Load more</button></div>',
    '<p class="d-none"><a href="#">Show more</a></p>',
    '<div class="carousel"><button>Next</button></div>',
    '<section class="comments"><p>Nice.</p><button>Load more</button></section>',
    "<button>Load more comments</button>",
    "<aside><p><a href='/t/1'>Trees</a></p><a href='#'>Show more</a></aside>",
    "<p><a href='/news/1'>News</a></p><button>Show more</button>",
    "<form action=/search><input name=q><button type=submit>›</button></form>",
    '<form action=/search><input name=q><input type=submit value="»"></form>',
    "<form action=/list><input name=q><button>Show more</button></form>",
    "<form action=/list><select name=q><option>1</select><button>Show more</button></form>",
    "<form action=/news><input name=mail><input type=submit value='>'></form>",
    "<form action=/other><button>Show more</button></form>",
    '<a href="#top">›</a>',
    '<a href="#top" onclick="up()">Next</a>',
    '<a href="#about">Show more</a><div id="about">About</div>',
    "<button data-bs-toggle=collapse>Show more</button>",
    "<button aria-expanded=false>Show more</button>",
    "<div class=accordion><button>Show more</button></div>",
    "<section><button>Show more</button><p>About this catalogue</p></section>",
    "<h2>About</h2><p>A catalogue of trees.</p><button>Show more</button>",
    '<div class="swiper"><button class="swiper-button-next" aria-label="Next"></button></div>',
    '<div id=map><button title="Zoom in">+</button><button>></button></div>',
]


@pytest.mark.parametrize("control", QUIET)
def test_what_loads_nothing_more_of_the_listing_is_no_way_on(walked, control):
    assert told(walked(two_pages(links(3, more=control)), "{ next = true }")) == ({"pager"}, [])


def test_a_button_behind_numbered_pages_that_were_all_read(walked):
    first = links(1, 2, more='<p class="pager"><b>1</b> <a href="/list?page=2">2</a></p><button>Load more</button>')
    last = links(3, more='<p class="pager"><a href="/list">1</a> <b>2</b></p><button>Load more</button>')
    assert told(walked(two_pages(last, first), "{ next = true }")) == ({"pager"}, [])


def test_what_opens_a_row_is_no_way_on(walked):
    rules = "links = { css = 'a', pattern = '/d/', id = '/d/([0-9]+)' }"
    row = '<li><a href="/d/{0}">{0}</a> <a href="/t/{0}">Trees</a> <a href="#">Show more</a></li>'
    one, two = ("".join(map(row.format, rows)) for rows in ((1, 2, 3), (4,)))
    pages = two_pages(f"<ul>{two}</ul>", first=f'<ul>{one}</ul><a rel=next href="/list?page=2">next</a>')
    assert told(walked(pages, "{ next = true }", rules)) == ({"pager"}, [])
    two = "".join(map(row.replace(' <a href="/t/{0}">Trees</a>', "").format, (4, 5)))
    assert told(walked(two_pages(f"<ul>{two}</ul>"), "{ next = true }", rules)) == ({"pager"}, [])
    flat = '<li><a href="/d/{0}">{0}</a></li><p><a href="#">Show more</a></p>'
    pages = two_pages("".join(map(flat.format, (4, 5, 6))))
    assert told(walked(pages, "{ next = true }", rules)) == ({"pager"}, [])


def test_a_second_list_beside_the_first_with_a_button_of_its_own(walked):
    second = links(8, 9) + "<button>Load more</button>"
    on = "<a rel=next href='/list?page=2'>Next</a>"
    for first in (links(1, 2) + on + second, second + links(1, 2) + on):
        done = walked(two_pages(links(3), first=first), "{ next = true }")
        assert (told(done), len(done.items)) == ((set(), ["unproven"]), 5)
        assert "beside" in done.errors[0].error
    both = links(1, 2) + "<button>Load more</button>" + on
    assert told(walked(two_pages(links(3), first=both), "{ next = true }")) == ({"pager"}, []), (
        "two ways on of one list"
    )


@pytest.mark.parametrize("heading", ["", "<h2>Popular</h2>", "<h3>Neueste Datensätze</h3>"])
def test_some_of_the_datasets_beside_the_list_are_no_second_list(walked, heading):
    """They are named so, or the list has one of them, too."""
    chosen = links(8, 9) if heading else links(1, 3)
    more = f"{heading}{chosen}<button>Show more</button>"
    on = "<a rel=next href='/list?page=2'>Next</a>"
    for first in (links(1, 2) + on + more, more + "<h2>All</h2>" + links(1, 2) + on):
        assert told(walked(two_pages(links(3), first=first), "{ next = true }")) == ({"pager"}, [])


def test_numbered_pages_that_end_with_a_greyed_next(walked):
    first = links(1, 2, more='<p class=pager><b>1</b> <a href="/list?page=2">2</a> <a href="/list?page=2">»</a></p>')
    last = links(3, more='<p class=pager><a href="/list">1</a> <b>2</b> <a href="#">»</a></p>')
    assert told(walked(two_pages(last, first), "{ next = true }")) == ({"pager"}, [])


def test_a_second_list_beside_one_of_numbered_pages(walked):
    numbers = '<p class="pager"><b>1</b> <a href="/list?page=2">2</a></p>'
    first = links(31, 45) + numbers + links(58, 89) + "<button>Load more</button>"
    assert told(walked(two_pages(links(97), first), "{ numbers = true }")) == (set(), ["unproven"])


def test_a_total_that_is_met_needs_no_button(walked):
    rules = "links = { css = 'li a', id = '/d/([0-9]+)', total = '.n' }"
    for count, shown in (("3", ({"total"}, [])), ("4", (set(), ["count_mismatch"]))):
        last = links(97, more=f'<i class="n">{count}</i><button>Load more</button>')
        assert told(walked(two_pages(last), "{ next = true }", rules)) == shown


AHEAD = [
    '<p>Page 2 <a href="/list?page=12">Last</a></p>',
    '<div class="pager"><a href="/list?page=1">«</a> 2 <a href="/list?page=12">»|</a></div>',
    '<a href="/list?page=1">1</a> 2 <a href="/list?page=12">12</a>',
    '<nav class="pagination"><a href="/list?page=12">12</a></nav>',
    "<p>Page 2 of 12</p>",
    "<p>Page <b>2</b> of <b>12</b> (sorted by title)</p>",
    '<div class="pagination"><span>Trees by page 2 / 12 of them</span></div>',
]


@pytest.mark.parametrize("pager", AHEAD)
def test_a_pager_that_leads_further_than_the_walk_came(walked, pager):
    done = walked(two_pages(links(3, more=pager)), "{ next = true }")
    assert told(done) == (set(), ["unproven"])
    assert "2 were read" in done.errors[0].error


BEHIND = [
    '<p><a href="/list?page=1">First</a> <a href="/list?page=2#top">Last</a></p>',
    '<div class="pager"><a href="/list?page=2&rows=50">50</a> <a href="/list?page=1">Previous</a></div>',
    '<p><a href="/data?page=7">Last</a></p>',
    "<p>Page 2 of 2</p><p>Page 1 of 3 of the news</p>",
    "<p>See page 2 of 40 of our report</p>",
    "<p>Page 2 of 40 of our report has a map.</p>",
    '<p class="abstract">As we wrote on page 2 of 40, trees grow.</p>',
]


@pytest.mark.parametrize("pager", BEHIND)
def test_a_pager_that_leads_no_further(walked, pager):
    assert told(walked(two_pages(links(3, more=pager)), "{ next = true }")) == ({"pager"}, [])


UPWARDS = [
    ("/list?start=0", "/list?start=2", '<a href="/list?start=40">Last</a>'),
    ("/list", "/list?from=3", '<a href="/list?from=41">Last</a>'),
    ("/list/1", "/list/2", '<a href="/list/12">Last</a>'),
    ("/list?page=0&year=2023", "/list?page=1&year=2023", '<a href="/list?page=9&year=2023">Last</a>'),
]
OTHERWISE = [
    ("/list", "/list?before=40", '<a href="/list?before=99">Previous</a>'),
    ("/list", "/list?max=40", '<p class=pager><a href="/list?max=99">First</a></p>'),
    ("/list?items_per_page=2", "/list?items_per_page=2&page=2", '<a href="/list?items_per_page=25&page=2">25</a>'),
    ("/list?itemsPerPage=2", "/list?itemsPerPage=2&page=2", '<p>Show <a href="/list?itemsPerPage=9&page=2">9</a></p>'),
    ("/list?year=2023", "/list?year=2023&page=2", '<a href="/list?year=2024&page=2">2024</a>'),
    ("/list?group=2", "/list?group=2&page=2", '<p class=pager><a href="/list?group=7&page=2">Trees</a></p>'),
    ("/y/2023", "/y/2023/2", '<a href="/y/2024/2">2024</a>'),
]


@pytest.mark.parametrize(("first", "second", "pager"), UPWARDS + OTHERWISE)
def test_only_what_turned_the_pages_upwards_leads_further(walked, first, second, pager):
    pages = {first: links(1, 2, following=second), second: links(3, more=pager)}
    done = walked(pages, "{ next = true }", start=(first,))
    is_ahead = (first, second, pager) in UPWARDS
    assert told(done) == ((set(), ["unproven"]) if is_ahead else ({"pager"}, []))


def test_a_cursor_that_counts_down_leads_no_further(walked):
    pages = {
        "/list": links(1, 2, following="/list?before=40"),
        "/list?before=40": links(3, 4, following="/list?before=20"),
    }
    pages["/list?before=20"] = links(5, more='<a href="/list?before=40">Previous</a>')
    assert told(walked(pages, "{ next = true }")) == ({"pager"}, [])


def test_a_long_text_is_searched_for_the_last_page_in_little_time():
    rules = loads(f"start = '{URL}'\n[links]\ncss = 'a'\n[paging]\nnext = true\n[fields]\ntitle = 'h1'\n")
    shown = "<p>" + "a" * 200_000 + "</p><p class=pager>" + "b" * 200_000 + " 1" * 50_000 + "</p>" + "<i>2 " * 150
    page = Page(shown, URL)
    begun = process_time()
    assert unread.left(page, rules, 2, start=URL, came=2, is_counted=False) == ""
    assert process_time() - begun < 2


def test_many_buttons_are_looked_at_in_little_time(walked):
    buttons = "".join(f"<p>A</p><a href='#{one}'>Load more {one}</a>" for one in range(500))
    begun = process_time()
    assert told(walked(two_pages(links(3, more=buttons)), "{ next = true }")) == ({"pager"}, [])
    assert process_time() - begun < 10


def test_more_rows_on_a_page_are_no_page_ahead(walked):
    sizes = '<p class="pager"><a href="/list?page=2&amp;limit=50">All</a></p>'
    pages = {"/list": links(1, 2, following="/list?page=2&amp;limit=20")}
    pages["/list?page=2&limit=20"] = links(3, more=sizes)
    assert told(walked(pages, "{ next = true }")) == ({"pager"}, [])


def two_pages(last: str, first: str = links(1, 2, following="/list?page=2")) -> dict[str, str]:
    return {"/list": first, "/list?page=2": last}


FOREIGN = [
    "<h1>Checking your browser</h1><p>Please wait</p>",
    "<title>504 Gateway Time-out</title><h1>504 Gateway Time-out</h1>",
    "<h1>Down for maintenance</h1>",
    "<title>Wartungsarbeiten</title><p>Wir sind bald zurück.</p>",
    "<h2>Service temporarily unavailable</h2>",
]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_another_page_in_place_of_a_counted_one_is_no_end(walked, foreign):
    pages = {"/list": links(1, 2), "/list?page=2": links(3, 4), "/list?page=3": foreign, "/list?page=4": foreign}
    done = walked(pages, '{ query = "page" }')
    assert told(done) == (set(), ["no_datasets"] * 2)
    asked = [path(request) for request in done.asked if "/list" in request.url]
    assert asked == ["/list", "/list?page=2", *["/list?page=3"] * 2, "/list?page=4"], "once more, then it is told"


def test_a_page_that_has_nothing_of_those_before_it_is_no_end(walked):
    menu = "".join(f'<a href="/{name}">{name}</a>' for name in ("home", "about", "contact"))
    pages = {
        "/list": menu + links(1, 2),
        "/list?page=2": menu + links(3, 4),
        "/list?page=3": "<p>Wracamy za chwilę.</p>",
    }
    assert told(walked(pages, '{ query = "page" }')) == (set(), ["no_datasets"])
    pages["/list?page=3"] = "<script>check()</script>"
    assert told(walked(pages, '{ query = "page" }')) == (set(), ["no_datasets"]), "a check of the browser"
    pages |= {"/list?page=3": menu + "<p>Brak wyników.</p>", "/list?page=4": menu}
    assert told(walked(pages, '{ query = "page" }')) == ({"short_page"}, [])


NOTHING = ["<p>No results</p>", "<p>Es wurden keine weiteren Datensätze gefunden.</p>", "<p>没有找到数据</p>", ""]


@pytest.mark.parametrize("nothing", NOTHING)
def test_a_bare_page_that_says_that_there_is_nothing_is_an_end(walked, nothing):
    menu = '<a href="/home">home</a><a href="/about">about</a>'
    pages = {"/list": menu + links(1, 2), "/list?page=2": menu + links(3, 4)}
    pages |= dict.fromkeys(("/list?page=3", "/list?page=4"), nothing)
    done = walked(pages, '{ query = "page" }')
    assert told(done) == ({"short_page"}, [])
    asked = [path(request) for request in done.asked if "/d/" not in request.url]
    assert asked == ["/list", "/list?page=2", "/list?page=3", "/list?page=4"]


def test_a_foreign_page_that_is_gone_when_it_is_asked_for_again(walked):
    last = ["<h1>502 Bad Gateway</h1>", links(5)]

    class Once(dict):
        def get(self, path, default=None):
            return last.pop(0) if path == "/list?page=3" and last else super().get(path, default)

    pages = Once({"/list": links(1, 2), "/list?page=2": links(3, 4)})
    done = walked(pages, '{ query = "page" }')
    assert (told(done), len(done.items)) == (({"short_page"}, []), 5)


def test_a_next_link_back_to_a_page_that_is_not_the_first_contradicts(walked):
    pages = {f"/{page}": links(2 * page, 2 * page + 1, following=f"/{page + 1}") for page in (1, 2, 3)}
    pages["/4"] = links(8, 9, following="/3")
    done = walked(pages, "{ next = true }", start=("/1",))
    assert (told(done), len(done.items)) == ((set(), ["paging"]), 8)
    assert len([request for request in done.asked if "/d/" not in request.url]) <= 4 + 2
    pages["/4"] = links(8, 9, following="/1")
    done = walked(pages, "{ next = true }", start=("/1",))
    assert told(done) == ({"pager"}, [])
    assert len([request for request in done.asked if "/d/" not in request.url]) == 4


def test_a_listing_that_ends_with_what_it_does_not_follow(harvest):
    """In whole crawls: a button, a last page far ahead, and a page of the firewall."""
    pages = {
        "/one": links(1, 2, following="/one?page=2"),
        "/one?page=2": links(3, more="<button>Load more</button>"),
        "/two": links(4, 5, following="/two?page=2"),
        "/two?page=2": links(6, more='<a href="/two?page=9">Last</a>'),
        "/three": links(7, 8, following="/three?page=2"),
        "/three?page=2": links(9, 10, following="/three?page=3"),
        "/three?page=3": links(11, 12, following="/three?page=2"),
    }
    with Pages(pages) as site:
        crawl = harvest(site, starts("one", "two", "three"), "paging = { next = true }")
    assert (crawl.report["verdict"], len(crawl.documents()), crawl.code) == ("incomplete", 12, 3)
    told = {urlsplit(error["url"]).path: error["kind"] for error in crawl.errors}
    assert told == {"/one": "unproven", "/two": "unproven", "/three": "paging"}


# A browser


BUTTON = """<ul id=list>{rows}</ul>{button}<script>
let page = 1;
function more() {{
  if (page++ < {pages}) list.insertAdjacentHTML('beforeend', `<li><a href="/d/{base}${{page}}">x</a>`);
}}
</script>"""


def by_browser(base: int, pages: int = 3, button: bool = True, more: str = "") -> str:
    rows = "".join(f'<li><a href="/d/{base}{one}">x</a>' for one in (0, 1, 9))
    shown = '<button onclick="more()">Load more</button>' if button else ""
    return more + BUTTON.format(rows=rows, button=shown, pages=pages, base=base)


@pytest.mark.browser
def test_what_a_browser_never_turned_proves_nothing(harvest):
    """A button that is not there; one that worked, and then did nothing more; and one whose page says there is more."""
    short = "<p>1-5 of 30 datasets</p>"
    pages = {"/none": by_browser(1, button=False), "/idle": by_browser(2), "/short": by_browser(3, more=short)}
    with Pages(pages) as site:
        rules = [
            starts("none", "idle", "short"),
            'browser = "listing"',
            'paging = { button = "Load more", wait = 1.0 }',
        ]
        crawl = harvest(site, *rules)
    assert (crawl.report["verdict"], len(crawl.documents())) == ("incomplete", 13)
    told = {error["url"].removeprefix(site.url): error["kind"] for error in crawl.errors}
    assert told == {"/none": "unproven", "/short": "count_mismatch"}


@pytest.mark.browser
def test_a_page_that_does_not_scroll_proves_nothing(harvest):
    with Pages({"/list": by_browser(1, button=False)}) as site:
        crawl = harvest(site, 'browser = "listing"', "paging = { scroll = true, wait = 1.0 }")
    assert judged(crawl) == ("incomplete", 3, [("list", "unproven")])
