"""The views of index.sqlite: the questions that they answer, by the name of the view."""

from __future__ import annotations

from dataclasses import dataclass

STALE = (
    *((code, 2) for code in ("UPDATE_CONT", "CONT", "1MIN", "5MIN", "10MIN", "15MIN", "30MIN", "HOURLY", "BIHOURLY")),
    *((code, 2) for code in ("TRIHOURLY", "12HRS", "DAILY_3", "DAILY_2", "DAILY")),
    *((code, 8) for code in ("WEEKLY_5", "WEEKLY_3", "WEEKLY_2", "WEEKLY")),
    *(("BIWEEKLY", 15), ("MONTHLY_3", 16), ("MONTHLY_2", 24), ("MONTHLY", 32), ("BIMONTHLY", 63), ("QUARTERLY", 94)),
    *(("ANNUAL_3", 125), ("ANNUAL_2", 186), ("ANNUAL", 367), ("BIENNIAL", 732), ("TRIENNIAL", 1097)),
    *(("QUADRENNIAL", 1462), ("QUINQUENNIAL", 1828), ("DECENNIAL", 3654)),
    *(("BIDECENNIAL", 7306), ("TRIDECENNIAL", 10959)),
)
"""Days after which a dataset of that frequency is late: its period, and a day."""

FIELDS = (
    *("title", "description", "publisher", "contact", "license", "landing_page", "issued", "modified", "frequency"),
    *("keywords", "themes", "languages", "spatial", "temporal_start", "version", "identifier", "resources"),
)
"""What `completeness` looks at."""

_DUE = " ".join(f"WHEN '{code}' THEN date('now', '-{days} days')" for code, days in STALE)
_FILLED = ", ".join(f"sum({name} IS NOT NULL) AS {name}" for name in FIELDS if name != "resources")
_NAMES = ", ".join(f"('{name}')" for name in FIELDS)
_COUNTS = " ".join(f"WHEN '{name}' THEN {name}" for name in FIELDS)
_LAST = """
    SELECT run FROM runs r WHERE r.source = s.source
    ORDER BY finished > strftime('%Y-%m-%dT%H:%M', 'now', '+1 hour'), finished DESC, run DESC LIMIT 1
"""  # of the source s; a run that ended in the future had a wrong clock
_DAY = "coalesce(data_modified, modified, issued)"
_PAGE = "rtrim(replace(landing_page, 'https://', 'http://'), '/')"
_TITLE = "lower(trim(title)) || char(10) || lower(trim(coalesce(publisher, '')))"
_KEYS = {"1uri": "uri", "2identifier": "identifier", "3landing_page": "page", "4title": "named"}
_SAME = " UNION ALL ".join(
    f"""
    SELECT '{way}' AS way, {key} AS same, count(*) AS datasets, '[' || group_concat(id) || ']' AS ids
    FROM held WHERE {key} IS NOT NULL GROUP BY 2 HAVING min(source) < max(source)
    """  # noqa: S608
    for way, key in _KEYS.items()
)


@dataclass(frozen=True, slots=True)
class View:
    """A question, and the query that answers it.

    Args:
        columns: the meaning of each, in their order.
    """

    description: str
    columns: dict[str, str]
    query: str


_SOURCE = {"source": "The source."}
_DATASET = {**_SOURCE, "dataset_id": "The dataset's id there.", "title": "Its title."}

VIEWS = {
    "overview": View(
        "Each source as it stands now: how many datasets, and how its last run went.",
        {
            **_SOURCE,
            "datasets": "How many it has, without those withdrawn.",
            "withdrawn": "How many it had once.",
            "resources": "How many the datasets have.",
            "last_run": "The name of the run that ended last.",
            "last_verdict": "The verdict of that run.",
            "last_finished": "When that run ended.",
            "last_complete": "When its last complete run began.",
        },
        f"""
        SELECT s.source,
            (SELECT count(*) FROM datasets d WHERE d.source = s.source AND withdrawn = 0) AS datasets,
            (SELECT count(*) FROM datasets d WHERE d.source = s.source AND withdrawn = 1) AS withdrawn,
            (SELECT sum(resources) FROM datasets d WHERE d.source = s.source AND withdrawn = 0) AS resources,
            last.run AS last_run, last.verdict AS last_verdict, last.finished AS last_finished,
            (SELECT max(started) FROM runs r WHERE r.source = s.source AND verdict = 'complete') AS last_complete
        FROM sources s LEFT JOIN runs last ON last.source = s.source AND last.run = ({_LAST})
        """,  # noqa: S608
    ),
    "changed": View(
        "The history of all datasets, newest first; `WHERE time > '2026-11-20'`.",
        {
            "time": "When its document was written or marked, UTC.",
            **_SOURCE,
            "status": "new, updated, withdrawn or restored.",
            "dataset_id": "The dataset's id there.",
            "title": "Its title as it is now.",
            "run": "The run that saw it.",
        },
        """
        SELECT time, source, status, dataset_id, title, run
        FROM changes LEFT JOIN datasets USING (source, dataset_id) ORDER BY time DESC
        """,
    ),
    "broken": View(
        "What is missing after each source's last run, by kind of error.",
        {
            **_SOURCE,
            "run": "Its last run.",
            "kind": "The kind of error, as in errors.jsonl.",
            "count": "How many there were.",
        },
        f"""
        SELECT e.source, e.run, e.kind, e.count
        FROM sources s CROSS JOIN run_errors e ON e.source = s.source AND e.run = ({_LAST})
        ORDER BY e.count DESC
        """,  # noqa: S608
    ),
    "formats": View(
        "How many resources there are of each format, in how many datasets and sources.",
        {
            "format": "The format; empty where none is given.",
            "resources": "How many resources have it.",
            "datasets": "How many datasets have such a resource.",
            "sources": "How many sources have such a dataset.",
        },
        """
        SELECT format, sum(n) AS resources, count(*) AS datasets, count(DISTINCT source) AS sources
        FROM (
            SELECT r.source, coalesce(r.format, '') AS format, count(*) AS n
            FROM datasets d CROSS JOIN resources r USING (source, dataset_id) WHERE d.withdrawn = 0
            GROUP BY d.id, 2
        )
        GROUP BY 1 ORDER BY resources DESC
        """,
    ),
    "licences": View(
        "How many datasets there are under each licence.",
        {
            "license": "Its SPDX identifier, else the source's own, title or address; empty where none is given.",
            "datasets": "How many datasets are under it.",
            "sources": "In how many sources.",
        },
        """
        SELECT coalesce(license, '') AS license, count(*) AS datasets, count(DISTINCT source) AS sources
        FROM datasets WHERE withdrawn = 0 GROUP BY 1 ORDER BY datasets DESC
        """,
    ),
    "freshness": View(
        "How long ago each source's datasets were modified, by their own word.",
        {
            **_SOURCE,
            "age": "month, year, five years, older or unknown.",
            "datasets": "How many are of that age.",
        },
        f"""
        SELECT source,
            CASE WHEN modified IS NULL THEN 'unknown'
                WHEN modified >= date('now', '-30 days') THEN 'month'
                WHEN modified >= date('now', '-365 days') THEN 'year'
                WHEN modified >= date('now', '-1825 days') THEN 'five years' ELSE 'older' END AS age,
            count(*) AS datasets
        FROM (SELECT source, {_DAY} AS modified FROM datasets WHERE withdrawn = 0)
        GROUP BY 1, 2
        """,  # noqa: S608
    ),
    "completeness": View(
        "How many of each source's datasets say something in each field.",
        {
            **_SOURCE,
            "field": "A column of datasets.",
            "filled": "How many datasets have it.",
            "datasets": "How many there are, without those withdrawn.",
        },
        f"""
        SELECT source, field, CASE field {_COUNTS} END AS filled, datasets
        FROM (
            SELECT source, count(*) AS datasets, {_FILLED}, sum(resources > 0) AS resources
            FROM datasets WHERE withdrawn = 0 GROUP BY source
        ) CROSS JOIN (SELECT column1 AS field FROM (VALUES {_NAMES}))
        """,  # noqa: S608
    ),
    "growth": View(
        "How many datasets each source had at the end of each day on which that changed.",
        {
            **_SOURCE,
            "day": "The day, UTC.",
            "datasets": "How many there were, without those withdrawn.",
        },
        """
        SELECT source, day, sum(change) OVER (PARTITION BY source ORDER BY day) AS datasets
        FROM (
            SELECT source, substr(time, 1, 10) AS day, sum(CASE status WHEN 'withdrawn' THEN -1 ELSE 1 END) AS change
            FROM changes WHERE status IN ('new', 'restored', 'withdrawn') GROUP BY 1, 2
        )
        """,
    ),
    "late": View(
        "Datasets that should have been modified since, by their own frequency.",
        {
            **_DATASET,
            "frequency": "How often it should be updated: a code of the EU's vocabulary.",
            "modified": "When it last was, by its own word.",
            "days": "How many days ago that was.",
        },
        f"""
        SELECT source, dataset_id, title, frequency, day AS modified,
            cast(julianday('now') - julianday(
                CASE length(day) WHEN 4 THEN day || '-12-31' WHEN 7 THEN day || '-28' ELSE substr(day, 1, 10) END
            ) AS INTEGER) AS days
        FROM (
            SELECT source, dataset_id, title, frequency, {_DAY} AS day
            FROM datasets WHERE withdrawn = 0 AND frequency IS NOT NULL
        )
        WHERE day || '~' < CASE frequency {_DUE} END
        """,  # noqa: S608
    ),
    "duplicates": View(
        "Datasets that more than one source has: the same identifier or address, or title and publisher.",
        {
            "title": "The title of one of them.",
            "datasets": "How many there are.",
            "sources": "In how many sources.",
            "among": "Those sources, with commas between.",
            "by": "What is the same: uri, identifier, landing_page, or title (and publisher).",
            "same": "The value that is the same.",
            "ids": "The datasets' `id` in the table datasets, a JSON list.",
        },
        f"""
        WITH held AS MATERIALIZED (
            SELECT id, source, uri, identifier, {_PAGE} AS page, {_TITLE} AS named FROM datasets WHERE withdrawn = 0
        )
        SELECT d.title, s.datasets, count(DISTINCT d.source) AS sources, group_concat(DISTINCT d.source) AS among,
            substr(s.way, 2) AS "by", s.same, s.ids
        FROM (SELECT min(way) AS way, same, datasets, ids FROM ({_SAME}) GROUP BY ids) s
        CROSS JOIN json_each(s.ids) one CROSS JOIN datasets d ON d.id = one.value
        GROUP BY s.ids ORDER BY sources DESC, datasets DESC
        """,  # noqa: S608
    ),
}
"""In the order in which they are made."""
