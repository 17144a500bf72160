"""ASP.NET WebForms: a GridView whose pages are turned by posting its form back."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import ClassVar

from tests.portal.html.catalogue import HTML, HTMLCatalogue, Visit
from tests.portal.html.data import Entry, text
from tests.site import Answer

GRID = "ctl00$Main$GridView1"
KEY = b"the machine key"
SHOWN = 10  # numbers of a pager
DAMAGED = Answer(b"<h1>Server Error in '/' Application.</h1>Validation of viewstate MAC failed.", 500, HTML)


class ASPNET(HTMLCatalogue):
    """The state is in the form: whoever posts it changed, or asks for what the page did not offer, gets status 500."""

    start = "/Datos/Lista.aspx"
    detail = "/Datos/Detalle.aspx"
    language: ClassVar[str] = "es"

    def key(self, entry: Entry) -> str:
        return str(entry.number + 100)

    def href(self, entry: Entry) -> str:
        return f"Detalle.aspx?id={self.key(entry)}"

    def dataset_id(self, visit: Visit) -> str | None:
        return visit.query.get("id", "") if visit.path == self.detail else None

    def number(self, visit: Visit) -> int | None:
        """0 for what can't be: a form that this server did not give."""
        if visit.path != self.start:
            return None
        return 1 if visit.form is None else self.turned(visit.form)

    def page(self, number: int, visit: Visit) -> Answer:
        return super().page(number, visit) if number else DAMAGED

    def turned(self, form: dict[str, str]) -> int:
        """The page that a form asks for."""
        number, argument = opened(form.get("__VIEWSTATE", "")), form.get("__EVENTARGUMENT", "")
        turns = (
            form.get("__EVENTTARGET") == GRID and "ctl00$Main$txtBuscar" in form and "ctl00$Main$btnExcel" not in form
        )
        if not isinstance(number, int) or not turns:
            return 0
        offered = argument_names(number, self.last)
        valid = opened(form.get("__EVENTVALIDATION", "")) == [number, offered] and argument in offered
        return int(argument.removeprefix("Page$")) if valid else 0

    def listing(self, number: int, visit: Visit) -> str:
        rows = "".join(
            f'<tr><td><a id="lnk{place}" href="{href}">{text(words)}</a></td></tr>'
            for place, (href, words, _) in enumerate(self.links(number))
        )
        sort = f"javascript:__doPostBack(&#39;{GRID}&#39;,&#39;Sort$Titulo&#39;)"
        return (
            f'<form method="post" action="./Lista.aspx" id="form1">{state(number, self.last)}'
            '<input type="text" name="ctl00$Main$txtBuscar" value="">'
            '<input type="submit" name="ctl00$Main$btnExcel" value="Exportar">'
            f'<table id="Main_GridView1"><tr><th><a href="{sort}">Título</a></th></tr>{rows}'
            f'<tr class="pager"><td colspan="1"><table><tr>{pager(number, self.last)}</tr></table></td></tr>'
            "</table></form>"
        )

    def detailed(self, entry: Entry) -> str:
        files = "".join(
            f'<tr><td>{text(file.title)}</td><td>{file.format}</td><td><a href="{file.path}">Descargar</a></td></tr>'
            for file in entry.files
        )
        return (
            f'<form method="post" action="./Detalle.aspx"><span id="Main_lblTitulo">{self.title(entry)}</span>'
            f"<div><b>Descripción:</b> {text(entry.description)}<br/><b>Licencia:</b> {entry.licence.name}<br/>"
            f"<b>Organismo:</b> {text(entry.publisher)}<br/>"
            f"<b>Actualizado:</b> {entry.modified.strftime('%d/%m/%Y')}</div>"
            f'<span id="Main_lblEtiquetas">{text("; ".join(entry.keywords))}</span>'
            f'<table id="Main_gvRecursos"><tr><th>Nombre</th><th>Formato</th><th></th></tr>{files}</table></form>'
        )


def shown(number: int, last: int) -> tuple[int, int]:
    """The first and the last number of the pager of a page."""
    first = (number - 1) // SHOWN * SHOWN + 1
    return first, min(first + SHOWN - 1, last)


def argument_names(number: int, last: int) -> list[str]:
    """What the pager of a page can ask for."""
    first, until = shown(number, last)
    return [f"Page${one}" for one in range(max(1, first - 1), min(until + 1, last) + 1) if one != number]


def pager(number: int, last: int) -> str:
    first, until = shown(number, last)
    cells = [(first - 1, "...")] if first > 1 else []
    cells += [(one, str(one)) for one in range(first, until + 1)]
    cells += [(until + 1, "...")] if until < last else []
    return "".join(
        f"<td><span>{words}</span></td>"
        if one == number
        else f'<td><a href="javascript:__doPostBack(&#39;{GRID}&#39;,&#39;Page${one}&#39;)">{words}</a></td>'
        for one, words in cells
    )


def state(number: int, last: int) -> str:
    """The form's hidden fields."""
    fields = {
        "__EVENTTARGET": "",
        "__EVENTARGUMENT": "",
        "__VIEWSTATE": sealed(number),
        "__VIEWSTATEGENERATOR": "CA0B0334",
        "__EVENTVALIDATION": sealed([number, argument_names(number, last)]),
    }
    return "".join(f'<input type="hidden" name="{name}" id="{name}" value="{value}">' for name, value in fields.items())


def sealed(value: object) -> str:
    content = json.dumps(value).encode()
    return base64.b64encode(hmac.digest(KEY, content, hashlib.sha256) + content).decode()


def opened(text: str) -> object:
    """What was sealed; ``None`` if that was elsewhere."""
    try:
        whole = base64.b64decode(text.encode())
    except ValueError:
        return None
    seal, content = whole[:32], whole[32:]
    return json.loads(content) if hmac.compare_digest(seal, hmac.digest(KEY, content, hashlib.sha256)) else None
