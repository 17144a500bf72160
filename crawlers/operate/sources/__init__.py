"""sources.toml: the catalogues that are harvested, one table each."""
