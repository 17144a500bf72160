"""What expressions gave, in the form that items have: the same for every API, so no declaration says it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.fields import specs
from crawlers.items import Agent, Dataset, License, Relation, Resource, Service
from crawlers.kinds.api.functions import checksum_of, period_of
from crawlers.records import values
from crawlers.records.formats import file_type
from crawlers.records.languages import languages
from crawlers.records.licenses import license as license_of
from crawlers.records.licenses import stated
from crawlers.records.linked import ADDRESS, LinkedRecord
from crawlers.records.linked import iri as iri_of
from crawlers.records.periods import frequency
from crawlers.records.places import places
from crawlers.records.values import code, duration, metres, relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crawlers.items import Checksum, Period

_MOST = 1_000
"""Agents of a record."""
_LARGEST = 10**18
"""Bytes of a file; a larger number is none of a file's."""


class Normaliser(LinkedRecord):
    """Reads the values of one item: each key of ``data`` is a field's name."""

    __slots__ = ()

    def read_all(self, readers: Mapping[str, Callable[[Normaliser, str], Any]]) -> dict[str, Any]:
        """Return each field in the form that items have."""
        return {name: readers[name](self, name) for name in self.data}

    def labels(self, name: str) -> list[str]:
        """Return texts, each once, whatever its case: portals list "trees" and "Trees"."""
        found: dict[str, str] = {}
        for text in values.keywords(self.texts(name)) if name == "keywords" else self.texts(name):
            found.setdefault(text.casefold(), text)
        return list(found.values())

    def tags(self, name: str) -> list[str]:
        return languages(self.texts(name))

    def contacts(self, name: str) -> list[Agent]:
        """Return the agents; that there are more than are kept is a flaw."""
        if (number := len(self.many(name))) > _MOST:
            self.flaw(f"{self.path}{name}: {number} agents, {_MOST} are read: the document has all", name, "cut_value")
        return list(self.people(name, "contact"))

    def people(self, name: str, role: str) -> Iterator[Agent]:
        """Yield the agents of texts and of objects with the fields of `Agent`."""
        for node in islice(self.nodes(name, text=_named), _MOST):
            agent = Agent(**_made(node, Agent))
            if agent.name or agent.uri or agent.email or agent.url:
                agent.role = agent.role or role
                yield agent

    def terms(self, name: str) -> License | None:
        """Return the first licence of texts and of ``{id, uri, title, text}``."""
        return next(filter(None, (self._terms(*given) for given in self.many(name))), None)

    def _terms(self, where: str, value: Any) -> License | None:
        if not isinstance(value, dict):
            text = self.as_text(where, value)
            return stated(text, address[0] if (address := ADDRESS.search(text)) else None) if text else None
        node = self.node(where, value)
        name, text = node.text("id"), node.markdown("text")
        found = license_of(name, node.link("uri"), node.text("title"))
        if found is None and text:
            return stated(text, address[0] if (address := ADDRESS.search(text)) else None)
        if found is not None:
            found.text = found.text or text
        return found


def reference(record: Normaliser, name: str) -> str | None:
    """Return an IRI: of the web, or a URN."""
    return iri_of(record.text(name))


def stamp(record: Normaliser, name: str) -> str | None:
    """Return the source's own stamp, letter for letter."""
    value = record.value(name)
    return value if isinstance(value, str) else record.text(name)


def temporal(record: Normaliser, name: str) -> Period | None:
    """Return a period; what is none is a flaw."""
    value = record.value(name)
    if isinstance(value, dict) and not any(value.values()):  # {start: null, end: null} of a declaration
        return None
    found = period_of(value)
    if not found and record.text(name):
        record.flaw(f"{record.path}{name} is no period", name)
    return found


def _frequency(record: Normaliser, name: str) -> str | None:
    return record.read(frequency, name)


def _size(record: Normaliser, name: str) -> int | None:
    value = record.value(name)
    return value if type(value) is int and 0 < value < _LARGEST else record.read(values.size, name) or None


def _checksum(record: Normaliser, name: str) -> Checksum | None:
    return checksum_of(record.value(name))


def _code(record: Normaliser, name: str) -> str | None:
    return record.read(code, name)


def _metres(record: Normaliser, name: str) -> float | None:
    return record.read(metres, name)


def _duration(record: Normaliser, name: str) -> str | None:
    return record.read(duration, name)


def _agent(record: Normaliser, name: str) -> Agent | None:
    return next(record.people(name, name), None)


def _relations(record: Normaliser, name: str) -> list[Relation]:
    """Return the relations of texts and of ``{role, uri, title}``."""
    nodes = record.nodes(name, text=lambda text: {"uri": text})
    found = (relation(each.text("uri") or "", each.text("role") or "relation", each.text("title")) for each in nodes)
    return [each for each in islice(found, _MOST) if each]


def _services(record: Normaliser, name: str) -> list[Service]:
    """Return the services of addresses and of objects with the fields of `Service`."""
    nodes = islice(record.nodes(name, text=lambda text: {"endpoint_url": text}), _MOST)
    found = [Service(**_made(each, Service)) for each in nodes]
    return [each for each in found if each.uri or each.title or each.endpoint_url]


def _made(node: Normaliser, item: type) -> dict[str, Any]:
    """Return the fields of an object, in the form that items have."""
    return {name: _READERS[spec.kind](node, name) for name, spec in specs(item).items() if node.fields.get(name)}


def _named(text: str) -> dict[str, Any]:
    return {"name": text}


_READERS: dict[str, Callable[[Normaliser, str], Any]] = {
    **dict.fromkeys(("text", "reference"), LinkedRecord.text),
    "email": LinkedRecord.email,
    "markdown": Normaliser.markdown,
    "moment": Normaliser.moment,
    "stamp": stamp,
    "iri": reference,
    "address": Normaliser.link,
    **dict.fromkeys(("addresses", "references"), Normaliser.references),
    "labels": Normaliser.labels,
    "languages": Normaliser.tags,
    "code": _code,
    "frequency": _frequency,
    "metres": _metres,
    "duration": _duration,
    "size": _size,
    "checksum": _checksum,
    "license": Normaliser.terms,
    "period": temporal,
    "places": places,
    "agent": _agent,
    "agents": Normaliser.contacts,
    "relations": _relations,
    "services": _services,
}
"""How a field of each kind is read."""
DATASET = {name: _READERS[spec.kind] for name, spec in specs(Dataset).items()}
RESOURCE = {name: _READERS[spec.kind] for name, spec in specs(Resource).items()}


def with_file_type(found: dict[str, Any]) -> dict[str, Any]:
    """Return a resource's fields; its format and media type tell each other, and so does the file's address."""
    address = found.get("download_url") or found.get("url")
    format_, media = file_type(found.get("format"), found.get("media_type"), address)
    return found | {"format": format_, "media_type": media}
