"""What figures need of each dataset, in Parquet files per source that DuckDB reads: a cache of the index's rows."""

from crawlers.store.columns.cache import forget, forget_all, update
from crawlers.store.columns.tables import Columns, opened

__all__ = ["Columns", "forget", "forget_all", "opened", "update"]
