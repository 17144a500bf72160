"""The description of one JSON API: where its listing is, how it goes on, which of its fields is which of an item's.

A declaration is a TOML file; docs/api.md describes it key by key, and `crawlers.kinds.api.file` reads it. A text is
JMESPath, or the template of an address if it begins with ``{portal}``, ``{host}`` or ``https://``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from crawlers.fields import specs
from crawlers.items import Dataset, Resource
from crawlers.kinds.api.expressions import Expression, Template
from crawlers.records.volatile import Volatile
from crawlers.safety.addresses import related

Values = Mapping[str, tuple["Value", ...]]
"""Parameters or headers by name; several values are the parameter repeated."""

CHECKS = ("arcgis-scope",)
"""The checks that a declaration may name: what can't be declared is code of this project, never of a declaration."""
WALKS = ("stac-static",)
"""The walks that a declaration may name in place of pages."""

DATASET_FIELDS = tuple(specs(Dataset))
"""What ``[dataset]`` may fill, besides ``id``: what there is a reader for."""
RESOURCE_FIELDS = tuple(specs(Resource))
"""What ``[[resource]]`` may fill, besides ``id``."""

PLACES = ("page", "offset")
"""The kinds of paging whose place may stand in the path of ``list.url``, as ``{page}`` or ``{offset}``."""

Filler = Expression | Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A header of an answer that says what others say in their JSON.

    Args:
        header: its name. Of ``Link`` it is the next page (RFC 8288), of ``Content-Range`` the number in all (RFC 9110).
    """

    header: str

    @property
    def text(self) -> str:
        """What messages call it."""
        return f"the header {self.header}"

    def find(self, headers: Mapping[str, str]) -> str | None:
        """
        >>> Header(header="Link").find({"link": "</list?page=2>; rel=next"})
        '/list?page=2'
        >>> Header(header="Content-Range").find({"content-range": "items 0-9/35"})
        '35'
        """
        found = headers.get(self.header.lower())
        match self.header.lower():
            case "link":
                return related([found or ""], "next")
            case "content-range":
                return (found or "").rpartition("/")[2]
        return found


Sought = Expression | Header
"""Where an answer says something: in its JSON, or in a header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A value that stands in the environment, and never in the file: a token.

    Args:
        env: the name of the environment variable.
    """

    env: str


Value = Template | Variable


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many records a page has.

    Args:
        param: the parameter that takes the number.
        max: the largest number that the server accepts; that many are requested.
    """

    param: str
    max: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """How the listing goes on, ``[list.paging]``.

    Args:
        kind: ``none`` (one answer has it all), ``offset``, ``page``, ``next`` (a link, which ``list.next`` finds),
            ``token`` (of an answer, into a parameter), ``last-id`` (of the last record, into a parameter) or
            ``search-after`` (the same into a POST body).
        param: the parameter that says where a page begins: offset, page, token or last id. Where the listing has a
            body it is a place in it, with dots. Left out if the path of ``list.url`` says it.
        first: the first offset or page.
        size: how many records a page has.
        token: of kind ``token``: where an answer has the token.
        last: of kinds ``last-id`` and ``search-after``: where a record has what ``param`` takes.
        more: where an answer says whether there is more; without it, the other signs of an end count.
        url: of kind ``token``: the address of all pages but the first, if it is another.
    """

    kind: Literal["none", "offset", "page", "next", "token", "last-id", "search-after"]
    param: str | None = None
    first: int = 0
    size: Size | None = None
    token: Sought | None = None
    last: Expression | None = None
    more: Expression | None = None
    url: Template | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """How a listing is begun again behind its window, ``[list.window.restart]``.

    Args:
        param: the parameter that takes the condition.
        value: the condition, with ``{seen}``: inclusive, for records that are known are dropped.
        seen: where a record has the date or id that the listing is sorted by.
        rest: the condition for the records without one; ``False`` where all have one, ``None`` if that is not known.
    """

    param: str
    value: Template
    seen: Expression
    rest: str | Literal[False] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Beyond how many records the server refuses, or lies: ``[list.window]``.

    Args:
        max: how many records can be read from one beginning; a total that is that number means "at least".
        restart: how to go on; ``None`` if the API offers nothing, and the listing stays incomplete.
    """

    max: int = 10_000
    restart: Restart | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A request for the number of records, where pages have no total: ``[list.count]``.

    Args:
        url: of the request.
        total: where its answer has the number.
    """

    url: Template
    total: Sought


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Where the records are, ``[list]``.

    Args:
        url: the address of the first page; with ``{page}`` or ``{offset}`` that of each.
        method: GET, or POST with a ``body``.
        params: of the query; a list is a parameter repeated.
        headers: of each request.
        body: the JSON of a POST; ``None`` for GET.
        join: what stands between two conditions of one parameter: `` and ``; ``None`` where there is never a second.
        hosts: other hosts that a next link may lead to.
        records: where a page has its records: a list. ``@`` is the whole answer.
        total: where a page says how many there are in all.
        next: where a page has the address of the next one.
        ok: what is true of a good answer.
        error: where an answer says what went wrong; a good one has nothing there.
        paging: how it goes on.
        window: beyond which it does not.
        since: the parameters that ask for what has changed since a moment: ``{since}`` in ISO 8601, ``{since_day}``
            without the time, ``{since_ms}`` and ``{since_s}`` in milliseconds and seconds since 1970. Empty where the
            API can't say.
        count: a request for the total.
        walk: the name of a registered walk, in place of pages.
    """

    url: Template
    method: Literal["GET", "POST"] = "GET"
    params: Values = field(default_factory=dict)
    headers: Values = field(default_factory=dict)
    body: Mapping[str, object] | None = None
    join: str | None = None
    hosts: tuple[str, ...] = ()
    records: Expression
    total: Sought | None = None
    next: Sought | None = None
    ok: Expression | None = None
    error: Expression | None = None
    paging: Paging
    window: Window | None = None
    since: Values = field(default_factory=dict)
    count: Count | None = None
    walk: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """A request for each record, ``[[follow]]``. What it gives is put into the record, so that the document has it.

    Args:
        into: the record's key that takes what was found.
        url: the template of its address, or where the record has it.
        records: where an answer has what is wanted; of several pages, the lists are joined.
        next: where an answer has the address of its next page.
        when: what is true of a record for which it is requested.
    """

    into: str
    url: Filler
    records: Expression
    next: Expression | None = None
    when: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Resources of a record, ``[[resource]]``; a declaration may have several.

    Args:
        each: where a record has them: a list, or an object that is one.
        when: what is true of a record that has them.
        id: of a resource. Without one, its address is its id.
        fields: which value of a resource is which of an item's fields.
    """

    each: Expression
    when: Expression | None = None
    id: Filler | None = None
    fields: Mapping[str, Filler]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """How the software is recognised, ``[recognise]``.

    Args:
        hosts: patterns of the hosts that its provider has: ``*.opendatasoft.com``.
        paths: parts of addresses that only this software has: ``/explore/``.
        page: texts in the HTML of its pages.
        headers: names of headers that it sends.
        probe: an address to ask.
        proof: what is true of the answer if it is this software's.
        domain: the host that the answer is about, where one host answers for many.
        common: whether it is looked for without any sign.
        collections: the names of the collections that its landing page leads to, each a portal of its own.
        doors: other addresses of the same portal whose records have other ids.
    """

    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    page: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    probe: Template | None = None
    proof: Expression | None = None
    domain: Expression | None = None
    common: bool = False
    collections: Expression | None = None
    doors: tuple[Template, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One JSON API.

    Args:
        text: the whole file.
        name: the file's name without ``.toml``; the ``metadata_source`` of what it gives.
        title: what people call the software.
        recorded: whether it was tested with answers of real portals.
        language: the language that ``lang()`` prefers.
        list: where the records are.
        id: where a record has its id.
        aliases: where it has other ids of the same dataset, a list.
        skip: what is true of a record that is not a dataset.
        counters: the fields that move in a record although nobody edits it, by their paths.
        sets: its lists whose order has no meaning.
        names: more names for the templates, ``[names]``: where a record has their values.
        metadata_url: the address of one record; what follows ``{portal}`` tells the portal when it is read again.
        fields: ``[dataset]``: which value of a record is which of an item's fields.
        resources: where a record has its resources.
        follow: what is requested for each record.
        check: the name of a registered check of the portal, before the first page.
        recognise: how the software is recognised.
    """

    text: str
    name: str
    title: str
    recorded: bool = True
    language: str = "en"
    list: Listing
    id: Expression
    aliases: Expression | None = None
    skip: Expression | None = None
    counters: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    names: Mapping[str, Expression] = field(default_factory=dict)
    metadata_url: Template
    fields: Mapping[str, Filler]
    resources: tuple[Resources, ...] = ()
    follow: tuple[Follow, ...] = ()
    check: str | None = None
    recognise: Recognition = Recognition()

    @property
    def volatile(self) -> Volatile:
        """What changes in a record without an edit."""
        return Volatile.named(self.counters, self.sets)
