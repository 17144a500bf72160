"""What a catalogue service says of a record that it no longer lists."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.kinds.csw.results import exception
from crawlers.listing.confirmation import Fate, GoneRecords
from crawlers.xml_records import root

if TYPE_CHECKING:
    from scrapy.http import Response


class GoneCSW(GoneRecords):
    """Asks for the records by GetRecordById."""

    by = "the server"

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return that a record is gone if the answer is empty, as in CSW 2.0.2, or names that, as in CSW 3.0."""
        top = root(response)
        if error := exception(top):
            words = error.about.split()
            if "notfound" in words or {"invalidparametervalue", "id"} <= set(words):
                return Fate("not found")
            raise error
        is_envelope = etree.QName(top).localname == "GetRecordByIdResponse"
        if is_envelope and not len(top):
            return Fate("not found")
        texts = chain(top.itertext(), (value for each in top.iter("{*}*") for value in each.attrib.values()))
        if any(text.strip() == dataset_id for text in texts):
            return Fate()
        raise AnswerError("refused", "the answer is not the record")
