"""Which spider harvests what was found, and with which arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from crawlers.exceptions import SourcesError

if TYPE_CHECKING:
    from crawlers.catalogue import CatalogueSpider
    from crawlers.sources.detect import Finding
    from crawlers.sources.known import Known

KINDS = {"portal": "ckan", "url": "dcat", "rules": "html"}
"""What a spider harvests, by the argument that says where."""
_SPIDERS = {"ckan": "ckan", "dcat": "dcat", "html": "html"}
_NARROWER = re.compile(r"/(organization|group)/([A-Za-z0-9_-]{1,100})/?$")
_QUERY = {"q": "q", "organization": "organization", "groups": "group", "tags": "tag"}


def spider(finding: Finding, known: Known) -> str:
    """The spider that is this very catalogue's, else the one of its kind."""
    for name, one in known.spiders.items():
        own = getattr(one, one.address, None)
        if KINDS[one.address] == finding.kind and own and _is_same(str(own), finding):
            return name
    return _SPIDERS[finding.kind]


def arguments(finding: Finding, typed: str, chosen: type[CatalogueSpider]) -> dict[str, str]:
    """Where the catalogue is, unless the spider knows; and what of it the address is about.

    Args:
        typed: the address that the user gave.
    """
    own = getattr(chosen, chosen.address, None)
    where = {} if own and _is_same(str(own), finding) else {chosen.address: finding.address}
    told = narrowed(typed) if finding.kind == "ckan" else {}
    return where | {name: value for name, value in told.items() if name in chosen.arguments}


def narrowed(url: str) -> dict[str, str]:
    """
    >>> narrowed("https://demo.ckan.org/organization/rivers"), narrowed("https://demo.ckan.org/dataset?q=a+b&tags=x")
    ({'organization': 'rivers'}, {'q': 'a b', 'tag': 'x'})
    """
    parts = urlsplit(url)
    path = _NARROWER.search(parts.path)
    if path:
        return {path[1]: path[2]}
    if not parts.path.rstrip("/").endswith("/dataset"):
        return {}
    query = parse_qs(parts.query)
    return {ours: query[theirs][0] for theirs, ours in _QUERY.items() if len(query.get(theirs, [])) == 1}


def kind(name: str, known: Known) -> str:
    """What a spider harvests.

    Raises:
        SourcesError: it is none of a kind that can be found out.
    """
    address = known.spiders[name].address
    if address not in KINDS:
        raise SourcesError(f"What spider {name} harvests can't be found out: --force writes the table as it is.")
    return KINDS[address]


def _is_same(own: str, finding: Finding) -> bool:
    """Whether an address is the found one: of CKAN the host tells."""
    if finding.kind == "ckan":
        return urlsplit(own).netloc.lower() == urlsplit(finding.address).netloc.lower()
    return own.rstrip("/") == finding.address.rstrip("/")
