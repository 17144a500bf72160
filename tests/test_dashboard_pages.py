"""The pages of those who are logged in, in Chromium: who can use them, and what a person does there."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.portal.portal import Portal
from tests.test_dashboard_actions import Desk
from tests.test_dashboard_users import WORDS, peopled
from tests.test_pages import LOOKS, check_access, chromium, tab  # noqa: F401 -- a fixture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

OF_A_SOURCE = ("", "/edit", "/rename", "/purge")
PAGES = ("login", "add", "users", "audit", "sources", *(f"sources/rivers{one}" for one in OF_A_SOURCE))


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Desk]:
    with peopled(tmp_path_factory.mktemp("desk")) as desk:
        browser = desk.browser("ada", WORDS["ada"])
        browser.press("rivers", "Refuse", "it is <i>theirs</i>")
        browser.post("/sources/nobody/enable", {"token": browser.token()})
        yield desk


@pytest.fixture
def desk(shared) -> Desk:
    shared.write()
    return shared


def log_in(page: Page, url: str, name: str) -> None:
    page.goto(f"{url}login")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(WORDS[name])
    page.keyboard.press("Enter")
    page.wait_for_url(url)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_everyone_can_use_the_pages(desk, chromium, width, scheme):  # noqa: F811
    with tab(chromium, width, scheme) as page:
        page.goto(f"{desk.url}login")
        check_access(page, width)
        log_in(page, desk.url, "ada")
        for path in PAGES[1:]:
            assert page.goto(desk.url + path).ok, path
            check_access(page, width)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_person_adds_edits_and_purges_a_source(desk, chromium, width, scheme):  # noqa: F811
    name = f"ponds-{width}-{scheme}"
    with Portal(datasets=7) as portal, tab(chromium, width, scheme) as page:
        log_in(page, desk.url, "ada")
        page.goto(f"{desk.url}sources")
        page.get_by_role("link", name="Add a source").click()
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_label("Address", exact=True).fill(portal.url)
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("heading", name="Preview of").wait_for(timeout=120_000)
        assert page.locator("dl.record").count() == 5
        check_access(page, width)
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_text(f"[{name}] is added").wait_for()
        page.goto(f"{desk.url}sources")
        page.goto(f"{desk.url}sources/{name}/edit")
        page.get_by_label("Contact").fill("data@example.org")
        page.get_by_label("Retries").fill("1h")
        page.locator("textarea[name=settings]").fill("RETRY_TIMES = 2")
        page.get_by_role("button", name="Save").click()
        page.get_by_text(f"[{name}] is changed").wait_for()
        assert tomllib.loads(desk.file.read_text())[name] == {
            "spider": "ckan",
            "contact": "data@example.org",
            "retry": ["1h"],
            "arguments": {"portal": portal.url},
            "settings": {"RETRY_TIMES": 2},
        }
        page.goto(f"{desk.url}sources/{name}/purge")
        page.get_by_label("Type its name").fill(name)
        page.get_by_role("button", name="Purge").click()
        page.wait_for_url(f"{desk.url}sources")
        assert name not in tomllib.loads(desk.file.read_text())


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_mistakes_can_be_read(desk, chromium, width, scheme):  # noqa: F811
    with tab(chromium, width, scheme) as page:
        log_in(page, desk.url, "otto")
        page.route("**/edit", lambda route: route.fulfill(response=route.fetch(), status=200))  # 400 is told otherwise
        page.goto(f"{desk.url}sources/rivers/edit")
        page.get_by_label("Schedule").fill("nightly")
        page.get_by_label("What is left out").fill("tag = [")
        page.get_by_role("button", name="Save").click()
        page.locator(".error").first.wait_for()
        assert page.get_by_label("Schedule").input_value() == "nightly"
        check_access(page, width)
