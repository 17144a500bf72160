"""RDF in every serialisation, from bytes to nodes; no Scrapy, no network."""
