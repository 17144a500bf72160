"""Runs the crawls of many sources: in parallel, but one at a time for each host; here or on Scrapyd nodes."""
