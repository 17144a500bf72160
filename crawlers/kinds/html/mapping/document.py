"""What the rules find on a dataset's page: the document that is kept."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html import rdfa
from crawlers.kinds.html.mapping.field import read
from crawlers.kinds.html.mapping.search import Search
from crawlers.records import schema_org
from crawlers.records.addresses import without_session
from crawlers.records.html_page import LONGEST, text
from crawlers.records.rdf.document import document as rdf_document

if TYPE_CHECKING:
    from crawlers.items import Document
    from crawlers.kinds.html.rules import Resources, Rule, Rules
    from crawlers.records.html_page import Page

MOST_RESOURCES = 2_000

_MOST_ELEMENTS = 100_000  # in all files' elements: one may be in another

_MOST_LINKS = 50
_LONGEST_LANGUAGE = 35  # RFC 5646


def document(page: Page, rules: Rules) -> Document:
    """Return the page's fields as JSON, each with its value, source and confidence; missing ones are absent.

    ``flaws`` is there when something was cut. ``rdf`` is the page's RDFa; the spider puts linked RDF in its place.

    Raises:
        RulesError: an XPath of the rules can't be evaluated.
    """
    language = _language(rules.language or page.language)
    search = Search(page, (*rules.fields, *rules.extras))
    found: Document = {"url": page.url, "language": language}
    found["fields"] = _fields(page, rules.fields, search, language)
    found["extras"] = _fields(page, rules.extras, search, language)
    nodes, flaws = ([], []) if rules.resources is None else _rows(page, rules.resources)
    found["resources"] = _resources(page, rules.resources, nodes, language) if rules.resources else []
    if rules.structured and (record := _schema_org(page)):
        found["schema_org"] = record
    if rules.structured and (about := rdfa.described(page)):
        found["rdf"] = rdf_document(about.graph, about.name)
        flaws += [] if about.is_everything else ["its RDFa is too long: the rest is left out"]
    if flaws := [*filter(None, [page.flaw, page.misread]), *flaws]:
        found["flaws"] = flaws
    return found


def _language(given: str | None) -> str | None:
    given = (given or "").strip()
    return given if given and len(given) <= _LONGEST_LANGUAGE else None


def _fields(page: Page, rules: tuple[Rule, ...], search: Search, language: str | None) -> dict[str, Any]:
    return {rule.name: entry for rule in rules if (entry := read(page, rule, search, language))}


def _schema_org(page: Page) -> dict[str, Any] | None:
    """Return the record that describes this page."""
    if not page.structured:
        return None
    return schema_org.describing(schema_org.records(page.root, page.url), page.url)


def _rows(page: Page, resources: Resources) -> tuple[list[Any], list[str]]:
    """Return the elements of the files, and what is wrong with them."""
    found: list[Any] = []
    left = _MOST_ELEMENTS
    for node in page.find(resources.xpath, limit=MOST_RESOURCES):
        left -= 1 if isinstance(node, str) else sum(1 for _ in islice(node.iter(), left))
        if left <= 0:
            return found, ["the files' elements are in one another: the further files are missing"]
        found.append(node)
    return found, []


def _resources(page: Page, resources: Resources, nodes: list[Any], language: str | None) -> list[dict[str, Any]]:
    found = []
    for node in nodes:
        search = Search(page, resources.fields, node)
        entry = _fields(page, resources.fields, search, language)
        if not any(rule.name == "url" for rule in resources.fields):
            entry = _link(page, node) | entry
        if "url" in entry:
            found.append(entry)
    return found


def _link(page: Page, node: Any) -> dict[str, Any]:
    """Return the first link of an element, and its text."""
    links = page.find("descendant-or-self::a[@href]", node, limit=_MOST_LINKS) if not isinstance(node, str) else []
    for link in links:
        if address := page.absolute(link.get("href")):
            entry = {"url": {"value": without_session(address), "by": "first link", "confidence": 0.95}}
            if title := text(link)[:LONGEST]:
                entry["title"] = {"value": title, "by": "first link", "confidence": 0.95}
            return entry
    return {}
