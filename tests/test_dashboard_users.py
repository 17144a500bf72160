"""Named users of the dashboard, their roles, what a proxy may say, and the record of who did what."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from flask import Flask

from crawlers.operate.dashboard.audit import Audit, AuditError, Deed
from crawlers.operate.dashboard.login import Login, Proxies
from crawlers.operate.dashboard.operators import ACTIONS
from crawlers.operate.dashboard.users import ROLES, Users
from crawlers.operate.sources.file import SourcesFile
from tests import forked
from tests.conftest import ROOT, scrapy
from tests.dashboards import ask, dashboard
from tests.test_commands import _read
from tests.test_dashboard_actions import PASSWORD, Browser, Desk, opened
from tests.waiting import HANG

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = {"vera": "vera looks on", "otto": "otto operates", "ada": "ada does it all"}
OF = dict(zip(WORDS, ROLES, strict=True))
"""A user of each role."""


def users(folder: Path, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    given = ("-s", f"SOURCES_FILE={folder / 'sources.toml'}")
    command = [sys.executable, "-W", "error", "-m", "scrapy", "users", *words, *given]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with TemporaryFile("w+") as typed:
        typed.write(said)
        typed.seek(0)
        return forked.run(
            command, cwd=ROOT, env=environment, stdin=typed, capture_output=True, text=True, timeout=HANG, check=False
        )


@contextmanager
def peopled(folder: Path) -> Iterator[Desk]:
    """A dashboard with a password, and users of each role."""
    (folder / "audit.jsonl").touch()
    for name, role in OF.items():
        Users(folder / "users.toml").add(name, role, WORDS[name])
    with opened(folder) as desk:
        yield desk


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Desk]:
    with peopled(tmp_path_factory.mktemp("desk")) as desk:
        yield desk


@pytest.fixture
def desk(shared) -> Desk:
    shared.write()
    return shared


def audited(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]


# users.toml


def test_users_are_added_listed_and_removed(tmp_path):
    file = tmp_path / "users.toml"
    assert users(tmp_path).stdout == f"{file} has no user yet: scrapy users add NAME --role operator adds one.\n"
    ran = users(tmp_path, "add", "ada", "--role", "admin", said="correct horse\n")
    assert (ran.returncode, ran.stdout) == (0, f"ada is an admin now, in {file}.\n")
    ran = users(tmp_path, "add", "otto@example.org", "--role", "operator", "--no-password")
    assert ran.stdout == f"otto@example.org is an operator now, if a proxy of TRUSTED_PROXIES says so, in {file}.\n"
    assert users(tmp_path, "add", "vera", said="correct horse").stdout == f"vera is a viewer now, in {file}.\n"
    assert users(tmp_path, "list").stdout.split() == (
        "name role login ada admin password otto@example.org operator proxy vera viewer password".split()
    )
    assert json.loads(users(tmp_path, "list", "--json").stdout)[1] == {
        "name": "otto@example.org",
        "role": "operator",
        "password": False,
    }
    assert file.stat().st_mode & 0o777 == 0o600
    written = tomllib.loads(file.read_text())
    assert "correct horse" not in file.read_text()
    assert written["ada"]["password"] != written["vera"]["password"], "each has a salt of its own"
    assert users(tmp_path, "remove", "vera").returncode == 0
    assert [*tomllib.loads(file.read_text())] == ["ada", "otto@example.org"]
    assert [line["action"] for line in audited(tmp_path) if "given" in line] == ["add user"] * 3 + ["remove user"]
    assert "correct horse" not in (tmp_path / "audit.jsonl").read_text()


@pytest.mark.parametrize(("again", "code", "sentence"), [("correct horse", 0, "an admin now"), ("other", 1, "differ")])
def test_a_password_is_asked_twice_on_a_terminal(tmp_path, again, code, sentence):
    ours, theirs = pty.openpty()
    given = ("--role", "admin", "-s", f"SOURCES_FILE={tmp_path / 'sources.toml'}")
    command = [sys.executable, "-W", "error", "-m", "scrapy", "users", "add", "ada", *given]
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, **streams) as process:
        os.close(theirs)
        shown = b""
        for prompt, word in ((b"Password of ada: ", "correct horse"), (b"Again: ", again), (b"\0", "")):
            while not shown.endswith(prompt) and (chunk := _read(ours)):
                shown += chunk
            if word:
                os.write(ours, f"{word}\n".encode())
    os.close(ours)
    assert process.returncode == code
    assert sentence in shown.decode()
    assert "correct horse" not in shown.decode(), "it is not echoed"
    assert bool(Users(tmp_path / "users.toml").checked("ada", "correct horse")) == (code == 0)


@pytest.mark.parametrize(
    ("words", "said", "sentence"),
    [
        (("add", "ada", "--role", "admn"), "correct horse", "'admn' is not a role: .* Did you mean admin?"),
        (("add", "ada"), "short", "The password has 5 characters: it takes 8 to 1,000"),
        (("add", "ada"), "", "The password has 0 characters"),
        (("add", "password"), "correct horse", "'password' can't be a user's name"),
        (("add", "a b"), "correct horse", "'a b' can't be a user's name"),
        (("add", "otto"), "correct horse", "otto is a user already"),
        (("remove", "oto"), "", "There is no user 'oto'. Did you mean otto?"),
        (("add", "ada", "--password", "x"), "", "there is no option --password"),
        (("list", "--role", "admin"), "", "scrapy users list takes no --role"),
    ],
)
def test_what_is_wrong_is_a_sentence(tmp_path, words, said, sentence):
    Users(tmp_path / "users.toml").add("otto", "operator", None)
    before = (tmp_path / "users.toml").read_bytes()
    ran = users(tmp_path, *words, said=said)
    assert ran.returncode != 0
    assert re.search(sentence, ran.stdout + ran.stderr), ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    assert (tmp_path / "users.toml").read_bytes() == before


@pytest.mark.parametrize(
    "content", ["no TOML", 'ada = "admin"', "[ada]\nrole = 'root'", "[ada]\nrole = 'admin'\npassword = 1"]
)
def test_a_users_file_that_is_none_is_a_sentence(tmp_path, content):
    (tmp_path / "users.toml").write_text(content)
    for ran in (users(tmp_path), scrapy("dashboard", "-s", f"SOURCES_FILE={tmp_path / 'sources.toml'}")):
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr.startswith(str(tmp_path / "users.toml"))
        assert "Traceback" not in ran.stderr
    assert Users(tmp_path / "users.toml").named("ada") is None


@pytest.mark.parametrize(
    "hashed", ["", "scrypt", "scrypt:1:1:1:a:b", "scrypt:1099511627776:8:1:AAAA:AAAA", "scrypt:x:y:z:AAAA:AAAA"]
)
def test_a_hash_that_is_none_lets_nobody_in(tmp_path, hashed):
    (tmp_path / "users.toml").write_text(f'[ada]\nrole = "admin"\npassword = "{hashed}"\n')
    found = Users(tmp_path / "users.toml")
    assert found.checked("ada", "") is None
    assert found.checked("ada", "correct horse") is None


# Each role


def test_the_login_asks_for_a_name(desk):
    page = Browser(desk.url).page("/login")
    assert page.xpath("//form[@action='/login']//label/text()") == ["Name", "Password"]
    for name, password in (("ada", WORDS["otto"]), ("nobody", PASSWORD), ("", WORDS["ada"]), ("a\r\nb", PASSWORD)):
        browser = Browser(desk.url)
        answer = browser.log_in(password, name)
        assert (answer.status, browser.cookies) == (403, {})
        assert "The name or the password is wrong." in answer.text
    assert "otto" in desk.browser("otto", WORDS["otto"]).page("/").xpath("string(//nav)")
    assert desk.browser().page("/").xpath("string(//*[@class='who'])") == "password"


BUTTONS = {
    "vera": [],
    "otto": ["Harvest now", "Disable", "Refuse"],
    "ada": ["Harvest now", "Disable", "Refuse"],
}


@pytest.mark.parametrize("name", WORDS)
def test_the_buttons_are_those_of_the_role(desk, name):
    page = desk.browser(name, WORDS[name]).page("/sources/rivers")
    assert page.xpath("//div[@class='buttons']//button/text()") == BUTTONS[name]


@pytest.mark.parametrize("action", ACTIONS)
def test_a_viewer_changes_nothing(desk, action):
    browser, before = desk.browser("vera", WORDS["vera"]), desk.file.read_bytes()
    answer = browser.post(f"/sources/rivers/{action}", {"token": browser.token(), "why": "x"})
    assert answer.status == 403
    assert f"vera has the role viewer; this takes the role {ACTIONS[action].role}: nothing was done." in answer.text
    assert desk.file.read_bytes() == before
    assert '"vera"' not in (desk.folder / "audit.jsonl").read_text()


@pytest.mark.parametrize("name", ["vera", "otto"])
def test_users_are_an_admins(desk, name):
    browser, before = desk.browser(name, WORDS[name]), (desk.folder / "users.toml").read_bytes()
    assert browser.get("/users").status == 403
    fields = {"token": browser.token(), "name": "eve", "role": "admin", "password": "let me in, please"}
    assert browser.post("/users", fields).status == 403
    assert browser.post("/users/ada/remove", {"token": browser.token()}).status == 403
    assert (desk.folder / "users.toml").read_bytes() == before


def test_an_admin_adds_and_removes_users(desk):
    browser = desk.browser("ada", WORDS["ada"])
    fields = {"token": browser.token(), "name": "<b>eve", "role": "operator", "password": "let me in, please"}
    answer = browser.post("/users", fields)
    assert answer.status == 400
    assert "&lt;b&gt;eve&#39; can&#39;t be a user&#39;s name" in answer.text
    assert 'value="&lt;b&gt;eve"' in answer.text, "what was typed stays"
    assert "let me in" not in answer.text
    assert browser.post("/users", fields | {"name": "eve"}).status == 303
    assert "eve may log in with the role operator." in browser.get("/users").text
    eve = desk.browser("eve", "let me in, please")
    assert "Log out" in eve.get("/").text
    assert browser.post("/users/eve/remove", {"token": browser.token()}).status == 303
    assert "Log out" not in eve.get("/").text, "her session has ended"
    assert eve.post("/sources/rivers/disable", {"token": eve.token()}).status == 403
    assert browser.post("/users/nobody/remove", {"token": browser.token()}).status == 303
    assert "There is no user &#39;nobody&#39;" in browser.get("/users").text


def test_a_role_that_changes_ends_the_session(tmp_path):
    file = Users(tmp_path / "users.toml")
    file.add("ada", "admin", WORDS["ada"])
    login = Login(file)
    with Flask("x").test_request_context():
        made = login.begin("ada", WORDS["ada"])
    with Flask("x").test_request_context(headers={"Cookie": f"catalogues_session={made}"}):
        assert login.session().user.role == "admin"
        (tmp_path / "users.toml").write_text((tmp_path / "users.toml").read_text().replace("admin", "viewer"))
        assert login.session() is None


# A proxy


@pytest.fixture(scope="module")
def proxied(shared) -> Iterator[str]:
    more = [*shared.given, "-s", "TRUSTED_PROXIES=127.0.0.0/8"]
    with dashboard(shared.output, *more) as (url, _):
        yield url


def of_proxy(url: str, name: str, path: str = "/", **more: str):
    return ask(url, path, X_Forwarded_User=name, **more)


def test_a_trusted_proxy_says_who_it_is(desk, proxied):
    answer = of_proxy(proxied, "otto", "/sources/rivers")
    (token,) = set(re.findall(r'name="token" value="([^"]+)"', answer.text))
    assert "Log out" not in answer.text
    assert answer.headers["Set-Cookie"] is None

    def post(name: str, token: str, **headers: str):
        sent = {"Content_Type": "application/x-www-form-urlencoded", "Sec_Fetch_Site": "same-origin"} | headers
        sent |= {"X_Forwarded_User": name} if name else {}
        return ask(proxied, "/sources/rivers/disable", "POST", f"token={token}".encode(), **sent)

    before = desk.file.read_bytes()
    for name, sent, headers in (
        ("otto", "", {}),
        ("otto", token, {"Sec_Fetch_Site": "cross-site"}),
        ("ada", token, {}),
        ("", token, {}),
        ("", token, {"Cookie": "catalogues_session=otto"}),
        ("vera", token, {}),
    ):
        assert post(name, sent, **headers).status == 403
    assert desk.file.read_bytes() == before
    assert post("otto", token).status == 303
    assert desk.file.read_bytes() != before
    assert audited(desk.folder)[-1] | {"time": ""} == audited(desk.folder)[-1] | {"time": "", "who": "otto"}


def test_whom_users_toml_does_not_have_is_a_viewer(desk, proxied):
    page = of_proxy(proxied, "stranger@example.org").text
    assert "<bdi>stranger@example.org</bdi>" in page
    assert 'title="viewer"' in page
    (token,) = set(re.findall(r'name="token" value="([^"]+)"', page)) or {""}
    sent = {"Content_Type": "application/x-www-form-urlencoded", "Sec_Fetch_Site": "same-origin"}
    named = {"X_Forwarded_User": "stranger@example.org"}
    assert ask(proxied, "/sources/rivers/disable", "POST", f"token={token}".encode(), **sent, **named).status == 403


@pytest.mark.parametrize("name", ["password", "", "ada,otto", "ada otto", "<b>", "x" * 65, "ada/../otto"])
def test_a_name_that_is_none_is_nobody(proxied, name):
    answer = of_proxy(proxied, name)
    assert 'class="who"' not in answer.text
    assert ">Log in<" in answer.text


def test_a_header_that_is_nearly_it_names_nobody(proxied):
    """A proxy replaces X-Forwarded-User, and may let the others through."""
    where = urlsplit(proxied)
    for names in (["X_Forwarded_User"], ["X_Forwarded-User"], ["X-Forwarded-User", "X-Forwarded-User"]):
        with closing(HTTPConnection(where.hostname, where.port, timeout=HANG)) as connection:
            connection.putrequest("GET", "/")
            for name in names:
                connection.putheader(name, "ada")
            connection.endheaders()
            assert b'class="who"' not in connection.getresponse().read(), names


def test_nobody_else_says_who_it_is(desk):
    assert 'class="who"' not in of_proxy(desk.url, "ada").text, "without TRUSTED_PROXIES"
    users = Users(desk.folder / "users.toml")
    for trusted, who in ((["10.0.0.1"], None), (["10.0.0.0/8", "::1"], None), (["127.0.0.1"], "ada")):
        headers = {"X-Forwarded-User": "ada", "X-Forwarded-For": "10.0.0.1"}
        with Flask("x").test_request_context(headers=headers, environ_base={"REMOTE_ADDR": "127.0.0.1"}):
            found = Proxies(trusted).user(users)
            assert (found.name if found else None) == who


def test_a_proxy_that_is_none_is_a_sentence(tmp_path):
    given = ("-s", f"SOURCES_FILE={tmp_path / 'sources.toml'}", "-s", f"OUTPUT_DIR={tmp_path}")
    ran = scrapy("dashboard", *given, "-s", "TRUSTED_PROXIES=proxy.example.org")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "TRUSTED_PROXIES: 'proxy.example.org' is no IP address or network.\n"


# Who did what


def test_the_page_says_who_did_what(desk):
    otto = desk.browser("otto", WORDS["otto"])
    otto.press("rivers", "Refuse", "it is <i>theirs</i>, https://me:secret@example.org")
    otto.post("/sources/nobody/enable", {"token": otto.token()})
    rows = otto.page("/audit").xpath("//tbody/tr")
    last, before = (["".join(cell.itertext()).strip() for cell in row] for row in rows[:2])
    assert last[1:4] == ["otto operator", "enable", "nobody"]
    assert last[5].startswith("Not done: ")
    assert before[1:4] == ["otto operator", "refuse", "rivers"]
    assert before[4] == "why: it is <i>theirs</i>, https://***@example.org"
    assert before[5] == "[rivers] is refused: no harvest takes it."
    assert "secret" not in (desk.folder / "audit.jsonl").read_text()
    answer = Browser(desk.url).get("/audit")
    assert answer.status == 403
    assert "Log in to read this page." in answer.text
    assert desk.browser("vera", WORDS["vera"]).get("/audit").status == 200


def test_what_is_not_recorded_is_not_done(tmp_path):
    (tmp_path / "audit.jsonl").mkdir()
    done: list[str] = []
    with pytest.raises(AuditError, match="nothing was done"):
        Audit.beside(tmp_path / "sources.toml").recorded(
            Deed("ada", "admin", "purge", "x"), lambda: done.append("x") or ""
        )
    assert not done


def test_a_deed_that_was_killed_is_there(tmp_path):
    audit = Audit.beside(tmp_path / "sources.toml")

    def kill() -> str:
        raise SystemExit

    with pytest.raises(SystemExit):
        audit.recorded(Deed("ada", "admin", "purge", "x"), kill)
    with audit.path.open("a") as file:
        file.write('{"torn')
    audit.recorded(Deed("otto", "operator", "stop", "y\n\u202e"), lambda: "Stopped.")
    assert [(one["who"], one["subject"], one["done"], one["said"]) for one in audit.read()] == [
        ("otto", "y ", True, "Stopped."),
        ("ada", "x", None, None),
    ]


def test_hostile_lines_are_left_out(tmp_path):
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'[1]\n{"id": 1}\n{"id": "a"}\n\xff\n{"id": "b", "given": 1}\n' + b"[" * 9000 + b"\n")
    assert [(one["id"], one["who"], one["time"]) for one in Audit(path).read()] == [("b", "", None)]


def test_a_damaged_line_is_shown(desk):
    path = desk.folder / "audit.jsonl"
    before = path.read_bytes()
    path.write_bytes(before + b'{"id": "b", "given": 1, "time": 7, "who": ["<b>"]}\n{"id": "c", "given": {"a": {}}}\n')
    answer = desk.browser("vera", WORDS["vera"]).get("/audit")
    path.write_bytes(before)
    assert answer.status == 200
    assert "<b>" not in answer.text


def test_no_source_says_whom_the_dashboard_trusts(desk):
    for name in ("DASHBOARD_USER_HEADER", "TRUSTED_PROXIES"):
        desk.file.write_text(f'[x]\nspider = "ckan"\narguments.portal = "https://x.example"\nsettings.{name} = "x"\n')
        assert "applies to all sources" in SourcesFile(desk.file).read()[1]["x"]
