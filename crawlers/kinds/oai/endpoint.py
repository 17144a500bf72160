"""Where a repository is asked, and for which of its sets."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode, urlsplit


class Endpoint(NamedTuple):
    """A repository.

    Args:
        url: its address, as Identify gives it.
        set: the setSpec of the set whose records are wanted; empty for all records.
    """

    url: str
    set: str = ""

    def address(self, verb: str, **parameters: str) -> str:
        """Return the address of a request: the set goes with the first page of a list only.

        >>> Endpoint("https://example.org/oai", "water").address("ListRecords", metadataPrefix="oai_dc")
        'https://example.org/oai?verb=ListRecords&metadataPrefix=oai_dc&set=water'
        """
        is_list = verb == "ListRecords" and "metadataPrefix" in parameters and "resumptionToken" not in parameters
        chosen = {"set": self.set} if self.set and is_list else {}
        query = urlencode({"verb": verb} | parameters | chosen)
        return f"{self.url}{'&' if urlsplit(self.url).query else '?'}{query}"

    def record(self, identifier: str, prefix: str) -> str:
        """Return the address of one record."""
        return self.address("GetRecord", identifier=identifier, metadataPrefix=prefix)
