"""What differs between two versions of a document: the item's fields, then the record's own.

Both are compared in time that grows with their length alone, whatever a portal wrote: elements of lists, and lines of
texts, are matched by those that occur once in both versions (Bram Cohen's patience diff), each hash being a text's.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from crawlers.exceptions import AnswerError
from crawlers.fields import specs
from crawlers.items import Dataset, Resource
from crawlers.safety import strict_json
from crawlers.safety.redact import writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIELDS = tuple(name for name in specs(Dataset) if name != "metadata_modified")
"""The fields that say what changed: a source's own stamp moves with each of them, and not every document has it."""
OWN = "document."
"""What the name of a field of the record itself begins with."""
MOST = 10_000
"""Changes of a record that are told one by one."""
MOST_LINES = 200_000
"""Lines of a text, and elements of a list, that are compared one by one."""
_LONGEST_POINTER = 2_000  # characters; what lies deeper is compared as a whole
_LONGEST_LINE = 100  # characters of a text that stays one line
_CONTEXT = 2  # lines that are the same, around those that differ
_BREAK = re.compile(r"\r?\n|(?<=>)(?=<)|(?<=[.!?;]) +")  # lines, tags, sentences
_IDS = ("id", "@id", "identifier", "key", "name")
"""What an object in a list is known by; one without, by its texts and numbers."""


class Line(NamedTuple):
    """A line of a change.

    Args:
        sign: ``-`` gone, ``+`` come, `` `` the same, ``@`` for some lines that are the same and are left out.
        text: as the publisher wrote it.
    """

    sign: Literal["-", "+", " ", "@"]
    text: str


class Change(NamedTuple):
    """What became of one value.

    Args:
        path: a field: ``title``, ``publisher.name``, ``resources[id].url``; of a record, a JSON Pointer (RFC 6901).
        before, after: JSON values; ``None`` for absent, or null.
        op: of the two that ``None`` stands for, which: as in JSON Patch.
    """

    path: str
    before: Any
    after: Any
    op: Literal["add", "remove", "replace"]

    def lines(self) -> Iterator[Line]:
        """Yield the change by lines: of a text, its lines and sentences; of a list, its elements."""
        is_text = all(isinstance(value, str | None) for value in (self.before, self.after))
        before = [] if self.op == "add" else _pieces(self.before, is_text=is_text)
        after = [] if self.op == "remove" else _pieces(self.after, is_text=is_text)
        if max(len(before), len(after)) > MOST_LINES:
            yield Line("@", f"more than {MOST_LINES:,} lines: they are not compared")
        else:
            yield from _shortened(_by_lines(before, after))


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two versions of a document.

    Args:
        fields: of the item; empty if there is none before or after.
        record: of the record itself, in the order in which they are applied; an XML document counts as one text.
        left_out: a sentence about what is not told one by one.
    """

    fields: list[Change]
    record: list[Change]
    left_out: str | None = None

    def patch(self) -> list[dict[str, Any]]:
        """Return the JSON Patch (RFC 6902) that turns the record before into the one after."""
        return [
            {"op": op, "path": path} | ({} if op == "remove" else {"value": after})
            for path, _, after, op in self.record
        ]


def difference(
    before: bytes | None, after: bytes | None, item_before: Dataset | None = None, item_after: Dataset | None = None
) -> Difference:
    """Return what differs between two versions of a document.

    Args:
        before, after: their bytes; ``None`` if there is no such version.
        item_before, item_after: the datasets that they describe; ``None`` if they describe none, or can't be read.

    >>> difference(b'{"a": [1, 2], "b": 1}', b'{"a": [2], "c": null}').patch()
    [{'op': 'remove', 'path': '/b'}, {'op': 'add', 'path': '/c', 'value': None}, {'op': 'remove', 'path': '/a/0'}]
    """
    fields = [*_fields(item_before, item_after)] if item_before and item_after else []
    one, other = _value(before), _value(after)
    if before is None or after is None:
        op: Literal["add", "remove"] = "add" if before is None else "remove"
        return Difference(fields, [Change("", one, other, op)] if before != after else [])
    changes = _changes(one, other)
    if changes is None:
        told = f"More than {MOST:,} values differ: they are not told one by one."
        return Difference(fields, [Change("", one, other, "replace")], told)
    return Difference(fields, changes)


def _value(body: bytes | None) -> Any:
    """Return what a document says: the value of JSON, else its text."""
    if body is None:
        return None
    body = writable(body)  # an earlier version wrote logins
    try:
        return body.decode("utf-8", "replace") if body.lstrip()[:1] == b"<" else strict_json.loads(body)
    except (ValueError, AnswerError):
        return body.decode("utf-8", "replace")


# Fields of items


def changed_fields(before: Dataset, after: Dataset) -> list[str]:
    """Return the names of the fields that differ; if none does, those of the record itself.

    >>> from crawlers.items import Dataset
    >>> one = Dataset(source="town", id="a", title="Rivers", document={"extras": []})
    >>> changed_fields(one, Dataset(source="town", id="a", title="The rivers", keywords=["water"]))
    ['title', 'keywords']
    >>> changed_fields(one, Dataset(source="town", id="a", title="Rivers", document={"extras": [1]}))
    ['document.extras']
    """
    names = [name for name in _FIELDS if getattr(before, name) != getattr(after, name)]
    if [*_said(before.resources)] != [*_said(after.resources)]:
        names.append("resources")
    return names or changed_names(before.document, after.document)


def _said(resources: list[Resource]) -> Iterator[list[Any]]:
    """Yield what each resource says, without its part of the document."""
    names = ("id", *specs(Resource))
    for resource in resources:
        yield [getattr(resource, name) for name in names]


def changed_names(before: Any, after: Any) -> list[str]:
    """Return the names that differ in two records, each with `OWN` before it; none for records that are no objects.

    >>> changed_names({"a": 1, "b": 2}, {"a": 1, "c": 3}), changed_names(b"<a/>", b"<b/>")
    (['document.b', 'document.c'], [])
    """
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return []
    names = [*before, *(name for name in after if name not in before)]
    return [f"{OWN}{name}" for name in names if name not in before or name not in after or before[name] != after[name]]


def _fields(before: Dataset, after: Dataset) -> Iterator[Change]:
    yield from _of_item("", before, after)
    one, other = _by_id(before.resources), _by_id(after.resources)
    for key in one | other:
        path = f"resources[{key[0]}]"
        if key in one and key in other:
            yield from _of_item(f"{path}.", one[key], other[key])
        else:
            yield _change(path, one.get(key), other.get(key))
    stay = [key[0] for key in one if key in other], [key[0] for key in other if key in one]
    if stay[0] != stay[1]:
        yield Change("resources", *stay, "replace")


def _by_id(resources: list[Resource]) -> dict[tuple[str, int], Resource]:
    """Return resources by their ids; several of one id are numbered."""
    seen: Counter[str] = Counter()
    found = {}
    for resource in resources:
        found[resource.id, seen[resource.id]] = resource
        seen[resource.id] += 1
    return found


def _of_item(path: str, before: Any, after: Any) -> Iterator[Change]:
    kind: type = type(before)
    for name in specs(kind):
        one, other = getattr(before, name), getattr(after, name)
        if one == other:
            continue
        if is_dataclass(one) and is_dataclass(other):
            yield from _of_item(f"{path}{name}.", one, other)
        else:
            yield _change(f"{path}{name}", one, other)


def _change(path: str, before: Any, after: Any) -> Change:
    one, other = plain(before), plain(after)
    return Change(path, one, other, "add" if one is None else "remove" if other is None else "replace")


def plain(value: Any) -> Any:
    """Return a field's value as JSON has it, without what is absent."""
    if is_dataclass(value):
        kind: type = type(value)
        names = ("id", *specs(kind)) if kind is Resource else (*specs(kind),)
        found = {name: plain(getattr(value, name)) for name in names}
        return {name: one for name, one in found.items() if one is not None}
    if isinstance(value, list):
        return [plain(each) for each in value] or None
    return value


# Values of records


class _Place(NamedTuple):
    """Where a value is: its name or number in what holds it. A pointer is written only of what has changed."""

    above: _Place | None
    name: str | int
    length: int

    def below(self, name: str | int) -> _Place:
        return _Place(self, name, self.length + 1 + (len(name) if isinstance(name, str) else 8))

    @property
    def pointer(self) -> str:
        names: list[str] = []
        place = self
        while place.above:
            names.append(str(place.name).replace("~", "~0").replace("/", "~1"))
            place = place.above
        return "".join(f"/{name}" for name in reversed(names))


def _changes(before: Any, after: Any) -> list[Change] | None:
    """Return what turns a value into another, each change applied after those before it; ``None``: more than `MOST`."""
    found: list[Change] = []
    waiting = [(_Place(None, "", 0), before, after)]
    while waiting:
        place, one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict) and _has_short_names(place, one, other):
            gone = [name for name in one if name not in other]
            come = [name for name in other if name not in one]
            pairs: list[tuple[Any, Any]] = [(name, name) for name in one if name in other]
        elif isinstance(one, list) and isinstance(other, list) and _is_short(place, one, other):
            pairs = _paired(one, other)
            gone = _others(len(one), {number for number, _ in pairs})[::-1]  # the last first: the others stay in place
            come = _others(len(other), {number for _, number in pairs})
        else:
            if not _is_same(one, other):
                found.append(Change(place.pointer, one, other, "replace"))
            pairs = gone = come = []
        if len(found) + len(gone) + len(come) > MOST:
            return None
        found += [Change(place.below(name).pointer, one[name], None, "remove") for name in gone]
        found += [Change(place.below(name).pointer, None, other[name], "add") for name in come]
        for here, there in reversed(pairs):
            if not _is_same_scalar(one[here], other[there]):
                waiting.append((place.below(there), one[here], other[there]))
    return found


def _has_short_names(place: _Place, *records: dict[str, Any]) -> bool:
    return all(place.length + len(name) <= _LONGEST_POINTER for record in records for name in record)


def _is_short(place: _Place, *lists: list[Any]) -> bool:
    return place.length <= _LONGEST_POINTER and max(map(len, lists)) <= MOST_LINES


def _is_same_scalar(one: Any, other: Any) -> bool:
    return type(one) is type(other) and not isinstance(one, dict | list) and one == other


def _is_same(one: Any, other: Any) -> bool:
    if not isinstance(one, dict | list) or type(one) is not type(other):
        return _is_same_scalar(one, other)
    try:
        return strict_json.verbatim(one) == strict_json.verbatim(other)
    except ValueError:  # nested too deep
        return False


def _others(count: int, numbers: set[int]) -> list[int]:
    return [number for number in range(count) if number not in numbers]


def _paired(before: list[Any], after: list[Any]) -> list[tuple[int, int]]:
    """Return the numbers of the elements that stay, as they are or changed; what an id tells apart is no pair."""
    found, last = [], (-1, -1)
    matches = _matched([*map(_known_by, before)], [*map(_known_by, after)])
    for match in (*matches, (len(before), len(after))):
        between = zip(range(last[0] + 1, match[0]), range(last[1] + 1, match[1]), strict=False)
        found += [pair for pair in between if _id(before[pair[0]]) == _id(after[pair[1]])]
        found.append(match)
        last = match
    return found[:-1]


def _id(element: Any) -> str | None:
    found = map(element.get, _IDS) if isinstance(element, dict) else ()
    return next((str(one) for one in found if isinstance(one, str | int)), None)


def _known_by(element: Any) -> str | tuple[str, ...]:
    """Return what an element of a list is found by in the other one: texts, for the hash of a number can be chosen."""
    if isinstance(element, dict):
        named = _id(element)
        return named if named is not None else (*(f"{k}={v!r}" for k, v in element.items() if not _holds(v)),)
    if isinstance(element, list):
        return (*(repr(each) for each in element if not _holds(each)),)
    return element if isinstance(element, str) else repr(element)


def _holds(value: Any) -> bool:
    return isinstance(value, dict | list)


def _matched(before: Sequence[Any], after: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the numbers of equal elements, in the order of both: those that occur once in each, and equal neighbours.

    Takes n log n steps.
    """
    found, last = [], (-1, -1)
    for anchor in (*_ascending(_once_in_both(before, after)), (len(before), len(after))):
        one, other = last[0] + 1, last[1] + 1
        while one < anchor[0] and other < anchor[1] and before[one] == after[other]:
            found.append((one, other))
            one, other = one + 1, other + 1
        end, end_after = anchor
        while end > one and end_after > other and before[end - 1] == after[end_after - 1]:
            end, end_after = end - 1, end_after - 1
        found += [*zip(range(end, anchor[0] + 1), range(end_after, anchor[1] + 1), strict=True)]
        last = anchor
    return found[:-1]


def _once_in_both(before: Sequence[Any], after: Sequence[Any]) -> list[tuple[int, int]]:
    counts, places = Counter(before), Counter(after)
    there = {key: number for number, key in enumerate(after) if places[key] == 1}
    return [(number, there[key]) for number, key in enumerate(before) if counts[key] == 1 and key in there]


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the most pairs of which the second numbers ascend, too: a longest increasing subsequence."""
    ends: list[int] = []  # the least second number that a sequence of each length ends with
    last: list[int] = []  # which pair that is
    before: list[int] = []  # for each pair, the one before it
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [second], [number]
    found, number = [], last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


# Lines


def _pieces(value: Any, *, is_text: bool) -> list[str]:
    """Return a value's lines.

    Args:
        is_text: whether texts stand for themselves; else they are in quotation marks, beside what is no text.
    """
    if isinstance(value, str) and is_text:
        is_long = len(value) > _LONGEST_LINE or "\n" in value
        return _BREAK.split(value, maxsplit=MOST_LINES + 1) if is_long else [value]
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    try:
        if isinstance(value, list):
            return [strict_json.line(each)[:-1].decode() for each in value]
        return strict_json.dumps(value).decode().splitlines()
    except ValueError:
        return ["nested too deep to be shown"]


def _by_lines(before: list[str], after: list[str]) -> Iterator[Line]:
    last = (-1, -1)
    for match in (*_matched(before, after), (len(before), len(after))):
        yield from (Line("-", line) for line in before[last[0] + 1 : match[0]])
        yield from (Line("+", line) for line in after[last[1] + 1 : match[1]])
        if match[0] < len(before):
            yield Line(" ", before[match[0]])
        last = match


def _shortened(lines: Iterator[Line]) -> Iterator[Line]:
    """Leave out lines that are the same and not beside those that differ."""
    same: list[Line] = []
    has_differed = False
    for line in lines:
        if line.sign == " ":
            same.append(line)
            continue
        yield from _beside(same, after=has_differed, before=True)
        same, has_differed = [], True
        yield line
    if has_differed:
        yield from _beside(same, after=True, before=False)


def _beside(same: list[Line], *, after: bool, before: bool) -> Iterator[Line]:
    head, tail = _CONTEXT * after, _CONTEXT * before
    if len(same) <= head + tail + 1:
        yield from same
        return
    yield from same[:head]
    yield Line("@", f"{len(same) - head - tail} lines that are the same")
    yield from same[len(same) - tail :]
