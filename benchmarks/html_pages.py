"""Dataset pages of 60 KiB, as a content management system gives them: mostly menus, teasers and a footer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 60 * 1024  # bytes
RULES = """
start = "http://127.0.0.1/datasets"
links = { css = "li.dataset a", id = '/dataset/(d\\d+)' }
paging = { query = "page" }
language = "de"

[fields]
title = "h1.page-title"
description = { css = "div.field-body", html = true }
identifier = { css = "[itemprop=identifier]", attr = "content" }
license = { label = "Lizenz" }
publisher = { label = "Herausgeber" }
issued = { label = "Erstellt", date = "dmy" }
modified = { css = "time.changed", attr = "datetime", date = true }
keywords = "ul.tags li a"
themes = ".breadcrumb li:nth-child(2) a"
frequency = { label = "Turnus" }
spatial = { xpath = "//section[@id='coverage']//span[@class='place']" }
contact_email = { css = "a.mail", attr = "href", regex = "mailto:(.+)" }
"""
_TEASER = """<div class="col-md-4 teaser"><a href="/news/{n}" class="teaser-link"><img src="/i/{n}.jpg" alt="">
<h3>Nachricht Nummer {n}</h3></a><p>Ein Text, der mit dem <b>Datensatz</b> nichts zu tun hat, und von dem es viele
gibt.</p><dl><dt>Rubrik</dt><dd>Rubrik {n}</dd></dl></div>
"""


def page(number: int) -> str:
    body = f"""<!DOCTYPE html><html lang="de"><head><meta charset="utf-8"><title>{number} | Daten</title></head>
<body class="node-{number}"><nav class="breadcrumb"><ol><li><a href="/">Start</a></li>
<li><a href="/t/{number % 9}">Thema {number % 9}</a></li></ol></nav>
<main id="content"><h1 class="page-title">Datensatz Nummer {number}</h1><meta itemprop="identifier" content="d{number}">
<div class="field-body"><p>Beschreibung des Datensatzes <em>{number}</em>.</p><ul><li>eins</li><li>zwei</li></ul></div>
<ul class="tags"><li><a href="#">Wasser</a></li><li><a href="#">Pegel {number % 50}</a></li></ul>
<dl class="meta"><dt>Lizenz:</dt><dd><a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a></dd>
<dt>Herausgeber:</dt><dd>Amt Nummer {number % 20}</dd><dt>Erstellt:</dt><dd>{number % 28 + 1:02}.03.2021</dd>
<dt>Turnus:</dt><dd>jährlich</dd></dl><time class="changed" datetime="2026-0{number % 9 + 1}-05">neulich</time>
<section id="coverage"><span class="place">Bezirk {number % 12}</span></section>
<a class="mail" href="mailto:amt{number % 20}@example.org">Post</a></main><aside class="row">
"""
    teasers: list[str] = []
    while len(body) + sum(map(len, teasers)) < SIZE:
        teasers.append(_TEASER.format(n=len(teasers)))
    return f"{body}{''.join(teasers)}</aside></body></html>"


def write(folder: Path, pages: int) -> None:
    for number in range(pages):
        (folder / f"{number}.html").write_text(page(number), encoding="utf-8")
