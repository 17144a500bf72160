"""A record's element as an item, by the format that its root says, and its document read again."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import quoteattr

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.items import Dataset, Flaw
from crawlers.kinds.dcat import reader as rdf
from crawlers.records.lazy_dataset import LazyDataset
from crawlers.records.xml import datacite, dublin_core, iso, rdf_element
from crawlers.records.xml.element import parse
from crawlers.safety import bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlers.records.rdf.terms import Graph


class Format(NamedTuple):
    """A format of records.

    Args:
        sources: the names of ``metadata_source`` that it gives.
        recognise: returns the ``metadata_source`` of an element that is such a record.
        map: returns the item of the element, without its document; takes ``source``, ``url`` and ``language``, too.
        scope: returns the code of ISO 19115 for what the element describes: dataset, series, service ...
        glance: returns the fields that are known without mapping, the id among them; takes the ``language``, too.
    """

    sources: tuple[str, ...]
    recognise: Callable[[Any], str | None]
    map: Callable[..., Dataset]
    scope: Callable[[Any], str] = lambda _: "dataset"
    glance: Callable[[Any, str | None], dict[str, str | None]] | None = None


FORMATS = (
    Format(("iso19139", "iso19115_3"), iso.vocabulary, iso.dataset, iso.scope, iso.glance),
    Format(("rdf_xml",), rdf_element.recognise, rdf_element.dataset),
    Format(("datacite",), datacite.recognise, datacite.dataset),
    Format(("dublin_core",), dublin_core.recognise, dublin_core.dataset, dublin_core.scope),
)
"""The order in which an element is tried: the last finds Dublin Core in anything."""

READERS = dict.fromkeys((source for each in FORMATS for source in each.sources), "crawlers.records.xml:read")
"""What the kinds whose records are XML declare as readers, by ``metadata_source``."""
UNREAD = "xml"
"""The ``metadata_source`` of a record in a format that is not read: it is kept as it is."""

_DEEPEST = 12
_BEYOND = etree.XPath(f"descendant::node()[{bounds.RECORD.most + 1}]")
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_TYPE = re.compile(rb":type=[\"']([A-Za-z_][A-Za-z0-9_.-]{0,99}):")
_REPLACED = "\ufffd".encode()
_NO_DATA = "FC_FeatureCatalogue"
_UNSUPPORTED = {
    "metadata": "an FGDC (CSDGM) record, which is not read: ask for ISO 19139",
    _NO_DATA: "a feature catalogue (ISO 19110), which describes no data",
    "MD_Metadata": "an ISO record in an unknown namespace",
    "MI_Metadata": "an ISO record in an unknown namespace",
    "DIF": "a DIF record, which is not read: ask for ISO 19139",
    "EntryXML": "an EML record, which is not read: ask for ISO 19139",
}


def records(root: Any) -> Iterator[Any]:
    """Yield the elements that are records, in order: the element itself, or those within an answer that wraps them.

    Raises:
        AnswerError: ``too_large``: there may be too many. Where none is among the first ones, there is none.
    """
    waiting, seen, is_found = [(root, 0)], 1, False
    while waiting:
        element, depth = waiting.pop()
        if format_of(element):
            is_found = True
            yield element
        elif depth < _DEEPEST:
            seen += len(element)
            if seen > bounds.RECORDS.most and not is_found:
                return
            bounds.RECORDS.check(seen)
            waiting += [(child, depth + 1) for child in element.iterchildren("*", reversed=True)]


def is_record(root: Any) -> bool:
    """Return whether an element is a record in one of the formats, or wraps one."""
    return next(records(root), None) is not None


def is_readable(root: Any) -> bool:
    """Return whether an element can be read as a record, even as one without an id or about no data."""
    try:
        lazily(root, source="", url="https://example.org/")
    except AnswerError as error:
        return error.kind == "missing_id" or (error.kind == "unsupported" and is_record(root))
    return True


def format_of(element: Any) -> tuple[Format, str] | None:
    """Return the format of an element that is a record, and its ``metadata_source``."""
    return next(((each, found) for each in FORMATS if (found := each.recognise(element))), None)


def scope(root: Any) -> str:
    """Return what a record describes: dataset, series, service ...; "dataset" where it does not say.

    Raises:
        AnswerError: as `dataset` does for an element that is not one record.
    """
    element, format_, _ = _only_record(root)
    return format_.scope(element)


def dataset(
    root: Any,
    *,
    source: str,
    url: str,
    id: str | None = None,  # noqa: A002 -- an item's field
    language: str | None = None,
) -> Dataset:
    """Return the item of a record, with its document and ``metadata_source``.

    A record whose id is given is kept whatever can't be read of it: a flaw says what.

    Args:
        root: the record's element, or one that wraps it.
        url: the address that gave it.
        id: the record's id where the protocol has one of its own; by default the record's.
        language: the tag of the texts to prefer; by default the record's own language.

    Raises:
        AnswerError: it is about something that is no data (unsupported); or no id is given, and it is not a record
            (invalid_record), of a format that is not read (unsupported), or has no id (missing_id).
    """
    element, format_, metadata_source = _only_record(root, is_kept=id is not None)
    body = document(element)
    item = _mapped(element, format_, id, body, source=source, url=url, language=language)
    item.metadata_source, item.document = metadata_source, body
    return item


def _mapped(element: Any, format_: Format, own_id: str | None, body: bytes, **given: Any) -> Dataset:
    try:
        item = format_.map(element, **given)
    except AnswerError as error:
        if own_id is None or error.kind == "unsupported":
            raise
        item = Dataset(source=given["source"], id=own_id, flaws=[Flaw(str(error))])
    item.id = own_id or item.id
    if _REPLACED in body:
        sentence = (
            "some of its texts are not in the encoding that the XML declares, and have U+FFFD for what can't be read: "
            "-a encoding= says the right one, such as windows-1252"
        )
        item.flaws.append(Flaw(sentence, "encoding", "repaired_text"))
    for resource in item.resources:
        resource.dataset_id = item.id
    return item


def lazily(
    root: Any,
    *,
    source: str,
    url: str,
    id: str | None = None,  # noqa: A002
    language: str | None = None,
    **given: Any,
) -> Dataset:
    """Return the item as `dataset` does, mapped when a field is read that is not known at once: `Format.glance`.

    An ISO record that describes no data raises here, not when it is mapped. Of a record of 40 kB this takes 0.1 ms, and
    mapping it another 0.4 ms.

    Args:
        given: fields that the record has not, such as ``metadata_url``.
    """
    element, format_, metadata_source = _only_record(root, is_kept=id is not None)
    if format_.glance is None:
        item = dataset(element, source=source, url=url, id=id, language=language)
        for name, value in given.items():
            setattr(item, name, value)
        return item
    known = format_.glance(element, language)
    fields: dict[str, Any] = {"name": None, "metadata_source": metadata_source, **known, **given}
    fields["id"] = id or known["id"] or url
    body = document(element)
    mapping = partial(_mapped, element, format_, id, body, source=source, url=url, language=language)
    return LazyDataset(mapping, source=source, document=body, **fields)


def _only_record(root: Any, *, is_kept: bool = False) -> tuple[Any, Format, str]:
    """Return the one record in an element, its format and its ``metadata_source``.

    Args:
        is_kept: whether an element that is none, or has several, is a record that is not read.
    """
    found = list(islice(records(root), 2))
    if len(found) == 1:
        format_, metadata_source = format_of(found[0])  # type: ignore[misc]  # it was found by that
        return found[0], format_, metadata_source
    if not is_kept or etree.QName(root).localname == _NO_DATA:
        raise _refusal(root, has_several=bool(found))
    reason = str(_refusal(root, has_several=bool(found)))
    return root, Format((UNREAD,), lambda _: UNREAD, partial(_unread, reason)), UNREAD


def _unread(reason: str, *_: Any, **__: Any) -> Dataset:
    raise AnswerError("invalid_record", reason)


def _refusal(root: Any, *, has_several: bool) -> AnswerError:
    if has_several:
        return AnswerError("invalid_record", f"there are several records where one is expected, in {_name(root)}")
    for element in islice(root.iter("*"), 20):
        if known := _UNSUPPORTED.get(etree.QName(element).localname):
            return AnswerError("unsupported", f"this is {known}")
    return AnswerError(
        "invalid_record", f"the XML is not a metadata record that is known here: its root is {_name(root)}"
    )


def _name(element: Any) -> str:
    return str(element.tag)[:200]


def document(element: Any) -> bytes:
    """Return an element as a file, with its own namespaces and those of its surroundings that it uses.

    Others would make each record of an answer as large as all that the answer declares, and change with it. A copy has
    what the names of elements and attributes use.

    Raises:
        AnswerError: ``too_large``.
    """
    bounds.RECORD.check(bounds.RECORD.most + len(_BEYOND(element)))
    own = element if element.getparent() is None else deepcopy(element)
    body: bytes = etree.tostring(own, encoding="utf-8", with_tail=False)
    if own is not element and _XSI in own.nsmap.values():
        body = _with_types(body, element.nsmap, own.nsmap)
    return b"<?xml version='1.0' encoding='utf-8'?>\n" + body + b"\n"


def _with_types(body: bytes, around: dict[str | None, str], own: dict[str | None, str]) -> bytes:
    """Return an element with the namespaces that only the values of its xsi:type use."""
    names = sorted({found[1].decode() for found in _TYPE.finditer(body)} & {*around} - {*own})
    declared = "".join(f" xmlns:{name}={quoteattr(around[name])}" for name in names)
    return body.replace(b" ", declared.encode() + b" ", 1)


def triples(document: Any, metadata_url: str) -> tuple[Graph, str]:
    """Return the RDF of a document on disk, and the dataset's name there."""
    if isinstance(document, dict):
        return rdf.triples(document, metadata_url)  # type: ignore[return-value]  # it is a description
    return rdf_element.description(_only_record(parse(document))[0], metadata_url)


def read(document: Any, source: str, name: str, metadata_url: str) -> Dataset:
    """Return the item of a document on disk: bytes of XML, or the JSON-LD that earlier versions wrote."""
    if isinstance(document, dict):
        return rdf.rdf(document, source, name, metadata_url)
    return dataset(parse(document), source=source, url=metadata_url, id=name)
