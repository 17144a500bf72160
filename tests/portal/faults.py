"""What can go wrong at a portal: each fault is one function, in the table of the moment it acts at."""

import json
import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from itertools import count
from typing import Any, TypeVar

from tests.portal import data
from tests.portal.catalogue import Catalogue, Dataset, Page, Search
from tests.portal.message import Answer, Request, json_answer, page
from tests.portal.search import KEYSET, QuerySyntaxError

Function = TypeVar("Function", bound=Callable[..., Any])

LONGEST_HANG = 3_600
DEPTH = 3_000


@dataclass
class Fault:
    """A fault that is switched on; what it remembers is forgotten when it is switched off."""

    value: str
    catalogue: Catalogue
    seen: defaultdict[str, "count[int]"] = field(default_factory=lambda: defaultdict(count))

    @property
    def number(self) -> int:
        return int(self.value or 1)

    def hits(self, request: Request) -> bool:
        return self.value in request.address

    def first(self, key: str, times: int = 1) -> bool:
        return next(self.seen[key]) < times

    def is_due(self, request: Request) -> bool:
        """Whether the request is the write that is meant: "7" is the seventh, "7+" each from the seventh on."""
        number, nth = request.write_number, self.value.partition(":")[0]
        return 0 < int(nth[:-1]) <= number if nth.endswith("+") else number == int(nth)

    def chosen(self, dataset: Dataset) -> bool:
        """The dataset that is named, or the one with the lowest id."""
        if self.value:
            return self.value in {dataset.id, dataset.term("name")}
        return dataset is self.catalogue.lowest()


@dataclass
class Result:
    """A page of a listing, about to be written."""

    page: Page
    records: list[bytes]
    count: int | None


INSTEAD: dict[str, Callable[[Fault, Request], Answer | None]] = {}
SEARCHES: dict[str, Callable[[Fault, Search], Search]] = {}
PAGES: dict[str, Callable[[Fault, Page], None]] = {}
RECORDS: dict[str, Callable[[Fault, bytes], bytes]] = {}
RESULTS: dict[str, Callable[[Fault, Result], None]] = {}
ANSWERS: dict[str, Callable[[Fault, Request, Answer], Answer]] = {}
FIELDS: dict[str, Callable[[Fault, list[str]], list[str]]] = {}
SWITCHES = {"no_locale", "evil_ids", "still_stamps", "forgets", "invalid"}
WRITE = re.compile(r"/(package|resource|datastore)_(create|patch|update|delete|upsert)$")
TABLES: tuple[dict[str, Any], ...] = (INSTEAD, SEARCHES, FIELDS, PAGES, RECORDS, RESULTS, ANSWERS)


def acts(table: dict[str, Function]) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        table[function.__name__] = function
        return function

    return register


def names() -> list[str]:
    return sorted(SWITCHES.union(*TABLES))


class UnknownFaultError(ValueError):
    """No fault has this name."""


@dataclass
class Faults:
    catalogue: Catalogue
    on: dict[str, Fault] = field(default_factory=dict)
    writes: "count[int]" = field(default_factory=lambda: count(1))

    def switch(self, name: str, value: object = "") -> None:
        """None or False switches a fault off, True switches one on that has no value. Writes are counted from here."""
        self.writes = count(1)
        if name not in names():
            raise UnknownFaultError(f"No fault {name!r}; there are: {', '.join(names())}")
        off = value is None or value is False
        on = {other: fault for other, fault in self.on.items() if other != name}
        self.on = on if off else {**on, name: Fault("" if value is True else str(value), self.catalogue)}
        if name == "evil_ids":
            self._switch_evil(off=off)

    def _switch_evil(self, *, off: bool) -> None:
        for package in data.evil_packages():
            if off:
                self.catalogue.remove(package["id"])
            else:
                self.catalogue.put(package)

    def active(self, table: dict[str, Function]) -> list[tuple[Function, Fault]]:
        return [(table[name], fault) for name, fault in self.on.items() if name in table]

    def instead(self, request: Request) -> Answer | None:
        if request.method == "POST" and WRITE.search(request.path):
            request.write_number = next(self.writes)
        answers = (act(fault, request) for act, fault in self.active(INSTEAD))
        return next((answer for answer in answers if answer), None)

    def search(self, search: Search) -> Search:
        for act, fault in self.active(SEARCHES):
            search = act(fault, search)
        return search

    def fields(self, fields: list[str]) -> list[str]:
        for act, fault in self.active(FIELDS):
            fields = act(fault, fields)
        return fields

    def page(self, found: Page) -> None:
        for act, fault in self.active(PAGES):
            act(fault, found)

    def record(self, dataset: Dataset) -> bytes:
        record = dataset.record
        for act, fault in self.active(RECORDS):
            if fault.chosen(dataset):
                record = act(fault, record)
        return record

    def result(self, result: Result) -> None:
        for act, fault in self.active(RESULTS):
            act(fault, result)

    def answer(self, request: Request, answer: Answer) -> Answer:
        for act, fault in self.active(ANSWERS):
            answer = act(fault, request, answer)
        return answer


# ---- another answer, or none


@acts(INSTEAD)
def unavailable(fault: Fault, request: Request) -> Answer | None:
    return page(503) if fault.first(request.key, fault.number) else None


@acts(INSTEAD)
def too_many(fault: Fault, request: Request) -> Answer | None:
    return replace(page(429), headers={"Retry-After": "1"}) if fault.first(request.key, fault.number) else None


@acts(INSTEAD)
def error(fault: Fault, request: Request) -> Answer | None:
    return page(500) if fault.hits(request) else None


@acts(INSTEAD)
def gone(fault: Fault, request: Request) -> Answer | None:
    return page(404) if fault.hits(request) else None


@acts(INSTEAD)
def longest(fault: Fault, request: Request) -> Answer | None:
    """4094 is the request line that gunicorn takes, with its method and version."""
    line = f"{request.method} {request.address} HTTP/1.1\r\n"
    return page(400 if fault.number % 2 else 414) if len(line) > fault.number else None


@acts(INSTEAD)
def forbidden(fault: Fault, request: Request) -> Answer | None:
    return page(403) if fault.hits(request) else None


@acts(INSTEAD)
def success_false(fault: Fault, request: Request) -> Answer | None:
    details = {"__type": "Search Error", "message": "SOLR is away"}
    return json_answer({"success": False, "error": details}) if fault.hits(request) else None


@acts(INSTEAD)
def html(fault: Fault, request: Request) -> Answer | None:
    return page(200, "Welcome to our portal") if fault.hits(request) else None


@acts(INSTEAD)
def robot_check(fault: Fault, request: Request) -> Answer | None:
    words = "Please verify that you're not a robot. JavaScript is disabled"
    return page(200, words) if fault.hits(request) else None


@acts(INSTEAD)
def waf(fault: Fault, request: Request) -> Answer | None:
    return Answer(202, headers={"x-amzn-waf-action": "challenge"}) if fault.hits(request) else None


@acts(INSTEAD)
def slow(fault: Fault, request: Request) -> Answer | None:
    seconds, _, part = fault.value.partition(":")
    if part in request.address:
        time.sleep(float(seconds or 1))
    return None


@acts(INSTEAD)
def hang(fault: Fault, request: Request) -> Answer | None:
    if not fault.hits(request):
        return None
    time.sleep(LONGEST_HANG)
    return Answer(200, silent=True)


@acts(INSTEAD)
def drop(fault: Fault, request: Request) -> Answer | None:
    return Answer(200, silent=True) if fault.hits(request) else None


@acts(INSTEAD)
def old(_fault: Fault, request: Request) -> Answer | None:
    return page(404) if request.path.startswith("/api/3/") else None


@acts(INSTEAD)
def post_only(_fault: Fault, request: Request) -> Answer | None:
    refused = request.method == "GET" and request.path.startswith("/api/")
    return json_answer("Bad request - JSON Error: No request body data", 400) if refused else None


@acts(INSTEAD)
def post_please(_fault: Fault, request: Request) -> Answer | None:
    """The same, in CKAN's envelope."""
    refused = request.method == "GET" and request.path.startswith("/api/")
    details = {"__type": "Bad Request", "message": "Actions are asked for by POST"}
    return json_answer({"success": False, "error": details}, 400) if refused else None


@acts(INSTEAD)
def away(fault: Fault, request: Request) -> Answer | None:
    """An error that CKAN did not make, in an envelope like its own."""
    details = {"success": False, "error": "database is down"}
    return json_answer(details, 404) if fault.hits(request) else None


@acts(INSTEAD)
def unknown(fault: Fault, request: Request) -> Answer | None:
    """The portal has lost its database, and its search index knows the datasets still."""
    details = {"__type": "Not Found Error", "message": "Not found"}
    return json_answer({"success": False, "error": details}, 404) if fault.hits(request) else None


@acts(INSTEAD)
def denied(fault: Fault, request: Request) -> Answer | None:
    """The whole portal, or an action of it, is closed to the public."""
    details = {"__type": "Authorization Error", "message": "Access denied"}
    return json_answer({"success": False, "error": details}, 403) if fault.hits(request) else None


@acts(INSTEAD)
def redirect(fault: Fault, request: Request) -> Answer | None:
    moved = request.method == "GET" and request.path.startswith("/api/")
    return replace(page(302), headers={"Location": fault.value + request.address}) if moved else None


# ---- writes; the value begins with the number of the write: "7" or, from there on, "7+"


@acts(INSTEAD)
def write_fails(fault: Fault, request: Request) -> Answer | None:
    """7:500 gives that status, and nothing is written."""
    return page(int(fault.value.partition(":")[2] or 500)) if fault.is_due(request) else None


@acts(INSTEAD)
def write_refused(fault: Fault, request: Request) -> Answer | None:
    details = {"__type": "Validation Error", "num_datasets": ["Invalid integer"]}
    return json_answer({"success": False, "error": details}, 409) if fault.is_due(request) else None


@acts(INSTEAD)
def write_limited(fault: Fault, request: Request) -> Answer | None:
    return replace(page(429), headers={"Retry-After": "1"}) if fault.is_due(request) else None


@acts(INSTEAD)
def write_hangs(fault: Fault, request: Request) -> Answer | None:
    """Nothing is written, and no answer comes."""
    if fault.is_due(request):
        time.sleep(LONGEST_HANG)
    return None


@acts(INSTEAD)
def write_moved(fault: Fault, request: Request) -> Answer | None:
    """7:https://elsewhere.example leads there."""
    target = fault.value.partition(":")[2]
    return replace(page(308), headers={"Location": target + request.address}) if fault.is_due(request) else None


@acts(INSTEAD)
def write_edited(fault: Fault, request: Request) -> Answer | None:
    """7:ID: somebody else edits that dataset just before the write."""
    if fault.is_due(request):
        fault.catalogue.edit(fault.value.partition(":")[2], {"title": "Edited by somebody else"})
    return None


@acts(ANSWERS)
def write_lost(fault: Fault, request: Request, answer: Answer) -> Answer:
    """The write is done, and its answer lost: 7 ends the connection, 7:502 answers as a proxy, 7:hang never does."""
    if not fault.is_due(request):
        return answer
    status = fault.value.partition(":")[2]
    if status == "hang":
        time.sleep(LONGEST_HANG)
    return page(int(status)) if status.isdecimal() else Answer(200, silent=True)


# ---- another search


@acts(SEARCHES)
def no_keyset(_fault: Fault, search: Search) -> Search:
    if "id:{" in search.fq:
        raise QuerySyntaxError("Cannot parse: a range of ids is not allowed")
    return search


@acts(SEARCHES)
def unsorted(_fault: Fault, search: Search) -> Search:
    return replace(search, sort="")


@acts(SEARCHES)
def ignore_start(_fault: Fault, search: Search) -> Search:
    return replace(search, start=0, fq=KEYSET.sub("", search.fq))


@acts(SEARCHES)
def filters_late(_fault: Fault, search: Search) -> Search:
    """The first page ignores the filter, and those behind an id do not."""
    return search if KEYSET.search(search.fq) else replace(search, fq="")


@acts(FIELDS)
def no_fl(_fault: Fault, _fields: list[str]) -> list[str]:
    """Whole records, whatever is asked for."""
    return []


@acts(FIELDS)
def no_stamps(_fault: Fault, fields: list[str]) -> list[str]:
    return [name for name in fields if name != "metadata_modified"]


@acts(FIELDS)
def refuses_fl(_fault: Fault, fields: list[str]) -> list[str]:
    if len(fields) > 1:
        raise QuerySyntaxError("Only one field at a time")
    return fields


@acts(PAGES)
def repeat_page(_fault: Fault, found: Page) -> None:
    if 0 < found.position <= found.rows:
        found.skipped = found.start = 0


# ---- other records


def edited(record: bytes, **fields: Any) -> bytes:
    return json.dumps({**json.loads(record), **fields}).encode()


def without(record: bytes, name: str) -> bytes:
    return json.dumps({key: value for key, value in json.loads(record).items() if key != name}).encode()


def with_size(record: bytes, number: float) -> bytes:
    resources = json.loads(record)["resources"]
    return edited(record, total_res_downloads=number, resources=[{**one, "size": number} for one in resources])


@acts(RECORDS)
def no_id(_fault: Fault, record: bytes) -> bytes:
    return without(record, "id")


@acts(RECORDS)
def no_resources(_fault: Fault, record: bytes) -> bytes:
    return without(record, "resources")


@acts(RECORDS)
def bad_record(_fault: Fault, record: bytes) -> bytes:
    return edited(
        record,
        title={"en": 5},
        organization="a string",
        tags=[None, {"name": 3}],
        resources=[None, {"id": 7, "size": "big"}],
        extras="x",
    )


@acts(RECORDS)
def deep(_fault: Fault, record: bytes) -> bytes:
    """Written by hand: the encoder itself stops at a depth of 1,000."""
    return record[:-1] + b', "deep": ' + b"[" * DEPTH + b"]" * DEPTH + b"}"


@acts(RECORDS)
def huge_ints(_fault: Fault, record: bytes) -> bytes:
    return with_size(record, 10**30)


@acts(RECORDS)
def nan(_fault: Fault, record: bytes) -> bytes:
    return with_size(record, float("nan"))


@acts(RECORDS)
def surrogate(_fault: Fault, record: bytes) -> bytes:
    return edited(record, title="Half a character: \ud800")


# ---- another page


@acts(RESULTS)
def count_off(fault: Fault, result: Result) -> None:
    if result.count is not None:
        result.count += fault.number


@acts(RESULTS)
def no_count(_fault: Fault, result: Result) -> None:
    result.count = None


@acts(RESULTS)
def null_record(_fault: Fault, result: Result) -> None:
    """In the place of the second record: neighbours keep a keyset going."""
    if result.page.position == 0 and result.records:
        result.records[min(1, len(result.records) - 1)] = b"null"


@acts(RESULTS)
def change_while_listed(fault: Fault, result: Result) -> None:
    listed, catalogue = result.page.datasets, fault.catalogue
    if not listed or not fault.first("page"):
        return
    after = result.page.position + result.page.rows
    for dataset in result.page.matches[after : after + 1]:
        catalogue.touch(dataset.id)
    catalogue.remove(listed[len(listed) // 2].id)
    for dataset_id in (data.LOWEST_ID, data.HIGHEST_ID):
        catalogue.add(dataset_id)


# ---- the right answer, spoilt on its way


def half(answer: Answer) -> int:
    return len(answer.body) // 2


@acts(ANSWERS)
def clock(fault: Fault, _request: Request, answer: Answer) -> Answer:
    """The portal's clock is so many seconds ahead, or behind."""
    date = formatdate(time.time() + float(fault.value), usegmt=True)
    return replace(answer, headers={**answer.headers, "Date": date})


@acts(RECORDS)
def long_number(_fault: Fault, record: bytes) -> bytes:
    """Written by hand: Python itself writes no number of so many digits."""
    return record[:-1] + b', "digits": ' + b"7" * 5000 + b"}"


@acts(ANSWERS)
def truncated(fault: Fault, request: Request, answer: Answer) -> Answer:
    return replace(answer, sent=half(answer)) if fault.hits(request) else answer


@acts(ANSWERS)
def truncated_once(fault: Fault, request: Request, answer: Answer) -> Answer:
    spoilt = fault.hits(request) and fault.first(request.key)
    return replace(answer, sent=half(answer)) if spoilt else answer


@acts(ANSWERS)
def cut_json(fault: Fault, request: Request, answer: Answer) -> Answer:
    cut = fault.hits(request) and answer.content_type.startswith("application/json")
    return replace(answer, body=answer.body[: half(answer)]) if cut else answer


@acts(ANSWERS)
def cut_json_over(fault: Fault, _request: Request, answer: Answer) -> Answer:
    return replace(answer, body=answer.body[: half(answer)]) if answer.rows > fault.number else answer
