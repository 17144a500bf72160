"""What any Scrapy project can take: politeness, the ledger of JOBDIR, answers on disk, the HTTP cache, the browser."""
