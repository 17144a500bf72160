"""The archive: the files that a source's datasets link, each kept once, checked, and reported."""
