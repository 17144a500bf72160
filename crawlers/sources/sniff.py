"""What an answer is, by its head alone: CKAN's API, RDF, a data.json, an HTML page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from crawlers.mapping import data_json
from crawlers.rdf import formats
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from scrapy.http import Response

Kind = Literal["ckan", "rdf", "data_json", "html", "other"]

_HEAD = 64 * 1024
_DATASETS = re.compile(rb"http://www\.w3\.org/ns/dcat#|\bdcat:(Dataset|Catalog|dataset)\b")

_SCHEMA_ORG = re.compile(
    rb"""["']@type["']\s{0,9}:\s{0,9}\[?\s{0,9}["'](schema:|https?://schema\.org/)?Data(set|Catalog)\b"""
    rb"""|itemtype=["']?https?://schema\.org/Data(set|Catalog)\b"""
)


@dataclass(frozen=True, slots=True)
class Sniffed:
    """
    Args:
        says: what it is, for people.
    """

    kind: Kind
    says: str


def sniff(response: Response) -> Sniffed:
    """
    >>> from scrapy.http import TextResponse
    >>> sniff(TextResponse("https://example.org/c", body=b"@prefix dcat: <http://www.w3.org/ns/dcat#> ."))
    Sniffed(kind='rdf', says='DCAT in Turtle')
    """
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    format_ = formats.detect(content_type, response.url, response.body[:_HEAD])
    if format_ == "html":
        structured = " with schema.org's datasets" if _SCHEMA_ORG.search(response.body) else ""
        return Sniffed("html", f"an HTML page{structured}")
    if format_ is None:
        named = content_type.partition(";")[0].strip()[:100]
        return Sniffed("other", f"neither RDF nor JSON nor HTML, but {named or 'of no type that it says'}")
    if format_.family == "json":
        return _json(response.body)
    if _DATASETS.search(response.body):
        return Sniffed("rdf", f"DCAT in {format_.name}")
    return Sniffed("other", f"{format_.name} that describes no dataset")


def _json(body: bytes) -> Sniffed:
    content = _content(body)
    count = ckan_count(content)
    if count is not None or (isinstance(content, dict) and {"help", "success"} <= content.keys()):
        return Sniffed("ckan", "an answer of CKAN's API")
    if data_json.recognised(content):
        return Sniffed("data_json", "a data.json")
    if b'"@' in body and _DATASETS.search(body):
        return Sniffed("rdf", "DCAT in JSON-LD")
    return Sniffed("other", "JSON that is neither a data.json nor DCAT in JSON-LD")


def ckan_count(content: Any) -> int | None:
    """How many datasets a package_search answers that there are; ``None`` when it is no such answer.

    >>> ckan_count({"success": True, "result": {"count": 7, "results": []}}), ckan_count({"success": True})
    (7, None)
    """
    result = content.get("result") if isinstance(content, dict) and content.get("success") is True else None
    count = result.get("count") if isinstance(result, dict) and "results" in result else None
    return count if type(count) is int and count >= 0 else None


def counted(response: Response) -> int | None:
    """How many datasets CKAN says it has, if the answer is CKAN's to package_search."""
    return ckan_count(_content(response.body))


def _content(body: bytes) -> Any:
    """The JSON value; of a data.json, of which only the head came, what came."""
    try:
        return strict_json.loads(body)
    except (ValueError, RecursionError):
        return data_json.up_to_an_error(body.decode("utf-8", "replace"))
