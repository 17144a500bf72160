"""Components of Scrapy that are neither part of a request nor of an item."""
