"""The content of a rules file, checked and ready for use."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

Where = Literal["listing", "datasets"]
"""The pages that a browser is asked for."""

FIELDS = (
    *("title", "description", "identifier", "issued", "modified", "version", "publisher", "publisher_email"),
    *(
        "creator",
        "creator_email",
        "maintainer",
        "maintainer_email",
        "contact",
        "contact_email",
        "keywords",
        "themes",
        "languages",
        "license",
    ),
    *("access_rights", "rights", "frequency", "temporal", "spatial", "conforms_to", "provenance"),
    *("country", "state", "city", "type", "status", "version_notes", "relations", "documentation", "sample"),
    *("applicable_legislation", "hvd_categories", "spatial_resolution", "temporal_resolution"),
)
"""What ``[fields]`` may name: the fields of `crawlers.items.Dataset`, and of its agents."""

MANY = (
    *("keywords", "themes", "languages", "spatial", "conforms_to", "relations", "documentation", "sample"),
    *("applicable_legislation", "hvd_categories"),
)
"""Those that are lists, ``many`` or not."""

RESOURCE_FIELDS = (
    *("url", "title", "description", "format", "media_type", "size", "issued", "modified", "license"),
    *("availability", "status", "documentation"),
)
"""What ``[resources]`` may name: the fields of `crawlers.items.Resource`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How one field is found: by exactly one of ``css``, ``xpath``, ``labels``, ``constant``.

    Args:
        name: the field's.
        css: as written, for messages.
        xpath: what is evaluated; translated from ``css`` where that is given.
        labels: the texts beside or above the value; all synonyms of ``name`` when it is empty and `by_label`.
        by_label: whether the value stands at a label.
        constant: the values themselves.
        threshold: how alike a label must be, from 0 to 100.
        attr: the attribute that has the value, in place of the text.
        regex: an RE2 pattern over the text found; its first group, or all of it, is the value.
        many: every element found is a value, not the first alone.
        split: what separates values within one text.
        date: the order of day, month and year in numbers: "dmy", "mdy", "ymd"; "auto" when the language tells.
        html: the value is the element's HTML, which becomes Markdown.
        required: a page without it is not a dataset.
        otherwise: the further ways, tried in order while the field is not found; a default is the last one.
    """

    name: str
    css: str | None = None
    xpath: str | None = None
    labels: tuple[str, ...] = ()
    by_label: bool = False
    constant: tuple[str, ...] = ()
    threshold: float = 85.0
    attr: str | None = None
    regex: str | None = None
    many: bool = False
    split: str | None = None
    date: str | None = None
    html: bool = False
    required: bool = False
    otherwise: tuple[Rule, ...] = ()

    @property
    def ways(self) -> tuple[Rule, ...]:
        """All ways in which it is found, in order."""
        return (self, *self.otherwise)

    @property
    def by(self) -> str:
        """What finds it, as text: ``css h1``, ``label Lizenz``."""
        if self.css is not None:
            return f"css {self.css}"
        if self.xpath is not None:
            return f"xpath {self.xpath}"
        return f"label {' | '.join(self.labels) or self.name}" if self.by_label else "constant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """How a listing's links to datasets are found.

    Args:
        xpath: the elements that are links, or that contain them; every link of the page when it is ``None``.
        pattern: RE2; what a dataset's address matches somewhere.
        id: RE2; what of the address is the dataset's id, its first group.
        drop: query parameters that make no difference, besides the usual session ids.
        follow: XPath of the links to further listings, categories say.
        depth: how many of those lead from one to the next.
        total: where the listing says how many datasets there are.
    """

    css: str | None = None
    xpath: str | None = None
    pattern: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    follow: str | None = None
    depth: int = 3
    total: Rule | None = None


Kind = Literal[
    "next", "numbers", "query", "path", "sitemap", "postback", "button", "buttons", "scroll", "script", "none"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """How a listing goes on.

    Args:
        kind: which of the ways; the rest of the fields belong to one or another of them.
        text: of the link (next), the button (button) or the link that posts the form back (postback); the usual words
            of all languages when it is empty.
        css: the selector of that link, button or pager, as written.
        xpath: the same, as it is evaluated.
        address: the template with ``{page}`` (path), the sitemap's address (sitemap).
        query: the parameter's name.
        script: the JavaScript that turns the page; it gives ``false`` when there is no further one.
        first: the number of the first page; the one that the start address stands for.
        step: what is added for each page.
        max_pages: listing pages of a crawl; beyond it is taken for a trap.
        patience: pages in a row without a new dataset before the end is believed.
        wait: seconds that a page may take to change after a click.
    """

    kind: Kind = "next"
    text: str | None = None
    css: str | None = None
    xpath: str | None = None
    address: str | None = None
    query: str | None = None
    script: str | None = None
    first: int = 1
    step: int = 1
    max_pages: int = 10_000
    patience: int = 2
    wait: float = 10.0

    @property
    def in_browser(self) -> bool:
        return self.kind in ("button", "buttons", "scroll", "script")

    @property
    def is_counted(self) -> bool:
        """Whether no page shows that there is a next one."""
        return self.kind in ("query", "path")

    @property
    def is_promised(self) -> bool:
        """Whether a page shows that there is a next one."""
        return self.kind in ("next", "numbers", "postback")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchForm:
    """The form that a listing is behind.

    Args:
        css: the selector of the form, or of something in it or around it, as written.
        xpath: the same, as it is evaluated; without one the fields tell the form.
        button: the text or name of the button that is clicked; ``None`` for the first, ``False`` for none.
        fields: what is filled in, by the field's name; ``None`` for one that is not sent.
    """

    css: str | None = None
    xpath: str | None = None
    button: str | bool | None = None
    fields: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The files of a dataset: an element each.

    Args:
        fields: how each field is found within the element; without ``url`` its first link is, text and all.
    """

    css: str | None = None
    xpath: str
    fields: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """A rules file.

    Args:
        text: the file's own text.
        start: the addresses of the listings.
        hosts: every host that links may lead to; those of ``start`` among them.
        encoding: of the pages' texts, where they declare another.
        structured: whether schema.org and linked RDF go before the fields.
        form: the form that the listing is behind, on the pages of ``start``.
        rdf: where a dataset's page has the link to its RDF.
        extras: fields that no item has; they are in the document only.
    """

    text: str
    start: tuple[str, ...]
    hosts: tuple[str, ...]
    source: str | None = None
    language: str | None = None
    encoding: str | None = None
    browser: frozenset[Where] = frozenset()
    cookies: bool = False
    structured: bool = True
    links: Links = field(default_factory=Links)
    paging: Paging = field(default_factory=Paging)
    form: SearchForm | None = None
    rdf: Rule | None = None
    fields: tuple[Rule, ...] = ()
    extras: tuple[Rule, ...] = ()
    resources: Resources | None = None

    @property
    def digest(self) -> str:
        """What tells these rules from others."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def follows(self, address: str) -> bool:
        """Return whether a link may lead there."""
        return (urlsplit(address).hostname or "") in self.hosts
