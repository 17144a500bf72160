"""A small CKAN portal on the loopback that is odd in one way: each oddity is a function, in the table of what it turns.

The portal of `server.py` fails as portals do; this one does what nobody would think of.
"""

import gzip
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.portal.counting import count

Dataset = dict[str, Any]
Function = TypeVar("Function", bound=Callable[..., Any])

KEYSET = re.compile(r"id:\{(.*?) TO \*\]", re.DOTALL)
JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html"}


@dataclass(frozen=True)
class Answer:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: JSON)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    parameters: dict[str, Any]

    @classmethod
    def read(cls, method: str, address: str, body: bytes) -> Self:
        parts = urlsplit(address)
        posted = json.loads(body) if body else {}
        return cls(method, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)) | posted)


@dataclass(frozen=True)
class Search:
    """A package_search.

    Args:
        nth: 1 for the first that this portal is asked.
        last: the id that the page begins behind; ``None`` for a page by offset.
    """

    nth: int
    rows: int
    start: int
    last: str | None


@dataclass
class Page:
    """What a search finds, before it is written."""

    records: list[Any]
    count: Any


DATASETS: dict[str, Callable[..., None]] = {}
SORTS: dict[str, Callable[[Dataset], Any]] = {}
SEARCHES: dict[str, Callable[..., Search]] = {}
PAGES: dict[str, Callable[..., None]] = {}
LISTINGS: dict[str, Callable[..., Answer]] = {}
EXPORTS: dict[str, Callable[..., Answer]] = {}
ROUTES: dict[str, Callable[..., Answer | None]] = {}


def odd(table: dict[str, Any]) -> Callable[[Function], Function]:
    """Puts a function into a table, under its own name."""

    def register(function: Function) -> Function:
        table[function.__name__] = function
        return function

    return register


class OddPortal:
    """A portal with one oddity, in a thread.

        with OddPortal("empty_second") as site:
            crawl("ckan", site)
            assert len(site.log) == 3

    Args:
        oddity: the name of a function of this module.
        about: what that function takes besides, as the changes of ``have``.
        datasets: how many; dataset 4 is ``id00004`` with the resource ``r00004``.
        most: how many it gives at once, whatever it is asked for.

    Attributes:
        log: every request so far: method, and path with its query.
    """

    def __init__(self, oddity: str = "", *about: Any, datasets: int = 40, most: int = 10) -> None:
        self.most = most
        self.log: list[str] = []
        self.searches = 0
        self.oddity = oddity
        self.about = about
        self.datasets = [dataset(number) for number in range(datasets)]
        self.turned(DATASETS, self.datasets)
        self.turning = Lock()

    def __enter__(self) -> Self:
        self.server = Server(self)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def is_now(self, oddity: str, *about: Any) -> None:
        """From here on the portal is odd in another way, or in none."""
        self.oddity, self.about = oddity, about

    def ids(self) -> list[str]:
        return sorted(dataset["id"] for dataset in self.datasets)

    def asked(self, part: str) -> list[str]:
        """The requests so far that have this in them."""
        return [line for line in self.log if part in line]

    def turned(self, table: dict[str, Callable[..., Any]], thing: Any, *context: Any) -> Any:
        """The thing as the oddity makes it, if the oddity is one of that table."""
        turn = table.get(self.oddity)
        return turn(thing, *context, *self.about) if turn else thing

    def answer(self, request: Request) -> Answer:
        with self.turning:
            route = ROUTES.get(self.oddity)
            return (route and route(request, self, *self.about)) or self.route(request)

    def route(self, request: Request) -> Answer:
        match [unquote(part) for part in request.path.strip("/").split("/")]:
            case [*_, "package_search"]:
                return self.search(request.parameters)
            case [*_, "package_show"]:
                return result(named(request.parameters["id"], self.datasets))
            case [*_, "resource_show"]:
                return result(named(request.parameters["id"], self.resources()))
            case ["dataset", *_, identifier, "download_metadata"]:
                answer: Answer = self.turned(EXPORTS, json_answer({"id": identifier, "name": "an export"}))
                return answer
            case ["robots.txt"]:
                return Answer(b"User-agent: *\nDisallow:\n", headers={"Content-Type": "text/plain"})
        return Answer(b"<h1>Log in</h1>", 404 if "login" not in request.path else 200, HTML)

    def search(self, parameters: dict[str, Any]) -> Answer:
        self.searches += 1
        keyset = KEYSET.search(parameters.get("fq", ""))
        last = re.sub(r"\\(.)", r"\1", keyset[1], flags=re.DOTALL) if keyset else None
        rows = min(int(parameters.get("rows", 10)), self.most)
        search: Search = self.turned(SEARCHES, Search(self.searches, rows, int(parameters.get("start", 0)), last))
        page = self.page(search)
        self.turned(PAGES, page, search)
        listing = result({"count": page.count, "results": page.records})
        answer: Answer = self.turned(LISTINGS, listing, search)
        return answer

    def page(self, search: Search) -> Page:
        ordered = sorted(self.datasets, key=SORTS.get(self.oddity, by_id))
        left = [one for one in ordered if search.last is None or one["id"] > search.last]
        return Page(left[search.start : search.start + search.rows], len(left))

    def resources(self) -> Iterable[Dataset]:
        return (one for dataset in self.datasets for one in dataset["resources"] or () if isinstance(one, dict))


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, portal: OddPortal) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.portal = portal

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error of the portal."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.reply()

    def do_POST(self) -> None:
        self.reply()

    def reply(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        count()
        self.server.portal.log.append(f"{self.command} {self.path}")
        answer = self.server.portal.answer(Request.read(self.command, self.path, body))
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *arguments: Any) -> None:
        """The portal has its own log."""


def dataset(number: int, identifier: str | None = None) -> Dataset:
    return {
        "id": identifier or f"id{number:05d}",
        "name": f"dataset-{number}",
        "title": f"Dataset {number}",
        "metadata_modified": "2026-01-01T00:00:00",
        "resources": [{"id": f"r{number:05d}", "name": f"Table {number}", "url": "https://example.org/a.csv"}],
    }


def named(identifier: str, among: Iterable[Dataset]) -> Dataset | None:
    return next((one for one in among if str(one.get("id")) == identifier), None)


def by_id(dataset: Dataset) -> Any:
    return dataset["id"]


def json_answer(content: Any, status: int = 200) -> Answer:
    return Answer(json.dumps(content).encode(), status)


def result(found: Any) -> Answer:
    if found is None:
        return json_answer({"success": False, "error": {"__type": "Not Found Error"}}, 404)
    return json_answer({"success": True, "result": found})


# What there is


@odd(DATASETS)
def have(datasets: list[Dataset], changes: dict[int, Dataset]) -> None:
    for number, change in changes.items():
        datasets[number].update(change)


@odd(DATASETS)
def are_called(datasets: list[Dataset], ids: list[str]) -> None:
    datasets[:] = [dataset(number, identifier) for number, identifier in enumerate(ids)]


# In which order, and how much of it


@odd(SORTS)
def ignores_case(dataset: Dataset) -> Any:
    """Solr sorts by a field of its own, and compares by code point."""
    return dataset["id"].lower()


@odd(SEARCHES)
def uneven(search: Search) -> Search:
    return replace(search, rows=max(1, search.rows - search.nth * 3 % 10))


# What a page says


@odd(PAGES)
def empty_first(page: Page, search: Search) -> None:
    if search.nth == 1:
        page.records, page.count = [], 0


@odd(PAGES)
def empty_second(page: Page, search: Search) -> None:
    if search.nth == 2:
        page.records, page.count = [], 0


@odd(PAGES)
def empty_second_with_a_count(page: Page, search: Search) -> None:
    """Nothing is on the page, and the count is right."""
    if search.nth == 2:
        page.records = []


@odd(PAGES)
def dropsome(page: Page, search: Search) -> None:
    """The first record behind an id is lost, whatever it is; by offset all are there."""
    if search.last is not None:
        page.records = page.records[1:]


@odd(PAGES)
def dropsome_everywhere(page: Page, search: Search) -> None:
    """One record is in no page at all, and is counted."""
    page.records = [one for one in page.records if one["id"] != "id00014"]


@odd(PAGES)
def dropsome_and_counts_no_more(page: Page, search: Search) -> None:
    """As above, and asked for the count alone it gives none."""
    dropsome_everywhere(page, search)
    if search.rows == 0:
        page.count = None


@odd(PAGES)
def duplicates(page: Page, search: Search) -> None:
    page.records += page.records[:1]


@odd(PAGES)
def count_is_off(page: Page, search: Search, by: int) -> None:
    page.count += by


@odd(PAGES)
def count_is_text(page: Page, search: Search) -> None:
    page.count = str(page.count)


# How a listing is written


@odd(LISTINGS)
def second_is(listing: Answer, search: Search, answer: Answer) -> Answer:
    return answer if search.nth == 2 else listing


@odd(LISTINGS)
def latin1(listing: Answer, search: Search) -> Answer:
    body = json.dumps(json.loads(listing.body) | {"help": "é"}, ensure_ascii=False).encode("latin-1")
    return Answer(body, headers={"Content-Type": "application/json; charset=iso-8859-1"})


@odd(LISTINGS)
def bom(listing: Answer, search: Search) -> Answer:
    return replace(listing, body=b"\xef\xbb\xbf" + listing.body)


@odd(LISTINGS)
def utf16(listing: Answer, search: Search) -> Answer:
    return replace(listing, body=listing.body.decode().encode("utf-16"))


@odd(LISTINGS)
def zipped(listing: Answer, search: Search) -> Answer:
    return replace(listing, body=gzip.compress(listing.body), headers=JSON | {"Content-Encoding": "gzip"})


@odd(LISTINGS)
def says_it_is_zipped(listing: Answer, search: Search) -> Answer:
    return replace(listing, headers=JSON | {"Content-Encoding": "gzip"})


# What an export is


@odd(EXPORTS)
def exports_are(export: Answer, answer: Answer) -> Answer:
    return answer


@odd(EXPORTS)
def exports_need_a_login(export: Answer) -> Answer:
    return Answer(status=302, headers={"Location": "/user/login"})


# Where things are, and when


@odd(ROUTES)
def growing(request: Request, portal: OddPortal) -> None:
    """A dataset is added with every search, behind all others."""
    if "package_search" in request.path:
        portal.datasets.append(dataset(len(portal.datasets)))


@odd(ROUTES)
def changes_at_once(request: Request, portal: OddPortal, by: int) -> None:
    """While it is listed, many are added behind all others, or the last ones are removed."""
    if "package_search" in request.path and portal.searches == 1:
        portal.datasets += [dataset(len(portal.datasets) + number) for number in range(by)]
        del portal.datasets[len(portal.datasets) + min(by, 0) :]


@odd(ROUTES)
def loses_the_query(request: Request, portal: OddPortal) -> Answer | None:
    """A slash is added, and what was asked for is forgotten."""
    if request.path.startswith("/api/") and not request.path.endswith("/"):
        return Answer(status=301, headers={"Location": f"{request.path}/"})
    return None


@odd(ROUTES)
def post_becomes_get(request: Request, portal: OddPortal) -> Answer | None:
    """It wants POST, and sends it on to where a GET finds everything."""
    if request.path.startswith("/moved"):
        return None
    if request.method == "GET":
        return Answer(b"POST, please", 400, HTML)
    return Answer(status=302, headers={"Location": f"/moved{request.path}"})
