"""A dataset whose fields are mapped when one that is not given is read: most records of a crawl are unchanged."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from crawlers.items import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable

_FIELDS = tuple(one.name for one in fields(Dataset))


class LazyDataset(Dataset):
    """A `Dataset` that has the fields that were given or set, and those of the mapped record for all others.

    Args:
        mapping: maps the record; called once at most. Without one, all fields are given.
        given: the fields that are known without it, as `Dataset` takes them.
    """

    __slots__ = ("_mapping", "_own", "_record")

    def __init__(self, mapping: Callable[[], Dataset] | None = None, **given: Any) -> None:
        known = {"torn": False, "stored": None} | given
        write = object.__setattr__
        write(self, "_own", set(known))
        write(self, "_mapping", mapping)
        write(self, "_record", None if mapping else Dataset(**known))
        for name, value in known.items():
            write(self, name, value)

    @property
    def is_mapped(self) -> bool:
        return self._record is not None

    def mapped(self) -> Dataset:
        """Map the record, if it is not mapped, and return it as a plain dataset.

        Raises:
            Exception: whatever the mapping raises.
        """
        if self._record is None:
            record = self._mapping()
            for name in self._own:
                setattr(record, name, getattr(self, name))
            object.__setattr__(self, "_record", record)
        return self._record  # type: ignore[no-any-return]

    def amend(self, change: Callable[[Dataset], None]) -> None:
        """Change its fields once they are mapped; one that was given or set stays."""
        if self._record is not None:
            change(self)
        else:
            mapping = self._mapping
            object.__setattr__(self, "_mapping", lambda: _amended(mapping(), change))

    def __getattr__(self, name: str) -> Any:
        """Return a field of the record; called for one that was neither given nor set."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.mapped(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        self._own.add(name)
        if self._record is not None:
            setattr(self._record, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete a field here and in the record, which is mapped first."""
        delattr(self.mapped(), name)
        if name in self._own:
            self._own.remove(name)
            object.__delattr__(self, name)

    def __repr__(self) -> str:
        """Return it without mapping it: a line of the log must not fail."""
        return super().__repr__() if self.is_mapped else f"LazyDataset(source={self.source!r}, id={self.id!r}, ...)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and all(getattr(self, name) == getattr(other, name) for name in _FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Map it: a copy is a plain dataset."""
        return _dataset, ({name: getattr(self, name) for name in _FIELDS},)


def _amended(item: Dataset, change: Callable[[Dataset], None]) -> Dataset:
    change(item)
    return item


def _dataset(given: dict[str, Any]) -> Dataset:
    return Dataset(**given)
