"""What a CKAN portal is asked once its API is found, and what its answers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.records import values
from crawlers.records.moment import moment
from crawlers.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.ecosystem.sites.visit import Visit

    Parameters = dict[str, Any]

_ROUND = 100
"""CKAN cuts its lists of names at 1,000, or at another round number that its operator sets."""
_MOST = 20_000  # names that are counted
_MOST_EXTENSIONS = 1000
_LONGEST = 5000  # characters of a text
_LARGEST = 10**12  # of a number
_STATUS = {
    "site_title": "site_title",
    "description": "site_description",
    "ckan_version": "ckan_version",
    "locale": "locale_default",
    "contact": "error_emails_to",
}
"""The fields of a site, by what status_show calls them."""


@dataclass(frozen=True, slots=True)
class Question:
    """An action that a portal is asked for.

    Args:
        read: notes in the visit what the result says; returns the parameters of the question's next part, if any. It
            raises AnswerError if the result is not what the action gives.
    """

    action: str
    parameters: Parameters
    read: Callable[[Any, Visit], Parameters | None]


def is_search(result: Any) -> bool:
    """Return whether a result is one of package_search."""
    return isinstance(result, dict) and isinstance(result.get("results"), list) and "count" in result


def _status(result: Any, visit: Visit) -> None:
    record = Record(_object(result))
    extensions = [name[:_LONGEST] for name in record.texts("extensions")[:_MOST_EXTENSIONS]]
    visit.site |= {field: (record.text(name) or "")[:_LONGEST] or None for field, name in _STATUS.items()}
    visit.site["extensions"] = extensions if "extensions" in record.data else None


def _newest(result: Any, visit: Visit) -> None:
    """Note the number of datasets, and which of them changed last."""
    count = visit.site["num_datasets"] = _count(result)
    if not count:
        return
    identifier, visit.site["newest_modified"] = _first(result)
    if count == 1:
        visit.site["oldest_modified"] = visit.site["newest_modified"]
    else:
        visit.newest = identifier


def _oldest(result: Any, visit: Visit) -> None:
    identifier, oldest = _first(result)
    newest = visit.site.get("newest_modified")
    before, after = moment(oldest), moment(newest)
    if identifier == visit.newest or (before and after and after < before):
        visit.site["newest_modified"] = None
        raise AnswerError("refused", "the portal does not sort by metadata_modified")
    visit.site["oldest_modified"] = oldest


def _datasets(result: Any, visit: Visit) -> None:
    visit.site["num_datasets"] = _count(result)


def _resources(result: Any, visit: Visit) -> None:
    found, datasets = _count(result), visit.site.get("num_datasets")
    if not found and datasets != 0:
        of_many = "its" if datasets is None else f"its {datasets}"
        raise AnswerError("refused", f"the portal says that {of_many} datasets have no resource")
    visit.site["num_resources"] = found


def _organizations(result: Any, visit: Visit) -> Parameters | None:
    return _names(result, visit, "num_organizations")


def _groups(result: Any, visit: Visit) -> Parameters | None:
    return _names(result, visit, "num_groups")


def _names(result: Any, visit: Visit, field: str) -> Parameters | None:
    """Count a list of names; one of a round number may be cut, so that it is asked what comes behind it."""
    if not isinstance(result, list):
        raise AnswerError("refused", "the portal answered without a list")
    names = [str(name.get("name") if isinstance(name, dict) else name)[:_LONGEST] for name in result]
    total = visit.counted + len(names)
    is_repeated = bool(visit.counted and names and names[0] == visit.first)
    if is_repeated or total >= _MOST:
        raise AnswerError("refused", f"the portal lists {visit.counted or total}, and perhaps there are more")
    if not names or len(names) % _ROUND:
        visit.site[field] = total
        return None
    visit.counted, visit.first = total, visit.first or names[0]
    return {"offset": total}


def _object(result: Any) -> dict[str, Any]:
    if not isinstance(result, dict):
        raise AnswerError("refused", "the portal answered without an object")
    return result


def _count(result: Any) -> int:
    count = _object(result).get("count")
    if type(count) is not int or not 0 <= count < _LARGEST:
        raise AnswerError("refused", "the portal answered without a number")
    return count


def _first(result: Any) -> tuple[str, str | None]:
    """Return the id of the first dataset of a page, and when it was changed."""
    found = _object(result).get("results")
    record = Record(found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {})
    identifier = record.text("id")
    if identifier is None:
        raise AnswerError("refused", "the portal answered without a dataset")
    return identifier, record.read(values.date, "metadata_modified")


QUESTIONS = {
    "newest": Question("package_search", {"rows": 1, "sort": "metadata_modified desc"}, _newest),
    "datasets": Question("package_search", {"rows": 0}, _datasets),
    "status": Question("status_show", {}, _status),
    "oldest": Question("package_search", {"rows": 1, "sort": "metadata_modified asc"}, _oldest),
    "organizations": Question("organization_list", {}, _organizations),
    "groups": Question("group_list", {}, _groups),
    "resources": Question("resource_search", {"query": "url:", "limit": 0}, _resources),
}
"""By their names; the first shows where the API is."""
