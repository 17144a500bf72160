"""HTML pages by their rules into documents, and those into items."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from time import process_time
from typing import Any

import pytest

from crawlers.exceptions import RulesError
from crawlers.items import Agent, Dataset, License, Period, Place
from crawlers.kinds.html.mapping import Page, dataset, document, missing
from crawlers.kinds.html.mapping.dates import date, period
from crawlers.kinds.html.mapping.item import size
from crawlers.kinds.html.rules import loads
from crawlers.records.html_page import LONGEST, text

URL = "https://example.org/d/1"
HEAD = 'start = "https://example.org/"\n[links]\ncss = "a"\n'
FULL = """<html lang="de"><head><title>x</title></head><body>
<h1>Pegel der <i>Elbe</i></h1><div id="about"><p>Alle <b>Pegel</b>.</p><p>Siehe <a href="../hilfe">Hilfe</a>.</p></div>
<dl><dt>Kennung<dd>w-17<dt>Lizenz:<dd><a href="https://creativecommons.org/licenses/by/4.0/">Namensnennung</a>
<dt>Herausgeber<dd><a href="https://amt.example.org/">Wasseramt</a><dt>Autor<dd>Jane Doe
<dt>Schlagwörter<dd><a href="/t/1">Wasser</a>, <a href="/t/2">Pegel, Flut</a><dt>Kategorie<dd>Umwelt<dd>Verkehr
<dt>Veröffentlicht am<dd>12. März 2019<dt>Letzte Aktualisierung<dd>03.04.2020<dt>Turnus<dd>jährlich
<dt>Zeitraum<dd>2010 bis 2015<dt>Raumbezug<dd>Sachsen<dt>Sprache<dd>Deutsch<dt>Version<dd>1.2</dl>
<p>Kontakt: <a href="mailto:jane@example.org?subject=x">Jane</a></p>
<ul class="files"><li><a href="/f/a.csv">Tabelle</a> <span>1.234 Bytes</span></li>
<li><a href="/f/b.pdf">Bericht</a> <span>2,3 MB</span></li><li>auf Anfrage</li></ul></body></html>"""
RULES = """[fields]
title = "h1"
description = { css = "#about", html = true }
identifier = { label = true }
license = { label = true }
publisher = { label = "Herausgeber" }
creator = { label = true }
contact = { label = true }
keywords = { label = true }
themes = { label = true }
issued = { label = true, date = true }
modified = { label = true }
frequency = { label = "Turnus" }
temporal = { label = true }
spatial = { label = true }
languages = { label = true }
version = { label = true }
[resources]
css = "ul.files li"
size = "span"
"""


def drawn(html: str, rules: str, url: str = URL) -> dict[str, Any]:
    found = document(Page(html, url), loads(HEAD + rules))
    assert json.loads(json.dumps(found)) == found
    return found


def field(html: str, rule: str, name: str = "title") -> Any:
    return drawn(html, f"structured = false\n[fields]\n{name} = {rule}\n".replace("structured = false\n", ""))[
        "fields"
    ].get(name)


def given(html: str, rule: str, name: str = "title") -> Any:
    found = field(html, rule, name)
    return found and found["value"]


def item(found: dict[str, Any]) -> Dataset:
    return dataset(found, source="example", id="1")


def fields(**named: Any) -> dict[str, Any]:
    entries = {name: value if isinstance(value, dict) else {"value": value} for name, value in named.items()}
    return {"url": URL, "language": None, "fields": {"title": {"value": "t"}} | entries, "extras": {}, "resources": []}


def test_what_is_not_specified_is_absent_and_no_flaw() -> None:
    said = {"issued": "Keine Angabe", "publisher": "nije navedeno", "license": "не вказано"}
    found = item(fields(**said, version="N/A", keywords=["none"], modified="k.A.", maintainer_email="ikke oppgitt"))
    assert [getattr(found, name) for name in (*said, "version", "modified", "maintainer")] == [*([None] * 6)]
    assert (found.keywords, found.flaws) == (["none"], [])


@pytest.mark.parametrize(
    ("language", "name", "said", "is_kept"),
    [
        *((None, "publisher", said, True) for said in ("NEMA", "Brak", "Nil", "YOK")),
        ("hr", "publisher", "Nema", True),
        ("hr", "version", "Nema", False),
        ("hr-HR", "version", "nema", False),
        ("de", "version", "Nema", True),
        ("de", "version", "none", False),
        ("ca", "issued", "neuvedené", False),
        ("ca", "publisher", "keine Angabe", False),
    ],
)
def test_a_word_of_another_language_is_a_name(language: str | None, name: str, said: str, is_kept: bool) -> None:
    found = item(fields(**{name: said}) | {"language": language})
    assert (bool(getattr(found, name)), found.flaws) == (is_kept, [])


def test_places_in_several_forms() -> None:
    gml = "<gml:Point><gml:pos>1 2</gml:pos></gml:Point>"
    found = item(fields(spatial=["Sachsen", "1 2 3 4", gml, "http://sws.geonames.org/2842566/"]))
    assert [(place.name or place.uri, (place.geometry or {}).get("type")) for place in found.spatial] == [
        *(("Sachsen", None), (None, "Polygon"), (None, "Point"), ("http://sws.geonames.org/2842566/", None))
    ]
    assert found.flaws == []
    found = item(fields(spatial=["Sachsen", "POINT(500000 2)"]))
    assert ([place.name for place in found.spatial], found.flaws) == (
        *(["Sachsen"], ["spatial[1] 'POINT(500000 2)' is no place"]),
    )


# --- confidence


@pytest.mark.parametrize("tag", ["footer", "header", "nav"])
def test_what_stands_outside_the_main_part_stays_in_the_document(tag: str) -> None:
    rows = "License: CC BY 4.0<br>Issued: 2020-03-12<br>Contact: a@example.org<br>Time period: 2010-2015"
    rules = "[fields]\n" + "".join(
        f"{name} = {{ label = true }}\n" for name in ("license", "issued", "temporal", "contact")
    )
    found = drawn(f"<html lang=en><h1>T</h1><{tag}>{rows}</{tag}>", rules)
    assert {name: entry["confidence"] < 0.6 for name, entry in found["fields"].items()} == dict.fromkeys(
        ("license", "issued", "temporal", "contact"), True
    )
    made = item(found)
    assert (made.license, made.issued, made.temporal, made.contacts) == (None, None, None, [])
    assert made.flaws == ["the dataset has no title"]


def test_only_what_is_sure_enough_reaches_the_item() -> None:
    found = fields(license={"value": "MIT", "confidence": 0.59}, publisher={"value": "Amt", "confidence": 0.6})
    found["resources"] = [
        {"url": {"value": "https://example.org/a.csv"}, "title": {"value": "Terms", "confidence": 0.5}}
    ]
    made = item(found)
    assert (made.license, made.publisher and made.publisher.name) == (None, "Amt")
    assert (made.resources[0].title, made.resources[0].url) == (None, "https://example.org/a.csv")


def test_what_can_not_be_read_is_told_though_it_is_unsure() -> None:
    made = item(fields(issued={"value": "soon", "confidence": 0.47}, modified={"value": "never", "confidence": 0.24}))
    assert made.flaws == ["issued 'soon' is no date"]


# --- the document


def test_a_document() -> None:
    found = drawn(FULL, RULES)
    assert list(found) == ["url", "language", "fields", "extras", "resources"]
    assert (found["url"], found["language"]) == (URL, "de")
    assert found["fields"]["title"] == {"value": "Pegel der Elbe", "by": "css h1", "confidence": 1.0}
    assert found["fields"]["issued"] == {
        "value": "2019-03-12",
        "text": "12. März 2019",
        "by": "label issued",
        "label": "Veröffentlicht am",
        "confidence": 0.95,
    }
    assert found["fields"]["license"]["link"] == "https://creativecommons.org/licenses/by/4.0/"
    assert found["fields"]["keywords"]["value"] == ["Wasser", "Pegel, Flut"]
    assert found["fields"]["themes"]["value"] == ["Umwelt", "Verkehr"]
    assert [one["url"]["value"] for one in found["resources"]] == [
        f"https://example.org/f/{x}" for x in ("a.csv", "b.pdf")
    ]


def test_an_item() -> None:
    found = item(drawn(FULL, RULES))
    assert found == Dataset(
        source="example",
        id="1",
        identifier="w-17",
        title="Pegel der Elbe",
        description="Alle **Pegel**.\n\nSiehe [Hilfe](https://example.org/hilfe).",
        landing_page=URL,
        issued="2019-03-12",
        modified="2020-04-03",
        version="1.2",
        publisher=Agent(name="Wasseramt", url="https://amt.example.org/", role="publisher"),
        contacts=[
            Agent(name="Jane Doe", role="creator"),
            Agent(name="Jane", email="jane@example.org", role="contact"),
        ],
        creator=Agent(name="Jane Doe", role="creator"),
        keywords=["Wasser", "Pegel, Flut"],
        themes=["Umwelt", "Verkehr"],
        languages=["de"],
        license=License(id="CC-BY-4.0", uri="https://creativecommons.org/licenses/by/4.0/", title="Namensnennung"),
        frequency="ANNUAL",
        temporal=Period(start="2010", end="2015"),
        spatial=[Place(name="Sachsen")],
        resources=found.resources,
        metadata_source="html",
        document=found.document,
    )
    first, second = found.resources
    assert (first.title, first.format, first.size, first.dataset_id) == ("Tabelle", "CSV", 1234, "1")
    assert (second.title, second.format, second.size) == ("Bericht", "PDF", None)


@pytest.mark.parametrize(
    ("html", "rule", "expected"),
    [
        ("<p>a<p>b", '"p"', "a"),
        ("<p> <p>b", '"p"', "b"),
        ("<p>b", '{ xpath = "//p/text()" }', "b"),
        ("<p>b", '{ xpath = "count(//p)" }', "1"),
        ("<p>b", '{ xpath = "string(//p)" }', "b"),
        ("<p>b", '{ xpath = "boolean(//p)" }', "true"),
        ("<p>b", '{ xpath = "boolean(//i)" }', None),
        ("<p>b", '{ xpath = "//p | //i" }', "b"),
        ("<p>b", '{ constant = "c" }', "c"),
        ("<meta name=t content=' x '>", '{ css = "meta", attr = "content" }', "x"),
        ("<p><a title=x></a>", '{ css = "p", attr = "title" }', "x"),
        ("<p><a href='../e#f'>", '{ css = "a", attr = "href" }', "https://example.org/e"),
        ("<base href=/b/><a href=e>", '{ css = "a", attr = "href" }', "https://example.org/b/e"),
        ("<a href='javascript:x()'>", '{ css = "a", attr = "href" }', "javascript:x()"),
        ("<p>Version 2 of", '{ css = "p", regex = "Version ([0-9]+)" }', "2"),
        ("<p>Version 2 of", '{ css = "p", regex = "[0-9]+" }', "2"),
        ("<p>of", '{ css = "p", regex = "[0-9]+" }', None),
        ("<p>a | b", '{ css = "p", split = "|" }', "a"),
        ("<p href=a>b", '{ css = "p::text", attr = "href" }', None),
        ("<p title=a>b", '{ xpath = "//p/@title", attr = "title" }', "a"),
        ("<p>a; b;; a", '{ css = "p", split = ";", many = true }', ["a", "b"]),
        ("<p>a 1 b 2", '{ css = "p", regex = "[0-9]", many = true }', ["1", "2"]),
        ("<p>a<p>b", '{ css = "p", many = true }', ["a", "b"]),
        ("<ul><li>a<li>b</ul>", '{ css = "ul", many = true }', ["a", "b"]),
        ("<p><a>a</a>, <a>b</a>", '{ css = "p", many = true }', ["a", "b"]),
        ("<p><a>a</a> and <a>b</a>", '{ css = "p", many = true }', ["a and b"]),
        ("<p>a, b", '{ css = "p", many = true }', ["a, b"]),
        ("<p>a<b>b</b><br>c &amp; d", '{ css = "p", html = true }', "a<b>b</b><br>c &amp; d"),
        ("<p>12. März 2020", '{ css = "p", date = true }', "2020-03-12"),
        ("<p>03/04/2020", '{ css = "p", date = "mdy" }', "2020-03-04"),
        ("<p>soon", '{ css = "p", date = true }', "soon"),
        ("<p>x", '"h1"', None),
        ("", '"h1"', None),
        ("<h1>\x00a\ud800b", '"h1"', "a?b"),
    ],
)
def test_a_field(html: str, rule: str, expected: Any) -> None:
    assert given(html, rule) == expected


def test_the_text_of_an_element() -> None:
    html = "<p>a<b>b</b> c<br>d<!-- x -->e<script>x</script><style>x</style> f&nbsp;&shy;g<span> h</span></p>"
    assert text(Page(html, URL).root) == "ab c de f g h"


def test_a_dates_own_text_stays() -> None:
    assert field("<p>12. März 2020", '{ css = "p", date = true }')["text"] == "12. März 2020"
    assert "text" not in field("<p>2020-03-12", '{ css = "p", date = true }')


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href='https://creativecommons.org/licenses/by/4.0/'><img src=x alt='CC BY 4.0'></a>", "CC BY 4.0"),
        ("<a href='/terms'><img src=x></a>", "https://example.org/terms"),
        ("<a href='/terms'><img src=x alt='CC BY'> Terms</a>", "Terms"),
        ("<img src=x title='CC BY'>", "CC BY"),
    ],
)
def test_a_licence_that_is_a_picture(html: str, expected: str) -> None:
    assert given(f"<p>{html}", '"p"', "license") == expected
    assert given(f"<dl><dt>Lizenz<dd>{html}</dl>", '{ label = "Lizenz" }', "license") == expected


def test_a_picture_is_no_title() -> None:
    assert given("<p><img src=x alt=Logo>", '"p"') is None


def test_a_description_under_a_heading_is_all_of_it() -> None:
    html = "<h3>Beschreibung</h3><p>Eins</p><p>Zwei</p><h3>Titel</h3><p>a</p><p>b</p>"
    assert given(html, "{ label = true }", "description") == "Eins Zwei"
    assert given(html, "{ label = true }") == "a"


def test_extras_are_in_the_document_only() -> None:
    found = drawn("<h1>t</h1><p>Farbe: rot</p>", '[fields]\ntitle = "h1"\n[extras]\ncolour = { label = "Farbe" }\n')
    assert found["extras"]["colour"]["value"] == "rot"


def test_the_rules_language_goes_before_the_pages() -> None:
    html = '<html lang="en-US"><p>03/04/2020'
    rule = '[fields]\ntitle = { css = "p", date = true }\n'
    assert drawn(html, rule)["fields"]["title"]["value"] == "2020-03-04"
    found = document(Page(html, URL), loads(f'language = "en-GB"\n{HEAD}{rule}'))
    assert (found["language"], found["fields"]["title"]["value"]) == ("en-GB", "2020-04-03")


def test_a_label_within_a_resource() -> None:
    html = "<div><a href=a>A</a><p>Format: CSV</p></div><div><a href=b>B</a><p>Format: JSON</p></div>"
    found = drawn(html, '[resources]\ncss = "div"\nformat = { label = true }\n')
    assert [(one["title"]["value"], one["format"]["value"]) for one in found["resources"]] == [
        ("A", "CSV"),
        ("B", "JSON"),
    ]


def test_a_resource_without_a_link_is_none() -> None:
    assert drawn("<p><a href='mailto:x'>a</a><p>b", '[resources]\ncss = "p"\n')["resources"] == []


def test_session_ids_are_in_no_address() -> None:
    html = "<h1>t</h1><p>Lizenz: <a href='/l;jsessionid={0}'>x</a></p><i><a href='/f?PHPSESSID={0}&a=1'>f</a></i>"
    rules = '[fields]\ntitle = "h1"\nlicense = { label = true }\ndescription = { css = "i", html = true }\n'
    first, second = (drawn(html.format(id_), f'{rules}[resources]\ncss = "i"\n') for id_ in ("1A", "2B"))
    assert first == second
    assert first["resources"][0]["url"]["value"] == "https://example.org/f?a=1"


def test_an_xpath_that_cannot_be_evaluated() -> None:
    with pytest.raises(RulesError, match=r"nothing\(\)"):
        drawn("<p>x", '[fields]\ntitle = { xpath = "//p[nothing()]" }\n')


# --- confidence


@pytest.mark.parametrize(
    ("html", "rule", "expected"),
    [
        ("<h1>a", '{ constant = "c" }', 1.0),
        ("<h1>a", '"h1"', 1.0),
        ("<p id=a>a", '"#a"', 1.0),
        ("<p itemprop=name>a", '"[itemprop=name]"', 1.0),
        ("<p class=a>a", '"p.a"', 0.95),
        ("<p>a<p>b", '"p:nth-of-type(2)"', 0.85),
        ("<p class=a>a<p class=a>a", '"p.a"', 0.95),
        ("<p class=a>a<p class=a>b", '"p.a"', 0.76),
        ("<p class=a>a<p class=a>b", '{ css = "p.a", many = true }', 0.95),
        ("<p class=a>a | b", '{ css = "p.a", split = "|" }', 0.76),
        ("<p class=a>a |", '{ css = "p.a", split = "|" }', 0.95),
        ("<p>Titel: a", '{ label = "Titel" }', 1.0),
        ("<p>Titel: a", "{ label = true }", 0.95),
        ("<p>Titel: a", '{ label = "Title" }', 0.9),
        ("<p>Bezeichnung des Datensatz: a", '{ label = "Bezeichnung des Datensatzes" }', 0.94),
        ("<p>Titel: a<p>Titel: b", '{ label = "Titel" }', 0.8),
        ("<p>Titel: a<p>Titel: a", '{ label = "Titel" }', 1.0),
        ("<dl><dt>Titel<dd>a<dd>b</dl>", '{ label = "Titel" }', 0.8),
        ("<h1>2020", '{ css = "h1", date = true }', 1.0),
        ("<h1>soon", '{ css = "h1", date = true }', 0.5),
        (f"<h1>{'a' * (LONGEST + 1)}", '"h1"', 0.8),
    ],
)
def test_confidence(html: str, rule: str, expected: float) -> None:
    assert field(html, rule)["confidence"] == expected


def test_an_email_that_is_none_is_less_sure() -> None:
    assert field("<h1>Jane", '"h1"', "contact_email")["confidence"] == 0.5
    assert field("<h1>a@example.org", '"h1"', "contact_email")["confidence"] == 1.0


# --- dates


@pytest.mark.parametrize(
    ("written", "language", "expected"),
    [
        ("12. März 2020", "de", "2020-03-12"),
        ("12. Mär. 2020", "de", "2020-03-12"),
        ("Donnerstag, 12. März 2020", "de", "2020-03-12"),
        ("le 3 avril 2019", "fr", "2019-04-03"),
        ("1er août 2021", "fr", "2021-08-01"),
        ("3 de abril de 2019", "es", "2019-04-03"),
        ("3 de març del 2019", "ca", "2019-03-03"),
        ("3 d'abril de 2019", "ca", "2019-04-03"),
        ("3 de marzo de 2020", "gl", "2020-03-03"),
        ("2020ko martxoaren 12a", "eu", "2020-03-12"),
        ("12 marzo 2020", "it", "2020-03-12"),
        ("12 de março de 2020", "pt", "2020-03-12"),
        ("12 maart 2020", "nl", "2020-03-12"),
        ("12. marts 2020", "da", "2020-03-12"),
        ("12 mars 2020", "sv", "2020-03-12"),
        ("12. oktober 2020", "nb", "2020-10-12"),
        ("12. maaliskuuta 2020", "fi", "2020-03-12"),
        ("12 marca 2020 r.", "pl", "2020-03-12"),
        ("3 listopada 2020", "pl", "2020-11-03"),
        ("12. března 2020", "cs", "2020-03-12"),
        ("12. marca 2020", "sk", "2020-03-12"),
        ("2020. március 12.", "hu", "2020-03-12"),
        ("12 martie 2020", "ro", "2020-03-12"),
        ("12 март 2020 г.", "bg", "2020-03-12"),
        ("12 Μαρτίου 2020", "el", "2020-03-12"),
        ("12. listopada 2020.", "hr", "2020-10-12"),
        ("12. marec 2020", "sl", "2020-03-12"),
        ("12. märts 2020", "et", "2020-03-12"),
        ("2020. gada 12. marts", "lv", "2020-03-12"),
        ("2020 m. kovo 12 d.", "lt", "2020-03-12"),
        ("12. mars 2020", "is", "2020-03-12"),
        ("12 березня 2020 р.", "uk", "2020-03-12"),
        ("12 марта 2020 г.", "ru", "2020-03-12"),
        ("12 Mart 2020", "tr", "2020-03-12"),
        ("١٢ مارس ٢٠٢٠", "ar", "2020-03-12"),
        ("2020年3月12日", "ja", "2020-03-12"),
        ("2020년 3월 12일", "ko", "2020-03-12"),
        ("March 12, 2020", "en", "2020-03-12"),
        ("Mar 12th, 2020 3:05 PM", "en-US", "2020-03-12T15:05Z"),
        ("12. März 2020", None, "2020-03-12"),
        ("12 Μαρτίου 2020", "de", "2020-03-12"),
        ("03/04/2020", "en", "2020-04-03"),
        ("03/04/2020", None, "2020-04-03"),
        ("03/04/2020", "en-US", "2020-03-04"),
        ("03/04/2020", "en_us", "2020-03-04"),
        ("03/25/2020", "de", "2020-03-25"),
        ("3. 4. 2020", "cs", "2020-04-03"),
        ("2020/3/12", "ja", "2020-03-12"),
        ("2020.03.12.", "hu", "2020-03-12"),
        ("12.03.2020 14:30 Uhr", "de", "2020-03-12T14:30Z"),
        ("12.03.2020, 14:30:15", "de", "2020-03-12T14:30:15Z"),
        ("12h30, 3 avril 2019", "fr", "2019-04-03T12:30Z"),
        ("2020-03-12T14:30:00+02:00", None, "2020-03-12T14:30:00+02:00"),
        ("Stand: 2020-03", "de", "2020-03"),
        ("März 2020", "de", "2020-03"),
        ("03/2020", "de", "2020-03"),
        ("2019", None, "2019"),
        ("Stand 2019", "de", "2019"),
        ("12. März 2020 (Donnerstag, 12.03.2020)", "de", "2020-03-12"),
        ("3 listopada 2020", None, None),
        ("12. März", "de", None),
        ("März", "de", None),
        ("gestern", "de", None),
        ("vor 3 Tagen", "de", None),
        ("31.02.2020", "de", None),
        ("03.04.20", "de", None),
        ("99/99/9999", None, None),
        ("1. Mai 2019 und 2. Mai 2019", "de", None),
        ("2019, 2020", None, None),
        ("vor 2020", "de", None),
        ("until 2020", "en", None),
        ("2010/11", "en", None),
        ("2010/12", "en", "2010-12"),
        ("5 Μαρτίου 2020, 2:05 μμ", "el", "2020-03-05T14:05Z"),
        ("5 Μαρτίου 2020, 12:05 π.μ.", "el", "2020-03-05T00:05Z"),
        ("2020. 3. 5. 오후 2:05", "ko", "2020-03-05T14:05Z"),
        ("5 مارس 2020 2:05 م", "ar", "2020-03-05T14:05Z"),
        ("den 12 augusti 2020 kl. 10.15", "sv", "2020-08-12T10:15Z"),
        ("12.III.2020", "pl", "2020-03-12"),
        ("12. März 20", "de", None),
        ("", None, None),
        ("1" * 100_000, None, None),
        ("12. März 2020 " * 20, "de", None),
    ],
)
def test_dates(written: str, language: str | None, expected: str | None) -> None:
    assert date(written, language) == expected


@pytest.mark.parametrize(
    ("written", "order", "expected"),
    [
        ("03/04/2020", "dmy", "2020-04-03"),
        ("03/04/2020", "mdy", "2020-03-04"),
        ("03/25/2020", "dmy", None),
        ("03.04.20", "dmy", "2020-04-03"),
        ("03.04.20", "mdy", "2020-03-04"),
        ("03-04-05", "ymd", "2003-04-05"),
        ("03.04.70", "dmy", "1970-04-03"),
        ("2020/3/4", "mdy", "2020-03-04"),
        ("12. März 20", "dmy", "2020-03-12"),
        ("12-MAR-20", "dmy", "2020-03-12"),
        ("Mar 12, 20", "mdy", "2020-03-12"),
        ("20 Mar 12", "ymd", "2020-03-12"),
    ],
)
def test_the_order_of_a_date(written: str, order: str, expected: str | None) -> None:
    assert date(written, "de", order) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2010-01-01/2015-12-31", Period(start="2010-01-01", end="2015-12-31")),
        ("01.01.2010 - 31.12.2015", Period(start="2010-01-01", end="2015-12-31")),
        ("2010-2015", Period(start="2010", end="2015")),
        ("from 1 May 2010 to 3 June 2012", Period(start="2010-05-01", end="2012-06-03")),
        ("du 1 mai 2010 au 3 juin 2012", Period(start="2010-05-01", end="2012-06-03")),
        ("desde 2010 hasta 2012", Period(start="2010", end="2012")),
        ("seit 2010", Period(start="2010", end=None)),
        ("2010", Period(start="2010", end="2010")),
        ("2015-2010", None),
        ("01/01/2019 to 31/12/2019", Period(start="2019-01-01", end="2019-12-31")),
        ("dal 01/01/2019 al 31/12/2019", Period(start="2019-01-01", end="2019-12-31")),
        ("Desde 01/01/2019 hasta 31/12/2019", Period(start="2019-01-01", end="2019-12-31")),
        ("12/2019 - 03/2020", Period(start="2019-12", end="2020-03")),
        ("bis 2015", Period(end="2015")),
        ("until March 2015", Period(end="2015-03")),
        ("2019-", Period(start="2019")),
        ("2019 –", Period(start="2019")),
        ("2010/11", Period(start="2010", end="2011")),
        ("1999/00", Period(start="1999", end="2000")),
        ("2010-15", Period(start="2010", end="2015")),
        ("2010-11", Period(start="2010-11", end="2010-11")),
        ("2019 - heute", Period(start="2019")),
        ("2000 to present", Period(start="2000")),
        ("2000 à ce jour", Period(start="2000")),
        ("between 2010 and 2015", Period(start="2010", end="2015")),
        ("entre 2010 y 2015", Period(start="2010", end="2015")),
        ("2010 and 2015", None),
        ("Jan - Mar 2020", Period(start="2020-01", end="2020-03")),
        ("Januar bis März 2020", Period(start="2020-01", end="2020-03")),
        ("1.-31. März 2020", Period(start="2020-03-01", end="2020-03-31")),
        ("01.01. - 31.12.2019", Period(start="2019-01-01", end="2019-12-31")),
        ("Nov - Feb 2020", None),
        ("Mar-2020", Period(start="2020-03", end="2020-03")),
        ("12-2020", Period(start="2020-12", end="2020-12")),
        ("Stand - 2020", None),
        ("2010 - 2012 - 2015", None),
        ("vor 2020", None),
        ("del 2015", Period(start="2015", end="2015")),
        ("2010 to " * 1_000, None),
        ("all the time", None),
    ],
)
def test_periods(written: str, expected: Period | None) -> None:
    assert period(written) == expected


@pytest.mark.parametrize(
    ("html", "name", "rule", "expected"),
    [
        ("<p>31/05/2020", "issued", 'date = "mdy"', (None, 0.47)),
        ("<p>03/04/2020", "issued", 'date = "mdy"', ("2020-03-04", 0.95)),
        ("<p>03.04.20", "issued", 'date = "dmy"', ("2020-04-03", 0.95)),
        ("<p>gestern", "issued", "date = false", (None, 0.47)),
        ("<p>3. April 2020", "issued", "date = false", ("2020-04-03", 0.95)),
        ("<p>03/04/2020", "issued", "date = true", ("2020-04-03", 0.76)),
        ("<p>03/04/2020</p><i>05/31/2020", "issued", "date = true", ("2020-03-04", 0.95)),
        ("<p>03/04/2020</p><i>05/31/2020", "issued", "date = false", ("2020-03-04", 0.95)),
        ("<p>03/04/2020</p><i>31/05/2020", "issued", "date = true", ("2020-04-03", 0.95)),
        ("<p>03/04/2020</p><i>31/05/2020 05/31/2020", "issued", "date = true", ("2020-04-03", 0.76)),
        ("<html lang=de><p>03/04/2020", "issued", "date = true", ("2020-04-03", 0.95)),
        (
            "<p>03/04/2019 - 05/06/2019",
            "temporal",
            'date = "mdy"',
            (Period(start="2019-03-04", end="2019-05-06"), 0.95),
        ),
        ("<p>2010-2015", "temporal", "date = true", (Period(start="2010", end="2015"), 0.95)),
        ("<p>bis 2015", "temporal", "date = true", (Period(end="2015"), 0.95)),
        ("<p>seit 2015", "temporal", "date = false", (Period(start="2015"), 0.95)),
        ("<p>2019", "temporal", "date = true", (Period(start="2019", end="2019"), 0.95)),
        ("<p>immer", "temporal", "date = false", (None, 0.47)),
        ("<p>2010<p>2015", "temporal", "many = true", (Period(start="2010", end="2015"), 0.95)),
    ],
)
def test_a_date_of_the_item_is_the_one_of_the_document(
    html: str, name: str, rule: str, expected: tuple[Any, float]
) -> None:
    found = drawn(html, f'[fields]\n{name} = {{ css = "p", {rule} }}\n')
    made = item(found)
    assert (getattr(made, name), found["fields"][name]["confidence"]) == expected
    assert any("is no" in flaw for flaw in made.flaws) == (expected[0] is None)


@pytest.mark.parametrize("written", ["entre " + " " * 390 + "y", "between " + "a and " * 60, "1-" * 190])
def test_a_hostile_period_takes_no_time(written: str) -> None:
    start = process_time()
    assert period(written) is None
    assert process_time() - start < 5


# --- required fields


def test_a_missing_title() -> None:
    rules = loads(HEAD + '[fields]\ntitle = "h1"\nlicense = { label = true, required = true }\nversion = "i"\n')
    assert missing(document(Page("<p>x", URL), rules), rules) == ["title", "license"]
    assert missing(document(Page("<h1>t</h1><p>Lizenz: x", URL), rules), rules) == []


def test_the_title_is_required_even_without_a_rule() -> None:
    rules = loads(HEAD)
    assert missing(document(Page("<h1>x", URL), rules), rules) == ["title"]


def test_an_extra_of_the_same_name_is_no_field() -> None:
    rules = loads(HEAD + '[fields]\ntitle = "h1"\n[extras]\ntitle = "p"\ncolour = { css = "i", required = true }\n')
    assert missing(document(Page("<p>x", URL), rules), rules) == ["title", "colour"]
    assert missing(document(Page("<h1>x</h1><i>red</i>", URL), rules), rules) == []


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("issued", "soon", "3. April 2020"),
        ("temporal", "soon", "2010-2015"),
        ("contact_email", "Jane", "jane@example.org"),
        ("modified", "", "2190-01-01"),
        ("license", "", "as is"),
    ],
)
def test_a_required_value_is_one_that_can_be_read(name: str, bad: str, good: str) -> None:
    rules = loads(f'{HEAD}[fields]\ntitle = "h1"\n{name} = {{ css = "p", required = true }}\n')
    read = [missing(document(Page(f"<h1>t</h1><p>{text}", URL), rules), rules) for text in (bad, good)]
    assert read == [[name], []]


SCHEMA = """<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Dataset", "name": "Elbe",
"publisher": {"@type": "Organization", "name": "Amt"}}</script>"""


def test_structured_data_counts() -> None:
    rules = loads(HEAD + "[fields]\npublisher = { label = true, required = true }\nversion = { label = true }\n")
    found = document(Page(f"{SCHEMA}<p>Version: 3", URL), rules)
    assert missing(found, rules) == []
    assert item(found).metadata_source == "schema_org+html"
    assert (item(found).title, item(found).version) == ("Elbe", "3")
    assert missing({"fields": {}, "rdf": {"http://purl.org/dc/terms/title": [{"@value": "t"}]}}, rules) == ["publisher"]


def test_structured_data_that_the_rules_do_not_want() -> None:
    rules = loads("structured = false\n" + HEAD + '[fields]\ntitle = "h1"\n')
    assert "schema_org" not in document(Page(f"{SCHEMA}<h1>x", URL), rules)


# --- the item


def test_a_script_that_can_not_be_read_is_a_flaw_of_the_item() -> None:
    script = '<script type="application/ld+json">{"@type": "Dataset", "name": "A", "license": "x "y" z"}</script>'
    found = item(document(Page(script, URL), loads(f'start = "{URL}"\nlinks = {{ css = "a" }}\n')))
    assert (found.title, [flaw.partition(":")[0] for flaw in found.flaws]) == (
        "A",
        ["a JSON-LD script can't be read"],
    )


def test_a_script_that_can_not_be_read_only_adds_to_the_rules() -> None:
    """And each sentence about scripts is there once."""
    script = """<script type="application/ld+json">{"@type": "Dataset", "name": "cut", "version": "3",
        "distribution": [{"contentUrl": "/1.csv"}, {"contentUrl": "/2.csv", "name": "the "best" one"}]}</script>"""
    rules = '[fields]\ntitle = "h1"\n[resources]\ncss = "a"\n'
    found = item(drawn(f"<h1>T</h1><a href=/1.csv>1</a><a href=/2.csv>2</a><a href=/3.csv>3</a>{script * 9}", rules))
    assert (found.title, found.version, len(found.resources)) == ("T", "3", 3)
    assert (found.metadata_source, len(found.document["flaws"])) == ("schema_org+html", 1)
    assert (item(drawn(script, rules)).resources, item(drawn(script, rules)).metadata_source) == ([], "schema_org")


def test_rdf_goes_first() -> None:
    rdf = {
        "@id": "https://example.org/id/9",
        "@type": ["http://www.w3.org/ns/dcat#Dataset"],
        "http://purl.org/dc/terms/title": [{"@value": "RDF title"}],
    }
    found = item(fields(version="2") | {"rdf": rdf})
    assert (found.title, found.version, found.uri, found.id) == ("RDF title", "2", "https://example.org/id/9", "1")
    assert found.metadata_source == "rdf+html"
    assert item(fields() | {"rdf": rdf}).metadata_source == "rdf"
    assert not found.flaws


def test_rdf_without_a_name_is_read_all_the_same() -> None:
    found = item(fields() | {"rdf": {"http://purl.org/dc/terms/title": [{"@value": "RDF title"}]}})
    assert (found.title, found.uri, found.id, found.identifier) == ("RDF title", None, "1", "1")


def test_the_rules_identifier_fills_up_what_has_none() -> None:
    found = item(fields(identifier="w-17") | {"schema_org": {"@type": "Dataset", "name": "n"}})
    assert (found.identifier, found.metadata_source) == ("w-17", "schema_org+html")


@pytest.mark.parametrize(
    "rdf", [{}, {"@id": 3}, {"@id": "_:b"}, {"@context": "https://example.org/c", "x": 1}, {"@graph": 0}]
)
def test_rdf_that_says_nothing_leaves_the_rules(rdf: dict[str, Any]) -> None:
    found = item(fields() | {"rdf": rdf})
    assert (found.title, found.metadata_source) == ("t", "html")
    assert found.flaws[0].startswith("the RDF can't be read")


def test_a_publishers_email_is_filled_in() -> None:
    record = {"@type": "Dataset", "name": "n", "publisher": {"name": "Amt"}}
    found = item(fields(publisher_email="a@example.org", publisher="Other") | {"schema_org": record})
    assert found.publisher == Agent(name="Amt", email="a@example.org", role="publisher")


def test_a_contact_of_a_role_that_is_there_stays() -> None:
    record = {"@type": "Dataset", "name": "n", "creator": {"name": "A"}}
    found = item(fields(creator="B", maintainer="C") | {"schema_org": record})
    assert [(one.name, one.role) for one in found.contacts] == [("A", "creator"), ("C", "maintainer")]


@pytest.mark.parametrize(
    ("named", "name", "expected"),
    [
        ({"keywords": ["a, b; c"]}, "keywords", ["a", "b", "c"]),
        ({"keywords": ["a, b", "c"]}, "keywords", ["a, b", "c"]),
        ({"description": {"value": "a <b>b</b>"}}, "description", "a <b>b</b>"),
        ({"description": {"value": "a <b>b</b>", "html": True}}, "description", "a **b**"),
        ({"license": "https://example.org/terms"}, "license", License(uri="https://example.org/terms")),
        ({"license": "CC BY 4.0"}, "license", License(id="CC-BY-4.0", title="CC BY 4.0")),
        ({"publisher": "https://example.org/"}, "publisher", Agent(url="https://example.org/", role="publisher")),
        ({"languages": ["Deutsch", "fr"]}, "languages", ["de", "fr"]),
        ({"frequency": "at times"}, "frequency", None),
        ({"identifier": "https://example.org/id/3"}, "uri", "https://example.org/id/3"),
        ({"identifier": ""}, "identifier", "1"),
        ({"title": ""}, "title", None),
        ({"title": {}}, "title", None),
        ({"title": 3}, "title", None),
    ],
)
def test_a_value_of_the_item(named: dict[str, Any], name: str, expected: Any) -> None:
    assert getattr(item(fields(**named)), name) == expected


@pytest.mark.parametrize(
    ("named", "flaw"),
    [
        ({"issued": "soon"}, "issued 'soon' is no date"),
        ({"modified": "3019-01-01"}, "modified '3019-01-01' is no date"),
        ({"modified": "2190-01-01"}, "modified '2190-01-01' is in the future"),
        ({"temporal": "soon"}, "temporal 'soon' is no period"),
        ({"contact_email": "Jane"}, "contact_email 'Jane' is no e-mail address"),
        ({"title": ""}, "the dataset has no title"),
        (
            {"version": {"value": "1", "cut": True}},
            "version is longer than is kept, and was cut: the document lacks the rest",
        ),
    ],
)
def test_what_cannot_be_read_is_a_flaw(named: dict[str, Any], flaw: str) -> None:
    assert item(fields(**named)).flaws == [flaw]


def test_an_unreadable_date_stays_in_the_document() -> None:
    found = drawn("<h1>t</h1><p>Stand: bald", '[fields]\ntitle = "h1"\nmodified = { label = "Stand", date = true }\n')
    assert found["fields"]["modified"]["value"] == "bald"
    assert (item(found).modified, item(found).flaws) == (None, ["modified 'bald' is no date"])


def test_ids_of_resources() -> None:
    html = "<p><a href=a>A</a><p><a href=b>B</a><p><a href=a>A</a>"
    rules = '[fields]\ntitle = { constant = "t" }\n[resources]\ncss = "p"\n'
    found = item(drawn(html, rules)).resources
    assert len({one.id for one in found}) == 3
    turned = item(drawn("<p><a href=b>B</a><p><a href=a>A</a>", rules)).resources
    assert turned[0].id == found[1].id


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1,234 bytes", 1234),
        ("1 024 octets", 1024),
        ("12", 12),
        ("2,3 MB", 0),
        ("20.4K", 0),
        ("1,5 bytes", 0),
        ("", None),
    ],
)
def test_sizes(written: str, expected: int | None) -> None:
    assert size(written) == expected


def test_a_document_of_any_json() -> None:
    """What is on disk may have been edited."""
    junk: list[Any] = [
        None,
        0,
        1.5,
        True,
        "",
        "x",
        [],
        {},
        [None],
        {"value": None},
        {"value": [3]},
        {"value": "\ud800"},
    ]
    chance = random.Random(5)
    names = ("title", "issued", "license", "keywords", "spatial", "publisher", "contact_email", "temporal", "themes")
    for _ in range(500):
        found = {
            name: chance.choice(junk)
            for name in ("url", "language", "fields", "resources", "schema_org", "rdf", "flaws")
        }
        if chance.random() < 0.8:
            found["fields"] = {name: chance.choice(junk) for name in names}
            found["resources"] = [{"url": chance.choice(junk), "size": chance.choice(junk)}, chance.choice(junk)]
        made = item(found)
        json.dumps(asdict(made), ensure_ascii=True)
        assert made.title is None or isinstance(made.title, str)


# --- hostile pages


def test_a_long_text_is_cut_and_that_is_said() -> None:
    found = drawn(f"<h1>{'a ' * LONGEST}", '[fields]\ntitle = "h1"\n')
    assert len(found["fields"]["title"]["value"]) == LONGEST
    assert item(found).flaws == ["title is longer than is kept, and was cut: the document lacks the rest"]


def test_many_values_are_cut_and_that_is_said() -> None:
    found = drawn("".join(f"<p>{number}" for number in range(3_000)), '[fields]\nkeywords = "p"\n')
    assert len(found["fields"]["keywords"]["value"]) == 1_000
    assert found["fields"]["keywords"]["cut"]


def test_a_page_that_is_nested_too_deep_says_so() -> None:
    found = drawn("<div>" * 100_000 + "<h1>t", '[fields]\ntitle = "h1"\n')
    assert item(found).flaws[1:] == ["the page is nested deeper than can be read: what follows is missing"]


def test_an_element_with_too_many_attributes_is_not_read() -> None:
    html = "<h1>t</h1><p " + " ".join(f"a{number}=1" for number in range(100_000)) + ">"
    start = process_time()
    found = drawn(html, '[fields]\ntitle = "h1"\n')
    assert process_time() - start < 10
    assert found["flaws"] == ["an element has more than 256 attributes: the page is not read"]


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 30_000,
        "<p>a " * 150_000,
        pytest.param("<b>a</b> " * 90_000, marks=pytest.mark.slow),
        "<" * 300_000,
        "<!--" * 30_000,
        "<table><tr><td>" * 9_000,
        '<script type="application/ld+json">[[' + "1," * 600_000 + "x</script>",
    ],
    ids=["deep", "wide", "inline", "lt", "comments", "tables", "json-ld"],
)
def test_hostile_pages_take_bounded_time(html: str) -> None:
    start = process_time()
    item(drawn(html, RULES.replace('"h1"', '"body"').replace("ul.files li", "p, b")))
    assert process_time() - start < 10
