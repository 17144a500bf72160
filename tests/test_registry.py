"""The registry of public portals, and `scrapy sources known` and `add --known`, which use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from urllib.parse import urlsplit

import pytest
from scrapy.settings import Settings

from crawlers import arguments
from crawlers.kind import registered
from crawlers.listing.spider import source_name
from crawlers.operate.sources import registry
from crawlers.operate.sources.registry import Portal, portals, search
from crawlers.spider_loader import SpiderLoader
from tests.conftest import FAST, ROOT, command, load
from tests.portal.portal import Portal as CKANPortal

GENERIC = SpiderLoader.from_settings(Settings({"SPIDER_MODULES": [], "KINDS_ENABLED": ["*"]}))
ALL = portals()


# The table


def test_some_nine_hundred_portals_of_known_kinds():
    assert 900 <= len(ALL) <= 1000
    found = Counter(portal.kind for portal in ALL)
    assert {"ckan", "dcat", "api", "csw", "sdmx", "sparql"} <= found.keys() <= registered().keys()


def test_names_are_unique_and_names_of_sources():
    assert len({portal.name.casefold() for portal in ALL}) == len(ALL)
    assert all(source_name(portal.name) for portal in ALL)
    assert max(len(portal.name) for portal in ALL) <= 60


def test_an_address_stands_once_and_is_plain():
    found = Counter(
        f"{urlsplit(one.address).netloc.removeprefix('www.')}{'' if one.kind == 'ckan' else urlsplit(one.address).path}"
        for one in ALL
    )
    assert not [address for address, count in found.items() if count > 1]
    assert all(arguments.url(one.address) == one.address == one.address.strip().rstrip("/") for one in ALL)
    assert {one.provenance for one in ALL} == {"ceres", "pose", "ceres pose"}


def test_a_country_is_that_of_the_domain():
    known = {one.name: one.country for one in ALL}
    assert (known["paris"], known["leicester"], known["new-caledonia"], known["us-census"]) == ("FR", "GB", "NC", "US")
    assert not {"EU", "IO", "UK"} & set(known.values())
    assert all(len(country) in (0, 2) for country in known.values())


def test_an_address_has_the_form_of_its_kind():
    """Endpoints of services are none of home pages."""
    assert not [one.name for one in ALL if registered()[one.kind].misplaced(one.address)]
    assert all("csw" in urlsplit(one.address).path.rpartition("/")[2] for one in ALL if one.kind == "csw")


def test_the_spiders_of_single_catalogues_have_the_addresses_of_the_registry():
    spiders = [SpiderLoader(["spiders"]).load(name) for name in SpiderLoader(["spiders"]).list()]
    found = {(one.kind, getattr(one, one.address, None)) for one in spiders if not one.crosses_hosts}
    assert not [address for kind, address in found if address and registered()[kind].misplaced(address)]
    listed = {(one.kind, urlsplit(one.address).netloc): one.address for one in ALL if one.kind not in ("ckan", "api")}
    both = {(kind, address, listed.get((kind, urlsplit(address or "").netloc), address)) for kind, address in found}
    assert not [one for one in both if one[1] != one[2]]


def test_what_the_lists_say_of_a_portal():
    said = Counter((one.provenance, one.listed_datasets == "0", one.enabled) for one in ALL)
    assert sum(count for (_, is_empty, _), count in said.items() if is_empty) == 247
    assert {one.listed_datasets.isdecimal() for one in ALL if "pose" in one.provenance} == {True}
    assert {one.listed_datasets for one in ALL if one.provenance == "ceres"} == {""}
    assert {one.enabled for one in ALL if "ceres" in one.provenance} == {"False", ""}
    known = {one.name: one for one in ALL}
    assert known["milano"].doubts == ()
    assert known["spain-idee-csw"].doubts == ("not enabled",)


def test_the_spider_of_its_kind_takes_each():
    for portal in ALL:
        spider = GENERIC.load(portal.kind)
        assert getattr(spider(**portal.given, **{spider.address: portal.address}), spider.address)


# Searching it


def names(found):
    return [one.name for one in found]


def test_by_text_country_and_kind():
    assert "milano" in names(search("MILANO")), "in any case"
    assert "paris" in names(search("opendata.paris.fr"))
    assert names(search("zürich")) == [one.name for one in ALL if "zürich" in one.title.lower()]
    french = search(country="fr", kind="opendatasoft")
    assert {one.country for one in french} == {"FR"}
    assert {one.given["kind"] for one in french} == {"opendatasoft"}
    assert "paris" in names(french)
    assert set(names(french)) < set(names(search(kind="api")))
    assert len(search()) == len(ALL)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"kind": "odata"}, "The registry has no portal of the kind 'odata'. There are: api, arcgis-hub, ckan"),
        ({"country": "xx"}, "of the country 'XX'. There are: AE, AL, "),
    ],
)
def test_a_kind_or_a_country_that_is_not_there(wanted, says):
    with pytest.raises(registry.SourcesError, match=says.replace(".", r"\.")):
        search(**wanted)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("wallonia-br", "has no portal 'wallonia-br'. Did you mean wallonia-brussels?"),
        ("pariss", "has no portal 'pariss'. Similar are: paris, "),
        ("hawaii-", "Similar are: hawaii-2, hawaii-1."),
        ("sdmx", " others, which `scrapy sources known TEXT` lists."),
        ("zzzzzzz", "`scrapy sources known TEXT` searches it."),
        ("", "`scrapy sources known TEXT` searches it."),
    ],
)
def test_an_unknown_name_leads_to_near_ones(name, says, monkeypatch):
    more = [Portal(f"hawaii-{number}", "", "US", "ckan", "", "https://x.example", "pose") for number in (1, 2)]
    monkeypatch.setattr(registry, "portals", lambda: [one for one in ALL if "hawaii-" not in one.name] + more)
    with pytest.raises(registry.SourcesError) as raised:
        registry.portal(name)
    assert says in str(raised.value)


# The commands


@pytest.fixture
def sources(tmp_path):
    given = {"SOURCES_FILE": tmp_path / "sources.toml", "OUTPUT_DIR": tmp_path / "output", **FAST}
    return lambda *words: command("sources", *words, *(f"-s{name}={value}" for name, value in given.items()))


def test_listed_as_a_table_and_as_json(sources):
    ran = sources("known", "paris", "--country", "FR")
    assert ran.returncode == 0, ran.stderr
    head, *lines = ran.stdout.splitlines()
    assert head.split() == ["name", "kind", "country", "address", "its", "list", "says", "title"]
    [paris] = [line for line in lines if line.startswith("paris ")]
    assert paris.split() == "paris api opendatasoft FR https://opendata.paris.fr not enabled -".split()
    listed = json.loads(sources("known", "--kind", "socrata", "--json").stdout)
    assert {one["arguments"]["kind"] for one in listed} == {"socrata"}
    facts = {"name", "title", "country", "kind", "arguments", "address", "provenance", "listed_datasets", "enabled"}
    assert listed[0].keys() == facts
    assert {one["enabled"] for one in listed} <= {False, None}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("known", "zzzzzzz"), "No portal of the registry matches"),
        (("known", "--kind", "zzz"), "There are: api, arcgis-hub"),
        (("known", "a", "b"), "scrapy sources"),
        (("add", "mine", "--known", "pariss"), "The registry has no portal 'pariss'. Similar are: paris, "),
        (("add", "mine", "https://example.org", "--known", "paris"), "scrapy sources"),
    ],
)
def test_what_can_not_be_done(sources, words, says):
    ran = sources(*words)
    assert ran.returncode != 0
    assert says in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


def test_added_by_name_alone(sources, tmp_path):
    ran = sources("add", "mine", "--known", "ontario", "--force", "--schedule", "daily")
    assert ran.returncode == 0, ran.stderr
    source = load(tmp_path / "sources.toml")["mine"]
    assert (source.spider, source.schedule.text) == ("ckan", "daily")
    assert source.arguments == {"portal": registry.portal("ontario").address}


PROGRAM = """
import sys
from scrapy.cmdline import execute
from crawlers.operate.sources import registry

url = sys.argv.pop()
near = registry.Portal("near", "", "", "ckan", "organization=x", f"{url}/dataset", "pose")
far = registry.Portal("far", "", "", "dcat", "", f"{url}/nothing.ttl", "ceres")
registry.portals = lambda: [near, far]
execute()
"""


@pytest.mark.slow
def test_the_portal_is_asked_as_if_its_address_was_typed(tmp_path):
    def add(*words):
        options = [f"-s{name}={value}" for name, value in {**FAST, "SOURCES_FILE": tmp_path / "sources.toml"}.items()]
        command = [sys.executable, "-c", PROGRAM, "sources", "add", *words, *options, portal.url]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    with CKANPortal(12) as portal:
        ran = add("mine", "--known", "near")
        assert ran.returncode == 0, ran.stderr
        assert "CKAN, 12 datasets" in ran.stdout
        assert load(tmp_path / "sources.toml")["mine"].arguments == {"portal": portal.url, "organization": "x"}
        wrong = add("other", "--known", "far")
        assert wrong.returncode == 1
        assert "/nothing.ttl" in wrong.stderr
