"""An ISO 19139 or 19115-3 record as an item."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.items import Dataset
from crawlers.records import values
from crawlers.records.dcat.themes import named_themes
from crawlers.records.formats import media_type
from crawlers.records.frequencies import frequency
from crawlers.records.languages import languages
from crawlers.records.markup import markdown
from crawlers.records.rdf.authorities import HIGH_VALUE, INSPIRE, authority
from crawlers.records.xml.iso import constraints, details, extents, parties
from crawlers.records.xml.iso.part import Context, Part, codes
from crawlers.records.xml.iso.transfers import links
from crawlers.records.xml.links import landing_page, resources

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    parties.describe(item, record, identification)
    constraints.describe(item, identification)
    _link(item, record, identification)
    details.complete(item, identification, scope(root))
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
    item.temporal = extents.period(identification)
    item.spatial = extents.places(identification, names)
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


def _link(item: Dataset, record: Part, identification: Part) -> None:
    found = links(record, identification)
    formats = [*record.all("format").values("name"), *identification.all("format").values("name")]
    names = [address if address and media_type(address) else text for text, address in formats]
    item.landing_page = landing_page(found)
    item.resources = resources(found, item.id, list(dict.fromkeys(filter(None, names))))
