"""A release: the metadata of all sources as files to publish, each with its SHA-256, and pages that need no server."""
