"""The output of crawls in an object store, which several machines share; each has a mirror of it, a plain folder."""
