"""What a page says by itself, where the user has named no value: title, labelled fields, keywords, mail and files."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlers.kinds.html.mapping.confidence import is_outside
from crawlers.kinds.html.mapping.vocabulary import bare, fields
from crawlers.kinds.html.rules import FIELDS, MANY
from crawlers.operate.learn import labelled
from crawlers.operate.learn.expected_value import DATES, EMAILS, Wanted, is_date
from crawlers.operate.learn.field import learned
from crawlers.operate.learn.resources import files
from crawlers.records.formats import eu_file_type
from crawlers.records.html_page import text, tidy
from crawlers.records.values import email

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.operate.learn.candidates import Learned, Trial
    from crawlers.operate.learn.resources import Files
    from crawlers.operate.learn.sample import Sample

_MOST = 500
_SEPARATORS = ("|", "·", "»", "«", "::", "–", "—", " - ", " : ")
_SHORTEST = 3  # characters of a title
_LONGEST = {"publisher": 200, "license": 400, "version": 60, "identifier": 300, "frequency": 80, "access_rights": 200}
_LONGEST_PART = 80  # characters of a keyword
_TYPES = frozenset(
    (
        *("text", "number", "date", "string", "integer", "double", "float", "boolean", "datetime", "timestamp", "oid"),
        *("object id", "global id", "objectid", "globalid", "geometry", "floating timestamp", "plain text", "url"),
    )
)
"""What a table of columns says of each: a type is nothing that a dataset says."""
_METAS = {
    "description": ("dcterms.description", "dc.description", "dcterms.abstract"),
    "identifier": ("dcterms.identifier", "dc.identifier"),
    "issued": ("dcterms.issued", "dcterms.created", "dc.date", "article:published_time"),
    "modified": ("dcterms.modified", "article:modified_time", "og:updated_time"),
    "publisher": ("dcterms.publisher", "dc.publisher"),
    "creator": ("dcterms.creator", "dc.creator"),
    "keywords": ("dcterms.subject", "dc.subject", "article:tag"),
    "license": ("dcterms.license", "dcterms.rights", "dc.rights"),
    "languages": ("dcterms.language", "dc.language"),
    "spatial": ("dcterms.spatial", "dc.coverage"),
    "temporal": ("dcterms.temporal",),
}
"""The names of Dublin Core and OpenGraph that say a field."""
_TAGS = ("a[rel~='tag']", ".tag-list a", ".tags a", ".keywords a", "[class*='keyword'] a", "[itemprop='keywords']")
_AROUND_FILES = re.compile(
    r"(?:^|[\s_-])(?:resource|download|distribution|attachment|file)s?(?:$|[\s_-])", re.IGNORECASE
)
_METADATA = ("rdf", "ttl", "jsonld", "nt", "n3", "trig")
"""Endings of files that describe the dataset, mostly."""
_PRESSED = re.compile(
    r"\b(?:download|herunterladen|t[ée]l[ée]charger|descargar|scarica|baixar|pobierz|download(?:en)?)\b", re.IGNORECASE
)
_LISTS = ("ul", "ol", "table", "div", "section")
_ROWS = ("li", "tr", "article", "section", "div", "p", "dd")
_HEADINGS = ".heading, .title, h3, h4, h5, h6, strong, b, a"
_WORDS = re.compile(r"\b[A-Za-z][A-Za-z0-9]{1,9}\b")
_LEAST_SURE = 0.3
_SURE = 0.5


def unaided(trial: Trial) -> Iterator[Learned]:
    """Yield the fields that the first page says by itself."""
    labels = _by_label(trial.samples[0])
    for name in FIELDS:
        ways = (_heading, partial(_labelled, labels), _mail, _meta, _tags, _page_title)
        made = [found for way in ways if (found := way(trial, name))] if name == "title" else []
        made = made or [found for found in (way(trial, name) for way in ways) if found][:1]
        if made:
            yield _split(trial, next((each for each in made if each.sure >= _SURE), made[0]))


def _shown(trial: Trial, name: str, *seen: str | None) -> Learned | None:
    """Return the rule of what was seen on the first page, if anything was."""
    values = tuple(filter(None, seen))
    return learned(trial, Wanted(name, values, language=trial.samples[0].page.language)) if values else None


def _heading(trial: Trial, name: str) -> Learned | None:
    return _shown(trial, name, title_heading(trial.samples[0])) if name == "title" else None


def _page_title(trial: Trial, name: str) -> Learned | None:
    return _shown(trial, name, page_title(trial.samples[0])) if name == "title" else None


def title_heading(sample: Sample) -> str | None:
    """Return the heading that begins the page's title or OpenGraph's, else OpenGraph's."""
    shared = _shared(sample)
    for tag in ("h1", "h2"):
        shown = (text(each) for each in sample.css(tag)[:_MOST] if not is_outside(each))
        begins = [each for each in shown if len(each) >= _SHORTEST and _begins(each, _page_titles(sample), shared)]
        if begins:
            return max(begins, key=len)
    return _up_to_separator(shared) or None


def page_title(sample: Sample) -> str | None:
    """Return the page's title up to its separator; the only heading where the page does not show that."""
    written = _up_to_separator(_page_titles(sample))
    headings = [each for each in sample.css("h1, h2")[:_MOST] if not is_outside(each)]
    is_shown = written and any(written in text(each) for each in sample.css("body")[:1])
    alone = text(headings[0]) if len(headings) == 1 and not is_shown else ""
    return alone or written or None


def _page_titles(sample: Sample) -> str:
    return next((text(each) for each in sample.css("title")), "")


def _shared(sample: Sample) -> str:
    return next(filter(None, (_content(each) for each in sample.css("meta[property='og:title']"))), "")


def _begins(heading: str, *titles: str) -> bool:
    return any(each.casefold().startswith(heading.casefold()) for each in titles)


def _up_to_separator(written: str) -> str:
    """
    >>> _up_to_separator("Rivers - 2020 | Town"), _up_to_separator("Rivers - Town"), _up_to_separator("E-mail")
    ('Rivers - 2020', 'Rivers', 'E-mail')
    """
    for separator in _SEPARATORS:
        first, found, _ = written.partition(separator)
        if found and len(first.strip()) >= _SHORTEST:
            return first.strip()
    return written.strip()


def _content(element: Any) -> str:
    return bare(element.get("content") or "")


# Labels


def _by_label(sample: Sample) -> dict[str, list[str]]:
    """Return the labels of each field, in page order."""
    found: dict[str, list[str]] = {}
    for item in labelled.known(sample):
        owners = fields().get(item.key, ())
        if owners and not is_outside(item.element) and item.text not in found.setdefault(owners[0], []):
            found[owners[0]].append(item.text)
    return found


def _labelled(labels: dict[str, list[str]], trial: Trial, name: str) -> Learned | None:
    """Return the rule of the first label whose value may be one of the field."""
    language = trial.samples[0].page.language
    for label in labels.get(name, ())[:5]:
        found = learned(trial, Wanted(name, (), label, language))
        if found and _is_plausible(name, trial.first(name, found.table), language):
            return found
    return None


def _is_plausible(name: str, given: list[str], language: str | None) -> bool:
    if not given or all(each.casefold() in _TYPES for each in given):
        return False
    if name in DATES:
        return is_date(given[0], language)
    if name in EMAILS:
        return email(given[0]) is not None
    return max(map(len, given)) <= _LONGEST.get(name, 20_000)


# Other signs


def _meta(trial: Trial, name: str) -> Learned | None:
    sample = trial.samples[0]
    for wanted in _METAS.get(name, ()):
        css = f"meta[name='{wanted}' i], meta[property='{wanted}' i]"
        values = tuple(dict.fromkeys(filter(None, map(_content, sample.css(css)))))
        if values and _is_plausible(name, list(values), sample.page.language):
            return _shown(trial, name, *(values if name in MANY else values[:1]))
    return None


def _tags(trial: Trial, name: str) -> Learned | None:
    sample = trial.samples[0]
    if name != "keywords":
        return None
    for css in _TAGS:
        values = tuple(dict.fromkeys(text(each) for each in sample.css(css)[:_MOST] if not is_outside(each)))
        if len(values) > 1 and max(map(len, values)) <= _LONGEST_PART:
            return _shown(trial, name, *values)
    return None


def _mail(trial: Trial, name: str) -> Learned | None:
    """Return the rule of the only link of the page that writes a mail."""
    sample = trial.samples[0]
    if name != "contact_email":
        return None
    links = [each.get("href") for each in sample.css("a[href^='mailto:']")[:_MOST] if not is_outside(each)]
    return _shown(trial, name, links[0]) if len({email(each) for each in links} - {None}) == 1 else None


def _split(trial: Trial, found: Learned) -> Learned:
    """Return the rule with what separates the keywords of one text."""
    given = trial.first(found.name, found.table)
    if found.name not in ("keywords", "themes") or len(given) != 1 or "split" in found.table:
        return found
    for separator in (";", "|", ","):
        parts = given[0].split(separator)
        if len(parts) > 1 and max(map(len, parts)) <= _LONGEST_PART:
            return replace(found, table={**found.table, "split": separator})
    return found


# Files


def unaided_files(trial: Trial) -> Files | None:
    """Return the rules of the links that are files by the list they stand in, the attribute, the ending or the type."""
    sample = trial.samples[0]
    links = [each for each in sample.css("a[href]")[: 10 * _MOST] if _weight(sample, each)]
    for link in sorted(links, key=lambda each: -_weight(sample, each))[:3]:
        for wanted in _seen(sample, link, links):
            found = files(trial, wanted)
            if found and found.sure >= _LEAST_SURE and _are_files(sample, found, links):
                return found
    return None


def _weight(sample: Sample, link: Any) -> int:
    """Return how many signs say that a link is a file."""
    address = sample.page.absolute(link.get("href"))
    if not address or is_outside(link) or address.partition("#")[0] == sample.address:
        return 0
    path = urlsplit(address).path
    ending = path.rpartition("/")[2].rpartition(".")[2]
    signs = (
        "download" in link.attrib,
        "." in path and len(ending) <= 8 and eu_file_type(ending) is not None and ending not in _METADATA,
        bool(link.get("type")) and "html" not in link.get("type"),
        bool(_PRESSED.search(f"{text(link)} {link.get('title') or ''}")),
        any(
            _AROUND_FILES.search(each.get("class") or "")
            for each in islice(link.iterancestors("ul", "ol", "table", "div", "section"), 6)
        ),
    )
    return sum(signs) if any(signs[:4]) else 0


def _seen(sample: Sample, link: Any, others: list[Any]) -> Iterator[dict[str, str]]:
    """Yield what a file's row shows: the address, a title and a format, then the address with either, then alone."""
    url = {"url": link.get("href")}
    known: dict[str, str] = {}
    for row in islice(link.iterancestors(*_ROWS), 3):
        if sum(each in others for each in row.iter("a")) > 1:
            break
        shown = {"title": _title_of(sample, row, link), "format": _format_of(row, link)}
        known |= {name: value for name, value in shown.items() if value and name not in known}
    yield {**url, **known}
    for name, value in known.items() if len(known) > 1 else ():
        yield {**url, name: value}
    if known:
        yield url


def _title_of(sample: Sample, row: Any, link: Any) -> str | None:
    for each in [*sample.css(_HEADINGS, row), link]:
        shown, said = text(each), tidy(each.get("title") or "")
        if len(shown) >= _SHORTEST and eu_file_type(shown) is None and not _PRESSED.fullmatch(shown):
            return said if said and shown.startswith(said) else shown  # a label of the format may stand in it
    return None


def _format_of(row: Any, link: Any) -> str | None:
    """Return the word of the row that is a format, that of the address first."""
    ending = urlsplit(link.get("href")).path.rpartition(".")[2].casefold()
    words = [each for each in _WORDS.findall(text(row)[:2_000]) if eu_file_type(each) is not None]
    same = [each for each in words if each.casefold() == ending]
    return next(iter([*same, *(each for each in words if each.isupper() or each[0].isupper())]), None)


def _are_files(sample: Sample, found: Files, links: list[Any]) -> bool:
    """Return whether the rule gives about as many files as there are links with signs of one."""
    addresses = {sample.page.absolute(each.get("href")) for each in links}
    return 0 < found.counts[0] <= 2 * len(addresses) + 1
