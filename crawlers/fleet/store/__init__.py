"""Output that several machines share: a Delta table for each source, and mirrors of it, which are plain folders."""

from crawlers.fleet.store.mirror import Mirror
from crawlers.fleet.store.store import Store

__all__ = ["Mirror", "Store"]
