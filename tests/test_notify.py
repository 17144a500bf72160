"""Who is told how a run ended, what, and what happens when they can't be."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socketserver
import ssl
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from prometheus_client.parser import text_string_to_metric_families
from scrapy.settings import Settings

from crawlers import settings
from crawlers.causes import ADVICE, KINDS
from crawlers.exceptions import ArgumentError
from crawlers.extensions.report import COUNTS, _add_to_index
from crawlers.operate.notify import Notifications, channels, notify
from crawlers.operate.notify.channels import Mail, Server
from crawlers.operate.notify.notice import LINES, VERDICTS, Notice, body
from crawlers.operate.notify.notifications import METRICS, OUTCOMES, Prometheus
from crawlers.store import run_text
from crawlers.store.runs import EXIT_CODES, find
from tests import forked
from tests.conftest import ROOT, options, scrapy
from tests.waiting import HANG, until

MISSING = ("count_off=5",)  # the portal says that it has five more than it lists: incomplete
PATH = "/hooks/T0PSECRET"
PASSWORD = "hunter2-hunter2"
NAMES = ("NOTIFY_WEBHOOK", "NOTIFY_SMTP_LOGIN")


# Those who are told


class Hook:
    """A webhook on the loopback.

    Args:
        statuses: of its answers, one after another; the last for all the others.
        delay: seconds before each.
    """

    def __init__(self, *statuses, delay=0.0, certificate=None):
        self.statuses, self.delay = list(statuses or (200,)), delay
        self.asked = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _hook(self))
        if certificate:
            self.server.socket = _context(certificate).wrap_socket(self.server.socket, server_side=True)
        self.address = f"http{'s' if certificate else ''}://127.0.0.1:{self.server.server_port}{PATH}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def told(self):
        return [json.loads(body) for _, _, body in self.asked]


def _hook(hook):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.asked.append((self.path, self.headers, body))
            time.sleep(hook.delay)
            status = hook.statuses.pop(0) if len(hook.statuses) > 1 else hook.statuses[0]
            self.send_response_only(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler


class Post:
    """A mail server on the loopback.

    Args:
        offers: what EHLO says it can do.
        refuses: what its answer is, by a command's first word, or by the whole of it.
        encrypted: from the beginning.
    """

    def __init__(self, *offers, refuses=None, certificate=None, encrypted=False, login=None):
        self.offers, self.refuses, self.login = offers, refuses or {}, login
        self.certificate, self.encrypted = certificate, encrypted
        self.mails, self.commands, self.over_tls = [], [], []
        self.server = PostServer(("127.0.0.1", 0), Counter)
        self.server.post = self
        self.place = f"127.0.0.1:{self.server.server_address[1]}"

    __enter__ = Hook.__enter__
    __exit__ = Hook.__exit__

    @property
    def mail(self):
        (body,) = self.mails
        return message_from_bytes(body, policy=policy.default)


class Counter(socketserver.StreamRequestHandler):
    """Where a mail server is talked to."""

    def setup(self):
        self.post = self.server.post
        if self.post.encrypted:
            self.encrypt()
        super().setup()

    def encrypt(self):
        self.request = _context(self.post.certificate).wrap_socket(self.request, server_side=True)

    def finish(self):
        super().finish()
        self.request.close()

    def say(self, *lines):
        self.wfile.write(b"".join(line.encode() + b"\r\n" for line in lines))

    def handle(self):
        self.say("220 here")
        while command := self.rfile.readline().decode().strip():
            self.post.commands.append(command)
            word = command.split()[0].upper()
            refused = self.post.refuses.get(command) or self.post.refuses.get(word)
            if refused == "gone":
                return
            if refused:
                self.say(refused)
            else:
                getattr(self, word.lower(), lambda _: self.say("250 ok"))(command)

    def ehlo(self, _):
        self.say("250-here", *(f"250-{offer}" for offer in self.post.offers), "250 HELP")

    def auth(self, command):
        given = base64.b64decode(command.split()[2]).decode()
        self.say("235 welcome" if given == "\0" + self.post.login.replace(":", "\0") else "535 no")

    def starttls(self, _):
        self.say("220 go on")
        super().finish()
        self.encrypt()
        super().setup()

    def data(self, _):
        self.say("354 go on")
        self.post.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")))
        self.post.over_tls.append(isinstance(self.request, ssl.SSLSocket))
        self.say("250 taken")

    def quit(self, _):
        self.say("221 bye")


class PostServer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request, _address):
        """Somebody who does not trust the certificate has gone."""
        request.close()


def _context(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """For 127.0.0.1, and by nobody that is trusted."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("certificate") / "here.pem"
    how = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(key.private_bytes(*how) + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture(autouse=True)
def _nobody(monkeypatch):
    for name in (*NAMES, "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)


def by_mail(post, scheme="", **more):
    place = {"NOTIFY_SMTP": scheme + post.place, "NOTIFY_MAIL_FROM": "harvest@example.org"}
    return {**place, "NOTIFY_MAIL_TO": "ann@example.org,bob@example.org", **more}


def warnings(done):
    return [line for line in done.lines if "WARNING" in line and "was not notified" in line]


# The webhook


def test_a_webhook_is_told_of_an_incomplete_run(crawl, portal, monkeypatch):
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        done = crawl("ckan", portal(datasets=20, faults=MISSING), source="kyoto")
    ((path, headers, _),) = hook.asked
    (told,) = hook.told
    assert (done.code, path, headers["Content-Type"]) == (3, PATH, "application/json")
    assert headers["User-Agent"] == f"{settings.BOT_NAME}/{settings.VERSION}"
    assert told["text"] == "kyoto: incomplete. 20 of 25 datasets listed; 1 error (count_mismatch 1)."
    same = ("source", "spider", "run", "verdict", "expected", "listed", "datasets_on_disk", "unchanged_since")
    same += ("counts", "errors", "flaws", "new_flaws", "started", "finished")
    assert {name: told[name] for name in same} == {name: done.report[name] for name in same}
    assert set(told) == {
        *same,
        "finish_reason",
        "text",
        "seconds",
        "host",
        "advice",
        "command",
        "failed_before",
        "failing_since",
    }
    assert 0 < told["seconds"] < 120
    assert warnings(done) == []


def test_a_run_of_any_number_of_datasets_is_told_and_reported(crawl, portal, monkeypatch):
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        done = crawl("ckan", portal(datasets=3, faults=(f"count_off={10**25}",)))
    assert "Traceback" not in done.log
    assert done.report["expected"] == hook.told[0]["expected"] == 10**25 + 3
    assert not (done.folder / "running.json").exists()


def test_what_the_index_does_not_take_is_a_warning(caplog):
    class Index:
        def read_report(self, report):
            raise ValueError(f"{report} is no number")

    crawler = SimpleNamespace(get_extension=lambda _: Index())
    _add_to_index(SimpleNamespace(crawler=crawler, outcome="x", path="runs/r.json"))
    assert "runs/r.json is left out of index.sqlite (x is no number)" in caplog.text


def test_the_verdicts_are_the_users_choice(crawl, portal, monkeypatch):
    site = portal(datasets=3)
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        assert crawl("ckan", site).report["verdict"] == "complete"
        assert hook.told == []
        crawl("ckan", site, settings={"NOTIFY_VERDICTS": "complete, partial"})
        site.fault(count_off=5)
        crawl("ckan", site, settings={"NOTIFY_VERDICTS": "complete, partial"})
    assert [(told["verdict"], "advice" in told) for told in hook.told] == [("complete", False)]


def test_the_variable_is_the_users_choice(crawl, portal, monkeypatch):
    with Hook() as hook:
        monkeypatch.setenv("CHAT", hook.address)
        crawl("ckan", portal(datasets=3, faults=MISSING), settings={"NOTIFY_WEBHOOK_ENV": "CHAT"})
    assert len(hook.told) == 1


@pytest.mark.parametrize(
    ("statuses", "times", "reason"),
    [
        ((500, 429, 204), 3, None),
        ((500,), 3, "it answered HTTP 500"),
        ((404,), 1, "it answered HTTP 404"),
        ((302,), 1, "it redirects (HTTP 302), which is not followed: configure its target"),
        ((307,), 1, "it redirects (HTTP 307), which is not followed: configure its target"),
    ],
)
def test_what_a_webhook_answers(statuses, times, reason, tmp_path, monkeypatch):
    with Hook(*statuses) as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        sentences = notify(_settings(NOTIFY_TIMEOUT="9"), _report("incomplete"), tmp_path)
    assert [path for path, _, _ in hook.asked] == [PATH] * times
    start = "The webhook at 127.0.0.1 was not notified that kyoto is incomplete: "
    assert sentences == ([f"{start}{reason}."] if reason else [])


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (Hook(500), "it answered HTTP 500"),
        (Hook(delay=2 * HANG), "it did not answer in time"),
        (None, "it is unreachable (Connection refused)"),
    ],
    ids=["error", "slow", "nobody"],
)
def test_a_webhook_that_fails_costs_a_warning_and_little_time(hook, reason, crawl, portal, monkeypatch):
    seconds = "1.5" if hook and hook.delay else "15"
    site = portal(datasets=3, faults=MISSING)
    monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address if hook else f"http://127.0.0.1:9{PATH}")
    if hook:
        hook.__enter__()
    done = crawl("ckan", site, settings={"NOTIFY_TIMEOUT": seconds, "LOG_LEVEL": "DEBUG"})
    if hook:
        hook.server.shutdown()
        hook.server.socket.close()
        assert len(hook.asked) == 3 or (hook.delay and hook.asked), (
            "a machine that is busy takes the time of some tries"
        )
    assert (done.code, done.report["verdict"]) == (3, "incomplete")
    (warning,) = warnings(done)
    assert "The webhook at 127.0.0.1 was not notified that 127.0.0.1 is incomplete: " in warning
    assert warning.endswith((f"{reason}.", f"it was not done within {seconds} s."))
    assert "T0PSECRET" not in done.log
    assert "Traceback" not in done.log


class Drip(socketserver.StreamRequestHandler):
    """An answer that never ends."""

    def handle(self):
        with suppress(ConnectionError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not self.server.over.wait(0.5):
                self.wfile.write(b"X: y\r\n")


@pytest.mark.slow
def test_an_answer_that_never_ends_is_not_waited_for(crawl, portal, monkeypatch):
    site = portal(datasets=3, faults=MISSING)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Drip) as server:
        server.over = threading.Event()
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        monkeypatch.setenv("NOTIFY_WEBHOOK", f"http://127.0.0.1:{server.server_address[1]}/")
        done = crawl("ckan", site, settings={"NOTIFY_TIMEOUT": "3"})
        server.over.set()
        server.shutdown()
    assert [line.rpartition(": ")[2] for line in warnings(done)] == ["it was not done within 3 s."]
    assert done.lines[-1].startswith(str(done.folder)), "nothing is said of the thread that was left behind"
    assert done.code == 3


def test_a_certificate_is_verified(tmp_path, monkeypatch, certificate):
    with Hook(certificate=certificate) as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        (sentence,) = notify(_settings(), _report("failed"), tmp_path)
        assert "its certificate is not trusted (" in sentence
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert notify(_settings(), _report("failed"), tmp_path) == []
    assert len(hook.told) == 1


def test_a_second_signal_is_told_too(output, portal, monkeypatch):
    site = portal(datasets=50, faults=("hang=package_search",))
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        run_text = options(output, {"NOTIFY_VERDICTS": "interrupted"}, portal=site.url)
        command = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", "ckan", *run_text]
        process = forked.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        until(lambda: site.requests("package_search"), unless=lambda: process.poll() is not None)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=HANG)
    assert process.returncode == 130, log
    assert [told["verdict"] for told in hook.told] == ["interrupted"], log


# By mail


def test_a_mail_says_what_happened_and_where(crawl, portal, monkeypatch):
    with Post("AUTH PLAIN LOGIN", login=f"me:{PASSWORD}") as post:
        monkeypatch.setenv("NOTIFY_SMTP_LOGIN", f"me:{PASSWORD}")
        site = portal(datasets=20, faults=("success_false=package_search",))
        done = crawl("ckan", site, settings=by_mail(post, LOG_LEVEL="DEBUG"), source="kyoto")
    mail, text = post.mail, post.mail.get_content()
    assert (mail["From"], mail["To"]) == ("harvest@example.org", "ann@example.org, bob@example.org")
    assert mail["Subject"] == f"kyoto: {done.report['verdict']}, 0 datasets listed"
    assert (mail["Auto-Submitted"], bool(mail["Message-ID"]), bool(mail["Date"])) == ("auto-generated", True, True)
    assert [one for one in post.commands if one.startswith("rcpt")] == [
        "rcpt TO:<ann@example.org>",
        "rcpt TO:<bob@example.org>",
    ]
    assert "refused: The portal refused the request" in text
    assert f"The files: {done.folder.resolve()}" in text
    assert f"The report: {done.folder.resolve()}/runs/{done.report['run']}.json" in text
    assert done.errors[0]["error"][:60] in text
    assert warnings(done) == []
    assert PASSWORD not in done.log


@pytest.mark.parametrize("scheme", ["starttls://", "smtps://"])
def test_a_mail_goes_encrypted(scheme, tmp_path, monkeypatch, certificate):
    monkeypatch.setenv("NOTIFY_SMTP_LOGIN", f"me:{PASSWORD}")
    keywords = {"certificate": certificate, "encrypted": scheme == "smtps://", "login": f"me:{PASSWORD}"}
    with Post("STARTTLS", "AUTH PLAIN", **keywords) as post:
        (sentence,) = notify(_settings(**by_mail(post, scheme)), _report("failed"), tmp_path)
        assert "its certificate is not trusted (" in sentence
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert notify(_settings(**by_mail(post, scheme)), _report("failed"), tmp_path) == []
    assert post.over_tls == [True]
    assert [one.split()[0] for one in post.commands].index("AUTH") > 0


@pytest.mark.parametrize(
    ("keywords", "times", "reason"),
    [
        ({"refuses": {"AUTH": f"535 no, {PASSWORD} is wrong"}}, 1, "it refuses the login (SMTP 535)"),
        ({"refuses": {"MAIL": "451 later"}}, 3, "it refuses the mail (SMTP 451)"),
        ({"refuses": {"DATA": "554 spam"}}, 1, "it refuses the mail (SMTP 554)"),
        ({"refuses": {"RCPT": "550 who"}}, 1, "it refuses all recipients (SMTP 550)"),
        (
            {"refuses": {"rcpt TO:<bob@example.org>": "550 who"}},
            1,
            "it refuses bob@example.org; the other recipients got the mail",
        ),
        ({"refuses": {"AUTH": "334 abcde"}, "offers": ("AUTH CRAM-MD5",)}, 1, "it does not speak SMTP"),
        ({"refuses": {"MAIL": "hello"}}, 1, "it does not speak SMTP"),
        ({"offers": ()}, 1, "it does not support the encryption or the login that is configured"),
    ],
)
def test_a_mail_server_that_refuses(keywords, times, reason, tmp_path, monkeypatch):
    monkeypatch.setenv("NOTIFY_SMTP_LOGIN", f"me:{PASSWORD}")
    offers = keywords.pop("offers", ("AUTH PLAIN",))
    with Post(*offers, login=f"me:{PASSWORD}", **keywords) as post:
        (sentence,) = notify(_settings(NOTIFY_TIMEOUT="9", **by_mail(post)), _report("blocked"), tmp_path)
    assert sentence == f"The mail server {post.place} was not notified that kyoto is blocked: {reason}."
    assert sum(one.upper().startswith("EHLO") for one in post.commands) == times


class EndlessPost(Counter):
    """Its replies have no end: of the command that the server's ``endless`` names, or of all together."""

    def handle(self):
        with suppress(ConnectionError):
            super().handle()

    def say(self, *lines):
        super().say(*lines)
        self.server.sent += sum(map(len, lines))

    def ehlo(self, _):
        while self.server.sent < 64 << 20:
            self.say(*["250-" + "x" * 60] * 1000)


@pytest.mark.parametrize("scheme", ["", "smtps://"])
def test_the_replies_of_a_mail_server_end(scheme, tmp_path, monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Post(certificate=certificate, encrypted=bool(scheme)) as post:
        post.server.RequestHandlerClass, post.server.sent = EndlessPost, 0
        (sentence,) = notify(_settings(**by_mail(post, scheme)), _report("failed"), tmp_path)
    assert sentence.endswith("was not notified that kyoto is failed: its replies are larger than 65536 bytes.")
    assert len(post.commands) == 1, "it is not tried again"
    assert post.server.sent < 16 << 20, "what lay in the sockets"


def test_a_reply_without_end_after_the_mail_was_taken_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(EndlessPost, "ehlo", Counter.ehlo)
    monkeypatch.setattr(EndlessPost, "quit", lambda self, _: self.say(*["221-" + "x" * 60] * 10_000))
    with Post() as post:
        post.server.RequestHandlerClass, post.server.sent = EndlessPost, 0
        assert notify(_settings(**by_mail(post)), _report("failed"), tmp_path) == []
    assert len(post.mails) == 1


def test_an_error_after_the_mail_was_taken_is_none(tmp_path):
    with Post(refuses={"QUIT": "gone"}) as post:
        assert notify(_settings(**by_mail(post)), _report("failed"), tmp_path) == []
    assert len(post.mails) == 1


def test_a_mail_server_that_is_away_is_a_warning(crawl, portal):
    mail = {"NOTIFY_SMTP": "127.0.0.1:9", "NOTIFY_MAIL_FROM": "a@example.org", "NOTIFY_MAIL_TO": "b@example.org"}
    done = crawl("ckan", portal(datasets=3, faults=MISSING), settings={**mail, "NOTIFY_TIMEOUT": "1"})
    (warning,) = warnings(done)
    assert (done.code, "The mail server 127.0.0.1:9 was not notified" in warning) == (3, True)


def test_a_name_forges_no_header(tmp_path):
    report = _report("failed") | {"source": "x\r\nBcc: all@example.org\r\n\r\nBuy"}
    mail = Mail(to=("a@example.org",), sender="b@example.org", server=Server("smtp", "h", 25))
    read = message_from_bytes(mail.message(Notice(report, tmp_path)).as_bytes(), policy=policy.default)
    assert read["Bcc"] is None
    assert read["Subject"].startswith("x Bcc: all@example.org Buy: failed")


def test_what_a_portal_sends_forges_nothing(tmp_path):
    bad = {
        "url": "https://x.example/?token=abcdef",
        "error": "\x1b[2J\r\n.\r\nRCPT\u202e\ud800 \U0001f600" + "x" * 5000,
    }
    _errors(tmp_path, {"run": "now", "stage": "list", "kind": "http", **bad})
    text = body(Notice(_report("failed") | {"run": "now"}, tmp_path))
    assert "  list http https://x.example/?token=***\n    [2J . RCPT 😀xxx" in text
    assert all(one.isprintable() or one == "\n" for one in text)
    assert max(map(len, text.splitlines())) < 400


def test_the_first_error_lines_of_this_run_only(tmp_path):
    _errors(
        tmp_path,
        *({"run": "old", "stage": "list", "kind": "http", "error": f"old {number}"} for number in range(3)),
        {"run": "older", "stage": "list", "kind": "http", "error": {"run": "now"}},
        *({"run": "now", "stage": "list", "kind": "http", "error": f"now {number}."} for number in range(30)),
    )
    with (tmp_path / "errors.jsonl").open("ab") as file:
        file.write(b'{"run":"now", torn')
    text = body(Notice(_report("failed") | {"run": "now"}, tmp_path))
    assert re.findall(r"now (\d+)\.", text) == [str(number) for number in range(LINES)]
    assert "old" not in text
    assert text.count("list http") == LINES


def test_why_a_run_did_not_start(tmp_path):
    why = "not started: The rules nowhere.toml can't be read."
    notice = Notice({**_report("failed"), "finish_reason": why, "errors": {}}, tmp_path)
    assert notice.text == f"kyoto: failed. {why}"
    assert (notice.fields()["finish_reason"], notice.advice == notice.fields()["advice"]) == (why, True)
    assert "errors.jsonl" not in body(notice)
    assert why in body(notice)


def test_how_a_run_died(tmp_path):
    why = "Process 7, which ended by SIGKILL and logged to /srv/one.log, left no report."
    notice = Notice({**_report("interrupted"), "finish_reason": "died", "why": f"{why}\x1b[2J"}, tmp_path)
    assert body(notice).split("\n\n")[1:3] == [f"{why}[2J", f"{notice.advice}\n  scrapy harvest kyoto"]
    assert notice.advice.startswith("The run crashed: its process was killed, or the machine went down. Run the same")
    assert notice.advice == notice.fields()["advice"]
    assert "why" not in notice.fields()
    assert Notice(_report("interrupted"), tmp_path).advice.startswith("The run was stopped before its end.")


def test_what_to_do_goes_by_the_cause_and_not_by_the_verdict(tmp_path):
    """As error_kinds.toml has it: nobody who is blocked, or who sees a catalogue shrink, is told to run again."""

    def told(verdict, **errors):
        notice = Notice({**_report(verdict), "errors": errors}, tmp_path)
        return notice.fields()["advice"].removeprefix(KINDS.get(next(iter(errors), ""), "")).strip(), notice.command

    assert told("incomplete", shrink=1, http=40) == (ADVICE["shrink"], "scrapy sources accept-shrink kyoto")
    assert told("incomplete", http=40) == (ADVICE["http"], "scrapy harvest kyoto")
    assert told("blocked", blocked=1, timeout=9) == (ADVICE["blocked"], None)
    assert told("failed", no_datasets=1) == (ADVICE["no_datasets"], "scrapy sources validate kyoto")
    assert told("failed")[1] == "scrapy jobs show kyoto"
    assert told("interrupted", blocked=1, http=9) == (ADVICE["blocked"], None)
    assert told("interrupted", http=9)[1] == "scrapy harvest kyoto"
    damaged = Notice({**_report("failed"), "errors": {"http": None}}, tmp_path)
    assert (damaged.advice, Notice({**_report("failed"), "errors": ["http"]}, tmp_path).advice) == (damaged.advice,) * 2
    alone = {**_report("incomplete"), "errors": {"shrink": 1}, "run": "20261120T030000Z", "arguments": {"q": "a b"}}
    command = Notice(alone | {"spider": "ckan"}, tmp_path, is_listed=False).command
    assert command == "scrapy crawl ckan -a 'q=a b' -s ACCEPT_SHRINK=20261120T030000Z"
    assert Notice(alone | {"published": {}, "errors": {"http": 1}}, tmp_path, is_listed=False).command in (None, "")
    assert Notice(_report("complete"), tmp_path).advice is None
    mail = body(Notice({**_report("blocked"), "errors": {"blocked": 1}}, tmp_path))
    assert (mail.count(ADVICE["blocked"]), "again" in mail) == (2, False)


def test_a_letter_names_the_report_that_is_there(tmp_path):
    report = _report("failed")
    notice = Notice({**report, "log": "/srv/one.log"}, tmp_path / "kyoto")
    assert f"The files: {tmp_path / 'kyoto'}\nIts log: /srv/one.log\n" in body(notice)
    _run(tmp_path, "kyoto", report["run"], report)
    assert f"The report: {tmp_path / 'kyoto' / 'runs' / report['run']}.json\nIts log: " in body(notice)


@pytest.mark.slow
def test_a_large_file_of_errors_is_read_a_line_at_a_time(tmp_path):
    path = tmp_path / "errors.jsonl"
    _errors(tmp_path, *({"run": "now", "error": {"run": "old"}} for _ in range(LINES - 1)))
    with path.open("ab") as file:
        file.truncate(200_000_000)  # a line that has no end
    code = (
        "import resource, sys; from pathlib import Path; from crawlers.operate.notify.notice import Notice, body;"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "body(Notice({'source': 's', 'verdict': 'failed', 'run': 'now'}, Path(sys.argv[1])));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, check=True)
    assert int(ran.stdout) < 10_000  # KiB


# Prometheus


def test_prometheus_has_the_last_runs_of_all_sources(crawl, portal, output, tmp_path):
    file = tmp_path / "catalogues.prom"
    site = portal(datasets=20)
    chosen = {"PROMETHEUS_FILE": str(file)}
    first = crawl("ckan", site, settings=chosen, source="kyoto").report
    site.fault(count_off=5)
    second = crawl("ckan", site, settings=chosen, source="kyoto").report
    other = crawl("ckan", site, settings=chosen, source="osaka", max_datasets="5").report
    found = _metrics(file)
    assert {name for name, _ in found} == {
        f"catalogue_{name}" for name in METRICS if name not in ("last_run_files", "last_run_flaws")
    }
    at = {"source": "kyoto"}
    assert _of(found, "last_run_timestamp_seconds", at, spider="ckan") == _seconds(second["finished"])
    assert _of(found, "last_complete_timestamp_seconds", at) == _seconds(first["finished"])
    assert _of(found, "last_run_duration_seconds", at) == pytest.approx(
        _seconds(second["finished"]) - _seconds(second["started"]), abs=0.001
    )
    assert [_of(found, "last_run_datasets", at, what=what) for what in ("expected", "listed")] == [25, 20]
    assert {name: _of(found, "last_run_documents", at, outcome=name) for name in OUTCOMES} == second["counts"]
    assert _of(found, "last_run_errors", at, kind="count_mismatch") == 1
    assert _of(found, "last_run_requests", at) == second["requests"]
    assert {name: _of(found, "last_run_verdict", at, verdict=name) for name in VERDICTS} == {
        name: float(name == "incomplete") for name in VERDICTS
    }
    assert _of(found, "last_run_verdict", {"source": "osaka"}, verdict=other["verdict"]) == 1
    assert ("catalogue_last_complete_timestamp_seconds", (("source", "osaka"),)) not in found
    assert list(tmp_path.glob("*.prom*")) == [file]


def test_a_quiet_night_says_since_when_and_how_many_there_are(crawl, portal, output, tmp_path, monkeypatch):
    file, site = tmp_path / "catalogues.prom", portal(datasets=20)
    chosen = {"PROMETHEUS_FILE": str(file), "NOTIFY_VERDICTS": "complete"}
    first = crawl("ckan", site, settings=chosen, source="kyoto")
    assert (first.report["datasets_on_disk"], first.report["unchanged_since"]) == (20, None)
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        done = crawl("ckan", site, settings=chosen, source="kyoto", since="last")
    (told,), since = hook.told, first.manifest[-1]["time"]
    sentence = f"kyoto: complete. Nothing changed since {since[:10]} {since[11:16]} UTC; 20 datasets on disk"
    assert told["text"].startswith(sentence)
    assert done.lines[-2].startswith(sentence)
    for said in (told, done.report):
        assert (said["datasets_on_disk"], said["unchanged_since"]) == (20, since)
    assert _of(_metrics(file), "last_run_datasets", {"source": "kyoto"}, what="on disk") == 20
    assert f"complete. Nothing changed since {since[:10]}" in sentence_of(output, done)


def sentence_of(output, crawl):
    """What `scrapy harvest` and `scrapy jobs` say of a crawl's run."""
    return run_text.sentence(find(output, f"kyoto/{crawl.report['run']}"))


def test_hostile_reports_and_folders_break_no_file(tmp_path):
    output = tmp_path / "output"
    _run(output, "good", "20260101T000000Z", _report("complete"))
    _run(output, 'a"b\\c', "20260101T000000Z", _report("failed"))
    _run(output, "odd", "20260101T000000Z", _report("failed") | {"expected": 10**400, "listed": "many", "counts": 3})
    (output / "odd" / "runs" / "20270101T000000Z.json").write_text('{"verdict": "fine"}')
    (output / "odd" / "runs" / "20280101T000000Z.json").write_text("{")
    (output / "odd" / "runs" / "20290101T000000Z.json").mkdir()
    (output / "odd" / "runs" / "zzz.json").write_text(json.dumps(_report("complete")))
    (output / "empty" / "runs").mkdir(parents=True)
    (output / "bytes\udcff" / "runs").mkdir(parents=True)
    (output / "bytes\udcff" / "runs" / "20260101T000000Z.json").write_text(json.dumps(_report("failed")))
    Prometheus(tmp_path / "x.prom", output).write()
    found = _metrics(tmp_path / "x.prom")
    sources = {dict(labels)["source"] for _, labels in found}
    assert sources == {"good", 'a"b\\c', "odd", "bytes"}
    assert _of(found, "last_run_verdict", {"source": "odd"}, verdict="failed") == 1
    assert ("catalogue_last_run_datasets", (("source", "odd"), ("what", "expected"))) not in found


def test_the_last_run_is_the_latest_by_name_and_complete_is_looked_for(tmp_path):
    for number, verdict in enumerate(("complete", "failed", "blocked"), 1):
        for run, suffix in (("20260101T000000Z", ""), ("20260101T000000Z", "-2"), ("20260101T000000Z", "-10")):
            if number == 1 + ("", "-2", "-10").index(suffix):
                report = _report(verdict) | {"finished": f"2026-01-01T00:0{number}:00.000Z"}
                _run(tmp_path / "output", "kyoto", run + suffix, report)
    Prometheus(tmp_path / "x.prom", tmp_path / "output").write()
    found = _metrics(tmp_path / "x.prom")
    assert _of(found, "last_run_verdict", {"source": "kyoto"}, verdict="blocked") == 1
    assert _of(found, "last_complete_timestamp_seconds", {"source": "kyoto"}) == _seconds("2026-01-01T00:01:00.000Z")


def test_crawls_that_end_at_once_tear_nothing_and_lose_nothing(tmp_path):
    output, file = tmp_path / "output", tmp_path / "x.prom"
    for number in range(20):
        _run(output, f"source-{number}", "20260101T000000Z", _report("complete"))
    Prometheus(file, output).write()

    def end(number):
        _run(output, f"late-{number}", "20260101T000000Z", _report("failed"))
        Prometheus(file, output).write()

    ends = [threading.Thread(target=end, args=(number,)) for number in range(8)]
    for one in ends:
        one.start()
    while any(one.is_alive() for one in ends):
        assert len({dict(labels)["source"] for _, labels in _metrics(file)}) >= 20
        time.sleep(0.02)
    assert len({dict(labels)["source"] for _, labels in _metrics(file)}) == 28
    assert list(tmp_path.glob("x.prom*")) == [file]


def test_whoever_reads_the_file_may_read_it(tmp_path):
    path = tmp_path / "catalogues.prom"
    before = os.umask(0o027)
    try:
        Prometheus(path, tmp_path).write(_report("complete"))
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_file_that_cannot_be_written_is_a_warning(tmp_path):
    chosen = _settings(PROMETHEUS_FILE=str(tmp_path / "gone" / "x.prom"), OUTPUT_DIR=str(tmp_path / "output"))
    (tmp_path / "gone").mkdir()
    notifications = Notifications.from_settings(chosen)
    (tmp_path / "gone").rmdir()
    (sentence,) = notifications.send(_report("complete"), tmp_path)
    assert sentence == (
        f"Prometheus' file {tmp_path}/gone/x.prom was not notified that kyoto is complete: "
        "it can't be written (No such file or directory)."
    )


# Without a crawl


def test_a_run_that_died_is_told_without_a_crawl(tmp_path, monkeypatch):
    output, file = tmp_path / "output", tmp_path / "x.prom"
    _run(output, "kyoto", "20260101T000000Z", _report("complete"))
    died = {"source": "kyoto", "spider": "ckan", "run": "20260102T000000Z", "verdict": "interrupted", "listed": 7}
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        keywords = {"NOTIFY_VERDICTS": ["interrupted"], "PROMETHEUS_FILE": str(file), "OUTPUT_DIR": str(output)}
        assert notify(_settings(**keywords), died, output / "kyoto") == []
    assert [(told["text"], told["seconds"], told["counts"]) for told in hook.told] == [
        ("kyoto: interrupted. 7 datasets listed.", None, None)
    ]
    found = _metrics(file)
    assert _of(found, "last_run_verdict", {"source": "kyoto"}, verdict="interrupted") == 1
    assert ("catalogue_last_complete_timestamp_seconds", (("source", "kyoto"),)) in found


def _night(output, day, verdict, **chosen):
    """A run ends, and who is to be notified of it is."""
    time = {name: f"2026-01-{day:02}T0{hour}:00:00.000Z" for name, hour in (("started", 2), ("finished", 3))}
    run = f"202601{day:02}T020000Z"
    report = _report(verdict) | time | {"run": run, "errors": {}, "arguments": {"source": "kyoto"}}
    _run(output, "kyoto", run, report)
    assert notify(_settings(OUTPUT_DIR=str(output), **chosen), report, output / "kyoto") == []


def test_a_source_that_fails_again_or_has_recovered_is_told_as_such(tmp_path, monkeypatch):
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        for day, verdict in enumerate(("complete", "failed", "blocked", "failed", "complete", "complete"), 1):
            _night(tmp_path, day, verdict)
    assert [told["text"].partition(". ")[0] for told in hook.told] == [
        "kyoto: failed",
        "kyoto: blocked again (run 2 in a row since 2026-01-02 02:00)",
        "kyoto: failed again (run 3 in a row since 2026-01-02 02:00)",
        "kyoto: recovered: complete after 3 failed runs",
    ]
    assert [(told["failed_before"], told["failing_since"]) for told in hook.told] == [
        (0, None),
        *((count, "2026-01-02T02:00:00.000Z") for count in (1, 2, 3)),
    ]


def test_what_was_not_notified_of_is_not_told_again_and_needs_no_recovery(tmp_path, monkeypatch):
    chosen = {"NOTIFY_VERDICTS": "blocked"}
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        for day, verdict in enumerate(("incomplete", "complete", "blocked", "incomplete", "partial"), 1):
            _night(tmp_path, day, verdict, **chosen)
    assert [told["text"].partition(". ")[0] for told in hook.told] == [
        "kyoto: blocked",
        "kyoto: recovered: partial after 1 failed run",
    ]


def test_a_trial_with_other_arguments_is_no_recovery(tmp_path, monkeypatch):
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        _night(tmp_path, 1, "failed")
        trial = _report("partial") | {"run": "20260102T010000Z", "arguments": {"max_datasets": "1"}}
        _run(tmp_path, "kyoto", trial["run"], trial)
        _night(tmp_path, 3, "failed")
    assert "failed again (run 2 in a row" in hook.told[-1]["text"]


@pytest.mark.parametrize(
    ("chosen", "contact", "gets"),
    [
        ({}, "them@example.org", []),
        ({"NOTIFY_SOURCE_CONTACT": "1"}, "them@example.org", ["failed", "recovered"]),
        ({"NOTIFY_SOURCE_CONTACT": "1"}, "Room 7, ask for Ann", []),
        ({"NOTIFY_SOURCE_CONTACT": "1"}, "x@example.org\nBcc: y@example.org", []),
        ({"NOTIFY_SOURCE_CONTACT": "1"}, "ann@example.org", []),
    ],
)
def test_the_contact_of_a_source_gets_the_mail_of_its_failures(tmp_path, chosen, contact, gets):
    wanted = {**chosen, "SOURCE_CONTACT": contact, "NOTIFY_VERDICTS": "failed,complete"}
    with Post() as post:
        for day, verdict in enumerate(("failed", "complete", "complete"), 1):
            _night(tmp_path, day, verdict, **by_mail(post, **wanted))
    mails = [message_from_bytes(one, policy=policy.default) for one in post.mails]
    assert len(mails) == 3
    assert [mail["Subject"].split(":")[1].split(",")[0].strip() for mail in mails if mail["Cc"]] == gets
    assert [one for one in post.commands if "them@" in one] == ["rcpt TO:<them@example.org>"] * len(gets)


def test_metrics_of_a_source_that_fails_now(tmp_path):
    output = tmp_path / "output"
    for day, (verdict, more) in enumerate(
        (("complete", {"datasets_on_disk": 40}), ("partial", {"datasets_on_disk": 41}), ("failed", {})), 1
    ):
        report = _report(verdict) | {"finished": f"2026-01-0{day}T03:00:00.000Z"} | more
        _run(output, "kyoto", f"2026010{day}T020000Z", report)
    Prometheus(tmp_path / "x.prom", output).write()
    found = _metrics(tmp_path / "x.prom")
    at = {"source": "kyoto"}
    assert _of(found, "datasets", at) == 41
    assert _of(found, "last_success_timestamp_seconds", at) == _seconds("2026-01-02T03:00:00.000Z")
    assert _of(found, "last_complete_timestamp_seconds", at) == _seconds("2026-01-01T03:00:00.000Z")


def test_nobody_is_told_by_default(tmp_path):
    assert not Notifications.from_settings(_settings())
    assert notify(_settings(), _report("failed"), tmp_path) == []


# Mistakes


MAIL = {"NOTIFY_MAIL_TO": "a@example.org", "NOTIFY_MAIL_FROM": "b@example.org"}
MISTAKES = [
    ({"NOTIFY_VERDICTS": "failed,brocken"}, {}, "NOTIFY_VERDICTS: 'brocken' is not a verdict. There are: complete, "),
    ({"NOTIFY_TIMEOUT": "soon"}, {}, "NOTIFY_TIMEOUT takes seconds, more than 0 and 45 at most."),
    ({"NOTIFY_TIMEOUT": "46"}, {}, "NOTIFY_TIMEOUT takes seconds"),
    ({"NOTIFY_TIMEOUT": "nan"}, {}, "NOTIFY_TIMEOUT takes seconds"),
    ({"NOTIFY_WEBHOOK_ENV": "https:x"}, {}, "NOTIFY_WEBHOOK_ENV takes the name of an environment variable, not its"),
    ({}, {"NOTIFY_WEBHOOK": "hooks.example.org/T0PSECRET"}, "The environment variable NOTIFY_WEBHOOK has no http(s)"),
    ({}, {"NOTIFY_WEBHOOK": "ftp://127.0.0.1/T0PSECRET"}, "The environment variable NOTIFY_WEBHOOK has no http(s)"),
    ({}, {"NOTIFY_WEBHOOK": "https://me:T0PSECRET@127.0.0.1/"}, "has no http(s) address without user and password"),
    ({}, {"NOTIFY_WEBHOOK": "https://127.0.0.1:x/T0PSECRET"}, "has no http(s) address without user and password"),
    ({}, {"NOTIFY_WEBHOOK": "https://exa..mple.org/T0PSECRET"}, "has no http(s) address without user and password"),
    ({}, {"NOTIFY_WEBHOOK": "https://127.0.0.1/ T0PSECRET"}, "has no http(s) address without user and password"),
    ({}, {"NOTIFY_WEBHOOK": "https://127.0.0.1/\nT0PSECRET"}, "NOTIFY_WEBHOOK has characters that are not"),
    ({}, {"NOTIFY_WEBHOOK": "http://8.8.8.8/T0PSECRET"}, "has an http address at 8.8.8.8, which is public: use"),
    ({"NOTIFY_MAIL_TO": "a@example.org"}, {}, "NOTIFY_MAIL_TO needs NOTIFY_MAIL_FROM"),
    ({**MAIL, "NOTIFY_MAIL_TO": "a@example.org,Bob"}, {}, "NOTIFY_MAIL_TO: 'Bob' is not a mail address such as"),
    ({**MAIL, "NOTIFY_MAIL_FROM": "x@example.org\nBcc: y@example.org"}, {}, "is not a mail address such as"),
    ({"NOTIFY_SMTP": "localhost:smtp"}, {}, "NOTIFY_SMTP is neither host:port, smtps://host:465 nor"),
    ({"NOTIFY_SMTP": "smtps://me:T0PSECRET@h"}, {}, "user and password do not belong in it."),
    ({"NOTIFY_SMTP": "https://h:465"}, {}, "NOTIFY_SMTP is neither host:port"),
    ({"NOTIFY_SMTP": "h:25/x"}, {}, "NOTIFY_SMTP is neither host:port"),
    ({"NOTIFY_SMTP": f"{'x' * 64}.org:25"}, {}, "NOTIFY_SMTP is neither host:port"),
    ({"NOTIFY_SMTP": ""}, {}, "NOTIFY_SMTP is neither host:port"),
    (MAIL, {"NOTIFY_SMTP_LOGIN": "T0PSECRET"}, "The environment variable NOTIFY_SMTP_LOGIN is not user:password."),
    (
        {**MAIL, "NOTIFY_SMTP": "8.8.8.8:25"},
        {"NOTIFY_SMTP_LOGIN": "me:T0PSECRET"},
        "NOTIFY_SMTP: the password would go unencrypted to 8.8.8.8, which is public: use starttls://8.8.8.8:587",
    ),
    ({"PROMETHEUS_FILE": "/nowhere/at/all.prom"}, {}, "PROMETHEUS_FILE=/nowhere/at/all.prom can't be written"),
    ({"PROMETHEUS_FILE": "/tmp"}, {}, "PROMETHEUS_FILE=/tmp can't be written"),
]


@pytest.mark.parametrize(("chosen", "environment", "told"), MISTAKES)
def test_a_mistake_is_a_sentence(chosen, environment, told, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ArgumentError) as caught:
        Notifications.from_settings(_settings(**chosen))
    assert told in str(caught.value)
    assert "T0PSECRET" not in str(caught.value)


@pytest.mark.parametrize("number", [0, 12, 13, 16])
def test_a_mistake_stops_a_crawl_before_any_request(number, portal, output, monkeypatch):
    chosen, environment, told = MISTAKES[number]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    site = portal(datasets=3)
    ran = scrapy("crawl", "ckan", *options(output, chosen, portal=site.url))
    assert (ran.returncode, site.requests(), output.exists()) == (1, 0, False)
    assert told in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr
    assert "T0PSECRET" not in ran.stderr


def test_a_name_in_ones_own_network_may_do_without_encryption(monkeypatch):
    addresses = {"chat.intranet": ["10.0.0.7"], "chat.example.org": ["10.0.0.7", "8.8.8.8"], "gone": []}
    monkeypatch.setattr(channels, "_addresses", addresses.get)
    assert [channels.is_private(name) for name in addresses] == [True, False, True]


def test_a_spider_of_no_catalogue_is_not_bothered(portal):
    site = portal(datasets=3)
    run_text = [
        f"-s{one}" for one in ("NOTIFY_VERDICTS=brocken", "ALLOWED_PRIVATE_HOSTS=127.0.0.1", "ROBOTSTXT_OBEY=0")
    ]
    ran = scrapy("fetch", f"{site.url}/api/3/action/package_search", *run_text)
    assert json.loads(ran.stdout)["result"]["count"] == 3


def test_the_verdicts_and_outcomes_are_those_of_the_report():
    assert set(VERDICTS) == set(EXIT_CODES)
    assert (*COUNTS, "failed") == OUTCOMES


# What is given, and what is read


def _settings(**chosen):
    found = Settings()
    found.setmodule(settings)
    found.setdict({"NOTIFY_TIMEOUT": "10", **chosen}, priority="cmdline")
    return found


def _report(verdict):
    return {
        "source": "kyoto",
        "spider": "ckan",
        "run": "20260101T000000Z",
        "verdict": verdict,
        "expected": 25,
        "listed": 20,
        "counts": {"new": 20, "failed": 2},
        "errors": {"http": 2},
        "requests": 3,
        "started": "2026-01-01T00:00:00.000Z",
        "finished": "2026-01-01T00:01:00.000Z",
    }


def _errors(folder, *lines):
    with (folder / "errors.jsonl").open("w") as file:
        file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def _run(output, source, run, report):
    folder = output / source / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{run}.json").write_text(json.dumps(report | {"source": source, "run": run}))


def _metrics(file):
    families = text_string_to_metric_families(file.read_text(encoding="utf-8"))
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples}


def _of(found, name, *labels, **more):
    return found[f"catalogue_{name}", tuple(sorted({**dict(*labels), **more}.items()))]


def _seconds(moment):
    return datetime.fromisoformat(moment).timestamp()
