"""Reads the answers to queries, and finds those that are errors or parts although their status is 200."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.answer import loaded, read
from crawlers.kinds.dcat.page import RDFPage
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from scrapy.http import Response


class Term(NamedTuple):
    """A value of a solution.

    Args:
        type: ``uri``, ``bnode`` or ``literal``.
    """

    type: str
    value: str


def check(response: Response) -> None:
    """Check that an answer is whole.

    Raises:
        AnswerError: the endpoint gave a part, because it ran out of time.
    """
    state = (response.headers.get("X-SQL-State") or b"").decode("latin-1")
    if response.status == 206 or state:
        reason = f"X-SQL-State {state[:40]}" if state else "HTTP 206"
        raise AnswerError("truncated", f"the endpoint gave only a part of the answer ({reason})")


def values(response: Response, variable: str) -> list[Term]:
    """Return the values of a variable in the answer to a SELECT.

    Raises:
        AnswerError: it is no SPARQL result in JSON, or a part of one.
    """
    check(response)
    try:
        bindings = strict_json.loads(response.body)["results"]["bindings"]
        return [_term(row[variable]) for row in bindings if variable in row]
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:
        reason = str(error)
    except (KeyError, TypeError, IndexError):
        reason = "it has other members"
    raise AnswerError("not_json", f"the answer is not a SPARQL result in JSON: {reason}{_beginning(response)}")


def _term(value: Any) -> Term:
    if not isinstance(value["type"], str) or not isinstance(value["value"], str):
        raise TypeError
    return Term(value["type"], value["value"])


def _beginning(response: Response) -> str:
    """Return how an answer begins: the endpoint's error is often there."""
    text = " ".join(response.body[:2000].decode("utf-8", "replace").split())
    return f"; it begins: {text[:200]}" if text else ""


def number(response: Response) -> int:
    """Return the answer to a COUNT.

    Raises:
        AnswerError: it is no such answer.
    """
    found = values(response, "n")
    if len(found) != 1 or not found[0].value.isascii() or not found[0].value.isdigit():
        raise AnswerError("refused", f"the answer to COUNT is not a number{_beginning(response)}")
    return int(found[0].value[:18])


async def graph(response: Response, *, name: str, language: str | None, max_json: int) -> RDFPage:
    """Return the graph in the answer to a CONSTRUCT or DESCRIBE; it is read to its end.

    Raises:
        AnswerError: it is something else than RDF, or the endpoint says that it is only a part.
    """
    check(response)
    page = read(response, name=name, language=language, max_json=max_json)
    if not isinstance(page, RDFPage):
        if page is not None:
            page.close()
        raise AnswerError("not_rdf", f"the endpoint did not answer with RDF{_beginning(response)}")
    return await loaded(page)
