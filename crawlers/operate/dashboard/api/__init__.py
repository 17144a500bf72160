"""The read-only JSON API, below /api/: sources, runs and datasets, a page at a time, described by OpenAPI."""
