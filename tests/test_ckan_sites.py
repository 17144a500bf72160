"""A crawl of portals: what each is found to be, what is known of one that is down, and that nothing is guessed."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import ssl
import sys
import tomllib
from contextlib import closing
from datetime import UTC, datetime
from subprocess import PIPE
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from crawlers.ecosystem import site_list
from crawlers.ecosystem.ckan_sites import CKANSites
from crawlers.ecosystem.profiles import document, last_known
from crawlers.ecosystem.visits import QUESTIONS, Visit
from crawlers.exceptions import AnswerError, ArgumentError, SourcesError
from crawlers.items import Site
from crawlers.records.record import Record
from crawlers.store.timeseries import measures
from tests import forked
from tests.conftest import ROOT, Crawl, json_lines, load, options, scrapy
from tests.portal import sites
from tests.portal.sites import CKAN, Catalogue, Portals
from tests.test_certificates import AUTHORITY, DAY, Signed
from tests.waiting import until

CATALOGUE, DEAD = "127.1.0.1", "127.1.9.9"
QUICK = {
    "DOWNLOAD_TIMEOUT": "2",
    "RETRY_TIMES": "1",
    "ALLOWED_PRIVATE_HOSTS": ",".join(f"127.1.{n // 99}.{n % 99}" for n in range(300)),
}
QUICK["ALLOWED_PRIVATE_HOSTS"] += f",{DEAD}"
NEWEST, OLDEST = "2020-01-25T06:00:00.925376Z", "2020-01-01T06:00:00.925376Z"
TODAY = datetime.now(UTC).date().isoformat()


def words(output, portals, settings=None, **arguments):
    if not arguments.keys() & {"sites", "sources", "catalogue"}:
        arguments["catalogue"] = portals.url(CATALOGUE)
    return options(output, {**QUICK, **(settings or {})}, **arguments)


def crawled(output, portals, settings=None, more=(), **arguments):
    ran = scrapy("crawl", "ckan_sites", *words(output, portals, settings, **arguments), *more)
    return Crawl(ran.returncode, ran.stderr, output / arguments.get("source", "ckan_sites"))


def profiles(crawl):
    return {profile["id"]: profile for profile in crawl.documents("sites").values()}


# Every kind of portal in one crawl


def odd(portals: Portals) -> dict[str, Any]:
    """Return what answers, for each portal by its name."""
    home = portals.url("127.1.0.2")
    return {
        "healthy": CKAN(),
        "below-data": CKAN(root="/data", front=sites.page("Go on", 404)),
        "below-katalog": CKAN(root="/katalog"),
        "root-by-page": CKAN(root="/anywhere", front=sites.page()),
        "hidden-version": CKAN(version=None),
        "empty": CKAN(datasets=0, resources=0, groups=0, organizations=0),
        "single": CKAN(datasets=1, resources=1),
        "whole-lists": CKAN(organizations=1000),
        "listed-in-parts": CKAN(organizations=2300),
        "cut-lists": CKAN(organizations=1500, takes_offset=False),
        "unsorted": CKAN(sorts=False),
        "no-resource-search": CKAN(refuses={"resource_search": sites.refusal("Access denied")}),
        "no-resources": CKAN(resources=0),
        "false-under-200": CKAN(refuses={"group_list": sites.refusal("Internal", "Error", 200)}),
        "page-for-list": CKAN(refuses={"group_list": LOGIN}),
        "count-as-text": CKAN(refuses={"package_search": sites.result({"count": "25", "results": [{"id": "a"}]})}),
        "count-alone": CKAN(refuses={"package_search": sites.result({"count": 25, "results": []})}),
        "no-search": CKAN(refuses={"package_search": sites.refusal("Access denied")}),
        "silent-list": CKAN(refuses={"group_list": None}),
        "breaks-off": CKAN(refuses=dict.fromkeys(("organization_list", "group_list"), TORN)),
        "wants-post": CKAN(wants_post=True),
        "old": CKAN(actions="/api/action/"),
        "slow": sites.slow(0.3, CKAN()),
        "moved": sites.moved(home),
        "led": sites.led(f"{portals.url('127.1.0.3')}/data/"),
        "led-away": sites.led(f"{portals.url('127.1.0.90')}/shop"),
        "circle": lambda asked: sites.redirect(f"{asked.site}{asked.path}x"),
        "to-itself": lambda asked: sites.redirect(f"{asked.site}{asked.path}"),
        "file-address": lambda _: sites.redirect("file:///etc/passwd"),
        "private-address": lambda _: sites.redirect("http://10.0.0.1/"),
        "parked": sites.html,
        "robots": CKAN(actions="/nowhere/", robots="User-agent: *\nDisallow: /\n"),
        "unavailable": sites.unavailable,
        "cut": sites.cut,
        "packed": lambda _: sites.Reply(body=b"\x1f\x8b\x08 no gzip", headers={"Content-Encoding": "gzip"}),
        "silent": sites.hang,
        "waf-202": sites.challenge_202,
        "waf-405": sites.challenge_405,
        "forbidden": sites.forbidden,
    }


LOGIN = sites.page("Log in")
TORN = sites.Reply(body=b"x" * 100, sent=50)
ADDRESSES = {"below-data": "/data/dataset?q=water", "healthy": "/en/"}
UP = {"num_datasets": 25, "num_resources": 60, "num_groups": 4, "num_organizations": 3, "ckan_version": "2.10.4"}
UP |= {"newest_modified": NEWEST, "oldest_modified": OLDEST, "reason": None}
NOTHING = dict.fromkeys((*Site.facts, "redirected_to"))
DENIED = "the portal answered success: false (Authorization Error: Access denied)"
FOUND: dict[str, tuple[str, dict[str, Any]]] = {
    "healthy": ("up", UP | {"site_title": "Portal 127.1.0.2", "description": "Data for all", "locale": "en"}),
    "below-data": ("up", UP),
    "below-katalog": ("up", UP),
    "root-by-page": ("up", UP),
    "hidden-version": ("up", UP | {"ckan_version": None}),
    "empty": (
        "up",
        {
            **UP,
            **dict.fromkeys(UP, 0),
            "ckan_version": "2.10.4",
            "newest_modified": None,
            "oldest_modified": None,
            "reason": None,
        },
    ),
    "single": ("up", UP | {"num_datasets": 1, "num_resources": 1, "newest_modified": OLDEST}),
    "whole-lists": ("up", UP | {"num_organizations": 1000}),
    "listed-in-parts": ("up", UP | {"num_organizations": 2300}),
    "cut-lists": (
        "up",
        UP
        | {"num_organizations": None, "reason": "organization_list: the portal lists 1000, and perhaps there are more"},
    ),
    "unsorted": (
        "up",
        UP
        | {
            "newest_modified": None,
            "oldest_modified": None,
            "reason": "package_search: the portal does not sort by metadata_modified",
        },
    ),
    "no-resource-search": ("up", UP | {"num_resources": None, "reason": f"resource_search: {DENIED}"}),
    "no-resources": (
        "up",
        UP
        | {"num_resources": None, "reason": "resource_search: the portal says that its 25 datasets have no resource"},
    ),
    "false-under-200": (
        "up",
        UP | {"num_groups": None, "reason": "group_list: the portal answered success: false (Error: Internal)"},
    ),
    "page-for-list": (
        "up",
        UP | {"num_groups": None, "reason": f"group_list: {len(LOGIN.body)} bytes of text/html came instead of JSON"},
    ),
    "count-as-text": (
        "up",
        UP
        | dict.fromkeys(("num_datasets", "newest_modified", "oldest_modified"))
        | {"reason": "package_search: the portal answered without a number"},
    ),
    "count-alone": (
        "up",
        UP
        | dict.fromkeys(("newest_modified", "oldest_modified"))
        | {"reason": "package_search: the portal answered without a dataset"},
    ),
    "no-search": (
        "up",
        UP
        | {
            "num_datasets": None,
            "newest_modified": None,
            "oldest_modified": None,
            "reason": f"package_search: {DENIED}",
        },
    ),
    "silent-list": ("up", UP | {"num_groups": None, "reason": "group_list: no answer in time"}),
    "breaks-off": (
        "up",
        UP
        | dict.fromkeys(("num_groups", "num_organizations", "num_resources"))
        | {"reason": "organization_list: the connection ended before the whole answer had come; group_list: the"},
    ),
    "wants-post": ("up", UP),
    "old": ("up", UP),
    "slow": ("up", UP),
    "moved": ("moved", UP | {"reason": "the address leads to 127.1.0.2, where CKAN answers"}),
    "led": ("moved", UP | {"reason": "the address leads to 127.1.0.3, where CKAN answers"}),
    "led-away": ("not_ckan", {"num_datasets": None}),
    "circle": ("unknown", {"num_datasets": None, "reason": "it redirects more than 5 times"}),
    "to-itself": ("unknown", {"num_datasets": None, "reason": "it redirects more than 5 times"}),
    "file-address": ("unknown", {"num_datasets": None, "redirected_to": None}),
    "private-address": ("unknown", {"num_datasets": None}),
    "parked": ("not_ckan", {"num_datasets": None, "ckan_version": None}),
    "robots": ("unknown", {"num_datasets": None}),
    "unavailable": ("down", {"reason": "HTTP 503", "num_datasets": None}),
    "cut": ("down", NOTHING | {"reason": "the connection ended before the whole answer had come"}),
    "packed": ("down", NOTHING | {"reason": "the answer can't be unpacked (gzip: Compressed file ended"}),
    "silent": ("down", NOTHING | {"reason": "no answer in time"}),
    "waf-202": (
        "blocked",
        {"reason": "a firewall answered instead of the portal (HTTP 202, x-amzn-waf-action)", "num_datasets": None},
    ),
    "waf-405": (
        "blocked",
        {"reason": "a firewall answered instead of the portal (HTTP 405, x-amzn-waf-action)", "num_datasets": None},
    ),
    "forbidden": ("blocked", {"reason": "the portal refuses access (HTTP 403)", "num_datasets": None}),
    "dead": ("down", NOTHING | {"reason": "the connection was refused", "tls": None}),
    "nowhere": ("unknown", NOTHING | {"reason": "the catalogue gives no address of it", "url": None}),
}
REQUESTS = {"healthy": 6, "moved": 1, "silent": 2, "dead": 0, "waf-202": 1, "forbidden": 1, "cut": 2, "unavailable": 2}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The portals, and what a crawl of them left."""
    portals = Portals({})
    named = odd(portals)
    hosts = {name: f"127.1.0.{number}" for number, name in enumerate(named, start=2)}
    portals.sites |= {hosts[name]: behaviour for name, behaviour in named.items()} | {"127.1.0.90": sites.html}
    packages = {name: portals.url(host, ADDRESSES.get(name, "")) for name, host in hosts.items()}
    packages |= {"dead": portals.url(DEAD), "nowhere": ""}
    portals.sites[CATALOGUE] = Catalogue(packages)
    portals.sites[hosts["root-by-page"]].front = sites.page(
        f'<p data-site-root="{packages["root-by-page"]}/anywhere/">'
    )
    folder = tmp_path_factory.mktemp("sites")
    with portals:
        feed = ("-O", str(folder / "sites.jsonl"))
        yield portals, hosts, crawled(folder / "output", portals, more=feed), folder


@pytest.mark.parametrize("name", FOUND)
def test_a_portal_has_its_state_and_no_value_is_wrong(world, name):
    found = profiles(world[2])[name]
    state, facts = FOUND[name]
    assert found["state"] == state, found["reason"]
    for field, value in facts.items():
        is_prefix = field == "reason" and value is not None
        assert found[field].startswith(value) if is_prefix else found[field] == value, (field, found)
    assert found["last_known"] == {}
    assert found["checked"][:10] >= TODAY


def test_a_portal_that_did_not_answer_has_no_figure_at_all(world):
    for found in profiles(world[2]).values():
        if found["state"] not in ("up", "moved"):
            figures = {name: found[name] for name in Site.facts if name not in ("response_time", "tls_valid_until")}
            assert not any(value is not None for value in figures.values()), found["id"]


@pytest.mark.parametrize("name", REQUESTS)
def test_few_requests_are_spent_on_a_portal(world, name):
    portals, hosts, *_ = world
    paths = portals.paths(hosts.get(name, DEAD))
    if name == "healthy":  # which others lead to, too
        paths = paths[: len(paths) // 2]
    assert len(paths) == REQUESTS[name]
    assert "package_list" not in str(paths)


def test_the_root_of_the_api_is_found(world):
    portals, hosts, crawl, _ = world
    roots = {name: found["api_root"] for name, found in profiles(crawl).items() if found["api_root"]}
    expected = {"below-data": "/data", "below-katalog": "/katalog", "root-by-page": "/anywhere"}
    for name, root in roots.items():
        host = {"moved": "127.1.0.2", "led": "127.1.0.3"}.get(name, hosts[name])
        path = "/data" if name == "led" else expected.get(name, "")
        assert root == portals.url(host, path)
    assert profiles(crawl)["led"]["redirected_to"] == portals.url("127.1.0.3", "/data/")


def test_the_run_is_complete_and_says_how_many_portals_are_down(world):
    _, _, crawl, _ = world
    counts = {}
    for state, _ in FOUND.values():
        counts[state] = counts.get(state, 0) + 1
    assert (crawl.code, crawl.report["verdict"], crawl.errors) == (0, "complete", [])
    assert crawl.report["portals"] == counts
    said = ", ".join(f"{counts[state].__str__()} {state.replace('_', ' ')}" for state in crawl.report["portals"])
    assert crawl.lines[-2].startswith(f"ckan_sites: complete. {len(FOUND)} portals: {said}.")
    assert "Traceback" not in crawl.log


def test_the_manifest_has_a_line_for_each_portal(world):
    *_, crawl, _ = world
    lines = {line["dataset_id"]: line for line in crawl.manifest}
    assert len(crawl.manifest) == len(lines) == len(FOUND)
    assert {(line["kind"], line["status"], line["metadata_source"]) for line in lines.values()} == {
        ("site", "new", "package_search")
    }
    assert lines["healthy"]["metadata_file"] == "sites/healthy.json"
    assert lines["healthy"]["dataset_title"] == "Healthy"


def test_the_time_series_has_what_was_found_out_and_nothing_else(world):
    """Each number and state of each document, no row for what is null, and how many portals there are."""
    *_, crawl, _ = world
    with next((crawl.folder / "timeseries").iterdir()).open(encoding="utf-8", newline="") as file:
        rows = [(row["subject"], row["metric"], row["value"]) for row in csv.DictReader(file)]
    found = profiles(crawl).items()
    expected = [(name, metric, value) for name, document in found for metric, value in measures(document)]
    assert sorted(rows) == sorted([*expected, ("ckan_sites", "sites", str(len(FOUND)))])
    observed = {subject: set() for subject, *_ in rows}
    for subject, metric, _ in rows:
        observed[subject].add(metric)
    assert "num_datasets" in observed["empty"], "0 is a number that was found out"
    assert not observed["silent"] & {"num_datasets", "num_resources", "ckan_version"}


def test_a_feed_has_the_fields_flat_and_no_document(world):
    *_, crawl, folder = world
    fed = {line["id"]: line for line in json_lines(folder / "sites.jsonl")}
    written = profiles(crawl)
    assert fed.keys() == written.keys()
    for name, line in fed.items():
        assert {field: line[field] for field in written[name]} == written[name]
        assert line.keys() - written[name].keys() == {"source", "metadata_source", "metadata_url", "metadata_modified"}


COMMANDS = {
    "jobs": (),
    "jobs show": ("{run}",),
    "reindex": (),
    "report": ("-o", "{folder}/report"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_take_a_source_of_portals(world, command, tmp_path):
    *_, crawl, folder = world
    known = {"run": f"ckan_sites/{crawl.report['run']}", "folder": tmp_path}
    given = [word.format(**known) for word in COMMANDS[command]]
    ran = scrapy(*command.split(), *given, "-s", f"OUTPUT_DIR={folder / 'output'}")
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    said = {"jobs": f"{len(FOUND)} of {len(FOUND)} portals", "jobs show": f"portals    {len(FOUND)} looked at"}
    assert said.get(command, "") in ran.stdout


def test_the_api_is_exempt_from_robots_txt_and_keeps_its_crawl_delay(output):
    """Of a portal that is down not even that is asked."""
    portals = Portals({"127.1.0.2": CKAN()})
    with portals:
        path = a_file(output, {"alive": portals.url("127.1.0.2"), "dead": portals.url(DEAD)})
        crawl = crawled(output, portals, {"CRAWL_DELAY_MAX": "0.1", "REQUESTS_PER_SECOND": "50"}, sites=path)
        asked = [asked.path for asked in portals.log]
    assert {name: found["state"] for name, found in profiles(crawl).items()} == {"alive": "up", "dead": "down"}
    assert asked[:2] == ["/api/3/action/package_search", "/robots.txt"]
    assert "capped to 0.1 s by CRAWL_DELAY_MAX" in crawl.log
    assert all("catalogue-crawlers/" in asked.agent for asked in portals.log)


# What earlier runs knew


def a_file(output, addresses):
    output.mkdir(exist_ok=True)
    path = output.parent / "sites.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("name", "url"), *addresses.items()])
    return str(path)


def test_what_was_known_of_a_portal_that_is_down_stays_visible_with_its_day(output):
    portals = Portals({"127.1.0.2": CKAN()})
    portals.sites[CATALOGUE] = Catalogue({"a": portals.url("127.1.0.2")})
    with portals:
        first = crawled(output, portals)
        before = profiles(first)["a"]
        backdated(first.folder / "sites" / "a.json", "2026-11-15")
        portals.sites["127.1.0.2"] = sites.unavailable
        down = profiles(crawled(output, portals))["a"]
        portals.sites["127.1.0.2"] = CKAN(datasets=30, version=None)
        third = profiles(crawled(output, portals))["a"]
    assert (down["state"], down["num_datasets"], down["ckan_version"]) == ("down", None, None)
    assert down["last_known"]["num_datasets"] == {"value": 25, "day": TODAY}
    assert down["last_known"].keys() == {name for name in Site.facts if before[name] is not None and down[name] is None}
    assert (third["num_datasets"], third["ckan_version"]) == (30, None)
    assert third["last_known"] == {"ckan_version": {"value": "2.10.4", "day": TODAY}}


def backdated(path, day):
    """As if a run of that day had written a profile: the index says that it was seen today, too."""
    path.write_text(json.dumps({**json.loads(path.read_text()), "checked": f"{day}T03:00:00Z"}))


def test_the_day_is_the_last_one_on_which_a_fact_was_found():
    site = Site(source="s", id="a", state="down", num_groups=4)
    before = {"num_datasets": 25, "num_groups": 3, "last_known": {"locale": {"value": "en", "day": "2026-11-01"}}}
    found = last_known(site, before, "2026-11-15")
    expected = {"num_datasets": {"value": 25, "day": "2026-11-15"}, "locale": {"value": "en", "day": "2026-11-01"}}
    assert found == expected
    assert last_known(site, {"last_known": ["damaged"]}, "2026-11-15") == {}


def test_a_document_is_flat_and_ends_with_what_was_last_known():
    names = list(document(Site(source="s", id="a")))
    assert names[:3] == ["id", "name", "title"]
    assert names[-1] == "last_known"
    assert not {"source", "document", "stored", "metadata_url"} & set(names)


# What is gone


def test_a_portal_that_two_listings_lack_is_withdrawn_and_one_comes_back(output):
    portals = Portals({"127.1.0.2": CKAN(), CATALOGUE: sites.html})
    url, believed = portals.url("127.1.0.2"), {"SHRINK_LIMIT": "0.5"}
    statuses = []
    with portals:
        for there in (("a", "b"), ("a",), ("a",), ("a", "b")):
            portals.sites[CATALOGUE] = Catalogue(dict.fromkeys(there, url))
            crawl = crawled(output, portals, believed)
            assert crawl.report["verdict"] == "complete"
            statuses.append([line["status"] for line in crawl.manifest if line["dataset_id"] == "b"][-1])
    assert statuses == ["new", "new", "withdrawn", "restored"]
    assert {line["kind"] for line in crawl.manifest} == {"site"}


def test_a_catalogue_that_lost_most_of_its_portals_withdraws_none(output):
    portals = Portals({"127.1.0.2": CKAN(), CATALOGUE: sites.html})
    url = portals.url("127.1.0.2")
    with portals:
        for there in (("a", "b", "c"), ("a",)):
            portals.sites[CATALOGUE] = Catalogue(dict.fromkeys(there, url))
            crawl = crawled(output, portals)
    assert (crawl.code, crawl.kinds()[-1]) == (3, ("list", "shrink"))
    assert crawl.errors[-1]["error"].startswith("2 of 3 sites are no longer listed (66.7%)")
    assert {line["status"] for line in crawl.manifest} <= {"new", "updated"}


# The list of a catalogue


@pytest.mark.parametrize(
    ("finds", "else_finds", "asked"),
    [("q", "all", 2), ("dataset_type", "error", 3)],
)
def test_the_filter_that_a_catalogue_understands_is_found(output, finds, else_finds, asked):
    portals = Portals({"127.1.0.2": CKAN()})
    portals.sites[CATALOGUE] = Catalogue({"a": portals.url("127.1.0.2")}, finds, else_finds)
    with portals:
        crawl = crawled(output, portals)
        assert len(portals.paths(CATALOGUE)) == asked
    assert (crawl.code, list(profiles(crawl))) == (0, ["a"])


@pytest.mark.parametrize(
    ("catalogue", "kind", "code"),
    [
        (Catalogue({}), "refused", 3),
        (Catalogue({"a": {"url": "https://a.example.org", "type": "dataset"}}), "refused", 3),
        (sites.challenge_202, "blocked", 4),
    ],
    ids=["empty", "of-another-type", "blocked"],
)
def test_a_catalogue_without_portals_is_an_error_and_no_empty_list(output, catalogue, kind, code):
    portals = Portals({CATALOGUE: catalogue})
    with portals:
        crawl = crawled(output, portals)
    assert (crawl.code, {error["kind"] for error in crawl.errors}) == (code, {kind})
    assert crawl.manifest == []


def test_a_redirect_to_a_host_that_cant_be_is_the_portals_fault(output):
    portals = Portals({"127.1.0.2": sites.led("https://a%2fb.org/")})
    portals.sites[CATALOGUE] = Catalogue({"a": portals.url("127.1.0.2")})
    with portals:
        crawl = crawled(output, portals)
    assert (crawl.report["verdict"], crawl.errors) == ("complete", [])
    found = profiles(crawl)["a"]
    assert (found["state"], found["reason"]) == ("unknown", "it redirects to what is no web address")


def test_a_package_without_a_name_is_an_error_and_the_others_are_visited(output):
    portals = Portals({"127.1.0.2": CKAN()})
    given = {"url": portals.url("127.1.0.2")}
    nameless = {f"nameless-{number}": {**given, "name": name} for number, name in enumerate((None, 3, "", "\ud800"))}
    portals.sites[CATALOGUE] = Catalogue({"a": given, **nameless})
    with portals:
        crawl = crawled(output, portals)
    assert list(profiles(crawl)) == ["a"]
    assert (crawl.code, crawl.kinds()) == (3, [("list", "missing_id")] * 4)
    assert "Traceback" not in crawl.log


def test_a_limit_makes_the_run_partial(output):
    portals = Portals({"127.1.0.2": CKAN()})
    portals.sites[CATALOGUE] = Catalogue({name: portals.url("127.1.0.2") for name in "abc"})
    with portals:
        crawl = crawled(output, portals, max_datasets="2")
    assert (crawl.code, crawl.report["verdict"], len(profiles(crawl))) == (0, "partial", 2)


# Lists in files


def test_the_ckan_sources_of_sources_toml_are_portals(output, tmp_path):
    portals = Portals({"127.1.0.2": CKAN(), "127.1.0.3": CKAN(datasets=7)})
    path = tmp_path / "sources.toml"
    tables = f"""
        [town]
        spider = "ckan"
        arguments = {{portal = "{portals.url("127.1.0.2")}"}}
        [village]
        spider = "ckan"
        arguments = {{portal = "{portals.url("127.1.0.3")}"}}
        [closed]
        spider = "ckan"
        enabled = false
        arguments = {{portal = "http://127.1.0.4"}}
        [rdf]
        spider = "dcat"
        arguments = {{url = "http://127.1.0.4/catalog.ttl"}}
    """
    path.write_text(tables)
    with portals:
        crawl = crawled(output, portals, sources=str(path), source="mine")
    assert {name: found["num_datasets"] for name, found in profiles(crawl).items()} == {"town": 25, "village": 7}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("name\na\n", "has no column url: its first line names the columns, such as name,url, each once"),
        ("name,url,url\na,https://a.org,https://b.org\n", "has 2 columns url"),
        ("name;url\na;https://a.org\n", "has no column name"),
        ("", "has no column name"),
        ("name,url\na,https://a.org\n,https://b.org\n", "line 3: the name is missing"),
        ("name,url\na,https://a.org\nb,no address\n", "line 3: 'no address' is no web address"),
        ("name,url\na,https://a.org\nb\n", "line 3: '' is no web address"),
        ("name,url\na,https://a.org\na,https://b.org\n", "line 3: line 2 has the name 'a', too"),
        ("name,url\na,ftp://a.org\n", "line 2: 'ftp://a.org' is no web address"),
        ("name,url\na,https://me:secret@a.org\n", "is no web address"),
        (b"name,url\n\xff,https://a.org\n", "is not a CSV file in UTF-8"),
    ],
)
def test_a_mistake_in_a_file_is_told_by_its_line(tmp_path, content, says):
    path = tmp_path / "sites.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ArgumentError, match=says):
        site_list.of_file(path)


def test_a_file_may_have_more_columns_and_addresses_without_a_scheme(tmp_path):
    path = tmp_path / "sites.csv"
    path.write_text(
        "tstamp,name,url,country,latitude,longitude\n1,a,data.example.de,,50.1,8.7\n2,b,http://b.io,Kenya,,\n"
    )
    first, second = site_list.of_file(path)
    assert (first["url"], first["country"], first["latitude"]) == ("https://data.example.de", "DE", 50.1)
    assert (second["url"], second["country"], second["latitude"]) == ("http://b.io", "KE", None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "takes its portals from one list"),
        ({"sites": "a.csv", "sources": "b.toml"}, "takes its portals from one list"),
        ({"catalogue": "ecosystem"}, "is not an http\\(s\\) address"),
        ({"catalogue": "https://a.org", "since": "last"}, "has no argument 'since'"),
    ],
)
def test_a_list_must_be_named(arguments, says):
    with pytest.raises(ArgumentError, match=says):
        CKANSites(**arguments)


def test_a_mistake_in_a_list_is_one_sentence_and_no_request(output, tmp_path):
    (tmp_path / "sites.csv").write_text("name,url\n")
    ran = scrapy("crawl", "ckan_sites", *options(output, {}, sites=str(tmp_path / "sites.csv")))
    assert (ran.returncode, "Traceback" in ran.stderr, output.exists()) == (1, False, False)
    assert ran.stderr.splitlines()[-1] == f"{tmp_path / 'sites.csv'} has no portal."


def test_a_list_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ArgumentError, match="can't be read: No such file or directory"):
        site_list.of_file(tmp_path / "sites.csv")
    with pytest.raises(SourcesError, match="There is no"):
        site_list.of_sources(tmp_path / "sources.toml", None)


# TLS


def shown(folder, signed):
    how = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / f"{id(signed)}.pem"
    path.write_bytes(signed.key.private_bytes(*how) + signed.certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def test_a_certificate_is_a_fact_and_one_that_is_not_trusted_a_state(output, tmp_path, monkeypatch):
    """Nothing is asked of a portal in plain text that the catalogue has with https."""
    trusted = tmp_path / "authority.pem"
    trusted.write_bytes(AUTHORITY.certificate.public_bytes(serialization.Encoding.PEM))
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    hosts = [f"127.1.0.{number}" for number in range(2, 7)]
    good, expired = Signed(*hosts, by=AUTHORITY), Signed(*hosts, by=AUTHORITY, begins=-2 * DAY, ends=-DAY)
    tls = {hosts[0]: shown(tmp_path, good), hosts[1]: shown(tmp_path, expired), hosts[2]: shown(tmp_path, good)}
    portals = Portals({hosts[0]: CKAN(), hosts[1]: CKAN(), hosts[4]: CKAN()}, tls)
    portals.sites[hosts[2]] = sites.moved(portals.url(hosts[4]))  # to http
    portals.sites[hosts[3]] = sites.moved(portals.url(hosts[0]))  # to https
    names = dict(zip(("valid", "expired", "downgraded", "upgraded"), hosts, strict=False))
    with portals:
        path = a_file(output, {name: portals.url(host) for name, host in names.items()})
        crawl = crawled(output, portals, sites=path)
        assert portals.paths(hosts[4]) == []
    found = profiles(crawl)
    states = {name: (site["state"], site["tls"]) for name, site in found.items()}
    assert states == {
        "valid": ("up", "valid"),
        "expired": ("down", "refused"),
        "downgraded": ("unknown", "valid"),
        "upgraded": ("moved", "valid"),
    }
    for name, signed in (("valid", good), ("expired", expired)):
        ends = signed.certificate.not_valid_after_utc
        assert found[name]["tls_valid_until"] == ends.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert found["expired"]["reason"].startswith("the portal's TLS certificate has expired")
    assert "it redirects from https to http://127.1.0.6" in found["downgraded"]["reason"]


# Kills


def start(output, portals, job, **settings):
    """Start a crawl, to be killed."""
    given = words(output, portals, {"JOBDIR": str(job), **settings})
    command = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", "ckan_sites", *given]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return forked.Popen(command, cwd=ROOT, env=environment, stdout=PIPE, stderr=PIPE, text=True)


@pytest.mark.parametrize("after", [12, *(pytest.param(count, marks=pytest.mark.slow) for count in range(1, 60, 8))])
def test_a_crawl_that_is_killed_goes_on_and_visits_nobody_twice(output, tmp_path, after):
    hosts = [f"127.1.0.{number}" for number in range(2, 14)]
    portals = Portals(dict.fromkeys(hosts, CKAN()))
    portals.sites |= {hosts[0]: sites.unavailable, hosts[1]: sites.html}
    portals.sites[CATALOGUE] = Catalogue({f"p{host[8:]}": portals.url(host) for host in hosts})
    job = tmp_path / "job"
    with portals:
        killed = start(output, portals, job, CONCURRENT_REQUESTS="3")
        until(lambda: len(portals.log) >= after, unless=lambda: killed.poll() is not None)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        before = len(portals.log)
        crawl = crawled(output, portals, {"JOBDIR": str(job)})
        assert before < len(portals.log), "there was something left to do"
        assert max(portals.paths(host).count("/api/3/action/status_show") for host in hosts) <= 2
    assert (crawl.code, crawl.report["verdict"], crawl.report["resumed"]) == (0, "complete", True)
    states = sorted(found["state"] for found in profiles(crawl).values())
    assert states == ["down", "not_ckan", *["up"] * 10]
    assert sorted(line["dataset_id"] for line in crawl.manifest) == sorted(profiles(crawl))
    assert crawl.report["portals"] | {"up": 10, "down": 1, "not_ckan": 1} == crawl.report["portals"]
    assert {found["num_datasets"] for found in profiles(crawl).values() if found["state"] == "up"} == {25}


def test_a_profile_that_was_written_before_a_kill_is_only_settled(output, tmp_path):
    """The ledger that is left is older than the manifest: all portals are visited once more."""
    hosts = [f"127.1.0.{number}" for number in range(2, 8)]
    portals = Portals(dict.fromkeys(hosts, CKAN()))
    portals.sites[CATALOGUE] = Catalogue({f"p{host[8:]}": portals.url(host) for host in hosts})
    job, manifest = tmp_path / "job", output / "ckan_sites" / "manifest.jsonl"
    with portals:
        killed = start(output, portals, job, CONCURRENT_REQUESTS="1")
        until(lambda: len(portals.log) > 2, unless=lambda: killed.poll() is not None)
        with closing(sqlite3.connect(job / "ledger.sqlite")) as ledger, closing(sqlite3.connect(":memory:")) as copy:
            ledger.backup(copy)
            until(lambda: manifest.read_bytes().count(b"\n") >= 3, unless=lambda: killed.poll() is not None)
            killed.send_signal(signal.SIGKILL)
            killed.communicate()
            copy.backup(ledger)
        before = json_lines(manifest)
        crawl = crawled(output, portals, {"JOBDIR": str(job)})
    assert len(before) >= 3
    assert (crawl.code, crawl.manifest[: len(before)]) == (0, before)
    assert sorted(line["dataset_id"] for line in crawl.manifest) == sorted(f"p{host[8:]}" for host in hosts)
    assert (crawl.report["counts"]["new"], crawl.report["portals"]["up"]) == (6, 6)


# What answers say


def visit(**known):
    return Visit(site={"id": "a", "url": "https://a.org", **known})


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("newest", []),
        ("newest", {"count": "7", "results": []}),
        ("newest", {"count": True, "results": []}),
        ("newest", {"count": -1, "results": []}),
        ("newest", {"count": 10**30, "results": []}),
        ("status", ["2.10"]),
        ("groups", {"count": 4}),
        ("groups", None),
        ("resources", {"count": None}),
        ("resources", {"count": 0}),  # of nobody knows how many datasets
    ],
)
def test_an_answer_of_another_form_is_no_value(name, result):
    here = visit()
    with pytest.raises(AnswerError):
        QUESTIONS[name].read(result, here)
    assert not any(field.startswith("num_") for field in here.site)


def test_a_status_of_odd_types_gives_what_can_be_read():
    here = visit()
    odd = {
        "site_title": {"en": "A", "de": "B"},
        "ckan_version": "",
        "extensions": "stats",
        "error_emails_to": ["a@b.org"],
    }
    QUESTIONS["status"].read(odd, here)
    known = {name: here.site[name] for name in ("site_title", "ckan_version", "extensions", "contact", "locale")}
    expected = {"site_title": "A", "ckan_version": None, "extensions": ["stats"], "contact": "a@b.org", "locale": None}
    assert known == expected


def test_the_oldest_before_the_newest_is_believed_by_neither():
    here = visit(newest_modified="2020-01-01", num_datasets=2)
    here.newest = "a"
    with pytest.raises(AnswerError, match="does not sort"):
        QUESTIONS["oldest"].read({"count": 2, "results": [{"id": "b", "metadata_modified": "2021-01-01"}]}, here)
    assert here.site["newest_modified"] is None


@pytest.mark.parametrize(
    ("package", "address"),
    [
        ({"url": "https://a.org/data"}, "https://a.org/data"),
        ({"url": "http://a.org"}, "http://a.org"),
        ({"url": "a.org"}, "https://a.org"),
        ({"url": "", "resources": [{"url": "https://a.org/list.csv"}, {"url": "https://b.org"}]}, "https://b.org"),
        ({"url": None, "extras": [{"key": "portal_url", "value": "https://c.org"}]}, "https://c.org"),
        ({"url": "see below", "notes": "At [C](https://c.org/x), since 2012."}, "https://c.org/x"),
        ({"url": "https://[::1", "notes": "None."}, None),
        (
            {"resources": [{"url": "https://a]b"}, {"url": "https://a\u2100b.org"}, {"url": "https://b.org"}]},
            "https://b.org",
        ),
        ({"url": "https://data%20a.org", "notes": "https://b.org"}, "https://b.org"),
        ({"url": f"https://{'a' * 64}.org"}, None),
        ({"url": "https://\u2488.org"}, None),
        ({"url": "https://données.example.org"}, "https://données.example.org"),
        ({"url": ["https://a.org"], "resources": "none", "extras": 7, "notes": {"a": 1}}, "https://a.org"),
        ({}, None),
    ],
)
def test_the_address_of_a_portal_is_where_its_package_has_it(package, address):
    assert site_list.address(Record(package)) == address


def test_country_and_coordinates_are_of_the_record_or_the_host():
    package = {"name": "a", "url": "https://data.gov.uk", "spatial": '{"type": "Point", "coordinates": [-0.1, 51.5]}'}
    found = site_list.of_package(package, "https://c.org")
    assert (found["country"], found["latitude"], found["longitude"]) == ("GB", 51.5, -0.1)
    found = site_list.of_package(
        {"name": "a", "url": "https://a.org", "extras": [{"key": "country", "value": "de"}]}, ""
    )
    assert (found["country"], found["latitude"]) == ("DE", None)


def test_the_texts_of_a_portal_are_bounded():
    here = visit()
    names = [f"{number} {10**5 * 'y'}" for number in range(1100)]
    QUESTIONS["status"].read({"site_description": "x" * 10**6, "extensions": names}, here)
    assert len(here.site["description"]) == 5000
    assert (len(here.site["extensions"]), {len(name) for name in here.site["extensions"]}) == (1000, {5000})


@pytest.mark.parametrize("given", ['catalogue = "https://ecosystem.ckan.org"', 'sites = "list.csv"', ""])
def test_portals_are_a_source_that_can_be_harvested(tmp_path, given):
    path = tmp_path / "sources.toml"
    path.write_text(f'[portals]\nspider = "ckan_sites"\n[portals.arguments]\n{given}\n')
    if given:
        assert load(path)["portals"].arguments == tomllib.loads(given)
    else:
        with pytest.raises(SourcesError, match="catalogue is missing"):
            load(path)


def test_sources_that_are_no_toml_are_an_error(tmp_path):
    (tmp_path / "sources.toml").write_text("[a\n")
    with pytest.raises(SourcesError, match="is not TOML"):
        site_list.of_sources(tmp_path / "sources.toml", None)
