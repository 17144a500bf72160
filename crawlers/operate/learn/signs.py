"""What a page says by itself, where the user has named no value: each value with the element in which it stands."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from rapidfuzz import fuzz

from crawlers.kinds.html.mapping.confidence import BESIDE, is_outside, sureness
from crawlers.kinds.html.mapping.labels import text_of
from crawlers.kinds.html.mapping.vocabulary import bare, fields, key
from crawlers.kinds.html.rules import MANY
from crawlers.operate.learn import labelled
from crawlers.operate.learn.fields import LONGEST, is_plausible, learned
from crawlers.operate.learn.sample import Place, Wanted, equal_places
from crawlers.operate.learn.texts import DATES, normal
from crawlers.records.html_page import text, tidy
from crawlers.records.values import email

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from crawlers.kinds.html.mapping.labels import Label
    from crawlers.operate.learn.candidates import Learned, Trial
    from crawlers.operate.learn.sample import Sample

_MOST = 500
_SHORTEST = 3  # characters of a title
_LONGEST_NAMES = 300  # characters of an element's id and classes
_LONGEST_PART = 80  # characters of a keyword
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
_TAGS = ("a[rel~='tag']", ".tag-list a", ".tags a", ".keywords a", "[class*='keyword'] a", "[itemprop='keywords'] a")
_HEADS = ("h1", "h2", "h3", "h4")
_AGENTS = ("publisher", "creator", "maintainer", "contact")
_SURE = 0.5
_HELD = 0.8  # of the pages that nothing was learned from


@dataclass(frozen=True, slots=True)
class Sight:
    """A value of a field as the page shows it.

    Args:
        places: where each of its values stands.
        label: the label beside it.
    """

    places: tuple[Place, ...]
    label: str | None = None

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(place.text for place in self.places)


@dataclass(frozen=True, slots=True)
class Unaided:
    """
    Args:
        fields: the rules that hold on the further pages, too.
        left_out: those that do not: found on too few of them.
        others: further rules that give another value of a field and are as sure, by the field.
    """

    fields: tuple[Learned, ...]
    left_out: tuple[Learned, ...]
    others: dict[str, list[Learned]]


def unaided(trial: Trial, rows: Collection[Any], names: Collection[str]) -> Unaided:
    """Return the rules of what the first page says by itself.

    Args:
        rows: the elements of the files, whose labels are not the dataset's.
        names: the fields to look for.
    """
    signs = _Signs(trial.samples[0], rows)
    kept, left_out = [], []
    others: dict[str, list[Learned]] = {}
    for name in names:
        sights = list(islice(signs.of(name), 6))
        made = [each for sight in sights if (each := _rule(trial, name, sight))]
        good = [each for each in made if len(each.found) >= _HELD * (len(each.given) - 1)]
        best = next((each for each in good if each.sure >= _SURE), next(iter(good), None))
        if best:
            kept.append(best)
            taken = _letters("".join(best.given[0]))
            others[name] = [
                each for each in good if each.sure >= best.sure and _letters("".join(each.given[0])) not in taken
            ]
        elif made:
            left_out.append(made[0])
    return Unaided(tuple(kept), tuple(left_out), others)


def _rule(trial: Trial, name: str, sight: Sight) -> Learned | None:
    """Return the rule of a value in its place; a label's if that gives this value and no other."""
    language = trial.samples[0].page.language
    made = learned(trial, Wanted(name, (), sight.label, language)) if sight.label else None
    if made is None or not _is_same(name, made.given[0], sight.values):
        is_known = all(place.element is not None for place in sight.places)
        made = learned(trial, Wanted(name, sight.values, None, language, sight.places)) if is_known else None
    if made is None or not is_plausible(name, made.given[0], language):
        return None
    return _split(made)


def _is_same(name: str, given: list[str], values: tuple[str, ...]) -> bool:
    """Return whether a rule gives what was seen; of a box about an organisation the name, of a picture its words."""
    if not "".join(values):
        return True
    if name in _AGENTS and len(given) == 1 and normal(given[0]) in normal(" ".join(values)):
        return True
    letters = [
        "".join(filter(str.isalnum, re.sub(r"<[^>]*>", "", "".join(each)).casefold())) for each in (given, values)
    ]
    return letters[0] == letters[1]


def _split(found: Learned) -> Learned:
    """Return the rule with what separates the keywords of one text, on any of the pages."""
    if found.name not in ("keywords", "themes") or "split" in found.table:
        return found
    shown = [given[0] for given in found.given if len(given) == 1]
    is_one = len(shown) == sum(map(bool, found.given))  # no page has a list
    for separator in (";", "|", ",")[: 3 if found.name == "keywords" else 2]:  # a theme may have a comma
        parts = [part for text in shown for part in text.split(separator)] if is_one else []
        if len(parts) > len(shown) and max(map(len, parts)) <= _LONGEST_PART:
            return replace(found, table={**found.table, "split": separator})
    return found


class _Signs:
    """The signs by which a page says its fields, the surest first.

    Args:
        rows: the elements of the files.
    """

    def __init__(self, sample: Sample, rows: Collection[Any]) -> None:
        self.sample, self.rows = sample, set(rows)
        self.headings = Headings(sample, self.is_of_file)
        self._labels = [label for label in labelled.known(sample) if not self._is_elsewhere(label.element)]

    def is_of_file(self, element: Any) -> bool:
        return element in self.rows or any(above in self.rows for above in element.iterancestors())

    def _is_elsewhere(self, element: Any) -> bool:
        return is_outside(element) or self.is_of_file(element)

    def of(self, name: str) -> Iterator[Sight]:
        if name == "title":
            yield from (Sight((place,)) for place in self.headings.likely)
        yield from self._labelled(name)
        if name == "title":
            yield from (Sight((place,)) for place in self.headings.unlikely)
        if name == "description":
            yield from self._texts()
        if name == "contact_email":
            yield from self._mail()
        yield from self._metas(name)
        if name == "keywords":
            yield from self._tags()
        if name in DATES:
            yield from self._times(name)

    def _labelled(self, name: str) -> Iterator[Sight]:
        for label in [label for label in self._labels if _field_of(label) == name][:5]:
            is_text = name != "description" or not _is_menu(label.values[0])
            if is_text and not _has_labels(label.values[0]):
                yield Sight(tuple(Place(_element(value), text_of(value)) for value in label.values), label.text)

    def _texts(self) -> Iterator[Sight]:
        """Yield the text that is named as a description, or that follows the title."""
        told = [*islice(filter(self._is_named_text, self.sample.elements), 50)]
        told += [_after(title) for _, title in self.headings.ranked[:1]]
        for element in dict.fromkeys(each for each in told if each is not None and _is_whole(each)):
            shown = self.sample.texts.get(element, "")
            if len(shown.split()) >= 3 and not _is_menu([element]) and not self._is_elsewhere(element):
                yield Sight((Place(element, shown),))

    def _is_named_text(self, element: Any) -> bool:
        if element.tag in ("meta", *_HEADS, "a", "input", "label", "body"):
            return False
        named = f"{element.get('itemprop') or ''} {element.get('property') or ''} {element.get('id') or ''}"
        names = f"{named} {element.get('class') or ''}"[:_LONGEST_NAMES].split()
        return any(map(_says_description, names)) and not _is_beside(element)

    def _metas(self, name: str) -> Iterator[Sight]:
        for wanted in _METAS.get(name, ()):
            found = self.sample.css(f"meta[name='{wanted}' i], meta[property='{wanted}' i]")
            places = tuple(Place(each, _content(each), "content") for each in found if _content(each))
            if places:
                yield Sight(places if name in MANY else places[:1])

    def _tags(self) -> Iterator[Sight]:
        for css in _TAGS:
            found = [each for each in self.sample.css(css)[:_MOST] if not self._is_elsewhere(each) and text(each)]
            if len(found) > 1 and max(len(text(each)) for each in found) <= _LONGEST_PART:
                yield Sight(tuple(Place(each, text(each)) for each in found))

    def _mail(self) -> Iterator[Sight]:
        """Yield the only link of the page that writes a mail."""
        links = [each for each in self.sample.css("a[href^='mailto:']")[:_MOST] if not self._is_elsewhere(each)]
        if len({email(each.get("href")) for each in links} - {None}) == 1:
            yield Sight((Place(links[0], links[0].get("href"), "href"),))

    def _times(self, name: str) -> Iterator[Sight]:
        """Yield the dates that are named in the words of schema.org or Dublin Core."""
        words = {"issued": "datePublished dateCreated dct:issued", "modified": "dateModified dct:modified"}
        for word in words.get(name, "").split():
            for element in self.sample.css(f"[itemprop='{word}'], [property='{word}']")[:3]:
                attr = next((each for each in ("datetime", "content") if element.get(each)), None)
                shown = element.get(attr) if attr else self.sample.texts.get(element)
                if shown and not self._is_elsewhere(element):
                    yield Sight((Place(element, shown, attr),))


def _field_of(label: Label) -> str:
    """Return the field that a label is a word for: "Terms of use/Licence" is one for a licence."""
    words = (label.key, *(key(part) for part in label.text.split("/")[1:]), key(label.text.partition("/")[0]))
    return next((fields()[word][0] for word in words if word in fields()), "")


def _has_labels(value: list[Any]) -> bool:
    """Return whether a value has labels of fields in it: what has is none."""
    inside = (each for part in value if not isinstance(part, str) for each in islice(part.iterdescendants(), _MOST))
    return any(len(shown := tidy(each.text or "")) <= 40 and ":" in shown and key(shown) in fields() for each in inside)


def _element(value: list[Any]) -> Any:
    """Return the element of a label's value, if it is one of its own."""
    elements = [part for part in value if not isinstance(part, str)]
    return elements[0] if len(elements) == 1 and text(elements[0]) == text_of(value) else None


def _is_menu(value: list[Any]) -> bool:
    """Return whether most of the words of a value are links and buttons."""
    elements = [part for part in value if not isinstance(part, str)]
    linked = sum(
        len(text(link)) for element in elements for link in islice(element.iter("a", "button", "option"), _MOST)
    )
    return 2 * linked > len(text_of(value))


def _is_beside(element: Any) -> bool:
    return any(sureness(each) <= BESIDE for each in (element, *element.iterancestors()))


@lru_cache(maxsize=4_096)
def _says_description(name: str) -> bool:
    """Return whether a class, an id or a property is a word for a description.

    >>> _says_description("dct:description"), _says_description("beschreibung_datensatz"), _says_description("notes")
    (True, True, True)
    """
    words = key(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.rpartition(":")[2]))
    parts = [words, *words.split()]
    return len(parts) <= 5 and any("description" in fields().get(each, ()) for each in parts if each != "about")


def _after(title: Any) -> Any:
    """Return the first block of text between the title and the next heading."""
    for element in islice((title, *title.iterancestors()), 4):
        found = _first_text(islice(element.itersiblings(), 8))
        if found is not None:
            return found
    return None


def _first_text(elements: Iterator[Any], depth: int = 4) -> Any:
    for element in elements:
        if element.tag in (*_HEADS, "table", "dl", "form"):
            return None
        if element.tag not in ("p", "div", "section", "article", "span") or len(text(element)) < 40:
            continue
        if _is_whole(element):
            return element
        return _first_text(iter(element), depth - 1) if depth else None
    return None


def _is_whole(element: Any) -> bool:
    """Return whether a text is one, without headings, tables and labels of its own."""
    return next(element.iter(*_HEADS, "table", "dl", "form"), None) is None and not _has_labels([element])


def _content(element: Any) -> str:
    """Return what a ``<meta>`` says, a short text without the marks about it."""
    written = element.get("content") or ""
    return bare(written) if len(written) <= _LONGEST_PART else tidy(written)


# The title


_SEPARATORS = ("|", "·", "»", "«", "::", "–", "—", " - ", " : ")
_HIDDEN = re.compile(
    r"(?:^|[\s_-])(?:off-?screen|hidden|hide|sr-only|screen-reader|accessib)|visuallyhidden", re.IGNORECASE
)
_SLUG = 12  # letters of a title that an address has
_LIKELY = 1.25
_BANNER = re.compile(r"(?:^|\s)(?:site-?)?(?:header|masthead|banner|logo|branding)(?:$|\s)", re.IGNORECASE)
_NAMED = "h1, h2, [itemprop='name'], [id*='title' i], [class~='title']"


class Headings:
    """The headings of a page, and what speaks for one of them as the title of the dataset.

    Args:
        is_of_file: whether an element is about a file.
    """

    def __init__(self, sample: Sample, is_of_file: Callable[[Any], bool] | None = None) -> None:
        self.sample = sample
        self._is_of_file = is_of_file
        self.written = next((text(each) for each in sample.css("title")), "")
        self.shared = next(filter(None, (_content(each) for each in sample.css("meta[property='og:title']"))), "")
        self.site = {normal(_content(each)) for each in sample.css("meta[property='og:site_name']")} - {""}
        parts, host = _parts(self.written), urlsplit(sample.address).netloc
        self.site |= {normal(parts[-1])} if len(parts) > 1 else set()
        self.site |= {host, host.removeprefix("www.")}
        self.menu = {
            normal(text(each))
            for each in sample.css("nav a, header a, [class*='nav'] a, [class*='breadcrumb'] a")[:_MOST]
        }
        links = (sample.page.absolute(each.get("href")) for each in sample.css("a[href]")[: 4 * _MOST])
        self.addresses = [_letters("".join(urlsplit(each)[2:4])) for each in (sample.address, *filter(None, links))]

    @cached_property
    def ranked(self) -> list[tuple[float, Any]]:
        """The headings that may be the title, the likeliest first."""
        return sorted(((self._weight(each), each) for each in islice(self._headings(), 60)), key=lambda item: -item[0])

    @property
    def likely(self) -> list[Place]:
        return [Place(each, text(each)) for weight, each in self.ranked if weight > _LIKELY]

    @property
    def unlikely(self) -> list[Place]:
        """What the head says, and the other headings: first the only one, if the page does not show the former."""
        head = [
            *self._of_head("meta[property='og:title']", "content", self.shared),
            *self._of_head("title", None, self.written),
        ]
        rest = [Place(each, text(each)) for weight, each in self.ranked if 0 < weight <= _LIKELY]
        part = next(iter(_parts(self.written)), "")
        is_shown = bool(part) and any(part in text(each) for each in self.sample.css("body")[:1])
        is_alone = len(rest) == 1 and not self.shared and not is_shown
        return [*rest, *head] if is_alone else [*head, *rest]

    @cached_property
    def begins(self) -> list[tuple[Any, str]]:
        """How the texts of the page begin."""
        texts = islice(self.sample.texts.items(), 40 * _MOST)
        return [(element, normal(shown[:200])) for element, shown in texts if len(shown) > 6]

    def _headings(self) -> Iterator[Any]:
        """Yield the headings outside of menus, and elements that the page's head names."""
        names = [part for title in (self.written, self.shared) for part in _beginnings(title)]
        named = [place.element for part in names[:6] for place in equal_places(self.sample, part) if place.attr is None]
        for element in dict.fromkeys([*self.sample.css(_NAMED)[:_MOST], *named]):
            shown = text(element)
            if (
                element.tag in ("html", "head", "title", "a", "option")
                or not _SHORTEST <= len(shown) <= LONGEST["title"]
            ):
                continue
            if key(shown) in fields() or is_outside(element) or (self._is_of_file and self._is_of_file(element)):
                continue
            yield element

    def _weight(self, element: Any) -> float:
        shown = normal(text(element))
        titles = [normal(each) for each in (self.written, self.shared) if each]
        weight: float = (element.tag == "h1") + 0.5 * (element.tag == "h2") + (element.get("itemprop") == "name")
        if any(each.startswith(shown) for each in titles):
            weight += 3 + len(shown) / max(map(len, titles))
        else:
            parts = [normal(part) for each in (self.written, self.shared) for part in _parts(each)]
            near_ = (part in shown or fuzz.ratio(part, shown) >= 85 for part in parts if len(part) >= _SLUG)
            weight += 2 * any(near_)
        above = {element, *element.iterancestors()}
        begun = (other for other, said in self.begins if len(said) > len(shown) + 3 and said.startswith(shown))
        weight += len(shown) >= 6 and any(other not in above for other in begun)
        slug = _letters(shown)
        if len(slug) >= _SLUG and any(slug[:24] in each for each in self.addresses):
            weight += 2
        near = (element, *islice(element.iterancestors(), 3))
        weight -= 3 * (shown in self.site) + 2 * (shown in self.menu)
        weight -= 3 * any(_HIDDEN.search(f"{each.get('class') or ''} {each.get('id') or ''}") for each in near)
        weight -= 2.5 * any(_BANNER.search(f"{each.get('class') or ''} {each.get('id') or ''}") for each in above)
        return weight - 2 * _is_beside(element)

    def _of_head(self, css: str, attr: str | None, written: str) -> Iterator[Place]:
        part = next(iter(_parts(written)), "")
        for element in self.sample.css(css)[:1]:
            if len(part) >= _SHORTEST and normal(part) not in self.site | self.menu:
                yield Place(element, part, attr)


def _parts(written: str) -> list[str]:
    """Return the parts of a page's title, split at the first separator that it has.

    >>> _parts("Rivers - 2020 | Town"), _parts("Rivers - Town"), _parts("E-mail")
    (['Rivers - 2020', 'Town'], ['Rivers', 'Town'], ['E-mail'])
    """
    for separator in _SEPARATORS:
        parts = [part.strip() for part in written.split(separator)]
        if len(parts) > 1 and len(parts[0]) >= _SHORTEST:
            return [part for part in parts if part]
    return [written.strip()] if written.strip() else []


def _beginnings(written: str) -> list[str]:
    """
    >>> _beginnings("Rivers - 2020 - Town")
    ['Rivers', 'Rivers - 2020', 'Rivers - 2020 - Town']
    """
    separator = next((each for each in _SEPARATORS if each in written), None)
    if separator is None:
        return [written] if written else []
    parts = written.split(separator)
    return [separator.join(parts[:number]).strip() for number in range(1, min(len(parts), 5) + 1)]


def _letters(words: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", unquote(words[-400:]).casefold())))
