"""What figures need of each dataset, in Parquet files per source that DuckDB reads: a cache of the index's rows.

`tables.opened` is for those who read; it writes what is missing, as `cache.update` does for those who write the index.
"""
