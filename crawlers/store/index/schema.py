"""The tables of index.sqlite: what crawls remember, and what people ask.

The tables `documents`, `complete` and `sources` say what is on disk; the others say what it describes.
All tables can be rebuilt from the manifests, the documents and the run reports.

The ``stamp`` of a source is another one whenever its rows of `datasets` or `resources` change: `crawlers.store.columns`
has what figures need of them. `daily_changes` counts the rows of `changes`. `interrupted` has when the report of an
interrupted run was last changed: one that is resumed gets another.
"""

from __future__ import annotations

from crawlers.store.index.columns import DATASETS, RESOURCES

VERSION = 20  # of the tables and the views; an index of another version is rebuilt

SEARCHED = (
    *("title", "name", "description", "publisher", "keywords", "places", "formats", "resource_titles", "details"),
    "spaced",
)
"""The columns in which `search` finds words; its last column, ``kept``, is for filters."""

MARK = "\ue000"
"""The words of ``kept`` begin with this character, for which nobody can search: what people type never matches."""

INDEXED = (*SEARCHED, "kept")
"""The columns of `search`, whose content is the table `datasets`: a change of that is a change of this."""

TABLES = f"""
CREATE TABLE IF NOT EXISTS sources (
    source TEXT PRIMARY KEY, manifest_bytes INTEGER NOT NULL, manifest_tail BLOB NOT NULL,
    described INTEGER NOT NULL DEFAULT 0, stamp TEXT NOT NULL DEFAULT (lower(hex(randomblob(8))))
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
    places TEXT, resource_titles TEXT, details TEXT, spaced TEXT,
    kept TEXT GENERATED ALWAYS AS (
        '{MARK}' || hex(source) || CASE WHEN withdrawn THEN ' {MARK}gone' ELSE '' END
    ) VIRTUAL,
    UNIQUE (source, dataset_id)
);
CREATE INDEX IF NOT EXISTS datasets_newest ON datasets (coalesce(data_modified, modified, issued) DESC);
CREATE INDEX IF NOT EXISTS datasets_withdrawn ON datasets (source, withdrawn, resources);
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
    redirects TEXT NOT NULL, headers TEXT NOT NULL, media_type TEXT, found_type TEXT, extension TEXT, finding TEXT,
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
