"""What a file may be called. Nothing that a portal sends can name a path outside its source's folder."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

from slugify import slugify

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_HASHED = "sha256-"
_SAFE = re.compile(r"(?![._])(?!.*__)[A-Za-z0-9._-]{1,100}(?<!_)")
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_READ = 8_000  # characters of an address; what follows is not read
_LONGEST = 255  # bytes in a file name, on nearly every file system
_SOURCE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_FOLDERS = {"dataset": "datasets", "site": "sites", "extension": "extensions"}
ARCHIVE_OF = "archive-of-"
"""What the name of an archive begins with; the name of the source follows."""


def safe(identifier: str) -> str:
    """Return an id as a part of a file name: unchanged if harmless, else a stable hash.

    A double underscore separates the parts of a name, a leading dot hides it, and the hash's prefix is its own: ids
    that would be mistaken for these are hashed too.

    >>> safe("01ad0bc4-0693-420c-b976-24a68d684754")
    '01ad0bc4-0693-420c-b976-24a68d684754'
    >>> safe("../../etc/passwd")[:15]
    'sha256-3754d6cb'
    """
    if _SAFE.fullmatch(identifier) and not identifier.startswith(_HASHED):
        return identifier
    return _HASHED + hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:32]


NAMELESS = frozenset(
    ("content", "csv", "data", "default", "download", "export", "file", "get", "index", "json", "query")
)
"""Last parts of addresses that name no file."""


def last_segment(url: str) -> str:
    """Return the last part of an address' path, which may be a file's name; "" if it has none.

    >>> last_segment("https://a.org/x/Wells%202024.csv?v=1"), last_segment("https://a.org/"), last_segment("https://[x")
    ('Wells 2024.csv', '', '')
    """
    try:
        path = urlsplit(url[:_READ]).path
    except ValueError:
        return ""
    return unquote(path.rstrip("/").rpartition("/")[2])


def archive_of(source: str) -> str:
    """Return the name of a source's archive."""
    return f"{ARCHIVE_OF}{source}"


def is_source(name: str) -> bool:
    """Return whether a name is that of a source's folder.

    >>> is_source("data.example.org"), is_source("../x"), is_source(".mirror"), is_source("index.sqlite-wal")
    (True, False, False, False)
    """
    return _SOURCE.fullmatch(name) is not None and not name.startswith("index.sqlite")


@lru_cache(maxsize=1024)  # a document's name is asked for by each pipeline
def slug(name: str, maxlen: int) -> str:
    """
    >>> slug("Côte d’Ivoire: limits", 80)
    'cote-divoire-limits'
    """
    if len(name) <= maxlen and _SLUG.fullmatch(name):  # most portals' own names are slugs
        return name
    return slugify(name, max_length=maxlen, backend="text-unidecode")  # else an import is tried for every name


@dataclass(frozen=True, slots=True)
class Names:
    """The names of documents, relative to their source's folder.

    Args:
        maxlen: the longest slug, in characters; 0 for names without a slug.
    """

    maxlen: int = 80

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        return cls(settings.getint("FILENAME_SLUG_MAXLEN") if settings.getbool("FILENAME_SLUG") else 0)

    def file(
        self, kind: str, dataset_id: str, resource_id: str | None = None, name: str | None = None, suffix: str = "json"
    ) -> str:
        """
        >>> Names().file("dataset", "1f2e", name="Côte d’Ivoire: limits")
        'datasets/1f2e__cote-divoire-limits.json'
        >>> Names(maxlen=0).file("resource_metadata", "1f2e", "77aa", "limits.csv")
        'resource_metadata/1f2e__77aa.json'
        """
        title = slug(name[:1000], self.maxlen) if name and self.maxlen else ""
        ids = safe(dataset_id) if resource_id is None else f"{safe(dataset_id)}__{safe(resource_id)}"
        title = title[: _LONGEST - len(f"{ids}__.{suffix}")].rstrip("-")
        return f"{_FOLDERS.get(kind, kind)}/{ids}{'__' if title else ''}{title}.{suffix}"

    def profile(self, kind: str, identifier: str) -> str:
        """
        >>> Names().profile("extension", "ckan/ckanext-dcat")
        'extensions/ckan__ckanext-dcat.json'
        """
        return f"{_FOLDERS[kind]}/{'__'.join(map(safe, identifier.split('/')))[: _LONGEST - len('.json')]}.json"
