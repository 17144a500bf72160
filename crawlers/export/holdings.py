"""The datasets that the index holds, whatever their source: each document on disk, mapped again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlers import arguments
from crawlers.exceptions import AnswerError, ExportError
from crawlers.index import Held, Index
from crawlers.mapping import ckan, data_json, html
from crawlers.mapping import dcat as rdf
from crawlers.mapping.dcat.document import graph_of
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from crawlers.items import Dataset


def sources(output: Path, named: Sequence[str] = ()) -> list[str]:
    """The sources in OUTPUT_DIR, or those of them that are named.

    Raises:
        ExportError: there is none, or none of that name.
    """
    found = sorted(path.parent.name for path in output.glob("*/manifest.jsonl"))
    if not found:
        raise ExportError(f"{output} holds no source: crawl one first, or name another folder with -s OUTPUT_DIR=.")
    unknown = next((name for name in named if name not in found), None)
    if unknown is not None:
        raise ExportError(f"{output} holds no source {unknown!r}. There are: {', '.join(found)}.")
    return list(dict.fromkeys(named)) or found


def items(output: Path, sources: Sequence[str], lost: Callable[[str], None]) -> Iterator[Dataset]:
    """Every dataset of the sources that is not withdrawn, by source and id.

    Args:
        lost: told, in a sentence, of each document that can't be read; the others follow.
    """
    for source in sources:
        index = Index(output, source)
        try:
            for held in index.held():
                try:
                    yield _item(index.folder, held, source)
                except _UNREADABLE as error:
                    lost(f"{source}: {held.file} is left out: {_reason(error)}.")
        finally:
            index.close()


def _item(folder: Path, held: Held, source: str) -> Dataset:
    document = strict_json.loads((folder / held.file).read_bytes())
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004
    read = _READERS.get(held.metadata_source or "")
    if read is None:
        raise ValueError(f"nothing here reads what {held.metadata_source} gives")
    dataset = read(document, held, source)
    dataset.id = held.dataset_id
    for resource in dataset.resources:
        resource.dataset_id = held.dataset_id
    dataset.metadata_source, dataset.metadata_url = held.metadata_source, held.metadata_url
    dataset.retrieved = held.seen
    return dataset


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"it is no JSON ({error})" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else str(error)


def _ckan(document: dict[str, Any], held: Held, source: str) -> Dataset:
    if document.get("id") != held.dataset_id:
        raise ValueError(f"it is not the record of {held.dataset_id}")
    portal = arguments.portal((held.metadata_url or "").partition("?")[0])
    return ckan.dataset(document, source=source, portal=portal)


def _rdf(document: dict[str, Any], held: Held, source: str) -> Dataset:
    """A description as JSON-LD; that of a page stands beside the page's fields."""
    if "fields" in document:
        return _html(document, held, source)
    subject = str(document.setdefault("@id", "_:dataset"))  # a blank node has no name
    return rdf.dataset(graph_of(document), subject, source=source, language=None)


def _data_json(document: dict[str, Any], held: Held, source: str) -> Dataset:
    return data_json.dataset(document, source=source, id=held.dataset_id)


def _html(document: dict[str, Any], held: Held, source: str) -> Dataset:
    return html.dataset(document, source=source, id=held.dataset_id)


_UNREADABLE = (OSError, ValueError, AnswerError, SyntaxError)  # the last is pyoxigraph's word for what is no JSON-LD
_READERS = {
    **dict.fromkeys(("package_search", "package_show"), _ckan),
    **dict.fromkeys(("html", "schema_org", "schema_org+html", "rdf+html"), _html),
    "rdf": _rdf,
    "data_json": _data_json,
}
"""Who maps a document again, by the ``metadata_source`` of its manifest line."""
