"""The tables of index.sqlite: what crawls remember, and what people ask.

The tables `documents`, `complete` and `sources` say what is on disk; the others say what it describes.
All tables can be rebuilt from the manifests, the documents and the run reports.

The ``stamp`` of a source is another one whenever its rows of `datasets` or `resources` change: `crawlers.store.columns`
has what figures need of them, and ``counted`` what was last counted of them. `daily_changes` counts the rows of
`changes`. `interrupted` has when the report of an interrupted run was last changed: one that is resumed gets another.
"""

from __future__ import annotations

from dataclasses import dataclass

from crawlers.store.index.columns import DATASETS, RESOURCES
from crawlers.store.index.facets import MARK

VERSION = 24  # of the tables and the views; an index of another version is rebuilt

SEARCHED = (
    *("title", "name", "description", "publisher", "keywords", "places", "formats", "resource_titles", "details"),
    "spaced",
)
"""The columns in which `search` finds words; its last column, ``kept``, is for filters."""

INDEXED = (*SEARCHED, "kept")
"""The columns of `search`, whose content is the table `datasets`: a change of that is a change of this."""

DAY = "coalesce(data_modified, modified, issued)"
PAGE = "rtrim(replace(landing_page, 'https://', 'http://'), '/')"
NAMED = "lower(trim(title)) || char(10) || lower(trim(coalesce(publisher, '')))"
LEAST = 12
"""Characters of an identifier that hardly two datasets share: `1` and `2024-01` are many datasets'."""

TABLES = f"""
CREATE TABLE IF NOT EXISTS sources (
    source TEXT PRIMARY KEY, manifest_bytes INTEGER NOT NULL, manifest_tail BLOB NOT NULL,
    described INTEGER NOT NULL DEFAULT 0, stamp TEXT NOT NULL DEFAULT (lower(hex(randomblob(8)))), counted TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS complete (
    source TEXT, scope TEXT, started TEXT, run TEXT, validators TEXT, PRIMARY KEY (source, scope)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    source TEXT, kind TEXT, dataset_id TEXT, resource_id TEXT,
    file TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, metadata_modified TEXT,
    status TEXT NOT NULL, run TEXT NOT NULL, first_seen TEXT NOT NULL, last_seen TEXT NOT NULL,
    metadata_source TEXT, metadata_url TEXT, renamed_from TEXT,
    PRIMARY KEY (source, kind, dataset_id, resource_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS documents_file ON documents (source, sha256) WHERE kind = 'file';
CREATE TABLE IF NOT EXISTS datasets (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, dataset_id TEXT NOT NULL,
    withdrawn INTEGER NOT NULL, sha256 TEXT NOT NULL, flaws INTEGER NOT NULL DEFAULT 0,
    resources INTEGER NOT NULL, formats TEXT,
    metadata_source TEXT, metadata_url TEXT, metadata_modified TEXT, file TEXT NOT NULL,
    {", ".join(column.declared for column in DATASETS)},
    places TEXT, resource_titles TEXT, details TEXT, spaced TEXT, facets TEXT,
    kept TEXT GENERATED ALWAYS AS (
        CASE WHEN withdrawn THEN '{MARK}gone' ELSE '{MARK}here' END
        || coalesce(' {MARK}' || replace(trim(facets, '[]'), ',', ' {MARK}'), '')
    ) VIRTUAL,
    UNIQUE (source, dataset_id)
);
CREATE INDEX IF NOT EXISTS datasets_newest ON datasets ({DAY} DESC);
CREATE INDEX IF NOT EXISTS datasets_issued ON datasets (issued DESC);
CREATE INDEX IF NOT EXISTS datasets_named ON datasets ({NAMED});
CREATE INDEX IF NOT EXISTS datasets_uri ON datasets (uri) WHERE uri IS NOT NULL;
CREATE INDEX IF NOT EXISTS datasets_identifier ON datasets (identifier) WHERE length(identifier) >= {LEAST};
CREATE INDEX IF NOT EXISTS datasets_withdrawn ON datasets (source, withdrawn, resources);
CREATE TABLE IF NOT EXISTS facets (
    code INTEGER PRIMARY KEY, facet TEXT NOT NULL, folded TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (facet, folded)
);
CREATE TABLE IF NOT EXISTS resources (
    source TEXT, dataset_id TEXT, position INTEGER, resource_id TEXT,
    {", ".join(column.declared for column in RESOURCES)},
    PRIMARY KEY (source, dataset_id, position)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    source TEXT NOT NULL, dataset_id TEXT NOT NULL, time TEXT NOT NULL, status TEXT NOT NULL, run TEXT NOT NULL,
    PRIMARY KEY (source, dataset_id, time, status)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS changes_time ON changes (time);
CREATE INDEX IF NOT EXISTS changes_of_source ON changes (source, time);
CREATE TABLE IF NOT EXISTS daily_changes (
    source TEXT, run TEXT, day TEXT, status TEXT, count INTEGER NOT NULL, PRIMARY KEY (source, run, day, status)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    source TEXT, run TEXT, spider TEXT, arguments TEXT, started TEXT, finished TEXT, seconds REAL,
    finish_reason TEXT, verdict TEXT, expected INTEGER, listed INTEGER,
    new INTEGER, updated INTEGER, unchanged INTEGER, withdrawn INTEGER, restored INTEGER, fallback INTEGER,
    failed INTEGER, requests INTEGER, retries INTEGER, bytes INTEGER, resumed INTEGER, since TEXT, flaws TEXT,
    PRIMARY KEY (source, run)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_started ON runs (started, source, run);
CREATE INDEX IF NOT EXISTS runs_finished ON runs (source, finished, run);
CREATE TABLE IF NOT EXISTS interrupted (
    source TEXT, run TEXT, changed INTEGER NOT NULL, PRIMARY KEY (source, run)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS run_errors (
    source TEXT, run TEXT, kind TEXT, count INTEGER, PRIMARY KEY (source, run, kind)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flaws (
    source TEXT, dataset_id TEXT, resource_id TEXT, field TEXT, kind TEXT,
    time TEXT NOT NULL, run TEXT NOT NULL, dataset_name TEXT, dataset_title TEXT, url TEXT, error TEXT,
    PRIMARY KEY (source, dataset_id, resource_id, field, kind)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flaws_read (
    source TEXT PRIMARY KEY, bytes INTEGER NOT NULL, tail BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS captures (
    source TEXT NOT NULL, dataset_id TEXT NOT NULL, resource_id TEXT NOT NULL, url TEXT NOT NULL,
    origin TEXT, title TEXT, format TEXT, mode TEXT, request_type TEXT,
    state TEXT NOT NULL, status INTEGER, error TEXT, reason TEXT, is_broken INTEGER, http_status INTEGER,
    redirects TEXT NOT NULL, headers TEXT NOT NULL, method TEXT, request_headers TEXT NOT NULL,
    media_type TEXT, found_type TEXT, extension TEXT, finding TEXT,
    name TEXT, size INTEGER, sha256 TEXT, md5 TEXT, etag TEXT, last_modified TEXT, fresh_until TEXT,
    kept_at TEXT, cache_url TEXT, first_failure TEXT, last_success TEXT, failure_count INTEGER,
    time TEXT NOT NULL, run TEXT NOT NULL, host TEXT NOT NULL, is_last INTEGER NOT NULL,
    UNIQUE (source, dataset_id, resource_id, url, run)
);
CREATE INDEX IF NOT EXISTS captures_last ON captures (source, dataset_id, resource_id, url) WHERE is_last;
CREATE INDEX IF NOT EXISTS captures_broken ON captures (source) WHERE is_last AND is_broken IS NOT 0;
CREATE INDEX IF NOT EXISTS captures_blob ON captures (sha256);
CREATE INDEX IF NOT EXISTS captures_served ON captures (resource_id, kept_at) WHERE kept_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS captures_run ON captures (source, run, state);
CREATE TABLE IF NOT EXISTS captures_read (
    source TEXT PRIMARY KEY, bytes INTEGER NOT NULL, tail BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS observations (
    source TEXT, day TEXT, metric TEXT, subject TEXT, value TEXT NOT NULL,
    PRIMARY KEY (source, day, metric, subject)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS observations_read (
    source TEXT, file TEXT, bytes INTEGER NOT NULL, changed INTEGER NOT NULL, sha256 TEXT NOT NULL,
    PRIMARY KEY (source, file)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5 (
    {", ".join(INDEXED)}, content = 'datasets', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO search (search, rank) VALUES ('automerge', 16);
"""  # noqa: S608  # the names are those above


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
_KEYS = {"1uri": "uri", "2identifier": "identifier", "3landing_page": "page", "4title": "named"}
_SAME = " UNION ALL ".join(
    f"""
    SELECT '{way}' AS way, {key} AS same, count(*) AS datasets, '[' || group_concat(id) || ']' AS ids
    FROM held WHERE {key} IS NOT NULL GROUP BY 2 HAVING min(source) < max(source)
    """  # noqa: S608
    for way, key in _KEYS.items()
)

_FILE = """
    c.source, substr(c.source, 12) AS catalogue, c.dataset_id, d.title AS dataset, d.publisher,
    c.resource_id, c.title, c.host, c.url, c.origin, c.format, c.state, c.status, c.error, c.reason, c.is_broken,
    c.http_status, c.finding, c.size, c.sha256, c.name, c.extension, c.kept_at, c.cache_url,
    c.last_success, c.first_failure, c.failure_count, c.time, c.run,
    CASE WHEN d.withdrawn THEN 'dataset'
        WHEN d.resources <= 1000 AND substr(c.resource_id, 1, 1) != '@' AND NOT EXISTS (
            SELECT 1 FROM resources r
            WHERE r.source = d.source AND r.dataset_id = d.dataset_id AND r.resource_id = c.resource_id
        ) THEN 'resource' END AS gone
"""  # of the captures c and their datasets d; the index has a dataset's first 1,000 resources; @ marks other addresses
_DATASETS = "LEFT JOIN datasets d ON d.source = substr(c.source, 12) AND d.dataset_id = c.dataset_id"
_LOOKED_AT = """
    c.is_last AND NOT (
        c.origin IS NULL AND EXISTS (
            SELECT 1 FROM captures o
            WHERE o.is_last AND o.source = c.source AND o.dataset_id = c.dataset_id AND o.resource_id = c.resource_id
                AND o.url != c.url AND o.origin IS NULL AND o.time > c.time AND o.run != c.run
        ) AND NOT EXISTS (
            SELECT 1 FROM resources r
            WHERE r.source = substr(c.source, 12) AND r.dataset_id = c.dataset_id AND r.resource_id = c.resource_id
                AND r.url = c.url
        )
    )
"""  # not of an address that the resource had before
_BROKEN = "c.is_broken IS NOT 0 AND c.state IN ('broken', 'unknown')"
_IS_LAST_COPY = """
    gone IS NOT NULL AND sha256 IS NOT NULL
    AND sha256 NOT IN (SELECT sha256 FROM {files} WHERE gone IS NULL AND is_broken = 0 AND sha256 IS NOT NULL)
"""


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

_LINK_COLUMNS = {
    "source": "The archive: `archive-of-` and the source whose links it keeps.",
    "catalogue": "That source.",
    "dataset_id": "The dataset's id there.",
    "dataset": "The dataset's title.",
    "publisher": "Its publisher.",
    "resource_id": "The resource's id.",
    "title": "The resource's title.",
    "host": "The host of the address, with its port where it is not the default one.",
    "url": "The file's address.",
    "origin": "The page that links the file, if the catalogue links only that page.",
    "format": "The format that the catalogue claims.",
}
_FILE_COLUMNS = _LINK_COLUMNS | {
    "state": "kept, unchanged, alive, broken, unknown, not_taken or failed_here.",
    "status": "The number that ckanext-archiver gives that.",
    "error": "The kind of failure.",
    "reason": "Why it is not kept, in a sentence.",
    "is_broken": "1, 0, or empty if that is not known yet.",
    "http_status": "The status of the answer.",
    "finding": "Where the catalogue, the header and the bytes disagree.",
    "size": "The bytes of what is kept, else what the server declares.",
    "sha256": "The SHA-256 of the file that is held; empty if none is.",
    "name": "A readable file name, without extension.",
    "extension": "The extension, by what was found.",
    "kept_at": "When the resource was first found to have that file.",
    "cache_url": "Where the file is served, if ARCHIVE_CACHE_URL is set.",
    "last_success": "When the file was last found to be there.",
    "first_failure": "When the first failure since then was.",
    "failure_count": "How many looks in a row have failed.",
    "time": "When the last look was.",
    "run": "The run that looked.",
    "gone": "What the catalogue has no longer: dataset or resource; empty while it has both.",
}
_COUNTED = {
    "files": "How many files its datasets link, or linked once.",
    "held": "How many of them the archive has.",
    "bytes": "The bytes of those; a file that several resources link counts for each.",
    "broken": "How many links are broken.",
    "unknown": "Of how many links that is not known yet.",
    "not_taken": "How many files were not taken: too large, no data, a service.",
    "last_copies": "How many are held that the catalogue has no longer.",
}


def _counts(what: str, meaning: str) -> View:
    """Return the view that counts the files of each source, or of each of its publishers or hosts."""
    by = {} if what == "source" else {what: meaning}
    names = ", ".join(("source", *by))
    columns = ", ".join(("source", *(f"coalesce({name}, '') AS {name}" for name in by)))
    return View(
        f"Linked files of each {what}." if by else "What each archive has.",
        {"source": _FILE_COLUMNS["source"], **by, **_COUNTED},
        f"""
        WITH file AS MATERIALIZED (
            SELECT {columns}, gone, is_broken, state, size, sha256 FROM files
        )
        SELECT {names}, count(*) AS files, count(sha256) AS held,
            coalesce(sum(size) FILTER (WHERE sha256 IS NOT NULL), 0) AS bytes,
            sum(gone IS NULL AND is_broken IS 1) AS broken,
            sum(gone IS NULL AND is_broken IS NULL AND state = 'unknown') AS unknown,
            sum(gone IS NULL AND state = 'not_taken') AS not_taken,
            sum({_IS_LAST_COPY.format(files="file")}) AS last_copies
        FROM file GROUP BY {names} ORDER BY files DESC
        """,  # noqa: S608
    )


VIEWS = {
    "overview": View(
        "Each source: its datasets, and its last run.",
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
        "The history of all datasets, newest first.",
        {
            "time": "When its document was written or marked, UTC.",
            **_SOURCE,
            "status": "new, updated, withdrawn or restored.",
            "dataset_id": "The dataset's id there.",
            "title": "Its title as it is now.",
            "run": "The run that saw it.",
        },
        """
        SELECT time, source, changes.status, dataset_id, title, run
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
        "Resources of each format.",
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
        "Datasets under each licence.",
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
        "How long ago each source's datasets were modified.",
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
        FROM (SELECT source, {DAY} AS modified FROM datasets WHERE withdrawn = 0)
        GROUP BY 1, 2
        """,  # noqa: S608
    ),
    "completeness": View(
        "How many of each source's datasets have each field.",
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
        "Datasets of each source by day.",
        {
            **_SOURCE,
            "day": "The day, UTC.",
            "datasets": "How many there were, without those withdrawn.",
        },
        """
        SELECT source, day, sum(change) OVER (PARTITION BY source ORDER BY day) AS datasets
        FROM (
            SELECT source, day, sum(CASE status WHEN 'withdrawn' THEN -count ELSE count END) AS change
            FROM daily_changes WHERE status IN ('new', 'restored', 'withdrawn') GROUP BY 1, 2
        )
        """,
    ),
    "late": View(
        "Datasets that are older than their stated frequency.",
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
            SELECT source, dataset_id, title, frequency, {DAY} AS day
            FROM datasets WHERE withdrawn = 0 AND frequency IS NOT NULL
        )
        WHERE day || '~' < CASE frequency {_DUE} END
        """,  # noqa: S608
    ),
    "duplicates": View(
        "Datasets that several sources have.",
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
            SELECT id, source, uri, identifier, {PAGE} AS page, {NAMED} AS named FROM datasets WHERE withdrawn = 0
        )
        SELECT d.title, s.datasets, count(DISTINCT d.source) AS sources, group_concat(DISTINCT d.source) AS among,
            substr(s.way, 2) AS "by", s.same, s.ids
        FROM (SELECT min(way) AS way, same, datasets, ids FROM ({_SAME}) GROUP BY ids) s
        CROSS JOIN json_each(s.ids) one CROSS JOIN datasets d ON d.id = one.value
        GROUP BY s.ids ORDER BY sources DESC, datasets DESC
        """,  # noqa: S608
    ),
    "files": View(
        "The last look at each linked file.",
        _FILE_COLUMNS,
        f"SELECT {_FILE} FROM captures c INDEXED BY captures_last {_DATASETS} WHERE {_LOOKED_AT}",  # noqa: S608
    ),
    "broken_links": View(
        "Links that are broken, or may be.",
        _FILE_COLUMNS,
        f"""
        SELECT {_FILE} FROM captures c INDEXED BY captures_broken {_DATASETS}
        WHERE {_BROKEN} AND {_LOOKED_AT} AND gone IS NULL ORDER BY c.is_broken DESC, c.first_failure
        """,  # noqa: S608
    ),
    "last_copies": View(
        "Files that an archive holds and the catalogue no longer has.",
        _FILE_COLUMNS,
        f"SELECT * FROM files WHERE {_IS_LAST_COPY.format(files='files')} ORDER BY time DESC",  # noqa: S608
    ),
    "files_by_source": _counts("source", ""),
    "files_by_publisher": _counts("publisher", "The publisher of the dataset; empty where none is given."),
    "files_by_host": _counts("host", _FILE_COLUMNS["host"]),
}
"""In the order in which they are made."""
