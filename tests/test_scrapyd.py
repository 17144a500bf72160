"""The project on a real Scrapyd: deployed from a checkout, crawling as it does here; and several of them, as nodes."""

from __future__ import annotations

import asyncio
import json
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from crawlers.exceptions import HarvestError
from crawlers.operate.harvest import scrapyd
from crawlers.operate.harvest.job import Job
from crawlers.operate.harvest.scrapyd import Nodes
from tests.conftest import FAST, ROOT, Crawl, options, scrapy, spider_names
from tests.portal.dcat import Catalogue
from tests.portal.html.families import FAMILIES
from tests.portal.portal import Portal
from tests.ports import free_port
from tests.scrapyd import LOGIN, Scrapyd, scrapyd_deploy
from tests.scrapyd import checkout as clean_checkout
from tests.site import Answer, Asked, Site
from tests.test_resume import left
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> Iterator[Any]:
    """A catalogue of HTML pages: its rules go into the egg."""
    with FAMILIES["drupal"](7) as one:
        yield one


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, site) -> Path:
    """A clean checkout, with one rules file more."""
    folder = clean_checkout(tmp_path_factory.mktemp("checkout"))
    rules = (ROOT / "tests" / "rules" / "drupal.toml").read_text().replace("{url}", site.url)
    (folder / "catalogues" / "loopback.toml").write_text(rules)
    return folder


@pytest.fixture(scope="module")
def node(tmp_path_factory, checkout) -> Iterator[Scrapyd]:
    folder = tmp_path_factory.mktemp("scrapyd")
    with Scrapyd(folder, folder / "home") as one:
        deployed = one.deploy(checkout)
        assert '"status": "ok"' in deployed.stdout, deployed
        yield one


@pytest.fixture(scope="module")
def other(tmp_path_factory, checkout, node) -> Iterator[Scrapyd]:
    """A second node, with the same disk."""
    with Scrapyd(tmp_path_factory.mktemp("other"), node.home) as one:
        deployed = one.deploy(checkout, "--egg", str(next(node.folder.glob("eggs/crawlers/*.egg"))))
        assert '"status": "ok"' in deployed.stdout, deployed
        yield one


# The egg


def test_the_egg(checkout, tmp_path):
    before = {path for path in checkout.rglob("*") if "__pycache__" not in path.parts}
    hidden = [checkout / "catalogues" / name for name in (".git/config", ".example.toml.swp")]
    hidden[0].parent.mkdir()
    for path in hidden:
        path.write_text("")
    built = scrapyd_deploy(checkout, "--build-egg", str(tmp_path / "x.egg"))
    for path in hidden:
        path.unlink()
    hidden[0].parent.rmdir()
    assert built.returncode == 0, built.stderr
    assert {path for path in checkout.rglob("*") if "__pycache__" not in path.parts} == before, "it leaves nothing"
    names = set(zipfile.ZipFile(tmp_path / "x.egg").namelist())
    rooms = ("crawlers", "pipelines", "spiders", "catalogues")
    files = {str(path.relative_to(checkout)) for room in rooms for path in (checkout / room).rglob("*.*")}
    assert {name for name in files if "__pycache__" not in name} <= names
    assert {name.partition("/")[0] for name in names} == {"EGG-INFO", *rooms}, "no tests"
    assert "crawlers/records/rdf/contexts/hydra.jsonld" in names
    assert not {str(path.relative_to(checkout)) for path in hidden} & names


def test_the_version_is_the_settings(checkout, tmp_path):
    settings = checkout / "crawlers" / "settings.py"
    text = settings.read_text()
    try:
        settings.write_text(text.replace('VERSION = "', 'VERSION = "7.'))
        scrapyd_deploy(checkout, "--build-egg", str(tmp_path / "x.egg"))
    finally:
        settings.write_text(text)
    assert b"\nVersion: 7." in zipfile.ZipFile(tmp_path / "x.egg").read("EGG-INFO/PKG-INFO")


def test_the_spiders(node):
    assert node.ask("listspiders.json", project="crawlers")["spiders"] == spider_names()


# One job


def jsonld(asked: Asked) -> Answer:
    """A catalogue that names a context which is bundled."""
    datasets = [
        {"@id": f"https://data.example.org/{number}", "@type": "Dataset", "dct:title": f"Dataset {number}"}
        for number in range(3)
    ]
    catalogue = {"@context": "https://www.w3.org/ns/dcat.jsonld", "@type": "Catalog", "dcat:dataset": datasets}
    if asked.path != "/catalog.jsonld":
        return Answer(b"", 404)
    return Answer(json.dumps(catalogue).encode(), headers={"Content-Type": "application/ld+json"})


@contextmanager
def catalogue(kind: str, site: Any) -> Iterator[tuple[str, dict[str, str], int]]:
    """A catalogue of a kind: its spider, the arguments, and how many datasets it has."""
    if kind == "hdx":
        with Portal(datasets=9, rows_max=4) as portal:
            yield "hdx", {"portal": portal.url, "level": "both"}, 9
    elif kind == "json-ld":
        with Site(jsonld) as one:
            yield "dcat", {"url": f"{one.url}/catalog.jsonld"}, 3
    elif kind == "data.json":
        with Catalogue(9, serialisation="data.json") as one:
            yield "dcat", {"url": one.address}, 9
    else:
        yield "html", {"rules": "catalogues/loopback.toml"}, 7


@pytest.mark.parametrize("kind", ["hdx", "json-ld", "data.json", "html"])
def test_a_job_leaves_what_a_crawl_here_leaves(node, checkout, site, tmp_path, kind):
    with catalogue(kind, site) as (spider, arguments, datasets):
        job = node.schedule(spider, f"JOBDIR=jobs/{kind}", source=kind, **arguments)
        ran = scrapy("crawl", spider, *options(tmp_path, {}, source=kind, **arguments), cwd=checkout)
        here = Crawl(ran.returncode, ran.stderr, tmp_path / kind)
        node.over(job)
    there = Crawl(0, node.log_of(job), node.home / "output" / kind)
    assert len(there.documents()) == datasets
    assert left(there) == left(here)
    assert there.report["arguments"] == here.report["arguments"]
    assert f"{kind}: complete. {datasets} of {datasets} datasets listed; documents: " in there.log
    assert f"{there.folder} has the documents and manifest.jsonl" in there.log
    assert (node.home / "jobs" / kind / "ledger.sqlite").exists()
    assert sorted(path.name for path in node.work.iterdir()) == ["scrapyd.conf", "twistd.pid"], "nothing goes there"


def test_a_setting_that_names_a_folder(node, tmp_path):
    with Catalogue(2) as one:
        below = node.schedule("dcat", "OUTPUT_DIR=elsewhere/deep", url=one.address, source="a")
        absolute = node.schedule("dcat", f"OUTPUT_DIR={tmp_path}", url=one.address, source="b")
        node.over(below)
        node.over(absolute)
    assert len(list((node.home / "elsewhere" / "deep" / "a" / "datasets").iterdir())) == 2
    assert len(list((tmp_path / "b" / "datasets").iterdir())) == 2


def test_without_a_home(tmp_path, node, checkout):
    egg = str(next(node.folder.glob("eggs/crawlers/*.egg")))
    with Scrapyd(tmp_path / "scrapyd", None) as homeless, Catalogue(2) as one:
        homeless.deploy(checkout, "--egg", egg)
        job = homeless.schedule("dcat", url=one.address, source="here")
        homeless.over(job)
        assert len(list((homeless.work / "output" / "here" / "datasets").iterdir())) == 2
        assert f"WARNING: The output is in {homeless.work / 'output'}" in homeless.log_of(job)


def test_a_mistake_is_in_the_log_of_the_job(node):
    job = node.schedule("dcat", url="http://127.0.0.1/", sorce="x")
    node.over(job)
    assert "ERROR: spider dcat has no argument 'sorce'. Did you mean source?" in node.log_of(job)
    job = node.schedule("html", rules="catalogues/no.toml")
    node.over(job)
    places = f"{node.work} or {node.home} or {next(node.folder.glob('eggs/crawlers/*.egg'))}"
    assert f"The rules catalogues/no.toml can't be read: there is no such file in {places}." in node.log_of(job)


def test_rules_below_the_home(node, site):
    rules = (ROOT / "tests" / "rules" / "drupal.toml").read_text().replace("{url}", site.url)
    folder = node.home / "catalogues"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.toml").write_text(rules)
    job = node.schedule("html", rules="catalogues/mine.toml", source="mine")
    node.over(job)
    assert "mine: complete. 7 of 7 datasets" in node.log_of(job)


def test_cancelled_and_gone_on_with(node, tmp_path):
    with Portal(datasets=20, rows_max=5) as portal:
        ran = scrapy("crawl", "hdx", *options(tmp_path, {}, portal=portal.url))
        whole = Crawl(ran.returncode, ran.stderr, tmp_path / "hdx")
        portal.reset()
        words = {"portal": portal.url, "source": "cancelled"}
        slow = node.schedule("hdx", "JOBDIR=jobs/cancelled", "REQUESTS_PER_SECOND=20", **words)
        assert until(lambda: portal.requests("download_metadata") > 5)
        assert node.tell("cancel.json", job=slow)["prevstate"] == "running"
        node.over(slow)
        stopped = Crawl(0, node.log_of(slow), node.home / "output" / "cancelled")
        assert stopped.report["verdict"] == "interrupted"
        assert len(stopped.manifest) < len(whole.manifest)
        again = node.schedule("hdx", "JOBDIR=jobs/cancelled", **words)
        node.over(again)
    done = Crawl(0, node.log_of(again), stopped.folder)
    assert done.report["resumed"]
    assert left(done) == left(whole)
    assert len(list((done.folder / "runs").iterdir())) == 1


@pytest.mark.parametrize("name", ["schedule.json", "addversion.json", "cancel.json", "delproject.json"])
@pytest.mark.parametrize("login", [None, "tester:wrong"])
def test_nothing_without_the_password(node, name, login):
    with pytest.raises(HTTPError, match="401") as refused:
        node.tell(name, login=login, spider="hdx", version="1", egg="x", job="x")
    refused.value.close()


def test_no_log_without_the_password(node):
    with pytest.raises(HTTPError, match="401") as refused:
        node.ask("logs/crawlers/", login=None)
    refused.value.close()


# Nodes


def job(source: str, url: str, home: Path, **settings: str) -> Job:
    chosen = {**FAST, "OUTPUT_DIR": str(home / "output"), "JOBDIR": str(home / "jobs" / source), **settings}
    return Job(source=source, spider="dcat", arguments={"source": source, "url": url}, settings=chosen)


def on(*nodes: Any, login: str | None = LOGIN, project: str = "crawlers") -> Nodes:
    return Nodes([getattr(one, "url", one) for one in nodes], login, project)


def run(nodes: Nodes, what: Any) -> Any:
    """What comes of ``what(nodes)`` within five minutes: four jobs start four Pythons."""

    async def within() -> Any:
        try:
            return await asyncio.wait_for(what(nodes), 300)
        finally:
            await nodes.close()

    return asyncio.run(within())


def where_at(said: str) -> str:
    return said.partition(" at ")[2].partition(" ")[0]


def test_the_log_of_a_job_is_where_it_is_said_to_be(node):
    with Catalogue(1) as one:
        said = run(on(node), lambda nodes: nodes.crawl(job("logged", one.address, node.home)))
    address = said.partition(" (log ")[2].removesuffix(")")
    request = Request(address, headers=scrapyd.Nodes([address], LOGIN).headers)
    with build_opener(ProxyHandler({})).open(request, timeout=60) as log:
        assert b"Spider opened" in log.read()


def test_why_a_job_did_not_start(node):
    with Catalogue(1) as one:
        refused = job("refused", one.address, node.home, SHRINK_LIMIT="7")
        said = run(on(node), lambda nodes: nodes.crawl(refused))
    assert said.endswith(", last message: SHRINK_LIMIT='7' is not a part of a catalogue, from 0 to 1.)")


def test_jobs_are_spread_over_the_nodes(node, other):
    with Catalogue(3, faults={"slow": "0.5"}) as one:
        jobs = [job(f"spread{number}", one.address, node.home) for number in range(4)]
        said = run(on(node, other), lambda nodes: asyncio.gather(*map(nodes.crawl, jobs)))
    for number in range(4):
        assert len(list((node.home / "output" / f"spread{number}" / "datasets").iterdir())) == 3
    assert sorted(where_at(where) for where in said) == sorted([node.url, other.url] * 2)
    assert all(where.startswith(f"job spread{number}-") for number, where in enumerate(said))


def test_busy_and_cancelled(node, other):
    """By those that did not schedule it, too."""

    async def watched(nodes: Nodes) -> list[bool]:
        crawl = asyncio.create_task(nodes.crawl(job("long", one.address, node.home, REQUESTS_PER_SECOND="2")))
        await asyncio.to_thread(until, lambda: one.asked)
        strangers = on(other, node)
        seen = [await strangers.busy("long"), await strangers.busy("lon"), crawl.done()]
        await strangers.cancel("short")
        await strangers.cancel("long")
        await crawl
        seen.append(await strangers.busy("long"))
        await strangers.close()
        return seen

    with Catalogue(90, per_page=3, paging="hydra") as one:
        assert run(on(node, other), watched) == [True, False, False, False]
    report = json.loads(next((node.home / "output" / "long" / "runs").iterdir()).read_bytes())
    assert (report["verdict"], report["listed"] < 90) == ("interrupted", True)


def test_a_job_that_waits(node):
    """Scheduled by hand, under a name that Scrapyd gives."""
    with Catalogue(1, faults={"slow": "3"}) as one:
        jobs = [node.schedule("dcat", source=f"slow{number}", url=one.address) for number in range(3)]
        last = node.schedule("dcat", source="by-hand", url=one.address)
        assert run(on(node), lambda nodes: nodes.busy("by-hand"))
        assert node.state(last) == "pending"
        run(on(node), lambda nodes: nodes.cancel("by-hand"))
        assert node.state(last) is None
        assert not run(on(node), lambda nodes: nodes.busy("by-hand"))
        for slow in jobs:
            node.over(slow)


def test_a_node_that_is_down(node, caplog):
    down = f"http://127.0.0.1:{free_port()}"
    with Catalogue(2) as one:
        jobs = [job(name, one.address, node.home) for name in ("left", "right")]
        said, _ = run(on(down, node), lambda nodes: asyncio.gather(*map(nodes.crawl, jobs)))
    assert where_at(said) == node.url
    told = f"Scrapyd at {down} is unreachable: connection refused. The node is skipped."
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [told]
    assert LOGIN.partition(":")[2] not in caplog.text


def refusal(nodes: Nodes, what: Any = None) -> str:
    wanted = Job(source="x", spider="nosuch", arguments={}, settings={})
    with pytest.raises(HarvestError) as refused:
        run(nodes, what or (lambda nodes: nodes.crawl(wanted)))
    assert LOGIN.partition(":")[2] not in str(refused.value)
    return str(refused.value)


def test_what_can_be_wrong(node):
    down = f"http://127.0.0.1:{free_port()}"
    assert refusal(on(down)) == f"Scrapyd at {down} is unreachable: connection refused."
    no_login = f"Scrapyd at {node.url} refuses the login: check user:password in the environment variable "
    assert refusal(on(node, login=None)).startswith(no_login)
    assert refusal(on(node, login="tester:wrong")).startswith(no_login)
    missing = f"No Scrapyd node accepted x. Scrapyd at {node.url} answered: "
    assert refusal(on(node)) == missing + "spider 'nosuch' not found. Deploy it there: scrapyd-deploy"
    no_project = "project 'else' not found. Deploy it there: scrapyd-deploy"
    assert refusal(on(node, project="else")) == missing + no_project
    assert not run(on(node, project="else"), lambda nodes: nodes.busy("x"))


@pytest.mark.parametrize(
    ("urls", "login", "told"),
    [
        ([], None, "No Scrapyd node is named"),
        (["node1:6800"], None, "'node1:6800' is not a Scrapyd address"),
        (["http://node1:port"], None, "is not a Scrapyd address"),
        (["http://me:hidden@node1:6800"], None, "must not contain user and password"),
        (["http://node1:6800"], "hidden", "is not user:password"),
    ],
)
def test_wrong_addresses(urls, login, told):
    with pytest.raises(HarvestError, match=told) as refused:
        Nodes(urls, login)
    assert "hidden" not in str(refused.value)


class FakeNode(Site):
    """Answers as Scrapyd, as far as the test lets it: what it says by name, and else ``ok``.

    Attributes:
        forms: what it was told.
    """

    def __init__(self, **says: Any) -> None:
        super().__init__(self.say)
        self.says = says
        self.forms: list[str] = []
        self.server.RequestHandlerClass.do_POST = self.server.RequestHandlerClass.do_GET

    def say(self, asked: Asked) -> Answer:
        name = urlsplit(asked.path).path.strip("/").removesuffix(".json")
        said = self.says.get(name, {})
        said = said.pop(0) if isinstance(said, list) else said
        if isinstance(said, Answer):
            return said
        headers = {"Content-Type": "application/json", "Connection": "close"}
        return Answer(json.dumps({"status": "ok"} | said).encode(), headers=headers)

    def names(self) -> list[str]:
        return [urlsplit(asked.path).path.strip("/") for asked in self.asked]


def cut() -> Answer:
    """The connection breaks before the answer is whole."""

    def parts() -> Iterator[bytes]:
        yield b'{"status"'
        raise ConnectionError

    return Answer(parts(), headers={"Content-Type": "application/json", "Connection": "close"})


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer(b"<html>Welcome</html>"), "answered with an HTML page that is not Scrapyd's (HTTP 200)"),
        (Answer(b"[1]", 404), "answered with something that is not Scrapyd's (HTTP 404)"),
        (Answer(b"[" * 200_000), "answered with something that is not Scrapyd's"),
        (
            Answer(b"", 302, {"Location": "http://example.org/"}),
            "not Scrapyd's (HTTP 302): check the address.",
        ),
        (Answer(iter([b" " * (1 << 20)] * 20)), "sent more than 16 MiB"),
        (Answer(b'{"status": "error", "message": "Tr\\n a\\u001b[31mb."}'), "answered: a[31mb."),
        (Answer(b'{"status": "error"}'), "answered: nothing."),
    ],
)
def test_what_is_no_scrapyd(answer, told):
    with FakeNode(daemonstatus=answer) as fake:
        assert told in refusal(on(fake))
        assert fake.names() == ["daemonstatus.json"]


def test_odd_lists_of_jobs():
    odd = {"pending": 1, "running": [None, 1, {"project": "crawlers"}, {"id": ["x"], "args": 1, "project": "crawlers"}]}
    with FakeNode(listjobs=odd) as fake:
        assert not run(on(fake), lambda nodes: nodes.busy("x"))


@pytest.mark.parametrize("state", ["running", "finished"])
def test_an_answer_that_does_not_come(state):
    """The node has the job nevertheless: no other gets it."""
    states = [{"currstate": state}, {"currstate": "running"}, {"currstate": "finished"}]
    with FakeNode(schedule=cut(), status=states) as fake, FakeNode(daemonstatus={"pending": 1}) as spare:
        said = run(on(spare, fake), lambda nodes: nodes.crawl(job("x", "http://x", Path("/"))))
        assert where_at(said) == fake.url
        assert "schedule.json" not in spare.names()


def test_a_node_that_does_not_take_the_job():
    spare = FakeNode(daemonstatus={"running": 1}, status={"currstate": "finished"})
    with FakeNode(schedule=cut(), status={"currstate": None}) as fake, spare:
        said = run(on(fake, spare), lambda nodes: nodes.crawl(job("x", "http://x", Path("/"))))
        assert where_at(said) == spare.url


def test_a_node_of_which_nothing_is_known():
    with FakeNode(schedule=cut(), status=cut()) as fake, FakeNode(daemonstatus={"running": 1}) as spare:
        told = refusal(on(fake, spare), lambda nodes: nodes.crawl(job("x", "http://x", Path("/"))))
        assert "so no other node gets the job" in told
        assert "schedule.json" not in spare.names()


def test_a_node_that_goes_away_for_a_while(monkeypatch):
    monkeypatch.setattr(scrapyd, "_PAUSE", 0.01)
    states = [cut(), Answer(b"<h1>Bad gateway</h1>", 502), {"currstate": "running"}, cut(), {"currstate": "finished"}]
    with FakeNode(status=states) as fake:
        run(on(fake), lambda nodes: nodes.crawl(job("x", "http://x", Path("/"))))
        assert states == []


def test_a_node_that_was_started_anew():
    states = [{"currstate": "running"}, {"currstate": None}]
    with FakeNode(status=states) as fake:
        said = run(on(fake), lambda nodes: nodes.crawl(job("x", "http://x", Path("/"))))
    assert said.endswith(f"at {fake.url} (not known there any more)")


def test_a_node_that_goes_away(monkeypatch):
    monkeypatch.setattr(scrapyd, "_PAUSE", 0.01)
    monkeypatch.setattr(scrapyd, "_PATIENCE", 0.1)
    with FakeNode(status=Answer(b"<h1>Bad gateway</h1>", 502)) as fake:
        told = refusal(on(fake), lambda nodes: nodes.crawl(job("x", "http://x", Path("/"))))
    assert told.endswith("may still run there.")


def test_no_proxy_and_no_netrc(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    with FakeNode() as fake:
        assert not run(on(fake, login=None), lambda nodes: nodes.busy("x"))
        assert "Authorization" not in fake.asked[0].headers
