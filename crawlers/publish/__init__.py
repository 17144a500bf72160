"""Writes what was harvested back to a CKAN catalogue: a plan, a journal, and a way back."""
