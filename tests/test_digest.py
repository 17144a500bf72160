"""Digests: what changed, told once, in the morning of its zone, whatever is killed meanwhile."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from typing import ClassVar
from zoneinfo import ZoneInfo

import pytest
from lxml import html
from scrapy.settings import Settings

from crawlers import settings
from crawlers.operate.notify import digests as module
from crawlers.operate.notify.digest import MOST, SHOWN, Told
from crawlers.operate.notify.digests import Digests, first_told, last_due
from crawlers.operate.notify.outbox import Outbox, rename
from crawlers.operate.sources.source import Source
from crawlers.store import lines
from crawlers.store.history import Place, after
from crawlers.store.index.known import Known
from crawlers.store.versions import Versions
from tests.conftest import ROOT, scrapy
from tests.test_harvest import Place as Folder
from tests.test_harvest import ckan, ended
from tests.test_notify import NAMES, Counter, Hook, Post, by_mail
from tests.waiting import until

MORNING = datetime(2026, 11, 26, 6, 15, tzinfo=UTC)  # a Thursday
ZURICH = ZoneInfo("Europe/Zurich")


@pytest.fixture(autouse=True)
def _nobody(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


class World:
    """A folder of sources whose manifests are made up, and who is told."""

    def __init__(self, tmp_path, post):
        self.output, self.jobs, self.post = tmp_path / "output", tmp_path / "jobs", post
        self.told, self.sources = [], {}
        self.chosen = by_mail(post, DIGEST="daily")

    def source(self, name, zone=UTC, **own):
        self.sources[name] = Source(name=name, spider="ckan", timezone=zone, settings=own)

    def write(self, source, *changes, time="2026-11-26T03:00:00.000Z", kind="dataset", run="20261126T030000Z"):
        """Changes are (status, id) or (status, id, title)."""
        folder = self.output / source
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "manifest.jsonl").open("a") as file:
            for status, name, *title in changes:
                line = {"kind": kind, "dataset_id": name, "dataset_name": name, "dataset_title": (title or [None])[0]}
                line |= {
                    "resource_id": "r" if kind.startswith("resource") else None,
                    "metadata_source": "package_search",
                }
                line |= {"metadata_file": "datasets/a.json", "metadata_url": None, "time": time, "run": run}
                line |= {"status": status, "sha256": "0" * 64, "bytes": 1, "metadata_modified": None}
                file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def fields(self, source, name, *fields, run="20261126T030000Z", status="updated"):
        """Notes which fields a run changed, as a crawl does."""
        with Versions.writing(self.output / source) as versions:
            known = Known(
                f"datasets/{name}.json", f"{abs(hash((name, run))):064x}", 1, None, "new", f"before-{run}", ""
            )
            versions.keep(
                ("dataset", name, ""), known, b"", replaced=MORNING.isoformat(), run=run, status=status, fields=fields
            )

    def digests(self, **chosen):
        found = Settings()
        found.setmodule(settings)
        folders = {"OUTPUT_DIR": str(self.output), "JOBS_DIR": str(self.jobs)}
        found.setdict({"NOTIFY_TIMEOUT": "10", **folders, **self.chosen, **chosen}, priority="cmdline")
        return Digests(found, self.sources, self.told.append)

    def harvest(self, now=MORNING, **chosen):
        """What a harvest does at its end; returns the mails that it sent."""
        before = len(self.post.mails)
        self.digests(**chosen).send_due(now)
        return [read(mail) for mail in self.post.mails[before:]]


def read(mail):
    return message_from_bytes(mail, policy=policy.default)


def plain(mail):
    return mail.get_body(("plain",)).get_content().replace("\r\n", "\n")


def page(mail):
    return html.document_fromstring(mail.get_body(("html",)).get_content())


@pytest.fixture
def world(tmp_path):
    with Post() as post:
        world = World(tmp_path, post)
        world.source("hdx")
        yield world


# When


@pytest.mark.parametrize(
    ("now", "period", "zone", "due"),
    [
        ("2026-11-26T05:59:59+00:00", "daily", UTC, "2026-11-25T06:00:00+00:00"),
        ("2026-11-26T06:00:00+00:00", "daily", UTC, "2026-11-26T06:00:00+00:00"),
        ("2026-11-26T04:59:59+00:00", "daily", ZURICH, "2026-11-25T05:00:00+00:00"),
        ("2026-11-26T05:00:00+00:00", "daily", ZURICH, "2026-11-26T05:00:00+00:00"),
        ("2026-03-29T04:00:00+00:00", "daily", ZURICH, "2026-03-29T04:00:00+00:00"),  # 23 hours after the one before
        ("2026-10-25T05:00:00+00:00", "daily", ZURICH, "2026-10-25T05:00:00+00:00"),  # 25 hours
        ("2026-11-26T21:00:00+00:00", "daily", ZoneInfo("Asia/Tokyo"), "2026-11-26T21:00:00+00:00"),
        ("2026-11-26T06:00:00+00:00", "weekly", UTC, "2026-11-23T06:00:00+00:00"),
        ("2026-11-23T05:59:59+00:00", "weekly", UTC, "2026-11-16T06:00:00+00:00"),
    ],
)
def test_when_a_digest_is_due(now, period, zone, due):
    assert last_due(datetime.fromisoformat(now), period, zone) == datetime.fromisoformat(due)


@pytest.mark.parametrize(
    ("now", "period", "told"),
    [
        ("2026-11-26T05:59:59+00:00", "daily", "2026-11-25T06:00:00+00:00"),  # the next one covers a day
        ("2026-11-26T06:00:00+00:00", "daily", "2026-11-25T06:00:00+00:00"),
        ("2026-11-26T06:00:00+00:00", "weekly", "2026-11-23T06:00:00+00:00"),  # on Monday
        ("2026-11-23T06:00:00+00:00", "weekly", "2026-11-16T06:00:00+00:00"),
    ],
)
def test_what_counts_as_told_at_first(now, period, told):
    assert first_told(datetime.fromisoformat(now), period, UTC) == datetime.fromisoformat(told)


def test_nothing_is_sent_before_six_and_one_after_it(world):
    world.write("hdx", ("new", "a"), time="2026-11-26T03:00:00.000Z")
    assert world.harvest(MORNING.replace(hour=5)) == []
    assert len(world.harvest(MORNING)) == 1
    assert world.harvest(MORNING + timedelta(minutes=15)) == []
    assert world.harvest(MORNING.replace(hour=23)) == []


def test_a_harvest_at_five_each_day_sends_too(world):
    """By the second day, six of the day before is over."""
    world.write("hdx", ("new", "a"))
    days = [MORNING.replace(hour=5) + timedelta(days=day) for day in range(3)]
    assert [len(world.harvest(now)) for now in days] == [0, 1, 0]


def test_six_is_that_of_the_sources_zone(world):
    world.source("zurich", ZURICH)
    world.write("hdx", ("new", "a"))
    world.write("zurich", ("new", "b"))
    early = world.harvest(datetime(2026, 11, 26, 5, 15, tzinfo=UTC))
    assert [mail["Subject"] for mail in early] == ["zurich: 1 added (daily digest)"]
    assert "from 2026-11-25 06:00 to 2026-11-26 06:15 Europe/Zurich." in plain(early[0])
    assert [mail["Subject"] for mail in world.harvest()] == ["hdx: 1 added (daily digest)"]


def test_a_weekly_one_comes_on_mondays(world):
    world.source("hdx", DIGEST="weekly")
    del world.chosen["DIGEST"]
    world.write("hdx", ("new", "a"))
    days = [datetime(2026, 11, 26, 7, tzinfo=UTC) + timedelta(days=day) for day in range(12)]
    sent = [now for now in days if world.harvest(now)]
    assert sent == [datetime(2026, 11, 30, 7, tzinfo=UTC)]


def test_a_machine_that_was_off_sends_one_of_all_days(world):
    world.harvest()
    for day in (27, 28, 29):
        world.write("hdx", ("new", f"d{day}"), time=f"2026-11-{day}T03:00:00.000Z")
    (mail,) = world.harvest(MORNING + timedelta(days=4))
    assert mail["Subject"] == "hdx: 3 added (daily digest)"
    assert world.harvest(MORNING + timedelta(days=4, hours=1)) == []


def test_a_time_that_a_wrong_clock_gave_does_not_count(world):
    world.write("hdx", ("new", "a"))
    assert len(world.harvest(MORNING + timedelta(days=3650))) == 0 or world.post.mails
    world.write("hdx", ("new", "b"))
    (mail,) = world.harvest(MORNING + timedelta(days=1))
    assert mail["Subject"] == "hdx: 1 added (daily digest)"


def test_what_is_written_late_is_told(world):
    """A crawl on another machine: its lines are older than the digest, and come after it."""
    world.write("hdx", ("new", "a"))
    world.harvest()
    world.write("hdx", ("new", "late"), time="2026-11-26T05:00:00.000Z")
    (mail,) = world.harvest(MORNING + timedelta(days=1))
    assert "late" in plain(mail)
    assert mail["Subject"] == "hdx: 1 added (daily digest)"


def test_nothing_is_sent_of_nothing(world):
    world.write("hdx", ("new", "a"), time="2026-11-01T03:00:00.000Z")
    world.source("never crawled")
    assert world.harvest() == []
    world.write("hdx", ("new", "b"), time="2026-11-26T20:00:00.000Z")
    (mail,) = world.harvest(MORNING + timedelta(days=1))
    assert "Nothing changed in 1 other source." in plain(mail)
    assert "from 2026-11-26 06:15 to" in plain(mail)
    assert world.told == []


# To whom


def test_sources_of_one_zone_make_one_mail(world):
    for number in range(20):
        world.source(f"s{number}")
        world.write(f"s{number}", ("new", "a"), ("new", "b"))
    (mail,) = world.harvest()
    assert mail["Subject"] == "20 sources: 40 added (daily digest)"
    assert mail["To"] == "ann@example.org, bob@example.org"
    assert "Nothing changed in 1 other source." in plain(mail)


def test_sources_with_their_own_people_make_their_own_mail(world):
    world.source("theirs", NOTIFY_MAIL_TO=["them@example.org"])
    world.source("off", DIGEST="")
    for name in ("hdx", "theirs", "off"):
        world.write(name, ("new", "a"))
    del world.chosen["NOTIFY_MAIL_TO"]
    world.source("hdx", NOTIFY_MAIL_TO=["ann@example.org"])
    del world.chosen["DIGEST"]
    world.sources = {
        name: Source(**{**vars_of(one), "settings": {"DIGEST": "daily", **one.settings}})
        for name, one in world.sources.items()
    }
    mails = {mail["To"]: mail["Subject"] for mail in world.harvest()}
    assert mails == {
        "ann@example.org": "hdx: 1 added (daily digest)",
        "them@example.org": "theirs: 1 added (daily digest)",
    }


def vars_of(source):
    return {name: getattr(source, name) for name in ("name", "spider", "timezone")}


def test_a_webhook_gets_json(world, monkeypatch):
    world.write("hdx", ("updated", "a", "<b>Rivers</b>"), ("withdrawn", "b"))
    world.fields("hdx", "a", "title", "keywords")
    with Hook() as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        (mail,) = world.harvest()
    (told,) = hook.told
    assert told["text"].startswith("hdx: 1 changed, 1 withdrawn. What changed from 2026-11-25 06:00 to")
    assert "Rivers" not in told["text"]
    assert (told["digest"], told["since"]) == ("daily", "2026-11-25T06:00:00Z")
    assert {name: told[name] for name in ("added", "changed", "withdrawn", "restored")} == {
        "added": 0,
        "changed": 1,
        "withdrawn": 1,
        "restored": 0,
    }
    (source,) = told["sources"]
    assert source["first"]["changed"] == [
        {"id": "a", "title": "<b>Rivers</b>", "fields": ["title", "keywords"], "url": None}
    ]
    assert set(told) == {
        *("text", "digest", "id", "since", "until", "host", "sources", "quiet"),
        *("added", "changed", "withdrawn", "restored"),
    }
    assert told["id"] not in mail["Message-ID"], "each channel has its own"


def test_who_fails_does_not_make_the_other_one_told_twice(world, monkeypatch):
    world.write("hdx", ("new", "a"))
    with Hook(404) as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        assert len(world.harvest()) == 1
        assert world.harvest() == []
        hook.statuses[:] = [200]
        assert world.harvest() == []
    assert len(hook.told) == 3
    assert len({told["id"] for told in hook.told}) == 1
    told = (
        "The webhook at 127.0.0.1 did not get the daily digest: it answered HTTP 404. "
        "The next `scrapy harvest --due` sends it again."
    )
    assert world.told == [told, told]


def test_nobody_gets_it_is_said_when_one_is_due(world):
    world.chosen["NOTIFY_MAIL_TO"] = ""
    world.source("two")
    hours = []
    for hour in range(-2, 30):
        world.told.clear()
        world.harvest(MORNING + timedelta(hours=hour))
        if world.told:
            hours.append(hour)
            (told,) = world.told
            assert told == (
                "Nobody gets the digest of hdx and 1 more: "
                "set NOTIFY_MAIL_TO, or the environment variable NOTIFY_WEBHOOK."
            )
    assert hours == [0, 24]
    world.write("hdx", ("new", "a"), time="2026-11-27T03:00:00.000Z")
    world.chosen["NOTIFY_MAIL_TO"] = "ann@example.org"
    assert len(world.harvest(MORNING + timedelta(days=1, hours=7))) == 1, "what nobody was told is told"


def test_a_mistake_is_told_once_and_stops_no_other(world):
    world.source("bad", NOTIFY_MAIL_TO=["nobody"])
    world.chosen.pop("NOTIFY_MAIL_TO")
    world.source("hdx", NOTIFY_MAIL_TO=["ann@example.org"])
    world.source("bad too", NOTIFY_MAIL_TO=["nobody"])
    world.write("hdx", ("new", "a"))
    assert len(world.harvest()) == 1
    assert world.told == ["NOTIFY_MAIL_TO: 'nobody' is not a mail address such as harvest@example.org."]


# What


@pytest.mark.parametrize(
    ("became", "group"),
    [
        (["new"], "added"),
        (["new", "updated"], "added"),
        (["updated", "updated"], "changed"),
        (["withdrawn"], "withdrawn"),
        (["new", "withdrawn"], "withdrawn"),
        (["withdrawn", "restored"], "restored"),
        (["restored", "updated"], "restored"),
        (["restored", "withdrawn"], "withdrawn"),
    ],
)
def test_a_dataset_is_told_of_once(world, became, group):
    world.write("hdx", *((status, "a", "Rivers") for status in became))
    (mail,) = world.harvest()
    assert mail["Subject"] == f"hdx: 1 {group} (daily digest)"


def test_a_mail_says_which_fields_changed_and_where(world):
    world.write("hdx", ("updated", "a", "Rivers"), run="one")
    world.write("hdx", ("updated", "a", "The rivers"), ("new", "b", "Lakes"), ("withdrawn", "c", "Seas"), run="two")
    world.fields("hdx", "a", "title", run="one")
    world.fields("hdx", "a", "title", "resources", run="two")
    (mail,) = world.harvest(DASHBOARD_URL="https://catalogues.example.org/")
    assert plain(mail).splitlines() == [
        "What changed from 2026-11-25 06:00 to 2026-11-26 06:15 UTC.",
        "",
        "hdx: 1 added, 1 changed, 1 withdrawn",
        "https://catalogues.example.org/changes?source=hdx",
        "  Added:",
        "    Lakes",
        "      https://catalogues.example.org/sources/hdx/datasets/b",
        "  Changed:",
        "    The rivers (title, resources)",
        "      https://catalogues.example.org/sources/hdx/datasets/a",
        "  Withdrawn:",
        "    Seas",
        "      https://catalogues.example.org/sources/hdx/datasets/c",
    ]
    links = {link.text: link.get("href") for link in page(mail).iter("a")}
    assert links["The rivers"] == "https://catalogues.example.org/sources/hdx/datasets/a"


def test_exports_that_changed_are_a_change_of_their_dataset(world):
    world.write(
        "hdx", *((status, "a", "Rivers") for status in ("new", "withdrawn", "restored")), kind="resource_metadata"
    )
    world.write("hdx", ("updated", "b", "Lakes"))
    world.write("hdx", ("updated", "b", "Lakes"), kind="dataset_metadata")
    world.fields("hdx", "b", "notes")
    (mail,) = world.harvest()
    assert mail["Subject"] == "hdx: 2 changed (daily digest)"
    assert "    Rivers (exports)\n" in plain(mail)
    assert "    Lakes (notes)\n" in plain(mail)


def test_of_many_the_first_are_named(world):
    world.write("hdx", *(("new", f"d{number:05}") for number in range(1_254)))
    (mail,) = world.harvest()
    assert plain(mail).count("    d0") == SHOWN
    assert "    and 1,234 more\n" in plain(mail)
    assert "All of them: scrapy changes hdx --since 2026-11-25T06:00:00Z" in plain(mail)
    assert "and 1,234 more" in page(mail).text_content()


@pytest.mark.parametrize(
    ("kinds", "line"),
    [
        (["resource_metadata"], None),
        (["site"], None),
        (["dataset"], "All of them: scrapy changes hdx --since 2026-11-25T06:00:00Z"),
        (["dataset", "resource_metadata"], "Their own records: scrapy changes hdx --since 2026-11-25T06:00:00Z"),
    ],
)
def test_the_command_is_named_if_it_lists_them(world, kinds, line):
    """`scrapy changes` leaves exports and profiles out."""
    for kind in kinds:
        world.write("hdx", *(("updated", f"{kind}{number}") for number in range(30)), kind=kind)
    (mail,) = world.harvest()
    ends = [one for one in plain(mail).splitlines() if "scrapy changes" in one]
    assert ends == ([line] if line else [])
    assert ("scrapy changes" in page(mail).text_content()) == bool(line)
    ran = scrapy("changes", "hdx", "-s", f"OUTPUT_DIR={world.output}", "--since", "2026-11-25T06:00:00Z")
    assert ("No dataset changed." in ran.stdout) == (line is None)


def test_a_mail_of_many_sources_is_bounded(world):
    for number in range(60):
        world.source(f"s{number}")
        world.write(f"s{number}", *(("new", f"d{one}", "x" * 9_000) for one in range(30)))
    (mail,) = world.harvest()
    assert mail["Subject"] == "60 sources: 1,800 added (daily digest)"
    assert plain(mail).count("xxx…") == MOST
    assert "\ns59: 30 added\n\nNothing changed in 1 other source.\n" in plain(mail)
    assert len(world.post.mails[0]) < 500_000


def test_what_a_portal_wrote_forges_nothing(world):
    nasty = "</li><script>alert(1)</script>\r\nBcc: all@example.org\u202e\x1b[31m <img src=x onerror=alert(2)>"
    world.write("hdx", ("updated", "javascript:alert(3)", nasty), ("updated", "../../x?y#z", "&amp;"))
    world.fields("hdx", "javascript:alert(3)", "<b>", "document.<script>")
    (mail,) = world.harvest(DASHBOARD_URL="https://catalogues.example.org")
    assert mail["Bcc"] is None
    tags = {element.tag for element in page(mail).iter() if isinstance(element.tag, str)}
    assert tags <= set("html head meta title body p h2 h3 a ul li small code".split())
    assert all(link.get("href").startswith("https://catalogues.example.org/") for link in page(mail).iter("a"))
    assert "&amp;" in [link.text for link in page(mail).iter("a")]
    assert all(one.isprintable() or one == "\n" for one in plain(mail))
    assert "    </li><script>alert(1)</script> Bcc: all@example.org[31m <img src=x" in plain(mail)


def test_the_portals_page_is_linked_if_there_is_no_dashboard(place, portal, monkeypatch):
    site = portal(datasets=1)
    with Post() as post:
        place.sources(one={**ckan(site), "schedule": "daily", "timezone": zone(8)})
        assert due(place, post, DIGEST="daily").returncode == 0
    (mail,) = map(read, post.mails)
    (link,) = [link.get("href") for link in page(mail).iter("a")]
    assert link.startswith(f"{site.url}/dataset/")


# What is read


def test_lines_are_read_again_from_where_they_were_moved_to(world):
    folder = world.output / "hdx"
    world.write("hdx", *(("new", f"d{number}") for number in range(100)))
    *_, (end, _) = after(folder, Place())
    world.write("hdx", ("new", "later"))
    assert scrapy("compact", "hdx", "-s", f"OUTPUT_DIR={world.output}").returncode == 0
    assert [version.key[1] for _, version in after(folder, end)] == ["later"]
    (folder / "manifest.jsonl").write_bytes(b"")
    for part in lines.parts(folder, "manifest.jsonl"):
        (folder / part).unlink()
    world.write("hdx", *(("new", f"other{number}") for number in range(300)))
    assert len([*after(folder, end)]) == 300, "it is another manifest"
    assert [version for _, version in after(folder, end, "2026-11-27") if version] == []


def test_a_torn_line_is_read_when_it_is_whole(world):
    world.write("hdx", ("new", "a"), ("new", "b"))
    file = world.output / "hdx" / "manifest.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    *_, (end, _) = after(world.output / "hdx", Place())
    file.write_bytes(whole)
    assert [version.key[1] for _, version in after(world.output / "hdx", end)] == ["b"]


def test_a_damaged_source_is_told_and_the_others_are_sent(world):
    world.source("damaged")
    world.write("hdx", ("new", "a"))
    (world.output / "damaged" / "manifest.jsonl").mkdir(parents=True)
    (mail,) = world.harvest()
    assert mail["Subject"] == "hdx: 1 added (daily digest)"
    assert "manifest.jsonl can't be read" in "".join(world.told)
    (world.output / "damaged" / "manifest.jsonl").rmdir()
    world.write("damaged", ("new", "a"))
    (mail,) = world.harvest()
    assert mail["Subject"] == "damaged: 1 added (daily digest)"


def test_what_changed_is_told_without_its_fields_if_they_can_not_be_read(world):
    world.write("hdx", ("updated", "a"))
    (world.output / "hdx" / "versions.sqlite").write_bytes(b"no database at all" * 100)
    (mail,) = world.harvest()
    assert mail["Subject"] == "hdx: 1 changed (daily digest)"
    assert "versions.sqlite can't be read" in "".join(world.told)


def test_damaged_pages_of_the_former_versions_take_the_fields_only(world):
    names = [f"d{number:02}" for number in range(60)]
    world.write("hdx", *(("updated", name) for name in names))
    for name in names:
        world.fields("hdx", name, "title")
    file = world.output / "hdx" / "versions.sqlite"
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    body = file.read_bytes()
    file.write_bytes(body[: 2 * 4096] + bytes(0xA5 for _ in body[2 * 4096 :]))
    (mail,) = world.harvest()
    assert mail["Subject"] == "hdx: 60 changed (daily digest)"
    assert "    d00\n" in plain(mail), "without its fields"
    assert re.fullmatch(rf"{file} is damaged \(.*\): take it from your backup.", "".join(world.told))
    assert world.harvest(MORNING + timedelta(days=1)) == []


def test_memory_does_not_grow_with_the_changes(world):
    """A hundred thousand more datasets take less than 20 MB, and the mail is as long."""
    code = (
        "import resource, sys; from datetime import datetime, UTC; from pathlib import Path;"
        "from crawlers.operate.notify.digest import Reader; from crawlers.operate.notify.outbox import Told;"
        "Reader(Path(sys.argv[1])).changes('small', Told(datetime(2026, 1, 1, tzinfo=UTC)));"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "Reader(Path(sys.argv[1])).changes('large', Told(datetime(2026, 1, 1, tzinfo=UTC)));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    world.write("small", *(("new", f"d{number}", "x" * 200) for number in range(10_000)))
    world.write("large", *(("new", f"d{number}", "x" * 200) for number in range(110_000)))
    ran = subprocess.run([sys.executable, "-c", code, str(world.output)], cwd=ROOT, capture_output=True, check=True)
    assert int(ran.stdout) < 20_000  # KiB


# Killed


class Killed(BaseException):
    """As kill -9: nothing is done afterwards."""


BORDERS = ("before begin", "after begin", "before send", "after send", "before end", "after end")


@pytest.mark.parametrize("border", BORDERS)
def test_a_kill_at_any_border_loses_nothing_and_repeats_at_most_one_mail(world, border, monkeypatch):
    world.write("hdx", ("new", "first"))
    with monkeypatch.context() as patched:
        for where, name in ((Outbox, "begin"), (module, "send_all"), (Outbox, "end")):
            patched.setattr(where, name, _killing(getattr(where, name), name.partition("_")[0], border))
        with pytest.raises(Killed):
            world.harvest()
    world.write("hdx", ("new", "second"), time="2026-11-26T06:16:00.000Z")
    world.harvest(MORNING + timedelta(minutes=15))
    world.harvest(MORNING + timedelta(minutes=30))
    mails = [*map(read, world.post.mails)]
    assert len(mails) == (2 if border in ("after send", "before end") else 1)
    assert len({mail["Message-ID"] for mail in mails}) == 1
    assert len({plain(mail) for mail in mails}) == 1, "the same, so that nobody has to compare"
    is_told = border in ("after end", "after begin", "before send", "after send", "before end")
    (tomorrow,) = world.harvest(MORNING + timedelta(days=1)) or [None]
    both = plain(mails[0]) + (plain(tomorrow) if tomorrow else "")
    assert (both.count("first"), both.count("second")) == (1, 1), "each is told once"
    assert ("second" in plain(mails[0])) != is_told


def _killing(function, name, border):
    def killing(*given):
        if border == f"before {name}":
            raise Killed
        found = function(*given)
        if border == f"after {name}":
            raise Killed
        return found

    return killing


def test_many_nights_with_kills_tell_each_change_once_by_message(world, monkeypatch):
    """By their Message-ID, each change is in one mail, whatever is killed, late, or refused."""
    draw, written = random.Random(34), {}
    world.source("two")
    for night in range(60):
        now = MORNING + timedelta(days=night)
        for _ in range(draw.randrange(6)):
            time = (now - timedelta(hours=draw.choice((1, 3, 30)))).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            world.write(draw.choice(("hdx", "two")), ("new", name := f"d{len(written)}-"), time=time)
            written[name] = time
        world.post.refuses = {"MAIL": "550 no"} if draw.random() < 0.2 else {}
        with monkeypatch.context() as patched:
            border = draw.choice((*BORDERS, "none"))
            for where, name in ((Outbox, "begin"), (module, "send_all"), (Outbox, "end")):
                patched.setattr(where, name, _killing(getattr(where, name), name.partition("_")[0], border))
            with suppress(Killed):
                world.harvest(now)
    world.post.refuses = {}
    for night in (60, 61):
        world.harvest(MORNING + timedelta(days=night))
    by_id = {read(mail)["Message-ID"]: plain(read(mail)) for mail in world.post.mails}
    told = [name for text in by_id.values() for name in re.findall(r"^    (d\d+-)$", text, re.MULTILINE)]
    assert len(written) > 100
    assert sorted(told) == sorted(name for name, time in written.items() if time >= "2026-11-25T06:00"), (
        "what was older than a day at the first digest is not news"
    )


# Failing


class Judging(Counter):
    """A mail server that judges what a mail says: by the reply to what it contains; empty for none, and gone."""

    replies: ClassVar[dict[bytes, str]] = {}

    def data(self, _):
        self.say("354 go on")
        body = b"".join(iter(self.rfile.readline, b".\r\n"))
        reply = next((reply for word, reply in self.replies.items() if word in body), "250 taken")
        if reply in ("", "250 taken"):
            self.post.mails.append(body)
        if not reply:
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.say(reply)


def judge(world, replies):
    world.post.server.RequestHandlerClass = type("Judge", (Judging,), {"replies": replies})


def subjects(mails):
    return [mail["Subject"] for mail in mails]


def test_one_who_is_refused_makes_nobody_get_it_again(world):
    world.write("hdx", ("new", "a"))
    world.post.refuses = {"rcpt TO:<bob@example.org>": "550 no such user"}
    sent = [len(world.harvest(MORNING + timedelta(minutes=15 * number))) for number in range(4)]
    assert sent == [1, 0, 0, 0]
    (told,) = world.told
    assert told == (
        f"The mail server {world.post.place} got the daily digest: "
        "it refuses bob@example.org; the other recipients got the mail."
    )


def test_a_server_that_does_not_answer_gets_it_four_times(world):
    world.write("hdx", ("new", "a"))
    judge(world, {b"": ""})
    sent = [quarter for quarter in range(4 * 48) if world.harvest(MORNING + timedelta(minutes=15 * quarter))]
    assert [quarter / 4 for quarter in sent] == [0, 1, 5, 21]
    assert len({(mail["Message-ID"], plain(mail)) for mail in map(read, world.post.mails)}) == 1
    *again, last = [told.partition("it did not say whether it took the mail. ")[2] for told in world.told]
    assert again == [
        f"It is sent again after {hours}, as it may have come." for hours in ("1 hour", "4 hours", "16 hours")
    ]
    assert last == ("It counts as told; `scrapy digest hdx --since 2026-11-25T06:00:00Z` sends what changed since.")
    judge(world, {})
    world.write("hdx", ("new", "b"), time="2026-11-28T20:00:00.000Z")
    (mail,) = world.harvest(MORNING + timedelta(days=3))
    assert mail["Subject"] == "hdx: 1 added (daily digest)"


def test_a_process_that_is_always_killed_while_it_sends_is_in_doubt_too(world, monkeypatch):
    world.write("hdx", ("new", "a"))
    with monkeypatch.context() as patched:
        patched.setattr(module, "send_all", _killing(module.send_all, "send", "after send"))
        for _ in range(3):
            with pytest.raises(Killed):
                world.harvest()
    judge(world, {b"": ""})
    world.harvest()
    assert [len(world.post.mails), world.harvest()] == [4, []]
    assert world.told[-1].endswith("sends what changed since.")


def test_what_is_refused_is_sent_with_the_numbers_only(world):
    world.source("good")
    world.write("hdx", ("updated", "a", "GTUBE"))
    world.write("good", ("updated", "b", "Rivers"))
    judge(world, {b"GTUBE": "554 spam"})
    (mail,) = world.harvest()
    assert mail["Subject"] == "2 sources: 2 changed (daily digest)"
    assert plain(mail).splitlines()[2:] == [
        "hdx: 1 changed",
        "",
        "good: 1 changed",
        "",
        "All of them: scrapy changes --since 2026-11-25T06:00:00Z",
    ]
    (told,) = world.told
    assert told == (
        f"The mail server {world.post.place} did not get the daily digest: it refuses the mail (SMTP 554). "
        "It is sent with the numbers only."
    )
    world.write("good", ("updated", "c", "Lakes"), time="2026-11-26T20:00:00.000Z")
    assert subjects(world.harvest(MORNING + timedelta(days=1))) == ["good: 1 changed (daily digest)"]


def test_what_is_refused_with_the_numbers_only_counts_as_told(world):
    world.write("hdx", ("updated", "a"))
    judge(world, {b"": "554 spam"})
    assert [world.harvest(), world.harvest(MORNING + timedelta(hours=1))] == [[], []]
    first, second = world.told
    assert first.endswith("It is sent with the numbers only.")
    assert second.endswith(
        "It counts as told; `scrapy digest hdx --since 2026-11-25T06:00:00Z` sends what changed since."
    )


def test_what_is_deferred_for_a_day_is_sent_with_the_numbers_only(world):
    world.write("hdx", ("updated", "a", "Slow rivers"))
    judge(world, {b"Slow rivers": "451 later"})
    hours = [hour for hour in range(0, 48, 12) if world.harvest(MORNING + timedelta(hours=hour), NOTIFY_TIMEOUT="1")]
    assert hours == [36]


def test_a_server_that_is_away_for_a_week_leaves_a_sentence(world):
    world.write("hdx", ("new", "a"))
    for day in range(9):
        world.harvest(MORNING + timedelta(days=day), NOTIFY_SMTP="127.0.0.1:9", NOTIFY_TIMEOUT="0.3")
    assert len(world.told) == 9
    assert [told.endswith("The next `scrapy harvest --due` sends it again.") for told in world.told] == [True] * 8 + [
        False
    ]
    assert "It counts as told; `scrapy digest hdx --since" in world.told[-1]
    assert world.harvest(MORNING + timedelta(days=10)) == []


@pytest.mark.parametrize(
    ("status", "names"), [(400, [True, False]), (413, [True, False]), (404, [True]), (504, [True] * 3)]
)
def test_a_webhook_that_refuses(world, monkeypatch, status, names):
    """Of what was refused for what it says, the numbers come at once; another address may cure 404."""
    world.chosen["NOTIFY_MAIL_TO"] = ""
    world.write("hdx", ("updated", "a", "Rivers"))
    with Hook(status) as hook:
        monkeypatch.setenv("NOTIFY_WEBHOOK", hook.address)
        world.harvest(NOTIFY_TIMEOUT="3")
        assert [bool(told["sources"][0]["first"]) for told in hook.told] == names
        world.harvest(MORNING + timedelta(minutes=15))
        assert len(hook.told) == len(names) + (status == 404)
    assert ("counts as told" in world.told[-1]) == (False in names)


def begin_and_kill(world, monkeypatch):
    """Let the process be killed when the mail server has the digest; return that mail."""
    with monkeypatch.context() as patched:
        patched.setattr(Outbox, "end", _killing(Outbox.end, "end", "before end"))
        with pytest.raises(Killed):
            world.harvest()
    return read(world.post.mails[-1])


@pytest.mark.parametrize("change", ["zone", "named", "dashboard", "title", "manifest", "off"])
def test_what_was_begun_is_finished_as_it_was(world, monkeypatch, change):
    world.source("two")
    for name in ("hdx", "two"):
        world.write(name, ("updated", "a", "Rivers"))
    first = begin_and_kill(world, monkeypatch)
    if change == "zone":
        world.source("two", ZURICH)
    elif change == "title":
        world.fields("two", "a", "title")
    elif change == "manifest":
        (world.output / "hdx" / "manifest.jsonl").unlink()
    elif change == "off":
        world.source("two", DIGEST="")
    if change == "named":
        world.digests().send(["hdx"])
    else:
        world.harvest(MORNING + timedelta(minutes=15), DASHBOARD_URL="https://example.org" * (change == "dashboard"))
    (again,) = map(read, world.post.mails[1:])
    assert (again["Message-ID"], again["Subject"], plain(again)) == (
        first["Message-ID"],
        first["Subject"],
        plain(first),
    )
    assert world.harvest(MORNING + timedelta(days=1)) == []


def test_what_was_begun_for_others_is_not_sent_to_them_nor_lost(world, monkeypatch):
    world.write("hdx", ("new", "a"))
    first = begin_and_kill(world, monkeypatch)
    world.chosen["NOTIFY_MAIL_TO"] = "carl@example.org"
    (mail,) = world.harvest(MORNING + timedelta(minutes=15))
    assert (mail["To"], mail["Subject"]) == ("carl@example.org", "hdx: 1 added (daily digest)")
    assert mail["Message-ID"] != first["Message-ID"]


def test_what_was_begun_for_some_goes_to_them_if_others_get_one_of_its_sources_now(world, monkeypatch):
    del world.chosen["NOTIFY_MAIL_TO"]
    for name in ("hdx", "two"):
        world.source(name, NOTIFY_MAIL_TO=["ann@example.org"])
        world.write(name, ("new", "a"))
    begin_and_kill(world, monkeypatch)
    world.source("hdx", NOTIFY_MAIL_TO=["carl@example.org"])
    mails = world.harvest(MORNING + timedelta(minutes=15))
    assert [(mail["To"], mail["Subject"]) for mail in mails] == [
        ("ann@example.org", "2 sources: 2 added (daily digest)")
    ]


def test_what_is_begun_knows_a_source_by_its_new_name(world, monkeypatch):
    world.write("hdx", ("new", "a"))
    first = begin_and_kill(world, monkeypatch)
    rename(world.jobs, "hdx", "ocha")
    (world.output / "hdx").rename(world.output / "ocha")
    world.sources.clear()
    world.source("ocha")
    (again,) = world.harvest(MORNING + timedelta(minutes=15))
    assert again["Message-ID"] == first["Message-ID"]
    assert world.harvest(MORNING + timedelta(days=1)) == []


def test_a_mail_server_that_is_away_is_tried_again_with_the_same(world):
    world.write("hdx", ("new", "a"))
    world.post.refuses = {"MAIL": "550 no"}
    assert world.harvest() == []
    (told,) = world.told
    assert told == (
        f"The mail server {world.post.place} did not get the daily digest: it refuses the mail (SMTP 550). "
        "The next `scrapy harvest --due` sends it again."
    )
    world.post.refuses = {}
    assert len(world.harvest(MORNING + timedelta(minutes=15))) == 1
    assert world.harvest(MORNING + timedelta(minutes=30)) == []


def test_a_folder_that_can_not_be_written_is_a_sentence(world, tmp_path):
    world.write("hdx", ("new", "a"))
    (tmp_path / "jobs").write_text("a file")
    assert world.harvest() == []
    (told,) = world.told
    assert told.startswith("Digests can't be sent: what was told can't be read or written (")
    assert told.endswith(f": see {world.jobs}/.digests).")
    assert [*world.digests().shown([])] == []


def test_two_harvests_at_once_send_one(world):
    world.write("hdx", ("new", "a"))
    with Outbox.opened(world.jobs) as outbox:
        assert outbox
        assert world.harvest() == []
        assert world.told == []
    assert len(world.harvest()) == 1


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"told": 3}', '{"told": {"mail": {"hdx": {"time": 7}}}, "begun": {"mail": {"x": 3}}}']
)
def test_an_outbox_that_is_damaged_begins_again(world, content):
    world.write("hdx", ("new", "a"))
    (world.jobs / ".digests").mkdir(parents=True)
    (world.jobs / ".digests" / "outbox.json").write_text(content)
    assert len(world.harvest()) == 1
    assert world.harvest() == []


def test_a_source_that_is_renamed_is_not_told_of_again(world):
    world.write("hdx", ("new", "a"))
    world.harvest()
    rename(world.jobs, "hdx", "ocha")
    (world.output / "hdx").rename(world.output / "ocha")
    world.sources.clear()
    world.source("ocha")
    assert world.harvest(MORNING + timedelta(days=1)) == []
    found = Outbox.read(world.jobs).known("mail", "ocha")
    assert isinstance(found, Told)


# Whole commands


@pytest.fixture
def place(tmp_path):
    place = Folder(tmp_path)
    yield place
    for harvest in place.harvests:
        if harvest.poll() is None:
            harvest.kill()
        harvest.communicate()


def zone(hour):
    """The name of a zone in which it is about that hour now."""
    west = (datetime.now(UTC).hour - hour) % 24
    return f"Etc/GMT+{west}" if west <= 12 else f"Etc/GMT-{24 - west}"


def words(post, **chosen):
    found = {"NOTIFY_TIMEOUT": "10", **by_mail(post), **chosen}
    return [word for name, value in found.items() for word in ("-s", f"{name}={value}")]


def due(place, post, *more, **chosen):
    return place.harvest("--due", *words(post, **chosen), *more)


def test_a_harvest_tells_what_it_found_once(place, portal):
    site = portal(datasets=5)
    table = {**ckan(site), "schedule": "daily", "timezone": zone(8), "settings": {"DIGEST": "daily"}}
    with Post() as post:
        place.sources(one=table)
        ran = due(place, post)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert [read(mail)["Subject"] for mail in post.mails] == ["one: 5 added (daily digest)"]
        first, second = site.ids()[:2]
        site.change(
            edit={first: {"title": "Other rivers", "metadata_modified": "2026-11-26T00:00:00"}}, remove=[second]
        )
        assert place.harvest("one").returncode == 0
        assert due(place, post).stdout == ""
        assert len(post.mails) == 1
        yesterday(place)
        ran = due(place, post, "-v")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "\nSent: one: 1 changed, 1 withdrawn, from " in ran.stdout
    _, mail = map(read, post.mails)
    assert mail["Subject"] == "one: 1 changed, 1 withdrawn (daily digest)"
    assert re.search(r"^    Other rivers \(title.*\)$", plain(mail), re.MULTILINE)


def yesterday(place):
    """The last digest was sent a day ago."""
    file = place.jobs / ".digests" / "outbox.json"
    known = json.loads(file.read_text())
    for sources in known["told"].values():
        for told in sources.values():
            told["time"] = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    file.write_text(json.dumps(known))


def test_a_harvest_before_six_sends_nothing(place, portal):
    place.sources(one={**ckan(portal(datasets=1)), "schedule": "daily", "timezone": zone(4)})
    with Post() as post:
        assert due(place, post, DIGEST="daily").returncode == 0
        assert post.mails == []


def test_a_harvest_without_digests_leaves_nothing(place, portal):
    place.sources(one={**ckan(portal(datasets=1)), "schedule": "daily", "timezone": zone(8)})
    with Post() as post:
        assert due(place, post).returncode == 0
        assert due(place, post, "--dry-run", DIGEST="daily").returncode == 0
        assert post.mails == []
    assert not (place.jobs / ".digests").exists()


def test_a_mail_server_that_is_away_stops_no_harvest(place, portal):
    place.sources(one={**ckan(portal(datasets=1)), "schedule": "daily", "timezone": zone(8)})
    with Post() as post:
        ran = due(place, post, DIGEST="daily", NOTIFY_SMTP="127.0.0.1:9", NOTIFY_TIMEOUT="1")
        assert ran.returncode == 0
        assert re.fullmatch(
            r"The mail server 127.0.0.1:9 did not get the daily digest: it is unreachable .*\n", ran.stderr
        )
        assert due(place, post, DIGEST="daily").returncode == 0
        assert len(post.mails) == 1


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_harvest_that_is_killed_while_it_sends(place, portal, is_taken):
    """Killed before the mail server has the mail, and when it has it and did not say so yet."""
    place.sources(one={**ckan(portal(datasets=2)), "schedule": "daily", "timezone": zone(8)})
    harvests = place.harvests

    class Killing(Counter):
        def data(self, command):
            if is_taken:
                super().data(command)
            os.kill(harvests[0].pid, signal.SIGKILL)
            harvests[0].wait()

        def say(self, *lines):
            if lines != ("250 taken",):
                super().say(*lines)

    with Post() as post:
        post.server.RequestHandlerClass = Killing
        harvest = place.begin("--due", *words(post, DIGEST="daily"))
        until(lambda: harvest.poll() is not None)
        post.server.RequestHandlerClass = Counter
        assert [due(place, post, DIGEST="daily").returncode for _ in range(2)] == [0, 0]
    mails = [*map(read, post.mails)]
    assert len(mails) == 1 + is_taken
    assert len({(mail["Message-ID"], plain(mail)) for mail in mails}) == 1


def test_a_harvest_that_is_stopped_while_it_sends(place, portal):
    place.sources(one={**ckan(portal(datasets=2)), "schedule": "daily", "timezone": zone(8)})
    harvests = place.harvests

    class Stopping(Counter):
        def data(self, command):
            os.kill(harvests[0].pid, signal.SIGINT)
            harvests[0].wait()

    with Post() as post:
        post.server.RequestHandlerClass = Stopping
        harvest = place.begin("--due", *words(post, DIGEST="daily"))
        ended(harvest)
        assert harvest.returncode == 130
        post.server.RequestHandlerClass = Counter
        assert due(place, post, DIGEST="daily").returncode == 0
        assert len(post.mails) == 1


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("DIGEST", "hourly", "DIGEST='hourly' is not daily, weekly or empty"),
        ("DASHBOARD_URL", "https://me:secret@example.org", "is not an http(s) address without user and password"),
        ("DASHBOARD_URL", "catalogues.example.org", "is not an http(s) address without user and password"),
    ],
)
def test_mistakes(place, portal, name, value, told):
    site = portal(datasets=1)
    place.sources(one={**ckan(site), "schedule": "daily"})
    ran = place.harvest("--due", "-s", f"{name}={value}")
    assert (ran.returncode, site.requests()) == (1, 0)
    assert told in ran.stderr
    ran = scrapy("digest", *place.options(), "-s", f"{name}={value}")
    assert ran.returncode == 2
    assert told in ran.stderr


def test_a_table_with_a_wrong_digest_is_refused(place):
    place.sources(one={**ckan("http://127.0.0.1:9"), "settings": {"DIGEST": "hourly"}})
    ran = place.harvest("one")
    assert ran.returncode == 1
    assert "[one.settings]: DIGEST takes daily, weekly or empty." in ran.stderr


# scrapy digest


@pytest.fixture
def crawled(place, portal):
    place.sources(one={**ckan(portal(datasets=3)), "timezone": zone(8)})
    assert place.harvest("one").returncode == 0
    return place


def digest(place, *more):
    return scrapy("digest", *place.options(), *more)


def test_a_dry_run_prints_it_and_does_not_count(crawled):
    with Post() as post:
        for _ in range(2):
            ran = digest(crawled, "one", "--dry-run")
            assert (ran.returncode, ran.stderr) == (0, "")
            assert "one: 3 added\n  Added:\n" in ran.stdout
        assert post.mails == []
    assert not (crawled.jobs / ".digests").exists()


def test_it_is_sent_now_and_not_again(crawled):
    with Post() as post:
        ran = digest(crawled, "one", *words(post))
        assert re.fullmatch(r"Sent: one: 3 added, from .* to .* Etc/GMT.*\.\n", ran.stdout), ran
        again = digest(crawled, "one", *words(post))
        assert (again.returncode, again.stdout) == (0, "Nothing changed that was not told yet: nothing is sent.\n")
        assert digest(crawled, "one", "--dry-run").stdout == "Nothing changed that was not told yet.\n"
        since = digest(crawled, "one", "--since", "2026-01-01", *words(post))
        assert "Sent: one: 3 added, from 2026-01-01 00:00 to" in since.stdout
        assert len(post.mails) == 2
        assert due(crawled, post, DIGEST="daily").returncode == 0
        assert len(post.mails) == 2


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["on"], "has no source 'on'. Did you mean one? There are: one."),
        ([], 'No source has a digest: set DIGEST to "daily" or "weekly", or name sources.'),
        (["one", "--since", "yesterday"], "--since 'yesterday' is neither a date nor a time: write a date such as"),
        (["one"], "Nobody gets the digest of one: set NOTIFY_MAIL_TO, or the environment variable NOTIFY_WEBHOOK."),
        (["one", "-s", "NOTIFY_MAIL_TO=x"], "NOTIFY_MAIL_TO needs NOTIFY_MAIL_FROM"),
    ],
    ids=["unknown", "none", "since", "nobody", "mistake"],
)
def test_what_can_not_be_sent(crawled, given, told):
    ran = digest(crawled, *given)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_mail_that_is_not_delivered_is_exit_code_1(crawled):
    with Post(refuses={"MAIL": "550 no"}) as post:
        ran = digest(crawled, "one", *words(post))
        assert (ran.returncode, ran.stdout) == (1, "")
        assert "did not get the daily digest: it refuses the mail (SMTP 550)." in ran.stderr


def test_a_source_that_can_not_be_read_is_exit_code_3(crawled):
    (crawled.output / "one" / "versions.sqlite").write_bytes(b"no database at all" * 100)
    ran = digest(crawled, "one", "--dry-run")
    assert ran.returncode == 3
    assert "versions.sqlite can't be read" in ran.stderr
