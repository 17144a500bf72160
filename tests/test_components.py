"""The parts on their own, and what becomes of a failure in any of them."""

from __future__ import annotations

import inspect
import json
import logging
import os
import re
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import scrapy
from scrapy import Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.settings import Settings
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler

import crawlers
import pipelines
from crawlers import settings, signals
from crawlers.extensions.report import Report
from crawlers.extensions.scrapy_parts import DeclaredEncoding
from crawlers.items import Dataset
from crawlers.operate.setting_types import lacks
from crawlers.operate.sources.source import project
from crawlers.safety import bounds, strict_json
from crawlers.safety.names import Names
from crawlers.store.index import Index, Known
from crawlers.store.lines import JSONLines
from crawlers.store.runs import EXIT_CODES, verdict
from tests.portal.odd import OddPortal

# Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOWNLOAD_VERIFY_CERTIFICATES", True),
        ("DOWNLOAD_TLS_MIN_VERSION", "TLSv1.2"),
        ("DOWNLOAD_MAXSIZE", 64 * 1024 * 1024),
        ("COOKIES_ENABLED", False),
        ("REFERRER_POLICY", "no-referrer"),
        ("METAREFRESH_ENABLED", False),
        ("URLLENGTH_LIMIT", 0),
        ("SCHEDULER", "crawlers.components.scheduler.LedgerScheduler"),
    ],
)
def test_a_setting_that_stays(name, value):
    assert getattr(settings, name) == value


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("REQUESTS_PER_SECOND", "0.5", None),
        ("REQUESTS_PER_SECOND", "-1", "0 or more"),
        ("REQUESTS_PER_SECOND", "inf", "a number"),
        ("REQUESTS_PER_SECOND", "nan", "a number"),
        ("REQUESTS_PER_SECOND", "", "a number"),
        ("RETRY_TIMES", "2", None),
        ("RETRY_TIMES", "2.0", "a whole number"),
        ("RETRY_TIMES", "True", "a whole number"),
        ("CONCURRENT_REQUESTS", "many", "a whole number"),
        ("DOWNLOAD_TIMEOUT", "0.5", None),
        ("CLOSESPIDER_TIMEOUT", "1.5", None),
        ("DOWNLOAD_DELAY", "1,5", "a number"),
        ("FEED_EXPORT_INDENT", None, None),
        ("TELNETCONSOLE_ENABLED", "False", None),
        ("ROBOTSTXT_OBEY", "perhaps", "true or false"),
        ("SPOOL_MAXSIZE", "-5", "0 or more"),
        ("CONCURRENT_REQUESTS", "0", "more than 0"),
        ("CONTACT", "me", None),
        ("LOG_LEVEL", "DEBUG", None),
        ("LOG_LEVEL", 10, None),
        ("LOG_LEVEL", "10", "one of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
    ],
)
def test_what_a_setting_has_to_be(name, value, wanted):
    assert lacks(name, project().settings[name], value) == wanted


def test_every_default_is_what_its_setting_has_to_be():
    assert not [name for name, value in project().settings.items() if lacks(name, value, value)]


def test_what_is_read_as_any_number_may_be_one():
    """Scrapy's defaults of some are whole numbers all the same."""
    folders = [Path(package.__file__).parent for package in (scrapy, crawlers, pipelines)]
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")]
    names = {name for text in texts for name in re.findall(r"getfloat\(\s*\"(\w+)\"", text)}
    assert len(names) > 15
    known = project().settings
    assert not [name for name in names if lacks(name, known[name], "0.5")]


@pytest.mark.parametrize("scheme", ["file", "data", "ftp", "s3"])
def test_a_portal_can_not_name_what_is_no_web_address(scheme):
    known = Settings()
    known.setmodule(settings)
    assert known.getwithbase("DOWNLOAD_HANDLERS")[scheme] is None


def test_a_crawl_has_nothing_that_listens():
    known = Settings()
    known.setmodule(settings)
    names = {str(one).rpartition(".")[2] for one in known.getwithbase("EXTENSIONS")}
    assert {"CoreStats", "FeedExporter", "Report"} <= names
    assert not {name for name in names if "Telnet" in name or "Remote" in name}


@pytest.mark.parametrize(("encoding", "installed"), [("windows-1251", True), (None, False)])
def test_the_encoding_costs_no_answer_anything_without_an_encoding(encoding, installed):
    crawler = get_crawler(Spider)
    crawler.spider = SimpleNamespace(encoding=encoding)
    if not installed:
        with pytest.raises(NotConfigured):
            DeclaredEncoding.from_crawler(crawler)
        return
    request = DeclaredEncoding.from_crawler(crawler).get_processed_request(Request("https://example.org"), None)
    assert request.meta["encoding"] == encoding


def named(value):
    """The names of components in the value of a setting."""
    if isinstance(value, dict):
        return [name for one in value.items() for name in named(one)]
    if isinstance(value, tuple):
        return [name for one in value for name in named(one)]
    is_name = isinstance(value, str) and re.fullmatch(r"(crawlers|pipelines|scrapy)\.(\w+\.)*[A-Z]\w+", value)
    return [value] if is_name else []


def test_every_component_that_is_named_is_there():
    names = [name for value in vars(settings).values() for name in named(value)]
    assert len(names) > 40
    assert all(inspect.isclass(load_object(name)) for name in names)


# Failures: each of these classes is put among the project's components by name


class BreaksOneItem:
    def process_item(self, item):
        if item.document["id"] == "id00004":
            raise RuntimeError("out of order")
        return item


class DropsOneItem:
    def process_item(self, item):
        if item.document["id"] == "id00004":
            raise DropItem("not wanted")
        return item


class BreaksAtOneItem(BaseSpiderMiddleware):
    def get_processed_item(self, item, response):
        if item.id == "id00004":
            raise RuntimeError("out of order")
        return item


class ReadsTooMuch(BaseSpiderMiddleware):
    """As a reader of a spider that is not of this project, which does not expect an answer to be too large."""

    def get_processed_item(self, item, response):
        strict_json.loads("[1, 2, 3]", bounds.Bound("the JSON", "values", 2))


class DropsRequests(BaseSpiderMiddleware):
    """Without a word, as an offsite filter of a user's own may."""

    part = ""

    def get_processed_request(self, request, response):
        return None if self.part in request.url else request


class DropsAnExport(DropsRequests):
    part = "r00004"


class DropsTheNextPage(DropsRequests):
    part = "TO+%2A"


class TellsTheEnd:
    """What `run_ended` was sent with, as an error line that Scrapy's log has."""

    @classmethod
    def from_crawler(cls, crawler):
        told = cls()
        crawler.signals.connect(told.ended, signal=signals.run_ended)
        return told

    def ended(self, report, folder):
        logging.getLogger(__name__).error("ended %s", json.dumps([report["verdict"], str(folder)]))


class LosesTheLedger(TellsTheEnd):
    """Its file is damaged by the time that the failures are counted."""

    @classmethod
    def from_crawler(cls, crawler):
        told = super().from_crawler(crawler)
        told.crawler = crawler
        crawler.signals.connect(told.lose, signal=scrapy_signals.spider_idle)
        return told

    def lose(self):
        self.crawler.get_extension(Report).error_log.records = self

    def __getattr__(self, name):  # of the records
        raise sqlite3.DatabaseError("database disk image is malformed")


class DiesOnceReported(TellsTheEnd):
    def ended(self, report, folder):
        os._exit(9)


class BreaksTheIndex(TellsTheEnd):
    @classmethod
    def from_crawler(cls, crawler):
        Index.read_report = cls.read_report
        return super().from_crawler(crawler)

    def read_report(self, report):
        raise PermissionError(13, "Permission denied")


def among(setting, component):
    """The project's components of a kind, and one more."""
    return {setting: json.dumps(getattr(settings, setting) | {f"{__name__}.{component.__qualname__}": 50})}


@pytest.mark.parametrize(
    ("setting", "component", "kind", "told"),
    [
        ("ITEM_PIPELINES", BreaksOneItem, ("write", "bug"), "RuntimeError: out of order"),
        ("ITEM_PIPELINES", DropsOneItem, ("parse", "invalid_record"), "not wanted"),
        ("SPIDER_MIDDLEWARES", DropsAnExport, ("fetch", "unaccounted"), "its request was dropped on the way"),
    ],
)
def test_what_fails_on_the_way_is_told(crawl, setting, component, kind, told):
    with OddPortal() as site:
        done = crawl("ckan", site, level="resource", settings=among(setting, component))
    assert (done.code, done.report["verdict"], done.kinds()) == (3, "incomplete", [kind])
    assert told in done.errors[0]["error"]
    assert done.errors[0]["dataset_id"] == "id00004"
    assert done.errors[0]["dataset_title"] == "Dataset 4"
    assert len(done.documents()) + len(done.documents("resource_metadata")) == 79


def test_an_answer_that_a_reader_refuses_is_no_bug(crawl):
    with OddPortal() as site:
        done = crawl("ckan", site, settings=among("SPIDER_MIDDLEWARES", ReadsTooMuch))
    assert done.kinds()[0] == ("parse", "too_large")
    assert done.errors[0]["error"] == "the JSON has more than 2 values: it is not read"


def test_a_bug_in_the_spider_is_told_and_so_is_what_it_cost(crawl):
    """The rest of the page, and no other page."""
    with OddPortal() as site:
        done = crawl("ckan", site, settings=among("SPIDER_MIDDLEWARES", BreaksAtOneItem))
    bug, *lost = done.errors
    assert (done.code, done.report["verdict"]) == (3, "incomplete")
    assert (bug["stage"], bug["kind"], bug["error"]) == ("parse", "bug", "RuntimeError: out of order")
    assert "package_search" in bug["url"]
    assert {error["kind"] for error in lost} == {"unaccounted"}
    assert sorted(error["dataset_id"] for error in lost) == site.ids()[4:10]
    assert done.ids() == site.ids()[:4] + site.ids()[10:]


def test_a_next_page_that_is_dropped_is_told(crawl):
    with OddPortal() as site:
        done = crawl("ckan", site, settings=among("SPIDER_MIDDLEWARES", DropsTheNextPage))
    assert (done.code, len(done.documents())) == (3, 10)
    assert ("list", "unaccounted") in done.kinds()


def test_the_next_page_is_asked_for_before_the_exports_of_this_one(crawl):
    """They may take hours, and the listing should not have changed much meanwhile."""
    with OddPortal(datasets=20) as site:
        crawl("hdx", site, settings={"CONCURRENT_REQUESTS_PER_DOMAIN": "1"})
    kinds = ["page" if "package_search" in line else "export" for line in site.log if "robots.txt" not in line]
    assert "page" in kinds[1:11]


# Names


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("1f2e", "1f2e"),
        ("A.b-c_d", "A.b-c_d"),
        ("a__b", "sha256-"),
        ("a_", "sha256-"),
        (".hidden", "sha256-"),
        ("_a", "sha256-"),
        ("..", "sha256-"),
        ("a/b", "sha256-"),
        ("a b", "sha256-"),
        ("a\n", "sha256-"),
        ("日本", "sha256-"),
        ("a\ud800", "sha256-"),
        ("sha256-" + "0" * 32, "sha256-"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "sha256-"),
        ("x" * 300, "sha256-"),
    ],
)
def test_an_id_in_a_name(identifier, name):
    file = Names(maxlen=0).file("dataset", identifier)
    if name != "sha256-":
        assert file == f"datasets/{name}.json"
    else:
        assert file.startswith("datasets/sha256-")
        assert file != f"datasets/{identifier}.json"
        assert len(file) == len("datasets/sha256-.json") + 32


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Côte d’Ivoire: limits", "__cote-divoire-limits"),
        ("../../etc/passwd", "__etc-passwd"),
        ("日本", "__ri-ben"),
        ("***", ""),
        ("", ""),
        (None, ""),
        ("z" * 300, "__" + "z" * 80),
    ],
)
def test_a_title_in_a_name(title, slug):
    assert Names().file("dataset", "1f2e", name=title) == f"datasets/1f2e{slug}.json"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"FILENAME_SLUG": "False", "FILENAME_SLUG_MAXLEN": 80}, "datasets/a.json"),
        ({"FILENAME_SLUG": "True", "FILENAME_SLUG_MAXLEN": 3}, "datasets/a__abc.json"),
        ({"FILENAME_SLUG": "True", "FILENAME_SLUG_MAXLEN": 0}, "datasets/a.json"),
    ],
)
def test_a_slug_is_as_long_as_the_settings_say(given, name):
    assert Names.from_settings(Settings(given)).file("dataset", "a", name="abcdef") == name


def test_a_name_is_never_too_long_for_a_disk():
    file = Names(maxlen=1000).file("resource_metadata", "x" * 100, "y" * 100, "z" * 1000)
    assert len(file.partition("/")[2]) == 255


# Files


@pytest.mark.parametrize(
    ("left", "kept"),
    [
        (b"", b""),
        (b'{"a":1}\n', b'{"a":1}\n'),
        (b'{"a":1}\n{"b"', b'{"a":1}\n'),
        (b'{"a":1}\n{"b":2}', b'{"a":1}\n'),
        (b'{"a"', b""),
        (b'{"a":1}\n' + b"x" * 200_000, b'{"a":1}\n'),
        (b"x" * 200_000, b""),
    ],
    ids=["nothing", "whole", "torn", "no newline", "only torn", "torn and long", "only torn and long"],
)
def test_a_torn_line_is_cut_off(tmp_path, left, kept):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(left)
    lines = JSONLines(path)
    assert path.read_bytes() == kept
    lines.append({"c": 3})
    assert lines.last() == {"c": 3}
    lines.close()
    assert path.read_bytes() == kept + b'{"c":3}\n'


def test_the_index_is_written_in_batches(tmp_path):
    index = Index(tmp_path, "here")
    known = Known("datasets/a.json", "0" * 64, 1, None, "new", "run", "2026-01-01T00:00:00.000Z")
    written = []
    for number in range(1001):
        index.put("dataset", str(number), None, known)
        written.append(stored(tmp_path))
    index.close()
    assert (written[498], written[499], written[998], written[999], written[1000]) == (0, 500, 500, 1000, 1000)
    assert stored(tmp_path) == 1001


def test_the_index_knows_titles_and_how_many_datasets_there_are(tmp_path):
    index = Index(tmp_path, "here")
    known = Known("datasets/a.json", "0" * 64, 1, None, "new", "run", "2026-01-01T00:00:00.000Z")
    index.put("dataset", "a", None, known, item=Dataset(source="here", id="a", title="Floods"))
    index.put("dataset_metadata", "a", None, known)
    index.put("dataset", "b", None, known._replace(status="withdrawn"))
    assert (index.documents.title("a"), index.documents.title("b"), index.documents.count()) == ("Floods", None, 0)
    assert index.settle()
    assert (index.documents.title("a"), index.documents.title("b"), index.documents.count()) == ("Floods", None, 1)
    index.close()


@pytest.mark.parametrize(
    ("left", "last"),
    [
        (b"", None),
        (b'{"a":1}\n', {"a": 1}),
        (b'{"a":1}\n{"b":2}\n{"c"', {"b": 2}),
        (b'{"a":1}\n[]\n', None),
        (b'{"a":1}\nno JSON\n', None),
        (b'{"a":"' + b"x" * 70_000 + b'"}\n{"b":2}\n', {"b": 2}),
        (b'{"a":"' + b"x" * 70_000 + b'"}\n', None),
    ],
    ids=["nothing", "one", "torn", "no object", "damaged", "after a long one", "long"],
)
def test_the_last_line(tmp_path, left, last):
    (tmp_path / "lines.jsonl").write_bytes(left)
    lines = JSONLines(tmp_path / "lines.jsonl")
    assert lines.last() == last
    lines.append({"c": 3})
    assert lines.last() == {"c": 3}
    lines.close()


def stored(folder):
    """How many documents another crawl would find."""
    index = sqlite3.connect(folder / "index.sqlite")
    count = index.execute("SELECT count(*) FROM documents").fetchone()[0]
    index.close()
    return count


# Verdicts

all_is_well = partial(verdict, expected=305, listed=305, limited=False, blocked=False, errors={})


@pytest.mark.parametrize(
    ("reason", "without_errors", "with_errors"),
    [
        ("finished", "complete", "incomplete"),
        ("shutdown", "interrupted", "interrupted"),
        ("closespider_timeout", "partial", "incomplete"),
        ("closespider_itemcount", "partial", "incomplete"),
        ("closespider_pagecount", "partial", "incomplete"),
        ("closespider_errorcount", "failed", "failed"),
        ("closespider_timeout_no_item", "failed", "failed"),
        ("closespider_pagecount_no_item", "failed", "failed"),
        ("memusage_exceeded", "failed", "failed"),
        ("disk", "failed", "failed"),
        ("cancelled", "failed", "failed"),
    ],
)
def test_an_end_and_its_verdict(reason, without_errors, with_errors):
    assert all_is_well(reason) == without_errors
    assert all_is_well(reason, errors={"http": 1}) == with_errors
    assert (EXIT_CODES[all_is_well(reason)] == 0) == (without_errors in ("complete", "partial"))


@pytest.mark.parametrize(
    ("changed", "judged"),
    [
        ({"listed": 304}, "incomplete"),
        ({"listed": 306}, "complete"),
        ({"expected": None}, "incomplete"),
        ({"expected": None, "listed": 0}, "failed"),
        ({"expected": 0, "listed": 0}, "complete"),
        ({"listed": 10, "limited": True}, "partial"),
        ({"listed": 10, "limited": True, "errors": {"http": 1}}, "incomplete"),
        ({"listed": 10, "blocked": True}, "blocked"),
    ],
)
def test_a_finished_crawl_and_its_verdict(changed, judged):
    assert all_is_well("finished", **changed) == judged


@pytest.mark.parametrize(
    ("limit", "reason", "verdict", "code"),
    [
        ({"CLOSESPIDER_ITEMCOUNT": "5"}, "closespider_itemcount", "partial", 0),
        ({"MEMUSAGE_LIMIT_MB": "1"}, "memusage_exceeded", "failed", 4),
    ],
)
def test_a_limit_of_scrapy_s(crawl, limit, reason, verdict, code):
    with OddPortal() as site:
        done = crawl("ckan", site, settings=limit)
    assert (done.report["finish_reason"], done.report["verdict"], done.code) == (reason, verdict, code)


# The report


def test_a_report_that_can_not_be_written(crawl, output):
    """The verdict is not all: whoever starts crawls by a script looks at the exit code."""
    log, folder = output.parent / "a.log", output / "127.0.0.1"
    folder.mkdir(parents=True)
    (folder / "runs").write_text("in the way")
    with OddPortal() as site:
        done = crawl("ckan", site, settings=among("EXTENSIONS", TellsTheEnd) | {"LOG_FILE": str(log)})
    told = f"{folder} has the documents and manifest.jsonl, but {folder}/runs/"
    assert done.code == EXIT_CODES["failed"]
    assert done.lines[-2].startswith(told)
    assert ", this run's report, can't be written ([Errno 20] it is a symbolic link" in done.lines[-2]
    assert told in log.read_text()
    assert f'ended ["complete", "{folder}"]' in log.read_text()
    assert "Traceback" not in done.log + log.read_text()


def test_a_ledger_that_breaks_at_the_end(crawl):
    with OddPortal() as site:
        done = crawl("ckan", site, settings=among("EXTENSIONS", LosesTheLedger))
    assert (done.code, done.report["verdict"]) == (EXIT_CODES["failed"], "failed")
    assert "the ledger can't be read: database disk image is malformed" in done.report["finish_reason"]
    assert 'ended ["failed", ' in done.log


def test_a_crawl_killed_once_it_has_a_report_leaves_a_whole_index(crawl, output):
    """Whoever reads the tables needs no command of ours to see them filled."""
    with OddPortal() as site:
        crawl("ckan", site)
        (output / "index.sqlite").unlink()
        killed = crawl("ckan", site, settings=among("EXTENSIONS", DiesOnceReported))
    with closing(sqlite3.connect(output / "index.sqlite")) as index:
        (datasets,) = index.execute("SELECT count(*) FROM datasets WHERE title IS NOT NULL").fetchone()
    assert (killed.code, killed.report["verdict"]) == (9, "complete")
    assert (datasets, killed.report["datasets_on_disk"]) == (40, 40)


def test_an_index_that_takes_no_report(crawl):
    with OddPortal() as site:
        done = crawl("ckan", site, settings=among("EXTENSIONS", BreaksTheIndex))
    assert (done.code, done.report["verdict"]) == (0, "complete")
    assert "is left out of index.sqlite ([Errno 13] Permission denied)" in done.log
