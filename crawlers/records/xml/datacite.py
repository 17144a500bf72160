"""DataCite's metadata, whatever the version of its kernel, also in the wrapper of ``oai_datacite``.

The fields are those of https://schema.datacite.org; what they mean in DCAT is as CiteDCAT-AP says.
"""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lxml import etree

from crawlers.items import Agent, Dataset, Flaw, License, Relation, Resource
from crawlers.records import licenses, periods, places, values
from crawlers.records.formats import file_type
from crawlers.records.languages import languages
from crawlers.records.markup import markdown
from crawlers.records.record import Record
from crawlers.records.values import relation
from crawlers.records.xml.dublin_core import ACCESS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Period

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_TAG = re.compile(r"\{https?://(?:schema\.)?datacite\.org/[^}]*\}resource")
_DOI = re.compile(r"(?:doi:|https?://(?:dx\.)?doi\.org/)?(10\.[0-9.]{1,40}/\S{1,400})", re.IGNORECASE)
_ORCID = re.compile(r"(?:https?://orcid\.org/)?([0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])")
_ROLE = re.compile(r"[A-Za-z]{2,40}")
_ROLES = {"ContactPerson": "contact", "RightsHolder": "rightsHolder", "Distributor": "distributor"}
_ACCESS = re.compile(r"info:eu-repo/semantics/([A-Za-z]{1,40})|https?://purl\.org/coar/access_right/(\S{1,20})")
_DOCUMENTED = ("isDocumentedBy", "isDescribedBy")
"""The roles of documentation."""
_LISTS = {"rights": "rightsList"}
"""Lists whose name is not the plural of their parts' name."""
_COAR = {"c_abf2": "PUBLIC", "c_f1cf": "RESTRICTED", "c_16ec": "RESTRICTED", "c_14cb": "NON_PUBLIC"}
"""COAR's access rights: open, embargoed, restricted, metadata only."""
_BYTES = re.compile(r"([0-9]{1,18}) ?(?:B|bytes?)?", re.IGNORECASE)
_MOST = 1_000
"""Places, agents and keywords that a record may have."""


def recognise(element: Any) -> str | None:
    """Return ``datacite`` for the element ``resource`` of DataCite."""
    return "datacite" if _TAG.fullmatch(element.tag) else None


def dataset(element: Any, *, source: str, url: str, language: str | None = None) -> Dataset:
    """Return the item of an element that is recognised; without an identifier of its own it has the address.

    Args:
        language: the tag of the texts to prefer.
    """
    flaws: list[Flaw] = []
    identifier, address = _identity(element)
    item = Dataset(source=source, id=identifier or url, identifier=identifier, uri=address, landing_page=address)
    item.title = _preferred([each for each in _all(element, "title") if not each.get("titleType")], language)
    item.description = _description(element, language)
    item.issued, item.modified = _issued(element, flaws), _date(element, "Updated", flaws)
    item.temporal = _temporal(element)
    item.version, item.languages = _first(element, "version"), languages(_texts(element, "language"))
    publisher = _first(element, "publisher")
    item.publisher = Agent(name=publisher, role="publisher") if publisher else None
    item.contacts = list(_agents(element))
    item.keywords = values.keywords(_texts(element, "subject"))
    item.license, item.access_rights, item.rights = _rights(element)
    given = list(map(_as_json, _all(element, "geoLocation")))
    item.spatial = places.places_of(Record({}, flaws), [("geoLocation", given)])
    item.provenance = _described(element, "Methods", language)
    item.resources, item.flaws = _resources(element, item), flaws
    item.type = _type(element)
    related = list(_relations(element))
    item.relations = [each for each in related if each.role not in _DOCUMENTED]
    item.documentation = [each.uri for each in related if each.role in _DOCUMENTED and each.uri]
    item.derive()
    return item


def _type(element: Any) -> str | None:
    """Return what kind of thing it is, in the publisher's words, else in DataCite's."""
    found = next(element.iterchildren("{*}resourceType"), None)
    return None if found is None else _text(found) or values.text(found.get("resourceTypeGeneral") or "")


def _relations(element: Any) -> Iterator[Relation]:
    """Yield what it has to do with: the role of IsSupplementTo is isSupplementTo."""
    for each in _all(element, "relatedIdentifier"):
        role = each.get("relationType") or "relation"
        if found := relation(_text(each) or "", role[:1].lower() + role[1:60]):
            yield found


def _all(element: Any, name: str) -> list[Any]:
    """Return an element's parts of a name, in whatever version of the namespace, in a list of the plural name or not.

    What is deeper belongs to something else: a relatedItem has creators, a publisher and dates, too.
    """
    inside = element.iterfind(f"{{*}}{_LISTS.get(name, f'{name}s')}/{{*}}{name}")
    return list(islice(chain(element.iterchildren("{*}" + name), inside), _MOST))


def _text(element: Any) -> str | None:
    return values.text(" ".join("".join(element.itertext()).split())) if element is not None else None


def _texts(element: Any, name: str) -> list[str]:
    return list(dict.fromkeys(filter(None, map(_text, _all(element, name)))))


def _first(element: Any, name: str) -> str | None:
    return next(iter(_texts(element, name)), None)


def _preferred(elements: list[Any], language: str | None) -> str | None:
    """Return the text in the language, else the first."""
    ordered = sorted(elements, key=lambda each: language is None or (each.get(_LANG) or "").lower() != language.lower())
    return next(filter(None, map(_text, ordered)), None)


def _identity(element: Any) -> tuple[str | None, str | None]:
    """Return the identifier, and its address: a DOI's is that of doi.org."""
    for found in element.iterchildren("{*}identifier"):
        text = _text(found) or ""
        if doi := _DOI.fullmatch(text):
            return doi[1], f"https://doi.org/{quote(doi[1], safe='/:;()')}"
        if text:
            return text, values.url(text)
    return None, next((url for text in _texts(element, "alternateIdentifier") if (url := values.url(text))), None)


def _described(element: Any, kind: str, language: str | None) -> str | None:
    found = [each for each in _all(element, "description") if each.get("descriptionType") == kind]
    ordered = sorted(found, key=lambda each: language is None or (each.get(_LANG) or "").lower() != language.lower())
    return next(filter(None, ("".join(each.itertext()).strip() for each in ordered)), None)


def _description(element: Any, language: str | None) -> str | None:
    kinds = ("Abstract", "Other", "TechnicalInfo", None)
    text = next(filter(None, (_described(element, kind, language) for kind in kinds)), None)  # type: ignore[arg-type]
    return markdown(text) if text else None


def _dates(element: Any, kind: str) -> Iterator[str]:
    return (text for each in _all(element, "date") if each.get("dateType") == kind and (text := _text(each)))


def _date(element: Any, kind: str, flaws: list[Flaw]) -> str | None:
    """Return the latest date of a type that has come; one in the future is a flaw, such as the end of an embargo."""
    found = list(filter(None, map(values.xsd_date, _dates(element, kind))))
    ahead = (date for date in found if not values.has_come(date))
    flaws += [Flaw(f"the date {date!r} of type {kind} is in the future", f"date {kind}") for date in ahead]
    return max(filter(values.has_come, found), default=None)


def _issued(element: Any, flaws: list[Flaw]) -> str | None:
    year = values.date(_first(element, "publicationYear") or "")
    kinds = (_date(element, kind, flaws) for kind in ("Issued", "Available"))
    return next(filter(None, kinds), None) or year or _date(element, "Created", flaws)


def _temporal(element: Any) -> Period | None:
    texts = [*_dates(element, "Coverage"), *_dates(element, "Collected")]
    found = [period for text in texts if (period := periods.any_period(text))]
    return periods.envelope(found) if found else None


def _agents(element: Any) -> Iterator[Agent]:
    for kind in ("creator", "contributor"):
        for each in _all(element, kind):
            name = _first(each, f"{kind}Name")
            role = each.get("contributorType") or ""
            orcid = next(
                (found[1] for text in _texts(each, "nameIdentifier") if (found := _ORCID.fullmatch(text))), None
            )
            uri = f"https://orcid.org/{orcid}" if orcid else None
            if name:
                other = _ROLES.get(role, role[:1].lower() + role[1:] if _ROLE.fullmatch(role) else kind)
                yield Agent(name=name, uri=uri, role=kind if kind == "creator" else other)


def _rights(element: Any) -> tuple[License | None, str | None, str | None]:
    """Return the licence, the access rights, and what else is stated."""
    access, found = None, []
    for each in _all(element, "rights"):
        text, address = _text(each), (each.get("rightsURI") or "").strip()
        if code := _ACCESS.fullmatch(address) or _ACCESS.fullmatch(text or ""):
            name = code[1] or code[2]
            access = access or ACCESS.get(name) or _COAR.get(name) or text or name
        else:
            identifier = (each.get("rightsIdentifier") or "").strip()[:200]
            found.append((licenses.license(identifier or None, values.url(address), text), text))
    best = min((known for known, _ in found if known), key=lambda known: (not known.id, not known.uri), default=None)
    others = dict.fromkeys(text for known, text in found if text and known is not best)
    return best, access, "\n\n".join(others) or None


def _as_json(element: Any) -> Any:
    """Return an element as DataCite's JSON has it: its text, or its children by name, several in a list."""
    found: dict[str, Any] = {}
    for child in element.iterchildren("*"):
        found.setdefault(etree.QName(child).localname, []).append(_as_json(child))
    if not found:
        return _text(element) or ""
    return {name: each if len(each) > 1 or name == "polygonPoint" else each[0] for name, each in found.items()}


def _resources(element: Any, item: Dataset) -> list[Resource]:
    """Return a resource for each format; DataCite names no files, so its address is the landing page."""
    formats, sizes = _texts(element, "format"), _texts(element, "size")
    bytes_ = [int(found[1]) for text in sizes if (found := _BYTES.fullmatch(text))]
    size = bytes_[0] if len(bytes_) == len(formats) == 1 else None
    return [_resource(text, item, size) for text in formats if item.landing_page]


def _resource(text: str, item: Dataset, size: int | None) -> Resource:
    format_, media_type = file_type(text, values.media_type(text), None)
    found = Resource(id=text[:200], dataset_id=item.id, url=item.landing_page, access_url=item.landing_page, size=size)
    found.format, found.media_type = format_, media_type
    return found
