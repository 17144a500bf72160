"""A file for each page: what it shows, from the index and the folders as they are at that moment."""
