"""RDF that is not DCAT: a catalogue file says which class its records have, and which property is which field."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import pytest

from crawlers.exceptions import RulesError
from crawlers.items import Agent
from crawlers.kinds.dcat.rules import AGENTS, DATASET_FIELDS, RESOURCE_FIELDS, Links, loads
from crawlers.kinds.dcat.translation import Extract, Referring, Translation
from crawlers.records.dcat import dataset
from crawlers.records.rdf.terms import DC, DCAT, DCT, FOAF, SCHEMA, Literal
from tests.conftest import Crawl, command, options, scrapy
from tests.portal.dcat import Catalogue
from tests.portal.harbour import DATA, RULES, Harbour

EX = f"{DATA}/ns#"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder that has catalogues/harbour.toml."""
    (tmp_path / "catalogues").mkdir()
    (tmp_path / "catalogues" / "harbour.toml").write_text(RULES, encoding="utf-8")
    monkeypatch.setenv("CRAWLERS_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def harvest(output):
    """Crawls the harbour: ``harvest(harbour.address, rules="catalogues/harbour.toml", more=("-O", "a.jsonl"))``."""

    def run(url, *, more=(), **arguments) -> Crawl:
        ran = scrapy("crawl", "dcat", *options(output, {}, url=url, source="harbour", **arguments), *more)
        return Crawl(ran.returncode, ran.stderr, output / "harbour")

    return run


def searched(output, words):
    ran = command("search", words, "--json", f"-sOUTPUT_DIR={output}")
    return json.loads(ran.stdout)["datasets"]


# Whole crawls


def test_a_crawl_by_rules(harvest, output, tmp_path, home):
    with Harbour(3) as harbour:
        done = harvest(harbour.address, rules="catalogues/harbour.toml", more=("-O", f"{tmp_path / 'a.jsonl'}"))
    assert (done.code, done.report["verdict"], done.report["listed"], done.errors) == (0, "complete", 3, [])
    assert {line["metadata_source"] for line in done.manifest} == {"rdf:harbour"}
    items = {item["id"]: item for item in map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())}
    assert sorted(items) == ["HH-1", "HH-2", "HH-3"]
    item = items["HH-2"]
    assert item["uri"] == f"{DATA}/chart/2"
    assert (item["title"], item["issued"], item["version_notes"]) == ("Chart 2", "2024-03-03", "Charts of the Elbe")
    assert item["description"] == "All of it, in one long text"
    assert item["keywords"] == ["buoys", "tides"]
    assert item["license"]["id"] == "CC-BY-4.0", "what the rules do not say is mapped as ever"
    assert (item["publisher"]["name"], item["publisher"]["email"]) == ("Port Authority", "charts@harbour.example.org")
    assert item["publisher"]["uri"] == f"{DATA}/office"
    assert [(each["name"], each["email"]) for each in item["contacts"]] == [("Desk 2", "desk2@example.org")]
    (file,) = item["resources"]
    assert (file["url"], file["title"], file["format"], file["size"]) == (f"{DATA}/file/2.csv", "CSV", "CSV", 1200)


def test_a_document_has_what_its_rules_read_and_no_more(harvest, home):
    with Harbour(3) as harbour:
        done = harvest(harbour.address, rules="catalogues/harbour.toml")
    (line,) = [line for line in done.manifest if line["dataset_id"] == "HH-1"]
    text = (done.folder / line["metadata_file"]).read_text()
    assert "Charts of the Elbe" in text
    assert "buoys" in text
    assert "chart/2" not in text, "the atlas leads to all charts; only its statement about this one is here"
    assert "of the note" not in text


def test_documents_are_mapped_again_by_the_same_rules(harvest, output, home):
    with Harbour(2) as harbour:
        harvest(harbour.address, rules="catalogues/harbour.toml")
    before = searched(output, "buoys")
    assert {found["title"] for found in before} == {"Chart 1", "Chart 2"}
    assert {found["publisher"] for found in before} == {"Port Authority"}
    assert command("reindex", f"-sOUTPUT_DIR={output}").returncode == 0
    assert searched(output, "buoys") == before


def test_rules_that_come_later_count_for_what_is_on_disk(harvest, output, home):
    rules = home / "catalogues" / "harbour.toml"
    rules.write_text('[rdf]\nclass = "https://harbour.example.org/ns#Chart"\n', encoding="utf-8")
    (home / "catalogues" / "named.toml").write_text(
        '[rdf]\nclass = "ex:Chart"\nprefixes.ex = "https://harbour.example.org/ns#"\nfields.title = "ex:name"\n'
    )
    with Harbour(2) as harbour:
        harvest(harbour.address, rules="catalogues/harbour.toml")
        assert {found["title"] for found in searched(output, "tif")} == {"c1.tif", "c2.tif"}
        done = harvest(harbour.address, rules="catalogues/named.toml")
    assert [line["status"] for line in done.manifest] == ["new", "new", "updated", "updated"]
    assert {found["title"] for found in searched(output, "chart")} == {"Chart 1", "Chart 2"}


def test_an_export_says_in_dcat_what_the_rules_found(harvest, output, home):
    with Harbour(1) as harbour:
        harvest(harbour.address, rules="catalogues/harbour.toml")
    ran = command("export", "--format", "dcat", "-o", f"{output}/a.jsonld", f"-sOUTPUT_DIR={output}")
    text = (output / "a.jsonld").read_text()
    assert ran.returncode == 0, ran.stderr
    for each in ("Chart 1", "Port Authority", "buoys", f"{DATA}/file/1.csv"):
        assert each in text


def test_a_crawl_without_rules_takes_dcat_alone(harvest):
    with Harbour(3) as harbour:
        done = harvest(harbour.address)
    assert [line["dataset_title"] for line in done.manifest] == ["Charts of the Elbe"]


def test_a_spider_of_its_own_names_its_rules(output, home, tmp_path, monkeypatch):
    folder = tmp_path / "towns"
    folder.mkdir()
    with Harbour(2) as harbour:
        (folder / "__init__.py").write_text(
            "from crawlers.kinds.dcat.spider import DCATSpider\n\n\n"
            "class Port(DCATSpider):\n"
            '    """The port."""\n\n'
            f'    name = "port"\n    url = "{harbour.address}"\n    rules = "catalogues/harbour.toml"\n'
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        command = [sys.executable, "-m", "scrapy", "crawl", "port", *options(output, {"SPIDER_MODULES": "towns"})]
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:."}
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in (output / "port" / "manifest.jsonl").read_text().splitlines()]
    assert sorted(line["dataset_title"] for line in lines) == ["Chart 1", "Chart 2"]


def test_rules_elsewhere_are_refused(harvest, tmp_path, home):
    (tmp_path / "port.toml").write_text(RULES)
    with Harbour(1) as harbour:
        done = harvest(harbour.address, rules=str(tmp_path / "port.toml"))
        asked = list(harbour.asked)
    assert done.code != 0
    assert "are not in catalogues/" in done.log
    assert "Traceback" not in done.log
    assert not asked


def test_a_job_is_not_resumed_with_other_rules(output, home):
    with Harbour(2) as harbour:
        given = {"url": harbour.address, "rules": "catalogues/harbour.toml", "source": "harbour"}
        words = ["crawl", "dcat", *options(output, {"JOBDIR": f"{home}/job"}, **given)]
        scrapy(*words)
        (home / "catalogues" / "harbour.toml").write_text(RULES.replace("ex:printed", "ex:issued"), encoding="utf-8")
        ran = scrapy(*words)
    assert ran.returncode != 0
    assert "rules" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_statements_are_found_by_their_value_in_any_number():
    referring = Referring()
    for number in range(25_000):
        referring.add(f"https://a.org/{number % 10_000}", EX + "of", f"https://a.org/from/{number}")
    referring.filled()
    assert list(referring.find("https://a.org/7", EX + "of")) == [f"https://a.org/from/{n}" for n in (10007, 20007, 7)]
    assert list(referring.find("https://a.org/7", EX + "other")) == []
    referring.close()


def test_a_data_json_needs_no_rules(harvest, home):
    with Catalogue(2, serialisation="data.json") as catalogue:
        done = harvest(catalogue.address, rules="catalogues/harbour.toml")
    (error,) = done.errors
    assert done.report["verdict"] == "failed"
    assert error["error"] == "this is a data.json, and the rules are about RDF: leave -a rules= out"


# Every field

SUBJECT = "https://a.org/1"
TEXTS = {
    "identifier": "N 1",
    "issued": "2020-01-02",
    "modified": "2020-01-03",
    "license": "CC-BY-4.0",
    "languages": "de",
    "keywords": "river",
    "themes": "Water",
    "landing_page": "https://a.org/page",
    "frequency": "daily",
    "temporal": "2019/2020",
    "spatial": "Elbe",
    "documentation": "https://a.org/docs",
    "data_modified": "2020-01-04",
    "uri": "https://a.org/else",
    "spatial_resolution": "30",
    "temporal_resolution": "P1D",
    "access_rights": "public",
    "url": "https://a.org/1.csv",
    "download_url": "https://a.org/1.csv",
    "access_url": "https://a.org/files",
    "size": "12",
    "format": "CSV",
    "media_type": "text/csv",
}
OTHERS = {
    DCT + "title": "Not this",
    DC + "subject": "not this",
    DCT + "subject": "Not this",
    DCAT + "temporal": "1900/1901",
    DCAT + "spatial": "Not here",
    DCT + "source": "https://not.this.org/",
    DCT + "hasVersion": "https://not.this.org/2",
    SCHEMA + "keywords": "nor this",
    "http://www.w3.org/2007/05/powder-s#describedby": "https://not.this.org/docs",
    DCT + "publisher": "Nobody",
    DC + "creator": "Nobody else",
}


def taught(fields, graph, subject=SUBJECT, table="fields"):
    rules = loads(f'[rdf]\nprefixes.ex = "{EX}"\n[rdf.{table}]\n' + "\n".join(fields), "harbour")
    known = Translation(rules, graph, subject)
    return dataset(known.graph, subject, source="s", amend=known.amend)


@pytest.mark.parametrize("field", DATASET_FIELDS)
def test_every_field_of_a_dataset_is_what_the_rules_say(field):
    text = TEXTS.get(field, "A text")
    others = {name: [Literal(value)] for name, value in OTHERS.items()}
    item = taught([f'{field} = "ex:own"'], {SUBJECT: {EX + "own": [Literal(text)], **others}})
    alone = taught([f'{field} = "ex:own"'], {SUBJECT: {EX + "own": [Literal(text)]}})
    assert getattr(item, field)
    assert getattr(item, field) == getattr(alone, field)


@pytest.mark.parametrize("field", AGENTS)
def test_every_agent_is_who_the_rules_say(field):
    node = {EX + "own": ["https://a.org/me"], DCT + "publisher": [Literal("Nobody")]}
    graph = {SUBJECT: node, "https://a.org/me": {EX + "label": [Literal("Me")], FOAF + "mbox": ["mailto:me@a.org"]}}
    item = taught([f'{field} = {{ each = "ex:own", name = "ex:label" }}'], graph)
    expected = Agent(name="Me", uri="https://a.org/me", email="me@a.org", role=AGENTS[field])
    found = getattr(item, field)
    assert (found[0] if field == "contacts" else found) == expected
    assert item.publisher.name == ("Me" if field == "publisher" else "Nobody")


def test_an_agent_of_one_path_and_one_that_the_dataset_itself_describes():
    node = {EX + "office": [Literal("The office")], EX + "mail": [Literal("a@a.org")]}
    fields = ['publisher = "ex:office"', 'maintainer = { name = "ex:office", email = "ex:mail" }']
    item = taught(fields, {SUBJECT: node})
    assert item.publisher == Agent(name="The office", role="publisher")
    assert item.maintainer == Agent(name="The office", email="a@a.org", role="maintainer")
    assert item.contacts == [item.maintainer]


@pytest.mark.parametrize("field", [name for name in RESOURCE_FIELDS if name not in ("checksum", "access_services")])
def test_every_field_of_a_file_is_what_the_rules_say(field):
    text = TEXTS.get(field, "A text")
    own = {EX + "own": [Literal(text)], DCT + "title": [Literal("Not this")]}
    graph = {SUBJECT: {DCAT + "distribution": ["https://a.org/f"]}, "https://a.org/f": own}
    (file,) = taught([f'{field} = "ex:own"'], graph, table="resources").resources
    value = getattr(file, field)
    assert value
    assert field == "title" or value != file.title
    assert str(getattr(value, "id", value[0] if isinstance(value, list) else value)).startswith(text.split(".")[0])


def test_where_the_rules_find_nothing_the_mapping_does():
    item = taught(['title = "ex:own"', 'publisher = "ex:own"'], {SUBJECT: {n: [Literal(v)] for n, v in OTHERS.items()}})
    assert (item.title, item.publisher.name) == ("Not this", "Nobody")


def test_the_first_way_that_leads_anywhere_counts():
    graph = {SUBJECT: {EX + "b": [Literal("B")], EX + "c": [Literal("C")]}}
    assert taught(['title = ["ex:a", "ex:a/ex:b", "ex:b", "ex:c"]'], graph).title == "B"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_schema_org_has_two_names(scheme):
    whole = {f"{scheme}://schema.org/hasPart": [SUBJECT], EX + "n": [Literal("All")]}
    graph = {SUBJECT: {}, "https://a.org/all": whole}
    assert taught(['title = "^schema:hasPart/ex:n"'], graph).title == "All"


@pytest.mark.parametrize(("most", "room", "is_everything"), [(50, 1000, True), (49, 1000, False), (50, 10, False)])
def test_what_paths_lead_to_is_bounded(most, room, is_everything):
    graph = {SUBJECT: {EX + "own": [Literal(f"{n:04}") for n in range(50)]}}
    rules = loads(f'[rdf]\nprefixes.ex = "{EX}"\nfields.keywords = "ex:own"', "harbour")
    extract = Extract(rules, lambda name: graph.get(name, {}), lambda *_: (), largest=most, room=room)
    extract.read(SUBJECT)
    assert extract.is_everything is is_everything
    assert len(extract.graph[SUBJECT][EX + "own"]) == min(most, room // 4, 50)


def test_a_hub_has_a_thousand_values_at_most():
    hub = {f"https://a.org/{n}": {EX + "of": [SUBJECT], EX + "w": [Literal(f"w{n}")]} for n in range(2, 1500)}
    assert len(taught(['keywords = "^ex:of/ex:w"'], {SUBJECT: {}, **hub}).keywords) == 1000


def test_many_agents_in_a_large_description_take_no_time():
    people = {f"https://a.org/p{n}": {EX + "called": [Literal(f"P{n}")]} for n in range(1000)}
    rest = {f"https://a.org/r{n}": {EX + "w": [Literal("w")]} for n in range(60_000)}
    begun = time.process_time()
    fields = ['contacts = { each = "ex:asks", name = "ex:called", email = "ex:called", url = "ex:called" }']
    item = taught(fields, {SUBJECT: {EX + "asks": list(people)}, **people, **rest})
    assert len(item.contacts) == 1000
    assert time.process_time() - begun < 2


def test_a_hub_that_all_datasets_share_is_not_read_to_its_end_by_each():
    read = []
    hub = {EX + "w": [Literal(f"{n:06}") for n in range(50_000)]}
    graph = {SUBJECT: {EX + "of": ["https://a.org/hub"]}, "https://a.org/hub": hub}
    found = Links(graph.get, lambda *_: (), lambda *each: not read.append(each))
    rules = loads(f'[rdf]\nprefixes.ex = "{EX}"\nfields.keywords = "ex:of/ex:w"', "harbour")
    assert len(found.values(SUBJECT, rules.fields["keywords"])) == 1000
    assert len(read) <= 10_001


def test_a_hub_that_all_files_share_is_not_read_without_end_for_each():
    """The files stay; the description says that something is missing."""
    files = {f"https://a.org/f{n}": {EX + "of": ["https://a.org/hub"]} for n in range(1000)}
    labels = {f"https://a.org/l{n}": {EX + "w": [Literal(f"w{n}")]} for n in range(1000)}
    hub = {"https://a.org/hub": {EX + "has": list(labels)}}
    graph = {SUBJECT: {EX + "file": list(files)}, **files, **labels, **hub}
    fields = [f'{name} = "ex:of/ex:has/ex:w"' for name in ("title", "description", "rights", "issued", "modified")]
    begun = time.process_time()
    assert len(taught(['each = "ex:file"', *fields], graph, table="resources").resources) == 1000
    rules = loads(f'[rdf]\nprefixes.ex = "{EX}"\n[rdf.resources]\neach = "ex:file"\n' + "\n".join(fields), "harbour")
    extract = Extract(rules, lambda name: graph.get(name, {}), lambda *_: (), largest=50_000, room=1 << 24)
    extract.read(SUBJECT)
    assert not extract.is_everything
    assert time.process_time() - begun < 8


# Mistakes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start = 'https://a.org'", "[rdf] is missing: write the class of the datasets there, and [rdf.fields]."),
        ("[rdf]", "[rdf] is empty: it needs class, [rdf.fields] or [rdf.resources]."),
        ("rdf = 3", "rdf is not a table."),
        ("[rdf]\nclas = 'dct:A'\nclass = 'dct:A'", "rdf.clas is unknown. Did you mean class?"),
        ("[rdf]\nclass = 'ex:A'", "rdf.class: the prefix of ex:A is unknown. Say it in [rdf.prefixes], or write"),
        ("[rdf]\nclass = 'dct:A/dct:B'", "rdf.class is 'dct:A/dct:B', and must be a class such as schema:Dataset."),
        ("[rdf.prefixes]\nex = 'ns'\n", "rdf.prefixes.ex is 'ns', and must be an IRI such as https://example.org/ns#."),
        ("[rdf.fields]\ntitel = 'dct:title'", "rdf.fields.titel is unknown. Did you mean title?"),
        ("[rdf.fields]\ntitle = ''", "rdf.fields.title is neither a text nor a list of texts."),
        ("[rdf.fields]\ntitle = []", "rdf.fields.title is empty: write a property, or leave it out."),
        ("[rdf.fields]\ntitle = 3", "rdf.fields.title is neither a text nor a list of texts."),
        ("[rdf.fields]\ntitle = 'title'", "rdf.fields.title is 'title', and must be a property or a path of"),
        ("[rdf.fields]\ntitle = 'dct:a/'", "rdf.fields.title is 'dct:a/', and must be a property or a path"),
        ("[rdf.fields]\ntitle = 'dct:a|dct:b'", "rdf.fields.title is 'dct:a|dct:b', and must be a property or a path"),
        ("[rdf.fields]\ntitle = 'dct:a dct:b'", "rdf.fields.title is 'dct:a dct:b', and must be a property or a path"),
        ("[rdf.fields]\ntitle = 'dct:a+'", "rdf.fields.title is 'dct:a+', and must be a property or a path"),
        ("[rdf.fields]\ntitle = 'dkt:a'", "rdf.fields.title: the prefix of dkt:a is unknown. Say it in [rdf.prefixes]"),
        (f"[rdf.fields]\ntitle = '{'/'.join(['dct:a'] * 9)}'", "rdf.fields.title has 9 steps, and 8 are the most."),
        ("[rdf.fields.publisher]\nnam = 'dct:a'", "rdf.fields.publisher.nam is unknown. Did you mean name?"),
        ("[rdf.fields.publisher]", "rdf.fields.publisher is empty: it needs each, or one of name, uri, email, url."),
        ("[rdf.resources]\nsise = 'dct:a'", "rdf.resources.sise is unknown. Did you mean size?"),
        (
            "[rdf.resources]\nurl = 'dct:a'\ndownload_url = 'dct:b'",
            "rdf.resources.url and rdf.resources.download_url are the same address: write one of them.",
        ),
    ],
)
def test_a_mistake_is_one_sentence(text, message):
    with pytest.raises(RulesError) as raised:
        loads(text, "harbour")
    assert re.match(rf"(?:line [0-9]+: )?{re.escape(message)}", str(raised.value))
    assert "\n" not in str(raised.value)


def test_a_mistake_stops_the_crawl_before_any_request(harvest, home):
    (home / "catalogues" / "harbour.toml").write_text('[rdf.fields]\ntitel = "dct:title"\n', encoding="utf-8")
    with Harbour(1) as harbour:
        done = harvest(harbour.address, rules="catalogues/harbour.toml")
        assert not harbour.asked
    assert done.code != 0
    assert "harbour.toml: line 2: rdf.fields.titel is unknown. Did you mean title?" in done.log
    assert "Traceback" not in done.log
