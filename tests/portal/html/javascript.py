"""The families whose listing is there for those who run JavaScript only."""

from __future__ import annotations

import json
from typing import ClassVar

from tests.portal.html.catalogue import HTML, HTMLCatalogue, Visit
from tests.portal.html.data import Entry, text
from tests.site import Answer


class JavaScript(HTMLCatalogue):
    """A shell without datasets; a script asks for them piece by piece, and takes its time to show them.

    Datasets' pages are plain HTML.
    """

    start = "/explorador"
    language: ClassVar[str] = "es"
    pieces: ClassVar[str] = "/api/lista"
    """Where the script asks: the path."""
    shell: ClassVar[str]
    """What is on the page before the script has run."""
    script: ClassVar[str]
    detail = "/ficha/{}"

    def number(self, visit: Visit) -> int | None:
        if visit.path == self.pieces:
            return int(visit.query["pagina"])
        return 0 if visit.path == self.start else None

    def kind(self, visit: Visit) -> str:
        return "pieces" if visit.path == self.pieces else super().kind(visit)

    def page(self, number: int, visit: Visit) -> Answer:
        if number == 0 or self.fails("http_500", number) or self.fails("cut", number):
            return super().page(number, visit) if number == 0 else Answer(b"{}", 500)
        return self.piece(number)

    def piece(self, number: int) -> Answer:
        found = [{"enlace": href, "titulo": words} for href, words, _ in self.links(number)]
        return Answer(json.dumps({"paginas": self.last, "conjuntos": found}).encode())

    def listing(self, number: int, visit: Visit) -> str:
        return f"<h1>Explorador</h1>{self.shell}{self.foreign_parts()}<script>{COMMON}{self.script}</script>"

    def foreign_parts(self) -> str:
        parts = ""
        if "off_host" in self.faults:
            parts += f'<script src="{self.elsewhere("/tracker.js")}"></script>'
        if "private" in self.faults:
            inside = self.elsewhere("/admin/secrets")
            parts += (
                f'<img src="{inside}.png" alt=""><script>fetch("{inside}", {{mode: "no-cors"}}).catch(() => 0)</script>'
            )
        return parts

    def detailed(self, entry: Entry) -> str:
        keywords = "".join(f'<li class="etiqueta">{text(word)}</li>' for word in entry.keywords)
        files = "".join(
            f'<div class="fichero" data-formato="{file.format}"><a href="{file.path}">{text(file.title)}</a></div>'
            for file in entry.files
        )
        return (
            f'<article><h1>{self.title(entry)}</h1><p class="resumen">{text(entry.description)}</p>'
            f'<p><strong>Licencia:</strong> <a href="{entry.licence.uri}">{entry.licence.name}</a></p>'
            f"<p><strong>Publicado por:</strong> {text(entry.publisher)}</p>"
            f'<p><strong>Modificado:</strong> <time datetime="{entry.modified}">hace poco</time></p>'
            f"<ul>{keywords}</ul>{files}</article>"
        )


COMMON = """
const lista = document.getElementById("lista");
const pausa = ms => new Promise(hecho => setTimeout(hecho, ms));
function fila(uno) {
  const a = document.createElement("a"), li = document.createElement("li");
  a.href = uno.enlace; a.textContent = uno.titulo; li.append(a);
  return li;
}
async function pedir(pagina) {
  const respuesta = await fetch("/api/lista?pagina=" + pagina);
  if (!respuesta.ok) throw new Error(respuesta.status);
  await pausa(60);
  return respuesta.json();
}
"""


class Pager(JavaScript):
    """A button says "Siguiente": disabled on the last page, and while a page comes, when the list is empty too."""

    shell = (
        '<ul id="lista"></ul><button id="antes">Anterior</button> <span id="donde"></span> '
        '<button id="sig">Siguiente</button>'
    )
    script = """
let pagina = 1;
const sig = document.getElementById("sig"), antes = document.getElementById("antes");
async function mostrar() {
  sig.disabled = antes.disabled = true;
  lista.replaceChildren();
  const datos = await pedir(pagina);
  lista.replaceChildren(...datos.conjuntos.map(fila));
  document.getElementById("donde").textContent = pagina + " / " + datos.paginas;
  antes.disabled = pagina <= 1;
  sig.disabled = pagina >= datos.paginas;
}
sig.addEventListener("click", () => { pagina += 1; mostrar(); });
antes.addEventListener("click", () => { pagina -= 1; mostrar(); });
mostrar();
"""


class Rendered(Pager):
    """Datasets' pages are shells too: the ``etag`` is the shell's, and says nothing of the dataset."""

    part: ClassVar[str] = "/api/ficha"

    def kind(self, visit: Visit) -> str:
        return "parts" if visit.path == self.part else super().kind(visit)

    def validators(self, entry: Entry) -> dict[str, str]:
        return {"ETag": '"shell"'} if "etag" in self.faults else {}

    def detailed(self, entry: Entry) -> str:
        return SHELL.format(address=f"{self.part}?id={self.key(entry)}")

    def other(self, visit: Visit) -> Answer:
        if visit.path != self.part:
            return super().other(visit)
        return Answer(super().detailed(self.entries[visit.query["id"]]).encode(), 200, HTML)


SHELL = """<div id="ficha">Cargando …</div>
<script>
fetch("{address}").then(respuesta => respuesta.text()).then(html => setTimeout(
  () => {{ document.getElementById("ficha").innerHTML = html; }}, 60));
</script>
"""


class Buttons(JavaScript):
    """A button for each of five pages, and "…" for the five before and after."""

    shell = '<ul id="lista"></ul><nav class="paginas" id="paginas"></nav>'
    script = """
const paginas = document.getElementById("paginas");
function boton(pagina, texto, actual) {
  const b = document.createElement("button");
  b.textContent = texto;
  if (actual) b.setAttribute("aria-current", "page");
  b.addEventListener("click", () => mostrar(pagina));
  return b;
}
async function mostrar(pagina) {
  const datos = await pedir(pagina);
  lista.replaceChildren(...datos.conjuntos.map(fila));
  const primera = Math.floor((pagina - 1) / 5) * 5 + 1, ultima = Math.min(primera + 4, datos.paginas);
  paginas.replaceChildren();
  if (primera > 1) paginas.append(boton(primera - 1, "…"));
  for (let una = primera; una <= ultima; una += 1) paginas.append(boton(una, String(una), una === pagina));
  if (ultima < datos.paginas) paginas.append(boton(ultima + 1, "…"));
}
mostrar(1);
"""


class Script(JavaScript):
    """Swiped pages: there is nothing to click, and one function that turns them."""

    shell = '<ul id="lista"></ul>'
    script = """
let pagina = 0, paginas = 1;
async function pasar() {
  if (pagina >= paginas) return false;
  pagina += 1;
  const datos = await pedir(pagina);
  paginas = datos.paginas;
  lista.replaceChildren(...datos.conjuntos.map(fila));
  return true;
}
window.carrusel = { pasar };
pasar();
"""


class InfiniteScroll(JavaScript):
    """What comes is HTML, and is added when the end of the list comes into sight."""

    start = "/entdecken"
    language: ClassVar[str] = "de"
    pieces = "/stueck"
    shell = '<ul id="lista"></ul><div id="ende" style="height: 40px">…</div>'
    script = """
let pagina = 0, busy = false;
const ende = document.getElementById("ende");
async function mehr() {
  if (busy) return;
  busy = true;
  const antwort = await fetch("/stueck?pagina=" + (pagina + 1));
  const html = antwort.ok ? await antwort.text() : "";
  await pausa(60);
  if (!html.trim()) { auge.disconnect(); ende.remove(); return; }
  lista.insertAdjacentHTML("beforeend", html);
  pagina += 1; busy = false;
  auge.unobserve(ende); auge.observe(ende);
}
const auge = new IntersectionObserver(
  seen => { if (seen.some(one => one.isIntersecting)) mehr(); }, { rootMargin: "50px" });
auge.observe(ende);
"""

    def piece(self, number: int) -> Answer:
        rows = "".join(
            f'<li style="height: 120px"><a href="{href}">{text(words)}</a></li>'
            for href, words, _ in self.links(number)
        )
        return Answer(rows.encode(), 200, HTML)


class LoadMore(InfiniteScroll):
    """The same with a button "Mehr laden", which is gone when there is no more."""

    shell = '<ul id="lista"></ul><button class="mehr" type="button">Mehr laden</button>'
    script = """
let pagina = 0;
const knopf = document.querySelector("button.mehr");
async function mehr() {
  knopf.textContent = "Lädt …"; knopf.disabled = true;
  const antwort = await fetch("/stueck?pagina=" + (pagina + 1));
  const html = antwort.ok ? await antwort.text() : "";
  await pausa(60);
  lista.insertAdjacentHTML("beforeend", html); pagina += 1;
  if (lista.lastElementChild?.classList.contains("letzter")) { knopf.remove(); return; }
  knopf.textContent = "Mehr laden"; knopf.disabled = false;
}
knopf.addEventListener("click", mehr);
mehr();
"""

    def piece(self, number: int) -> Answer:
        body = super().piece(number).body
        last = b'<li class="letzter">Das waren alle.</li>' if number >= self.last else b""
        assert isinstance(body, bytes)
        return Answer(body + last, 200, HTML)
