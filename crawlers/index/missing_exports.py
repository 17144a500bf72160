"""Datasets whose record is on disk, and an export of it is not, or is of an older record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection

_CURRENT = """
SELECT 1 FROM documents e WHERE e.source = d.source AND e.dataset_id = d.dataset_id
AND e.metadata_modified IS d.metadata_modified
AND replace(replace(substr(e.last_seen, 1, 19), '-', ''), ':', '') || 'Z' >= substr(d.run, 1, 16)
"""
_OF_DATASETS = f"NOT EXISTS ({_CURRENT} AND e.kind = 'dataset_metadata' AND e.resource_id = '')"
_OF_RESOURCES = f"""
EXISTS (SELECT 1 FROM resources r WHERE r.source = d.source AND r.dataset_id = d.dataset_id
AND NOT EXISTS ({_CURRENT} AND e.kind = 'resource_metadata' AND e.resource_id = r.resource_id))
"""  # noqa: S608  # the text above
_LACKING = """
SELECT d.dataset_id FROM documents d WHERE d.source = ? AND d.kind = 'dataset' AND d.resource_id = ''
AND d.dataset_id IN (SELECT value FROM json_each(?)) AND ({lacks})
"""
_LACKS = {"dataset": _OF_DATASETS, "resource": _OF_RESOURCES}


def without_exports(db: sqlite3.Connection, source: str, ids: list[str], kinds: Collection[str]) -> set[str]:
    """Return those of the datasets that lack an export: it failed, or the run that asked for it was stopped.

    Args:
        kinds: of which exports are wanted, one at least: ``dataset``, ``resource``.
    """
    query = _LACKING.format(lacks=" OR ".join(_LACKS[kind] for kind in kinds))
    return {row[0] for row in db.execute(query, (source, json.dumps(ids)))}
