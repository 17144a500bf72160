"""The item pipelines: validate items, write their documents if they are not on disk, add them to manifest and index."""

from pipelines.batches import Batches, Pipelines
from pipelines.curate import Curate, NoExcludedExports, Validate
from pipelines.documents import Documents, Manifest

__all__ = ["Batches", "Curate", "Documents", "Manifest", "NoExcludedExports", "Pipelines", "Validate"]
