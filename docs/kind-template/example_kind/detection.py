"""Recognises the catalogue for `scrapy sources add`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin

from crawlers.exceptions import AnswerError
from crawlers.kind import Detector, Finding
from example_kind.spider import records

if TYPE_CHECKING:
    from crawlers.kind import Asking, Probe


class ExampleDetector(Detector):
    kind = "example"
    requests = 1  # kept for this kind: the project's own kinds are asked first, and eight requests are made in all

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        """Return the catalogue if its API answers; a kind that knows it by its page overrides `recognise` instead."""
        if probe.is_settled or probe.is_unreachable:
            return []
        root = urljoin(probe.url, "/").rstrip("/")
        address = f"{root}/datasets.json?page=1"
        answer = yield from probe.ask(address)
        try:
            if isinstance(answer, AnswerError):
                raise answer
            total = records(answer.body)["total"]
        except AnswerError as error:
            probe.say(address, str(error))
            return []
        probe.say(address, f"an example catalogue, {total} datasets")
        return [Finding(self.kind, root, f"its API says that it has {total} datasets")]
