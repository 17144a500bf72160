"""What becomes of an item: validate -> write its document, if it is not the one on disk -> manifest and index."""

from pipelines.documents import Documents
from pipelines.heartbeat import Heartbeat
from pipelines.manifest import Manifest
from pipelines.report import Report
from pipelines.validate import Validate

__all__ = ["Documents", "Heartbeat", "Manifest", "Report", "Validate"]
