"""An answer's items go through the pipelines as batches; what a user adds gets each item by itself, and once."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import os
import pickle
import resource
import sqlite3
from collections import Counter
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import signals as scrapy_signals
from scrapy.exceptions import DropItem

from crawlers import settings, signals
from crawlers.components.ledger import Records
from crawlers.extensions.error_log import now
from crawlers.extensions.flaw_log import FlawLog
from crawlers.items import Dataset
from crawlers.kinds.ckan import mapping
from crawlers.listing.since import why_everything
from crawlers.records.lazy_dataset import LazyDataset
from crawlers.safety import inside
from crawlers.store.comparison import OpenBatch
from crawlers.store.history import Bodies, between, of_dataset
from crawlers.store.index.known import Known, Record
from crawlers.store.lines import JSONLines
from crawlers.store.versions import Versions
from pipelines.batches import Batch
from pipelines.documents import Documents, Manifest, _text
from tests.conftest import Crawl, json_lines, options, scrapy, slow_but
from tests.portal.dcat import Catalogue
from tests.portal.html.families import FAMILIES
from tests.portal.odd import OddPortal
from tests.site import Site, listing

RULES = Path(__file__).parent / "rules"

# A part of it, by itself


KEEPS_NOTHING = SimpleNamespace(keep=lambda *_: None)


def test_what_is_withdrawn_already_gets_no_second_line():
    manifest = object.__new__(Manifest)
    manifest.former = KEEPS_NOTHING
    manifest.report, manifest.time = SimpleNamespace(run="2"), "2026-11-24T20:26:08.123Z"
    item = Dataset(source="town", id="a")
    known = Known("datasets/a.json", "0" * 64, 2, None, "new", "1", "1")
    gone = manifest._withdrawn(item, known, "deleted")
    assert (gone.status, gone.known.status, gone.known.run) == ("withdrawn", "withdrawn", "2")
    line = json.loads(gone.line.body)
    assert (line["status"], line["reason"], line["run"], line["sha256"]) == ("withdrawn", "deleted", "2", "0" * 64)
    again = manifest._withdrawn(item, gone.known, "deleted")
    assert (again.status, again.known, again.line) == ("withdrawn", gone.known, None)


def test_what_is_withdrawn_is_so_when_that_is_known_and_not_when_the_last_page_was(tmp_path):
    known, kept = Known("datasets/a.json", "0" * 64, 2, None, "new", "1", "1"), []
    manifest = object.__new__(Manifest)
    manifest.former = KEEPS_NOTHING
    manifest.report, manifest.time, manifest.folder = SimpleNamespace(run="2"), "2026-11-24T20:26:08.123Z", tmp_path
    manifest.index = SimpleNamespace(source="town", documents=SimpleNamespace(get=lambda *_: known))
    manifest.address, manifest._keep = str, kept.extend
    began = now()
    manifest.withdraw("dataset", "a", "https://town.example/a")
    assert began <= json.loads(kept[0].line.body)["time"] <= now()


def test_the_title_of_a_document_is_the_first_of_several():
    titles = [{"@language": "en", "@value": "Rain"}, {"@language": "de", "@value": "Regen"}]
    assert [_text(each) for each in (titles, titles[1], "Rain", [], 7)] == ["Rain", "Regen", "Rain", None, None]


def test_a_document_with_another_name_leaves_no_file_of_the_old_one(tmp_path):
    documents = object.__new__(Documents)
    documents.folder = tmp_path
    documents.error_log = SimpleNamespace(writing=lambda _: nullcontext())
    documents.open_batch, documents.former = SimpleNamespace(differing={}), KEEPS_NOTHING
    item = Dataset(source="town", id="a")
    names = ["datasets/a__old.json", "datasets/a__old.json", "datasets/a__new.json"]
    known = None
    with inside.Writer(tmp_path) as documents.writer:
        for number, name in enumerate(names):
            body = str(number).encode()
            stored = documents._written(item, Record(name, "0" * 64, {}, None), body, known)
            known = Known(stored.file, "0" * 64, 1, None, stored.status, "1", "1")
            assert [(path.name, path.read_bytes()) for path in (tmp_path / "datasets").iterdir()] == [(name[9:], body)]
    assert known.status == "updated"


# Components that a crawl gets by name


class Notes:
    """Appends to the file that NOTES names."""

    def __init__(self, crawler):
        self.path = Path(crawler.settings["NOTES"])

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def note(self, *words):
        with self.path.open("a") as file:
            file.write(json.dumps(words) + "\n")


class Simple(Notes):
    def process_item(self, item):
        self.note("simple", item.id, item.stored is None)
        item.title = f"{item.title}!"
        return item


class DropsTheLast:
    def process_item(self, item):
        if item.id == "id10":
            raise DropItem("not this one")
        return item


class Waits(Notes):
    async def process_item(self, item):
        await asyncio.sleep(0)
        self.note("waits", item.id, item.stored.status)
        return item


class Hears(Notes):
    def __init__(self, crawler):
        super().__init__(crawler)
        crawler.signals.connect(self.item_scraped, signal=scrapy_signals.item_scraped)

    def item_scraped(self, item, response, spider):
        self.note("hears", item.id)


class CountsBatches(Notes):
    def __init__(self, crawler):
        super().__init__(crawler)
        self.stats = crawler.stats
        crawler.signals.connect(self.items_kept, signal=signals.items_kept)

    def items_kept(self, items):
        self.note("batch", len(items), self.stats.get_value("catalogue/ended"))


class Reads(Notes):
    def process_item(self, item):
        assert item.description != 7
        return item


class Copies(Notes):
    def process_item(self, item):
        return copy.deepcopy(copy.copy(pickle.loads(pickle.dumps(item))))


class MakesOneOdd(Notes):
    def process_item(self, item):
        if item.id == "id00004":
            item.keywords = None
        return item


class LosesOne(Notes):
    def process_item(self, item):
        return None if item.id == "id00004" else item


class Buffers(Notes):
    """Its own method has the name of one of the project's."""

    def process_batch(self, batch):
        raise NotImplementedError

    def process_item(self, item):
        self.note("buffers", item.id)
        return item


class NotesThePeak(Notes):
    def __init__(self, crawler):
        super().__init__(crawler)
        crawler.signals.connect(self.spider_closed, signal=scrapy_signals.spider_closed)

    def spider_closed(self):
        self.note("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


class CountsMappings(Notes):
    def __init__(self, crawler):
        super().__init__(crawler)
        whole = mapping.dataset

        def counted(record, **keywords):
            self.note("maps", record["id"])
            return whole(record, **keywords)

        mapping.dataset = counted


class BreaksOneMapping(Notes):
    def __init__(self, crawler):
        super().__init__(crawler)
        whole = mapping.dataset

        def broken(record, **keywords):
            if record["id"] == "id00004":
                raise RuntimeError("out of order")
            return whole(record, **keywords)

        mapping.dataset = broken


class Dies(Notes):
    """Once, at a place that a subclass names: before or after a method of a class is called for the second time."""

    place: tuple
    is_after = False

    def __init__(self, crawler):
        super().__init__(crawler)
        where, name = self.place
        whole, calls = getattr(where, name), []

        def called(*given, **keywords):
            calls.append(given)
            dies = len(calls) == 2 and not self.path.exists()
            if dies and not self.is_after:
                self.end()
            result = whole(*given, **keywords)
            if dies:
                self.end()
            return result

        setattr(where, name, called)

    def end(self):
        self.note("dead")
        os._exit(9)


class DiesBeforeTheFiles(Dies):
    place = (Batch, "each")


class DiesAmongTheFiles(Dies):
    place = (inside.Writer, "write")


class DiesBeforeTheLines(Dies):
    place = (Manifest, "process_batch")


class DiesBeforeTheLedger(Dies):
    place = (Records, "settle_all")


class DiesAfterTheLedger(DiesBeforeTheLedger):
    is_after = True


class DiesAtTheEnd(Dies):
    place = (FlawLog, "_write_gone")


class DiesBeforeTheFlaws(Dies):
    place = (FlawLog, "keep")


class DiesAfterTheFlaws(DiesBeforeTheFlaws):
    is_after = True


class DiesBeforeAVersion(Dies):
    place = (Versions, "keep")


class DiesAfterAVersion(DiesBeforeAVersion):
    is_after = True


class DiesAmongTheVersions(Dies):
    """Between a version's bytes and the row that says whose they are."""

    place = (Versions, "_fill")
    is_after = True


def named(component):
    return component if isinstance(component, str) else f"{component.__module__}.{component.__qualname__}"


def own(setting, **components):
    """A setting with the project's components, and some of these."""
    known = {named(one): place for one, place in getattr(settings, setting).items()}
    return {setting: json.dumps(known | {f"{__name__}.{name}": place for name, place in components.items()})}


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "notes"


def with_(notes, *settings):
    return {name: value for one in settings for name, value in one.items()} | {"NOTES": str(notes)}


def noted(notes, word):
    return [entry[1] for entry in json_lines(notes) if entry[0] == word]


# Each item once


def test_a_pipeline_a_receiver_and_a_feed_get_each_item_once(crawl, notes, tmp_path):
    feed = tmp_path / "feed.jsonl"
    pipelines = own("ITEM_PIPELINES", Simple=200, Waits=900)
    chosen = with_(notes, pipelines, own("EXTENSIONS", Hears=0), {"CONCURRENT_ITEMS": "3"})
    with OddPortal() as site:
        done = crawl("ckan", site, settings=chosen, more=("-O", str(feed)))
    assert (done.code, done.errors) == (0, [])
    for word in ("simple", "waits", "hears"):
        assert sorted(noted(notes, word)) == site.ids(), word
    assert {entry[2] for entry in json_lines(notes) if entry[0] == "simple"} == {True}, "before it is stored"
    assert {entry[2] for entry in json_lines(notes) if entry[0] == "waits"} == {"new"}, "after it is stored"
    found = json_lines(feed)
    assert sorted(item["id"] for item in found) == site.ids()
    assert all(item["title"].endswith("!") and item["resources"] for item in found)
    assert all(line["dataset_title"].endswith("!") for line in done.manifest)
    assert "'item_scraped_count': 40," in done.log


def test_a_pipeline_that_waits_gets_several_items_at_once(crawl, notes):
    chosen = with_(notes, own("ITEM_PIPELINES", Waits=900))
    with OddPortal() as site:
        done = crawl("ckan", site, settings=chosen)
    assert (done.code, sorted(noted(notes, "waits"))) == (0, site.ids())


def test_the_progress_moves_within_a_page(crawl, notes, portal):
    site = portal(datasets=600, rows_max=1000)
    done = crawl("ckan", site, settings=with_(notes, own("EXTENSIONS", CountsBatches=0)))
    assert (done.code, noted(notes, "batch")) == (0, [10, 20, 40, 80, 160, 250, 40])
    assert [entry[2] for entry in json_lines(notes)] == [10, 30, 70, 150, 310, 560, 600], "settled by then"


@pytest.mark.slow
def test_a_batch_of_large_documents_is_small(crawl, notes):
    big = {number: {"notes": "x" * 2_000_000} for number in range(40)}
    with OddPortal("have", big, most=40) as site:
        done = crawl("ckan", site, settings=with_(notes, own("EXTENSIONS", CountsBatches=0)))
    assert (done.code, noted(notes, "batch")) == (0, [10, 4, 4, 2, 4, 4, 2, 4, 4, 2])


def test_a_pipeline_with_a_method_of_ours_gets_items(crawl, notes):
    with OddPortal() as site:
        done = crawl("ckan", site, settings=with_(notes, own("ITEM_PIPELINES", Buffers=200)))
    assert (done.code, sorted(noted(notes, "buffers"))) == (0, site.ids())


def test_a_pipeline_may_copy_its_items(crawl, notes):
    with OddPortal() as site:
        done = crawl("ckan", site, settings=with_(notes, own("ITEM_PIPELINES", Copies=200)))
    assert (done.code, done.ids()) == (0, site.ids())


@pytest.mark.parametrize(("component", "place"), [("MakesOneOdd", 200), ("LosesOne", 200), ("LosesOne", 350)])
def test_what_a_pipeline_spoils_costs_that_item_alone(crawl, notes, component, place):
    with OddPortal() as site:
        spoiled = crawl("ckan", site, settings=with_(notes, own("ITEM_PIPELINES", **{component: place})))
        assert (spoiled.code, spoiled.report["counts"]["new"]) == (3, 39)
        assert ("write", "bug") in spoiled.kinds()
        done = crawl("ckan", site)
    assert sorted(line["dataset_id"] for line in done.manifest) == site.ids(), "each has one line"
    assert (done.code, done.ids()) == (0, site.ids())


def test_ids_that_share_what_stands_before_a_nul(crawl):
    with OddPortal("have", {3: {"id": "abc"}, 4: {"id": "abc\0x"}}) as site:
        crawl("ckan", site, level="resource")
        site.datasets[4] |= {"title": "Another", "metadata_modified": "2026-11-01T00:00:00"}
        done = crawl("ckan", site, level="resource")
    assert (done.code, done.errors, done.report["counts"]["updated"]) == (0, [], 1)


@pytest.mark.slow
def test_the_memory_does_not_grow_with_the_catalogue(crawl, notes, portal):
    """Peaks at 2,000 datasets and at 12,000, of pages of 1,000; one page's items are some 15 MB."""
    peaks = []
    for datasets in (2000, 12_000):
        site = portal(datasets=datasets, rows_max=1000)
        done = crawl("ckan", site, source=str(datasets), settings=with_(notes, own("EXTENSIONS", NotesThePeak=0)))
        assert (done.code, done.report["counts"]["new"]) == (0, datasets)
        peaks.append(noted(notes, "peak")[-1])
    assert peaks[1] < peaks[0] * 1.15


# Mapped when that is needed


def test_what_has_not_changed_is_not_mapped(crawl, notes):
    chosen = with_(notes, own("EXTENSIONS", CountsMappings=0))
    with OddPortal() as site:
        crawl("ckan", site, settings=chosen)
        assert sorted(noted(notes, "maps")) == site.ids()
        notes.unlink()
        site.datasets[4]["title"] = "Another"
        done = crawl("ckan", site, settings=chosen)
    assert (done.code, done.report["counts"]["unchanged"], done.report["counts"]["updated"]) == (0, 39, 1)
    assert noted(notes, "maps") == ["id00004", "id00004"], "the record, and its former version: to say what changed"


def test_a_record_with_a_flaw_is_read_again_though_nothing_has_changed(crawl, notes):
    chosen = with_(notes, own("EXTENSIONS", CountsMappings=0))
    with OddPortal("have", {4: {"resources": None}}) as site:
        first = crawl("ckan", site)
        again = crawl("ckan", site, settings=chosen)
    assert (first.code, again.code, again.report["counts"]["unchanged"]) == (0, 0, 40)
    assert [flaw["dataset_id"] for flaw in again.flaws] == ["id00004"]
    assert noted(notes, "maps") == ["id00004"]


def test_a_flaw_is_reported_whoever_reads_the_record_before(crawl, notes):
    with OddPortal("have", {4: {"resources": None}}) as site:
        done = crawl("ckan", site, settings=with_(notes, own("ITEM_PIPELINES", Reads=200)))
    assert [flaw["dataset_id"] for flaw in done.flaws] == ["id00004"]


def test_a_bug_in_the_mapping_costs_that_record(crawl, notes):
    with OddPortal() as site:
        done = crawl("ckan", site, settings=with_(notes, own("EXTENSIONS", BreaksOneMapping=0)))
    (error,) = done.errors
    assert (error["stage"], error["kind"], error["dataset_id"]) == ("parse", "bug", "id00004")
    assert error["error"] == "the record could not be handled: RuntimeError: out of order"
    assert (done.code, done.ids()) == (3, [identifier for identifier in site.ids() if identifier != "id00004"])


# Killed at the borders of a batch


def rules(site, folder):
    path = folder / "drupal.toml"
    path.write_text((RULES / path.name).read_text(encoding="utf-8").replace("{url}", site.url), encoding="utf-8")
    return path


UNTIDY = {number: {"resources": None} for number in range(40)}
CATALOGUES = {
    "ckan": (partial(OddPortal, "have", UNTIDY), lambda site, _: {"portal": site.url}),
    "dcat": (partial(Catalogue, 40), lambda site, _: {"url": site.address}),
    "html": (partial(FAMILIES["drupal"], 40, per_page=40), lambda site, folder: {"rules": str(rules(site, folder))}),
}
"""Of 40 datasets each, and the argument that names them. Those of HTML have a page each, and so a batch each."""


@pytest.mark.parametrize("kind", slow_but("ckan".__eq__, CATALOGUES))
@pytest.mark.parametrize(
    "component",
    [
        *(DiesBeforeTheFiles, DiesAmongTheFiles, DiesBeforeTheLines, DiesBeforeTheLedger, DiesAfterTheLedger),
        *(DiesBeforeTheFlaws, DiesAfterTheFlaws),
    ],
    ids=lambda component: component.__name__,
)
def test_a_kill_costs_nothing_and_nothing_is_there_twice(output, notes, tmp_path, component, kind):
    chosen = with_(notes, own("EXTENSIONS", **{component.__name__: 0}), {"JOBDIR": str(tmp_path / "job")})
    start, argument = CATALOGUES[kind]
    with start() as site:
        words = options(output, chosen, **argument(site, tmp_path))
        dead, ran = (scrapy("crawl", kind, *words) for _ in range(2))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert dead.returncode == 9
    assert (done.code, done.report["verdict"]) == (0, "complete")
    assert (done.report["counts"]["new"], done.report["counts"]["unchanged"]) == (40, 0)
    assert sorted(line["dataset_id"] for line in done.manifest) == sorted(site.ids())
    documents = {f"datasets/{path.name}": path.read_bytes() for path in (done.folder / "datasets").iterdir()}
    sums = {file: hashlib.sha256(body).hexdigest() for file, body in documents.items()}
    assert sums == {line["metadata_file"]: line["sha256"] for line in done.manifest}
    with closing(sqlite3.connect(output / "index.sqlite")) as index:
        described = index.execute("SELECT count(*), count(title) FROM datasets WHERE sha256 <> ''").fetchone()
    assert described == (40, 40)
    assert sorted(flaw["dataset_id"] for flaw in done.flaws) == (sorted(site.ids()) if kind == "ckan" else [])


@pytest.mark.parametrize("has_job", [True, False])
def test_a_kill_repeats_no_flaw_that_is_gone(output, notes, tmp_path, has_job):
    """The second crawl finds 20 records mended, and dies when it has told it."""
    job = {"JOBDIR": str(tmp_path / "job")} if has_job else {}
    chosen = with_(notes, own("EXTENSIONS", DiesAtTheEnd=0), job)
    with OddPortal("have", UNTIDY) as site:
        assert scrapy("crawl", "ckan", *options(output, {}, portal=site.url)).returncode == 0
        for dataset in site.datasets[:20]:
            dataset["resources"] = []
        words = options(output, chosen, portal=site.url)
        dead, ran = (scrapy("crawl", "ckan", *words) for _ in range(2))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (dead.returncode, done.code, done.report["flaws"]) == (9, 0, {"missing_value": 20})
    told = [(flaw["dataset_id"], flaw["status"]) for flaw in done.flaws]
    assert len(told) == len({*told}) == 60


BORDERS = (
    *(DiesBeforeTheFiles, DiesBeforeAVersion, DiesAmongTheVersions, DiesAfterAVersion, DiesAmongTheFiles),
    *(DiesBeforeTheLines, DiesBeforeTheLedger, DiesAfterTheLedger),
)


def _retitle(site, number):
    site.datasets[number]["title"] = f"Another {number}"


EDITED = {
    "ckan": (OddPortal, CATALOGUES["ckan"][1], _retitle, ["title"]),
    "dcat": (*CATALOGUES["dcat"], lambda site, number: site.change(f"d{number:04}"), ["title", "modified"]),
}
"""As above, how a dataset is edited, and which fields that changes."""


def has_all_versions(folder):
    """Return whether each line's bytes are there, and each former one's row once; whatever became of the crawl."""
    lines = [
        version for one in sorted({each.key[1] for each in between(folder)}) for version in of_dataset(folder, one)
    ]
    with Bodies(folder) as bodies:
        assert all(bodies.body(version) is not None for version in lines)
        former = Counter(bodies.versions.db.execute("SELECT dataset_id, run FROM former")) if bodies.versions.db else {}
    followed = [one for one, later in pairwise(lines) if one.key == later.key]
    assert set(former.values()) <= {1}
    assert {(one.key[1], one.run) for one in followed} <= former.keys()
    return len(former) == len(followed)


@pytest.mark.parametrize("kind", slow_but("ckan".__eq__, ["ckan", "dcat"]))
@pytest.mark.parametrize(
    "job", [pytest.param({}, marks=pytest.mark.slow, id="again"), pytest.param({"JOBDIR": "job"}, id="resumed")]
)
@pytest.mark.parametrize("component", BORDERS, ids=lambda component: component.__name__)
def test_a_version_is_there_before_its_document_is_replaced_and_once(output, notes, component, job, kind):
    tmp_path = output.parent
    job = {name: str(tmp_path / value) for name, value in job.items()}
    chosen = with_(notes, own("EXTENSIONS", **{component.__name__: 0}), job)
    start, argument, edit, changed = EDITED[kind]
    with start() as site:
        words = options(output, {}, **argument(site, tmp_path))
        assert scrapy("crawl", kind, *words).returncode == 0
        folder = output / "127.0.0.1"
        assert not (folder / "versions.sqlite").exists(), "nothing is former yet"
        for number in range(20):
            edit(site, number)
        words = options(output, chosen, **argument(site, tmp_path))
        assert scrapy("crawl", kind, *words).returncode == 9
        has_all_versions(folder)
        ran = scrapy("crawl", kind, *words)
    done = Crawl(ran.returncode, ran.stderr, folder)
    assert (done.code, done.report["verdict"]) == (0, "complete")
    assert Counter(line["status"] for line in done.manifest) == {"new": 40, "updated": 20}
    assert has_all_versions(folder)
    with Bodies(folder) as bodies:
        fields = [(version.status, bodies.fields(version)) for version in between(folder)]
    assert all(found == (None if status == "new" else changed) for status, found in fields)


def changing(title):
    """A portal of eleven datasets, the last one with this title and in a batch of its own."""
    titles = {f"id{number:02}": "Rivers" for number in range(10)} | {"id10": title}
    records = [{"id": one, "title": text, "resources": []} for one, text in titles.items()]
    return lambda _: listing(*records)


@pytest.mark.parametrize("again", [{}, {"JOBDIR": "job"}], ids=["again", "resumed"])
@pytest.mark.parametrize("component", [DiesBeforeTheLines, DiesBeforeTheLedger], ids=lambda one: one.__name__)
def test_a_file_whose_line_a_kill_prevented_is_not_taken_for_the_former_one(output, notes, tmp_path, again, component):
    """The portal gives the former record again, which has as many bytes."""
    settings = {name: str(tmp_path / value) for name, value in again.items()}
    with Site(changing("Before")) as site:
        words = options(output, {}, portal=site.url)
        assert scrapy("crawl", "ckan", *words).returncode == 0
        folder = output / "127.0.0.1"
        path = next((folder / "datasets").glob("id10*"))
        before = path.read_bytes()
        dying = with_(notes, own("EXTENSIONS", **{component.__name__: 0}), settings)
        if not again:
            assert scrapy("crawl", "ckan", *options(output, dying, portal=site.url)).returncode == 9
            assert not (folder / ".batch").exists(), "nothing has changed"
            notes.unlink()
        site.answer = changing("Behind")
        assert scrapy("crawl", "ckan", *options(output, dying, portal=site.url)).returncode == 9
        assert b"Behind" in path.read_bytes()
        site.answer = changing("Before")
        ran = scrapy("crawl", "ckan", *options(output, dying if again else {}, portal=site.url))
    done = Crawl(ran.returncode, ran.stderr, folder)
    assert (done.code, done.report["verdict"], path.read_bytes()) == (0, "complete", before)
    last = {line["dataset_id"]: line for line in done.manifest}
    assert last["id10"]["sha256"] == hashlib.sha256(before).hexdigest()
    assert not (folder / ".batch").exists()


KEYS = [("dataset", one, "") for one in "abc"]
MARKS = [(*key, f"datasets/{key[1]}.json") for key in KEYS]


def stored(folder, **bodies):
    """Files of datasets, and what the manifest says of them: that each has the letter of its dataset."""
    for name, body in bodies.items():
        inside.write(folder, f"datasets/{name}.json", body)
    known = {
        key: Known(f"datasets/{key[1]}.json", hashlib.sha256(key[1].encode()).hexdigest(), 1, None, "new", "1", "1")
        for key in KEYS
    }
    some = lambda keys: {key: known[key] for key in keys if key in known}  # noqa: E731
    return SimpleNamespace(some=some, differing={})


def test_what_differs_stays_marked_until_it_is_written(tmp_path):
    opened = OpenBatch(tmp_path, stored(tmp_path, a=b"a", b=b"b", c=b"c"))
    opened.begin(MARKS)
    opened.close()  # as a kill does
    documents = stored(tmp_path, b=b"B", c=b"C")
    for end in ([], ["datasets/a.json"]):
        opened = OpenBatch(tmp_path, documents)
        assert documents.differing == {"datasets/b.json": KEYS[1], "datasets/c.json": KEYS[2]}
        opened.begin(MARKS)
        opened.end(end)
        opened.close()
    opened = OpenBatch(tmp_path, documents)
    opened.begin(MARKS[1:])
    opened.begin(MARKS[:1])
    opened.end(["datasets/b.json"])
    assert documents.differing == {"datasets/c.json": KEYS[2]}
    opened.close()  # as a run that ends while a batch is open does
    assert len((tmp_path / ".batch").read_bytes().splitlines()) == 3
    opened = OpenBatch(tmp_path, documents)
    for _ in range(2_000):
        opened.begin(MARKS)
        opened.end([])
    assert (tmp_path / ".batch").stat().st_size < 100_000
    opened.close()
    assert sorted(json.loads((tmp_path / ".batch").read_bytes())) == [[*MARKS[1]], [*MARKS[2]]]
    opened = OpenBatch(tmp_path, documents)
    opened.begin(MARKS)
    opened.end(["datasets/b.json", "datasets/c.json"])
    opened.close()
    assert not (tmp_path / ".batch").exists()


def test_a_file_that_no_line_names_goes_once_its_document_is_safe(tmp_path):
    """The former one is there; or a new one is, and its line; or there never was one."""
    documents = stored(tmp_path, a=b"a")
    marks = [(*KEYS[0], "datasets/a__new.json"), (*KEYS[1], "datasets/b__new.json")]
    (tmp_path / ".batch").write_bytes(json.dumps(marks).encode())
    for mark in marks:
        inside.write(tmp_path, mark[-1], b"new")
    for _ in range(2):
        opened = OpenBatch(tmp_path, documents)
        assert [path.stem for path in sorted((tmp_path / "datasets").iterdir())] == ["a", "b__new"]
        assert documents.differing == {"datasets/b__new.json": KEYS[1]}
        opened.close()
    opened = OpenBatch(tmp_path, documents)
    opened.begin([(*KEYS[1], "datasets/b.json")])
    inside.write(tmp_path, "datasets/b.json", b"b")
    documents.differing["datasets/b.json"] = KEYS[1]
    opened.end(["datasets/b.json"])
    opened.close()
    assert [path.stem for path in sorted((tmp_path / "datasets").iterdir())] == ["a", "b"]
    assert not (tmp_path / ".batch").exists()
    inside.write(tmp_path, "datasets/x.json", b"x")
    mark = [["dataset", "x", "", file] for file in ("datasets/x.json", "manifest.jsonl", "../y", "datasets/../y")]
    (tmp_path / ".batch").write_bytes(json.dumps(mark).encode())
    (tmp_path / "manifest.jsonl").touch()
    OpenBatch(tmp_path, documents).close()
    assert not (tmp_path / "datasets" / "x.json").exists()
    assert (tmp_path / "manifest.jsonl").exists()


def test_a_kill_while_datasets_are_renamed_leaves_no_file_behind(output, notes):
    """The portal takes the former names back."""

    def portal(name):
        return lambda _: listing(*({"id": f"id{n:02}", "name": f"{name}{n}", "resources": []} for n in range(11)))

    with Site(portal("before")) as site:
        words = options(output, {}, portal=site.url)
        assert scrapy("crawl", "ckan", *words).returncode == 0
        site.answer = portal("behind")
        dying = with_(notes, own("EXTENSIONS", DiesBeforeTheLines=0))
        assert scrapy("crawl", "ckan", *options(output, dying, portal=site.url)).returncode == 9
        folder = output / "127.0.0.1"
        assert [path for path in (folder / "datasets").iterdir() if "behind" in path.name]
        site.answer = portal("before")
        assert scrapy("crawl", "ckan", *words).returncode == 0
    names = [f"id{n:02}__before{n}.json" for n in range(11)]
    assert sorted(path.name for path in (folder / "datasets").iterdir()) == names
    assert not (folder / ".batch").exists()


@pytest.mark.parametrize(
    "text", [b"", b"x", b"[" * 100_000, b"{}", b'[1, ["a"], ["dataset", "a", 1], ["dataset", "x", ""]]', b"[\n" * 9]
)
def test_a_mark_that_is_damaged_marks_what_can_be_read(tmp_path, text):
    documents = stored(tmp_path, a=b"A", b=b"b")
    (tmp_path / ".batch").write_bytes(text + b'\n[["dataset","a",""],["dataset","b",""]]\n[["dataset","c')
    OpenBatch(tmp_path, documents).close()
    assert documents.differing == {"datasets/a.json": KEYS[0]}
    assert json.loads((tmp_path / ".batch").read_bytes()) == [[*MARKS[0]]]


@pytest.mark.parametrize("damage", [lambda path: path.mkdir(), lambda path: path.symlink_to("/etc/passwd")])
def test_a_mark_that_is_no_file_is_refused(crawl, output, damage):
    (output / "127.0.0.1").mkdir(parents=True)
    damage(output / "127.0.0.1" / ".batch")
    with Site(changing("Before")) as site:
        done = crawl("ckan", site)
    assert (done.code, site.asked, "Traceback" in done.log) == (1, [], False)
    assert done.lines[-1].startswith(f"{output / '127.0.0.1' / '.batch'} is ")


def test_an_item_that_a_stage_drops_behind_its_file_stays_marked(output, notes):
    """A stage of the user's, between the files and the lines."""
    with Site(changing("Before")) as site:
        words = options(output, {}, portal=site.url)
        assert scrapy("crawl", "ckan", *words).returncode == 0
        site.answer = changing("Behind")
        dropping = with_(notes, own("ITEM_PIPELINES", DropsTheLast=350))
        assert scrapy("crawl", "ckan", *options(output, dropping, portal=site.url)).returncode == 3
        (mark,) = json.loads((output / "127.0.0.1" / ".batch").read_bytes())
        assert mark == ["dataset", "id10", "", "datasets/id10.json"]
        site.answer = changing("Before")
        assert scrapy("crawl", "ckan", *words).returncode == 0
    (path,) = (output / "127.0.0.1" / "datasets").glob("id10*")
    assert b"Before" in path.read_bytes()


def test_since_last_lists_everything_when_documents_differ():
    differing = {"datasets/a.json": KEYS[0]}
    index = SimpleNamespace(documents=SimpleNamespace(differing=differing))
    spider = SimpleNamespace(opened_index=lambda: index, limits=SimpleNamespace(is_set=False))
    assert why_everything(spider, "2026-11-20T00:00:00Z") == "A crawl was killed while it wrote documents"


# A dataset that maps itself


def lazy(mapping, **given):
    return LazyDataset(mapping, source="town", id="1", document={}, **given)


def mapped():
    return Dataset(source="town", id="2", title="Floods", keywords=["water"], retrieved="never")


def test_reading_a_field_that_was_not_given_maps_the_record():
    item = lazy(mapped, title="Given", retrieved="today")
    assert (item.id, item.title, item.stored, item.torn, item.is_mapped) == ("1", "Given", None, False, False)
    assert (item.keywords, item.is_mapped) == (["water"], True)
    assert (item.id, item.title, item.retrieved) == ("1", "Given", "today")
    assert isinstance(item, Dataset)


def test_a_field_that_was_set_stays():
    item = lazy(mapped)
    item.keywords = ["mine"]
    assert (item.title, item.keywords) == ("Floods", ["mine"])


def test_what_is_set_or_deleted_after_the_mapping_is_so_in_the_record_too():
    item = lazy(mapped, retrieved="today")
    plain = item.mapped()
    item.title = "Set"
    del item.retrieved, item.keywords
    assert plain.title == "Set"
    assert not any(hasattr(each, name) for each in (item, plain) for name in ("retrieved", "keywords"))


@pytest.mark.parametrize("name", ["document", "keywords"])
def test_a_field_is_deleted_before_the_mapping(name):
    item = lazy(mapped)
    delattr(item, name)
    assert (hasattr(item, name), hasattr(item.mapped(), name), item.title) == (False, False, "Floods")


def test_what_is_no_field_is_not_set():
    item = lazy(mapped)
    with pytest.raises(AttributeError, match="colour"):
        item.colour = "red"
    assert item.title == "Floods"


def test_a_record_is_mapped_once():
    calls = []
    item = lazy(lambda: calls.append(1) or mapped())
    item.mapped()
    item.mapped()
    assert (item.description, calls) == (None, [1])


def test_a_mapping_that_breaks_may_be_tried_again():
    item = lazy(lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            item.mapped()
    assert not item.is_mapped


def test_a_copy_is_mapped():
    item = replace(lazy(mapped), title="Copy")
    assert (item.title, item.keywords, item.is_mapped) == ("Copy", ["water"], True)


def test_it_is_shown_without_being_mapped_and_equals_what_has_the_same_fields():
    item = lazy(lambda: 1 / 0)
    assert (repr(item), item.is_mapped) == ("LazyDataset(source='town', id='1', ...)", False)
    item, same = lazy(mapped), replace(lazy(mapped))
    assert item == same
    assert copy.deepcopy(lazy(mapped)) == Dataset(
        source="town", id="1", document={}, title="Floods", keywords=["water"], retrieved="never"
    )
    assert item != lazy(mapped, title="Another")


def test_what_is_no_field_is_none():
    with pytest.raises(AttributeError, match="colour"):
        _ = lazy(mapped).colour


# The manifest


def test_lines_that_are_written_in_part_are_removed(tmp_path):
    lines = JSONLines(tmp_path / "manifest.jsonl")
    lines.append({"a": 1})
    whole = lines.file
    lines.file = SimpleNamespace(seek=whole.seek, truncate=whole.truncate, write=lambda body: whole.write(body[:11]))
    with pytest.raises(OSError, match="No space left"):
        lines.extend([b'{"a": 2}\n', b'{"a": 3}\n'])
    lines.file = whole
    lines.append({"a": 4})
    lines.close()
    assert json_lines(tmp_path / "manifest.jsonl") == [{"a": 1}, {"a": 4}]
