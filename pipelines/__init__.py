"""The item pipelines: validate an item, write its document if it is not on disk, add it to manifest and index."""

from pipelines.documents import Documents
from pipelines.manifest import Manifest
from pipelines.validate import Validate

__all__ = ["Documents", "Manifest", "Validate"]
