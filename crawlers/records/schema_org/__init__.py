"""schema.org's Dataset as pages embed it, in JSON-LD, microdata or RDFa: into one JSON shape, and into items.

The vocabulary is https://schema.org/Dataset, used as Google's guidelines for dataset pages and Science-on-Schema.org
recommend. No context is ever fetched.
"""

from crawlers.records.schema_org.item import dataset
from crawlers.records.schema_org.page import CUT, describing, of_rdf, records

__all__ = ["CUT", "dataset", "describing", "of_rdf", "records"]
