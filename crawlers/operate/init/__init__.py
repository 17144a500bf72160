"""A folder of catalogues: the files that a user of the package has of their own, from the templates beside this one."""
