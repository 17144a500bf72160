"""Maps a dataflow to an item; reads one again from disk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.items import Agent, Dataset, Relation, Resource, Service
from crawlers.records import values, xml
from crawlers.records.markup import markdown
from crawlers.records.periods import any_period

if TYPE_CHECKING:
    from collections.abc import Iterator

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_REST_3 = re.compile(r"/(?:sdmx/)?(?:v?3|rest/v2|v2)(?:[./]|$)")
_EUROSTAT = re.compile(r"^https?://[^/]*\bec\.europa\.eu/eurostat/")
_OLDEST, _LATEST, _UPDATED = "OBS_PERIOD_OVERALL_OLDEST", "OBS_PERIOD_OVERALL_LATEST", "UPDATE_DATA"
_PAGE = "ESMS_HTML"
"""Eurostat's annotations."""


def is_sdmx(root: Any) -> bool:
    """Return whether an element is the root of SDMX-ML: a structure message, or an error."""
    name = etree.QName(root)
    return name.localname in ("Structure", "Error") and "sdmx" in (name.namespace or "").lower()


def service(address: str) -> str:
    """Return the root of a service, given any of its addresses.

    >>> service("https://example.org/sdmx/2.1/dataflow/all/all/latest?detail=full")
    'https://example.org/sdmx/2.1'
    """
    bare = address.partition("?")[0].rstrip("/")
    return re.split(r"/(?:dataflow|structure|data)(?:/|$)", bare, maxsplit=1)[0]


def list_address(root: str) -> str:
    """Return the address of all dataflows.

    >>> list_address("https://example.org/sdmx/3.0")
    'https://example.org/sdmx/3.0/structure/dataflow/*/*/~?detail=full&references=none'
    """
    path = "structure/dataflow/*/*/~" if _REST_3.search(root) else "dataflow/all/all/latest"
    return f"{root}/{path}?detail=full&references=none"


def identity(element: Any) -> str | None:
    """Return the agency and the id of a dataflow, without its version: that changes."""
    agency, name = (element.get("agencyID") or "").strip(), (element.get("id") or "").strip()
    return f"{agency}:{name}" if agency and name else None


def rank(element: Any) -> tuple[list[int], bool]:
    """Return a dataflow's version so that a later one is greater: 1.10 than 1.9, 2.0.0 than 2.0.0-draft."""
    numbers, _, extension = (element.get("version") or "1.0").partition("-")
    return [int(part) for part in re.findall(r"[0-9]{1,9}", numbers)], not extension


def address_of(identifier: str, root: str) -> str:
    """Return the address of one dataflow."""
    path = "structure/dataflow/{}/~" if _REST_3.search(root) else "dataflow/{}/latest"
    return f"{root}/{path.format(identifier.replace(':', '/'))}"


def dataset(element: Any, *, source: str, url: str) -> Dataset:
    """Return the item of a dataflow.

    Args:
        url: its address, as `address_of` returns it.
    """
    identifier = identity(element) or url
    item = Dataset(source=source, id=identifier, identifier=identifier, uri=element.get("urn"))
    item.title = _text(element, "Name")
    description = _text(element, "Description")
    item.description = markdown(description) if description else None
    item.version = element.get("version")
    item.publisher = Agent(name=element.get("agencyID"), role="publisher")
    notes = dict(_annotations(element))
    item.modified = values.date(notes.get(_UPDATED, ""))
    ends = [notes[name] for name in (_OLDEST, _LATEST) if name in notes]
    item.temporal = any_period("/".join(ends)) if ends else None
    item.resources = list(_resources(identifier, service(url)))
    item.documentation = list(filter(None, [values.url(notes.get(_PAGE, ""))]))
    item.relations = list(_structure(element))
    item.metadata_source, item.document = "sdmx", xml.document(element)
    return item


def _text(element: Any, name: str) -> str | None:
    """Return the text in English, else the first."""
    found = list(element.iterchildren("{*}" + name))
    ordered = sorted(found, key=lambda each: (each.get(_LANG) or "").lower()[:2] != "en")
    return next(filter(None, (values.text("".join(each.itertext())) for each in ordered)), None)


def _annotations(element: Any) -> Iterator[tuple[str, str]]:
    for note in element.iterfind("{*}Annotations/{*}Annotation"):
        texts = [note.findtext(f"{{*}}Annotation{name}") or "" for name in ("URL", "Title", "Date", "Text")]
        yield (note.findtext("{*}AnnotationType") or "").strip(), next((text.strip() for text in texts if text), "")


def _structure(element: Any) -> Iterator[Relation]:
    """Yield the definition of its dimensions: SDMX 3 names it by a URN, 2.1 by its parts."""
    for structure in element.iterchildren("{*}Structure"):
        for each in structure.iterchildren("{*}Ref"):
            name = f"{each.get('agencyID')}:{each.get('id')}({each.get('version') or '1.0'})"
            yield Relation(role="structure", uri=f"urn:sdmx:org.sdmx.infomodel.datastructure.DataStructure={name}")
        if urn := values.text(structure.findtext("{*}URN") or structure.text or ""):
            yield Relation(role="structure", uri=urn)


def _resources(identifier: str, root: str) -> Iterator[Resource]:
    """Yield where the data are: in SDMX at each service, as CSV where the parameter for it is known."""
    agency, _, name = identifier.partition(":")
    path = f"data/dataflow/{agency}/{name}/~" if _REST_3.search(root) else f"data/{agency},{name}"
    address = values.url(f"{root}/{path}")
    yield Resource(
        id="sdmx",
        dataset_id=identifier,
        url=address,
        download_url=address,
        format="SDMX",
        access_services=[Service(endpoint_url=root)],
    )
    if _EUROSTAT.match(root):
        address = f"{address}?format=SDMX-CSV"
        yield Resource(id="csv", dataset_id=identifier, url=address, download_url=address, format="CSV")


def read(document: Any, source: str, dataset_id: str, metadata_url: str) -> Dataset:
    """Return the item of a document on disk.

    Raises:
        ValueError: it is of another dataflow.
        AnswerError: it is not XML.
    """
    element = xml.parse(document)
    if identity(element) != dataset_id:
        raise ValueError(f"it is not the record of {dataset_id}")
    return dataset(element, source=source, url=metadata_url)
