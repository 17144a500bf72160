"""Asks GitHub about repositories: by GraphQL, fifty in a request, if there is a token; else by REST, one by one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.ecosystem.extensions.answers import (
    DETAILS,
    Facts,
    absence,
    answers,
    detail,
    details,
    question,
    repository,
    settled,
)
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ecosystem.extensions.spider import ExtensionsSpider
    from crawlers.items import Extension

    Output = Iterator[Request | Extension]

BATCH = 50
"""Repositories in a GraphQL request."""
_QUESTION, _DETAIL, _RECORD = 20, 10, 0
"""Priorities: first the names that repositories have now, by GraphQL; by REST, one repository after the other."""
_TOO_MUCH = ("timeout", "truncated", "too_large", "not_json", "connection", "dns")


class GitHub:
    """The questions about a spider's repositories; what they lead to goes to its `found` and `not_found`.

    What GraphQL does not give is asked by REST, whose status says why.

    Args:
        address: of the REST API.
        has_token: whether requests carry one; GraphQL needs it.
    """

    def __init__(self, spider: ExtensionsSpider, address: str, *, has_token: bool) -> None:
        self.spider = spider
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
        """Return the GraphQL request for some repositories."""
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
        if error.kind in _TOO_MUCH or (status or 0) >= 500:  # GitHub gives a question ten seconds
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
        """Return a REST request.

        Args:
            path: below /repos/.
            keywords: of the callback.
        """
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
        """Return the request for a repository's own record."""
        return self.request(name, self.parse_record, self.record_failed, _RECORD, name=name)

    def parse_record(self, response: Response, name: str) -> Output:
        try:
            facts = repository(response)
        except AnswerError as error:
            self.spider.repositories.failed(name, error, response.request, response.status)
            yield from self.spider.repositories.not_found(name, "unknown", str(error))
            return
        yield from self.take(name, facts, details(facts))

    def record_failed(self, failure: Failure) -> Output:
        request, response = failures.request(failure), getattr(failure.value, "response", None)
        name, error = request.cb_kwargs["name"], failures.from_failure(failure)
        state, reason = absence(response) if error.kind == "http" and response is not None else ("unknown", str(error))
        if state == "unknown":
            self.spider.repositories.failed(name, error, request, failures.status(failure))
        yield from self.spider.repositories.not_found(name, state, reason)

    # What else is asked of those that were found

    def take(self, name: str, facts: Facts, left: list[str]) -> Output:
        """Continue with a repository, unless it has another name in the catalogue, too, that led to it before.

        Args:
            name: as it was asked for.
            left: the `DETAILS` to ask for.
        """
        if self.spider.repositories.is_first(name, facts):
            yield from self.continue_with(facts, left)
        else:
            yield from self.spider.repositories.found_again(settled(facts))

    def continue_with(self, facts: Facts, left: list[str]) -> Output:
        """Yield the request for the next detail; if none is left, the profile."""
        if not left:
            yield from self.spider.repositories.found(settled(facts))
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
            self.spider.repositories.failed(facts["repository"], error, response.request, response.status)
        if name == "releases" and facts.get("releases"):
            left = ["latest_release", *left]
        yield from self.continue_with(facts, left)

    def detail_failed(self, failure: Failure) -> Output:
        request, error = failures.request(failure), failures.from_failure(failure)
        facts, (_, *left) = request.cb_kwargs["facts"], request.cb_kwargs["left"]
        self.spider.repositories.failed(facts["repository"], error, request, failures.status(failure))
        yield from self.continue_with(facts, left)
