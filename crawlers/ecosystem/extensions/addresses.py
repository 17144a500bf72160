"""Which repository a package of a catalogue names, in its address, notes, extras or resources. No network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

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
        path: owner and name, as they are written.
    """

    forge: str
    path: str

    @property
    def url(self) -> str:
        """The address of its page."""
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
