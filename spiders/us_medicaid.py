from crawlers.kinds.dcat.spider import DCATSpider


class USMedicaid(DCATSpider):
    """Medicaid, of the United States Centers for Medicare and Medicaid Services."""

    name = "us_medicaid"
    url = "https://data.medicaid.gov/data.json"
