"""The repositories of a crawl: the packages and the names that lead to each, and its profile."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlers.components.resume.notes import Notes
from crawlers.components.resume.records import is_settled
from crawlers.ecosystem.extensions.addresses import repository
from crawlers.ecosystem.profiles import Profiles
from crawlers.items import Extension
from crawlers.records.moment import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Request

    from crawlers.ecosystem.extensions.answers import Facts
    from crawlers.ecosystem.extensions.spider import ExtensionsSpider
    from crawlers.ecosystem.profiles import Before
    from crawlers.exceptions import AnswerError

    Package = dict[str, Any]

STATES = ("found", "moved", "gone", "blocked", "other_forge", "unknown")


class Repositories:
    """The repositories of a crawl, in the ledger, and their profiles.

    A repository at GitHub is known by owner/name in lower case; one at another forge has that host before it, a package
    without a repository the catalogue's host and its own id. No owner's name at GitHub has a dot.

    Args:
        forge: GitHub's host.
    """

    def __init__(self, spider: ExtensionsSpider, forge: str) -> None:
        self.spider = spider
        self.forge = forge
        self.profiles = Profiles(spider, STATES)

    @property
    def notes(self) -> Notes:
        """The packages of each repository, and its other names."""
        return self.profiles.notes

    def note(self, package: dict[str, Any]) -> None:
        """Note which repository a package names."""
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
        """Yield the repositories to ask GitHub about."""
        for name, packages in self.packages():
            found = packages[0]["repository"]
            if found and found[0] == self.forge:
                yield name

    def elsewhere(self) -> Iterator[Extension]:
        """Yield the profiles of the others."""
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
        """Yield the profile of a repository that was found."""
        name = facts["repository"].lower()
        others = [key.partition(" ")[2] for key, _ in self.notes.below("alias", f"{name} ")]
        state, reason = ("moved", f"the catalogue names {', '.join(others)}") if others else ("found", None)
        yield self.profile(name, others, facts, state, reason)

    def found_again(self, facts: Facts) -> Iterator[Extension]:
        """Yield a profile once more, if it was written before another name led to its repository."""
        name = facts["repository"].lower()
        if is_settled(self.spider.records, ("extension", name, None)):
            before = self.profiles.before("extension", name)
            document = before.document if before else {}
            known = {fact for fact in Extension.facts if fact in document} - document.get("last_known", {}).keys()
            yield from self.found(facts | {fact: document[fact] for fact in known})

    def not_found(self, name: str, state: str, reason: str) -> Iterator[Extension]:
        """Yield the profile of a repository that GitHub does not give, or is not asked for."""
        yield self.profile(name, [], {}, state, reason)

    def failed(self, name: str, error: AnswerError, request: Request | None, status: int | None) -> None:
        """Report that something about a repository could not be found out."""
        self.spider.failed("fetch", error, request, http_status=status, dataset_id=name.lower())

    def profile(self, name: str, others: list[str], facts: Facts, state: str, reason: str | None) -> Extension:
        """Return the profile of a repository, with all packages that name it.

        Args:
            others: the other names that packages have for it.
            facts: what was found out.
        """
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
        """Return what an earlier run wrote of a repository, under one of its names."""
        found = (self.profiles.before("extension", name) for name in names)
        return next((one for one in found if one and _is_same(one.document, facts)), None)


def _is_same(before: dict[str, Any], facts: Facts) -> bool:
    """Return whether what an earlier run wrote may be of the same repository: a name can go to another one."""
    known, found = before.get("github_id"), facts.get("github_id")
    return known is None or found is None or known == found
