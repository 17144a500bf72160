"""The families whose datasets are tables of labels and values."""

from __future__ import annotations

from typing import ClassVar

from tests.portal.html.catalogue import HTMLCatalogue, Visit, window
from tests.portal.html.data import Entry, text

MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()


class GermanTable(HTMLCatalogue):
    """A table of ``th`` and ``td``, dates in words, and links with the pages' numbers and no more."""

    start = "/liste.php"
    parameter: ClassVar[str] = "seite"
    detail = "/datensatz.php"

    def key(self, entry: Entry) -> str:
        return str(entry.number + 1)

    def href(self, entry: Entry) -> str:
        return f"{self.detail}?id={self.key(entry)}&amp;tab=info"

    def dataset_id(self, visit: Visit) -> str | None:
        return visit.query.get("id", "") if visit.path == self.detail else None

    def listing(self, number: int, visit: Visit) -> str:
        rows = "".join(
            f'<tr><td>{place}.</td><td><a href="{href}">{text(words)}</a></td>'
            f'<td><a href="/karte.php?id={place}" title="auf der Karte">Karte</a></td></tr>'
            for place, (href, words, _) in enumerate(self.links(number), (number - 1) * self.per_page + 1)
        )
        pages = " ".join(
            f"<b>{one}</b>" if one == number else f'<a href="?{self.parameter}={one}">{one}</a>'
            for one in window(number, self.last)
        )
        return f"<h1>Datensätze</h1><table id=treffer>{rows}</table><p class=seiten>Seite: {pages}</p>"

    def detailed(self, entry: Entry) -> str:
        day = entry.modified
        rows = (
            ("Beschreibung", text(entry.description)),
            ("<b>Lizenz</b>", f'<a href="{entry.licence.uri}"><img src="/cc.png" alt="">{entry.licence.name}</a>'),
            ("Herausgeber", f"<span>{text(entry.publisher)}</span><br>"),
            ("Schlag&shy;wörter", ", ".join(map(text, entry.keywords))),
            ("Aktualisiert am", f"{day.day}. {MONTHS[day.month - 1]} {day.year}"),
            ("Aufrufe", "1.204"),
        )
        table = "".join(f"<tr><th>{label}:</th><td>{value}</td></tr>" for label, value in rows)
        return f"<h2 class=titel>{self.title(entry)}</h2><table class=metadaten>{table}</table>{self.files(entry)}"

    def files(self, entry: Entry) -> str:
        rows = "".join(
            f'<tr><td><a href="{file.path}">{text(file.title)}</a></td><td class=typ>{file.format}</td></tr>'
            for file in entry.files
        )
        return f"<h3>Dateien</h3><table class=dateien><tr><th>Datei</th><th>Format</th></tr>{rows}</table>"


class SpanishTable(HTMLCatalogue):
    """A list of ``dt`` and ``dd``, dates as 12/03/2014, and "Siguiente" as a link like any other."""

    start = "/catalogo"
    language: ClassVar[str] = "es"
    parameter: ClassVar[str] = "pagina"
    detail = "/catalogo/detalle/{}.html"

    def listing(self, number: int, visit: Visit) -> str:
        items = "".join(
            f'<li><a href="{href}">{text(words)}</a> <a href="/catalogo?tema=2">Tema</a></li>'
            for href, words, _ in self.links(number)
        )
        following = self.following(number)
        before = f'<a href="{self.link(number - 1)}">Anterior</a>' if number > 1 else "<span>Anterior</span>"
        onward = f'<a href="{self.link(following)}">Siguiente</a>' if following else "<span>Siguiente</span>"
        return f"<h1>Catálogo</h1><ul class=conjuntos>{items}</ul><div class=paginador>{before} {onward}</div>"

    def detailed(self, entry: Entry) -> str:
        fields = (
            ("Título", [self.title(entry)]),
            ("Descripción", [f"<p>{text(entry.description)}</p>"]),
            ("Licencia", [f'<a href="{entry.licence.uri}" rel="license">{entry.licence.name}</a>']),
            ("Publicador", [text(entry.publisher)]),
            ("Etiquetas", [text(word) for word in entry.keywords]),
            ("Fecha de actualización", [entry.modified.strftime("%d/%m/%Y")]),
        )
        rows = "".join(
            f"<dt>{label}</dt>" + "".join(f"<dd>{value}</dd>" for value in values) for label, values in fields
        )
        files = "".join(
            f'<li><a href="{file.path}"><span class=nombre>{text(file.title)}</span> '
            f"(<abbr>{file.format}</abbr>)</a></li>"
            for file in entry.files
        )
        return (
            f"<h1>Ficha del conjunto de datos</h1><dl>{rows}</dl><h2>Distribuciones</h2><ul class=recursos>{files}</ul>"
        )
