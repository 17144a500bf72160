"""The families by the names of their rules files in tests/rules/."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.portal.html.aspnet import ASPNET
from tests.portal.html.drupal import Drupal
from tests.portal.html.javascript import Buttons, InfiniteScroll, LoadMore, Pager, Rendered, Script
from tests.portal.html.linked import RDFLink, SchemaOrg
from tests.portal.html.listings import Categories, Sitemap
from tests.portal.html.search_form import SearchGet, SearchPost
from tests.portal.html.tables import GermanTable, SpanishTable

if TYPE_CHECKING:
    from tests.portal.html.catalogue import HTMLCatalogue

PLAIN: dict[str, type[HTMLCatalogue]] = {
    "drupal": Drupal,
    "table_de": GermanTable,
    "table_es": SpanishTable,
    "aspnet": ASPNET,
    "schema_org": SchemaOrg,
    "rdf_link": RDFLink,
    "sitemap": Sitemap,
    "categories": Categories,
    "search_post": SearchPost,
    "search_get": SearchGet,
}
BROWSER: dict[str, type[HTMLCatalogue]] = {
    "js_pager": Pager,
    "js_datasets": Rendered,
    "js_buttons": Buttons,
    "js_script": Script,
    "infinite": InfiniteScroll,
    "load_more": LoadMore,
}
FAMILIES = PLAIN | BROWSER
