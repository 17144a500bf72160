"""A dataset's rows in the index: its item, with texts cut to lengths that a database should hold."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.store.index import columns
from crawlers.store.index.columns import MOST, as_json, long, name, short
from crawlers.store.index.full_text import spaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawlers.items import Relation
    from crawlers.store.index.documents import Known

Row = tuple[Any, ...]

RESOURCES = 1_000

DATASET = (
    *("source", "dataset_id", "withdrawn", "sha256", "flaws", "resources", "formats"),
    *("metadata_source", "metadata_url", "metadata_modified", "file"),
    *(column.name for column in columns.DATASETS),
    *("places", "resource_titles", "details", "spaced"),
)
"""The columns of `datasets` that are written, in the order of `Description.dataset`."""
RESOURCE = ("source", "dataset_id", "position", "resource_id", *(column.name for column in columns.RESOURCES))


class Description(NamedTuple):
    """The rows of a dataset and of its resources."""

    dataset: Row
    resources: list[Row]


_VALUES = attrgetter(*(column.field for column in columns.DATASETS))
_CELLS = tuple(column.cell for column in columns.DATASETS)
_OF_RESOURCE = attrgetter(*(column.field for column in columns.RESOURCES))
_CELLS_OF_RESOURCE = tuple(column.cell for column in columns.RESOURCES)
_NAMED = tuple(DATASET.index(each) for each in ("title", "name", "publisher"))
_DESCRIPTION = DATASET.index("description")
_TITLE, _FORMAT = RESOURCE.index("title"), RESOURCE.index("format")


def describe(item: Dataset, known: Known) -> Description:
    """Return the rows of a dataset, whose document is the known one."""
    resources = [_resource(item, position) for position in range(min(len(item.resources), RESOURCES))]
    formats = sorted({row[_FORMAT] for row in resources if row[_FORMAT]})
    row: Row = (
        *(item.source, item.id, int(known.status == "withdrawn"), known.sha256, len(item.flaws)),
        *(len(item.resources), as_json(formats[:MOST])),
        *(known.metadata_source, short(known.metadata_url), known.metadata_modified, known.file),
        *(cell(value) if value else None for cell, value in zip(_CELLS, _VALUES(item), strict=True)),
    )
    places, details = _places(item), _details(item)
    titles = long(" ".join(row[_TITLE] for row in resources if row[_TITLE]))
    named: Row = (*(row[place] for place in _NAMED), places, *map(short, item.keywords[:MOST]))
    searched = _spaced((*named, row[_DESCRIPTION], titles, details))
    return Description((*row, places, titles, details, searched), resources)


def _resource(item: Dataset, position: int) -> Row:
    resource = item.resources[position]
    cells = zip(_CELLS_OF_RESOURCE, _OF_RESOURCE(resource), strict=True)
    return (
        item.source,
        item.id,
        position,
        short(resource.id),
        *(cell(value) if value else None for cell, value in cells),
    )


def _spaced(texts: Iterable[str | None]) -> str | None:
    """Return the texts that `spaced` changes, changed."""
    found = ((text, spaced(text)) for text in texts if text and not text.isascii())
    return long("\n".join(apart for text, apart in found if apart != text))


def _places(item: Dataset) -> str | None:
    """Return the words of its places, for the full text."""
    named = [short(word) for place in islice(item.spatial, MOST) for word in (place.name, place.code)]
    named += map(short, (item.country, item.state, item.city))
    return " ".join(dict.fromkeys(filter(None, named))) or None


def _details(item: Dataset) -> str | None:
    """Return the words of what few datasets have, for the full text: people, type, relations, laws, services ..."""
    values = _DETAILS(item)
    services = [one for each in item.resources[:RESOURCES] for one in each.access_services[:MOST]]
    if not services and not any(values):
        return None
    words = [word for found, value in zip(_WORDS, values, strict=True) if value for word in found(value)]
    words += (word for service in services for word in (service.title, service.endpoint_url))
    return long(" ".join(dict.fromkeys(filter(None, words))))


def _of_relations(relations: list[Relation]) -> Iterator[str | None]:
    for relation in relations[:MOST]:
        yield from (relation.title, relation.uri)


_WORDS_OF: dict[str, Callable[[Any], Iterable[str | None]]] = {
    **dict.fromkeys(("text", "markdown", "code"), lambda text: (text,)),
    "references": lambda texts: texts[:MOST],
    "agent": lambda agent: (name(agent),),
    "relations": _of_relations,
}
_FOUND = {field: _WORDS_OF[spec.kind] for field, spec in specs(Dataset).items() if spec.found}
_DETAILS, _WORDS = attrgetter(*_FOUND), tuple(_FOUND.values())
