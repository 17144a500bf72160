"""What the HTML catalogues have in common: their datasets, their pages, and what goes wrong at such."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.message import Message
from email.utils import formatdate, parsedate_to_datetime
from math import ceil
from typing import ClassVar
from urllib.parse import parse_qsl, urlsplit

from tests.portal.html.data import Entry, text
from tests.site import Answer, Asked, Site, redirect

EPOCH = 1_780_000_000  # of the first Last-Modified
HTML = {"Content-Type": "text/html; charset=utf-8"}
FAULTS = (
    *(
        "http_500",
        "cut",
        "slow",
        "missing_title",
        "gone",
        "soft_404",
        "leads_back",
        "unlisted",
        "etag",
        "last_modified",
        "session",
        "calendar",
    ),
    *(
        "endless",
        "repeat_last",
        "no_such_page",
        "empty_middle",
        "foreign",
        "robots",
        "redirect",
        "private",
        "off_host",
        "expires",
    ),
)


@dataclass(frozen=True)
class Visit:
    """A request as a catalogue sees it, without the session id that may be in its address.

    Args:
        form: what was posted; ``None`` when nothing was.
    """

    path: str
    query: dict[str, str]
    form: dict[str, str] | None
    headers: Message

    @classmethod
    def of(cls, asked: Asked) -> Visit:
        parts = urlsplit(asked.path)
        posted = asked.body.decode()
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        query.pop("PHPSESSID", None)
        form = dict(parse_qsl(posted, keep_blank_values=True)) if posted else None
        return cls(re.sub(";jsessionid=[0-9]+", "", parts.path), query, form, asked.headers)


class HTMLCatalogue(Site):
    """A catalogue of datasets 0, 1, 2 ...: a listing in pages, and a page for each. A family says how they look.

        with Drupal(25, per_page=10, faults={"http_500": "2:1"}) as catalogue:
            crawl("html", rules=rules("drupal", catalogue))
            catalogue.change("ds-0007")

    Args:
        faults: may be changed while it runs.

            ``http_500=page:times``, ``cut=page:times``: of the listing. ``slow=seconds``: every answer but robots.txt.
            ``missing_title=id``. ``gone=id``: 404, and not listed. ``soft_404=id``: the same with status 200.
            ``leads_back=id``: the same, and it is redirected to the listing. ``unlisted=id``: not listed, and there.
            ``etag``, ``last_modified``: of datasets' pages. ``session=path|query``: an id in every link, another one in
            each answer. ``calendar``: behind the last page there are months without end. ``endless=new|same``: there is
            always a next page, of datasets never seen, or of the last page's under a longer address.
            ``repeat_last``: behind the last page it comes again. ``no_such_page``: 404 comes. Else a page without
            datasets comes. ``empty_middle=page``: it is empty, once. ``foreign``: the listing links to datasets
            elsewhere. ``robots=path``: what is disallowed. ``redirect=id``: to another host. ``private``, ``off_host``:
            pages with JavaScript fetch from another host, or load a script from there. ``expires=page:times``: the
            session ends before that page, of those that have one.

    Attributes:
        asked: every request so far.
        answered: how many of which status.
    """

    start: ClassVar[str]
    """The listing's path."""
    language: ClassVar[str] = "de"
    first: ClassVar[int] = 1
    parameter: ClassVar[str] = "page"
    """Of the listing's address: the number of the page, from `first` on."""
    detail: ClassVar[str]
    """Of a dataset's page: the path, with ``{}`` for its id."""

    def __init__(
        self, datasets: int = 25, *, per_page: int = 10, faults: Mapping[str, object] = {}, port: int = 0
    ) -> None:
        super().__init__(self.counted, port=port)
        assert set(faults) <= set(FAULTS), faults
        self.per_page = per_page
        self.faults = {fault: str(value) for fault, value in faults.items()}
        self.failed: Counter[str] = Counter()
        self.answered: Counter[int] = Counter()
        self.entries = {self.key(entry): entry for entry in map(Entry, range(datasets))}

    # What a test does

    @property
    def address(self) -> str:
        return self.url + self.start

    def key(self, entry: Entry) -> str:
        """The id in the dataset's address."""
        return entry.id

    def ids(self) -> list[str]:
        """Of all that are listed."""
        return sorted(self.key(entry) for entry in self.listed())

    def change(self, identifier: str) -> None:
        entry = self.entries[identifier]
        self.entries[identifier] = replace(entry, revision=entry.revision + 1)

    def requests(self) -> Counter[str]:
        """How many there were: of ``robots``, the ``listing``, ``datasets`` and what is ``other``."""
        return Counter(self.kind(Visit.of(asked)) for asked in self.asked if "favicon" not in asked.path)

    def kind(self, visit: Visit) -> str:
        if visit.path == "/robots.txt":
            return "robots"
        if self.dataset_id(visit) is not None:
            return "datasets"
        return "other" if self.number(visit) is None else "listing"

    def hosts(self) -> set[str]:
        """That were asked."""
        return {asked.headers.get("Host", "") for asked in self.asked}

    # What it answers

    def counted(self, asked: Asked) -> Answer:
        answer = self.reply(asked)
        self.answered[answer.status] += 1
        return answer

    def reply(self, asked: Asked) -> Answer:
        visit = Visit.of(asked)
        if visit.path == "/robots.txt":
            refused = self.faults.get("robots")
            rules = f"User-agent: *\nDisallow: {refused}\n" if refused else ""
            return Answer(rules.encode(), 200 if refused else 404, {"Content-Type": "text/plain"})
        time.sleep(float(self.faults.get("slow", 0)))
        key, number = self.dataset_id(visit), self.number(visit)
        if key is not None:
            return self.dataset(key, visit)
        return self.other(visit) if number is None else self.page(number, visit)

    def other(self, visit: Visit) -> Answer:
        """What is neither a page of the listing nor a dataset's."""
        return NOT_FOUND

    def dataset_id(self, visit: Visit) -> str | None:
        prefix, _, suffix = self.detail.partition("{}")
        if not (visit.path.startswith(prefix) and visit.path.endswith(suffix)):
            return None
        return visit.path.removeprefix(prefix).removesuffix(suffix)

    def dataset(self, key: str, visit: Visit) -> Answer:
        entry = self.entries.get(key) or self.endless(key)
        if entry is None or key == self.faults.get("gone"):
            return NOT_FOUND
        if key == self.faults.get("soft_404"):
            return self.html("Fehler", "<p>Die Seite wurde nicht gefunden.</p>")
        if key == self.faults.get("redirect"):
            return redirect(self.elsewhere(visit.path))
        if key == self.faults.get("leads_back"):
            return redirect(self.start)
        answer = self.html(entry.title, self.detailed(entry), self.head(entry))
        headers = {**answer.headers, **self.validators(entry)}
        return Answer(status=304, headers=headers) if unchanged(visit, headers) else replace(answer, headers=headers)

    def endless(self, key: str) -> Entry | None:
        """A dataset never seen, where there are such."""
        number = key.rpartition("-")[2]
        return Entry(int(number)) if self.faults.get("endless") == "new" and number.isdigit() else None

    def elsewhere(self, path: str) -> str:
        """Another host, which is this one by another name."""
        return f"http://localhost:{self.port}{path}"

    def validators(self, entry: Entry) -> dict[str, str]:
        found = {
            "etag": ("ETag", f'"{hashlib.sha256(repr(entry).encode()).hexdigest()[:16]}"'),
            "last_modified": ("Last-Modified", formatdate(EPOCH + entry.revision, usegmt=True)),
        }
        return dict(found[fault] for fault in found if fault in self.faults)

    def page(self, number: int, visit: Visit) -> Answer:
        if self.fails("http_500", number):
            return Answer(b"<h1>Server error</h1>", 500, HTML)
        if number > self.last and "no_such_page" in self.faults:
            return NOT_FOUND
        if "repeat_last" in self.faults:
            number = min(number, self.last)
        answer = self.html("Datensätze", self.listing(number, visit) + self.lured(visit))
        assert isinstance(answer.body, bytes)
        half = answer.body[: len(answer.body) // 2]
        return replace(answer, body=_cut(half)) if self.fails("cut", number) else answer

    def fails(self, fault: str, number: int) -> bool:
        page, _, times = self.faults.get(fault, "").partition(":")
        if page != str(number) or self.failed[fault] >= int(times or 1):
            return False
        self.failed[fault] += 1
        return True

    def html(self, title: str, body: str, head: str = "") -> Answer:
        """A page, with what stands around its contents at every portal."""
        return Answer(
            self.in_session(PAGE.format(language=self.language, title=text(title), head=head, body=body)), 200, HTML
        )

    def in_session(self, page: str) -> bytes:
        kind, number = self.faults.get("session"), len(self.asked)
        if kind == "path":
            page = re.sub(r'(href="/[^"?]*)', rf"\1;jsessionid={number}", page)
        elif kind == "query":
            page = re.sub(r'(href="/[^"?]*)\?', rf"\1?PHPSESSID={number}&amp;", page)
            page = re.sub(r'(href="/[^"?]*)"', rf'\1?PHPSESSID={number}"', page)
        return page.encode()

    # What is on a page of the listing

    def listed(self) -> list[Entry]:
        hidden = {self.faults.get(fault) for fault in ("gone", "soft_404", "leads_back", "unlisted")}
        return [entry for key, entry in self.entries.items() if key not in hidden]

    @property
    def last(self) -> int:
        return max(1, ceil(len(self.listed()) / self.per_page))

    def on_page(self, number: int) -> list[Entry]:
        if self.fails("empty_middle", number):
            return []
        start = (number - 1) * self.per_page
        if number > self.last and "endless" in self.faults:
            new = self.faults["endless"] == "new"
            return list(map(Entry, range(start, start + self.per_page))) if new else self.on_page(self.last)
        return self.listed()[start : start + self.per_page]

    def following(self, number: int) -> int | None:
        """The page that a page says is next."""
        return number + 1 if number < self.last or "endless" in self.faults else None

    def number(self, visit: Visit) -> int | None:
        """Which page of the listing is asked for; ``None`` if none is."""
        if visit.path != self.start:
            return None
        given = visit.query.get(self.parameter, "")
        return int(given) - self.first + 1 if given.isdigit() else 1

    def link(self, number: int) -> str:
        longer = f"&amp;von={'0' * number}" if self.faults.get("endless") == "same" else ""
        return f"{self.start}?{self.parameter}={number + self.first - 1}{longer}"

    def lured(self, visit: Visit) -> str:
        """The links that lead nowhere good."""
        if "calendar" in self.faults and (self.number(visit) or 1) >= self.last:
            month = int(visit.query.get("monat", "0")) + 1
            return f'<a rel="next" href="{self.link(self.last)}&amp;monat={month}">Monat {month} ›</a>'
        return ""

    def href(self, entry: Entry) -> str:
        return self.detail.format(self.key(entry))

    def links(self, number: int) -> list[tuple[str, str, Entry | None]]:
        """Address and text of the links to datasets on a page of the listing."""
        found: list[tuple[str, str, Entry | None]] = [
            (self.href(entry), entry.title, entry) for entry in self.on_page(number)
        ]
        if "foreign" in self.faults and number == 1:
            found.append((f"https://other.example.org{self.detail.format('ds-9999')}", "Anderswo", None))
        return found

    def title(self, entry: Entry) -> str:
        """As it stands on the dataset's page."""
        return "" if self.faults.get("missing_title") == self.key(entry) else text(entry.title)

    # What a family says

    def listing(self, number: int, visit: Visit) -> str:
        raise NotImplementedError

    def detailed(self, entry: Entry) -> str:
        raise NotImplementedError

    def head(self, entry: Entry) -> str:
        return ""


NOT_FOUND = Answer(b"<h1>Not found</h1>", 404, HTML)
PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head><meta charset="utf-8"><title>{title} | Open Data</title>{head}</head>
<body>
<header><a href="/" class="logo">Open Data</a>
<nav><ul><li><a href="/">Start</a></li><li><a href="/hilfe">Hilfe</a></li>
<li><a href="/kontakt">Kontakt</a></li></ul></nav>
</header>
<main>{body}</main>
<footer><a href="/impressum">Impressum</a> <a href="mailto:daten@example.org">daten@example.org</a></footer>
</body>
</html>
"""


def unchanged(visit: Visit, headers: dict[str, str]) -> bool:
    if (tags := visit.headers.get("If-None-Match")) and "ETag" in headers:
        return headers["ETag"] in tags
    since, modified = visit.headers.get("If-Modified-Since"), headers.get("Last-Modified")
    return bool(since and modified) and parsedate_to_datetime(str(since)) >= parsedate_to_datetime(str(modified))


def window(number: int, last: int, around: int = 2) -> list[int]:
    """The pages that a pager shows: the first, the last, and those next to the one it is on."""
    near = range(max(1, number - around), min(last, number + around) + 1)
    return sorted({1, *near, last})


def _cut(part: bytes) -> Iterator[bytes]:
    yield part
    raise ConnectionError
