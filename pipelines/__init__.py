"""What becomes of an item: validate -> skip unchanged -> write its document -> manifest and index."""

from pipelines.documents import Documents
from pipelines.heartbeat import Heartbeat
from pipelines.manifest import Manifest
from pipelines.report import Report
from pipelines.unchanged import Unchanged
from pipelines.validate import Validate

__all__ = ["Documents", "Heartbeat", "Manifest", "Report", "Unchanged", "Validate"]
