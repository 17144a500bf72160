"""The login and the buttons of a dashboard that runs: what each leaves on disk, and whom it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
import tomllib
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from flask import Flask
from lxml import html
from werkzeug.exceptions import Forbidden

from crawlers.operate.dashboard.login import COOKIE, LASTS, Login
from crawlers.operate.dashboard.users import Users
from crawlers.safety.locks import LOCK, is_held, take
from tests.conftest import FAST, scrapy
from tests.dashboards import Answer, ask, dashboard
from tests.portal.portal import Portal
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "correct horse"
FILE = """\
# Ours

[rivers]  # the first
spider = "ckan"   # any
schedule = "daily"
arguments = { portal = "PORTAL" }

# Not yet
[lakes]
enabled = false
spider = 'ckan'
arguments.portal = "https://lakes.example.org"

[wrong]
spider = "ckna"
"""


@dataclass
class Browser:
    """What a browser sends: the cookie it was given, and forms as the pages have them."""

    url: str
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str) -> Answer:
        return self._ask(path)

    def page(self, path: str) -> html.HtmlElement:
        answer = self.get(path)
        assert answer.status == 200, answer.text
        return html.document_fromstring(answer.text)

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        origin = {"Origin": self.url.rstrip("/"), "Sec_Fetch_Site": "same-origin"}
        sent = {name: value for name, value in (origin | headers).items() if value}
        kind = {"Content_Type": "application/x-www-form-urlencoded"}
        return self._ask(path, "POST", urlencode(fields).encode(), **kind, **sent)

    def log_in(self, password: str = PASSWORD, name: str = "", **headers: str) -> Answer:
        return self.post("/login", {"password": password} | ({"name": name} if name else {}), **headers)

    def press(self, source: str, label: str, why: str = "") -> str:
        """Press a button of a source's page; return what the next page says."""
        forms = self.page(f"/sources/{source}").xpath("//div[@class='buttons']/form")
        (form,) = (one for one in forms if one.findtext("button") == label)
        fields = {one.name: one.value or "" for one in form.xpath("input")}
        answer = self.post(form.action, fields | ({"why": why} if why else {}))
        assert (answer.status, answer.headers["Location"]) == (303, f"/sources/{source}")
        shown, again = (self.page(answer.headers["Location"]) for _ in range(2))
        assert not again.xpath("//p[@class='flash']"), "it is shown once"
        (sentence,) = shown.xpath("//p[@class='flash']")
        return sentence.text_content()

    def token(self) -> str:
        return self.page("/").xpath("string(//input[@name='token']/@value)")

    def _ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        answer = ask(self.url, path, method, body, **(cookie if self.cookies else {}), **headers)
        for given in answer.headers.get_all("Set-Cookie", []):
            name, _, value = given.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer


@dataclass
class Desk:
    folder: Path
    url: str = ""
    process: subprocess.Popen[str] | None = None

    @property
    def file(self) -> Path:
        return self.folder / "sources.toml"

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def given(self) -> list[str]:
        paths = {"JOBS_DIR": "jobs", "LOGS_DIR": "logs", "SOURCES_FILE": "sources.toml"}
        settings = {
            **FAST,
            **{name: str(self.folder / path) for name, path in paths.items()},
            "HEARTBEAT_INTERVAL": "0.2",
        }
        return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]

    def write(self, portal: str = "https://rivers.example.org") -> None:
        self.file.write_text(FILE.replace("PORTAL", portal))

    def reports(self, source: str = "rivers") -> list[dict]:
        return [json.loads(path.read_bytes()) for path in sorted((self.output / source / "runs").glob("*.json"))]

    def browser(self, name: str = "", password: str = PASSWORD) -> Browser:
        """One that is logged in."""
        made = Browser(self.url)
        assert made.log_in(password, name).status == 303
        return made


@contextmanager
def opened(folder: Path) -> Iterator[Desk]:
    """A dashboard with a password, and an index."""
    desk = Desk(folder)
    with Portal(datasets=3) as portal:
        desk.write(portal.url)
        crawl = ["-a", f"portal={portal.url}", "-a", "source=rivers", "-s", f"OUTPUT_DIR={desk.output}", *desk.given]
        assert scrapy("crawl", "ckan", *crawl).returncode == 0
        crawl[3] = "source=lakes"
        assert scrapy("crawl", "ckan", *crawl).returncode == 0
    more = [*desk.given, "-s", "DASHBOARD_PASSWORD_ENV=OURS"]
    with dashboard(desk.output, *more, OURS=PASSWORD) as (desk.url, desk.process):
        yield desk


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Desk]:
    with opened(tmp_path_factory.mktemp("desk")) as desk:
        yield desk


@pytest.fixture
def desk(shared) -> Desk:
    shared.write()
    return shared


# The login


def test_the_first_user_is_added_while_the_dashboard_runs(desk):
    with dashboard(desk.output, *desk.given, OURS=PASSWORD) as (url, _):
        for path in ("/", "/sources/rivers", "/runs"):
            assert "<form method" not in ask(url, path).text
            assert "Log in" not in ask(url, path).text
        assert "Nobody can log in yet: <code>scrapy users add" in ask(url, "/login").text
        for path in ("/login", "/logout", "/sources/rivers/disable"):
            assert ask(url, path, "POST", b"password=" + PASSWORD.encode()).status == 403
        assert ask(url, "/", "POST").headers["Allow"] == "GET, HEAD"
        assert 'spider = "ckan"   # any\nschedule' in desk.file.read_text()
        Users(file := desk.file.parent / "users.toml").add("ada", "admin", PASSWORD)
        browser = Browser(url)
        assert browser.log_in(name="ada").status == 303
        assert "Add a source" in browser.get("/sources").text
        file.unlink()
        assert "Log in" not in browser.get("/sources").text


@pytest.mark.parametrize(
    ("value", "why"),
    [(None, "is empty or not set"), ("", "is empty or not set"), ("1234567", "has less than 8 characters")],
)
def test_a_password_that_is_none_is_a_sentence(tmp_path, monkeypatch, value, why):
    if value is not None:
        monkeypatch.setenv("OURS", value)
    ran = scrapy("dashboard", "-s", f"OUTPUT_DIR={tmp_path}", "-s", "DASHBOARD_PASSWORD_ENV=OURS")
    sentence = f"OURS, which DASHBOARD_PASSWORD_ENV names, {why}: put the password there.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", sentence)


def test_reading_needs_no_login_and_acting_does(desk):
    reader = Browser(desk.url)
    page = reader.page("/sources/rivers")
    assert not page.xpath("//form[@method='post']")
    (link,) = page.xpath("//main//a[starts-with(@href, '/login')]/@href")
    (form,) = reader.page(link).xpath("//form[@method='post']")
    answer = reader.post(form.action, {one.name: one.value or PASSWORD for one in form.xpath(".//input")})
    assert (answer.status, answer.headers["Location"]) == (303, "/sources/rivers")
    page = reader.page("/sources/rivers")
    assert page.xpath("//div[@class='buttons']//button/text()") == ["Harvest now", "Disable", "Refuse"]
    assert reader.get("/login").status == 302


def test_the_cookie_is_for_our_own_forms_alone(desk):
    cookie = Browser(desk.url).log_in().headers["Set-Cookie"]
    assert re.fullmatch(
        rf"{COOKIE}=[\w-]{{43}}; Expires=[^;]+; Max-Age={LASTS}; HttpOnly; Path=/; SameSite=Strict", cookie
    )
    behind = Browser(desk.url).log_in(X_Forwarded_Proto="https").headers["Set-Cookie"]
    assert "; Secure; HttpOnly; " in behind


def test_the_id_of_a_session_changes_at_the_login(desk):
    browser = Browser(desk.url, {COOKIE: "chosen-by-another"})
    browser.log_in()
    first = browser.cookies[COOKIE]
    assert first != "chosen-by-another"
    browser.log_in()
    assert browser.cookies[COOKIE] != first
    assert "Log out" not in Browser(desk.url, {COOKIE: first}).get("/").text


def test_a_logout_ends_the_session(desk):
    browser = desk.browser()
    known = dict(browser.cookies)
    answer = browser.post("/logout", {"token": browser.token()})
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
    assert "Log out" not in Browser(desk.url, known).get("/").text


def test_a_wrong_password_is_a_sentence_and_opens_nothing(desk):
    browser = Browser(desk.url)
    for password in ("", "wrong", PASSWORD + "x", "x" * 10_000, "ü\x00"):
        answer = browser.log_in(password)
        assert (answer.status, browser.cookies) == (403, {})
        assert "The password is wrong." in answer.text
        desk.browser()  # the right one: wrong ones are no longer counted
    assert PASSWORD not in browser.get("/login").text
    assert browser.log_in("x" * 20_000).status == 413


def test_wrong_passwords_take_time_and_do_not_keep_the_right_one_out():
    login = Login(Users(Path("none.toml"), PASSWORD))
    begin = time.process_time()
    with Flask("x").test_request_context():
        for number in range(12):
            with pytest.raises(Forbidden):
                login.begin("password", f"wrong {number}")
        spent = time.process_time() - begin
        assert login.begin("password", PASSWORD)
    assert spent > 12 * 0.02


def test_a_session_ends(desk):
    now = [0.0]
    login = Login(Users(Path("none.toml"), PASSWORD), clock=lambda: now[0])
    with Flask("x").test_request_context():
        made = login.begin("password", PASSWORD)
    with Flask("x").test_request_context(headers={"Cookie": f"{COOKIE}={made}"}):
        assert login.session()
        now[0] = LASTS
        assert login.session() is None


# Whom it refuses


def forged(desk: Desk, **headers: str) -> Answer:
    """A form with all that a right one has, but for some headers."""
    browser = desk.browser()
    return browser.post("/sources/rivers/disable", {"token": browser.token()}, **headers)


REFUSED = {
    "no cookie": (
        403,
        lambda desk: Browser(desk.url).post("/sources/rivers/disable", {"token": desk.browser().token()}),
    ),
    "a cookie of nobody": (
        403,
        lambda desk: Browser(desk.url, {COOKIE: "x" * 43}).post("/sources/rivers/disable", {"token": "x"}),
    ),
    "no token": (403, lambda desk: desk.browser().post("/sources/rivers/disable", {})),
    "a wrong token": (403, lambda desk: desk.browser().post("/sources/rivers/disable", {"token": "ü" * 43})),
    "the token of another session": (
        403,
        lambda desk: desk.browser().post("/sources/rivers/disable", {"token": desk.browser().token()}),
    ),
    "the origin of another site": (403, lambda desk: forged(desk, Origin="https://evil.example", Sec_Fetch_Site="")),
    "another port": (403, lambda desk: forged(desk, Origin="http://127.0.0.1:1", Sec_Fetch_Site="")),
    "a hidden origin": (403, lambda desk: forged(desk, Origin="null", Sec_Fetch_Site="")),
    "a page of another site": (403, lambda desk: forged(desk, Sec_Fetch_Site="cross-site")),
    "a page of a neighbour": (403, lambda desk: forged(desk, Sec_Fetch_Site="same-site")),
    "another host": (400, lambda desk: forged(desk, Host="evil.example")),
    "GET": (405, lambda desk: desk.browser().get("/sources/rivers/disable")),
    "another method": (405, lambda desk: desk.browser()._ask("/sources/rivers/disable", "DELETE")),
    "another action": (405, lambda desk: desk.browser().post("/sources/rivers/remove", {})),
    "a form for a page": (405, lambda desk: desk.browser().post("/sources/rivers", {})),
    "a form for the API": (405, lambda desk: desk.browser().post("/api/sources", {})),
    "a path": (405, lambda desk: desk.browser().post("/sources/..%2Frivers/disable", {})),
    "a long body": (413, lambda desk: desk.browser().post("/sources/rivers/disable", {"why": "x" * 20_000})),
    "a very long body": (413, lambda desk: desk.browser().post("/sources/rivers/disable", {"why": "x" * 100_000})),
    "a login of another site": (403, lambda desk: Browser(desk.url).log_in(Sec_Fetch_Site="cross-site")),
    "a logout of another site": (403, lambda desk: desk.browser().post("/logout", {"token": "x"})),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nobody_else_can_act(desk, name):
    before = desk.file.read_bytes()
    status, send = REFUSED[name]
    answer = send(desk)
    assert answer.status == status, answer.text
    assert "Traceback" not in answer.text
    assert desk.file.read_bytes() == before


def test_our_own_forms_are_accepted_without_what_old_browsers_do_not_send(desk):
    assert forged(desk, Sec_Fetch_Site="").status == 303
    assert forged(desk, Origin="").status == 303
    assert forged(desk, Origin="https://catalogues.example.org").status == 303  # behind a proxy, its name is another


@pytest.mark.parametrize("name", ["..", "%2e%2e", "rivers%0d%0aX-Evil:%201", "%00", "-h", "nobody", "x" * 3000])
def test_a_source_that_is_none_is_a_sentence(desk, name):
    browser, before = desk.browser(), desk.file.read_bytes()
    for action in ("harvest", "stop", "enable", "refuse"):
        answer = browser.post(f"/sources/{name}/{action}", {"token": browser.token(), "why": "x"})
        assert answer.status in (303, 400, 404)
        assert answer.headers["X-Evil"] is None
        if answer.status == 303:
            assert re.fullmatch(r"/sources/[\w.%-]+", answer.headers["Location"])
            assert re.search("(has|There is) no source", browser.page("/").xpath("string(//p[@class='flash'])"))
    assert desk.file.read_bytes() == before
    assert not [path for path in desk.folder.rglob("*-harvest.log") if path.parent.name != "rivers"]


def test_the_page_after_the_login_is_ours(desk):
    for source in ("//evil.example", "https://evil.example", "\\\\evil", "a\r\nX-Evil: 1"):
        answer = Browser(desk.url).post("/login", {"password": PASSWORD, "source": source})
        assert re.fullmatch(r"/sources/[\w.%-]+", answer.headers["Location"])
        assert answer.headers["X-Evil"] is None


# What the buttons do


def test_the_buttons_change_sources_toml_and_nothing_else_in_it(desk):
    browser, before = desk.browser(), desk.file.read_text()
    assert browser.press("rivers", "Disable") == "[rivers] is disabled: --all and --due skip it."
    changed = before.replace("# the first\n", "# the first\nenabled = false\n")
    assert desk.file.read_text() == changed
    assert browser.press("rivers", "Enable") == "[rivers] is enabled."
    changed = before.replace("# the first\n", "# the first\nenabled = true\n")
    assert desk.file.read_text() == changed
    assert browser.press("rivers", "Refuse", 'it is "theirs"') == "[rivers] is refused: no harvest takes it."
    assert (
        tomllib.loads(desk.file.read_text())["rivers"].items()
        >= {
            "review": "refused",
            "review_comment": 'it is "theirs"',
        }.items()
    )
    assert browser.page("/sources/rivers").xpath("//div[@class='buttons']//button/text()") == ["Disable", "Approve"]
    assert browser.press("rivers", "Approve") == "[rivers] is approved."
    assert "review_comment" not in tomllib.loads(desk.file.read_text())["rivers"]
    assert [line for line in desk.file.read_text().splitlines() if "#" in line] == [
        line for line in before.splitlines() if "#" in line
    ]


def test_what_a_command_refuses_is_its_sentence(desk):
    browser = desk.browser()
    token = {"token": browser.token()}

    def said(action: str, source: str, **fields: str) -> str:
        browser.post(f"/sources/{source}/{action}", token | fields)
        return browser.page("/").xpath("string(//p[@class='flash'])")

    assert "Did you mean ckan?" in said("harvest", "wrong")
    assert "Did you mean ckan?" in said("enable", "wrong")
    assert said("refuse", "rivers") == "[rivers] is not refused: the reason is missing."
    assert said("stop", "rivers") == "[rivers] does not run: there is nothing to stop."
    assert said("refuse", "rivers", why="no") == "[rivers] is refused: no harvest takes it."
    assert said("harvest", "rivers").startswith("[rivers] was refused: no.")
    assert "no single line" in said("approve", "lakes", why="a\nb")
    desk.file.chmod(0o644)
    desk.file.write_text("no TOML")
    assert "is not TOML" in said("disable", "rivers")
    assert not list(desk.folder.rglob("*-harvest.log"))


@pytest.mark.slow
def test_a_harvest_goes_on_when_the_dashboard_ends(tmp_path):
    with opened(tmp_path) as desk, Portal(datasets=40, faults=("slow=0.3",)) as portal:
        desk.write(portal.url)
        browser = desk.browser()
        said = browser.press("rivers", "Harvest now")
        log = Path(re.fullmatch(r"\[rivers\] is being harvested; log: (.+-harvest\.log)", said)[1])
        claim = json.loads((desk.folder / "jobs" / "rivers.lock").read_bytes())
        environment = Path(f"/proc/{claim['pid']}/environ").read_bytes()
        assert PASSWORD.encode() not in environment
        assert Path(f"/proc/{claim['pid']}/cwd").resolve() == Path.cwd()
        browser.post("/sources/rivers/harvest", {"token": browser.token()})
        assert browser.page("/").xpath("string(//p[@class='flash'])") == "[rivers] is already running."
        desk.process.send_signal(signal.SIGTERM)
        assert desk.process.communicate(timeout=600)[1] == ""
        until(lambda: [report for report in desk.reports() if report["listed"] == 40])
        assert desk.reports()[-1]["verdict"] == "complete"
        until(lambda: "rivers  complete" in log.read_text())


@pytest.mark.slow
def test_a_crawl_is_stopped_as_by_ctrl_c(desk):
    with Portal(datasets=305, faults=("slow=1",)) as portal:
        desk.write(portal.url)
        browser, before = desk.browser(), len(desk.reports())
        browser.press("rivers", "Harvest now")
        until((desk.output / "rivers" / "running.json").exists)
        page = browser.page("/sources/rivers")
        assert page.xpath("//div[@class='buttons']//button/text()")[0] == "Stop"
        said = browser.press("rivers", "Stop")
        assert said == "[rivers] is being stopped: it finishes the requests that it has sent."
        until(lambda: len(desk.reports()) > before)
    assert desk.reports()[-1]["verdict"] == "interrupted"
    until(lambda: not is_held(desk.folder / "jobs" / "rivers.lock"))


@pytest.mark.parametrize("state", ["another process", "another host", "no process", "nonsense"])
def test_no_other_process_is_ever_stopped(desk, state):
    with subprocess.Popen(["sleep", "600"]) as other, closing(Held(desk.output / "lakes")):
        known = {"another process": other.pid, "another host": other.pid, "no process": 2**22 - 1, "nonsense": "1"}
        host = "elsewhere.example" if state == "another host" else socket.gethostname()
        running = {"run": "20270101T000000Z", "pid": known[state], "host": host, "heartbeat": "2027-01-01T00:00:00Z"}
        path = desk.output / "lakes" / "running.json"
        path.write_text(json.dumps(running))
        said = desk.browser().press("lakes", "Stop")
        expected = "runs on elsewhere.example: stop it there." if state == "another host" else "is not known yet"
        assert expected in said
        assert other.poll() is None
        path.unlink()
        other.kill()


class Held:
    """The lock of a folder, held by the test."""

    def __init__(self, folder: Path) -> None:
        self.descriptor = take(folder / LOCK)

    def close(self) -> None:
        os.close(self.descriptor)
