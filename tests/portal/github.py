"""GitHub as an extension crawl meets it: REST and GraphQL, quotas, renames, blocks, and what GitHub would refuse.

    with GitHub({"ckan/ckanext-dcat": Repository(stars=12)}) as github:
        crawl(f"GITHUB_API={github.url}")
        assert github.spent["graphql"].points == 1

A GraphQL query is validated and executed by graphql-core against the schema that GitHub publishes; points and nodes are
counted as docs.github.com describes it. `python tests/portal/github.py --repositories 2000` serves made repositories.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    build_ast_schema,
    execute,
    get_named_type,
    is_composite_type,
    parse,
    validate,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # it is run as a script, from any folder

from tests.needed import need
from tests.site import Answer, Asked, Site

SCHEMA = Path(sys.prefix, "github", "schema.graphql")
TOKEN = "ghp_AcceptedByTheStandIn0123456789"
MOST_NODES = 500_000
JSON = "application/json; charset=utf-8"
LIMITS = {True: {"core": 5000, "graphql": 5000}, False: {"core": 60, "graphql": 0}}
"""What GitHub grants in an hour, with a token and without one."""


@cache
def schema() -> GraphQLSchema:
    """Return what GitHub publishes; make fetches it by npm."""
    return build_ast_schema(parse(SCHEMA.read_text(encoding="utf-8"), no_location=True), assume_valid=True)


@dataclass(frozen=True)
class Repository:
    """A repository as GitHub has it.

    Args:
        files: by path, at the head of the default branch.
        releases: tag and date of each, the latest first.
        contributors: ``None`` if there are too many to be listed.
        commits: whether there are any.
        status: what REST answers instead: 451, 403, 500 ...
        error: the type of the error that GraphQL answers instead.
        broken: fields that GraphQL gives no value for, with the error's type.
    """

    stars: int = 0
    forks: int = 0
    issues: int = 0
    pulls: int = 0
    releases: tuple[tuple[str, str], ...] = ()
    contributors: int | None = 1
    discussions: int | None = None
    commits: bool = True
    committed: str = "2026-11-01T10:00:00Z"
    license: str | None = None
    topics: tuple[str, ...] = ()
    archived: bool = False
    language: str | None = "Python"
    branch: str = "master"
    files: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    error: str | None = None
    broken: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Spent:
    """What one quota was used for."""

    limit: int
    points: int = 0
    requests: int = 0
    unchanged: int = 0


@dataclass(frozen=True)
class Refusal:
    """A secondary limit: the next request is refused with this.

    Args:
        retry_after: seconds; ``None`` if GitHub does not say.
    """

    status: int = 403
    retry_after: int | None = None


class RefusedError(Exception):
    """The query is one that GitHub would not execute."""


@dataclass
class GitHub:
    """The stand-in.

    Args:
        repositories: by full name.
        renamed: the full names that repositories have now, by those that they had.
        limits: the quotas of an hour; by default GitHub's.
        window: seconds after which the quotas are reset.
        refusals: what the next requests are refused with, one each.
        too_much: repositories in a query that are too many, and what GraphQL answers then: RESOURCE_LIMITS_EXCEEDED or
            a status.
        max_age: seconds for which GitHub says that an answer is fresh; it says 60.
        prefix: "/api/v3" for GitHub Enterprise.
        host: the address to listen at.
        port: where; 0 for a free one.

    Attributes:
        spent: by resource: core, graphql.
        asked: every request.
    """

    repositories: dict[str, Repository]
    renamed: dict[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] | None = None
    window: float = 3600.0
    refusals: list[Refusal] = field(default_factory=list)
    too_much: tuple[int, str] | None = None
    max_age: int = 0
    prefix: str = ""
    host: str = "127.0.0.2"
    port: int = 0
    spent: dict[str, Spent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        need("npm", found=SCHEMA.exists())
        self.ids = {name.lower(): number for number, name in enumerate(self.repositories, 1001)}
        self.lock = threading.Lock()
        self.reset = time.time() + self.window
        self.site = Site(self.answer, self.host, self.port)

    def __enter__(self) -> Self:
        self.site.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.site.__exit__()

    @property
    def url(self) -> str:
        return self.site.url + self.prefix

    @property
    def asked(self) -> list[Asked]:
        return self.site.asked

    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [asked.path.removeprefix(self.prefix) for asked in self.asked]

    def forget(self) -> None:
        """Begin another hour, and forget what was asked."""
        self.spent, self.reset = {}, time.time() + self.window
        self.asked.clear()

    def rename(self, old: str, new: str) -> None:
        """Rename a repository, or give it to another owner."""
        self.repositories = {new if name == old else name: one for name, one in self.repositories.items()}
        self.ids[new.lower()] = self.ids.pop(old.lower())
        self.renamed = {name: new if now == old else now for name, now in self.renamed.items()} | {old: new}

    # Requests

    def answer(self, asked: Asked) -> Answer:
        with self.lock:
            return self._answer(asked)

    def _answer(self, asked: Asked) -> Answer:
        path = urlsplit(asked.path).path
        if path == "/spent":
            return answer({name: vars(one) for name, one in self.spent.items()})
        if not asked.headers.get("User-Agent"):
            return Answer(b"Request forbidden by administrative rules.", 403, {"Content-Type": "text/html"})
        token = asked.headers.get("Authorization", "").removeprefix("Bearer ").removeprefix("token ")
        if token and token != TOKEN:
            return answer({"message": "Bad credentials"}, 401)
        is_graphql = path == f"{self.prefix.removesuffix('/v3')}/graphql"
        spent = self._quota("graphql" if is_graphql else "core", has_token=bool(token))
        if refused := self._refused(spent, is_graphql=is_graphql, has_token=bool(token)):
            return self._counted(refused, spent, 0)
        if is_graphql:
            return self._counted(*self._graphql(asked, spent))
        return self._conditional(asked, self._rest(asked), spent, has_token=bool(token))

    def _quota(self, resource: str, *, has_token: bool) -> Spent:
        if time.time() >= self.reset:
            self.spent, self.reset = {}, time.time() + self.window
        limit = (self.limits or LIMITS[has_token]).get(resource, 0)
        return self.spent.setdefault(resource, Spent(limit))

    def _refused(self, spent: Spent, *, is_graphql: bool, has_token: bool) -> Answer | None:
        if self.refusals:
            refusal = self.refusals.pop(0)
            headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
            message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
            content = {"errors": [{"message": message}]} if refusal.status == 200 else {"message": message}
            return answer(content, refusal.status, headers)
        if is_graphql and not has_token:
            return answer({"message": "This endpoint requires you to be authenticated."}, 401)
        if spent.points < spent.limit:
            return None
        message = "API rate limit exceeded for 127.0.0.1. (But here's the good news: ...)"
        if is_graphql:
            return answer({"errors": [{"type": "RATE_LIMITED", "message": message}]})
        return answer({"message": message, "documentation_url": "https://docs.github.com/rest"}, 403)

    def _counted(self, found: Answer, spent: Spent, points: int) -> Answer:
        spent.requests += 1
        spent.points += points
        resource = next(name for name, one in self.spent.items() if one is spent)
        limits = {
            "X-RateLimit-Limit": str(spent.limit),
            "X-RateLimit-Remaining": str(max(0, spent.limit - spent.points)),
            "X-RateLimit-Reset": str(int(self.reset)),
            "X-RateLimit-Resource": resource,
        }
        return replace(found, headers=found.headers | limits)

    def _conditional(self, asked: Asked, found: Answer, spent: Spent, *, has_token: bool) -> Answer:
        """A 304 costs nothing, but only with a token."""
        if found.status == 200:
            assert isinstance(found.body, bytes)
            tag = hashlib.sha256(found.body + str(has_token).encode() + str(found.headers).encode()).hexdigest()
            control = f"{'private' if has_token else 'public'}, max-age={self.max_age}, s-maxage={self.max_age}"
            headers = {"ETag": f'W/"{tag}"', "Cache-Control": control, "Vary": "Accept, Authorization, Cookie"}
            found = replace(found, headers=found.headers | headers)
            if asked.headers.get("If-None-Match") == headers["ETag"]:
                spent.unchanged += 1
                return self._counted(Answer(b"", 304, headers), spent, 0 if has_token else 1)
        return self._counted(found, spent, 1)

    # REST

    def _rest(self, asked: Asked) -> Answer:
        parts = urlsplit(asked.path)
        steps = parts.path.removeprefix(self.prefix).strip("/").split("/")
        if steps[0] == "repositories" and len(steps) > 1:
            name = next((name for name, number in self.ids.items() if str(number) == steps[1]), "")
            rest = steps[2:]
        elif steps[0] == "repos" and len(steps) > 2:
            name, rest = "/".join(steps[1:3]).lower(), steps[3:]
        else:
            return answer({"message": "Not Found"}, 404)
        if name in (moved := {old.lower(): new for old, new in self.renamed.items()}) and name not in self.ids:
            place = "/".join([f"{self.url}/repositories/{self.ids[moved[name].lower()]}", *rest])
            place += f"?{parts.query}" if parts.query else ""
            return answer({"message": "Moved Permanently", "url": place}, 301, {"Location": place})
        return self._of_repository(name, "/".join(rest), asked)

    def _of_repository(self, name: str, path: str, asked: Asked) -> Answer:
        own = next((own for own in self.repositories if own.lower() == name), None)
        if own is None:
            return answer({"message": "Not Found", "status": "404"}, 404)
        found = self.repositories[own]
        if found.status in (403, 451):
            reason = "dmca" if found.status == 451 else "tos"
            return answer({"message": "Repository access blocked", "block": {"reason": reason}}, found.status)
        if found.status != 200:
            return answer({"message": "Server Error"}, found.status)
        if not path:
            return answer(self._record(own, found))
        if path.startswith("contents/"):
            return contents(found, path.removeprefix("contents/"), asked)
        return listed(found, path, asked, self.url)

    def _record(self, name: str, found: Repository) -> dict[str, Any]:
        return {
            "id": self.ids[name.lower()],
            "node_id": f"R_{self.ids[name.lower()]}",
            "full_name": name,
            "html_url": f"https://github.com/{name}",
            "stargazers_count": found.stars,
            "forks_count": found.forks,
            "open_issues_count": found.issues + found.pulls,
            "has_discussions": found.discussions is not None,
            "license": found.license and {"spdx_id": found.license, "key": found.license.lower()},
            "topics": list(found.topics),
            "archived": found.archived,
            "language": found.language,
            "default_branch": found.branch,
            "pushed_at": found.committed,
        }

    # GraphQL

    def _graphql(self, asked: Asked, spent: Spent) -> tuple[Answer, Spent, int]:
        posted = json.loads(asked.body)
        try:
            document = parse(posted["query"])
            wrong = validate(schema(), document)
            if wrong:
                return answer({"errors": [{"message": one.message} for one in wrong]}), spent, 1
            points = cost(document, posted.get("variables") or {})
        except (GraphQLError, RefusedError) as error:
            return answer({"errors": [{"type": "INVALID", "message": str(error)}]}), spent, 1
        if self.too_much and len(_operation(document).selection_set.selections) > self.too_much[0]:
            return self._refused_as_too_much(document, self.too_much[1]), spent, points
        result = execute(schema(), document, root_value=self._root(), variable_values=posted.get("variables"))
        assert isinstance(result, ExecutionResult)
        errors = {"errors": [_shown(error) for error in result.errors]} if result.errors else {}
        return answer({"data": result.data} | errors), spent, points

    def _refused_as_too_much(self, document: DocumentNode, how: str) -> Answer:
        if how.isdigit():
            return answer({"message": "We couldn't respond to your request in time."}, int(how))
        names = [_alias(one) for one in _operation(document).selection_set.selections]
        errors = [
            {"type": how, "path": [name], "message": "Resource limits for this query exceeded."} for name in names
        ]
        return answer({"data": dict.fromkeys(names), "errors": errors})

    def _root(self) -> dict[str, Any]:
        def repository(_: Any, owner: str, name: str, followRenames: bool = True) -> Any:  # noqa: N803
            path = f"{owner}/{name}".lower()
            now = {old.lower(): new.lower() for old, new in self.renamed.items()}
            path = now.get(path, path) if followRenames and path not in self.ids else path
            own = next((own for own in self.repositories if own.lower() == path), None)
            if own is None:
                raise _error("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
            found = self.repositories[own]
            if found.error or found.status != 200:
                raise _error(found.error or "FORBIDDEN", "Repository access blocked")
            return self._node(own, found)

        return {"repository": repository}

    def _node(self, name: str, found: Repository) -> dict[str, Any]:
        def file(_: Any, expression: str = "", oid: str = "") -> Any:
            text = found.files.get(expression.partition(":")[2])
            return None if text is None else {"__typename": "Blob", "text": text, "isTruncated": False}

        def release(number: int) -> dict[str, Any]:
            return {"tagName": found.releases[number][0], "publishedAt": found.releases[number][1]}

        commit = {"__typename": "Commit", "committedDate": found.committed}
        node = {
            "databaseId": self.ids[name.lower()],
            "id": f"R_{self.ids[name.lower()]}",
            "nameWithOwner": name,
            "url": f"https://github.com/{name}",
            "stargazerCount": found.stars,
            "forkCount": found.forks,
            "issues": lambda _, states=("OPEN",), **__: {"totalCount": found.issues if states == ["OPEN"] else 999},
            "pullRequests": lambda _, states=("OPEN",), **__: {
                "totalCount": found.pulls if states == ["OPEN"] else 999
            },
            "releases": {"totalCount": len(found.releases)},
            "latestRelease": release(0) if found.releases else None,
            "discussions": {"totalCount": found.discussions or 0},
            "defaultBranchRef": {"name": found.branch, "target": commit} if found.commits else None,
            "licenseInfo": found.license and {"spdxId": found.license},
            "repositoryTopics": {"nodes": [{"topic": {"name": topic}} for topic in found.topics]},
            "isArchived": found.archived,
            "primaryLanguage": found.language and {"name": found.language},
            "object": file,
        }
        return node | {name: _raising(type_) for name, type_ in found.broken.items()}


def _raising(type_: str) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise _error(type_, "Resource not accessible by personal access token")

    return fail


def _error(type_: str, message: str) -> GraphQLError:
    return GraphQLError(message, extensions={"type": type_})


def _shown(error: GraphQLError) -> dict[str, Any]:
    """Return an error as GitHub has it: its type stands beside the message."""
    shown = {"type": (error.extensions or {}).get("type", "INTERNAL"), "message": error.message}
    return shown | ({"path": error.path} if error.path else {})


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(json.dumps(content).encode(), status, {"Content-Type": JSON} | dict(headers or {}))


def contents(found: Repository, path: str, asked: Asked) -> Answer:
    if path not in found.files:
        return answer({"message": "Not Found", "status": "404"}, 404)
    assert "raw" in asked.headers.get("Accept", "")
    return Answer(
        found.files[path].encode(), headers={"Content-Type": "application/vnd.github.raw+json; charset=utf-8"}
    )


def listed(found: Repository, path: str, asked: Asked, root: str) -> Answer:  # noqa: PLR0911
    """Return a page of a list, or the latest release."""
    if path == "releases/latest":
        if not found.releases:
            return answer({"message": "Not Found", "status": "404"}, 404)
        return answer({"tag_name": found.releases[0][0], "published_at": found.releases[0][1]})
    if path == "commits":
        if not found.commits:
            return answer({"message": "Git Repository is empty."}, 409)
        return page([{"commit": {"committer": {"date": found.committed}}}] * 2, asked, root)
    if path == "contributors":
        if found.contributors is None:
            message = (
                "The history or contributor list is too large to list contributors for this repository via the API."
            )
            return answer({"message": message}, 403)
        people = [{"login": f"user{number}"} for number in range(found.contributors)]
        return page(people, asked, root) if people else Answer(b"", 204)
    if path == "pulls":
        return page([{"number": number} for number in range(found.pulls)], asked, root)
    if path == "releases":
        return page([{"tag_name": tag, "published_at": date} for tag, date in found.releases], asked, root)
    return answer({"message": "Not Found"}, 404)


def page(entries: list[Any], asked: Asked, root: str) -> Answer:
    parts = urlsplit(asked.path)
    query = dict(parse_qsl(parts.query))
    size, number = min(100, int(query.get("per_page", 30))), int(query.get("page", 1))
    last = -(-len(entries) // size)
    links = {"next": number + 1, "last": last} if number < last else {}
    address = root + parts.path
    header = ", ".join(f'<{address}?{urlencode(query | {"page": one})}>; rel="{rel}"' for rel, one in links.items())
    return answer(entries[(number - 1) * size : number * size], headers={"Link": header} if header else {})


# What a query costs


def cost(document: DocumentNode, variables: Mapping[str, Any]) -> int:
    """Return the points of a query: its connections' requests, a hundredth of them.

    Raises:
        RefusedError: a connection has no first or last from 1 to 100, or there are more than 500,000 nodes.
    """
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    query = schema().query_type
    assert query is not None
    found = list(_connections(_operation(document).selection_set, query, fragments, 1))
    nodes = sum(times * size for times, size in found)
    if nodes > MOST_NODES:
        raise RefusedError(f"By the time this query traverses to the connection, it is requesting up to {nodes} nodes")
    return max(1, (sum(times for times, _ in found) + 50) // 100)


def _connections(
    selected: SelectionSetNode, of: GraphQLNamedType, fragments: Mapping[str, FragmentDefinitionNode], times: int
) -> Iterator[tuple[int, int]]:
    """Yield how often each connection is asked for, and for how many nodes."""
    for one in selected.selections:
        if isinstance(one, FragmentSpreadNode):
            fragment = fragments[one.name.value]
            named = schema().type_map[str(fragment.type_condition.name.value)]
            yield from _connections(fragment.selection_set, named, fragments, times)
        elif isinstance(one, InlineFragmentNode):
            named = schema().type_map[one.type_condition.name.value] if one.type_condition else of
            yield from _connections(one.selection_set, named, fragments, times)
        elif isinstance(one, FieldNode) and one.selection_set:
            assert isinstance(of, GraphQLObjectType) or is_composite_type(of)
            below: Any = get_named_type(of.fields[one.name.value].type)  # type: ignore[union-attr]
            size = 1
            if below.name.endswith("Connection"):
                size = _size(one)
                yield times, size
            yield from _connections(one.selection_set, below, fragments, times * size)


def _size(field_: FieldNode) -> int:
    for argument in field_.arguments or ():
        if argument.name.value in ("first", "last") and isinstance(argument.value, IntValueNode):
            if 1 <= int(argument.value.value) <= 100:
                return int(argument.value.value)
            raise RefusedError(
                f"Requesting {argument.value.value} records on the `{field_.name.value}` connection exceeds"
            )
    raise RefusedError(f"You must provide a `first` or `last` value to properly paginate `{field_.name.value}`.")


def _operation(document: DocumentNode) -> OperationDefinitionNode:
    return next(one for one in document.definitions if isinstance(one, OperationDefinitionNode))


def _alias(selection: Any) -> str:
    return str((selection.alias or selection.name).value)


# The catalogue that lists extensions


@dataclass
class Catalogue:
    """A CKAN portal with packages of the type extension: package_search, by id, a thousand in a page.

    Args:
        packages: fields of each, by name; without any, the address is the repository's: "a/b" is https://github.com/a/b.
        rows: packages in a page.
    """

    packages: dict[str, dict[str, Any]]
    rows: int = 1000

    def __post_init__(self) -> None:
        self.site = Site(self.answer)

    def __enter__(self) -> Self:
        self.site.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.site.__exit__()

    @property
    def url(self) -> str:
        return self.site.url

    def records(self) -> list[dict[str, Any]]:
        found = [
            {"id": f"id-{name}", "name": name, "title": name.title(), "type": "extension", "resources": [], **fields}
            for name, fields in self.packages.items()
        ]
        return sorted(found, key=lambda record: str(record["id"]))

    def answer(self, asked: Asked) -> Answer:
        if asked.action != "package_search":
            return Answer(b"{}", 404)
        assert "type:extension" in asked.parameters.get("fq", "")
        fq, records = asked.parameters["fq"], self.records()
        if "{" in fq:
            last = fq.partition("id:{")[2].partition(" TO")[0].replace("\\", "")
            listed = [record for record in records if record["id"] > last]
        else:
            listed = records
        rows = min(self.rows, int(asked.parameters["rows"]))
        return answer({"success": True, "result": {"count": len(listed), "results": listed[:rows]}})


def made(count: int) -> tuple[dict[str, dict[str, Any]], dict[str, Repository]]:
    """Return packages and their repositories."""
    names = {f"ckanext-{number:05}": f"owner{number % 97}/ckanext-{number:05}" for number in range(count)}
    packages = {name: {"url": f"https://github.com/{path}"} for name, path in names.items()}
    repositories = {
        path: Repository(
            stars=number,
            forks=number % 7,
            issues=number % 5,
            pulls=number % 3,
            releases=tuple((f"v1.{one}", "2026-10-01T00:00:00Z") for one in range(number % 4)),
            contributors=1 + number % 30,
            license="AGPL-3.0",
            topics=("ckan", "ckanext"),
        )
        for number, path in enumerate(names.values())
    }
    return packages, repositories


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repositories", type=int, default=50)
    options = parser.parse_args()
    packages, repositories = made(options.repositories)
    limits = {"core": 10**9, "graphql": 10**9}
    with Catalogue(packages) as catalogue, GitHub(repositories, limits=limits) as github:
        print(catalogue.url, github.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
