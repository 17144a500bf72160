"""The datasets the portal holds now, as bytes that are ready to be sent."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from operator import methodcaller
from threading import RLock
from typing import Any

from tests.portal import data
from tests.portal.data import Package
from tests.portal.search import QuerySyntaxError, Test, has_words, parse, split_keyset, words

ANYTHING = {"", "*:*"}
SORTS = ("id", "name", "title_string", "metadata_created", "metadata_modified")
DEFAULT_SORT = "score desc, metadata_modified desc"
REMEMBERED = 64


@dataclass(frozen=True)
class Search:
    q: str = ""
    fq: str = ""
    sort: str = DEFAULT_SORT
    start: int = 0
    rows: int = 10


class Dataset:
    """One dataset: its JSON, and the few values that are searched often."""

    __slots__ = ("id", "record", "resource_ids", "terms", "text")

    def __init__(self, package: Package) -> None:
        self.id: str = package["id"]
        self.record = json.dumps(package).encode()
        self.resource_ids = tuple(resource["id"] for resource in package["resources"])
        self.text = f" {' '.join(words(' '.join(str(package.get(key)) for key in ('name', 'title', 'notes'))))} "
        self.terms: dict[str, Sequence[str]] = {
            "organization": ((package.get("organization") or {}).get("name", ""),),
            "groups": tuple(group["name"] for group in package["groups"]),
            "tags": tuple(tag["name"] for tag in package["tags"]),
            "title_string": (str(package.get("title")),),
            **{key: (package[key],) for key in ("id", "name", "metadata_created", "metadata_modified")},
            "capacity": ("private" if package.get("private") else "public",),
            "state": (package.get("state", "active"),),
            "archived": ("true" if package.get("archived") else "false",),
        }

    @property
    def package(self) -> Package:
        """Shared: whoever changes it works on a copy."""
        return parsed(self.record)

    @property
    def is_public(self) -> bool:
        return self.term("capacity") == "public" and self.term("state") == "active"

    def term(self, name: str) -> str:
        return self.terms[name][0]

    def values(self, name: str) -> Sequence[str]:
        if name in self.terms:
            return self.terms[name]
        value = self.package.get(name)
        if value is None:  # CKAN's index has an extra as a field of its name
            extras = self.package.get("extras") or []
            value = next((extra["value"] for extra in extras if extra["key"] == name), None)
        return () if value is None else (str(value).lower() if isinstance(value, bool) else str(value),)


@lru_cache(maxsize=512)
def made(index: int, resources: int, dataset_id: str) -> Dataset:
    """The dataset of an index; nobody changes it."""
    return Dataset(data.package(index, resources, dataset_id))


@lru_cache(maxsize=256)
def parsed(record: bytes) -> Package:
    package: Package = json.loads(record)
    return package


@dataclass
class Page:
    """Some of the matches of a search."""

    matches: list[Dataset]
    skipped: int  # by the keyset clause: these are not counted
    start: int
    rows: int

    @property
    def position(self) -> int:
        return self.skipped + self.start

    @property
    def datasets(self) -> list[Dataset]:
        return self.matches[self.position : self.position + self.rows]

    @property
    def count(self) -> int:
        return len(self.matches) - self.skipped


@dataclass
class Catalogue:
    """What a portal has, and what it had.

    Attributes:
        deleted: datasets that only a token shows, as deleted ones; a purged one is gone altogether.
        ghosts: ids that are counted and listed where ids are asked for, and have no dataset.
        hidden: those of datasets that listings of records leave out.
    """

    resources_each: int = 3
    datasets: dict[str, Dataset] = field(default_factory=dict)
    deleted: dict[str, Dataset] = field(default_factory=dict)
    ghosts: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    ids_by_name: dict[str, str] = field(default_factory=dict)
    ids_by_resource: dict[str, str] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)
    indexes: "count[int]" = field(default_factory=count)
    _orders: dict[str, list[Dataset]] = field(default_factory=dict)
    _matches: dict[tuple[str, str, str], list[Dataset]] = field(default_factory=dict)

    def grow(self, number: int) -> list[str]:
        return [self.add() for _ in range(number)]

    def add(self, dataset_id: str = "") -> str:
        """A new dataset of the next index, with an id of its own unless one is given."""
        return self.keep(made(next(self.indexes), self.resources_each, dataset_id))

    def put(self, package: Package) -> str:
        return self.keep(Dataset(package))

    def keep(self, dataset: Dataset) -> str:
        with self.lock:
            self._forget(dataset.id)
            self.deleted.pop(dataset.id, None)
            self.datasets[dataset.id] = dataset
            self.ids_by_name[dataset.term("name")] = dataset.id
            self.ids_by_resource |= dict.fromkeys(dataset.resource_ids, dataset.id)
        return dataset.id

    def remove(self, key: str) -> None:
        """As package_delete does: the dataset is hidden, and still there."""
        dataset = self.get(key)
        if dataset:
            self.purge(key)
            self.deleted[dataset.id] = Dataset({**dataset.package, "state": "deleted"})

    def purge(self, key: str) -> None:
        """As dataset_purge does: the portal knows nothing of it any more."""
        dataset = self.get(key)
        if dataset:
            with self.lock:
                self._forget(dataset.id)
                del self.datasets[dataset.id]

    def _forget(self, dataset_id: str) -> None:
        self._orders.clear()
        self._matches.clear()
        old = self.datasets.get(dataset_id)
        if old:
            self.ids_by_name.pop(old.term("name"), None)
            for resource in old.package["resources"]:
                self.ids_by_resource.pop(resource["id"], None)

    def edit(self, key: str, changes: dict[str, Any]) -> None:
        dataset = self.get(key)
        if dataset:
            self.put({**dataset.package, **changes})

    def touch(self, key: str) -> None:
        dataset = self.get(key)
        if dataset:
            resources = [_touched(resource) for resource in dataset.package["resources"]]
            self.put({**_touched(dataset.package), "resources": resources})

    def get(self, key: str) -> Dataset | None:
        """By id or by name."""
        return self.datasets.get(key) or self.datasets.get(self.ids_by_name.get(key, ""))

    def resource(self, resource_id: str) -> tuple[Package, data.Resource] | None:
        dataset = self.get(self.ids_by_resource.get(resource_id, ""))
        if not dataset:
            return None
        resources = dataset.package["resources"]
        return dataset.package, next(resource for resource in resources if resource["id"] == resource_id)

    def left_out(self, search: Search, *, has_fields: bool) -> set[str]:
        """The ids whose records a search does not give, although it counts them."""
        if has_fields:
            return set()
        return self.ghosts if "id:(" in search.fq else self.ghosts | self.hidden

    def organizations(self) -> dict[str, Package]:
        """By name, each as the first dataset of it has it."""
        firsts = {one.terms["organization"][0]: one for one in reversed(self.ordered(""))}
        return {name: firsts[name].package["organization"] for name in sorted(firsts) if name}

    def lowest(self) -> Dataset | None:
        return next(iter(self.ordered("id asc")), None)

    def find(self, search: Search) -> Page:
        with self.lock:
            fq, keyset = split_keyset(search.fq) if search.sort == "id asc" else (search.fq, None)
            matches, skipped = self.matches(search.q, fq, search.sort), 0
            if keyset:
                bisect = bisect_right if keyset.exclusive else bisect_left
                skipped = bisect(matches, keyset.bound, key=lambda dataset: dataset.id)
            return Page(matches, skipped, search.start, search.rows)

    def matches(self, q: str, fq: str, sort: str) -> list[Dataset]:
        key = (q.strip(), fq.strip(), sort)
        if key not in self._matches:
            if len(self._matches) >= REMEMBERED:
                self._matches.clear()
            tests = [_test(q) for q in key[:2] if q not in ANYTHING]
            self._matches[key] = [one for one in self.ordered(sort) if all(test(one) for test in tests)]
        return self._matches[key]

    def ordered(self, sort: str) -> list[Dataset]:
        with self.lock:
            if sort not in self._orders:
                found = list(self.datasets.values())
                for name, descending in reversed(_sort_keys(sort)):
                    found.sort(key=methodcaller("term", name), reverse=descending)
                self._orders[sort] = found
            return self._orders[sort]


def _test(query: str) -> Test:
    """Words when no field is named, as CKAN chooses dismax."""
    return parse(query) if ":" in query else has_words(query)


def _sort_keys(sort: str) -> list[tuple[str, bool]]:
    keys = [part.split() for part in sort.split(",") if part.strip()]
    for key in keys:
        if key[0] not in {*SORTS, "score"} or key[1:] not in (["asc"], ["desc"]):
            raise QuerySyntaxError(f"Can't determine a Sort Order in {sort!r}")
    return [(key[0], key[1] == "desc") for key in keys if key[0] != "score"]


def _touched(record: Package) -> Package:
    return {**record, "metadata_modified": data.later(record["metadata_modified"])}
