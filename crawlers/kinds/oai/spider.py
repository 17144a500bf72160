"""The spider of every OAI-PMH repository."""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from typing import ClassVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.kinds.oai.answers import Endpoint, GoneOAI, Metadata
from crawlers.kinds.oai.dialect import ListRecords
from crawlers.listing.since import SINCE
from crawlers.listing.spider import ListedSpider

_ARGUMENTS = ("verb", "metadataPrefix", "resumptionToken", "set", "from", "until", "identifier")


def endpoint(value: str) -> str:
    """Return the address of a repository, without a request's arguments.

    >>> endpoint("https://example.org/oai?verb=Identify"), endpoint("https://example.org/csw?mode=oaipmh&verb=ListSets")
    ('https://example.org/oai', 'https://example.org/csw?mode=oaipmh')
    """
    parts = urlsplit(arguments.url(value))
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in _ARGUMENTS]
    return parts._replace(query=urlencode(query)).geturl()


def word(value: str) -> str:
    """Return a name without blanks, as those of formats and sets are."""
    if not re.fullmatch(r"\S{1,500}", value):
        raise ValueError("a name without blanks")
    return value


class OAISpider(ListedSpider):
    """A repository, all of it or one set.

    Attributes:
        url: its address, as Identify gives it; ``-a url=`` overrides it.
        endpoint: where it is asked.
        metadata: the items of its records.
    """

    kind = "oai"
    arguments: ClassVar[dict[str, Argument]] = ListedSpider.arguments | {
        "url": Argument(help="The repository's base URL.", parse=endpoint),
        "set": Argument(help="Only this set's records, by its setSpec.", parse=word),
        "prefix": Argument(help="The metadataPrefix; by default the richest that can be read.", parse=word),
        "since": SINCE,
    }

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.endpoint = Endpoint(str(self.url), self.args["set"] or "")
        self.gone = GoneOAI(self, self.withdrawals, self.endpoint)
        self.metadata = Metadata(self, self.gone)

    def make_dialect(self) -> ListRecords:
        return ListRecords(self, self.metadata)

    @cached_property
    def source(self) -> str:
        """Two sets have two folders: each crawl lacks what is in the other set only."""
        name = super().source
        chosen = self.args["set"]
        return name if self.args["source"] or not chosen else f"{name[:40]}__{set_name(chosen)}"


def set_name(name: str) -> str:
    """Return the name of a set as a part of a folder's name; another set has another one.

    >>> set_name("water"), set_name("a:b") == set_name("a_b")
    ('water', False)
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:50]
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


class OAI(OAISpider):
    """Any OAI-PMH repository, the one that -a url= names."""

    name = "oai"
