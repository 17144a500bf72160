"""The pages of the dashboard and the report in Chromium: what each shows, each button, and who can use them."""

from __future__ import annotations

import io
import json
import os
import re
import tomllib
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from scrapy.settings import Settings

from crawlers.causes import ADVICE
from crawlers.components.browser import executables
from crawlers.operate.dashboard.tail import warnings
from crawlers.operate.report.report import write
from crawlers.operate.sources.listing import with_all
from crawlers.safety.locks import LOCK, take
from crawlers.store.index.database import connect
from tests.conftest import FAST, command, options, scrapy
from tests.dashboards import dashboard
from tests.indexed import indexed
from tests.portal.portal import Portal
from tests.test_dashboard_actions import PASSWORD
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

AXE = files("axe_playwright_python") / "axe.min.js"
LOOKS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]
SOURCES = """\
[rivers]
spider = "ckan"
schedule = "daily 02:00"
contact = "rivers@example.org"
arguments.portal = "RIVERS"

[broken]
spider = "hdx"
arguments.portal = "https://broken.example.org"

# Not yet
[fresh]
spider = "ckan"
review = "open"
schedule = "weekly"
arguments.portal = "https://fresh.example.org"

[asleep]
spider = "ckan"
enabled = false
arguments.portal = "https://asleep.example.org"

[wrong]
spider = "ckna"
"""
VIOLATIONS = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .map(one => [one.id, one.nodes.slice(0, 3).map(node => node.html.slice(0, 160))])"""


@dataclass
class House:
    """A folder with sources.toml, what crawls have left, and a dashboard that runs."""

    folder: Path
    url: str = ""

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def given(self) -> list[str]:
        paths = {"JOBS_DIR": "jobs", "LOGS_DIR": "logs", "SOURCES_FILE": "sources.toml"}
        settings = {**FAST, **{name: str(self.folder / path) for name, path in paths.items()}}
        return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]

    def write(self, portal: str = "https://rivers.example.org") -> None:
        (self.folder / "sources.toml").write_text(SOURCES.replace("RIVERS", portal))

    def tables(self) -> dict[str, dict]:
        return tomllib.loads((self.folder / "sources.toml").read_text())

    def run(self, source: str) -> str:
        return max(path.stem for path in (self.output / source / "runs").glob("*.json"))

    def dataset(self) -> str:
        return self._first_line()["dataset_id"]

    def day(self) -> str:
        return self._first_line()["time"][:10]

    def _first_line(self) -> dict:
        return json.loads((self.output / "rivers" / "manifest.jsonl").read_text().splitlines()[0])


@pytest.fixture(scope="module")
def house(tmp_path_factory) -> Iterator[House]:
    made = House(tmp_path_factory.mktemp("house"))
    made.write()
    logs = made.folder / "logs"
    logs.mkdir()

    def crawl(spider, source, url):
        log = {"LOG_FILE": str(logs / f"{source}.log"), "RETRY_TIMES": "0", "ROBOTSTXT_OBEY": "0"}
        scrapy("crawl", spider, *options(made.output, log, portal=url, source=source))

    with Portal(datasets=30) as portal:
        crawl("ckan", "rivers", portal.url)
        edit = {"title": "Long" * 60, "notes": "<b>One</b> sentence. Another " + "one. " * 40, "version": "x" * 900}
        portal.change(edit={made.dataset(): edit})
        crawl("ckan", "rivers", portal.url)
    with Portal(datasets=20, faults=("gone=download_metadata", "error=_show")) as portal:
        crawl("hdx", "broken", portal.url)
    more = [*made.given, "-s", "DASHBOARD_PASSWORD_ENV=OURS", "-s", "HEARTBEAT_INTERVAL=0.2"]
    with dashboard(made.output, *more, OURS=PASSWORD) as (made.url, _):
        yield made


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- only where there is a browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executables.executable(Settings()), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def tab(chromium: Browser, width: int = 1280, scheme: str = "light", height: int = 800) -> Iterator[Page]:
    """A page that must say nothing on the console."""
    context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    opened, said = context.new_page(), []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    context.close()
    assert said == []


def log_in(page: Page, url: str) -> None:
    page.goto(f"{url}login")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(url)


CUT = """() => [...document.querySelectorAll("main *, header *, footer *")].filter(one => {
    if (!one.checkVisibility() || one.closest(".unseen, .skip, svg, option")) return false;
    if (one.closest("thead") && getComputedStyle(one.closest("thead")).position === "absolute") return false; // cards
    const {overflowX, display, textOverflow} = getComputedStyle(one);
    const over = display === "inline" || !one.clientWidth ? 0 : one.scrollWidth - one.clientWidth;
    if (over <= 1 || one.matches("input, select, textarea, .chart")) return false;
    if (textOverflow === "ellipsis") return !one.closest("figure").querySelector("table"); // its numbers have it whole
    return !(["auto", "scroll"].includes(overflowX) && one.tabIndex === 0) || one.matches(".scroll:has(> table.cards)");
}).map(one => one.outerHTML.slice(0, 160))"""
"""What is wider than its box, and can't be scrolled with the keyboard; a table of cards needs no scrolling."""


def check_access(page: Page, width: int) -> None:
    """Nothing is wider than the screen or cut, and axe-core finds nothing, whether parts are folded or not."""
    page.evaluate(AXE.read_text())
    for is_open in (False, True):
        page.evaluate(f"document.querySelectorAll('details').forEach(one => one.open = {json.dumps(is_open)})")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT) == []
        assert page.evaluate(VIOLATIONS) == []


ADDRESSES = {
    "overview": lambda _: "",
    "sources": lambda _: "sources",
    "source": lambda _: "sources/rivers",
    "source that fails": lambda _: "sources/broken",
    "source that never ran": lambda _: "sources/fresh",
    "datasets": lambda _: "search?q=flood",
    "dataset": lambda house: f"sources/rivers/datasets/{house.dataset()}",
    "versions": lambda house: f"sources/rivers/versions/{house.dataset()}",
    "changes": lambda _: "changes",
    "changes of a day": lambda house: f"changes?source=rivers&day={house.day()}",
    "runs": lambda _: "runs",
    "run": lambda house: f"runs/rivers/{house.run('rivers')}",
    "run that fails": lambda house: f"runs/broken/{house.run('broken')}",
    "errors": lambda _: "errors",
    "files": lambda _: "files",
    "login": lambda _: "login",
    "nothing": lambda _: "nothing",
}


CHECKED = {
    "/",
    "/sources",
    "/sources/*",
    "/search",
    "/sources/*/datasets/*",
    "/sources/*/versions/*",
    "/changes",
    "/runs",
}
CHECKED |= {"/runs/*/*", "/errors", "/files", "/login", "/add", "/users", "/audit"}
CHECKED |= {f"/sources/*/{verb}" for verb in ("edit", "rename", "purge")}
"""Whose accessibility is checked below, or beside the tests of the forms."""


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("name", ADDRESSES)
def test_everyone_can_use_a_page(house, chromium, name, width, scheme):
    with tab(chromium, width, scheme) as page:
        if name == "nothing":  # else the browser says on the console that it is a 404
            page.route("**/nothing", lambda route: route.fulfill(response=route.fetch(), status=200))
        assert page.goto(house.url + ADDRESSES[name](house)).ok
        check_access(page, width)


@pytest.mark.browser
def test_without_scripts_two_versions_are_chosen_and_compared(house, chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{house.url}changes?source=rivers&status=updated")
    page.get_by_role("link", name="What differs: title, description").click()
    assert page.locator("h1").inner_text() == "Versions"
    assert page.locator(".difference del").count() >= 2
    page.get_by_label("From").select_option(index=1)  # the newer one: any two in any order
    page.get_by_label("To").select_option(index=1)
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/versions/*?from=*&to=*")
    assert "- LongLong" in page.locator(".difference").inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the version of").last.click()
    assert json.loads(download.value.path().read_bytes())["id"] == house.dataset()
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_everyone_can_use_the_buttons(house, chromium, width, scheme):
    with tab(chromium, width, scheme) as page:
        log_in(page, house.url)
        for path in ("", "sources", "sources/rivers"):
            page.goto(house.url + path)
            assert page.get_by_role("button", name="Log out").is_visible()
            check_access(page, width)


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, Path]:
    """Reports of one source with errors and of sixty, and of a folder with sources.toml."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "sources.toml").write_text(SOURCES.replace("RIVERS", "https://rivers.example.org"))
    for sources, listed in ((1, folder / "sources.toml"), (60, None)):
        output = folder / str(sources)
        indexed(output, datasets=120, sources=sources)
        with closing(connect(output)) as db, (folder / f"{sources}.html").open("wb") as file:
            write(db, file, complete=partial(with_all, db=db, output=output, jobs=None, listed=listed))
    return {str(sources): folder / f"{sources}.html" for sources in (1, 60)}


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("name", ["1", "60"])
def test_everyone_can_use_a_report(reports, chromium, name, width, scheme):
    with tab(chromium, width, scheme) as page:
        page.goto(reports[name].as_uri())
        check_access(page, width)


@pytest.mark.browser
def test_the_first_screen_has_what_is_wrong_the_last_runs_growth_and_changes(house, reports, chromium):
    with tab(chromium) as page:
        for address in (house.url, *(path.as_uri() for path in reports.values())):
            page.goto(address)
            assert page.get_by_role("heading", name="Needs attention").is_visible()
            for what in (".facts", ".strips", "figure:has(h3:text-is('Growth'))", "figure:has(h3:text-is('Changes'))"):
                box = page.locator(what).first.bounding_box()
                assert box["y"] + box["height"] <= 800, (address, what)


@pytest.mark.browser
def test_a_report_knows_the_sources_that_never_ran(reports, chromium):
    with tab(chromium) as page:
        page.goto(reports["1"].as_uri() + "#sources")
        table = page.get_by_role("table", name="Each source")
        assert table.is_visible(), "the address opens the part that it names"
        row = table.get_by_role("row").filter(has_text="fresh")
        assert "Pending review" in row.inner_text()
        assert "weekly" in row.inner_text()
        assert "scrapy sources approve fresh" in row.inner_text()


@pytest.mark.browser
def test_a_source_has_all_that_an_operator_asks(house, chromium):
    house.write()
    with tab(chromium) as page:
        page.goto(f"{house.url}sources")

        def row(name: str) -> str:
            return page.locator(f"tr:has(th[data-sort={name}])").inner_text()

        for word in ("complete", "ckan", "daily 02:00", "rivers@example.org", "30", "scrapy harvest rivers"):
            assert word in row("rivers")
        assert "https://rivers.example.org" in row("rivers")
        assert "incomplete" in row("broken")
        assert any(advice in row("broken") for advice in ADVICE.values()), "what its cause says"
        assert "never run" in row("fresh")
        assert "Pending review" in row("fresh")
        assert "Disabled" in row("asleep")
        assert "Did you mean ckan?" in row("wrong")
        names = [one.get_attribute("data-sort") for one in page.locator("table.listed tbody th").all()]
        assert names[:3] == ["broken", "fresh", "wrong"], "those that need attention come first"
        page.get_by_role("link", name="fresh", exact=True).click()
        assert "scrapy sources approve fresh" in page.locator("main").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("where", ["sources", "report"])
def test_a_table_is_sorted(house, reports, chromium, where):
    with tab(chromium) as page:
        page.goto(f"{house.url}sources" if where == "sources" else reports["60"].as_uri() + "#sources")
        table = page.locator("table.sorts").first
        place = page.evaluate(
            "one => [...one.tHead.rows[0].cells].findIndex(cell => cell.textContent === 'Datasets')",
            table.element_handle(),
        )
        heading = table.get_by_role("columnheader", name="Datasets")

        def numbers() -> list[int]:
            cells = table.locator(f"tbody tr > :nth-child({place + 1})").all_inner_texts()
            return [int(one) for one in cells]

        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == "descending"
        assert numbers() == sorted(numbers(), reverse=True)
        heading.get_by_role("button").press("Enter")
        assert heading.get_attribute("aria-sort") == "ascending"
        assert numbers() == sorted(numbers())
        table.get_by_role("columnheader", name="Source", exact=False).first.get_by_role("button").click()
        names = table.locator("tbody th bdi:first-of-type").all_inner_texts()
        numbered = [int(one.removeprefix("source-")) for one in names if one.startswith("source-")]
        assert numbered == sorted(numbered), "2 comes before 10"
        assert table.locator("[aria-sort]").count() == 1


@pytest.mark.browser
def test_the_cause_is_one_click_away(house, chromium):
    with tab(chromium) as page:
        for selector in ("section[aria-labelledby=attention] a:has-text('http')", ".marks a[href*='/runs/broken/']"):
            page.goto(house.url)
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            page.locator(selector).first.click()
            page.wait_for_url("**/runs/broken/*#errors")
            shown = page.locator("section[aria-labelledby=errors]").inner_text()
            assert "The portal answered with an HTTP error" in shown
            assert "500 Internal Server Error" in shown


@pytest.mark.browser
def test_what_runs_is_live(house, chromium):
    folder = house.output / "rivers"
    state = {"run": "20300101T000000Z", "spider": "ckan", "started": "2026-01-01T00:00:00.000Z", "expected": 120}
    state |= {"heartbeat": "2030-01-01T00:00:00Z", "requests_per_second": 1.5, "waits": ["waits 60 s: HTTP 429"]}

    def write(**more) -> None:
        (folder / "running.next").write_text(json.dumps(state | more))
        (folder / "running.next").rename(folder / "running.json")

    lock = take(folder / LOCK)
    with tab(chromium) as overview, tab(chromium) as sources:
        write(listed=30)
        for page, path in ((overview, ""), (sources, "sources")):
            page.goto(house.url + path)
            page.evaluate("window.same = true")
            page.locator("[data-renew], table, p").get_by_text("30 of 120").locator("visible=true").first.wait_for()
            for word in ("1.50 requests/s", "waits 60 s: HTTP 429"):
                assert page.get_by_text(word).first.is_visible()
        write(listed=60)
        for page in (overview, sources):
            page.locator("[data-renew], table, p").get_by_text("60 of 120").locator("visible=true").first.wait_for()
            assert page.evaluate("window.same"), "the page is the same: only its figures are renewed"
        with overview.expect_navigation():
            (folder / "running.json").unlink()
            os.close(lock)
        assert overview.get_by_text("of 120").count() == 0, "the crawl has ended: the whole page is renewed"


STATES = {
    "Enable": ("asleep", {"enabled": True}, "is enabled."),
    "Disable": ("rivers", {"enabled": False}, "is disabled: --all and --due skip it."),
    "Approve": ("fresh", {"review": "approved", "review_comment": "ours"}, "is approved."),
    "Refuse": ("fresh", {"review": "refused", "review_comment": "ours"}, "is refused: no harvest takes it."),
}


@pytest.mark.browser
@pytest.mark.parametrize("where", ["sources", "source"])
@pytest.mark.parametrize("label", STATES)
def test_a_button_changes_the_table_on_disk(house, chromium, where, label):
    house.write()
    before = house.tables()
    source, keys, sentence = STATES[label]
    with tab(chromium) as page:
        log_in(page, house.url)
        page.goto(f"{house.url}sources" if where == "sources" else f"{house.url}sources/{source}")
        part = page.locator(f"tr:has(th[data-sort={source}])" if where == "sources" else "main")
        if where == "sources":
            part.locator("summary").click()
        form = part.locator("form").filter(has=page.get_by_role("button", name=label, exact=True))
        if "review" in keys:
            form.locator("input[name=why]").fill("ours")
        form.get_by_role("button").click()
        assert page.get_by_role("status").inner_text() == f"[{source}] {sentence}"
    after = house.tables()
    assert {name: value for name, value in after[source].items() if name in keys} == keys
    assert {name: one for name, one in after.items() if name != source} == {
        name: one for name, one in before.items() if name != source
    }
    assert "# Not yet" in (house.folder / "sources.toml").read_text()


@pytest.mark.browser
def test_a_source_is_harvested_and_stopped(house, chromium):
    runs = len(list((house.output / "rivers" / "runs").glob("*.json")))
    with Portal(datasets=305, faults=("slow=1",)) as portal, tab(chromium) as page:
        house.write(portal.url)
        log_in(page, house.url)
        page.goto(f"{house.url}sources/rivers")
        page.get_by_role("button", name="Harvest now").click()
        assert page.get_by_role("status").inner_text().startswith("[rivers] is being harvested; log: ")
        until((house.output / "rivers" / "running.json").exists)
        page.goto(f"{house.url}sources/rivers")
        page.get_by_role("button", name="Stop", exact=True).click()
        assert "[rivers] is being stopped" in page.get_by_role("status").inner_text()
        until(lambda: len(list((house.output / "rivers" / "runs").glob("*.json"))) > runs)
    report = json.loads((house.output / "rivers" / "runs" / f"{house.run('rivers')}.json").read_bytes())
    assert report["verdict"] == "interrupted"
    house.write()


NO_PAGE = re.compile(r"/(?:api|archive)/|\.(?:csv|atom|js)$|^/(?:healthz|now)$")
SHAPES = ((r"^/(sources|runs)/[^/]+", r"/\1/*"), (r"/(datasets|versions)/.+", r"/\1/*"), (r"^/runs/\*/.+", "/runs/*/*"))
PRESSED_ELSEWHERE = {"Harvest now", "Stop", "Retry what failed", "Preview", "Accept the shrink"}
"""By the tests of what they start: crawls."""
BUTTONS = """() => [...document.querySelectorAll("main form:not([method=post]) button")]
    .filter(one => one.checkVisibility()).map(one => one.innerText)"""


def shape(path: str) -> str:
    for pattern, short in SHAPES:
        path = re.sub(pattern, short, path)
    return path


def walk(page: Page, url: str) -> Iterator[str]:
    """Visit a page of each shape that a link leads to."""
    waiting, seen = ["/"], {"/"}
    while waiting:
        address = waiting.pop(0)
        answer = page.goto(url.rstrip("/") + address)
        assert answer.ok, address
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        links = "all => all.filter(one => one.origin === location.origin && !one.download).map(one => one.href)"
        for link in page.eval_on_selector_all("a[href]", links):
            path = urlsplit(link).path
            if not NO_PAGE.search(path) and shape(path) not in seen:
                seen.add(shape(path))
                waiting.append(path)
        yield shape(address)


def told(page: Page) -> str:
    return page.get_by_role("status").first.inner_text()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [LOOKS[1], LOOKS[2]])
def test_each_page_is_walked_and_each_button_pressed(house, chromium, width, scheme):
    house.write()
    labels, pressed, shapes = set(), {"Log out"}, set()
    with tab(chromium, width, scheme) as page:
        log_in(page, house.url)
        for at in walk(page, house.url):
            shapes.add(at)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, at
            assert page.evaluate(CUT) == [], at
            if at not in CHECKED:
                check_access(page, width)
            labels |= {*page.locator("button:not(.sort)").all_inner_texts()}
            for place, label in enumerate(page.evaluate(BUTTONS)):
                here = page.url
                page.locator("main form:not([method=post]) button").nth(place).click()
                assert page.locator("h1").is_visible(), label
                assert page.evaluate(CUT) == [], (at, label)
                pressed.add(label)
                page.goto(here)

        def press(path: str, label: str, said: str, **typed: str) -> None:
            page.goto(house.url + path)
            form = page.locator("form").filter(has=page.get_by_role("button", name=label, exact=True)).first
            for name, value in typed.items():
                form.locator(f"[name={name}]").fill(value)
            form.get_by_role("button", name=label, exact=True).click()
            assert said in told(page)
            pressed.add(label)

        press("sources/rivers", "Disable", "is disabled")
        press("sources/rivers", "Enable", "is enabled")
        press("sources/fresh", "Refuse", "is refused", why="theirs")
        press("sources/fresh", "Approve", "is approved")
        press("sources/fresh/edit", "Save", "is changed", owner="Ada")
        assert page.get_by_text("Ada", exact=True).is_visible()
        press("sources/asleep/rename", "Rename", "snoring", name="snoring")
        press("sources/snoring/purge", "Purge", "snoring", name="snoring")
        press("users", "Add", "vera may log in", name="vera", password="vera looks on")
        page.goto(f"{house.url}users")
        page.get_by_role("button", name="Remove vera").click()
        assert "vera is removed" in told(page)
        page.get_by_role("button", name="Log out").click()
        page.get_by_role("link", name="Log in", exact=True).first.wait_for()
    assert shapes >= {"/sources/*/datasets/*", "/sources/*/versions/*", "/runs/*/*", "/audit", "/users", "/add"}
    assert labels - pressed <= PRESSED_ELSEWHERE | {"Remove", "Search"}
    assert pressed >= {"Show", "Compare"}


def test_a_log_says_its_warnings_and_errors_in_order(tmp_path):
    log = tmp_path / "x.log"
    record = "2026-11-23 05:00:0{} [{}] {}: {}\n"
    log.write_text(
        record.format(1, "rivers", "INFO", "page 1")
        + record.format(2, "crawlers.extensions.report", "WARNING", "slow https://me:hunter2@example.org/")
        + record.format(3, "scrapy.core.scraper", "ERROR", "it broke")
        + "Traceback (most recent call last):\n"
        + "".join(f"  line {number}\n" for number in range(40))
        + record.format(4, "rivers", "INFO", "WARNING: of a title only")
    )
    shown = warnings(tmp_path, str(log))
    assert [line[20:] for line in shown[:2]] == [
        "[crawlers.extensions.report] WARNING: slow https://***@example.org/",
        "[scrapy.core.scraper] ERROR: it broke",
    ]
    assert len(shown) == 1 + 12, "a traceback is cut"
    assert warnings(tmp_path / "elsewhere", str(log)) == []
    log.write_text("".join(record.format(1, "rivers", "WARNING", number) for number in range(100_000)))
    assert [line[-5:] for line in warnings(tmp_path, str(log))] == [str(number) for number in range(99_980, 100_000)]


@pytest.mark.slow
def test_a_table_that_is_no_table_is_told_and_the_rest_is_shown(tmp_path):
    from crawlers.operate.dashboard import app  # noqa: PLC0415 -- Flask is not needed by the others

    output, listed = tmp_path / "output", tmp_path / "sources.toml"
    indexed(output, datasets=12)
    for text, sentence in (("no TOML", "is not TOML"), ('[x]\nspider = "ckna"\n', "its table is invalid")):
        listed.write_text(text)
        asked = app(output, listed=listed).test_client()
        for path in ("/", "/sources"):
            answer = asked.get(path, base_url="http://localhost")
            assert answer.status_code == 200
            assert "source-2" in answer.text
        assert sentence in asked.get("/", base_url="http://localhost").text
        page = io.BytesIO()
        with closing(connect(output)) as db:
            write(db, page, complete=partial(with_all, db=db, output=output, jobs=None, listed=listed))
        assert sentence in page.getvalue().decode()


def test_the_command_gives_the_report_what_sources_toml_says(house, tmp_path):
    page = tmp_path / "report.html"
    ran = command("report", "-o", str(page), "-s", f"OUTPUT_DIR={house.output}", *house.given)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "scrapy sources approve fresh" in page.read_text()
