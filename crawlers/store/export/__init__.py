"""What the index holds, written for other programs: DCAT-AP, CSV, Parquet, Croissant. No Scrapy, no network."""
