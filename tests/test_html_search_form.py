"""Listings behind a search form: with a token and a session, that may end at any moment."""

from __future__ import annotations

import logging
import random
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from scrapy.http import HtmlResponse

from crawlers.exceptions import AnswerError, RulesError
from crawlers.kinds.html.dialect import Ask, Search, SessionError
from crawlers.kinds.html.forms import button_of, form_of
from crawlers.kinds.html.mapping import Page
from crawlers.kinds.html.rules import SearchForm, loads
from crawlers.kinds.html.spider import HTML
from tests.test_html import catalogue, harvest, judged, killed_and_resumed, rules  # noqa: F401 -- fixtures
from tests.test_html_odd import links
from tests.test_resume import left
from tests.walked import path, response, walk

HOW = ("search_post", "search_get")
URL = "https://a.org/search"


def sent(site) -> list[str]:
    """What was asked for besides datasets and robots.txt."""
    return [f"{asked.method} {asked.path.partition('?')[0]}" for asked in site.asked if "such" in asked.path]


@pytest.mark.parametrize("family", HOW)
def test_the_form_is_filled_in_by_the_rules(harvest, catalogue, family):  # noqa: F811
    site = catalogue(family, 12, per_page=5)
    crawl = harvest(site)
    assert (crawl.code, judged(crawl)) == (0, ("complete", 12, 12))
    word = "POST" if family == "search_post" else "GET"
    assert sent(site) == ["GET /suche", *[f"{word} /suche/ergebnisse"] * 3]
    first = next(asked for asked in site.asked if "ergebnisse" in asked.path)
    given = first.body.decode() if family == "search_post" else first.path.partition("?")[2]
    assert given == "token=token-1&wort=&art=alle&los=1"
    again = harvest(site)
    assert (again.code, again.errors, site.begun) == (0, [], 2), "each crawl reads the form again"


@pytest.mark.parametrize("family", HOW)
def test_a_session_that_ends_is_begun_again(harvest, catalogue, family):  # noqa: F811
    """No dataset is asked for twice, and all are listed."""
    site = catalogue(family, 25, per_page=5, faults={"expires": "4:1"})
    crawl = harvest(site)
    assert (crawl.code, crawl.errors, judged(crawl)) == (0, [], ("complete", 25, 25))
    assert site.requests()["datasets"] == 25
    assert "the session has ended at page 4: sending the form again" in crawl.log


@pytest.mark.parametrize("family", HOW)
def test_a_session_that_ends_again_and_again_is_an_error(harvest, catalogue, family):  # noqa: F811
    site = catalogue(family, 25, per_page=5, faults={"expires": "2:99"})
    crawl = harvest(site)
    assert crawl.report["verdict"] == "incomplete"
    assert sent(site).count("GET /suche") <= (4 if family == "search_post" else 9)


@pytest.mark.slow
@pytest.mark.parametrize("family", HOW)
def test_killed_and_resumed(harvest, catalogue, rules, family):  # noqa: F811
    """The cookies are gone with the process: the form is sent again, and what was listed is not lost."""
    random.seed(7)
    site = catalogue(family, 36, per_page=3)
    whole = harvest(site, source="whole")
    asked = len(site.asked)
    done = killed_and_resumed(harvest, site, rules(site), (4, 3))
    assert (done.code, done.report["resumed"], judged(done)) == (0, True, ("complete", 36, 36))
    assert left(done) == left(whole)
    assert sum("datensatz" in one.path for one in site.asked[asked:]) <= 36 + 2 * 16, "but for those in flight"


# What is wrong


@pytest.mark.parametrize(
    ("change", "kind", "error"),
    [
        ((', art = "alle"', ', kunst = "alle"'), "http", "HTTP 419"),
        (("form = { fields", 'form = { css = "#none", fields'), "paging", "the page has no form such as [form] names"),
        (("form = { fields", 'form = { button = "Finden", fields'), "paging", "the form has no button 'Finden'"),
        (('wort = "", art = "alle", exakt = false', ""), "paging", "the page has 2 forms, say which: css or xpath in"),
    ],
)
def test_a_form_that_does_not_fit(harvest, catalogue, change, kind, error):  # noqa: F811
    crawl = harvest(catalogue("search_post", 5), change)
    assert crawl.report["verdict"] == "failed"
    assert crawl.errors[0]["kind"] == kind
    assert error in crawl.errors[0]["error"]


def test_a_field_that_the_form_lacks_is_a_warning(harvest, catalogue):  # noqa: F811
    crawl = harvest(catalogue("search_post", 12, per_page=5), ('wort = ""', 'word = "x"'))
    assert crawl.code == 0
    assert "the form has no field 'word'; it has: art, exakt, leer, los, token, wort" in crawl.log


def test_a_form_of_another_host_is_not_sent(harvest, catalogue, monkeypatch):  # noqa: F811
    site = catalogue("search_post", 5)
    site.results = "https://other.example.org/find"
    crawl = harvest(site)
    assert [(error["kind"], error["error"]) for error in crawl.errors] == [
        ("offsite", "the form leads to https://other.example.org/find: name its host in `hosts` if that is right")
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("form = 3", "form is not a table."),
        ("form = { field = {} }", "form.field is unknown. Did you mean fields?"),
        ("form = { fields = { q = 3 } }", "form.fields.q is neither a text nor false, for a field that"),
        (
            "form = { fields = { q = true } }",
            "form.fields.q is neither a text nor false, for a field that",
        ),
        ("form = { button = true }", "form.button is the text or the name of a button, or false if none is clicked."),
        ("form = { css = 'form[' }", "form.css"),
        (
            "form = {}\npaging = { query = 'p' }",
            "paging.query can't go on behind [form]: say next, numbers or",
        ),
        ("form = {}\nbrowser = true", '[form] needs no browser: say browser = "datasets", or none.'),
    ],
)
def test_a_mistake_in_the_rules_is_one_sentence(text, message):
    with pytest.raises(RulesError) as raised:
        loads(f'start = "https://a.org/"\n{text}\n[links]\ncss = "a"\n[fields]\ntitle = "h1"\n')
    assert message in str(raised.value)


# Which form, which button

FORMS = """<form id=a><input name=x></form>
<div id=b><form id=c><input name=q><input name=hidden type=hidden></form></div>
<form id=d><input name=q form=d></form>"""


@pytest.mark.parametrize(
    ("form", "found"),
    [
        ('{ css = "#a" }', "a"),
        ('{ css = "#b" }', "c"),
        ('{ css = "#c input" }', "c"),
        ('{ xpath = "//form[3]" }', None),
        ("{ fields = { x = '1' } }", "a"),
        ("{ fields = { q = '1', hidden = '2' } }", "c"),
        ("{ fields = { q = '1' } }", None),
        ("{}", None),
    ],
)
def test_the_form_that_is_meant(form, found):
    rules = loads(f'start = "https://a.org/"\nform = {form}\n[links]\ncss = "a"\n[fields]\ntitle = "h1"\n')  # noqa: F811
    page = Page(FORMS, URL)
    if found:
        assert form_of(page, rules.form).get("id") == found
    else:
        with pytest.raises(AnswerError):
            form_of(page, rules.form)


def test_a_page_of_many_forms_takes_no_time():
    page = Page("".join(f"<form id=f{n}><input form=f{n} name=a></form>" for n in range(10_000)), URL)
    begun = time.process_time()
    with pytest.raises(AnswerError):
        form_of(page, SearchForm(fields=(("q", ""),)))
    assert time.process_time() - begun < 3


BUTTONS = """<form><button type=button name=no>Find</button><input type=submit name=go value="Search all">
<button name=clear>Clear</button><button disabled name=off>Off</button></form>"""


@pytest.mark.parametrize(
    ("wanted", "name"),
    [(None, "go"), (False, None), ("clear", "clear"), ("Search all", "go"), ("search all", "go")],
)
def test_the_button_that_is_clicked(wanted, name):
    page = Page(BUTTONS, URL)
    found = button_of(page, next(iter(page.find("//form"))), wanted)
    assert (found.get("name") if found is not None else None) == name


@pytest.mark.parametrize("wanted", ["off", "no", "Find"])
def test_a_button_that_cannot_be_clicked_is_none(wanted):
    page = Page(BUTTONS, URL)
    with pytest.raises(AnswerError):
        button_of(page, next(iter(page.find("//form"))), wanted)


# After a kill


def test_what_comes_without_the_session_is_not_believed(harvest, catalogue, rules):  # noqa: F811
    """A server that forgets what was searched for may list something else, and as if nothing had happened."""
    random.seed(8)
    site = catalogue("search_post", 24, per_page=3)
    site.stranger = site.html("Alles", '<ol><li><a href="/datensatz.php?id=20&amp;x=1">Karte</a></li></ol>')
    done = killed_and_resumed(harvest, site, rules(site), (4,))
    assert (done.code, done.report["resumed"], judged(done), done.errors) == (0, True, ("complete", 24, 24), [])
    assert not any("x=1" in asked.path for asked in site.asked)


def resumed() -> tuple[Search, Ask, Ask]:
    """A search in a new process, and what the killed one had requested: the page of the form, and one of results."""
    site, crawl = SimpleNamespace(follows=lambda _: True), SimpleNamespace(logger=logging.getLogger())
    page = Ask(start=URL, url=URL, number=3, session="old", process="killed", is_in_session=True)
    return Search(crawl, site, SearchForm()), Ask(start=URL), page


def opened(search: Search, ask: Ask) -> Ask:
    request = search.request(ask)
    answer = HtmlResponse(URL, body=b"<form method=post><input name=q></form>", encoding="utf-8", request=request)
    return search.sent(answer, ask)


def restarted(search: Search, page: Ask) -> Ask:
    with pytest.raises(SessionError):
        search.check(page, None)
    return Ask(start=URL, session=search.renew(page))


def test_a_killed_process_leaves_a_form_and_a_page_and_the_form_is_sent_once():
    search, form, page = resumed()
    restart = restarted(search, page)
    assert [search.is_current(ask) for ask in (form, page, restart)] == [False, False, True]
    first = opened(search, restart)
    assert [search.is_current(ask) for ask in (page, form, first)] == [False, False, True]


def test_a_page_of_the_killed_process_is_dropped_when_its_form_came_first():
    search, form, page = resumed()
    first = opened(search, form)
    assert (search.is_current(page), search.is_current(first)) == (False, True)


def test_a_page_that_needs_no_session_goes_on_and_the_form_is_dropped():
    search, form, page = resumed()
    search.check(replace(page, is_in_session=False), None)
    assert not search.is_current(form)


def test_a_page_of_the_killed_process_is_dropped_though_its_form_is_asked_for_with_the_same_cookies():
    """A stored request for a form keeps the name of its cookies."""
    search, form, page = resumed()
    first = opened(search, form)
    assert not search.is_current(replace(page, session=first.session))


def test_each_session_has_its_own_cookies():
    search, form, _ = resumed()
    jars = {search.request(form).meta["cookiejar"] for _ in range(2)}
    assert (len(jars), opened(search, form).session in jars) == (2, False)


@pytest.mark.parametrize(("again", "errors"), [((1, 2, 3, 4), []), ((1, 2, 3), ["paging"])])
def test_a_listing_that_has_fewer_datasets_after_its_session_ended_is_not_complete(tmp_path, again, errors):
    """What answers the form that was sent again may be the form, or what the server lists without a search."""
    form = "<form method=post action=/r><input name=q></form>"
    given = [links(1, 2, 3, 4, following="/2"), links(*again, following="/3")]

    def answers(request):
        body, status = {"/search": (form, 200), "/2": ("", 440), "/3": (links(5), 200)}.get(path(request), ("", 200))
        body = given.pop(0) if path(request) == "/r" else body or "<h1>One</h1>"
        if path(request) == "/3" and errors:
            body = "<p>nothing</p>"
        return response(request, body.encode(), status, {"Content-Type": "text/html; charset=utf-8"})

    text = f"start = '{URL}'\nform = {{ fields = {{ q = '' }} }}\nlinks = {{ css = 'li a' }}\n[fields]\ntitle = 'h1'"
    (tmp_path / "rules.toml").write_text(text)
    done = walk(HTML, answers, tmp_path, {"COOKIES_ENABLED": True}, rules=str(tmp_path / "rules.toml"))
    assert [path(request) for request in done.asked].count("/search") == 2
    assert [error.kind for error in done.errors] == errors
