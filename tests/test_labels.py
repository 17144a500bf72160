"""Labels on pages: where they stand, what stands at them, and which field they are the label of."""

from __future__ import annotations

from time import process_time

import pytest

from crawlers.kinds.html.mapping import Page, confidence, document
from crawlers.kinds.html.mapping.document import Search
from crawlers.kinds.html.mapping.labels import labels, text_of
from crawlers.kinds.html.mapping.vocabulary import alike, equality, fields, key, synonyms, words
from crawlers.kinds.html.rules import Rule, loads

URL = "https://example.org/d/1"
LICENSE = Rule(name="license", by_label=True)
KEYWORDS = Rule(name="keywords", by_label=True, many=True)


def found(html: str) -> list[tuple[str, list[str]]]:
    return [(one.text, [text_of(value) for value in one.values]) for one in labels(Page(html, URL))]


def marked(html: str) -> list[tuple[str, list[str]]]:
    page = Page(html, URL)
    return [(one.text, [text_of(value) for value in one.values]) for one in labels(page) if one.is_marked]


def value(html: str, rule: Rule = LICENSE, *others: Rule) -> list[str]:
    given = Search(Page(html, URL), (rule, *others)).find(rule).values
    return [text_of(one) if isinstance(one, list) else one for one in given]


def likeness(label: str, rule: Rule) -> float:
    return equality(key(label), rule) or alike(key(label), rule)


LAYOUTS = {
    "dl": ("<dl><dt>Lizenz</dt><dd>CC BY</dd><dt>Titel</dt><dd>Pegel</dd></dl>", "CC BY"),
    "dl without end tags": ("<dl><dt>Titel<dd>Pegel<dt>Lizenz<dd>CC BY<dt>Turnus<dd>täglich</dl>", "CC BY"),
    "dl in groups": (
        "<dl><div><dt>Lizenz</dt><dd>CC BY</dd></div><div><dt>Titel</dt><dd>Pegel</dd></div></dl>",
        "CC BY",
    ),
    "dl, two dt": ("<dl><dt>Lizenz</dt><dt>Nutzung</dt><dd>CC BY</dd></dl>", "CC BY"),
    "th and td": ("<table><tr><th>Titel<td>Pegel<tr><th>Lizenz<td>CC BY</table>", "CC BY"),
    "th and td, twice": ("<table><tr><th>Titel<td>Pegel<th>Lizenz<td>CC BY</table>", "CC BY"),
    "td and td": ("<table><tr><td>Titel<td>Pegel<tr><td>Lizenz<td>CC BY</table>", "CC BY"),
    "td and td, twice": ("<table><tr><td>Titel<td>Pegel<td>Lizenz<td>CC BY</table>", "CC BY"),
    "a colon of its own": ("<table><tr><td>Lizenz<td>:<td>CC BY</table>", "CC BY"),
    "bold in td": ("<table><tr><td><b>Lizenz:</b></td><td>CC BY</td></tr></table>", "CC BY"),
    "column": ("<table><tr><th>Titel<th>Lizenz<tr><td>Pegel<td>CC BY</table>", "CC BY"),
    "column, thead": (
        "<table><thead><tr><td>Titel<td colspan=2>x<td>Lizenz<tbody><tr><td>P<td>a<td>b<td>CC BY</table>",
        "CC BY",
    ),
    "column, wide cells": ("<table><tr><th>Titel<th>Von<th>Lizenz<tr><td colspan=2>x<td>CC BY</table>", "CC BY"),
    "row above row": ("<table><tr><td><b>Lizenz</b></td></tr><tr><td>CC BY</td></tr></table>", "CC BY"),
    "table in table": (
        "<table><tr><td>Titel<td>Pegel<tr><td colspan=2><table><tr><td>Lizenz<td>CC BY</table></table>",
        "CC BY",
    ),
    "b": ("<p><b>Titel:</b> Pegel <b>Lizenz:</b> CC BY <b>Turnus:</b> täglich</p>", "CC BY"),
    "b, colon outside": ("<p><b>Titel</b>: Pegel<br><b>Lizenz</b>: CC BY<br><b>Turnus</b>: täglich</p>", "CC BY"),
    "b, value on the next line": ("<p><b>Lizenz:</b><br>CC BY<br><b>Turnus:</b><br>täglich</p>", "CC BY"),
    "b, value is bold": ("<p><b>Lizenz:</b> <b>CC BY</b></p>", "CC BY"),
    "strong without colon": ("<li><strong>Lizenz</strong> CC BY</li><li><strong>Titel</strong> Pegel</li>", "CC BY"),
    "strong in one line": ("<p><strong>Lizenz</strong> CC BY <strong>Titel</strong> Pegel</p>", "CC BY"),
    "span.label": ("<p><span class=label>Lizenz</span> <span class=value>CC BY</span></p>", "CC BY"),
    "spans with colon": ("<p><span>Lizenz:</span><span>CC BY</span><span>Titel:</span><span>P</span></p>", "CC BY"),
    "label": ("<div><label>Lizenz</label><span>CC BY</span></div>", "CC BY"),
    "one text, li": ("<ul><li>Titel: Pegel<li>Lizenz: CC BY</ul>", "CC BY"),
    "one text, p": ("<p>Lizenz: CC BY</p>", "CC BY"),
    "one text, br": ("<div>Titel: Pegel<br>Lizenz: CC BY<br>Turnus: täglich</div>", "CC BY"),
    "one text, bars": ("<p>Titel: Pegel | Lizenz: CC BY | Turnus: täglich</p>", "CC BY"),
    "one text, a link": ("<p>Lizenz: <a href=/by>CC <i>BY</i></a><br>Titel: Pegel</p>", "CC BY"),
    "h3 and p": ("<h3>Titel</h3><p>Pegel</p><h3>Lizenz</h3><p>CC BY</p><h3>Turnus</h3><p>täglich</p>", "CC BY"),
    "div above div": ("<div class=row><div>Lizenz</div><div>CC BY</div></div>", "CC BY"),
    "columns of a grid": ("<div class=row><div><span>Lizenz</span></div><div><p>CC BY</p></div></div>", "CC BY"),
    "div.label": ("<div class=meta-label>Lizenz</div><div class=meta-value>CC BY</div>", "CC BY"),
    "p above p": ("<p><strong>Lizenz</strong></p><p>CC BY</p>", "CC BY"),
    "Drupal": (
        "<div class=field-label>Lizenz:&nbsp;</div><div class=field-items><div class='field-item a'>CC BY</div></div>",
        "CC BY",
    ),
    "1990s": ("<font size=2><b>Titel</b><br>Pegel<br><b>Lizenz</b><br>CC BY<br></font>", "CC BY"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout(layout: str) -> None:
    html, expected = LAYOUTS[layout]
    assert value(html)[:1] == [expected]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rules_see_the_labels_that_there_are(layout: str) -> None:
    """The quick search for the words of rules and the list of all labels agree."""
    html, _ = LAYOUTS[layout]
    rules = tuple(Rule(name=name, by_label=True) for name in ("license", "title", "frequency"))
    search = Search(Page(html, URL), rules)
    quick = {(one.key, *map(text_of, one.values)) for labels in search._equal.values() for one in labels}
    every = {(one.key, *map(text_of, one.values)) for one in labels(Page(html, URL))}
    words = frozenset().union(*(synonyms(rule.name) for rule in rules))
    assert {one for one in quick if one[0] in words and len(one) > 1} == {one for one in every if one[0] in words}


SPELLINGS = (
    *(
        "Lizenz",
        "LIZENZ",
        "lizenz:",
        "Lizenz :",
        " Lizenz\n",
        "Lizenz&nbsp;:",
        "Li&shy;zenz",
        "Lizenz&#8203;",
        "*Lizenz",
    ),
    *("Lizenz*", "Lizenz?", "<u>L</u>izenz", "Li<b>zen</b>z", "<span>Lizenz</span>", "<i></i> Lizenz", "1. Lizenz"),
    *(
        "Licencia",
        "licença",
        "Licenza",
        "Лицензия",
        "Άδεια",
        "ライセンス",
        "许可证：",
        "الترخيص",
        "Lisans",
        "Lizenz：",
        "LİSANS",
    ),
)


@pytest.mark.parametrize("frame", ["<dl><dt>{}</dt><dd>CC BY</dd></dl>", "<p><b>{}</b> CC BY</p>"])
def test_spelling_and_markup_do_not_get_in_the_way(frame: str) -> None:
    assert [spelling for spelling in SPELLINGS if value(frame.format(spelling)) != ["CC BY"]] == []


def test_a_label_broken_by_br() -> None:
    rule = Rule(name="issued", labels=("Datum der Veröffentlichung",), by_label=True)
    assert value("<dl><dt>Datum der<br>Veröffent&shy;lichung:</dt><dd>2020</dd></dl>", rule) == ["2020"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<dl><dt>Tags<dd>a<dd>b, c<dt>Titel<dd>d</dl>", ["a", "b, c"]),
        ("<dl><dt>Tags<dd>a<dt>Tags<dd>b</dl><aside><dl><dt>Tags<dd>x</dl></aside>", ["a", "b"]),
        ("<table><tr><th rowspan=2>Tags<td>a<tr><td>b<tr><th>Titel<td>d</table>", ["a", "b"]),
        ("<table><tr><th>Tags<th>Titel<tr><td>a<td>x<tr><td>b<td>y</table>", ["a", "b"]),
        (
            "<div class=label>Tags</div><div class=x><div class=field-item>a</div><div class=field-item>b</div></div>",
            ["a", "b"],
        ),
    ],
    ids=["dd", "dt again", "rowspan", "column", "Drupal"],
)
def test_several_values(html: str, expected: list[str]) -> None:
    assert value(html, KEYWORDS) == expected


def test_every_label_of_a_page_in_order() -> None:
    html = "<h3>Kontakt</h3><p>Jane</p><dl><dt>Lizenz<dd>CC BY</dl><p>Stand: 2020</p>"
    assert marked(html) == [
        ("Kontakt", ["Jane", "Lizenz CC BY", "Stand: 2020"]),
        ("Lizenz", ["CC BY"]),
        ("Stand", ["2020"]),
    ]


def test_what_has_no_value_is_no_label() -> None:
    assert not found("<dl><dt>Lizenz</dt></dl><p>Lizenz:</p>")
    assert not found("<script>Lizenz: x</script><style>Lizenz: y</style><template><b>Lizenz</b> z</template>")
    assert value("<form><label>Lizenz</label></form><dl><dt>Lizenz<dd>CC BY</dl>") == ["CC BY"]


def test_times_and_addresses_are_no_labels() -> None:
    assert not found("<p>12:30 https://example.org dct:title</p>")


def test_what_stands_aside_goes_last() -> None:
    html = "<nav><dl><dt>Lizenz<dd>all</dl></nav><p>Lizenz: CC BY</p><footer><dl><dt>Lizenz<dd>CC0</dl></footer>"
    assert value(html) == ["CC BY"]


def test_the_best_match_wins_over_the_first() -> None:
    rule = Rule(name="publisher", labels=("Anbieter",), by_label=True)
    assert value("<dl><dt>Anbietern<dd>x<dt>Anbieter<dd>Amt</dl>", rule) == ["Amt"]
    assert value("<dl><dt>Anbietern<dd>x<dt>Titel<dd>Amt</dl>", rule) == ["x"]


def test_the_rules_own_word_wins_over_a_synonym() -> None:
    rule = Rule(name="publisher", labels=("Anbieter", "Amt"), by_label=True)
    assert value("<dl><dt>Herausgeber<dd>x<dt>Amt<dd>y</dl>", rule) == ["y"]
    assert value("<dl><dt>Herausgeber<dd>x<dt>Titel<dd>y</dl>", rule) == ["x"]


def test_what_another_rule_names_is_no_misspelling_of_this_one() -> None:
    rules = [Rule(name=name, labels=(name,), by_label=True) for name in ("colours", "colour")]
    html = "<dl><dt>Colour<dd>red</dl>"
    assert value(html, *rules) == []
    assert value(html, rules[0]) == ["red"]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("creator", "Author e-mail"),
        ("creator", "Authority"),
        ("publisher", "Published"),
        ("issued", "Publisher"),
        ("title", "Titles of use"),
        ("license", "Licensor of data"),
        ("themes", "Tema de la licencia"),
        ("modified", "Created"),
        ("size", "Site"),
    ],
)
def test_what_is_not_the_label(field: str, wrong: str) -> None:
    assert likeness(wrong, Rule(name=field, by_label=True, threshold=88.0)) == 0.0


def test_a_word_for_another_field_is_no_misspelling() -> None:
    rule = Rule(name="publisher", labels=("Publishes",), by_label=True, threshold=60.0)
    assert likeness("Published", rule) == 0.0
    assert likeness("Publishez", rule) == pytest.approx(8 / 9, abs=0.01)


def test_a_label_that_another_rule_names_is_taken() -> None:
    rules = Rule(name="creator", labels=("Herausgeber",), by_label=True), Rule(name="publisher", by_label=True)
    html = "<dl><dt>Herausgeber<dd>Amt</dl>"
    assert value(html, rules[0], rules[1]) == ["Amt"]
    assert value(html, rules[1], rules[0]) == []
    assert value(html, rules[1]) == ["Amt"]


def test_two_rules_may_name_one_label() -> None:
    rules = [Rule(name=name, labels=("Kontakt",), by_label=True) for name in ("contact", "contact_email")]
    assert [value("<p><b>Kontakt:</b> Jane</p>", *order) for order in (rules, rules[::-1])] == [["Jane"], ["Jane"]]


def test_a_field_that_nobody_knows_is_its_own_label() -> None:
    assert value("<p>Colour: red</p>", Rule(name="colour", by_label=True)) == ["red"]


LANGUAGES = (
    "en de fr es it pt ca gl eu nl da sv nb fi pl cs sk hu ro bg el hr sl et lv lt ga mt is uk ru tr ar zh ja".split()
)
COMMON = (
    "title",
    "description",
    "issued",
    "modified",
    "publisher",
    "keywords",
    "themes",
    "license",
    "format",
    "languages",
)


@pytest.mark.parametrize("field", COMMON)
def test_synonyms_are_there_in_every_language(field: str) -> None:
    given = {language for language, by_field in words().items() if field in by_field}
    assert given >= set(LANGUAGES)


def test_synonyms_of_each_field() -> None:
    few = {"publisher_email", "media_type", "conforms_to", "rights"}
    languages = {field: sum(field in by_field for by_field in words().values()) for field in words()["en"]}
    assert min(count for field, count in languages.items() if field not in few) >= 20, languages


def test_a_word_is_of_one_field() -> None:
    """In one language a word that stands for two fields would be taken for either."""
    for by_field in words().values():
        keys = [word for listed in by_field.values() for word in {key(word) for word in listed}]
        assert not [word for word in keys if keys.count(word) > 1]


def test_words_that_differ_by_language_are_of_every_field_they_stand_for() -> None:
    assert fields()["licence"] == ("license",)
    assert all(word == key(word) for word in fields())


@pytest.mark.slow
@pytest.mark.parametrize(
    "html",
    [
        "<dl>" + "<dt>Lizenz</dt>" * 30_000 + "</dl>",
        "<dl>" + "<dt>Lizenz<dd></dd>" * 30_000 + "</dl>",
        "<p>" + "<b>Lizenz:</b>" * 15_000 + "<i></i>" * 15_000,
        "<table><tr>" + "<th>Lizenz</th>" * 30_000,
        "<table>" + "<tr><td>Lizenz</td><td></td></tr>" * 15_000,
        "<table><tr><td>Lizenz</td><td>" * 6_000,
        "<div>" * 30_000 + "Lizenz: x",
        "<br>Lizenz: " * 15_000,
        "Lizenz: x|" * 15_000,
        "<h2>Lizenz</h2>" * 15_000,
        "<table><tr><th colspan=99999999999 rowspan=-1>Lizenz<th>x<tr><td>",
    ],
    ids=["dt", "dd", "b", "th", "tr", "nested tables", "nested divs", "br", "bars", "h2", "spans"],
)
def test_hostile_pages_take_bounded_time(html: str) -> None:
    page = Page(html, URL)
    start = process_time()
    Search(page, (LICENSE, KEYWORDS)).find(LICENSE)
    labels(page)
    assert process_time() - start < 10


EMPTY = {
    "dl": "<dl><dt>Lizenz</dt><dd></dd><dt>Amt</dt><dd>A</dd></dl>",
    "dl in groups": "<dl><div><dt>Lizenz</dt><dd></dd></div><div><dt>Amt</dt><dd>A</dd></div></dl>",
    "grid": "<div class=row><div>Lizenz</div><div></div></div><div class=row><div>Amt</div><div>A</div></div>",
    "grid, no place": "<div class=row><div>Lizenz</div></div><div class=row><div>Amt</div><div>A</div></div>",
    "flat grid": "<div><div>Lizenz</div><div></div><div>Amt</div><div>A</div></div>",
    "classes": "<div><div class=k>Lizenz</div><div class=v></div><div class=k>Amt</div><div class=v>A</div></div>",
    "Drupal": (
        "<div class='field field-label-inline'><div class=field-label>Lizenz:</div><div class=field-items></div></div>"
        "<div class='field field-label-inline'><div class=field-label>Amt:</div><div class=field-items>A</div></div>"
    ),
    "td and td": "<table><tr><td>Lizenz</td><td></td></tr><tr><td>Amt</td><td>A</td></tr></table>",
    "td and a dash": "<table><tr><td>Lizenz</td><td>-</td></tr><tr><td>Amt</td><td>A</td></tr></table>",
    "td and td, twice": "<table><tr><td>Lizenz<td><td>Amt<td>A<tr><td>Titel<td>P</table>",
    "th and td": "<table><tr><th>Lizenz</th><td></td></tr><tr><td>Amt</td><td>A</td></tr></table>",
    "bold": "<p><b>Lizenz:</b></p><p><b>Amt:</b> A</p>",
    "bold, colon outside": "<p><b>Lizenz</b>: <br><b>Amt</b>: A<br></p>",
    "bold, no colon": "<p><b>Lizenz</b> <br><b>Amt</b> A<br></p>",
    "one text": "<p>Lizenz:</p><p>Titel: A</p>",
    "one text, br": "<p>Lizenz: <br>Titel: A</p>",
    "spans": "<p><span>Lizenz</span><span></span></p><p><span>Amt</span><span>A</span></p>",
    "span.label": "<p><span class=label>Lizenz</span><span></span></p><p><span class=label>Amt</span> A</p>",
    "label": "<div><label>Lizenz</label></div><div><label>Amt</label><span>A</span></div>",
    "h3": "<div><h3>Lizenz</h3><p></p></div><div><h3>Amt</h3><p>A</p></div>",
    "1990s": "<font><b>Lizenz</b><br><br><b>Amt</b><br>A<br></font>",
}


@pytest.mark.parametrize("layout", EMPTY)
def test_a_label_with_nothing_beside_it_takes_no_other_value(layout: str) -> None:
    assert value(EMPTY[layout]) == []


@pytest.mark.parametrize(
    "html",
    [
        "<h3><span>Lizenz</span><i class=arrow></i></h3><p>CC BY</p>",
        "<div class=label><span>Lizenz</span><span class=tooltip></span></div><div>CC BY</div>",
        "<div class=label>Lizenz</div><div class=clear></div><div>CC BY</div>",
        "<p><b>Lizenz</b></p><p></p><p><b>CC</b> BY</p>",
        "<div class=row><div>Lizenz</div></div><div class=row><div>CC BY</div></div>",
        "<table><tr><td>&nbsp;<td>Lizenz<td>CC BY</table>",
        "<table><tr><td>1<td>Lizenz<td>CC BY<tr><td>2<td>Amt<td>A</table>",
        "<dl><dt>Lizenz<div class=help>Was man darf</div></dt><dd>CC BY</dd></dl>",
        "<h2><button>Lizenz</button></h2><div><p>CC BY</p></div>",
        "<p><span>Lizenz <time>CC BY</time></span></p>",
    ],
)
def test_what_stands_between_a_label_and_its_value(html: str) -> None:
    assert value(html) == ["CC BY"]


@pytest.mark.parametrize(
    "html",
    ["<p><span class=l>Lizenz</span><span><a href=/by><img></a></span></p>", "<p><b>Lizenz:</b> <img src=by></p>"],
)
def test_a_picture_is_a_value(html: str) -> None:
    assert len(Search(Page(html, URL), (LICENSE,)).find(LICENSE).values) == 1


@pytest.mark.parametrize(
    ("part", "sure"),
    [
        ("<div id=footer>{}</div>", 0.475),
        ("<div class='x related-datasets'>{}</div>", 0.475),
        ("<div role=contentinfo>{}</div>", 0.475),
        ("<div class=comments>{}</div>", 0.475),
        ("<nav>{}</nav>", 0.475),
        ("<ul class=breadcrumb>{}</ul>", 0.475),
        ("<header>{}</header>", 0.475),
        ("<div role=banner>{}</div>", 0.475),
        ("<div id=header>{}</div>", 0.475),
        ("<header><h1>T</h1>{}</header>", 0.95),
        ("<main><header>{}</header></main>", 0.95),
        ("<div class=header>{}</div>", 0.95),
        ("<aside>{}</aside>", 0.855),
        ("<div class=sidebar>{}</div>", 0.855),
        ("<div class=has-sidebar>{}</div>", 0.95),
        ("<div class=sidebar><h1>T</h1>{}</div>", 0.95),
    ],
)
def test_a_label_beside_the_dataset_is_less_sure(part: str, sure: float) -> None:
    html = f"<body class='sidebar-first'>{part.format('<p>Lizenz: CC0</p>')}{{}}"
    found = Search(Page(html.format(""), URL), (LICENSE,)).find(LICENSE)
    assert found.confidence == pytest.approx(sure)
    if sure < confidence.SYNONYM:
        assert value(html.format("<div>Lizenz: MIT</div>")) == ["MIT"]


def test_a_label_of_the_main_part_that_is_empty_leaves_the_field_empty() -> None:
    outside = "<header><p>Lizenz: all</p></header><footer><p>Lizenz: CC0</p><p>Nutzungsbedingungen: MIT</p></footer>"
    empty = "<dl><dt>Lizenz<dd><dt>Titel<dd>Pegel</dl>"
    assert value(empty + outside) == []
    assert value(outside) == ["all"], "the document keeps it, with its confidence"
    assert value(f"<dl><dt>Lizenz<dd><dt>Nutzungsbedingungen<dd>GPL</dl>{outside}") == ["GPL"], "by another word"


def test_a_label_with_a_date_goes_before_one_without() -> None:
    html = "<html lang=es><dl><dt>Actualización<dd>Anual<dt>Última actualización<dd>12/03/2020</dl>{}"
    rule = Rule(name="modified", by_label=True, date="auto")
    assert value(html, rule) == ["12/03/2020"]
    assert value("<p>Updated: yearly</p><footer>Updated: 2020-03-12</footer>", rule) == ["yearly"]


@pytest.mark.parametrize(
    ("field", "label", "sure"),
    [
        ("contact", "Contracts", 0),
        ("creator", "Autorità", 0),
        ("modified", "Last updated by", 0),
        ("publisher", "Herausgabe", 0),
        ("description", "Votes", 0),
        ("license", "Lizens", 0.83),
        ("creator", "Auhtor", 0.91),
        ("modified", "Last udpated", 0.92),
        ("publisher", "Herausgebr", 0.94),
    ],
)
def test_slips_and_other_words(field: str, label: str, sure: float) -> None:
    assert likeness(label, Rule(name=field, by_label=True)) == pytest.approx(sure, abs=0.01)


@pytest.mark.slow
def test_files_in_one_another_take_bounded_time() -> None:
    rules = loads(
        "start = 'https://example.org/'\n[links]\ncss = 'a'\n[fields]\ntitle = 'h1'\n"
        "[resources]\ncss = 'div'\ntitle = {label = true}\nformat = {label = true}\n"
    )
    start = process_time()
    found = document(Page("<div><b>Format:</b> CSV <a href=x>x</a>" * 500, URL), rules)
    assert found["flaws"][-1].startswith("the files' elements are in one another")
    assert process_time() - start < 10
