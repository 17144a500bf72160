"""What reads the fields of a dataset or a distribution of a data.json, by their kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.items import Relation, Service
from crawlers.records.languages import languages
from crawlers.records.linked import LinkedRecord, iri, related
from crawlers.records.periods import frequency
from crawlers.records.record import Fields
from crawlers.records.values import code, duration, metres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_QUALIFIED = "qualifiedRelation"


def relations(fields: LinkedRecord, *names: str) -> list[Relation]:
    plain = [found for name in names if name != _QUALIFIED for found in related(fields, name, name)]
    return [*plain, *_qualified(fields)]


def samples(fields: LinkedRecord, *names: str) -> list[str]:
    """Return the addresses of samples: of distributions their files'."""
    found = (each.link("downloadURL", "accessURL") or each.iri() for each in fields.nodes(*names, text=_addressed))
    return list(dict.fromkeys(filter(None, found)))


def all_references(fields: LinkedRecord, *names: str) -> list[str]:
    """Return what any of the properties refers to."""
    return list(dict.fromkeys(found for name in names for found in fields.references(name)))


def _services(fields: LinkedRecord, *names: str) -> list[Service]:
    services = map(_service, fields.nodes(*names, text=_addressed))
    return [each for each in services if each.uri or each.title or each.endpoint_url]


def _addressed(text: str) -> dict[str, str] | None:
    return {"@id": text, "endpointURL": text} if iri(text) else {"title": text}


def _qualified(fields: LinkedRecord) -> Iterator[Relation]:
    for each in fields.nodes(_QUALIFIED):
        role = next(iter(each.references("hadRole")), "relation").rstrip("/").rpartition("/")[2].rpartition("#")[2]
        yield from related(each, "relation", role)


def _service(fields: LinkedRecord) -> Service:
    return Service(uri=fields.iri(), **_SERVICE.read(fields))


BY_KIND: dict[str, Callable[..., Any]] = {
    "text": LinkedRecord.text,
    "markdown": LinkedRecord.markdown,
    "address": LinkedRecord.link,
    "moment": LinkedRecord.moment,
    "frequency": lambda fields, *names: fields.read(frequency, *names),
    "iri": lambda fields, *names: iri(fields.text(*names)),
    "labels": LinkedRecord.texts,
    "reference": lambda fields, *names: next(iter(fields.references(*names)), None),
    "references": LinkedRecord.references,
    "addresses": all_references,
    "languages": lambda fields, *names: languages(fields.texts(*names)),
    "license": lambda fields, *_: fields.license(),
    "code": lambda fields, *names: next(map(code, fields.references(*names)), None),
    "metres": lambda fields, *names: fields.read(metres, *names),
    "duration": lambda fields, *names: fields.read(duration, *names),
    "services": _services,
}
"""What reads a field of each kind."""
_SERVICE = Fields.of(Service, "data_json", BY_KIND, {}, without=("uri",))
