"""More layouts: each was held out once, written when the learner was thought finished, and showed what it lacked."""

from __future__ import annotations

import json
from html import escape

from tests.layouts.layouts import ES, notice
from tests.layouts.layouts import FR as FR_SEEN
from tests.layouts.parts import Layout, every, html, link, numbers, paragraphs, words
from tests.layouts.records import Record

AR = {
    "publisher": "الناشر",
    "license": "الرخصة",
    "issued": "تاريخ النشر",
    "modified": "آخر تحديث",
    "frequency": "دورية التحديث",
    "themes": "التصنيف",
    "keywords": "الكلمات المفتاحية",
    "contact_email": "البريد الإلكتروني",
}
FR = {
    "publisher": "Éditeur",
    "license": "Licence",
    "issued": "Publié le",
    "modified": "Mis à jour le",
    "frequency": "Rythme de mise à jour",
    "themes": "Thématique",
    "contact_email": "Contact",
}
ISO = numbers("{y}-{m:02}-{d:02}")
SLASHES = numbers("{d:02}/{m:02}/{y}")
SPANISH = words("es", "{d} de {month} de {y}")
FRENCH = words("fr", "{d} {month} {y}")


def shown(record: Record, names: dict[str, str], date: object, keywords: str) -> dict[str, str]:
    """The HTML of each field that the record has, or of all of them, by the field's name."""
    truth = record.truth() | {"themes": record.theme}
    found = {name: escape(str(truth[name] or "")) for name in names if truth[name] or record.shows_empty}
    for name in ("issued", "modified"):
        if found.get(name):
            found[name] = date(found[name])  # type: ignore[operator]
    if record.keywords and "keywords" in names:
        found["keywords"] = keywords
    return found


def liferay(record: Record) -> str:
    """Portlets with instance ids; headings above paragraphs; another portlet with the same headings."""
    tags = every(f'<li><a class="tag" href="/-/tags/{one}">{one}</a></li>' for one in record.keywords)
    found = shown(record, ES, SPANISH, f'<ul class="asset-tags-list">{tags}</ul>')
    boxes = every(
        f'<div class="portlet-msg detalle"><h4>{ES[name]}</h4>{value if name == "keywords" else f"<p>{value}</p>"}</div>'  # noqa: E501
        for name, value in found.items()
    )
    files = every(
        f'<div class="recurso row-fluid"><div class="span8"><a href="{one.url}" title="{escape(one.title)}">'
        f'{escape(one.title)}</a></div><div class="span2 formato">{one.format}</div>'
        f'<div class="span2 tamano">{one.size}</div></div>'
        for one in record.files
    )
    others = every(
        f'<div class="portlet-msg"><h4>Licencia</h4><p>{one.license or "Sin licencia"}</p><a href="/{one.slug}">'
        f"{escape(one.title)}</a></div>"
        for one in record.related
    )
    instance = f"p_p_id_56_INSTANCE_{record.number * 7919 % 9973:04}aB_"
    alert = '<div class="portlet-msg"><h4>Aviso</h4><p>Mantenimiento el 3 de mayo</p></div>' * notice(record)
    body = (
        f'<div id="wrapper"><div id="column-1" class="aui-column">{alert}<div class="portlet-boundary" id="{instance}">'
        f'<div class="portlet-content"><h1 class="header-title"><span>{escape(record.title)}</span></h1>'
        f'<div class="journal-content-article">{paragraphs(record)}</div>{boxes}'
        f'<div class="recursos">{files}</div></div></div></div><div id="column-2" class="aui-column">{others}</div></div>'  # noqa: E501
    )
    return html("es", record.title, body, site="Portal")


def arabic(record: Record) -> str:
    """From right to left; labels with a colon in the same cell as a span."""
    tags = every(f'<span class="label label-default">{one}</span> ' for one in record.keywords)
    lines = every(
        f'<tr><td class="field-label">{AR[name]}:</td><td class="field-value">{value}</td></tr>'
        for name, value in shown(record, AR, SLASHES, tags).items()
    )
    files = every(
        f'<li class="list-group-item"><a href="{one.url}" class="heading">{escape(one.title)}</a>'
        f'<p class="description"><bdi>{one.format}</bdi></p></li>'
        for one in record.files
    )
    bar = '<div class="alert"><b>تنبيه:</b> صيانة</div>' * notice(record)
    body = (
        f'{bar}<section class="module"><h2 class="ds-title">{escape(record.title)}</h2><article>{paragraphs(record)}'
        f'</article><table class="additional-info">{lines}</table></section>'
        f'<section class="module"><h3>الموارد</h3><ul class="resource-list">{files}</ul></section>'
    )
    return html("ar", "بوابة", body)


def spa(record: Record) -> str:
    """What a JavaScript application leaves in the page: test ids, generated classes, its state as JSON."""
    found = shown(record, dict.fromkeys(AR, ""), ISO, "")
    lines = every(
        f'<div class="sc-{hash_(name)} kWxYzA"><div data-testid="meta-{name.replace("_", "-")}" class="sc-9f8e7d">'
        f"<span>{value}</span></div></div>"
        for name, value in found.items()
        if name != "keywords"
    )
    chips = every(f'<button class="chip sc-77ffaa" data-testid="chip">{one}</button>' for one in record.keywords)
    files = every(
        f'<div data-testid="distribution" class="sc-{number}abc1"><a data-testid="download" href="{one.url}">⬇</a>'
        f'<strong>{escape(one.title)}</strong><em class="sc-aa11bb">{one.format}</em></div>'
        for number, one in enumerate(record.files)
    )
    state = json.dumps({"title": record.title, "license": record.license, "tags": record.keywords}).replace(
        "<", "\\u003c"
    )
    banner = '<div class="sc-0a0a0a" role="alert"><span>Beta</span></div>' * notice(record)
    body = (
        f'<div id="__next">{banner}<main class="sc-1b2c3d"><h1 class="sc-4e5f6a">{escape(record.title)}</h1>'
        f'<div data-testid="description" class="markdown">{paragraphs(record)}</div>{lines}'
        f'<div class="sc-5b5b5b">{chips}</div>{files}</main></div><script id="__NEXT_DATA__" type="application/json">'
        f"{state}</script>"
    )
    return html("en", record.title, body)


def hash_(name: str) -> str:
    return f"{sum(map(ord, name)) * 31 % 65536:04x}9z"


def prefecture(record: Record) -> str:
    """Text and label in one line, as paragraphs; keywords as hash tags; files as buttons."""
    lines = every(
        f'<p class="ligne"><i class="picto"></i>{FR[name]} : {value}</p>'
        for name, value in shown(record, FR, FRENCH, "").items()
    )
    tags = every((f'<a href="/?t={one}">{one}</a>' for one in record.keywords), " ")
    files = every(
        f'<div class="bloc-fichier"><h4>{escape(one.title)}</h4>{link(one.url, f"Télécharger ({one.format})", "class=btn")}'  # noqa: E501
        "</div>"
        for one in record.files
    )
    see = every(
        f'<li>{link("/" + one.slug, one.title)}<p class="ligne">Licence : {one.license or "—"}</p></li>'
        for one in record.related
    )
    info = '<p class="ligne">Service indisponible : le 2 mai</p>' * notice(record)
    body = (
        f'<div class="page">{info}<h2 class="titre-page">{escape(record.title)}</h2><div class="chapo">{paragraphs(record)}'  # noqa: E501
        f'</div><div class="encadre">{lines}</div><div class="mots">{tags}</div>{files}'
        f'<div class="voir-aussi"><h3>Voir aussi</h3><ul>{see}</ul></div></div>'
    )
    return html("fr", record.title, body, site="Préfecture")


_FIRST = (
    Layout("liferay", "es", liferay, SPANISH),
    Layout("arabic", "ar", arabic, SLASHES),
    Layout("spa", "en", spa, ISO),
    Layout("prefecture", "fr", prefecture, FRENCH),
)


DE = {
    "publisher": "Datenbereitsteller",
    "license": "Nutzungsbedingungen",
    "issued": "Erstveröffentlichung",
    "modified": "Letzte Änderung",
    "frequency": "Turnus",
    "themes": "Rubrik",
    "keywords": "Stichworte",
    "contact_email": "Ansprechpartner",
}
EL = {
    "publisher": "Δημοσιεύτηκε από",
    "license": "Άδεια χρήσης",
    "issued": "Δημοσίευση",
    "modified": "Ενημέρωση",
    "frequency": "Συχνότητα",
    "themes": "Θέμα",
    "contact_email": "Επικοινωνία",
}
EN = {
    "publisher": "Maintained by",
    "license": "Terms",
    "issued": "First published",
    "modified": "Revision",
    "frequency": "Cycle",
    "themes": "Topic",
    "contact_email": "Mail",
}
GREEK = words("el", "{d} {month} {y}")
GERMAN = numbers("{d:02}.{m:02}.{y}")


def infobox(record: Record) -> str:
    """A wiki: a box at the side, categories at the foot."""
    lines = every(
        f'<tr><th scope="row">{EN[name]}</th><td>{value}</td></tr>'
        for name, value in shown(record, EN, ISO, "").items()
    )
    files = every(
        f'<li><a rel="nofollow" class="external text" href="{one.url}">{escape(one.title)}</a> ({one.format})</li>'
        for one in record.files
    )
    tags = every(f'<li><a href="/wiki/Category:{one}">{one}</a></li>' for one in record.keywords)
    hat = '<div class="hatnote"><p>This page needs work.</p></div>' * notice(record)
    body = (
        f'<div id="content" class="mw-body"><h1 id="firstHeading" class="firstHeading">{escape(record.title)}</h1>{hat}'
        f'<table class="infobox vcard"><caption>{escape(record.title)}</caption>{lines}</table>'
        f'<div class="mw-lead">{paragraphs(record)}</div><h2><span class="mw-headline" id="Files">Files</span></h2>'
        f'<ul class="mw-files">{files}</ul><div id="catlinks" class="catlinks"><a href="/wiki/Special:Categories">'
        f"Categories</a>: <ul>{tags}</ul></div></div>"
    )
    return html("en", record.title, body, site="Wiki")


def accordion(record: Record) -> str:
    """Buttons that open panels; words that no table of synonyms has."""
    found = shown(record, DE, GERMAN, f"<em>{', '.join(record.keywords)}</em>")
    boxes = every(
        f'<div class="accordion-item"><button class="accordion-header" aria-expanded="false">{DE[name]}</button>'
        f'<div class="accordion-panel"><span>{value}</span></div></div>'
        for name, value in found.items()
    )
    files = every(
        f'<details class="datei"><summary>{escape(one.title)}</summary><p>Format: {one.format}</p>'
        f"{link(one.url, 'Herunterladen')}</details>"
        for one in record.files
    )
    first = '<div class="accordion-item"><button class="accordion-header">Hinweis</button><div class="accordion-panel">'
    first = (first + "<span>Wird überarbeitet</span></div></div>") * notice(record)
    body = (
        f'<header><a href="/">Start</a></header><div class="intro"><h2 class="headline">{escape(record.title)}</h2>'
        f'<div class="rte">{paragraphs(record)}</div></div><div class="accordion">{first}{boxes}</div>{files}'
    )
    return html("de", "Datenportal", body)


def roles(record: Record) -> str:
    """Rows that only ARIA knows, and others like them before."""
    lines = every(
        f'<div role="row" class="r"><div role="rowheader">{EL[name]}</div><div role="cell">{value}</div></div>'
        for name, value in shown(record, EL, GREEK, "").items()
    )
    near = every(
        f'<div role="row" class="r"><div role="rowheader">{EL["publisher"]}</div><div role="cell">{one.publisher}</div>'
        f'</div><div role="row" class="r"><div role="rowheader">{EL["license"]}</div><div role="cell">'
        f"{one.license or '-'}</div></div>"
        for one in record.related
    )
    files = every(
        f'<article class="dist"><h3>{escape(one.title)}</h3><a class="dist-link" href="{one.url}">Λήψη</a>'
        f'<span class="dist-format">{one.format}</span></article>'
        for one in record.files
    )
    tags = every(f'<a class="keyword" href="/k/{one}">{one}</a> ' for one in record.keywords)
    body = (
        f'<div role="table" class="latest">{near}</div><div class="entry"><h1>{escape(record.title)}</h1>'
        f'<div class="abstract">{paragraphs(record)}</div><div role="table" class="facts">{lines}</div>'
        f'<p class="keywords">{tags}</p>{files}</div>'
    )
    return html("el", record.title, body)


_SECOND = (
    Layout("infobox", "en", infobox, ISO),
    Layout("accordion", "de", accordion, GERMAN, keywords=", "),
    Layout("roles", "el", roles, GREEK),
)
TIPS = {
    "publisher": "Herausgeber",
    "license": "Lizenz",
    "frequency": "Aktualisierung",
    "themes": "Kategorie",
    "contact_email": "Kontakt",
}


def columns(record: Record) -> str:
    """A list of terms in a grid, a ``dd`` for each keyword; a contact of the portal's own before it."""
    found = shown(record, FR_SEEN, FRENCH, "")
    terms = "".join(
        f'<dt class="col-sm-3 text-end">{FR_SEEN[name]}</dt>'
        + (
            every(f'<dd class="col-sm-9 offset-sm-3">{one}</dd>' for one in record.keywords)
            if name == "keywords"
            else f'<dd class="col-sm-9">{value}</dd>'
        )
        for name, value in found.items()
    )
    files = every(
        f'<tr><td><img src="/i/{one.format}.png" alt=""></td><td>{link(one.url, one.title)}</td><td>{one.format}</td>'
        f"<td>{one.size}</td></tr>"
        for one in record.files
    )
    help_ = '<dl class="row"><dt class="col-sm-3">Courriel</dt><dd class="col-sm-9">aide@example.org</dd></dl>'
    alert = '<div class="alert alert-warning"><h1>Maintenance</h1></div>' * notice(record)
    body = (
        f'<div class="container"><section class="aide"><h2>Aide</h2>{help_}</section>{alert}<section class="fiche">'
        f'<h1 class="mt-4">{escape(record.title)}</h1><div class="presentation">{paragraphs(record)}</div>'
        f'<dl class="row">{terms}</dl><table class="table fichiers">{files}</table></section></div>'
    )
    return html("fr", record.title, body)


def sentences(record: Record) -> str:
    """Facts in running text, a picture for the licence, keywords for machines only."""
    often = f"<p>Frecuencia: {record.frequency}.</p>" if record.frequency else ""
    changed = f" Última modificación: {SPANISH(record.modified)}." if record.modified else ""
    license_ = (
        f'<a rel="license" href="/aviso"><img src="/cc.png" alt="{escape(record.license)}"></a>'
        if record.license
        else ""
    )
    mail = f'<p class="contacto"><a href="mailto:{record.email}">Contacto</a></p>' if record.email else ""
    crumbs = f'<li><a href="/tema">{record.theme}</a></li>' if record.theme else ""
    files = every(
        f'<li class="descarga"><a href="{one.url}" title="{escape(one.title)}">{one.format}</a> <span>{one.size}</span>'
        for one in record.files
    )
    meta = f'<meta name="keywords" content="{", ".join(record.keywords)}">' if record.keywords else ""
    new = '<p class="novedad">Publicado el nuevo portal</p>' * notice(record)
    body = (
        f'<ol class="migas"><li><a href="/">Inicio</a></li>{crumbs}</ol>{new}<h1>{escape(record.title)}</h1>'
        f'<p class="autoria">Publicado el {SPANISH(record.issued)} por {escape(record.publisher)}.{changed}</p>'
        f'<div class="entradilla">{paragraphs(record)}</div>{often}{license_}{mail}<ul class="descargas">{files}</ul>'
    )
    return html("es", record.title, body, meta, "Instituto")


def tooltips(record: Record) -> str:
    """Pictures with the label in a tooltip; times that say how long ago."""
    found = shown(record, TIPS, ISO, "")
    lines = every(
        f'<li title="{TIPS[name]}" data-toggle="tooltip"><i class="glyphicon glyphicon-asterisk"></i>{value}</li>'
        for name, value in found.items()
    )
    times = f'<time itemprop="datePublished" datetime="{record.issued}">vor langer Zeit</time>'
    if record.modified:
        times += f' <time itemprop="dateModified" datetime="{record.modified}">neulich</time>'
    files = every(
        f'<div class="row file-row"><div class="col-6">{link(one.url, one.title)}</div><div class="col-2">{one.format}'
        f'</div><div class="col-2">{one.size}</div></div>'
        for one in record.files
    )
    tags = every(f'<li class="schlagwort">{one}</li>' for one in record.keywords)
    note = '<ul class="angaben"><li title="Hinweis">in Arbeit</li></ul>' * notice(record)
    body = (
        f'<div class="kopf"><h2>{escape(record.title)}</h2>{times}</div>{note}<div class="beschreibung">'
        f'{paragraphs(record)}</div><ul class="angaben">{lines}</ul><ul class="schlagworte">{tags}</ul>'
        f'<div class="dateien">{files}</div>'
    )
    return html("de", "Datensatz", body)


_THIRD = (
    Layout("columns", "fr", columns, FRENCH),
    Layout("sentences", "es", sentences, SPANISH, keywords=", "),
    Layout("tooltips", "de", tooltips),
)
FURTHER = (*_FIRST, *_SECOND, *_THIRD)
