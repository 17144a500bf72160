"""The CKAN ecosystem: profiles of portals and of extensions."""
