"""The repositories of a crawl: which of them a package names, what leads to each, and its profile. No network."""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from crawlers.ecosystem.profiles import Profiles
from crawlers.items import Extension
from crawlers.records.moment import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Request

    from crawlers.components.ledger import Notes
    from crawlers.ecosystem.profiles import Before
    from crawlers.exceptions import AnswerError
    from crawlers.kinds.ckan.spider import PackageSpider

    Package = dict[str, Any]

Facts = dict[str, Any]
"""What is known of a repository, by the fields of `Extension`: ``None`` is not there, and the unknown is missing."""

GITHUB = "github.com"
_LONGEST = 100_000  # characters of a text that are searched
_ADDRESS = re.compile(
    r"""
    (?: (?<=//) | (?<=@) | (?<![\w.@:/-]) )
    (?P<host> [a-z0-9-]+ (?: \.[a-z0-9-]+ )+ ) (?: :\d+/ | [:/] ) /*
    (?P<path> ~?[\w.-]+ (?: /+ [\w.-]+ )+ )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_FORGE = re.compile(
    r"(gitlab\.com|bitbucket\.org|codeberg\.org|framagit\.org|github\.com|(git|gitlab|gitea|forgejo)\..+\..+)$"
)
_PARTS_OF_GITHUB = {"raw.githubusercontent.com": "", "codeload.github.com": "", "api.github.com": "repos/"}
"""Hosts that have GitHub's repositories, too, with what stands before owner and name in their addresses."""
_PAGES = re.compile(
    r"/+(?:-|tree|blob|raw|src|commits?|branches|tags|releases|issues|wikis?|pulls?|pull-requests|merge_requests"
    r"|archive|downloads)(?:/|$)"
)
_SUFFIX = re.compile(r"(\.git)?[.,;:!?'*_]*$", re.IGNORECASE)
_OWNER = re.compile(r"[a-z0-9][a-z0-9-]{0,38}", re.IGNORECASE)
_NO_OWNERS = frozenset(
    (
        *("about", "account", "apps", "collections", "contact", "customer-stories", "dashboard", "enterprise"),
        *("events", "explore", "features", "gist", "gists", "issues", "join", "login", "marketplace", "new"),
        *("notifications", "organizations", "orgs", "pricing", "pulls", "readme", "search", "security", "sessions"),
        *("settings", "site", "solutions", "sponsors", "stars", "team", "teams", "topics", "trending", "user"),
        *("users", "watching", "wiki"),
    )
)
"""What follows github.com/ and owns no repositories."""


class Repository(NamedTuple):
    """A repository as a catalogue names it.

    Args:
        forge: the host that has it, in lower case.
    """

    forge: str
    path: str

    @property
    def url(self) -> str:
        return f"https://{self.forge}/{self.path}"


def repository(package: dict[str, Any], github: str = GITHUB) -> Repository | None:
    """Return the repository of a package: what the first text names that names any; ``None`` if none does.

    Where a text names several, it is the one that is named as the package, else the first.

    Args:
        package: the record, as CKAN's API gives it.
        github: GitHub's host, or that of a GitHub Enterprise Server.

    >>> repository({"url": "https://example.org", "notes": "Code: git@github.com:a/b.git"})
    Repository(forge='github.com', path='a/b')
    """
    own = str(package.get("name") or "").lower()
    for text in _texts(package):
        found = repositories(text, github)
        if found:
            return next((one for one in found if one.path.lower().endswith(f"/{own}")), found[0])
    return None


def repositories(text: str, github: str = GITHUB) -> list[Repository]:
    """Return the repositories that a text names, each once, in its order.

    >>> repositories("<https://www.github.com/A/b/tree/main>, git+https://github.com/a/B.git@1.0#egg=b, c.github.io/d")
    [Repository(forge='github.com', path='A/b')]
    >>> repositories("https://github.com/orgs/ckan/repositories https://gist.github.com/a/1 https://notgithub.com/a/b")
    []
    >>> repositories("https://gitlab.com/group/sub/name/-/issues")
    [Repository(forge='gitlab.com', path='group/sub/name')]
    """
    found: dict[str, Repository] = {}
    for address in _ADDRESS.finditer(unquote(text[:_LONGEST])):
        host, path = address["host"].lower().removeprefix("www."), address["path"]
        if github == GITHUB and host in _PARTS_OF_GITHUB:
            path = path.removeprefix(_PARTS_OF_GITHUB[host])
            host = GITHUB
        named = _at_github(path) if host in (github, GITHUB) else _at_a_forge(host, path)
        if named:
            found.setdefault(f"{host}/{named}".lower(), Repository(host, named))
    return list(found.values())


def _at_github(path: str) -> str | None:
    """Return owner and name; ``None`` if the path is that of another page.

    >>> _at_github("a/b.git"), _at_github("orgs/ckan"), _at_github("a/.."), _at_github("a//b/issues")
    ('a/b', None, None, 'a/b')
    """
    owner, _, rest = path.partition("/")
    name = _SUFFIX.sub("", rest.lstrip("/").partition("/")[0])
    is_owner = _OWNER.fullmatch(owner) and owner.lower() not in _NO_OWNERS
    return f"{owner}/{name}" if is_owner and name else None


def _at_a_forge(host: str, path: str) -> str | None:
    """Return the path of a repository at another forge; at GitLab, groups have groups."""
    path = _SUFFIX.sub("", _PAGES.split(path, maxsplit=1)[0])
    return path if _FORGE.match(host) and "/" in path else None


def _texts(package: dict[str, Any]) -> Iterator[str]:
    """Yield what may name a repository: the address, the notes, what a schema or the extras add, the resources."""
    more = (value for name, value in package.items() if not name.startswith(("url", "notes", "license")))
    values = [package.get("url"), package.get("notes"), *more]
    values += [*_values(package.get("extras"), "value"), *_values(package.get("resources"), "url")]
    return (value for value in values if isinstance(value, str))


def _values(entries: Any, name: str) -> Iterator[Any]:
    if isinstance(entries, list):
        yield from (entry.get(name) for entry in entries if isinstance(entry, dict))


STATES = ("found", "moved", "gone", "blocked", "other_forge", "unknown")


class Repositories:
    """The repositories of a crawl, in the ledger, and their profiles.

    A repository at GitHub is known by owner/name in lower case; one at another forge has that host before it, a package
    without a repository the catalogue's host and its own id. No owner's name at GitHub has a dot.

    Args:
        forge: GitHub's host.
    """

    def __init__(self, spider: PackageSpider, forge: str) -> None:
        self.spider = spider
        self.forge = forge
        self.profiles = Profiles(spider, STATES)

    @property
    def notes(self) -> Notes:
        """The packages of each repository, and its other names."""
        return self.profiles.notes

    def note(self, package: dict[str, Any]) -> None:
        found = repository(package, self.forge)
        if not found:
            name = f"{urlsplit(str(self.spider.portal)).hostname}/{package['id'].replace(' ', '%20')}"
        else:
            name = (found.path if found.forge == self.forge else f"{found.forge}/{found.path}").lower()
        texts = {field: value for field in ("name", "title") if isinstance(value := package.get(field), str)}
        self.notes.put("package", f"{name} {package['id']}", {"repository": found, **texts})
        self.spider.expect("extension", name, listed_by="the catalogue")

    def packages(self, prefix: str = "") -> Iterator[tuple[str, list[Package]]]:
        """Yield each repository, in order, with the packages that name it."""
        notes = self.notes.below("package", prefix)
        for name, some in groupby(notes, key=lambda note: note[0].partition(" ")[0]):
            yield name, [package | {"id": key.partition(" ")[2]} for key, package in some]

    def at_github(self) -> Iterator[str]:
        for name, packages in self.packages():
            found = packages[0]["repository"]
            if found and found[0] == self.forge:
                yield name

    def elsewhere(self) -> Iterator[Extension]:
        for name, packages in self.packages():
            found = packages[0]["repository"]
            if not found:
                yield from self.not_found(name, "unknown", "the catalogue names no repository")
            elif found[0] != self.forge:
                yield from self.not_found(name, "other_forge", f"the repository is at {found[0]}, which is not asked")

    def is_first(self, asked: str, facts: Facts) -> bool:
        """Note the name that a repository was asked for by; return whether no other name led to it before.

        The document under a name that it no longer has is withdrawn.
        """
        name = facts["repository"].lower()
        if asked != name:
            self.notes.put("alias", f"{name} {asked}", None)
            self.spider.expect("extension", name, listed_by="GitHub")
            self.spider.records.settle(("extension", asked, None), "renamed")
            before = self.profiles.before("extension", asked)
            if before and (before.status != "withdrawn" or before.run == self.spider.records.job.state["run"]):
                self.spider.withdrawals.mark(asked, str(facts["url"]), "renamed", name)
        first = self.notes.get("first", name) or asked
        self.notes.put("first", name, first)
        return bool(first == asked)

    def found(self, facts: Facts) -> Iterator[Extension]:
        name = facts["repository"].lower()
        others = [key.partition(" ")[2] for key, _ in self.notes.below("alias", f"{name} ")]
        state, reason = ("moved", f"the catalogue names {', '.join(others)}") if others else ("found", None)
        yield self.profile(name, others, facts, state, reason)

    def found_again(self, facts: Facts) -> Iterator[Extension]:
        """Yield a profile once more, if it was written before another name led to its repository."""
        name = facts["repository"].lower()
        if self.spider.records.is_settled(("extension", name, None)):
            before = self.profiles.before("extension", name)
            document = before.document if before else {}
            known = {fact for fact in Extension.facts if fact in document} - document.get("last_known", {}).keys()
            yield from self.found(facts | {fact: document[fact] for fact in known})

    def not_found(self, name: str, state: str, reason: str) -> Iterator[Extension]:
        yield self.profile(name, [], {}, state, reason)

    def failed(self, name: str, error: AnswerError, request: Request | None, status: int | None) -> None:
        self.spider.failed("fetch", error, request, http_status=status, dataset_id=name.lower())

    def profile(self, name: str, others: list[str], facts: Facts, state: str, reason: str | None) -> Extension:
        """Return the profile of a repository, with all packages that name it."""
        found = (package for known in (name, *others) for _, some in self.packages(f"{known} ") for package in some)
        packages = sorted(found, key=itemgetter("id"))
        before = self._before((name, *others), facts)
        former = {*others, *(before.document.get("former") or () if before else ())} - {name}
        forge, path = packages[0]["repository"] or (None, None)
        values: dict[str, Any] = {"repository": path, "url": forge and f"https://{forge}/{path}"} | facts
        profile = Extension(
            source=self.spider.source,
            id=name,
            name=packages[0].get("name"),
            title=packages[0].get("title"),
            state=state,
            reason=reason,
            checked=now(),
            catalog_ids=[package["id"] for package in packages],
            catalog_names=[package.get("name") for package in packages],
            forge=forge,
            former=sorted(former),
            metadata_source="github" if facts else "package_search",
            metadata_url=values["url"],
            **values,
        )
        return self.profiles.completed(profile, before, absent={fact for fact in facts if facts[fact] is None})

    def _before(self, names: Iterable[str], facts: Facts) -> Before | None:
        found = (self.profiles.before("extension", name) for name in names)
        return next((one for one in found if one and _is_same(one.document, facts)), None)


def _is_same(before: dict[str, Any], facts: Facts) -> bool:
    """Return whether what an earlier run wrote may be of the same repository: a name can go to another one."""
    known, found = before.get("github_id"), facts.get("github_id")
    return known is None or found is None or known == found
