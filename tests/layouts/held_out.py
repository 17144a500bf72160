"""Layouts that the learner has not been changed for: they were written last, and what they gave at first stands."""

from __future__ import annotations

from html import escape

from tests.layouts.further import shown
from tests.layouts.layouts import DE, EN, FR, notice
from tests.layouts.parts import Layout, every, html, link, numbers, paragraphs, words
from tests.layouts.records import Record

BRITISH = numbers("{d:02}/{m:02}/{y}")
GERMAN = words("de", "{d}. {month} {y}")
FRENCH = words("fr", "{d} {month} {y}")


def strong(record: Record) -> str:
    """A strong word and its value in each line, with no colon."""
    tags = every((link(f"/t/{one}", one) for one in record.keywords), " ")
    lines = every(
        f"<li><strong>{EN[name]}</strong> {value}</li>" for name, value in shown(record, EN, BRITISH, tags).items()
    )
    files = every(
        f'<p class="dl"><a href="{one.url}">{escape(one.title)}</a> – {one.format} – {one.size}</p>'
        for one in record.files
    )
    news = '<ul class="facts"><li><strong>News</strong> We have moved</li></ul>' * notice(record)
    body = (
        f'<div class="masthead"><h1>{escape(record.title)}</h1><p class="tagline">Open data of the county</p></div>{news}'  # noqa: E501
        f'<div class="body-text">{paragraphs(record)}</div><ul class="facts">{lines}</ul>{files}'
    )
    return html("en", record.title, body, site="County")


def kommune(record: Record) -> str:
    """Labels and values in the columns of a grid, each in a paragraph; the imprint is made the same way."""

    def row(label: str, value: str) -> str:
        return f'<div class="row"><div class="col-4"><p>{label}</p></div><div class="col-8"><p>{value}</p></div></div>'

    found = shown(record, DE, GERMAN, ", ".join(record.keywords))
    files = every(
        f'<div class="media"><div class="media-body"><h5>{escape(one.title)}</h5><span class="label">{one.format}</span>'  # noqa: E501
        f'<a class="btn btn-primary" href="{one.url}">Öffnen</a></div></div>'
        for one in record.files
    )
    top = row("Störung", "Die Suche geht nicht") * notice(record)
    body = (
        f'<div class="container">{top}<h2 class="datensatz-titel">{escape(record.title)}</h2>'
        f'<div class="kurztext">{paragraphs(record)}</div><div class="metadaten">'
        f"{every(row(DE[name], value) for name, value in found.items())}</div>{files}</div>"
        f"<footer>{row('Herausgeber', 'Stadt Musterstadt')}{row('E-Mail', 'info@example.org')}</footer>"
    )
    return html("de", "Offene Daten", body)


def headings(record: Record) -> str:
    """Headings with bare text under them, and nothing about each pair."""
    tags = f"<ul>{every(f'<li>{one}</li>' for one in record.keywords)}</ul>"
    found = shown(record, FR, FRENCH, tags)
    lines = every(f"<h3>{FR[name]}</h3>{value}" for name, value in found.items())
    files = every(f'<li><a href="{one.url}">{escape(one.title)}</a> [{one.format}]</li>' for one in record.files)
    box = "<h3>Attention</h3>Page en travaux" * notice(record)
    body = (
        f'<div id="bandeau"><h1>Ministère</h1></div><div id="contenu">{box}<h2>{escape(record.title)}</h2>'
        f'<div class="resume">{paragraphs(record)}</div>{lines}<h3>Fichiers</h3><ul class="fichiers">{files}</ul></div>'
    )
    return html("fr", record.title, body)


HELD_OUT = (
    Layout("strong", "en", strong, BRITISH),
    Layout("kommune", "de", kommune, GERMAN, keywords=", "),
    Layout("headings", "fr", headings, FRENCH),
)
