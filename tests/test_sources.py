"""sources.toml: what it takes and what it does not, how it is changed, and `scrapy sources` as a user types it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from crawlers.exceptions import SourcesError
from crawlers.operate.harvest.job import Claim, ClaimRecord
from crawlers.operate.harvest.selection import _due, due
from crawlers.operate.sources import dry_run, edit
from crawlers.operate.sources.dry_run import coverage, lines
from crawlers.operate.sources.file import SourcesFile
from crawlers.operate.sources.listing import Listed
from crawlers.operate.sources.schedule import parse
from crawlers.operate.sources.source import Source, project
from crawlers.records.moment import now
from crawlers.store.runs import Run
from crawlers.store.sources_file import zone
from tests import forked
from tests.conftest import FAST, ROOT, command, load, scrapy
from tests.portal.dcat import Catalogue
from tests.portal.html.families import PLAIN
from tests.portal.portal import Portal
from tests.waiting import HANG, until

EXAMPLE = ROOT / "catalogues" / "sources.example.toml"
CKAN = 'spider = "ckan"\narguments = { portal = "https://example.org" }\n'


@pytest.fixture
def written(tmp_path):
    """A sources.toml of that text."""

    def write(text):
        path = tmp_path / "sources.toml"
        path.write_bytes(text.encode())
        return path

    return write


# Loading


def test_the_example(written):
    found = load(EXAMPLE)
    assert list(found) == ["hdx", "demo", "data.example.org", "county"]
    assert found["hdx"] == Source(
        name="hdx",
        spider="hdx",
        arguments={"level": "dataset"},
        settings={"REQUESTS_PER_SECOND": "1.0"},
        schedule=parse("daily 01:00-05:00", "hdx", retry=(timedelta(hours=1), timedelta(hours=6))),
        contact="hdx@un.org",
        owner="Ada",
    )
    assert not found["county"].enabled


def test_values_become_text(written):
    found = load(
        written(
            '[a]\nspider = "ckan"\n[a.arguments]\nportal = "https://e.org"\nmax_datasets = 5\nsince = 2026-01-02\n'
            '[a.settings]\nFILENAME_SLUG = false\nSHRINK_LIMIT = 0.5\nRETRY_HTTP_CODES = [500, "503"]\n'
        )
    )["a"]
    assert found.arguments == {"portal": "https://e.org", "max_datasets": "5", "since": "2026-01-02"}
    assert found.settings == {"FILENAME_SLUG": "False", "SHRINK_LIMIT": "0.5", "RETRY_HTTP_CODES": ["500", "503"]}


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "\ufeff[a]\r\nspider = 'hdx'\r\n"])
def test_what_is_a_file(written, text):
    assert set(load(written(text))) <= {"a"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('contact = "x"', "'contact' is not a table: each source is one, as in [contact]"),
        ("[a]", 'spider is missing, spider = "ckan". There are: alberta, '),
        ('[a]\nspider = "hxd"', "there is no spider 'hxd'. Did you mean hdx?"),
        ("[a]\nspider = 7", "[a]: spider is not a text"),
        ('[a]\nspider = "hdx"\nshedule = "daily"', "[a]: shedule is unknown. Did you mean schedule?"),
        ('[a]\nspider = "hdx"\nschedule = "dayly"', "[a]: schedule: 'dayly' is neither daily"),
        ('[a]\nspider = "hdx"\nschedule = "0 0 31 2 *"', "never occurs"),
        (
            '[a]\nspider = "hdx"\ntimezone = "Europe/Zürich"',
            "[a]: timezone: 'Europe/Zürich' is not a time zone.",
        ),
        ('[a]\nspider = "hdx"\ntimezone = 1', "[a]: timezone is not a text"),
        (
            '[a]\nspider = "hdx"\nretry = ["1w"]',
            "[a]: retry: '1w' is not a number of minutes, hours or days: \"30min\"",
        ),
        ('[a]\nspider = "hdx"\nretry = 6', "[a]: retry is neither a text nor a list of texts"),
        ('[a]\nspider = "hdx"\nenabled = "yes"', "[a]: enabled is not true or false"),
        ('[a]\nspider = "hdx"\ncontact = "a\\nb"', "[a]: contact is no single line"),
        ('[a]\nspider = "hdx"\narguments = "x"', "[a]: arguments is not a table"),
        ('[a]\nspider = "hdx"\narguments = { levle = "both" }', "no argument 'levle'. Did you mean level?"),
        ('[a]\nspider = "hdx"\narguments = { level = "all" }', "level='all' is not one of snapshot"),
        ('[a]\nspider = "hdx"\narguments = { level = ["both"] }', "[a.arguments]: level is not a text, a number"),
        ('[a]\nspider = "hdx"\narguments = { q = "a\\nb" }', "[a.arguments]: q is not a single line"),
        ('[a]\nspider = "hdx"\narguments = { source = "b" }', "source is the table's name, a: leave it out"),
        ('[a]\nspider = "ckan"', '[a.arguments]: portal is missing, portal = "https://demo.ckan.org"'),
        ('[a]\nspider = "dcat"', "[a.arguments]: url is missing"),
        ('[a]\nspider = "html"', "[a.arguments]: rules is missing"),
        ('[a]\nspider = "ckan"\narguments = { portal = "ftp://x" }', "is not an http(s) address"),
        ('[a]\nspider = "hdx"\nsettings = { REQUEST_PER_SECOND = 1 }', "Did you mean REQUESTS_PER_SECOND?"),
        ('[a]\nspider = "hdx"\nsettings = { requests_per_second = 1 }', "Did you mean REQUESTS_PER_SECOND?"),
        ('[a]\nspider = "hdx"\nsettings = { RETRY_TIMES = { a = 1 } }', "[a.settings]: RETRY_TIMES is not a text"),
        *(
            (f'[a]\nspider = "hdx"\nsettings = {{ {setting} }}', f"[a.settings]: {says}")
            for setting, says in (
                ('REQUESTS_PER_SECOND = "fast"', "REQUESTS_PER_SECOND takes a number"),
                ("REQUESTS_PER_SECOND = nan", "REQUESTS_PER_SECOND takes a number"),
                ("RETRY_TIMES = true", "RETRY_TIMES takes a whole number"),
                ('RETRY_TIMES = "1.5"', "RETRY_TIMES takes a whole number"),
                ('LOG_LEVEL = "FOO"', "LOG_LEVEL takes one of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
                ("RETRY_TIMES = [1]", "RETRY_TIMES takes a single value"),
                ("ROBOTSTXT_OBEY = 2", "ROBOTSTXT_OBEY takes true or false"),
                ("CONTACT = ['a']", "CONTACT takes a single value"),
                ("ROBOTS_EXEMPT = ['/api/[a-z]{1,3}$']", "ROBOTS_EXEMPT takes a list of texts without commas"),
                ("API_TOKEN_ENV = 'eyJ0eXAi.hush'", "API_TOKEN_ENV takes an environment variable's name"),
                ("TWISTED_REACTOR = 'x'", "TWISTED_REACTOR applies to all sources"),
                ("EXTENSIONS = '{}'", "EXTENSIONS applies to all sources"),
                ("LOG_FORMATTER = 'x'", "LOG_FORMATTER applies to all sources"),
                ("ASYNCIO_EVENT_LOOP = 'os.system'", "ASYNCIO_EVENT_LOOP applies to all sources"),
                ("RETRY_EXCEPTIONS = ['os.system']", "RETRY_EXCEPTIONS applies to all sources"),
                ("BROWSER_EXECUTABLE = '/bin/sh'", "BROWSER_EXECUTABLE applies to all sources"),
                ("HTTPCACHE_DBM_MODULE = 'antigravity'", "HTTPCACHE_DBM_MODULE applies to all sources"),
                ("REQUESTS_PER_SECOND = -1", "REQUESTS_PER_SECOND takes 0 or more"),
                ("SPOOL_MAXSIZE = -5", "SPOOL_MAXSIZE takes 0 or more"),
                ("CONCURRENT_REQUESTS = 0", "CONCURRENT_REQUESTS takes more than 0"),
                ("FEEDS = '{}'", "FEEDS applies to all sources"),
                ("FEED_URI = 'x.jsonl'", "FEED_URI applies to all sources"),
                ("API_TOKEN = 'hush'", "API_TOKEN is a secret, which would be"),
            )
        ),
        *(
            (f'[a]\nspider = "hdx"\nsettings = {{ {name} = "x" }}', f"{name} applies to all sources")
            for name in ("OUTPUT_DIR", "JOBDIR", "LOG_FILE", "SOURCES_FILE", "JOBS_DIR", "LOGS_DIR")
        ),
        ('["../a"]\nspider = "hdx"', "[../a]: the name is not a folder name"),
        ('["index.sqlite"]\nspider = "hdx"', "the name is not a folder name"),
        ('[data.gov]\nspider = "hdx"', '[data.gov]: a name with a dot stands in quotes: ["data.gov"]'),
        ('[[a]]\nspider = "hdx"', "'a' is not a table"),
        ('[a]\nspider = "hdx"\narguments = { api_key = "k" }', "[a.arguments]: api_key is a secret"),
        ('[a]\nspider = "hdx"\nsettings = { FTP_PASSWORD = "k" }', "[a.settings]: FTP_PASSWORD is a secret"),
        (
            '[a]\nspider = "ckan"\narguments = { portal = "https://u:hush@x.org" }',
            "with a password or key in it",
        ),
        *(
            (
                f'[a]\nspider = "dcat"\narguments = {{ url = "https://x.org/{query}" }}',
                "with a password or key in it",
            )
            for query in ("?apikey=hush", "?a=b&sig=hush", "c.ttl?key=AIzaSyhushhushhush", "?pwd=hush")
        ),
        (f"[a]\n{CKAN}[b]\n{CKAN}", "[b] harvests what [a] does"),
        (f"[a]\n{CKAN}[b]\n{CKAN.replace('example.org', 'Example.org/dataset/')}", "[b] harvests what [a] does"),
        ('[a]\nspider = "hdx"\n[b]\nspider = "hdx"', "[b] harvests what [a] does"),
        ('[a]\nspider = "hdx"\n[b]\nspider = "ckan"\narguments.portal = "https://data.humdata.org/"', "what [a] does"),
        ('[a]\nspider = "html"\narguments.rules = "a.toml"\n[b]\nspider = "html"\narguments.rules = "./a.toml"', "[a]"),
        ("[a", "is not TOML"),
        ('[a]\nspider = "hdx"\n[a]\nspider = "hdx"', "is not TOML"),
        (f"a = {'[' * 5000}", "nested too deeply"),
        (f"a = {'9' * 5000}", "has a number with too many digits"),
    ],
)
def test_what_is_wrong_is_said(written, text, says):
    path = written(text)
    with pytest.raises(SourcesError, match=re.escape(says)) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith(".")
    assert "hush" not in str(caught.value)


def test_what_narrows_a_source_makes_it_another(written):
    both = f"[a]\n{CKAN}[b]\n{CKAN}".replace('g" }', 'g", q = "x" }', 1)
    assert len(load(written(both))) == 2


def test_addresses_that_differ_in_case_are_two(written):
    tables = (f'[{name}]\nspider = "dcat"\narguments.url = "https://e.org/c?id={name}b"\n' for name in "Aa")
    assert len(load(written("".join(tables)))) == 2
    twice = ('[a]\nspider = "dcat"\narguments.url = "https://e.org"\n', CKAN.replace("e.org", "E.org/"))
    same = f"{twice[0]}{twice[0].replace('[a]', '[b]').replace('e.org', 'E.org/')}"
    with pytest.raises(SourcesError, match=re.escape("[b] harvests what [a] does")):
        load(written(same))


def test_a_short_key_is_none(written):
    url = "https://e.org/c.ttl?key=roads&code=AT"
    assert load(written(f'[a]\nspider = "dcat"\narguments.url = "{url}"\n'))["a"].arguments == {"url": url}


def test_every_table_that_is_wrong_is_named_and_the_others_are_read(written):
    path = written('[a]\nspider = "x"\n[b]\nspider = "hdx"\n[c]\nspider = "hdx"\nspeed = 9\n')
    with pytest.raises(SourcesError) as caught:
        load(path)
    assert [line.split(": ")[1] for line in str(caught.value).splitlines()] == ["[a]", "[c]"]
    found, mistakes = SourcesFile(path).read()
    assert (list(found), list(mistakes)) == (["b"], ["a", "c"])


def test_what_can_not_be_read(tmp_path, written):
    with pytest.raises(SourcesError, match=r"There is no .*nowhere.toml: `scrapy sources add NAME URL` creates it"):
        load(tmp_path / "nowhere.toml")
    with pytest.raises(SourcesError, match=r"can't be read"):
        load(tmp_path)
    path = written("")
    path.write_bytes(b"# \xff")
    with pytest.raises(SourcesError, match=r"not UTF-8"):
        load(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourcesError, match=r"pipe can't be read: it is no regular file"):
        load(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(written('[a]\nspider = "hdx"'))
    assert list(load(tmp_path / "link")) == ["a"]
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(SourcesError, match=r"loop can't be read"):
        load(tmp_path / "loop")


def test_a_thousand_sources_are_read_in_no_time(written):
    text = "".join(
        f'[s{number}]\nspider = "hdx"\narguments.q = "{number}"\nschedule = "daily"\n' for number in range(1000)
    )
    path, begin = written(text), time.process_time()
    assert len(load(path)) == 1000
    assert time.process_time() - begin < 10


# Changing

FILE = """\
# The catalogues of the coast

[a]
spider = "hdx" # why not

[a.arguments]
q = 'sea'   # and rivers

# What the ministry has.
[b]
spider = "hdx"
enabled = true   # for now
arguments = { q = "b" }

# until 2027

["c.d"]
spider = "hdx"

# The last
[e]
spider = "hdx"
arguments.q = "e"
"""


def test_added_at_the_end():
    source = Source(name="x.y", spider="ckan", arguments={"portal": 'https://e.org/"\\'}, settings={"A": ["1"]})
    after = edit.add(FILE, source)
    assert after.startswith(FILE)
    table = {"spider": "ckan", "arguments": source.arguments, "settings": source.settings}
    assert tomllib.loads(after) == tomllib.loads(FILE) | {"x.y": table}
    assert edit.add("", source).startswith('["x.y"]\n')


@pytest.mark.parametrize("name", ["a", "b", "c.d", "e"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_disabled_and_enabled_again(name, end):
    before = FILE.replace("\n", end)
    off = edit.update(before, name, {"enabled": False})
    assert [one for one, table in tomllib.loads(off).items() if not table.get("enabled", True)] == [name]
    assert len(set(off.splitlines()) ^ set(before.splitlines())) <= 2
    assert "\n" not in off.replace("\r\n", "") or end == "\n"
    on = edit.update(off, name, {"enabled": True})
    assert tomllib.loads(on)[name].get("enabled") is True
    assert "# for now" in on
    assert edit.update(on, name, {"enabled": True}) == on


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("a", ["[a]", 'spider = "hdx" # why not', "[a.arguments]", "q = 'sea'   # and rivers"]),
        ("b", ["# What the ministry has.", "[b]", "enabled = true   # for now", 'arguments = { q = "b" }']),
        ("c.d", ['["c.d"]']),
        ("e", ["# The last", "[e]", 'arguments.q = "e"']),
    ],
)
def test_removed_with_what_is_its_own(name, gone):
    after = edit.remove(FILE, name)
    left = [line for line in FILE.splitlines() if line not in gone]
    assert [line for line in after.splitlines() if line.strip() and line != 'spider = "hdx"'] == [
        line for line in left if line.strip() and line != 'spider = "hdx"'
    ]
    assert tomllib.loads(after) == {one: table for one, table in tomllib.loads(FILE).items() if one != name}


def test_a_table_in_one_line():
    text = 'a = { spider = "hdx" }\nb = { spider = "hdx" }\n'
    assert tomllib.loads(edit.update(text, "a", {"enabled": False}))["a"] == {"spider": "hdx", "enabled": False}
    assert edit.remove(text, "a") == 'b = { spider = "hdx" }\n'


def test_what_only_looks_like_a_table_is_left_alone():
    text = '[a]\nspider = """\n[b]\n"""\n[b]\nspider = "hdx"\n'
    with pytest.raises(SourcesError, match="edit the file"):
        edit.remove(text, "b")


def test_a_file_is_replaced_as_a_whole_and_a_link_stays_one(tmp_path):
    real, link = tmp_path / "real.toml", tmp_path / "sources.toml"
    real.write_text(FILE)
    real.chmod(0o640)
    link.symlink_to(real)
    edit.write(link, lambda before: before + "# more\n")
    assert link.is_symlink()
    assert real.read_text() == FILE + "# more\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert {path.name for path in tmp_path.iterdir()} == {"real.toml", "sources.toml"}


def test_no_change_is_lost_where_many_change_at_once(tmp_path):
    path = tmp_path / "sources.toml"

    def change(number):
        def with_one_more(before):
            time.sleep(0.01)
            return edit.add(before, Source(name=f"s{number}", spider="hdx", arguments={"q": str(number)}))

        edit.write(path, with_one_more)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(change, range(24)))
    assert len(load(path)) == 24
    assert {one.name for one in tmp_path.iterdir()} == {"sources.toml"}


def test_a_file_stays_only_when_what_follows_goes_well(tmp_path):
    path = tmp_path / "catalogues" / "x.toml"
    with pytest.raises(KeyboardInterrupt), edit.new_file(path, "a"):
        raise KeyboardInterrupt
    assert not path.exists()
    with edit.new_file(path, "b"):
        pass
    with pytest.raises(SourcesError, match="exists: name"), edit.new_file(path, "c"):
        pass
    assert path.read_text() == "b"
    with pytest.raises(UnicodeEncodeError), edit.new_file(path.with_name("y.toml"), "\ud800"):
        pass
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_leaves_no_file():
    with pytest.raises(SourcesError, match="can't be written: No space left"):
        edit._fill(Path("/dev/full").open("w"), "a")  # noqa: SIM115


# How they stand


def test_when_the_next_run_is_due():
    at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    source = Source(name="a", spider="hdx", schedule=parse("daily 04:00", "a"))

    def next_of(state, started, **change):
        last = Run(source="a", run="r", state=state, started=started) if state else None
        fields = {"name": "a", "spider": "hdx", "schedule": source.schedule, **change}
        found = _due(Source(**fields), last, ClaimRecord(None, None, is_held=False), at)
        return Listed(found, None, found.time).row()[7]

    assert next_of(None, None) == "2026-11-21 04:00", "it names its hour"
    assert next_of(None, None, schedule=parse("daily", "a")) == "now"
    assert next_of("complete", "2026-11-20T04:00:10Z") == "2026-11-21 04:00"
    assert next_of("failed", "2026-11-19T04:00:10Z") == "now"
    assert next_of("interrupted", "2026-11-20T04:00:10Z") == "now"
    assert next_of("running", "2026-11-19T04:00:10Z") == "-"
    assert next_of("complete", "2026-11-19T04:00:10Z", enabled=False) == "-"
    assert next_of("complete", "2026-11-19T04:00:10Z", schedule=None) == "-"
    assert next_of("complete", "2026-11-20T04:00:10") == "2026-11-21 04:00"
    assert next_of("complete", "yesterday") == "now"


@pytest.mark.parametrize("enabled", [True, False])
def test_what_a_harvest_has_claimed_is_pending(tmp_path, enabled):
    source = Source(name="a", spider="hdx", schedule=parse("daily", "a"), enabled=enabled)
    claim = Claim.take(tmp_path, "a")
    (held,) = due({"a": source}, tmp_path / "output", tmp_path, datetime.now(UTC))
    claim.release()
    (free,) = due({"a": source}, tmp_path / "output", tmp_path, datetime.now(UTC))
    assert (held.last.state, held.is_taken, free.last, free.is_taken) == ("pending", False, None, enabled)


def test_fields_of_records():
    records = [
        {"title": "A\x1b[31m\u202e", "keywords": ["a", "b"], "license": None, "resources": [{"url": "u" * 999}]},
        {"title": "B", "keywords": [], "license": None, "resources": []},
    ]
    shown = lines(coverage(records), 60)
    assert all(line.isprintable() and len(line) <= 60 for line in shown)
    assert [line.split()[:4] for line in shown[:4]] == [
        *(["title", "2", "of", "2"], ["keywords", "1", "of", "2"]),
        *(["resources", "1", "of", "2"], ["resource.url", "1", "of", "1"]),
    ]
    assert shown[4] == "  in none: license"
    assert lines(coverage([]), 60) == []


# The command


@pytest.fixture
def sources(tmp_path):
    """``sources("validate", "hdx", code=3)``, with a file of one's own."""

    def run(*words, code=0):
        given = {"SOURCES_FILE": tmp_path / "sources.toml", "OUTPUT_DIR": tmp_path / "output", **FAST}
        given |= {"JOBS_DIR": tmp_path / "jobs", "LOGS_DIR": tmp_path / "logs"}
        start = scrapy if words[:1] in (("add",), ("validate",)) else command  # these crawl
        ran = start("sources", *map(str, words), *(f"-s{name}={value}" for name, value in given.items()))
        assert "Traceback" not in ran.stderr
        assert ran.returncode == code, ran.stderr + ran.stdout
        return ran

    return run


def test_listed_with_the_last_verdict(sources, written, tmp_path):
    written(
        '[far]\nspider = "hdx"\nschedule = "daily"\ntimezone = "Asia/Tokyo"\nretry = "1h"\n'
        '[near]\nspider = "dcat"\narguments.url = "https://x.org/c.ttl"\n'
    )
    folder = tmp_path / "output" / "far" / "runs"
    folder.mkdir(parents=True)
    report = {"run": "20261120T040000Z", "source": "far", "spider": "hdx", "verdict": "incomplete", "arguments": {}}
    report |= {"started": now(), "finished": now(), "counts": {}, "errors": {}}
    (folder / "20261120T040000Z.json").write_text(json.dumps(report))
    head, far, near = sources().stdout.splitlines()
    columns = ["name", "spider", "enabled", "review", "schedule", "last", "run", "at", "next", "run", "address"]
    assert head.split() == columns
    assert far.split()[:6] == ["far", "hdx", "yes", "approved", "daily", "incomplete"]
    assert far.endswith("https://data.humdata.org")
    assert near.split() == ["near", "dcat", "yes", "approved", "-", "never", "-", "-", "https://x.org/c.ttl"]
    first, second = json.loads(sources("--json").stdout)
    assert (first["state"], first["due"], first["cron"]) == ("incomplete", False, parse("daily", "far").cron)
    assert (first["timezone"], first["retry"]) == ("Asia/Tokyo", [3600])
    finished, retry = (datetime.fromisoformat(time) for time in (report["finished"], first["next"]))
    slot = parse("daily", "far", zone("Asia/Tokyo")).after(finished)
    assert 0 <= (retry - min(finished + timedelta(hours=1), slot)).total_seconds() <= 1
    assert (second["state"], second["next"]) == (None, None)


def test_listed_although_some_are_wrong(sources, written):
    written('[a]\nspider = "hdx"\n[b]\nspider = "hxd"\n')
    ran = sources(code=1)
    assert ran.stdout.splitlines()[1].startswith("a ")
    assert "[b]: spider: there is no spider 'hxd'. Did you mean hdx?" in ran.stderr


def test_no_file_yet(sources):
    assert "scrapy sources add NAME URL" in sources(code=1).stderr


def test_a_name_or_an_address_that_is_there_already(sources, written):
    with Portal(3) as portal:
        path = written(f'[a]\nspider = "ckan"\narguments.portal = "{portal.url}"\n')
        before = path.read_text()
        assert "already has [a]" in sources("add", "a", portal.url, code=1).stderr
        assert portal.requests() == 0
        assert "[b] harvests what [a] does" in sources("add", "b", f"{portal.url}/dataset/x", code=1).stderr
        assert path.read_text() == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("../x", "http://127.0.0.1:9/"), "is not a folder name"),
        (("x", "ckna", "http://127.0.0.1:9/"), "no spider 'ckna'. Did you mean ckan?"),
        (("x", "http://127.0.0.1:9/", "--schedule", "dayly"), "schedule: 'dayly' is neither"),
        (("x", "http://127.0.0.1:9/", "-a", "token=hush"), "token is a secret, which would be in this file"),
        (("x", "http://127.0.0.1:9/", "-s", "API_TOKEN=hush"), "API_TOKEN is a secret, which would be in this file"),
        (("x", "dcat", "http://127.0.0.1:9/?sig=hush"), "with a password or key in it"),
        (("x", "ckan", "http://127.0.0.1:9/", "-a", "levle=both"), "Did you mean level?"),
        (("x", "http://127.0.0.1:9/", "-s", "REQUEST_PER_SECOND=1"), "Did you mean REQUESTS_PER_SECOND?"),
        (("x", "http://127.0.0.1:9/", "--force"), "--force needs the spider"),
        (("x", "html", "nowhere.toml"), "nowhere.toml can't be read"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked_for(sources, words, says, tmp_path):
    ran = sources("add", *words, code=1)
    assert says in ran.stderr
    assert "127.0.0.1:9/:" not in ran.stdout
    assert "hush" not in ran.stderr
    assert not (tmp_path / "sources.toml").exists()


def test_a_rules_file_of_ones_own(sources, tmp_path):
    sources("add", "county", "html", EXAMPLE.with_name("example.toml"))
    assert load(tmp_path / "sources.toml")["county"].arguments == {"rules": str(EXAMPLE.with_name("example.toml"))}


def test_html_by_force_is_to_be_learned(sources, tmp_path):
    ran = sources("add", "x", "html", "http://127.0.0.1:9/", "--force", "--rules", "x.toml")
    assert "It is disabled: write x.toml, then: scrapy sources enable x" in ran.stdout
    assert load(tmp_path / "sources.toml")["x"].arguments == {"rules": "x.toml"}


def test_rules_that_are_there_already_are_kept(sources, tmp_path):
    rules = tmp_path / "mine.toml"
    rules.write_text("# mine")
    with PLAIN["drupal"](25) as catalogue:
        assert "is there already" in sources("add", "x", catalogue.address, "--rules", rules, code=1).stderr
        assert catalogue.asked == []
    assert rules.read_text() == "# mine"
    assert not (tmp_path / "sources.toml").exists()


def test_what_can_not_be_added_leaves_no_rules(sources, written, tmp_path):
    rules = tmp_path / "rules.toml"
    with PLAIN["drupal"](25) as catalogue:
        path = written(f'[a]\nspider = "html"\narguments.rules = "{rules}"\n')
        assert "harvests what [a] does" in sources("add", "b", catalogue.address, "--rules", rules, code=1).stderr
        assert not rules.exists()
        path.unlink()
        (tmp_path / "output" / "b").mkdir(parents=True)
        out = sources("add", "b", catalogue.address, "--rules", rules).stdout
    assert f"{tmp_path / 'output' / 'b'} exists, and its files stay" in out
    assert rules.exists()


def test_switched_and_removed(sources, written, tmp_path):
    path = written(FILE)
    (tmp_path / "output" / "b").mkdir(parents=True)
    sources("disable", "a", "c.d")
    assert [one.name for one in load(path).values() if not one.enabled] == ["a", "c.d"]
    sources("enable", "a")
    ran = sources("remove", "b", "e")
    assert f"Its documents stay in {tmp_path / 'output' / 'b'}" in ran.stdout
    assert (tmp_path / "output" / "b").is_dir()
    assert list(load(path)) == ["a", "c.d"]
    before = path.read_text()
    for word in ("enable", "disable", "remove", "validate"):
        assert "has no source 'aa'. Did you mean a?" in sources(word, "a", "aa", code=1).stderr
    assert path.read_text() == before


def test_what_has_no_rules_yet_is_not_enabled(sources, written):
    path = written('[a]\nspider = "html"\nenabled = false\narguments.rules = "nowhere.toml"\n')
    assert "nowhere.toml can't be read" in sources("enable", "a", code=1).stderr
    assert not load(path)["a"].enabled


def test_a_table_that_is_wrong_can_be_removed(sources, written):
    path = written('[a]\nspider = "hxd"\n[b]\nspider = "hdx"\n')
    assert "no spider 'hxd'" in sources("enable", "a", code=1).stderr
    sources("remove", "a")
    assert list(load(path)) == ["b"]


@pytest.mark.parametrize("text", ["x = 1\n", "[[x]]\nspider = 'hdx'\n"])
def test_what_is_no_table_is_not_switched(sources, written, text):
    path = written(text)
    assert sources("disable", "x", code=1).stderr == "x is not a table: edit the file.\n"
    assert path.read_text() == text


def test_rules_of_a_source_that_is_removed_stay(sources, written, tmp_path):
    rules = tmp_path / "county.toml"
    rules.write_text("# learned")
    written(f'[a]\nspider = "html"\narguments.rules = "{rules}"\n')
    assert sources("remove", "a").stdout.endswith(f" Its rules stay in {rules}.\n")
    assert rules.exists()


def test_a_file_without_sources(sources, written):
    path = written("# none yet\n")
    assert sources().stdout == f"{path} has no source yet: scrapy sources add NAME URL adds one.\n"
    written('[a]\nspider = "hdx"\nenabled = false\n')
    assert sources("validate").stdout == f"{path} has no enabled source: there is nothing to validate.\n"


# The dry run


def test_validated_without_a_trace(sources, written, tmp_path):
    with Portal(60) as portal:
        written(f'[a]\nspider = "hdx"\narguments = {{ portal = "{portal.url}", level = "both", since = "last" }}\n')
        feeds = json.dumps({str(tmp_path / "last.jsonl"): {"format": "jsonlines", "overwrite": True}})
        ran = sources("validate", "a", "-s", f"FEEDS={feeds}")
        assert portal.requests("download_metadata") == 0
    lines = ran.stdout.splitlines()
    assert lines[0] == "a: partial, 20 of 60 datasets crawled"
    assert next(line.split()[1:4] for line in lines if line.startswith("  title")) == ["20", "of", "20"]
    assert any(line.startswith("  in none: ") for line in lines)
    assert {path.name for path in tmp_path.iterdir()} == {"sources.toml"}


def test_what_a_dry_run_is(tmp_path):
    given = {"portal": "https://example.org", "since": "2026-01-01", "level": "both"}
    source = Source(name="a", spider="ckan", arguments=given, settings={"RETRY_TIMES": "1", "RETRY_HTTP_CODES": ["5"]})
    words = dry_run.command(source, project(), {"RETRY_TIMES": "2"}, tmp_path)
    arguments = dict(word.split("=", 1) for way, word in pairwise(words) if way == "-a")
    settings = dict(word.split("=", 1) for way, word in pairwise(words) if way == "-s")
    assert arguments == {"portal": given["portal"], "level": "snapshot", "source": "a", "max_datasets": "20"}
    assert (settings["RETRY_TIMES"], settings["RETRY_HTTP_CODES"]) == ("2", "5")
    assert all(settings[name].startswith(str(tmp_path)) for name in ("OUTPUT_DIR", "JOBDIR", "LOG_FILE"))
    quiet = {"HTTPCACHE_ENABLED": "False", "NOTIFY_VERDICTS": "", "PROMETHEUS_FILE": ""}
    quiet |= {"HOST_TURNS": "False", "QUEUE": ""}
    assert settings.items() >= quiet.items()


def test_fewer_records_where_the_source_wants_fewer(sources, written):
    with Portal(60) as portal:
        written(f'[a]\nspider = "ckan"\narguments = {{ portal = "{portal.url}", max_datasets = 3 }}\n')
        assert sources("validate").stdout.startswith("a: partial, 3 of 60")


def test_what_is_not_right_is_told_with_its_meaning(sources, written):
    with Catalogue(5, faults={"nameless": ""}) as catalogue, Portal(3, faults=("robot_check=action",)) as portal:
        written(
            f'[a]\nspider = "dcat"\narguments.url = "{catalogue.address}"\n'
            f'[b]\nspider = "ckan"\narguments.portal = "{portal.url}"\n'
            f'[c]\nspider = "ckan"\narguments.portal = "https://nothing.invalid"\nenabled = false\n'
        )
        out = sources("validate", code=3).stdout
    assert "a: incomplete, 5 of 6 datasets crawled" in out
    assert "! missing_id (1): " in out
    assert "b: blocked, 0 datasets crawled" in out
    assert "\nc: " not in out


def test_an_address_that_has_not_the_form_of_its_kind_is_told(sources, written):
    hint = "is the root of a host. An address of this kind (CSW catalogue service) is like https://example.org/"
    with Portal(3) as portal:
        written(f'[a]\nspider = "csw"\narguments.url = "{portal.url}"\n')
        assert f"  ! {portal.url} {hint}" in sources("validate", code=3).stdout
        other = "https://www.example.org"
        assert f"{other} {hint}" in sources("add", "b", "csw", other, "--force").stdout


def test_what_does_not_start_is_a_mistake_and_the_others_go_on(sources, written):
    with Portal(3) as portal:
        written(
            f'[a]\nspider = "html"\narguments.rules = "nowhere.toml"\n[b]\nspider = "hxd"\n'
            f'[c]\nspider = "ckan"\narguments.portal = "{portal.url}"\n'
        )
        ran = sources("validate", code=1)
    assert "[a]: the dry run did not start: The rules nowhere.toml can't be read" in ran.stderr
    assert "[b]: spider: there is no spider 'hxd'" in ran.stderr
    assert "c: complete, 3 of 3 datasets crawled" in ran.stdout


def test_notifications_that_no_harvest_starts_with_are_no_dry_run(sources, written):
    with Portal(3) as portal:
        table = f'spider = "ckan"\narguments.portal = "{portal.url}"\n'
        written(
            f'[a]\n{table}settings.NOTIFY_VERDICTS = ["compleet"]\n'
            f'[b]\n{table}arguments.q = "b"\nsettings.PROMETHEUS_FILE = "/nowhere/at/all.prom"\n'
            f'[c]\n{table}arguments.q = "c"\nsettings.NOTIFY_MAIL_TO = ["me@example.org"]\n'
        )
        ran = sources("validate", code=1)
        assert portal.requests() == 0
    assert "[a]: the dry run did not start: NOTIFY_VERDICTS: 'compleet' is not a verdict." in ran.stderr
    assert "[b]: the dry run did not start: PROMETHEUS_FILE=/nowhere/at/all.prom can't be written" in ran.stderr
    assert "[c]: the dry run did not start: NOTIFY_MAIL_TO needs NOTIFY_MAIL_FROM" in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_without_a_trace(written, tmp_path, told):
    (tmp_path / "temporary").mkdir()
    with Portal(3, latency=30) as portal:
        path = written(f'[a]\nspider = "ckan"\narguments.portal = "{portal.url}"\n')
        words = [sys.executable, "-m", "scrapy", "sources", "validate", "-s", f"SOURCES_FILE={path}"]
        environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
        process = forked.Popen(words, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
        until(lambda: list((tmp_path / "temporary").glob("sources-*/log")))
        *_, running = children(process.pid)  # the first one forks it
        process.send_signal(told)
        _, said = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert not list((tmp_path / "temporary").iterdir())
    assert not Path(f"/proc/{running}").exists()


def children(pid):
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("words", [("frob",), ("add",), ("add", "x"), ("remove",), ("--bogus",), ("list", "x")])
def test_what_is_no_command(sources, words):
    assert sources(*words, code=2).stdout == ""


def test_pages_of_the_docs_say_what_there_is():
    text = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in ("spider", "schedule", "contact", "enabled"))
    for schedule in re.findall(r'^schedule = "(.+)"', text, re.MULTILINE):
        parse(schedule, "hdx")
