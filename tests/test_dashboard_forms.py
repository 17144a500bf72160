"""The page that edits a source, and those that ask first: accept a shrink, rename, purge."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from typing import TYPE_CHECKING

import pytest
from lxml import html

from crawlers.operate.dashboard.forms import FIELDS, Form, difference
from crawlers.operate.sources import edit
from crawlers.operate.sources.file import digest
from tests.conftest import ROOT, scrapy
from tests.portal.portal import Portal
from tests.test_dashboard_actions import Browser, Desk
from tests.test_dashboard_users import WORDS, audited, peopled
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TABLES = """\
# Ours

[rivers]  # the first
spider = "ckan"   # any
schedule = "daily"  # at night
arguments = { portal = "https://rivers.example.org" }
retry = ["1h", '6h']

# Not yet
[lakes]
enabled = false
spider = 'ckan'
arguments.portal = "https://lakes.example.org"  # theirs

[lakes.exclude]
tag = ["test"]  # really

[lakes.exclude.pattern]
title = "^x"
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Desk]:
    with peopled(tmp_path_factory.mktemp("desk")) as desk:
        yield desk


@pytest.fixture(scope="module")
def login(shared) -> Callable[[str], Browser]:
    """A browser of each user, which is logged in once."""
    return cache(lambda name: shared.browser(name, WORDS[name]))


@pytest.fixture
def desk(shared) -> Desk:
    shared.file.write_text(TABLES)
    return shared


def fields(browser: Browser, path: str) -> dict[str, str]:
    """What a browser would send of a form, untouched."""
    return typed(browser.page(path))


def typed(page) -> dict[str, str]:
    (form,) = page.xpath("//main//form")
    return {name: value.removeprefix("\n") for name, value in form.form_values()}  # as browsers read a textarea


def errors(page) -> dict[str, str]:
    """The sentence beside each field."""
    found = page.xpath("//main//form//*[@class='error']")
    return {one.get("id").removeprefix("error-"): one.text_content() for one in found}


def test_a_form_that_is_not_touched_changes_nothing(desk, login):
    for source in ("rivers", "lakes"):
        sent = fields(login("ada"), f"/sources/{source}/edit")
        assert login("ada").post(f"/sources/{source}/edit", sent).status == 303
        assert desk.file.read_text() == TABLES
    assert f"[{source}] is as it was." in login("ada").get("/").text


def test_every_key_has_a_field():
    documented = {
        key
        for line in (ROOT / "docs" / "sources.md").read_text().splitlines()
        for key in re.findall("`([a-z_]+)`", line.split(" | ")[0])
    }
    keys = {one.key for one in FIELDS}
    assert keys <= documented
    assert {"spider", "schedule", "timezone", "retry", "contact", "enabled", "archive", "publish"} <= keys
    assert {"arguments", "exclude", "defaults", "overrides", "settings"} <= keys


def test_comments_stay_and_what_was_typed_is_in_the_file(desk, login):
    sent = fields(login("ada"), "/sources/rivers/edit") | {
        "schedule": "weekly sun 01:00-05:00",
        "timezone": "Europe/Zurich",
        "retry": "2h, 1d",
        "contact": 'Ada "B" <ada@example.org>',
        "archive": "yes",
        "arguments": 'portal = "https://rivers.example.org"\r\nq = "flood"',
        "exclude": 'tag = ["test"]\n[pattern]\ntitle = "(?i)^test"',
        "defaults": 'license = "CC-BY-4.0"',
        "overrides": 'publisher = "Us"',
        "settings": "REQUESTS_PER_SECOND = 1.5\nALLOWED_PRIVATE_HOSTS = ['10.0.0.7:8080']",
        "publish": 'organization = "us"',
    }
    answer = login("ada").post("/sources/rivers/edit", sent)
    assert answer.status == 303, errors(login("ada").page("/sources/rivers/edit"))
    after = desk.file.read_text()
    assert tomllib.loads(after)["rivers"] == {
        "spider": "ckan",
        "schedule": "weekly sun 01:00-05:00",
        "timezone": "Europe/Zurich",
        "retry": ["2h", "1d"],
        "contact": 'Ada "B" <ada@example.org>',
        "archive": True,
        "arguments": {"portal": "https://rivers.example.org", "q": "flood"},
        "exclude": {"tag": ["test"], "pattern": {"title": "(?i)^test"}},
        "defaults": {"license": "CC-BY-4.0"},
        "overrides": {"publisher": "Us"},
        "settings": {"REQUESTS_PER_SECOND": 1.5, "ALLOWED_PRIVATE_HOSTS": ["10.0.0.7:8080"]},
        "publish": {"organization": "us"},
    }
    for comment in ("# Ours", "# the first", "# any", "# at night", "# Not yet", "# theirs", "# really"):
        assert comment in after
    assert after[after.index("# Not yet") :] == TABLES[TABLES.index("# Not yet") :]
    (begun, ended) = audited(desk.folder)[-2:]
    assert (begun["who"], begun["action"], begun["subject"]) == ("ada", "edit", "rivers")
    assert begun["given"]["arguments.q"] == "flood"
    assert ended["done"]


def test_an_empty_field_removes_the_key(desk, login):
    sent = fields(login("otto"), "/sources/lakes/edit") | {"exclude": 'pattern = {title = "^y"}', "enabled": "yes"}
    assert login("otto").post("/sources/lakes/edit", sent).status == 303
    assert tomllib.loads(desk.file.read_text())["lakes"]["exclude"] == {"pattern": {"title": "^y"}}
    sent = fields(login("otto"), "/sources/lakes/edit") | {"exclude": " "}
    assert login("otto").post("/sources/lakes/edit", sent).status == 303
    assert not tomllib.loads(desk.file.read_text())["lakes"].get("exclude", {}).get("tag")
    sent = fields(login("otto"), "/sources/rivers/edit") | {"schedule": "", "retry": ""}
    assert login("otto").post("/sources/rivers/edit", sent).status == 303
    assert not {"schedule", "retry"} & tomllib.loads(desk.file.read_text())["rivers"].keys()


WRONG = {
    "schedule": ("nightly", "[rivers]: schedule: "),
    "timezone": ("Europe/Zürich", "[rivers]: timezone: "),
    "retry": ("soon", "[rivers]: retry: "),
    "contact": ("x" * 201, "[rivers]: contact is no single line of at most 200 characters."),
    "spider": ("ckna", "Did you mean ckan?"),
    "arguments": ('portall = "https://x.example"', "Did you mean portal?"),
    "exclude": ("tagg = ['x']", "exclude"),
    "defaults": ("licence = 'x'", "defaults"),
    "overrides": ("= 1", "lines of TOML, such as"),
    "publish": ("fields = {x = 'y'}", "publish"),
    "settings": ("RETRY_TIME = 1", "[rivers.settings]: RETRY_TIME is not a setting. Did you mean RETRY_TIMES?"),
}


@pytest.mark.parametrize("key", WRONG)
def test_a_mistake_stands_beside_its_field(desk, login, key):
    value, sentence = WRONG[key]
    sent = fields(login("ada"), "/sources/rivers/edit") | {"contact": "<b>me</b>"} | {key: value}
    answer = login("ada").post("/sources/rivers/edit", sent)
    assert answer.status == 400
    page = html.document_fromstring(answer.text)
    assert sentence in errors(page)[key], errors(page)
    (invalid,) = page.xpath("//*[@aria-invalid]")
    assert (invalid.get("name"), invalid.get("aria-describedby")) == (key, f"error-{key}")
    assert typed(page) == sent, "what was typed stays"
    assert desk.file.read_text() == TABLES
    assert "<b>me" not in answer.text


@pytest.mark.parametrize(
    "setting",
    [
        *("OUTPUT_DIR = '/tmp'", "DOWNLOADER = 'x.y'", "EXTENSIONS = {x = 1}", "BROWSER_EXECUTABLE = '/bin/sh'"),
        *("SPIDER_MODULES = ['x']", "TRUSTED_PROXIES = ['0.0.0.0/0']", "EDITOR = 'sh'", "JOBDIR = 'x'"),
    ],
)
def test_settings_that_name_code_or_places_are_refused_to_an_admin_too(desk, login, setting):
    sent = fields(login("ada"), "/sources/rivers/edit") | {"settings": setting}
    answer = login("ada").post("/sources/rivers/edit", sent)
    assert answer.status == 400
    assert "applies to all sources" in answer.text
    assert desk.file.read_text() == TABLES


def test_an_operator_changes_no_settings(desk, login):
    sent = fields(login("otto"), "/sources/rivers/edit")
    page = login("otto").page("/sources/rivers/edit")
    assert page.xpath("//textarea[@readonly]/@name") == ["settings"]
    answer = login("otto").post("/sources/rivers/edit", sent | {"settings": "ALLOWED_PRIVATE_HOSTS = ['10.0.0.7']"})
    assert answer.status == 403
    assert "Settings take the role admin: nothing was changed." in answer.text
    assert desk.file.read_text() == TABLES


@pytest.mark.parametrize("portal", ["http://10.0.0.5", "http://2130706433", "http://[::1]:80", "http://localhost:9200"])
def test_an_operator_names_no_private_address(desk, login, portal):
    sent = fields(login("otto"), "/sources/rivers/edit") | {"arguments": f'portal = "{portal}"'}
    answer = login("otto").post("/sources/rivers/edit", sent)
    assert answer.status == 400
    assert "is not public: an admin may name it" in answer.text
    assert desk.file.read_text() == TABLES
    assert login("ada").post("/sources/rivers/edit", sent | token(login("ada"))).status == 303


def test_an_operator_names_no_file_elsewhere(desk, login):
    sent = fields(login("otto"), "/sources/rivers/edit") | {"spider": "html", "arguments": 'rules = "/etc/passwd"'}
    answer = login("otto").post("/sources/rivers/edit", sent)
    assert answer.status == 400
    assert "/etc/passwd is not below" in answer.text


def test_a_name_that_an_operator_gives_must_stay_public(desk, login):
    sent = fields(login("otto"), "/sources/rivers/edit") | {"arguments": 'portal = "https://other.example.org"'}
    assert login("otto").post("/sources/rivers/edit", sent).status == 303
    assert tomllib.loads(desk.file.read_text())["rivers"]["settings"] == {"PORTAL_MAY_BE_PRIVATE": False}


def token(browser: Browser) -> dict[str, str]:
    return {"token": browser.token()}


def test_a_table_that_was_changed_meanwhile_is_shown(desk, login):
    sent = fields(login("otto"), "/sources/rivers/edit") | {"contact": "mine"}
    theirs = TABLES.replace('"daily"', '"weekly"')
    desk.file.write_text(theirs)
    answer = login("otto").post("/sources/rivers/edit", sent)
    assert answer.status == 409
    assert "was changed meanwhile, and nothing was overwritten" in answer.text
    assert "schedule = &#34;weekly&#34;" in answer.text
    assert 'value="mine"' in answer.text
    assert desk.file.read_text() == theirs
    assert login("otto").post("/sources/rivers/edit", sent | {"table": ""}).status == 409
    assert login("otto").post("/sources/rivers/disable", token(login("otto")) | {"table": sent["table"]}).status == 303
    assert "was changed meanwhile" in login("otto").get("/").text
    assert desk.file.read_text() == theirs
    again = sent | {"table": digest(tomllib.loads(theirs)["rivers"])}
    assert login("otto").post("/sources/rivers/edit", again).status == 303


@pytest.mark.parametrize("name", ["..", "%2e%2e", "nobody", "x" * 3000, "%00", "a%0d%0ab", "<script>"])
@pytest.mark.parametrize("page", ["edit", "rename", "purge", "accept-shrink"])
def test_hostile_names(desk, login, page, name):
    for answer in (
        login("ada").get(f"/sources/{name}/{page}"),
        login("ada").post(f"/sources/{name}/{page}", token(login("ada")) | {"name": name}),
    ):
        assert answer.status in (303, 400, 404), answer.text
        assert "<script>" not in answer.text
        assert "Traceback" not in answer.text
    assert desk.file.read_text() == TABLES


@pytest.mark.parametrize("name", ["vera", ""])
@pytest.mark.parametrize("page", ["edit", "rename", "purge", "accept-shrink"])
def test_who_may_not_act_sees_no_form(desk, login, name, page):
    browser = login(name) if name else Browser(desk.url)
    assert browser.get(f"/sources/rivers/{page}").status == 403
    sent = {"token": browser.token() if name else "x", "table": digest(tomllib.loads(TABLES)["rivers"])}
    assert browser.post(f"/sources/rivers/{page}", sent).status == 403
    assert desk.file.read_text() == TABLES


def test_rename_and_purge_are_an_admins(desk, login):
    for page in ("rename", "purge"):
        assert login("otto").get(f"/sources/rivers/{page}").status == 403
        assert login("otto").post(f"/sources/rivers/{page}", token(login("otto")) | {"name": "rivers"}).status == 403
    labels = login("otto").page("/sources/rivers").xpath("//div[@class='buttons']//*[self::button or self::a]/text()")
    assert labels == ["Harvest now", "Disable", "Refuse", "Edit"]
    labels = login("ada").page("/sources/rivers").xpath("//div[@class='buttons']//*[self::button or self::a]/text()")
    assert labels == ["Harvest now", "Disable", "Refuse", "Edit", "Rename", "Purge"]
    assert desk.file.read_text() == TABLES


def test_a_shrink_is_shown_before_it_is_accepted(desk, login):
    report = max((desk.output / "rivers" / "runs").glob("*.json"))
    before = report.read_bytes()
    run = json.loads(before)
    said = {"run": run["run"], "kind": "shrink", "error": "<b>5</b> of 9 are gone. If these are gone, accept"}
    with (desk.output / "rivers" / "errors.jsonl").open("a") as file:
        file.write(json.dumps(said) + "\n")
    report.write_text(json.dumps(run | {"verdict": "incomplete", "errors": {"shrink": 1}}))
    try:
        page = login("otto").page("/sources/rivers")
        (link,) = page.xpath("//div[@class='buttons']//a[text()='Accept the shrink']/@href")
        answer = login("otto").get(link)
        assert "&lt;b&gt;5&lt;/b&gt; of 9 are gone" in answer.text
        sent = fields(login("otto"), link)
        assert sent["run"] == run["run"]
        login("otto").post(link, sent | {"run": "20200101T000000Z"})
        assert "its last run is another one by now" in login("otto").get("/").text
    finally:
        report.write_bytes(before)


def test_what_failed_is_retried(desk, login):
    report = max((desk.output / "rivers" / "runs").glob("*.json"))
    before = report.read_bytes()
    report.write_text(json.dumps(json.loads(before) | {"verdict": "incomplete", "errors": {"http": 1}}))
    try:
        with Portal(datasets=3) as portal:
            desk.file.write_text(TABLES.replace("https://rivers.example.org", portal.url))
            found = len(desk.reports())
            said = login("otto").press("rivers", "Retry what failed")
            assert said.startswith(("[rivers] is being harvested", "[rivers] was harvested"))
            until(lambda: len(desk.reports()) > found)
    finally:
        report.write_bytes(before)


@pytest.mark.slow
def test_a_source_is_renamed_and_purged(desk, login):
    ada = login("ada")
    with Portal(datasets=2) as portal:
        desk.file.write_text(f'# Kept\n[ponds]  # small\nspider = "ckan"\narguments.portal = "{portal.url}"\n' + TABLES)
        crawl = ["-a", f"portal={portal.url}", "-a", "source=ponds", "-s", f"OUTPUT_DIR={desk.output}", *desk.given]
        assert scrapy("crawl", "ckan", *crawl).returncode == 0
    sent = fields(ada, "/sources/ponds/rename")
    answer = ada.post("/sources/ponds/rename", sent | {"name": "lakes"})
    assert answer.headers["Location"] == "/sources/ponds/rename"
    assert "already has [lakes]" in ada.get(answer.headers["Location"]).text
    answer = ada.post("/sources/ponds/rename", sent | {"name": "pools"})
    assert answer.headers["Location"] == "/sources/pools"
    assert "[ponds] is [pools] now." in ada.get("/sources/pools").text
    assert (desk.output / "pools" / "manifest.jsonl").exists()
    page = ada.page("/sources/pools/purge")
    assert str(desk.output / "pools") in page.xpath("string(//main//ul)")
    sent = typed(page)
    ada.post("/sources/pools/purge", sent | {"name": "pool"})
    assert "type its name, pools" in ada.get("/sources/pools/purge").text
    assert (desk.output / "pools").exists()
    answer = ada.post("/sources/pools/purge", sent | {"name": "pools"})
    assert answer.headers["Location"] == "/sources", ada.get("/").text
    assert "[pools]: Deleted." in ada.get("/sources").text
    assert not (desk.output / "pools").exists()
    assert "pools" not in tomllib.loads(desk.file.read_text())
    assert [(one["action"], one["done"]) for one in audited(desk.folder) if "done" in one][-4:] == [
        ("rename", False),
        ("rename", True),
        ("purge", False),
        ("purge", True),
    ]


# Without a page


def test_a_difference_that_is_written_gives_the_table():
    before = tomllib.loads(TABLES)["lakes"]
    for after in (
        {"spider": "ckan"},
        before | {"exclude": {"tag": ["a", "b"]}},
        before | {"exclude": {"pattern": {"title": "^x", "name": "y"}}},
        before | {"overrides": {"tags": ["x"]}, "arguments": {"portal": "https://x.example", "q": "a.b"}},
    ):
        content = tomllib.loads(edit.update(TABLES, "lakes", difference(before, after)))
        assert edit._without_empty(content["lakes"]) == after
        assert content["rivers"] == tomllib.loads(TABLES)["rivers"]


def test_what_a_table_has_is_what_its_form_reads():
    for name, table in tomllib.loads((ROOT / "catalogues" / "sources.example.toml").read_text()).items():
        form = Form.of(table)
        assert form.table(table) == table, name
        assert not form.errors
        defaults = {"enabled": True, "archive": False}
        said = {key: value for key, value in table.items() if key in form.typed and value != defaults.get(key)}
        assert form.table({}) == said, name
