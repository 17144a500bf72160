"""The item pipelines: validate items, write their documents if they are not on disk, add them to manifest and index."""

from pipelines.batches import Batches, Pipelines
from pipelines.documents import Documents
from pipelines.manifest import Manifest
from pipelines.validate import Validate

__all__ = ["Batches", "Documents", "Manifest", "Pipelines", "Validate"]
