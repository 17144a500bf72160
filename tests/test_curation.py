"""What the operator of a harvest leaves out, and the fields that the operator sets."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.exceptions import SourcesError
from crawlers.items import Agent, Dataset, License, Resource
from crawlers.records.curation import Curation, exclude, set_fields
from crawlers.records.lazy_dataset import LazyDataset
from tests.conftest import FAST, command, json_lines, load, scrapy
from tests.portal.dcat import Catalogue

if TYPE_CHECKING:
    from pathlib import Path

HOUSE = json.dumps({"publisher": ["statistics house"]})
ITEM = {"source": "a", "id": "1", "title": "Roads of Chad (test)", "keywords": ["Roads", "Geodata"]}


def dataset(**more: Any) -> Dataset:
    publisher = Agent(name="Statistics House", uri="https://house.example.org")
    formats = [Resource(id=name, dataset_id="1", format=name) for name in ("PDF", "DOC")]
    return Dataset(**{**ITEM, "publisher": publisher, "resources": formats, **more})


# What is left out


@pytest.mark.parametrize(
    ("rules", "is_left_out"),
    [
        ({"publisher": "STATISTICS house"}, True),
        ({"publisher": ["x", "https://house.example.org"]}, True),
        ({"publisher": "Statistics"}, False),
        ({"tag": ["geodata"]}, True),
        ({"tag": ["geo"]}, False),
        ({"format": ["pdf", "doc"]}, True),
        ({"format": ["pdf"]}, False),
        ({"pattern": {"title": r"\(test\)$"}}, True),
        ({"pattern": {"title": "^Chad"}}, False),
        ({"pattern": {"keywords": "^Road"}}, True),
        ({"pattern": {"publisher": "(?i)house$"}}, True),
        ({"pattern": {"license": "."}}, False),
        ({"tag": ["none"], "pattern": {"id": "^1$"}}, True),
    ],
)
def test_a_dataset_is_left_out_if_one_rule_matches(rules, is_left_out):
    assert exclude(json.dumps(rules)).matches(dataset()) is is_left_out


def test_a_dataset_without_the_fields_is_kept():
    rules = {"publisher": "x", "tag": "x", "format": "x", "pattern": {"title": "x", "description": "x"}}
    assert not exclude(json.dumps(rules)).matches(Dataset(source="a", id="1"))


# Fields that are set


def test_defaults_fill_what_is_absent_and_overrides_replace():
    given = {"license": "CC-BY-4.0", "publisher": "Ours", "language": ["German", "fr"], "tags": ["ours"]}
    curation = Curation(defaults=set_fields(json.dumps(given)), overrides=set_fields('{"tags": ["mine"]}'))
    item = dataset()
    curation.amend(item)
    assert (item.license.id, item.publisher.name, item.languages) == ("CC-BY-4.0", "Statistics House", ["de", "fr"])
    assert (item.keywords, item.set_by_operator) == (["mine"], ["license", "languages", "keywords"])


def test_a_record_that_nobody_reads_is_not_mapped():
    mapped = []
    item = LazyDataset(lambda: mapped.append(1) or dataset(), source="a", id="1")
    item.amend(Curation(overrides=set_fields('{"publisher": "Ours"}')).amend)
    assert mapped == []
    assert (item.publisher.name, item.set_by_operator, item.title) == ("Ours", ["publisher"], ITEM["title"])


def test_a_licence_that_spdx_does_not_have_is_its_title():
    assert set_fields('{"license": "Ask us"}').license == License(id="Ask us")


# sources.toml


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('exclude = "x"', "[a]: exclude is not a table"),
        ('exclude.tags = "x"', "[a]: exclude.tags is unknown. Did you mean tag?"),
        ("exclude.tag = 7", "[a]: exclude.tag is neither a text nor a list of texts"),
        (
            'exclude.pattern.titel = "x"',
            "exclude.pattern.titel: a pattern can't be about this. Did you mean title?",
        ),
        ('exclude.pattern.title = "("', "[a]: exclude.pattern.title is not a regular expression (RE2): missing )"),
        ('defaults.licence = "x"', "[a]: defaults.licence is unknown. Did you mean license?"),
        ('overrides.language = "Klingonese"', "[a]: overrides.language: 'Klingonese' is not a language such as \"de\""),
        ("arguments = { exclude = '{\"tags\": 1}' }", "is not a valid table: tags is unknown. Did you mean tag?"),
        ("arguments = { exclude = 'x' }", 'is not a table as JSON, such as {"tag": ["test"]}'),
        ("exclude.tag = 'x'\narguments = { exclude = '{}' }", "[a]: exclude is also in arguments"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path, lines, says):
    (tmp_path / "sources.toml").write_text(f'[a]\nspider = "hdx"\n{lines}\n')
    with pytest.raises(SourcesError) as error:
        load(tmp_path / "sources.toml")
    assert says in str(error.value)


def test_the_tables_of_a_source_are_arguments_of_its_crawls(tmp_path):
    text = '[a]\nspider = "hdx"\nexclude.tag = ["x"]\ndefaults = { license = "CC0-1.0" }\n[a.overrides]\n'
    (tmp_path / "sources.toml").write_text(text)
    assert load(tmp_path / "sources.toml")["a"].arguments == {
        "exclude": '{"tag": ["x"]}',
        "defaults": '{"license": "CC0-1.0"}',
    }


# Whole crawls


def test_what_is_excluded_is_counted_and_the_run_is_complete(crawl, portal):
    site = portal(datasets=40)
    done = crawl("ckan", site, exclude=HOUSE, level="both")
    counts = done.report["counts"]
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", [])
    assert [done.report[name] for name in ("expected", "listed", "excluded")] == [40, 40, 5]
    assert (len(done.documents()), counts["new"], counts["failed"]) == (35, 35 * 5, 0)
    assert "Statistics House" not in {document["organization"]["title"] for document in done.documents().values()}
    assert len(done.documents("dataset_metadata")) == 35, "nor are their exports requested"
    assert "40 of 40 datasets listed, 5 of them excluded; documents: 175 new" in done.log
    again = crawl("ckan", site, exclude=HOUSE, level="both", since="last")
    assert (again.code, again.report["counts"]["withdrawn"]) == (0, 0)


def test_a_new_filter_withdraws_and_a_removed_one_restores_without_a_download(crawl, portal):
    site = portal(datasets=40)
    crawl("ckan", site, since="last", level="dataset")
    requests = site.requests("/package_show")
    second = crawl("ckan", site, since="last", level="dataset", exclude=HOUSE)
    lines = [line for line in second.manifest if line["status"] == "withdrawn"]
    assert (second.code, second.report["excluded"], second.report["counts"]["withdrawn"]) == (0, 5, 5)
    assert {line["reason"] for line in lines} == {"excluded"}
    assert len(second.documents()) == 40, "documents stay on disk"
    third = crawl("ckan", site, since="last", level="dataset", exclude=HOUSE)
    assert (third.code, third.report["counts"]["withdrawn"]) == (0, 0), "they are withdrawn once"
    assert site.requests("/package_show") == requests, "no export is requested again"
    fourth = crawl("ckan", site, since="last", level="dataset")
    assert (fourth.code, fourth.report["counts"]["restored"], fourth.report["excluded"]) == (0, 5, 0)
    assert site.requests("/package_show") == requests + 5, "but those of the restored ones"


def test_fields_that_are_set_are_in_items_and_index_not_in_documents(crawl, portal, output, tmp_path):
    site, feed = portal(datasets=10), tmp_path / "items.jsonl"
    first = crawl("ckan", site)
    before = {path.name: path.read_bytes() for path in (first.folder / "datasets").iterdir()}
    assert names(output) != {"Ours"}
    done = crawl("ckan", site, overrides='{"publisher": "Ours"}', more=("-O", str(feed)))
    assert done.report["counts"]["unchanged"] == 10
    assert {item["publisher"]["name"] for item in json_lines(feed)} == {"Ours"}
    assert {tuple(item["set_by_operator"]) for item in json_lines(feed)} == {("publisher",)}
    assert {path.name: path.read_bytes() for path in (first.folder / "datasets").iterdir()} == before
    assert names(output) == {"Ours"}, "the index is described again, although no document has changed"
    assert command("export", "--format", "jsonld", "-o", str(feed), "-s", f"OUTPUT_DIR={output}").returncode == 0
    assert feed.read_text().count('"Ours"') == 10
    (output / "index.sqlite").unlink()
    assert command("reindex", "-s", f"OUTPUT_DIR={output}").returncode == 0
    assert names(output) == {"Ours"}, "a rebuilt index has them, too"


def test_other_kinds_are_curated_the_same_way(output):
    with Catalogue(9) as one:
        words = [f"-aurl={one.address}", f"-sOUTPUT_DIR={output}", "-sALLOWED_PRIVATE_HOSTS=127.0.0.1"]
        rules = json.dumps({"pattern": {"id": "[0-4]$"}})
        ran = scrapy("crawl", "dcat", *words, "-asource=d", f"-aexclude={rules}", '-aoverrides={"tags": "x"}')
    (path,) = (output / "d" / "runs").glob("*.json")
    report = json.loads(path.read_bytes())
    assert (ran.returncode, report["verdict"], report["listed"]) == (0, "complete", 9)
    assert report["counts"]["new"] == 9 - report["excluded"]
    assert 0 < report["excluded"] < 9


def names(output: Path) -> set[str]:
    """The publishers in the index, once it is up to date."""
    ran = command("search", "--limit", "1", "the", "-s", f"OUTPUT_DIR={output}")
    assert "Traceback" not in ran.stderr
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        return {name for (name,) in db.execute("SELECT publisher FROM datasets")}


def test_a_harvest_applies_the_tables_of_a_source(portal, output, tmp_path):
    site = portal(datasets=40)
    (tmp_path / "sources.toml").write_text(
        f'[one]\nspider = "ckan"\nschedule = "monthly 3"\narguments = {{ portal = "{site.url}" }}\n'
        '[one.exclude]\npublisher = "Statistics House"\n[one.overrides]\nlicense = "CC0-1.0"\n'
    )
    where = {"OUTPUT_DIR": output, "SOURCES_FILE": tmp_path / "sources.toml", "JOBS_DIR": tmp_path / "jobs"}
    words = [f"-s{name}={value}" for name, value in {**where, "LOGS_DIR": tmp_path / "logs", **FAST}.items()]
    ran = scrapy("harvest", "one", *words)
    assert (ran.returncode, "40 of 40 datasets listed, 5 of them excluded; documents: 35 new" in ran.stdout) == (
        0,
        True,
    )
    (listed,) = json.loads(scrapy("sources", "--json", *words[:3]).stdout)
    assert (listed["state"], listed["due"]) == ("complete", False), "its run has the table's own arguments"
    command("search", "--limit", "1", "the", *words[:1])
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        assert db.execute("SELECT DISTINCT license FROM datasets").fetchall() == [("CC0-1.0",)]
