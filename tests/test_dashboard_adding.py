"""Sources that are added on the page: what is typed, what is found, five records, and what is in sources.toml then."""

from __future__ import annotations

import json
import socket
import time
import tomllib
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from lxml import html

from crawlers.operate.dashboard.adding import Preview
from crawlers.operate.dashboard.command import Command
from crawlers.operate.dashboard.forms import Form
from tests.conftest import scrapy
from tests.dashboards import dashboard
from tests.portal.html.families import PLAIN
from tests.portal.portal import Portal
from tests.test_dashboard_actions import Browser, Desk
from tests.test_dashboard_forms import errors, typed
from tests.test_dashboard_users import WORDS, audited, peopled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BEFORE = '# Ours\n\n[lakes]  # theirs\nspider = "ckan"\narguments.portal = "https://lakes.example.org"\n'


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Desk]:
    with peopled(tmp_path_factory.mktemp("desk")) as desk:
        yield desk


@pytest.fixture(scope="module")
def login(shared) -> Callable[[str], Browser]:
    return cache(lambda name: shared.browser(name, WORDS[name]))


@pytest.fixture
def desk(shared) -> Desk:
    shared.file.write_text(BEFORE)
    return shared


@pytest.fixture(scope="module")
def portal() -> Iterator[Portal]:
    with Portal(datasets=9) as made:
        yield made


def written(desk: Desk) -> set[Path]:
    """What is on disk, but for logs and the cache of figures."""
    return {path for path in desk.folder.rglob("*") if not {"logs", ".figures"} & {*path.parts}}


def previewed(browser: Browser, **given: str):
    """Fill in the form, send it, and return the page that shows what was found."""
    sent = typed(browser.page("/add")) | given
    answer = browser.post("/add", sent)
    assert answer.status == 303, errors(html.document_fromstring(answer.text))
    return followed(browser, answer.headers["Location"])


def followed(browser: Browser, path: str):
    for _ in range(60):
        page = browser.page(path)
        if not page.xpath("//meta[@http-equiv='refresh']"):
            return page
    raise AssertionError("it is never found out")


def test_a_source_is_added_after_a_preview(desk, login, portal):
    ada = login("ada")
    before = written(desk)
    page = previewed(ada, name="ponds", address=f"{portal.url}/dataset/x", schedule="daily", contact='a "b" <c>')
    assert len(page.xpath("//dl[@class='fields record']")) == 5
    assert portal.url in page.xpath("string(//dl[1])")
    assert "CKAN, 9 datasets" in page.xpath("string(//section[@aria-labelledby='notes'])")
    assert desk.file.read_text() == BEFORE, "nothing is added yet"
    assert written(desk) == before
    (form,) = page.xpath("//main//form")
    answer = ada.post(form.action, typed(page))
    assert answer.headers["Location"] == "/sources/ponds"
    after = desk.file.read_text()
    assert after.startswith(BEFORE)
    assert tomllib.loads(after)["ponds"] == {
        "spider": "ckan",
        "schedule": "daily",
        "contact": 'a "b" <c>',
        "arguments": {"portal": portal.url},
    }
    assert "[ponds] is added: spider ckan" in ada.get("/").text
    begun, ended = audited(desk.folder)[-2:]
    assert (begun["who"], begun["action"], begun["subject"], ended["done"]) == ("ada", "add", "ponds", True)
    assert ada.get(form.action).status == 404, "it is added once"


def test_what_was_typed_goes_into_the_table(desk, login, portal):
    ada = login("ada")
    given = {"arguments": "organization = 'river-gauge-network'\nrows = 5", "settings": "RETRY_TIMES = 1"}
    given |= {"exclude": "tag = ['x']", "retry": "1h", "timezone": "Europe/Zurich", "archive": "yes"}
    page = previewed(ada, name="ponds", address=portal.url, spider="ckan", **given)
    (form,) = page.xpath("//main//form")
    assert ada.post(form.action, typed(page)).status == 303
    table = tomllib.loads(desk.file.read_text())["ponds"]
    assert table["arguments"] == {"portal": portal.url, "organization": "river-gauge-network", "rows": 5}
    assert table["settings"] == {"RETRY_TIMES": 1}
    assert (table["exclude"], table["retry"], table["archive"]) == ({"tag": ["x"]}, ["1h"], True)
    page = previewed(ada, name="pools", address=portal.url)
    change = page.xpath("//a[text()='Change']/@href")[0]
    assert typed(ada.page(change))["address"] == portal.url


def test_the_rules_of_pages_are_learned_and_shown(desk, login):
    ada, rules = login("ada"), desk.folder / "catalogues" / "ponds.toml"
    with PLAIN["drupal"](25) as catalogue:
        page = previewed(ada, name="ponds", address=catalogue.address)
    shown = page.xpath("string(//section[@aria-labelledby='rules']/pre)")
    assert "start" in tomllib.loads(shown)
    assert len(page.xpath("//dl[@class='fields record']")) == 5
    assert not rules.exists(), "nothing is written yet"
    (form,) = page.xpath("//main//form")
    assert ada.post(form.action, typed(page)).status == 303
    assert rules.read_text() == shown
    table = tomllib.loads(desk.file.read_text())["ponds"]
    assert table == {"spider": "html", "arguments": {"rules": str(rules)}}
    rules.unlink()


WRONG = {
    "name": [("a/b", "The name is not"), ("lakes", "already has [lakes]"), ("", "The name is not")],
    "address": [("nowhere", "The address is not"), ("file:///etc/passwd", "The address is not"), ("-h", "is not")],
    "spider": [("ckna", "Did you mean ckan?")],
    "schedule": [("nightly", "schedule: ")],
    "arguments": [("portall = 1", "argument"), ("api_key = 'x'", "is a secret")],
    "settings": [("DOWNLOADER = 'x.y'", "applies to all sources"), ("RETRY_TIME = 1", "Did you mean RETRY_TIMES?")],
}


@pytest.mark.parametrize(("key", "value", "sentence"), [(key, *one) for key, those in WRONG.items() for one in those])
def test_a_mistake_stands_beside_its_field(desk, login, key, value, sentence):
    sent = typed(login("ada").page("/add")) | {"name": "ponds", "address": "https://x.example", "contact": "<b>me"}
    sent |= {"spider": "ckan"} if key == "arguments" else {}
    answer = login("ada").post("/add", sent | {key: value})
    page = html.document_fromstring(answer.text)
    assert answer.status == 400
    assert sentence in errors(page)[key], errors(page)
    assert typed(page) == sent | {key: value}
    assert "<b>me" not in answer.text
    assert desk.file.read_text() == BEFORE


def test_what_is_not_there_stands_beside_the_address(desk, login):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    page = previewed(login("ada"), name="ponds", address=f"http://127.0.0.1:{port}/", contact="me")
    assert f"http://127.0.0.1:{port}/ is not available" in errors(page)["address"]
    assert typed(page)["contact"] == "me"
    assert desk.file.read_text() == BEFORE


@pytest.mark.parametrize(
    "address", ["http://10.0.0.5/", "http://0x7f.1:9200", "http://localhost", "http://db.internal"]
)
def test_an_operator_asks_no_private_address(desk, login, address):
    sent = typed(login("otto").page("/add")) | {"name": "ponds", "address": address}
    answer = login("otto").post("/add", sent)
    assert answer.status == 400
    assert "is not public: an admin may name it" in errors(html.document_fromstring(answer.text))["address"]


def test_a_name_that_leads_to_a_private_address_is_not_asked(desk, login, portal):
    """Its spelling does not say it: the process that asks finds out."""
    asked = portal.requests()
    page = previewed(login("otto"), name="ponds", address=portal.url.replace("127.0.0.1", socket.gethostname()))
    sentence = errors(page)["address"]
    assert "is not public" in sentence or "not be resolved" in sentence or "DNS" in sentence, sentence
    assert portal.requests() == asked


def test_an_operator_names_no_file_and_no_setting(desk, login):
    sent = typed(login("otto").page("/add")) | {"name": "ponds", "address": "https://x.example"}
    answer = login("otto").post("/add", sent | {"arguments": "kind = '/etc/passwd'", "spider": "api"})
    assert "is not below" in errors(html.document_fromstring(answer.text))["arguments"]
    answer = login("otto").post("/add", sent | {"settings": "ALLOWED_PRIVATE_HOSTS = ['10.0.0.5']"})
    assert answer.status == 403
    assert "take the role admin" in answer.text


def test_who_may_not_add_sees_no_form(desk, login):
    for browser in (login("vera"), Browser(desk.url)):
        assert browser.get("/add").status == 403
        sent = {"token": browser.token() or "x", "name": "ponds", "address": "https://x.example"}
        assert browser.post("/add", sent).status == 403
        assert browser.get("/add/x").status == 403
    assert "Add a source" not in login("vera").get("/sources").text
    assert "Add a source" in login("otto").get("/sources").text


def test_a_preview_is_of_who_asked(desk, login, portal):
    ada = login("ada")
    answer = ada.post("/add", typed(ada.page("/add")) | {"name": "ponds", "address": portal.url})
    where = answer.headers["Location"]
    assert login("otto").get(where).status == 404
    assert login("otto").post(where, {"token": login("otto").token()}).status == 404
    followed(ada, where)
    assert ada.post(where, {"token": "x"}).status == 403
    assert desk.file.read_text() == BEFORE


@contextmanager
def reviewing(desk: Desk, portal: Portal) -> Iterator[str]:
    host = portal.url.removeprefix("http://")
    more = [*desk.given, "-s", "REVIEW=True", "-s", f"ALLOWED_PRIVATE_HOSTS={host}"]
    with dashboard(desk.output, *more) as (url, _):
        yield url


def test_what_an_operator_adds_waits_for_its_review(desk, portal):
    with reviewing(desk, portal) as url:
        otto = Browser(url)
        assert otto.log_in(WORDS["otto"], "otto").status == 303
        page = previewed(otto, name="ponds", address=portal.url)
        (form,) = page.xpath("//main//form")
        assert otto.post(form.action, typed(page)).status == 303
        assert "It is pending review." in otto.get("/").text
        assert tomllib.loads(desk.file.read_text())["ponds"] == {
            "spider": "ckan",
            "review": "open",
            "arguments": {"portal": portal.url},
            "settings": {"PORTAL_MAY_BE_PRIVATE": False},
        }
        row = otto.page("/sources").xpath("string(//tr[th[@data-sort='ponds']])")
        assert "Pending review" in row


def test_a_preview_that_takes_too_long_is_stopped():
    command = Command(["shell", "--nolog"], [], [])
    preview = Preview("ada", "ponds", "https://x.example", Form.of({}), {}, command, begun=time.monotonic() - 1000)
    assert preview.wait(0) is None
    command.stop()
    assert "took longer than 120 seconds" in preview.wait(10)["mistake"]
    assert command.process.poll() is not None


def test_what_a_preview_prints_is_not_trusted():
    for printed in ("", "[1]", "{}", "x" * 100):
        ended = SimpleNamespace(output=printed, errors="", sentence="")
        command = SimpleNamespace(ended=lambda _, ended=ended: ended)
        found = Preview("ada", "ponds", "https://x.example", Form.of({}), {}, command).wait(0)
        assert found["mistake"] == "The preview ended without a result: try again."


# The command


def test_the_command_previews_and_reviews(tmp_path, portal):
    file = tmp_path / "sources.toml"
    given = ("-s", f"SOURCES_FILE={file}", "-s", f"OUTPUT_DIR={tmp_path / 'output'}")
    ran = scrapy("sources", "add", "ponds", portal.url, "--preview", *given)
    assert ran.returncode == 0, ran.stderr
    assert f"Would be added: spider ckan, portal = {portal.url}." in ran.stdout
    assert ran.stdout.count("  title: ") == 5
    assert not file.exists()
    found = json.loads(scrapy("sources", "add", "ponds", portal.url, "--preview", "--json", *given).stdout)
    assert (found["spider"], len(found["records"]), found["expected"]) == ("ckan", 5, 9)
    assert "--json with --preview" in scrapy("sources", "add", "ponds", portal.url, "--json", *given).stderr
    assert not Path(tmp_path / "output" / "ponds").exists()
    assert scrapy("sources", "add", "ponds", portal.url, *given, "-s", "REVIEW=True").returncode == 0
    assert tomllib.loads(file.read_text())["ponds"]["review"] == "open"
