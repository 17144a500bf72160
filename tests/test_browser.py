"""Pages in a real browser: how they are turned, what they may not do, and what becomes of the browser."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings
from twisted.internet.address import IPv4Address

from crawlers.components.browser import executables
from crawlers.components.browser.browser import Browser
from crawlers.components.browser.executables import BrowserError
from crawlers.components.browser.guard import Guard, resolved
from crawlers.exceptions import AnswerError
from crawlers.safety.resolver import ForbiddenAddressError, PublicOnlyResolver
from tests.conftest import FAST, ROOT, json_lines
from tests.site import Answer, Asked, Site, redirect
from tests.waiting import HANG, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HTML = {"Content-Type": "text/html; charset=utf-8"}
FAST_PAGES = {**FAST, "ROBOTSTXT_OBEY": "0", "RETRY_TIMES": "0", "LOG_LEVEL": "WARNING", "CONCURRENT_REQUESTS": "4"}
ONE_BY_ONE = {"CONCURRENT_REQUESTS": "1"}

PROBE = """
import json
import os
import sys
from pathlib import Path
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings
from crawlers.components.politeness import failures
from crawlers.components.browser import enable
from crawlers.components.scheduler import stored_request

class Probe(Spider):
    name = "probe"
    allowed_domains = ["127.0.0.1", "localhost"]
    start_urls = os.environ["PROBE_SITES"].split()
    portal = start_urls[0]

    @classmethod
    def from_crawler(cls, crawler, *arguments, **keywords):
        spider = super().from_crawler(crawler, *arguments, **keywords)
        enable(crawler)
        return spider

    async def start(self):
        for number, asked in enumerate(json.loads(Path("requests.json").read_text())):
            known = {"priority": -number, "cb_kwargs": {"number": number}}
            yield Request(**asked, **known, callback=self.parse, errback=self.failed)

    def parse(self, response, number):
        asked = response.request
        stored_request(asked.replace(dont_filter=True), self)
        headers = {name.decode(): value[0].decode() for name, value in response.headers.items()}
        known = {"url": response.url, "status": response.status, "body": response.body.decode()}
        self.tell(number=number, **known, headers=headers, meta=list(asked.meta))

    def failed(self, failure):
        stored_request(failure.request.replace(dont_filter=True), self)
        error = failures.from_failure(failure)
        self.tell(number=failure.request.cb_kwargs["number"], kind=error.kind, error=str(error))

    def tell(self, **known):
        with open("answers.jsonl", "a") as file:
            file.write(json.dumps(known) + chr(10))

if __name__ == "__main__":
    if "PROBE_IDLE" in os.environ:
        from crawlers.components.browser import browser
        browser.IDLE = float(os.environ["PROBE_IDLE"])
    settings = get_project_settings()
    settings.update(json.loads(os.environ["PROBE_SETTINGS"]), priority="cmdline")
    process = CrawlerProcess(settings)
    crawling = process.crawl(Probe)
    crawling.addErrback(lambda failure: print(failure.type.__name__, failure.value, file=sys.stderr))
    process.start()
"""


def html(body: str, **keywords) -> Answer:
    return Answer(body.encode(), headers=HTML | keywords.pop("headers", {}), **keywords)


class Crawl:
    """Runs the probe in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "probe.py").write_text(textwrap.dedent(PROBE))

    def start(self, site: Site, *requests: dict, **settings: str) -> subprocess.Popen[str]:
        return self.start_at(((site, one) for one in requests), settings)

    def start_at(self, requests: Iterable[tuple[Site, dict]], settings: dict[str, str]) -> subprocess.Popen[str]:
        every = [(site.url, dict(one)) for site, one in requests]
        asked = [{"url": url + one.pop("path"), "meta": one} for url, one in every]
        (self.folder / "requests.json").write_text(json.dumps(asked))
        (self.folder / "answers.jsonl").write_bytes(b"")
        chosen = {**FAST_PAGES, "HTTPCACHE_DIR": str(self.folder / "cache"), **settings}
        own = {"PYTHONPATH": str(ROOT), "PROBE_SETTINGS": json.dumps(chosen)}
        own["PROBE_SITES"] = " ".join(dict.fromkeys(url for url, _ in every))
        environment = {**os.environ, **own, "SCRAPY_SETTINGS_MODULE": "crawlers.settings"}
        command = [sys.executable, "-W", "error", str(self.folder / "probe.py")]
        known = {"cwd": self.folder, "env": environment, "start_new_session": True}
        return subprocess.Popen(command, **known, stderr=subprocess.PIPE, text=True)

    def __call__(self, site: Site, *requests: dict, **settings: str) -> list[dict]:
        return self.ended(self.start(site, *requests, **settings), len(requests))

    def ended(self, process: subprocess.Popen[str], count: int) -> list[dict]:
        self.log = process.communicate(timeout=HANG)[1]
        assert "Traceback" not in self.log, self.log
        answers = sorted(json_lines(self.folder / "answers.jsonl"), key=lambda one: one["number"])
        assert len(answers) == count, self.log
        return answers


@pytest.fixture
def shown(tmp_path):
    return Crawl(tmp_path)


@dataclass
class Case:
    """A site, what a test wants to see of it, and what it saw; crawls of many are run at once, which saves minutes."""

    answer: Callable[[Asked], Answer]
    requests: tuple[dict, ...]
    settings: dict[str, str]
    answers: list[dict] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)
    log: str = ""

    def start(self) -> Site:
        self.site = Site(lambda asked: (self.moments.append(time.monotonic()), self.answer(asked))[1])
        return self.site


CASES: dict[str, Case] = {}
TOGETHER = {**ONE_BY_ONE, "RETRY_TIMES": "1"}
PROCESSES = 4


def case(answer: Callable[[Asked], Answer], *requests: dict, **settings: str):
    """Gives the test ``seen``: the `Case`, after its crawl."""

    def kept(test):
        CASES[test.__name__] = Case(answer, requests, settings or TOGETHER)
        return pytest.mark.browser(test)

    return kept


def crawled(cases: list[Case], folder: Path) -> None:
    with ExitStack() as open_sites:
        for one in cases:
            open_sites.enter_context(one.start())
        crawl = Crawl(folder)
        requests = [(one.site, asked) for one in cases for asked in one.requests]
        answers = iter(crawl.ended(crawl.start_at(requests, cases[0].settings), len(requests)))
        for one in cases:
            one.answers, one.log = list(itertools.islice(answers, len(one.requests))), crawl.log


@pytest.fixture(scope="module")
def every_case(request, tmp_path_factory):
    if hasattr(request.config, "workerinput"):  # pytest-xdist's workers share the tests, and so the crawls
        return []
    wanted = {item.originalname for item in request.session.items if item.path == request.path}
    groups = defaultdict(list)
    for number, one in enumerate(one for name, one in CASES.items() if name in wanted):
        groups[str(one.settings), number % PROCESSES if one.settings is TOGETHER else 0].append(one)
    with ThreadPoolExecutor(PROCESSES) as pool:
        return [pool.submit(crawled, group, tmp_path_factory.mktemp("crawl")) for group in groups.values()]


@pytest.fixture
def seen(request, every_case, tmp_path):
    one = CASES[request.node.originalname]
    for crawl in every_case if not one.answers else ():
        crawl.result()
    if not one.answers:
        crawled([one], tmp_path)
    return one


def turns(path: str, kind: str | None, times: int = 0, **more) -> dict:
    return {"path": path, "browser": {"kind": kind, "times": times, "wait": 1.5, **more}}


def ended(answers: list[dict]) -> list[tuple[str, str | None]]:
    return [(one["headers"]["Page-Turns"], one["headers"].get("Page-End")) for one in answers]


def links(answer: dict) -> int:
    return answer["body"].count("</a></li>")


def paths(site: Site) -> list[str]:
    return [asked.path for asked in site.asked]


def browsers(site: Site) -> list[int]:
    """The processes of the browser that is pinned to a site, by its port."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f":{site.port} 127.0.0.1".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


# A listing that grows

MORE = """
<ul id=list><li><a href=/d/1>1</a></ul><p id=state></p><button id=more> Load  <b>more</b> » </button>
<script>
let page = FIRST;
more.onclick = async () => {
  state.textContent = 'Loading ...';
  const number = await (await fetch('/data?page=' + ++page)).json();
  list.insertAdjacentHTML('beforeend', `<li><a href="/d/${number}">${number}</a>`);
  state.textContent = '';
  if (number == 4) END;
};
</script>
"""


def growing(end: str = "more.disabled = true", delay: float = 0.0, first: int = 1):
    def answer(asked: Asked) -> Answer:
        if asked.path.startswith("/data"):
            time.sleep(delay)
            return Answer(asked.path.rpartition("=")[2].encode())
        return html(MORE.replace("END", end).replace("FIRST", str(first)))

    return answer


@case(growing(delay=0.5), *(turns("/", "button", times, text="load more") for times in (0, 1, 3, 5)))
def test_a_button_is_pressed_until_it_is_disabled_and_the_page_is_opened_once(seen):
    assert [links(one) for one in seen.answers] == [1, 2, 4, 4]
    assert ended(seen.answers) == [("0", None), ("1", None), ("3", None), ("3", "disabled")]
    assert paths(seen.site) == ["/", "/data?page=2", "/data?page=3", "/data?page=4"]
    assert seen.answers[0]["status"] == 200
    assert not [name for one in seen.answers for name in one["meta"] if "playwright" in name]


AT_WORK = """
<ul id=list><li><a href=/d/1>1</a></li><li><a href=/d/2>2</a></li></ul><button id=more>Load more</button>
<script>
const show = () => { list.innerHTML = "<li><a href=/d/3>3</a></li>"; more.disabled = true; };
const work = () => { const end = Date.now() + 2500; while (Date.now() < end); setTimeout(show, 500); };
more.onclick = () => { list.innerHTML = ""; setTimeout(work, 20); };
</script>
"""


@case(lambda _: html(AT_WORK), *(turns("/", "button", times, text="load more", wait=10) for times in (1, 2)))
def test_a_page_that_is_busy_is_not_at_rest(seen):
    assert ['href="/d/3"' in one["body"] for one in seen.answers] == [True, True]
    assert ended(seen.answers) == [("1", None), ("1", "disabled")]


RENAMED = """
<ul id=list><li><a href=/d/1>1</a></li></ul>
<aside><button>Mehr</button></aside><p><button id=more>Mehr Daten</button></p>
<script>
let page = 1;
more.onclick = () => {
  page += 1;
  list.insertAdjacentHTML("beforeend", `<li><a href=/d/${page}>${page}</a${">"}</li>`);
  more.textContent = page < 4 ? `Noch ${4 - page} weitere` : "Weniger anzeigen";
};
</script>
"""


@case(lambda _: html(RENAMED), *(turns("/", "button", times, text="Mehr Daten") for times in (1, 2, 3, 4)))
def test_a_button_that_renames_itself_is_pressed_until_it_takes_away(seen):
    assert [links(one) for one in seen.answers] == [2, 3, 4, 4]
    assert ended(seen.answers) == [("1", None), ("2", None), ("3", None), ("3", "gone")]


ENDS = {
    "more.remove()": "gone",
    "more.hidden = true": "gone",
    "more.style.visibility = 'hidden'": "gone",
    "more.setAttribute('aria-disabled', 'true')": "disabled",
    "more.className = 'page-item--disabled'": "disabled",
    "more.onclick = null": "unchanged",
}


def ending(asked: Asked) -> Answer:
    number = asked.path[1:2]
    return growing(list(ENDS)[int(number)] if number.isdigit() else "", first=3)(asked)


@case(ending, *(turns(f"/{number}", "button", 9, texts=["mehr", "Load more"]) for number in range(len(ENDS))))
def test_a_button_has_more_than_one_way_to_end(seen):
    assert ended(seen.answers) == [("1", end) for end in ENDS.values()]
    told = [line for line in seen.log.splitlines() if "changed nothing, which is taken for the end" in line]
    assert [seen.site.url in line for line in told].count(True) == 1
    assert f"{seen.site.url}/5: a button that can be clicked" in seen.log


@case(growing(), turns("/", "button", 2, text="load more"), turns("/", "button", 1, text="load more"))
def test_a_page_that_is_gone_is_opened_anew_and_turned_as_often(seen):
    assert [links(one) for one in seen.answers] == [3, 2]
    assert paths(seen.site).count("/") == 2


@case(
    growing(),
    *(turns(f"/{number}", "button", 0, text="load more") for number in range(5)),
    *(turns(f"/{number}", "button", 1, text="load more") for number in (4, 3, 2, 1, 0)),
)
def test_four_pages_are_kept(seen):
    assert [paths(seen.site).count(f"/{number}") for number in range(5)] == [2, 1, 1, 1, 1]


@pytest.mark.browser
@pytest.mark.parametrize(("idle", "opened"), [("0.5", 2), ("300", 1)])
def test_a_page_is_kept_for_a_while(shown, monkeypatch, idle, opened):
    monkeypatch.setenv("PROBE_IDLE", idle)

    def answer(asked: Asked) -> Answer:
        time.sleep(1.5 if asked.path == "/else" else 0)
        return growing(first=2)(asked)

    asked = [turns("/", "button", times, text="load more") for times in (0, 1)]
    with Site(answer) as site:
        shown(site, asked[0], {"path": "/else"}, asked[1], **ONE_BY_ONE)
        assert paths(site).count("/") == opened


@case(growing(), turns("/", "button", 2, text="load more"), REQUESTS_PER_SECOND="0.4")
def test_turns_keep_the_pace(seen):
    """Every 2.5 seconds; the site is told of a request late where the machine is busy."""
    assert len(seen.moments) == 3
    assert all(after - before > 1.0 for before, after in itertools.pairwise(seen.moments))


# What a page asks for and does not get

FAILING = """
<ul id=list></ul><button id=more disabled>Load more</button>
<script>
let page = 0;
more.onclick = async () => {
  page++;
  more.disabled = true;
  const answer = await fetch(`data?page=${page}`).catch(() => null);
  if (!answer || !answer.ok) return;
  list.insertAdjacentHTML('beforeend', `<li><a href="/d/${page}">${page}</a>`);
  more.disabled = page == 3;
};
more.onclick();
</script>
"""
"""A page that takes what fails for the end, as most do."""


class Failing:
    """What is asked for at ``data`` fails once, or always."""

    def __init__(self, answer: Callable[[], Answer], page: str = "2", most: int = 1, body: str = FAILING) -> None:
        self.answer, self.failing, self.most, self.body = answer, f"data?page={page}", most, body
        self.failed = 0

    def __call__(self, asked: Asked) -> Answer:
        if asked.path.endswith(self.failing) and self.failed < self.most:
            self.failed += 1
            return self.answer()
        return Answer(b"3") if "data" in asked.path else html(self.body)


def reset() -> Answer:
    raise ConnectionResetError


def cut_off() -> Answer:
    return Answer(cut())


FAILURES = {
    "busy": lambda: Answer(status=503, headers={"Retry-After": "1"}),
    "error": lambda: Answer(status=500),
    "cut": cut_off,
    "late": lambda: (time.sleep(3), Answer(b"3"))[1],
}


def each(make: Callable[[str], Callable[[Asked], Answer]], names: Iterable[str]) -> Callable[[Asked], Answer]:
    """One site for several, each in a folder."""
    sites = {name: make(name) for name in names}
    return lambda asked: sites[asked.path.split("/")[1]](asked)


@case(
    each(lambda name: Failing(FAILURES[name]), FAILURES),
    *(turns(f"/{name}/", "button", 9, text="load more", wait=1.0) for name in FAILURES),
)
def test_what_fails_in_the_middle_of_turns_is_tried_again(seen):
    assert ended(seen.answers) == [("2", "disabled")] * len(FAILURES)
    assert [links(one) for one in seen.answers] == [3] * len(FAILURES)
    assert [paths(seen.site).count(f"/{name}/") for name in FAILURES] == [2] * len(FAILURES)
    asked = list(zip(paths(seen.site), seen.moments, strict=True))
    failed, again = dict(reversed(asked))["/busy/data?page=2"], dict(asked)["/busy/"]
    assert again - failed > 1.9  # the page is given a second, and Retry-After asks for another


@case(
    each(lambda name: Failing(FAILURES[name], page="1"), FAILURES),
    *(turns(f"/{name}/", None, wait=1.0) for name in ("error", "cut")),
)
def test_what_fails_while_a_page_loads_is_tried_again(seen):
    assert [links(one) for one in seen.answers] == [1, 1]


ALWAYS = {
    **FAILURES,
    "limited": lambda: Answer(status=429),
    "reset": reset,
    "missing": lambda: Answer(status=404),
    "forbidden": lambda: Answer(status=403),
}


@case(
    each(lambda name: Failing(ALWAYS[name], most=9), ALWAYS),
    *(turns(f"/{name}/", "button", 9, text="load more", wait=1.0) for name in ALWAYS),
    RETRY_TIMES="0",
)
def test_what_fails_for_good_is_told_and_404_is_the_end(seen):
    told = dict(zip(ALWAYS, (one.get("kind") for one in seen.answers), strict=True))
    assert told == {
        **dict.fromkeys(("busy", "error", "limited"), "http"),
        **dict.fromkeys(("missing", "forbidden")),
        "cut": "truncated",
        "late": "timeout",
        "reset": "connection",
    }
    assert seen.answers[0]["error"].startswith("HTTP 503 Service Unavailable")
    assert ended(seen.answers[6:]) == [("0", "unchanged")] * 2


SCROLLS = """
<style>li {height: 900px}</style><ul id=list><li><a href=/d/1>1</a></ul>
<script>
document.onscroll = async () => {
  document.onscroll = null;
  const answer = await fetch('data?page=2');
  if (answer.ok) list.insertAdjacentHTML('beforeend', '<li><a href="/d/2">2</a>');
};
</script>
"""
PASSES = """
<ul id=list><li><a href=/d/1>1</a></ul>
<script>
async function pass() {
  const answer = await fetch('data?page=2');
  if (!answer.ok) throw new Error(answer.status);
  list.innerHTML = '<li><a href="/d/2">2</a>';
}
</script>
"""
TRIES_AGAIN = FAILING.replace("fetch(`data?page=${page}`)", "again(`data?page=${page}`)").replace(
    "let page",
    "const again = async url => { const one = await fetch(url); return one.ok ? one : fetch(url); };let page",
)
LISTENS = FAILING.replace(
    "let page", "(function listen() { fetch('/wait?' + Math.random()).finally(listen); })();let page"
)
WAYS = {"scroll": SCROLLS, "script": PASSES, "again": TRIES_AGAIN, "listens": LISTENS}


def ways(asked: Asked) -> Answer:
    if asked.path.startswith("/wait"):
        time.sleep(3)
    return BY_WAY(asked) if not asked.path.startswith("/wait") else Answer(b"")


BY_WAY = each(lambda name: Failing(FAILURES["error"], body=WAYS[name], most=name != "listens"), WAYS)


@case(
    ways,
    turns("/scroll/", "scroll", 1),
    turns("/script/", "script", 1, script="pass()"),
    turns("/again/", "button", 9, text="load more"),
    turns("/listens/", "button", 9, text="load more"),
)
def test_other_ways_to_turn_a_page_fail_too_and_scripts_that_ask_again_do_not(seen):
    assert ended(seen.answers) == [("1", None), ("1", None), ("2", "disabled"), ("2", "disabled")]
    opened = [paths(seen.site).count(f"/{name}/") for name in WAYS]
    assert opened == [2, 2, 1, 1]


# Other ways to turn a page

NEXT = "<a href=/d/{n}>{n}</a><nav><a class=next href=/list?page={after}>Siguiente ›</a></nav>"


def pages(asked: Asked) -> Answer:
    number = int(asked.path.rpartition("=")[2] or 1) if "=" in asked.path else 1
    body = NEXT.format(n=number, after=number + 1) if number < 3 else "<a href=/d/3>3</a>"
    return html(body, headers={"X-Page": str(number)})


@case(pages, *(turns("/list", "button", times, xpath="//a[contains(@class, 'next')]") for times in (0, 1, 3)))
def test_a_button_may_load_another_page(seen):
    assert ended(seen.answers) == [("0", None), ("1", None), ("2", "gone")]
    assert [one["headers"]["X-Page"] for one in seen.answers] == ["1", "2", "3"]
    addresses = [seen.site.url + path for path in ("/list", "/list?page=2", "/list?page=3")]
    assert [one["url"] for one in seen.answers] == addresses
    assert len(seen.site.asked) == 3


NUMBERED = """
<a href=/about>7</a><div id=list></div><div id=pager></div>
<script>
function show(now) {
  list.innerHTML = `<a href="/d/${now}">Dataset ${now}</a>`;
  const from = Math.floor((now - 1) / 2) * 2 + 1, all = [];
  if (from > 1) all.push([from - 1, '...']);
  for (let n = from; n < from + 2 && n < 6; n++) all.push([n, n]);
  if (from + 2 < 6) all.push([from + 2, '...']);
  pager.innerHTML = all.map(([n, text]) =>
    n == now ? CURRENT : `<a href="javascript:show(${n})">${text}</a>`).join(' ');
}
show(1);
</script>
"""


CURRENT = {
    "all": "`<span>${text}</span>`",
    "x": "`<span>${text}</span>`",
    "aria": '`<a aria-current=page href="javascript:show(9)">${text}</a>`',
    "class": '`<li class="page-item is-active"><a href="javascript:show(9)">${text}</a></li>`',
    "unmarked": '`<a href="javascript:show(${n})">${text}</a>`',
}


@case(
    lambda asked: html(NUMBERED.replace("CURRENT", CURRENT[asked.path[1:]])),
    turns("/x", "buttons", 2, xpath="//*[@id='pager']"),
    *(turns(f"/{name}", "buttons", 3) for name in ("aria", "class", "unmarked")),
    turns("/all", "buttons", 8),
)
def test_numbered_buttons_and_the_dots_after_them(seen):
    assert ['href="/d/' + n in one["body"] for one, n in zip(seen.answers, "34445", strict=True)] == [True] * 5
    assert ended(seen.answers) == [("2", None), *[("3", None)] * 3, ("4", "gone")]


SCROLLED = """
<style>OUTER li {height: 900px}</style><div id=box><ul id=list></ul><p id=end>end</p></div>
<script>
let page = 0;
new IntersectionObserver(async ([seen]) => {
  if (!seen.isIntersecting || page == 3) return;
  const number = await (await fetch('/data?page=' + ++page)).json();
  list.insertAdjacentHTML('beforeend', `<li><a href="/d/${number}">${number}</a>`);
}).observe(end);
</script>
"""


BOX = "#box {height: 400px; overflow-y: auto}"
SHORT = SCROLLED.replace("OUTER li {height: 900px}", "li {height: 20px}").replace("page == 3", "page == 2")


def scrolled(asked: Asked) -> Answer:
    if "data" in asked.path:
        return growing()(asked)
    return html(SHORT if "short" in asked.path else SCROLLED.replace("OUTER", BOX * ("box" in asked.path)))


@case(scrolled, *(turns(path, "scroll", times, wait=2.0) for path in ("/", "/box") for times in (0, 1, 3)))
def test_scrolling(seen):
    assert [links(one) for one in seen.answers] == [1, 2, 3] * 2
    assert ended(seen.answers) == [("0", None), ("1", None), ("2", "unchanged")] * 2


@case(scrolled, turns("/short", "scroll", 1, wait=2.0))
def test_scrolling_where_all_is_in_sight(seen):
    assert links(seen.answers[0]) == 2
    assert ended(seen.answers) == [("1", None)]


STEPS = """
<table id=rows><tr><td>row 1</table>
<script>let n = 1; function forward() { if (n == 3) return false; n++;
setTimeout(() => rows.innerHTML = `<tr><td>row ${n}`, 100); }</script>
"""


SAFE = {"Content-Security-Policy": "script-src 'unsafe-inline'"}


@case(
    lambda _: html(STEPS, headers=SAFE),
    *(turns("/", "script", times, script="forward()") for times in (1, 4)),
    turns("/return", "script", 4, script="const more = forward(); if (more === false) return false;"),
    turns("/nothing", "script", 1, script="void 0", wait=0.5),
    turns("/hang", "script", 1, script="new Promise(() => {})", wait=0.5),
    turns("/error", "script", 1, script="document.querySelector('.next').click()"),
    turns("/rejects", "script", 1, script="Promise.reject(new Error('no'))"),
    turns("/wrong", "script", 1, script="forward("),
    turns("/xpath", "button", 1, xpath="//a[has-class('x')]"),
)
def test_a_script_turns_the_page_and_says_when_it_is_the_last(seen):
    ends = [("1", None), ("2", "false"), ("2", "false"), ("0", "unchanged"), ("0", "unchanged")]
    assert ended(seen.answers[:5]) == ends
    assert "row 3" in seen.answers[1]["body"]
    assert [one["kind"] for one in seen.answers[5:]] == ["paging"] * 4
    assert [one["error"].startswith("paging.script failed: ") for one in seen.answers[5:]] == [True, True, False, False]


COVERED = """
<div style="position: fixed; inset: 0; z-index: 9">We use cookies</div>
<div id=list></div><a id=more target=_blank href=/page2>Next</a>
"""


@case(lambda asked: html(COVERED if asked.path == "/" else "<p>page 2"), turns("/", "button", 1, text="Next", wait=4.0))
def test_what_covers_a_button_and_new_windows_are_no_hindrance(seen):
    assert seen.answers[0]["url"] == seen.site.url + "/page2"
    assert ended(seen.answers) == [("1", None)]


# What a page may not do

FORBIDDEN = """
<link rel=stylesheet href=/own.css><link rel=stylesheet href=OTHER/foreign.css><link rel=icon href=/icon.png>
<img src=/own.png><img src=OTHER/foreign.png><script src=/own.js></script><script src=OTHER/foreign.js></script>
<iframe src=/frame></iframe><iframe src=/redirected-frame></iframe><audio src=/own.mp3 autoplay></audio>
<script>
const tries = [
  () => fetch('OTHER/fetch', {mode: 'no-cors'}), () => fetch('/redirect'), () => new WebSocket('ws://127.0.0.1:PORT/ws'),
  () => navigator.sendBeacon('/beacon', 'x'), () => new EventSource('/events'), () => window.open('/window'),
  () => window.open('OTHER/window'), () => navigator.serviceWorker.register('/worker.js'),
  () => { const link = document.createElement('a'); link.href = '/blank'; link.target = '_blank'; link.click(); },
  () => new Worker(URL.createObjectURL(new Blob(["fetch('OTHER/from-worker', {mode: 'no-cors'})"]))),
  () => fetch('/mine').then(() => document.body.append('fetched')),
  () => navigator.geolocation.getCurrentPosition(() => {}),
];
for (const one of tries) try { const made = one(); if (made && made.catch) made.catch(() => {}); } catch (error) {}
</script>
"""


@pytest.mark.browser
def test_a_page_loads_what_it_needs_from_the_portal_and_nothing_from_anywhere_else(shown):
    with Site(lambda _: html("<p>not the portal's")) as other:

        def answer(asked: Asked) -> Answer:
            foreign = f"http://{'localhost' if 'localhost' in asked.path else '127.0.0.1'}:{other.port}"
            if "redirect" in asked.path:
                return redirect(foreign + asked.path)
            body = FORBIDDEN.replace("OTHER", foreign).replace("PORT", str(site.port))
            return html(body if asked.path in ("/", "/localhost") else "")

        with Site(answer) as site:
            answers = shown(site, turns("/", None), turns("/localhost", None))
            assert ["fetched" in one["body"] for one in answers] == [True, True]
            wanted = {"/own.css", "/own.js", "/frame", "/redirected-frame", "/redirect", "/mine"}
            assert set(paths(site)) == {"/", "/localhost"} | wanted
            assert other.asked == []


AWAY = """
<a href=FOREIGN>there</a> <a href=/redirect?to=HOST>away</a>
<p><script>if (location.pathname == '/itself') setTimeout(() => location = 'FOREIGN', 50)</script>
"""
LEADS = {"redirect": (None, 0), "link": ("button", 1, "there"), "led": ("button", 1, "away"), "itself": (None, 0)}
HOSTS = ("127.0.0.1", "localhost", "169.254.169.254", "nowhere.invalid")


@pytest.mark.browser
def test_nobody_leads_the_browser_away(shown):
    with Site(lambda _: html("<p>not the portal's")) as other:

        def answer(asked: Asked) -> Answer:
            host = asked.path.rpartition("=")[2]
            foreign = f"http://{host}:{other.port}/"
            if asked.path.startswith("/redirect"):
                return redirect(foreign)
            return html(AWAY.replace("FOREIGN", foreign).replace("HOST", host))

        with Site(answer) as site:
            requests = [
                turns(f"/{path}?to={host}", kind, times, texts=texts, wait=0.7)
                for host in HOSTS
                for path, (kind, times, *texts) in LEADS.items()
            ]
            answers = shown(site, *requests, LOG_LEVEL="ERROR")
            kinds = [[one.get("kind") for one in answers[at : at + 4]] for at in range(0, 16, 4)]
            forbidden, offsite = "forbidden_address", "offsite"
            assert kinds[:2] == [[forbidden, forbidden, forbidden, None]] * 2
            assert kinds[2] == [offsite, forbidden, forbidden, None]  # Scrapy's redirect, and the browser's
            assert kinds[3] == [offsite, offsite, offsite, None]
            assert other.asked == []


@case(lambda asked: redirect("/list") if asked.path == "/" else pages(asked), turns("/", "button", 1, text="Siguiente"))
def test_the_portal_redirects_and_scrapy_follows(seen):
    assert seen.answers[0]["url"] == seen.site.url + "/list?page=2"
    assert ended(seen.answers) == [("1", None)]
    assert paths(seen.site) == ["/", "/list", "/list?page=2"]


@pytest.mark.browser
def test_headers_are_for_the_page_and_a_token_for_the_portal_alone(shown, monkeypatch):
    monkeypatch.setenv("CKAN_API_TOKEN", "secret")
    body = "<script>fetch('/data')</script><iframe src=/frame></iframe><a href=/list>more</a>"
    with Site(lambda asked: html(body if asked.path == "/" else "x")) as site:
        shown(site, turns("/", "button", 1, text="more"), CONTACT="mailto:a@example.org", LOG_LEVEL="ERROR")
        found = {asked.path: asked.headers for asked in site.asked}
        assert set(found) == {"/", "/data", "/frame", "/list"}
        agents = {headers["User-Agent"] for headers in found.values()}
        assert len(agents) == 1
        assert agents.pop().endswith("(+mailto:a@example.org)")
        assert [path for path, headers in found.items() if "Authorization" in headers] == ["/"]
        assert found["/"]["Authorization"] == "secret"


# Pages that never come to rest

HOSTILE = {
    "/alert": "<script>alert(1); confirm(2); prompt(3); print(); onbeforeunload = () => 'stay'</script><p>shown",
    "/busy": "<p>busy<script>setTimeout(() => { while (true); }, 50)</script>",
    "/alerts": "<p>alerts<script>while (true) alert(1)</script>",
    "/reload": "<p>reload<script>location = '/reload?' + Math.random()</script>",
    "/clock": "<p id=now><script>setInterval(() => now.textContent = Math.random(), 20)</script>",
    "/long": "<p>long<script>fetch('/slow')</script>",
    "/huge": "<p id=p><script>p.textContent = 'x'.repeat(3e6)</script>",
    "/endless": "<p>endless",
    "/downloads": "<p>x<script>for (let n = 0; n < 9; n++) fetch('/big?' + n).then(answer => answer.text())</script>",
}


def hostile(asked: Asked) -> Answer:
    path = asked.path.partition("?")[0]
    if path == "/slow":
        time.sleep(8)
    if path == "/big":
        return Answer(b"x" * 500_000)
    if path == "/endless":
        return Answer(itertools.repeat(b"<p>" + b"x" * 60_000), headers=HTML)
    return html(HOSTILE.get(path, "<p>next"))


@case(
    hostile,
    *(turns(path, None, wait=1.0) for path in HOSTILE),
    DOWNLOAD_TIMEOUT="10",  # /huge takes a second, and five on a busy machine
    DOWNLOAD_MAXSIZE="2000000",
    CONCURRENT_REQUESTS="9",
)
def test_pages_that_never_come_to_rest_end_all_the_same(seen):
    kinds = {path: one.get("kind") for path, one in zip(HOSTILE, seen.answers, strict=True)}
    assert kinds == {
        **dict.fromkeys(("/alert", "/clock", "/long")),
        **dict.fromkeys(("/busy", "/alerts", "/reload"), "timeout"),
        **dict.fromkeys(("/huge", "/endless", "/downloads"), "too_large"),
    }
    assert max(seen.moments) - min(seen.moments) < 100


@case(
    lambda asked: html(HOSTILE["/alert"] + "<a href=/next>next</a>" if asked.path == "/" else "<p>2"),
    turns("/", "button", 1, text="next"),
)
def test_a_page_that_asks_whether_to_leave_it_is_left(seen):
    assert seen.answers[0]["url"] == seen.site.url + "/next"


# What is no page


def cut():
    yield b"<p>not all of it"
    raise ConnectionError


OTHERS = {
    "/json": Answer(b'{"a": 1}'),
    "/pdf": Answer(b"%PDF-1.4", headers={"Content-Type": "application/pdf"}),
    "/attached": html("a;b", headers={"Content-Disposition": "attachment; filename=a.csv"}),
    "/error": html("<p>gone", status=410),
    "/empty": Answer(status=500, headers=HTML),
    "/busy": html("<p>later", status=503, headers={"Retry-After": "1"}),
    "/nothing": Answer(status=204, headers={}),
    "/cut": Answer(),
}


BUSY = iter([OTHERS["/busy"]])


def other(asked: Asked) -> Answer:
    if asked.path == "/cut":
        return Answer(cut(), headers=HTML)
    return next(BUSY, html("<p>now")) if asked.path == "/busy" else OTHERS[asked.path]


@case(other, *(turns(path, None) for path in OTHERS), RETRY_TIMES="1", RETRY_HTTP_CODES="503", LOG_LEVEL="CRITICAL")
def test_what_is_no_page_is_told_as_scrapy_tells_it(seen):
    told = dict(zip(OTHERS, seen.answers, strict=True))
    assert [told[path]["body"] for path in ("/json", "/attached")] == ['{"a": 1}', "a;b"]
    assert told["/json"]["headers"]["Page-Turns"] == "0"
    assert [told[path]["error"] for path in ("/error", "/empty")] == ["HTTP 410 Gone", "HTTP 500 Internal Server Error"]
    assert "now" in told["/busy"]["body"]
    assert told["/nothing"]["status"] == 204
    assert told["/cut"]["kind"] == "truncated"


@pytest.mark.browser
def test_hosts_that_can_not_be_reached(shown):
    with Site(pages) as site:
        pass
    assert [one["kind"] for one in shown(site, turns("/", None))] == ["connection"]


# The browser's life


class Stubborn:
    """A driver whose browser refuses to start so many times."""

    runs = True
    refusals = 1

    def __init__(self, crawler) -> None:
        pass

    async def start(self, *_) -> None:
        if Stubborn.refusals:
            Stubborn.refusals -= 1
            raise OSError("Resource temporarily unavailable")

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("refusals", "starts"), [(1, True), (2, False)])
def test_a_browser_that_does_not_start_is_started_once_more(monkeypatch, refusals, starts):
    monkeypatch.setattr("crawlers.components.browser.browser.Driver", Stubborn)
    monkeypatch.setattr(Browser, "_options", lambda _: {})
    monkeypatch.setattr(Stubborn, "refusals", refusals)
    crawler = SimpleNamespace(spider=SimpleNamespace(allowed_domains=["127.0.0.1"]))

    async def start() -> bool:
        browser = Browser(crawler)
        with suppress(AnswerError):
            await browser._start()
        return browser.driver is not None

    assert asyncio.run(start()) is starts


@pytest.mark.browser
def test_a_browser_that_dies_is_started_anew(shown):
    killed = []

    def answer(_: Asked) -> Answer:
        if not killed:
            killed.extend(browsers(site))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return html("<p>here again")

    with Site(answer) as site:
        answers = shown(site, turns("/", None), turns("/2", None), RETRY_TIMES="1", LOG_LEVEL="ERROR")
        assert killed
        assert ["here again" in one["body"] for one in answers] == [True, True]
        assert browsers(site) == []


@pytest.mark.browser
@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_browser_ends_with_the_crawl(shown, way):
    with Site(growing("page = 1")) as site:
        process = shown.start(site, turns("/", "button", 500, text="load more"), JOBDIR=str(shown.folder / "job"))
        assert until(lambda: len(site.asked) > 2)
        assert browsers(site)
        if way == signal.SIGINT:  # a terminal's Ctrl-C is for the driver too
            os.killpg(process.pid, way)
        else:
            process.send_signal(way)
        log = process.communicate(timeout=HANG)[1]
        assert "Traceback" not in log, log
        assert until(lambda: not browsers(site))
        assert (shown.folder / "answers.jsonl").read_bytes() == b""


@pytest.mark.browser
def test_what_was_turned_half_way_is_turned_again_after_a_stop(shown):
    with Site(growing("more.disabled = true", delay=0.3)) as site:
        job = {"JOBDIR": str(shown.folder / "job"), "REQUESTS_PER_SECOND": "2"}
        process = shown.start(site, turns("/", "button", 3, text="load more"), **job)
        assert until(lambda: len(site.asked) > 1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=HANG)
        assert (shown.folder / "answers.jsonl").read_bytes() == b""
        answers = shown(site, turns("/", "button", 3, text="load more"), **job)
        assert ended(answers) == [("3", None)]


@pytest.mark.browser
def test_the_cache_keeps_what_was_turned(shown):
    with Site(growing()) as site:
        asked = [turns("/", "button", times, text="load more") for times in (0, 1, 9)]
        settings = {"HTTPCACHE_ENABLED": "1", "HTTPCACHE_ALWAYS_STORE": "1", **ONE_BY_ONE}
        first = shown(site, *asked, **settings)
        count = len(site.asked)
        second = shown(site, *asked, **settings)
        assert [(one["body"], one["url"]) for one in second] == [(one["body"], one["url"]) for one in first]
        assert ended(second) == ended(first) == [("0", None), ("1", None), ("3", "disabled")]
        assert len(site.asked) == count


# No browser, no Playwright


def test_other_spiders_never_import_playwright():
    code = "import sys, crawlers.settings, crawlers.components.browser; sys.exit('playwright' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_machine_without_a_browser_is_told_how_to_get_one(shown):
    with Site(pages) as site:
        process = shown.start(site, turns("/", None), BROWSER_EXECUTABLE="/no/such/chromium")
        log = process.communicate(timeout=HANG)[1]
        assert "BrowserError BROWSER_EXECUTABLE is /no/such/chromium" in log
        assert site.asked == []


def test_where_a_browser_is_looked_for(monkeypatch, tmp_path):
    for name in ("chromium-9/chrome-linux64/chrome", "bin/google-chrome", "mine"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    mine = Settings({"BROWSER_EXECUTABLE": str(tmp_path / "mine")})
    assert executables.executable(mine) == str(tmp_path / "mine")
    monkeypatch.setattr(executables, "_revision", lambda: "9")
    assert executables.executable(Settings()) == str(tmp_path / "chromium-9/chrome-linux64/chrome")
    monkeypatch.setattr(executables, "_revision", lambda: "10")
    assert executables.executable(Settings()) == str(tmp_path / "bin/google-chrome")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BrowserError, match="apt-get install chromium"):
        executables.executable(Settings())


def test_playwright_is_asked_for_by_name(monkeypatch):
    monkeypatch.setattr(executables, "find_spec", lambda _: None)
    with pytest.raises(BrowserError, match=r"pip install 'catalogue-crawlers\[browser\]'"):
        executables.check_driver()


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        *(("https://a.example/x", True), ("https://a.example:8443/x", True), ("https://www.a.example/", False)),
        *(("http://intranet:8080/", True), ("http://intranet/", False), ("http://b.example/", False)),
        *(("http://127.0.0.1/", False), ("http://2130706433/", False), ("http://[::1]/", False), ("http://[", False)),
        *(("file:///etc/passwd", False), ("ftp://a.example/", False), ("chrome://settings", False)),
        *(("javascript:alert(1)", False), ("data:text/css,", True), ("blob:https://a.example/1", True)),
    ],
)
def test_where_the_browser_may_go(url, allowed):
    guard = Guard({"a.example": "8.8.8.8", "intranet": "10.0.0.7", "b.example": None}, {("intranet", 8080)})
    assert guard.allows(url, "document") is allowed
    assert not guard.allows(url, "image") or url.startswith(("data:", "blob:"))


def test_the_browser_may_not_follow_a_portal_that_was_public(monkeypatch):
    """Also one that has a private address beside a public one."""
    answers = {"was.example": ["10.0.0.7"], "intranet": ["10.0.0.7"], "both.example": ["8.8.8.8", "10.0.0.7"]}

    def resolve(receiver, host, port, *_):
        for address in answers[host]:
            receiver.addressResolved(IPv4Address("TCP", address, port))
        receiver.resolutionComplete()

    ours = PublicOnlyResolver(SimpleNamespace(nameResolver=SimpleNamespace(resolveHostName=resolve)), 0)
    ours.named, ours.public = {(host, 80) for host in answers}, {"was.example"}
    monkeypatch.setattr(PublicOnlyResolver, "installed", lambda: ours)
    guard = asyncio.run(resolved(answers))
    guard.check("http://intranet/")
    for host in ("was.example", "both.example"):
        with pytest.raises(ForbiddenAddressError, match=r"leads to 10\.0\.0\.7.* though it has had a public address"):
            guard.check(f"http://{host}/")
