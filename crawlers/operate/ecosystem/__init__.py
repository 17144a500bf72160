"""The weekly run of the CKAN ecosystem: crawls of portals and extensions, CSV files, and what is published of them."""

CATALOGUE = "https://ecosystem.ckan.org"
"""The catalogue of CKAN's own portals and extensions."""
STAGES = ("sites", "extensions", "publish", "timeseries")
"""What a run can leave out."""
