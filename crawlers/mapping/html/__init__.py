"""HTML pages -> documents -> items, by the rules of `crawlers.rules`."""
