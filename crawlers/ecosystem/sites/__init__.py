"""CKAN portals: which there are, whether they answer, and their figures."""
