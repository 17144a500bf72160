"""CKAN, and HDX, which is one: a portal's action API, its listing, and the exports of a dataset or a resource."""

from crawlers.kind import Kind

KIND = Kind(
    name="ckan",
    title="CKAN portal",
    spider="crawlers.kinds.ckan.spider:CKAN",
    address="portal",
    example="https://demo.ckan.org",
    readers=dict.fromkeys(("package_search", "package_show"), "crawlers.kinds.ckan.mapping:read"),
    volatile="volatile.toml",
    detector="crawlers.kinds.ckan.detection:CKANDetector",
    robots_exempt=(r"/api/([123]/)?action/\w+$",),  # CKAN's stock robots.txt disallows the very API it documents
    template="spider.tmpl",
)
