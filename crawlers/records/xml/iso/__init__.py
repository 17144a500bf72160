"""ISO 19139 and ISO 19115-3 records, and their profiles."""

from crawlers.records.xml.iso.mapping import dataset, glance, scope
from crawlers.records.xml.iso.part import vocabulary

__all__ = ["dataset", "glance", "scope", "vocabulary"]
