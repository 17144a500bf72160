"""The families whose listing is a plain list of links."""

from __future__ import annotations

from typing import ClassVar

from tests.portal.html.catalogue import HTMLCatalogue, Visit
from tests.portal.html.data import Entry, text


class Drupal(HTMLCatalogue):
    """Drupal with DKAN: a view's rows, a pager from page 0 with ``rel=next``, fields of label and items."""

    start = "/datasets"
    language: ClassVar[str] = "en"
    first: ClassVar[int] = 0
    detail = "/dataset/{}"

    def listing(self, number: int, visit: Visit) -> str:
        rows = "".join(
            f'<div class="views-row views-row-{row}"><h2 class="node-title"><a href="{href}">{text(words)}</a></h2>'
            f'<div class="group">{text(entry.publisher) if entry else ""}</div>'
            '<a href="/user/login?destination=/dataset">Rate this dataset</a></div>'
            for row, (href, words, entry) in enumerate(self.links(number), 1)
        )
        return (
            '<h1 class="page-header">Datasets</h1>'
            f'<div class="view view-dkan-datasets"><div class="view-header">{len(self.listed())} datasets</div>'
            f'<div class="view-content">{rows or "<p>No datasets.</p>"}</div>{self.pager(number)}</div>'
        )

    def pager(self, number: int) -> str:
        pages = "".join(
            '<li class="pager-item">'
            + (str(one) if one == number else f'<a title="Go to page {one}" href="{self.link(one)}">{one}</a>')
            + "</li>"
            for one in range(1, min(self.last, 9) + 1)
        )
        following = self.following(number)
        onward = f'<a title="Go to next page" rel="next" href="{self.link(following)}">next ›</a>' if following else ""
        return f'<ul class="pager">{pages}<li class="pager-next">{onward}</li></ul>'

    def detailed(self, entry: Entry) -> str:
        fields = (
            ("field-license", "License", [f'<a href="{entry.licence.uri}">{entry.licence.name}</a>']),
            ("og-group-ref", "Publisher", [f'<a href="/group/{entry.number % 4}">{text(entry.publisher)}</a>']),
            (
                "field-tags",
                "Tags",
                [f'<a href="/tags/{place}">{text(word)}</a>' for place, word in enumerate(entry.keywords)],
            ),
            ("field-modified", "Modified Date", [f'<span class="date-display-single">{entry.modified}</span>']),
        )
        return (
            f'<h1 class="page-header">{self.title(entry)}</h1>'
            f'<div class="field field-name-body"><div class="field-item"><p>{text(entry.description)}</p></div></div>'
            f'<div id="data-and-resources"><h3>Data and Resources</h3>{self.resources(entry)}</div>'
            + "".join(field(*one) for one in fields)
        )

    def resources(self, entry: Entry) -> str:
        items = "".join(
            f'<li class="resource"><a class="heading" href="/resource/{place}">{text(file.title)}</a>'
            f'<span class="format-label" data-format="{file.format.lower()}">{file.format}</span>'
            f'<a class="btn data-link" href="{file.path}"><i class="icon"></i> Download</a></li>'
            for place, file in enumerate(entry.files)
        )
        return f'<ul class="resource-list">{items}</ul>' if items else "<p>This dataset has no resources.</p>"


def field(name: str, label: str, items: list[str]) -> str:
    rows = "".join(
        f'<div class="field-item {("even", "odd")[place % 2]}">{item}</div>' for place, item in enumerate(items)
    )
    return (
        f'<div class="field field-name-{name} field-label-inline"><div class="field-label">{label}:&nbsp;</div>'
        f'<div class="field-items">{rows}</div></div>'
    )
