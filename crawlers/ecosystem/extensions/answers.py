"""What GitHub is asked about repositories, and what its answers say: GraphQL for many at once, REST for one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs, urlsplit

import jmespath  # type: ignore[import-untyped]

from crawlers.components.politeness import failures
from crawlers.ecosystem.extensions import ecosystem_file
from crawlers.exceptions import AnswerError
from crawlers.listing.json_answer import document
from crawlers.records.addresses import related
from crawlers.records.tables import csv_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy.http import Response

Facts = dict[str, Any]
"""What is known of a repository, by the fields of `Extension`: ``None`` is not there, and the unknown is missing."""

_ROWS = list(csv_rows(__package__, "facts.csv"))
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
    content = document(response)
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
    """Return the facts of a repository, without those of fields that failed."""
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
        path: below the repository's.
        read: what an answer says.
        absent: the statuses that say that there is no such thing, and what that makes known.
        media_type: what is accepted.
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
    record = document(response)
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
    entries = document(response)
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
    tag, date = jmespath.search("[tag_name, published_at]", document(response)) or (None, None)
    return _checked({"latest_release": tag, "release_date": date})


def _last_commit(response: Response) -> Facts:
    return _checked({"last_commit": jmespath.search("[0].commit.committer.date", document(response))})


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
        content = document(response)
    except AnswerError:
        return ""
    found = content if isinstance(content, dict) else {}
    block = found.get("block")
    reason = f" ({block.get('reason')})" if isinstance(block, dict) else ""
    return f"{str(found.get('message') or '')[:300]}{reason}"
