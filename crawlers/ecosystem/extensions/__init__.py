"""The extensions that a CKAN catalogue lists: the repository of each, and its figures at GitHub."""
