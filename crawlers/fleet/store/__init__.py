"""Output that several machines share: a Delta table for each source, and mirrors of it, which are plain folders."""

from importlib.util import find_spec

from crawlers.fleet.store.mirror import Mirror
from crawlers.fleet.store.store import Store

if find_spec("pyarrow") is None:  # who reads what others stored imports it then
    raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

__all__ = ["Mirror", "Store"]
