"""What is known of a document, and the rows of a dataset: its item, with texts cut to lengths for a database."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers.fields import specs
from crawlers.items import Dataset, Document, Status
from crawlers.safety import strict_json
from crawlers.store.index import columns, facets
from crawlers.store.index.columns import MOST, as_json, long, name, short
from crawlers.store.index.search import spaced

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from crawlers.items import Relation
    from crawlers.store.index.facets import Value

Key = tuple[str, str, str]
"""Kind, dataset id, resource id or ""."""
Row = tuple[Any, ...]

RESOURCES = 1_000

DATASET = (
    *("source", "dataset_id", "withdrawn", "sha256", "flaws", "resources", "formats"),
    *("metadata_source", "metadata_url", "metadata_modified", "file"),
    *(column.name for column in columns.DATASETS),
    *("places", "resource_titles", "details", "spaced"),
)
"""The columns of `datasets` that are in `Description.dataset`, in its order; ``facets`` is written, too."""
RESOURCE = ("source", "dataset_id", "position", "resource_id", *(column.name for column in columns.RESOURCES))


class Description(NamedTuple):
    """The rows of a dataset and of its resources, and the values of its facets, which get their numbers later."""

    dataset: Row
    resources: list[Row]
    facets: Collection[Value] = ()


class Known(NamedTuple):
    """A document on disk, as the manifest's last line about it describes it."""

    file: str
    """Relative to the source's folder."""
    sha256: str
    bytes: int
    metadata_modified: str | None
    status: Status
    run: str
    """The run that wrote it, or marked it."""
    seen: str
    """When the portal last had it."""
    metadata_source: str | None = None
    metadata_url: str | None = None
    renamed_from: str | None = None
    """The id that the document has within, until a crawl writes it again: its dataset was attached to another one."""


class Line(NamedTuple):
    """A line of the manifest.

    Args:
        time: when it was written.
        body: its bytes.
    """

    time: str
    body: bytes = b""

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Self:
        return cls(entry["time"], strict_json.line(entry))


class Outcome(NamedTuple):
    """The outcome of a run for one document.

    Args:
        key: the document's.
        known: what is known of it now.
        status: its outcome in this run.
        is_fallback: whether it stands in for one that the portal does not give.
        line: its new line in the manifest; ``None`` if it has none.
        description: of the dataset that it describes, if that is new.
    """

    key: Key
    known: Known
    status: Status
    is_fallback: bool = False
    line: Line | None = None
    description: Description | None = None


class Held(NamedTuple):
    """A dataset or a profile that is not withdrawn, and where its record came from."""

    dataset_id: str
    file: str
    """Relative to the source's folder."""
    seen: str
    metadata_source: str | None
    metadata_url: str | None
    metadata_modified: str | None
    renamed_from: str | None = None
    """As in `Known`."""


class Record(NamedTuple):
    """A document as the portal gives it now."""

    file: str
    """Its name on disk, relative to the source's folder."""
    sha256: str
    document: Document | bytes | None
    stamp: str | None
    """The source's own."""
    metadata_source: str | None = None


_VALUES = attrgetter(*(column.field for column in columns.DATASETS))
_CELLS = tuple(column.cell for column in columns.DATASETS)
_OF_RESOURCE = attrgetter(*(column.field for column in columns.RESOURCES))
_CELLS_OF_RESOURCE = tuple(column.cell for column in columns.RESOURCES)
_NAMED = tuple(DATASET.index(each) for each in ("title", "name", "publisher"))
_DESCRIPTION = DATASET.index("description")
_TITLE, _FORMAT = RESOURCE.index("title"), RESOURCE.index("format")


def describe(item: Dataset, known: Known) -> Description:
    """Return the rows of a dataset, whose document is the known one."""
    resources = [
        (item.source, item.id, position, short(each.id), *_row(_CELLS_OF_RESOURCE, _OF_RESOURCE(each)))
        for position, each in enumerate(item.resources[:RESOURCES])
    ]
    formats = sorted({row[_FORMAT] for row in resources if row[_FORMAT]})
    row: Row = (
        *(item.source, item.id, int(known.status == "withdrawn"), known.sha256, len(item.flaws)),
        *(len(item.resources), as_json(formats[:MOST])),
        *(known.metadata_source, short(known.metadata_url), known.metadata_modified, known.file),
        *_row(_CELLS, _VALUES(item)),
    )
    places, details = _places(item), _details(item)
    titles = long(" ".join(row[_TITLE] for row in resources if row[_TITLE]))
    named: Row = (*(row[place] for place in _NAMED), places, *map(short, item.keywords[:MOST]))
    searched = _spaced((*named, row[_DESCRIPTION], titles, details))
    return Description((*row, places, titles, details, searched), resources, facets.values(item, known, formats))


def _row(cells: Iterable[Callable[[Any], Any]], values: Iterable[Any]) -> list[Any]:
    return [cell(value) if value else None for cell, value in zip(cells, values, strict=True)]


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
