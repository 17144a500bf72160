"""ISO 19139 and ISO 19115-3 records, and their profiles."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.items import Agent, Dataset, License, Period, Place
from crawlers.records import values
from crawlers.records.dcat.themes import named_themes
from crawlers.records.formats import media_type
from crawlers.records.geometries import box as rectangle
from crawlers.records.geometries import degrees, fault
from crawlers.records.languages import language as tag_of
from crawlers.records.languages import languages
from crawlers.records.licenses import license as license_of
from crawlers.records.licenses import stated
from crawlers.records.linked import ADDRESS
from crawlers.records.markup import markdown
from crawlers.records.periods import between, envelope, frequency, is_reversed
from crawlers.records.rdf.authorities import HIGH_VALUE, INSPIRE, authority
from crawlers.records.record import Record
from crawlers.records.tables import csv_rows
from crawlers.records.values import duration, metres, relation
from crawlers.records.xml.links import Link, landing_page, resources, web_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawlers.items import Relation


_TOPIC = "http://inspire.ec.europa.eu/metadata-codelist/TopicCategory/"
_INSPIRE_THEMES = re.compile(r"inspire[ -]?themes?\b|inspire theme register|themes? inspire\b", re.IGNORECASE)
_HIGH_VALUE = re.compile(r"high-value dataset categor|data\.europa\.eu/bna/", re.IGNORECASE)
_SERVICE = "{*}identificationInfo/{*}SV_ServiceIdentification"
_TRUE = ("true", "1")
_SHOWN = 60


def scope(root: Any) -> str:
    """Return the code of what a record describes: dataset, series, service ...

    Without a code it is a service if it is identified as one, else a dataset.
    """
    if found := Part([root], "record", Context(root, None)).line("scope"):
        return found
    return "dataset" if root.find(_SERVICE) is None else "service"


def glance(root: Any, language: str | None) -> dict[str, str | None]:
    """Return the fields that are known without mapping the rest: the record's own id, its title, its stamp.

    Raises:
        AnswerError: as `dataset` does.
    """
    record = Part([root], "record", Context(root, language))
    _refuse_other_scopes(record)
    title = record.all("identification").line("title")
    return {"id": _identity(record), "title": title, "metadata_modified": _stamp(record)}


def dataset(root: Any, *, source: str, url: str, language: str | None = None) -> Dataset:
    """Return the item of a record, without its document; one that has no id of its own has the address as its id.

    Raises:
        AnswerError: it is in an unknown namespace, or describes neither data nor a service (unsupported).
    """
    context = Context(root, language)
    record = Part([root], "record", context)
    identification = record.all("identification")
    item = Dataset(source=source, id=_identity(record) or url)
    _refuse_other_scopes(record)
    _describe(item, record, identification)
    _classify(item, record, identification)
    set_agents(item, record, identification)
    set_terms(item, identification)
    _set_links(item, record, identification)
    set_details(item, identification, scope(root))
    item.derive()
    item.flaws = context.flaws.flaws
    return item


def _refuse_other_scopes(record: Part) -> None:
    scopes = record.texts("scope")
    if scopes and all(each in codes("scope") for each in scopes):
        raise AnswerError("unsupported", f"this ISO record describes no data, but a {scopes[0][:_SHOWN]}")


def _identity(record: Part) -> str | None:
    found = record.line("id")
    return (found[1:-1].strip() if found and found[0] + found[-1] == "{}" else found) or None


def _stamp(record: Part) -> str | None:
    if found := record.line("stamp"):
        return found
    dates = {each.text("type"): each.text("date") for each in record.parts("metadata_date", "date")}
    return dates.get("revision") or next(filter(None, dates.values()), None)


def _describe(item: Dataset, record: Part, identification: Part) -> None:
    item.identifier = next(identifiers := _identifiers(identification), None)
    item.uri = next(filter(values.url, filter(None, (item.identifier, *identifiers))), None)
    item.uri = item.uri or values.url(record.text("uri") or "")
    item.title = identification.line("title")
    if not item.title:
        record.context.flaws.flaw("the record has no title", "title", "missing_value")
    item.description = markdown(identification.text("description") or identification.text("purpose") or "")
    item.version = identification.line("edition")
    item.provenance = markdown("\n\n".join(record.texts("provenance")))
    item.metadata_modified = _stamp(record)
    dates = _dates(identification)
    item.issued = min(dates.get("issued") or dates.get("created") or (), default=None)
    item.modified = max(dates.get("modified", ()), default=None)


def _identifiers(identification: Part) -> Iterator[str]:
    """Yield the identifiers of the data: an address stands alone, and a name space precedes a code to make one."""
    for each in identification.parts("identifier"):
        for code, address in each.values("code"):
            named = (each.text("space") or "") + (code or "")
            yield address or (named if not values.url(code or "") and values.url(named) else code) or ""
            break


def _dates(identification: Part) -> dict[str, list[str]]:
    """Return the dates by what happened then: issued, created, modified."""
    found: dict[str, list[str]] = {}
    for each in identification.parts("date"):
        what, text = codes("date").get(each.text("type") or ""), each.line("date")
        if not what or not text:
            continue
        moment = values.xsd_date(text)
        if moment and values.has_come(moment):
            found.setdefault(what, []).append(moment)
        else:
            wrong = "is in the future" if moment else "is no date"
            identification.context.flaws.flaw(f"{what} {text[:_SHOWN]!r} {wrong}", what)
    return found


def _classify(item: Dataset, record: Part, identification: Part) -> None:
    keywords, themes, names = _keywords(identification)
    topics = (code for text in identification.texts("topic") for code in text.split())
    item.keywords = values.keywords(list(keywords), is_list_alone=False)
    item.themes = named_themes([*themes, *(_TOPIC + code.partition("_")[0] for code in topics)])
    item.languages = _languages(record, identification)
    item.frequency = next(filter(None, map(frequency, _frequencies(identification))), None)
    item.temporal = period(identification)
    item.spatial = places(identification, names)
    item.conforms_to = list(dict.fromkeys(_standards(record)))


def _keywords(identification: Part) -> tuple[dict[str, None], dict[str, None], dict[str, None]]:
    """Return keywords, themes and names of places, each in order and once."""
    keywords: dict[str, None] = {}
    themes: dict[str, None] = {}
    names: dict[str, None] = {}
    for each in identification.parts("keywords"):
        thesaurus = " ".join(filter(None, (part for pair in each.values("thesaurus") for part in pair)))
        of_thesaurus = _mark(thesaurus)
        is_place = each.text("type") == "place"
        for text, address in each.values("keyword"):
            word = " ".join((text or address or "").split())
            known, mark = authority(address or word)
            if mark := mark or of_thesaurus:
                themes |= dict.fromkeys((word if text or not known else known, mark))
            else:
                (names if is_place else keywords)[word] = None
    return keywords, themes, names


def _mark(thesaurus: str) -> str | None:
    """Return what the keywords of a thesaurus are besides themes.

    >>> _mark("GEMET - INSPIRE themes, version 1.0"), _mark("High-value dataset categories"), _mark("GEMET - Concepts")
    ('INSPIRE', 'hvd', None)
    """
    if _INSPIRE_THEMES.search(thesaurus):
        return INSPIRE
    return HIGH_VALUE if _HIGH_VALUE.search(thesaurus) else None


def _languages(record: Part, identification: Part) -> list[str]:
    """Return the languages of the data, else that of the record. In "eng; CAN" the second is a country."""
    own = [*identification.texts("language"), *identification.texts("other_language")] or record.texts("language")
    return languages(text.partition(";")[0] for text in own)


def _frequencies(identification: Part) -> list[str]:
    return [*identification.texts("frequency"), *identification.texts("interval")]


def _standards(record: Part) -> Iterator[str]:
    """Yield the specifications that the data conform to, by address if they have one."""
    for each in record.parts("conformity"):
        if each.text("pass") in _TRUE:
            for text, address in each.values("title"):
                yield address or " ".join((text or "").split())


def _set_links(item: Dataset, record: Part, identification: Part) -> None:
    found = links(record, identification)
    formats = [*record.all("format").values("name"), *identification.all("format").values("name")]
    names = [address if address and media_type(address) else text for text, address in formats]
    item.landing_page = landing_page(found)
    item.resources = resources(found, item.id, list(dict.fromkeys(filter(None, names))))


_PUBLISHERS = ("publisher", "distributor", "owner")


def set_agents(item: Dataset, record: Part, identification: Part) -> None:
    """Set the publisher and the contacts; of contacts several of a role are kept, each once.

    The publisher is the party of that role, else the distributor, else the owner, else the first point of contact.
    """
    own, distributors = list(agents(identification, "contact")), list(agents(record, "distributor"))
    by_role = {agent.role: agent for agent in reversed((*own, *agents(identification, "cited"), *distributors))}
    chosen = next((by_role[role] for role in _PUBLISHERS if role in by_role), None) or next(iter(own), None)
    item.publisher = chosen and replace(chosen, role="publisher")
    found = (*own, *agents(record, "contact"), *distributors)
    item.contacts = list({repr(agent): agent for agent in found}.values())


def agents(part: Part, name: str) -> Iterator[Agent]:
    for party in part.parts(name, "party"):
        role = party.text("role") or "contact"
        organisation = party.find("organisation")
        agent = Agent(
            name=party.line("organisation") or _person(party),
            uri=next(filter(None, map(link, organisation)), None),
            email=values.email(party.text("email") or ""),
            url=values.url(party.text("url") or ""),
            role=codes("role").get(role, role),
        )
        if agent.name or agent.uri or agent.email or agent.url:
            yield agent


def _person(party: Part) -> str | None:
    parts = (party.line("first_name"), party.line("last_name"))
    return party.line("person") or " ".join(filter(None, parts)) or party.line("position")


_NO_LICENSE = "noConditionsApply", "conditionsUnknown"
_LONGEST_TITLE = 300
_NAME = re.compile(
    r"li[cs]en[cçsțţt]|lizen[zc]|лиценз|ліценз|creative ?commons|etalab|\bcc[ -]?(?:by|0|zero)\b|\bogl\b|\bdl-de\b"
    r"|\bodbl\b|public domain|domaine public|open ?data ?commons",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|no|never|without|cannot|nicht|keine?[mnrs]?|ohne|non|pas|sans|aucune?|sin|senza|nessuna?|geen|niet|zonder"
    r"|não|sem|nie|bez|inte|ikke|ej|ei|не|без)\b(?!-)|n['\u2019]t\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.,:;!?\n](?:\s|$)")


class Statement(NamedTuple):
    text: str | None
    address: str | None

    @property
    def written(self) -> str:
        return self.text or self.address or ""

    def is_code(self, *codes: str) -> bool:
        """Return whether it is one of the codes, by its address or as its text."""
        last = (self.address or self.text or "").rstrip("/").rpartition("/")[2]
        return last in codes


def set_terms(item: Dataset, identification: Part) -> None:
    """Set the licence, the access rights and the other rights.

    `otherConstraints` beside `useConstraints` are the licence, whatever they say; a `useLimitation` is one if SPDX
    knows it, or it names a licence and has an address. INSPIRE's "no conditions apply" is not a licence.
    """
    used, access, limits = _statements(identification)
    found = [(each, named) for each in used if (named := _license(each))]
    found += [(each, named) for each in limits if (named := _license(each)) and _is_named(each, named)]
    chosen, item.license = min(found, key=_order, default=(None, None))
    item.access_rights = _access(access)
    rest = [each.written for each in (*limits, *used) if each is not chosen and license_of(None, None, each.written)]
    item.rights = "\n\n".join(dict.fromkeys((*rest, *_classifications(identification)))) or None


def _statements(identification: Part) -> tuple[list[Statement], list[Statement], list[Statement]]:
    """Return the statements about use, about access, and about limits."""
    used: list[Statement] = []
    access: list[Statement] = []
    limits: list[Statement] = []
    for each in identification.parts("constraints"):
        limits += [Statement(*found) for found in each.values("limitation")]
        others = [Statement(*found) for found in each.values("other")]
        is_about_use = bool(each.find("use")) or not each.find("access")
        for other in others:
            is_about_access = "LimitationsOnPublicAccess" in (other.address or "") or not is_about_use
            (access if is_about_access else used).append(other)
        used += [Statement(title, each.text("reference_url")) for title in each.texts("reference")]
    return used, access, limits


def _license(statement: Statement) -> License | None:
    text, address = statement
    if statement.is_code(*_NO_LICENSE):
        return None
    if not address and text and (found := ADDRESS.search(text)):
        if _is_denied(text, found.start()):
            return License(title=text) if len(text) <= _LONGEST_TITLE else License(text=text)
        address = found[0]
    return stated(text or address or "", address, _LONGEST_TITLE)


def _is_named(statement: Statement, license_: License) -> bool:
    """Return whether a limitation is a licence: one that SPDX knows, or one that its words name beside an address."""
    if license_.id or not license_.uri:
        return license_.id is not None
    found = _NAME.search(statement.text or "")
    if found:
        return not _is_denied(statement.text or "", found.start())
    return _NAME.search(license_.uri) is not None


def _is_denied(text: str, at: int) -> bool:
    """Return whether a negation precedes a place of a text, in the same clause.

    >>> _is_denied("This is NOT under CC BY", 18), _is_denied("Not for navigation. CC BY", 20)
    (True, False)
    """
    return _NOT.search(_CLAUSE_END.split(text[max(at - 200, 0) : at])[-1]) is not None


def _order(found: tuple[Statement, License]) -> tuple[bool, bool]:
    """Return a key: what SPDX knows precedes an address, and that precedes words."""
    return not found[1].id, not found[1].uri


def _access(statements: list[Statement]) -> str | None:
    if any(each.is_code("noLimitations") for each in statements):
        return "PUBLIC"
    return "\n\n".join(dict.fromkeys(each.written for each in statements)) or None


def _classifications(identification: Part) -> list[str]:
    found = (each.text("classification") for each in identification.parts("constraints"))
    return [code for code in found if code and code != "unclassified"]


_OPEN = ("now", "unknown", "before", "after", "..")
_SIDES = ("west", "south", "east", "north")


def places(identification: Part, names: Iterable[str]) -> list[Place]:
    """Return the boxes and the named places, each once.

    Args:
        names: of places that keywords give.
    """
    boxes = (_box(each) for each in identification.parts("box"))
    codes = (_named(text, address) for text, address in identification.values("place"))
    found = [*boxes, *codes, *map(_named, names)]
    return list({repr(place): place for place in found if place}.values())


def _named(text: str | None, address: str | None = None) -> Place:
    if text and (uri := values.url(text)):
        return Place(uri=address or uri)
    return Place(name=text, uri=address)


def _box(box: Part) -> Place | None:
    texts = [box.text(side) for side in _SIDES]
    if not any(texts) or box.text("is_inside") in ("false", "0"):
        return None
    sides = [degrees(text) for text in texts]
    if wrong := fault(sides):
        written = ", ".join(str(text)[:20] for text in texts)
        box.context.flaws.flaw(f"the box {written} (west, south, east, north) {wrong}", "spatial")
        return None
    return Place(geometry=rectangle(*sides))


def period(identification: Part) -> Period | None:
    """Return the period from the earliest start to the latest end; it is open where one of several is open."""
    flaw = partial(identification.context.flaws.flaw, place="temporal")
    found = []
    for time in identification.find("time"):
        each = _period(time, flaw)
        if each and is_reversed(each):
            flaw(f"the period from {each.start} to {each.end} ends before it starts")
        elif each:
            found.append(each)
    if len(found) < 2:
        return found[0] if found else None
    joined = envelope(found)
    return between(joined.start, joined.end)


def _period(time: Any, flaw: Callable[[str], None]) -> Period | None:
    """Return the period of a gml:TimePeriod or gml:TimeInstant; a position that is "now" or "unknown" is open."""
    if time.tag.endswith("}TimeInstant"):
        moment = _moment(time, flaw, "{*}timePosition")
        return between(moment, moment)
    return between(_moment(time, flaw, "{*}beginPosition", "{*}begin"), _moment(time, flaw, "{*}endPosition", "{*}end"))


def _moment(time: Any, flaw: Callable[[str], None], *tags: str) -> str | None:
    for position in time.iterdescendants(*tags):
        text = " ".join("".join(position.itertext()).split())
        if found := values.xsd_date(text):
            return found
        if text and text not in _OPEN:
            flaw(f"the period's {position.tag.rpartition('}')[2]} {text[:_SHOWN]!r} is no date")
    return None


_LAW = re.compile(r"https?://data\.europa\.eu/eli/\S+")
_CATEGORY = re.compile(r"https?://data\.europa\.eu/bna/\S+")


def set_details(item: Dataset, identification: Part, scope: str) -> None:
    """Fill in these fields.

    Args:
        scope: the code of what the record describes, which is the dataset's type.
    """
    item.type, item.status = scope, identification.line("status")
    item.relations = list(_relations(identification))
    item.documentation = list(filter(None, map(values.url, identification.texts("document"))))
    item.spatial_resolution = min(_distances(identification), default=None)
    item.temporal_resolution = next(filter(None, map(duration, identification.texts("duration"))), None)
    cited = list(_cited(identification))
    item.applicable_legislation = list(dict.fromkeys(filter(_LAW.fullmatch, cited)))
    item.hvd_categories = list(dict.fromkeys(filter(_CATEGORY.fullmatch, cited)))


def _relations(identification: Part) -> Iterator[Relation]:
    for each in identification.parts("associated"):
        code, anchor = next(iter(each.values("code")), (None, None))
        written = (anchor or "", code or "", each.text("page") or "")
        address = next(filter(None, map(values.url, written)), None)
        title = each.line("title") or code
        if found := relation(address or "", each.text("type") or "relation", title if title != address else None):
            yield found


def _distances(identification: Part) -> Iterator[float]:
    """Yield the distances on the ground in metres; one in degrees is none."""
    for element in identification.find("distance"):
        for number in element.iterchildren("*"):
            unit = (number.get("uom") or "m").rpartition("#")[2].rpartition("/")[2]
            if found := metres(f"{(number.text or '').strip()} {unit}"):
                yield found


def _cited(identification: Part) -> Iterator[str]:
    """Yield the addresses of the keywords and of the constraints, as anchors or as texts."""
    parts = ("keywords", "keyword"), ("constraints", "other"), ("constraints", "use"), ("constraints", "reference_url")
    for part, name in parts:
        for each in identification.parts(part):
            yield from (written for pair in each.values(name) for written in pair if written)


_MEGABYTE = 1_000_000
_LARGEST = 10**12


def links(record: Part, identification: Part) -> list[Link]:
    """Return the links of a record, each once."""
    found: dict[Link, None] = {}
    for transfer in record.parts("transfer"):
        those = [each for part in transfer.parts("link") if (each := _link_of(part))]
        size = _size(transfer.text("size")) if len(those) == 1 else None  # the size of several is that of all together
        found |= dict.fromkeys(each._replace(size=size) for each in those)
    known = {each.url for each in found}
    return [*found, *(each for each in _endpoints(identification) if each.url not in known)]


def _endpoints(identification: Part) -> Iterator[Link]:
    """Yield the addresses of a service's operations, each once."""
    found = filter(None, (_link_of(part) for part in identification.parts("endpoint", "link")))
    yield from {each.url: each._replace(function="download") for each in found}.values()


def _link_of(part: Part) -> Link | None:
    url = web_address(part.line("url") or "")
    if not url:  # a path of the publisher's own network, as many records have: no flaw
        return None
    protocol, function = (part.line("protocol") or "").lower(), part.text("function") or ""
    return Link(url, protocol, part.line("title"), part.text("description"), function, None)


def _size(text: str | None) -> int | None:
    """Return the bytes of a size in megabytes.

    >>> _size("0.213701"), _size("1,5"), _size("large"), _size("-1"), _size(None)
    (213701, 1500000, None, None, None)
    """
    try:
        size = float((text or "")[:40].replace(",", "."))
    except ValueError:
        return None
    return round(size * _MEGABYTE) if 0 < size < _LARGEST else None


Path = tuple[str, tuple[tuple[bool, str], ...]]
"""The local name of a child, and the steps below it: whether at any depth, and the tag."""

_VOCABULARIES = {
    "http://www.isotc211.org/2005/gmd": "iso19139",
    "http://standards.iso.org/iso/19115/-3/mdb/1.0": "iso19115_3",
    "http://standards.iso.org/iso/19115/-3/mdb/2.0": "iso19115_3",
}
_NIL = {
    "iso19139": "{http://www.isotc211.org/2005/gco}nilReason",
    "iso19115_3": "{http://standards.iso.org/iso/19115/-3/gco/1.0}nilReason",
}
_HREF = "{http://www.w3.org/1999/xlink}href"
_ROOTS = "I_Metadata", "D_Metadata"


def vocabulary(root: Any) -> str | None:
    """Return the vocabulary of a record; ``None`` for any other element.

    The namespace of the children decides: profiles have a root of their own (gmi, che) with children in gmd.
    """
    if not root.tag.endswith(_ROOTS):
        return None
    namespaces = (etree.QName(child).namespace for child in root.iterchildren("*"))
    return next((found for namespace in namespaces if (found := _VOCABULARIES.get(namespace))), None)


class Context:
    """What the parts of one record share.

    Args:
        language: the tag of the texts to prefer; by default the one the record is written in.

    Raises:
        AnswerError: the record is in no known vocabulary.
    """

    def __init__(self, root: Any, language: str | None) -> None:
        name = vocabulary(root)
        if name is None:
            raise AnswerError("unsupported", f"this ISO record is in an unknown namespace: {root.tag[:200]}")
        self.paths, self.nil = _paths(name), _NIL[name]
        self.root = root
        self.language = language and language.partition("-")[0]
        self.flaws = Record({})
        self._locales: dict[str, str] | None = None

    def locales(self) -> dict[str, str]:
        """Return the language of each locale by its id."""
        if self._locales is None:
            locales = Part([self.root], "record", self).parts("locale")
            found = {each.elements[0].get("id"): tag_of(each.text("language") or "") for each in locales}
            self._locales = {id_: tag for id_, tag in found.items() if id_ and tag}
        return self._locales


class Part:
    """Reads one element, or several of one name as if they were one.

    Args:
        name: what the table calls the part.

    Attributes:
        children: the elements' children by local name: most names of the table are absent, and cost one look-up.
        known: what `parts` and `values` returned: several fields are made of the same keywords and constraints.
    """

    __slots__ = ("children", "context", "elements", "known", "paths")

    def __init__(self, elements: list[Any], name: str, context: Context) -> None:
        self.elements, self.context = elements, context
        self.paths = context.paths[name]
        self.known: dict[tuple[str, str], list[Any]] = {}
        self.children: dict[str, list[Any]] = {}
        for element in elements:
            for child in element.iterchildren("*"):
                self.children.setdefault(child.tag.rpartition("}")[2], []).append(child)

    def find(self, name: str) -> list[Any]:
        """Return the elements that a name of the table leads to."""
        first, steps = self.paths[name]
        found = self.children.get(first)
        if not found:
            return []
        for is_deep, tag in steps:
            below: list[Any] = []
            for element in found:
                below += element.iterdescendants(tag) if is_deep else element.iterchildren(tag)
            if not below:
                return below
            found = below
        return found

    def parts(self, name: str, kind: str | None = None) -> list[Part]:
        """Return a part for each element.

        Args:
            kind: what the table calls such a part; by default the same name.
        """
        key = name, kind or name
        if key not in self.known:
            self.known[key] = [Part([element], key[1], self.context) for element in self.find(name)]
        return self.known[key]

    def all(self, name: str) -> Part:
        """Return all elements as one part."""
        return Part(self.find(name), name, self.context)

    def values(self, name: str) -> list[tuple[str | None, str | None]]:
        """Return the text and the web address of each element that has any of them."""
        key = name, ""
        if key not in self.known:
            found = [(text(element, self.context), link(element)) for element in self.find(name)]
            self.known[key] = [each for each in found if any(each)]
        return self.known[key]

    def texts(self, name: str) -> list[str]:
        """Return the texts, each once."""
        found = self.find(name)
        return list(dict.fromkeys(filter(None, [text(each, self.context) for each in found]))) if found else []

    def text(self, name: str) -> str | None:
        """Return the first text that is not empty."""
        for element in self.find(name):
            if found := text(element, self.context):
                return found
        return None

    def line(self, name: str) -> str | None:
        """Return the first text as one line."""
        found = self.text(name)
        return " ".join(found.split()) if found else None


@cache
def _paths(name: str) -> dict[str, dict[str, Path]]:
    """Return the paths of a vocabulary, by part and name."""
    found: dict[str, dict[str, Path]] = {}
    for part, field, *paths in csv_rows(__package__, "iso_paths.csv"):
        path = dict(zip(("iso19139", "iso19115_3"), paths, strict=True))[name]
        first, *steps = path.split("/")
        found.setdefault(part, {})[field] = first, tuple(map(_step, steps))
    return found


def _step(step: str) -> tuple[bool, str]:
    name = step.removeprefix("..")
    return step != name, name if name == "*" else f"{{*}}{name}"


@cache
def codes(name: str) -> dict[str, str]:
    """Return the meanings of a list's codes."""
    return {code: meaning for list_, code, meaning in csv_rows(__package__, "iso_codes.csv") if list_ == name}


# Values


def text(element: Any, context: Context) -> str | None:
    """Return an element's text: in the preferred language, else the record's own, else any translation.

    A code is its ``codeListValue``. Whatever has a ``nilReason`` is absent.
    """
    own = None if element.get(context.nil) else _own_text(element)
    if own and not context.language:
        return own
    translations = [each for each in element.iterdescendants("{*}LocalisedCharacterString") if each.text]
    if not translations:
        return own
    wanted = (each for each in translations if context.language and _language(each, context) == context.language)
    chosen = next(wanted, None)
    if chosen is None and own:
        return own
    return values.text((chosen if chosen is not None else translations[0]).text)


def _own_text(element: Any) -> str | None:
    for child in element.iterchildren("*"):
        code = child.get("codeListValue") or child.text
        if code and (found := values.text(code)):
            return found
    return values.text(element.text or "")


def _language(localised: Any, context: Context) -> str | None:
    name = localised.get("locale", "").removeprefix("#")
    tag = context.locales().get(name) or tag_of(name)
    return tag and tag.partition("-")[0]


def link(element: Any) -> str | None:
    """Return the web address that an anchor has beside its text."""
    for child in element.iterchildren("*"):
        if (href := child.get(_HREF)) and (address := values.url(href)):
            return address
    return None
