"""The command line: what a user types, mistypes, and is told."""

from __future__ import annotations

import argparse
import csv
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from scrapy import __version__ as scrapy_version
from scrapy.cmdline import _get_commands_from_module
from scrapy.exceptions import UsageError

from crawlers import settings
from crawlers.operate.console import open_streams, print_error, print_lines
from crawlers.operate.sources.source import project
from crawlers.operate.strict_command import StrictCommand
from tests import forked
from tests.conftest import ROOT, Crawl, command, options, scrapy, spider_names
from tests.indexed import indexed
from tests.portal.apis import API
from tests.portal.dcat import Catalogue


def test_list():
    assert command("list").stdout.split() == spider_names()


def test_check():
    ran = scrapy("check")
    assert (ran.returncode, ran.stderr.strip().splitlines()[-1]) == (0, "OK")


def test_catalogues():
    lines = command("catalogues").stdout.splitlines()
    found = {line.split()[0]: line.split()[1:3] for line in lines}
    assert (found["ckan"], found["dcat"]) == (["-a", "portal=URL"], ["-a", "url=URL"])
    hdx = next(line for line in lines if line.startswith("hdx "))
    assert hdx.split()[1] == "https://data.humdata.org"
    assert hdx.endswith("The Humanitarian Data Exchange, run by OCHA.")


def test_a_script_that_is_told_to_crawl_has_all_commands(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text("from scrapy.cmdline import execute\nexecute(['scrapy', 'jobs', '-s', 'OUTPUT_DIR=nowhere'])\n")
    ran = subprocess.run([sys.executable, str(script), "crawl"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "nowhere has no runs yet.\n")


def test_catalogues_of_one_spider_names_every_argument():
    shown = command("catalogues", "hdx").stdout
    described = json.loads(command("catalogues", "--json", "hdx").stdout)
    assert len(described) == 1
    for name, argument in described[0]["arguments"].items():
        assert f"-a {name}=" in shown
        assert argument["help"] in shown
    assert described[0]["arguments"]["level"]["default"] == "resource"


def test_catalogues_of_a_spider_that_is_not_there():
    ran = command("catalogues", "hxd")
    assert (ran.returncode, "there is no spider 'hxd'" in ran.stderr) == (2, True)


def test_help_says_what_the_exit_codes_are():
    shown = " ".join(scrapy("crawl", "--help").stdout.split())
    assert "0 complete or partial (stopped by a limit of yours), 1 could not start, 3 incomplete, 4 blocked" in shown


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("sources show", 2, ["Usage: scrapy sources show NAME [--json]", "this is not what show takes."]),
        ("sources show a b", 2, ["Usage: scrapy sources show NAME [--json]", "this is not what show takes."]),
        ("sources refuse a", 2, ["Usage: scrapy sources refuse NAME ... --why TEXT", "--why is missing."]),
        ("sources refuse a --why", 2, ["Usage: scrapy sources refuse NAME ... --why TEXT", "expected one argument"]),
        (
            "sources add a",
            2,
            ["Usage: scrapy sources add NAME [SPIDER] URL | add NAME --known PORTAL", "what add takes."],
        ),
        ("jobs show", 1, ["[--limit N] [--json]; `scrapy jobs` lists the runs."]),
        ("archive get", 1, ["scrapy archive takes: get DATASET|RESOURCE|URL [--at DATE] [-o FILE]"]),
        ("backup", 2, ["Usage: scrapy backup FOLDER [--files]", "name one new folder."]),
    ],
)
def test_usage_is_that_of_the_verb_and_is_said_once(words, code, told):
    ran = scrapy(*words.split())
    assert ran.returncode == code
    assert [line.endswith(end) for line, end in zip(ran.stderr.splitlines(), told, strict=True)] == [True] * len(told)


def test_usage_of_a_verb_that_there_is_not_is_that_of_the_command():
    ran = scrapy("sources", "shw")
    usage, error = ran.stderr.splitlines()
    assert usage.startswith("Usage: scrapy sources [--json] | show NAME")
    assert error.endswith("error: There is no scrapy sources shw. Did you mean show?")


def test_help_of_a_verb_shows_what_it_takes():
    assert "  scrapy sources edit NAME KEY=VALUE ... [-a" in scrapy("sources", "edit", "--help").stdout


def installed(*words, cwd):
    """The command of the package, without a project around."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("SCRAPY_SETTINGS_MODULE", None)
    command = [sys.executable, "-m", "crawlers", *words]
    return forked.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_version(tmp_path):
    """Of this project, with both commands."""
    said = f"catalogue-crawlers {settings.VERSION}\nScrapy {scrapy_version}\n"
    assert installed("--version", cwd=tmp_path).stdout == scrapy("version").stdout == said
    assert "Twisted" in scrapy("version", "-v").stdout


def test_messages_name_the_command_that_was_called(tmp_path):
    """There is no other one without a scrapy.cfg, or with pipx."""
    for words, told in (
        (["jobs", "show", "town"], "output has no run or source 'town'. `catalogue-crawlers jobs` lists the runs."),
        (["sources", "show"], "Usage: catalogue-crawlers sources show NAME [--json]"),
        (["sources", "refuse", "--help"], "catalogue-crawlers sources refuse NAME ... --why TEXT"),
        (["archive", "--help"], "`catalogue-crawlers crawl archive -a of=SOURCE` fills an archive."),
    ):
        ran = installed(*words, cwd=tmp_path)
        said = " ".join((ran.stdout + ran.stderr).split())
        assert told in said
        assert not re.search(r"(?<!-m )\bscrapy [a-z]", said)
    assert "\n   catalogue-crawlers <command> [options] [args]\n" in installed(cwd=tmp_path).stdout
    (tmp_path / "sources.toml").write_text("")
    assert installed("sources", cwd=tmp_path).stdout.endswith(": catalogue-crawlers sources add NAME URL adds one.\n")


PAGES = """
import io, sys
from contextlib import closing
from pathlib import Path
from crawlers.operate.dashboard.app import app
from crawlers.operate.report.report import write
from crawlers.store.index.database import connect

folder = Path(sys.argv[1])
asked = app(folder, listed=folder / "sources.toml").test_client()
for path in ("/", "/sources", "/files", "/errors?kind=http", "/nothing"):
    print(asked.get(path, base_url="http://localhost").text)
with closing(connect(folder)) as db:
    write(db, file := io.BytesIO())
print(file.getvalue().decode())
"""


def test_pages_name_the_command_that_was_called(tmp_path):
    """In a process of its own: another test's pages have been compiled with another name."""
    indexed(tmp_path, datasets=12)
    named = {**os.environ, "CRAWLERS_COMMAND": "catalogue-crawlers"}
    words = [sys.executable, "-c", PAGES, str(tmp_path)]
    shown = subprocess.run(words, cwd=ROOT, env=named, capture_output=True, text=True, check=True, timeout=300).stdout
    assert re.search(r"(?<!-m )\bscrapy [a-z]", shown) is None
    assert "<code>catalogue-crawlers sources add NAME URL</code>" in shown
    assert "Made by <code>catalogue-crawlers report</code>" in shown


def test_what_a_portal_wrote_is_not_changed(monkeypatch, capsys):
    monkeypatch.setenv("CRAWLERS_COMMAND", "catalogue-crawlers")
    open_streams()
    print_lines(["scrapy jobs"])
    print_error("scrapy jobs lists them")
    assert capsys.readouterr() == ("scrapy jobs\n", "catalogue-crawlers jobs lists them\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["hxd"], "There is no spider 'hxd'. Did you mean hdx? There are: alberta, "),
        (["hdx", "-a", "qq=1"], "spider hdx has no argument 'qq'. Did you mean q? It takes: defaults, encoding,"),
        (["hdx", "-a", "name=1"], "spider hdx has no argument 'name'."),
        (["hdx", "-a", "level=all"], "level='all' is not one of snapshot, dataset, resource, both."),
        (["hdx", "-a", "max_datasets=0"], "max_datasets='0' is not a whole number, 1 or more."),
        (["hdx", "-a", "max_datasets=ten"], "max_datasets='ten' is not a whole number, 1 or more."),
        (["hdx", "-a", "q= "], "q=' ' is not a text that is not empty."),
        (["hdx", "-a", "source=../x"], "source='../x' is not a folder name"),
        (["hdx", "-a", "portal=ftp://example.org"], "portal='ftp://example.org' is not an http(s) address"),
        (["hdx", "-a", "portal=https://me:secret@example.org"], "without user, password or query"),
        (["hdx", "-a", "portal=http://[::1"], "is not an http(s) address"),
        (
            ["hdx", "-s", "REQUEST_PER_SECOND=1"],
            "is not a setting. Did you mean REQUESTS_PER_SECOND?",
        ),
        (["hdx", "-s", "retry_times=1"], "retry_times is not a setting. Did you mean RETRY_TIMES?"),
        (["ckan"], "spider ckan needs to know the portal: -a portal=https://demo.ckan.org"),
        *(
            (
                ["ckan", "-a", "portal=http://127.0.0.1:9", *words.split()],
                f"{told}: see docs/settings.md.",
            )
            for words, told in (
                ("-s REQUESTS_PER_SECOND=abc", "REQUESTS_PER_SECOND='abc' is not a number"),
                ("-s HEARTBEAT_INTERVAL=nan", "HEARTBEAT_INTERVAL='nan' is not a number"),
                ("-s REQUESTS_PER_SECOND=-1", "REQUESTS_PER_SECOND='-1' is not 0 or more"),
                ("-s ROBOTSTXT_OBEY=perhaps", "ROBOTSTXT_OBEY='perhaps' is not true or false"),
                ("-s RETRY_TIMES=1.5", "RETRY_TIMES='1.5' is not a whole number"),
                ("-s CONCURRENT_REQUESTS=", "CONCURRENT_REQUESTS='' is not a whole number"),
                ("-s LOG_LEVEL=FOO", "LOG_LEVEL='FOO' is not one of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
                *(
                    (f"-s ALLOWED_PRIVATE_HOSTS={value}", f"ALLOWED_PRIVATE_HOSTS='{value}' is not hosts, or host:port")
                    for value in ("h:abc", "[", "a.org,http://x/y", "me@a.org", "h:99999")
                ),
                ("-L info", "LOG_LEVEL='info' is not one of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
            )
        ),
    ],
)
def test_a_mistake_is_told_before_any_request(words, told, tmp_path):
    ran = scrapy("crawl", *words, "-s", f"OUTPUT_DIR={tmp_path / 'output'}")
    assert ran.returncode == 1
    assert told in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize("words", [["verify"], ["archive", "verify"], ["search", "x"]])
def test_a_mistake_in_a_setting_is_told_by_every_command(words, tmp_path):
    ran = scrapy(*words, "-s", "LOGSTATS_INTERVAL=abc", "-s", f"OUTPUT_DIR={tmp_path}")
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1].endswith("LOGSTATS_INTERVAL='abc' is not a number: see docs/settings.md.")


def test_a_mistake_in_a_setting_is_logged_too(tmp_path):
    log = tmp_path / "log"
    ran = scrapy("crawl", "hdx", "-s", "RETRY_TIMES=x", "-s", "LOG_LEVEL=y", "-s", f"LOG_FILE={log}")
    assert ran.returncode == 1
    assert log.read_text().endswith(f"[crawlers.operate.commands.crawl] ERROR: {ran.stderr}")


def test_a_setting_of_another_component_is_taken_and_told(portal, output):
    words = options(output, {"SENTRY_DSN": "x"}, portal=portal(datasets=1).url)
    ran = scrapy("crawl", "ckan", *words, "-s", "LOG_LEVEL=WARNING")
    assert ran.returncode == 0
    assert "WARNING: -s SENTRY_DSN is not a setting of Scrapy or of this project: nothing here reads it" in ran.stderr


class Shown(StrictCommand):
    def short_desc(self):
        return ""

    def run(self, args, opts):
        """It only takes options."""

    def add_options(self, parser):
        super().add_options(parser)
        parser.add_argument("--source")
        parser.add_argument("--list", dest="listing", action="store_true")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--sorce x flood", "there is no option --sorce. Did you mean --source?"),
        ("flood --sorce=x", "there is no option --sorce=x. Did you mean --source?"),
        ("--lst", "there is no option --lst. Did you mean --list?"),
        ("-x flood", "there is no option -x."),
        ("flood -s OUTPT_DIR=x", "OUTPT_DIR is not a setting. Did you mean OUTPUT_DIR?"),
        ("flood - -s SENTRY_DSN=x --source y", ["flood", "-"]),
        ("flood -- -x --sorce", ["flood", "-x", "--sorce"]),
    ],
)
def test_a_mistyped_option_is_no_word(words, said):
    command = Shown()
    command.settings = project().settings.copy()
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    opts, args = parser.parse_known_args(words.split())
    if isinstance(said, list):
        command.process_options(args, opts)
        assert args == said
    else:
        with pytest.raises(UsageError) as refused:
            command.process_options(args, opts)
        assert str(refused.value) == said


def test_every_command_of_ours_refuses_mistyped_options():
    commands = _get_commands_from_module("crawlers.operate.commands", inproject=True)
    assert len(commands) > 10
    assert [name for name, one in commands.items() if not isinstance(one, StrictCommand)] == []


@pytest.mark.parametrize("name", ["sources", "archive", "ecosystem", "publish"])
def test_a_verb_leads_to_a_function_and_takes_options_that_the_command_has(name):
    command = _get_commands_from_module("crawlers.operate.commands", inproject=True)[name]
    command.settings = project().settings
    command.add_options(argparse.ArgumentParser(conflict_handler="resolve"))
    known = {action.dest for action in command.parser._actions} | {"fields"}  # which sources.toml alone can say
    assert command.verbs
    for verb in command.verbs.values():
        assert not verb.code or callable(verb.function)
        assert set(verb.options) <= known


def test_no_spider_is_named():
    ran = scrapy("crawl")
    assert (ran.returncode, ran.stderr.strip().splitlines()[-1]) == (
        2,
        "__main__.py: error: name one spider; `scrapy catalogues` lists them",
    )


@pytest.fixture
def generated(tmp_path):
    """A new catalogue's spider in a copy of the project, and its crawl."""
    project = tmp_path / "project"
    shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(".git", ".venv", "output", "tests", ".*_cache"))

    def run(template, url):
        genspider = [sys.executable, "-m", "scrapy", "genspider", "-t", template, "my-town", url]
        subprocess.run(genspider, cwd=project, capture_output=True, check=True)
        assert len((project / "spiders" / "my_town.py").read_text().splitlines()) <= 10
        crawl = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", "my-town", *options(tmp_path / "output", {})]
        ran = subprocess.run(crawl, cwd=project, capture_output=True, text=True, check=False)
        return ran.returncode, len(list((tmp_path / "output/my-town/datasets").iterdir()))

    return run


@pytest.mark.slow
def test_genspider_writes_a_ckan_portal_that_runs(generated, portal):
    assert generated("ckan", portal(datasets=20).url) == (0, 20)


@pytest.mark.slow
def test_genspider_writes_a_dcat_catalogue_that_runs(generated):
    with Catalogue(20, serialisation="ttl") as site:
        assert generated("dcat", site.address) == (0, 20)


@pytest.mark.slow
def test_genspider_writes_an_api_that_runs(generated):
    with API("opendatasoft", 20) as site:
        assert generated("api", site.portal) == (0, 20)


def test_fetch_and_shell_still_fetch_and_leave_nothing(portal, output):
    site = portal(datasets=1)
    address = f"{site.url}/dataset/cod-ab-global"
    here = "-sALLOWED_PRIVATE_HOSTS=127.0.0.1"
    words = ("--spider", "hdx", f"-sOUTPUT_DIR={output}")
    assert "<h1>Administrative boundaries" in scrapy("fetch", "--nolog", here, *words, address).stdout
    assert not output.exists()
    assert scrapy("shell", "--nolog", here, "-c", "response.status", address).stdout.strip() == "200"


def test_a_feed_of_settings_holds_datasets_only(portal, tmp_path):
    site, feed = portal(datasets=5), tmp_path / "feed.csv"
    words = options(tmp_path / "output", {"FEEDS": json.dumps({str(feed): {"format": "csv"}})}, portal=site.url)
    ran = scrapy("runspider", "spiders/hdx.py", *words)
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False)
    assert len(feed.read_text().splitlines()[0].split(",")) > 20
    with feed.open(newline="") as lines:
        assert len(list(csv.reader(lines))) == 1 + 5


def test_trying_a_spider_out_leaves_no_run(portal, output, tmp_path, monkeypatch):
    """Else a source that was tried out is no longer due, and somebody is told of a run."""
    site, metrics = portal(datasets=5, faults=("gone=resource_show",)), tmp_path / "a.prom"
    monkeypatch.setenv("NOTIFY_WEBHOOK", "http://127.0.0.1:9/hook")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    verdicts = "complete,partial,incomplete,failed,blocked"
    words = options(output, {"PROMETHEUS_FILE": str(metrics), "NOTIFY_VERDICTS": verdicts}, portal=site.url)
    run = scrapy("runspider", "spiders/hdx.py", *words, "-a", "level=resource", "-a", "since=last")
    assert (run.returncode, "Traceback" in run.stderr, "was not notified" in run.stderr) == (0, False, False)
    assert site.requests("download_metadata") > 5
    address = f"{site.url}/api/3/action/package_search?q=*:*&sort=id+asc&rows=5"
    how = ("--spider", "ckan", "-c", "parse_page", "--pipelines")
    command = [sys.executable, "-m", "scrapy", "parse", *how, *words, address]  # Scrapy's own warns of itself
    parsed = forked.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ("Traceback" in parsed.stderr, "was not notified" in parsed.stderr) == (False, False)
    assert "cod-ab-global" in parsed.stdout
    assert not output.exists()
    assert not metrics.exists()
    assert list((tmp_path / "tmp").iterdir()) == []


# What is seen


def on_terminal(*command: str, columns: int = 120, folder: Path = ROOT) -> tuple[int, str]:
    """Runs a command on a pseudo-terminal: its exit code and all it showed."""
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)}
    environment.pop("NO_COLOR", None)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with forked.Popen(command, cwd=folder, env=environment, stdout=theirs, stderr=theirs, close_fds=True) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return process.returncode, shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def test_a_terminal_gets_a_bar_and_colours(portal, output):
    site = portal(datasets=30, resources=2)
    words = options(output, {"REQUESTS_PER_SECOND": "30"}, portal=site.url)
    code, shown = on_terminal(sys.executable, "-W", "error", "-m", "scrapy", "crawl", "hdx", *words)
    assert code == 0
    assert "/90 [" in shown
    assert " docs/s, 0 errors]" in shown
    assert "hdx: \x1b[1;32mcomplete\x1b[0m. 30 of 30 datasets listed" in shown


def test_a_file_gets_plain_lines(crawl, portal):
    site = portal(datasets=30, resources=2)
    log = crawl("hdx", site, settings={"REQUESTS_PER_SECOND": "40", "LOGSTATS_INTERVAL": "0.5"}).log
    assert "of about 90 documents done, 0 errors, " in log
    assert "\x1b" not in log
    assert "\r" not in log


def test_nolog_shows_the_end_only(crawl, portal):
    log = crawl("hdx", portal(datasets=5), more=("--nolog",)).log
    assert [line.split()[0] for line in log.splitlines()] == ["hdx:", log.splitlines()[1].split()[0]]
    assert log.startswith("hdx: complete. 5 of 5 datasets listed; documents: 20 new, 0 updated, 0 unchanged.\n")


def test_credentials_and_control_characters_stay_out_of_the_log(crawl, portal):
    site = portal(datasets=5, faults=("evil_ids",))
    log = crawl("ckan", site, fq="title:x AND&api_key=abc", more=("-L", "DEBUG")).log
    assert "\x1b" not in log


def closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("stderr", ["closed", "full", "closed pipe"])
def test_a_crawl_that_nobody_hears_ends_as_any_other(portal, output, stderr):
    """Its exit code, its report and its documents are what they are when somebody does."""
    site, pipe = portal(datasets=5, faults=("count_off=5",)), closed_pipe()
    words = [sys.executable, "-m", "scrapy", "crawl", "ckan", *options(output, {}, portal=site.url)]
    with Path("/dev/full").open("w") as full:
        closed, heard = (2,) if stderr == "closed" else (), full if stderr == "full" else pipe
        ran = forked.run(words, cwd=ROOT, stderr=heard, closed=closed, check=False)
    os.close(pipe)
    left = Crawl(ran.returncode, "", output / "127.0.0.1")
    assert (left.code, left.report["verdict"], left.kinds()) == (3, "incomplete", [("list", "count_mismatch")])
    assert len(left.documents()) == len(left.manifest) == 5
    assert not (left.folder / "running.json").exists()


STOPPED = """
import os, signal, sys
from crawlers.operate.commands import push, search

command = {"push": push, "search": search}[sys.argv[1]].Command()
command.settings = {"OUTPUT_STORE": ""}
command.execute = lambda *_: os.kill(os.getpid(), int(sys.argv[2]))
command.run([], None)
sys.exit(command.exitcode)
"""


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("push", "Stopped: run the same command to continue."), ("search", "Stopped.")],
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_stopped_says_so(name, sentence, number):
    ran = subprocess.run(
        [sys.executable, "-c", STOPPED, name, str(int(number))], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", f"{sentence}\n")
