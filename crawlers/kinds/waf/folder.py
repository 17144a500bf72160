"""A web server's directory listing, whatever the server: what its links lead to, and how it is recognised."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, unquote_plus, urlencode, urlsplit

from scrapy.http import HtmlResponse

from crawlers.kind import Detector
from crawlers.records.rdf import formats
from crawlers.records.xml import root as xml_root
from crawlers.safety import bounds, html
from crawlers.safety.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from urllib.parse import SplitResult

    from scrapy.http import Response

_RECORD = re.compile(r"\.(xml|rdf|ttl|jsonld)(\.gz)?$", re.IGNORECASE)
_OTHER = re.compile(r"\.(?!(php[0-9]?|aspx?|ashx|jsp|do|cgi|pl|py|cfm|action)$)[a-z][a-z0-9]{0,9}$", re.IGNORECASE)
"""The suffix of a file that is no record, also in a query; a script may give anything."""
_LISTING = re.compile(
    rb"<title>\s*(Index of /|Directory listing for /|[^<]{1,200} - /)|\[To Parent Directory\]|>\s*Parent Directory\s*<|"
    rb'<div class="breadcrumbs">Folder Path</div>',
    re.IGNORECASE,
)
"""What Apache and nginx, Python's http.server, IIS, Tomcat and Caddy say."""
_SORT = {*"cofvnmsd", "sort", "order", "sortby", "orderby", "sort_by", "order_by", "layout"}
"""What the queries of Apache (also 1.3), nginx, lighttpd, Jetty, Tomcat and Caddy name that sort a listing."""
_PAGER = {"page", "p", "pg", "offset", "start", "from", "limit", "per_page", "marker", "cursor"}
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}")
_HIDDEN = frozenset(("head", "h1", "h2", "address", "script"))
"""What has no text that tells one listing from another: a heading has the folder's name."""
_TAGS = bounds.HTML._replace(where="the folder", most=20 * bounds.LINKS.most)


_BUCKET = re.compile(rb"\s*(<\?xml[^>]{0,200}\?>\s*)?<ListBucketResult[\s>]")
_POSITIONS = {"continuation-token", "start-after", "marker"}
"""What of a query says where a page begins."""


class FolderEntry(NamedTuple):
    """A link of a listing.

    Args:
        what: what it leads to: a record, another listing, another page of this one; or it is left, because it lies
            outside of the start address, or may lead to anything.
    """

    address: str
    what: Literal["record", "folder", "page", "left"]


class _Link(NamedTuple):
    """A link as the page has it.

    Args:
        is_iis_folder: whether IIS says that it is a folder, which is not in its address.
    """

    href: str
    is_iis_folder: bool


def root_of(address: str) -> str:
    """Return the folder that an address names, with a slash at its end; nothing above it is part of the crawl.

    >>> root_of("https://a.org/meta"), root_of("https://a.org/meta/index.html"), root_of("https://a.org/meta/?C=N")
    ('https://a.org/meta/', 'https://a.org/meta/', 'https://a.org/meta/')
    """
    bare = address.partition("?")[0]
    folder, _, last = bare.rpartition("/")
    return f"{bare}/" if last and "." not in last else f"{folder}/"


class Folder(html.Events):
    """The links of a page, and the text that it shows; no tree is made of it.

    Args:
        page: the listing.
    """

    def __init__(self, page: HtmlResponse) -> None:
        super().__init__()
        self.page = page
        self._base = ""
        self._links: list[_Link] = []
        self._shown: list[str] = []
        self._text: list[str] = []
        self._before = [""]  # the text before the next child, of each element that is open
        self._hidden = 0

    def read(self) -> Iterator[None]:
        """Read the page; pause now and then, so that the caller can do something else meanwhile.

        Raises:
            AnswerError: ``too_large``: it has more than `crawlers.safety.bounds.LINKS`.
        """
        body = self.page.text.strip().replace("\0", "").encode("utf-8", "replace")
        for _ in html.steps(body, self, _TAGS):
            bounds.LINKS.check(len(self._links))
            yield
        self._end_text()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        super().start(tag, attributes)
        self._end_text()
        if tag == "a" and "href" in attributes:
            self._links.append(_Link(attributes["href"], self._before[-1].rstrip().endswith("<dir>")))
        elif tag == "base":
            self._base = self._base or attributes.get("href", "")
        self._before.append("")
        self._hidden += tag in _HIDDEN

    def end(self, tag: str) -> None:
        super().end(tag)
        self._end_text()
        if len(self._before) > 1:
            self._before.pop()
        self._hidden -= tag in _HIDDEN

    def data(self, text: str) -> None:
        super().data(text)
        self._text.append(text)

    def _end_text(self) -> None:
        if self._text:
            self._before[-1] = text = "".join(self._text)
            self._text.clear()
            if not self._hidden:
                self._shown.append(text)

    def entries(self, root: str) -> Iterator[FolderEntry]:
        """Yield what it links to, each once: what lies below the start address, and what is left.

        Links that sort the listing, to the page itself, to parents and to other files are left out; so is a gzipped
        record beside the record itself.
        """
        known, packed, here = {"", self.page.url, root}, list[FolderEntry](), urlsplit(self.page.url)
        for address in self._addresses():
            if address not in known and (what := _what(address, root, here)):
                known.add(address)
                if address.endswith(".gz"):
                    packed.append(FolderEntry(address, what))
                else:
                    yield FolderEntry(address, what)
        yield from (each for each in packed if each.address.removesuffix(".gz") not in known)

    def _addresses(self) -> Iterator[str]:
        for href, is_iis_folder in self._links:
            address = absolute(href.partition("#")[0], self.page.url, self._base) or ""
            yield address if address.endswith("/") or not is_iis_folder else f"{address}/"

    def digest(self, found: Iterable[FolderEntry]) -> str | None:
        """Return what is the same for a listing and for a link in it that leads to itself.

        Returns:
            ``None`` if the listing has no times: folders of the same names may be different ones.
        """
        text = " ".join(" ".join(self._shown).split())
        if not _TIME.search(text):
            return None
        here = root_of(self.page.url)
        names = [each.address.removeprefix(here) for each in found if each.what != "left"]
        return hashlib.sha256("\n".join([text, *names]).encode(errors="replace")).hexdigest()[:32]


def entries(page: HtmlResponse, root: str) -> Iterator[FolderEntry]:
    """Yield what a listing links to, as `Folder.entries`."""
    folder = Folder(page)
    for _ in folder.read():
        pass
    return folder.entries(root)


def _what(address: str, root: str, here: SplitResult) -> Literal["record", "folder", "page", "left"] | None:
    """Return what a link leads to; ``None`` for what is neither records nor a listing, or may be a menu's.

    Args:
        here: the listing's address.
    """
    link = urlsplit(address)
    if not address.startswith(root) or ".." in unquote(address[len(root) :]).split("/"):
        return "left" if _RECORD.search(link.path) else None
    if _RECORD.search(link.path):
        return "record"
    is_folder, is_here = link.path.endswith("/"), link.path == here.path
    if not link.query:
        return "folder" if is_folder else None
    query = parse_qsl(link.query.replace(";", "&"), keep_blank_values=True)
    names = {name.lower() for name, _ in query}
    if names <= _SORT and (is_folder or is_here):
        return None
    is_other = _OTHER.search(link.path) or _OTHER.search(link.query) or link.path.rpartition("/")[2].isupper()
    if names and names <= _PAGER and (is_here or not is_folder):
        return "page" if is_here or not (is_other or any(not value.isdecimal() for _, value in query)) else None
    return None if is_other and not (is_folder or is_here or _RECORD.search(link.query)) else "left"


def is_listing(body: bytes) -> bool:
    """Return whether a page says that it is a directory listing, as those of the servers above do."""
    return _LISTING.search(body[: 64 * 1024]) is not None


def is_bucket(body: bytes) -> bool:
    """Return whether an answer is the listing of a public bucket in S3, or of a server with the same interface."""
    return _BUCKET.match(body[:1024].removeprefix(b"\xef\xbb\xbf")) is not None


class Bucket:
    """A page of the listing of a bucket: ListObjects, or ListObjectsV2.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html

    Attributes:
        root: the address that keys are appended to.

    Raises:
        AnswerError: it is no whole XML, or has more than `crawlers.safety.bounds.LINKS`.
    """

    def __init__(self, response: Response) -> None:
        self.url = response.url
        bare, _, query = response.url.partition("?")
        self.root = f"{bare.rstrip('/')}/"
        self.query = dict(parse_qsl(query, keep_blank_values=True))
        self.listing: Any = xml_root(response)
        self._is_encoded = self._text("EncodingType") == "url"
        self._keys = self._texts("Contents/Key")
        bounds.LINKS.check(len(self._keys))

    def entries(self) -> Iterator[FolderEntry]:
        """Yield its records, the folders that a delimiter makes, and its next page.

        A gzipped record beside the record itself is left out.
        """
        known = set(self._keys)
        for key in self._keys:
            if _RECORD.search(key) and key.removesuffix(".gz") not in known - {key}:
                is_below = not {".", ".."} & set(key.split("/"))
                yield FolderEntry(self.root + quote(key, safe="/~!*'()"), "record" if is_below else "left")
        for prefix in self._texts("CommonPrefixes/Prefix"):
            yield FolderEntry(self._address({"prefix": prefix}), "folder")
        if self._text("IsTruncated") == "true":
            address = self._next()
            yield FolderEntry(address or self.url, "left" if address in (None, self.url) else "page")

    def _next(self) -> str | None:
        """Return the address of the next page; ``None`` if the page does not say where it begins."""
        if token := self._text("NextContinuationToken"):
            return self._address({"list-type": "2", "continuation-token": token})
        marker = self._texts("NextMarker") or self._keys  # without a delimiter it is the last key
        return self._address({"marker": marker[-1]}) if marker else None

    def _address(self, more: dict[str, str]) -> str:
        stays = {name: value for name, value in self.query.items() if name not in _POSITIONS}
        return f"{self.url.partition('?')[0]}?{urlencode(stays | more, safe='/', quote_via=quote)}"

    def _texts(self, path: str) -> list[str]:
        found = self.listing.iterfind("/".join(f"{{*}}{name}" for name in path.split("/")))
        texts = [element.text or "" for element in found]
        return [unquote_plus(text) for text in texts] if self._is_encoded else texts

    def _text(self, name: str) -> str:
        return (self.listing.findtext(f"{{*}}{name}") or "").strip()


class WAFDetector(Detector):
    """Takes a listing that names records or folders."""

    kind = "waf"

    def recognise(self, response: Response) -> str | None:
        if is_bucket(response.body):
            return "a bucket in S3 that can be listed" if _leads_on(Bucket(response).entries()) else None
        if formats.of_answer(response) != "html" or not is_listing(response.body):
            return None
        page = HtmlResponse(response.url, headers=response.headers, body=response.body)
        return "a web-accessible folder" if _leads_on(entries(page, root_of(response.url))) else None


def _leads_on(found: Iterable[FolderEntry]) -> bool:
    return any(each.what in ("record", "folder") for each in found)
