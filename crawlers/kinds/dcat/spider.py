"""The spider of every catalogue that publishes DCAT."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.kinds.dcat.dialect import DCATDialect
from crawlers.kinds.dcat.page import RDFPage
from crawlers.listing.spider import ListedSpider

if TYPE_CHECKING:
    from collections.abc import Callable


class DCATSpider(ListedSpider):
    """A catalogue that publishes DCAT: one file, many pages, a single dataset, or a data.json.

    #. Inherit from this class in a module of its own in ``spiders/``, and say in the docstring who runs the catalogue.
    #. Set ``name`` and ``url``; that is all most catalogues need.

    With ``-a since=last`` a catalogue in one file is downloaded only if it has changed, by its ETag or Last-Modified.
    A dataset is withdrawn when two complete listings in a row did not have it: unlike CKAN's, a catalogue's RDF can't
    be queried for one dataset.

    An answer is read by `crawlers.kinds.dcat.answer`; its records become items in `PageRecords`; `DCATDialect` says
    which page follows, and compares with the last complete crawl.

    Attributes:
        url: the catalogue's RDF, or a page that links to it; ``-a url=`` overrides it.
        rules: a file in ``catalogues/`` that says which property is which field; ``-a rules=`` overrides it.
    """

    kind = "dcat"
    arguments: ClassVar[dict[str, Argument]] = ListedSpider.arguments | {
        "url": Argument(help="The catalogue's RDF or data.json, or a page that links to it.", parse=arguments.url),
        "rules": Argument(
            help="A file in catalogues/ that says which property is which field, for RDF that is not DCAT.",
            parse=arguments.text,
        ),
        "language": arguments.LANGUAGE,
        "since": Argument(
            help="last: only if the catalogue has changed since the last complete crawl.",
            parse=arguments.choice("last"),
        ),
    }

    rules: str | None = None

    def __init__(self, **given: str) -> None:
        self.make_page: Callable[..., RDFPage] = RDFPage
        super().__init__(**given)
        self.rules = self.args["rules"] or self.rules
        if self.rules:
            self._follow(self.rules)

    def _follow(self, file: str) -> None:
        """Read pages by the rules of a file; few catalogues need any, so what reads them is imported here."""
        from crawlers.kinds.dcat.rules import lasting  # noqa: PLC0415
        from crawlers.kinds.dcat.translation import TaughtPage  # noqa: PLC0415

        rules = lasting(file)
        self.identity = {"rules": rules.digest}
        self.make_page = partial(TaughtPage, rules)

    def make_dialect(self) -> DCATDialect:
        return DCATDialect(self, str(self.url), self.make_page, self.withdrawals)


class DCAT(DCATSpider):
    """Any catalogue that publishes DCAT, at the address that -a url= gives."""

    name = "dcat"
