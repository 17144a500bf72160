"""A record of a JSON API as an item: what the declaration finds in it, in the form that items have. Pure."""

from __future__ import annotations

import hashlib
import json
import logging
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlers.exceptions import RulesError
from crawlers.fields import specs
from crawlers.items import Agent, Dataset, Flaw, License, Relation, Resource, Service
from crawlers.kinds.api.expressions import ExpressionError, Template, checksum_of, period_of
from crawlers.kinds.api.file import is_there, load
from crawlers.records import values
from crawlers.records.formats import file_type
from crawlers.records.languages import languages
from crawlers.records.lazy_dataset import LazyDataset
from crawlers.records.licenses import license as license_of
from crawlers.records.licenses import stated
from crawlers.records.linked import ADDRESS, LinkedRecord
from crawlers.records.linked import iri as iri_of
from crawlers.records.periods import frequency
from crawlers.records.places import places
from crawlers.records.record import note
from crawlers.records.values import code, duration, metres, relation
from crawlers.safety.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crawlers.items import Document, Period
    from crawlers.kind import Reader
    from crawlers.kinds.api.declaration import Declaration, Filler, Resources
    from crawlers.records.volatile import Volatile


_DEEPEST = 60
_MOST = 10_000
"""Resources of one record."""
_ADDRESSES = {"landing_page", "url", "access_url", "download_url"}
_RELATIVE = ("/", "./", "../")
_AT_ONCE = ("name", "title", "metadata_modified")
"""Fields that are wanted of every record, changed or not."""
_MOST_AGENTS = 1_000  # of a record
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

    def contacts(self, name: str) -> list[Agent]:
        """Return the agents; that there are more than are kept is a flaw."""
        if (number := len(self.many(name))) > _MOST_AGENTS:
            self.flaw(
                f"{self.path}{name}: {number} agents, {_MOST_AGENTS} are read: the document has all", name, "cut_value"
            )
        return list(self.people(name, "contact"))

    def people(self, name: str, role: str) -> Iterator[Agent]:
        """Yield the agents of texts and of objects with the fields of `Agent`."""
        for node in islice(self.nodes(name, text=lambda text: {"name": text}), _MOST_AGENTS):
            agent = Agent(**_made(node, Agent))
            if agent.name or agent.uri or agent.email or agent.url:
                agent.role = agent.role or role
                yield agent

    def terms(self, name: str) -> License | None:
        """Return the first licence of texts and of ``{id, uri, title, text}``."""
        return next(filter(None, (self._terms(*given) for given in self.many(name))), None)

    def _terms(self, where: str, value: Any) -> License | None:
        if isinstance(value, dict):
            node = self.node(where, value)
            id_, text = node.text("id"), node.markdown("text")
            if found := license_of(id_, node.link("uri"), node.text("title")):
                found.text = found.text or text
                return found
        else:
            text = self.as_text(where, value)
        return stated(text, address[0] if (address := ADDRESS.search(text)) else None) if text else None


def _stamp(record: Normaliser, name: str) -> str | None:
    """Return the source's own stamp, letter for letter."""
    value = record.value(name)
    return value if isinstance(value, str) else record.text(name)


def _period(record: Normaliser, name: str) -> Period | None:
    """Return a period; what is none is a flaw."""
    value = record.value(name)
    if isinstance(value, dict) and not any(value.values()):  # {start: null, end: null} of a declaration
        return None
    found = period_of(value)
    if not found and record.text(name):
        record.flaw(f"{record.path}{name} is no period", name)
    return found


def _size(record: Normaliser, name: str) -> int | None:
    value = record.value(name)
    return value if type(value) is int and 0 < value < _LARGEST else record.read(values.size, name) or None


def _relations(record: Normaliser, name: str) -> list[Relation]:
    """Return the relations of texts and of ``{role, uri, title}``."""
    nodes = record.nodes(name, text=lambda text: {"uri": text})
    found = (relation(each.text("uri") or "", each.text("role") or "relation", each.text("title")) for each in nodes)
    return [each for each in islice(found, _MOST_AGENTS) if each]


def _services(record: Normaliser, name: str) -> list[Service]:
    """Return the services of addresses and of objects with the fields of `Service`."""
    nodes = islice(record.nodes(name, text=lambda text: {"endpoint_url": text}), _MOST_AGENTS)
    found = [Service(**_made(each, Service)) for each in nodes]
    return [each for each in found if each.uri or each.title or each.endpoint_url]


def _made(node: Normaliser, item: type) -> dict[str, Any]:
    """Return the fields of an object, in the form that items have."""
    return {name: _READERS[spec.kind](node, name) for name, spec in specs(item).items() if node.fields.get(name)}


_READERS: dict[str, Callable[[Normaliser, str], Any]] = {
    **dict.fromkeys(("text", "reference"), LinkedRecord.text),
    "email": LinkedRecord.email,
    "markdown": Normaliser.markdown,
    "moment": Normaliser.moment,
    "stamp": _stamp,
    "iri": lambda record, name: iri_of(record.text(name)),  # of the web, or a URN
    "address": Normaliser.link,
    **dict.fromkeys(("addresses", "references"), Normaliser.references),
    "labels": Normaliser.labels,
    "languages": lambda record, name: languages(record.texts(name)),
    "code": lambda record, name: record.read(code, name),
    "frequency": lambda record, name: record.read(frequency, name),
    "metres": lambda record, name: record.read(metres, name),
    "duration": lambda record, name: record.read(duration, name),
    "size": _size,
    "checksum": lambda record, name: checksum_of(record.value(name)),
    "license": Normaliser.terms,
    "period": _period,
    "places": places,
    "agent": lambda record, name: next(record.people(name, name), None),
    "agents": Normaliser.contacts,
    "relations": _relations,
    "services": _services,
}
"""How a field of each kind is read."""
DATASET = {name: _READERS[spec.kind] for name, spec in specs(Dataset).items()}
RESOURCE = {name: _READERS[spec.kind] for name, spec in specs(Resource).items()}


def portal_of(address: str, declaration: Declaration) -> str:
    """Return the portal of a record by its ``metadata_url``: what stands before the path of the API.

    >>> from types import SimpleNamespace
    >>> ods = SimpleNamespace(metadata_url=Template("{portal}/api/v2/datasets/{id}"))
    >>> portal_of("https://a.org/data/api/v2/datasets/b%2Fc", ods), portal_of("https://a.org/else", ods)
    ('https://a.org/data', 'https://a.org')
    """
    text = declaration.metadata_url.text
    if text == "{portal}":
        return address
    path = text.removeprefix("{portal}").partition("{")[0]
    if text.startswith("{portal}") and path and path in address:
        return address.rpartition(path)[0]
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def portal_names(portal: str) -> dict[str, Any]:
    """Return what ``{portal}`` and ``{host}`` stand for."""
    return {"portal": portal.rstrip("/"), "host": urlsplit(portal).netloc}


def trimmed(value: Any, deepest: int = _DEEPEST) -> Any:
    """Return JSON whose texts have no blanks around them; blank ones, and what is nested too deep, are null.

    Half characters, which no file can hold, become U+FFFD.

    >>> trimmed({"title": "  ", "tags": [" a "], "n": 1})
    {'title': None, 'tags': ['a'], 'n': 1}
    """
    kind = type(value)
    if kind is str:
        return values.text(value)
    if kind is not dict and kind is not list:
        return value
    if not deepest:
        return None
    found = value.copy()
    for place, each in value.items() if kind is dict else enumerate(value):
        kind = type(each)
        if kind is str:
            text = each.strip() if each.isascii() else values.text(each)
            if not text or text != each:
                found[place] = text or None
        elif kind is dict or kind is list:
            found[place] = trimmed(each, deepest - 1)
    return found


def _is_true(value: Any) -> bool:
    return value is not None and value is not False and value not in ("", [], {})


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return values.text(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


class Reading:
    """One record, read by a declaration.

    Attributes:
        record: as the portal gives it.
        view: the record, trimmed: what expressions read.
        id: a text or a number; ``None`` if it has none.
    """

    __slots__ = ("declaration", "id", "record", "view")

    def __init__(self, record: Any, declaration: Declaration) -> None:
        self.record, self.declaration = record, declaration
        self.view = trimmed(record)
        self.id = _text(declaration.id.find(record)) or _text(declaration.id.find(self.view))

    @property
    def mark(self) -> str:
        """What tells it apart from others of its list, whether it is a dataset or not."""
        return self.id or hashlib.sha256(json.dumps(self.record, sort_keys=True).encode()).hexdigest()

    @property
    def missing_id(self) -> str:
        """Why it has no id, as the end of a sentence."""
        found, where = self.declaration.id.find(self.record), self.declaration.id.text
        if isinstance(found, float):
            return f"has no id: its id is a number with decimals ({where}: {found})"
        return f"has no id ({where})"

    @property
    def is_dataset(self) -> bool:
        """Whether it is a dataset, and nothing that the declaration skips."""
        skip = self.declaration.skip
        return skip is None or not _is_true(skip.find(self.view))

    @property
    def resource_count(self) -> int:
        """How many resources it lists."""
        values = _Values(self, {})
        return sum(len(values.parts(one, place)) for place, one in enumerate(self.declaration.resources))

    @property
    def aliases(self) -> list[str]:
        """The other ids of the same dataset, each once."""
        found = self.declaration.aliases.find(self.view) if self.declaration.aliases else None
        given = filter(None, map(_text, found if isinstance(found, list) else [found]))
        return [name for name in dict.fromkeys(given) if name != self.id]

    def names(self, portal: str) -> dict[str, Any]:
        """Return what the names of templates stand for."""
        own = {name: _text(each.find(self.view)) for name, each in self.declaration.names.items()}
        return {**own, **portal_names(portal), "id": self.id, "dataset_id": self.id or ""}

    def lazily(self, portal: str, source: str, **given: Any) -> LazyDataset:
        """Return the item as `dataset` does, mapped when a field is read that is not known at once.

        Args:
            given: fields that the record has not: where it came from.
        """
        names, fields = self.names(portal), self.declaration.fields
        known = _Values(self, names).found({name: fields[name] for name in _AT_ONCE if name in fields}, self.view)
        return LazyDataset(
            partial(self.dataset, portal, source),
            source=source,
            id=self.id or "",
            document=self.record,
            metadata_source=self.declaration.name,
            metadata_url=self.declaration.metadata_url.address(names),
            **dict.fromkeys(_AT_ONCE) | Normaliser(known).read_all(DATASET),
            **given,
        )

    def dataset(self, portal: str, source: str) -> Dataset:
        """Return the item. What can't be read is in its ``flaws``, and the record is kept all the same.

        Args:
            portal: the address that ``{portal}`` stands for.
        """
        values = _Values(self, self.names(portal))
        found = values.found(self.declaration.fields, self.view)
        item = Dataset(
            source=source,
            id=self.id or "",
            document=self.record,
            **Normaliser(found, values.flaws).read_all(DATASET),
            resources=_unique(list(values.resources())),
            metadata_source=self.declaration.name,
            metadata_url=self.declaration.metadata_url.address(values.names),
            aliases=self.aliases,
            flaws=values.flaws,
        )
        item.derive()
        return item


class _Values:
    """What the expressions of a declaration find in one record.

    Args:
        names: what the names of templates stand for.

    Attributes:
        flaws: what can't be read, a sentence each.
    """

    __slots__ = ("flaws", "names", "reading")

    def __init__(self, reading: Reading, names: Mapping[str, Any]) -> None:
        self.reading, self.names = reading, names
        self.flaws: list[Flaw] = []

    def found(
        self, fillers: Mapping[str, Filler], part: Any, names: Mapping[str, Any] | None = None, path: str = ""
    ) -> dict[str, Any]:
        """Return what is found for each field for which there is something.

        Args:
            part: the record, trimmed, or the resource in it that the fields are of.
            names: those of the resource.
            path: of the resource, for the flaws.
        """
        return {
            name: found
            for name, filler in fillers.items()
            if (found := self.value(filler, part, path, name, names)) is not None
        }

    def value(self, filler: Filler, part: Any, path: str, name: str, names: Mapping[str, Any] | None = None) -> Any:
        """Return what a field is to be; nothing, and a flaw, where the expression fails."""
        if isinstance(filler, Template):
            return filler.address(names or self.names)
        try:
            found = filler(part)
        except ExpressionError as error:
            note(self.flaws, Flaw(f"{path}{name} can't be read: {error}", f"{path}{name}"))
            return None
        if isinstance(found, list):
            return [each for each in found if each is not None]
        return self.absolute(found) if name in _ADDRESSES else found

    def absolute(self, value: Any) -> Any:
        """Return an address that is relative as it is meant: to the portal, or to the file of a catalogue of files."""
        is_file, portal = self.reading.declaration.list.walk is not None, self.names["portal"]
        is_relative = isinstance(value, str) and (value.startswith(_RELATIVE) or (is_file and "://" not in value))
        return absolute(value, portal if is_file else f"{portal}/") if is_relative else value

    def parts(self, declared: Resources, place: int) -> list[Any]:
        """Return the parts of the record that are resources."""
        view, path = self.reading.view, f"resource[{place}]."
        if declared.when and not _is_true(self.value(declared.when, view, path, "when")):
            return []
        found = self.value(declared.each, view, path, "each")
        parts = [part for part in (found if isinstance(found, list) else [found]) if _is_true(part)]
        if len(parts) > _MOST:
            said = f"{len(parts)} resources, {_MOST} are read: the document has all"
            note(self.flaws, Flaw(said, "resources", "cut_value"))
        return parts[:_MOST]

    def resources(self) -> Iterator[Resource]:
        declared = enumerate(self.reading.declaration.resources)
        parts = ((one, part) for place, one in declared for part in self.parts(one, place))
        return (self.resource(one, part, position) for position, (one, part) in enumerate(parts))

    def resource(self, declared: Resources, part: Any, position: int) -> Resource:
        path, dataset_id = f"resources[{position}].", self.names["dataset_id"]
        own = _text(self.value(declared.id, part, path, "id")) if declared.id else None
        found = self.found(declared.fields, part, {**self.names, "id": own}, path)
        normaliser = Normaliser(found, self.flaws, path)
        fields = normaliser.read_all(RESOURCE)
        address = fields.get("download_url") or fields.get("url")
        format_, media_type = file_type(fields.get("format"), fields.get("media_type"), address)
        fields |= {"format": format_, "media_type": media_type}
        if not address:
            fields["stated_url"] = fields.get("stated_url") or normaliser.text("download_url", "url")
        return Resource(id=own or fields.get("url") or f"{dataset_id}-{position}", dataset_id=dataset_id, **fields)


def _unique(found: list[Resource]) -> list[Resource]:
    """Return resources whose ids differ: the second "csv" of a dataset is "csv-2", or "csv-3" if it has a "csv-2"."""
    own = {one.id for one in found}
    last: dict[str, int] = {}
    for one in found:
        given = one.id
        number = last.get(given, 0) + 1
        while number > 1 and f"{given}-{number}" in own:
            number += 1
        last[given] = number
        one.id = given if number == 1 else f"{given}-{number}"
        own.add(one.id)
    return found


logger = logging.getLogger(__name__)


def reader(metadata_source: str | None) -> Reader | None:
    """Return the function that reads the documents of a declaration; ``None`` if there is none of that name.

    A declaration with a mistake reads nothing, and the mistake is logged once.
    """
    if not metadata_source or "." in metadata_source or not is_there(metadata_source):
        return None
    try:
        return partial(read, load(metadata_source))
    except RulesError as error:
        _log(str(error))
        return None


def volatile(metadata_source: str | None) -> Volatile | None:
    """Return what a declaration says moves in its records by itself; ``None`` if there is none of that name."""
    found = reader(metadata_source)
    return found.args[0].volatile if isinstance(found, partial) else None


@cache
def _log(mistake: str) -> None:
    logger.warning("%s", mistake)


def read(declaration: Declaration, document: Document, source: str, dataset_id: str, metadata_url: str) -> Dataset:
    """Return the item of a document on disk.

    Raises:
        ValueError: it is another dataset's.
    """
    record = Reading(document, declaration)
    if record.id != dataset_id:
        raise ValueError(f"it is not the record of {dataset_id}")
    return record.dataset(portal_of(metadata_url, declaration), source)
