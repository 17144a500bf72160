"""What GitHub is asked about repositories, and what its answers say: GraphQL for fifty at once, REST for one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs, urlsplit

import jmespath  # type: ignore[import-untyped]
from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.ecosystem import ecosystem_file
from crawlers.exceptions import AnswerError
from crawlers.listing.answers import json_document
from crawlers.records.tables import csv_rows
from crawlers.safety.addresses import related

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ecosystem.repositories import Facts, Repositories
    from crawlers.items import Extension

    Output = Iterator[Request | Extension]


_ROWS = list(csv_rows(__package__, "repository.csv"))
_TYPES = {name: type_ for name, type_, _, _ in _ROWS}
_GRAPHQL = {name: jmespath.compile(path) for name, _, path, _ in _ROWS}
_REST = {name: jmespath.compile(path) for name, _, _, path in _ROWS if path}
_ROOTS = {name: re.split(r"\W", path, maxsplit=1)[0] for name, _, path, _ in _ROWS}
_PATH = re.compile(r"(?!.*\.\.)[\w-]{1,100}/[\w.-]{1,100}", re.ASCII)
_LONGEST = 1000  # characters of a text
_LARGEST = 10**12  # of a number
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "number": lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST,
    "text": lambda value: isinstance(value, str) and len(value) <= _LONGEST,
    "texts": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "flag": lambda value: isinstance(value, bool),
    "path": lambda value: isinstance(value, str) and bool(_PATH.fullmatch(value)),
}
_FRAGMENT = resources.files(__package__).joinpath("repository.graphql").read_text(encoding="utf-8")
_NOT_TEXT = "\0"  # instead of a binary file, for which GitHub gives none
_TOO_MUCH = "RESOURCE_LIMITS_EXCEEDED"
_TOO_LARGE_TO_LIST = "too large to list"


def question(names: Iterable[str]) -> str:
    """Return the body of a GraphQL request for the facts of some repositories, each under an alias: r0, r1 ...

    >>> json.loads(question(["ckan/ckanext-dcat"]))["variables"]
    {'owner0': 'ckan', 'name0': 'ckanext-dcat'}
    """
    variables: dict[str, str] = {}
    asked = []
    for number, path in enumerate(names):
        variables[f"owner{number}"], _, variables[f"name{number}"] = path.partition("/")
        asked.append(f"r{number}: repository(owner: $owner{number}, name: $name{number}) {{ ...facts }}\n")
    declared = ", ".join(f"${name}: String!" for name in variables)
    return json.dumps({"query": f"query({declared}) {{\n{''.join(asked)}}}\n{_FRAGMENT}", "variables": variables})


@dataclass(frozen=True, slots=True)
class Answers:
    """What an answer to `question` says.

    Args:
        found: the facts of those that it gives, by the name that was asked for.
        too_much: those for which the question was too large.
        others: those that it does not give, for whatever reason: REST's status says why.
        reason: the first error's message.
    """

    found: dict[str, Facts] = field(default_factory=dict)
    too_much: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    reason: str = ""


def answers(response: Response, names: list[str]) -> Answers:
    """Return what GraphQL's answer says of the repositories that were asked for.

    Raises:
        AnswerError: GraphQL gives no such answer.
    """
    content = json_document(response)
    if not isinstance(content, dict) or not content.keys() & {"data", "errors"}:
        raise AnswerError("refused", f"GitHub answered {str(content)[:200]!r}, not data")
    data, errors = content.get("data"), _errors(content)
    nodes: dict[str, Any] = data if isinstance(data, dict) else {}
    result = Answers(reason=str(errors[0].get("message")) if errors else "")
    for number, name in enumerate(names):
        node = nodes.get(f"r{number}")
        own = [error for error in errors if error["path"][:1] in ([], [f"r{number}"])]
        facts = _facts_of_node(node, {str(error["path"][1]) for error in own if error["path"][1:]})
        if facts.get("repository"):
            result.found[name] = facts
        elif any(error.get("type") == _TOO_MUCH for error in own):
            result.too_much.append(name)
        else:
            result.others.append(name)
    return result


def _errors(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the errors of an answer; one without a path concerns all of it."""
    given = content.get("errors")
    errors = [error for error in given if isinstance(error, dict)] if isinstance(given, list) else []
    return [error | {"path": error["path"] if isinstance(error.get("path"), list) else []} for error in errors]


def _facts_of_node(node: Any, failed: set[str]) -> Facts:
    if not isinstance(node, dict):
        return {}
    given = node.keys() - failed
    facts = _checked({name: path.search(node) for name, path in _GRAPHQL.items() if _ROOTS[name] in given})
    blob = node.get("ecosystem") or {}
    if "ecosystem" in given and isinstance(blob, dict):
        text = blob.get("text", "") if blob else None
        facts |= ecosystem_file.read(_NOT_TEXT if blob and text is None else text, is_cut=bool(blob.get("isTruncated")))
    return facts


def _checked(facts: Facts) -> Facts:
    """Return the facts without values that are not of their type.

    >>> _checked({"stars": True, "forks": 3, "license": None, "repository": "../x", "github_id": 7})
    {'forks': 3, 'license': None, 'github_id': '7'}
    """
    found = {name: value for name, value in facts.items() if value is None or _CHECKS[_TYPES[name]](value)}
    return found | {"github_id": str(found["github_id"])} if found.get("github_id") else found


# REST


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """A question about a repository besides the one for its own record.

    Args:
        read: what an answer says.
        absent: the statuses that say that there is no such thing, and what that makes known.
    """

    path: str
    read: Callable[[Response], Facts]
    absent: Mapping[int, Facts] = field(default_factory=dict)
    media_type: str = "application/vnd.github+json"


def repository(response: Response) -> Facts:
    """Return the facts that a repository's own record has; ``open`` is the number of its open issues and pull requests.

    Raises:
        AnswerError: it is not a repository.
    """
    record = json_document(response)
    facts = _checked({name: path.search(record) for name, path in _REST.items()}) if isinstance(record, dict) else {}
    if not facts.get("repository"):
        raise AnswerError("refused", f"GitHub answered {str(record)[:200]!r}, not a repository")
    if record.get("has_discussions") is False:
        facts["discussions"] = 0
    return facts | {"open": record.get("open_issues_count")}


def details(facts: Facts) -> list[str]:
    """Return which of `DETAILS` REST has to be asked for, after a repository's own record."""
    left = [name for name in DETAILS if name != "latest_release"]
    if facts["open"] == 0:
        facts["open_pull_requests"] = 0
        left.remove("open_pull_requests")
    return left


def settled(facts: Facts) -> Facts:
    """Return the facts when all answers have come: REST counts open issues and pull requests together."""
    both, pulls = facts.pop("open", None), facts.get("open_pull_requests")
    if isinstance(both, int) and isinstance(pulls, int):
        facts["open_issues"] = max(0, both - pulls)
    return facts


def _count(response: Response) -> int:
    """Return how many entries a list has that is asked for in pages of one entry: its last page's number."""
    if response.status == 204:  # the contributors of an empty repository
        return 0
    entries = json_document(response)
    if not isinstance(entries, list):
        raise AnswerError("refused", f"GitHub answered {str(entries)[:200]!r}, not a list")
    return _last_page(response) or len(entries)


def _last_page(response: Response) -> int | None:
    """
    >>> from scrapy.http import Response
    >>> link = '<https://a/x?per_page=1&page=2>; rel="next", <https://a/x?per_page=1&page=34>; rel="last"'
    >>> _last_page(Response("https://a/x", headers={"Link": link})), _last_page(Response("https://a/x"))
    (34, None)
    """
    links = (response.headers.get("Link") or b"").decode("latin-1")
    last = related([links], "last")
    page = parse_qs(urlsplit(last).query).get("page", [""])[-1] if last else ""
    return int(page) if re.fullmatch(r"[0-9]{1,9}", page) else None


def _releases(response: Response) -> Facts:
    count = _count(response)
    return {"releases": count} | ({} if count else dict.fromkeys(("latest_release", "release_date")))


def _latest_release(response: Response) -> Facts:
    tag, date = jmespath.search("[tag_name, published_at]", json_document(response)) or (None, None)
    return _checked({"latest_release": tag, "release_date": date})


def _last_commit(response: Response) -> Facts:
    return _checked({"last_commit": jmespath.search("[0].commit.committer.date", json_document(response))})


def _file(response: Response) -> Facts:
    return ecosystem_file.read(response.body.decode("utf-8", errors="replace"))


DETAILS: dict[str, Detail] = {
    "contributors": Detail(
        path="contributors?per_page=1&anon=1", read=lambda response: {"contributors": _count(response)}
    ),
    "open_pull_requests": Detail(
        path="pulls?state=open&per_page=1", read=lambda response: {"open_pull_requests": _count(response)}
    ),
    "releases": Detail(path="releases?per_page=1", read=_releases),
    "latest_release": Detail(
        path="releases/latest",
        read=_latest_release,
        absent={404: dict.fromkeys(("latest_release", "release_date"))},
    ),
    "last_commit": Detail(
        path="commits?per_page=1", read=_last_commit, absent={409: {"last_commit": None}}
    ),  # of an empty repository
    "ckan_ecosystem": Detail(
        path=f"contents/{ecosystem_file.NAME}",
        read=_file,
        absent={404: ecosystem_file.read(None)},
        media_type="application/vnd.github.raw+json",
    ),
}

State = Literal["gone", "blocked", "unknown"]


def detail(name: str, response: Response) -> Facts:
    """Return what an answer to one of `DETAILS` says; nothing if GitHub says that it can't say.

    Raises:
        AnswerError: it failed.
    """
    asked = DETAILS[name]
    if response.status in asked.absent:
        return dict(asked.absent[response.status])
    if response.status == 403 and _TOO_LARGE_TO_LIST in message(response):
        return {}
    if response.status >= 300:
        raise failures.from_status(response)
    return asked.read(response)


def absence(response: Response) -> tuple[State, str]:
    """Return the state of a repository whose record GitHub does not give, and why.

    >>> from scrapy.http import TextResponse
    >>> body = b'{"message": "Repository access blocked", "block": {"reason": "dmca"}}'
    >>> absence(TextResponse("https://a", status=451, body=body))
    ('blocked', 'GitHub blocks access (HTTP 451): Repository access blocked (dmca)')
    """
    if response.status in (404, 410):
        return "gone", f"GitHub does not know it (HTTP {response.status}): it was deleted, or is private"
    if response.status in (403, 451):
        return "blocked", f"GitHub blocks access (HTTP {response.status}): {message(response)}"
    return "unknown", str(failures.from_status(response))


def message(response: Response) -> str:
    """Return what GitHub says of an error, with the reason of a block; empty if that can't be read."""
    try:
        content = json_document(response)
    except AnswerError:
        return ""
    found = content if isinstance(content, dict) else {}
    block = found.get("block")
    reason = f" ({block.get('reason')})" if isinstance(block, dict) else ""
    return f"{str(found.get('message') or '')[:300]}{reason}"


BATCH = 50
"""Repositories in a GraphQL request."""
_QUESTION, _DETAIL, _RECORD = 20, 10, 0
"""Priorities: first the names that repositories have now, by GraphQL; by REST, one repository after the other."""
_TOO_MUCH_AT_ONCE = ("timeout", "truncated", "too_large", "not_json", "connection", "dns")


class GitHub:
    """The questions about repositories; what they lead to goes to `Repositories.found` and `not_found`.

    What GraphQL does not give is asked by REST, whose status says why.

    Args:
        address: of the REST API.
        has_token: whether requests carry one; GraphQL needs it.
    """

    def __init__(self, repositories: Repositories, address: str, *, has_token: bool) -> None:
        self.repositories = repositories
        self.address = address.rstrip("/")
        self.has_token = has_token

    def ask(self, names: Iterable[str]) -> Iterator[Request]:
        """Yield the first requests for some repositories.

        Args:
            names: owner/name of each, in lower case.
        """
        if not self.has_token:
            yield from map(self.ask_for_record, names)
            return
        left = iter(names)
        while batch := list(islice(left, BATCH)):
            yield self.ask_for_some(batch)

    # By GraphQL

    def ask_for_some(self, names: list[str]) -> Request:
        return Request(
            f"{self.address.removesuffix('/v3')}/graphql",  # of GitHub Enterprise: /api/v3 and /api/graphql
            method="POST",
            body=question(names),
            headers={"Content-Type": "application/json"},
            callback=self.parse_some,
            errback=self.some_failed,
            cb_kwargs={"names": names},
            priority=_QUESTION,
            meta={"dont_obey_robotstxt": True, "dont_cache": True} | ({"max_retry_times": 1} if names[1:] else {}),
        )

    def parse_some(self, response: Response, names: list[str]) -> Output:
        try:
            said = answers(response, names)
        except AnswerError:
            yield from self.ask_for_fewer(names)
            return
        for name, facts in said.found.items():
            yield from self.take(name, facts, ["contributors"])
        yield from self.ask_for_fewer(said.too_much)
        yield from map(self.ask_for_record, said.others)

    def some_failed(self, failure: Failure) -> Output:
        names: list[str] = failures.request(failure).cb_kwargs["names"]
        error, status = failures.from_failure(failure), failures.status(failure)
        if error.kind in _TOO_MUCH_AT_ONCE or (status or 0) >= 500:  # GitHub gives a question ten seconds
            yield from self.ask_for_fewer(names)
        else:
            yield from map(self.ask_for_record, names)

    def ask_for_fewer(self, names: list[str]) -> Iterator[Request]:
        """Yield the requests for what was too much at once: two halves, or REST's for one repository."""
        half = len(names) // 2
        if half:
            yield from map(self.ask_for_some, (names[:half], names[half:]))
        else:
            yield from map(self.ask_for_record, names)

    # By REST

    def request(self, path: str, callback: Any, errback: Any, priority: int, **keywords: Any) -> Request:
        """Return a REST request."""
        return Request(
            f"{self.address}/repos/{path}",
            headers={"Accept": "application/vnd.github+json"},
            callback=callback,
            errback=errback,
            cb_kwargs=keywords,
            priority=priority,
            meta={"dont_obey_robotstxt": True},
        )

    def ask_for_record(self, name: str) -> Request:
        return self.request(name, self.parse_record, self.record_failed, _RECORD, name=name)

    def parse_record(self, response: Response, name: str) -> Output:
        try:
            facts = repository(response)
        except AnswerError as error:
            self.repositories.failed(name, error, response.request, response.status)
            yield from self.repositories.not_found(name, "unknown", str(error))
            return
        yield from self.take(name, facts, details(facts))

    def record_failed(self, failure: Failure) -> Output:
        request, response = failures.request(failure), getattr(failure.value, "response", None)
        name, error = request.cb_kwargs["name"], failures.from_failure(failure)
        state, reason = absence(response) if error.kind == "http" and response is not None else ("unknown", str(error))
        if state == "unknown":
            self.repositories.failed(name, error, request, failures.status(failure))
        yield from self.repositories.not_found(name, state, reason)

    # What else is asked of those that were found

    def take(self, name: str, facts: Facts, left: list[str]) -> Output:
        """Continue with a repository, unless it has another name in the catalogue, too, that led to it before.

        Args:
            name: as it was asked for.
            left: the `DETAILS` to ask for.
        """
        if self.repositories.is_first(name, facts):
            yield from self.continue_with(facts, left)
        else:
            yield from self.repositories.found_again(settled(facts))

    def continue_with(self, facts: Facts, left: list[str]) -> Output:
        """Yield the request for the next detail; if none is left, the profile."""
        if not left:
            yield from self.repositories.found(settled(facts))
            return
        asked = DETAILS[left[0]]
        path = f"{facts['repository']}/{asked.path}"
        request = self.request(path, self.parse_detail, self.detail_failed, _DETAIL, facts=facts, left=left)
        request.headers["Accept"] = asked.media_type
        request.meta["handle_httpstatus_list"] = [403, *asked.absent]
        yield request

    def parse_detail(self, response: Response, facts: Facts, left: list[str]) -> Output:
        name, *left = left
        try:
            facts |= detail(name, response)
        except AnswerError as error:
            self.repositories.failed(facts["repository"], error, response.request, response.status)
        if name == "releases" and facts.get("releases"):
            left = ["latest_release", *left]
        yield from self.continue_with(facts, left)

    def detail_failed(self, failure: Failure) -> Output:
        request, error = failures.request(failure), failures.from_failure(failure)
        facts, (_, *left) = request.cb_kwargs["facts"], request.cb_kwargs["left"]
        self.repositories.failed(facts["repository"], error, request, failures.status(failure))
        yield from self.continue_with(facts, left)
