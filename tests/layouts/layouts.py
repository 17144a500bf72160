"""How catalogues look that have no API, in families; what stands on the pages is in `tests.layouts.records`."""

from __future__ import annotations

from html import escape

from tests.layouts.parts import Layout, every, html, link, numbers, paragraphs, words
from tests.layouts.records import Record

Rows = list[tuple[str, str]]


def rows(record: Record, names: dict[str, str], layout: str, keywords: str) -> Rows:
    """Labels with their values' HTML, for the fields that the record has, or all of them."""
    date = DATES[layout]
    values = {
        "publisher": escape(record.publisher),
        "license": record.license and escape(record.license),
        "issued": date(record.issued),
        "modified": record.modified and date(record.modified),
        "frequency": record.frequency,
        "themes": record.theme,
        "keywords": keywords,
        "contact_email": record.email and link(f"mailto:{record.email}", record.email),
    }
    return [(label, str(values[name] or "")) for name, label in names.items() if values[name] or record.shows_empty]


DATES = {
    "dl": numbers("{y}-{m:02}-{d:02}"),
    "table": words("de", "{d}. {month} {y}"),
    "cells": numbers("{d:02}/{m:02}/{y}"),
    "drupal": words("en", "{month} {d}, {y}"),
    "cards": words("fr", "{d} {month} {y}"),
    "bold": numbers("{d:02}.{m:02}.{y}"),
    "above": words("en", "{d} {month} {y}"),
    "aspnet": numbers("{d}/{m}/{y}"),
    "typo3": numbers("{d:02}.{m:02}.{y}"),
    "nineties": words("en", "{month} {d}, {y}"),
    "hashed": numbers("{y}-{m:02}-{d:02}"),
    "icons": words("en", "{d} {month} {y}"),
}
EN = {
    "publisher": "Publisher",
    "license": "License",
    "issued": "Release date",
    "modified": "Last updated",
    "frequency": "Update frequency",
    "themes": "Category",
    "keywords": "Tags",
    "contact_email": "Contact e-mail",
}
DE = {
    "publisher": "Herausgeber",
    "license": "Lizenz",
    "issued": "Veröffentlicht am",
    "modified": "Aktualisiert am",
    "frequency": "Aktualisierungszyklus",
    "themes": "Kategorie",
    "keywords": "Schlagwörter",
    "contact_email": "E-Mail",
}
ES = {
    "publisher": "Publicador",
    "license": "Licencia",
    "issued": "Fecha de publicación",
    "modified": "Última actualización",
    "frequency": "Frecuencia de actualización",
    "themes": "Categoría",
    "keywords": "Etiquetas",
    "contact_email": "Correo electrónico",
}
FR = {
    "publisher": "Producteur",
    "license": "Licence",
    "issued": "Date de publication",
    "modified": "Dernière mise à jour",
    "frequency": "Fréquence",
    "themes": "Thème",
    "keywords": "Mots-clés",
    "contact_email": "Courriel",
}
EL = {
    "publisher": "Φορέας",
    "license": "Άδεια",
    "issued": "Ημερομηνία δημοσίευσης",
    "modified": "Τελευταία ενημέρωση",
    "frequency": "Συχνότητα ενημέρωσης",
    "themes": "Κατηγορία",
    "keywords": "Ετικέτες",
    "contact_email": "Email επικοινωνίας",
}


def notice(record: Record) -> bool:
    """Whether the page has a box that neither of those shown has."""
    return record.number % 4 == 3


def dl(record: Record) -> str:
    """A list of terms; the related datasets below have lists of their own."""
    tags = every((link(f"/tag/{one}", one) for one in record.keywords), ", ")
    terms = every(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in rows(record, EN, "dl", tags))
    files = every(
        f'<li class="file"><span class="badge">{one.format}</span> {link(one.url, one.title)} <small>{one.size}</small>'
        for one in record.files
    )
    related = every(
        f'<div class="teaser"><h3>{link("/datasets/" + one.slug, one.title)}</h3>'
        f"<dl><dt>License</dt><dd>{one.license or 'unknown'}</dd><dt>Publisher</dt><dd>{one.publisher}</dd></dl></div>"
        for one in record.related
    )
    body = (
        '<nav class="breadcrumb"><a href="/">Home</a> / <a href="/datasets">Datasets</a> / '
        f"<span>{escape(record.title)}</span></nav><main><h1>{escape(record.title)}</h1>"
        f'<div class="notes">{paragraphs(record)}</div><dl class="metadata">{terms}</dl>'
        f'<h2>Files</h2><ul class="files">{files}</ul></main><aside><h2>Related</h2>{related}</aside>'
        "<footer><p>Licence of this site: all rights reserved</p></footer>"
    )
    return html("en", record.title, body)


def table(record: Record) -> str:
    """Rows of a Bootstrap table, in German; the keywords are one text."""
    keywords = ", ".join(record.keywords)
    lines = every(f"<tr><th>{label}</th><td>{value}</td></tr>" for label, value in rows(record, DE, "table", keywords))
    files = every(
        f"<tr><td>{escape(one.title)}</td><td>{one.format}</td><td>{one.size}</td><td>{link(one.url, 'Download')}</td>"
        for one in record.files
    )
    body = (
        '<div class="container"><div class="row"><div class="col-md-8">'
        f'<h1 class="page-header">{escape(record.title)}</h1><div class="well">{paragraphs(record)}</div>'
        f'<table class="table table-striped"><tbody>{lines}</tbody></table>'
        '<table class="table table-resources"><thead><tr><th>Titel</th><th>Format</th><th>Größe</th><th></th></tr>'
        f'</thead><tbody>{files}</tbody></table></div><div class="col-md-4"><h3>Suche</h3>'
        '<form action="/suche"><input name="q"><label>Kategorie</label><select><option>Umwelt</option></select></form>'
        "</div></div></div>"
    )
    return html("de", record.title, body)


def cells(record: Record) -> str:
    """A table that is all ``td``, as word processors leave them."""
    keywords = "; ".join(record.keywords)
    named = [("Título", escape(record.title)), ("Descripción", "<br>".join(escape(one) for one in record.description))]
    lines = every(
        f'<tr><td width="30%" bgcolor="#eeeeee"><b>{label}:</b></td><td>{value}</td></tr>'
        for label, value in [*named, *rows(record, ES, "cells", keywords)]
    )
    files = every(f"<p>{link(one.url, one.title)} [{one.format}, {one.size}]</p>" for one in record.files)
    body = (
        '<table width="100%"><tr><td><a href="/">Inicio</a></td><td><a href="/catalogo">Catálogo</a></td></tr></table>'
        f'<h2>Catálogo de datos</h2><table border="1" class="ficha">{lines}</table>'
        f'<div id="descargas"><h3>Descargas</h3>{files}</div>'
    )
    return html("es", "Ficha", body)


def drupal(record: Record) -> str:
    """Drupal's fields, each in a box with the name of its machine."""
    boxes = every(
        f'<div class="field field-name-field-{name} field-type-text field-label-inline clearfix">'
        f'<div class="field-label">{label}:&nbsp;</div><div class="field-items">{_items(name, value)}</div></div>'
        for name, (label, value) in zip(
            [one.replace("_", "-") for one in _present(record)], rows(record, EN, "drupal", _TAGS(record)), strict=True
        )
    )
    files = every(
        f'<li><div property="dcat:Distribution">{link(one.url, one.title, "class=heading")}'
        f'<span class="format-label" data-format="{one.format.lower()}">{one.format}</span></div></li>'
        for one in record.files
    )
    other = every(
        f'<div class="views-row"><h4>{one.title}</h4><div class="field field-name-field-license"><div '
        f'class="field-items"><div class="field-item even">{one.license or "None"}</div></div></div></div>'
        for one in record.related
    )
    body = (
        f'<div id="sidebar-first"><h2>Latest datasets</h2>{other}</div><div id="content"><h1 class="title" '
        f'id="page-title">{escape(record.title)}</h1><article class="node node-dataset" id="node-{record.number + 77}">'
        '<div class="field field-name-body field-type-text-with-summary field-label-hidden"><div class="field-items">'
        f'<div class="field-item even">{paragraphs(record)}</div></div></div>'
        f'<div class="resource-list"><ul>{files}</ul></div>{boxes}</article></div>'
    )
    return html("en", record.title, body, f'<link rel="canonical" href="/dataset/{record.slug}">')


def _present(record: Record) -> list[str]:
    truth = record.truth()
    return [name for name in EN if truth[name] or record.shows_empty]


def _TAGS(record: Record) -> str:
    return "\n".join(link(f"/tags/{one}", one) for one in record.keywords)


def _items(name: str, value: str) -> str:
    found = value.split("\n") if name == "keywords" else [value]
    return every(
        f'<div class="field-item {"odd" if number % 2 else "even"}">{one}</div>' for number, one in enumerate(found)
    )


def cards(record: Record) -> str:
    """Bootstrap's cards: a label above each value, words of the grid as classes, badges for keywords."""
    badges = every(f'<span class="badge badge-info">{one}</span> ' for one in record.keywords)
    boxes = every(
        f'<div class="col-sm-6 col-lg-4 mb-3"><div class="card h-100"><div class="card-header">{label}</div>'
        f'<div class="card-body">{value}</div></div></div>'
        for label, value in rows(record, FR, "cards", badges)
    )
    files = every(
        '<a class="list-group-item list-group-item-action d-flex" '
        f'href="{one.url}"><strong>{escape(one.title)}</strong><span class="ml-auto badge badge-dark">{one.format}'
        "</span></a>"
        for one in record.files
    )
    related = every(
        f'<div class="card"><div class="card-header">Licence</div><div class="card-body">{one.license or "-"}</div>'
        '<span class="badge badge-info">voisin</span></div>'
        for one in record.related
    )
    body = (
        f'<div class="container"><h1 class="display-4">{escape(record.title)}</h1><p class="lead">'
        f'{escape(" ".join(record.description))}</p><div class="row" id="metadonnees">{boxes}</div>'
        f'<div class="list-group">{files}</div><div class="row">{related}</div></div>'
    )
    return html("fr", record.title, body)


def bold(record: Record) -> str:
    """One paragraph with bold labels and line breaks."""
    lines = every(
        (f"<b>{label}:</b> {value}" for label, value in rows(record, DE, "bold", ", ".join(record.keywords))), "<br>\n"
    )
    files = every((link(one.url, one.title) + f" ({one.format})" for one in record.files), "<br>")
    body = (
        f'<div id="inhalt">{"<p><b>Hinweis:</b> Diese Daten werden geprüft.</p>" * notice(record)}'
        f'<h2>{escape(record.title)}</h2><div class="text">{paragraphs(record)}</div>'
        f'<p class="angaben">{lines}</p><p class="dateien">{files}</p></div>'
        '<div id="rechts"><b>Kontakt:</b> Bürgerbüro<br><b>E-Mail:</b> <a href="mailto:buero@example.org">'
        "buero@example.org</a></div>"
    )
    return html("de", "Datensatz", f"<h1>Stadt Musterstadt</h1>{body}")


def above(record: Record) -> str:
    """A heading above each value."""
    boxes = every(
        f'<div class="item"><div class="caption">{label}</div><div class="content">{value}</div></div>'
        for label, value in rows(record, EN, "above", every(f"<span>{one}</span>" for one in record.keywords))
    )
    files = every(
        f'<div class="download"><h4>{escape(one.title)}</h4><p>{one.format}</p>{link(one.url, "Get it")}</div>'
        for one in record.files
    )
    box = (
        '<div class="item alert"><div class="caption">Notice</div><div class="content">License under review</div></div>'
    )
    body = (
        f'<header><h1>Data portal</h1></header>{box * notice(record)}<section class="dataset"><h2>{escape(record.title)}</h2>'  # noqa: E501
        f'<div class="summary"><h3>Description</h3><div>{paragraphs(record)}</div></div>{boxes}{files}</section>'
    )
    return html("en", record.title, body)


def wordpress(record: Record) -> str:
    """An article: what it is of stands in its markup, not beside it."""
    tags = every((link(f"/tag/{one}/", one, 'rel="tag"') for one in record.keywords), ", ")
    license_ = f"<li>License: {escape(record.license)}</li>" if record.license else ""
    often = f"<li>Updated: {record.frequency}</li>" if record.frequency else ""
    modified = record.modified and (
        f'<time class="updated" datetime="{record.modified}T08:00:00+00:00">{record.modified[:4]}</time>'
    )
    mail = f"<li>Write to {link('mailto:' + record.email, record.email)}</li>" if record.email else ""
    theme = f'<span class="cat-links">In {link("/category/x", record.theme or "", "rel=category")}</span>'
    files = every(
        f'<li class="wp-file"><a href="{one.url}" class="wp-file-link">{escape(one.title)}</a> <em>{one.format}</em>'
        for one in record.files
    )
    recent = every(f'<li><a href="/{one.slug}/" rel="bookmark">{one.title}</a></li>' for one in record.related)
    body = (
        f'<div class="widget"><h2 class="widget-title">Recent</h2><ul>{recent}</ul></div>'
        f'<article id="post-{record.number + 4000}" class="post-{record.number + 4000} post type-post hentry">'
        f'<header class="entry-header"><h1 class="entry-title">{escape(record.title)}</h1><div class="entry-meta">'
        f'<time class="entry-date published" datetime="{record.issued}T08:00:00+00:00">{record.issued[:4]}</time>'
        f'{modified or ""} by <span class="author vcard"><a class="url fn n" href="/author/x">'
        f"{escape(record.publisher)}</a></span></div></header>"
        f'<div class="entry-content">{paragraphs(record)}</div><ul class="facts">{license_}{often}{mail}</ul>'
        f'<ul class="wp-files">{files}</ul><footer class="entry-footer"><span class="tags-links">{tags}</span>'
        f"{theme if record.theme else ''}</footer></article>"
    )
    return html("en", record.title, body, f'<meta property="og:title" content="{escape(record.title)}">', "A blog")


def itemprops(record: Record) -> str:
    """Names of properties, without a type that would tell what has them."""
    names = {"publisher": "publisher", "license": "license", "frequency": "frequency", "themes": "about"}
    truth = record.truth() | {"themes": record.theme}
    lines = every(
        f'<div class="row"><span class="col-3 text-muted">{name[:3]}</span><span itemprop="{property_}">{truth[name]}'
        "</span></div>"
        for name, property_ in names.items()
        if truth[name]
    )
    dates = every(
        f'<meta itemprop="{name}" content="{value}">'
        for name, value in (("datePublished", record.issued), ("dateModified", record.modified))
        if value
    )
    files = every(
        f'<p itemprop="distribution"><a itemprop="contentUrl" href="{one.url}"><span itemprop="name">'
        f'{escape(one.title)}</span></a> <span itemprop="encodingFormat">{one.format}</span></p>'
        for one in record.files
    )
    mail = f'<span itemprop="email">{record.email}</span>' if record.email else ""
    body = (
        f'<div class="box"><h1 itemprop="name">{escape(record.title)}</h1><div itemprop="description">'
        f"{paragraphs(record)}</div>{lines}{dates}{mail}<div>"
        f"{every(f'<span itemprop=keywords>{one}</span> ' for one in record.keywords)}</div>{files}</div>"
        f'<div class="box similar">{every(f"<p><span itemprop=name>{one.title}</span></p>" for one in record.related)}</div>'  # noqa: E501
    )
    return html("en", record.title, body)


def aspnet(record: Record) -> str:
    """Web forms: long ids, labels in Greek."""
    ids = dict(zip(EL, ("Publisher", "License", "Issued", "Modified", "Freq", "Cat", "Tags", "Mail"), strict=True))
    found = dict(rows(record, EL, "aspnet", ", ".join(record.keywords)))
    lines = every(
        f'<tr><td nowrap="true" class="ms-formlabel"><h3 class="ms-standardheader"><nobr>{label}</nobr></h3></td>'
        f'<td class="ms-formbody"><span id="ctl00_PlaceHolderMain_g_{ids[name]}">{found[label]}</span></td></tr>'
        for name, label in EL.items()
        if label in found
    )
    files = every(
        f'<tr class="ms-itmhover"><td><a id="ctl00_PlaceHolderMain_Files_ctl{number + 2:02}_lnk" href="{one.url}">'
        f'{escape(one.title)}</a></td><td class="ms-vb2">{one.format}</td><td class="ms-vb2">{one.size}</td></tr>'
        for number, one in enumerate(record.files)
    )
    body = (
        f'<form id="aspnetForm" action="x.aspx"><input type="hidden" name="__VIEWSTATE" value="/wEPDwUK{record.number}">'  # noqa: E501
        f'<span id="ctl00_PlaceHolderMain_lblTitle" class="ms-rteElement-H1">{escape(record.title)}</span>'
        f'<div id="ctl00_PlaceHolderMain_RichHtmlField" class="ms-rtestate-field">{paragraphs(record)}</div>'
        f'<table class="ms-formtable">{lines}</table><table id="ctl00_PlaceHolderMain_Files"><tr><th>Αρχείο</th>'
        f"<th>Τύπος</th><th>Μέγεθος</th></tr>{files}</table></form>"
    )
    return html("el", "Ανοιχτά δεδομένα", body)


def typo3(record: Record) -> str:
    """A list of label and value in spans; the ids of the boxes change with the page."""
    lines = every(
        f'<li><span class="bez">{label}:</span> <span class="wert">{value}</span></li>'
        for label, value in rows(record, DE, "typo3", " | ".join(record.keywords))
    )
    files = every(
        f'<li class="csc-uploads-element"><a href="{one.url}" title="{escape(one.title)}"><img alt="" src="i.gif"></a> '
        f'<span class="csc-uploads-fileName">{link(one.url, one.title)}</span> '
        f'<span class="csc-uploads-type">{one.format}</span></li>'
        for one in record.files
    )
    number = 3000 + record.number
    body = (
        f"<!--TYPO3SEARCH_begin-->{'<div class=csc-default><p class=bodytext>Wartung am 1. Mai</p></div>' * notice(record)}"  # noqa: E501
        f'<div id="c{number}" class="csc-default"><div class="csc-header">'
        f'<h1 class="csc-firstHeader">{escape(record.title)}</h1></div><div class="bodytext">{paragraphs(record)}</div>'
        f'</div><div id="c{number + 1}" class="csc-default"><ul class="tx-opendata">{lines}</ul></div>'
        f'<div id="c{number + 2}" class="csc-default"><ul class="csc-uploads">{files}</ul></div>'
        '<div class="csc-default" id="c12"><h2>Kontakt</h2><ul><li><span class="bez">E-Mail:</span> <span class="wert">'
        "stadt@example.org</span></li></ul></div>"
    )
    return html("de", record.title, body)


def nineties(record: Record) -> str:
    """No class, no id: fonts, breaks, rulers."""
    lines = every(
        f'<font size="2" color="navy"><b>{label}</b>:</font> <font size="2">{value}</font><br>\n'
        for label, value in rows(record, EN, "nineties", ", ".join(record.keywords))
    )
    files = every(f'<li><a href="{one.url}">{escape(one.title)}</a> ({one.format})\n' for one in record.files)
    body = (
        f"{'<center><font color=red>New server!</font></center>' * notice(record)}"
        f'<center><font size="5"><b>{escape(record.title)}</b></font></center><hr>'
        f"<blockquote>{'<p>'.join(escape(one) for one in record.description)}</blockquote><hr>{lines}<hr>"
        f"<ul>{files}</ul><hr><address>webmaster@example.org</address>"
    )
    return html("en", "Data", body)


def hashed(record: Record) -> str:
    """Classes that a bundler made."""
    lines = every(
        f'<div class="css-1n2h3k4"><span class="css-9xk2lq">{label}</span><span class="css-0p3mzb">{value}</span></div>'
        for label, value in rows(
            record, EN, "hashed", every(f'<i class="css-77ab0c">{one}</i>' for one in record.keywords)
        )
    )
    files = every(
        f'<div class="FileRow__3xK2a"><a class="FileRow__link__9QpZ1" href="{one.url}">{escape(one.title)}</a>'
        f'<span class="css-1f00ba">{one.format}</span></div>'
        for one in record.files
    )
    body = (
        f'<div id="root">{"<div class=css-abc123><span class=css-9xk2lq>Cookies</span></div>" * notice(record)}'
        f'<div class="css-abc123"><h1 class="css-q1w2e3">{escape(record.title)}</h1>'
        f'<div class="Markdown__root__2bXyZ">{paragraphs(record)}</div><div class="css-5t6y7u">{lines}</div>'
        f'<div class="css-8i9o0p">{files}</div></div></div>'
    )
    return html("en", record.title, body)


def icons(record: Record) -> str:
    """Pictures in place of labels: only classes tell what a value is."""
    found = dict(rows(record, dict(zip(EN, EN, strict=True)), "icons", ""))
    lines = every(
        f'<li class="meta-item meta-{name.replace("_", "-")}"><i class="icon fa fa-{name}"></i> <span>{value}</span></li>'  # noqa: E501
        for name, value in found.items()
    )
    files = every(
        f'<li class="resource-item" data-id="{record.slug}-{number}"><a class="resource-url" href="{one.url}">'
        f'<span class="resource-name">{escape(one.title)}</span></a><span class="resource-format">{one.format}</span></li>'  # noqa: E501
        for number, one in enumerate(record.files)
    )
    tags = every(f'<li><a class="tag" href="/?tag={one}">{one}</a></li>' for one in record.keywords)
    cloud = '<ul class="tag-cloud"><li><a class="tag" href="/?tag=all">all</a></li></ul>'
    body = (
        f'<div class="sidebar">{cloud}</div><div class="main"><h1>{escape(record.title)}</h1>'
        f'<div class="dataset-description">{paragraphs(record)}</div><ul class="meta-list">{lines}</ul>'
        f'<ul class="tag-list">{tags}</ul><ul class="resources">{files}</ul></div>'
        f"{'<ul class=meta-list><li class=meta-item>Related: 3</li></ul>' * notice(record)}"
    )
    return html("en", record.title, body)


LAYOUTS = (
    Layout("dl", "en", dl, DATES["dl"]),
    Layout("table", "de", table, DATES["table"], keywords=", "),
    Layout("cells", "es", cells, DATES["cells"], keywords="; "),
    Layout("drupal", "en", drupal, DATES["drupal"]),
    Layout("cards", "fr", cards, DATES["cards"]),
    Layout("bold", "de", bold, DATES["bold"], keywords=", "),
    Layout("above", "en", above, DATES["above"]),
    Layout("wordpress", "en", wordpress),
    Layout("itemprops", "en", itemprops),
    Layout("aspnet", "el", aspnet, DATES["aspnet"], keywords=", "),
    Layout("typo3", "de", typo3, DATES["typo3"], keywords=" | "),
    Layout("nineties", "en", nineties, DATES["nineties"], keywords=", "),
    Layout("hashed", "en", hashed, DATES["hashed"]),
    Layout("icons", "en", icons, DATES["icons"]),
)
"""The layouts that the learner was made with; others are in `tests.layouts.further` and `held_out`."""
