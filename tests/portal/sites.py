"""CKAN portals on loopback addresses of their own, in one process at one port, and all that goes wrong with portals.

    with Portals({"127.1.0.1": CKAN(datasets=25), "127.1.0.2": hang}) as portals:
        crawl(portals.url("127.1.0.1"))
        assert portals.paths("127.1.0.1") == ["/api/3/action/package_search", ...]

An address that is not named refuses connections.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl

from tests.portal.counting import count

if TYPE_CHECKING:
    import ssl

HTML = "<!DOCTYPE html>\n<html><head><title>A page</title></head><body><p>{}</p></body></html>\n"


@dataclass(frozen=True)
class Asked:
    """A request.

    Args:
        site: the scheme, address and port that were asked.
    """

    method: str
    site: str
    path: str
    query: dict[str, str]
    agent: str = ""

    @property
    def host(self) -> str:
        return self.site.partition("://")[2].partition(":")[0]

    @property
    def action(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass
class Reply:
    """An answer.

    Args:
        sent: the bytes of the body after which the connection is closed; ``None`` for all.
        after: seconds until it is sent.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    sent: int | None = None
    after: float = 0.0

    def encoded(self) -> bytes:
        phrase = next((known.phrase for known in HTTPStatus if known == self.status), "Odd")
        headers = {"Content-Length": str(len(self.body)), **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} {phrase}\r\n{lines}\r\n".encode() + self.body[: self.sent]


Behaviour = Callable[[Asked], "Reply | None"]
"""What a portal answers; ``None``: nothing, for ever."""


def page(text: str = "Welcome", status: int = 200, **headers: str) -> Reply:
    return Reply(status, HTML.format(text).encode(), {"Content-Type": "text/html; charset=utf-8", **headers})


def as_json(content: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(content).encode(), {"Content-Type": "application/json;charset=utf-8"})


def result(value: Any) -> Reply:
    return as_json({"help": "https://example.org/help", "success": True, "result": value})


def refusal(message: str, kind: str = "Authorization Error", status: int = 403) -> Reply:
    error = {"__type": kind, "message": message}
    return as_json({"help": "https://example.org/help", "success": False, "error": error}, status)


def redirect(target: str, status: int = 301) -> Reply:
    return Reply(status, headers={"Location": target})


# What portals are


@dataclass
class CKAN:
    """A healthy portal.

    Args:
        datasets, resources, groups, organizations: how many it has.
        version: ``None`` if it is hidden.
        root: what stands before the API: /data.
        names: how many names a list has at most.
        takes_offset: whether a list goes on where it is asked to.
        sorts: whether package_search sorts.
        refuses: actions that are refused, with the answer to each.
        front: the answer to all other addresses.
        robots: the robots.txt; ``None`` for none.
        status: more fields of status_show.
        wants_post: whether it takes parameters in a body only.
    """

    datasets: int = 25
    resources: int = 60
    groups: int = 4
    organizations: int = 3
    version: str | None = "2.10.4"
    root: str = ""
    names: int = 1000
    takes_offset: bool = True
    sorts: bool = True
    refuses: dict[str, Reply | None] = field(default_factory=dict)
    front: Reply = field(default_factory=page)
    robots: str | None = "User-agent: *\nDisallow: /api/\nCrawl-Delay: 10\n"
    status: dict[str, Any] = field(default_factory=dict)
    wants_post: bool = False
    actions: str = "/api/3/action/"

    def __call__(self, asked: Asked) -> Reply | None:
        if asked.path == "/robots.txt":
            return page("Nothing", 404) if self.robots is None else Reply(body=self.robots.encode())
        if not asked.path.startswith(self.root + self.actions):
            return self.front if asked.path in (self.root, self.root + "/", "/", "") else page("Not found", 404)
        if self.wants_post and asked.method != "POST":
            return refusal("Use POST", "Bad request", 400)
        if asked.action in self.refuses:
            return self.refuses[asked.action]
        known: dict[str, Callable[[Asked], Reply]] = {
            "package_search": self.package_search,
            "status_show": self.status_show,
            "organization_list": lambda asked: self.name_list(asked, "organization", self.organizations),
            "group_list": lambda asked: self.name_list(asked, "group", self.groups),
            "resource_search": lambda _: result({"count": self.resources, "results": []}),
        }
        answer = known.get(asked.action)
        return answer(asked) if answer else as_json("Bad request - Action name not known", 400)

    def package_search(self, asked: Asked) -> Reply:
        is_ascending = asked.query.get("sort", "").endswith("asc") and self.sorts
        numbers = range(self.datasets) if is_ascending else range(self.datasets - 1, -1, -1)
        rows = int(asked.query.get("rows", 10))
        return result({"count": self.datasets, "results": [self.dataset(number) for number in numbers[:rows]]})

    def dataset(self, number: int) -> dict[str, Any]:
        """The first was changed on the first day of 2020, each other one a day later."""
        day = f"{2020 + number // 336}-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}"
        return {"id": f"d{number}", "name": f"dataset-{number}", "metadata_modified": f"{day}T06:00:00.925376"}

    def status_show(self, asked: Asked) -> Reply:
        own = {
            "site_title": f"Portal {asked.host}",
            "site_description": "Data for all",
            "site_url": asked.site,
            "error_emails_to": "errors@example.org",
            "locale_default": "en",
            "extensions": ["stats", "datastore"],
        }
        version = {} if self.version is None else {"ckan_version": self.version}
        return result({**own, **version, **self.status})

    def name_list(self, asked: Asked, kind: str, count: int) -> Reply:
        first = int(asked.query.get("offset", 0)) if self.takes_offset else 0
        return result([f"{kind}-{number}" for number in range(first, count)][: self.names])


def hang(_: Asked) -> None:
    """Answer nothing, for ever."""


def cut(asked: Asked) -> Reply:
    """Close the connection in the middle of each answer."""
    reply = CKAN()(asked) or Reply()
    return Reply(reply.status, reply.body, reply.headers, sent=len(reply.body) // 2)


def html(_: Asked) -> Reply:
    """Answer all with a page under 200."""
    return page("This domain is for sale")


def unavailable(_: Asked) -> Reply:
    return page("Down for maintenance", 503)


def challenge_202(_: Asked) -> Reply:
    """Answer as AWS WAF challenges."""
    return Reply(202, headers={"x-amzn-waf-action": "challenge"})


def challenge_405(_: Asked) -> Reply:
    return Reply(405, headers={"x-amzn-waf-action": "captcha"})


def forbidden(_: Asked) -> Reply:
    return page("Forbidden", 403)


def slow(seconds: float, portal: Behaviour) -> Behaviour:
    """Answer as another portal, later."""

    def answer(asked: Asked) -> Reply | None:
        reply = portal(asked)
        return Reply(reply.status, reply.body, reply.headers, after=seconds) if reply else None

    return answer


def moved(target: str) -> Behaviour:
    """Lead each address to the same at another site."""
    return lambda asked: redirect(target + asked.path)


def led(target: str) -> Behaviour:
    """Lead each address to one page."""
    return lambda _: redirect(target, 302)


class Catalogue:
    """A CKAN catalogue whose packages are portals.

    Args:
        sites: of each portal its name and its address, or more fields of its package.
        finds: the parameters of which one finds the type: fq, q, dataset_type; other filters find nothing, or all.
    """

    def __init__(self, sites: dict[str, Any], finds: str = "fq", else_finds: str = "nothing") -> None:
        self.packages = [self.package(name, given) for name, given in sites.items()]
        self.finds = finds
        self.else_finds = else_finds

    def package(self, name: str, given: Any) -> dict[str, Any]:
        own = given if isinstance(given, dict) else {"url": given}
        return {"id": f"id-of-{name}", "name": name, "title": name.title(), "type": "site", **own}

    def __call__(self, asked: Asked) -> Reply:
        if asked.action != "package_search":
            return page("Not found", 404)
        found = self.chosen(asked.query)
        if found is None:
            return refusal("Search Query is invalid: undefined field type", "Search Query Error", 400)
        last = asked.query.get("fq", "").partition("id:{")[2].partition(" TO")[0].replace("\\", "")
        behind = sorted((one for one in found if one["id"] > last), key=lambda one: str(one["id"]))
        rows = int(asked.query.get("rows", 10))
        return result({"count": len(behind), "results": behind[:rows]})

    def chosen(self, query: dict[str, str]) -> list[dict[str, Any]] | None:
        given = {
            "fq": "type:site" in query.get("fq", "") and "dataset_type" not in query.get("fq", ""),
            "q": "type:site" in query.get("q", ""),
            "dataset_type": "dataset_type:site" in query.get("fq", ""),
        }
        if given[self.finds]:
            return self.packages
        others = [{"id": f"x{number}", "name": f"x{number}", "type": "dataset"} for number in range(3)]
        return {"nothing": [], "all": [*others, *self.packages], "error": None}[self.else_finds]


# The hosts


class Portals:
    """Portals by their address: 127.1.0.1 ... They may be changed while they are served.

    Args:
        sites: what answers at each address.
        tls: the addresses that speak TLS, with what they show; their port is another.
    """

    def __init__(self, sites: dict[str, Behaviour], tls: dict[str, ssl.SSLContext] | None = None) -> None:
        self.sites = sites
        self.tls = tls or {}
        self.log: list[Asked] = []
        self.ports = {is_secure: _free() for is_secure in (False, True)}
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []

    def url(self, host: str, path: str = "") -> str:
        is_secure = host in self.tls
        return f"http{'s' if is_secure else ''}://{host}:{self.ports[is_secure]}{path}"

    def paths(self, host: str) -> list[str]:
        """What was asked of an address, without its robots.txt."""
        return [asked.path for asked in self.log if asked.host == host and asked.path != "/robots.txt"]

    def start(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        while not started.wait(1):
            assert self._thread.is_alive(), "the portals can't listen"
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        started.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        for server in self._servers:
            server.close()
        self._loop.close()

    async def _serve(self) -> None:
        for host in self.sites:
            port = self.ports[host in self.tls]
            self._servers.append(await asyncio.start_server(self._talk, host, port, ssl=self.tls.get(host)))

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answered(reader, writer):
                pass
        except (OSError, EOFError, asyncio.CancelledError):  # the client has gone, or this ends
            pass
        finally:
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Take a request and answer it; return whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        host, port = writer.get_extra_info("sockname")[:2]
        scheme = "https" if writer.get_extra_info("ssl_object") else "http"
        asked = request(head[0], f"{scheme}://{host}:{port}", body, headers.get("user-agent", ""))
        count()
        self.log.append(asked)
        reply = self.sites[host](asked)
        await asyncio.sleep(3600 if reply is None else reply.after)
        reply = reply or Reply()
        writer.write(reply.encoded())
        await writer.drain()
        return reply.sent is None


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def request(line: str, site: str, body: bytes, agent: str) -> Asked:
    method, target, _ = line.split(" ")
    path, _, query = target.partition("?")
    given: Iterable[tuple[str, Any]] = parse_qsl(query)
    if body:
        given = json.loads(body).items()
    return Asked(method, site, path, {name: str(value) for name, value in given}, agent)
