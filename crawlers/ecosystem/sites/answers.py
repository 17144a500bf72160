"""Asks a portal whose API is found for its figures, one question after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.components.politeness import failures
from crawlers.ecosystem.sites.questions import QUESTIONS
from crawlers.ecosystem.sites.visit import Visit, host
from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api

if TYPE_CHECKING:
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ecosystem.sites.search import Output
    from crawlers.ecosystem.sites.spider import SitesSpider

_PATIENCE = 2
"""Questions in a row without an answer, before no more are asked."""


class Answers:
    """The answers of portals to their questions."""

    def __init__(self, spider: SitesSpider) -> None:
        self.spider = spider

    def begin(self, visit: Visit, result: dict[str, Any] | None) -> Output:
        """Yield the second question.

        Args:
            result: of the first one; ``None`` if CKAN refuses to answer that.
        """
        visit.site["api_root"] = visit.root
        if result is not None:
            try:
                QUESTIONS["newest"].read(result, visit)
            except AnswerError as error:
                visit.gaps.append(f"package_search: {error}")
        needless = {"newest", "datasets" if result is not None else "", "oldest" if visit.newest is None else ""}
        visit.questions = [name for name in QUESTIONS if name not in needless]
        yield from self.following(visit)

    def following(self, visit: Visit, more: dict[str, Any] | None = None) -> Output:
        """Yield the next question; where none is left, the site.

        Args:
            more: parameters of the last question's next part.
        """
        if not visit.questions or visit.unanswered >= _PATIENCE:
            yield from self.end(visit)
            return
        if more is None:
            visit.counted, visit.first = 0, None
        question = QUESTIONS[visit.questions[0]]
        yield visit.request(question.action, question.parameters | (more or {}), self.parse, self.failed)

    def parse(self, response: Response, visit: dict[str, Any]) -> Output:
        """Yield the next question after an answer."""
        here, more = Visit(**visit), None
        question, here.unanswered = QUESTIONS[here.questions[0]], 0
        try:
            more = question.read(api.any_result(response), here)
        except AnswerError as error:
            is_plain = response.status < 400 or error.kind == "blocked" or api.refusal(response)
            here.gaps.append(f"{question.action}: {error if is_plain else f'HTTP {response.status}'}")
            here.unanswered = _PATIENCE if error.kind == "blocked" else 0
        here.questions = here.questions if more else here.questions[1:]
        yield from self.following(here, more)

    def failed(self, failure: Failure) -> Output:
        """Yield the next question after one that had no answer; an errback."""
        request, error = failures.request(failure), failures.from_failure(failure)
        here = Visit(**request.cb_kwargs["visit"])
        name, *here.questions = here.questions
        here.gaps.append(f"{QUESTIONS[name].action}: {error}")
        here.unanswered = _PATIENCE if error.kind == "blocked" else here.unanswered + 1
        yield from self.following(here)

    def end(self, visit: Visit) -> Output:
        """Yield the site of a visit in which CKAN answered."""
        gaps = "; ".join(visit.gaps)
        if visit.has_moved:
            moved = f"the address leads to {host(visit.place)}, where CKAN answers"
            yield from self.spider.end(visit, "moved", f"{moved}; {gaps}" if gaps else moved)
        else:
            yield from self.spider.end(visit, "up", gaps or None)
