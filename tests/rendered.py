"""Pages of CKAN and udata by the templates of their packages on PyPI, which `make` unpacks; the rest is stood in for.

The templates are AGPL, so neither they nor what is made of them is here: each test renders anew.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import cmarkgfm
from jinja2 import ChainableUndefined, Environment, FileSystemLoader, nodes
from jinja2.ext import Extension
from markupsafe import Markup, escape

FOLDER = Path(sys.prefix) / "templates"


def versions(software: str) -> list[str]:
    """Return the versions of which there are templates, the oldest first."""
    return sorted((each.name for each in (FOLDER / software).glob("*")), key=lambda name: [*map(int, name.split("."))])


PORTAL = "https://data.example.org"
TITLE = "Town Open Data"
_TAGS = re.compile(r"<[^><]*>")
_TYPED = re.compile(r"\b(dataset|resource|organization|group)_(read|edit|groups|activity|index|about)\b")


class Tag(Extension):
    """CKAN's own tags, as ``ckan/lib/jinja_extensions.py`` has them: ``{% link_for text, named_route="about" %}``."""

    tags = frozenset(("snippet", "url_for", "url_for_static", "link_for", "asset", "resource"))

    def parse(self, parser: Any) -> nodes.Node:
        tag = next(parser.stream)
        given, named = [], []
        while not parser.stream.current.test_any("block_end"):
            if given or named:
                parser.stream.expect("comma")
            if parser.stream.current.test("name") and parser.stream.look().test("assign"):
                name = nodes.Const(next(parser.stream).value)
                parser.stream.skip()
                named.append(nodes.Pair(name, parser.parse_expression()))
            else:
                given.append(parser.parse_expression())
        call = self.call_method(f"_{tag.value}", [nodes.List(given), nodes.Dict(named)])
        return nodes.Output([nodes.MarkSafe(call)]).set_lineno(tag.lineno)

    def _snippet(self, names: list[str], named: dict[str, Any]) -> str:
        return self.environment.get_template(names[0]).render(**named)

    def _url_for(self, given: list[Any], named: dict[str, Any]) -> Markup:
        return escape(url_for(*given, **named))

    def _url_for_static(self, given: list[Any], named: dict[str, Any]) -> str:
        return str(given[0])

    def _link_for(self, given: list[Any], named: dict[str, Any]) -> str:
        return nav_link(*given, **named)

    def _asset(self, given: list[Any], named: dict[str, Any]) -> str:
        return ""

    _resource = _asset


class Nothing(ChainableUndefined):
    """What is not stood in for: it is empty, and so is all that it gives."""

    def __call__(self, *_: Any, **__: Any) -> Nothing:
        return self

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__

    def __mul__(self, _: Any) -> int:
        return 0


class Helpers:
    """``h``: what the pages of datasets need of ``ckan/lib/helpers.py``; all else says nothing."""

    def __getattr__(self, name: str) -> Nothing:
        return Nothing()

    literal = staticmethod(Markup)

    def url_for(self, *given: Any, **named: Any) -> str:
        return url_for(*given, **named)

    def link_to(self, text: str, href: str, **named: Any) -> Markup:
        return Markup(f'<a href="{escape(href)}">{escape(text or href)}</a>')

    def nav_link(self, *given: Any, **named: Any) -> str:
        return nav_link(*given, **named)

    def mail_to(self, email_address: str, name: str) -> Markup:
        return Markup(f"<a href=mailto:{escape(email_address)}>{escape(name)}</a>")

    def build_nav_icon(self, route: str, text: str, **named: Any) -> Markup:
        return Markup(f"<li>{nav_link(text, named_route=route, **named)}</li>")

    def build_nav_main(self, *links: Any) -> Markup:
        return Markup("".join(f"<li>{nav_link(each[1], named_route=each[0])}</li>" for each in links))

    def url_for_static(self, path: str, **_: Any) -> str:
        return path

    def lang(self) -> str:
        return "en"

    unix_locale_to_bcp47 = staticmethod(str)

    def ckan_version(self) -> str:
        return self.version

    def default_package_type(self) -> str:
        return "dataset"

    def default_group_type(self, kind: str) -> str:
        return kind

    def dataset_display_name(self, package: Any) -> str:
        return package["title"] or package["name"]

    def resource_display_name(self, resource: Any) -> str:
        named, described = resource.get("name"), resource.get("description")
        if named or not described:
            return named or "Unnamed resource"
        return described.split(".")[0][:60] + ("..." if len(described.split(".")[0]) > 60 else "")

    def get_translated(self, record: Any, field: str) -> Any:
        return record.get(field) or ""

    def get_organization(self, *_: Any, **__: Any) -> Any:
        return self.package["organization"]

    def render_markdown(self, text: str, **_: Any) -> Markup:
        return Markup(cmarkgfm.markdown_to_html(text))

    def markdown_extract(self, text: str, extract_length: int = 190) -> Markup:
        plain = " ".join(_TAGS.sub("", cmarkgfm.markdown_to_html(text or "")).split())
        is_short = not extract_length or len(plain) < extract_length
        return Markup(plain if is_short else plain[: extract_length - 3].rpartition(" ")[0] + "...")

    def truncate(self, text: str, length: int = 30, **_: Any) -> str:
        return text if len(text) <= length else text[: length - 3] + "..."

    def is_url(self, text: str) -> bool:
        return text.startswith(("http://", "https://", "ftp://"))

    def sorted_extras(self, extras: Any, **_: Any) -> list[tuple[str, str]]:
        return sorted((each["key"], each["value"]) for each in extras or ())

    def render_datetime(self, moment: str, date_format: str | None = None, **_: Any) -> str:
        return f"{moment[:19]}+0000" if date_format else f"{moment[:10]}, {moment[11:16]} (UTC)"

    def dict_list_reduce(self, records: Any, key: str, **_: Any) -> list[Any]:
        return list(dict.fromkeys(each[key] for each in records if each.get(key)))

    def localised_number(self, number: int) -> str:
        return f"{number:,}"

    def SI_number_span(self, number: Any) -> Markup:
        return Markup(f"<span>{number or 0}</span>")

    def snippet(self, name: str, **named: Any) -> Markup:
        return Markup(self.environment.get_template(name).render(**named))


def url_for(*given: Any, **named: Any) -> str:
    """Return an address as CKAN's routes make it."""
    route = str(given[0] if given else named.pop("named_route", "") or "")
    for key in ("controller", "action", "named_route", "locale", "_external", "ver", "class_", "icon", "title"):
        held = named.pop(key, None)
        if key == "controller" and not route:
            route = {"package": "dataset"}.get(str(held), str(held))
        elif key == "action" and "." not in route and held:
            route = f"{route}.{held}"
    route = _TYPED.sub(r"\1.\2", route).replace("dataset_resource", "resource").replace("_resource.", ".resource_")
    kind, _, action = route.partition(".")
    kind, action = ("resource", "read") if "resource" in route else (kind, action)
    start = f"/{kind}/"
    if "id" in named:
        start = f"/dataset/{named.pop('id')}" if kind in ("dataset", "resource") else f"/{kind}/{named.pop('id')}"
    if "resource_id" in named:
        start += f"/resource/{named.pop('resource_id')}"
    elif action not in ("read", "search", "index", ""):
        start += f"/{action}"
    return start + (f"?{urlencode(named)}" if named else "")


def nav_link(text: str, *_: Any, **named: Any) -> str:
    title = f' title="{escape(named["title"])}"' if "title" in named else ""
    shown = f' class="{named["class_"]}"' if "class_" in named else ""
    return f'<a href="{escape(url_for(**named))}"{shown}{title}>{escape(text)}</a>'


class Results:
    """``page``: a page of a search, as ``ckan.lib.helpers.Page`` is."""

    def __init__(self, packages: list[Any], number: int, size: int = 20) -> None:
        self.items = packages[size * (number - 1) : size * number]
        self.item_count, self.number = len(packages), number
        self.last = -(-len(packages) // size)

    def pager(self, **_: Any) -> Markup:
        near = [n for n in range(1, self.last + 1) if n in (1, self.last) or abs(n - self.number) < 3]
        links = [(n, str(n)) for n in near]
        links = [(self.number - 1, "«"), *links] if self.number > 1 else links
        links = [*links, (self.number + 1, "»")] if self.number < self.last else links
        made = "".join(
            f'<li class="page-item{" active" if text == str(self.number) else ""}">'
            f'<a class="page-link" href="/dataset/?page={n}">{text}</a></li>'
            for n, text in links
        )
        return Markup(f'<div class="pagination-wrapper"><ul class="pagination">{made}</ul></div>')


class CKAN:
    """The pages of one version of CKAN.

    Args:
        version: one of `versions("ckan")`.
        words: translations, by the English text.
        theme: the folder of the templates.
    """

    def __init__(self, version: str, words: dict[str, str] | None = None, theme: str = "templates") -> None:
        loader = FileSystemLoader(FOLDER / "ckan" / version / "ckan" / theme)
        self.environment = Environment(
            loader=loader,
            autoescape=True,
            undefined=Nothing,
            extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", "jinja2.ext.i18n", Tag],
        )
        self.environment.filters["empty_and_escape"] = lambda value: "" if value is None else escape(value)
        self.h = Helpers()
        self.h.version, self.h.environment = version, self.environment
        say = (words or {}).get
        text = lambda one: say(one, one)  # noqa: E731
        several = lambda one, more, count: text(one if count == 1 else more)  # noqa: E731
        self.environment.install_gettext_callables(text, several)
        anonymous = {"site_title": TITLE, "template_title_delimiter": "-", "template_head_end": Markup("")}
        self.environment.globals |= {"h": self.h, "g": anonymous, "c": anonymous, "app_globals": anonymous}
        self.environment.globals |= {"request": {"params": {}, "args": {}}, "csrf_token": str, "ungettext": several}

    def dataset(self, package: dict[str, Any]) -> str:
        """Return the page of a package that ``package_show`` gives."""
        self.h.package = package
        self.environment.globals["c"] = self.environment.globals["c"] | {"pkg_dict": package}
        page = self.environment.get_template("package/read.html")
        return page.render(pkg_dict=package, pkg=package, dataset_type="dataset")

    def listing(self, packages: list[dict[str, Any]], number: int = 1) -> str:
        """Return a page of the listing."""
        shown = Results(packages, number)
        self.environment.globals["c"] = self.environment.globals["c"] | {"page": shown}
        page = self.environment.get_template("package/search.html")
        return page.render(page=shown, dataset_type="dataset", q="")


class Cached(Extension):
    """udata's tag: ``{% cache duration, key %} ... {% endcache %}``."""

    tags = frozenset(("cache",))

    def parse(self, parser: Any) -> list[nodes.Node]:
        while not parser.stream.current.test("block_end"):
            next(parser.stream)
        return parser.parse_statements(("name:endcache",), drop_needle=True)


class Filters(dict[str, Any]):
    """Filters, of which those that are not stood in for leave a value as it is."""

    def __missing__(self, name: str) -> Any:
        return lambda value=None, *_, **__: value

    def get(self, name: str, _: Any = None) -> Any:
        return self[name]


class Fields(dict[str, Any]):
    """A record as templates ask it: what it lacks is nothing."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name, Nothing())


class Udata:
    """The pages of one version of udata's theme, udata-front."""

    def __init__(self, version: str) -> None:
        folder = FOLDER / "udata-front" / version / "udata_front/theme/gouvfr/templates"
        extensions = ["jinja2.ext.do", "jinja2.ext.i18n", Cached]
        self.environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=Nothing,
            extensions=extensions,
            line_comment_prefix="##",
        )
        self.environment.filters = Filters(self.environment.filters)
        self.environment.filters |= {
            "markdown": lambda text: Markup(cmarkgfm.markdown_to_html(text or "")),
            "dateformat": lambda moment, **_: str(moment)[:10],
            "group_resources_by_type": lambda resources: {("main", "Files"): resources},
            "group_resources_by_schema": lambda _: {},
            "tojson": lambda _: "null",
        }
        text = lambda one, **named: one % named if named else one  # noqa: E731
        several = lambda one, more, count, **named: text(one if count == 1 else more, num=count, **named)  # noqa: E731
        self.environment.install_gettext_callables(text, several)
        self.environment.globals |= dict.fromkeys(("hook", "external_source", "organization_type"), Nothing())
        self.environment.globals |= {
            "theme": str,
            "_": text,
            "ngettext": several,
            "url_for": self.url_for,
            "url_rewrite": lambda _, page: f"?page={page}",
            "theme_static": lambda path, **_: f"/{path}",
            "resource_image": lambda _: "svg/resources/file.svg",
            "get_flashed_messages": list,
            "config": Fields(SITE_TITLE=TITLE, RESOURCES_DEFAULT_PAGE_SIZE=20),
            "current_site": Fields(title=TITLE, keywords=[], metrics={"datasets": 45}),
            "request": Fields(args={}, view_args={}),
            "can_edit": Fields(can=lambda: False),
            "CONTACT_ROLES": {},
        }

    def url_for(self, route: str, **named: Any) -> str:
        if "dataset" in named:
            return f"/datasets/{named['dataset'].slug}/"
        if "org" in named:
            return f"/organizations/{named['org'].name}/"
        return f"/datasets/?{urlencode(named)}" if route == "datasets.list" else f"/{route}"

    def dataset(self, record: dict[str, Any]) -> str:
        """Return the page of a package dict, as a dataset of udata."""
        page = self.environment.get_template("dataset/display.html")
        return page.render(
            dataset=_of_udata(record), reuses=Fields(page=1, pages=1), total_reuses=0, total_dataservices=0
        )

    def listing(self, records: list[dict[str, Any]], number: int = 1) -> str:
        """Return a page of the listing."""
        shown = Results(records, number)
        found = [_of_udata(record) for record in shown.items]
        every = _Found(found, total=shown.item_count, page=number, pages=shown.last)
        return self.environment.get_template("dataset/list.html").render(datasets=every)


class _Found(list[Any]):
    """A page of results: a list that has attributes, too."""

    def __init__(self, found: list[Any], **named: Any) -> None:
        super().__init__(found)
        self.__dict__ |= named | {"query": Fields(_query="")}


def _of_udata(record: dict[str, Any]) -> Fields:
    resources = [
        Fields(
            id=each["id"],
            title=each["name"],
            latest=each["url"],
            url=each["url"],
            format=each["format"],
            extras={},
            metrics=Fields(),
            json_ld=Fields(url=each["url"]),
            last_modified=record["metadata_modified"],
        )
        for each in record["resources"]
    ]
    organization = record["organization"]
    community = Fields(
        id="c", title="Of a reader", latest="https://files.example.org/c.csv", extras={}, metrics=Fields()
    )
    return Fields(
        id=record["id"],
        slug=record["name"],
        title=record["title"],
        full_title=record["title"],
        acronym="TR",
        description=record["notes"],
        tags=[each["name"] for each in record["tags"]],
        organization=organization
        and Fields(organization, name=organization["title"], logo=lambda *_, **__: "/logo.png"),
        license=record["license_id"] and Fields(title=record["license_title"], url=record.get("license_url")),
        resources=resources,
        community_resources=[community],
        contact_points=[],
        extras={},
        metrics=Fields(),
        last_modified=record["metadata_modified"],
        last_update=record["metadata_modified"],
        created_at=record["metadata_created"],
    )
